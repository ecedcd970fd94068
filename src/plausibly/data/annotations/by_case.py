"""What all annotations have: cases by name, annotations sorted by case, blocks of rankings; the rules of columns."""

from dataclasses import Field, fields
from functools import cached_property
from hashlib import blake2b
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from jaxtyping import Int

from plausibly.base.errors import AnnotationError, show
from plausibly.base.names import many, some

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations
    from plausibly.data.annotations.scores import Scores


class ByCase:
    """A frozen data class of columns that are sorted by case."""

    cases: np.ndarray
    annotators: np.ndarray
    annotation_case: Int[np.ndarray, " annotation"]
    annotation_annotator: Int[np.ndarray, " annotation"]

    def _freeze(self, name: str, column: np.ndarray) -> None:
        column = column.view()
        column.flags.writeable = False
        object.__setattr__(self, name, column)

    @property
    def n_cases(self) -> int:
        """Number of cases, N."""
        return len(self.cases)

    @property
    def n_annotations(self) -> int:
        """Number of annotations, R: pairs of a case and an annotator."""
        return len(self.annotation_case)

    @cached_property
    def per_case(self) -> Int[np.ndarray, " case"]:
        """Number of annotations of each case; 0 where :meth:`plausibly.Annotations.with_cases` added the case."""
        return np.bincount(self.annotation_case, minlength=self.n_cases)

    @property
    def annotated(self) -> Self:
        """The same of the cases that have annotations."""
        return self if self.per_case.all() else self.select(np.flatnonzero(self.per_case))  # type: ignore[attr-defined]

    @cached_property
    def starts(self) -> Int[np.ndarray, " case+1"]:
        """As :attr:`case_start`, but also if cases have no annotations; ``reduceat`` would be wrong for these."""
        return np.searchsorted(self.annotation_case, np.arange(self.n_cases + 1))

    @property
    def case_start(self) -> Int[np.ndarray, " case+1"]:
        """Offsets: the annotations of case i are ``case_start[i]`` up to, but not including, ``case_start[i + 1]``.

        Raises
        ------
        AnnotationError
            If a case has no annotations.
        """
        check_annotated(self)
        return self.starts

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {str(name): position for position, name in enumerate(self.cases)}

    def position(self, case: str | int) -> int:
        """Return the position of a case: text is a name, an integer is already a position.

        Raises
        ------
        AnnotationError
            If there is no such case.
        """
        found = self._positions.get(case, -1) if isinstance(case, str) else case
        if not isinstance(found, Integral) or isinstance(found, bool) or not 0 <= found < self.n_cases:
            raise AnnotationError(
                f"there is no case {show(case)} among the {self.n_cases} cases {some(self.cases)}; "
                "give the name of one as text, or a position from 0 on"
            )
        return int(found)

    def _where(self, row: int) -> str:
        """Say which case and annotator an annotation is of."""
        case, annotator = self.cases[self.annotation_case[row]], self.annotators[self.annotation_annotator[row]]
        return f"case {str(case)!r}, annotator {str(annotator)!r}"

    def digest(self) -> str:
        """Return a checksum of the contents.

        Examples
        --------
        >>> from plausibly.annotations import Annotations
        >>> a, b = (Annotations.from_labels([[label]], classes=["x", "y"]) for label in "xy")
        >>> a.digest() == a.digest(), a.digest() == b.digest()
        (True, False)
        """
        total = blake2b(digest_size=16)
        for field in self._contents():
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and value.dtype.kind == "U":
                value = "\0".join(value.tolist()).encode()
            total.update(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else repr(value).encode())
            total.update(b"|")
        return total.hexdigest()

    def _contents(self) -> "list[Field[Any]]":
        return [field for field in fields(self) if field.compare]  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(getattr(self, one.name), getattr(other, one.name)) for one in self._contents())

    __hash__ = None  # type: ignore[assignment]  # equal by content, and content is arrays

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


class InBlocks(ByCase):
    """A frozen data class of columns with an entry for every named class, sorted by annotation and block."""

    entry_annotation: Int[np.ndarray, " entry"]
    entry_block: Int[np.ndarray, " entry"]

    @cached_property
    def annotation_start(self) -> Int[np.ndarray, " annotation+1"]:
        """Offsets: the entries of annotation r are ``annotation_start[r]`` up to ``annotation_start[r + 1]``."""
        return np.append(np.flatnonzero(np.diff(self.entry_annotation, prepend=-1)), len(self.entry_annotation))

    @property
    def entry_case(self) -> Int[np.ndarray, " entry"]:
        """Case of every entry."""
        return self.annotation_case[self.entry_annotation]

    @cached_property
    def block_start(self) -> Int[np.ndarray, " block+1"]:
        """Offsets: the entries of block b (numbered through all annotations) are from ``block_start[b]`` on."""
        new = (np.diff(self.entry_annotation, prepend=-1) != 0) | (np.diff(self.entry_block, prepend=-1) != 0)
        return np.append(np.flatnonzero(new), len(self.entry_block))

    @property
    def block_sizes(self) -> Int[np.ndarray, " block"]:
        """Number of classes tied in each named block, in the order of annotations and of blocks within them."""
        return np.diff(self.block_start)

    @property
    def block_annotation(self) -> Int[np.ndarray, " block"]:
        """Annotation that each named block belongs to."""
        return self.entry_annotation[self.block_start[:-1]]


def check_annotated(annotations: ByCase) -> None:
    """Refuse cases without annotations: whoever cannot use them calls this, or reads ``case_start``."""
    without = np.flatnonzero(annotations.per_case == 0)
    if len(without):
        raise AnnotationError(
            f"this needs annotations of every case, but {len(without):,} of {many(annotations.n_cases, 'case')} have "
            f"none, such as {str(annotations.cases[without[0]])!r}; use the others alone, annotations.annotated, or, "
            "to infer the plausibilities of all, give the predictions of classifiers as evidence "
            "(predictions={'A': scores})"
        )


def check_columns(annotations: "Annotations") -> None:
    """Check that columns fit together: sorted, in range, no empty annotation, nothing twice.

    A case may lack annotations, see :meth:`plausibly.Annotations.with_cases`. Readers report the same faults in the
    user's terms before this; it guards annotations made by hand.
    """
    entry, class_index, block = annotations.entry_annotation, annotations.entry_class, annotations.entry_block
    _check_annotations(annotations)
    _require(len(entry) == len(class_index) == len(block), "the entry columns differ in length")
    _require(
        _covers(entry, annotations.n_annotations), "entry_annotation must not decrease and must name every annotation"
    )
    _require(_within(class_index, annotations.n_classes), "entry_class is outside the classes")
    same, step = np.diff(entry) == 0, np.diff(block)
    first = np.diff(entry, prepend=-1) != 0
    _require(
        (block[first] == 0).all() and ((step[same] == 0) | (step[same] == 1)).all(),
        "blocks of an annotation must count 0, 1, 2, … without gaps",
    )
    _require((np.diff(class_index)[same & (step == 0)] > 0).all(), "classes must increase within a block")
    key = np.sort(entry.astype(np.int64) * annotations.n_classes + class_index, kind="stable")
    _require((np.diff(key) > 0).all(), "an annotation names a class twice")


def check_scores(scores: "Scores") -> None:
    """Check that the columns of scores fit together, as :func:`check_columns` does for annotations."""
    _require(
        _covers(scores.annotation_case, scores.n_cases), "annotation_case must not decrease and must name every case"
    )
    _check_annotations(scores)
    _require(scores.score.shape == scores.annotation_case.shape, "annotation_case and score differ in length")


def _check_annotations(annotations: "Annotations | Scores") -> None:
    case, annotator = annotations.annotation_case, annotations.annotation_annotator
    _require(
        case.ndim == 1 and case.shape == annotator.shape, "annotation_case and annotation_annotator differ in length"
    )
    _require(bool((np.diff(case) >= 0).all()), "annotation_case must not decrease")
    _require(_within(case, annotations.n_cases), "annotation_case is outside the cases")
    _require(_within(annotator, len(annotations.annotators)), "annotation_annotator is outside the annotators")
    same_case = np.diff(case) == 0
    _require((np.diff(annotator)[same_case] > 0).all(), "annotators must increase within a case, each once")


def _covers(column: np.ndarray, n: int) -> bool:
    """Whether a column runs from 0 to n − 1 in steps of 0 or 1."""
    if not len(column):
        return n == 0
    steps = np.diff(column)
    return column[0] == 0 and column[-1] == n - 1 and bool(((steps == 0) | (steps == 1)).all())


def _within(column: np.ndarray, n: int) -> bool:
    return bool(((column >= 0) & (column < n)).all())


def _require(holds: bool | np.bool_, rule: str) -> None:
    if not holds:
        raise AnnotationError(f"the columns do not fit: {rule}; build annotations with one of the constructors from_…")
