"""How often an annotator is right: known, given, or judged by the labels of the others."""

import os
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations._names import some
from plausibly.annotations.io._columns import is_frame
from plausibly.errors import AnnotationError, ArgumentError, show
from plausibly.labels._container import Labels
from plausibly.labels._predictions import read_models
from plausibly.labels._table import is_missing, naming_file, read_table

NAMES = ("one-coin", "rasch", "leave-one-out", "known")


def default_competence(truth: bool) -> str:
    """Name of the source that covers the truth: judged by true labels if there are some, else by a latent one."""
    return "rasch" if truth else "one-coin"


def read_truth(
    labels: Labels, names: np.ndarray, code: Int[np.ndarray, " label"], truth: Any
) -> Float[np.ndarray, " label"]:
    """Whether every label is the true one, 1 or 0; NaN where the truth is not known."""
    found = read_models({"truth": truth}, labels, needed=np.zeros(len(labels.cases), bool))["truth"]
    known = {name: number for number, name in enumerate(names.tolist())}
    true = np.full(len(labels.cases), -1)
    for case, value in zip(found.case, found.values.tolist(), strict=True):
        if true[case] >= 0:
            raise AnnotationError(f"case {str(labels.cases[case])!r} has more than one true label; keep one")
        true[case] = known.get(value, len(known))  # a label that no annotator gave
    return np.where(true[labels.case] >= 0, (true[labels.case] == code).astype(float), np.nan)


def mean_by_annotator(labels: Labels, correct: Float[np.ndarray, " label"]) -> Float[np.ndarray, " label"]:
    """Give every label the share of right ones among those of its annotator, who must have some that can be judged."""
    judged = ~np.isnan(correct)
    n = np.bincount(labels.annotator[judged], minlength=len(labels.annotators))
    present = np.bincount(labels.annotator, minlength=len(labels.annotators)) > 0
    unknown = labels.annotators[present & (n == 0)]
    if len(unknown):
        raise AnnotationError(
            f"it is unknown how often annotator {some(unknown)} is right, since no label of theirs can be judged; "
            "leave them out, or give accuracies by annotator as competence"
        )
    total = np.bincount(labels.annotator[judged], correct[judged], len(labels.annotators))
    return (total / np.maximum(n, 1))[labels.annotator]


def read_accuracies(labels: Labels, competence: Any) -> Float[np.ndarray, " label"]:
    """Read accuracies: a number, a mapping by annotator, or a table by annotator and perhaps case."""
    if isinstance(competence, Real) and not isinstance(competence, bool):
        return np.full(len(labels), _checked(competence, "of all annotators"))
    if isinstance(competence, Mapping) and "accuracy" not in competence:
        by_annotator = {str(name): _checked(value, f"of {name!r}") for name, value in competence.items()}
        return _look_up(labels, by_annotator, labels.annotators[labels.annotator].tolist(), "annotator")
    misspelt = isinstance(competence, str) and not Path(competence).suffix  # files have one
    if misspelt or not (isinstance(competence, str | os.PathLike | Mapping) or is_frame(competence)):
        raise ArgumentError(
            f"competence must be one of {', '.join(NAMES)}, an accuracy, a mapping from annotator to accuracy, or a "
            f"table of accuracies, but {show(competence)} was given."
        )
    with naming_file(competence):
        table = read_table(competence, ("annotator", "accuracy"), optional=("case",))
        people = [str(name) for name in table.names["annotator"].to_pylist()]
        found = {}
        for row, (person, value) in enumerate(zip(people, table.label.tolist(), strict=True)):
            key: Any = person
            if "case" in table.further:
                cell = table.further["case"][row]
                key = ("" if is_missing(cell) else str(cell), person)
            if key in found:
                raise AnnotationError(f"row {row + 1}: a second accuracy of annotator {person!r}; keep one")
            found[key] = _checked(value, f"in row {row + 1} (annotator {person!r})")
        wanted = labels.annotators[labels.annotator].tolist()
        if "case" not in table.further:
            return _look_up(labels, found, wanted, "annotator")
        return _look_up(labels, found, list(zip(labels.cases[labels.case].tolist(), wanted, strict=True)), "label")


def _look_up(labels: Labels, found: Mapping[Any, float], wanted: list, what: str) -> np.ndarray:
    for place, key in enumerate(wanted):
        if key not in found:
            raise AnnotationError(f"{labels.where(place)}: there is no accuracy for this {what}; give one for each")
    return np.array([found[key] for key in wanted])


def _checked(value: Any, whose: str) -> float:
    if isinstance(value, Real) and 0 <= value <= 1:
        return float(value)
    raise AnnotationError(f"the accuracy {whose} is {show(value)}; give a number from 0 to 1")
