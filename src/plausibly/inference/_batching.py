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

from plausibly.annotations import Annotations, Slots
from plausibly.case import Case
from plausibly.distributions import PartialRankings, Ties
from plausibly.inference._shapes import Fit, Shape, fitting, grid, planned

_TOGETHER = 4096  # cases whose sizes are found at a time


@dataclass(frozen=True)
class Bucket:
    """Cases of one shape."""

    shape: Shape
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


class _Group(NamedTuple):
    """Cases of a similar number of slots, with their annotations, identical ones merged or all pooled into one row."""

    cases: Int[np.ndarray, " case"]
    slots: Int[np.ndarray, "case slot"]
    annotations: Int[np.ndarray, " annotation"]
    case: Int[np.ndarray, " annotation"]
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


def _groups(annotations: Annotations, slots: Slots, pooled: bool, fit: Fit) -> Iterator[_Group]:
    n_slots = np.diff(slots.start)
    # At least two slots where there is padding, for a distribution over one has no coordinates.
    width = n_slots if fit == "exact" else grid(np.maximum(n_slots, 4))
    entry_case = annotations.entry_case
    entry_slot = slots.find(entry_case, annotations.entry_class) - slots.start[entry_case]
    blocks = np.zeros(annotations.n_annotations, np.int16)
    np.maximum.at(blocks, annotations.entry_annotation, annotations.entry_block + 1)
    for size in np.unique(width):
        cases = np.flatnonzero(width == size)
        real = np.arange(size) < n_slots[cases, None]
        here = np.flatnonzero(width[annotations.annotation_case] == size)
        case = np.searchsorted(cases, annotations.annotation_case[here])
        positions = np.repeat(blocks[here, None], size, axis=1)
        entries = width[entry_case] == size
        at = np.searchsorted(here, annotations.entry_annotation[entries])
        positions[at, entry_slot[entries]] = annotations.entry_block[entries]
        if pooled:
            row, kept = np.zeros_like(case), np.arange(len(case))
        elif fit == "apart":
            row, kept = np.arange(len(case)) - np.searchsorted(case, case), np.arange(len(case))
        else:
            row = _number(case, positions, blocks[here, None])
            kept = np.unique(np.stack([case, row]), axis=1, return_index=True)[1]
        yield _Group(
            cases,
            np.where(real, slots.start[cases, None] + np.arange(size), -1),
            here,
            case,
            row,
            kept,
            blocks[here],
            positions,
            list(_draws(kept, case, positions, blocks[here], real, fit == "apart")),
        )


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
        if apart:
            different.append(annotation[d, None])
        yield _Draws(int(size), annotation[d], members[d], left[d], _number(case[annotation[d]], *different))


def _shapes(group: _Group, pooled: bool, fit: Fit) -> list[Shape]:
    n = len(group.cases)
    room = {d.size: _room(group.case[d.annotation], d.number, n) for d in group.draws}
    sets = room.pop(1, np.zeros(n, int))
    rows = np.ones(n, int) if pooled else _room(group.case, group.row, n)
    ties = [tuple((size, int(count[i])) for size, count in room.items() if count[i]) for i in range(n)]
    return [fitting(group.slots.shape[1], int(r), int(s), t, fit) for r, s, t in zip(rows, sets, ties, strict=True)]


def _stack(
    group: _Group,
    chosen: Int[np.ndarray, " chosen"],
    shape: Shape,
    concentration: Float[np.ndarray, " slot"],
    slots: Slots,
) -> Bucket:
    n, width, rows = len(chosen), shape.slots, shape.annotations
    group = _widen(group, width)
    local = np.full(len(group.cases), -1)
    local[chosen] = np.arange(n)
    inside = local[group.case] >= 0
    kept = group.kept[inside[group.kept]]
    at = local[group.case[kept]], group.row[kept]
    named = group.positions < group.blocks[:, None]
    tied = np.where(named, (group.positions[:, :, None] == group.positions[:, None, :]).sum(-1), 1)

    def place(values: np.ndarray, filling: int) -> np.ndarray:
        out = np.full((n, rows, width), filling, values.dtype)
        out[at] = values[kept]
        return out

    def add(to: np.ndarray, index: tuple[np.ndarray, ...], values=1) -> np.ndarray:
        np.add.at(to, index, values)
        return to

    counts = np.ones((n, rows), np.float32)
    if len(kept) < inside.sum():
        counts = np.maximum(add(np.zeros_like(counts), (local[group.case[inside]], group.row[inside])), 1)
    singles = add(np.zeros((n, rows, width), np.float32), at, (named & (tied == 1))[kept])
    draws = {d.size: d for d in group.draws}
    nothing = np.zeros((0, width), bool)
    none = _Draws(0, np.zeros(0, int), nothing, nothing, np.zeros(0, int))

    def drawn(size: int) -> tuple[_Draws, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
        d = draws.get(size, none)
        mine = inside[d.annotation]
        case = local[group.case[d.annotation[mine]]]
        return d, mine, (case, d.number[mine]), group.row[d.annotation[mine]]

    remaining = np.ones((n, shape.sets, width), bool)
    made = np.zeros((n, rows, shape.sets), np.float32)
    d, mine, where, row = drawn(1)
    remaining[where] = d.left[mine]
    add(made, (where[0], row, where[1]))
    ties = []
    below = 1
    for size, count in shape.ties:
        members = np.zeros((n, count, size, width), bool)
        rest = np.ones((n, count, width), bool)
        times = np.zeros((n, rows, count), np.float32)
        taken = np.zeros(n, int)
        for smaller in (s for s in draws if below < s <= size):
            d, mine, (case, number), row = drawn(smaller)
            tie = taken[case] + number
            slot = np.nonzero(d.members[mine])[1].reshape(-1, smaller)
            members[case[:, None], tie[:, None], np.arange(smaller), slot] = True
            rest[case, tie] = (d.left & ~d.members)[mine]
            add(times, (case, row, tie))
            taken += _room(case, number, n)
        ties.append(Ties(members, rest, times))
        below = size
    of_slot = group.slots[chosen]
    data = Case(
        rankings=PartialRankings(place(group.positions, 0), singles, remaining, made, tuple(ties)),
        counts=counts,
        named=place(named, 0),
        block_sizes=place(tied, 1),
        concentration=np.where(of_slot < 0, 1, concentration[of_slot]).astype(np.float32),
        n_classes=np.where(of_slot < 0, 0, slots.n_classes[of_slot]),
    )
    return Bucket(
        shape,
        group.cases[chosen],
        of_slot,
        data,
        group.annotations[inside],
        local[group.case[inside]],
        group.row[inside],
    )


def _widen(group: _Group, width: int) -> _Group:
    """Fill up the slots of a group, for a shape that has more of them."""
    more = ((0, 0), (0, width - group.slots.shape[1]))
    if not more[1][1]:
        return group
    beyond = np.repeat(group.blocks[:, None], more[1][1], axis=1)
    return group._replace(
        slots=np.pad(group.slots, more, constant_values=-1),
        positions=np.concatenate([group.positions, beyond], axis=1),
        draws=[d._replace(members=np.pad(d.members, more), left=np.pad(d.left, more)) for d in group.draws],
    )


def plan_shapes(
    annotations: Annotations, slots: Slots, *, worth: float, pooled: bool = False, fit: Fit = "merged"
) -> tuple[Shape, ...]:
    """Decide on the shapes to which cases are padded, see :func:`plausibly.inference._shapes.planned`.

    Parameters
    ----------
    annotations, slots
        All cases, and their (case, class) pairs that carry mass.
    worth
        How much padding a compilation is worth.
    pooled, fit
        As for :func:`bucket_cases`.
    """
    counts: Counter[Shape] = Counter()
    for first in range(0, annotations.n_cases, _TOGETHER):
        last = min(first + _TOGETHER, annotations.n_cases)
        part, own = annotations, slots
        if last - first < annotations.n_cases:  # millions of cases have no room side by side
            chosen = np.arange(first, last)
            part = annotations.select(chosen)
            own = slots.select(np.isin(np.arange(annotations.n_cases), chosen))
        for group in _groups(part, own, pooled, fit):
            counts.update(_shapes(group, pooled, fit))
    return planned(counts, worth)


def bucket_cases(
    annotations: Annotations,
    slots: Slots,
    concentration: Float[np.ndarray, " slot"],
    *,
    pooled: bool = False,
    fit: Fit = "exact",
    shapes: Sequence[Shape] | None = None,
) -> list[Bucket]:
    """Sort cases into buckets by size and stack each bucket's data.

    Parameters
    ----------
    annotations, slots
        The annotations, and their (case, class) pairs that carry mass.
    concentration
        Prior shape of every slot.
    pooled
        Add up all annotations of a case in one row that makes all their draws, for a likelihood that is a sum over
        draws. ``positions``, ``named`` and ``block_sizes`` then say nothing. Otherwise identical annotations share a
        row, with their number in ``counts``.
    fit
        ``"exact"``: no padding of slots and annotations, so that likelihoods need not allow for it. ``"merged"``: few
        shapes, in which tied blocks of several sizes share one array; missing members of a block are no class.
        ``"apart"``: the same, but every annotation has a row and draws of its own, in order.
    shapes
        What :func:`plan_shapes` decided on for these cases, or for more; without it, cases have the shapes that they
        would have by themselves.
    """
    buckets: dict[Shape, list[Bucket]] = {}
    for group in _groups(annotations, slots, pooled, fit):
        of_cases = _shapes(group, pooled, fit)
        if shapes is not None:
            first = {own: next(shape for shape in shapes if shape.holds(own)) for own in set(of_cases)}
            of_cases = [first[own] for own in of_cases]
        for shape in sorted(set(of_cases)):
            chosen = np.flatnonzero([s == shape for s in of_cases])
            buckets.setdefault(shape, []).append(_stack(group, chosen, shape, concentration, slots))
    return [_joined(parts) for parts in buckets.values()]


def _joined(parts: list[Bucket]) -> Bucket:
    """One bucket of those of one shape."""
    if len(parts) == 1:
        return parts[0]
    offset = np.cumsum([0, *(len(part.cases) for part in parts)])
    return Bucket(
        shape=parts[0].shape,
        cases=np.concatenate([part.cases for part in parts]),
        slots=np.concatenate([part.slots for part in parts]),
        data=jax.tree.map(lambda *arrays: np.concatenate(arrays), *(part.data for part in parts)),
        annotations=np.concatenate([part.annotations for part in parts]),
        case=np.concatenate([part.case + first for part, first in zip(parts, offset, strict=False)]),
        row=np.concatenate([part.row for part in parts]),
    )
