"""What comes out of annotations again: one case's rankings, all of them as lists or as a table, or a selection."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from plausibly.base.errors import AnnotationError
from plausibly.data.annotations._rows import Rows
from plausibly.data.annotations.by_case import check_annotated

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations


def rankings_of(
    annotations: "Annotations", position: int, annotators: list[str], classes: list[str]
) -> dict[str, list[list[str]]]:
    """Return the blocks of every annotator of the case at `position`, with names from the two lists."""
    found = {}
    for r in range(annotations.starts[position], annotations.starts[position + 1]):
        entries = slice(annotations.annotation_start[r], annotations.annotation_start[r + 1])
        blocks: list[list[str]] = []
        members = zip(annotations.entry_class[entries], annotations.entry_block[entries], strict=True)
        for class_index, block in members:
            if block == len(blocks):
                blocks.append([])
            blocks[block].append(classes[class_index])
        found[annotators[annotations.annotation_annotator[r]]] = blocks
    return found


def rankings_by_case(annotations: "Annotations") -> Iterator[tuple[str, dict | list]]:
    """Yield the name of every case and what it is in the object form of rankings."""
    check_annotated(annotations)
    annotators, classes = annotations.annotators.tolist(), annotations.classes.tolist()
    for position, name in enumerate(annotations.cases.tolist()):
        rankings = rankings_of(annotations, position, annotators, classes)
        yield name, list(rankings.values()) if annotations.anonymous else rankings


def as_table(annotations: "Annotations", entries: slice = slice(None)) -> pd.DataFrame:
    """Return the long table, ranks counted from 1; of some entries, or of all."""
    check_annotated(annotations)
    annotation = annotations.entry_annotation[entries]
    columns = {
        "case": annotations.cases[annotations.annotation_case[annotation]],
        "annotator": annotations.annotators[annotations.annotation_annotator[annotation]],
        "class": annotations.classes[annotations.entry_class[entries]],
    }
    table = pd.DataFrame({name: column.astype(object) for name, column in columns.items()})
    return table.assign(rank=annotations.entry_block[entries].astype(np.int64) + 1)


def chosen_positions(annotations: "Annotations", cases: Iterable[str] | np.ndarray) -> Int[np.ndarray, " chosen"]:
    """Return the positions of cases given by name, by position or as a mask; refuse cases that do not exist."""
    if isinstance(cases, str):
        raise AnnotationError(f"a list of cases is needed, got the text {cases!r}; write [{cases!r}]")
    if isinstance(cases, np.ndarray) and cases.ndim == 1 and cases.dtype.kind in "iu" and len(cases):
        ascending = (cases[1:] > cases[:-1]).all()
        if ascending and cases[0] >= 0 and cases[-1] < annotations.n_cases:
            return cases.astype(np.int64)  # which is what shards are, thousands of cases at a time
    wanted = list(cases)
    if wanted and all(isinstance(case, bool | np.bool_) for case in wanted):
        if len(wanted) != annotations.n_cases:
            raise AnnotationError(
                f"a mask of {len(wanted)} values does not fit {annotations.n_cases} cases; give one value per case"
            )
        wanted = np.flatnonzero(wanted).tolist()
    chosen = np.array([annotations.position(case) for case in wanted], dtype=np.int64)
    if not len(chosen):
        raise AnnotationError("no case is selected; select at least one")
    repeated = np.flatnonzero(np.bincount(chosen) > 1)
    if len(repeated):
        name = str(annotations.cases[repeated[0]])
        raise AnnotationError(f"case {name!r} is selected twice; select each case once")
    return chosen


def selected_rows(
    annotations: "Annotations", chosen: Int[np.ndarray, " chosen"], kept: Bool[np.ndarray, " annotation"] | None = None
) -> Rows:
    """Return the rows of the cases at these positions, renumbered from 0; of some of their annotations, or of all."""
    begin = annotations.starts[chosen]
    lengths = annotations.starts[chosen + 1] - begin
    annotation = _ranges(begin, lengths)
    number = np.repeat(np.arange(len(chosen)), lengths)
    if kept is not None:
        annotation, number = annotation[kept[annotation]], number[kept[annotation]]
    begin = annotations.annotation_start[annotation]
    sizes = annotations.annotation_start[annotation + 1] - begin
    entry = _ranges(begin, sizes)
    of_entry = annotations.entry_annotation[entry]
    return Rows(
        cases=annotations.cases[chosen],
        classes=annotations.classes,
        annotators=annotations.annotators,
        anonymous=annotations.anonymous,
        case=np.repeat(number, sizes),
        annotator=annotations.annotation_annotator[of_entry],
        class_index=annotations.entry_class[entry],
        rank=annotations.entry_block[entry],
        order=None if annotations.annotation_order is None else annotations.annotation_order[of_entry],
        told=True,
    )


def some_labels(annotations: "Annotations", kept: Bool[np.ndarray, " annotation"]) -> "Annotations":
    """Keep some annotations of the same cases, some of which may then have none."""
    n_kept = np.bincount(annotations.annotation_case[kept], minlength=annotations.n_cases)
    with_some = np.flatnonzero(n_kept)
    found = annotations._from_rows(selected_rows(annotations, with_some, kept), "all", annotations.ordered)
    return replace(found, cases=annotations.cases, annotation_case=with_some[found.annotation_case])


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenate the ranges that begin at `starts` and have these lengths."""
    offsets = np.cumsum(lengths) - lengths
    return np.repeat(starts - offsets, lengths) + np.arange(lengths.sum())


def blocks_by_annotation(annotations: "Annotations", classes: list) -> list[list[list]]:
    """Return the blocks of every annotation, best first, of the classes of all entries as they are to be called."""
    blocks = [classes[begin:end] for begin, end in pairwise(annotations.block_start.tolist())]
    start = np.searchsorted(annotations.block_annotation, np.arange(annotations.n_annotations + 1))
    return [blocks[begin:end] for begin, end in pairwise(start.tolist())]


def first_shares(annotations: "Annotations") -> Float[np.ndarray, "case class"]:
    """Shares of the annotations of each case that name each class first; a tied block names each by its share."""
    first = annotations.entry_block == 0
    annotation = annotations.entry_annotation[first]
    votes = np.zeros((annotations.n_cases, annotations.n_classes))
    place = annotations.annotation_case[annotation], annotations.entry_class[first]
    np.add.at(votes, place, 1 / np.bincount(annotation)[annotation])
    return votes / np.maximum(annotations.per_case, 1)[:, None]
