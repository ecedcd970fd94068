"""Tables as Arrow columns by name, and columns as NumPy arrays: names in codes, numbers as float64.

A column holds text or numbers; text may be in codes (Arrow's dictionaries), as that of files is, so that of millions of
rows each different cell is held once. Rows count from 0 here and from 1 in errors.
"""

from collections.abc import Callable, Collection
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from plausibly.base.errors import AnnotationError, PlausiblyError, show
from plausibly.base.names import is_storable, repeated
from plausibly.data.annotations.io.spellings import CASE, called

_EXACT = 2**53  # up to which float64 holds every whole number

Columns = dict[str, pa.ChunkedArray]


def is_frame(source: object) -> bool:
    """Whether a source is an eager data frame (pandas, polars, PyArrow, …)."""
    return nw.dependencies.is_into_dataframe(source)


def table_columns(table: object) -> Columns:
    """Turn a table into columns as :func:`frame_columns`, and refuse what is not a table."""
    if not is_frame(table):
        raise AnnotationError(f"a table is a data frame held in memory, got {type(table).__name__}; convert it to one")
    return frame_columns(table)


def category_order(frame: Any, names: Collection[str]) -> tuple[str, ...] | None:
    """Return the categories of the first column with one of some names, if they have an order; else None."""
    wrapped = nw.from_native(frame, eager_only=True)
    found = next((wrapped[name].dtype for name in called(names, wrapped.columns)), None)
    return tuple(found.categories) if isinstance(found, nw.Enum) else None


def frame_columns(frame: Any, error: type[PlausiblyError] = AnnotationError, *, of_numbers: bool = False) -> Columns:
    """Turn a data frame of any kind that narwhals knows into Arrow columns by name.

    A named pandas index (``df.set_index("case")``, or what a group-by leaves) counts as columns; an index of text
    without a name, or one `of_numbers` that does not count the rows, is taken for case names, so that nothing is
    matched by order that could be matched by name.
    """
    if nw.dependencies.is_pandas_dataframe(frame):
        frame = _with_index(frame, error, of_numbers)
    names = [str(name) for name in (frame.column_names if isinstance(frame, pa.Table) else frame.columns)]
    if again := repeated(names):
        raise error(f"the column {again[0]!r} occurs {again[1]} times; keep one")
    if nw.dependencies.is_pandas_dataframe(frame):
        frame = frame.set_axis(names, axis=1)  # pandas allows names that are not text
    wrapped = nw.from_native(frame, eager_only=True)
    columns = {}
    for name in names:
        try:
            column = wrapped[name].to_arrow()
        except OverflowError as cause:
            raise error(
                f"the column {name!r} holds a whole number of more than 64 bits; write a smaller one"
            ) from cause
        except (pa.ArrowException, TypeError, ValueError) as cause:
            raise error(
                f"the column {name!r} mixes types; give it one, text for names and numbers for ranks"
            ) from cause
        columns[name] = plain(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))
    return columns


def name_column(column: Any, name: str) -> pa.ChunkedArray:
    """Make an Arrow column of names, text or whole numbers, of a list of objects; an Arrow column stays as it is."""
    if isinstance(column, pa.ChunkedArray):
        return column
    cells = [None if is_nothing(cell) else cell for cell in column]
    for row, one in enumerate(cells, 1):
        if one is not None and (not isinstance(one, str | Integral) or isinstance(one, bool)):
            raise AnnotationError(
                f"row {row}: the {name} is named {show(one)}; names are text or whole numbers, so convert it"
            )
        if one is not None and not is_storable(str(one)):
            raise AnnotationError(
                f"row {row}: the {name} is named {show(str(one))}, with a null character or half a character in it; "
                "write it without"
            )
    return pa.chunked_array([pa.array([None if one is None else str(one) for one in cells], pa.large_string())])


def is_nothing(value: Any) -> bool:
    """Whether a value stands for no answer: None, NaN, pandas' NA, blank text."""
    if value is None or isinstance(value, str):
        return value is None or not value.strip()
    if isinstance(value, float | np.floating):
        return bool(value != value)
    return type(value).__name__ in ("NAType", "NaTType")


def list_of(column: Any) -> list[Any]:
    """Return the cells of any column as Python objects."""
    if isinstance(column, pa.ChunkedArray):
        column = plain(column)  # in codes, text would take ten times as long
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def cell(column: pa.ChunkedArray, row: int) -> Any:
    """Return a cell to be shown: its value, or its type where Python has no such value (a time of 300,000 years)."""
    try:
        return column[row].as_py()
    except (OverflowError, ValueError):
        return str(column.type)


def in_codes(
    column: pa.ChunkedArray, change: Callable[[pa.ChunkedArray], pa.ChunkedArray] = lambda texts: texts
) -> pa.ChunkedArray:
    """Put text that is in codes, in pieces, into one piece, whose different texts, after a `change`, are all in use.

    Columns of text may be given so to all functions below. Other columns come out as :func:`plain` has them.
    """
    kind = column.type
    if not (pa.types.is_dictionary(kind) and is_text(kind.value_type)):
        return plain(column)
    parts = column.unify_dictionaries().combine_chunks()
    parts = parts.combine_chunks() if isinstance(parts, pa.ChunkedArray) else parts
    code = parts.indices.cast(pa.int32()).fill_null(-1).to_numpy()
    used = np.zeros(len(parts.dictionary) + 1, bool)
    used[code] = True
    new = np.cumsum(used, dtype=np.int32) - 1
    texts = parts.dictionary.filter(pa.array(used[:-1])).cast(pa.large_string())
    texts = change(pa.chunked_array([texts])).combine_chunks()
    codes = pa.array(new[code], mask=code < 0)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, texts)])


def _of_texts(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, np.ndarray] | None:
    """The different texts of a column in codes, and the codes, -1 where a cell is absent; of other columns nothing."""
    if not pa.types.is_dictionary(column.type):
        return None
    parts = column.combine_chunks()
    parts = parts.chunk(0) if isinstance(parts, pa.ChunkedArray) else parts
    return pa.chunked_array([parts.dictionary]), parts.indices.fill_null(-1).to_numpy()


def _row_of(code: np.ndarray, number: int | None) -> int | None:
    """The first row of the text of a number."""
    return None if number is None else int(np.flatnonzero(code == number)[0])


def taken(column: Any, rows: np.ndarray) -> Any:
    """Cells of some rows."""
    return [column[row] for row in rows.tolist()] if isinstance(column, list) else in_codes(column.take(pa.array(rows)))


def missing(column: Any) -> np.ndarray:
    """Find the cells that are absent or blank; return their rows."""
    if isinstance(column, list):
        return np.flatnonzero([is_nothing(one) for one in column])
    if coded := _of_texts(column):
        texts, code = coded
        blank = np.zeros(len(texts) + 1, bool)
        blank[missing(texts)] = blank[-1] = True
        return np.flatnonzero(blank[code])
    blank = column.is_null().to_numpy()
    if pa.types.is_large_string(column.type):
        blank = blank | (pc.call_function("utf8_length", [_trim(column)]).fill_null(0).to_numpy() == 0)
    return np.flatnonzero(blank)


def to_codes(column: pa.ChunkedArray, name: str, error: type[PlausiblyError] = AnnotationError):
    """Return the distinct names in a column of text or whole numbers, as they appear, and the index of each row.

    No cell may be missing; `name` is that of the column.
    """
    if coded := _of_texts(column):
        texts, code = coded
        names, same = to_codes(texts, name, error)  # two may be the same
        order = pd.unique(same[code])
        rank = np.empty(len(names), np.int32)
        rank[order] = np.arange(len(order))
        return names[order], rank[same][code]
    if not (pa.types.is_large_string(column.type) or pa.types.is_integer(column.type)):
        raise error(
            f"the column {name!r} holds {column.type}, such as {show(cell(column, 0))}; "
            "names are text or whole numbers, so convert it"
        )
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    texts = encoded.dictionary.to_pylist()
    for text in (text for text in texts if "\0" in text):  # which NumPy drops at the end of a text
        raise error(f"the column {name!r} holds {show(text)}, with a null character in it; write it without")
    names = np.array(texts, dtype=str)
    return names, encoded.indices.to_numpy(zero_copy_only=False)


def as_names(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Call truth values "True" and "False", as names of classes; leave any other column as it is."""
    if not pa.types.is_boolean(column.type):
        return column
    return pc.call_function("utf8_capitalize", [column.cast(pa.large_string())])


def to_floats(column: pa.ChunkedArray) -> tuple[np.ndarray, int | None]:
    """Return a column as float64, all NaN if a cell is not a number, and the row of the first such cell."""
    if coded := _of_texts(column):
        texts, code = coded
        values, bad = to_floats(texts)
        return values[code], _row_of(code, bad)
    if pa.types.is_large_string(column.type):
        column = _trim(column)
    elif not is_number_type(column.type):
        return np.full(len(column), np.nan), 0 if len(column) else None
    try:
        return pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64, copy=False), None
    except pa.ArrowInvalid:
        return np.full(len(column), np.nan), next(i for i, cell in enumerate(column) if not _is_number(cell))


def rounded(column: pa.ChunkedArray) -> int | None:
    """Return the row of the first whole number that float64 cannot hold: two of them would tie."""
    if coded := _of_texts(column):
        texts, code = coded
        return _row_of(code, rounded(texts))
    if pa.types.is_integer(column.type):
        numbers = column.drop_null().to_numpy()
        if not len(numbers) or max(abs(int(numbers.min())), abs(int(numbers.max()))) <= _EXACT:
            return None
        cells = column.to_pylist()
    elif pa.types.is_large_string(column.type):
        long = pc.call_function("match_substring_regex", [column], pc.MatchSubstringOptions(r"^\s*[+-]?\d{16,}\s*$"))
        if not pc.call_function("any", [long]).as_py():
            return None
        cells = [
            int(cell) if is_long else 0 for cell, is_long in zip(column.to_pylist(), long.to_pylist(), strict=True)
        ]
    else:
        return None
    return next((row for row, cell in enumerate(cells) if cell and int(float(cell)) != cell), None)


def is_number(cell: str) -> bool:
    """Whether a cell of text reads as a number, NaN and infinity included."""
    return _is_number(pa.scalar(cell.strip()))


def odd_among_numbers(names: np.ndarray, counts: np.ndarray) -> list[str]:
    """Names of rare classes that are no numbers, or as far from all others as these from each other, among numbers."""
    rare = counts <= counts.sum() / 100
    numbers = np.array([float(name) if is_number(name) else np.nan for name in names])
    usual = numbers[~rare]
    if len(usual) < 3 or np.isnan(usual).any():
        return []
    span = np.ptp(usual)
    odd = rare & (counts > 0) & ~((numbers > usual.min() - span) & (numbers < usual.max() + span))
    return [f"{names[at]} ({counts[at]} of {counts.sum():,})" for at in np.flatnonzero(odd)]


def _is_number(cell: pa.Scalar) -> bool:
    try:
        cell.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _trim(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.call_function("utf8_trim_whitespace", [column])


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn categories into what they stand for, and the three Arrow types of text into one."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string()) if is_text(column.type) else column


def is_number_type(kind: pa.DataType) -> bool:
    """Whether a type holds numbers, whole or not."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's three types of text."""
    return pa.types.is_string(kind) or pa.types.is_string_view(kind) or pa.types.is_large_string(kind)


def _with_index(frame: Any, error: type[PlausiblyError], of_numbers: bool) -> Any:
    """Turn an index that carries names into columns."""
    index = frame.index
    for name in index.names:
        if name is not None and name in frame.columns:
            raise error(f"the column {name!r} occurs twice, as a column and as the index; keep one")
    if any(name is not None for name in index.names):
        return frame.reset_index()
    names = index.dtype.kind not in "iu" or (of_numbers and not index.equals(pd.RangeIndex(len(index))))
    if index.nlevels == 1 and names and not any(name in frame.columns for name in CASE):
        return frame.rename_axis("case").reset_index()
    return frame
