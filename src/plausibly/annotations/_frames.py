"""Data frames of any make, and files of text cells, as Arrow columns: text to codes, numbers to float64."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from plausibly.annotations._names import _show, repeated
from plausibly.errors import AnnotationError, PlausiblyError

_EXACT = 2**53  # up to which float64 holds every whole number


def is_frame(source: object) -> bool:
    """Whether a source is an eager data frame (pandas, polars, PyArrow, …)."""
    return nw.dependencies.is_into_dataframe(source)


def to_columns(frame: Any, error: type[PlausiblyError] = AnnotationError) -> dict[str, pa.ChunkedArray]:
    """Turn a data frame into Arrow columns by name.

    A named pandas index (``df.set_index("case")``, or what a group-by leaves) counts as columns; an index of text
    without a name is taken for case names, so that nothing is matched by order that could be matched by name.

    Parameters
    ----------
    frame
        Any data frame that narwhals knows.
    error
        The class of error to raise.

    Raises
    ------
    PlausiblyError
        If two columns share a name, or one mixes types.
    """
    if nw.dependencies.is_pandas_dataframe(frame):
        frame = _with_index(frame, error)
    names = [str(name) for name in (frame.column_names if isinstance(frame, pa.Table) else frame.columns)]
    if again := repeated(names):
        raise error(f"the column {again[0]!r} is there {again[1]} times; keep one")
    if nw.dependencies.is_pandas_dataframe(frame):
        frame = frame.set_axis(names, axis=1)  # pandas allows names that are not text
    wrapped = nw.from_native(frame, eager_only=True)
    columns = {}
    for name in names:
        try:
            column = wrapped[name].to_arrow()
        except (pa.ArrowException, TypeError, ValueError) as cause:
            raise error(
                f"the column {name!r} mixes types; give it one, text for names and numbers for ranks"
            ) from cause
        columns[name] = _plain(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))
    return columns


def grid_columns(grid: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Take the first row of a file of text cells as the names of its columns.

    Raises
    ------
    AnnotationError
        If two columns share a name.
    """
    names = first_row(grid)
    if again := repeated(names):
        raise AnnotationError(f"the header names the column {again[0]!r} {again[1]} times; keep one")
    return dict(zip(names, grid.slice(1).columns, strict=True))


def first_row(grid: pa.Table) -> list[str]:
    """Return the cells of the first line."""
    return [column[0].as_py() for column in grid.columns]


def cell(column: pa.ChunkedArray, row: int) -> Any:
    """Return a cell to be shown: its value, or its type where Python has no such value (a time of 300,000 years)."""
    try:
        return column[row].as_py()
    except (OverflowError, ValueError):
        return str(column.type)


def is_whole(column: pa.ChunkedArray) -> bool:
    """Whether a column has a type of whole numbers."""
    return pa.types.is_integer(column.type)


def missing(column: pa.ChunkedArray) -> np.ndarray:
    """Find the cells that are absent or blank; return their rows."""
    blank = column.is_null().to_numpy()
    if pa.types.is_large_string(column.type):
        blank = blank | (pc.call_function("utf8_length", [_trim(column)]).fill_null(0).to_numpy() == 0)
    return np.flatnonzero(blank)


def to_codes(column: pa.ChunkedArray, name: str, error: type[PlausiblyError] = AnnotationError):
    """Encode a column of names, in the order in which they first appear.

    Parameters
    ----------
    column
        Text or whole numbers, without missing cells.
    name
        Its name, for the error.
    error
        The class of error to raise.

    Returns
    -------
    names
        The distinct names, as text.
    codes
        For each row an index into them.

    Raises
    ------
    PlausiblyError
        If the column holds anything else, such as fractions.
    """
    if not (pa.types.is_large_string(column.type) or pa.types.is_integer(column.type)):
        raise error(
            f"the column {name!r} holds {column.type}, such as {_show(cell(column, 0))}; "
            "names are text or whole numbers, so convert it"
        )
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    names = np.array(encoded.dictionary.to_pylist(), dtype=str)
    return names, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def to_floats(column: pa.ChunkedArray) -> tuple[np.ndarray, int | None]:
    """Read a column as numbers.

    Returns
    -------
    values
        float64, NaN from the first bad cell on.
    bad
        Index of the first cell that is no number; None if all are.
    """
    if pa.types.is_large_string(column.type):
        column = _trim(column)
    elif not (
        pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    ):
        return np.full(len(column), np.nan), 0
    try:
        return pc.cast(column, pa.float64(), safe=False).to_numpy().astype(np.float64, copy=False), None
    except pa.ArrowInvalid:
        return np.full(len(column), np.nan), next(i for i, cell in enumerate(column) if not _is_number(cell))


def rounded(column: pa.ChunkedArray) -> int | None:
    """Find a whole number that float64 cannot hold: two of them would tie. Return the first one's row.

    Examples
    --------
    >>> rounded(pa.chunked_array([[2**53, 2**53 + 1]])), rounded(pa.chunked_array([[1.5, 2.5]]))
    (1, None)
    """
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


def _is_number(cell: pa.Scalar) -> bool:
    try:
        cell.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _trim(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.call_function("utf8_trim_whitespace", [column])


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn categories into what they stand for, and the three Arrow types of text into one."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return column


def _with_index(frame: Any, error: type[PlausiblyError]) -> Any:
    """Turn an index that carries names into columns."""
    for name in frame.index.names:
        if name is not None and name in frame.columns:
            raise error(f"the column {name!r} is there twice, as a column and as the index; keep one")
    if any(name is not None for name in frame.index.names):
        return frame.reset_index()
    if frame.index.nlevels == 1 and frame.index.dtype.kind not in "iu" and "case" not in frame.columns:
        return frame.rename_axis("case").reset_index()
    return frame
