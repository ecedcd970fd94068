"""Splitting the remainder of a case among its unnamed classes, as far as a ranked list needs it.

The mass T of the remainder falls on its m classes as T · Dirichlet(c · 1_m). A ranked list asks for no more than the
few largest pieces, and only for those above its last named class, v. Classes of a remainder are exchangeable: which of
them have the largest pieces is a random choice without replacement, independent of how large these are. So this module
draws sizes alone.

Where c is small, few pieces carry nearly all of T, and sticks broken off in size-biased order find them: the first has
a Beta(1 + c, (m − 1) c) share of T, the next a Beta(1 + c, (m − 2) c) share of what is left, and so on, until what is
left is below v or below the last of the pieces that are wanted. Where c is larger, that takes nearly all m pieces, so
gamma variables are drawn for all of them, a few rows at a time, and only the largest are kept.

Classes with parameters of their own (:func:`largest_classes`) are not exchangeable: all pieces are drawn, and a class
travels with its piece.

Before splitting evenly, the expected number of pieces above v is compared with 1e-9 (:func:`largest_share`): below it
there is nothing to do, and this is the only approximation. Pairs of a case and a draw that do need pieces are collected
and taken in batches of a fixed size, in a loop on the device. Every random number belongs to a case, a draw and a stick
or a class, so that neither other cases nor a longer list change a piece.

Gamma variables by inversion, in a fixed number of steps and from two words of random bits each.

JAX draws gamma variables by rejection, in a loop that a processor runs for one number at a time. Here Gamma(α) is
Gamma(1 + α) · U^(1/α), and the quantile function of Gamma(1 + α) is interpolated: its logarithm is smooth in
√(−log p), where p is the probability of the tail on either side of the median. A polynomial for each tail, through
sixteen Chebyshev nodes, is exact to 1e-6 for every α, down to tails of 2⁻³³. Polynomials are made by SciPy, once for
each shape, and evaluated by Clenshaw's recurrence, which is stable in single precision.

Logarithms are returned, because for small α most variables are too small for a float while their ratios are not.
"""

from functools import lru_cache, partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32
from numpy.polynomial import chebyshev
from scipy import special

from plausibly.base.lanes import collected
from plausibly.base.random_streams import Stream, random_bits

DEGREE = 15
_LEAST, _MOST = np.sqrt(np.log(2)), np.sqrt(33 * np.log(2))  # of √(−log p), for p from 1/2 to 2⁻³³


@lru_cache(maxsize=2**14)
def _fit(shape: float) -> Float[np.ndarray, "tail coefficient"]:
    def quantile(of_tail):
        def log_value(x):
            root = _LEAST + (_MOST - _LEAST) * (x + 1) / 2
            return np.log(of_tail(1 + shape, np.exp(-(root**2))))

        return chebyshev.chebinterpolate(log_value, DEGREE)

    return np.stack([quantile(special.gammaincinv), quantile(special.gammainccinv)]).astype(np.float32)


def coefficients(shapes: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "tail coefficient *shape"]:
    """Polynomials of the lower and the upper tail for these shapes; a shape of 0 gets those of 1."""
    shapes = np.asarray(shapes, float)
    fits = [_fit(float(shape) if shape > 0 else 1.0) for shape in shapes.ravel()]
    return np.moveaxis(np.array(fits, np.float32).reshape(*shapes.shape, 2, DEGREE + 1), (-2, -1), (0, 1))


def log_gamma(
    bits: tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]],
    shape: Float[Array, "*#shape"],
    polynomial: Float[Array, "tail coefficient *#shape"],
) -> Float[Array, "*shape"]:
    """Logarithms of gamma variables of positive shape, from two words of random bits and :func:`coefficients` each."""
    first, second = bits
    lower = first < jnp.uint32(2**31)
    # Less than 2³¹ either way: signed numbers, which processors turn into floats faster.
    tail = jnp.where(lower, first, ~first).astype(jnp.int32).astype(jnp.float32)
    root = jnp.sqrt(-jnp.log((tail + 0.5) * 2.0**-32))
    x = (2 * root - (_LEAST + _MOST)) / (_MOST - _LEAST)
    previous = current = jnp.zeros_like(x)
    for degree in range(DEGREE, 0, -1):
        at = jnp.where(lower, polynomial[0, degree], polynomial[1, degree])
        current, previous = 2 * x * current - previous + at, current
    value = x * current - previous + jnp.where(lower, polynomial[0, 0], polynomial[1, 0])
    return value + jnp.log(uniform(second)) / shape


def uniform(bits: UInt32[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Numbers above 0 and below 1; the smaller, the finer."""
    return ((bits >> 1).astype(jnp.int32).astype(jnp.float32) + 0.5) * 2.0**-31


def shares(log_values: Float[Array, " part *batch"]) -> Float[Array, " part *batch"]:
    """Divide variables, given by their logarithms, by their sum; parts of minus infinity get nothing."""
    scaled = jnp.exp(log_values - jnp.maximum(jnp.max(log_values, axis=0), -1e30))
    return scaled / jnp.maximum(jnp.sum(scaled, axis=0), 1e-30)


NEGLIGIBLE = 1e-9
"""Expected number of pieces above the threshold below which a remainder is not split."""

STICKS_BELOW = 0.1
"""Concentration from which all pieces are drawn at once."""

_ROWS = 8  # pieces of each pair at a time
_TINY = 1e-36  # size of a piece that is too small for a float


@lru_cache(maxsize=4096)
def largest_share(members: int, concentration: float) -> float:
    """Share of the remainder that a piece exceeds :data:`NEGLIGIBLE` times in expectation."""
    if members <= 1:
        return float(members)
    return float(special.betainccinv(concentration, (members - 1) * concentration, NEGLIGIBLE / members))


def largest_pieces(
    needed: Bool[Array, "case draw"],
    mass: Float[Array, "case draw"],
    threshold: Float[Array, "case draw"],
    words: UInt32[Array, "case 2"],
    draw: UInt32[Array, " draw"],
    members: Int[Array, " case"],
    concentration: Float[Array, ""],
    polynomial: Float[Array, "tail coefficient"],
    count: int,
) -> Float[Array, "{count} case draw"]:
    """The largest pieces of remainders that are split by a symmetric Dirichlet, largest first; 0 where not ``needed``.

    Remainders have a ``mass`` and a number of ``members``, the classes. Pieces below the positive ``threshold`` are of
    no use, and may be 0. ``words`` are random keys of the cases, ``draw`` numbers of the draws, and ``polynomial`` is
    from :func:`plausibly.posterior.split_remainder.coefficients`.
    """
    ways = partial(_sticks, count=count), partial(_all_at_once, count=count)

    def few(live, case, at):
        lanes = live, jnp.where(live, mass[case, at], 0), threshold[case, at], words[case], draw[at], members[case]
        return (lax.cond(concentration < STICKS_BELOW, *ways, lanes, concentration, polynomial),)

    return collected(needed, few, count)[0]


def largest_classes(
    needed: Bool[Array, "case draw"],
    mass: Float[Array, "case draw"],
    words: UInt32[Array, "case 2"],
    draw: UInt32[Array, " draw"],
    unnamed: Bool[Array, "class case"],
    concentration: Float[Array, " class"],
    polynomial: Float[Array, "tail coefficient class"],
    count: int,
) -> tuple[Float[Array, "{count} case draw"], Int[Array, "{count} case draw"]]:
    """The largest pieces of remainders whose classes are not equally likely, and the classes that get them.

    Arguments are as for :func:`largest_pieces`, with a concentration for each class; ``unnamed`` says which classes
    share the remainder of each case. Where fewer are unnamed than pieces are wanted, the last sizes are 0.
    """

    def few(live, case, at):
        own = unnamed[:, case]

        def rows(number, state):
            def one(row):
                row = jnp.minimum(row, len(concentration) - 1)
                value = log_gamma(random_bits(words[case], draw[at], row), concentration[row], polynomial[..., row])
                return jnp.where(own[row] & live, value, -jnp.inf)

            row = number * _ROWS + jnp.arange(_ROWS)
            value = jnp.where((row < len(concentration))[:, None], lax.map(one, row), -jnp.inf)
            highest, total = _added(*state[:2], value)

            def add(nth, state):
                top, names = state
                greater = value[nth] > top
                return insert_at(greater, top, value[nth]), insert_at(greater, names, row[nth])

            return highest, total, *lax.fori_loop(0, _ROWS, add, state[2:])

        n = len(case)
        start = *_nothing(n), jnp.full((count, n), -jnp.inf), jnp.zeros((count, n), jnp.int32)
        highest, total, top, names = lax.fori_loop(0, -(-len(concentration) // _ROWS), rows, start)
        # Pieces too small for a float are still larger than nothing, and keep their order.
        least = _TINY * (count - jnp.arange(count))[:, None]
        sizes = jnp.maximum(mass[case, at] * jnp.exp(top - highest) / jnp.maximum(total, 1e-30), least)
        return jnp.where(top > -jnp.inf, sizes, 0), names

    return collected(needed, few, count, jnp.float32, jnp.int32)


def insert_at(
    greater: Bool[Array, " place *batch"], values: Shaped[Array, " place *batch"], value: Shaped[Array, "*#batch"]
) -> Shaped[Array, " place *batch"]:
    """Insert numbers into lists, which keep their length, at the first place where they are greater."""
    pushed = jnp.concatenate([jnp.zeros_like(greater[:1]), greater[:-1]])
    previous = jnp.concatenate([values[:1], values[:-1]])
    return jnp.where(pushed, previous, jnp.where(greater, value, values))


def _sticks(lanes, concentration, polynomial, *, count):
    """Break off sticks until none can be of use.

    A stick is drawn by rejection from Beta(1, others · c), whose distribution function has a closed inverse; the ratio
    of the densities is the c-th power of the share. Every step is one attempt of every pair.
    """
    live, mass, threshold, words, draw, members = lanes

    def useful(left, taken, top):
        return live & (taken < members) & (left > jnp.maximum(threshold, top[-1]))

    def attempt(state):
        number, left, taken, top = state
        first, second = random_bits(words, draw, number)
        others = (members - taken - 1).astype(jnp.float32)
        log_rest = jnp.where(others > 0, jnp.log(uniform(first)) / jnp.maximum(others * concentration, 1e-30), -jnp.inf)
        share = -jnp.expm1(log_rest)
        accepted = (others <= 0) | (jnp.log(uniform(second)) < concentration * jnp.log(share))
        accepted &= useful(left, taken, top)
        stick = jnp.where(accepted, left * share, 0)
        top = insert_at(stick > top, top, stick)
        left = jnp.where(accepted, left * jnp.exp(log_rest), left)
        return number + 1, left, taken + accepted, top

    start = jnp.uint32(0), mass, jnp.zeros_like(members), jnp.zeros((count, len(mass)), jnp.float32)
    return lax.while_loop(lambda state: jnp.any(useful(*state[1:])), attempt, start)[-1]


def _all_at_once(lanes, concentration, polynomial, *, count):
    """Draw a gamma variable for every class, some rows at a time, and keep the largest and their sum."""
    live, mass, _, words, draw, members = lanes
    most = jnp.max(jnp.where(live, members, 0))

    def rows(number, state):
        def one(row):
            value = log_gamma(random_bits(words, draw, row), concentration, polynomial)
            return jnp.where(row < members, value, -jnp.inf)

        value = lax.map(one, number * _ROWS + jnp.arange(_ROWS))
        highest, total, top = state
        top = lax.fori_loop(0, _ROWS, lambda at, top: insert_at(value[at] > top, top, value[at]), top)
        return *_added(highest, total, value), top

    start = *_nothing(len(mass)), jnp.full((count, len(mass)), -jnp.inf)
    highest, total, top = lax.fori_loop(0, -(-most // _ROWS), rows, start)
    return mass * jnp.exp(top - highest) / jnp.maximum(total, 1e-30)


def _nothing(n):
    """A sum of no numbers, as :func:`_added` keeps it."""
    return jnp.full(n, -1e30), jnp.zeros(n)


def _added(highest, total, log_values):
    """Add numbers, given by their logarithms, to a sum that is kept in units of the greatest of them."""
    higher = jnp.maximum(highest, jnp.max(log_values, axis=0))
    return higher, total * jnp.exp(highest - higher) + jnp.sum(jnp.exp(log_values - higher), axis=0)


def split_among_all(block: Any, n_classes: int) -> Float[Array, "{n_classes} case draw"]:
    """Plausibilities of every class of the cases of a block (:class:`plausibly.posterior.blocks.Block`)."""
    case = jnp.arange(block.named.shape[1])
    if block.largest_share is None:  # nothing to split
        nothing = jnp.zeros((n_classes, *block.values.shape[1:]), jnp.float32)
        return nothing.at[block.named, case].set(block.values, mode="drop")

    def one(number):
        bits = random_bits(block.words[Stream.DENSE][:, None], block.draw, number)
        own = (block.concentration, block.polynomial)
        if block.concentration.ndim:
            own = (block.concentration[number], block.polynomial[..., number])
        return log_gamma(bits, *own)

    unnamed = jnp.ones((n_classes, len(case)), bool).at[block.named, case].set(False, mode="drop")
    values = lax.map(one, jnp.arange(n_classes))
    values = shares(jnp.where(unnamed[..., None], values, -jnp.inf)) * block.rest
    return values.at[block.named, case].set(block.values, mode="drop")


def split_among_some(
    words: UInt32[Array, "case 2"],
    draw: UInt32[Array, " draw"],
    shapes: Float[Array, "part case"],
    polynomials: Float[Array, "tail coefficient part case"],
) -> Float[Array, "part case draw"]:
    """Shares of the remainder that groups of its classes get: a Dirichlet, whose parameters add up within groups.

    A group with parameter 0 gets nothing. Arguments are as for :func:`largest_pieces`.
    """

    def one(part):
        number, shape, polynomial = part
        bits = random_bits(words[:, None], draw, number)
        return log_gamma(bits, jnp.maximum(shape, 1e-30)[:, None], polynomial[..., None])

    # One after the other: in a single expression XLA would draw every number for each of its uses.
    values = lax.map(one, (jnp.arange(len(shapes)), shapes, jnp.moveaxis(polynomials, 2, 0)))
    return shares(jnp.where(shapes[..., None] > 0, values, -jnp.inf))
