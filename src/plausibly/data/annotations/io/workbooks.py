"""Sheets of Excel workbooks as the text of CSV files, so that every reader of tables reads them alike.

``book.xlsx`` is a workbook in which one sheet holds something, ``book.xlsx:Sheet 1`` a sheet by its name, which never
has a colon. Dates are written as in ISO 8601, at midnight without the time, and whole numbers without a decimal point;
a formula has the value that the workbook stores with it. Blank rows, and blank columns at the right, are left out.
"""

import csv
import datetime
import io
import warnings
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from plausibly.base.checks import check_library
from plausibly.base.errors import FileError, PlausiblyWarning, suggest
from plausibly.base.names import some
from plausibly.data.annotations.io.files import WORKBOOK, parted, reading


def sheets_of(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook."""
    with reading(), _opened(path) as book:
        return [sheet.title for sheet in book.worksheets]


def read_sheet(path: Path) -> bytes:
    """Return the cells of a sheet as a CSV file in UTF-8; the last two that were read are remembered."""
    file, sheet = parted(path)
    with reading():
        stamp = file.stat()
    return _read(file, sheet, (stamp.st_mtime_ns, stamp.st_size))


@lru_cache(maxsize=2)
def _read(file: Path, name: str | None, stamp: tuple[int, int]) -> bytes:
    with reading("no workbook or damaged"), _opened(file) as book:
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        if name is None:
            name = _only_one({title: sheet for title, sheet in sheets.items() if sheet.sheet_state == "visible"}, file)
        if name not in sheets:
            fix = suggest(name, list(sheets), f"choose from {some(list(sheets), 9)}")
            raise FileError(f"the workbook has no sheet {name!r}; {fix}")
        rows, blank = [], False
        for row in _rows_of(sheets[name]):
            if any(cell is not None for cell in row):
                rows.append([_text(cell) for cell in row])
                blank = blank or None in row
    while len(rows) > 1 and any(rows[0][:1]) and not any(rows[0][1:]) and sum(map(bool, rows[1])) > 1:
        words = f"{file}: the first row of the sheet {name!r} is a title, {rows[0][0]!r}, and left out"
        warnings.warn(words, PlausiblyWarning, stacklevel=2)
        del rows[0]
    width = max((place + 1 for row in rows for place, cell in enumerate(row) if cell), default=0)
    if not width:
        raise FileError(f"the sheet {name!r} is empty; name another")
    if blank:
        with reading("no workbook or damaged"):
            _refuse_formulas_without_values(file, name)
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([*row[:width], *[""] * (width - len(row))] for row in rows)
    return text.getvalue().encode()


def _opened(file: Path, *, values: bool = True) -> Any:
    """Open a workbook, with the values of formulas or with the formulas themselves."""
    check_library("openpyxl", "excel", f"{WORKBOOK} workbooks need")
    import openpyxl

    with file.open("rb") as start:
        if start.read(4) == b"\xd0\xcf\x11\xe0":
            raise FileError("the workbook has a password, or an old format; save it as .xlsx without a password")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and rules that it does not know
        return closing(openpyxl.load_workbook(file, read_only=True, data_only=values, keep_links=False))


def _rows_of(sheet: Any, *, values_only: bool = True) -> Iterator[tuple[Any, ...]]:
    """Rows of a sheet, all of them, whatever size it claims to have."""
    sheet.reset_dimensions()
    return sheet.iter_rows(values_only=values_only)


def _only_one(sheets: dict[str, Any], file: Path) -> str:
    """Name of the one sheet that holds something."""
    full = [name for name, sheet in sheets.items() if any(cell is not None for row in _rows_of(sheet) for cell in row)]
    if not full:
        raise FileError("the workbook is empty; fill a sheet, or name another file")
    if len(full) > 1:
        raise FileError(f"the workbook has the sheets {some(full, 9)}; name one, such as '{file.name}:{full[0]}'")
    return full[0]


def _refuse_formulas_without_values(file: Path, name: str) -> None:
    """Refuse a formula whose value is not stored, as in workbooks that no spreadsheet program has computed."""
    with _opened(file) as computed, _opened(file, values=False) as written:
        pairs = zip(*(_rows_of(book[name], values_only=False) for book in (computed, written)), strict=True)
        for value, formula in ((value, formula) for row in pairs for value, formula in zip(*row, strict=True)):
            if formula.data_type == "f" and value.value is None and value.data_type != "str":  # the empty text is
                raise FileError(
                    f"the sheet {name!r} has a formula in {formula.coordinate} whose value is not stored; open the "
                    "workbook in a spreadsheet program, and save it there"
                )


def _text(cell: Any) -> str:
    """Write a cell as in a CSV file."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(cell, datetime.datetime):
        return (cell.date() if cell.time() == datetime.time() else cell).isoformat()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)
