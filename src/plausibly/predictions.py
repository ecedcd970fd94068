"""Predictions of a classifier: scores (case, class), lined up with the cases and the classes of annotations."""

import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from jaxtyping import Float, Int, Num
from scipy.special import softmax

from plausibly._logging import logged
from plausibly.annotations import Annotations
from plausibly.annotations.io.answers import CASE
from plausibly.annotations.io.columns import is_number
from plausibly.annotations.io.exports import predicted_labels
from plausibly.annotations.io.files import naming, read_npy
from plausibly.annotations.io.json_predictions import frame_of_json
from plausibly.annotations.io.matrix import NAMED, Matrix, read_matrix
from plausibly.annotations.io.source import JSON, open_source
from plausibly.annotations.io.spellings import positive_of_two
from plausibly.annotations.matching import names_in
from plausibly.annotations.names import some
from plausibly.errors import ArgumentError, PlausiblyWarning, PredictionError, show, suggest
from plausibly.metrics.declared import improper

_ONE = ("probability", "score", "positive")  # names of a single column that no class has
_NUMBERS = 2**20  # that are looked at together
_VECTORS = (list, tuple, np.ndarray, pd.Series, pd.Index, pd.Categorical)
Marked = bool | str | Sequence[str]  #: whose predictions are logits: all, none, or those of some classifiers


@dataclass(frozen=True)
class Logits:
    """Predictions that were marked as logits, which :func:`line_up` turns into probabilities."""

    source: Any


def named_predictions(predictions: Mapping[Hashable, Any], logits: Marked = False) -> dict[str, Any]:
    """Name classifiers by text, each by another, and mark the predictions that are logits.

    Raises
    ------
    ArgumentError
        If they are no mapping, two names are the same text, or one is blank or would be mistaken in a ranking such as
        "A > B = C"; or if ``logits`` names a classifier that there is not.
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
    marked = _marked(logits, list(named))
    return {name: Logits(source) if name in marked else source for name, source in named.items()}


def _marked(logits: Any, names: list[str]) -> list[str]:
    """Classifiers whose predictions are logits."""
    if isinstance(logits, bool | np.bool_):
        return names if logits else []
    if not isinstance(logits, str | list | tuple | set):
        raise ArgumentError(
            f"logits must be True or names of classifiers, but {show(logits)} was given: write for example "
            'logits=["A"].'
        )
    marked = [logits] if isinstance(logits, str) else [str(name) for name in logits]
    for name in marked:
        if name not in names:
            raise ArgumentError(
                f"logits names the classifier {name!r}, which has no predictions: choose from {some(names)}."
            )
    return marked


def read_predictions(
    source: Any, annotations: Annotations, extra: str = "refuse", *, logits: bool = False
) -> Float[np.ndarray, "case class"]:
    """Read a classifier's scores and put them in the order of the annotations' cases and classes.

    The metrics of lists use only the order of the scores within a case, so probabilities, logits and votes all work.
    Metrics of probabilities need probabilities.

    Parameters
    ----------
    source
        A path to a ``.npy``, ``.csv``, ``.tsv``, ``.txt`` or ``.parquet`` file, a data frame or an array (case, class);
        ``.json`` or ``.jsonl`` with a record per case: its name and the probability of each class, in fields of their
        own, in a mapping (``"probs": {class: probability}``) or in a list of labels with scores, as Hugging Face's
        pipelines return it; JSON ``{case: class}``; or the export of a tool that tests language models
        (:func:`plausibly.read_annotations`), of which one rater's verdicts or the model's answers are read.
        Columns are matched by class name if there is a header, else by order; rows by case name if there is a column
        "case" (or the only one with a name such as "image_id"), a pandas index with a name, or one that holds the
        cases' names; else by order. An index 0, 1, … without a name is refused if cases have these names in another
        order. Of two classes, one column is enough: the probability of the class that it is named after, or of the
        positive class if it has no name, or the name "probability", "score" or "positive"; a vector or a Series is such
        a column. Of a classifier that says one class and no scores, give the names of these classes, as a vector, a
        Series, or a single column with the name "prediction", "predicted", "label" or "class": the named class has the
        score 1, the others 0. If classes are numbers, such as grades, a single column of numbers may name them, too. A
        row in which all scores are 0, or a blank name, is no answer: metrics of choices count it as such.
    annotations
        Annotations with the names of the N cases and the K classes.
    extra
        ``"ignore"`` leaves out rows for cases that are not annotated, and warns of their number; ``"refuse"`` does not
        accept them.
    logits
        Whether the scores are logits, which become probabilities by a softmax over classes; a single column, that of
        one class of two, by a sigmoid.

    Returns
    -------
    numpy.ndarray
        (N, K) scores; float32 if the input is float32 or float16, else float64, so that rounding causes no ties, as
        are probabilities from logits. An
        array in a ``.npy`` file is mapped to memory and read when needed: do not change the file meanwhile. Text and
        Parquet files are decoded a few rows at a time.

    Raises
    ------
    FileError
        If the file cannot be read.
    PredictionError
        If a case or a class is missing, unknown or repeated, the shape does not match, a score is not finite, or
        logits are probabilities already.

    Examples
    --------
    >>> import pandas as pd
    >>> annotations = Annotations.from_counts([[1, 0], [0, 1]], classes=["a", "b"], cases=["p", "q"])
    >>> read_predictions(pd.DataFrame({"case": ["q", "p"], "b": [0.9, 0.2], "a": [0.1, 0.8]}), annotations)
    array([[0.8, 0.2],
           [0.1, 0.9]])
    >>> read_predictions(np.array([[0.0, 2.0], [1.0, 1.0]]), annotations, logits=True).round(2)
    array([[0.12, 0.88],
           [0.5 , 0.5 ]])
    """
    values = line_up(Logits(source) if logits else source, annotations, extra)
    wanted = np.result_type(values, np.float32)
    return values.astype(wanted, copy=not isinstance(source, str | os.PathLike))


def with_predicted(annotations: Annotations, predictions: Mapping[str, Any]) -> Annotations:
    """Add the cases that have predictions and no annotations, which predictions must name."""
    if not isinstance(annotations, Annotations) or not predictions:
        what = "there are none" if isinstance(annotations, Annotations) else "of scores, there can be none"
        raise ArgumentError(f'extra="include" adds the cases of predictions, but {what}: leave it out.')
    names = []
    for name, given in predictions.items():
        source = given.source if isinstance(given, Logits) else given
        with naming(source if isinstance(source, str | os.PathLike) else f"predictions of {name}"):
            found = _matrix(source, annotations).cases
            if found is None:
                raise PredictionError(
                    'there are no names of cases, which extra="include" needs; add a column "case", or give '
                    "annotations.with_cases(…) the names of the rows"
                )
            names.append(found)
    return annotations.with_cases(pd.unique(np.concatenate(names)))


def line_up(
    source: Any,
    annotations: Annotations,
    extra: str = "refuse",
    positive: str | None = None,
    *,
    ordered: bool = False,
) -> Float[np.ndarray, "case class"]:
    """As :func:`read_predictions`, but what is in order is not copied, nor float16 widened; it is to be read only.

    :class:`Logits` become probabilities. One column without the name of a class is the probability of `positive`, by
    default the one of :func:`positive_of_two`. Of `ordered` classes that are numbers, a number names the nearest one.
    """
    if extra not in ("refuse", "ignore"):
        raise ArgumentError(f'extra must be "refuse" or "ignore", but {extra!r} was given: choose one of the two.')
    logits = isinstance(source, Logits)
    source = source.source if isinstance(source, Logits) else source
    in_file = isinstance(source, str | os.PathLike)
    with logged(f"Reading {source}" if in_file else ""), naming(source if in_file else "predictions"):
        matrix = _matrix(source, annotations)
        matrix = matrix if logits else _named_by_number(matrix, annotations.classes, ordered)
        matrix = _of_two_classes(matrix, annotations.classes, positive, logits)
        values = matrix.by_class(annotations.classes, PredictionError)
        rows = _rows(matrix, annotations.cases, extra)
        if (left_out := len(values) - annotations.n_cases) > 0:
            of = f"{source}: " if in_file else ""
            words = f"{of}ignored {left_out:,} rows of predictions for cases that are not annotated"
            warnings.warn(words, PlausiblyWarning, stacklevel=3)
        values = values if rows is None else values[rows]
        check_finite(values, annotations.cases, annotations.classes)
        if logits:
            return of_logits(values)
    return values if values.dtype in (np.float16, np.float32) else values.astype(np.float64, copy=False)


def _matrix(source: Any, annotations: Annotations) -> Matrix:
    """Read a matrix with the names of its rows, if it has any."""
    if (said := predicted_labels(source, {*annotations.classes.tolist()})) is not None:
        labels = pd.Series([None if label is None else str(label) for label in said["label"]], dtype=object)
        source = pd.DataFrame({"case": said["case"], NAMED[0]: labels})
    elif isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in JSON:
        source = frame_of_json(open_source(Path(source)).content, annotations.classes.tolist())
    source = _with_cases(_as_column(source), annotations.cases)
    matrix = read_matrix(source, PredictionError, annotations.classes, annotations.n_cases, labels=True)
    if matrix.cases is None and (index := _range_of(source)) is not None:
        names = names_in(index, annotations.cases, error=PredictionError)
        matrix = matrix if names is None else replace(matrix, cases=names.to_numpy(str))
    return matrix


def check_finite(values: Num[np.ndarray, "case class"], cases: np.ndarray, classes: np.ndarray) -> None:
    """Refuse scores that are not finite numbers."""
    size = max(1, _NUMBERS // values.shape[1])
    for first in range(0, len(values), size):
        for i, k in np.argwhere(~np.isfinite(values[first : first + size]))[:1]:
            raise PredictionError(
                f"case {str(cases[first + i])!r}, class {str(classes[k])!r}: "
                f"the score is {values[first + i, k]}; write a finite number"
            )


def _as_column(source: Any) -> Any:
    """Take a vector, a Series or a file with a vector as the one column of a matrix, named if it holds text."""
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() == ".npy":
        values = read_npy(Path(source))
        source = values if values.ndim == 1 else source
    if isinstance(source, _VECTORS) and _holds_text(source):
        return pd.Series(source, dtype=object).to_frame(NAMED[0])
    if isinstance(source, pd.Series):
        return source.to_frame(_ONE[0] if source.name is None else source.name)
    if isinstance(source, list | tuple) and source and all(isinstance(value, Real) for value in source):
        source = np.array(source)
    if isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind in "biuf":
        return source[:, None]
    return source


def _holds_text(vector: Any) -> bool:
    """Whether any element is a text, as in a vector of names."""
    if isinstance(vector, np.ndarray) and (vector.ndim != 1 or vector.dtype.kind not in "OUT"):
        return False
    if isinstance(vector, pd.Series | pd.Index) and vector.dtype.kind in "biufcmM":
        return False
    return any(isinstance(value, str) for value in vector)


def of_logits(logits: Float[np.ndarray, "case class"]) -> Float[np.ndarray, "case class"]:
    """Turn logits into probabilities; refuse what cannot be logits."""
    if improper(logits) is None:
        raise PredictionError(
            "they were marked as logits, but are probabilities already: they sum to one in every case; do not mark them"
        )
    return softmax(logits.astype(np.float64), axis=1)


def _named_by_number(matrix: Matrix, classes: np.ndarray, ordered: bool = False) -> Matrix:
    """Take one column of numbers as the names of classes, which are numbers, such as grades: the nearest if `ordered`.

    Of two classes, numbers from 0 to 1 are probabilities unless the column has a name of :data:`NAMED`.
    """
    name = None if matrix.columns is None else matrix.columns[0]
    if matrix.values.shape[1] != 1 or len(classes) < 2 or name in classes or not all(map(is_number, classes)):
        return matrix
    value, grades = matrix.values[:, 0].astype(float), classes.astype(float)
    of_one = len(classes) == 2 and name not in NAMED
    if of_one and ((value >= 0) & (value <= 1)).all():
        return matrix
    if not np.isfinite(grades).all():
        return matrix
    if ordered and not of_one:
        value = grades[np.abs(value[:, None] - grades).argmin(axis=1)] if np.isfinite(value).all() else value
    same = np.isclose(value[:, None], grades, rtol=1e-6, atol=0)
    for row in np.flatnonzero(~same.any(axis=1))[:1]:
        if of_one:
            return matrix
        raise PredictionError(
            f"row {row + 1}: {value[row]:g} is none of the classes {', '.join(classes)}; name a class in every row, or "
            "give a column for each class"
        )
    return replace(matrix, values=same.astype(np.float32), columns=None)


def _of_two_classes(matrix: Matrix, classes: np.ndarray, positive: str | None, logits: bool) -> Matrix:
    """Complete one column, the probability or logit of one of two classes, by that of the other."""
    if len(classes) != 2 or matrix.values.shape[1] != 1:
        return matrix
    name = None if matrix.columns is None else matrix.columns[0]
    if name is not None and name not in (*classes.tolist(), *_ONE):
        fix = suggest(
            name,
            classes,
            f"call a probability after its class, {str(classes[positive_of_two(classes)])!r}, or {_ONE[0]!r}",
        )
        raise PredictionError(f"the column {name!r} is none of the classes {', '.join(classes)}; {fix}")
    named = name if name in classes else positive
    known = positive_of_two(classes) if named is None else classes.tolist().index(named)
    value = matrix.values[:, 0]
    inside = (value >= 0) & (value <= 1)
    if logits and inside.all():
        raise PredictionError(
            "they were marked as logits, but all lie between 0 and 1, as probabilities do; do not mark them or, if "
            "they are logits, give a column for each class"
        )
    for row in () if logits else np.flatnonzero(~inside)[:1]:
        raise PredictionError(
            f"row {row + 1}: one column for two classes is the probability of {str(classes[known])!r}, 0 to 1, but "
            f"{value[row]} was given; write a probability, mark logits as such (logits=True, --logits), or give a "
            "column for each class"
        )
    other = np.zeros_like(value, dtype=float) if logits else 1 - value
    return replace(matrix, values=np.stack([value, other] if known == 0 else [other, value], 1), columns=None)


def _with_cases(source: Any, cases: np.ndarray) -> Any:
    """Call a pandas index "case" if it holds names; see :func:`plausibly.annotations.matching.names_in`."""
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


def _rows(matrix: Matrix, cases: np.ndarray, extra: str) -> Int[np.ndarray, " case"] | None:
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
    if n_rows > len(cases) and extra == "refuse":
        more = matrix.cases[known.get_indexer(named) < 0]
        raise PredictionError(
            f"there is a row for case {some(more)}, which is not annotated; remove it, leave such rows out with "
            'extra="ignore" (--extra ignore), or infer these cases from their predictions: '
            'pb.aggregate(…, extra="include") (--extra include)'
        )
    return rows
