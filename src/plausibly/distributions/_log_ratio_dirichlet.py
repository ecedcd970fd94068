r"""The Dirichlet distribution in coordinates that a gradient-based sampler moves well in.

Coordinates in which sharp preferences look smooth.

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

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, ArrayLike, Bool, DTypeLike, Float, Key, UInt32
from numpyro.distributions import Distribution, biject_to, constraints
from numpyro.distributions.transforms import Transform
from numpyro.distributions.util import validate_sample


@cache
def helmert(n: int, dtype: DTypeLike) -> np.ndarray:
    """The basis behind log-ratio coordinates: rows (n - 1, n) that are orthonormal and sum to zero."""
    rows = np.tril(np.ones((n - 1, n))) - np.diag(np.arange(1, n), 1)[: n - 1]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(dtype)


def log_simplex(log_ratios: Float[ArrayLike, "*batch coordinate"]) -> Float[Array, "*batch coordinate+1"]:
    """Compute the logarithms of the probability vector with these isometric log-ratio coordinates.

    Examples
    --------
    >>> bool(np.allclose(log_simplex(np.zeros(3)), np.log(0.25)))
    True
    """
    log_ratios = jnp.asarray(log_ratios)
    basis = helmert(log_ratios.shape[-1] + 1, log_ratios.dtype)
    return jax.nn.log_softmax((log_ratios[..., None] * basis).sum(-2), axis=-1)


def log_ratios(weights: Float[ArrayLike, "*batch k"]) -> Float[Array, "*batch k-1"]:
    """Compute isometric log-ratio coordinates of positive weights, on any scale.

    Examples
    --------
    >>> bool(np.allclose(np.exp(log_simplex(log_ratios(np.array([0.5, 0.3, 0.2])))), [0.5, 0.3, 0.2]))
    True
    """
    logs = jnp.log(jnp.asarray(weights))
    return (logs[..., None, :] * helmert(logs.shape[-1], logs.dtype)).sum(-1)


class LogRatioDirichlet(Distribution):
    r"""Dirichlet distribution of :math:`\lambda`, as a distribution of its isometric log-ratio coordinates.

    The coordinates :math:`z = V \log \lambda`, with :math:`V` an orthonormal basis of the vectors that sum to zero, are
    unconstrained; :func:`log_simplex` is the inverse. Their log density is :math:`\sum_k \alpha_k \log \lambda_k` up to
    a constant: concave, with a bounded gradient, so that leapfrog steps do not diverge, and finite for plausibilities
    far below the smallest floating-point number.

    Parameters
    ----------
    concentration
        :math:`\alpha`, positive.
    coordinates
        Coordinates in which a sampler moves instead of the log ratios themselves; the distribution is the same.

    References
    ----------
    Egozcue et al. (2003), Isometric logratio transformations for compositional data analysis, Mathematical Geology 35.

    Examples
    --------
    Two classes under a uniform distribution, at even odds: the density of a standard logistic variable by its scale.

    >>> round(float(LogRatioDirichlet(np.ones(2)).log_prob(np.zeros(1))), 4) == round(float(np.log(np.sqrt(2) / 4)), 4)
    True
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    reparametrized_params = ["concentration"]
    pytree_data_fields = ("concentration", "_coordinates")

    def __init__(
        self,
        concentration: Float[ArrayLike, "*batch k"],
        *,
        coordinates: constraints.Constraint = constraints.real_vector,
        validate_args: bool | None = None,
    ):
        self.concentration = jnp.asarray(concentration)
        self._coordinates = coordinates
        *batch, k = self.concentration.shape
        super().__init__(tuple(batch), (k - 1,), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=1)
    def support(self) -> constraints.Constraint:
        """All coordinates."""
        return self._coordinates

    def sample(
        self, key: Key[Array, ""] | UInt32[Array, " 2"], sample_shape: tuple[int, ...] = ()
    ) -> Float[Array, "*shape coordinate"]:
        """Draw coordinates of shape ``sample_shape + batch_shape + (k - 1,)``."""
        k = self.event_shape[0] + 1
        log_gammas = jax.random.loggamma(key, self.concentration, (*sample_shape, *self.batch_shape, k))
        return (log_gammas[..., None, :] * helmert(k, log_gammas.dtype)).sum(-1)

    @validate_sample
    def log_prob(self, value: Float[ArrayLike, "*shape coordinate"]) -> Float[Array, "*shape"]:
        """Compute the log density of coordinates."""
        alpha = self.concentration
        constant = gammaln(alpha.sum(-1)) - gammaln(alpha).sum(-1) + jnp.log(float(alpha.shape[-1])) / 2
        return (alpha * log_simplex(value)).sum(-1) + constant


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
