"""One reader for all files of annotations, by suffix."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.annotations._classes import read_classes
from plausibly.annotations._container import Annotations
from plausibly.annotations._names import to_names
from plausibly.annotations._rows import Rows
from plausibly.annotations._scores import Scores, parse_scores
from plausibly.annotations.io._columns import csv_columns, csv_header, parquet_columns, parquet_header
from plausibly.annotations.io._counts import parse_counts
from plausibly.annotations.io._files import (
    check_path,
    lasting,
    many_objects,
    naming,
    read_grid,
    read_npy,
    read_parquet,
    readable,
    suffix_of,
)
from plausibly.annotations.io._formulas import with_formulas
from plausibly.annotations.io._frames import to_columns
from plausibly.annotations.io._label_studio import as_rankings, is_label_studio
from plausibly.annotations.io._matrix import from_array, from_columns, from_grid
from plausibly.annotations.io._preflib import SUFFIXES as PREFLIB
from plausibly.annotations.io._preflib import read_preflib
from plausibly.annotations.io._rankings import collect, load_json, own_classes, parse_rankings
from plausibly.annotations.io._stream import NotPlain, Stream, check_plain
from plausibly.annotations.io._table import MARKS, READ, SCORED, parse_table
from plausibly.errors import AnnotationError, ArgumentError, PlausiblyError

SUFFIXES = (".json", ".csv", ".parquet", ".npy", *PREFLIB)
_MANY = 2**20  # rows
_LARGE = 2**23  # bytes


def read_annotations(
    path: str | os.PathLike,
    classes: str | os.PathLike | Iterable[str] | None = None,
    control: str | None = None,
    *,
    progress: bool = False,
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
    progress
        Show bars, of a file that is not read at once.

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
    with naming(path), lasting(path) as path:
        folder = path.is_dir() and any(one.suffix.lower() in PREFLIB for one in path.iterdir())
        suffix = PREFLIB[0] if folder else suffix_of(path, SUFFIXES)
        if suffix == ".json":
            return _json(path, classes, control, progress)
        if control is not None:
            raise _no_control(control)
        if suffix in PREFLIB:
            return Annotations._from_rows(read_preflib(path, classes))
        if suffix == ".npy":
            return Annotations._from_rows(parse_counts(from_array(read_npy(path), AnnotationError), classes, None))
        with readable(), _bars(path, progress) as bars:
            rows = _tabular(path, suffix, classes, bars)
        return rows if isinstance(rows, Scores) else _settled(rows)


def _json(path: Path, classes: np.ndarray | None, control: str | None, progress: bool) -> Annotations:
    """Read rankings or an export of Label Studio."""
    with readable(), suppress(NotPlain), _bars(path, progress) as bars:
        advance = bars.task(f"Reading {path.name}", path.stat().st_size / 1e6, "MB")
        try:
            with Stream(path, advance) as stream:
                if control is not None:
                    raise _no_control(control)
                given = classes if stream.classes is None else own_classes(stream.classes, classes)
                return _settled(collect(stream.cases(), given))
        except PlausiblyError:
            check_plain(path)
            raise
    with many_objects():
        content = load_json(path)
        if is_label_studio(content):
            found = as_rankings(content, control, path)
            given = to_names(found["stars"], "class") if classes is None and "stars" in found else classes
            return Annotations._from_rows(parse_rankings({"cases": found["cases"]}, given))
        if control is not None:
            raise _no_control(control)
        return Annotations._from_rows(parse_rankings(content, classes))


def _bars(path: Path, progress: bool) -> Progress:
    return Progress(progress and path.stat().st_size > _LARGE)


def _no_control(control: str) -> ArgumentError:
    return ArgumentError(f"a control is for exports of Label Studio, but {control!r} was given: leave it out.")


def _settled(rows: Rows) -> Annotations:
    """Annotations from rows; what reading many took is given back first."""
    if len(rows.case) > _MANY:
        release_memory()
    return Annotations._from_rows(rows)


def _tabular(path: Path, suffix: str, classes: np.ndarray | None, progress: Progress) -> Rows | Scores:
    """Tell a long table from a matrix of counts by its columns, and read it."""
    parquet = suffix == ".parquet"
    header = parquet_header(path) if parquet else csv_header(path)
    columns = parquet_columns if parquet else csv_columns
    if _is_of_scores(header):
        return parse_scores(columns(path, header, SCORED, progress), classes, anonymous=False)
    if is_long(header):
        return parse_table(columns(path, header, READ, progress), classes, anonymous=False)
    if parquet:
        return parse_counts(from_columns(to_columns(read_parquet(path)), AnnotationError, classes), classes, None)
    grid = read_grid(path)
    grid = pa.table([with_formulas(column) for column in grid.columns], names=grid.column_names)
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
