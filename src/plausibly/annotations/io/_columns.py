"""Long tables from files of any length: only the columns that are read, and of text each different cell once."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.csv

from plausibly._progress import Progress
from plausibly.annotations._names import repeated
from plausibly.annotations.io._files import (
    check_utf8,
    check_width,
    first_cells,
    first_row,
    native,
    no_parquet,
    no_table,
    parquet_file,
    readable,
)
from plausibly.annotations.io._formulas import with_formulas
from plausibly.annotations.io._frames import in_codes
from plausibly.errors import AnnotationError, FileError

Made = TypeVar("Made")

_BLOCK = 2**22  # bytes of text that are taken apart together
_ROWS = 2**18  # of a Parquet file

Columns = dict[str, pa.ChunkedArray]


def csv_header(path: Path) -> list[str]:
    """Return the cells of the first row of a CSV file, all of which has to be UTF-8 text.

    Raises
    ------
    FileError
        If it cannot be read, is empty, is no text or no table.
    """
    check_utf8(path)
    with readable(), path.open("rb") as file:
        content = file.read(_BLOCK)
        row = first_row(content, whole=False)
        if row is None:
            row = first_row(content + file.read())
    with no_table():
        first = first_cells(row or "")
        block = _in_blocks(path, lambda size: next(_blocks(path, size, pa.large_string(), range(len(first)))))
    check_width(first, block.num_columns)
    return [with_formulas(pa.chunked_array([column.slice(0, 1)]))[0].as_py() for column in block.columns]


def csv_columns(path: Path, header: list[str], wanted: Collection[str], progress: Progress) -> Columns:
    """Read columns of a CSV file by name, text in codes; of those that nobody wants, there is the name alone.

    Raises
    ------
    FileError
        If the rows differ in length.
    AnnotationError
        If two columns share a name.
    """
    if again := repeated(header):
        raise AnnotationError(f"the header names the column {again[0]!r} {again[1]} times; keep one")
    numbers = [number for number, name in enumerate(header) if name in wanted]
    kind = pa.dictionary(pa.int32(), pa.large_string())
    with no_table():
        advance = progress.task(f"Reading {path.name}", os.path.getsize(path) / 1e6, "MB")
        blocks = _in_blocks(path, lambda size: list(_blocks(path, size, kind, numbers, numbers, advance)))
    columns = {name: pa.chunked_array([], pa.null()) for name in header}
    for at, number in enumerate(numbers):
        column = pa.chunked_array([block.column(at) for block in blocks], kind)
        columns[header[number]] = in_codes(column.slice(1), with_formulas)
    return columns


def parquet_header(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file.

    Raises
    ------
    FileError
        If it cannot be read, is empty or is not Parquet.
    """
    with readable(), path.open("rb") as file:
        head = file.read(_BLOCK)
        if not head or head.isspace():
            raise FileError("the file is empty; write it again")
    with no_parquet():
        return parquet_file(native(path)).schema_arrow.names


def parquet_columns(path: Path, header: list[str], wanted: Collection[str], progress: Progress) -> Columns:
    """Read columns of a Parquet file by name, text in codes; of those that nobody wants, there is the name alone.

    Raises
    ------
    FileError
        If the file is damaged.
    AnnotationError
        If two columns share a name.
    """
    if again := repeated(header):
        raise AnnotationError(f"the column {again[0]!r} is there {again[1]} times; keep one")
    names = [name for name in header if name in wanted]
    with no_parquet():
        file = native(path)
        source = parquet_file(file)
        kinds = {field.name: field.type for field in source.schema_arrow}
        texts = [name for name in names if pa.types.is_string(kinds[name]) or pa.types.is_large_string(kinds[name])]
        source = parquet_file(file, read_dictionary=texts)
        advance = progress.task(f"Reading {path.name}", source.metadata.num_rows, "rows")
        batches = []
        for batch in source.iter_batches(_ROWS, columns=names):
            batch.validate(full=True)  # text that is not UTF-8 would only fail later
            batches.append(batch)
            advance(len(batch))
        table = pa.Table.from_batches(batches) if batches else source.read(columns=names)
        columns = {name: pa.chunked_array([], pa.null()) for name in header}
        return columns | {name: in_codes(table[name]) for name in names}


def _in_blocks(path: Path, read: Callable[[int], Made]) -> Made:
    """Read in blocks of a size in which every row fits, which most often is the least."""
    size = _BLOCK
    while True:
        try:
            return read(size)
        except pa.ArrowInvalid as error:
            too_small = any(words in str(error) for words in ("straddling object", "cannot infer number of columns"))
            if not too_small or size > os.path.getsize(path):
                raise
            size *= 16


def _blocks(
    path: Path,
    size: int,
    kind: pa.DataType,
    numbers: Iterable[int],
    only: Iterable[int] = (),
    advance: Callable[[float], Any] = lambda n: None,
) -> Iterator[pa.RecordBatch]:
    """Take a CSV file apart, the first row with the others: columns of one kind, of all or of only some."""
    file = native(path)
    reader = pyarrow.csv.open_csv(
        file,
        # One thread, so that the error can count rows.
        read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True, use_threads=False, block_size=size),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={f"f{number}": kind for number in numbers},
            strings_can_be_null=False,
            include_columns=[f"f{number}" for number in only],
        ),
    )
    before = 0
    for block in reader:
        yield block
        advance((file.tell() - before) / 1e6)
        before = file.tell()
