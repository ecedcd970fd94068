"""Annotations written in any of the formats that are read, and what each of them cannot hold."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from plausibly.annotations._container import Annotations
from plausibly.annotations._names import _show, numbered, some
from plausibly.annotations._views import as_table, rankings_of
from plausibly.annotations.io._files import check_path
from plausibly.annotations.io._formulas import write_csv
from plausibly.annotations.io._matrix import CASE_COLUMNS
from plausibly.annotations.io._preflib import SUFFIXES as PREFLIB
from plausibly.annotations.io._preflib import case_name
from plausibly.annotations.io._table import ANONYMOUS, MARKS
from plausibly.annotations.io._write import write_rankings
from plausibly.errors import AnnotationError, ArgumentError, FileError

Form = Literal["rankings", "table", "counts", "soc", "soi", "toc", "toi"]
#: Forms by the suffix that a file of them may have, the usual one first.
FORMS: dict[str, tuple[str, ...]] = {
    ".json": ("rankings",),
    ".csv": ("table", "counts"),
    ".parquet": ("table", "counts"),
    ".npy": ("counts",),
    **{suffix: (suffix[1:],) for suffix in PREFLIB},
}

_TOGETHER = 2**18  #: rows of a table that are written at a time


def write_annotations(
    annotations: Annotations, path: str | os.PathLike, form: Form | None = None, *, anonymous: bool = False
) -> None:
    """Write annotations in one of the formats that :func:`read_annotations` reads.

    What a format cannot hold is refused, never dropped: reading the file, with the classes given where the format does
    not list them all (long tables) or lists them otherwise (counts without a header), gives equal annotations back; of
    PrefLib, whose files count equal votes, up to the order of the annotators.

    Parameters
    ----------
    annotations
        What to write.
    path
        The file, replaced where it exists. For PrefLib of several cases a folder, with a file for each, which is made
        if need be.
    form
        ``"rankings"`` (``.json``, which holds everything), ``"table"`` (``.csv`` or ``.parquet``; annotators without
        names are numbered in a column ``annotation``), ``"counts"`` (``.csv``, ``.parquet`` or ``.npy``), ``"soc"``,
        ``"soi"``, ``"toc"`` or ``"toi"`` (PrefLib). If None the first of these that the suffix allows.
    anonymous
        Whether to forget the names of annotators, as counts and PrefLib have to.

    Raises
    ------
    ArgumentError
        If suffix and form do not fit, these are no annotations, or the path is none.
    AnnotationError
        If the format cannot hold these annotations.
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
        raise ArgumentError(f"Annotations are written, but {_show(annotations)} was given: read or build them first.")
    check_path(path)
    path = Path(path)
    form = find_form(path, form)
    if anonymous:
        annotations = without_names(annotations)
    if form == "rankings":
        return write_rankings(annotations, path)
    try:
        if form == "table":
            _write_table(_long(annotations), path)
        elif form == "counts":
            _write_counts(annotations, path)
        else:
            _write_preflib(annotations, path, form)
    except OSError as error:
        raise FileError(f"{path}: the file cannot be written ({error.strerror}); check the folder") from error
    return None


def find_form(path: Path, form: str | None) -> str:
    """Return the form that a path and an argument ask for.

    Raises
    ------
    ArgumentError
        If they do not fit.
    """
    suffix = path.suffix.lower()
    forms = {name for names in FORMS.values() for name in names}
    if form is not None and form not in forms:
        raise ArgumentError(f"there is no form {form!r} of annotations: choose from {', '.join(sorted(forms))}.")
    if form is not None and f".{form}" in PREFLIB and suffix not in FORMS:
        return form  # a folder
    if suffix not in FORMS:
        raise ArgumentError(f"the suffix {suffix!r} names no format written here: use one of {', '.join(FORMS)}.")
    if form is not None and form not in FORMS[suffix]:
        fitting = [known for known, names in FORMS.items() if form in names]
        raise ArgumentError(f"{form} are not written as {suffix}: use {' or '.join(fitting)}.")
    return form or FORMS[suffix][0]


def without_names(annotations: Annotations) -> Annotations:
    """Forget who annotated.

    Examples
    --------
    >>> without_names(Annotations.from_rankings({"cases": {"p": {"ann": [["a"]]}}}))
    Annotations(1 case, 1 annotation by anonymous annotators, 1 class)
    """
    if annotations.anonymous:
        return annotations
    place = np.arange(annotations.n_annotations) - annotations.case_start[annotations.annotation_case]
    return Annotations(
        cases=annotations.cases,
        classes=annotations.classes,
        annotators=numbered(place.max() + 1),
        anonymous=True,
        annotation_case=annotations.annotation_case,
        annotation_annotator=place,
        entry_annotation=annotations.entry_annotation,
        entry_class=annotations.entry_class,
        entry_block=annotations.entry_block,
    )


def classes_from_form(annotations: Annotations, form: str) -> bool:
    """Whether a file of this form tells the classes and their order, so that none have to be given beside it."""
    if form != "table":
        return True
    named = np.unique(annotations.classes[np.unique(annotations.entry_class)])
    digits = all(name.removeprefix("-").isdecimal() for name in annotations.classes.tolist())
    return not digits and np.array_equal(named, annotations.classes)


def _long(annotations: Annotations) -> Iterator[pd.DataFrame]:
    """Return the long table in pieces: a cell of text takes a hundred bytes."""
    for first in range(0, len(annotations.entry_class), _TOGETHER):
        table = as_table(annotations, slice(first, first + _TOGETHER))
        yield table.rename(columns={"annotator": ANONYMOUS}) if annotations.anonymous else table


def _write_table(pieces: Iterable[pd.DataFrame], path: Path) -> None:
    if path.suffix.lower() == ".parquet":
        tables = (pa.Table.from_pandas(piece, preserve_index=False) for piece in pieces)
        first = next(tables)
        with pyarrow.parquet.ParquetWriter(path, first.schema, write_page_checksum=True) as file:
            for table in chain([first], tables):
                file.write_table(table)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            for number, piece in enumerate(pieces):
                write_csv(piece, file, header=not number)


def _refuse_names(annotations: Annotations, what: str) -> None:
    if not annotations.anonymous:
        raise AnnotationError(
            f"{what} hold no names of annotators, and these have some; write a table or rankings, or forget the names "
            "with anonymous=True (--anonymous)"
        )


def _write_counts(annotations: Annotations, path: Path) -> None:
    _refuse_names(annotations, "counts")
    sizes = np.diff(annotations.annotation_start)
    for r in np.flatnonzero(sizes > 1):
        case = str(annotations.cases[annotations.annotation_case[r]])
        raise AnnotationError(
            f"case {case!r}: an annotator names {sizes[r]} classes, and counts are of one class each; write a table or "
            "rankings"
        )
    counts = np.zeros((annotations.n_cases, annotations.n_classes), np.int64)
    np.add.at(counts, (annotations.entry_case, annotations.entry_class), 1)
    if path.suffix.lower() == ".npy":
        for what, names in (("cases", annotations.cases), ("classes", annotations.classes)):
            if names.tolist() != [str(i) for i in range(len(names))]:
                raise AnnotationError(
                    f"an .npy file holds no names of {what}, and these have some; write .csv or .parquet"
                )
        with path.open("wb") as file:
            np.save(file, counts, allow_pickle=False)
        return
    for name in (*CASE_COLUMNS, *sorted(MARKS)):
        if name in annotations.classes:
            raise AnnotationError(f"a class is named {name!r}, which in a header means something else; write rankings")
    table = pd.DataFrame(counts, columns=annotations.classes.astype(object))
    table.insert(0, "case", annotations.cases.astype(object))
    _write_table([table], path)


def _write_preflib(annotations: Annotations, path: Path, form: str) -> None:
    _refuse_names(annotations, "PrefLib's files")
    for name in annotations.classes.tolist():
        if re.search(r"[\r\n]", name):
            raise AnnotationError(
                f"the class {name!r} has a line break in its name, which PrefLib cannot hold; rename it"
            )
    single = path.suffix.lower() in PREFLIB
    if single and (annotations.n_cases > 1 or case_name(path) != annotations.cases[0]):
        raise AnnotationError(
            f"a PrefLib file holds one case, which has the name of the file, and here are {some(annotations.cases)}; "
            f"name a folder, with form={form!r} (--as {form})"
        )
    classes = annotations.classes.tolist()
    texts = []
    for position, case in enumerate(annotations.cases.tolist()):
        rankings = rankings_of(
            annotations, position, annotations.annotators.tolist(), list(map(str, range(1, len(classes) + 1)))
        )
        votes = Counter(_vote(blocks, case, form, len(classes)) for blocks in rankings.values())
        texts.append(_profile(f"{file_name(case)}.{form}", case, form, classes, votes))
    if not single:
        path.mkdir(parents=True, exist_ok=True)
    for case, text in zip(annotations.cases.tolist(), texts, strict=True):
        (path if single else path / f"{file_name(case)}.{form}").write_text(text, encoding="utf-8", newline="\n")


def file_name(case: str) -> str:
    """Write the name of a case so that it can be a file's; ``_preflib.case_name`` undoes it.

    Examples
    --------
    >>> file_name("p 7"), file_name("a/b.c"), file_name("100%")
    ('p 7', 'a%2Fb%2Ec', '100%25')
    """
    return quote(case, safe=" ,;()+=@&").replace(".", "%2E")


def _vote(blocks: list[list[str]], case: str, form: str, n_classes: int) -> str:
    if form[0] == "s" and any(len(block) > 1 for block in blocks):
        raise AnnotationError(
            f"case {case!r}: an annotator ties classes, which .{form} does not allow; write t{form[1:]}"
        )
    if form[2] == "c" and sum(map(len, blocks)) < n_classes:
        raise AnnotationError(
            f"case {case!r}: an annotator leaves classes unranked, which .{form} does not allow; write {form[:2]}i"
        )
    return ",".join(block[0] if len(block) == 1 else f"{{{','.join(block)}}}" for block in blocks)


def _profile(name: str, case: str, form: str, classes: list[str], votes: Counter) -> str:
    head = {"FILE NAME": name, "TITLE": " ".join(case.split()), "DATA TYPE": form, "MODIFICATION TYPE": "original"}
    head |= {"NUMBER ALTERNATIVES": len(classes), "NUMBER VOTERS": votes.total(), "NUMBER UNIQUE ORDERS": len(votes)}
    head |= {f"ALTERNATIVE NAME {number}": alternative for number, alternative in enumerate(classes, 1)}
    lines = [f"# {key}: {value}" for key, value in head.items()]
    lines += [f"{count}: {vote}" for vote, count in votes.items()]
    return "\n".join(lines) + "\n"
