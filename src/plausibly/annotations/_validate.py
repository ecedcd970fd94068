"""The rules of the columns, checked whenever annotations are made."""

from typing import TYPE_CHECKING

import numpy as np

from plausibly.errors import AnnotationError

if TYPE_CHECKING:
    from plausibly.annotations._container import Annotations
    from plausibly.annotations._scores import Scores


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
    key = np.sort(entry.astype(np.int64) * annotations.n_classes + class_index)
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
