r"""Regression of the classes of a case on what classifiers say of it.

With the centred log scores :math:`\ell_{ijk}` of classifier :math:`j`, its first choice :math:`t_{ijk}`, and the share
:math:`\pi_k` of each class in all annotations, classes are expected in case :math:`i` in the shares

.. math::
   z_{ik} = \sum_j \beta_j \ell_{ijk} + \sum_j \tau_j t_{ijk} + \delta \log \pi_k + b_k, \quad
   m_i = (1 - e)\, \mathrm{softmax}(z_i) + e\, \pi.

They are the mean of the Dirichlet prior of a case (:mod:`plausibly.priors`) or, where each case has one true class, the
probability of each before the labels are known.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

OFFSETS_UP_TO = 10  #: classes up to which each has an offset of its own
WIDER = 4.0  #: standard deviations of scores, first choices and offsets where each case has one true class


def normal_priors(n_classifiers: int, n_classes: int) -> dict[str, tuple[float, float, tuple[int, ...]]]:
    """Mean, standard deviation and shape of the normal prior of each coefficient."""
    found: dict[str, tuple[float, float, tuple[int, ...]]] = {
        "prevalence": (0.0, 0.5, ()),
        "logit_background": (-2.0, 1.0, ()),
    }
    if n_classifiers:
        found["score"] = 0.5 / n_classifiers, 0.5, (n_classifiers,)
        found["first_choice"] = 0.0, 0.5, (n_classifiers,)
    if n_classes <= OFFSETS_UP_TO:
        found["offset"] = 0.0, 0.5, (n_classes - 1,)
    return found


def expected_shares(
    coefficients: Mapping[str, Array],
    log_scores: Float[Array, "classifier case class"],
    log_prevalence: Float[Array, " class"],
) -> Float[Array, "case class"]:
    """Compute the shares :math:`m_i` in which classes are expected in each case."""
    n_classifiers, n_cases, n_classes = log_scores.shape
    z = jnp.broadcast_to(coefficients["prevalence"] * log_prevalence, (n_cases, n_classes))
    if "offset" in coefficients:
        z = z + jnp.concatenate([jnp.zeros(1, z.dtype), coefficients["offset"]])
    if n_classifiers:
        first = log_scores >= log_scores.max(-1, keepdims=True)
        first = first / first.sum(-1, keepdims=True)
        z = z + jnp.einsum("j,jik->ik", coefficients["score"], log_scores, precision="highest")
        z = z + jnp.einsum("j,jik->ik", coefficients["first_choice"], first, precision="highest")
    background = jax.nn.sigmoid(coefficients["logit_background"])
    return (1 - background) * jax.nn.softmax(z, axis=-1) + background * jnp.exp(log_prevalence)


def prior_shapes(
    parameters: Mapping[str, Array],
    log_scores: Float[Array, "classifier case class"],
    log_prevalence: Float[Array, " class"],
) -> Float[Array, "case class"]:
    """Compute the Dirichlet shapes of every case: expected shares times a concentration, by the entropy of these."""
    mean = expected_shares(parameters, log_scores, log_prevalence)
    log_concentration = parameters["log_concentration"]
    if "log_concentration_by_entropy" in parameters:
        entropy = -(mean * jnp.log(mean)).sum(-1, keepdims=True) / jnp.log(mean.shape[-1])
        log_concentration = log_concentration + parameters["log_concentration_by_entropy"] * (entropy - 0.5)
    return jnp.exp(log_concentration) * mean


def prior_moments(n_classifiers: int, n_classes: int) -> tuple[Float[np.ndarray, " coefficient"], ...]:
    """Prior means and standard deviations of all coefficients where each case has one true class, as vectors.

    They are wider than for plausibilities: a classifier may be nearly certain of the true class, and its scores far too
    cautious.
    """
    priors = normal_priors(n_classifiers, n_classes) | {"logit_background": (-4.0, 2.0, ())}
    rows = [(np.full(shape, mean), np.full(shape, WIDER * sd if shape else sd)) for mean, sd, shape in priors.values()]
    mean, sd = (np.concatenate([np.ravel(of) for of in column]) for column in zip(*rows, strict=True))
    return mean.astype(np.float32), sd.astype(np.float32)


def split(vector: Float[Array, " coefficient"], n_classifiers: int, n_classes: int) -> dict[str, Array]:
    """Split a vector of all coefficients by name."""
    found, first = {}, 0
    for name, (_, _, shape) in normal_priors(n_classifiers, n_classes).items():
        size = int(np.prod(shape))
        found[name] = vector[first : first + size].reshape(shape)
        first += size
    return found


def names(classifiers: Any, classes: Any) -> np.ndarray:
    """Name the coefficients of a vector of all of them."""
    whose = {"score": classifiers, "first_choice": classifiers, "offset": list(classes)[1:]}
    priors = normal_priors(len(classifiers), len(classes))
    each = [[f"{name} of {one}" for one in whose[name]] if name in whose else [name] for name in priors]
    return np.array([one for names in each for one in names], str)
