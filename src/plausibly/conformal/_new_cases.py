"""Predictions of new cases, which no annotations name."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly.annotations._names import some
from plausibly.annotations.io._files import naming
from plausibly.annotations.io._matrix import read_matrix
from plausibly.errors import ArgumentError, PredictionError
from plausibly.predictions import check_finite, named_predictions, of_logits


def read_new(
    new_scores: Any, classifiers: Sequence[str], classes: np.ndarray, logits: Collection[str]
) -> tuple[np.ndarray, dict[str, Float[np.ndarray, "case class"]]]:
    """Names of new cases ("0", "1", … where rows have none), and their predictions by classifier.

    Predictions are those of some or all of the calibrated classifiers; without names, if there is one classifier.
    """
    if not isinstance(new_scores, Mapping):
        if len(classifiers) > 1:
            raise ArgumentError(
                f"predictions of new cases must be a mapping from classifiers, of which there are "
                f"{len(classifiers)}, but they have no names: write {{{classifiers[0]!r}: scores, …}}."
            )
        new_scores = {classifiers[0]: new_scores}
    named = named_predictions(new_scores)
    unknown = [name for name in named if name not in classifiers]
    if unknown or not named:
        what = repr(unknown[0]) if unknown else "none at all"
        raise ArgumentError(f"classifiers must be among those calibrated, {some(classifiers)}, but {what} was given.")
    read = {name: _read(source, classes, name in logits) for name, source in named.items()}
    first, (cases, _) = next(iter(read.items()))
    predictions = {}
    for name, (names, values) in read.items():
        rows = pd.Index(names.astype(object)).get_indexer(pd.Index(cases.astype(object)))
        if len(names) != len(cases) or (rows < 0).any():
            raise PredictionError(
                f"{name} and {first} predict different cases ({len(names)} and {len(cases)}); give both the same cases"
            )
        predictions[name] = values if np.array_equal(rows, np.arange(len(rows))) else values[rows]
    return cases, predictions


def _read(source: Any, classes: np.ndarray, logits: bool) -> tuple[np.ndarray, Float[np.ndarray, "case class"]]:
    with naming(source if isinstance(source, str | os.PathLike) else "predictions"):
        matrix = read_matrix(source, PredictionError, classes)
        values = matrix.by_class(classes, PredictionError)
        cases = np.arange(len(values)).astype(str) if matrix.cases is None else matrix.cases
        if not len(cases):
            raise PredictionError("there are no rows; give a row per case")
        for name in cases[pd.Index(cases.astype(object)).duplicated()][:1]:
            raise PredictionError(f"case {str(name)!r} has two rows; keep one")
        check_finite(values, cases, classes)
        return cases, of_logits(values) if logits else values
