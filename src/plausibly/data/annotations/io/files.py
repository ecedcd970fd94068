"""Text files, JSON and arrays; what is wrong with a file of any format, said in one sentence."""

import gc
import gzip
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np

from plausibly.base.errors import (
    AnnotationError,
    ArgumentError,
    FileError,
    PlausiblyError,
    PlausiblyWarning,
    first_line,
)
from plausibly.base.names import repeated, some

PACKED = ".gz"  #: behind the suffix of a file that is compressed
_LINES = (".ndjson", ".manifest")  # other names of JSON lines
WORKBOOK = ".xlsx"  #: of a workbook, after which a colon and the name of a sheet may stand
OF_TEXT = (".csv", ".tsv", WORKBOOK)  #: whose cells are text
TABLES = (*OF_TEXT, ".parquet")
BY_ANNOTATOR = (".json", ".jsonl", *TABLES)  #: of files that may hold what one annotator says
_SHEET = re.compile(rf"(.+{re.escape(WORKBOOK)}):([^:/]+)", re.IGNORECASE | re.DOTALL)
_SPREADSHEETS = (".xlsm", ".xlsb", ".xls", ".ods", ".numbers")
_MARKS = {  # longer ones first
    b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16",
}  # fmt: skip
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd\ufeff\u00ff]")  # nor is \xff, a byte of damage
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # first bytes of Excel's files, new and old


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Put the name of a file, or of any other source, in front of an error's sentence.

    Readers know the case and the annotator, callers know the file: each adds what it knows.
    """
    try:
        yield
    except PlausiblyError as error:
        error.args = (f"{source}: {error.args[0]}", *error.args[1:])
        raise


def naming_file(source: object) -> AbstractContextManager[None]:
    """Put the name of a file in front of errors, if the source is one, or was opened from one."""
    source = getattr(source, "path", source)
    if is_by_annotator(source):
        return _naming_one_of(list(map(str, source.values())))  # type: ignore[attr-defined]
    return naming(source) if isinstance(source, str | os.PathLike) else nullcontext()


@contextmanager
def _naming_one_of(files: list[str]) -> Iterator[None]:
    """Put names of files in front of errors that name none of them."""
    try:
        yield
    except PlausiblyError as error:
        if not str(error.args[0]).startswith(tuple(files)):
            error.args = (f"{files[0] if len(files) == 1 else some(files)}: {error.args[0]}", *error.args[1:])
        raise


@contextmanager
def reading(fault: str = "damaged") -> Iterator[None]:
    """Say in a sentence why a file cannot be read, whatever a library raises for its content."""
    try:
        yield
    except PlausiblyError:
        raise
    except FileNotFoundError as error:
        raise FileError("the file does not exist; check the path") from error
    except IsADirectoryError as error:
        raise FileError("this is a folder; name a file in it") from error
    except PermissionError as error:
        raise FileError(f"the file cannot be read ({error.strerror}); check its permissions") from error
    except UnicodeDecodeError as error:
        raise FileError(
            f"the file is not text in a known encoding (byte {error.start}); save it as UTF-8 text"
        ) from error
    except Exception as error:  # a damaged file ends in almost any: of values, memory, recursion, syntax, Arrow's own
        raise FileError(f"the file is {fault} ({first_line(error)}); export it again") from error


@contextmanager
def many_objects() -> Iterator[None]:
    """Switch off the garbage collector, which takes half of the time in which millions of lists are made."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def suffix_of(path: Path, known: tuple[str, ...]) -> str:
    """Return the lower-case suffix of a path, one of those `known`."""
    suffix = ending(path)
    refuse_spreadsheet(suffix)
    if suffix == ".xml":
        raise FileError(
            "XML, such as CVAT's, is not read here; write the cases and labels of each annotator to a table, and give "
            "ann=ann.csv bob=bob.csv"
        )
    if suffix in (".ann", ".conll", ".bio") and suffix not in known:
        raise FileError(
            "this holds spans by one annotator: give a file or folder of each to plausibly agreement, as ann=… bob=…, "
            "with --kind spans for .ann, else --kind bio"
        )
    if not suffix:
        with reading():
            path.stat()  # there may be no such file
    if suffix not in known:
        raise FileError(f"the suffix {suffix!r} names no format read here; use one of {', '.join(known)}")
    return suffix


def check_path(path: object, what: str = "the name of a file") -> None:
    """Refuse anything but a path."""
    if not isinstance(path, str | os.PathLike):
        given = " ".join(repr(path).split())[:60]
        raise ArgumentError(f"{what} must be given, but {given} was: write for example 'annotations.csv'.")


def parted(path: Path) -> tuple[Path, str | None]:
    """Part the path of a workbook from the name of its sheet, ``book.xlsx:Sheet 1``; of other paths that is None.

    Examples
    --------
    >>> file, sheet = parted(Path("a/book.xlsx:v1.2"))
    >>> file.name, sheet
    ('book.xlsx', 'v1.2')
    """
    found = _SHEET.fullmatch(str(path))
    return (path, None) if found is None else (Path(found[1]), found[2])


def named_file(text: Any) -> tuple[str, str] | None:
    """Name and file of ``NAME=FILE``; None of the path of a file, and of anything else.

    Examples
    --------
    >>> named_file("ann=ann.csv"), named_file("ann.csv"), named_file("=b")
    (('ann', 'ann.csv'), None, None)
    """
    name, _, file = str(text).partition("=")
    return (name, file) if name and file and not parted(Path(str(text)))[0].exists() else None


def ending(path: Path) -> str:
    """Return the lower-case suffix of a path, for a sheet that of its workbook."""
    path = parted(path)[0]
    suffix = (path.with_suffix("") if path.suffix.lower() == PACKED else path).suffix.lower()
    return ".jsonl" if suffix in _LINES else suffix


def is_packed(path: Path) -> bool:
    """Whether a file is compressed by gzip, by its first bytes."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def opened(path: Path) -> IO[bytes]:
    """Open a file to read its bytes, those of a compressed one unpacked."""
    return gzip.open(path) if is_packed(path) else path.open("rb")  # type: ignore[return-value]


def is_by_annotator(source: object) -> bool:
    """Whether a source is a mapping from annotators to files of theirs, which hold tables or JSON."""
    if not isinstance(source, Mapping) or not source:
        return False
    return all(isinstance(file, str | os.PathLike) and ending(Path(file)) in BY_ANNOTATOR for file in source.values())


def refuse_spreadsheet(suffix: str, head: bytes = b"") -> None:
    """Refuse a spreadsheet but a workbook, by its suffix or by how it begins, and say how to export it."""
    if suffix in _SPREADSHEETS or head.startswith(_OLE) or (head.startswith(_ZIP) and b"[Content_Types].xml" in head):
        raise FileError(
            "this is no text, nor a table in a .csv or .xlsx file; open it in Excel, choose Save As with the "
            "type 'CSV UTF-8 (Comma delimited)', and give the .csv file"
        )


def check_not_empty(path: Path) -> None:
    """Refuse a file that does not exist, cannot be opened, is an unread spreadsheet or holds nothing but blanks."""
    with reading(), opened(path) as file:
        head = file.read(2**20)
        if not head or (head.isspace() and not file.read(1)):
            raise FileError("the file is empty; export it again")
        refuse_spreadsheet(ending(path), head)


def read_text(path: Path) -> str:
    """Read a text file in UTF-8, with or without a byte order mark; in UTF-16 or UTF-32 with one; or in Windows-1252.

    A warning names the last, which is taken only where the file is not UTF-8 and holds no control characters.
    """
    check_not_empty(path)
    with reading():
        with opened(path) as file:
            content = file.read()
        for mark, encoding in _MARKS.items():
            if content.startswith(mark):
                return content.decode(encoding)
        try:
            return content.decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
            if _NOT_TEXT.search(text):
                raise
    letter = next(one for one in text if ord(one) > 127)
    words = f"{path}: the file is not UTF-8; it is read as Windows-1252, in which it holds {letter!r}"
    warnings.warn(words, PlausiblyWarning, stacklevel=2)
    return text


def lines_of(text: str) -> list[str]:
    """Split text into lines, at line feeds with or without a carriage return and at no other Unicode line break."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def read_npy(path: Path) -> np.ndarray:
    """Map the array in a `.npy` file to memory, without unpickling anything; writing to it leaves the file alone."""
    check_not_empty(path)
    with reading("truncated or damaged"):
        with path.open("rb") as file:
            if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
                raise FileError("the file is no .npy array; write it with numpy.save")
        try:
            with np.errstate(over="raise"):  # by a shape of 2¹²⁰ numbers
                return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
        except ValueError as error:
            if "Python objects" in str(error):
                raise FileError(
                    "the array holds pickled Python objects, never read here; save it as numbers"
                ) from error
            raise


def read_json(path: Path) -> object:
    """Read JSON strictly: no key twice in one object, no infinity; NaN is null."""
    with many_objects():
        return parse_json(read_text(path), "the file")


def read_lines(path: Path) -> list[Any]:
    """Read JSON lines, as :func:`read_json` reads JSON."""
    return [parse_json(line, f"line {n}") for n, line in enumerate(lines_of(read_text(path)), 1) if line.strip()]


def parse_json(text: str, what: str) -> object:
    """Read JSON strictly; ``what`` names the text in errors."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_nothing)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        fault = "truncated" if cut else "not JSON"
        raise FileError(
            f"{what} is {fault} (line {error.lineno}, column {error.colno}: {error.msg}); write it again"
        ) from error
    except PlausiblyError:
        raise
    except (RecursionError, ValueError) as error:  # lists in lists by the thousand, or a number of that many digits
        raise FileError(f"{what} cannot be decoded ({first_line(error)}); correct it") from error


def _without_repeats(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs) and (again := repeated(key for key, _ in pairs)):
        raise AnnotationError(
            f"the name {again[0]!r} occurs twice in one JSON object; give each case and annotator once"
        )
    return found


def _nothing(constant: str) -> None:
    """Read NaN, which stands for what was not scored, as null, and refuse infinity."""
    if constant != "NaN":
        raise FileError(f"the JSON holds {constant}, which is not a class; write an index or a name")
