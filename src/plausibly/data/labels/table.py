"""Labels as arrays, from long tables of any source, before any rule about their content."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from plausibly.base.errors import AnnotationError
from plausibly.data.annotations.io.columns import in_codes, is_number_type, list_of, missing, name_column, to_floats
from plausibly.data.annotations.io.columns import is_nothing as is_missing
from plausibly.data.annotations.io.files import OF_TEXT, TABLES, ending, suffix_of
from plausibly.data.annotations.io.files import naming_file as naming_file
from plausibly.data.annotations.io.formats import read_source
from plausibly.data.annotations.io.long_table import ANONYMOUS, ORDERINGS, labels_that_are_lists, without_names
from plausibly.data.annotations.io.source import ARCHIVE, JSON, Column, Source, open_source, source_in_memory
from plausibly.data.annotations.io.spellings import COLUMNS, NAMES, find, spelling_of

SUFFIXES = (*TABLES, *JSON, ARCHIVE)
_SPAN = ("start", "end")  # columns of a table with a row for each span
_WHOLE = re.compile(r"\s*\d{1,9}(\.0+)?\s*")
_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")


@dataclass(frozen=True)
class Table:
    """Columns of a table, as they came."""

    names: dict[str, pa.ChunkedArray]  # Arrow columns of names, case and annotator
    label: np.ndarray  # numbers with NaN where missing, or objects
    further: dict[str, np.ndarray]  # other columns asked for, likewise
    text: np.ndarray | None = None  # the labels as they stand in a file of text cells
    numbered: bool = False  # whether annotators have no names and are numbered within each case


def labels_in(
    source: Source, columns: Iterable[str] = (), optional: Iterable[str] = (), *, in_lists: bool = True
) -> Table | None:
    """Read labels of any type, and further columns; None of counts and rankings, which are annotations.

    `in_lists` says whether text that is a list is read as one.

    Raises AnnotationError if a column is not there, is there under two names, or there are no answers in the source.
    """
    content = read_source(source)
    ranked = source.repeats == "ties" and bool({*ORDERINGS} & {*source.names})  # rows are one answer, in this order
    if not isinstance(content, Source) or (content is source and ranked):
        return None
    source = content
    optional = (*optional, *ORDERINGS[:1]) if source.repeats in ("first", "last") else optional
    wanted = {find(name, source.names) for name in (*NAMES, "label", "score")} | {
        *columns,
        *optional,
        "score",
        ANONYMOUS,
        *_SPAN,
    }
    found = source.columns({*wanted, *sum((COLUMNS[name] for name in (*NAMES, "label")), ())})
    found = {name: column for name, column in found.items() if name in source.names}
    if find("label", found) is None and "score" in found:
        found = {"label": found["score"], **found}
    asked = [name for name in (*columns, *optional) if name in found]
    if source.repeats is None and not asked and (spans := _spans(found)) is not None:
        found |= spans
    numbered = without_names(found) and ANONYMOUS in found
    if numbered:
        found = {"annotator": found[ANONYMOUS], **found}
    in_text = source.table is None and source.path is not None and ending(source.path) in OF_TEXT
    return _table(found, (*NAMES, "label"), columns, optional, numbered, in_text, in_lists)


def _spans(found: Mapping[str, Column]) -> dict[str, Column] | None:
    """Join rows that are a span each, by their columns, to a list of spans for each case and annotator.

    A row without a beginning says that there is none. None if rows are no spans, or each is an answer of its own.
    """
    roles = {role: find(role, found) for role in (*NAMES, "label")}
    if not {*_SPAN} <= {*found} or None in roles.values():
        return None
    case, annotator, label = (list_of(found[str(name)]) for name in roles.values())
    answers: dict[tuple[Any, Any], list] = {}
    ends = (list_of(found[name]) for name in _SPAN)
    for who, whom, what, *cells in zip(case, annotator, label, *ends, strict=True):
        said = answers.setdefault((who, whom), [])
        if not all(is_missing(one) or not str(one).strip() for one in cells):
            first, last = (int(float(one)) if _WHOLE.fullmatch(str(one)) else -1 for one in cells)
            if not 0 <= first <= last:
                return None
            said.append((first, last, str(what)))
    if len(answers) == len(case):
        return None
    names = [list(of) for of in zip(*answers, strict=True)]
    return {str(roles[name]): of for name, of in zip((*NAMES, "label"), [*names, [*answers.values()]], strict=True)}


def _table(
    found: Mapping[str, Column],
    needed: Sequence[str],
    columns: Iterable[str],
    optional: Iterable[str],
    numbered: bool = False,
    in_text: bool = False,
    in_lists: bool = True,
) -> Table:
    """Make arrays of columns by role; `in_text` says that numbers are text that reads as numbers."""
    advice = f"it needs {', '.join(map(repr, needed[:-1]))} and {needed[-1]!r}"
    option = "; say which column it is with {0}= (--{0})"
    of_file = "; say which column of a file it is: FILE:COLUMN"
    options = {name: option if name == "case" or "annotator" in needed else of_file for name in needed}
    chosen = {name: found[spelling_of(name, found, advice + options[name].format(name))] for name in needed}
    for name in columns:
        if name not in found:
            raise AnnotationError(f"the table has no column {name!r} (columns found: {', '.join(map(repr, found))})")
    others = [*columns, *(name for name in optional if name in found and name not in columns)]
    values, text = chosen[needed[-1]], None
    lists = labels_that_are_lists(values) if needed[-1] == "label" and in_lists else None
    label = cells_of(values if lists is None else lists, needed[-1])
    if in_text and lists is None and isinstance(values, pa.ChunkedArray):
        text, label = label, _numbers_in_text(values, label)
    return Table(
        names={name: name_column(chosen[name], name) for name in needed if name in NAMES},
        label=label,
        further={name: cells_of(found[name], name) for name in others},
        text=text,
        numbered=numbered,
    )


def read_table(
    source: Any,
    needed: Sequence[str],
    optional: Iterable[str] = (),
    instead: Sequence[str] = (),
    alone: bool = False,
) -> Table:
    """Read columns of a table without annotators, such as predictions.

    A mapping that is not of columns is ``{case: label}``. The last of the columns `needed` may hold anything;
    `optional` ones may be there. The column of labels or scores may have one of the names in `instead`, that of labels
    with `alone` any name if it is the only one beside that of cases. Raises AnnotationError if a column is not there,
    is there under two names, or the source is of another kind.
    """
    found = columns_in(source, needed)
    if needed[-1] == "label" and not {*COLUMNS["label"]} & {*found}:
        others = [name for name in found if name != find("case", found)]
        names = (*instead, "score", *(others if alone and len(others) == 1 else ()))
        found = next(({"label": found[name], **found} for name in names if name in found), found)
    if needed[-1] == "score" and "score" not in found:
        found = next(({"score": found[name], **found} for name in instead if name in found), found)
    in_text = isinstance(source, str | os.PathLike) and ending(Path(source)) in OF_TEXT
    return _table(found, needed, (), optional, in_text=in_text)


def columns_in(source: Any, needed: Sequence[str]) -> Mapping[str, Column]:
    """Take apart a table without annotators, in a file or in memory, or a mapping from case to label."""
    if isinstance(source, str | os.PathLike):
        suffix_of(Path(source), SUFFIXES)
        opened = open_source(Path(source))
        if opened.names or opened.content is None:
            return opened.columns()
        source = opened.content
    if isinstance(source, Mapping) and not {needed[-1], "class"} & {*source}:
        return {needed[0]: list(source), needed[-1]: list(source.values())}
    if isinstance(source, Sequence) and not isinstance(source, str) and source and len(needed) == 2:
        for number, row in enumerate(source, 1):
            a_pair = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(needed)
            if not (isinstance(row, Mapping) if isinstance(source[0], Mapping) else a_pair):
                raise AnnotationError(f"row {number} is {row!r:.60}; write every row as ({', '.join(needed)})")
        if not isinstance(source[0], Mapping):
            return {name: [row[place] for row in source] for place, name in enumerate(needed)}
    return source_in_memory(source).columns()


def to_list(column: Column, name: str) -> list[Any]:
    """Return the cells of a column as Python objects; AnnotationError for times that Python cannot represent."""
    if isinstance(column, list):
        return column
    try:
        return column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise AnnotationError(
            f"the column {name!r} has a {column.type} that is out of range; write it as text, or leave the column out"
        ) from error


def are_missing(values: np.ndarray) -> np.ndarray:
    """Whether each label is missing, of numbers and of objects."""
    if values.dtype == object:
        return np.fromiter(map(is_missing, values), bool, len(values))
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def to_objects(values: Iterable[Any]) -> np.ndarray:
    """Make a one-dimensional array of objects, even of lists of equal length."""
    listed = list(values)
    array = np.empty(len(listed), object)
    for place, value in enumerate(listed):
        array[place] = value
    return array


def cells_of(column: Column, name: str) -> np.ndarray:
    """Make an array of a column: of numbers (NaN if missing) or truth values, else of objects (None if missing)."""
    numbers: Any = column if isinstance(column, pa.ChunkedArray) else None
    if numbers is not None and is_number_type(numbers.type):
        whole = pa.types.is_integer(numbers.type) and not numbers.null_count
        return numbers.to_numpy().astype(np.int64) if whole else to_floats(numbers)[0]
    values = to_objects(to_list(column, name))
    kinds = {type(value) for value in values}
    plain = {kind for kind in kinds if issubclass(kind, int | float | np.number) and kind is not bool}
    if kinds == {bool} or (plain and kinds == plain):
        return np.array(values.tolist())
    if plain and kinds <= plain | {type(None)}:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return values


def _numbers_in_text(column: pa.ChunkedArray, text: np.ndarray) -> np.ndarray:
    """Return the cells as numbers if all text reads as numbers, which codes such as 007 do not; else as they are."""
    there = np.ones(len(column), bool)
    there[missing(column)] = False
    filled = in_codes(column.filter(pa.array(there)))
    if not len(filled) or any(map(_LEADING_ZERO.match, filled.unique().to_pylist())):
        return text
    values = np.full(len(column), np.nan)
    values[there], bad = to_floats(filled)
    return text if bad is not None else values
