"""The sizes that programs are compiled for.

Every :class:`Shape` is compiled once, and cases of one shape are computed side by side, padded to it. Padding costs
work, a shape costs a compilation, so the number of shapes grows with the work (:func:`planned`): one or two for a
handful of cases, more for a thousand.

The cost model
--------------
A case of a shape takes :meth:`Shape.cost` units of work, times what is repeated for it: draws, sweeps or trajectories
of all chains. A compilation is worth the number of units that :data:`COMPILATION` states. Shapes that cases would have
by themselves are united, two at a time, the pair first that saves most, as long as a compilation saved is worth more
than the padding added.

The constants are ratios of two times on one processor, so that a faster machine speeds up both: a quarter of the time
of tracing and compiling a program, which is done once, with the time of loading it from disk; and the time of one unit.
Tracing, which every process does, takes about half a second more. Roughly, on dermatology cases of the benchmarks, in
seconds of a processor that did other work, too:

==========  =======  ====  =======  ==========================
program     compile  load  unit     repeated for each
==========  =======  ====  =======  ==========================
NUTS        10       0.7   6.5e-8   trajectory, of all chains
Gibbs       8        0.5   7e-9     sweep, of all chains
likelihood  2        0.3   6e-9     draw, of all chains
point       1.5      0.3   1.2e-6   case
==========  =======  ====  =======  ==========================

Plans depend neither on the machine nor on the part of the cases that is at hand, since the shape of a case's arrays
decides on the rounding, and with NUTS on the random numbers, of its draws.
"""

from collections.abc import Iterable, Mapping
from functools import cache
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
        """Operations of a likelihood, roughly: sums over sets of slots, and over the subsets of tied blocks."""
        tied = sum(count * size * 2 ** min(size, 7) for size, count in self.ties)
        return self.slots * (8 + self.sets + sum(count for _, count in self.ties)) + tied

    def holds(self, other: "Shape") -> bool:
        """Whether it has room for all that another has room for."""
        return common({self, other}) == self


class Group(NamedTuple):
    """Shapes of cases that one program samples side by side, each case in its own shape."""

    shapes: tuple[Shape, ...]

    @property
    def slots(self) -> int:
        """Most slots of a case."""
        return max(shape.slots for shape in self.shapes)

    def cost(self) -> int:
        """Operations of a case, roughly: those of all shapes, since cases side by side take the same steps."""
        return sum(shape.cost() for shape in self.shapes)

    def fitting(self, shape: Shape) -> Shape | None:
        """The shape with the fewest annotations that a case of a shape fits in, else None."""
        fits = [own for own in self.shapes if own.annotations >= shape.annotations and own == _roomy(shape, own)]
        return min(fits, default=None)


def _roomy(shape: Shape, like: Shape) -> Shape:
    return shape._replace(annotations=like.annotations)


def with_room(counts: Mapping[Shape, int]) -> dict[Shape, int]:
    """Give shapes that differ in their annotations alone the same room: of the most that any has, in steps from 16."""
    found: dict[Shape, int] = {}
    for shape, n in counts.items():
        like = [other.annotations for other in counts if other == _roomy(shape, other)]
        most = max((rows for rows in like if rows <= _LARGE), default=0)
        room = shape._replace(annotations=most if shape.annotations <= _LARGE else _coarse(shape.annotations))
        found[room] = found.get(room, 0) + n
    return found


def grouped(counts: Mapping[Shape, int], worth: float) -> tuple[Group, ...]:
    """Groups of shapes to compile one program for, by rising cost, given how many cases have each shape.

    Shapes are not padded. Two groups are united as long as the compilation that is saved is ``worth`` more units of
    :meth:`Shape.cost` than it costs that the cases of each take the steps of both.

    Examples
    --------
    >>> counts = {Shape(3, rows, 3, ()): 5 for rows in range(4)}
    >>> [[len(group.shapes) for group in grouped(counts, worth)] for worth in (0, 1000, 1e6)]
    [[1, 1, 1, 1], [2, 2], [4]]
    """
    found = [(Group((shape,)), counts[shape]) for shape in sorted(counts)]
    while len(found) > 1:
        cost, n = (np.array(column, float) for column in zip(*((g.cost(), n) for g, n in found), strict=True))
        work = n * cost
        saving = float(worth) + work[:, None] + work - (n[:, None] + n) * (cost[:, None] + cost)
        kind = np.array([2 * len(g.shapes[0].ties) + (g.slots > LARGEST_GROUPED) for g, _ in found])
        saving[(kind[:, None] != kind) | np.eye(len(found), dtype=bool)] = -np.inf
        a, b = sorted(np.unravel_index(saving.argmax(), saving.shape))
        if saving[a, b] <= 0:
            break
        found[a] = Group(tuple(sorted(found[a][0].shapes + found[b][0].shapes))), found[a][1] + found[b][1]
        del found[b]
    return tuple(sorted((group for group, _ in found), key=lambda group: (group.cost(), group)))


LARGEST_GROUPED = 32  #: slots of cases in groups; those of more are of other groups, without an order of their slots


def grid(n: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
    """The next of 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, …, so that at most a third of an axis is padding."""
    power = 2 ** np.ceil(np.log2(np.maximum(n, 1))).astype(int)
    return np.where(np.asarray(n) <= 0, 0, np.where(4 * n <= 3 * power, np.maximum(3 * power // 4, 1), power))


_LARGE = 16  # slots, sets or tied blocks up to which a case's own shape fits closely

# Shapes where no two annotations share a draw: slots, annotations, sets, tied blocks and classes in each.
APART = ((4, 4, 6, 0, 0), (6, 8, 12, 2, 4), (12, 12, 24, 8, 4), (16, 16, 32, 8, 6))


@cache
def fitting(width: int, rows: int, sets: int, ties: tuple[tuple[int, int], ...], fit: Fit) -> Shape:
    """The shape that a case has by itself.

    Small tied blocks use the room of larger ones, except with ``"exact"``. Sizes grow by steps of at most a half
    (:func:`grid`). Those of large cases grow fourfold, with room for tied blocks in any case: long rankings of many
    classes have so many sizes that there would be hundreds of shapes.
    """
    if fit == "exact":
        return _exact(width, rows, sets, ties)
    n, size = sum(count for _, count in ties), max((size for size, _ in ties), default=0)
    if fit == "apart":
        for slots, most_rows, most, room, largest in APART:
            if width <= slots and rows <= most_rows and sets <= most and n <= room and size <= largest:
                return Shape(slots, most_rows, most, ((largest, room),) if room else ())
        rows = _coarse(rows)
    elif rows > 1:
        rows = 4 ** int(np.ceil(np.log2(rows) / 2))
    width, tied = (int(grid(np.array(x))) for x in (width, size))
    if fit == "merged" and max(width, sets, n) <= _LARGE and size <= 6:
        return Shape(width, rows, int(grid(np.array(sets))), ((tied, int(grid(np.array(n)))),) if n else ())
    return Shape(max(width, 16), rows, _coarse(sets), ((max(6, tied), _coarse(n)),))


def _exact(width: int, rows: int, sets: int, ties: tuple[tuple[int, int], ...]) -> Shape:
    for most, room in ((width, {2: 4, 3: 2}), (2 * max(width, 16), {2: 8, 3: 4, 4: 2, 5: 2, 6: 2})):
        if sets <= most and all(count <= room.get(size, 0) for size, count in ties):
            return Shape(width, rows, most, tuple(room.items()))
    return Shape(width, rows, int(grid(np.array(sets))), tuple((size, int(grid(np.array(n)))) for size, n in ties))


def _coarse(n: int) -> int:
    """The next of 16, 64, 256 and so on."""
    return 4 ** int(np.ceil(np.log2(max(n, 16)) / 2))


def common(shapes: Iterable[Shape]) -> Shape:
    """The least shape that has room for what each of these has."""
    return _shape(np.max([_sizes(shape) for shape in shapes], axis=0))


def _sizes(shape: Shape) -> tuple[int, ...]:
    """Slots, annotations, sets, and the size and number of tied blocks."""
    ties = [(size, count) for size, count in shape.ties if count]
    return (*shape[:3], max((size for size, _ in ties), default=0), max((count for _, count in ties), default=0))


def _shape(sizes: Int[np.ndarray, "5"]) -> Shape:
    slots, rows, sets, size, count = map(int, sizes)
    return Shape(slots, rows, sets, ((size, count),) if count else ())


def _cost(sizes: Int[np.ndarray, "*shape 5"]) -> Int[np.ndarray, "*shape"]:
    slots, _, sets, size, count = np.moveaxis(sizes, -1, 0)
    return slots * (8 + sets + count) + count * size * 2 ** np.minimum(size, 7)


#: Units of work (:meth:`Shape.cost`, once for each case) that one compilation is worth, by kind of program.
COMPILATION = {"nuts": 5e7, "gibbs": 3.5e8, "likelihood": 1.3e8, "point": 6e5}


def pays_to_optimise(kind: str, shapes: Iterable[Shape], n_cases: int, repetitions: int) -> bool:
    """Whether so many cases run long enough that a program is worth more than the cheapest compilation.

    Compiling a sampler with all optimisations takes twice as long, and halves the time that it runs. Roughly, on the
    processor of the table above: NUTS 8.1 instead of 5.1 seconds, Gibbs 3.8 instead of 1.8. A single case, which runs
    for a quarter of a second, does not earn them. ``kind`` is a key of :data:`COMPILATION`, ``n_cases`` the number of
    all cases, not of those of a shard, and ``repetitions`` that of sweeps or trajectories, of all chains.

    Examples
    --------
    >>> [pays_to_optimise("gibbs", [Shape(8, 1, 8, ((4, 4),))], n_cases, 4200) for n_cases in (1, 1000)]
    [False, True]
    """
    return n_cases * max(shape.cost() for shape in shapes) * repetitions > COMPILATION[kind] / 4


def planned(counts: Mapping[Shape, int], worth: float) -> tuple[Shape, ...]:
    """Shapes to compile, by rising cost, given how many cases have each shape by themselves.

    ``worth`` is how many units of :meth:`Shape.cost` a compilation is worth.
    """
    shapes = sorted(counts)
    sizes, number = np.array([_sizes(shape) for shape in shapes]), np.array([counts[shape] for shape in shapes])
    while len(sizes) > 1:
        united = np.maximum(sizes[:, None], sizes)
        work = number * _cost(sizes)
        saving = float(worth) + work[:, None] + work - (number[:, None] + number) * _cost(united)
        np.fill_diagonal(saving, -np.inf)
        a, b = sorted(np.unravel_index(saving.argmax(), saving.shape))
        if saving[a, b] <= 0:
            break
        sizes[a], number[a] = united[a, b], number[a] + number[b]
        sizes, number = np.delete(sizes, b, axis=0), np.delete(number, b)
    return tuple(sorted({_shape(own) for own in sizes}, key=lambda shape: (shape.cost(), shape)))
