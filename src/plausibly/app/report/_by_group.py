"""The metric of the main table by group of cases, and quantities that all cases share, such as annotators."""

from typing import Any

import pandas as pd

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.agreement.annotators import COMMON, group_sentences, severity_sentences
from plausibly.app.report.label_metrics import group_tables, new_cases, of_column, plain_metrics, truths
from plausibly.app.report.tables import headline_metrics, intervals, lead
from plausibly.base.bootstrap import width_in_words
from plausibly.data.groups import TIMES
from plausibly.evaluation import by_group
from plausibly.evaluation.summaries import FEW
from plausibly.evaluation.truth import truth_in_words
from plausibly.metrics.words import capitalised, metric_name

MOST_FIGURES = 6  #: columns of groups that are drawn
_DIFFERENCE = ["difference", "difference_lower", "difference_upper"]
MOST_DRAWN = 40  #: groups of a column that are drawn
MOST_CLASSES = 12  #: of a matrix; of more classes, the most frequent confusions are listed
MOST_CONFUSIONS = 20

_TRUE_CLASS = (
    "{} assumes one true class in every case. Accuracy is the share of an annotator's labels that are right, if "
    "classes are as common as in these data. Intervals have a probability of {}."
)
_RATERS = (
    "Under {}, raters differ. Severity is by how much a rater would rate all cases higher (or, if negative, lower) "
    "than the average of these raters. Intervals have a probability of {}."
)
_PEOPLE = {  # tables of what cases share: caption, explanation, and what they come to
    "annotators": ("Accuracy of annotators", _TRUE_CLASS, group_sentences),
    "severities": ("Severity of raters", _RATERS, severity_sentences),
}


def results_by_group(swept: Sweep) -> tuple[str, list[Any]]:
    """Title of the section, and its content: the worst groups, and a figure and a table by column."""
    run = lead(swept)
    if "group" not in run.results.coords or not swept.classifiers:
        return "", []
    metric = headline_metrics(swept)[0]
    words = metric_name(metric)
    table = by_group(run.results, metric)
    columns = list(dict.fromkeys(table["column"]))
    shown: list[Any] = [
        f"{capitalised(words)} under {run.label}, with {width_in_words(run.results)} intervals. Groups of fewer than "
        f"{FEW} cases are marked (few): their intervals can be too narrow, so they are never named as the worst. "
        "Differences are relative to the value on all cases."
    ]
    if table["p_worst"].notna().any():
        shown.append({f"Worst group of each classifier by {words}": _worst(table)})
    labels = truths(swept)[:1]
    grouped = [of if "truth" in of.attrs else run.results for of in labels]
    for number, column in enumerate(columns):
        drawn = number < MOST_FIGURES and table.loc[table["column"] == column, "group"].nunique() <= MOST_DRAWN
        shown += of_column(run.results, column, [metric], f"{capitalised(words)} by {column}", drawn=drawn)
        for results in grouped:
            caption = f"By {column}, against {truth_in_words(labels[0].attrs)} [{new_cases(results)}]"
            shown.append(group_tables(results, column, plain_metrics(results), caption))
    single = [column for column in columns if TIMES not in column]
    return f"Results by {', '.join(single[:3])}{' and others' if len(single) > 3 else ''}", shown


def _worst(table: pd.DataFrame) -> pd.DataFrame:
    """A row per column and classifier: the group that is most probably the worst."""
    known = table.loc[table["p_worst"].notna()].sort_values("p_worst", ascending=False, kind="stable")
    found = known.drop_duplicates(["column", "classifier"]).sort_index()
    rows = pd.concat([found.loc[found["column"] == column] for column in dict.fromkeys(table["column"])])
    return pd.DataFrame(
        {
            "by": rows["column"],
            "classifier": rows["classifier"],
            "worst group": rows["group"],
            "cases": rows["n_cases"],
            "value": intervals(rows, digits=2),
            "probability": rows["p_worst"].round(2),
            "difference": intervals(rows, _DIFFERENCE, digits=2, sign="+"),
        }
    ).reset_index(drop=True)


def what_cases_share(swept: Sweep) -> list[Any]:
    """Arrange the tables of what cases share, model by model."""
    return [shown for runs in swept.models.values() for shown in _of_run(runs[0])]


def _of_run(run: Run) -> list[Any]:
    found: list[Any] = []
    for name, (caption, words, sentences) in _PEOPLE.items():
        if name in run.shared:
            table, together = run.shared[name], run.attrs.get("err_together", "")
            told = [words.format(run.label, width_in_words(run.results)), *sentences(table), together]
            found += [" ".join(told).strip(), {f"{caption}, {run.label}": table}]
        if name == "annotators" and "confusions" in run.shared:
            found.append(_confusion(run.shared["confusions"], run.label))
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
