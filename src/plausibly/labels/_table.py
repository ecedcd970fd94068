"""Long tables of labels from files, data frames and Python's own containers, before any rule about their content."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from plausibly.annotations._names import _show, is_storable
from plausibly.annotations.io._columns import frame_columns, is_frame
from plausibly.annotations.io._files import lines_of, naming, parse_json, read_json, read_text, suffix_of
from plausibly.annotations.io._table_files import read_columns
from plausibly.errors import AnnotationError, PlausiblyError

SUFFIXES = (".csv", ".tsv", ".parquet", ".json", ".jsonl")
#: What the columns are called here, and what other tables call them.
SPELLINGS = {
    "case": ("case", "task"),
    "annotator": ("annotator", "worker"),
    "label": ("label", "class"),
    "score": ("score",),
    "accuracy": ("accuracy",),
}
NAMES = ("case", "annotator")  #: columns of names; those of any other kind keep their type


@dataclass(frozen=True)
class Table:
    """Columns of a table, as they came.

    Parameters
    ----------
    names
        Arrow columns of names, ``case`` and ``annotator``.
    label
        Labels: numbers with NaN where missing, or objects.
    further
        Other columns asked for, of the same kinds.
    source
        Path of the file, if it is one.
    text
        The labels as they stand in a file of text cells.
    """

    names: dict[str, pa.ChunkedArray]
    label: np.ndarray
    further: dict[str, np.ndarray]
    source: Path | None = None
    text: np.ndarray | None = None

    def naming(self) -> AbstractContextManager[None]:
        """Put the name of the file in front of errors."""
        return nullcontext() if self.source is None else naming(self.source)


def read_table(
    source: Any,
    needed: Sequence[str],
    columns: Iterable[str] = (),
    optional: Iterable[str] = (),
    error: type[PlausiblyError] = AnnotationError,
    *,
    naming_file: bool = True,
) -> Table:
    """Read the columns of a long table.

    Parameters
    ----------
    source
        See :meth:`plausibly.agreement.Labels.of`; a mapping of no columns is ``{case: {annotator: label}}``, or
        ``{case: label}`` where no annotators are needed, and the members of a list are records or tuples.
    needed
        Of the keys of :data:`SPELLINGS`, the last of which may hold anything.
    columns
        Further columns that must be there.
    optional
        Further columns that may be.
    error
        The class of error to raise.
    naming_file
        Whether to put the name of a file in front of errors.

    Raises
    ------
    PlausiblyError
        If a column is not there, is there under two names, or the source is of another kind.
    FileError
        If a file cannot be read.
    """
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    with nullcontext() if path is None or not naming_file else naming(path):
        found = in_memory(source, needed, error) if path is None else columns_of_file(path, needed, error)
        chosen = {name: found[_spelling(name, found, needed, error)] for name in needed}
        for name in columns:
            if name not in found:
                raise error(f"the table has no column {name!r} (columns found: {', '.join(map(repr, found))})")
        others = [*columns, *(name for name in optional if name in found and name not in columns)]
        values = chosen[needed[-1]]
        in_text = path is not None and path.suffix.lower() in (".csv", ".tsv")
        return Table(
            names={name: _names(chosen[name], name, error) for name in needed if name in NAMES},
            label=_cells(values, needed[-1], numbers=in_text),
            further={name: _cells(found[name], name, numbers=False) for name in others},
            source=path,
            text=to_objects(values.to_pylist()) if in_text else None,
        )


def columns_of_file(path: Path, needed: Sequence[str], error: type[PlausiblyError] = AnnotationError) -> dict[str, Any]:
    """Read all columns of a file: Arrow columns, or lists of Python objects from JSON.

    Raises
    ------
    FileError
        If the file cannot be read.
    PlausiblyError
        If JSON holds something else than a table.
    """
    suffix = suffix_of(path, SUFFIXES)
    if suffix == ".json":
        return in_memory(read_json(path), needed, error)
    if suffix == ".jsonl":
        lines = enumerate(lines_of(read_text(path)), 1)
        return in_memory([parse_json(line, f"line {n}") for n, line in lines if line.strip()], needed, error)
    return dict(read_columns(path, formulas=False))


def to_list(column: pa.ChunkedArray | list, name: str) -> list[Any]:
    """Return the cells of a column as Python objects.

    Raises
    ------
    AnnotationError
        If Python has no such objects, as of times in the year 300,000.
    """
    if isinstance(column, list):
        return column
    try:
        return column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise AnnotationError(
            f"the column {name!r} has a {column.type} that is out of range; write it as text, or leave the column out"
        ) from error


def is_missing(cell: Any) -> bool:
    """Whether a cell stands for no label: None, NaN, pandas' NA, or blank text.

    Examples
    --------
    >>> [is_missing(cell) for cell in (None, float("nan"), " ", 0, [], "NA")]
    [True, True, True, False, False, False]
    """
    if cell is None or isinstance(cell, str):
        return cell is None or not cell.strip()
    if isinstance(cell, float | np.floating):
        return bool(np.isnan(cell))
    return type(cell).__name__ in ("NAType", "NaTType")


def to_objects(values: Iterable[Any]) -> np.ndarray:
    """Make a one-dimensional array of objects, even of lists of equal length."""
    listed = list(values)
    array = np.empty(len(listed), object)
    for place, value in enumerate(listed):
        array[place] = value
    return array


def _spelling(name: str, found: Mapping[str, Any], needed: Sequence[str], error: type[PlausiblyError]) -> str:
    """Find the name by which a table calls a column."""
    there = [spelling for spelling in SPELLINGS[name] if spelling in found]
    if len(there) > 1:
        raise error(f"the table has both a column {there[0]!r} and a column {there[1]!r}; keep one")
    if not there:
        listed = ", ".join(map(repr, needed[:-1])) + f" and {needed[-1]!r}"
        raise error(
            f"the table has no column {name!r} (columns found: {', '.join(map(repr, found))}); it needs {listed}"
        )
    return there[0]


def in_memory(source: Any, needed: Sequence[str], error: type[PlausiblyError] = AnnotationError) -> dict[str, Any]:
    """Take apart a data frame, a mapping of columns, a nested mapping or a list of rows; see :func:`read_table`.

    Raises
    ------
    PlausiblyError
        If it is none of these.
    """
    if is_frame(source):
        return _of_frame(source)
    if isinstance(source, Mapping):
        if needed[-1] in source or "class" in source:
            for name, column in source.items():
                if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
                    raise error(f"the column {str(name)!r} is {_show(column)}; write a list with a cell per row")
            columns = {str(name): list(column) for name, column in source.items()}
            if len({len(column) for column in columns.values()}) > 1:
                lengths = ", ".join(f"{name!r} {len(column)}" for name, column in columns.items())
                raise error(f"the columns differ in length ({lengths}); give each a cell per row")
            return columns
        return _of_nested(source, needed, error)
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return _of_list(source, needed, error)
    raise error(
        f"labels come as a data frame, a path, a mapping or a list of rows, got {_show(source)}; "
        f"give a table with the columns {', '.join(map(repr, needed))}"
    )


def _of_nested(source: Mapping, needed: Sequence[str], error: type[PlausiblyError]) -> dict[str, Any]:
    """Read ``{case: {annotator: label}}``, or ``{case: label}``."""
    if "annotator" not in needed:
        return {"case": list(source), needed[-1]: list(source.values())}
    rows = []
    for case, given in source.items():
        if not isinstance(given, Mapping):
            raise error(
                f"case {case!r}: the labels of a case are a mapping from annotator to label, got {_show(given)}; "
                "write {case: {annotator: label}}, or give columns"
            )
        rows += [(case, annotator, label) for annotator, label in given.items()]
    return _of_list(rows, needed, error)


def _of_list(source: Sequence, needed: Sequence[str], error: type[PlausiblyError]) -> dict[str, Any]:
    """Read a list of records, or of tuples."""
    if source and isinstance(source[0], Mapping):
        names = dict.fromkeys(str(name) for row in source if isinstance(row, Mapping) for name in row)
        columns: dict[str, Any] = {name: [] for name in names}
    else:
        columns = {name: [] for name in needed}
    for number, row in enumerate(source, 1):
        records = source and isinstance(source[0], Mapping)
        if records and isinstance(row, Mapping):
            cells = [row.get(name) for name in columns]
        elif not records and isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(needed):
            cells = list(row)
        else:
            form = f"a mapping with {', '.join(map(repr, needed))}" if records else f"({', '.join(needed)})"
            raise error(f"row {number} is {_show(row)}; write every row as {form}")
        for column, cell in zip(columns.values(), cells, strict=True):
            column.append(cell)
    return columns


def _of_frame(frame: Any) -> dict[str, Any]:
    """Take the columns of a data frame; those that Arrow cannot hold, or would alter, as lists of objects."""
    if isinstance(frame, pa.Table):
        return dict(frame_columns(frame))
    if nw.dependencies.is_pandas_dataframe(frame):
        objects = [name for name in frame.columns if frame[name].dtype == object]
    else:
        wrapped = nw.from_native(frame, eager_only=True)
        objects = [name for name in wrapped.columns if wrapped[name].dtype in (nw.Object, nw.Struct)]
    found: dict[str, Any] = {}
    for name in objects:
        cells = frame[name]
        if getattr(cells, "ndim", 1) > 1:
            break  # two columns of one name, of which frame_columns complains
        values = cells.to_list()
        # Text is quicker in Arrow; other objects, such as dicts and mixed lists, would come back changed.
        if not all(isinstance(value, str) or is_missing(value) for value in values):
            found[str(name)] = values
    rest = frame.drop(columns=list(found)) if nw.dependencies.is_pandas_dataframe(frame) else frame.drop(list(found))
    columns = frame_columns(rest if found else frame)
    names = [str(name) for name in frame.columns]
    both = found | columns
    return {name: both[name] for name in (*names, *(name for name in columns if name not in names))}


def _names(column: Any, name: str, error: type[PlausiblyError]) -> pa.ChunkedArray:
    if isinstance(column, pa.ChunkedArray):
        return column
    for row, cell in enumerate(column, 1):
        if not is_missing(cell) and (not isinstance(cell, str | Integral) or isinstance(cell, bool)):
            raise error(f"row {row}: the {name} is named {_show(cell)}; names are text or whole numbers, so convert it")
    cells = [None if is_missing(cell) else str(cell) for cell in column]
    for row, cell in enumerate(cells, 1):
        if cell is not None and not is_storable(cell):
            raise error(
                f"row {row}: the {name} is named {_show(cell)}, with a null character or half a character in it; "
                "write it without"
            )
    return pa.chunked_array([pa.array(cells, pa.large_string())])


def _cells(column: Any, name: str, *, numbers: bool) -> np.ndarray:
    """Make an array of a column: of numbers (NaN if missing) or truth values, else of objects (None if missing)."""
    if not isinstance(column, pa.ChunkedArray):
        return _numbers_if_all(to_objects(column))
    kind = column.type
    if pa.types.is_boolean(kind) and not column.null_count:
        return column.to_numpy().astype(bool)
    if pa.types.is_integer(kind) and not column.null_count:
        return column.to_numpy().astype(np.int64)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64)
    if numbers:
        trimmed = pc.call_function("utf8_trim_whitespace", [column.cast(pa.large_string())])
        blank = pc.call_function("equal", [trimmed, pa.scalar("", pa.large_string())])
        filled = pc.call_function("if_else", [blank, pa.scalar(None, pa.large_string()), trimmed])
        if filled.null_count < len(filled) and _reads_as_numbers(filled):
            return pc.cast(filled, pa.float64()).to_numpy().astype(np.float64)
    return to_objects(to_list(column, name))


def _reads_as_numbers(column: pa.ChunkedArray) -> bool:
    """Whether all text reads as numbers; codes such as 007 do not."""
    code = pc.call_function("match_substring_regex", [column], pc.MatchSubstringOptions(r"^[+-]?0\d"))
    if pc.call_function("any", [code]).as_py():
        return False
    try:
        pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _numbers_if_all(values: np.ndarray) -> np.ndarray:
    """Make an array of numbers of Python numbers, missing ones NaN; anything else stays as it is."""
    kinds = {type(value) for value in values}
    plain = {kind for kind in kinds if issubclass(kind, int | float | np.number) and kind is not bool}
    if kinds == {bool} or (plain and kinds == plain):
        return np.array(values.tolist())
    if plain and kinds <= plain | {type(None)}:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return values
