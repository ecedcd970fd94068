"""What every reader hands over: one row per named class, and the one function that puts rows into columnar order."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int, Num

from plausibly.base.errors import AnnotationError
from plausibly.base.names import numbered

MOST, MOST_EACH = 10**7, 10**3  #: named classes that counts may stand for: in all, or else for each row of the file


def check_size(number: float, n_rows: int) -> None:
    """Refuse counts with which a small file would fill the memory, before they are written out.

    The classes that the counts stand for may be :data:`MOST`, or :data:`MOST_EACH` for each row of the file.
    """
    limit = max(MOST, MOST_EACH * n_rows)
    if number > limit:
        raise AnnotationError(
            f"the counts stand for {number:.3g} named classes, and {limit:,} is the limit for {n_rows:,} rows; give "
            f"how many annotators chose each"
        )


@dataclass(frozen=True)
class Rows:
    """One row per (case, annotator, named class), in any order, with a number that ranks it."""

    cases: np.ndarray
    classes: np.ndarray
    annotators: np.ndarray
    anonymous: bool  #: whether names of annotators are only positions within a case
    case: Int[np.ndarray, " row"]
    annotator: Int[np.ndarray, " row"]
    class_index: Int[np.ndarray, " row"]
    rank: Num[np.ndarray, " row"]  #: within an annotation a smaller number is better and equal numbers tie
    #: in which order annotations were given, smaller first; None if unknown
    order: Num[np.ndarray, " row"] | None = None
    told: bool = False  #: whether the source says so, and it is not only how rows follow each other


def arrange(rows: Rows) -> dict:
    """Sort rows by case, annotator, rank and class, and return the fields of :class:`plausibly.Annotations`.

    Annotators are put in the order in which the sorted cases first show them, so that the same annotations read from
    two formats are equal; annotators without a row are left out. Anonymous ones are renumbered within each case.
    """
    empty = np.flatnonzero(np.bincount(rows.case, minlength=len(rows.cases)) == 0)
    if len(empty):
        raise AnnotationError(f"case {str(rows.cases[empty[0]])!r} has no annotators; annotate it, or remove the case")
    annotator, names = as_first_shown(rows.case, rows.annotator, rows.annotators)
    order = np.lexsort((rows.class_index, rows.rank, annotator, rows.case))
    case, annotator = rows.case[order], annotator[order]
    class_index = rows.class_index[order]
    new_rank = _begins(rows.rank[order])
    row = order if rows.order is not None else None
    del order  # of millions of rows, each of these takes as much room as a column
    new_annotation = _begins(case) | _begins(annotator)
    entry_annotation = np.cumsum(new_annotation, dtype=np.int32) - 1
    annotation_case, annotation_annotator = case[new_annotation], annotator[new_annotation]
    key = entry_annotation * np.int64(len(rows.classes))
    key += class_index
    key.sort()
    for at in np.flatnonzero(~_begins(key))[:1]:
        annotation, k = divmod(int(key[at]), len(rows.classes))
        what = f"class {str(rows.classes[k])!r} is named twice; an annotator ranks each class once, so keep the better"
        if not new_rank[1:].any():  # labels
            others = int(len(key) - _begins(key).sum()) - 1
            more = f" (and {others:,} others)" if others else ""
            what = f"label {str(rows.classes[k])!r} is given twice{more}; keep one"
        raise AnnotationError(
            f"case {str(rows.cases[annotation_case[annotation]])!r}, annotator "
            f"{str(names[annotation_annotator[annotation]])!r}: the {what}: two readings by one person are not two "
            "annotators"
        )

    del key
    block = np.cumsum(new_annotation | new_rank, dtype=np.int32)
    block = block - block[new_annotation][entry_annotation]
    if block.max() > np.iinfo(np.int16).max:
        raise AnnotationError(
            f"case {str(rows.cases[case[block.argmax()]])!r}: an annotation has {block.max() + 1} blocks; "
            "32768 is the limit, so shorten it"
        )
    given = None
    if rows.order is not None:
        when = np.minimum.reduceat(rows.order[row], np.flatnonzero(new_annotation))
        who = None if rows.anonymous else (annotation_annotator, names)
        given = order_of(annotation_case, when, class_index[new_annotation], who, rows.told)
    if rows.anonymous:
        annotation_annotator = places(annotation_case)
        names = numbered(int(annotation_annotator.max()) + 1)
    return {
        "cases": rows.cases,
        "classes": rows.classes,
        "annotators": names,
        "anonymous": rows.anonymous,
        "annotation_case": annotation_case,
        "annotation_annotator": annotation_annotator,
        "entry_annotation": entry_annotation,
        "entry_class": class_index,
        "entry_block": block,
        "annotation_order": given,
    }


def order_of(
    case: Int[np.ndarray, " annotation"],
    when: Num[np.ndarray, " annotation"],
    label: Int[np.ndarray, " annotation"],
    who: tuple[Int[np.ndarray, " annotation"], np.ndarray] | None,
    told: bool,
) -> Int[np.ndarray, " annotation"] | None:
    """Place of each annotation in the order in which its case got them, which ascends; None if it is unknown.

    It matters, and is kept, only where cases have different numbers of them. Unless the source tells it, rows that are
    sorted by annotators (their names, or a fixed sequence of them) or by labels in every case do not tell it either.
    """
    start = np.flatnonzero(_begins(case))
    number = np.diff(start, append=len(case))
    if (number == number[:1]).all():
        return None
    by_time = np.lexsort((when, case))
    order = np.empty(len(case), np.int32)
    order[by_time] = np.arange(len(case)) - np.repeat(start, number)
    if told:
        return order
    sorts = [label] if who is None else [who[0], np.argsort(np.argsort(who[1]))[who[0]]]
    same = np.diff(case) == 0
    return None if any((np.diff(one[by_time])[same] >= 0).all() for one in sorts) else order


def as_first_shown(
    case: Int[np.ndarray, " row"], annotator: Int[np.ndarray, " row"], annotators: np.ndarray
) -> tuple[Int[np.ndarray, " row"], np.ndarray]:
    """Return annotators numbered in the order in which the sorted cases first show them, and their names."""
    by_case = annotator[np.argsort(case, kind="stable")] if (case[1:] < case[:-1]).any() else annotator
    named = pd.unique(by_case)
    number = np.zeros(named.max() + 1, np.int32)
    number[named] = np.arange(len(named))
    return number[annotator], annotators[named]


def places(case: Int[np.ndarray, " row"]) -> Int[np.ndarray, " row"]:
    """Return the place of each row within its case, if cases ascend."""
    return np.arange(len(case)) - np.searchsorted(case, case)


def _begins(values: Num[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
    """Tell of each row whether its value differs from that of the row before."""
    return np.concatenate([[True], values[1:] != values[:-1]])
