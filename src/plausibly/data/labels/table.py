"""Long tables of labels from files, data frames and Python's own containers, before any rule about their content."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from plausibly.base.errors import AnnotationError, show
from plausibly.base.names import is_storable
from plausibly.data.annotations.io.answers import Numbers
from plausibly.data.annotations.io.case_rows import holds_nested, is_of_cases
from plausibly.data.annotations.io.columns import frame_columns, in_codes, is_frame, is_number_type, missing, to_floats
from plausibly.data.annotations.io.exports import answers_in, answers_in_file, read_by_annotator, refuse_control
from plausibly.data.annotations.io.files import OF_TEXT, TABLES, ending, is_by_annotator, naming, suffix_of
from plausibly.data.annotations.io.source import (
    ARCHIVE,
    JSON,
    columns_of_dataset,
    open_files,
    open_source,
    source_in_memory,
)
from plausibly.data.annotations.io.spellings import COLUMNS, find, spelling_of
from plausibly.data.annotations.io.table_files import read_columns

SUFFIXES = (*TABLES, *JSON, ARCHIVE)
NAMES = ("case", "annotator")  #: columns of names; those of any other kind keep their type
_LEADING_ZERO = re.compile(r"\s*[+-]?0\d")

Column = pa.ChunkedArray | list[Any]


@dataclass(frozen=True)
class Table:
    """Columns of a table, as they came."""

    names: dict[str, pa.ChunkedArray]  # Arrow columns of names, case and annotator
    label: np.ndarray  # numbers with NaN where missing, or objects
    further: dict[str, np.ndarray]  # other columns asked for, likewise
    text: np.ndarray | None = None  # the labels as they stand in a file of text cells
    numbered: bool = False  # whether annotators have no names and are numbered within each case


def naming_file(source: Any) -> AbstractContextManager[None]:
    """Put the name of a file in front of errors, if the source is one."""
    return naming(source) if isinstance(source, str | os.PathLike) else nullcontext()


def read_table(
    source: Any,
    needed: Sequence[str],
    columns: Iterable[str] = (),
    optional: Iterable[str] = (),
    control: str | None = None,
    instead: Sequence[str] = (),
    alone: bool = False,
) -> Table:
    """Read the columns of a long table; see :meth:`plausibly.agreement.Labels.of` for what it may be.

    A mapping of no columns is ``{case: {annotator: label}}``, or ``{case: label}`` where no annotators are needed, and
    the members of a list are records or tuples. The last of the columns `needed` may hold anything; further `columns`
    must be there, `optional` ones may. The column of labels may have one of the names in `instead`; with `alone`, any
    name if it is the only one beside that of cases. Raises AnnotationError if a column is not there, is there under two
    names, or the source is of another kind.
    """
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    if "annotator" in needed and is_by_annotator(source):
        found = read_by_annotator(open_files(source, control=control)).to_columns(tell=True)
    else:
        found = in_memory(source, needed) if path is None else columns_of_file(path, needed, control)
    advice = f"it needs {', '.join(map(repr, needed[:-1]))} and {needed[-1]!r}"
    if needed[-1] == "label" and not {*COLUMNS["label"]} & {*found}:
        others = [name for name in found if name != find("case", found)]
        names = (*instead, "score", *(others if alone and len(others) == 1 else ()))
        found = next(({"label": found[name], **found} for name in names if name in found), found)
    chosen = {name: found[spelling_of(name, found, advice)] for name in needed}
    for name in columns:
        if name not in found:
            raise AnnotationError(f"the table has no column {name!r} (columns found: {', '.join(map(repr, found))})")
    others = [*columns, *(name for name in optional if name in found and name not in columns)]
    values, text = chosen[needed[-1]], None
    label = _cells(values, needed[-1])
    if path is not None and ending(path) in OF_TEXT and isinstance(values, pa.ChunkedArray):
        text, label = label, _numbers_in_text(values, label)
    return Table(
        names={name: _names(chosen[name], name) for name in needed if name in NAMES},
        label=label,
        further={name: _cells(found[name], name) for name in others},
        text=text,
        numbered=isinstance(chosen.get("annotator"), Numbers),
    )


def columns_of_file(path: Path, needed: Sequence[str], control: str | None = None) -> dict[str, Column]:
    """Read all columns of a file: Arrow columns, or lists of Python objects from JSON.

    Of an export with several controls or questions, one is read, see :func:`plausibly.read_annotations`.
    """
    suffix = "" if path.is_dir() else suffix_of(path, SUFFIXES)
    source = open_source(path, control=control)
    if control is not None:  # which in_memory would not know
        if (answers := answers_in_file(source) or answers_in(source)) is None:
            refuse_control(control)
        return answers.to_columns(tell=True)
    if "annotator" in needed and (answers := answers_in_file(source)) is not None:
        return answers.to_columns(tell=True)
    if suffix in (*JSON, ARCHIVE):
        return in_memory(source.content, needed)
    if "annotator" in needed and (answers := answers_in(source)) is not None:
        return answers.to_columns(tell=True)
    suffix_of(path, SUFFIXES)  # which refuses a folder
    return dict(read_columns(path, formulas=False))


def in_memory(source: Any, needed: Sequence[str]) -> dict[str, Column]:
    """Take apart a data frame, a mapping of columns, a nested mapping or a list of rows; see :func:`read_table`."""
    by_annotator = "annotator" in needed
    if by_annotator and holds_nested(source):  # {case: {annotator: label}}, in which labels may be missing
        by_annotator = any(map(is_of_cases, source.values()))
    if by_annotator and (answers := answers_in(source_in_memory(source))) is not None:
        return answers.to_columns(tell=True)
    if (columns := columns_of_dataset(source)) is not None:
        source = columns
    if is_frame(source):
        return _of_frame(source)
    if isinstance(source, Mapping) and (needed[-1] in source or "class" in source):
        for name, column in source.items():
            if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
                raise AnnotationError(f"the column {str(name)!r} is {show(column)}; write a list with a cell per row")
        columns = {str(name): list(column) for name, column in source.items()}
        if len({len(column) for column in columns.values()}) > 1:
            lengths = ", ".join(f"{name!r} {len(column)}" for name, column in columns.items())
            raise AnnotationError(f"the columns differ in length ({lengths}); give each a cell per row")
        return columns
    if isinstance(source, Mapping) and "annotator" not in needed:
        return {"case": list(source), needed[-1]: list(source.values())}
    if isinstance(source, Mapping):
        for case, of_case in source.items():
            if not isinstance(of_case, Mapping):
                raise AnnotationError(
                    f"case {case!r}: the labels of a case are a mapping from annotator to label, got {show(of_case)}; "
                    "write {case: {annotator: label}}, or give columns"
                )
        source = [(case, annotator, label) for case, said in source.items() for annotator, label in said.items()]
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return _of_list(source, needed)
    raise AnnotationError(
        f"labels come as a data frame, a path, a mapping or a list of rows, got {show(source)}; "
        f"give a table with the columns {', '.join(map(repr, needed))}"
    )


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


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for no label: None, NaN, pandas' NA, or blank text."""
    if cell is None or isinstance(cell, str):
        return cell is None or not cell.strip()
    if isinstance(cell, float | np.floating):
        return bool(np.isnan(cell))
    return type(cell).__name__ in ("NAType", "NaTType")


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


def _of_list(source: Sequence, needed: Sequence[str]) -> dict[str, Column]:
    """Read a list of records, or of tuples."""
    records = bool(source) and isinstance(source[0], Mapping)
    for number, row in enumerate(source, 1):
        a_tuple = isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(needed)
        if not (isinstance(row, Mapping) if records else a_tuple):
            form = f"a mapping with {', '.join(map(repr, needed))}" if records else f"({', '.join(needed)})"
            raise AnnotationError(f"row {number} is {show(row)}; write every row as {form}")
    if records:
        names = dict.fromkeys(name for row in source for name in row)
        return {str(name): [row.get(name) for row in source] for name in names}
    return {name: [row[place] for row in source] for place, name in enumerate(needed)}


def _of_frame(frame: Any) -> dict[str, Column]:
    """Take the columns of a data frame; those that Arrow cannot hold, or would alter, as lists of objects."""
    if isinstance(frame, pa.Table):
        return dict(frame_columns(frame))
    is_pandas = nw.dependencies.is_pandas_dataframe(frame)
    if is_pandas:
        objects = [name for name in frame.columns if frame[name].ndim == 1 and frame[name].dtype == object]
    else:
        wrapped = nw.from_native(frame, eager_only=True)
        objects = [name for name in wrapped.columns if wrapped[name].dtype in (nw.Object, nw.Struct)]
    # Text is quicker in Arrow; other objects, such as dicts and mixed lists, would come back changed.
    cells = {name: frame[name].to_list() for name in objects}
    kept = {name: own for name, own in cells.items() if not all(isinstance(v, str) or is_missing(v) for v in own)}
    if kept:
        frame = frame.drop(columns=list(kept)) if is_pandas else frame.drop(list(kept))
    return frame_columns(frame) | {str(name): own for name, own in kept.items()}


def _names(column: Column, name: str) -> pa.ChunkedArray:
    """Make an Arrow column of names."""
    if isinstance(column, pa.ChunkedArray):
        return column
    for row, cell in enumerate(column, 1):
        if is_missing(cell):
            continue
        if not isinstance(cell, str | Integral) or isinstance(cell, bool):
            raise AnnotationError(
                f"row {row}: the {name} is named {show(cell)}; names are text or whole numbers, so convert it"
            )
        if not is_storable(str(cell)):
            raise AnnotationError(
                f"row {row}: the {name} is named {show(str(cell))}, with a null character or half a character in it; "
                "write it without"
            )
    cells = [None if is_missing(cell) else str(cell) for cell in column]
    return pa.chunked_array([pa.array(cells, pa.large_string())])


def _cells(column: Column, name: str) -> np.ndarray:
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
