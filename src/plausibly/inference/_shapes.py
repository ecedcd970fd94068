"""The sizes that programs are compiled for.

Every :class:`Shape` is compiled once, and cases of one shape are computed side by side, padded to it. Padding costs
work, a shape costs a compilation, so the number of shapes grows with the work (:func:`planned`): one or two for a
handful of cases, the whole ladder of :func:`fitting` for a thousand.

The cost model
--------------
Cases of a shape take :meth:`Shape.cost` units of work each, times what is repeated for them: iterations, chains, draws.
A compilation is worth a number of units that :data:`COMPILATION` states for each kind of program. The shapes that cases
would have by themselves are united, two at a time, as long as a compilation that is saved is worth more than the
padding that is added. The constants are ratios of two times on one processor, the compilation of a program and its run,
both measured on the 1,947 dermatology cases of the benchmarks on two cores; a faster machine speeds up both. Plans do
not depend on the machine, since the shape of a case's arrays decides on the rounding of its draws.
"""

from collections.abc import Mapping
from functools import cache
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

Fit: TypeAlias = Literal["exact", "merged", "apart"]


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

    def holds(self, other: "Shape") -> bool:
        """Whether it has room for all that another has room for."""
        return common({self, other}) == self


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
    """The shape that a case has by itself: the first rung of a ladder with room for it, beyond the ladder one of its own.

    Small tied blocks use the room of larger ones, except with ``"exact"``. Beyond the ladder, sizes grow fourfold and
    tied blocks always have room: long rankings of many classes have so many sizes that shapes of their own would be
    dozens.
    """
    if fit == "exact":
        return _exact(width, rows, sets, ties)
    n, size = sum(count for _, count in ties), max((size for size, _ in ties), default=0)
    apart = fit == "apart"
    if not apart and rows > 1:
        rows = 4 ** int(np.ceil(np.log2(rows) / 2))
    for slots, most_rows, most, room, largest in APART if apart else ((slots, rows, *rest) for slots, *rest in MERGED):
        if width <= slots and rows <= most_rows and sets <= most and n <= room and size <= largest:
            return Shape(slots, most_rows, most, ((largest, room),) if room else ())
    slots, tied = (int(grid(np.array(x))) for x in (max(width, 16), size))
    return Shape(slots, _coarse(rows) if apart else rows, _coarse(sets), ((max(6, tied), _coarse(n)),))


def _exact(width: int, rows: int, sets: int, ties: tuple[tuple[int, int], ...]) -> Shape:
    for most, room in ((width, {2: 4, 3: 2}), (2 * max(width, 16), {2: 8, 3: 4, 4: 2, 5: 2, 6: 2})):
        if sets <= most and all(count <= room.get(size, 0) for size, count in ties):
            return Shape(width, rows, most, tuple(room.items()))
    return Shape(width, rows, int(grid(np.array(sets))), tuple((size, int(grid(np.array(n)))) for size, n in ties))


def _coarse(n: int) -> int:
    """The next of 16, 64, 256 and so on."""
    return 4 ** int(np.ceil(np.log2(max(n, 16)) / 2))


def common(shapes: set[Shape]) -> Shape:
    """The least shape that has room for what each of these has."""
    ties = [tie for shape in shapes for tie in shape.ties]
    tied = (max(size for size, _ in ties), max(room for _, room in ties)) if ties else ()
    most = (max(shape[axis] for shape in shapes) for axis in range(3))
    return Shape(*most, (tied,) if tied else ())


#: Units of work (:meth:`Shape.cost`, once for each case) that one compilation is worth, by kind of program.
COMPILATION = {"nuts": 4e7, "gibbs": 4e7, "likelihood": 4e7, "point": 1e7}


def planned(counts: Mapping[Shape, int], worth: float) -> tuple[Shape, ...]:
    """Decide on the shapes to compile, by rising cost.

    Parameters
    ----------
    counts
        How many cases have each shape by themselves.
    worth
        How many units of :meth:`Shape.cost` a compilation is worth.

    Examples
    --------
    >>> small, large = Shape(4, 1, 4, ((3, 2),)), Shape(12, 1, 8, ((4, 4),))
    >>> planned({small: 10, large: 5}, worth=1e5) == (large,)
    True
    >>> planned({small: 1000, large: 500}, worth=1e5) == (small, large)
    True
    """
    counts = dict(counts)
    while len(counts) > 1:

        def saving(pair: tuple[Shape, Shape]) -> float:
            return worth - sum(counts[s] * (common(set(pair)).cost() - s.cost()) for s in pair)

        best = max(combinations(sorted(counts), 2), key=saving)
        if saving(best) <= 0:
            break
        united = common(set(best))
        n = sum(counts.pop(shape) for shape in best)
        counts[united] = counts.get(united, 0) + n
    return tuple(sorted(counts, key=lambda shape: (shape.cost(), shape)))

