"""Ranked lists of classes from ragged plausibilities: exact in the remainder, and never as large as draws × classes.

Slots carry the plausibilities of the classes that somebody named and of the remainder of each case. A list takes, in
this order,

1. the named classes of positive plausibility, merged with those pieces of the remainder that rank among them
   (:mod:`plausibly.posterior._split_remainder`);
2. if the remainder has mass, further unnamed classes in random order: they are exchangeable, and below every named one;
3. the classes of plausibility exactly zero, in class order or, with ``break_ties="random"``, at random.

All randomness comes from a key per case, so that a list depends neither on the other cases nor on its length: the list
of three begins with the list of one.
"""

from functools import partial

import jax
import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations import Slots
from plausibly.posterior._split_remainder import largest_share, pieces_above
from plausibly.posterior._unequal_split import sticks
from plausibly.random_streams import Stream, Words, as_key, select

_PAIRS = 2**16  # Pairs of a case and a draw at a time, so that the processor's cache holds them.
_CASES = 64  # Cases whose random bits one call makes: one compilation.
_NOTHING = 1e-12  # what is left of a remainder
_NOBODY = np.iinfo(np.int32).max // 2  # Pads sorted lists of classes.


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
        Of the Dirichlet that splits the remainder, for each class: one number, or one of each class.
    break_ties
        Equal plausibilities in class order (``"order"``) or at random (``"random"``).
    """
    by_slot = plausibility.T  # Draws run fastest in all that follows, so that operations run over long rows.
    n_draws = by_slot.shape[1]
    lists = np.empty((depth, len(cases), n_draws), np.int32)
    first, end = slots.start[cases], slots.start[cases + 1]
    has_remainder = (end > first) & slots.is_remainder[end - 1]
    n_named = end - first - has_remainder
    for count in np.unique(n_named):
        members = np.flatnonzero(n_named == count)
        for part in np.array_split(members, -(-len(members) * n_draws // _PAIRS)):
            index = first[part, None] + np.arange(count)
            rest = np.where(has_remainder[part, None], by_slot[end[part] - 1], 0)
            bucket = _Bucket(slots.class_index[index], select(words, part), n_classes, rest)
            values, classes = bucket.top_named(by_slot, index, depth, break_ties)
            if np.ndim(concentration):
                bucket.merge_unequal(values, classes, concentration)
            else:
                bucket.merge_pieces(values, classes, concentration)
            bucket.fill(values, classes, break_ties)
            lists[:, part] = classes
    return lists.transpose(2, 1, 0)


class _Bucket:
    """Cases with one number of named classes; lists are (place, case, draw), empty places have the value 0."""

    def __init__(self, named, words, n_classes, rest):
        self.named = named.astype(np.int32)
        self.words = words
        self.n_classes = n_classes
        self.rest = rest
        self.n_unnamed = n_classes - named.shape[1]

    def top_named(self, by_slot, index, depth, break_ties):
        n_cases, count = index.shape
        n_draws = by_slot.shape[1]
        values = np.zeros((depth, n_cases, n_draws), np.float32)
        classes = np.full(values.shape, -1, np.int32)
        length = min(depth, count)
        if break_ties == "random" and length:
            bits = [_all_bits(self.words[Stream.TIES], number, n_draws) for number in range(count)]
            columns = np.stack([by_slot[index[:, number]] for number in range(count)], axis=-1)
            place = np.lexsort((np.stack(bits, axis=-1), -columns))[..., :length]
            values[:length] = np.moveaxis(np.take_along_axis(columns, place, axis=-1), -1, 0)
            classes[:length] = np.moveaxis(self.named[np.arange(n_cases)[:, None, None], place], -1, 0)
        else:
            for number in range(count):
                _insert(values[:length], classes[:length], by_slot[index[:, number]], self.named[:, number, None])
        classes[values == 0] = -1
        return values, classes

    def merge_pieces(self, values, classes, concentration):
        """Put the pieces of the remainder where they rank among the named classes."""
        depth = len(values)
        if not self.n_unnamed or not self.rest.any():
            return
        last = np.where(values > 0, values, np.inf).min(axis=0)
        case, draw = np.nonzero(last < largest_share(self.n_unnamed, concentration) * self.rest)
        if not len(case):
            return
        members = np.full(len(case), self.n_unnamed)
        words = self.words[Stream.SPLIT][case]
        pair, position, piece = pieces_above(
            self.rest[case, draw], members, last[case, draw], words, draw, concentration, most=depth
        )
        name = _nth_free(self.named[case[pair]], position)
        # The n-th piece of every pair at once, so that no pair is there twice.
        order = np.argsort(pair, kind="stable")
        pair, piece, name = pair[order], piece[order].astype(np.float32), name[order].astype(np.int32)
        nth = np.arange(len(pair)) - np.searchsorted(pair, pair)
        for number in range(nth.max(initial=-1) + 1):
            now = nth == number
            at = slice(None), case[pair[now]], draw[pair[now]]
            own_values, own_classes = values[at], classes[at]
            _insert(own_values, own_classes, piece[now], name[now])
            values[at], classes[at] = own_values, own_classes

    def merge_unequal(self, values, classes, shape):
        """The same where classes are not equally likely; the largest pieces come first, also into empty places."""
        for case in np.flatnonzero(self.rest.any(axis=1)) if self.n_unnamed else ():
            unnamed = np.setdiff1d(np.arange(self.n_classes), self.named[case])
            rest = self.rest[case]
            own_values, own_classes = values[:, case], classes[:, case]
            for chosen, piece, left in sticks(shape[unnamed], self.words[Stream.SPLIT][case], len(rest)):
                mass = (piece * rest).astype(np.float32)
                better = np.flatnonzero(mass > own_values[-1])
                at_values, at_classes = own_values[:, better], own_classes[:, better]
                _insert(at_values, at_classes, mass[better], unnamed[chosen[better]].astype(np.int32))
                own_values[:, better], own_classes[:, better] = at_values, at_classes
                if not (left * rest > own_values[-1] + _NOTHING).any():
                    break
            values[:, case], classes[:, case] = own_values, own_classes

    def fill(self, values, classes, break_ties):
        """Fill the empty places with unnamed classes at random, then with those of plausibility zero."""
        depth, _, n_draws = values.shape
        for place in range(depth):
            case, draw = np.nonzero(classes[place] == -1)
            if not len(draw):
                continue
            taken = classes[:place, case, draw].T
            unnamed = np.where((taken[..., None] == self.named[case, None]).any(-1), _NOBODY, taken)
            n_free = self.n_unnamed - np.count_nonzero(unnamed < _NOBODY, axis=1)
            from_rest = (self.rest[case, draw] > 0) & (n_free > 0)
            # Excluded from the choice: all named classes, or else only those already in the list.
            excluded = np.concatenate([self.named[case], unnamed], axis=1)
            excluded[~from_rest] = _NOBODY
            excluded[~from_rest, : taken.shape[1]] = taken[~from_rest]
            choices = np.where(from_rest, n_free, self.n_classes - place if break_ties == "random" else 1)
            nth = np.zeros(len(draw), np.int64)
            if choices.max() > 1:
                bits = _all_bits(self.words[Stream.FILL], place, n_draws)
                # 32 bits: of 10,000 classes none is favoured by more than 3e-6 of its share.
                nth = (bits[case, draw].astype(np.int64) * choices) >> 32
            classes[place, case, draw] = _nth_free(np.sort(excluded, axis=1), nth)


def _insert(values, classes, value, name):
    """Insert one more class into lists (place, …) of falling values; of equal values the one that was there first."""
    greater = [value > own for own in values]
    for place in range(len(values) - 1, -1, -1):
        if place:
            moved = np.where(greater[place - 1], classes[place - 1], name)
            values[place] = np.maximum(np.minimum(value, values[place - 1]), values[place])
        else:
            moved = name
            values[place] = np.maximum(value, values[place])
        classes[place] = np.where(greater[place], moved, classes[place])


def _nth_free(excluded, nth):
    """Find the nth (from 0) whole number not among the sorted excluded ones; rows along the first axis."""
    return nth + np.count_nonzero(excluded - np.arange(excluded.shape[1]) <= nth[:, None], axis=1)


def _all_bits(words, number, n_draws):
    """Random bits (case, draw), different for each number."""
    padded = np.pad(words, ((0, -len(words) % _CASES), (0, 0)))
    chunks = [_bits(chunk, np.uint32(number), n_draws) for chunk in np.split(padded, len(padded) // _CASES)]
    return np.concatenate(chunks)[: len(words)]


@partial(jax.jit, static_argnames="n_draws")
def _bits(words, number, n_draws):
    keys = as_key(words)
    return jax.vmap(lambda key: jax.random.bits(jax.random.fold_in(key, number), (n_draws,)))(keys)
