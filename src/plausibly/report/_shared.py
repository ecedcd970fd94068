"""Quantities that cases share: annotators of models of one true class, classes that a population prior moves."""

from typing import Any

import pandas as pd

from plausibly.annotators import COMMON
from plausibly.sweeps import Run, Sweep

MOST_CLASSES = 12  #: of a matrix; of more classes, the most frequent confusions are listed
MOST_CONFUSIONS = 20
MOST_SHIFTS = 15

_TRUE_CLASS = (
    "{} assumes one true class in every case. Accuracy is the share of an annotator's labels that are right, if "
    "classes are as common as in these data. Intervals have a probability of 94 %."
)
_POPULATION = (
    "{} learns from all cases how common classes are, and pulls rare classes towards common ones. This improves "
    "predictions of the next annotation, but it can hide a rare class, such as a rare disease. The table lists the "
    "classes it moves most, with their mean share of the labels and their mean expected plausibility in the cases in "
    "which they are named. Lost is the number of these cases in which a class has the most labels but is not the most "
    "plausible one."
)


def what_cases_share(swept: Sweep) -> list[Any]:
    """Arrange the tables of what cases share, model by model."""
    # A population is the same at every reliability.
    return [shown for runs in swept.models.values() for shown in _of_run(runs[0])]


def _of_run(run: Run) -> list[Any]:
    found: list[Any] = []
    if "annotators" in run.shared:
        found += [_TRUE_CLASS.format(run.label), {f"Accuracy of annotators, {run.label}": run.shared["annotators"]}]
    if "confusions" in run.shared:
        found.append(_confusion(run.shared["confusions"], run.label))
    if "shifts" in run.shared:
        caption = f"Classes that the population prior moves most, {run.model}"
        found += [_POPULATION.format(run.model), {caption: run.shared["shifts"].head(MOST_SHIFTS)}]
    return found


def _confusion(table: pd.DataFrame, label: str) -> dict[str, pd.DataFrame]:
    """Arrange the confusion that annotators have in common as a matrix, or its greatest parts as a list."""
    common = table.loc[table["annotator"] == COMMON].drop(columns="annotator")
    if not len(common):
        return {}
    classes = common["true_class"].drop_duplicates()
    if len(classes) <= MOST_CLASSES:
        matrix = common.pivot(index="true_class", columns="named_class", values="probability")
        matrix = matrix.loc[classes, classes].rename_axis(columns=None).rename_axis("true class").reset_index()
        return {f"How a typical annotator names each true class, {label}": matrix}
    wrong = common.loc[common["true_class"] != common["named_class"]]
    wrong = wrong.sort_values("probability", ascending=False, kind="stable", ignore_index=True)
    return {f"What a typical annotator confuses most, {label}": wrong.head(MOST_CONFUSIONS)}
