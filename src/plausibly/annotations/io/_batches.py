"""Matrices of a million rows from files: mapped to memory, or read in batches into one array of the final type.

What is out of the ordinary (a cell that is no number, a name that is absent, unknown or there twice, rows too many) is
not judged here: it is for those who read the whole file, and whose errors say where it is.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from jaxtyping import Float, Int

from plausibly.annotations._names import repeated
from plausibly.annotations.io._files import first_cells, first_row, native, parquet_file, read_npy
from plausibly.annotations.io._frames import is_number
from plausibly.errors import FileError

CASE_COLUMNS = ("case", "task")

_BLOCK = 2**20  # bytes of text that are taken apart together
_ROWS = 2**16  # of a Parquet file that are decoded together
_COLUMNS = 4  # likewise: each takes a few megabytes meanwhile, and there may be hundreds
_EXACT = 2**53  # below which float64 holds every whole number


class _Odd(Exception):
    """The file needs a closer look."""


def map_npy(path: Path) -> np.ndarray:
    """Map the array in a `.npy` file to memory, without unpickling anything; writing to it leaves the file alone.

    Raises
    ------
    FileError
        As :func:`read_npy` does, which also reads what cannot be mapped.
    """
    try:
        if path.is_file():  # and no pipe, which gives its content once
            with path.open("rb") as file:
                magic = file.read(len(np.lib.format.MAGIC_PREFIX))
            if magic == np.lib.format.MAGIC_PREFIX:
                with np.errstate(over="raise"):  # by a shape of 2¹²⁰ numbers
                    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except Exception:  # a damaged header can end in almost any
        pass
    return read_npy(path)


def read_in_batches(
    path: Path, classes: Sequence[str] | np.ndarray, cases: np.ndarray
) -> Float[np.ndarray, "case class"] | None:
    """Read a file of numbers into the order of classes, and of cases where it names them.

    Beside the array, there is a batch of rows in memory, and before it, if there is one, the column of names.

    Parameters
    ----------
    path
        To a ``.csv``, ``.txt`` or ``.parquet`` file.
    classes, cases
        Their names. Columns go by name where there is a header, and rows where there is a column "case" or "task".

    Returns
    -------
    numpy.ndarray
        float32 if all columns are float32 or float16, else float64. None if the file is out of the ordinary, or has
        blanks between its cells.
    """
    names = [str(name) for name in classes]
    if not path.is_file():
        return None
    try:
        parquet = path.suffix.lower() == ".parquet"
        for table in [_Parquet(path)] if parquet else _texts(path, names):
            with suppress(_Odd):
                return _fill(table, names, cases)
    except (_Odd, FileError, pa.ArrowException, OSError, ValueError, LookupError, csv.Error, StopIteration):
        pass
    return None


class _Parquet:
    """A Parquet file."""

    def __init__(self, path: Path):
        self._source = parquet_file(native(path), buffer_size=_BLOCK)
        schema = self._source.schema_arrow
        self.names: list[str] = schema.names
        self._kinds = dict(zip(schema.names, schema.types, strict=True))

    def dtype(self, columns: Sequence[str]) -> type:
        """The type that holds these columns; of others than numbers there is none."""
        kinds = [self._kinds[name] for name in columns]
        if not all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
            raise _Odd
        return np.float32 if all(kind in (pa.float16(), pa.float32()) for kind in kinds) else np.float64

    def batches(self, columns: Sequence[str], text: bool = False) -> Iterator[list[pa.Array]]:
        """Yield some rows of these columns at a time."""
        for batch in self._source.iter_batches(_ROWS, columns=list(columns)):
            yield [batch.column(name) for name in columns]


class _Text:
    """A file of text cells, under these names; the first row is a header or not."""

    def __init__(self, path: Path, delimiter: str, names: list[str], header: bool):
        self._path, self._delimiter, self.names, self._header = path, delimiter, names, header

    def dtype(self, columns: Sequence[str]) -> type:
        """The type of numbers in text."""
        return np.float64

    def batches(self, columns: Sequence[str], text: bool = False) -> Iterator[list[pa.Array]]:
        """Yield some rows of these columns at a time."""
        numbered = [f"f{number}" for number in range(len(self.names))]
        wanted = [numbered[self.names.index(name)] for name in columns]
        reader = pyarrow.csv.open_csv(
            native(self._path),
            read_options=pyarrow.csv.ReadOptions(
                column_names=numbered, skip_rows_after_names=int(self._header), use_threads=False, block_size=_BLOCK
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.large_string() if text else pa.float64()),
                include_columns=wanted,
                null_values=[],
            ),
        )
        for batch in reader:
            yield batch.columns


def _texts(path: Path, classes: list[str]) -> Iterator[_Text]:
    """Yield what a file of text may be: a first line of numbers may list classes, or be a row like any other."""
    with path.open("rb") as file:
        row = first_row(file.read(_BLOCK), whole=False)
    if row is None:
        raise _Odd
    txt = path.suffix.lower() == ".txt"
    delimiter = "\t" if txt and "," not in row else ","
    first = first_cells(row, delimiter)
    if (txt and len(first) == 1) or first != _cells(row, delimiter, len(first)):
        raise _Odd  # parted by blanks, or by quotes that mean something else to Arrow
    header = not all(map(is_number, first))
    if header or set(first) == set(classes):
        yield _Text(path, delimiter, first, True)
    if not header and len(first) == len(classes):
        yield _Text(path, delimiter, classes, False)


def _cells(row: str, delimiter: str, n_cells: int) -> list[str]:
    """Take a row apart as Arrow does."""
    table = pyarrow.csv.read_csv(
        pa.BufferReader(f"{row}\n".encode()),
        read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={f"f{number}": pa.large_string() for number in range(n_cells)}, null_values=[]
        ),
    )
    return [column[0].as_py() for column in table.columns]


def _fill(table: _Parquet | _Text, classes: list[str], cases: np.ndarray) -> Float[np.ndarray, "case class"]:
    ids = [name for name in CASE_COLUMNS if name in table.names and name not in classes][:1]
    columns = [name for name in table.names if name not in ids]
    if repeated(table.names) or sorted(columns) != sorted(classes):
        raise _Odd
    dtype = table.dtype(columns)
    rows = _rows(table, ids[0], cases) if ids else None
    pa.default_memory_pool().release_unused()
    values = np.empty((len(cases), len(classes)), dtype)
    at_once = len(columns) if isinstance(table, _Text) else _COLUMNS
    for first in range(0, len(columns), at_once):
        _fill_columns(values, table, columns[first : first + at_once], classes, rows)
    pa.default_memory_pool().release_unused()
    return values


def _fill_columns(
    values: Float[np.ndarray, "case class"],
    table: _Parquet | _Text,
    columns: Sequence[str],
    classes: list[str],
    rows: Int[np.ndarray, " row"] | None,
) -> None:
    """Write some columns to their places."""
    places = [classes.index(name) for name in columns]
    at = 0
    for batch in table.batches(columns):
        first, at = at, at + len(batch[0])
        if at > len(values):
            raise _Odd
        own = slice(first, at) if rows is None else rows[first:at]
        for place, column in zip(places, batch, strict=True):
            if column.null_count:
                raise _Odd
            numbers = column.to_numpy(zero_copy_only=False)
            # Greater whole numbers may be rounded, which is refused; in text, they look like any other number here.
            whole = isinstance(table, _Text) or pa.types.is_integer(column.type)
            if whole and len(numbers) and not max(-float(numbers.min()), float(numbers.max())) < _EXACT:
                raise _Odd
            values[own, place] = numbers
    if at != len(values):
        raise _Odd


def _rows(table: _Parquet | _Text, column: str, cases: np.ndarray) -> Int[np.ndarray, " row"] | None:
    """Find the case of each row by its name; None if all are in order."""
    chunks = []
    for (names,) in table.batches([column], text=True):
        names = names.dictionary_decode() if pa.types.is_dictionary(names.type) else names
        is_text = pa.types.is_string(names.type) or pa.types.is_large_string(names.type)
        if not (is_text or pa.types.is_integer(names.type)):
            raise _Odd
        names.validate(full=True)
        chunks.append(names.cast(pa.large_string()))
    named = pa.chunked_array(chunks, pa.large_string())
    known = pa.chunked_array([pa.array(cases, pa.large_string())])
    if len(named) != len(known):
        raise _Odd
    if named.equals(known):
        return None
    rows = pc.call_function("index_in", [named], pc.SetLookupOptions(known.chunk(0)))
    if rows.null_count:
        raise _Odd
    rows = rows.to_numpy()
    if np.bincount(rows, minlength=len(cases)).max() > 1:
        raise _Odd
    return rows
