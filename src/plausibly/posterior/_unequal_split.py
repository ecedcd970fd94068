r"""Splitting the remainder of a case among classes that are not equally likely, as far as a ranked list needs it.

A Dirichlet distribution with unequal shapes is broken into sticks, too: the next class is one of those left, with a
probability in proportion to its shape :math:`a_k`, and takes a :math:`\mathrm{Beta}(a_k + 1, a - a_k)` share of what
is left, :math:`a` being the sum of the shapes that are left. Large pieces come early, so lists are soon complete.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int, UInt32

from plausibly.random_streams import generator

_LEAST = 1e-12  # of the shapes, and of what is left
_STICKS = 100


def sticks(
    shape: Float[np.ndarray, " class"], words: UInt32[np.ndarray, "2"], n_draws: int
) -> Iterator[tuple[Int[np.ndarray, " draw"], Float[np.ndarray, " draw"], Float[np.ndarray, " draw"]]]:
    """Break one stick after the other off a whole of 1, in every draw.

    Parameters
    ----------
    shape
        Shapes of the classes of the remainder.
    words
        Random key of the case; a stick depends on it and on its number, not on how many are wanted.
    n_draws
        Number of draws.

    Yields
    ------
    The class of each stick (its position in ``shape``, −1 where none is left), its share of the whole, and the share
    that is left after it.

    Examples
    --------
    >>> words = np.array([1, 2], np.uint32)
    >>> pieces = [piece for _, piece, _ in sticks(np.array([2.0, 1.0]), words, 4)]
    >>> np.sum(pieces, axis=0).round(6).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    shape = np.maximum(shape, _LEAST)
    left, taken = np.ones(n_draws), np.zeros((n_draws, 0), np.int64)
    below = np.cumsum(shape)
    for number in range(min(len(shape), _STICKS)):
        random = generator(words, number)
        chosen = np.minimum(np.searchsorted(below, random.random(n_draws) * below[-1]), len(shape) - 1)
        for _ in range(20):
            again = np.flatnonzero((taken == chosen[:, None]).any(1))
            if not len(again):
                break
            chosen[again] = np.minimum(
                np.searchsorted(below, random.random(n_draws)[again] * below[-1]), len(shape) - 1
            )
        for draw in np.flatnonzero((taken == chosen[:, None]).any(1)):  # what is left is a tiny part of the whole
            free = shape.copy()
            free[taken[draw]] = 0
            chosen[draw] = np.searchsorted(np.cumsum(free), random.random() * free.sum())
        rest = np.maximum(below[-1] - shape[taken].sum(1) - shape[chosen], _LEAST)
        last = number == len(shape) - 1
        share = np.ones(n_draws) if last else random.beta(shape[chosen] + 1, rest)
        piece = left * share
        left = left - piece
        taken = np.concatenate([taken, chosen[:, None]], axis=1)
        yield chosen, piece, left
