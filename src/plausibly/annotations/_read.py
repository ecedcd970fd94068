"""One reader for all files of annotations, by suffix."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from plausibly.annotations._classes import read_classes
from plausibly.annotations._container import Annotations
from plausibly.annotations._counts import parse_counts
from plausibly.annotations._files import check_path, many_objects, naming, read_grid, read_npy, read_parquet, suffix_of
from plausibly.annotations._formulas import with_formulas
from plausibly.annotations._frames import first_row, grid_columns, to_columns
from plausibly.annotations._label_studio import as_rankings, is_label_studio
from plausibly.annotations._matrix import from_array, from_columns, from_grid
from plausibly.annotations._names import to_names
from plausibly.annotations._preflib import SUFFIXES as PREFLIB
from plausibly.annotations._preflib import read_preflib
from plausibly.annotations._rankings import load_json, parse_rankings
from plausibly.annotations._rows import Rows
from plausibly.annotations._scores import Scores, parse_scores
from plausibly.annotations._table import MARKS, parse_table
from plausibly.errors import AnnotationError, ArgumentError

SUFFIXES = (".json", ".csv", ".parquet", ".npy", *PREFLIB)


def read_annotations(
    path: str | os.PathLike, classes: str | os.PathLike | Iterable[str] | None = None, control: str | None = None
) -> Annotations | Scores:
    r"""Read annotations from a file, in the format that its suffix and its first line tell.

    Parameters
    ----------
    path
        ``.json``: rankings, as nested lists or as an object with names (:meth:`Annotations.from_rankings`); or an
        export of Label Studio, whose annotators are those who completed the annotations. Annotations that were
        cancelled or hold no answer are left out, with a :class:`plausibly.errors.PlausiblyWarning` that counts them.
        ``.csv``, ``.parquet``: a long table (:meth:`Annotations.from_table`) if a column is named ``annotator``,
        ``worker``, ``class``, ``label``, ``rank`` or ``confidence``; scores
        (:meth:`Annotations.from_scores`) if one is named ``score`` and none holds classes; otherwise label counts
        (:meth:`Annotations.from_counts`), with or without a header. A long table with a column ``annotation`` in place
        of ``annotator`` has anonymous annotators. An apostrophe before text that begins like a formula ("'=x") is
        taken off.
        ``.npy``: label counts.
        ``.soc``, ``.soi``, ``.toc``, ``.toi``: PrefLib. One file is one case, named after the file; its alternatives
        are the classes and its voters anonymous annotators. A folder of such files is a case for each.
    classes
        Class names, or the path of a text file with one to a line. Needed where the file refers to classes by index,
        and wherever classes that nobody named are to count. For scores the names of two, up to a threshold and above.
    control
        Of Label Studio: which control of the labelling interface to read, if there are several.

    Returns
    -------
    Annotations or Scores
        Scores for a file of scores.

    Raises
    ------
    FileError
        If a file is missing, empty, truncated, not what its suffix says, or has an unknown suffix.
    AnnotationError
        If the annotations break a rule; the message names the file, the case and the annotator.
    ArgumentError
        If a control is named for a file that has none, or the path is none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("case,annotator,class,rank\np,ann,x,1\np,ann,y,2\np,bob,y,1\n")
    ...     read_annotations(folder + "/a.csv")
    Annotations(1 case, 2 annotations by 2 annotators, 2 classes)
    """
    check_path(path)
    if classes is not None:
        classes = read_classes(classes) if isinstance(classes, str | os.PathLike) else to_names(classes, "class")
    path = Path(path)
    with naming(path):
        folder = path.is_dir() and any(one.suffix.lower() in PREFLIB for one in path.iterdir())
        suffix = PREFLIB[0] if folder else suffix_of(path, SUFFIXES)
        with many_objects():
            content = load_json(path) if suffix == ".json" else None
        if is_label_studio(content):
            found = as_rankings(content, control, path)
            given = to_names(found["stars"], "class") if classes is None and "stars" in found else classes
            return Annotations._from_rows(parse_rankings({"cases": found["cases"]}, given))
        if control is not None:
            raise ArgumentError(f"a control is for exports of Label Studio, but {control!r} was given: leave it out.")
        if suffix == ".json":
            with many_objects():
                rows = parse_rankings(content, classes)
            del content  # a gigabyte, of a million cases
            return Annotations._from_rows(rows)
        if suffix in PREFLIB:
            return Annotations._from_rows(read_preflib(path, classes))
        if suffix == ".npy":
            return Annotations._from_rows(parse_counts(from_array(read_npy(path), AnnotationError), classes, None))
        found = _tabular(path, suffix, classes)
        return found if isinstance(found, Scores) else Annotations._from_rows(found)


def _tabular(path: Path, suffix: str, classes: np.ndarray | None) -> Rows | Scores:
    """Tell a long table from a matrix of counts by its columns, and read it."""
    if suffix == ".parquet":
        columns: dict[str, pa.ChunkedArray] = to_columns(read_parquet(path))
        if _is_of_scores(columns.keys()):
            return parse_scores(columns, classes, anonymous=False)
        if is_long(columns.keys()):
            return parse_table(columns, classes, anonymous=False)
        return parse_counts(from_columns(columns, AnnotationError, classes), classes, None)
    grid = read_grid(path)
    grid = pa.table([with_formulas(column) for column in grid.columns], names=grid.column_names)
    if _is_of_scores(first_row(grid)):
        return parse_scores(grid_columns(grid), classes, anonymous=False)
    if is_long(first_row(grid)):
        return parse_table(grid_columns(grid), classes, anonymous=False)
    return parse_counts(from_grid(grid, AnnotationError, classes), classes, None)


def _is_of_scores(names: Iterable[str]) -> bool:
    """Whether these are the columns of a long table of scores: beside classes, a score is just another column."""
    names = set(names)
    nothing_else = names <= {"case", "task", "score"}  # who scored is missing, which the reader will say
    return (
        "score" in names and (nothing_else or bool(names & {"annotator", "worker"})) and not names & {"class", "label"}
    )


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
