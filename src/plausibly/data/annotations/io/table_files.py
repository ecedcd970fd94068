"""Tables in CSV, TSV, text and Parquet files and workbooks, read by Arrow into columns: whole, or some rows at once.

Text that a spreadsheet would run as a formula: kept from it in CSV files that we write, and read back as it was.

A cell that begins with =, +, -, @, a tab or a carriage return, and is not a number, gets an apostrophe before it, which
spreadsheets take for "this is text". So that nothing is lost, a cell that begins with apostrophes and then one of these
gets one more, and the readers of annotations and predictions take one off again.
"""

import codecs
import csv
import io
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from plausibly.base.errors import AnnotationError, PlausiblyError, PlausiblyWarning
from plausibly.base.names import many, repeated
from plausibly.base.progress import Progress
from plausibly.data.annotations.io.columns import Columns, in_codes, is_text, plain
from plausibly.data.annotations.io.files import WORKBOOK, check_not_empty, ending, is_packed, opened, read_text, reading
from plausibly.data.annotations.io.workbooks import read_sheet

_FORMULA = r"^('*)([=+\-@\t\r])"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_COMMA = r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$"
#: Numbers with a comma, all numbers (or blanks), what to put in place of what, and how a warning calls it.
_DECIMALS = (
    *(_COMMA, r"^\s*([+-]?(\d+|\d*,\d+)([eE][+-]?\d+)?)?\s*$", _COMMA, r"\1.\2"),
    "cells are separated by semicolons, and numbers have decimal commas",
)
_THOUSANDS = (
    *(r"^\s*[+-]?\d{1,3}(,\d{3})+(\.\d+)?\s*$", r"^\s*([+-]?(\d*\.?\d+|\d{1,3}(,\d{3})+(\.\d+)?))?\s*$", ",", ""),
    "commas in numbers separate thousands",
)
_ESCAPED = r"^'('*[=+\-@\t\r])"  # where they were put before them


def write_csv(table: pd.DataFrame, file: TextIO, *, header: bool = True) -> None:
    """Write a table, without its index, as CSV that spreadsheets do not run and readers read back unchanged."""
    safe = no_formulas(table)
    texts = (cell for name in _of_text(safe) for cell in safe[name].unique() if isinstance(cell, str))
    # The writer of the standard library leaves a carriage return without quotes, which readers take for a line's end.
    returns = any("\r" in cell for cell in [*map(str, safe.columns), *texts])
    quoting = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    safe.to_csv(file, index=False, header=header, lineterminator="\n", quoting=quoting)


def no_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose text, that of its header included, is safe to open in a spreadsheet."""
    changed = {}
    for name in _of_text(table):
        column = table[name]
        is_text = column.map(lambda cell: isinstance(cell, str)).to_numpy(bool)
        cells = pa.array(column[is_text].astype(str), pa.large_string())
        bad = np.flatnonzero(is_text)[_formulas(cells)]
        if len(bad):
            column = column.astype(object).to_numpy().copy()
            column[bad] = [f"'{cell}" for cell in column[bad]]
            changed[name] = column
    header = pa.array([str(name) for name in table.columns], pa.large_string())
    names = [f"'{name}" if bad else name for name, bad in zip(table.columns, _formulas(header), strict=True)]
    return table.assign(**changed).set_axis(names, axis=1)


def with_formulas(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Take off again the apostrophes that :func:`no_formulas` put on."""
    if not pc.call_function("any", [pc.call_function("starts_with", [column], pc.MatchSubstringOptions("'"))]).as_py():
        return column
    return pc.call_function("replace_substring_regex", [column], pc.ReplaceSubstringOptions(_ESCAPED, r"\1"))


def unescaped(text: str) -> str:
    """Take them off a single text."""
    return re.sub(_ESCAPED, r"\1", text)


def _of_text(table: pd.DataFrame) -> list[str]:
    """Columns that may hold text."""
    is_number, is_bool = pd.api.types.is_numeric_dtype, pd.api.types.is_bool_dtype
    return [name for name in table.columns if not is_number(table[name]) and not is_bool(table[name])]


def _formulas(cells: pa.Array) -> np.ndarray:
    """Whether each cell has to be written with an apostrophe."""
    formula, number = (
        pc.call_function("match_substring_regex", [cells], pc.MatchSubstringOptions(pattern))
        for pattern in (_FORMULA, _NUMBER)
    )
    return pc.call_function("and_not", [formula, number]).to_numpy(zero_copy_only=False).astype(bool)


_BLOCK = 2**24  # bytes of text that are parsed together; a row has to fit in them
_CELLS = 2**20  # of a matrix in Parquet that are decoded together
_ROWS = 2**18  # of a long table in Parquet, likewise
_CUT = {"HITId", "WorkerId"}  # columns of a platform that leaves out blank cells at the end of a row
_NO_TABLE = "no table of equally long rows"
_NO_PARQUET = "no Parquet table or truncated"


def header_of(path: Path) -> list[str]:
    """Return the names of the columns of a file: the first row of text, or Parquet's schema."""
    return _raw_header(path) if _is_parquet(path) else [unescaped(name) for name in _raw_header(path)]


def read_columns(
    path: Path, wanted: Collection[str] | None = None, progress: Progress | None = None, *, formulas: bool = True
) -> Columns:
    """Read columns of a file or a sheet by name, text in codes; of those not wanted, there is the name alone.

    `formulas` says whether to take off the apostrophes that keep text in CSV files from being run as formulas.
    """
    raw = _raw_header(path)
    names = [unescaped(name) if formulas and not _is_parquet(path) else name for name in raw]
    refuse_repeats(names)
    columns: Columns = {name: pa.chunked_array([], pa.null()) for name in names}
    chosen = [name for name in names if wanted is None or name in wanted]
    if not chosen:
        return columns
    given = dict(zip(names, raw, strict=True))
    total, unit = (_parquet(path).metadata.num_rows, "rows") if _is_parquet(path) else (_size(path) / 1e6, "MB")
    advance = (progress or Progress(show=False)).task(f"Reading {path.name}", total, unit)
    batches = []
    for batch in _batches(path, [given[name] for name in chosen], _ROWS, coded=True):
        batches.append(batch)
        advance(len(batch) if _is_parquet(path) else min(_BLOCK / 1e6, total))
    if not batches:
        return columns
    table = pa.Table.from_batches(batches)
    change = with_formulas if formulas and not _is_parquet(path) else lambda texts: texts
    points = _decimal_points(path)
    return columns | {name: in_codes(table[given[name]], lambda texts: points(change(texts))) for name in chosen}


def read_batches(path: Path, *, header: bool = True) -> Iterator[Columns]:
    """Yield some rows of all columns of a CSV, TSV, text or Parquet file at a time, the cells of text as they are.

    Without a header, columns are called "f0", "f1", …
    """
    names = _raw_header(path)
    if _is_parquet(path):
        for batch in _batches(path, names, max(1, _CELLS // max(1, len(names)))):
            yield {name: plain(pa.chunked_array([batch[name]])) for name in names}
        return
    names = names if header else [f"f{number}" for number in range(len(names))]
    points = _decimal_points(path)
    for batch in _batches(path, names, header=header):
        yield {unescaped(name): points(with_formulas(pa.chunked_array([batch[name]]))) for name in names}


def _batches(
    path: Path, names: list[str], n_rows: int = 0, *, coded: bool = False, header: bool = True
) -> Iterator[pa.RecordBatch]:
    """Decode columns of a file: so many rows of Parquet at a time, or a block of text, all its cells as text."""
    if _is_parquet(path):
        with reading(_NO_PARQUET):
            kinds = _parquet(path).schema_arrow
            texts = [name for name in names if coded and is_text(kinds.field(name).type)]
            for batch in _parquet(path, read_dictionary=texts).iter_batches(n_rows, columns=names):
                batch.validate(full=True)  # text that is not UTF-8 would only fail later
                yield batch
    else:
        kind = pa.dictionary(pa.int32(), pa.large_string()) if coded else pa.large_string()
        with _no_csv(path):
            yield from _blocks(path, dict.fromkeys(names, kind), header)


def _blocks(path: Path, kinds: Mapping[str, pa.DataType], header: bool) -> Iterator[pa.RecordBatch]:
    """Decode blocks of text; from where rows end early, of the text in which they do not, with a warning."""
    n_rows = 0
    try:
        for batch in _open_csv(path, kinds, header):
            n_rows += len(batch)
            yield batch
    except pa.ArrowInvalid:
        if (found := _completed(path)) is None:
            raise
    else:
        return
    text, n_short = found
    words = f"{path}: {many(n_short, 'row')} without the last columns, which are taken for blank"
    warnings.warn(words, PlausiblyWarning, stacklevel=2)
    for batch in _open_csv(path, kinds, header, text):
        yield batch.slice(min(n_rows, len(batch)))
        n_rows -= min(n_rows, len(batch))


def _completed(path: Path) -> tuple[bytes, int] | None:
    """Text whose rows have all columns, if some end early and no other row has anything in what they lack; how many."""
    delimiter = _delimiter(path)
    if ending(path) == WORKBOOK or not delimiter:
        return None
    try:
        rows = list(csv.reader(read_text(path).splitlines(keepends=True), delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    rows = [row for row in rows if row]
    least, most = min(map(len, rows)), max(map(len, rows))
    ends = not {*rows[0]} >= _CUT and any(any(map(str.strip, row[least:])) for row in rows[1:])
    if len(rows[0]) < most or ends:
        return None
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL, delimiter=delimiter, lineterminator="\n").writerows(
        [*row, *[""] * (most - len(row))] for row in rows
    )
    return text.getvalue().encode(), sum(len(row) < most for row in rows)


def _is_parquet(path: Path) -> bool:
    return ending(path) == ".parquet"


def _size(path: Path) -> int:
    """Bytes of text in a file or a sheet."""
    return len(read_sheet(path)) if ending(path) == WORKBOOK else path.stat().st_size


def _parquet(path: Path, **options: Any) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file for Arrow to read without Python, for which threads that read ahead could wait forever."""
    return pyarrow.parquet.ParquetFile(pa.OSFile(str(path)), pre_buffer=False, **options)


def _raw_header(path: Path) -> list[str]:
    """Return the names of the columns as they stand in the file."""
    if ending(path) != WORKBOOK:
        check_not_empty(path)
    if _is_parquet(path):
        with reading(_NO_PARQUET):
            return _parquet(path).schema_arrow.names
    with _no_csv(path):
        try:
            return _open_csv(path).schema.names
        except pa.ArrowInvalid:
            if (found := _completed(path)) is None:
                raise
            return _open_csv(path, text=found[0]).schema.names


def refuse_repeats(names: list[str], error: type[PlausiblyError] = AnnotationError) -> list[str]:
    """Refuse two columns of one name."""
    if again := repeated(names):
        if not again[0].strip():
            raise error(
                f"the header has {again[1]} cells without a name, as where cells are merged; write one row of names, "
                "one for each column, and no title above it"
            )
        raise error(f"the header names the column {again[0]!r} {again[1]} times; keep one")
    return names


def _open_csv(
    path: Path, kinds: Mapping[str, pa.DataType] | None = None, header: bool = True, text: bytes | None = None
) -> pyarrow.csv.CSVStreamingReader:
    """Open a file of cells, or its `text`; of the columns named with their types, or all as Arrow sees them."""
    source, delimiter = _source(path) if text is None else (_in_memory(text), _delimiter(path))
    return pyarrow.csv.open_csv(
        source,
        # One thread, so that an error can count rows.
        read_options=pyarrow.csv.ReadOptions(
            autogenerate_column_names=not header, use_threads=False, block_size=_BLOCK
        ),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=kinds, include_columns=list(kinds or ()), strings_can_be_null=False
        ),
    )


def _source(path: Path) -> tuple[pa.NativeFile, str]:
    """Open a file of text, or a sheet, and say what separates its cells."""
    if ending(path) == WORKBOOK:
        return _in_memory(read_sheet(path)), ","
    delimiter = _delimiter(path)
    if not delimiter or not _is_utf8(path):
        text = read_text(path)
        if not delimiter:
            text, delimiter = re.sub(r"[ \t]+", ",", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text)), ","
        return _in_memory(f"{text}\n".encode()), delimiter
    if path.stat().st_size <= _BLOCK:
        with opened(path) as file:
            return _in_memory(file.read() + b"\n"), delimiter  # Arrow overlooks a single line without an end
    return pa.input_stream(str(path), compression="gzip" if is_packed(path) else None), delimiter


def _in_memory(text: bytes) -> pa.BufferReader:
    """Text in memory of Arrow's own: its threads may let go of it while Python ends, which aborts if it is Python's."""
    copy = pa.BufferOutputStream()
    copy.write(text)
    return pa.BufferReader(copy.getvalue())


def _delimiter(path: Path) -> str:
    """What separates the cells of a file of text: a comma, semicolon or tab; nothing for blanks in ``.txt`` files.

    Looked for in the bytes of the first line, since it is one of these in every encoding that is read.
    """
    with opened(path) as file:
        first = next((line for line in iter(lambda: file.readline(_BLOCK), b"") if line.strip()), b"")
    usual = {".tsv": b"\t,;", ".txt": b",\t;"}.get(ending(path), b",;\t")
    found = next((chr(one) for one in usual if one in first), None)
    return found or ("" if ending(path) == ".txt" else chr(usual[0]))


def _is_utf8(path: Path) -> bool:
    """Whether a file is UTF-8, as Arrow reads it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(path) as file:
        try:
            while part := file.read(_BLOCK):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _decimal_points(path: Path) -> Callable[[pa.ChunkedArray], pa.ChunkedArray]:
    """Function that writes numbers with points for decimal commas, if semicolons separate cells, else without commas.

    The latter separate thousands. A warning says so of the first number that has one.
    """
    if ending(path) in (WORKBOOK, ".parquet"):
        return lambda texts: texts
    commas, numbers, given, instead, called = _DECIMALS if _delimiter(path) == ";" else _THOUSANDS
    told: list[str] = []

    def changed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
        found = pc.call_function("match_substring_regex", [texts], pc.MatchSubstringOptions(commas))
        if not pc.call_function("any", [found]).as_py():
            return texts
        fit = pc.call_function("match_substring_regex", [texts], pc.MatchSubstringOptions(numbers))
        if not pc.call_function("all", [fit]).as_py():
            return texts
        points = pc.call_function("replace_substring_regex", [texts], pc.ReplaceSubstringOptions(given, instead))
        if not told:
            at = pc.call_function("index", [found], pc.IndexOptions(pa.scalar(True))).as_py()
            told.append(f"{texts[at].as_py().strip()} is read as {points[at].as_py().strip()}")
            warnings.warn(f"{path}: {called}: {told[0]}", PlausiblyWarning, stacklevel=2)
        return points

    return changed


@contextmanager
def _no_csv(path: Path) -> Iterator[None]:
    """Say in a sentence why a file of text cannot be read."""
    with reading(_NO_TABLE):
        try:
            yield
        except (pa.ArrowInvalid, UnicodeDecodeError):
            if ending(path) != WORKBOOK:
                text = read_text(path)  # says where, if it is no text
                if text.startswith("#FORMAT=WebAnno"):
                    raise AnnotationError(
                        "this is INCEpTION's or WebAnno's TSV, which is not read here: export CoNLL 2002, a file for "
                        "each annotator, and give them to plausibly agreement: ann=a.conll bob=b.conll --kind bio"
                    ) from None
            raise
