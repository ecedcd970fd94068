"""Independent cases of similar size, stacked into arrays of a few fixed shapes.

Each bucket holds the cases of one :class:`plausibly.inference._shapes.Shape`. Padding never enters a likelihood: it
consists of draws that occur in no annotation, annotations that name nothing, and slots of zero classes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import dtypes
from jaxtyping import Bool, Float, Int, Shaped

from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import Case
from plausibly.distributions import PartialRankings, Ties
from plausibly.inference._shapes import Fit, Group, Shape, fitting, grid, planned

_TOGETHER = 4096  # cases whose sizes are found at a time


@dataclass(frozen=True)
class Bucket:
    """Cases of one shape, or of several that one program samples."""

    shape: Shape | Group
    cases: Int[np.ndarray, " case"]  #: which cases of the annotations
    slots: Int[np.ndarray, "case slot"]  #: which slots of the posterior; -1 where a slot only fills the shape
    data: Case  #: NumPy arrays with a leading case axis
    annotations: Int[np.ndarray, " annotation"]  #: which annotations belong to these cases
    case: Int[np.ndarray, " annotation"]  #: the place of each annotation's case in the bucket
    row: Int[np.ndarray, " annotation"]  #: and of the annotation in its case


def cases_last(tree: Any, at: Int[np.ndarray, " case"]) -> Any:
    """Take cases from arrays that have them on the first axis, and move them to the last."""

    def take(a: np.ndarray) -> np.ndarray:
        # NumPy's arrays, in the types that programs take: each eager operation of JAX would be compiled for each shape.
        return np.ascontiguousarray(np.moveaxis(a[at], 0, -1), dtypes.canonicalize_dtype(a.dtype))

    return jax.tree.map(take, tree)


class _Draws(NamedTuple):
    """All blocks of one size that are drawn in a group of cases; the different ones of a case are numbered."""

    size: int
    annotation: Int[np.ndarray, " draw"]
    members: Bool[np.ndarray, "draw slot"]
    left: Bool[np.ndarray, "draw slot"]  # what was left before the draw
    number: Int[np.ndarray, " draw"]


class _Layout(NamedTuple):
    """The draws that annotations make, by slot of their case; identical annotations merged, or all pooled in one row.

    The last column is no slot of any case, and fills shapes that have more slots.
    """

    slots: Int[np.ndarray, "case slot"]
    row: Int[np.ndarray, " annotation"]
    kept: Int[np.ndarray, " kept"]  # the annotations that stand for their row, or all if pooled
    blocks: Int[np.ndarray, " annotation"]
    positions: Int[np.ndarray, "annotation slot"]
    draws: list[_Draws]


def _number(case: Int[np.ndarray, " row"], *rows: Shaped[np.ndarray, "row _"]) -> Int[np.ndarray, " row"]:
    """Number the different rows within each case, from 0."""
    parts = [case.astype(">u4")[:, None], *(np.packbits(r, axis=1) if r.dtype == bool else r for r in rows)]
    keys = np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts], axis=1)
    _, first, inverse = np.unique(keys.view(f"V{keys.shape[1]}")[:, 0], return_index=True, return_inverse=True)
    of_case = case[first]  # ascending: the case leads the key, its most significant byte first
    return inverse - np.searchsorted(of_case, case)


def _room(case: Int[np.ndarray, " row"], number: Int[np.ndarray, " row"], n_cases: int) -> Int[np.ndarray, " case"]:
    room = np.zeros(n_cases, int)
    np.maximum.at(room, case, number + 1)
    return room


def _laid_out(annotations: Annotations, slots: Slots, pooled: bool, fit: Fit) -> _Layout:
    n_slots, case = np.diff(slots.start), annotations.annotation_case
    column = np.arange(n_slots.max(initial=0) + 1)
    real = column < n_slots[:, None]
    blocks = np.zeros(annotations.n_annotations, np.int16)
    np.maximum.at(blocks, annotations.entry_annotation, annotations.entry_block + 1)
    positions = np.repeat(blocks[:, None], len(column), axis=1)
    entry_slot = slots.find(annotations.entry_case, annotations.entry_class) - slots.start[annotations.entry_case]
    positions[annotations.entry_annotation, entry_slot] = annotations.entry_block
    every, apart = np.arange(len(case)), None
    if pooled:
        row, kept = np.zeros_like(case), every
    elif fit == "apart":
        row, kept, apart = every - np.searchsorted(case, case), every, np.empty_like(every)
        width = _widths(slots, fit)[case]
        order = np.argsort(width, kind="stable")
        apart[order] = every - np.searchsorted(width[order], width[order])
    else:
        row = _number(case, positions, blocks[:, None])
        kept = np.unique(np.stack([case, row]), axis=1, return_index=True)[1]
    of_slot = np.where(real, slots.start[:-1, None] + column, -1)
    draws = list(_draws(kept, case, positions, blocks, real, apart))
    return _Layout(of_slot, row, kept, blocks, positions, draws)


def _draws(kept, case, positions, blocks, real, apart) -> Iterator[_Draws]:
    drawing, position = np.nonzero(np.arange(blocks.max(initial=0)) < blocks[kept, None])
    annotation = kept[drawing]
    members = positions[annotation] == position[:, None]
    left = (positions[annotation] >= position[:, None]) & real[case[annotation]]
    sizes = members.sum(1)
    for size in np.unique(sizes):
        d = sizes == size
        # A single class shares its denominator with every other one that is drawn from the same set.
        different = [left[d]] if size == 1 else [members[d], left[d]]
        if apart is not None:
            different.append(apart[annotation[d], None])
        yield _Draws(int(size), annotation[d], members[d], left[d], _number(case[annotation[d]], *different))


def _widths(slots: Slots, fit: Fit) -> Int[np.ndarray, " case"]:
    """At least two slots where there is padding, for a distribution over one has no coordinates."""
    n_slots = np.diff(slots.start)
    return n_slots if fit == "exact" else grid(np.maximum(n_slots, 4))


def _shapes(annotations: Annotations, slots: Slots, layout: _Layout, pooled: bool, fit: Fit) -> list[Shape]:
    n, case = annotations.n_cases, annotations.annotation_case
    room = {d.size: _room(case[d.annotation], d.number, n) for d in layout.draws}
    sets = room.pop(1, np.zeros(n, int))
    rows = np.ones(n, int) if pooled else _room(case, layout.row, n)
    ties = [tuple((size, int(count[i])) for size, count in room.items() if count[i]) for i in range(n)]
    sizes = zip(_widths(slots, fit), rows, sets, ties, strict=True)
    return [fitting(int(width), int(r), int(s), t, fit) for width, r, s, t in sizes]


def _stack(
    annotations: Annotations,
    layout: _Layout,
    chosen: Int[np.ndarray, " chosen"],
    shape: Shape,
    concentration: Float[np.ndarray, " slot"],
    slots: Slots,
) -> Bucket:
    n, width, rows = len(chosen), shape.slots, shape.annotations
    column = np.minimum(np.arange(width), layout.slots.shape[1] - 1)
    place_of = np.full(annotations.n_cases, -1)
    place_of[chosen] = np.arange(n)
    case = place_of[annotations.annotation_case]
    inside = np.flatnonzero(case >= 0)
    kept = layout.kept[case[layout.kept] >= 0]
    at = case[kept], layout.row[kept]
    positions = layout.positions[kept][:, column]
    named = positions < layout.blocks[kept, None]
    tied = np.where(named, (positions[:, :, None] == positions[:, None, :]).sum(-1), 1)

    def place(values: np.ndarray, filling: int) -> np.ndarray:
        out = np.full((n, rows, width), filling, values.dtype)
        out[at] = values
        return out

    def add(to: np.ndarray, index: tuple[np.ndarray, ...], values=1) -> np.ndarray:
        np.add.at(to, index, values)
        return to

    counts = np.ones((n, rows), np.float32)
    if len(kept) < len(inside):
        counts = np.maximum(add(np.zeros_like(counts), (case[inside], layout.row[inside])), 1)
    singles = add(np.zeros((n, rows, width), np.float32), at, named & (tied == 1))
    by_size = {d.size: d for d in layout.draws}

    def drawn(size: int) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Members and what was left of the draws of a size, their case and number, and the row of their annotation."""
        d = by_size[size]
        own = case[d.annotation] >= 0
        where = case[d.annotation[own]], d.number[own]
        return d.members[own][:, column], d.left[own][:, column], where, layout.row[d.annotation[own]]

    remaining = np.ones((n, shape.sets, width), bool)
    made = np.zeros((n, rows, shape.sets), np.float32)
    if 1 in by_size:
        _, left, where, row = drawn(1)
        remaining[where] = left
        add(made, (where[0], row, where[1]))
    ties = []
    below = 1
    for size, count in shape.ties:
        members = np.zeros((n, count, size, width), bool)
        rest = np.ones((n, count, width), bool)
        times = np.zeros((n, rows, count), np.float32)
        taken = np.zeros(n, int)
        for smaller in (s for s in by_size if below < s <= size):
            block, left, (of_case, number), row = drawn(smaller)
            tie = taken[of_case] + number
            slot = np.nonzero(block)[1].reshape(-1, smaller)
            members[of_case[:, None], tie[:, None], np.arange(smaller), slot] = True
            rest[of_case, tie] = left & ~block
            add(times, (of_case, row, tie))
            taken += _room(of_case, number, n)
        ties.append(Ties(members, rest, times))
        below = size
    of_slot = layout.slots[chosen][:, column]
    data = Case(
        rankings=PartialRankings(place(positions, 0), singles, remaining, made, tuple(ties)),
        counts=counts,
        named=place(named, 0),
        block_sizes=place(tied, 1),
        concentration=np.where(of_slot < 0, 1, concentration[of_slot]).astype(np.float32),
        n_classes=np.where(of_slot < 0, 0, slots.n_classes[of_slot]),
    )
    return Bucket(shape, chosen, of_slot, data, inside, case[inside], layout.row[inside])


def plan_shapes(
    annotations: Annotations, slots: Slots, *, worth: float, pooled: bool = False, fit: Fit = "merged"
) -> tuple[Shape, ...]:
    """Shapes to which all cases are padded, see :func:`plausibly.inference._shapes.planned`.

    ``worth`` is how much padding a compilation is worth; ``pooled`` and ``fit`` are as for :func:`bucket_cases`.
    """
    return planned(count_shapes(annotations, slots, pooled=pooled, fit=fit), worth)


def count_shapes(annotations: Annotations, slots: Slots, *, pooled: bool = False, fit: Fit = "exact") -> Counter[Shape]:
    """Count the cases of each shape that they have by themselves."""
    counts: Counter[Shape] = Counter()
    for first in range(0, annotations.n_cases, _TOGETHER):
        last = min(first + _TOGETHER, annotations.n_cases)
        part, own = annotations, slots
        if last - first < annotations.n_cases:  # millions of cases have no room side by side
            chosen = np.arange(first, last)
            part = annotations.select(chosen)
            own = slots.select(np.isin(np.arange(annotations.n_cases), chosen))
        counts.update(_shapes(part, own, _laid_out(part, own, pooled, fit), pooled, fit))
    return counts


def bucket_cases(
    annotations: Annotations,
    slots: Slots,
    concentration: Float[np.ndarray, " slot"],
    *,
    pooled: bool = False,
    fit: Fit = "exact",
    shapes: Sequence[Shape] | None = None,
) -> list[Bucket]:
    """Cases sorted into buckets by size, the data of each bucket stacked; ``concentration`` is the prior of every slot.

    If ``pooled``, all annotations of a case are added up in one row that makes all their draws, for a likelihood that
    is a sum over draws; ``positions``, ``named`` and ``block_sizes`` then say nothing. Otherwise identical annotations
    share a row, with their number in ``counts``. With ``fit="exact"``, slots and annotations are not padded, so that
    likelihoods need not allow for it; with ``"merged"``, there are few shapes, in which tied blocks of several sizes
    share one array, and missing members of a block are no class; ``"apart"`` is the same, but every annotation has a
    row and draws of its own, in order. ``shapes`` are from :func:`plan_shapes` for these cases, or for more; without
    them, cases have the shapes that they would have by themselves.
    """
    layout = _laid_out(annotations, slots, pooled, fit)
    of_cases = _shapes(annotations, slots, layout, pooled, fit)
    if shapes is not None:
        first = {own: next(shape for shape in shapes if shape.holds(own)) for own in set(of_cases)}
        of_cases = [first[own] for own in of_cases]
    widths = _widths(slots, fit)
    order = np.argsort(widths, kind="stable")
    return [
        _stack(annotations, layout, order[[of_cases[i] == shape for i in order]], shape, concentration, slots)
        for shape in dict.fromkeys(shape for _, shape in sorted(zip(widths.tolist(), of_cases, strict=True)))
    ]
