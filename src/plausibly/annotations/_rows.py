"""What every reader hands over: one row per named class, and the one function that puts rows into columnar order."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int, Num

from plausibly.annotations._names import numbered
from plausibly.errors import AnnotationError

MOST, MOST_EACH = 10**7, 10**3  #: named classes that counts may stand for: in all, or else for each row of the file

_TOGETHER = 2**20  #: rows that are arranged at a time


def check_size(number: float, n_rows: int) -> None:
    """Refuse counts with which a small file would fill the memory, before they are written out.

    Parameters
    ----------
    number
        Of the classes that the counts stand for, by all annotators of all cases.
    n_rows
        Of the file.

    Raises
    ------
    AnnotationError
        If the number is above :data:`MOST` and :data:`MOST_EACH` for each row.
    """
    limit = max(MOST, MOST_EACH * n_rows)
    if number > limit:
        raise AnnotationError(
            f"the counts stand for {number:.3g} named classes, and {limit:,} is the limit for {n_rows:,} rows; give "
            f"how many annotators chose each"
        )


@dataclass(frozen=True)
class Rows:
    """One row per (case, annotator, named class), in any order, with a number that ranks it.

    Parameters
    ----------
    cases, classes, annotators
        Names.
    anonymous
        Whether annotator names are only positions within a case.
    case, annotator, class_index
        For each row an index into those names.
    rank
        For each row a number; within an annotation a smaller number is better and equal numbers tie.
    """

    cases: np.ndarray
    classes: np.ndarray
    annotators: np.ndarray
    anonymous: bool
    case: Int[np.ndarray, " row"]
    annotator: Int[np.ndarray, " row"]
    class_index: Int[np.ndarray, " row"]
    rank: Num[np.ndarray, " row"]


def arrange(rows: Rows) -> dict:
    """Sort rows by case, annotator, rank and class, and number annotations and blocks.

    Annotators are put in the order in which the sorted cases first show them, so that the same annotations read from
    two formats are equal; annotators without a row are left out. Anonymous ones are renumbered within each case.

    Returns
    -------
    dict
        The fields of :class:`plausibly.Annotations`.

    Raises
    ------
    AnnotationError
        If a case has no row, or one annotator names a class twice in a case.
    """
    ends = np.cumsum(np.bincount(rows.case, minlength=len(rows.cases)))
    empty = np.flatnonzero(np.diff(ends, prepend=0) == 0)
    if len(empty):
        raise AnnotationError(f"case {str(rows.cases[empty[0]])!r} has no annotators; annotate it, or remove the case")
    parts: list[Any] = [slice(first, last) for first, last in pairwise(_cuts(ends))]
    if (rows.case[1:] < rows.case[:-1]).any():
        by_case = np.argsort(rows.case, kind="stable")
        parts = [by_case[part] for part in parts]
    named = _in_order(rows.annotator[part] for part in parts)
    number = np.zeros(named.max() + 1, np.int32)
    number[named] = np.arange(len(named))

    columns: dict[str, list[np.ndarray]] = {}
    n_annotations = 0
    for part in parts:
        found = _arranged(rows, part, number, rows.annotators[named])
        found["entry_annotation"] += n_annotations
        n_annotations += len(found["annotation_case"])
        for name, column in found.items():
            columns.setdefault(name, []).append(column)
    joined = {name: _joined(columns.pop(name)) for name in list(columns)}
    names = numbered(int(joined["annotation_annotator"].max()) + 1) if rows.anonymous else rows.annotators[named]
    return {
        "cases": rows.cases,
        "classes": rows.classes,
        "annotators": names,
        "anonymous": rows.anonymous,
    } | joined


def _cuts(ends: np.ndarray) -> list[int]:
    """Cut rows, sorted by case, between cases into parts that a few arrays of may be in memory."""
    cuts = [0]
    while cuts[-1] < ends[-1]:
        last = int(np.searchsorted(ends, cuts[-1] + _TOGETHER, "right"))
        cuts.append(int(ends[last - 1]) if last and ends[last - 1] > cuts[-1] else int(ends[last]))
    return cuts


def _arranged(rows: Rows, part: Any, number: np.ndarray, names: np.ndarray) -> dict[str, np.ndarray]:
    """Arrange the rows of some cases; their annotations count from 0."""
    case, annotator = rows.case[part], number[rows.annotator[part]]
    class_index, rank = rows.class_index[part], rows.rank[part]
    order = np.lexsort((class_index, rank, annotator, case))
    case, annotator, class_index, rank = case[order], annotator[order], class_index[order], rank[order]
    new_annotation = np.concatenate([[True], (np.diff(case) != 0) | (np.diff(annotator) != 0)])
    entry_annotation = np.cumsum(new_annotation) - 1
    annotation_case, annotation_annotator = case[new_annotation], annotator[new_annotation]
    _refuse_repeats(rows, entry_annotation, class_index, annotation_case, names, annotation_annotator)

    new_block = new_annotation | np.concatenate([[True], np.diff(rank) != 0])
    block = np.cumsum(new_block)
    block = block - block[new_annotation][entry_annotation]
    if block.max() > np.iinfo(np.int16).max:
        at = annotation_case[entry_annotation[block.argmax()]]
        raise AnnotationError(
            f"case {str(rows.cases[at])!r}: an annotation has {block.max() + 1} blocks; "
            "32768 is the limit, so shorten it"
        )
    if rows.anonymous:
        annotation_annotator = np.arange(len(annotation_case)) - np.searchsorted(annotation_case, annotation_case)
    return {
        "annotation_case": annotation_case.astype(np.int32),
        "annotation_annotator": annotation_annotator.astype(np.int32),
        "entry_annotation": entry_annotation.astype(np.int32),
        "entry_class": class_index.astype(np.int32),
        "entry_block": block.astype(np.int16),
    }


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join parts to a column that nobody changes any more."""
    column = np.concatenate(parts) if len(parts) > 1 else parts[0]
    column.flags.writeable = False
    return column


def _in_order(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Different codes, in the order in which they first appear."""
    return pd.unique(np.concatenate([pd.unique(part) for part in parts]))


def by_first_appearance(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber codes in the order in which they first appear; also return the old code of each new one."""
    new, old = pd.factorize(codes)
    return new, np.asarray(old)


def _refuse_repeats(
    rows: Rows,
    entry_annotation: np.ndarray,
    class_index: np.ndarray,
    case: np.ndarray,
    names: np.ndarray,
    annotator: np.ndarray,
) -> None:
    """Raise where an annotation names one class twice, in one block or in two."""
    key = np.sort(entry_annotation.astype(np.int64) * len(rows.classes) + class_index)
    repeated = np.flatnonzero(np.diff(key) == 0)
    if len(repeated):
        at, k = divmod(int(key[repeated[0]]), len(rows.classes))
        raise AnnotationError(
            f"case {str(rows.cases[case[at]])!r}, annotator {str(names[annotator[at]])!r}: the class "
            f"{str(rows.classes[k])!r} is named twice; an annotator ranks each class once, so keep the better rank, "
            "or give a second opinion an annotator name of its own"
        )
