"""Ranked lists of classes from ragged plausibilities: exact in the remainder, and never as large as draws × classes.

Slots carry the plausibilities of the classes that somebody named and of the remainder of each case. A list takes, in
this order,

1. the named classes of positive plausibility, merged with those pieces of the remainder that rank among them
   (:mod:`plausibly._remainder`);
2. if the remainder has mass, further unnamed classes in random order: they are exchangeable, and below every named one;
3. the classes of plausibility exactly zero, in class order or, with ``ties="random"``, at random.

All randomness comes from a key per case, so that a list depends neither on the other cases nor on its length: the list
of three begins with the list of one.
"""

from functools import partial

import jax
import numpy as np
from jax import lax
from jaxtyping import Float, Int

from plausibly._remainder import largest_share, pieces_above
from plausibly._streams import Stream, Words, as_key, select
from plausibly.annotations import Slots

_ROWS = 32768  # Rows ranked by one call: one compilation per number of named classes.
_CASES = 64  # Cases whose random bits one call makes: one compilation.
_NOBODY = np.iinfo(np.int32).max // 2  # Pads sorted lists of classes.


def rank_slots(
    plausibility: Float[np.ndarray, "draw slot"],
    slots: Slots,
    cases: Int[np.ndarray, " case"],
    words: Words,
    depth: int,
    *,
    n_classes: int,
    concentration: float,
    ties: str = "order",
) -> Int[np.ndarray, "draw case {depth}"]:
    """Rank the ``depth`` most plausible classes of some cases in every draw, best first.

    Parameters
    ----------
    plausibility
        Of all slots.
    slots
        Which case and class they belong to.
    cases
        Positions of the cases to rank.
    words
        Random keys of these cases, of every stream.
    depth
        Length of the lists, at most ``n_classes``.
    n_classes
        Number of all classes.
    concentration
        Of the Dirichlet that splits the remainder, for each class.
    ties
        Equal plausibilities in class order (``"order"``) or at random (``"random"``).
    """
    lists = np.empty((len(plausibility), len(cases), depth), np.int32)
    first, end = slots.start[cases], slots.start[cases + 1]
    has_remainder = (end > first) & slots.is_remainder[end - 1]
    n_named = end - first - has_remainder
    for count in np.unique(n_named):
        members = np.flatnonzero(n_named == count)
        index = first[members, None] + np.arange(count)
        rest = np.where(has_remainder[members], np.take(plausibility, end[members] - 1, axis=1), 0)
        bucket = _Bucket(
            named=slots.class_index[index],
            words=select(words, members),
            n_classes=n_classes,
            rest=rest,
        )
        values, classes = bucket.top_named(np.take(plausibility, index, axis=1), depth, ties)
        bucket.merge_pieces(values, classes, concentration)
        bucket.fill(values, classes, ties)
        lists[:, members] = classes
    return lists


class _Bucket:
    """Cases with one number of named classes; lists are (draw, case, place), empty places have the value 0."""

    def __init__(self, named, words, n_classes, rest):
        self.named = named.astype(np.int32)
        self.words = words
        self.n_classes = n_classes
        self.rest = rest
        self.n_unnamed = n_classes - named.shape[1]

    def top_named(self, plausibility, depth, ties):
        n_draws, n_cases, count = plausibility.shape
        values = np.zeros((n_draws, n_cases, depth), np.float32)
        classes = np.full((n_draws, n_cases, depth), -1, np.int32)
        length = min(depth, count)
        if length:
            tie_break = None
            if ties == "random":
                bits = [_all_bits(self.words[Stream.TIES], number, n_draws) for number in range(count)]
                tie_break = np.stack(bits, axis=-1).swapaxes(0, 1)
            values[..., :length], place = _top(plausibility, tie_break, length)
            classes[..., :length] = self.named[np.arange(n_cases)[:, None], place]
        classes[values == 0] = -1
        return values, classes

    def merge_pieces(self, values, classes, concentration):
        """Put the pieces of the remainder where they rank among the named classes."""
        depth = values.shape[-1]
        if not self.n_unnamed or not self.rest.any():
            return
        n_positive = np.count_nonzero(values, axis=-1)
        last = np.take_along_axis(values, np.maximum(n_positive - 1, 0)[..., None], axis=-1)[..., 0]
        draw, case = np.nonzero((n_positive > 0) & (last < largest_share(self.n_unnamed, concentration) * self.rest))
        step = max(1, 2**22 // self.n_unnamed)  # bounds the nodes that are alive at once
        for start in range(0, len(draw), step):
            d, c = draw[start : start + step], case[start : start + step]
            members = np.full(len(d), self.n_unnamed)
            pair, position, piece = pieces_above(
                self.rest[d, c], members, last[d, c], self.words[Stream.SPLIT][c], d, concentration
            )
            piece_class = _nth_free(self.named[c[pair]], position)
            # One sort of all entries, by pair and then by falling plausibility.
            row = np.concatenate([np.repeat(np.arange(len(d)), depth), pair])
            value = np.concatenate([values[d, c].ravel(), piece.astype(np.float32)])
            name = np.concatenate([classes[d, c].ravel(), piece_class])
            order = np.lexsort((-value, row))
            begin = np.searchsorted(row[order], np.arange(len(d)))
            kept = order[begin[:, None] + np.arange(depth)]
            values[d, c], classes[d, c] = value[kept], name[kept]

    def fill(self, values, classes, ties):
        """Fill the empty places with unnamed classes at random, then with those of plausibility zero."""
        n_draws, _, depth = values.shape
        for place in range(depth):
            draw, case = np.nonzero(classes[..., place] == -1)
            if not len(draw):
                continue
            taken = classes[draw, case, :place]
            unnamed = np.where((taken[..., None] == self.named[case, None]).any(-1), _NOBODY, taken)
            n_free = self.n_unnamed - np.count_nonzero(unnamed < _NOBODY, axis=1)
            from_rest = (self.rest[draw, case] > 0) & (n_free > 0)
            # Excluded from the choice: all named classes, or else only those already in the list.
            excluded = np.concatenate([self.named[case], unnamed], axis=1)
            excluded[~from_rest] = _NOBODY
            excluded[~from_rest, : taken.shape[1]] = taken[~from_rest]
            choices = np.where(from_rest, n_free, self.n_classes - place if ties == "random" else 1)
            nth = np.zeros(len(draw), np.int64)
            if choices.max() > 1:
                bits = _all_bits(self.words[Stream.FILL], place, n_draws)
                # 32 bits: of 10,000 classes none is favoured by more than 3e-6 of its share.
                nth = (bits[case, draw].astype(np.int64) * choices) >> 32
            classes[draw, case, place] = _nth_free(np.sort(excluded, axis=1), nth)


def _nth_free(excluded, nth):
    """Find the nth (from 0) whole number not among the sorted excluded ones; rows along the first axis."""
    return nth + np.count_nonzero(excluded - np.arange(excluded.shape[1]) <= nth[:, None], axis=1)


def _top(plausibility, tie_break, length):
    """Values and places of the greatest, in chunks of one shape."""
    shape = plausibility.shape
    if tie_break is not None:
        places = np.lexsort((tie_break, -plausibility))[..., :length]
        return np.take_along_axis(plausibility, places, axis=-1), places
    flat = plausibility.reshape(-1, shape[-1])
    values, places = np.empty((len(flat), length), np.float32), np.empty((len(flat), length), np.int32)
    for start in range(0, len(flat), _ROWS):
        rows = slice(start, start + _ROWS)
        pad = max(0, start + _ROWS - len(flat))
        best, place = _top_rows(np.pad(flat[rows], ((0, pad), (0, 0))), length)
        values[rows], places[rows] = np.asarray(best)[: _ROWS - pad], np.asarray(place)[: _ROWS - pad]
    return values.reshape(*shape[:-1], length), places.reshape(*shape[:-1], length)


@partial(jax.jit, static_argnames="length")
def _top_rows(plausibility, length):
    return lax.top_k(plausibility, length)


def _all_bits(words, number, n_draws):
    """Random bits (case, draw), different for each number."""
    padded = np.pad(words, ((0, -len(words) % _CASES), (0, 0)))
    chunks = [_bits(chunk, np.uint32(number), n_draws) for chunk in np.split(padded, len(padded) // _CASES)]
    return np.concatenate(chunks)[: len(words)]


@partial(jax.jit, static_argnames="n_draws")
def _bits(words, number, n_draws):
    keys = as_key(words)
    return jax.vmap(lambda key: jax.random.bits(jax.random.fold_in(key, number), (n_draws,)))(keys)
