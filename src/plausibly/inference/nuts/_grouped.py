"""Cases of different shapes side by side in one sampler.

A program of a user's own need not allow for padding, so that every case is computed in its own shape. But a sampler
takes seconds to compile, whatever it samples, while potentials are small. So one sampler has the potentials of a group
of shapes: the arrays of a case fill a corner of larger ones, from which the potential of its shape takes them.
Positions are as long as the longest; what a case does not use of its position is standard normal, and nothing reads it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from plausibly.data.case import Case
from plausibly.distributions import Order, PartialRankings, Ties
from plausibly.inference._batching import Bucket
from plausibly.inference._shapes import Group, Shape
from plausibly.inference.program import CaseData, Program

Sizes = tuple[tuple[int, ...], ...]  # of the arrays of a case


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Grouped:
    """Input of a program for one case, in a corner of larger arrays."""

    data: CaseData
    number: Int[Array, "*case"]  # of its shape
    sizes: tuple[Sizes, ...] = field(metadata={"static": True})  # by shape

    def of(self, number: int) -> CaseData:
        """Take the arrays of a case of a shape."""
        leaves, tree = jax.tree.flatten(self.data.case)
        own = [_corner(leaf, size) for leaf, size in zip(leaves, self.sizes[number], strict=True)]
        return CaseData(jax.tree.unflatten(tree, own), self.data.arguments)


def _corner(array: Any, size: tuple[int, ...]) -> Any:
    if isinstance(array, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(size, array.dtype)
    return array[tuple(map(slice, size))]


def _sizes(shape: Shape, ordered: bool) -> Sizes:
    """Sizes of the arrays of a :class:`plausibly.case.Case` of a shape, in the order of its leaves."""
    width, rows, sets, ties = shape
    of_ties = [Ties((n, size, width), (n, width), (rows, n)) for size, n in ties]
    rankings = PartialRankings((rows, width), (rows, width), (sets, width), (rows, sets), tuple(of_ties))
    gaps = width - 1
    order = Order((width, width), (gaps, gaps), (gaps, gaps), (gaps,), (gaps,)) if ordered else None
    case = Case(rankings, (rows,), (rows, width), (rows, width), (width,), (width,), order)
    return tuple(jax.tree.leaves(case, is_leaf=lambda part: type(part) is tuple and all(type(n) is int for n in part)))


def group_buckets(
    buckets: Sequence[Bucket], group: Group
) -> tuple[Bucket, Int[np.ndarray, " case"], tuple[Sizes, ...]]:
    """Join buckets of the shapes of a group.

    Returns
    -------
    The bucket of all their cases, the number of the shape of each case, and the sizes of the arrays of each shape.
    """
    sizes = tuple(_sizes(shape, buckets[0].data.order is not None) for shape in group.shapes)
    whole = [tuple(np.max([own[leaf] for own in sizes], axis=0)) for leaf in range(len(sizes[0]))]
    _, tree = jax.tree.flatten(buckets[0].data)
    leaves = []
    for number, size in enumerate(whole):
        parts = [jax.tree.leaves(bucket.data)[number] for bucket in buckets]
        joined = np.zeros((sum(len(part) for part in parts), *size), parts[0].dtype)
        at = 0
        for part in parts:
            joined[(slice(at, at + len(part)), *map(slice, part.shape[1:]))] = part
            at += len(part)
        leaves.append(joined)
    n = [len(bucket.cases) for bucket in buckets]
    slots = np.full((sum(n), group.slots), -1)
    first = np.cumsum([0, *n[:-1]])
    for at, bucket in zip(first, buckets, strict=True):
        slots[at : at + len(bucket.cases), : bucket.slots.shape[1]] = bucket.slots
    joined = Bucket(
        group,
        np.concatenate([bucket.cases for bucket in buckets]),
        slots,
        jax.tree.unflatten(tree, leaves),
        np.concatenate([bucket.annotations for bucket in buckets]),
        np.concatenate([bucket.case + at for at, bucket in zip(first, buckets, strict=True)]),
        np.concatenate([bucket.row for bucket in buckets]),
    )
    return joined, np.repeat([group.shapes.index(bucket.shape) for bucket in buckets], n), sizes


def with_rows(bucket: Bucket, shape: Shape) -> Bucket:
    """Give cases as many annotations as a shape has, by splitting the first: several times, less often each."""
    case, more = bucket.data, shape.annotations - len(bucket.data.counts[0])
    if not more:
        return bucket

    def rows(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.repeat(values[:, :1], more, axis=1)], axis=1)

    ranked, counts = case.rankings, rows(case.counts)
    counts[:, [0, *range(-more, 0)]] /= more + 1
    rankings = ranked._replace(
        positions=rows(ranked.positions),
        singles=rows(ranked.singles),
        draws=rows(ranked.draws),
        ties=tuple(ties._replace(draws=rows(ties.draws)) for ties in ranked.ties),
    )
    data = case._replace(rankings=rankings, counts=counts, named=rows(case.named), block_sizes=rows(case.block_sizes))
    return replace(bucket, shape=shape, data=data)


class GroupedProgram:
    """Potential and values of a program at positions of cases of several shapes."""

    def __init__(self, program: Program, example: Grouped):
        self._program = program
        self._latent = [program.latent(example.of(number)) for number in range(len(example.sizes))]
        self._used = [sum(int(np.prod(shape)) for shape in latent.values()) for latent in self._latent]
        # A case with a single slot leaves nothing to sample: a normal variable that nothing reads takes its place.
        self.dim = max(*self._used, 1)

    def potential(self, x: Float[Array, " dim"], case: Grouped) -> Float[Array, ""]:
        """Minus the log density of a position, up to a constant."""

        def of(number: int, x: Float[Array, " dim"]) -> Array:
            used, latent = self._used[number], self._latent[number]
            return self._program.potential(x[:used], case.of(number), latent) + 0.5 * (x[used:] ** 2).sum()

        return _chosen(self._of_shapes(of, x, case), case)

    def values(self, x: Float[Array, " dim"], case: Grouped) -> dict[str, Any]:
        """Return all sites at a position by name, each with whether this case has it and its sizes there."""

        def of(number: int, x: Float[Array, " dim"]) -> dict[str, Array]:
            return self._program.values(x[: self._used[number]], case.of(number), self._latent[number])

        found = self._of_shapes(of, x, case)
        out = {}
        for name in dict.fromkeys(name for one in found for name in one):
            ndim = max(one[name].ndim for one in found if name in one)
            parts = [one[name] if name in one else jnp.zeros((0,) * ndim) for one in found]
            room = tuple(np.max([part.shape for part in parts], axis=0).tolist()) if ndim else ()
            padded = [jnp.zeros(room).at[tuple(map(slice, part.shape))].set(part) for part in parts]
            lengths = np.array([(name in one, *part.shape) for one, part in zip(found, parts, strict=True)], np.int32)
            out[name] = _chosen(padded, case), _chosen([jnp.asarray(length) for length in lengths], case)
        return out

    def _of_shapes(self, of: Callable[[int, Array], Any], x: Float[Array, " dim"], case: Grouped) -> list[Any]:
        """Return what a function has for each shape; no derivatives are taken through those that are not the case's."""
        if len(self._latent) == 1:
            return [of(0, x)]
        return [of(number, jnp.where(case.number == number, x, 0)) for number in range(len(self._latent))]


def _chosen(parts: Sequence[Array], case: Grouped) -> Array:
    return parts[0] if len(parts) == 1 else jnp.stack(parts)[case.number]
