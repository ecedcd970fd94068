"""Predictions of a classifier: scores (case, class), lined up with the cases and the classes of annotations."""

import os
from collections.abc import Hashable, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly.annotations import Annotations
from plausibly.annotations._files import naming
from plausibly.annotations._matrix import CASE_COLUMNS, Matrix, read_matrix
from plausibly.annotations._names import _show, some
from plausibly.errors import ArgumentError, PredictionError


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
            f"predictions must be a mapping from the names of classifiers, but {_show(predictions)} was given: write "
            'for example {"A": scores}.'
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

    Only the order of the scores within a case matters to most metrics: probabilities, logits and votes all serve.

    Parameters
    ----------
    source
        A path to a ``.npy``, ``.csv``, ``.txt`` or ``.parquet`` file, a data frame, or an array (case, class).
        Columns go by class name where there is a header, else by index; rows by case name where there is a column
        "case" (or a pandas index of names), else by order. A pandas index of whole numbers other than 0, 1, … is taken
        for names too, so that a frame in another order is not matched by order.
    annotations
        Names the N cases and the K classes.

    Returns
    -------
    numpy.ndarray
        (N, K) scores; float32 if they came as float32 or float16, else float64, so that no ties arise from rounding.

    Raises
    ------
    FileError
        If the file cannot be read.
    PredictionError
        If a case or a class is missing, unknown or there twice, the shape does not fit, or a score is no finite
        number.

    Examples
    --------
    >>> import pandas as pd
    >>> annotations = Annotations.from_counts([[1, 0], [0, 1]], classes=["a", "b"], cases=["p", "q"])
    >>> read_predictions(pd.DataFrame({"case": ["q", "p"], "b": [0.9, 0.2], "a": [0.1, 0.8]}), annotations)
    array([[0.8, 0.2],
           [0.1, 0.9]])
    """
    with naming(source if isinstance(source, str | os.PathLike) else "predictions"):
        matrix = read_matrix(
            _with_cases(source, annotations.cases), PredictionError, annotations.classes, annotations.n_cases
        )
        values, rows = matrix.by_class(annotations.classes, PredictionError), _rows(matrix, annotations.cases)
        if not np.array_equal(rows, np.arange(len(values))):
            values = values[rows]
        for i, k in np.argwhere(~np.isfinite(values))[:1]:
            raise PredictionError(
                f"case {str(annotations.cases[i])!r}, class {str(annotations.classes[k])!r}: "
                f"the score is {values[i, k]}; write a finite number"
            )
    wanted = np.float32 if values.dtype in (np.float16, np.float32) else np.float64
    return values.astype(wanted, copy=not isinstance(source, str | os.PathLike))


def _with_cases(source: Any, cases: np.ndarray) -> Any:
    """Call a pandas index of whole numbers "case", unless it counts the rows or the cases stand in a column."""
    if not nw.dependencies.is_pandas_dataframe(source):
        return source
    index, n_rows = source.index, len(source)
    if any(name is not None for name in index.names) or any(name in source.columns for name in CASE_COLUMNS):
        return source
    if index.nlevels > 1:
        raise PredictionError("the index has several levels without names; name one 'case', or reset the index")
    if index.dtype.kind not in "iu" or index.equals(pd.RangeIndex(n_rows)):
        return source
    known = {str(name) for name in index}
    absent = [name for name in cases.tolist() if name not in known]
    if absent:
        raise PredictionError(
            f"the index of the data frame is neither 0, 1, … nor the cases' names (there is none for case "
            f"{some(absent)}); reset it if the rows are in the cases' order, or name every case"
        )
    return source.rename_axis("case")


def _rows(matrix: Matrix, cases: np.ndarray) -> np.ndarray:
    """Return the row of each case."""
    n_rows = len(matrix.values)
    if matrix.cases is None:
        if n_rows != len(cases):
            raise PredictionError(
                f"there are {n_rows} rows for {len(cases)} cases; give a row per case, in their order, "
                "or a column 'case' with their names"
            )
        return np.arange(n_rows)
    at: dict[str, int] = {}
    for row, name in enumerate(matrix.cases.tolist()):
        if name in at:
            raise PredictionError(f"case {name!r} has two rows ({at[name] + 1} and {row + 1}); keep one")
        at[name] = row
    absent = [name for name in cases.tolist() if name not in at]
    if absent:
        raise PredictionError(f"there is no row for case {some(absent)}; predict every case")
    if len(at) > len(cases):
        known = set(cases.tolist())
        extra = [name for name in at if name not in known]
        raise PredictionError(f"there is a row for case {some(extra)}, which nobody annotated; remove it")
    return np.array([at[name] for name in cases.tolist()])
