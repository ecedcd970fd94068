"""Scores: a number per case and annotator, real or ordinal, which become classes at a threshold."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.base.names import many, to_names
from plausibly.data.annotations._container import Annotations
from plausibly.data.annotations.by_case import ByCase, check_scores
from plausibly.data.annotations.io.long_table import arrange_scores
from plausibly.data.annotations.views import chosen_positions

GREATEST = 1e15  #: size of a score; squares of larger ones leave single precision
MOST_GRADES = 20  #: values of scores up to which each may be a class


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ByCase):
    """Numbers that annotators give to cases, such as toxicity from −2 to 2, or a size in millimetres.

    Ordinal scores are stored as numbers, too. A threshold turns scores into two classes, see :meth:`split`; scores of
    few values become ordered classes, see :meth:`grades`. Build
    scores with :meth:`plausibly.Annotations.from_scores` or :func:`plausibly.read_annotations`; the columns passed here
    are checked, not sorted.

    Parameters
    ----------
    cases
        (N,) distinct names of the cases.
    annotators
        (A,) distinct names of the annotators.
    anonymous
        True if an annotator's name is only a position within a case.
    annotation_case, annotation_annotator
        (R,) case and annotator of every score, sorted by case, then annotator.
    score
        (R,) finite numbers between −1e15 and 1e15.
    classes
        (2,) names of the class up to a threshold and of the class above it; by default they are named after the
        threshold.

    Raises
    ------
    AnnotationError
        If the columns do not fit together, or a score is not finite.

    Examples
    --------
    >>> table = pd.DataFrame({"case": ["p", "p", "q"], "annotator": ["ann", "bob", "ann"], "score": [-1, 2, 0]})
    >>> scores = Annotations.from_scores(table)
    >>> scores
    Scores(2 cases, 3 scores by 2 annotators, from -1 to 2)
    >>> scores.split(0).rankings("p")
    {'ann': [['≤ 0']], 'bob': [['> 0']]}
    """

    cases: np.ndarray
    annotators: np.ndarray
    anonymous: bool
    annotation_case: Int[np.ndarray, " annotation"]
    annotation_annotator: Int[np.ndarray, " annotation"]
    score: Float[np.ndarray, " annotation"]
    classes: np.ndarray | None = None

    def __post_init__(self):
        columns: dict[str, np.ndarray] = {
            "cases": to_names(self.cases, "case"),
            "annotators": to_names(self.annotators, "annotator"),
        }
        if self.classes is not None:
            columns["classes"] = names = to_names(self.classes, "class")
            if len(names) != 2:
                raise AnnotationError(
                    f"scores have two classes, up to a threshold and above it, but {len(names)} names were given "
                    f"({show(names.tolist())}); give two, or none"
                )
        for name in ("annotation_case", "annotation_annotator"):
            columns[name] = np.asarray(getattr(self, name)).astype(np.int32)
        columns["score"] = np.asarray(self.score, np.float64)
        for name, column in columns.items():
            self._freeze(name, column)
        check_scores(self)
        for at in np.flatnonzero(~(np.abs(self.score) <= GREATEST)).tolist():
            raise AnnotationError(
                f"{self._where(at)}: the score is {self.score[at]:g}; write a "
                f"finite number from -{GREATEST:g} to {GREATEST:g}, or remove the row"
            )

    def of_case(self, case: str | int) -> dict[str, float]:
        """Return the score of each annotator of a case; AnnotationError if there is no such case."""
        at = self.position(case)
        own = slice(self.case_start[at], self.case_start[at + 1])
        names = self.annotators[self.annotation_annotator[own]].tolist()
        return dict(zip(names, self.score[own].tolist(), strict=True))

    def select(self, cases: Iterable[str] | np.ndarray) -> "Scores":
        """Return the scores of some cases, in the order asked for; see :meth:`plausibly.Annotations.select`."""
        chosen = chosen_positions(self, cases)
        number = np.full(self.n_cases, -1)
        number[chosen] = np.arange(len(chosen))
        inside = number[self.annotation_case] >= 0
        fields = arrange_scores(
            self.cases[chosen],
            self.annotators,
            self.anonymous,
            number[self.annotation_case[inside]],
            self.annotation_annotator[inside],
            self.score[inside],
        )
        return Scores(**fields, classes=self.classes)

    def split(self, threshold: float) -> Annotations:
        """Return single labels of two classes: scores up to a threshold, and scores above it.

        Parameters
        ----------
        threshold
            Threshold; a score equal to it belongs to the first class.

        Raises
        ------
        ArgumentError
            If the threshold is not a finite number.

        Examples
        --------
        >>> table = pd.DataFrame({"case": [1, 1], "annotator": ["ann", "bob"], "score": [4, 6]})
        >>> Annotations.from_scores(table, classes=["plain", "pretty"]).split(5).rankings("1")
        {'ann': [['plain']], 'bob': [['pretty']]}
        """
        threshold = check_threshold(threshold)
        names = (f"≤ {threshold:.15g}", f"> {threshold:.15g}") if self.classes is None else self.classes
        return self._labels(self.score > threshold, names)

    def _labels(self, class_index: np.ndarray, names: Iterable[str]) -> Annotations:
        """Labels that name a class for every score."""
        return Annotations(
            cases=self.cases,
            classes=np.asarray(names, dtype=str),
            annotators=self.annotators,
            anonymous=self.anonymous,
            annotation_case=self.annotation_case,
            annotation_annotator=self.annotation_annotator,
            entry_annotation=np.arange(self.n_annotations, dtype=np.int32),
            entry_class=class_index.astype(np.int32),
            entry_block=np.zeros(self.n_annotations, np.int16),
            ordered=True,
        )

    def as_classes(self, threshold: float | None = None) -> Annotations:
        """Return single labels: of every value (:meth:`grades`), or of two classes at a threshold (:meth:`split`).

        Examples
        --------
        >>> table = pd.DataFrame({"case": [1, 1, 2], "annotator": ["ann", "bob", "ann"], "score": [4, 2, 1]})
        >>> scores = Annotations.from_scores(table)
        >>> scores.as_classes().n_classes, scores.as_classes(3).n_classes
        (3, 2)
        """
        return self.grades() if threshold is None else self.split(threshold)

    def grades(self, values: Iterable[float | str] | None = None) -> Annotations:
        """Return single labels of as many classes as there are values, in ascending order; no threshold is needed.

        Parameters
        ----------
        values
            Values of the scale, such as ``range(1, 6)``; by default those that occur. Name them if some never occur:
            classifiers may say them, and metrics of ordered classes count how many of them lie between two.

        Returns
        -------
        Annotations
            Labels of classes that are named after the values, such as "1" and "2.5".

        Raises
        ------
        ArgumentError
            If values are not distinct finite numbers, there are fewer than 2 or more than 20 of them, or a score is
            none of them.

        Examples
        --------
        >>> table = pd.DataFrame({"case": [1, 1, 2], "annotator": ["ann", "bob", "ann"], "score": [4, 2, 1]})
        >>> graded = Annotations.from_scores(table).grades(range(1, 5))
        >>> graded.classes.tolist(), graded.rankings("1")
        (['1', '2', '3', '4'], {'ann': [['4']], 'bob': [['2']]})
        """
        try:
            scale = np.unique([float(value) for value in (self.score if values is None else values)])
        except (TypeError, ValueError):
            scale = np.array([np.nan])
        if not np.isfinite(scale).all():
            raise ArgumentError(f"grades must be numbers, but {show(values)} was given: write for example range(1, 6).")
        if not 2 <= len(scale) <= MOST_GRADES:
            raise ArgumentError(
                f"grades are from 2 to {MOST_GRADES} values, but the scores have {len(scale)} ({show(scale.tolist())})"
                ": split them at a threshold instead, with threshold= (--threshold)."
            )
        at = np.searchsorted(scale, self.score).clip(max=len(scale) - 1)
        for row in np.flatnonzero(scale[at] != self.score)[:1].tolist():
            raise ArgumentError(
                f"{self._where(row)}: the score {self.score[row]:g} is none of "
                f"the grades {', '.join(f'{value:g}' for value in scale)}: name every value of the scale."
            )
        return self._labels(at, [f"{value:.15g}" for value in scale])

    def to_table(self) -> pd.DataFrame:
        """Return a table with one row per score: ``case``, ``annotator``, ``score``."""
        return pd.DataFrame(
            {
                "case": self.cases[self.annotation_case].astype(object),
                "annotator": self.annotators[self.annotation_annotator].astype(object),
                "score": self.score,
            }
        )

    def __repr__(self) -> str:
        by = "anonymous annotators" if self.anonymous else many(len(self.annotators), "annotator")
        spread = f"from {self.score.min():g} to {self.score.max():g}"
        return f"Scores({many(self.n_cases, 'case')}, {many(self.n_annotations, 'score')} by {by}, {spread})"


def check_threshold(threshold: object) -> float:
    """Refuse a threshold that is not a finite number."""
    if threshold is None:
        raise ArgumentError(
            "scores need a threshold that separates two classes, but none was given: write for example threshold=0 "
            "(--threshold 0), or evaluate few distinct scores as grades (ordered=True, --ordered)."
        )
    number = isinstance(threshold, Real | np.number) and not isinstance(threshold, bool | np.bool_)
    if not (number and np.abs(float(threshold)) <= GREATEST):  # type: ignore[arg-type]
        raise ArgumentError(
            f"threshold must be a finite number from -{GREATEST:g} to {GREATEST:g}, but {show(threshold)} was "
            "given: write for example threshold=0."
        )
    return float(threshold)  # type: ignore[arg-type]
