"""Gamma variables by inversion, in a fixed number of steps and from two words of random bits each.

JAX draws gamma variables by rejection, in a loop that a processor runs for one number at a time. Here Gamma(α) is
Gamma(1 + α) · U^(1/α), and the quantile function of Gamma(1 + α) is interpolated: its logarithm is smooth in
√(−log p), where p is the probability of the tail on either side of the median. A polynomial for each tail, through
sixteen Chebyshev nodes, is exact to 1e-6 for every α, down to tails of 2⁻³³. Polynomials are made by SciPy, once for
each shape, and evaluated by Clenshaw's recurrence, which is stable in single precision.

Logarithms are returned, because for small α most variables are too small for a float while their ratios are not.
"""

from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32
from numpy.polynomial import chebyshev
from scipy import special

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


def shares(log_values: Float[Array, "part *batch"]) -> Float[Array, "part *batch"]:
    """Divide variables, given by their logarithms, by their sum; parts of minus infinity get nothing."""
    scaled = jnp.exp(log_values - jnp.maximum(jnp.max(log_values, axis=0), -1e30))
    return scaled / jnp.maximum(jnp.sum(scaled, axis=0), 1e-30)
