"""Text that a spreadsheet would run as a formula: kept from it in CSV files that we write, and read back as it was.

A cell that begins with =, +, -, @, a tab or a carriage return, and is not a number, gets an apostrophe before it, which
spreadsheets take for "this is text". So that nothing is lost, a cell that begins with apostrophes and then one of these
gets one more, and the readers of annotations and predictions take one off again.
"""

import csv
import re
from typing import TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = r"^('*)([=+\-@\t\r])"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
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
