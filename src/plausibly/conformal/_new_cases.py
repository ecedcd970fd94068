"""Predictions of new cases, which no annotations name."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly.annotations._names import some
from plausibly.annotations.io._files import naming
from plausibly.annotations.io._matrix import read_matrix
from plausibly.errors import ArgumentError, PredictionError
from plausibly.predictions import check_finite, named_predictions


def read_new(
    new_scores: Any, classifiers: Sequence[str], classes: np.ndarray
) -> tuple[np.ndarray, dict[str, Float[np.ndarray, "case class"]]]:
    """Read what classifiers say of new cases.

    Parameters
    ----------
    new_scores
        Predictions by classifier, some or all of them; without names, if there is one classifier.
    classifiers
        Names of those that are calibrated.
    classes
        Names of the classes.

    Returns
    -------
    cases
        Names of the cases; "0", "1", … where rows have none.
    predictions
        By classifier.

    Raises
    ------
    ArgumentError
        If a classifier was not calibrated.
    PredictionError
        If cases, classes or numbers do not fit.

    Examples
    --------
    >>> cases, found = read_new([[0.2, 0.8]], ["A"], np.array(["a", "b"]))
    >>> cases.tolist(), found["A"].tolist()
    (['0'], [[0.2, 0.8]])
    """
    if not isinstance(new_scores, Mapping):
        if len(classifiers) > 1:
            raise ArgumentError(
                f"predictions of new cases must be a mapping from classifiers, of which there are "
                f"{len(classifiers)}, but they have no names: write {{{classifiers[0]!r}: scores, …}}."
            )
        new_scores = {classifiers[0]: new_scores}
    given = named_predictions(new_scores)
    unknown = [name for name in given if name not in classifiers]
    if unknown or not given:
        what = repr(unknown[0]) if unknown else "none at all"
        raise ArgumentError(f"classifiers must be among those calibrated, {some(classifiers)}, but {what} was given.")
    read = {name: _read(source, classes) for name, source in given.items()}
    first, (cases, _) = next(iter(read.items()))
    found = {}
    for name, (own, values) in read.items():
        rows = pd.Index(own.astype(object)).get_indexer(pd.Index(cases.astype(object)))
        if len(own) != len(cases) or (rows < 0).any():
            raise PredictionError(
                f"{name} and {first} predict different cases ({len(own)} and {len(cases)}); give both the same cases"
            )
        found[name] = values if np.array_equal(rows, np.arange(len(rows))) else values[rows]
    return cases, found


def _read(source: Any, classes: np.ndarray) -> tuple[np.ndarray, Float[np.ndarray, "case class"]]:
    with naming(source if isinstance(source, str | os.PathLike) else "predictions"):
        matrix = read_matrix(source, PredictionError, classes)
        values = matrix.by_class(classes, PredictionError)
        named = matrix.cases is not None
        cases = np.array([str(row) for row in range(len(values))]) if matrix.cases is None else matrix.cases
        if not len(cases):
            raise PredictionError("there are no rows; give a row per case")
        if named and len(set(cases.tolist())) < len(cases):
            twice = pd.Index(cases.astype(object)).duplicated()
            raise PredictionError(f"case {str(cases[twice][0])!r} has two rows; keep one")
        check_finite(values, cases, classes)
    return cases, values
