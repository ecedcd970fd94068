r"""Tied blocks, completed: when every member arrived in the exponential race, given that all came before the rest.

In a race where class :math:`k` arrives after an exponential time of rate :math:`\lambda_k`, classes come in
Plackett-Luce order. Given the arrival times :math:`t_a` of a block whose members all came first, the likelihood is
:math:`\prod_a \lambda_a e^{-\lambda_a t_a} \cdot e^{-\bar Z \max t}`, conjugate to gamma variables. Two exact ways to
draw the times:

* up to :data:`ORDERED` members, the order by the subset recursion, then the time of each stage, an exponential variable
  whose rate is the total weight of what is left;
* beyond, the time :math:`u` of the rest's first arrival, whose density
  :math:`\propto \bar Z e^{-\bar Z u} \prod_a (1 - e^{-\lambda_a u})` is log-concave in :math:`\log u` with a mode
  between :math:`1 / \bar Z` and :math:`(1 + |b|) / \bar Z`; then each member's time, exponential but less
  than :math:`u`.

The block lies on axis 0.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from plausibly.distributions.primitives import draw_order, order_table

ORDERED = 8  #: largest block whose order is drawn by the subset recursion

_ROUNDS = 64  # of a rejection that succeeds more often than not

Uniforms = Callable[[int, int], Float[Array, " count *batch"]]  # (how many, the how manieth time)


class _Envelope(NamedTuple):
    """Of the density of the log time of the rest's first arrival: flat about the mode, tangents on both sides."""

    top: Float[Array, "*batch"]
    left: Float[Array, "*batch"]  # where the flat part begins
    right: Float[Array, "*batch"]
    rise: Float[Array, "*batch"]  # slopes beyond, both positive
    fall: Float[Array, "*batch"]


def prepare(weights: Float[Array, " member *batch"], rest: Float[Array, "*batch"]) -> Any:
    """What all draws for the same weights have in common."""
    if weights.shape[0] <= ORDERED:
        return order_table(jnp.log(weights) - jnp.log(rest))
    rho = weights / rest
    low, high = jnp.zeros_like(rest), jnp.full_like(rest, jnp.log(1.0 + weights.shape[0]))
    for _ in range(12):
        middle = (low + high) / 2
        rising = _slope(middle, rho) > 0
        low, high = jnp.where(rising, middle, low), jnp.where(rising, high, middle)
    mode = (low + high) / 2
    t = jnp.minimum(rho * jnp.exp(mode), 80)
    w = _share(t)
    width = 1.1 / jnp.sqrt(jnp.exp(mode) - (w * (1 - t - w)).sum(0))
    top = _log_density(mode, rho)
    rise, fall = _slope(mode - width, rho), -_slope(mode + width, rho)
    left = mode - width + (top - _log_density(mode - width, rho)) / rise
    right = mode + width - (top - _log_density(mode + width, rho)) / fall
    return _Envelope(top, left, right, rise, fall)


def arrivals(
    prepared: Any,
    weights: Float[Array, " member *batch"],
    rest: Float[Array, "*batch"],
    wanted: Bool[Array, "*batch"],
    uniforms: Uniforms,
) -> Float[Array, " member *batch"]:
    """Draw the arrival times of the members; where not wanted, they may be anything finite."""
    size = weights.shape[0]
    if size <= ORDERED:
        u = uniforms(2 * size - 1, 0)
        left, times = [jnp.ones(rest.shape, bool)] * size, [jnp.zeros_like(rest)] * size
        for arriving, v in zip(draw_order(prepared, u[: size - 1]), u[size - 1 :], strict=True):
            rate = rest + sum(jnp.where(here, weight, 0) for here, weight in zip(left, weights, strict=True))
            stage = -jnp.log(v) / rate
            times = [time + jnp.where(here, stage, 0) for here, time in zip(left, times, strict=True)]
            left = [here & ~now for here, now in zip(left, arriving, strict=True)]
        return jnp.stack(times)
    rho = weights / rest
    latest = jnp.exp(_first_of_rest(prepared, rho, wanted, uniforms))
    share = uniforms(size, _ROUNDS) * -jnp.expm1(-rho * latest)
    return -jnp.log1p(-share) / weights


def _first_of_rest(
    e: _Envelope, rho: Float[Array, " member *batch"], wanted: Bool[Array, "*batch"], uniforms: Uniforms
) -> Float[Array, "*batch"]:
    """Log time of the rest's first arrival, in units of its mean, by rejection under the envelope."""
    before, flat = 1 / e.rise, e.right - e.left
    total = before + flat + 1 / e.fall

    def unfinished(state):
        attempt, found, _ = state
        return (attempt < _ROUNDS) & ~found.all()

    def attempt(state):
        n, found, x = state
        u, v = uniforms(2, n)
        area = u * total
        beyond = jnp.clip((area - before - flat) * e.fall, 0, 1 - 2.0**-24)
        proposed = jnp.where(
            area < before,
            e.left + jnp.log(jnp.maximum(area * e.rise, 1e-30)) / e.rise,
            jnp.where(area < before + flat, e.left + area - before, e.right - jnp.log1p(-beyond) / e.fall),
        )
        bound = e.top + jnp.minimum(0, jnp.minimum((proposed - e.left) * e.rise, (e.right - proposed) * e.fall))
        accepted = ~found & (jnp.log(v) < _log_density(proposed, rho) - bound)
        return n + 1, found | accepted, jnp.where(accepted, proposed, x)

    start = (jnp.int32(0), ~wanted, (e.left + e.right) / 2)
    return jax.lax.while_loop(unfinished, attempt, start)[2]


def _share(t: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """``t / (exp(t) - 1)``."""
    usual = jnp.clip(t, 1e-4, 80)
    return jnp.where(t < 1e-4, 1 - t / 2, usual / jnp.expm1(usual))


def _slope(x: Float[Array, "*batch"], rho: Float[Array, " member *batch"]) -> Float[Array, "*batch"]:
    return 1 - jnp.exp(x) + _share(rho * jnp.exp(x)).sum(0)


def _log_density(x: Float[Array, "*batch"], rho: Float[Array, " member *batch"]) -> Float[Array, "*batch"]:
    return x - jnp.exp(x) + jnp.log(-jnp.expm1(-rho * jnp.exp(x))).sum(0)
