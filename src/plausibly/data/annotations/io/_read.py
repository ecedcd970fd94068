"""One reader for all files of annotations, by suffix and first row."""

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from plausibly.base.errors import ArgumentError, FileError
from plausibly.base.memory import release_memory
from plausibly.base.names import some, tell_no_answers, to_names
from plausibly.base.progress import logged
from plausibly.data.annotations._classes import in_own_order, read_classes
from plausibly.data.annotations._container import Annotations
from plausibly.data.annotations._rows import Rows
from plausibly.data.annotations.io._formats import SUFFIXES, read_source
from plausibly.data.annotations.io.answers import Answers
from plausibly.data.annotations.io.files import check_path, is_by_annotator, many_objects, naming, suffix_of
from plausibly.data.annotations.io.long_table import is_long
from plausibly.data.annotations.io.source import Source, open_files, open_source
from plausibly.data.annotations.scores import Scores
from plausibly.data.annotations.shown import check_choices

_MANY = 2**20  # rows


def read_annotations(
    path: str | os.PathLike | Mapping[str, str | os.PathLike],
    classes: str | os.PathLike | Iterable[str] | None = None,
    control: str | None = None,
    *,
    soft_weight: int | None = None,
    choices: str | None = None,
    form: str | None = None,
    missing: str | Collection[str] | None = None,
    progress: bool = False,
) -> Annotations | Scores:
    r"""Read annotations from a file, whose format is recognised by its suffix and first line.

    Parameters
    ----------
    path
        Path of a file, or paths by annotator, such as ``{"ann": "ann.jsonl", "bob": "bob.csv"}``, of exports, of tables
        with a case and a label in each row, or of JSON ``{case: label}``.
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
        ``.json``, ``.jsonl``, ``.csv``, ``.eval``: what raters say of the outputs of language models, as Inspect AI,
        promptfoo, DeepEval, lm-evaluation-harness, MLflow, Langfuse and Phoenix export it. Numbers other than 0 and 1
        are scores.
        ``.csv``, ``.tsv``, ``.parquet``: scores (:meth:`Annotations.from_scores`) if a column is named ``score`` and
        none holds classes; otherwise a long table (:meth:`Annotations.from_table`) if a column is named ``annotator``,
        ``worker``, ``class``, ``label``, ``rank`` or ``confidence``, or if case, annotator and class have other names
        that are usual, such as ``image_id``, ``reader`` and ``diagnosis`` (a warning says so; numbers in a column
        ``rating`` or ``grade`` are then scores); or a column per annotator, called so (``Rater1``, ``r2``) or with the
        same few texts as another; otherwise label counts (:meth:`Annotations.from_counts`), with or without a header,
        without a column that is the sum of all others. Numbers that may be either are refused. A long table with a
        column ``annotation`` in place of ``annotator`` has anonymous annotators. An apostrophe before text that begins
        like a formula ("'=x") is removed.
        ``.npy``: label counts.
        ``.soc``, ``.soi``, ``.toc``, ``.toi``: PrefLib. One file is one case, named after the file; its alternatives
        are the classes and its voters anonymous annotators. A folder of such files is read as one case per file.
    classes
        Class names, or the path of a text file with one name per line. Needed if the file refers to classes by index,
        or if classes that no annotator names are possible answers. For scores, the names of the classes up to the
        threshold and above it.
    control
        Label Studio control, Argilla question, or question (or rater) in the export of a tool that tests language
        models, to read if there are several.
    soft_weight
        Number of annotators behind each soft label; its probabilities are turned into that many labels.
    choices
        What annotators chose from, as for :meth:`Annotations.from_rankings`.
    form
        Name of the format, such as ``"alt-test"``, ``"wide"`` or ``"counts"``, for a file that is not recognised by its
        content.
    missing
        Texts that stand for no label, such as ``["n/a", "uncertain"]``. Rows or answers that hold one of them, or
        nothing, are left out, with a warning that counts them.
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
        If a control is named for a file that has none, there is no format of the name ``form``, ``path`` is not a path,
        or ``choices`` is neither None nor ``"all"``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("case,annotator,class,rank\np,ann,x,1\np,ann,y,2\np,bob,y,1\n")
    ...     read_annotations(folder + "/a.csv")
    Annotations(1 case, 2 annotations by 2 annotators, 2 classes)
    """
    by_annotator = is_by_annotator(path)
    if not by_annotator:
        check_path(path)
    check_choices(choices)
    if classes is not None:
        classes = read_classes(classes) if isinstance(classes, str | os.PathLike) else to_names(classes, "class")
    absent = [missing] if isinstance(missing, str) else [*(missing or ())]
    options: dict[str, Any] = {"classes": classes, "control": control, "form": form, "soft_weight": soft_weight}
    options |= {"missing": absent, "progress": progress}
    files, path = path, some([str(file) for file in path.values()]) if by_annotator else Path(path)
    with logged(f"Reading {path}"), nullcontext() if by_annotator else naming(path), many_objects():
        if not by_annotator and not path.is_dir():
            suffix_of(path, SUFFIXES)
        source = open_files(files, **options) if by_annotator else open_source(path, **options)
        content = read_source(source)
        if absent and isinstance(content, Answers):
            content = content.without(absent)
        elif absent and isinstance(content, Rows) and not is_long(source.names):
            raise ArgumentError("missing is for tables with a row for each label, or answers, and this is neither.")
        if content is None:
            raise FileError("this is a folder; name a file in it")
        if isinstance(content, Answers) and content.scores:
            content.tell_left_out(path)
            columns = {"case": content.case, "annotator": content.annotator, "score": content.value}
            return Annotations.from_scores(pd.DataFrame(columns), classes)
        if isinstance(content, Answers):
            read = Annotations._from_answers(content, classes, choices, path, classes is not None)
        elif isinstance(content, dict):
            return Scores(**content, classes=classes)
        else:
            if len(content.case) > _MANY:
                release_memory()
            read = Annotations._from_rows(content, choices, classes is not None or in_own_order(_named_in(source)))
        if classes is None and missing is None and (isinstance(content, Answers) or is_long(source.names)):
            tell_no_answers(read.classes.tolist(), path)
        return read


def _named_in(source: Source) -> Any:
    return source.content.get("classes") if isinstance(source.content, Mapping) else None
