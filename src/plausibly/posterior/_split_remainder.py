"""Splitting the remainder of a case among the classes that nobody named, as far as a ranked list needs it.

The mass T of the remainder falls on its m classes as T · Dirichlet(c · 1_m). A ranked list only asks for the pieces
above some threshold v. Where c is small, few pieces carry nearly all of T, and sticks broken off in size-biased order
find them: the first piece has a Beta(1 + c, (m − 1) c) share of T, the next a Beta(1 + c, (m − 2) c) share of what is
left, and so on, until no more than v is left; which classes they are is a uniform draw without replacement. Where c is
larger that takes nearly all m pieces, so they are drawn at once, and only those above v are kept. Before either, the
expected number of pieces above v is compared with 1e-9 (:func:`largest_share`): below it there is nothing to do, and
this is the only approximation.

Every random number belongs to a case and a draw, so that neither other cases nor a longer list change a piece.
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32
from jaxtyping import Float, Int, UInt32
from scipy import stats

from plausibly.random_streams import generator

NEGLIGIBLE = 1e-9
"""Expected number of pieces above the threshold below which a remainder is not split."""

STICKS_BELOW = 0.1
"""Concentration from which all pieces are drawn at once."""

_LANES = 2**10, 2**12, 2**14  # A few shapes, so a few compilations, whatever the number of sticks.
_NUMBERS = 2**14  # Pieces that one generator draws.
_ATTEMPTS = 2**16  # Room for attempts at the length of a stick, of which two are hardly ever needed.

Pieces = tuple[Int[np.ndarray, " piece"], Int[np.ndarray, " piece"], Float[np.ndarray, " piece"]]


@lru_cache(maxsize=4096)
def largest_share(members: int, concentration: float) -> float:
    """Find the share of the remainder that a piece exceeds ``NEGLIGIBLE`` times in expectation.

    Examples
    --------
    >>> largest_share(1, 1.0), round(largest_share(419, 1.0), 3)
    (1.0, 0.062)
    """
    if members == 1:
        return 1.0
    return float(stats.beta.isf(NEGLIGIBLE / members, concentration, (members - 1) * concentration))


def pieces_above(
    mass: Float[np.ndarray, " pair"],
    members: Int[np.ndarray, " pair"],
    threshold: Float[np.ndarray, " pair"],
    key_words: UInt32[np.ndarray, "pair 2"],
    draw: Int[np.ndarray, " pair"],
    concentration: float,
    most: int | None = None,
) -> Pieces:
    """All pieces above the threshold of remainders that are split by a symmetric Dirichlet.

    Parameters
    ----------
    mass, members, threshold
        Of each (case, draw) pair: mass and number of classes of the remainder, and the threshold (positive).
    key_words, draw
        Randomness of a pair: data of its case's key, and the number of the draw.
    concentration
        Of the Dirichlet, for each class.
    most
        How many pieces of a pair are of use; smaller ones than these may be left out.

    Returns
    -------
    Pair, position among the classes of the remainder (from 0) and mass of each piece.
    """
    arguments = (np.asarray(mass, np.float64), members, np.asarray(threshold, np.float64), key_words, draw)
    if concentration < STICKS_BELOW:
        return _sticks(*arguments, concentration)
    return _all_at_once(*arguments, concentration, most)


def dirichlet(
    random: np.random.Generator, concentrations: Float[np.ndarray, " part"], n: int
) -> Float[np.ndarray, "n part"]:
    """Draw from a Dirichlet; parts of concentration zero get nothing.

    Small concentrations go by logarithms, where a share too small for a float leaves the others right.

    Examples
    --------
    >>> dirichlet(np.random.default_rng(0), np.array([2.0, 0.0, 0.001]), 3).sum(axis=1)
    array([1., 1., 1.])
    """
    present = concentrations > 0
    shapes = concentrations[present]
    if shapes.min() >= STICKS_BELOW:
        values = random.standard_gamma(shapes, (n, len(shapes)))
    else:
        log_gamma = np.log(random.standard_gamma(shapes + 1, (n, len(shapes))))
        log_gamma -= random.standard_exponential(log_gamma.shape) / shapes
        values = np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True))
    out = np.zeros((n, len(present)))
    out[:, present] = values / values.sum(axis=1, keepdims=True)
    return out


def _all_at_once(mass, members, threshold, key_words, draw, concentration, most) -> Pieces:
    """Draw all pieces of a few draws of a case from one generator, and keep those that are large enough."""
    found = []
    rows = np.maximum(1, _NUMBERS // members)
    block = draw // rows
    sorting = np.lexsort((block, *key_words.T))
    keys = np.column_stack([key_words, block])[sorting]
    starts = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]).any(axis=1)])) if len(keys) else []
    for at in np.split(sorting, starts[1:]) if len(keys) else []:
        size = int(members[at[0]])
        random = generator(key_words[at[0]], int(block[at[0]]))
        values = dirichlet(random, np.full(size, concentration), int(rows[at[0]]))[draw[at] % rows[at[0]]]
        values *= mass[at, None]
        least = threshold[at]
        if most is not None and most < size:
            # Just below the last piece of use, which itself has to be above.
            least = np.maximum(least, np.nextafter(np.partition(values, size - most, axis=1)[:, size - most], 0))
        pair, position = np.nonzero(values > least[:, None])
        found.append((at[pair], position, values[pair, position]))
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _sticks(mass, members, threshold, key_words, draw, concentration) -> Pieces:
    """Break off sticks in size-biased order until less than the threshold is left."""
    pair = np.arange(len(mass))
    log_left = np.zeros(len(mass))
    taken = np.empty((len(mass), 0), np.int32)  # positions of the sticks before, ascending
    found = []
    stick = 0
    while len(pair):
        others = members[pair] - stick - 1
        log_rest, bits = _break(key_words[pair], draw[pair], stick, others, concentration)
        piece = mass[pair] * np.exp(log_left) * -np.expm1(log_rest)
        nth = (bits.astype(np.int64) * (others + 1)) >> 32
        position = nth + np.count_nonzero(taken - np.arange(stick) <= nth[:, None], axis=1)
        log_left = log_left + log_rest
        kept = piece > threshold[pair]
        found.append((pair[kept], position[kept], piece[kept]))
        more = mass[pair] * np.exp(log_left) > threshold[pair]
        taken = np.sort(np.column_stack([taken[more], position[more].astype(np.int32)]), axis=1)
        pair, log_left = pair[more], log_left[more]
        stick += 1
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _break(words, draw, stick, others, concentration):
    """Logarithm of what is left when a Beta(1 + c, others · c) share is taken away; and bits that choose its class.

    By rejection from Beta(1, others · c), whose distribution function has a closed inverse: the densities' ratio is the
    c-th power of the share.
    """
    log_rest, choice = np.zeros(len(draw)), np.zeros(len(draw), np.uint32)
    open_ = np.arange(len(draw))
    attempt = 0
    while len(open_):
        bits = _bits(words[open_], draw[open_], _ATTEMPTS * stick + attempt)
        choice = choice if attempt else bits[:, 3]
        uniform = (bits[:, :2] + 0.5) / 2**32
        found = np.log(uniform[:, 0]) / np.maximum(others[open_] * concentration, 1e-300)
        log_rest[open_] = found
        open_ = open_[uniform[:, 1] >= (-np.expm1(found)) ** concentration]
        attempt += 1
    log_rest[others == 0] = -np.inf
    return log_rest, choice


def _bits(words, draw, counter):
    """Four words of random bits per row, from the key of its case, its draw and a counter."""
    out = np.empty((len(draw), 4), np.uint32)
    for start in range(0, len(draw), _LANES[-1]):
        n = min(_LANES[-1], len(draw) - start)
        lanes = next(size for size in _LANES if size >= n)
        keys, draws = np.zeros((lanes, 2), np.uint32), np.zeros(lanes, np.uint32)
        keys[:n], draws[:n] = words[start : start + n], draw[start : start + n]
        out[start : start + n] = np.asarray(_random_words(keys, draws, np.uint32(counter)))[:n]
    return out


@jax.jit
def _random_words(keys, draws, counter):
    return jax.vmap(lambda key, draw: threefry_2x32(key, jnp.stack([draw, draw, counter, ~counter])))(keys, draws)
