"""Files: text, arrays and tables, with every way of failing to read one put in a sentence that names the file."""

import codecs
import csv
import gc
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from plausibly.errors import ArgumentError, FileError, PlausiblyError, first_line

_ROWS, _ROWS_FOR_A_BYTE = 10**7, 10**3  # more rows than both are no rows of a Parquet file


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Put the name of a file, or of any other source, in front of an error's sentence.

    Readers know the case and the annotator, callers know the file: each adds what it knows.

    Examples
    --------
    >>> with naming("a.json"):
    ...     raise FileError("it is empty")
    Traceback (most recent call last):
        ...
    plausibly.errors.FileError: a.json: it is empty
    """
    try:
        yield
    except PlausiblyError as error:
        error.args = (f"{source}: {error.args[0]}", *error.args[1:])
        raise


@contextmanager
def many_objects() -> Iterator[None]:
    """Keep the collector of cyclic garbage from going through millions of lists time and again: that is half the time.

    Examples
    --------
    >>> with many_objects():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def suffix_of(path: Path, known: tuple[str, ...]) -> str:
    """Return the lower-case suffix of a path, one of those `known`.

    Raises
    ------
    FileError
        If the suffix is none of them.
    """
    suffix = path.suffix.lower()
    if suffix not in known:
        raise FileError(f"the suffix {suffix!r} names no format read here; use one of {', '.join(known)}")
    return suffix


def check_path(path: object, what: str = "the name of a file") -> None:
    """Refuse what is no path.

    Raises
    ------
    ArgumentError
        Saying what is needed instead.
    """
    if not isinstance(path, str | os.PathLike):
        given = " ".join(repr(path).split())[:60]
        raise ArgumentError(f"{what} must be given, but {given} was: write for example 'annotations.csv'.")


@contextmanager
def readable() -> Iterator[None]:
    """Say in a sentence why a file cannot be opened.

    Raises
    ------
    FileError
        If it does not exist, is a folder or may not be read.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise FileError("the file does not exist; check the path") from error
    except IsADirectoryError as error:
        raise FileError("this is a folder; name a file in it") from error
    except PlausiblyError:
        raise
    except OSError as error:
        raise FileError(f"the file cannot be read ({error.strerror}); check its permissions") from error


@contextmanager
def lasting(path: Path) -> Iterator[Path]:
    """Keep in a file meanwhile what a pipe gives, which it gives once: files are gone through more than once.

    Raises
    ------
    FileError
        If it cannot be read.
    """
    if not path.exists() or path.is_file() or path.is_dir():
        yield path
        return
    with TemporaryDirectory(prefix="plausibly-") as folder:
        copy = Path(folder, path.name)
        with readable(), path.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy


def read_bytes(path: Path) -> bytes:
    """Read a whole file that has at least one byte.

    Raises
    ------
    FileError
        If it does not exist, is a folder, may not be read or is empty.
    """
    with readable():
        content = path.read_bytes()
    if not content or content.isspace():
        raise FileError("the file is empty; write it again")
    return content


def check_utf8(path: Path) -> None:
    """Go through a file of any length, which has to be UTF-8 text and not empty.

    Raises
    ------
    FileError
        As :func:`read_text` does.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    done, blank, last = 0, True, False
    with readable(), path.open("rb") as file:
        while not last:
            block = file.read(2**22)
            last = not block
            before = done - len(decoder.getstate()[0])  # of a character that was cut
            try:
                decoder.decode(block, final=last)
            except UnicodeDecodeError as error:
                raise _not_utf8(before + error.start) from error
            done += len(block)
            blank = blank and (last or block.isspace())
    if blank:
        raise FileError("the file is empty; write it again")


def _utf8(path: Path) -> bytes:
    """Read a file of UTF-8 text as bytes, without a byte order mark."""
    content = read_bytes(path)
    _decoded(content)
    return content.removeprefix(codecs.BOM_UTF8)


def first_row(content: bytes, whole: bool = True) -> str | None:
    """Return text that begins with the first row of a table; more of it than the row only where quotes span lines.

    Nothing where `content` is not the whole file, and may lack the end of the row.
    """
    content = content.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    end = content.find(b"\n")
    line = content if end < 0 else content[:end]
    if not whole and (end < 0 or line.count(b'"') % 2):
        return None
    return (content if line.count(b'"') % 2 else line).decode()


def read_text(path: Path) -> str:
    """Read a UTF-8 text file, with or without a byte order mark.

    Raises
    ------
    FileError
        If it cannot be read, is empty or is not UTF-8.
    """
    return _decoded(read_bytes(path))


def _decoded(content: bytes) -> str:
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise _not_utf8(error.start) from error


def _not_utf8(byte: int) -> FileError:
    return FileError(f"the file is not UTF-8 text (byte {byte}); save it as UTF-8 text")


def lines_of(text: str) -> list[str]:
    r"""Part text into lines, at line feeds with or without a carriage return and at nothing else that Unicode knows.

    Examples
    --------
    >>> lines_of("a\r\nb\u2028c\n")
    ['a', 'b\u2028c']
    """
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def read_npy(path: Path) -> np.ndarray:
    """Read an array from a `.npy` file, never unpickling anything.

    Raises
    ------
    FileError
        If the file is no `.npy` file, is truncated or holds pickled objects.
    """
    content = read_bytes(path)
    if not content.startswith(b"\x93NUMPY"):
        raise FileError("the file is no .npy array; write it with numpy.save")
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # a damaged header can end in almost any exception: syntax, memory, type, end of file
        if "allow_pickle" in str(error):
            raise FileError("the array holds pickled Python objects, never read here; save it as numbers") from error
        raise FileError(f"the array is truncated or damaged ({first_line(error)}); write it again") from error


def read_parquet(path: Path) -> pa.Table:
    """Read a Parquet file.

    Raises
    ------
    FileError
        If the file is not Parquet or is truncated.
    """
    content = read_bytes(path)
    with no_parquet():
        table = parquet_file(pa.BufferReader(content)).read()
        table.validate(full=True)  # text that is not UTF-8 would only fail later
        return table


def native(path: Path) -> pa.NativeFile:
    """Open a file that Arrow reads without Python, and closes when nobody reads it any more.

    It reads ahead, on threads of its own. Where these need Python for it, a process that ends while one of them waits
    for its turn, waits for that thread in turn, for ever. And where a file is closed under them, they may read from
    another one that the system has given the same number: so do not close it, and open it anew to read it anew.

    Examples
    --------
    >>> _ = Path("a.csv").write_text("a,b")
    >>> native(Path("a.csv")).size()
    3
    """
    return pa.OSFile(os.fsencode(path))


def parquet_file(file: pa.NativeFile, **options: Any) -> pyarrow.parquet.ParquetFile:
    """Open a Parquet file, whose pages are checked where they have checksums: those have that we write.

    Raises
    ------
    FileError
        If it says that it has more rows than its bytes can stand for: memory is asked for by that number.
    """
    found = pyarrow.parquet.ParquetFile(file, page_checksum_verification=True, **options)
    size = file.seek(0, os.SEEK_END)
    if found.metadata.num_rows > max(_ROWS, _ROWS_FOR_A_BYTE * size):
        raise FileError(
            f"the file says that it has {found.metadata.num_rows:.3g} rows in {size:,} bytes; write it again"
        )
    return found


@contextmanager
def no_parquet() -> Iterator[None]:
    """Say in a sentence that a file is no Parquet table.

    Raises
    ------
    FileError
        If Arrow says so.
    """
    try:
        yield
    except PlausiblyError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileError(f"the file is no Parquet table or truncated ({first_line(error)}); write it again") from error


@contextmanager
def no_table() -> Iterator[None]:
    """Say in a sentence that a file of text is no table.

    Raises
    ------
    FileError
        If Arrow or Python says so.
    """
    try:
        yield
    except (pa.ArrowException, csv.Error) as error:
        raise FileError(
            f"the file is no table of equally long rows ({first_line(error)}); mend that row, or write the file again"
        ) from error


def first_cells(row: str, delimiter: str = ",") -> list[str]:
    """Return the cells of the first row, which have to be parted by `delimiter`.

    Raises
    ------
    FileError
        If they are parted by something else.
    """
    first = next(csv.reader(io.StringIO(row), delimiter=delimiter))
    for other in (";", "\t"):
        if len(first) == 1 and other in first[0]:
            raise FileError(f"the cells are parted by {other!r}; part them by commas")
    return first


def check_width(first: list[str], n_columns: int) -> None:
    """Refuse a first row that reads as more cells or fewer to Arrow.

    Raises
    ------
    FileError
        If it does.
    """
    if n_columns != len(first):
        raise FileError(
            f"the first row is {len(first)} cells or {n_columns}, depending on what its quotes mean; put whole "
            "cells in quotes, and write a quote within them twice"
        )


def read_grid(path: Path, text: str | None = None, delimiter: str = ",") -> pa.Table:
    """Read a CSV file as columns of text, its first line as the first row and blank cells as empty text.

    Text, because only the caller knows which cells are names (`007`, `NA`) and which are numbers.

    Parameters
    ----------
    path
        The file; not opened where `text` is given.
    text
        The content of the file.
    delimiter
        One character.

    Raises
    ------
    FileError
        If the rows differ in length, or the file cannot be read.
    """
    content = _utf8(path) if text is None else text.encode()
    with no_table():
        first = first_cells(first_row(content) or "", delimiter)
        grid = pyarrow.csv.read_csv(
            pa.BufferReader(content),
            # One thread, so that the error can count rows; one block, so that a long line always fits.
            read_options=pyarrow.csv.ReadOptions(
                autogenerate_column_names=True, use_threads=False, block_size=max(len(content), 1 << 20)
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={f"f{i}": pa.large_string() for i in range(len(first))}, strings_can_be_null=False
            ),
        )
    check_width(first, grid.num_columns)
    return grid
