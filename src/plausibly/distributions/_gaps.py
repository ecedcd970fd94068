r"""Coordinates in which sharp preferences look smooth.

Where annotators draw with weights :math:`\lambda^\gamma` and :math:`\gamma` is large, an annotator who prefers one
class to another all but cuts the space of :math:`x = \log \lambda` in two: the likelihood is flat on one side, and
falls off a cliff of width :math:`1 / \gamma` into the other. Steps that suit the flat side go over the cliff.

So classes are taken in an order, the favourites first, and a coordinate is the *gap* between a class and those further
down,

.. math:: x_k = \tfrac{1}{\gamma} \log \sum_{l \text{ below } k} e^{\gamma x_l} + g_k,

so that :math:`\gamma g_k` are the log odds of drawing :math:`k` first from among them, and the cliff is at
:math:`g_k = 0`. Classes that no annotator tells apart are in one *group*, none of them below another. The sum over a
group and what is below it exceeds the sum over what is below it by a factor of :math:`1 + \sum_k e^{\gamma g_k}`, so
all levels are sums of the logarithms of such factors. Near the cliff, the gap is stretched,

.. math:: g(v) = \mathrm{softplus}(v - \log\gamma) - \mathrm{softplus}(-v - \log\gamma),

a unit of :math:`v` being about :math:`2 / \gamma` of the gap there and a whole one far away. Where no one prefers a
class further down, nothing but the cliff's depth is on the other side, and units remain :math:`1 / \gamma`:
:math:`g(v) = \mathrm{softplus}(v - \log\gamma) - \mathrm{softplus}(-v) / \gamma`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float
from numpyro.distributions import biject_to, constraints
from numpyro.distributions.transforms import Transform

from plausibly.distributions._log_ratio_dirichlet import helmert, log_simplex


class Order(NamedTuple):
    """Classes in an order of preference; every *place* has a gap, except for the last, which is at zero."""

    place: Bool[Array, "place class"]  #: one-hot
    group: Bool[Array, "group gap"]  #: members of a group; rows may be empty
    below: Bool[Array, "gap group"]  #: groups that the gap is to, with the last place; if there are none, to that alone
    sharp: Bool[Array, " gap"]  #: whether somebody prefers the class to one below or one below to the class
    unanimous: Bool[Array, " gap"]  #: whether the class was compared to all below, and always preferred


def shrink(
    coordinate: Float[ArrayLike, "*shape"], above: Float[ArrayLike, "*#shape"], below: Float[ArrayLike, "*#shape"]
) -> Float[Array, "*shape"]:
    """The gap at a stretched coordinate.

    ``above`` is how far gaps near zero are stretched, ``below`` the length of a unit far below zero; far above it is 1.
    """
    v, log = jnp.asarray(coordinate), jnp.log(above)
    return jax.nn.softplus(v - log) - below * jax.nn.softplus(-v - log - jnp.log(below))


def _log_slope(
    v: Float[ArrayLike, "*shape"], above: Float[ArrayLike, "*#shape"], below: Float[ArrayLike, "*#shape"]
) -> Float[Array, "*shape"]:
    """Logarithm of the derivative of :func:`shrink`."""
    log, more = jnp.log(above), jnp.log(below)
    return jnp.logaddexp(jax.nn.log_sigmoid(v - log), more + jax.nn.log_sigmoid(-v - log - more))


def stretch(
    gap: Float[ArrayLike, "*shape"], above: Float[ArrayLike, "*#shape"], below: Float[ArrayLike, "*#shape"]
) -> Float[Array, "*shape"]:
    """The inverse of :func:`shrink`, by bisection."""
    gap = jnp.asarray(gap)
    far = jnp.abs(gap) / below + jnp.log(above) + 2

    def halve(_, ends):
        low, high = ends
        middle = (low + high) / 2
        less = shrink(middle, above, below) < gap
        return jnp.where(less, middle, low), jnp.where(less, high, middle)

    low, high = jax.lax.fori_loop(0, 60, halve, (-far, far))
    return (low + high) / 2


class StretchedGaps(constraints.Constraint):
    """Constraint that allows all log-ratio coordinates and lets a sampler move in stretched gaps.

    Parameters
    ----------
    order
        Order of the classes.
    sharpness
        Reliability for which the gaps are stretched; values below 1 count as 1.
    """

    event_dim = 1

    def __init__(self, order: Order, sharpness: Float[ArrayLike, ""]):
        self.order, self.sharpness = order, sharpness

    def __call__(self, x: Float[ArrayLike, "*shape coordinate"]) -> Bool[Array, "*shape"]:
        """Whether a value is allowed: any but NaN."""
        return ~jnp.isnan(x).any(-1)

    def feasible_like(self, prototype: Float[Array, "*shape coordinate"]) -> Float[Array, "*shape coordinate"]:
        """Return an allowed value with the shape of another value."""
        return jnp.zeros_like(prototype)

    def eq(self, other: object, static: bool = False) -> bool:
        """Say whether two constraints allow the same values, which is always true."""
        return isinstance(other, StretchedGaps)

    def tree_flatten(self):
        """Return leaves and static data."""
        return (self.order, self.sharpness), (("order", "sharpness"), {})


class GapTransform(Transform):
    """From stretched gaps to log-ratio coordinates; parameters are those of :class:`StretchedGaps`."""

    domain = constraints.real_vector
    codomain = constraints.real_vector

    def __init__(self, order: Order, sharpness: Float[ArrayLike, ""]):
        self.order, self.sharpness = order, jnp.maximum(sharpness, 1.0)

    def _sides(self) -> tuple[Float[Array, " gap"], Float[Array, " gap"]]:
        above = jnp.where(self.order.sharp, self.sharpness, 1.0)
        return above, jnp.where(self.order.unanimous, 1 / above, 1.0)

    def _levels(self, gaps: Float[Array, "*shape gap"]) -> Float[Array, "*shape gap"]:
        """What each gap is measured from."""
        odds = jnp.where(self.order.group, self.sharpness * gaps[..., None, :], -jnp.inf)
        most = jax.lax.stop_gradient(jnp.maximum(odds.max(-1), 0))
        factors = most + jnp.log(jnp.exp(-most) + jnp.exp(odds - most[..., None]).sum(-1))
        return (jnp.where(self.order.below, factors[..., None, :], 0)).sum(-1) / self.sharpness

    def __call__(self, x: Float[ArrayLike, "*shape gap"]) -> Float[Array, "*shape coordinate"]:
        """Log-ratio coordinates of stretched gaps."""
        gaps = shrink(x, *self._sides())
        logs = ((gaps + self._levels(gaps))[..., None] * self.order.place[:-1]).sum(-2)
        return (logs[..., None, :] * helmert(logs.shape[-1], logs.dtype)).sum(-1)

    def _inverse(self, y: Float[ArrayLike, "*shape coordinate"]) -> Float[Array, "*shape gap"]:
        logs = (log_simplex(y)[..., None, :] * self.order.place).sum(-1)
        logs = logs[..., :-1] - logs[..., -1:]
        gaps = logs
        # Each round is right for one more group, from the bottom up.
        for _ in range(logs.shape[-1] - 1):
            gaps = logs - self._levels(gaps)
        return stretch(gaps, *self._sides())

    def log_abs_det_jacobian(
        self, x: Float[ArrayLike, "*shape gap"], y: Float[ArrayLike, "*shape coordinate"], intermediates=None
    ) -> Float[Array, "*shape"]:
        """Logarithm of the volume of a unit of the gaps'; each is measured from those below, which adds none."""
        slopes = _log_slope(x, *self._sides())
        return slopes.sum(-1) - jnp.log(float(self.order.place.shape[-1])) / 2

    def tree_flatten(self):
        """Return leaves and static data."""
        return (self.order, self.sharpness), (("order", "sharpness"), {})


@biject_to.register(StretchedGaps)
def _from_stretched_gaps(constraint: StretchedGaps) -> GapTransform:
    return GapTransform(constraint.order, constraint.sharpness)
