"""Matrices with a row per case and a column per class, with or without names for either."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Num

from plausibly.base.errors import AnnotationError, PlausiblyError, show
from plausibly.base.names import look_alike, some, unknown_class
from plausibly.data.annotations.io.class_columns import POSITIVE, same_classes
from plausibly.data.annotations.io.columns import (
    Columns,
    as_names,
    cell,
    frame_columns,
    is_frame,
    is_number,
    missing,
    rounded,
    to_codes,
    to_floats,
)
from plausibly.data.annotations.io.files import TABLES, ending, read_npy, suffix_of
from plausibly.data.annotations.io.spellings import CASE, FURTHER, called, further_roles, renamed
from plausibly.data.annotations.io.spellings import PREDICTED as NAMED
from plausibly.data.annotations.io.table_files import header_of, read_batches, refuse_repeats

SUFFIXES = (".npy", *TABLES, ".txt")
_LEVEL = "__index_level_0__"  # what the index of a data frame is called as the last column of a Parquet file
INDEX = ("", "Unnamed: 0", "index", _LEVEL)  #: and as the first column of others
_LOOKED_AT = 100  # rows by which names of classes are known from numbers
_FIX = "give a column per class, or a header with class names"


@dataclass(frozen=True)
class Matrix:
    """Numbers with a row per case and a column per class."""

    values: Num[np.ndarray, "case class"]  #: whole numbers or floats, as they came
    cases: np.ndarray | None  #: name of each row; None where rows are known by order
    columns: list[str] | None  #: class of each column; None where columns are known by order
    notes: tuple[str, ...] = ()  #: what columns were taken for, or left out
    labels: bool = False  #: whether rows name classes
    counted: bool = False  #: whether `cases` are an index, which may just count the rows

    def by_class(self, classes: np.ndarray, error: type[PlausiblyError]) -> Num[np.ndarray, "case class"]:
        """Put the columns in the order of `classes`."""
        if self.columns is None:
            if (n_columns := self.values.shape[1]) != len(classes):
                pairs = combinations(map(str, classes), 2) if n_columns < len(classes) else ()
                typos = (f"if one of {a!r} and {b!r} is misspelt, correct it; " for a, b in pairs if look_alike(a, b))
                raise error(f"there are {n_columns} columns for {len(classes)} classes; {next(typos, '')}{_FIX}")
            return self.values
        at = {name: index for index, name in enumerate(self.columns)}
        known = {str(name) for name in classes}
        unknown = [name for name in self.columns if name not in known]
        if len(unknown) == 1:
            raise error(f"the header is wrong: {unknown_class(unknown[0], classes)}")
        if unknown:
            absent = [name for name in known if name not in at]
            raise error(
                f"the header is wrong: {some(unknown, 9)} are none of the {len(classes)} classes, of which "
                f"{some(sorted(absent), 9)} {'has' if len(absent) == 1 else 'have'} no column; call the columns by "
                "the names of the classes, or, if each is a classifier's, name one at a time: FILE:COLUMN"
            )
        absent = [name for name in map(str, classes) if name not in at]
        if absent:
            typos = [(name, one) for name in absent for one in at if look_alike(name, one)]
            fix = "if {!r} is {!r} misspelt, correct it where it is named, or else ".format(*typos[0]) if typos else ""
            raise error(f"the header has no column for {some(absent)}; {fix}give a column per class")
        order = [at[str(name)] for name in classes]
        # A copy only where it is needed: a million cases of a few hundred classes are gigabytes.
        return self.values if order == list(range(len(order))) else self.values[:, order]


def read_matrix(
    source: object,
    error: type[PlausiblyError],
    classes: np.ndarray | None = None,
    cases: np.ndarray | None = None,
    *,
    labels: bool = False,
) -> Matrix:
    """Read a matrix from a file with one of :data:`SUFFIXES`, a data frame or an array.

    The first row of text is a header if one of its cells is not a number. Where the classes are named by numbers, it is
    one also if it lists exactly these and there is a row more than known `cases`. A class named "case" keeps its
    column. With `labels`, a single column with one of the names :data:`NAMED` may hold the class of each row, by name:
    that class then has 1, and the others have 0; all have 0 where the cell is blank; and what is beside such a column,
    or beside those of all classes, is left out if it cannot be a score. ``.npy`` files are mapped to memory; of other
    files some rows at a time are decoded.
    """
    if not isinstance(source, str | os.PathLike):
        return matrix_of(source, error, classes, cases, labels)
    path = Path(source)
    if suffix_of(path, SUFFIXES) == ".npy":
        return from_array(read_npy(path), error)
    called_as = renamed(header := header_of(path), further_roles(header))
    names = [called_as[name] for name in header]
    if ending(path) != ".parquet" and all(map(is_number, names)):
        matrix = _joined(read_batches(path, header=False), error, classes, named=False)
        n_rows = -1 if cases is None else len(cases)
        if len(matrix.values) - 1 == n_rows and classes is not None and set(names) == set(classes):
            return Matrix(matrix.values[1:], None, names)
        return matrix
    for number, name in enumerate(refuse_repeats(names, error), 1):
        if not name.strip() and number > 1:
            raise error(f"column {number} has no name in the header; name it 'case' or after a class, or remove it")
    known = {*column_of_cases(names, classes), *map(str, () if classes is None else classes), *INDEX}
    if len(names) > 1 and all(map(is_number, names[1:])) and not known & {*names}:
        raise error(
            f"the header is {some(names, 9)}; if that is a case and its numbers, write a header before it, with 'case' "
            "and the classes"
        )
    if set(names) <= set(column_of_cases(names, classes)):
        raise error("there is no column of numbers; give a column per class")
    batches = ({called_as[name]: column for name, column in batch.items()} for batch in read_batches(path))
    return _joined(batches, error, classes, cases, labels=labels)


def matrix_of(
    source: Any,
    error: type[PlausiblyError],
    classes: np.ndarray | None,
    cases: np.ndarray | None = None,
    labels: bool = False,
) -> Matrix:
    """Take a data frame or an array as a matrix; pandas' 0, 1, … for unnamed columns is a header only of classes."""
    if not is_frame(source):
        return from_array(source, error)
    matrix = _joined([frame_columns(source, error, of_numbers=True)], error, classes, cases, labels=labels)
    names = [] if isinstance(source, pa.Table) else list(source.columns)
    unnamed = names == list(range(len(names))) and (classes is None or set(map(str, names)) != set(classes))
    return replace(matrix, columns=None) if unnamed and names else matrix


def from_array(array: object, error: type[PlausiblyError]) -> Matrix:
    """Take an array, or nested lists, as a matrix."""
    if np.ma.is_masked(array):
        raise error("some entries of the array are masked; give a number for every case and class")
    try:
        values = np.asarray(array)
    except ValueError as cause:
        raise error("the rows differ in length; give every case the same number of columns") from cause
    if values.dtype.kind not in "biuf":
        raise error(f"an array of numbers is needed, got {values.dtype} ({show(array)}); convert it to numbers")
    if values.dtype.kind in "iu" and values.size and max(abs(int(values.min())), abs(int(values.max()))) > 2**53:
        for place in np.argwhere(values.astype(np.float64).astype(object) != values.astype(object))[:1]:
            raise error(f"the number {values[tuple(place)]} has more digits than float64 holds; scale the numbers down")
    if values.ndim != 2:
        raise error(
            f"an array (case, class) with two dimensions is needed, got shape {values.shape}; "
            "give a row per case and a column per class"
        )
    return Matrix(values, None, None)


def column_of_cases(names: Iterable[str], classes: np.ndarray | None) -> list[str]:
    """Return the column that names the cases, if there is one."""
    known = () if classes is None else classes
    found = [name for name in called(CASE, names) if name not in known][:1]
    ids = [name for name in FURTHER["case"] if name in names and name not in known and name.endswith("_id")]
    return found or (ids if len(ids) == 1 else [])


@dataclass(frozen=True)
class _Roles:
    """What the columns of a table are for, as their names and first rows say."""

    case: str | None  # names of the cases
    numbers: list[str]
    label: str | None = None  # name of a class in each row
    notes: tuple[str, ...] = ()


def _roles(
    columns: Columns, classes: np.ndarray | None, cases: np.ndarray | None, labels: bool, error: type[PlausiblyError]
) -> _Roles:
    """Tell apart the columns of names of cases, of scores, of names of classes, and those that are left out."""
    names, known, notes = list(columns), {*map(str, () if classes is None else classes)}, []
    case = next(iter(column_of_cases(names, classes)), None)
    index = next((name for name in names[:1] if name in INDEX and name not in known), None)
    index = _LEVEL if _LEVEL in names[-1:] else index
    if index is not None:
        notes.append(f"took the column {index!r} for the index of a data frame")
    rest = [name for name in names if name not in (case, index)]
    if not labels or classes is None:
        return _Roles(case or index, rest, notes=tuple(notes))
    first = {name: _first_texts(columns[name]) for name in rest}
    words = [
        name for name in rest if not all(map(is_number, first[name])) and not pa.types.is_boolean(columns[name].type)
    ]
    if case is None and cases is not None and not known & {*words}:
        there = {*cases.tolist()}
        found = [name for name in words if any(text in there for text in first[name]) and len(rest) > 1]
        if len(found) == 1:
            case = found[0]
            rest, words = ([name for name in of if name != case] for of in (rest, words))
            notes = [f"took the column {case!r} for the names of cases"]
    case, label, kept = case or index, None, rest
    scores = [name for name in rest if name in known or name not in words]
    if len(rest) == 1:
        label = rest[0] if _names_classes(rest[0], columns[rest[0]], first[rest[0]], known, error) else None
    elif known <= {*rest} or same_classes(scores, classes) is not None or _of_two(scores, known):
        kept = scores
    else:
        saying = [name for name in rest if name not in known and {*first[name]} & known]
        saying = [name for name in saying if name in words or name in NAMED]
        named = [name for name in saying if name in NAMED]
        if len(saying) == 1 and named and not known & {*rest}:
            label, kept = named[0], named
        elif named or {*saying} & {*words}:
            name = saying[0]
            raise error(
                f"the column {name!r} holds names of classes, and is not the only one; if each column is a "
                f"classifier's, name one at a time, here FILE:{name}"
            )
    if aside := [name for name in rest if name not in kept]:
        refuse_unknown(aside, case, error)
        what = "which are no classes" if len(aside) > 1 else "which is no class"
        notes.append(f"left out the column{'s' * (len(aside) > 1)} {some(aside, 9)}, {what}")
    return _Roles(case, [] if label is not None else kept, label, tuple(notes))


def _of_two(columns: list[str], known: set[str]) -> bool:
    """Whether one column is called after one of two classes, or as that of the positive one is."""
    return len(columns) == 1 and len(known) == 2 and columns[0] in {*known, *POSITIVE}


def refuse_unknown(columns: Sequence[str], case: object, error: type[PlausiblyError]) -> None:
    """Refuse columns that are no classes where no column, `case`, names the cases, which these may do."""
    if case is None:
        raise error(
            f"no column names the cases, which {' or '.join(map(repr, columns))} may do; call that 'case', or remove it"
        )


def _joined(
    batches: Iterable[Columns],
    error: type[PlausiblyError],
    classes: np.ndarray | None,
    cases: np.ndarray | None = None,
    named: bool = True,
    labels: bool = False,
) -> Matrix:
    """Join batches of rows to a matrix; a column of :data:`CASE`, unless a class has its name, names the rows."""
    blocks: list[np.ndarray] = []
    found: list[np.ndarray] = []
    n_rows, roles, other = 0, None, {}
    for columns in batches:
        roles = roles or _roles(columns, classes, cases, labels, error)
        rows: np.ndarray | int = n_rows
        if roles.case is not None:
            column = columns[roles.case]
            for row in missing(column)[:1]:
                raise error(f"row {n_rows + row + 1}: the cell in column {roles.case!r} is missing; name the case")
            if len(column):
                own, code = to_codes(column, roles.case, error)
                rows = own[code]
                found.append(rows)
        if roles.label is not None:
            block, spelled = _one_hot(roles.label, columns[roles.label], classes, rows, error)
            other |= spelled
        elif not roles.numbers:
            raise error("there is no column of numbers; give a column per class")
        else:
            names = roles.numbers
            where = [f"class {name!r}" for name in names] if named else [f"column {i + 1}" for i in range(len(names))]
            block = np.column_stack(
                [_numbers(columns[name], what, rows, error) for name, what in zip(names, where, strict=True)]
            )
        blocks.append(block)
        n_rows += len(block)
    if not n_rows or roles is None:
        raise error("there are no rows; give a row per case")
    values = blocks[0]
    if len(blocks) > 1:
        values = np.empty((n_rows, blocks[0].shape[1]), np.result_type(*blocks))
        while blocks:  # from the last, each given back as soon as it is copied
            block = blocks.pop()
            values[n_rows - len(block) : n_rows] = block
            n_rows -= len(block)
    columns = list(map(str, classes)) if roles.label is not None and classes is not None else roles.numbers
    said = (
        [f"took the answers {', '.join(f'{name} for {one!r}' for name, one in sorted(other.items()))}"] if other else []
    )
    return Matrix(
        values,
        np.concatenate(found) if found else None,
        columns if named else None,
        (*roles.notes, *said),
        labels=roles.label is not None,
        counted=roles.case in INDEX,
    )


def _first_texts(column: pa.ChunkedArray) -> list[str]:
    """Return the first cells that are not blank, as text; none of a column of floats, which names nothing."""
    if pa.types.is_floating(column.type):
        return []
    first = column.slice(0, _LOOKED_AT)
    return [str(cell(first, row)).strip() for row in np.setdiff1d(np.arange(len(first)), missing(first))]


def _names_classes(
    header: str, column: pa.ChunkedArray, texts: list[str], known: set[str], error: type[PlausiblyError]
) -> bool:
    """Whether the one column names a class in each row; refuse one that does and has no such header."""
    named = header in NAMED or header in FURTHER["class"]
    if named and texts and {text.casefold() for text in texts} <= {*_truths(known)}:
        return True
    if pa.types.is_floating(column.type) or all(is_number(text) and text not in known for text in texts):
        return False
    if not named and any(text in known for text in texts):
        raise error(f"the column {header!r} holds names of classes; call it {NAMED[0]!r}")
    return named


def _one_hot(
    header: str, column: pa.ChunkedArray, classes: Any, rows: np.ndarray | int, error: type[PlausiblyError]
) -> tuple[Num[np.ndarray, "row class"], dict[str, str]]:
    """Give the class that a row names 1, and the others 0, also where it names none; `rows` as for :func:`_numbers`.

    The second value has other spellings of classes, see :func:`_truths`, that were met.
    """
    out = np.zeros((len(column), len(classes)), np.float32)
    there = np.setdiff1d(np.arange(len(column)), missing(column))
    if not len(there):
        return out, {}
    names, code = to_codes(as_names(column.take(there)), header, error)
    known = {str(name): index for index, name in enumerate(classes)}
    truths = {} if {*names.tolist()} <= {*known} else _truths(known)
    other = {name: truths[name.casefold()] for name in names.tolist() if name.casefold() in truths}
    other = {name: one for name, one in other.items() if name.removesuffix(".0") not in known}
    numbers = {float(name): name for name in known if is_number(name)}  # grades, of which 4.0 is 4
    unknown = (name for name in names.tolist() if name not in known and name not in other and is_number(name))
    other |= {name: numbers[float(name)] for name in unknown if float(name) in numbers}
    at = np.array([known.get(other.get(name, name), -1) for name in names.tolist()])[code]
    for row in np.flatnonzero(at < 0)[:1]:
        told = unknown_class(str(names[code[row]]), classes)
        raise error(f"{_place(rows, there[row])}: {told}, or leave the cell blank for no answer")
    out[there, at] = 1
    return out, other


def _truths(known: Iterable[str]) -> dict[str, str]:
    """Other spellings of two classes that are 0 and 1, or false and true; of any other classes none."""
    names = {str(name).casefold(): str(name) for name in known}
    pairs = ("0", "0.0", "false"), ("1", "1.0", "true")
    found = next((pair for pair in (("0", "1"), ("false", "true")) if {*names} == {*pair}), None)
    return {} if found is None else {one: names[name] for name, of in zip(found, pairs, strict=True) for one in of}


def _place(rows: np.ndarray | int, row: int) -> str:
    return f"row {rows + row + 1}" if isinstance(rows, int) else f"case {str(rows[row])!r}"


def _fix(text: str) -> str:
    """Say how to write a number that spreadsheets write in another way."""
    if re.fullmatch(r"\s*[\d.,]+\s*%\s*", text):
        return "write a fraction of 1, without '%'"
    return "write a decimal point, not a comma" if re.fullmatch(r"\s*-?\d*,\d+\s*", text) else "write a number"


def _numbers(
    column: pa.ChunkedArray, where: str, rows: np.ndarray | int, error: type[PlausiblyError]
) -> Num[np.ndarray, " row"]:
    """Read a column; `rows` are the names of its cases, or the number of rows before it."""
    place = partial(_place, rows)
    if pa.types.is_boolean(column.type) and not column.null_count:  # as of dummies
        return column.to_numpy().astype(np.float32)
    single = column.type in (pa.float16(), pa.float32())
    if pa.types.is_floating(column.type) and not column.null_count:
        return column.to_numpy().astype(np.float32 if single else np.float64, copy=False)
    values, bad = to_floats(column)
    blank = missing(column)
    if len(blank):
        fix = ', or say layout="wide" (--layout wide) if columns are annotators' if error is AnnotationError else ""
        raise error(f"{place(blank[0])}, {where}: the cell is missing; write a number{fix}")
    if bad is not None:
        fix = _fix(str(cell(column, bad)))
        if isinstance(rows, int):
            fix += ", or call the column 'case' if it names the cases"
        if error is AnnotationError:
            fix += "; a table that does not count labels has the columns case, annotator, class and perhaps rank"
        raise error(f"{place(bad)}, {where}: the cell {cell(column, bad)!r} is not a number; {fix}")
    if (row := rounded(column)) is not None:
        raise error(
            f"{place(row)}, {where}: the number {cell(column, row)} has more digits than float64 holds; scale the "
            f"numbers down"
        )
    return values.astype(np.float32) if single else values
