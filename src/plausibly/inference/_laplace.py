"""Laplace's approximation of a density of a few parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

_POLISH = 10  # Newton steps at most


def laplace(
    log_density: Callable[[np.ndarray], tuple[Any, Any]], start: Float[np.ndarray, " parameter"]
) -> tuple[Float[np.ndarray, " parameter"], Float[np.ndarray, "parameter other"]]:
    """Find the mode of a density, and the negative Hessian there by differences of gradients.

    ``log_density`` returns the logarithm and its gradient, in single precision.

    Examples
    --------
    >>> mode, hessian = laplace(lambda x: (-2 * ((x - 1) ** 2).sum(), -4 * (x - 1)), np.zeros(2))
    >>> mode.round(3).tolist(), hessian.round(2).tolist()
    ([1.0, 1.0], [[4.0, 0.0], [0.0, 4.0]])
    """

    def negative(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = log_density(vector.astype(np.float32))
        return -float(value), -np.asarray(gradient, np.float64)

    at = minimize(negative, start, jac=True, method="L-BFGS-B").x
    scale = np.full(len(at), 0.1)
    for _ in range(_POLISH):
        columns = [
            (negative(at + step)[1] - negative(at - step)[1]) / (2 * size)
            for step, size in zip(np.diag(scale), scale, strict=True)
        ]
        hessian = (np.array(columns) + np.array(columns).T) / 2
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(np.abs(values), 0.1)  # less than any prior has
        hessian, along = vectors * values @ vectors.T, vectors.T @ negative(at)[1]
        scale = np.sqrt(np.diag(np.linalg.inv(hessian))) / 2  # differences over about a posterior standard deviation
        proposed = at - vectors @ (along / values)
        if negative(proposed)[0] > negative(at)[0] or (along**2 / values).sum() < 1e-3:
            break
        at = proposed
    return at, hessian
