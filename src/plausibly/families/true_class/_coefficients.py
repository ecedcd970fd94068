"""Coefficients by which classifiers' scores predict the true class of a case, drawn given the true classes.

Given the true classes, they have the posterior of a multinomial regression, which is close to normal. It is sampled by
elliptical slices (Murray, Adams & MacKay 2010, Elliptical slice sampling, AISTATS; around another normal distribution
than the prior: Nishihara, Murray & Adams 2014, Parallel MCMC with generalized elliptical slice sampling, Journal of
Machine Learning Research 15). They are right around any normal distribution, and fast around one that is near. It is
Laplace's approximation, made from the votes at first and from the probabilities of true classes twice in the warm-up.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from plausibly.case import LabelledCases
from plausibly.compute import kept_on_disk
from plausibly.priors.fit import compiled, laplace
from plausibly.regression import expected_shares, prior_moments, split

MOVES = 3  #: elliptical slices in each sweep
WIDER = 2.0  #: standard deviations of the normal distribution, in those of Laplace's approximation
_MOST = 40  # after so many points of a slice, the coefficients stay


class Coefficients:
    """Coefficients of one chain, and the normal distribution around which they move."""

    def __init__(self, labels: LabelledCases, random: np.random.Generator):
        assert labels.log_scores is not None
        moments = prior_moments(len(labels.log_scores), labels.n_classes)
        self._given: tuple[Any, ...] = labels.log_scores, labels.log_prevalence, *moments
        self._random, self._mean = random, moments[0]
        self.tune(labels.votes / np.maximum(labels.votes.sum(1, keepdims=True), 1))
        self.vector = (self._mean + self._root @ random.standard_normal(len(self._mean))).astype(np.float32)

    def tune(self, truth: Float[np.ndarray, "case class"]) -> None:
        """Approximate the posterior given the probabilities of the true classes."""
        truth = truth.astype(np.float32)
        density = compiled(_value_and_gradient, large=True)
        with kept_on_disk():
            mode, hessian = laplace(lambda vector: density(vector, truth, *self._given), self._mean)
        self._mean = mode.astype(np.float32)
        self._root = (WIDER * np.linalg.cholesky(np.linalg.inv(hessian))).astype(np.float32)

    def move(self, truth: Int[np.ndarray, " case"]) -> Float[np.ndarray, "case class"]:
        """Draw the coefficients given the true classes, and return the probability of each class before the labels."""
        steps = self._random.standard_normal((MOVES, len(self._mean))).astype(np.float32)
        uniform = self._random.random((MOVES, 1 + _MOST)).astype(np.float32)
        found = compiled(_move, large=True)(self.vector, self._mean, self._root, truth, steps, uniform, *self._given)
        self.vector, shares = map(np.asarray, found)
        return shares.astype(float)


def shares_of(vector: Float[np.ndarray, " coefficient"], labels: LabelledCases) -> Float[np.ndarray, "case class"]:
    """Probabilities of the true class of each case before its labels are known."""
    given = np.asarray(vector, np.float32), labels.log_scores, labels.log_prevalence
    return np.asarray(compiled(_shares, large=True)(*given), float)


def _shares(vector: Array, log_scores: Array, log_prevalence: Array) -> Float[Array, "case class"]:
    return expected_shares(split(vector, len(log_scores), log_scores.shape[-1]), log_scores, log_prevalence)


def _log_density(
    vector: Float[Array, " coefficient"],
    truth: Float[Array, "case class"],
    log_scores: Array,
    log_prevalence: Array,
    mean: Array,
    sd: Array,
) -> Float[Array, ""]:
    of_truth = (truth * jnp.log(_shares(vector, log_scores, log_prevalence))).sum()
    return of_truth - (((vector - mean) / sd) ** 2).sum() / 2


_value_and_gradient = jax.value_and_grad(_log_density)


def _move(
    vector: Array, mean: Array, root: Array, truth: Array, steps: Array, uniform: Array, *given: Array
) -> tuple[Float[Array, " coefficient"], Float[Array, "case class"]]:
    """Draw by elliptical slices, in coordinates in which the normal distribution is a standard one."""
    log_scores, log_prevalence, prior_mean, prior_sd = given
    truth = truth[:, None]

    def log_ratio(at: Array) -> Array:
        vector = mean + root @ at
        shares = jnp.take_along_axis(_shares(vector, log_scores, log_prevalence), truth, axis=1)
        of_prior = (((vector - prior_mean) / prior_sd) ** 2).sum()
        return jnp.log(shares).sum() - of_prior / 2 + (at**2).sum() / 2

    def slice_of(at: Array, own: tuple[Array, Array]) -> tuple[Array, None]:
        step, uniform = own
        level = log_ratio(at) + jnp.log(uniform[0])
        angle = 2 * jnp.pi * uniform[1]

        def point(angle: Array) -> Array:
            return at * jnp.cos(angle) + step * jnp.sin(angle)

        def outside(state: tuple[Array, ...]) -> Array:
            angle, _, _, number = state
            return (number < _MOST) & ~(log_ratio(point(angle)) > level)

        def shrink(state: tuple[Array, ...]) -> tuple[Array, ...]:
            angle, low, high, number = state
            low, high = jnp.where(angle < 0, angle, low), jnp.where(angle < 0, high, angle)
            return low + (high - low) * uniform[1 + number], low, high, number + 1

        angle, _, _, number = lax.while_loop(outside, shrink, (angle, angle - 2 * jnp.pi, angle, jnp.array(1)))
        return jnp.where(number < _MOST, point(angle), at), None

    at = jax.scipy.linalg.solve_triangular(root, vector - mean, lower=True)
    at, _ = lax.scan(slice_of, at, (steps, uniform))
    vector = mean + root @ at
    return vector, _shares(vector, log_scores, log_prevalence)
