"""One writer for all files of annotations, by suffix and form."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from plausibly.base.errors import ArgumentError, FileError, show
from plausibly.base.names import numbered
from plausibly.data.annotations._container import Annotations
from plausibly.data.annotations._rows import places
from plausibly.data.annotations.by_case import check_annotated
from plausibly.data.annotations.io._preflib import SUFFIXES as PREFLIB
from plausibly.data.annotations.io.files import check_path
from plausibly.data.annotations.io.formats import FORMATS
from plausibly.data.annotations.scores import Scores

Form = Literal["rankings", "cases", "table", "counts", "soc", "soi", "toc", "toi"]


def write_annotations(
    annotations: Annotations, path: str | os.PathLike, form: Form | None = None, *, anonymous: bool = False
) -> None:
    """Write annotations in one of the formats that :func:`read_annotations` reads.

    Nothing is dropped: annotations that a format cannot hold are refused, and reading the file returns equal
    annotations. To read long tables or counts without a header, pass the class names; to read
    counts that may be labels, too, ``layout="counts"``. PrefLib files count equal votes,
    so the order of the annotators may change.

    Parameters
    ----------
    annotations
        Annotations to write.
    path
        Name of the file; an existing file is replaced. For several cases in PrefLib, a folder with one file per case,
        created if needed.
    form
        ``"rankings"`` (``.json``, which holds everything), ``"cases"`` (``.jsonl``, a line per case), ``"table"``
        (``.csv`` or ``.parquet``; annotators without names are numbered in a column ``annotation``), ``"counts"``
        (``.csv``, ``.parquet`` or ``.npy``), ``"soc"``, ``"soi"``, ``"toc"`` or ``"toi"`` (PrefLib). If None the first
        of these that the suffix allows.
    anonymous
        Whether to drop the names of annotators, which counts and PrefLib cannot hold.

    Raises
    ------
    ArgumentError
        If suffix and form do not match, ``annotations`` are not annotations, or ``path`` is not a path.
    AnnotationError
        If the format cannot hold these annotations, or a case has none.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, plausibly.annotations as pa
    >>> annotations = pa.Annotations.from_rankings([[[["a"], ["b", "c"]], [["b"]]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pa.write_annotations(annotations, folder + "/0.toi")
    ...     pa.read_annotations(folder + "/0.toi") == annotations
    True
    """
    if not isinstance(annotations, Annotations):
        fix = "write scores by their to_table()" if isinstance(annotations, Scores) else "read or build them first"
        raise ArgumentError(f"Annotations are written, but {show(annotations)} was given: {fix}.")
    check_annotated(annotations)
    check_path(path)
    path = Path(path)
    form = find_form(path, form)
    if anonymous:
        annotations = without_names(annotations)
    write = next(known.write for known in FORMATS if known.write and known.name == form)
    try:
        write(annotations, path)
    except OSError as error:
        raise FileError(f"{path}: the file cannot be written ({error.strerror}); check the folder") from error


def find_form(path: Path, form: str | None) -> str:
    """Return the form that a path and an argument ask for."""
    suffix = path.suffix.lower()
    written = {known.name: known.written for known in FORMATS if known.write}
    suffixes = dict.fromkeys(suffix for suffixes in written.values() for suffix in suffixes)
    if form is not None and form not in written:
        raise ArgumentError(f"there is no form {form!r} of annotations: choose from {', '.join(sorted(written))}.")
    if form is not None and f".{form}" in PREFLIB and suffix not in suffixes:
        return form  # a folder
    if suffix not in suffixes:
        raise ArgumentError(f"the suffix {suffix!r} names no format written here: use one of {', '.join(suffixes)}.")
    if form is not None and suffix not in written[form]:
        raise ArgumentError(f"{form} are not written as {suffix}: use {' or '.join(written[form])}.")
    return form or next(name for name, fitting in written.items() if suffix in fitting)


def without_names(annotations: Annotations) -> Annotations:
    """Forget who annotated."""
    if annotations.anonymous:
        return annotations
    place = places(annotations.annotation_case)
    return replace(annotations, annotators=numbered(place.max() + 1), anonymous=True, annotation_annotator=place)


def classes_from_form(annotations: Annotations, form: str) -> bool:
    """Whether a file of this form tells the classes and their order, so that none have to be given with it."""
    if form not in ("table", "cases"):
        return True
    named = np.unique(annotations.classes[np.unique(annotations.entry_class)])
    digits = all(name.removeprefix("-").isdecimal() for name in annotations.classes.tolist())
    return not digits and np.array_equal(named, annotations.classes)
