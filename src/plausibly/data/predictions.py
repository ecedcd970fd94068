"""Predictions of a classifier: scores (case, class), lined up with the cases and the classes of annotations."""

import os
import re
import shlex
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
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

from plausibly.base.checks import are_percentages
from plausibly.base.errors import ArgumentError, PlausiblyWarning, PredictionError, show
from plausibly.base.names import some
from plausibly.base.progress import logged
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.answers import CASE
from plausibly.data.annotations.io.columns import is_number
from plausibly.data.annotations.io.exports import column_of_file, predicted_labels
from plausibly.data.annotations.io.files import naming, read_npy
from plausibly.data.annotations.io.json_predictions import frame_of_json
from plausibly.data.annotations.io.matrix import NAMED, Matrix, read_matrix
from plausibly.data.annotations.io.source import JSON, open_source
from plausibly.data.annotations.io.spellings import positive_of_two, success_in
from plausibly.data.annotations.matching import names_in

_ONE = ("probability", "score", "positive")  # names of a single column that no class has
_NUMBERS = 2**20  # that are looked at together
_DECIMALS = 5  # up to which numbers count as rounded
_COUNTED = 100  # rows from which decimals are counted
_EXACT = 1e-4  # by which probabilities may fail to sum to one
_OFF = 0.101  # the most by which rounded probabilities may fail to sum to one
#: Words around the names of classes in headers.
_AROUND = {"p", "pr", "prob", "proba", "probability", "score", "pred", "prediction", "logit", "confidence", "class"}
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
        row in which all scores are 0, or a blank name, is no answer: metrics of choices count it as such. Names of
        columns may differ from those of classes in case and signs, and by a word such as "prob" around all of them;
        probabilities that do not sum to one because they are rounded are divided by their sum; both are said in a
        warning.
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
    why = 'which extra="include" needs; add a column "case", or give annotations.with_cases(…) the names of the rows'
    return annotations.with_cases(pd.unique(np.concatenate([*_names_of_cases(annotations, predictions, why)])))


def all_predicted(annotations: Annotations, predictions: Mapping[str, Any]) -> np.ndarray:
    """Names of the annotated cases that all predictions, which must name them, have a row for."""
    why = 'without which they are taken in order; add a column "case", or predict every case'
    there = [np.isin(annotations.cases, names) for names in _names_of_cases(annotations, predictions, why)]
    return annotations.cases[np.logical_and.reduce(there)]


def _names_of_cases(annotations: Annotations, predictions: Mapping[str, Any], why: str) -> Iterator[np.ndarray]:
    """Yield the names of the cases that each classifier has a row for; `why` ends the sentence if there are none."""
    for name, given in predictions.items():
        source = given.source if isinstance(given, Logits) else given
        with naming(source if isinstance(source, str | os.PathLike) else f"predictions of {name}"):
            found = _matrix(source, annotations).cases
            if found is None:
                raise PredictionError(f"there are no names of cases, {why}")
            yield found


def line_up(
    source: Any, annotations: Annotations, extra: str = "refuse", positive: str | None = None, *, ordered: bool = False
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
        if (taken := same_classes(matrix.columns, annotations.classes)) is not None:
            of = f"{source}: " if in_file else ""
            words = ", ".join(f"{column!r} for {name!r}" for column, name in taken.items())
            warnings.warn(f"{of}took the columns {words}", PlausiblyWarning, stacklevel=3)
            matrix = replace(matrix, columns=list(taken.values()))
        matrix = matrix if logits else _named_by_number(matrix, annotations.classes, ordered)
        matrix = _of_two_classes(matrix, annotations.classes, positive, logits)
        values = matrix.by_class(annotations.classes, PredictionError)
        rows = _rows(matrix, annotations.cases, extra)
        if (left_out := len(values) - annotations.n_cases) > 0:
            of = f"{source}: " if in_file else ""
            words = f"{of}ignored {left_out:,} rows of predictions for other cases than those that are evaluated"
            warnings.warn(words, PlausiblyWarning, stacklevel=3)
        values = values if rows is None else values[rows]
        check_finite(values, annotations.cases, annotations.classes)
        if logits and are_percentages(values):
            raise PredictionError("these are percentages, which sum to 100, and no logits; divide them by 100")
        if logits:
            return of_logits(values)
        if (decimals := _rounded(values)) is not None:
            of = f"{source}: " if in_file else ""
            words = (
                f"{of}probabilities with {decimals} decimals do not quite sum to one in every case; each was divided "
            )
            warnings.warn(f"{words}by the sum of its case", PlausiblyWarning, stacklevel=3)
            sums = np.where(values.any(axis=1), values.sum(axis=1, dtype=float), 1)
            values = values / sums.astype(np.result_type(values, np.float32))[:, None]
    return values if values.dtype in (np.float16, np.float32) else values.astype(np.float64, copy=False)


def _matrix(source: Any, annotations: Annotations) -> Matrix:
    """Read a matrix with the names of its rows, if it has any."""
    classes = annotations.classes.tolist()
    # A column of a classifier is of the class that stands for a success, if one does, or else of one that it names.
    named = isinstance(source, str | os.PathLike) and str(source).rpartition(":")[2] in classes
    own = None if len(classes) != 2 or named or success_in(classes) is None else _ONE[0]
    if (column := column_of_file(source, NAMED[0], own, classes)) is not None:
        source = column
    elif (said := predicted_labels(source, {*classes})) is not None:
        labels = pd.Series([None if label is None else str(label) for label in said["label"]], dtype=object)
        source = pd.DataFrame({"case": said["case"], NAMED[0]: labels})
    elif isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in JSON:
        source = frame_of_json(open_source(Path(source)).content, classes)
    source = _with_cases(_as_column(source), annotations.cases)
    matrix = read_matrix(source, PredictionError, annotations.classes, annotations.n_cases, labels=True)
    if matrix.cases is None and (index := _range_of(source)) is not None:
        names = names_in(index, annotations.cases, error=PredictionError)
        matrix = matrix if names is None else replace(matrix, cases=names.to_numpy(str))
    return matrix


def same_classes(columns: Sequence[str] | None, classes: Sequence[str] | np.ndarray) -> dict[str, str] | None:
    """Match columns with classes that differ in case, blanks and signs, and words such as "prob" around all of them.

    None if all columns are classes as they are, or not every column is one class in one way.

    Examples
    --------
    >>> same_classes(["p_Normal", "p_Pleural_Effusion"], ["normal", "pleural effusion"])
    {'p_Normal': 'normal', 'p_Pleural_Effusion': 'pleural effusion'}
    """
    names = list(map(str, classes))
    known = {tuple(_words(name)): name for name in names}
    of_two = columns is not None and len(columns) == 1 and len(names) == 2
    if columns is None or len(known) < len(names) or any(map(is_number, names)) or {*columns} <= {*names}:
        return None
    if not (of_two or len(columns) == len(names)) or (of_two and columns[0] in (*_ONE, *NAMED)):
        return None
    words = [_words(column) for column in columns]
    tries = [words]
    for end, rest in ((0, slice(1, None)), (-1, slice(-1))):  # a word that all columns begin or end with
        if len(common := {one[end] for one in words}) == 1 and common <= _AROUND:
            tries.append([one[rest] for one in words])
    for tried in tries:
        found = [known.get(tuple(one)) for one in tried]
        if None not in found and len({*found}) == len(columns):
            return dict(zip(columns, found, strict=True))
    return None


def names_class(name: str, classes: Sequence[str] | np.ndarray) -> bool:
    """Whether the name of one column of numbers says which of two classes these are of."""
    return name in (*map(str, classes), *_ONE, *NAMED) or same_classes([name], classes) is not None


def class_of_column(name: str, classes: Sequence[str] | np.ndarray) -> str | None:
    """Guess which of two classes a column is of: the one most of whose words, all of them, are in its name.

    None if there is none.

    Examples
    --------
    >>> classes = ["effusion", "no effusion"]
    >>> [class_of_column(name, classes) for name in ("Pleural Effusion", "no effusion", "gpt")]
    ['effusion', 'no effusion', None]
    """
    words = {str(one): {*_words(str(one))} for one in classes}
    found = [one for one, own in words.items() if own <= {*_words(name)}]
    return max(found, key=lambda one: len(words[one]), default=None)


def _words(name: str) -> list[str]:
    """Words of a name, without their case and what is between them."""
    return re.findall(r"[^\W_]+", name.casefold()) or [name]


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


def _rounded(values: Float[np.ndarray, "case class"]) -> int | None:
    """Number of decimals of probabilities that fail to sum to one only because they are rounded; None of all others.

    The first rows say how many decimals there are. A row in which all scores are 0 is no answer.
    """
    from plausibly.metrics.declared import improper  # which takes JAX

    few = values[:_COUNTED].astype(float)
    decimals = next((d for d in range(_DECIMALS + 1) if (np.abs(few - few.round(d)) < 1e-7).all()), 0)
    if not decimals or improper(values) is None or values.min() < 0:
        return None
    sums = values.sum(axis=1, dtype=float)
    off = np.abs(sums[sums > 0] - 1).max(initial=0)
    return decimals if _EXACT < off <= min(values.shape[1] * 0.5 * 10.0**-decimals + 1e-6, _OFF) else None


def of_logits(logits: Float[np.ndarray, "case class"]) -> Float[np.ndarray, "case class"]:
    """Turn logits into probabilities; refuse what cannot be logits."""
    sums = logits.sum(axis=1, dtype=float)
    if logits.min() >= 0 and logits.max() <= 1 and (np.abs(sums - 1) < _OFF).all():
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
        _check_grades(value, grades)
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


def _check_grades(value: Float[np.ndarray, " row"], grades: Float[np.ndarray, " class"]) -> None:
    """Refuse numbers that are probabilities, or far from all grades, of which none is the nearest grade."""
    low, high = grades.min(), grades.max()
    inside = (value >= 0) & (value <= 1)
    if inside.all() and not (low >= 0 and high <= 1) and (value != value.round()).any():
        raise PredictionError(
            f"the numbers lie between 0 and 1, as probabilities do, but the grades are {low:g} to {high:g}; give a "
            "threshold of grades, of which they are then the probability (--threshold 3 --truth annotator), or round "
            "them if they are grades"
        )
    step = np.diff(np.unique(grades)).max()
    for row in np.flatnonzero((value < low - step) | (value > high + step))[:1]:
        raise PredictionError(
            f"row {row + 1}: {value[row]:g} is far from the grades, {low:g} to {high:g}; predict in their units"
        )


def _of_two_classes(matrix: Matrix, classes: np.ndarray, positive: str | None, logits: bool) -> Matrix:
    """Complete one column, the probability or logit of one of two classes, by that of the other."""
    if len(classes) != 2 or matrix.values.shape[1] != 1:
        return matrix
    name = None if matrix.columns is None else matrix.columns[0]
    if name is not None and name not in (*classes.tolist(), *_ONE) and classes[1] == classes[0].replace("≤", ">"):
        positive = str(classes[1]) if positive is None else positive  # of scores at a threshold, which name no class
        words = f"took the column {name!r} for the probability of {positive!r}"
        warnings.warn(words, PlausiblyWarning, stacklevel=4)
    elif name is not None and name not in (*classes.tolist(), *_ONE):
        if positive not in classes:
            its = class_of_column(name, classes) or str(classes[positive_of_two(classes)])
            raise PredictionError(
                f"the column {name!r} is none of the classes {', '.join(classes)}, so which of them its numbers are of "
                f"is not known; call a probability after its class, or name the class, such as positive={its!r} "
                f"(--positive {shlex.quote(its)})"
            )
        words = f"took the column {name!r} for the probability of {positive!r}"
        warnings.warn(words, PlausiblyWarning, stacklevel=4)
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
        plain = {name.lstrip("0").casefold(): name for name in matrix.cases[known.get_indexer(named) < 0]}
        for absent in cases[rows < 0]:
            if (other := plain.get(absent.lstrip("0").casefold())) is not None:
                raise PredictionError(
                    f"there is no row for case {str(absent)!r}, but for {str(other)!r}, which may be meant; write "
                    "names of cases alike in all files (spreadsheets drop leading zeros)"
                )
        raise PredictionError(
            f"there is no row for case {some(cases[rows < 0])}; predict every case, or leave such cases out: "
            "annotations.select(…) (plausibly evaluate … --unpredicted leave-out)"
        )
    if n_rows > len(cases) and extra == "refuse":
        more = matrix.cases[known.get_indexer(named) < 0]
        raise PredictionError(
            f"there is a row for case {some(more)}, which is not annotated; remove it, leave such rows out with "
            'extra="ignore" (--extra ignore), or infer these cases from their predictions: '
            'pb.aggregate(…, extra="include") (--extra include)'
        )
    return rows
