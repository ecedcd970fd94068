"""The container: cases × annotators × partial rankings in columns, with names for all three."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.base.errors import AnnotationError, show
from plausibly.base.names import many, to_names
from plausibly.data.annotations._classes import in_own_order
from plausibly.data.annotations._rows import Rows, SecondAnswers, arrange, two_answers
from plausibly.data.annotations.by_case import InBlocks, check_columns
from plausibly.data.annotations.io._counts import parse_counts
from plausibly.data.annotations.io._rankings import labels_as_rankings, parse_rankings
from plausibly.data.annotations.io.columns import category_order, is_number, table_columns
from plausibly.data.annotations.io.exports import rows_in
from plausibly.data.annotations.io.formats import OF_ANSWERS
from plausibly.data.annotations.io.long_table import check_repeats, parse_scores, parse_table
from plausibly.data.annotations.io.matrix import matrix_of
from plausibly.data.annotations.io.source import source_in_memory
from plausibly.data.annotations.io.spellings import COLUMNS
from plausibly.data.annotations.shown import check_choices, refuse_comparisons
from plausibly.data.annotations.views import (
    as_table,
    chosen_positions,
    rankings_by_case,
    rankings_of,
    selected_rows,
    some_labels,
)
from plausibly.data.rounds import Rounds, rounds

if TYPE_CHECKING:
    from plausibly.data.annotations.scores import Scores


@dataclass(frozen=True, eq=False, repr=False)
class Annotations(InBlocks):
    """Partial rankings of the classes of each case, by several annotators.

    An *annotation* is what one annotator said about one case: disjoint blocks of tied classes, best block first. Only
    the classes an annotator named are stored; all others share the implied last block. Everything is stored in flat
    columns, so that a million cases fit into memory; the arrays are read-only. Build annotations with one of the
    constructors below or with :func:`read_annotations`; the columns passed here are checked, not sorted.

    Parameters
    ----------
    cases
        (N,) distinct names of the cases.
    classes
        (K,) distinct names of all classes, including classes that no annotator names.
    annotators
        (A,) distinct names of the annotators.
    anonymous
        True if an annotator's name is only a position within a case ("1", "2", …): then "1" of one case and "1" of
        another need not be the same person.
    annotation_case, annotation_annotator
        (R,) case and annotator of every annotation, sorted by case, then annotator.
    entry_annotation, entry_class, entry_block
        (E,) annotation, class and block (0 is the best) of every named class, sorted by annotation, block, class.
    ordered
        True if somebody gave the order of the classes, so that metrics of grades can go by it: by the argument
        ``classes`` of a constructor, or by an ordered Categorical. Otherwise, names are in alphabetical order.
    annotation_order
        (R,) place of every annotation in the order in which its case got them, from 0; None if that is unknown, or all
        cases have the same number. It does not count when annotations are compared.

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
    ordered: bool = field(default=False, compare=False)  # no posterior depends on it
    annotation_order: Int[np.ndarray, " annotation"] | None = field(default=None, compare=False)

    def __post_init__(self):
        for name in ("cases", "classes", "annotators"):
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
    def from_rankings(
        cls, rankings: object, classes: Iterable[str] | None = None, *, choices: str | None = None
    ) -> "Annotations":
        """Build annotations from nested lists, or from a dictionary with names.

        Parameters
        ----------
        rankings
            List of cases → list of annotators → list of blocks, best first → list of class names or indices; or
            ``{"classes": […], "cases": {case: {annotator: [[class, …], …]}}}``, in which ``classes`` may be absent and
            a case may hold a list of rankings by anonymous annotators.
        classes
            (K,) class names; index 0 stands for the first. If None, the names under ``"classes"`` in the dictionary or,
            without these, the names in use, sorted. Unnamed classes are kept.
        choices
            What annotators chose from, needed only if annotations look like comparisons, in which most name two (or a
            few) classes whatever is preferred: ``"all"`` says that they chose from all classes.

        Raises
        ------
        AnnotationError
            If there is no case, a case has no annotators, an annotation or a block is empty, an annotator names a class
            twice, a class is unknown, an index is outside the range or has no name, or annotations look like
            comparisons of the classes that were shown.

        Examples
        --------
        >>> Annotations.from_rankings({"cases": {"p7": {"ann": [["a"], ["b"]], "bob": [["b"]]}}}, classes="abc")
        Annotations(1 case, 2 annotations by 2 annotators, 3 classes)
        """
        named = rankings.get("classes") if classes is None and isinstance(rankings, Mapping) else classes
        return cls._from_rows(parse_rankings(rankings, _classes(classes)), choices, ordered=in_own_order(named))

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
            (A,) name of the annotator in each column, if every column holds the labels of one person (labels may be
            missing). If None, annotators are anonymous.
        missing
            Value that stands for "no label": None or, for example, −1 or NaN. With NaN, indices may be stored as
            floats.

        Raises
        ------
        AnnotationError
            As for :meth:`from_rankings`, or if there are more or fewer names than rows or columns.

        Examples
        --------
        >>> Annotations.from_labels([[0, 1, -1], [2, 2, 2]], classes=["a", "b", "c"], missing=-1)
        Annotations(2 cases, 5 annotations by anonymous annotators, 3 classes)
        """
        classes = _classes(classes)
        rows = parse_rankings(labels_as_rankings(labels, cases, annotators, missing), classes)
        return cls._from_rows(rows, ordered=classes is not None)

    @classmethod
    def from_counts(
        cls, counts: object, classes: Iterable[str] | None = None, cases: Iterable[str] | None = None
    ) -> "Annotations":
        """Build annotations from label counts: a count of 3 stands for three anonymous annotators who named that class.

        Parameters
        ----------
        counts
            (N, K) whole numbers ≥ 0, with at least one annotator per case: an array, or a data frame with the class
            names as columns, which may also have a column "case".
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
        rows = parse_counts(matrix_of(counts, AnnotationError, classes), classes, cases)
        return cls._from_rows(rows, ordered=classes is not None)

    @classmethod
    def from_table(
        cls,
        table: Any,
        classes: Iterable[str] | None = None,
        anonymous: bool = False,
        *,
        choices: str | None = None,
        repeats: str | None = None,
    ) -> "Annotations":
        """Build annotations from a long table with one row per case, annotator and class.

        Parameters
        ----------
        table
            A data frame (pandas, polars, PyArrow, …) with columns ``case``, ``annotator``, ``class`` (or ``task``,
            ``worker``, ``label``) and at most one of ``rank`` (≥ 1, 1 = best, equal ranks tie, gaps do not matter) and
            ``confidence`` (greater is better, equal ones tie). Without either, see `repeats`. Other columns are not
            read; rows may be in any order.
        classes
            (K,) class names; if None the names in use, sorted, or all categories of an ordered Categorical (pandas) or
            Enum (polars), in their order. Whole numbers in the table are indices, unless a class has a whole number as
            its name.
        anonymous
            Whether an annotator's name is valid only within a case, so that the same name in two cases may mean two
            people. This is assumed if the table has a column ``annotation`` instead of ``annotator``.
        choices
            What annotators chose from, as for :meth:`from_rankings`.
        repeats
            What several rows of a case and an annotator are without a rank: ``"ties"``, one answer with several
            classes, which is assumed where at least half of all answers have several; or a second answer, of which
            ``"first"`` or ``"last"`` counts. By default second answers are refused.

        Raises
        ------
        AnnotationError
            If a column or a cell is missing, a rank is below 1 or not a number, a class is unknown, a row appears
            twice, or annotations look like comparisons.

        Examples
        --------
        >>> table = pd.DataFrame({"task": ["t1", "t1"], "worker": ["w", "w"], "label": ["b", "a"], "rank": [1, 2]})
        >>> Annotations.from_table(table).rankings("t1")
        {'w': [['b'], ['a']]}
        """
        columns = table_columns(table)
        classes = _classes(category_order(table, COLUMNS["class"]) if classes is None else classes)
        return cls._from_rows(
            parse_table(columns, classes, anonymous, (), check_repeats(repeats)), choices, ordered=classes is not None
        )

    @staticmethod
    def from_scores(table: Any, classes: Iterable[str] | None = None, anonymous: bool = False) -> "Scores":
        """Build scores from a long table with one row per case and annotator.

        Parameters
        ----------
        table
            A data frame (pandas, polars, PyArrow, …) with columns ``case``, ``annotator`` (or ``task``, ``worker``) and
            ``score``, a finite number, real or ordinal. Other columns are not read; rows may be in any order.
        classes
            Names of the two classes on either side of the threshold, the lower first; by default they are named after
            it, such as "≤ 0" and "> 0".
        anonymous
            Whether an annotator's name is valid only within a case, so that the same name in two cases may mean two
            people.

        Returns
        -------
        plausibly.annotations.Scores
            Scores are not partial rankings: they are accepted by the models ``"ordinal-scores"`` and
            ``"normal-scores"``, with a threshold; :meth:`~plausibly.annotations.Scores.split` turns them into labels of
            two classes.

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
        from plausibly.data.annotations.scores import Scores  # which makes annotations in turn

        return Scores(**parse_scores(table_columns(table), anonymous), classes=classes)

    @classmethod
    def from_case_rows(
        cls,
        source: Any,
        classes: Iterable[str] | None = None,
        question: str | None = None,
        *,
        soft_weight: int | None = None,
        choices: str | None = None,
    ) -> "Annotations":
        """Build annotations from a source with one row, or record, per case.

        Parameters
        ----------
        source
            A data frame (pandas, polars, PyArrow), a ``datasets.Dataset``, a mapping of columns, or a list of records;
            or a mapping from case to such a record, or to ``{annotator: answer}``; or records that Argilla, Prodigy or
            doccano exported. Each row has a field ``annotations`` (or ``labels``): a list of answers, or a mapping from
            annotator to answer. A list may come with a field ``annotators``, a list of as many names. An answer is a
            class, a list of tied classes, or a list of blocks. :func:`plausibly.read_metadata` reads the other fields.
        classes
            (K,) class names; if None the names in use, sorted. Whole numbers are indices, unless a class has that
            number as its name.
        question
            Argilla question to read, if there are several.
        soft_weight
            Number of annotators that a ``soft_label`` stands for. A record without answers may have one, a mapping from
            class to probability; the probabilities are turned into this many labels, rounded by largest remainders.
        choices
            What annotators chose from, as for :meth:`from_rankings`.

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
        classes = _classes(classes)
        opened = source_in_memory(source, control=question, soft_weight=soft_weight, classes=classes)
        if (rows := rows_in(opened, OF_ANSWERS)) is None:
            raise AnnotationError(
                f"there is no row for each case with its annotations, got {show(source)}; give a table or "
                "records with 'annotations', and 'annotators' if they are known"
            )
        if isinstance(rows, dict):
            raise AnnotationError("these answers are numbers on a scale; read them with plausibly.read_annotations")
        return cls._from_rows(rows, choices, ordered=classes is not None)

    @classmethod
    def _from_rows(cls, rows: Rows, choices: str | None = None, ordered: bool = False) -> "Annotations":
        check_choices(choices)
        annotations = cls(**arrange(rows), ordered=ordered)
        if not rows.ranked:
            _refuse_second_answers(annotations)
        if choices is None:
            refuse_comparisons(annotations)
        return annotations

    @property
    def n_classes(self) -> int:
        """Number of classes, K, unnamed ones included."""
        return len(self.classes)

    def rankings(self, case: str | int) -> dict[str, list[list[str]]]:
        """Return each annotator's ranking of a case, best block first.

        Parameters
        ----------
        case
            Name of the case, or its position as an integer.

        Raises
        ------
        AnnotationError
            If there is no such case.
        """
        return rankings_of(self, self.position(case), self.annotators.tolist(), self.classes.tolist())

    def select(self, cases: Iterable[str] | np.ndarray) -> "Annotations":
        """Return the annotations of some cases, in the order asked for.

        All classes are kept; annotators with no annotation of these cases are dropped.

        Parameters
        ----------
        cases
            Case names, integer positions, or a boolean mask (N,); each case at most once.

        Raises
        ------
        AnnotationError
            If a case does not exist or is given twice, or if no case is given.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[3, 0], [1, 2]], cases=["p", "q"])
        >>> annotations.select(["q"])
        Annotations(1 case, 3 annotations by anonymous annotators, 2 classes)
        """
        chosen = chosen_positions(self, cases)
        annotated = self.per_case[chosen] > 0
        if not annotated.any():
            nothing: dict[str, Any] = {name: np.empty(0, np.int32) for name in _INDICES}
            return replace(self, annotation_order=None, cases=self.cases[chosen], **nothing)
        found = self._from_rows(selected_rows(self, chosen[annotated]), "all", self.ordered)
        if annotated.all():
            return found
        of_annotation = np.flatnonzero(annotated)[found.annotation_case]
        return replace(found, cases=self.cases[chosen], annotation_case=of_annotation)

    @cached_property
    def rounds(self) -> Rounds | None:
        """How the number of annotations of a case depends on the first ones; None if it does not."""
        first_choice = self.entry_class[self.annotation_start[:-1]]
        numbers = self.classes.astype(float)[first_choice] if all(map(is_number, self.classes)) else None
        return rounds(self.annotation_case, first_choice, self.annotation_order, numbers)

    @cached_property
    def fair(self) -> "Annotations | None":
        """As many annotations of every case as do not depend on what the first ones say, see :attr:`rounds`.

        All of them, where their number does not depend on them; None if it does, and nothing tells which came first.
        """
        if self.rounds is None:
            return self
        if self.rounds.kept is None:
            return None
        return some_labels(self, self.rounds.kept)

    def with_cases(self, cases: Iterable[str]) -> "Annotations":
        """Add cases that have no annotations, whose plausibilities follow from the predictions of classifiers.

        :func:`plausibly.aggregate` with ``predictions`` and :func:`plausibly.evaluate` accept the result; functions
        that need annotations of every case refuse it.

        Parameters
        ----------
        cases
            Names of the cases, which go after the others in this order. Those that are there already stay.

        Raises
        ------
        AnnotationError
            If a name is given twice, or is not a name.

        Examples
        --------
        >>> annotations = Annotations.from_counts([[3, 0], [1, 2]], cases=["p", "q"]).with_cases(["r", "q", "s"])
        >>> annotations.cases.tolist(), annotations.per_case.tolist()
        (['p', 'q', 'r', 's'], [3, 3, 0, 0])
        >>> annotations.annotated.cases.tolist()
        ['p', 'q']
        """
        names = to_names(cases, "case")
        new = names[~np.isin(names, self.cases)]
        return replace(self, cases=np.concatenate([self.cases, new])) if len(new) else self

    def to_table(self) -> pd.DataFrame:
        """Return a table with one row per named class.

        The columns are ``case``, ``annotator``, ``class`` and ``rank`` (1 = best, equal ranks tie).
        ``from_table(…, classes=…, anonymous=…)`` turns it back into equal annotations.

        Examples
        --------
        >>> Annotations.from_rankings([[[["b"], ["a"]]]]).to_table().to_dict("list")
        {'case': ['0', '0'], 'annotator': ['1', '1'], 'class': ['b', 'a'], 'rank': [1, 2]}
        """
        return as_table(self)

    def to_rankings(self) -> dict:
        """Return the rankings as plain lists, dictionaries and strings, in the form that :meth:`from_rankings` reads.

        Examples
        --------
        >>> Annotations.from_rankings([[[["b"], ["a"]]]]).to_rankings()
        {'classes': ['a', 'b'], 'cases': {'0': [[['b'], ['a']]]}}
        """
        return {"classes": self.classes.tolist(), "cases": dict(rankings_by_case(self))}

    def __repr__(self) -> str:
        by = "anonymous annotators" if self.anonymous else many(len(self.annotators), "annotator")
        annotations = many(self.n_annotations, "annotation")
        without = int((self.per_case == 0).sum())
        cases = many(self.n_cases, "case") + (f" ({without:,} without annotations)" if without else "")
        return f"Annotations({cases}, {annotations} by {by}, {many(self.n_classes, 'class')})"


_INDICES = ("annotation_case", "annotation_annotator", "entry_annotation", "entry_class", "entry_block")


def _refuse_second_answers(annotations: Annotations) -> None:
    """Refuse several classes without a rank where most annotations have one; elsewhere they are tied."""
    sizes = np.diff(annotations.annotation_start)
    several = np.flatnonzero(sizes > 1)
    if annotations.anonymous or not len(several) or 2 * len(several) >= len(sizes):
        return
    first = several[0]
    one, other = annotations.classes[annotations.entry_class[annotations.annotation_start[first] :][:2]].tolist()
    case = str(annotations.cases[annotations.annotation_case[first]])
    who = str(annotations.annotators[annotations.annotation_annotator[first]])
    raise SecondAnswers(two_answers(case, who, one, other, len(several), len(sizes), "ties"))


def _classes(classes: Iterable[str] | None) -> np.ndarray | None:
    return None if classes is None else to_names(classes, "class")
