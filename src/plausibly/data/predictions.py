"""Predictions of a classifier: scores (case, class), lined up with the cases and the classes of annotations."""

import shlex
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Num
from scipy.special import softmax

from plausibly.base.checks import are_percentages
from plausibly.base.errors import ArgumentError, DataWarning, PlausiblyWarning, PredictionError, show
from plausibly.base.names import same_names, some
from plausibly.base.progress import logged
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.class_columns import POSITIVE, class_of_column, same_classes
from plausibly.data.annotations.io.columns import is_number
from plausibly.data.annotations.io.files import naming
from plausibly.data.annotations.io.matrix import NAMED, Matrix, refuse_unknown
from plausibly.data.annotations.io.predicted import is_path, read_scores
from plausibly.data.annotations.io.spellings import positive_of_two
from plausibly.data.annotations.matching import places, refuse_absent, shared_cases

_NUMBERS = 2**20  # that are looked at together
_DECIMALS = 5  # up to which numbers count as rounded
_COUNTED = 100  # rows from which decimals are counted
_EXACT = 1e-4  # by which probabilities may fail to sum to one
_OFF = 0.101  # the most by which rounded probabilities may fail to sum to one
_HALF = 2.0**-11  # by which numbers of half precision are rounded, as a share of each
_SURE = 20  # logit of one class of two above which its probability is one
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
        A path to a ``.npy``, ``.csv``, ``.tsv``, ``.txt``, ``.parquet`` or ``.xlsx`` file, one of its columns
        (``FILE:COLUMN``), a data frame or an array (case, class); ``.json`` or ``.jsonl``, or its like in memory, with
        a record per case: its name and the probability of each class, in fields of their own, in a mapping (``"probs":
        {class: probability}``) or in a list of labels with scores, as Hugging Face's pipelines return it; mappings
        ``{case: class}``, ``{case: {class: probability}}``, or of columns; or the export of a tool that tests language
        models (:func:`plausibly.read_annotations`), of which one rater's verdicts or the model's answers are read.
        Columns are matched by class name if there is a header, else by order; rows by case name if there is a column
        "case" (or the only one called such as "image_id", or with names of cases in it), a pandas index with a name, or
        one that holds the cases' names; else by order. An index 0, 1, … without a name is refused if cases have these
        names in another order. Of two classes, one column is enough: the probability of the class that it is
        named after, or of the positive class if it has no name, or one such as "probability", "score" or "positive"; a
        vector or a Series is such a column. Of a classifier that says one class and no scores, give the names of these
        classes, as a vector, a Series, or a single column with the name "prediction", "predicted", "y_pred", "label" or
        "class": the named class has the score 1, the others 0. If classes are numbers, such as grades, a single column
        of numbers may name them, too. A row in which all scores are 0, or a blank name, is no answer: metrics of
        choices count it as such. Warnings say which columns are left out, that names of columns differ from those of
        classes in case and signs, or by a word such as "prob" around all of them, and that probabilities, which are
        rounded and do not sum to one, are divided by their sum.
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
    return values.astype(wanted, copy=not is_path(source))


def with_predicted(annotations: Annotations, predictions: Mapping[str, Any]) -> Annotations:
    """Add the cases that have predictions and no annotations, which predictions must name."""
    if not isinstance(annotations, Annotations) or not predictions:
        what = "there are none" if isinstance(annotations, Annotations) else "of scores, there can be none"
        raise ArgumentError(f'extra="include" adds the cases of predictions, but {what}: leave it out.')
    why = 'which extra="include" needs; add a column "case", or give annotations.with_cases(…) the names of the rows'
    found = [names for _, names in _names_of_cases(annotations, predictions, why)]
    return annotations.with_cases(pd.unique(np.concatenate(found)))


def all_predicted(annotations: Annotations, predictions: Mapping[str, Any]) -> np.ndarray:
    """Names of the annotated cases that all predictions, which must name them, have a row for."""
    why = 'without which they are taken in order; add a column "case", or predict every case'
    return shared_cases(annotations.cases, _names_of_cases(annotations, predictions, why))


def _names_of_cases(
    annotations: Annotations, predictions: Mapping[str, Any], why: str
) -> Iterator[tuple[object, np.ndarray]]:
    """Yield what errors call a classifier, and the names of its cases; `why` ends the sentence if there are none."""
    for name, given in predictions.items():
        source = given.source if isinstance(given, Logits) else given
        shown = source if is_path(source) else f"predictions of {name}"
        with naming(shown):
            found = read_scores(source, annotations.classes, annotations.cases).cases
            if found is None:
                raise PredictionError(f"there are no names of cases, {why}")
        yield shown, found


def line_up(
    source: Any, annotations: Annotations, extra: str = "refuse", positive: str | None = None, *, ordered: bool = False
) -> Float[np.ndarray, "case class"]:
    """As :func:`read_predictions`, but what is in order is not copied, nor float16 widened; it is to be read only.

    :class:`Logits` become probabilities. One column without the name of a class is the probability of `positive`, by
    default the one of :func:`positive_of_two`. Of `ordered` classes that are numbers, a number names the nearest one.
    """
    if extra not in ("refuse", "ignore"):
        raise ArgumentError(f'extra must be "refuse" or "ignore", but {extra!r} was given: choose one of the two.')
    positive, logits = check_positive(annotations.classes, positive), isinstance(source, Logits)
    source = source.source if isinstance(source, Logits) else source
    with logged(f"Reading {source}" if is_path(source) else ""), naming(source if is_path(source) else "predictions"):
        matrix = scores_of(source, annotations.classes, annotations.cases, positive, logits, ordered)
        values = matrix.values
        rows = _rows(matrix, annotations.cases, extra)
        if matrix.cases is None and is_path(source) and not str(source).endswith(".npy"):  # as arrays are in order
            first, counted = str(annotations.cases[0]), np.arange(annotations.n_cases)
            if not any(np.array_equal(annotations.cases, (counted + start).astype(str)) for start in (0, 1)):
                words = f"no column names the cases: taken in order, first {first!r}"
                _tell(source, words, DataWarning)
        if (left_out := len(values) - annotations.n_cases) > 0:
            _tell(source, f"ignored {left_out:,} rows of predictions for other cases than those that are evaluated")
        values = values if rows is None else values[rows]
        return probabilities(values, source, annotations.cases, annotations.classes, logits)


def _tell(source: Any, words: str, kind: type[PlausiblyWarning] = PlausiblyWarning) -> None:
    of = f"{source}: " if is_path(source) else ""
    warnings.warn(f"{of}{words}", kind, stacklevel=4)


def scores_of(
    source: Any,
    classes: np.ndarray,
    cases: np.ndarray | None = None,
    positive: str | None = None,
    logits: bool = False,
    ordered: bool = False,
) -> Matrix:
    """Read scores with a column for each class, in their order, and rows as they come; see :func:`line_up`."""
    matrix = read_scores(source, classes, cases)
    for note in matrix.notes:
        _tell(source, note)
    if (taken := same_classes(matrix.columns, classes)) is not None:
        _tell(source, f"took the columns {', '.join(f'{column!r} for {name!r}' for column, name in taken.items())}")
        matrix = replace(matrix, columns=list(taken.values()))
    matrix = matrix if logits else _named_by_number(matrix, classes, ordered)
    matrix = _of_two_classes(matrix, classes, source, positive, logits)
    return replace(matrix, values=_of_classes(matrix, classes, source), columns=None)


def _of_classes(matrix: Matrix, classes: np.ndarray, source: Any) -> Num[np.ndarray, "case class"]:
    """Put columns in the order of classes; leave out others if probabilities sum to one without them."""
    columns, known = matrix.columns or [], classes.tolist()
    if len(columns) == 1 and columns[0] in NAMED and columns[0] not in known:
        raise PredictionError(
            f"the column {columns[0]!r} holds numbers, such as {matrix.values[0, 0]:g}, and the classes are called "
            f"{some(classes)}; write one of these in every row, or give a column for each class"
        )
    more = [name for name in columns if name not in known]
    if more and {*known} <= {*columns}:
        values = matrix.values[:, [columns.index(name) for name in known]]
        if (np.abs(values.sum(axis=1, dtype=float) - 1) > _EXACT).any():
            what = "the column {} is no class" if len(more) == 1 else "the columns {} are no classes"
            raise PredictionError(
                f"{what.format(some(more, 9))} of the annotations, and without it scores do not sum to one; name all "
                "classes (classes=, --classes), or remove it"
            )
        refuse_unknown(more, matrix.cases, PredictionError)
        _tell(source, f"left out the column {some(more, 9)}, without which probabilities sum to one")
        return values
    return matrix.by_class(classes, PredictionError)


def probabilities(
    values: Num[np.ndarray, "case class"], source: Any, cases: np.ndarray, classes: np.ndarray, logits: bool
) -> Float[np.ndarray, "case class"]:
    """Check that scores are finite, make probabilities of logits, and of such as were rounded."""
    check_finite(values, cases, classes)
    if logits and are_percentages(values):
        raise PredictionError("these are percentages, which sum to 100, and no logits; divide them by 100")
    if logits:
        return of_logits(values)
    if (how := _rounded(values)) is not None:
        _tell(source, f"probabilities with {how} do not quite sum to one in every case; each was divided by its sum")
        sums = np.where(values.any(axis=1), values.sum(axis=1, dtype=float), 1)
        return values / sums.astype(np.result_type(values, np.float32))[:, None]
    return values if values.dtype in (np.float16, np.float32) else values.astype(np.float64, copy=False)


def check_finite(values: Num[np.ndarray, "case class"], cases: np.ndarray, classes: np.ndarray) -> None:
    """Refuse scores that are not finite numbers."""
    size = max(1, _NUMBERS // values.shape[1])
    for first in range(0, len(values), size):
        for i, k in np.argwhere(~np.isfinite(values[first : first + size]))[:1]:
            raise PredictionError(
                f"case {str(cases[first + i])!r}, class {str(classes[k])!r}: "
                f"the score is {values[first + i, k]}; write a finite number"
            )


def _rounded(values: Float[np.ndarray, "case class"]) -> str | None:
    """Say how probabilities are rounded that fail to sum to one only for that; None of all others.

    The first rows say how. A row in which all scores are 0 is no answer.
    """
    few = values[:_COUNTED].astype(float)
    decimals = next((d for d in range(_DECIMALS + 1) if (np.abs(few - few.round(d)) < 1e-7).all()), 0)
    with np.errstate(over="ignore"):
        half = few.astype(np.float16)
    if decimals:
        how, most = f"{decimals} decimals", values.shape[1] * 0.5 * 10.0**-decimals
    elif (half == few).all() or (half.astype(str) == few.astype(str)).all():
        how, most = "half precision", _HALF * (1 + _OFF)
    else:
        return None
    if values.min() < 0:
        return None
    sums = values.sum(axis=1, dtype=float)
    off = np.abs(sums[sums > 0] - 1).max(initial=0)
    return how if _EXACT < off <= min(most + 1e-6, _OFF) else None


def of_logits(logits: Float[np.ndarray, "case class"]) -> Float[np.ndarray, "case class"]:
    """Turn logits into probabilities; refuse what cannot be logits."""
    if logits.min() >= 0 and logits.max() <= 1:
        probable = (np.abs(logits.sum(axis=1, dtype=float) - 1) < _OFF).all()
        why = "but all lie between 0 and 1, as probabilities do; do not mark them or, if they are logits, add 1 to all"
        if probable:
            why = "but are probabilities already: they sum to one in every case; do not mark them"
        raise PredictionError(f"they were marked as logits, {why}")
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


def check_positive(classes: np.ndarray, positive: Any) -> str | None:
    """Refuse a positive class that there is not."""
    if positive is not None and str(positive) not in classes:
        raise ArgumentError(f"positive must be a class, but {show(positive)} was given: choose from {some(classes)}.")
    for pair in same_names(map(str, classes)) if positive is not None else ():
        if str(positive) in pair:
            raise ArgumentError(
                f"the classes {pair[0]!r} and {pair[1]!r} differ only in spelling, so one would count as not positive: "
                "write them alike."
            )
    return None if positive is None else str(positive)


def _of_two_classes(matrix: Matrix, classes: np.ndarray, source: Any, positive: str | None, logits: bool) -> Matrix:
    """Complete one column, the probability or logit of one of two classes, by that of the other."""
    if len(classes) != 2 or matrix.values.shape[1] != 1:
        return matrix
    name = None if matrix.columns is None else matrix.columns[0]
    if name is not None and name not in (*classes.tolist(), *POSITIVE):
        if positive is None and classes[1] == classes[0].replace("≤", ">"):  # of scores at a threshold
            positive = str(classes[1])
        if positive not in classes:
            its = class_of_column(name, classes) or str(classes[positive_of_two(classes)])
            raise PredictionError(
                f"the column {name!r} is none of the classes {', '.join(classes)}, so which of them its numbers are of "
                f"is not known; call a probability after its class, or name the class, such as positive={its!r} "
                f"(--positive {shlex.quote(its)})"
            )
        _tell(source, f"took the column {name!r} for the probability of {positive!r}")
    named = name if name in classes else positive
    known = positive_of_two(classes) if named is None else classes.tolist().index(named)
    value = matrix.values[:, 0]
    inside = (value >= 0) & (value <= 1)
    percent = bool(((value >= 0) & (value <= 100)).all() and value.max(initial=0) > _SURE)
    if logits and (inside.all() or percent):
        what = "0 and 100, as percentages do; divide them by 100, and" if percent else "0 and 1, as probabilities do;"
        raise PredictionError(
            f"they were marked as logits, but all lie between {what} do not mark them or, if they are logits, give a "
            "column for each class"
        )
    for row in () if logits else np.flatnonzero(~inside)[:1]:
        fix = "write a probability, mark logits as such (logits=True, --logits), or give a column for each class"
        fix = "divide percentages by 100, or name a class in each row if these are scores" if percent else fix
        raise PredictionError(
            f"row {row + 1}: one column for two classes is the probability of {str(classes[known])!r}, 0 to 1, but "
            f"{value[row]} was given; {fix}"
        )
    other = np.zeros_like(value, dtype=float) if logits else 1 - value
    return replace(matrix, values=np.stack([value, other] if known == 0 else [other, value], 1), columns=None)


def _rows(matrix: Matrix, cases: np.ndarray, extra: str) -> Int[np.ndarray, " case"] | None:
    """Return the row of each case; None if all are in order."""
    names, n_rows = matrix.cases, len(matrix.values)
    if names is None:
        if n_rows != len(cases):
            raise PredictionError(
                f"there are {n_rows} rows for {len(cases)} cases; give a row per case, in their order, "
                "or a column 'case' with their names"
            )
        return None
    if np.array_equal(names, cases):
        return None
    refuse_twice(names)
    rows = places(cases, names)
    more = names[places(names, cases) < 0]
    fix = "predict every case, or leave such cases out: annotations.select(…) (plausibly evaluate … --unpredicted "
    refuse_absent(cases[rows < 0], more, (rows < 0).all(), f"{fix}leave-out)")
    if len(more) and extra == "refuse":
        raise PredictionError(
            f"there is a row for case {some(more)}, which is not annotated; remove it, leave such rows out with "
            'extra="ignore" (--extra ignore), or infer these cases from their predictions: '
            'pb.aggregate(…, extra="include") (--extra include)'
        )
    return rows


def refuse_twice(names: np.ndarray) -> None:
    """Refuse names of cases of which two are the same."""
    for row in np.flatnonzero(pd.Index(names.astype(object)).duplicated())[:1]:
        first = np.flatnonzero(names == names[row])[0]
        raise PredictionError(f"case {str(names[row])!r} has two rows ({first + 1} and {row + 1}); keep one")
