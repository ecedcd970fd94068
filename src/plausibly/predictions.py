"""Predictions of a classifier: scores (case, class), lined up with the cases and the classes of annotations."""

import os
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.annotations import Annotations
from plausibly.annotations._files import naming
from plausibly.annotations._matrix import Matrix, read_matrix
from plausibly.annotations._names import some
from plausibly.errors import PredictionError


def read_predictions(source: Any, annotations: Annotations) -> Float[np.ndarray, "case class"]:
    """Read a classifier's scores and put them in the order of the annotations' cases and classes.

    Only the order of the scores within a case matters to most metrics: probabilities, logits and votes all serve.

    Parameters
    ----------
    source
        A path to a ``.npy``, ``.csv``, ``.txt`` or ``.parquet`` file, a data frame, or an array (case, class).
        Columns go by class name where there is a header, else by index; rows by case name where there is a column
        "case" (or a pandas index of names), else by order.
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
        matrix = read_matrix(source, PredictionError, annotations.classes, annotations.n_cases)
        values = matrix.by_class(annotations.classes, PredictionError)[_rows(matrix, annotations.cases)]
        for i, k in np.argwhere(~np.isfinite(values))[:1]:
            raise PredictionError(
                f"case {str(annotations.cases[i])!r}, class {str(annotations.classes[k])!r}: "
                f"the score is {values[i, k]}; write a finite number"
            )
    return values.astype(np.float32 if values.dtype in (np.float16, np.float32) else np.float64)


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
