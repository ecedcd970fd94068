"""Ranked lists of classes from ragged plausibilities: exact in the remainder, and never as large as draws × classes.

Slots carry the plausibilities of the named classes and of the remainder of each case. A list takes, in this order,

1. the named classes of positive plausibility, merged with those pieces of the remainder that rank among them
   (:mod:`plausibly.posterior.split_remainder`);
2. if the remainder has mass, further unnamed classes: they are exchangeable, and below every named one;
3. the classes of plausibility exactly zero, in class order or, with ``break_ties="random"``, at random.

Where one class is true, the class drawn (:mod:`plausibly.posterior.true_class`) comes first, and the others follow by
their probabilities.

Unnamed classes of a list, from the first one on, are a random choice without replacement. All randomness comes from a
key per case, so that a list depends neither on the other cases nor on its length: the list of three begins with the
list of one.

:func:`rank_block` is for compiled programs; :func:`rank_slots` runs it over any number of cases.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, UInt32

from plausibly.base.compute import run
from plausibly.base.random_streams import Stream, Words, random_bits
from plausibly.data.annotations import Slots
from plausibly.posterior.blocks import Block, Blocks
from plausibly.posterior.split_remainder import insert_at, largest_classes, largest_pieces
from plausibly.posterior.true_class import to_rank

_ZERO, _UNNAMED = -1, -2  # what stands in a place until its class is known
_FEW = 16  # numbers that are compared in one expression
_NONE = np.iinfo(np.int32).max // 2  # pads sorted lists of classes


def rank_slots(
    plausibility: Float[np.ndarray, "draw slot"],
    slots: Slots,
    cases: Int[np.ndarray, " case"],
    words: Words,
    depth: int,
    *,
    n_classes: int,
    concentration: float | Float[np.ndarray, " class"],
    break_ties: str = "order",
    probability: Float[np.ndarray, "draw slot"] | None = None,
) -> Int[np.ndarray, "draw case {depth}"]:
    """The ``depth`` most plausible classes of some cases in every draw, best first.

    Equal plausibilities are in class order, or at random (``break_ties="random"``). Other arguments are those of
    :class:`plausibly.posterior.blocks.Blocks`.
    """
    by_slot = np.ascontiguousarray(to_rank(plausibility, probability).T)  # draws run fastest in all that follows
    blocks = Blocks(by_slot, slots, cases, words, n_classes, concentration, room=max(depth, 8))
    lists = np.empty((depth, len(cases), by_slot.shape[1]), np.int32)
    rank = partial(rank_block, depth=depth, n_classes=n_classes, break_ties=break_ties)
    name = (rank_block, depth, n_classes, break_ties)
    for part, found in run(name, rank, blocks.parts, lambda part: (blocks.block(part),)):
        lists[:, part.at] = found[:, : len(part.at)]
    return lists.transpose(2, 1, 0)


def rank_block(block: Block, depth: int, n_classes: int, break_ties: str) -> Int[Array, "{depth} case draw"]:
    """Rank the most plausible classes of the cases of a block, best first."""
    values, classes = _top_named(block, depth, break_ties)
    if block.largest_share is not None:
        values, classes = _merge_remainder(block, values, classes)
    # Places that are left: unnamed classes as far as there are any with mass, then those of plausibility zero.
    if block.largest_share is None or block.concentration.ndim:  # pieces have their classes, down to the last one
        return _filled(block, classes, n_classes, break_ties)
    n_unnamed, n_filled = jnp.sum(classes == _UNNAMED, axis=0), jnp.sum(values > 0, axis=0)
    nth_empty = jnp.arange(depth)[:, None, None] - n_filled
    from_rest = (nth_empty >= 0) & (block.rest > 0) & (n_unnamed + nth_empty < block.n_unnamed[:, None])
    classes = jnp.where(from_rest, _UNNAMED, classes)
    classes = lax.cond(jnp.any(classes == _UNNAMED), _name_unnamed, lambda block, classes: classes, block, classes)
    return _filled(block, classes, n_classes, break_ties)


def _filled(block, classes, n_classes, break_ties):
    fill = partial(_fill_zeros, n_classes=n_classes, at_random=break_ties == "random")
    return lax.cond(jnp.any(classes == _ZERO), fill, lambda block, classes: classes, block, classes)


def _top_named(block, depth, break_ties):
    """Insert one named class after the other; empty places have the value 0."""
    n_slots, n_cases, n_draws = block.values.shape
    at_random = break_ties == "random"
    ranked = to_rank(block.values, block.probability)
    values = jnp.zeros((depth, n_cases, n_draws), jnp.float32)
    classes = jnp.full(values.shape, _ZERO)
    bits = jnp.zeros((depth if at_random else 0, n_cases, n_draws), jnp.uint32)

    def one(slot, state):
        values, classes, bits = state
        value = ranked[slot]
        greater = value > values
        if at_random:
            own, _ = random_bits(block.words[Stream.TIES][:, None], block.draw, slot)
            greater |= (value == values) & (own > bits) & (value > 0)
            bits = insert_at(greater, bits, own)
        classes = insert_at(greater, classes, block.named[slot][:, None])
        return insert_at(greater, values, value), classes, bits

    values, classes, _ = lax.fori_loop(0, n_slots, one, (values, classes, bits))
    return values, classes


def _merge_remainder(block, values, classes):
    """Put the pieces of the remainder where they rank among the named classes.

    Where classes are not equally likely, pieces have their classes, and also go into empty places.
    """
    uneven = block.concentration.ndim > 0
    last = values[-1] if uneven else jnp.min(jnp.where(values > 0, values, jnp.inf), axis=0)
    needed = last < (block.rest if uneven else block.largest_share[:, None] * block.rest)
    words, shapes = block.words[Stream.SPLIT], (block.concentration, block.polynomial)

    def split():
        if not uneven:
            sizes = largest_pieces(
                needed, block.rest, last, words, block.draw, block.n_unnamed, *shapes, count=len(values)
            )
            return sizes, jnp.full(sizes.shape, _UNNAMED)
        case = jnp.arange(block.named.shape[1])
        unnamed = jnp.ones((len(block.concentration), len(case)), bool).at[block.named, case].set(False, mode="drop")
        return largest_classes(needed, block.rest, words, block.draw, unnamed, *shapes, count=len(values))

    def merge(values, classes):
        pieces, names = split()

        def one(number, state):
            values, classes = state
            greater = pieces[number] > values
            return insert_at(greater, values, pieces[number]), insert_at(greater, classes, names[number])

        return lax.fori_loop(0, len(values), one, (values, classes))

    return lax.cond(jnp.any(needed), merge, lambda values, classes: (values, classes), values, classes)


def _name_unnamed(block, classes):
    """Choose unnamed classes without replacement: the nth of those that are left, by 32 random bits."""
    named = jnp.sort(block.named, axis=0)
    keys = block.words[Stream.FILL][:, None]
    bits = lax.map(lambda place: random_bits(keys, block.draw, place)[0], jnp.arange(len(classes)))

    def one(place, state):
        classes, taken, n_left = state
        wanted = classes[place] == _UNNAMED
        position = jnp.where(wanted, _nth_free(taken, _share_of(bits[place], n_left)), _NONE)
        classes = classes.at[place].set(jnp.where(wanted, _nth_free(named[..., None], position), classes[place]))
        return classes, insert_at(position < taken, taken, position), n_left - wanted

    taken = jnp.full(classes.shape, _NONE, jnp.int32)
    n_left = jnp.broadcast_to(block.n_unnamed[:, None], classes.shape[1:])
    return lax.fori_loop(0, len(classes), one, (classes, taken, n_left))[0]


def _fill_zeros(block, classes, *, n_classes, at_random):
    """Fill what is left with classes of plausibility zero."""

    def one(place, state):
        classes, taken = state
        nth = jnp.zeros(classes.shape[1:], jnp.int32)
        if at_random:
            # Other bits than those that choose unnamed classes.
            _, bits = random_bits(block.words[Stream.FILL][:, None], block.draw, place)
            nth = _share_of(bits, n_classes - place)
        chosen = jnp.where(classes[place] == _ZERO, _nth_free(taken, nth), classes[place])
        return classes.at[place].set(chosen), insert_at(chosen < taken, taken, chosen)

    taken = jnp.full(classes.shape, _NONE, jnp.int32)
    return lax.fori_loop(0, len(classes), one, (classes, taken))[0]


def _nth_free(excluded, nth):
    """Find the nth (from 0) whole number not among the excluded ones, which are sorted along the first axis."""
    if len(excluded) <= _FEW:  # one loop over the draws
        return nth + sum((one - place <= nth).astype(jnp.int32) for place, one in enumerate(excluded))
    place = jnp.arange(len(excluded)).reshape(-1, *[1] * (excluded.ndim - 1))
    return nth + jnp.sum(excluded - place <= nth, axis=0, dtype=jnp.int32)


def _share_of(bits: UInt32[Array, "*shape"], n: Int[Array, "*#shape"]) -> Int[Array, "*shape"]:
    """The whole part of n · bits / 2³², of which no number from 0 to n − 1 is favoured by more than n / 2³²."""
    n = jnp.asarray(n).astype(jnp.uint32)
    high, low = n >> 16, n & 0xFFFF
    bits_high, bits_low = bits >> 16, bits & 0xFFFF
    middle = bits_high * low + (bits_low * low >> 16)
    carried = (middle & 0xFFFF) + bits_low * high
    return (bits_high * high + (middle >> 16) + (carried >> 16)).astype(jnp.int32)
