"""Coefficients by which classifiers' scores predict the true class of a case, drawn with the true classes summed out.

Given how probable its labels are under each class of a case, they have the posterior of a multinomial regression on
classes that are known in part, which is close to normal. It is sampled by elliptical slices (Murray, Adams & MacKay
2010, Elliptical slice sampling, AISTATS; around another normal distribution than the prior: Nishihara, Murray & Adams
2014, Parallel MCMC with generalized elliptical slice sampling, Journal of Machine Learning Research 15). They are right
around any normal distribution, and fast around one that is near. It is Laplace's approximation, made from the votes at
first and from what annotators are known to do twice in the warm-up.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from plausibly.base.programs import kept_on_disk
from plausibly.data.case import LabelledCases
from plausibly.data.regression import expected_shares, prior_moments, split
from plausibly.families.priors.fit import compiled, laplace
from plausibly.inference.moves import Moves

MOVES = 3  #: elliptical slices in each sweep
WIDER = 2.0  #: standard deviations of the normal distribution, in those of Laplace's approximation
_MOST = 40  # after so many points of a slice, the coefficients stay


class Coefficients:
    """Coefficients of chains, and the normal distribution around which those of each chain move."""

    def __init__(self, labels: LabelledCases, random: Moves, chains: int):
        assert labels.log_scores is not None
        moments = prior_moments(len(labels.log_scores), labels.n_classes)
        self._given = tuple(map(jnp.asarray, (labels.log_scores, labels.log_prevalence, *moments)))
        self._random, self._mean = random, moments[0][None]
        self.tune(((1 + labels.votes) / (1 + labels.votes).sum(1, keepdims=True))[None])
        self._mean, self._root = (np.repeat(own, chains, 0) for own in (self._mean, self._root))
        noise = random.standard_normal((*self._mean.shape, 1))
        #: (chain, coefficient)
        self.vector = (self._mean + (self._root @ noise)[..., 0]).astype(np.float32)
        #: probability of each class before the labels of a case are known, (chain, case, class)
        self.shares = np.stack([shares_of(vector, labels) for vector in self.vector])

    def tune(self, of_labels: Float[np.ndarray, "chain case class"]) -> None:
        """Approximate the posterior given the relative probabilities of the labels of cases under each class."""
        density = compiled(_value_and_gradient, large=True)
        with kept_on_disk():
            found = [
                laplace(lambda vector, own=own: density(vector, own, *self._given), mean)
                for own, mean in zip(of_labels, self._mean, strict=True)
            ]
        self._mean = np.array([mode for mode, _ in found], np.float32)
        covariance = np.linalg.inv(np.stack([hessian for _, hessian in found]))
        self._root = (WIDER * np.linalg.cholesky(covariance)).astype(np.float32)

    def move(
        self, joint: Float[np.ndarray, "chain class case"], tune: bool
    ) -> tuple[Float[np.ndarray, "chain case class"], Float[np.ndarray, "chain class case"]]:
        """Draw the coefficients given the joint log probabilities of labels and classes, which are summed out.

        Returns the new shares, and the joint log probabilities with these; approximates the posterior before, if it is
        to ``tune``.
        """
        of_labels = joint - np.log(self.shares).swapaxes(1, 2)
        relative = np.exp(of_labels - of_labels.max(1, keepdims=True)).swapaxes(1, 2).astype(np.float32)
        if tune:
            self.tune(relative)
        chains, size = self.vector.shape
        steps = self._random.standard_normal((chains, MOVES, size)).astype(np.float32)
        uniform = self._random.random((chains, MOVES, 1 + _MOST)).astype(np.float32)
        given = self.vector, self._mean, self._root, relative, steps, uniform
        vector, shares = map(np.asarray, compiled(_moves, large=True)(*given, *self._given))
        self.vector = self._random.declared(
            "coefficients", vector, lambda x: compiled(_log_densities, large=True)(x, relative, *self._given)
        )
        self.shares = shares.astype(float)
        return self.shares, of_labels + np.log(self.shares).swapaxes(1, 2)


def shares_of(vector: Float[np.ndarray, " coefficient"], labels: LabelledCases) -> Float[np.ndarray, "case class"]:
    """Probabilities of the true class of each case before its labels are known."""
    given = np.asarray(vector, np.float32), labels.log_scores, labels.log_prevalence
    return np.asarray(compiled(_shares, large=True)(*given), float)


def _shares(vector: Array, log_scores: Array, log_prevalence: Array) -> Float[Array, "case class"]:
    return expected_shares(split(vector, len(log_scores), log_scores.shape[-1]), log_scores, log_prevalence)


def _log_density(
    vector: Float[Array, " coefficient"],
    of_labels: Float[Array, "case class"],
    log_scores: Array,
    log_prevalence: Array,
    mean: Array,
    sd: Array,
) -> Float[Array, ""]:
    of_cases = (_shares(vector, log_scores, log_prevalence) * of_labels).sum(1)
    return jnp.log(of_cases).sum() - (((vector - mean) / sd) ** 2).sum() / 2


_value_and_gradient = jax.value_and_grad(_log_density)


def _move(
    vector: Array, mean: Array, root: Array, of_labels: Array, steps: Array, uniform: Array, *given: Array
) -> tuple[Float[Array, " coefficient"], Float[Array, "case class"]]:
    """Draw by elliptical slices, in coordinates in which the normal distribution is a standard one."""

    def log_ratio(at: Array) -> Array:
        return _log_density(mean + root @ at, of_labels, *given) + (at**2).sum() / 2

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
    return vector, _shares(vector, *given[:2])


_moves = jax.vmap(_move, in_axes=(*[0] * 6, *[None] * 4))
_log_densities = jax.vmap(_log_density, in_axes=(0, 0, *[None] * 4))
