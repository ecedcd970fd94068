"""Labels from files: tables with labels in their cells, and formats of annotation tools."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from plausibly.base.errors import AnnotationError, ArgumentError, FileError, show
from plausibly.data.annotations.io.answers import literal
from plausibly.data.annotations.io.files import ending, lines_of, naming, naming_file, read_json, read_text, suffix_of
from plausibly.data.annotations.io.long_table import WHEN
from plausibly.data.annotations.io.read import open_any
from plausibly.data.annotations.io.source import Source
from plausibly.data.annotations.io.spellings import NAMES
from plausibly.data.labels.container import Labels, from_table
from plausibly.data.labels.table import SUFFIXES as OF_ROWS
from plausibly.data.labels.table import is_missing, labels_in, to_objects
from plausibly.distances import tree_of

_WHO = ("annotator", "annotator_id", "worker", "worker_id", "annotated_by")


def coco_labels(content: Mapping, kind: str, *, one_annotator: bool = False) -> list[tuple[str, str, Any]]:
    """Read objects by image and annotator: case (the image's file name, or its id), annotator, objects.

    Objects are boxes ``(left, top, right, bottom)`` or mappings with ``keypoints``, ``bbox`` and ``area``. Categories
    are not compared, and crowds (``iscrowd``) are objects like others. If all objects are one annotator's, images
    without objects have a label of none; otherwise it is unknown who saw them.
    """
    if kind not in ("boxes", "keypoints"):
        raise ArgumentError(
            f'of COCO "boxes" or "keypoints" are read, but kind {kind!r} was given: choose one of the two.'
        )
    for part in ("images", "annotations"):
        rows = content.get(part, [])
        what = f"the {part} of COCO are a list of objects{', each with an id' if part == 'images' else ''}, got"
        if not isinstance(rows, list):
            raise AnnotationError(f"{what} {show(rows)}; correct it")
        for number, row in enumerate(rows, 1):
            if not isinstance(row, Mapping) or (part == "images" and not isinstance(row.get("id"), int | float | str)):
                raise AnnotationError(f"{what} {show(row)} as number {number}; correct it")
    images = _images(content.get("images", ()))
    found: dict[tuple[str, str], list[Any]] = {(name, ""): [] for name in images.values()} if one_annotator else {}
    for number, one in enumerate(content["annotations"], 1):
        image = one.get("image_id")
        if not isinstance(image, int | float | str) or (images and image not in images):
            raise AnnotationError(f"annotation {number}: there is no image {image!r}; correct its image_id")
        who = "" if one_annotator else next((str(one[name]) for name in _WHO if name in one), None)
        if who is None:
            raise AnnotationError(
                f"annotation {number} does not name its annotator; give one file per annotator, or every annotation a "
                "field 'annotator'"
            )
        found.setdefault((images.get(image, str(image)), who), []).append(_object(one, kind, number))
    return [(case, who, objects) for (case, who), objects in found.items()]


def _images(rows: Iterable[Mapping]) -> dict[Any, str]:
    """Name images by file, or else by id."""
    names: dict[Any, str] = {}
    first: dict[str, Any] = {}
    for image in rows:
        number = image["id"]
        name = str(image.get("file_name", number))
        if number in names:
            raise AnnotationError(f"two images have the id {number!r}; keep one")
        if name in first:
            raise AnnotationError(
                f"the images {first[name]!r} and {number!r} have the same name {name!r}; name each by another file, "
                f"with its folder if need be"
            )
        names[number], first[name] = name, number
    return names


def _object(one: Mapping, kind: str, number: int) -> Any:
    field = "bbox" if kind == "boxes" else "keypoints"
    if field not in one:
        raise AnnotationError(f"annotation {number} has no {field!r}; add it, or remove the annotation")
    if kind == "keypoints":
        return {name: one[name] for name in ("keypoints", "bbox", "area") if name in one}
    try:
        left, top, width, height = one["bbox"]
        if width < 0 or height < 0:
            raise ValueError
        return (left, top, left + width, top + height)
    except (TypeError, ValueError):
        raise AnnotationError(
            f"annotation {number}: a bbox is [left, top, width, height], got {show(one['bbox'])}; correct it"
        ) from None


Kind = Literal["literal", "text", "bio", "trees", "boxes", "keypoints", "spans"]
Named = str | os.PathLike
Row = tuple[str, str, Any]

OF_LINES = (".txt", ".conll", ".bio", ".mrg", ".ann")
SUFFIXES = (*OF_ROWS, *OF_LINES)


def read_labels(
    source: Named | Mapping[str, Named],
    kind: Kind = "literal",
    *,
    case: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    score: str | None = None,
    count: str | None = None,
    layout: str | None = None,
    control: str | None = None,
    repeats: str | None = None,
) -> Labels:
    r"""Read labels of any type from one file with all annotators, or from one file per annotator.

    Parameters
    ----------
    source
        Path of a file, or paths by annotator. Formats by suffix:

        * ``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``: a long table, whose cells are read according to `kind`;
        * ``.json``: such a table as a list of records or in the forms of :meth:`Labels.of`; or COCO, for ``"boxes"``
          and ``"keypoints"``, which need one file per annotator or a field ``annotator`` in every annotation;
        * ``.txt``, ``.conll``, ``.bio``: with ``"bio"`` a token and its tag per line, blank lines between sentences (in
          a single file, every column after the first is an annotator; in one file per annotator, only the last column
          counts); with ``"text"`` and ``"trees"`` one label per line and one file per annotator, with cases numbered
          from 1. ``.mrg`` is for trees, which may span several lines;
        * ``.ann``: spans by offset, one file or folder of files per annotator (the case is the file's name).
    kind
        Contents of a cell or line. ``"literal"``: numbers, or lists and mappings in JSON, as Python literals or as
        NumPy prints arrays, if most cells are; else text.
        ``"text"``: text, whatever it looks like. ``"bio"``: tags of tokens, which are turned into spans ``(start, end,
        tag)``. ``"trees"``: brackets. ``"boxes"``, ``"keypoints"`` and ``"spans"`` say what to read from COCO or
        ``.ann`` files; in tables they are literals.
    case, annotator, label, score, count, layout, control, repeats
        As for :meth:`Labels.of`.

    Returns
    -------
    Labels
        In tables, blank cells and, beside lists and objects, JSON's ``null`` are missing labels (for texts and trees,
        only blank cells). In files by annotator, a blank line is a missing label; an image or document without anything
        marked is a label with no objects.

    Raises
    ------
    FileError
        If a file is missing or not in its format.
    AnnotationError
        If a table lacks a column, or a cell cannot be read; the message names file and row.
    ArgumentError
        If this format needs one file per annotator.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "boxes.csv")
    ...     _ = path.write_text('item,uid,annotation\n7,ann,"[[0, 0, 2, 2]]"\n7,bob,[]\n8,ann,[]\n')
    ...     read_labels(path).values.tolist()
    [[[0, 0, 2, 2]], [], []]
    """
    kinds = ("literal", *PARSED, "boxes", "keypoints", "spans")
    if kind not in kinds:
        raise ArgumentError(f"there is no kind of label {kind!r}: choose from {', '.join(kinds)}.")
    roles = {"case": case, "annotator": annotator, "label": label, "score": score, "count": count}
    options = {"layout": layout, "control": control, "repeats": repeats}
    each = source if isinstance(source, Mapping) else {None: source}
    several = naming_file(source) if isinstance(source, Mapping) else nullcontext()
    if not any(ending(Path(file)) in OF_LINES or Path(file).is_dir() for file in each.values()):
        with naming_file(source):
            opened = open_any(source, roles, **options)
        if not any(_is_coco(part.content, kind) for part in (opened.parts or {"": opened}).values()):
            with several:
                return _of_kind(opened, kind)
    rows: list[Row] = []
    for who, file in each.items():
        with naming(Path(file)):
            rows += _rows(Path(file), kind, None if who is None else str(who))
    with several:
        return Labels.of(_records(rows))


def _records(rows: list[Row]) -> dict[str, list[Any]]:
    if not rows:
        raise AnnotationError("there are no labels; give at least one")
    return {name: list(column) for name, column in zip((*NAMES, "label"), zip(*rows, strict=True), strict=True)}


def _of_kind(source: Source, kind: str) -> Labels:
    """Read a table, whose text is of some kind."""
    if kind not in PARSED:
        return Labels.of(source)
    with naming_file(source):
        table = labels_in(source, (), WHEN, in_lists=False)
        if table is None:
            raise ArgumentError(f"kind {kind!r} is for labels, but this counts or ranks classes: leave it out.")
        text = table.label if table.text is None else table.text
        values = to_objects(_cell(cell, kind, row) for row, cell in enumerate(text.tolist(), 1))
        return from_table(replace(table, label=values, text=None), "drop", source.repeats)


def _is_coco(content: Any, kind: str) -> bool:
    """Whether this holds objects in images."""
    of_images = isinstance(content, Mapping) and (kind in ("boxes", "keypoints") or "images" in content)
    return of_images and "annotations" in content


def _rows(path: Path, kind: str, who: str | None) -> Iterator[Row]:
    """Read a file with the labels of one annotator, or, if who that is isn't given, of all."""
    suffix = ".ann" if path.is_dir() else suffix_of(path, SUFFIXES)
    if who is None and suffix in (".ann", ".mrg"):
        raise ArgumentError(
            "this kind of file holds one annotator's labels: give a mapping, such as {'ann': …, 'bob': …}."
        )
    if path.is_dir() and not any(path.glob("*.ann")):
        raise FileError("the folder has no .ann files; name another")
    if path.is_dir():
        for file in sorted(path.glob("*.ann")):
            with naming(file.name):
                yield file.stem, str(who), _offsets(file)
    elif suffix == ".ann":
        yield path.stem, str(who), _offsets(path)
    elif suffix == ".json":
        rows = coco_labels(read_json(path), kind, one_annotator=who is not None)
        yield from ((case, annotator if who is None else who, value) for case, annotator, value in rows)
    elif kind == "bio":
        for number, sentence in enumerate(_sentences(path, last=who is not None), 1):
            for column, spans in enumerate(sentence, 1):
                yield str(number), str(column) if who is None else who, spans
    elif who is None:
        raise ArgumentError(
            "lines name no annotators: give a file, or a folder of .ann files, for each: {'ann': …, 'bob': …}, "
            "ann=FILE bob=FILE."
        )
    else:
        lines = _bracketed(read_text(path)) if suffix == ".mrg" else lines_of(read_text(path))
        for number, line in enumerate(lines, 1):
            yield str(number), who, _cell(line, "trees" if suffix == ".mrg" else kind, number)


def _cell(cell: Any, kind: str, row: int) -> Any:
    if is_missing(cell):
        return None
    if not isinstance(cell, str):
        return cell
    try:
        return PARSED.get(kind, literal)(cell)
    except ValueError as error:
        raise AnnotationError(f"row {row}: {error}") from error


def _bracketed(text: str) -> Iterator[str]:
    """Part text into trees, each of as many lines as it takes for its brackets to match."""
    lines: list[str] = []
    depth = 0
    for line in lines_of(text):
        if lines or line.strip():
            lines.append(line)
            depth += line.count("(") - line.count(")")
        if lines and depth <= 0:
            yield "\n".join(lines)
            lines, depth = [], 0
    if lines:
        yield "\n".join(lines)


def _sentences(path: Path, *, last: bool = False) -> Iterator[list[list[tuple[int, int, str]]]]:
    """Read sentences of tokens and their tags; for every column of tags its spans, or for the last one alone."""
    lines = enumerate(lines_of(read_text(path)), 1)
    tags: list[list[str]] = []
    start, width = 1, 0
    for number, line in (*lines, (0, "")):
        cells = line.split()
        if cells and not line.startswith("-DOCSTART-"):
            if len(cells) < 2 or (tags and len(cells) != width):
                raise FileError(f"line {number} is {show(line)}; write a token and its tags, in equally many columns")
            start = start if tags else number
            width = len(cells)
            tags.append(cells[-1:] if last else cells[1:])
        elif tags:
            try:
                yield [spans_of_tags(list(column)) for column in zip(*tags, strict=True)]
            except ValueError as error:
                raise FileError(f"sentence from line {start} on: {error}; correct the tag") from error
            tags = []


def _offsets(path: Path) -> list[tuple[int, int, str]]:
    """Read spans by offset; a span in several parts is several spans."""
    if path.is_file() and not path.read_bytes().strip():
        return []  # a document in which nothing is marked
    spans = []
    for number, line in enumerate(lines_of(read_text(path)), 1):
        if not line.startswith("T"):
            continue  # relations, attributes, notes
        try:
            tag, _, places = line.split("\t")[1].partition(" ")
            for part in places.split(";"):
                start, end = part.split()
                spans.append((int(start), int(end), tag))
        except (IndexError, ValueError):
            raise FileError(
                f"line {number} is {show(line)}; write an id, a tag with start and end, and the text"
            ) from None
    return spans


def spans_of_tags(tags: list[str]) -> list[tuple[int, int, str]]:
    """Turn BIO tags of tokens into spans.

    Tags are ``O``, or ``B-`` (begins) or ``I-`` (inside) and a type. A span that begins with ``I-`` begins there.
    """
    spans: list[tuple[int, int, str]] = []
    for place, tag in enumerate(tags):
        mark, _, kind = tag.partition("-")
        if mark not in ("B", "I", "O") or (mark == "O" and kind):
            raise ValueError(f"a tag is O, B-… or I-…, got {tag!r}")
        if mark == "I" and spans and spans[-1][1] == place and spans[-1][2] == kind:
            spans[-1] = (spans[-1][0], place + 1, kind)
        elif mark != "O":
            spans.append((place, place + 1, kind))
    return spans


def tree(cell: str) -> str:
    """Check that brackets match; the label stays text."""
    tree_of(cell)
    return cell


#: How the cells of each kind are read that are not taken for literals.
PARSED: dict[str, Callable[[str], Any]] = {
    "text": str,
    "bio": lambda cell: spans_of_tags(cell.split()),
    "trees": tree,
}
