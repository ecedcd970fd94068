"""NumPyro program of what cases share: how classifiers' scores and the prevalence of classes predict plausibilities."""

from typing import NamedTuple

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int

from plausibly.data.regression import normal_priors, prior_shapes

_ORDER = (  # of the parameters in a vector
    "prevalence",
    "logit_background",
    "log_concentration",
    "score",
    "first_choice",
    "log_concentration_by_entropy",
    "offset",
)


class Labels(NamedTuple):
    """Labels of cases: how often each class is named, for the pairs of case and class with a label (or 0 labels)."""

    case: Int[Array, " entry"]
    class_index: Int[Array, " entry"]
    count: Float[Array, " entry"]
    total: Float[Array, " case"]  #: labels of each case


def case_prior(
    log_scores: Float[Array, "classifier case class"],
    log_prevalence: Float[Array, " class"],
    labels: Labels | None = None,
    log_kappa: float | Float[Array, ""] = 1.0,
) -> None:
    r"""Dirichlet prior of every case, as a regression on what classifiers say of it; plausibilities are summed out.

    With the expected shares :math:`m_i` of ``plausibly.data.regression``,

    .. math::
       \log \kappa_i &= k_0 + k_1 \big(H(m_i) / \log K - \tfrac{1}{2}\big), &
       \lambda_i &\sim \mathrm{Dirichlet}(\kappa_i m_i).

    Classes have offsets :math:`b_k` if there are at most 10. Without classifiers, all cases have the same prior.

    Parameters
    ----------
    log_scores
        Logarithms of the scores, centred over the classes of a case.
    log_prevalence
        Logarithm of the share of each class in all annotations.
    labels
        Labels, each a draw from the plausibilities of its case; None to draw the shared parameters from their prior.
    log_kappa
        Prior mean of the logarithm of the concentration, :math:`k_0`; its standard deviation is 1.5.

    References
    ----------
    Stutz et al. (2025), section 2.2: the posterior given annotations and the observation, here through classifiers.
    """
    parameters = shared_parameters(len(log_scores), len(log_prevalence), log_kappa)
    if labels is None:
        return
    shape = prior_shapes(parameters, log_scores, log_prevalence)
    numpyro.factor("labels", label_log_prob(shape, labels))


def shared_parameters(
    n_classifiers: int, n_classes: int, log_kappa: float | Float[Array, ""] = 1.0
) -> dict[str, Array]:
    """Sample what cases share, within a program."""
    priors = normal_priors(n_classifiers, n_classes) | {"log_concentration": (log_kappa, 1.5, ())}
    if n_classifiers:
        priors["log_concentration_by_entropy"] = 0.0, 2.0, ()
    return {
        name: numpyro.sample(name, dist.Normal(mean, sd).expand(shape).to_event(len(shape)))
        for name, (mean, sd, shape) in sorted(priors.items(), key=lambda one: _ORDER.index(one[0]))
    }


def label_log_prob(shape: Float[Array, "case class"], labels: Labels) -> Float[Array, ""]:
    """Log probability of the labels of all cases in a given order (Dirichlet-multinomial)."""
    own, total = shape[labels.case, labels.class_index], shape.sum(-1)
    return _log_rising(own, labels.count).sum() - _log_rising(total, labels.total).sum()


def _log_rising(shape: Float[Array, "*n"], count: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Logarithm of Γ(shape + count) / Γ(shape), by Stirling's series of both, four steps above their arguments.

    It has a fifth of the operations of two logarithms of Γ, and keeps small differences between large ones.
    """
    above, x = shape + count, shape + 4
    shift = shape * (shape + 1) / (above * (above + 1))
    shift *= (shape + 2) * (shape + 3) / ((above + 2) * (above + 3))
    series = count * jnp.log(x) + (x + count - 0.5) * jnp.log1p(count / x) - count
    return jnp.log(shift) + series + _beyond(x + count) - _beyond(x)


def _beyond(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Terms of Stirling's series of log Γ(x) that vanish for large x."""
    return (1 / 12 - (1 / 360 - 1 / (1260 * x**2)) / x**2) / x
