"""Long tables in ``.csv`` and ``.parquet`` files and data frames: a row per case, annotator and class, or per score."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from jaxtyping import Float, Int

from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning, show, suggest
from plausibly.base.names import many, numbered, outside, tell_unused, to_names, unknown_class
from plausibly.data.annotations._rows import ONE_ANSWER, Rows, as_first_shown, kept_rows, one_answer, places
from plausibly.data.annotations.io.answers import lists_in
from plausibly.data.annotations.io.columns import (
    Columns,
    as_names,
    cell,
    is_nothing,
    list_of,
    missing,
    name_column,
    plain,
    rounded,
    taken,
    to_codes,
    to_floats,
)
from plausibly.data.annotations.io.spellings import COLUMNS, LABELLED, NAMES, find, spelling_of
from plausibly.data.annotations.io.table_files import write_csv
from plausibly.data.annotations.views import as_table

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations

ANONYMOUS = LABELLED  #: column that numbers the annotators of a case, where they have no names
ORDERINGS = ("rank", "confidence")
#: A header with one of these belongs to a long table and not to a matrix of counts.
MARKS = frozenset(("annotator", "worker", "class", "label", *ORDERINGS))
#: All that is read of a long table, and of one of scores.
WHEN = ("round", "time")  #: columns that say in which order the annotations of a case were given
READ = frozenset((*sum(COLUMNS.values(), ()), ANONYMOUS, *ORDERINGS, *WHEN))
_SCORED = frozenset((*COLUMNS["case"], *COLUMNS["annotator"], ANONYMOUS, "score"))
_LEAST_TIME = 1e8  # of a number of seconds since 1970; less is how long something took

_BRACKETS = ("[", "{", "(")
_TOGETHER = 2**18  #: rows that are written at a time


def wanted_in(names: Iterable[str], what: str = "class") -> frozenset[str]:
    """Return the names of all columns that are read of a long table, or with ``"score"`` of one of scores."""
    found = {find(name, names) for name in ("case", "annotator", what)} - {None}
    return (READ if what == "class" else _SCORED) | found  # type: ignore[return-value]


def parse_table(
    columns: Columns,
    classes: np.ndarray | None,
    anonymous: bool,
    absent: Collection[str] = (),
    repeats: str | None = None,
) -> Rows:
    """Read the columns of a long table; see :meth:`plausibly.Annotations.from_table` and :func:`rows_of`."""
    anonymous = anonymous or without_names(columns)
    columns = rows_of(columns, "class", (*ORDERINGS, *WHEN), absent, repeats)
    cases, case = to_codes(columns["case"], "case")
    annotators, annotator = to_codes(columns["annotator"], "annotator")
    when = order_in(columns)
    names, code = to_codes(as_names(columns["class"]), "class")
    classes, rename = _match(columns, names, code, classes, pa.types.is_integer(columns["class"].type))
    return Rows(
        cases=to_names(cases, "case"),
        classes=classes,
        annotators=to_names(annotators, "annotator"),
        anonymous=anonymous,
        case=case,
        annotator=annotator,
        class_index=rename.astype(np.int32)[code],
        rank=rank_of(columns),
        order=np.arange(len(case)) if when is None else when,
        told=when is not None,
        ranked=repeats == "ties" or any(name in columns for name in ORDERINGS),
    )


def parse_scores(
    columns: Columns, anonymous: bool, absent: Collection[str] = (), repeats: str | None = None
) -> dict[str, Any]:
    """Read the columns of a long table of scores, as fields of :class:`plausibly.annotations.Scores`."""
    anonymous = anonymous or without_names(columns)
    columns = rows_of(columns, "score", WHEN if repeats else (), absent, repeats)
    cases, case = to_codes(columns["case"], "case")
    annotators, annotator = to_codes(columns["annotator"], "annotator")
    score = numbers_of(columns, "score")
    if not anonymous:
        kept = one_answer((cases, case), (annotators, annotator), score)
        case, annotator, score = case[kept], annotator[kept], score[kept]
    return arrange_scores(to_names(cases, "case"), to_names(annotators, "annotator"), anonymous, case, annotator, score)


def arrange_scores(
    cases: np.ndarray,
    annotators: np.ndarray,
    anonymous: bool,
    case: Int[np.ndarray, " row"],
    annotator: Int[np.ndarray, " row"],
    score: Float[np.ndarray, " row"],
) -> dict[str, Any]:
    """Sort by case and annotator; annotators in the order in which the sorted cases first show them."""
    annotator, names = as_first_shown(case, annotator, annotators)
    order = np.lexsort((annotator, case))
    case, annotator, score = case[order], annotator[order], score[order]
    if anonymous:
        annotator = places(case)
        names = numbered(annotator.max() + 1)
    return {
        "cases": cases,
        "annotators": names,
        "anonymous": anonymous,
        "annotation_case": case,
        "annotation_annotator": annotator,
        "score": score,
    }


def rows_of(
    columns: Columns,
    what: str,
    more: Collection[str] = (),
    absent: Collection[str] = (),
    repeats: str | None = None,
) -> Columns:
    """Pick the columns of a long table that are read, under their usual names, and check that every cell is filled.

    These are ``case``, ``annotator``, `what` ("class" or "score") and at most one of `more`. If there are `absent`
    texts, rows in which one of these, or nothing, stands for `what` are left out, with a warning; `repeats` is as for
    :func:`kept_rows`.
    """
    found, called = {}, {}
    needed = f"it needs 'case', 'annotator' and {what!r}"
    needed += f", and may have {' or '.join(map(repr, {*more} - {*WHEN}))}" if more else ""
    if without_names(columns) and ANONYMOUS not in columns and {*COLUMNS.get(what, ())} & {*columns}:
        needed += "; if all rows are by one person, or gold labels, add a column annotator with one name"
    for name in ("case", "annotator", what):
        numbered = name == "annotator" and without_names(columns) and ANONYMOUS in columns
        role = "label" if name == "class" else name
        which = f"{needed}; say which column it is with {role}= (--{role})"
        called[name] = ANONYMOUS if numbered else spelling_of(name, columns, which)
        column = columns[called[name]]
        found[name] = name_column(column, name) if name in NAMES else column
    orderings = [name for name in more if name in columns and name not in WHEN]
    for name in () if orderings else columns:
        if (usual := name.strip().lower()) in {*more} - {*WHEN}:  # else classes would be read as tied
            raise AnnotationError(
                f"the column {name!r} is not known; call it {usual!r}, or anything else if it does not order classes"
            )
    if len(orderings) > 1:
        raise AnnotationError("the table has both 'rank' and 'confidence'; keep the one that orders the classes")
    found |= {name: columns[name] for name in (*orderings, *WHEN) if name in columns and name in more}
    if not len(found["case"]):
        raise AnnotationError("the table has no rows; give at least one")
    found = _answered(found, what, absent) if absent else found
    for name, column in found.items():
        for row in missing(column)[: name not in WHEN].tolist():
            fix = "fill it, or remove the row"
            if name == what:
                fix += ', or leave such rows out with missing="" (--missing "")'
            raise AnnotationError(
                f"{where(found, row, without=name)}: the cell in column {called.get(name, name)!r} is missing; {fix}"
            )
    if repeats in ONE_ANSWER:
        keys = ("case", "annotator", *([what] if orderings else []))  # of rankings, each class once
        rows = kept_rows([to_codes(found[name], name)[1] for name in keys], order_in(found), repeats)
        found = {name: taken(column, rows) for name, column in found.items()}
    return found


def labels_that_are_lists(column: Any) -> list[Any] | None:
    """Return labels that are lists or mappings, in objects or in text, or mixed ones; None if they are names."""
    if isinstance(column, list):
        return lists_in(column) or column
    if pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
        return lists_in(list_of(column))
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not pa.types.is_large_string(kind):
        return None
    texts = column.unique().to_pylist()
    return lists_in(list_of(plain(column))) if any(one and one.lstrip()[:1] in _BRACKETS for one in texts) else None


#: What may be done with several answers of one annotator to one case.
REPEATS = ("refuse", *ONE_ANSWER, "ties", "readings")


def check_repeats(repeats: str | None) -> str | None:
    """Refuse what is no way to treat several answers; refusing them is the default, None."""
    if repeats is not None and repeats not in REPEATS:
        fix = suggest(repeats, REPEATS, f"choose from {', '.join(REPEATS)}")
        raise ArgumentError(f"repeats must be one of {', '.join(REPEATS)}, but {show(repeats)} was given: {fix}.")
    return None if repeats == "refuse" else repeats


def _answered(columns: Columns, what: str, absent: Collection[str]) -> Columns:
    """Leave out the rows of a table that say nothing, and warn of how many there are."""
    said = ["" if is_nothing(one) else str(one).strip() for one in list_of(columns[what])]
    counts = Counter(one for one in said if not one or one in absent)
    tell_unused(absent, counts)
    there = np.flatnonzero([one not in counts for one in said])
    if counts:
        words = ", ".join(f"{one!r} ({n:,})" if one else f"blank ({n:,})" for one, n in counts.items())
        warnings.warn(
            f"left out {many(counts.total(), 'row')} without a label: {words}", PlausiblyWarning, stacklevel=4
        )
    if counts.total() == len(said):
        raise AnnotationError("no row has a label; give at least one")
    return {name: taken(column, there) for name, column in columns.items()}


def without_names(columns: Collection[str]) -> bool:
    """Whether no column names the annotators."""
    if any(name in columns for name in COLUMNS["annotator"]):
        return False
    others = [name for name in columns if name != ANONYMOUS]
    numbered = len(others) < len(columns) and any(find(what, others) is not None for what in ("class", "score"))
    return numbered or find("annotator", columns) is None


def _match(
    columns: Columns, names: np.ndarray, code: np.ndarray, classes: np.ndarray | None, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and the class index of each distinct cell in the column of classes."""
    indices = whole or all(_is_index(name) for name in names)
    if classes is None:
        if indices and {*names.tolist()} == {"0", "1"}:
            words = "the labels 0 and 1 are taken for two classes of these names; pass classes= (--classes) for others"
            warnings.warn(words, PlausiblyWarning, stacklevel=4)
        elif indices:
            raise AnnotationError(
                f"the column 'class' holds indices such as {names[0]}, which have no names yet; "
                "pass classes= (--classes), the names, that of index 0 first (in a file one per line), or, if they are "
                "grades, name their column with score= (--score)"
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


def order_in(columns: Mapping[str, Any]) -> Float[np.ndarray, " row"] | None:
    """Numbers that ascend with a column ``round``, or with the dates of a column ``time``; None if a cell lacks one."""
    for name in WHEN:
        if name not in columns:
            continue
        cells = pd.Series(list_of(columns[name]))
        numbers: Any = pd.to_numeric(cells, errors="coerce")
        if name == "time" and not (numbers >= _LEAST_TIME).all():
            numbers = pd.to_datetime(cells.where(numbers.isna()), errors="coerce", utc=True, format="ISO8601")
        if len(numbers) and numbers.notna().all():
            return numbers.rank(method="dense").to_numpy()
    return None


def rank_of(columns: Columns) -> np.ndarray:
    """Return a number per row, smaller is better: the rank, the negative confidence, or 0 where there is neither."""
    name = next((name for name in ORDERINGS if name in columns), None)
    if name is None:
        return np.zeros(len(columns["case"]), dtype=np.int8)
    values = numbers_of(columns, name)
    for row in np.flatnonzero(~np.isfinite(values))[:1].tolist():
        raise AnnotationError(f"{where(columns, row)}: the {name} is {values[row]}; write a finite number")
    if name == "confidence":
        return -values
    # A rank of 0 or -1 often stands for "not ranked", and would come out as the best.
    for row in np.flatnonzero(values < 1)[:1].tolist():
        raise AnnotationError(
            f"{where(columns, row)}: the rank {values[row]:g} is below 1, the best; "
            "count ranks from 1, and leave out classes that were not ranked"
        )
    return values


def numbers_of(columns: Columns, name: str) -> np.ndarray:
    """Read a column of a long table as float64."""
    values, bad = to_floats(columns[name])
    if bad is not None:
        shown = cell(columns[name], bad)
        raise AnnotationError(f"{where(columns, bad)}: the {name} {shown!r} is not a number; write a number")
    if (row := rounded(columns[name])) is not None:
        raise AnnotationError(
            f"{where(columns, row)}: the {name} {cell(columns[name], row)} has more digits than "
            f"float64 holds; scale the numbers down"
        )
    return values


def where(columns: Columns, row: int, without: str = "") -> str:
    """Name a row with its case and annotator, so far as they are known."""
    parts = [f"{name} {str(cell(columns[name], row))!r}" for name in ("case", "annotator") if name != without]
    return f"row {row + 1} ({', '.join(parts)})"


def _first(columns: Columns, code: np.ndarray, value: int) -> str:
    return where(columns, int(np.flatnonzero(code == value)[0]))


def _is_index(name: str) -> bool:
    return str(name).removeprefix("-").isdecimal()


def write_long_table(annotations: "Annotations", path: Path) -> None:
    """Write annotations in pieces, since a cell of text takes a hundred bytes; annotators without names by number."""
    starts = range(0, len(annotations.entry_class), _TOGETHER)
    names = {"annotator": ANONYMOUS} if annotations.anonymous else {}
    pieces = (as_table(annotations, slice(first, first + _TOGETHER)).rename(columns=names) for first in starts)
    write_table(pieces, path)


def write_table(pieces: Iterable[pd.DataFrame], path: Path) -> None:
    """Write pieces of a table to a ``.csv`` or ``.parquet`` file."""
    if path.suffix.lower() == ".parquet":
        tables = (pa.Table.from_pandas(piece, preserve_index=False) for piece in pieces)
        first = next(tables)
        with pyarrow.parquet.ParquetWriter(path, first.schema) as file:
            for table in chain([first], tables):
                file.write_table(table)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            for number, piece in enumerate(pieces):
                write_csv(piece, file, header=not number)


def refuse_names(annotations: "Annotations", what: str) -> None:
    """Refuse annotations with names of annotators, which a format cannot hold."""
    if not annotations.anonymous:
        raise AnnotationError(
            f"{what} hold no names of annotators, and these have some; write a table or rankings, or drop the names "
            "with anonymous=True (--anonymous)"
        )


def is_of_scores(names: Iterable[str], columns: Callable[[Collection[str]], Columns] | None = None) -> bool:
    """Whether these are the columns of a long table of scores: next to classes, a score is just another column.

    `columns` reads some of them: a rating or a grade is a score if it holds numbers, and else a class.
    """
    names = set(names)
    if names & {"class", "label"}:
        return False
    if "score" in names:  # who scored may be missing, which the reader will say
        return names <= {"case", "task", "score"} or find("annotator", names) is not None
    score = find("score", names)
    if (
        columns is None
        or score != find("class", names)
        or None in (score, find("case", names), find("annotator", names))
    ):
        return False
    column = columns([score])[score]
    return not len(missing(column)) and to_floats(column)[1] is None


def is_long(names: Iterable[str]) -> bool:
    """Whether these are the columns of a long table."""
    names = list(names)
    if MARKS & set(names) or all(find(name, names) is not None for name in ("annotator", "class")):
        return True  # where the case is missing, the reader says how to name it
    meant = {name: name.strip().lower() for name in names if name.strip().lower() in READ - set(names)}
    if len(meant) > 1:  # a single one may be a class
        name, instead = next(iter(meant.items()))
        raise AnnotationError(f"the column {name!r} is not known; call it {instead!r}")
    return False
