r"""Probability of each class to be the most plausible one under a Dirichlet distribution, differentiable in its shapes.

Plausibilities are gamma variables over their sum, so with the distribution functions :math:`F_k` of these,

.. math:: P(\arg\max_l \lambda_l = k) = \int \prod_{l \ne k} F_l(x) \, dF_k(x),

here a sum over nodes between the smallest and the largest quantile of the maximum. :math:`F_k` is an asymptotic
expansion (Temme 1979) for shapes from three on, to which smaller ones are raised by recursion: everything is in closed
form, so that gradients are cheap, and nothing iterates.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc, gammaln
from jaxtyping import Array, Bool, Float

NODES = 17  #: of the integral, an odd number
_BEYOND = 1e-3  # probability of the maximum below the first node, and above the last
_RAISED = 3  # by which shapes are raised
_NEAR = 0.05  # logarithm of x over the shape up to which series take the place of differences


def probability_of_most_plausible(
    shape: Float[Array, "case class"], present: Bool[Array, "case class"]
) -> Float[Array, "case class"]:
    """Probability of each class to be the most plausible one, among those that are present.

    References
    ----------
    Temme (1979), The asymptotic expansion of the incomplete gamma functions, SIAM Journal on Mathematical Analysis 10.
    """
    present = present.T  # cases last, in the order in which processors take numbers
    shape = jnp.where(present, jnp.maximum(shape.T, 1e-6), 0.0)
    lower, upper = jax.lax.stop_gradient(_ends(shape, present))
    nodes = lower + (upper - lower) * jnp.linspace(0, 1, NODES)[:, None]
    below = jnp.where(present, _distribution(shape, nodes[:, None]), 1.0)  # (node, class, case)
    logs = jnp.log(jnp.maximum(below, 1e-30))
    of_others = jnp.exp(logs.sum(1, keepdims=True) - logs)
    found = (4 * _integral(below, of_others) - _integral(below[::2], of_others[::2])) / 3  # Richardson's extrapolation
    found = jnp.where(present, jnp.maximum(found, 1e-12), 0.0)
    return (found / found.sum(0)).T


def _integral(
    below: Float[Array, "node class case"], of_others: Float[Array, "node class case"]
) -> Float[Array, "class case"]:
    return ((below[1:] - below[:-1]) * (of_others[1:] + of_others[:-1])).sum(0) / 2


def _ends(
    shape: Float[Array, "class case"], present: Bool[Array, "class case"]
) -> tuple[Float[Array, " case"], Float[Array, " case"]]:
    """Logarithms between which the largest of the gamma variables nearly always lies."""
    most = shape.max(0)
    spread = jnp.log(present.sum(0) / _BEYOND)
    upper = jnp.log(most + jnp.sqrt(2 * most * spread) + spread)  # Chernoff's bound
    lower = (jnp.log(_BEYOND) + gammaln(shape + 1).sum(0)) / shape.sum(0)  # F(x) is at most x^shape / Γ(shape + 1)
    root = 1 - 1 / (9 * most) - 3.1 / (3 * jnp.sqrt(most))  # of a quantile of the largest (Wilson and Hilferty)
    of_largest = jnp.log(most) + 3 * jnp.log(jnp.maximum(root, 0.1))
    return jnp.where(root > 0.1, jnp.maximum(lower, of_largest), lower), upper


def _distribution(shape: Float[Array, "*n"], log_x: Float[Array, "*m"]) -> Float[Array, "*l"]:
    """Distribution function of gamma variables, to 2e-4."""
    raised = shape + _RAISED
    off = log_x - jnp.log(raised)
    near = jnp.abs(off) < _NEAR
    excess = jnp.expm1(off)
    half = excess - off  # of the square of Temme's η
    eta = jnp.sign(off) * jnp.sqrt(2 * jnp.where(near, 1.0, half))
    eta = jnp.where(near, off * (1 + off / 6 + off**2 / 36), eta)
    first = 1 / jnp.where(near, 1.0, excess) - 1 / jnp.where(near, 1.0, eta)
    first = jnp.where(near, eta / 12 - 1 / 3, first)
    log_density = -raised * half - 0.5 * jnp.log(2 * np.pi * raised)
    found = 0.5 * erfc(-eta * jnp.sqrt(raised / 2)) - jnp.exp(log_density) * first
    steps = [shape + step for step in range(1, _RAISED + 1)]
    log_term = log_density - 1 / (12 * raised) + sum(map(jnp.log, steps)) - _RAISED * log_x
    x = jnp.exp(log_x)
    return jnp.clip(found + jnp.exp(log_term) * (1 + x / steps[0] * (1 + x / steps[1])), 0.0, 1.0)
