"""Matrices with a row per case and a column per class, with or without names for either."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Num

from plausibly.annotations._names import _show, repeated, some, unknown_class
from plausibly.annotations.io._batches import CASE_COLUMNS, map_npy
from plausibly.annotations.io._files import read_grid, read_parquet, read_text, suffix_of
from plausibly.annotations.io._frames import (
    cell,
    first_row,
    is_frame,
    is_number,
    missing,
    rounded,
    to_codes,
    to_columns,
    to_floats,
)
from plausibly.errors import PlausiblyError

SUFFIXES = (".npy", ".csv", ".txt", ".parquet")


@dataclass(frozen=True)
class Matrix:
    """Numbers with a row per case and a column per class.

    Parameters
    ----------
    values
        (case, class); of whole numbers or floats, as they came.
    cases
        The name of each row; None where rows are known by order.
    columns
        The class of each column; None where columns are known by order.
    """

    values: Num[np.ndarray, "case class"]
    cases: np.ndarray | None
    columns: list[str] | None

    def by_class(self, classes: np.ndarray, error: type[PlausiblyError]) -> Num[np.ndarray, "case class"]:
        """Put the columns in the order of `classes`.

        Raises
        ------
        PlausiblyError
            If a class has no column, a column no class, or their numbers differ.
        """
        if self.columns is None:
            if self.values.shape[1] != len(classes):
                raise error(
                    f"there are {self.values.shape[1]} columns for {len(classes)} classes; give a column per class, "
                    "or a header with class names"
                )
            return self.values
        at = {name: index for index, name in enumerate(self.columns)}
        known = {str(name) for name in classes}
        for name in self.columns:
            if name not in known:
                raise error(f"the header is wrong: {unknown_class(name, known)}")
        absent = [name for name in map(str, classes) if name not in at]
        if absent:
            raise error(f"the header has no column for {some(absent)}; give a column per class")
        order = [at[str(name)] for name in classes]
        # A copy only where it is needed: a million cases of a few hundred classes are gigabytes.
        return self.values if order == list(range(len(order))) else self.values[:, order]


def read_matrix(source: object, error: type[PlausiblyError], classes: np.ndarray | None, n_rows: int | None) -> Matrix:
    """Read a matrix from a file, a data frame or an array.

    Parameters
    ----------
    source
        A path to one of :data:`SUFFIXES`, a data frame, or anything that NumPy takes for an array.
    error
        The class of error to raise.
    classes
        Class names; a header is known by them where they are all whole numbers, and a class named "case" keeps its
        column.
    n_rows
        The number of rows expected, for the same purpose.

    Raises
    ------
    FileError
        If the file cannot be read.
    PlausiblyError
        If it does not hold a matrix of numbers.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        suffix = suffix_of(path, SUFFIXES)
        if suffix == ".npy":
            return from_array(map_npy(path), error)
        if suffix == ".parquet":
            return from_frame(read_parquet(path), error, classes)
        return from_grid(read_grid(path) if suffix == ".csv" else _read_txt(path), error, classes, n_rows)
    return to_matrix(source, error, classes)


def to_matrix(source: object, error: type[PlausiblyError], classes: np.ndarray | None) -> Matrix:
    """Take a data frame or an array as a matrix.

    Raises
    ------
    PlausiblyError
        If it is no matrix of numbers.
    """
    return from_frame(source, error, classes) if is_frame(source) else from_array(source, error)


def from_frame(frame: Any, error: type[PlausiblyError], classes: np.ndarray | None) -> Matrix:
    """Take a data frame as a matrix; pandas' 0, 1, … for columns that nobody named is no header, unless of classes.

    Raises
    ------
    PlausiblyError
        If a cell is missing or no number.
    """
    matrix = from_columns(to_columns(frame, error), error, classes)
    labels = [] if isinstance(frame, pa.Table) else list(frame.columns)
    unnamed = labels == list(range(len(labels))) and (classes is None or set(map(str, labels)) != set(classes))
    return replace(matrix, columns=None) if unnamed and labels else matrix


def from_array(array: object, error: type[PlausiblyError]) -> Matrix:
    """Take an array, or nested lists, as a matrix.

    Raises
    ------
    PlausiblyError
        If it is not two-dimensional, does not hold numbers, or some are masked.
    """
    if np.ma.is_masked(array):
        raise error("some entries of the array are masked; give a number for every case and class")
    try:
        values = np.asarray(array)
    except ValueError as cause:
        raise error("the rows differ in length; give every case the same number of columns") from cause
    if values.dtype.kind not in "biuf":
        raise error(f"an array of numbers is needed, got {values.dtype} ({_show(array)}); convert it to numbers")
    if values.dtype.kind in "iu" and values.size and values.itemsize == 8:
        bad = np.argwhere(values.astype(np.float64).astype(object) != values.astype(object)) if _beyond(values) else []
        for place in bad[:1]:
            raise error(f"the number {values[tuple(place)]} has more digits than float64 holds; scale the numbers down")
    if values.ndim != 2:
        raise error(
            f"an array (case, class) with two dimensions is needed, got shape {values.shape}; "
            "give a row per case and a column per class"
        )
    return Matrix(values, None, None)


def from_grid(
    grid: pa.Table, error: type[PlausiblyError], classes: np.ndarray | None = None, n_rows: int | None = None
) -> Matrix:
    """Take a file of text cells as a matrix, with a header if its first line is one.

    The first line is a header if one of its cells is no number. Where the classes are named by numbers, it is one also
    if it lists exactly these and there is a line more than the rows expected.

    Raises
    ------
    PlausiblyError
        If a cell is missing or no number, or two columns share a name.
    """
    names = first_row(grid)
    header = not all(map(is_number, names)) or (
        n_rows is not None and len(grid) == n_rows + 1 and classes is not None and set(names) == set(classes)
    )
    if not header:
        columns = [_numbers(column, f"column {number}", None, error) for number, column in enumerate(grid.columns, 1)]
        return Matrix(np.column_stack(columns), None, None)
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise error(f"column {number} has no name in the header; name it 'case' or after a class, or remove it")
    if again := repeated(names):
        raise error(f"the header names the column {again[0]!r} {again[1]} times; keep one")
    return from_columns(dict(zip(names, grid.slice(1).columns, strict=True)), error, classes)


def from_columns(
    columns: dict[str, pa.ChunkedArray], error: type[PlausiblyError], classes: np.ndarray | None
) -> Matrix:
    """Take named columns as a matrix; the one named "case" (or "task"), unless a class has that name, names the rows.

    Raises
    ------
    PlausiblyError
        If a cell is missing or no number.
    """
    known = () if classes is None else classes
    ids = [name for name in CASE_COLUMNS if name in columns and name not in known]
    cases = None
    if ids:
        column = columns.pop(ids[0])
        blank = missing(column)
        if len(blank):
            raise error(f"row {blank[0] + 1}: the cell in column {ids[0]!r} is missing; name the case")
        if len(column):
            names, codes = to_codes(column, ids[0], error)
            cases = names[codes]
    if not columns:
        raise error("there is no column of numbers; give a column per class")
    if not len(next(iter(columns.values()))):
        raise error("there are no rows; give a row per case")
    values = [_numbers(column, f"class {name!r}", cases, error) for name, column in columns.items()]
    return Matrix(np.column_stack(values), cases, list(columns))


def _numbers(column: pa.ChunkedArray, where: str, cases: np.ndarray | None, error: type[PlausiblyError]) -> np.ndarray:
    values, bad = to_floats(column)
    blank = missing(column)
    if len(blank):
        bad = int(blank[0])
    if bad is not None:
        row = f"row {bad + 1}" if cases is None else f"case {str(cases[bad])!r}"
        shown = cell(column, bad)
        what = "is missing" if bad in blank else f"{shown!r} is no number"
        raise error(f"{row}, {where}: the cell {what}; write a number")
    if (row := rounded(column)) is not None:
        place = f"row {row + 1}" if cases is None else f"case {str(cases[row])!r}"
        raise error(
            f"{place}, {where}: the number {cell(column, row)} has more digits than float64 holds; scale the "
            f"numbers down"
        )
    if pa.types.is_float32(column.type):
        return values.astype(np.float32)
    return values


def _beyond(values: np.ndarray) -> bool:
    """Whether whole numbers may be too great for float64, of which most need no closer look."""
    return max(abs(int(values.min())), abs(int(values.max()))) > 2**53


def _read_txt(path: Path) -> pa.Table:
    """Read cells parted by commas, by tabs, or by any blanks, whichever the first line has."""
    text = read_text(path)
    line = text.lstrip("\r\n").split("\n", 1)[0]
    for delimiter in (",", "\t"):
        if delimiter in line:
            return read_grid(path, text, delimiter)
    return read_grid(path, re.sub(r"[ \t]+", ",", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text)))
