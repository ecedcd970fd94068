"""What is given of every label: the confidence in it, its probability by chance, and how often its annotator is right.

An annotator's accuracy is known, given, or judged by the labels of the others.
"""

import os
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.base.names import some
from plausibly.data.annotations.io.columns import is_frame
from plausibly.data.annotations.io.files import naming_file
from plausibly.data.labels.container import Labels
from plausibly.data.labels.predictions import read_models
from plausibly.data.labels.table import is_missing, read_table

COLUMN = "confidence"
NAMES = ("one-coin", "rasch", "leave-one-out", "known")


def read_confidence(
    labels: Labels, confidence: str | float | None, scale: Mapping[Any, float] | tuple[float, float] | None
) -> Float[np.ndarray, " label"]:
    """Confidence of every label, from 0 to 1.

    `confidence` is the name of a column, a number for all labels, or None: the column ``confidence`` if there is one,
    else 1. `scale` is a mapping from each level to its confidence, a pair (least, greatest) of a linear scale, or None
    if the cells are confidences.
    """
    column = COLUMN if confidence is None and COLUMN in labels.columns else confidence
    if column is None or isinstance(column, Real):
        if scale is not None:
            raise ArgumentError(f"scale turns a column into confidences, but there is none with confidence={column!r}.")
        value = 1.0 if column is None else float(column)
        if not 0 <= value <= 1:
            raise ArgumentError(f"confidence lies between 0 and 1, but {confidence!r} was given for all labels.")
        return np.full(len(labels), value)
    if isinstance(scale, Mapping):
        return _by_level(labels, str(column), scale)
    values = labels.floats(str(column))
    low, high = (0.0, 1.0) if scale is None else _ends(scale)
    for label in np.flatnonzero((values < low) | (values > high)):
        fix = "give scale=, how it becomes a confidence" if scale is None else "correct it, or the scale"
        raise AnnotationError(
            f"{labels.where(label)}: the {column} is {values[label]:g}, outside {low:g} to {high:g}; {fix}"
        )
    return (values - low) / (high - low)


def chance_of(
    code: Int[np.ndarray, " label"], names: np.ndarray, chance: str | Mapping[Any, float], n_classes: int | None
) -> Float[np.ndarray, " label"]:
    """Probability with which chance gives each label, from the codes of all labels and the names of the codes.

    `chance` is ``"uniform"`` (over `n_classes`, by default the labels in use), ``"empirical"`` (the share of the label
    among all), or a probability by label.
    """
    if n_classes is not None and chance != "uniform":
        raise ArgumentError(f"n_classes is for chance='uniform', but chance={chance!r} was given: leave one out.")
    if isinstance(chance, Mapping):
        absent = [name for name in names.tolist() if name not in chance]
        if absent:
            raise ArgumentError(f"chance has no probability of {some(absent)}: give one for every label.")
        by_name = np.array([float(chance[name]) for name in names.tolist()])
        if not ((by_name >= 0) & (by_name <= 1)).all() or by_name.sum() > 1 + 1e-9:
            raise ArgumentError(f"chance must be probabilities, but {show(dict(chance))} was given: let them sum to 1.")
        return by_name[code]
    if chance == "uniform":
        n = len(names) if n_classes is None else n_classes
        if not isinstance(n, Integral) or n < len(names):
            raise ArgumentError(
                f"n_classes must be a whole number, at least that of the labels in use, {len(names)}, but is {n!r}."
            )
        return np.full(len(code), 1 / n)
    if chance == "empirical":
        return (np.bincount(code) / len(code))[code]
    raise ArgumentError(
        f'chance must be "uniform", "empirical" or probabilities by label, but {chance!r} was given: choose one.'
    )


def beyond_chance(
    confidence: Float[np.ndarray, "*label"], chance: Float[np.ndarray, "*label"]
) -> Float[np.ndarray, "*label"]:
    """Probability that a label was not given by chance, c / (c + (1 − c) p); 0 where there is no confidence."""
    guessed = (1 - confidence) * chance
    return np.divide(confidence, confidence + guessed, out=np.zeros(confidence.shape), where=confidence > 0)


def _by_level(labels: Labels, column: str, scale: Mapping[Any, float]) -> np.ndarray:
    values = np.array(list(scale.values()), float)
    if not ((values >= 0) & (values <= 1)).all():
        raise ArgumentError(f"a scale gives confidences from 0 to 1, but {show(dict(scale))} was given.")
    # Levels of a text file are text, and numbers as keys would miss them.
    known = {_level(level): value for level, value in zip(scale, values, strict=True)}
    found = np.empty(len(labels))
    for place, cell in enumerate(labels.columns[column].tolist()):
        level = _level(cell)
        if level not in known:
            raise AnnotationError(
                f"{labels.where(place)}: the {column} {show(cell)} is not on the scale {some(list(scale), 6)}; "
                "correct it, or the scale"
            )
        found[place] = known[level]
    return found


def _level(value: Any) -> str:
    text = str(value).strip()
    return text[:-2] if text.endswith(".0") else text


def _ends(scale: Any) -> tuple[float, float]:
    try:
        low, high = map(float, scale)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high:
        raise ArgumentError(
            f"scale must be a mapping from level to confidence, or a pair (least, greatest), but {show(scale)} was "
            "given."
        )
    return low, high


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
