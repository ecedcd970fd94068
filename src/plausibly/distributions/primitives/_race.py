r"""The same probability as an integral over one race, for blocks with too many subsets to visit.

Let every class arrive after an exponential time with its weight as the rate. The block comes before the rest if each
of its classes arrives before the first of the rest, which arrives at time :math:`t`, in units of its mean. With
:math:`x = \log t` and :math:`y_a = x + r_a`,

.. math:: p = \int_0^\infty e^{-t} \prod_a (1 - e^{-\rho_a t})\, dt = \int e^{f(x)}\, dx, \qquad
   f(x) = x - e^x + \sum_a h(y_a), \quad h(y) = \log(1 - e^{-e^y}),

which is the integral over :math:`u = e^{-t}` of Ma et al. (2021). Here :math:`f` is concave for all weights, with its
mode where :math:`t = 1 + \sum_a h'(y_a)`, between 1 and one more than the size of the block. What is sharp in the
integrand lies close to where it vanishes, so that it suffices to know its ends:

* Newton's iteration for the mode starts at :math:`t = 1` and approaches it from one side, the equation being concave.
  A centre :math:`c` near the mode will do. With :math:`T = e^c`, for every :math:`d`,

  .. math:: f(c + d) - f(c) = f'(c)\, d - T (e^d - 1 - d) + \sum_a \big[h(y_a + d) - h(y_a) - h'(y_a)\, d\big],

  where no bracket is positive: nothing cancels, however many classes there are.
* Without its last sum this is an upper bound, whose ends are known. From there Newton's iteration approaches those of
  the integrand, where it is some natural logarithms below its centre (:class:`_Rule`), from outside,
  :math:`f` being concave.
* Between the ends stand the nodes of a trapezoidal rule in :math:`s` from -1 to 1, with :math:`\tanh s` along the
  interval: somewhat denser towards both ends.

The gradient is the mean of :math:`h'(y_a)` under the integrand, and the second derivatives are covariances of these, by
the same nodes: where they stand depends on the weights, but what they approximate does not, so they count as constants.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

Sums = TypeVar("Sums")


class _Rule(NamedTuple):
    """What a precision asks for."""

    nodes: int
    drop: float  # in natural logarithms, from the centre to the ends
    cap: float  # of log weights: beyond, members arrive at once, or never, in this precision


_SINGLE = _Rule(24, 16.0, 60.0)
_DOUBLE = _Rule(60, 28.0, 300.0)


class _Race(NamedTuple):
    """The members at the centre, by (member, batch), and the nodes."""

    t: Float[Array, "*batch"]  # e^c
    z: Float[Array, " member *batch"]  # e^y
    slow: Bool[Array, " member *batch"]  # z < 1: reckoned as z (1 - e^-z)/z, whose second factor hardly varies
    early: Float[Array, " member *batch"]  # 1 - e^-z, or (1 - e^-z)/z where slow
    late: Float[Array, " member *batch"]  # h'(y) = z/(e^z - 1)
    d: Float[Array, " node *batch"]
    weights: Float[Array, " node *batch"]  # of the rule


@cache
def _unit_interval(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the rule between 0 and 1."""
    s = np.linspace(-1, 1, nodes + 2)[1:-1]
    return (1 + np.tanh(s) / np.tanh(1)) / 2, 1 / (np.cosh(s) ** 2 * np.tanh(1) * (nodes + 1))


def _arrivals(z: Array) -> tuple[Array, Array]:
    """``1 - e^-z`` and ``z/(e^z - 1)``."""
    early = -jnp.expm1(-z)
    return early, z * (1 - early) / early


def _centre(rho: Float[Array, " member *batch"]) -> Float[Array, "*batch"]:
    size = rho.shape[0]

    def step(_, t: Array) -> Array:
        z = rho * t
        _, late = _arrivals(z)
        # The derivative of late by log t.
        falls = late * (z - 1 + late)
        return t - (t - 1 - late.sum(0)) / (1 + falls.sum(0) / t)

    # Each step gains a factor of e where the equation is most curved.
    t = jax.lax.fori_loop(0, int(np.ceil(np.log2(size))), step, jnp.ones_like(rho[0]))
    return jnp.clip(t, 1, 1 + size)


def _relative(race: _Race, d: Float[Array, " node *batch"]) -> tuple[Array, Array, Array]:
    """``f(c + d) - f(c)`` by (node, batch), and z and h' by (node, member, batch)."""
    step = d[:, None]
    z = race.z * jnp.exp(step)
    early, late = _arrivals(z)
    ratio = early / (jnp.where(race.slow, z, 1) * race.early)
    brackets = jnp.log(ratio) + jnp.where(race.slow, 1 - race.late, -race.late) * step
    slope = 1 - race.t + race.late.sum(0)
    return slope * d - race.t * (jnp.expm1(d) - d) + brackets.sum(1), z, late


def _set_up(r: Float[Array, " member *batch"]) -> _Race:
    rule = _SINGLE if r.dtype == jnp.float32 else _DOUBLE
    rho = jnp.exp(jnp.clip(r, -rule.cap, rule.cap))
    t = _centre(jax.lax.stop_gradient(rho))
    z = rho * t
    early, late = _arrivals(z)
    slow = z < 1
    race = _Race(t, z, slow, jnp.where(slow, early / z, early), late, t[None], t[None])
    fixed = jax.lax.stop_gradient(race)

    def approach(_, d: Array) -> Array:
        height, _, late = _relative(fixed, d)
        return jnp.where(height < -rule.drop, d - (height + rule.drop) / (1 - t * jnp.exp(d) + late.sum(1)), d)

    c = rule.drop / t
    reach = c + jnp.sqrt(2 * c)
    d = jnp.stack([-reach, jnp.log1p(reach)])
    left, right = jax.lax.fori_loop(0, max(3, int(np.ceil(np.log2(r.shape[0]) / 2))), approach, d)
    u, weights = (a.reshape(-1, *[1] * t.ndim).astype(r.dtype) for a in _unit_interval(rule.nodes))
    return race._replace(d=left + (right - left) * u, weights=weights * (right - left))


def _sum_over_nodes(race: _Race, term: Callable[[Array, Array, Array], Sums]) -> Sums:
    """Sum what ``term`` makes of the integrand, ``z`` and ``h'`` at a group of nodes."""
    nodes = race.d.shape[0]
    # As many terms at a time as a core keeps close by; a GPU rather does much at once.
    terms = 2**15 if jax.default_backend() == "cpu" else 2**24
    most = max(1, terms // max(race.z.size, 1))
    groups = next(n for n in range(1, nodes + 1) if nodes % n == 0 and (nodes // n <= most or n == nodes))

    def part(d: Array, weights: Array) -> Sums:
        height, z, late = _relative(race, d)
        return term(weights * jnp.exp(height), z, late)

    if groups == 1:
        return part(race.d, race.weights)
    split = jax.tree.map(lambda a: a.reshape(groups, -1, *a.shape[1:]), (race.d, race.weights))
    zero = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(part, *(a[0] for a in split)))
    return jax.lax.scan(lambda total, x: (jax.tree.map(jnp.add, total, part(*x)), None), zero, split)[0]


def _sum_of_members(x: Float[Array, " member *batch"]) -> tuple[Array, Array]:
    """The sum in two parts, of which the first, of sixteenths, is exact below a million in single precision."""
    coarse = jnp.where(jnp.abs(x) < 2.0**16, jnp.round(x * 16) / 16, x)
    return coarse.sum(0), jnp.where(jnp.isinf(x), 0, x - coarse).sum(0)


def _value(r: Float[Array, " member *batch"], race: _Race, mass: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    log_t = jnp.log(race.t)
    # A weight that is out of the range of its exponential keeps its logarithm; one near 1 what it lacks to 1.
    slow = jnp.where(r < -20, r + log_t + jnp.log(race.early), jnp.log(race.z * race.early))
    each = jnp.where(race.slow, slow, jnp.log1p(-jnp.exp(-race.z)))
    whole, part = _sum_of_members(each)
    return jnp.minimum(whole + (part + log_t - race.t + jnp.log(mass)), 0)


def log_prob(r: Float[Array, " member *batch"]) -> Float[Array, "*batch"]:
    """Log probability of the block."""
    race = _set_up(r)
    return _value(r, race, _sum_over_nodes(race, lambda w, z, late: w.sum(0)))


def log_prob_and_gradient(r: Float[Array, " member *batch"]) -> tuple[Array, Float[Array, " member *batch"]]:
    """Log probability, and its derivative by each ``r``."""
    race = _set_up(r)
    mass, slope = _sum_over_nodes(race, lambda w, z, late: (w.sum(0), (w[:, None] * late).sum(0)))
    return _value(r, race, mass), slope / mass


def hessian_vector(
    r: Float[Array, " member *batch"], tangent: Float[Array, " member *batch"]
) -> Float[Array, " member *batch"]:
    """The derivative of the gradient along ``tangent``, linear in it."""
    race = _set_up(r)

    def term(w: Array, z: Array, late: Array) -> tuple[Array, ...]:
        # Slopes relative to the centre, so that the covariance below hardly cancels.
        along = (tangent * (late - race.late)).sum(1)
        by_member, own = w[:, None] * late, -late * (z - 1 + late)
        sums = w, w * along, by_member, by_member * along[:, None], w[:, None] * own
        return tuple(a.sum(0) for a in sums)

    mass, along, slope, product, own = _sum_over_nodes(race, term)
    return (product - slope * (along / mass) + own * tangent) / mass
