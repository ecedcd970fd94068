"""Predictions of a classifier: scores (case, class), lined up with the cases and the classes of annotations."""

import os
from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from jaxtyping import Float, Int, Num

from plausibly.annotations import Annotations
from plausibly.annotations._matching import names_in
from plausibly.annotations._names import some
from plausibly.annotations.io._answers import CASE
from plausibly.annotations.io._files import naming
from plausibly.annotations.io._matrix import Matrix, read_matrix
from plausibly.errors import ArgumentError, PredictionError

_NUMBERS = 2**20  # that are looked at together


def named_predictions(predictions: Mapping[Hashable, Any]) -> dict[str, Any]:
    """Name classifiers by text, each by another.

    Raises
    ------
    ArgumentError
        If they are no mapping, two names are the same text, or one is blank or would be mistaken in a ranking such as
        "A > B = C".

    Examples
    --------
    >>> named_predictions({1: "a.csv", "B": "b.csv"})
    {'1': 'a.csv', 'B': 'b.csv'}
    """
    if not isinstance(predictions, Mapping):
        raise ArgumentError(
            "predictions must be a mapping from the names of classifiers, but an object of type "
            f'{type(predictions).__name__} was given: write for example {{"A": scores}}.'
        )
    named: dict[str, Any] = {}
    for name, source in predictions.items():
        text = str(name)
        if not text.strip():
            raise ArgumentError(f"a classifier has the blank name {text!r}: name it, such as 'A'.")
        for sign in (" > ", " = "):
            if sign in f" {text} ":
                raise ArgumentError(
                    f"a classifier has the name {text!r}, but {sign.strip()!r} between blanks parts classifiers in "
                    f"rankings: rename it."
                )
        if text in named:
            raise ArgumentError(f"two classifiers have the name {text!r}: give each a name of its own.")
        named[text] = source
    return named


def read_predictions(source: Any, annotations: Annotations) -> Float[np.ndarray, "case class"]:
    """Read a classifier's scores and put them in the order of the annotations' cases and classes.

    The built-in metrics use only the order of the scores within a case, so probabilities, logits and votes all work.

    Parameters
    ----------
    source
        A path to a ``.npy``, ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file, a data frame or an array (case, class).
        Columns are matched by class name if there is a header, else by order; rows by case name if there is a column
        "case", a pandas index with a name, or one that holds the cases' names; else by order. An index 0, 1, … without
        a name is refused if cases have these names in another order.
    annotations
        Annotations with the names of the N cases and the K classes.

    Returns
    -------
    numpy.ndarray
        (N, K) scores; float32 if the input is float32 or float16, else float64, so that rounding causes no ties. An
        array in a ``.npy`` file is mapped to memory and read when needed: do not change the file meanwhile. Text and
        Parquet files are decoded a few rows at a time.

    Raises
    ------
    FileError
        If the file cannot be read.
    PredictionError
        If a case or a class is missing, unknown or repeated, the shape does not match, or a score is not finite.

    Examples
    --------
    >>> import pandas as pd
    >>> annotations = Annotations.from_counts([[1, 0], [0, 1]], classes=["a", "b"], cases=["p", "q"])
    >>> read_predictions(pd.DataFrame({"case": ["q", "p"], "b": [0.9, 0.2], "a": [0.1, 0.8]}), annotations)
    array([[0.8, 0.2],
           [0.1, 0.9]])
    """
    values = line_up(source, annotations)
    wanted = np.result_type(values, np.float32)
    return values.astype(wanted, copy=not isinstance(source, str | os.PathLike))


def line_up(source: Any, annotations: Annotations) -> Float[np.ndarray, "case class"]:
    """As :func:`read_predictions`, but what is in order is not copied, nor float16 widened; it is to be read only."""
    with naming(source if isinstance(source, str | os.PathLike) else "predictions"):
        source = _with_cases(source, annotations.cases)
        matrix = read_matrix(source, PredictionError, annotations.classes, annotations.n_cases)
        if matrix.cases is None and (index := _range_of(source)) is not None:
            names = names_in(index, annotations.cases, error=PredictionError)
            matrix = matrix if names is None else replace(matrix, cases=names.to_numpy(str))
        values, rows = matrix.by_class(annotations.classes, PredictionError), _rows(matrix, annotations.cases)
        values = values if rows is None else values[rows]
        check_finite(values, annotations.cases, annotations.classes)
    return values if values.dtype in (np.float16, np.float32) else values.astype(np.float64, copy=False)


def check_finite(values: Num[np.ndarray, "case class"], cases: np.ndarray, classes: np.ndarray) -> None:
    """Refuse scores that are not finite numbers."""
    size = max(1, _NUMBERS // values.shape[1])
    for first in range(0, len(values), size):
        piece = values[first : first + size]
        if np.isfinite(piece).all():
            continue
        for i, k in np.argwhere(~np.isfinite(piece))[:1]:
            raise PredictionError(
                f"case {str(cases[first + i])!r}, class {str(classes[k])!r}: "
                f"the score is {values[first + i, k]}; write a finite number"
            )


def _with_cases(source: Any, cases: np.ndarray) -> Any:
    """Call a pandas index "case" if it holds names; see :func:`plausibly.annotations._matching.names_in`."""
    if not nw.dependencies.is_pandas_dataframe(source) or any(name in source.columns for name in CASE):
        return source
    named = source.index.name is not None or names_in(source.index, cases, error=PredictionError) is not None
    return source.rename_axis("case") if named else source


def _range_of(source: Any) -> pd.Index | None:
    """Read the index of whole numbers that pandas keeps beside the columns of a Parquet file."""
    if not isinstance(source, str | os.PathLike) or Path(source).suffix.lower() != ".parquet":
        return None
    for kept in (pq.read_schema(source).pandas_metadata or {}).get("index_columns", []):
        if isinstance(kept, dict):
            return pd.RangeIndex(kept["start"], kept["stop"], kept["step"], name=kept["name"])
    return None


def _rows(matrix: Matrix, cases: np.ndarray) -> Int[np.ndarray, " case"] | None:
    """Return the row of each case; None if all are in order."""
    n_rows = len(matrix.values)
    if matrix.cases is None:
        if n_rows != len(cases):
            raise PredictionError(
                f"there are {n_rows} rows for {len(cases)} cases; give a row per case, in their order, "
                "or a column 'case' with their names"
            )
        return None
    if np.array_equal(matrix.cases, cases):
        return None
    named, known = pd.Index(matrix.cases.astype(object)), pd.Index(cases.astype(object))
    for row in np.flatnonzero(named.duplicated())[:1]:
        first = np.flatnonzero(matrix.cases == matrix.cases[row])[0]
        raise PredictionError(f"case {str(named[row])!r} has two rows ({first + 1} and {row + 1}); keep one")
    rows = named.get_indexer(known)
    if (rows < 0).any():
        raise PredictionError(f"there is no row for case {some(cases[rows < 0])}; predict every case")
    if n_rows > len(cases):
        extra = matrix.cases[known.get_indexer(named) < 0]
        raise PredictionError(f"there is a row for case {some(extra)}, which is not annotated; remove it")
    return rows
