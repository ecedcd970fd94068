"""One reader for all files of annotations, by suffix."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from plausibly.annotations._classes import read_classes
from plausibly.annotations._container import Annotations
from plausibly.annotations._counts import parse_counts
from plausibly.annotations._files import naming, read_grid, read_npy, read_parquet, suffix_of
from plausibly.annotations._formulas import with_formulas
from plausibly.annotations._frames import first_row, grid_columns, to_columns
from plausibly.annotations._matrix import from_array, from_columns, from_grid
from plausibly.annotations._names import to_names
from plausibly.annotations._rankings import load_json, parse_rankings
from plausibly.annotations._rows import Rows
from plausibly.annotations._table import MARKS, parse_table
from plausibly.errors import AnnotationError

SUFFIXES = (".json", ".csv", ".parquet", ".npy")


def read_annotations(path: str | os.PathLike, classes: str | os.PathLike | Iterable[str] | None = None) -> Annotations:
    r"""Read annotations from a file, in the format that its suffix and its first line tell.

    Parameters
    ----------
    path
        ``.json``: rankings, as nested lists or as an object with names (:meth:`Annotations.from_rankings`).
        ``.csv``, ``.parquet``: a long table (:meth:`Annotations.from_table`) if a column is named ``annotator``,
        ``worker``, ``class``, ``label``, ``rank`` or ``confidence``; otherwise label counts
        (:meth:`Annotations.from_counts`), with or without a header.
        ``.npy``: label counts.
    classes
        Class names, or the path of a text file with one to a line. Needed where the file refers to classes by index,
        and wherever classes that nobody named are to count.

    Raises
    ------
    FileError
        If a file is missing, empty, truncated, not what its suffix says, or has an unknown suffix.
    AnnotationError
        If the annotations break a rule; the message names the file, the case and the annotator.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("case,annotator,class,rank\np,ann,x,1\np,ann,y,2\np,bob,y,1\n")
    ...     read_annotations(folder + "/a.csv")
    Annotations(1 case, 2 annotations by 2 annotators, 2 classes)
    """
    if classes is not None:
        classes = read_classes(classes) if isinstance(classes, str | os.PathLike) else to_names(classes, "class")
    path = Path(path)
    with naming(path):
        suffix = suffix_of(path, SUFFIXES)
        if suffix == ".json":
            return Annotations._from_rows(parse_rankings(load_json(path), classes))
        if suffix == ".npy":
            return Annotations._from_rows(parse_counts(from_array(read_npy(path), AnnotationError), classes, None))
        return Annotations._from_rows(_tabular(path, suffix, classes))


def _tabular(path: Path, suffix: str, classes: np.ndarray | None) -> Rows:
    """Tell a long table from a matrix of counts by its columns, and read it."""
    if suffix == ".parquet":
        columns: dict[str, pa.ChunkedArray] = to_columns(read_parquet(path))
        if is_long(columns.keys()):
            return parse_table(columns, classes, anonymous=False)
        return parse_counts(from_columns(columns, AnnotationError, classes), classes, None)
    grid = read_grid(path)
    grid = pa.table([with_formulas(column) for column in grid.columns], names=grid.column_names)
    if is_long(first_row(grid)):
        return parse_table(grid_columns(grid), classes, anonymous=False)
    return parse_counts(from_grid(grid, AnnotationError, classes), classes, None)


def is_long(names: Iterable[str]) -> bool:
    """Whether these are the columns of a long table.

    Raises
    ------
    AnnotationError
        If they would be but for capitals or blanks.
    """
    names = list(names)
    if MARKS & set(names):
        return True
    meant = {name: name.strip().lower() for name in names if name.strip().lower() in MARKS}
    if len(meant) > 1:  # a single one may be a class
        name, instead = next(iter(meant.items()))
        raise AnnotationError(f"the column {name!r} would be {instead!r} of a long table; write it like that")
    return False
