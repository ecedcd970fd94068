"""One reader for all files of annotations, and their like in memory, by suffix and content."""

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from plausibly.base.errors import ArgumentError, FileError
from plausibly.base.memory import release_memory
from plausibly.base.names import tell_no_answers
from plausibly.base.progress import logged
from plausibly.data.annotations._classes import in_own_order
from plausibly.data.annotations._container import Annotations
from plausibly.data.annotations.io.exports import naming_cases as naming_cases
from plausibly.data.annotations.io.exports import open_any as open_any
from plausibly.data.annotations.io.exports import rows_in
from plausibly.data.annotations.io.files import many_objects, naming_file
from plausibly.data.annotations.io.source import Source
from plausibly.data.annotations.scores import Scores
from plausibly.data.annotations.shown import check_choices

_MANY = 2**20  # rows


def read_annotations(
    source: Any,
    classes: str | os.PathLike | Iterable[str] | None = None,
    control: str | None = None,
    *,
    case: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    score: str | None = None,
    count: str | None = None,
    layout: str | None = None,
    missing: str | Collection[str] | None = None,
    repeats: str | None = None,
    soft_weight: int | None = None,
    choices: str | None = None,
    progress: bool = False,
) -> Annotations | Scores:
    r"""Read annotations from a file, whose layout is recognised by its suffix and content.

    Parameters
    ----------
    source
        Path of a file, or paths by annotator, such as ``{"ann": "ann.jsonl", "bob": "bob.csv"}``, of exports, of tables
        with a case and a label in each row, or of JSON ``{case: label}``; or a data frame, a ``datasets.Dataset``,
        columns, records, triples or nested mappings in memory.
        ``.json``: rankings, as nested lists or as an object with names (:meth:`Annotations.from_rankings`); or an
        export of Label Studio. Annotations that were cancelled or hold no answer are left out, with a
        :class:`plausibly.errors.PlausiblyWarning` that counts them.
        ``.json``, ``.jsonl``, ``.csv``, ``.tsv``, ``.parquet``: one row per case. The field ``annotations`` (or
        ``labels``) is a list of answers or a mapping from annotator to answer; ``annotators`` may name the annotators
        of a list. Other fields are metadata (see :func:`plausibly.read_metadata`). Lists in the cells of CSV files are
        JSON. A mapping from case to such a record, or to ``{annotator: answer}``, is read, too. A case without answers
        may have a ``soft_label`` instead, a mapping from class to probability.
        ``.jsonl``: also an export of Argilla (which may be ``.json``, too), Prodigy or doccano, or the records of a
        long table. If doccano exported a folder with one file per annotator, pass the folder.
        ``.json``, ``.jsonl``, ``.csv``, ``.eval``: exports of tools that test language models (Inspect AI, promptfoo,
        DeepEval, lm-evaluation-harness, MLflow, Langfuse, LangSmith, Phoenix). Numbers but 0 and 1 are scores.
        ``.csv``, ``.tsv``, ``.parquet``: scores (:meth:`Annotations.from_scores`) if a column is named ``score`` and
        none holds classes; a long table (:meth:`Annotations.from_table`) if its columns have usual names, such as
        ``annotator`` and ``class`` (of others, such as ``image_id`` and ``reader``, a warning says so); a column per
        annotator, called so (``Rater1``, ``r2``) or with the same few texts as another; otherwise label counts
        (:meth:`Annotations.from_counts`). Numbers that may be either are refused. A column ``annotation`` in place of
        ``annotator`` numbers anonymous annotators. An apostrophe before a formula ("'=x") is removed.
        ``.npy``: label counts. ``.soc``, ``.soi``, ``.toc``, ``.toi``: PrefLib, a file (or each file of a folder) for a
        case, whose alternatives are the classes and whose voters are anonymous annotators.
    classes
        Class names, or the path of a text file with one name per line. Needed for classes by index, and for possible
        answers that no annotator names. For scores, the names of the classes up to the threshold and above it.
    control
        Question to read from an export with several: a control, a question, or a rater.
    soft_weight
        Number of annotators behind each soft label; its probabilities are turned into that many labels.
    choices
        What annotators chose from, as for :meth:`Annotations.from_rankings`.
    case
        Column of cases, if it has none of the usual names.
    annotator
        Column of annotators, if it has none of the usual names.
    label
        Column of labels, if it has none of the usual names.
    score
        Column of scores, if it has none of the usual names.
    count
        Column that says how often a row occurred, if it has none of the usual names.
    layout
        Name of the layout, such as ``"wide"``, ``"counts"`` or ``"alt-test"``, if two fit or none is recognised.
    repeats
        What to do with several answers of one annotator to one case: ``"refuse"``, the default; ``"first"`` or
        ``"last"`` (by a column ``round`` or ``time``, else by rows); ``"ties"``, if the rows of a table are one answer
        with several classes, which is assumed where at least half of all answers have several.
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
        If a control is named for a file that has none, there is no layout of that name,
        ``repeats`` is none of the above, or ``choices`` is neither None nor ``"all"``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("case,annotator,class,rank\np,ann,x,1\np,ann,y,2\np,bob,y,1\n")
    ...     read_annotations(folder + "/a.csv")
    Annotations(1 case, 2 annotations by 2 annotators, 2 classes)
    """
    check_choices(choices)
    roles = {"case": case, "annotator": annotator, "label": label, "score": score, "count": count}
    options = {"layout": layout, "control": control, "missing": missing, "repeats": repeats, "classes": classes}
    in_file = isinstance(source, str | os.PathLike)
    with logged(f"Reading {source}" if in_file else ""), naming_file(source), many_objects():
        opened = open_any(source, roles, soft_weight=soft_weight, progress=progress, **options)
        return annotations_of(opened, choices, told=missing is not None)


def annotations_of(source: Source, choices: str | None = None, *, told: bool = False) -> Annotations | Scores:
    """Read annotations or scores; `told` says that marks of missing labels were named, so that none is suspected."""
    if source.repeats == "readings":
        raise ArgumentError(
            "readings are compared by agreement; here each annotator has one answer: say first or last."
        )
    with naming_cases(source):
        return as_annotations(rows_in(source), source, choices, told=told)


def as_annotations(content: Any, source: Source, choices: str | None, *, told: bool = False) -> Annotations | Scores:
    """Make annotations of rows of classes, or scores of their fields, that were read of a source."""
    if content is None:
        raise FileError("this is a folder; name a file in it")
    given = source.classes is not None
    if isinstance(content, dict):
        return Scores(**content, classes=source.classes)
    if len(content.case) > _MANY:
        release_memory()
    read = Annotations._from_rows(content, choices, given or in_own_order(_named_in(source)))
    if content.of_labels and not given and not told:
        tell_no_answers(read.classes.tolist(), source.path or "")
    return read


def _named_in(source: Source) -> Any:
    return source.content.get("classes") if isinstance(source.content, Mapping) else None
