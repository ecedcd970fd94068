"""The Dirichlet distribution in coordinates that a gradient-based sampler moves well in."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, ArrayLike, DTypeLike, Float, Key, UInt32
from numpyro.distributions import Distribution, constraints
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
