"""The container: cases × annotators × partial rankings in columns, with names for all three."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.annotations._by_case import many
from plausibly.annotations._in_blocks import InBlocks
from plausibly.annotations._names import _show, to_names
from plausibly.annotations._rows import Rows, arrange
from plausibly.annotations._validate import check_columns
from plausibly.annotations._views import as_rankings, as_table, chosen_positions, rankings_of, selected_rows
from plausibly.annotations.io._columns import table_columns
from plausibly.annotations.io._counts import parse_counts
from plausibly.annotations.io._exports import answers_of_object
from plausibly.annotations.io._long_table import parse_table
from plausibly.annotations.io._matrix import matrix_of
from plausibly.annotations.io._rankings import parse_rankings
from plausibly.annotations.io._scores import parse_scores
from plausibly.annotations.io._single_labels import labels_as_rankings
from plausibly.errors import AnnotationError

if TYPE_CHECKING:
    from plausibly.annotations._scores import Scores

_NAMES = ("cases", "classes", "annotators")


@dataclass(frozen=True, eq=False, repr=False)
class Annotations(InBlocks):
    """Partial rankings of classes, by annotators, for cases.

    An *annotation* is what one annotator said of one case: disjoint blocks of tied classes, best block first. Only the
    classes an annotator named are stored; all others share the implied last block. Everything is in flat columns, so
    that a million cases fit; the arrays are read-only. Build it with one of the constructors below or with
    :func:`read_annotations`; the columns passed here are checked, not sorted.

    Parameters
    ----------
    cases
        (N,) names of cases, distinct.
    classes
        (K,) names of classes, distinct, unnamed classes included.
    annotators
        (A,) names of annotators, distinct.
    anonymous
        True if an annotator's name is only a position within a case ("1", "2", …): then "1" of one case and "1" of
        another need not be the same person.
    annotation_case, annotation_annotator
        (R,) case and annotator of every annotation, sorted by case, then annotator.
    entry_annotation, entry_class, entry_block
        (E,) annotation, class and block (0 is the best) of every named class, sorted by annotation, block, class.

    Raises
    ------
    AnnotationError
        If the columns do not fit together.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["eczema"], ["psoriasis", "tinea"]], [["tinea"]]]])
    >>> annotations
    Annotations(1 case, 2 annotations by anonymous annotators, 3 classes)
    >>> annotations.rankings("0")
    {'1': [['eczema'], ['psoriasis', 'tinea']], '2': [['tinea']]}
    """

    cases: np.ndarray
    classes: np.ndarray
    annotators: np.ndarray
    anonymous: bool
    annotation_case: Int[np.ndarray, " annotation"]
    annotation_annotator: Int[np.ndarray, " annotation"]
    entry_annotation: Int[np.ndarray, " entry"]
    entry_class: Int[np.ndarray, " entry"]
    entry_block: Int[np.ndarray, " entry"]

    def __post_init__(self):
        for name in _NAMES:
            self._freeze(name, to_names(getattr(self, name), name.removesuffix("es" if name == "classes" else "s")))
        for name in _INDICES:
            column = np.asarray(getattr(self, name))
            if column.ndim != 1 or column.dtype.kind not in "iu":
                raise AnnotationError(
                    f"{name} has dtype {column.dtype} and shape {column.shape}; give a vector of integers"
                )
            # Copied, unless it is read-only.
            kind = np.int16 if name == "entry_block" else np.int32
            self._freeze(name, column.astype(kind, copy=column.flags.writeable))
        check_columns(self)

    @classmethod
    def from_rankings(cls, rankings: object, classes: Iterable[str] | None = None) -> "Annotations":
        """Build annotations from nested lists, or from an object with names.

        Parameters
        ----------
        rankings
            List of cases → list of annotators → list of blocks, best first → list of class names or indices; or
            ``{"classes": […], "cases": {case: {annotator: [[class, …], …]}}}``, in which ``classes`` may be absent and
            a case may hold a list of anonymous annotators.
        classes
            (K,) class names in the order that indices count, from 0. If None, those of the object form, or the names
            in use, sorted. Unnamed classes are kept.

        Raises
        ------
        AnnotationError
            If there is no case, a case has no annotators, an annotation or a block is empty, an annotator names a class
            twice, a class is unknown, or an index is outside the range or has no name.

        Examples
        --------
        >>> Annotations.from_rankings({"cases": {"p7": {"ann": [["a"], ["b"]], "bob": [["b"]]}}}, classes="abc")
        Annotations(1 case, 2 annotations by 2 annotators, 3 classes)
        """
        return cls(**arrange(parse_rankings(rankings, _classes(classes))))

    @classmethod
    def from_labels(
        cls,
        labels: object,
        classes: Iterable[str] | None = None,
        cases: Iterable[str] | None = None,
        annotators: Iterable[str] | None = None,
        missing: object = None,
    ) -> "Annotations":
        """Build annotations from single labels.

        Parameters
        ----------
        labels
            List of cases → list of labels, one per annotator; or an array (case, annotator). A label is a class name
            or an index.
        classes
            (K,) class names; if None the names in use, sorted.
        cases
            (N,) case names; if None "0", "1", …
        annotators
            (A,) names of the columns, if a column is a person who labels, or leaves out, every case; if None annotators
            are anonymous.
        missing
            What stands for "no label": None, or for instance −1 or NaN. With NaN, an array of floats may hold indices.

        Raises
        ------
        AnnotationError
            As :meth:`from_rankings`; and if numbers of rows or columns and names differ.

        Examples
        --------
        >>> Annotations.from_labels([[0, 1, -1], [2, 2, 2]], classes=["a", "b", "c"], missing=-1)
        Annotations(2 cases, 5 annotations by anonymous annotators, 3 classes)
        """
        return cls.from_rankings(labels_as_rankings(labels, cases, annotators, missing), classes)

    @classmethod
    def from_counts(
        cls, counts: object, classes: Iterable[str] | None = None, cases: Iterable[str] | None = None
    ) -> "Annotations":
        """Build annotations from label counts: each count is one anonymous annotator who named one class.

        Parameters
        ----------
        counts
            (N, K) whole numbers ≥ 0, at least one annotator per case; an array or a data frame whose columns are named
            by class and which may have a column "case".
        classes
            (K,) class names; if None the names of the columns, or "0", "1", …
        cases
            (N,) case names; if None the column "case", or "0", "1", …

        Raises
        ------
        AnnotationError
            If a count is negative, a fraction or not finite, a row is all zeros, or the shape does not fit.

        Examples
        --------
        >>> Annotations.from_counts([[3, 0], [1, 2]], classes=["cat", "dog"]).rankings("1")
        {'1': [['cat']], '2': [['dog']], '3': [['dog']]}
        """
        classes = _classes(classes)
        cases = None if cases is None else to_names(cases, "case")
        return cls(**arrange(parse_counts(matrix_of(counts, AnnotationError, classes), classes, cases)))

    @classmethod
    def from_table(cls, table: Any, classes: Iterable[str] | None = None, anonymous: bool = False) -> "Annotations":
        """Build annotations from a long table with a row per case, annotator and class.

        Parameters
        ----------
        table
            A data frame (pandas, polars, PyArrow, …) with columns ``case``, ``annotator``, ``class`` (or ``task``,
            ``worker``, ``label``) and at most one of ``rank`` (≥ 1, 1 = best, equal ranks tie, gaps do not matter) and
            ``confidence`` (greater is better, equal ones tie). Without either, the classes that an annotator names in
            a case are tied, whatever their order; :func:`plausibly.audit` counts such annotations. Other columns are
            not read; rows may be in any order.
        classes
            (K,) class names; if None the names in use, sorted. Whole numbers in the table are indices, unless a class
            is itself named by a whole number.
        anonymous
            Whether annotator names only tell the annotators of one case apart, as they do in a column ``annotation`` in
            place of ``annotator``.

        Raises
        ------
        AnnotationError
            If a column or a cell is missing, a rank is not a number or below 1, a class is unknown, or a row is there
            twice.

        Examples
        --------
        >>> table = pd.DataFrame({"task": ["t1", "t1"], "worker": ["w", "w"], "label": ["b", "a"], "rank": [1, 2]})
        >>> Annotations.from_table(table).rankings("t1")
        {'w': [['b'], ['a']]}
        """
        return cls._from_rows(parse_table(table_columns(table), _classes(classes), anonymous))

    @staticmethod
    def from_scores(table: Any, classes: Iterable[str] | None = None, anonymous: bool = False) -> "Scores":
        """Build scores from a long table with a row per case and annotator.

        Parameters
        ----------
        table
            A data frame (pandas, polars, PyArrow, …) with columns ``case``, ``annotator`` (or ``task``, ``worker``) and
            ``score``, a finite number, real or ordinal. Other columns are not read; rows may be in any order.
        classes
            Names of the two classes that a threshold will make, the lower first; if None they are called after it, such
            as "≤ 0" and "> 0".
        anonymous
            Whether annotator names only tell the annotators of one case apart.

        Returns
        -------
        plausibly.annotations.Scores
            Scores are not partial rankings: what takes them is the model ``"normal-scores"``, with a threshold, and
            :meth:`~plausibly.annotations.Scores.split` turns them into labels of two classes.

        Raises
        ------
        AnnotationError
            If a column or a cell is missing, a score is not a finite number, or an annotator scores a case twice.

        Examples
        --------
        >>> table = pd.DataFrame({"case": ["p", "p"], "annotator": ["ann", "bob"], "score": [0.5, 2.0]})
        >>> Annotations.from_scores(table).of_case("p")
        {'ann': 0.5, 'bob': 2.0}
        """
        from plausibly.annotations._scores import Scores  # which makes annotations in turn

        return Scores(**parse_scores(table_columns(table), anonymous), classes=classes)

    @classmethod
    def from_case_rows(
        cls,
        source: Any,
        classes: Iterable[str] | None = None,
        question: str | None = None,
        *,
        soft_weight: int | None = None,
    ) -> "Annotations":
        """Build annotations from a source with one row, or record, per case.

        Parameters
        ----------
        source
            A data frame (pandas, polars, PyArrow), a ``datasets.Dataset``, a mapping of columns, or a list of records,
            with ``annotations`` (or ``labels``), lists of answers or mappings from annotator to answer, and perhaps
            ``annotators``, lists of equally many names; or a mapping from case to such a record, or to ``{annotator:
            answer}``; or records that Argilla, Prodigy or doccano exported. An answer is a class, a list of tied
            classes, or a list of blocks. Other fields are for :func:`plausibly.read_metadata`.
        classes
            (K,) class names; if None the names in use, sorted. Whole numbers are indices where no class is named so.
        question
            Of Argilla: the question to read, if there are several.
        soft_weight
            Number of annotators that a record stands for that has no answers, but a ``soft_label``, a mapping from
            class to probability: its probabilities become as many labels, rounded by largest remainders.

        Raises
        ------
        AnnotationError
            If the source has none of these forms, or breaks a rule; the message names the case.
        ArgumentError
            If there are soft labels and ``soft_weight`` is not given.

        Examples
        --------
        >>> rows = [{"id": "p7", "annotations": ["wart", "corn"], "annotators": ["ann", "bob"], "site": "north"}]
        >>> Annotations.from_case_rows(rows).rankings("p7")
        {'ann': [['wart']], 'bob': [['corn']]}
        >>> Annotations.from_case_rows([{"id": "p8", "soft_label": {"wart": 0.7, "corn": 0.3}}], soft_weight=10)
        Annotations(1 case, 10 annotations by anonymous annotators, 2 classes)
        """
        found = answers_of_object(source, question, soft_weight)
        if found is None:
            raise AnnotationError(
                f"there is no row for each case with its annotations, got {_show(source)}; give a table or "
                "records with 'annotations', and 'annotators' if they are known"
            )
        known = _classes(classes)
        return cls._from_rows(parse_rankings(found.to_rankings(known), known))

    @classmethod
    def _from_rows(cls, rows: Rows) -> "Annotations":
        return cls(**arrange(rows))

    @property
    def n_classes(self) -> int:
        """Number of classes, K, unnamed ones included."""
        return len(self.classes)

    def rankings(self, case: str | int) -> dict[str, list[list[str]]]:
        """Return what each annotator said of a case, best block first.

        Parameters
        ----------
        case
            Its name, or its position as an integer.

        Raises
        ------
        AnnotationError
            If there is no such case.
        """
        return rankings_of(self, self.position(case), self.annotators.tolist(), self.classes.tolist())

    def select(self, cases: Iterable[str] | np.ndarray) -> "Annotations":
        """Return the annotations of some cases, in the order asked for.

        All classes are kept; annotators who said nothing of these cases are not.

        Parameters
        ----------
        cases
            Case names, integer positions, or a boolean mask (N,); no case twice.

        Raises
        ------
        AnnotationError
            If a case does not exist, is asked for twice, or none is asked for.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[3, 0], [1, 2]], cases=["p", "q"])
        >>> annotations.select(["q"])
        Annotations(1 case, 3 annotations by anonymous annotators, 2 classes)
        """
        return self._from_rows(selected_rows(self, chosen_positions(self, cases)))

    def to_table(self) -> pd.DataFrame:
        """Return a row per named class: ``case``, ``annotator``, ``class`` and ``rank`` (1 = best, equal ranks tie).

        ``from_table(…, classes=…, anonymous=…)`` gives equal annotations back.

        Examples
        --------
        >>> Annotations.from_rankings([[[["b"], ["a"]]]]).to_table().to_dict("list")
        {'case': ['0', '0'], 'annotator': ['1', '1'], 'class': ['b', 'a'], 'rank': [1, 2]}
        """
        return as_table(self)

    def to_rankings(self) -> dict:
        """Return the object form of rankings, of plain lists, dictionaries and text, as :meth:`from_rankings` reads it.

        Examples
        --------
        >>> Annotations.from_rankings([[[["b"], ["a"]]]]).to_rankings()
        {'classes': ['a', 'b'], 'cases': {'0': [[['b'], ['a']]]}}
        """
        return as_rankings(self)

    def __repr__(self) -> str:
        by = "anonymous annotators" if self.anonymous else many(len(self.annotators), "annotator")
        annotations = many(self.n_annotations, "annotation")
        return f"Annotations({many(self.n_cases, 'case')}, {annotations} by {by}, {many(self.n_classes, 'class')})"


_INDICES = ("annotation_case", "annotation_annotator", "entry_annotation", "entry_class", "entry_block")


def _classes(classes: Iterable[str] | None) -> np.ndarray | None:
    return None if classes is None else to_names(classes, "class")
