"""One reader for all files of annotations, by suffix and first row."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.annotations._classes import read_classes
from plausibly.annotations._container import Annotations
from plausibly.annotations._names import to_names
from plausibly.annotations._scores import Scores
from plausibly.annotations._shown import check_choices
from plausibly.annotations.io._answers import Answers
from plausibly.annotations.io._case_rows import is_of_cases
from plausibly.annotations.io._columns import frame_columns
from plausibly.annotations.io._counts import parse_counts
from plausibly.annotations.io._exports import answers_of, answers_of_file, read_lines
from plausibly.annotations.io._files import check_path, many_objects, naming, read_json, suffix_of
from plausibly.annotations.io._label_studio import label_studio_answers
from plausibly.annotations.io._long_table import READ, SCORED, is_long, is_of_scores, parse_table
from plausibly.annotations.io._matrix import read_matrix
from plausibly.annotations.io._preflib import SUFFIXES as PREFLIB
from plausibly.annotations.io._preflib import read_preflib
from plausibly.annotations.io._rankings import parse_rankings
from plausibly.annotations.io._scores import parse_scores
from plausibly.annotations.io._table_files import header_of, read_columns
from plausibly.errors import AnnotationError, ArgumentError

SUFFIXES = (".json", ".csv", ".tsv", ".parquet", ".jsonl", ".npy", *PREFLIB)
_MANY = 2**20  # rows
_LARGE = 2**23  # bytes


def read_annotations(
    path: str | os.PathLike,
    classes: str | os.PathLike | Iterable[str] | None = None,
    control: str | None = None,
    *,
    soft_weight: int | None = None,
    choices: str | None = None,
    progress: bool = False,
) -> Annotations | Scores:
    r"""Read annotations from a file, whose format is recognised by its suffix and first line.

    Parameters
    ----------
    path
        ``.json``: rankings, as nested lists or as an object with names (:meth:`Annotations.from_rankings`); or an
        export of Label Studio, whose annotators are those who completed the annotations. Annotations that were
        cancelled or hold no answer are left out, with a :class:`plausibly.errors.PlausiblyWarning` that counts them.
        ``.json``, ``.jsonl``, ``.csv``, ``.tsv``, ``.parquet``: one row per case. The field ``annotations`` (or
        ``labels``) is a list of answers or a mapping from annotator to answer; ``annotators`` may name the annotators
        of a list. Other fields are metadata (see :func:`plausibly.read_metadata`). Lists in the cells of CSV files are
        JSON. A mapping from case to such a record, or to ``{annotator: answer}``, is read, too. A case without answers
        may have a ``soft_label`` instead, a mapping from class to probability.
        ``.jsonl``: also an export of Argilla (which may be ``.json``, too), Prodigy or doccano, or the records of a
        long table. If doccano exported a folder with one file per annotator, pass the folder.
        ``.csv``, ``.tsv``, ``.parquet``: scores (:meth:`Annotations.from_scores`) if a column is named ``score`` and
        none holds classes; otherwise a long table (:meth:`Annotations.from_table`) if a column is named ``annotator``,
        ``worker``, ``class``, ``label``, ``rank`` or ``confidence``; otherwise label counts
        (:meth:`Annotations.from_counts`), with or without a header. A long table with a column ``annotation`` in place
        of ``annotator`` has anonymous annotators. An apostrophe before text that begins like a formula ("'=x") is
        removed.
        ``.npy``: label counts.
        ``.soc``, ``.soi``, ``.toc``, ``.toi``: PrefLib. One file is one case, named after the file; its alternatives
        are the classes and its voters anonymous annotators. A folder of such files is read as one case per file.
    classes
        Class names, or the path of a text file with one name per line. Needed if the file refers to classes by index,
        or if classes that no annotator names are possible answers. For scores, the names of the classes up to the
        threshold and above it.
    control
        Label Studio control, or Argilla question, to read if there are several.
    soft_weight
        Number of annotators behind each soft label; its probabilities are turned into that many labels.
    choices
        What annotators chose from, as for :meth:`Annotations.from_rankings`.
    progress
        Whether to show progress bars for large files.

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
        If a control is named for a file that has none, ``path`` is not a path, or ``choices`` is neither None nor
        ``"all"``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("case,annotator,class,rank\np,ann,x,1\np,ann,y,2\np,bob,y,1\n")
    ...     read_annotations(folder + "/a.csv")
    Annotations(1 case, 2 annotations by 2 annotators, 2 classes)
    """
    check_path(path)
    check_choices(choices)
    if classes is not None:
        classes = read_classes(classes) if isinstance(classes, str | os.PathLike) else to_names(classes, "class")
    path = Path(path)
    with naming(path):
        folder = path.is_dir() and any(one.suffix.lower() in PREFLIB for one in path.iterdir())
        if path.is_dir() and not folder and (found := answers_of_file(path)) is not None:
            return _from_answers(found, classes, path, choices)
        suffix = PREFLIB[0] if folder else suffix_of(path, SUFFIXES)
        if suffix == ".json":
            return _from_json(path, classes, control, soft_weight, choices)
        if suffix == ".jsonl":
            return _from_lines(path, classes, control, soft_weight, choices)
        if control is not None:
            raise _no_control(control)
        if suffix in PREFLIB:
            return Annotations._from_rows(read_preflib(path, classes), choices)
        header = [] if suffix == ".npy" else header_of(path)
        if is_of_cases(header):
            found = answers_of_file(path, weight=soft_weight)
            assert found is not None
            return _from_answers(found, classes, path, choices)
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
        return Annotations._from_rows(rows, choices)


def _from_answers(found: Answers, classes: np.ndarray | None, path: Path, choices: str | None) -> Annotations:
    """Read answers of any export, and say what was left out."""
    if classes is None and found.stars is not None:
        classes = to_names(found.stars, "class")
    rows = parse_rankings(found.to_rankings(classes), classes)
    found.tell_left_out(path)
    return Annotations._from_rows(rows, choices)


def _from_lines(
    path: Path, classes: np.ndarray | None, control: str | None, weight: int | None, choices: str | None
) -> Annotations | Scores:
    """Read JSON lines: answers by case, or records of a long table."""
    with many_objects():
        lines = read_lines(path)
        found = answers_of(lines, control, weight)
        if found is not None:
            return _from_answers(found, classes, path, choices)
    if control is not None:
        raise _no_control(control)
    if not lines or not all(isinstance(line, Mapping) for line in lines):
        raise AnnotationError("JSON lines are records; write an object on every line, with a case and its annotations")
    names = list(dict.fromkeys(str(name) for line in lines for name in line))
    columns = frame_columns(pd.DataFrame({name: [line.get(name) for line in lines] for name in names}))
    if is_of_scores(names):
        return Scores(**parse_scores(columns, anonymous=False), classes=classes)
    return Annotations._from_rows(parse_table(columns, classes, anonymous=False), choices)


def _from_json(
    path: Path, classes: np.ndarray | None, control: str | None, weight: int | None, choices: str | None
) -> Annotations:
    """Read rankings, answers by case, or an export of Label Studio."""
    with many_objects():
        content = read_json(path)
        found = answers_of(content, control, weight)
        if found is None and isinstance(content, list) and content and isinstance(content[0], Mapping):
            found = label_studio_answers(content, control)  # which says what is wrong with records of no other form
        if found is not None:
            return _from_answers(found, classes, path, choices)
        if control is not None:
            raise _no_control(control)
        return Annotations._from_rows(parse_rankings(content, classes), choices)


def _no_control(control: str) -> ArgumentError:
    return ArgumentError(
        f"a control is for exports of Label Studio and Argilla, but {control!r} was given: leave it out."
    )
