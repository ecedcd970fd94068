"""The logarithm of a Gamma variable of rate one."""

import jax
import jax.numpy as jnp
from jax.scipy.special import digamma, gammaln, polygamma
from jaxtyping import Array, ArrayLike, Float, Key
from numpyro.distributions import Distribution, constraints
from numpyro.distributions.util import validate_sample


class LogGamma(Distribution):
    r"""The distribution of :math:`x = \log g` for :math:`g \sim \mathrm{Gamma}(\alpha, 1)`.

    Independent log-Gamma variables passed through a softmax are Dirichlet. Their density
    :math:`e^{\alpha x - e^x} / \Gamma(\alpha)` lives on the whole line, so that weights far below the smallest
    floating-point number are represented, as they occur for small :math:`\alpha`.

    Parameters
    ----------
    concentration
        The shape :math:`\alpha > 0` of the Gamma variable.

    Examples
    --------
    >>> round(float(LogGamma(1.0).log_prob(0.0)), 6)
    -1.0
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.real
    reparametrized_params = ["concentration"]

    def __init__(self, concentration: Float[ArrayLike, "*batch"] = 1.0, *, validate_args: bool | None = None):
        self.concentration = jnp.asarray(concentration)
        super().__init__(batch_shape=jnp.shape(concentration), validate_args=validate_args)

    def sample(self, key: Key[Array, ""], sample_shape: tuple[int, ...] = ()) -> Float[Array, "*shape"]:
        """Draw values of shape ``sample_shape + batch_shape``."""
        return jax.random.loggamma(key, self.concentration, sample_shape + self.batch_shape)

    @validate_sample
    def log_prob(self, value: Float[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
        """Log density at ``value``."""
        return self.concentration * value - jnp.exp(value) - gammaln(self.concentration)

    @property
    def mean(self) -> Float[Array, "*batch"]:
        """The mean, a digamma function of the concentration."""
        return digamma(self.concentration)

    @property
    def variance(self) -> Float[Array, "*batch"]:
        """The variance, a trigamma function of the concentration."""
        return polygamma(1, self.concentration)
