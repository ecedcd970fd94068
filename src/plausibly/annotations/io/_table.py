"""Long tables: a row per case, annotator and class."""

import numpy as np
import pyarrow as pa

from plausibly.annotations._names import outside, to_names, unknown_class
from plausibly.annotations._rows import Rows
from plausibly.annotations.io._frames import cell, is_whole, missing, rounded, to_codes, to_floats
from plausibly.errors import AnnotationError

#: What the columns are called here, and what crowd-labelling tables call them.
COLUMNS = {"case": ("case", "task"), "annotator": ("annotator", "worker"), "class": ("class", "label")}
ANONYMOUS = "annotation"  #: column that numbers the annotators of a case, where they have no names
ORDERINGS = ("rank", "confidence")
#: A header with one of these belongs to a long table and not to a matrix of counts.
MARKS = frozenset(("annotator", "worker", "class", "label", *ORDERINGS))
#: All that is read of a long table, and of one of scores.
READ = frozenset((*sum(COLUMNS.values(), ()), ANONYMOUS, *ORDERINGS))
SCORED = frozenset((*COLUMNS["case"], *COLUMNS["annotator"], ANONYMOUS, "score"))


def parse_table(columns: dict[str, pa.ChunkedArray], classes: np.ndarray | None, anonymous: bool) -> Rows:
    """Read the columns of a long table.

    Parameters
    ----------
    columns
        ``case``, ``annotator``, ``class`` (or ``task``, ``worker``, ``label``) and at most one of ``rank`` (1 = best,
        equal ranks tie, gaps do not matter) and ``confidence`` (greater is better, equal ones tie); without either,
        the classes an annotator names in a case are one block. Other columns are not read.
    classes
        Class names, (K,); if None the names in use, sorted. Whole numbers are indices, unless a class is itself named
        by a whole number: then they are names.
    anonymous
        Whether annotator names only tell the annotators of one case apart. They do if they stand in a column
        ``annotation``, in a table that has none of annotators.

    Raises
    ------
    AnnotationError
        On any departure from this, naming the case and the annotator.
    """
    anonymous = anonymous or not any(name in columns for name in COLUMNS["annotator"])
    columns = _needed(columns)
    if not len(columns["case"]):
        raise AnnotationError("the table has no rows; give at least one")
    for name, column in columns.items():
        blank = missing(column)
        if len(blank):
            where = _where(columns, int(blank[0]), without=name)
            raise AnnotationError(
                f"row {blank[0] + 1}{where}: the cell in column {name!r} is missing; fill it, or remove the row"
            )
    cases, case = to_codes(columns["case"], "case")
    annotators, annotator = to_codes(columns["annotator"], "annotator")
    names, code = to_codes(columns["class"], "class")
    classes, rename = _match(columns, names, code, classes, is_whole(columns["class"]))
    return Rows(
        cases=to_names(cases, "case"),
        classes=classes,
        annotators=to_names(annotators, "annotator"),
        anonymous=anonymous,
        case=case,
        annotator=annotator,
        class_index=rename[code],
        rank=_rank(columns),
    )


def _needed(columns: dict[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
    """Pick the columns that are read, under their names here."""
    found = {}
    for name, spellings in COLUMNS.items():
        there = [spelling for spelling in spellings if spelling in columns]
        if name == "annotator" and not there and ANONYMOUS in columns:
            there = [ANONYMOUS]
        if len(there) > 1:
            raise AnnotationError(f"the table has both a column {there[0]!r} and a column {there[1]!r}; keep one")
        if not there:
            raise AnnotationError(
                f"the table has no column {name!r} (columns found: {', '.join(map(repr, columns))}); "
                "it needs 'case', 'annotator' and 'class', and may have 'rank' or 'confidence'"
            )
        found[name] = columns[there[0]]
    orderings = [name for name in ORDERINGS if name in columns]
    if len(orderings) > 1:
        raise AnnotationError("the table has both 'rank' and 'confidence'; keep the one that orders the classes")
    return found | {name: columns[name] for name in orderings}


def _match(
    columns: dict[str, pa.ChunkedArray], names: np.ndarray, code: np.ndarray, classes: np.ndarray | None, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the class index of each distinct cell in the column of classes."""
    indices = whole or all(_is_index(name) for name in names)
    if classes is None:
        if indices:
            raise AnnotationError(
                f"the column 'class' holds indices such as {names[0]}, which have no names yet; "
                "pass classes= (--classes), the names"
            )
        classes = to_names(np.sort(names), "class")
        return classes, np.searchsorted(classes, names)
    by_name = {str(name): index for index, name in enumerate(classes)}
    if indices and not any(_is_index(name) for name in by_name):
        rename = np.array([int(name) for name in names])
        for bad in np.flatnonzero((rename < 0) | (rename >= len(classes))).tolist():
            raise AnnotationError(f"{_first(columns, code, bad)}: {outside(rename[bad], len(classes))}")
        return classes, rename
    for number, name in enumerate(names):
        if str(name) not in by_name:
            raise AnnotationError(f"{_first(columns, code, number)}: {unknown_class(name, by_name)}")
    return classes, np.array([by_name[str(name)] for name in names])


def _rank(columns: dict[str, pa.ChunkedArray]) -> np.ndarray:
    """Return a number per row, smaller is better."""
    if "rank" not in columns and "confidence" not in columns:
        return np.zeros(len(columns["case"]), dtype=np.int8)
    name = "rank" if "rank" in columns else "confidence"
    values, bad = to_floats(columns[name])
    if bad is not None:
        shown = cell(columns[name], bad)
        raise AnnotationError(f"row {bad + 1}{_where(columns, bad)}: the {name} {shown!r} is no number; write a number")
    if (row := rounded(columns[name])) is not None:
        raise AnnotationError(
            f"row {row + 1}{_where(columns, row)}: the {name} {cell(columns[name], row)} has more digits than "
            f"float64 holds; scale the numbers down"
        )
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        raise AnnotationError(
            f"row {row + 1}{_where(columns, row)}: the {name} is {values[row]}; write a finite number"
        )
    if name == "confidence":
        return -values
    # A rank of 0 or -1 often stands for "not ranked", and would come out as the best.
    for row in np.flatnonzero(values < 1).tolist():
        raise AnnotationError(
            f"row {row + 1}{_where(columns, row)}: the rank {values[row]:g} is below 1, the best; "
            "count ranks from 1, and leave out classes that were not ranked"
        )
    return values


def _first(columns: dict[str, pa.ChunkedArray], code: np.ndarray, value: int) -> str:
    row = int(np.flatnonzero(code == value)[0])
    return f"row {row + 1}{_where(columns, row)}"


def _where(columns: dict[str, pa.ChunkedArray], row: int, without: str = "") -> str:
    """Name the case and the annotator of a row, so far as they are known."""
    parts = [f"{name} {str(cell(columns[name], row))!r}" for name in ("case", "annotator") if name != without]
    return f" ({', '.join(parts)})"


def _is_index(name: str) -> bool:
    return str(name).removeprefix("-").isdecimal()
