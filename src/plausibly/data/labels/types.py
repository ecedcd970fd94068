"""Types of labels, and the distance that each is compared by unless another is asked for.

Equality is a distance for categories only: two captions, or two sets of boxes, are hardly ever equal, so by equality
every answer would be as far from the annotators as they are from each other.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.answers import parsed
from plausibly.data.annotations.io.columns import odd_among_numbers
from plausibly.data.annotations.scores import MOST_GRADES
from plausibly.data.labels.container import Labels, are_single
from plausibly.distances import BY_TYPE, set_of, tree_of

#: By type of label, the distance that is taken, and what the labels are called.
USUAL: Mapping[str, tuple[str, str]] = {
    "categories": ("nominal", "categories"),
    "grades": ("ordinal", "grades"),
    "numbers": ("interval", "numbers"),
    "sets": ("jaccard", "sets"),
    "vectors": ("rmse", "lists of numbers of the same length"),
    "boxes": ("box_iou", "boxes"),
    "keypoints": ("keypoint_oks", "keypoints"),
    "spans": ("span_f1_lenient_range_strict_tag", "spans"),
    "text": ("bleu", "texts"),
    "trees": ("tree_edit_norm", "trees"),
    "partial rankings": ("partial_rankings", "rankings"),
}
_NUMERIC = ("ordinal", "interval")  # distances that are usual for numbers
_LOOKED_AT = 300  # different labels that show the type
_FEW = 20  # labels of which words and repetitions tell little
_UNIQUE = 0.9
_BY_SIZE = {"text": ("bleu", f", or another of {', '.join(BY_TYPE['text'])}"), "numbers": ("squared", "")}


@dataclass(frozen=True)
class Usual:
    """Name of a distance that was chosen by the type of the labels, and this choice in words."""

    name: str
    words: str


def usual_distance(source: Any, labels: Labels) -> Usual:
    """Choose the distance that compares labels of this type; `source` is what they were read from.

    Raises
    ------
    ArgumentError
        If the type is unclear; the message names distances to choose from.
    """
    if isinstance(source, Annotations):
        kind = "categories" if are_single(source) else "partial rankings"
    else:
        kind = type_of(labels)
    if kind == "categories" and labels.values.dtype.kind in "OUT":
        names, counts = np.unique(labels.values.astype(str), return_counts=True)
        if odd := odd_among_numbers(names, counts):
            raise ArgumentError(
                f"labels are numbers but for {', '.join(odd)}: correct these, or leave them out; if all are names of "
                'classes, say distance="nominal" (--distance nominal).'
            )
    if kind not in USUAL:
        raise ArgumentError(
            f"there is no usual distance for labels that are {kind}; name it, as in distance=… (--distance …)."
        )
    name, called = USUAL[kind]
    return Usual(name, f"distance: {name}, since labels are {called}")


def check_nominal(labels: Labels, measure: str = "", instead: str = "give") -> None:
    """Refuse to compare texts by equality if hardly any is the same as another; for a `measure`, numbers as well.

    Raises
    ------
    ArgumentError
        If the labels are such; the message says what to do `instead`.
    """
    if labels.is_numeric and not measure:  # which may be compared by several distances
        return
    n = len(np.unique(labels.values)) if labels.is_numeric else _n_different(labels)
    if n >= _UNIQUE * len(labels) and not (labels.is_numeric and n < _FEW) and (kind := type_of(labels)) in _BY_SIZE:
        name, others = _BY_SIZE[kind]
        raise ArgumentError(
            f"{measure or 'the nominal distance'} asks whether labels are equal, but these are {USUAL[kind][1]} that "
            f"hardly ever repeat, {n:,} different ones of {len(labels):,}, so it tells nothing: {instead} "
            f'distance="{name}" (--distance {name}){others}.'
        )


def type_of(labels: Labels) -> str:
    """Name the type of the labels, as in :data:`USUAL`; or say what labels of an unclear type may be."""
    if labels.is_numeric:
        n = len(np.unique(labels.values))
        return "categories" if n <= 2 else "grades" if are_grades(labels.values) else "numbers"
    step = max(1, len(labels) // _LOOKED_AT)
    some = labels.values.tolist()[::step]
    cells = [value.tolist() if isinstance(value, np.ndarray) else parsed(value) for value in some]
    if all(isinstance(value, Set) for value in cells):
        return "sets"
    if all(isinstance(value, list | tuple | Mapping) for value in cells):
        return _of_parts(cells)
    if all(isinstance(value, str) for value in some):
        return _of_words(labels, some)
    return "categories"


def are_grades(values: np.ndarray) -> bool:
    """Whether numbers are whole, and so few different ones that each may be a class."""
    return len(np.unique(values)) <= MOST_GRADES and not (values.astype(float) % 1).any()


def may_be_names(labels: Labels, distance: str) -> str | None:
    """Say what to do if numbers that are compared by their order or size are names of classes; None if they are not."""
    if (
        distance not in _NUMERIC
        or not labels.is_numeric
        or (labels.values.astype(float) % 1).any()
        or len(np.unique(labels.values)) <= 2
    ):
        return None
    return (
        "Labels are numbers, so it counts how far they are apart; if they are names of classes, say "
        'distance="nominal" (--distance nominal)'
    )


def _n_different(labels: Labels) -> int:
    return len({*map(str, labels.values.tolist())})


def _of_words(labels: Labels, some: Sequence[str]) -> str:
    """Tell trees and free texts from names of classes, which repeat, and are short."""
    n_words = float(np.mean([len(value.split()) for value in some]))
    if n_words > 1 and all(_is_tree(value) for value in some):
        return "trees"
    names = {*map(str, labels.values.tolist())}
    if _are_joined(names):
        return "sets"
    different = len(names)
    if different <= len(labels) / 2:
        return "categories"
    if n_words >= 5 or (n_words >= 2.5 and len(labels) >= _FEW):
        return "text"
    if len(labels) >= _FEW and different >= _UNIQUE * len(labels):
        return (
            f'short texts, {different:,} different ones of {len(labels):,} ("nominal" if they are names of classes, '
            '"levenshtein" or "bleu" if they are texts)'
        )
    return "categories"


def _are_joined(names: Set[str]) -> bool:
    """Whether names are sets of a few others, joined by bars or semicolons: these are fewer, and some stand alone."""
    joined = [name for name in names if "|" in name or ";" in name]
    members = frozenset().union(*map(set_of, joined))
    return len(joined) > 1 and len(members) < len(names) and bool(members & names)


def _is_tree(value: str) -> bool:
    if not (value.startswith("(") and value.endswith(")")):
        return False
    try:
        tree_of(value)
    except ValueError:
        return False
    return True


def _of_parts(cells: Sequence[Any]) -> str:
    """Tell lists of numbers, of names and of objects by their members."""
    if any(isinstance(value, Mapping) for value in cells):
        members = [value for value in cells if isinstance(value, Mapping)]
    else:
        members = [member for value in cells for member in value]
    members = [member.tolist() if isinstance(member, np.ndarray) else member for member in members]
    if members and all(isinstance(member, Mapping) for member in members):
        keys = set.intersection(*({*member} for member in members))
        return "keypoints" if "keypoints" in keys else "spans" if {"start", "end"} <= keys else "mappings"
    if members and all(isinstance(member, list | tuple) for member in members):
        return _of_lists(members)
    if members and all(_is_number(member) for member in members):
        lengths = {len(value) for value in cells}
        if len(lengths) == 1 and not (lengths == {4} and all(_is_box(value) for value in cells)):
            return "vectors"
        return 'lists of numbers ("rmse" for vectors, "box_iou" for boxes by their corners)'
    if any(isinstance(member, list | tuple) for member in members):
        return "partial rankings"  # some of whose blocks are single names
    if members:
        return 'lists of names ("jaccard" for sets, "kendall" for rankings)'
    return "empty lists"


def _of_lists(members: Sequence[Any]) -> str:
    """Tell spans, boxes and blocks of rankings."""
    if all(len(one) == 3 and _is_number(one[0]) and _is_number(one[1]) and not _is_number(one[2]) for one in members):
        return "spans"
    if all(_is_box(one) for one in members):
        return "boxes"
    if all(isinstance(name, str) for one in members for name in one):
        return "partial rankings"
    return 'lists of lists ("box_iou" for boxes, "keypoint_oks" for keypoints, "span_f1" for spans, or a function)'


def _is_box(one: Any) -> bool:
    corners = [number for corner in one for number in (corner if isinstance(corner, list | tuple) else [corner])]
    return len(corners) == 4 and all(map(_is_number, corners)) and corners[0] <= corners[2] and corners[1] <= corners[3]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.number) and not isinstance(value, bool)
