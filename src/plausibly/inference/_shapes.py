"""The sizes that programs are compiled for.

A sampler is compiled once for every :class:`Shape`, so shapes come from a fixed ladder: they depend on the case alone
and recur in the next data set. A case takes the first rung that has room for it.
"""

from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

Fit: TypeAlias = Literal["exact", "ladder", "coarse", "merged", "apart"]


class Shape(NamedTuple):
    """The sizes that a sampler is compiled for."""

    slots: int
    annotations: int
    sets: int  # different sets from which a single class is drawn
    ties: tuple[tuple[int, int], ...]  # (size of a tied block, room for different ones)

    def cost(self) -> int:
        """Operations of a likelihood, roughly."""
        return self.slots * (8 + self.sets + sum(count for _, count in self.ties)) + sum(
            count * size * 2 ** min(size, 7) for size, count in self.ties
        )


def grid(n: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
    """The next of 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, …, so that at most a third of an axis is padding.

    Examples
    --------
    >>> grid(np.array([0, 1, 2, 3, 5, 7, 9, 13])).tolist()
    [0, 1, 2, 3, 6, 8, 12, 16]
    """
    power = 2 ** np.ceil(np.log2(np.maximum(n, 1))).astype(int)
    return np.where(np.asarray(n) <= 0, 0, np.where(4 * n <= 3 * power, np.maximum(3 * power // 4, 1), power))


# Slots, sets, tied blocks and classes in each, by rising cost.
MERGED = ((4, 3, 0, 0), (4, 4, 2, 3), (6, 4, 1, 3), (6, 6, 2, 4), (8, 6, 2, 3), (12, 8, 4, 4), (16, 16, 8, 6))

# The same where no two annotations share a draw, with annotations second.
APART = ((4, 4, 6, 0, 0), (6, 8, 12, 2, 4), (12, 12, 24, 8, 4), (16, 16, 32, 8, 6))


@cache
def fitting(width: int, rows: int, sets: int, ties: tuple[tuple[int, int], ...], fit: Fit) -> Shape:
    """The first rung of the ladder that has room for a case; beyond the ladder, a shape of the case's own."""
    if fit in ("merged", "apart"):
        return _merged(width, rows, sets, ties, apart=fit == "apart")
    if fit != "exact" and rows > 1:
        rows = 4 ** int(np.ceil(np.log2(rows) / 2))
    many = 2 * max(width, 16)
    # Few, since each costs a compilation, even where some of the room stays empty.
    rungs = [
        (width, (width + 1) // 2, {2: 2} if width > 2 else {}),
        (width, width, {2: 4, 3: 2}),
        (max(width, 16), many, {2: 8, 3: 4, 4: 2}),
        (max(width, 16), many, {2: 8, 3: 4, 4: 2, 5: 2, 6: 2}),
    ]
    if fit == "exact":
        rungs = [(width, most, room) for _, most, room in rungs]
    for slots, most, room in rungs[(width > 8) + (width > 12) :] if fit == "ladder" else rungs[1::2]:
        if sets <= most and all(count <= room.get(size, 0) for size, count in ties):
            return Shape(slots, rows, most, tuple(room.items()))
    return Shape(width, rows, int(grid(np.array(sets))), tuple((size, int(grid(np.array(n)))) for size, n in ties))


def _merged(width: int, rows: int, sets: int, ties: tuple[tuple[int, int], ...], *, apart: bool) -> Shape:
    """A shape in which small tied blocks use the room of larger ones; few, since unused room costs little.

    Beyond the ladder, sizes grow fourfold and tied blocks always have room: long rankings of many classes have so many
    sizes that shapes of their own would be dozens, each of them compiled.
    """
    n, size = sum(count for _, count in ties), max((size for size, _ in ties), default=0)
    for slots, most_rows, most, room, largest in APART if apart else ((slots, rows, *rest) for slots, *rest in MERGED):
        if width <= slots and rows <= most_rows and sets <= most and n <= room and size <= largest:
            return Shape(slots, most_rows, most, ((largest, room),) if room else ())
    slots, tied = (int(grid(np.array(x))) for x in (max(width, 16), size))
    return Shape(slots, _coarse(rows) if apart else rows, _coarse(sets), ((max(6, tied), _coarse(n)),))


def _coarse(n: int) -> int:
    """The next of 16, 64, 256 and so on."""
    return 4 ** int(np.ceil(np.log2(max(n, 16)) / 2))


def common(shapes: set[Shape]) -> Shape:
    """The least shape that has room for what each of these has."""
    ties = [tie for shape in shapes for tie in shape.ties]
    tied = (max(size for size, _ in ties), max(room for _, room in ties)) if ties else ()
    most = (max(shape[axis] for shape in shapes) for axis in range(3))
    return Shape(*most, (tied,) if tied else ())
