"""One reader for all files of annotations, by suffix and first row."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.annotations._classes import read_classes
from plausibly.annotations._container import Annotations
from plausibly.annotations._names import to_names
from plausibly.annotations._scores import Scores
from plausibly.annotations.io._counts import parse_counts
from plausibly.annotations.io._files import check_path, many_objects, naming, read_json, suffix_of
from plausibly.annotations.io._label_studio import as_rankings, is_label_studio
from plausibly.annotations.io._long_table import READ, SCORED, is_long, is_of_scores, parse_table
from plausibly.annotations.io._matrix import read_matrix
from plausibly.annotations.io._preflib import SUFFIXES as PREFLIB
from plausibly.annotations.io._preflib import read_preflib
from plausibly.annotations.io._rankings import parse_rankings
from plausibly.annotations.io._scores import parse_scores
from plausibly.annotations.io._table_files import header_of, read_columns
from plausibly.errors import AnnotationError, ArgumentError

SUFFIXES = (".json", ".csv", ".tsv", ".parquet", ".npy", *PREFLIB)
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
        ``.csv``, ``.tsv``, ``.parquet``: a long table (:meth:`Annotations.from_table`) if a column is ``annotator``,
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
        and wherever unnamed classes are to count. For scores the names of two, up to a threshold and above.
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
    with naming(path):
        folder = path.is_dir() and any(one.suffix.lower() in PREFLIB for one in path.iterdir())
        suffix = PREFLIB[0] if folder else suffix_of(path, SUFFIXES)
        if suffix == ".json":
            return _from_json(path, classes, control)
        if control is not None:
            raise _no_control(control)
        if suffix in PREFLIB:
            return Annotations._from_rows(read_preflib(path, classes))
        header = [] if suffix == ".npy" else header_of(path)
        scored, long = is_of_scores(header), is_long(header)
        if not scored and not long:
            return Annotations._from_rows(parse_counts(read_matrix(path, AnnotationError, classes), classes, None))
        with Progress(progress and path.stat().st_size > _LARGE) as bars:
            columns = read_columns(path, SCORED if scored else READ, bars)
        if scored:
            return Scores(**parse_scores(columns, anonymous=False), classes=classes)
        rows = parse_table(columns, classes, anonymous=False)
        del columns
        if len(rows.case) > _MANY:
            release_memory()
        return Annotations._from_rows(rows)


def _from_json(path: Path, classes: np.ndarray | None, control: str | None) -> Annotations:
    """Read rankings or an export of Label Studio."""
    with many_objects():
        content = read_json(path)
        if is_label_studio(content):
            found = as_rankings(content, control, path)
            given = to_names(found["stars"], "class") if classes is None and "stars" in found else classes
            rows = parse_rankings({"cases": found["cases"]}, given)
        elif control is not None:
            raise _no_control(control)
        else:
            rows = parse_rankings(content, classes)
    return Annotations._from_rows(rows)


def _no_control(control: str) -> ArgumentError:
    return ArgumentError(f"a control is for exports of Label Studio, but {control!r} was given: leave it out.")
