"""Dirichlet-categorical: annotators draw one label each, by plausibility."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import ArrayLike, Float
from numpyro.handlers import scale

from plausibly.case import Case


def dirichlet_categorical(case: Case, *, reliability: Float[ArrayLike, ""] = 1.0) -> None:
    r"""One case of single labels.

    .. math:: \lambda \sim \mathrm{Dirichlet}(\alpha), \quad y^r \sim \mathrm{Categorical}(\lambda)

    every label counting :math:`\gamma` times. The posterior is known, see :func:`posterior_concentration`.

    Parameters
    ----------
    case
        Annotations over slots, each naming exactly one class.
    reliability
        :math:`\gamma > 0`, how often each label counts.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Appendix A.
    """
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    label = jnp.argmin(case.rankings.positions, axis=-1)
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=reliability * case.counts):
        numpyro.sample("label", dist.Categorical(plausibility), obs=label)


def posterior_concentration(
    counts: Float[ArrayLike, "*slot"], concentration: Float[ArrayLike, "*slot"], reliability: float
) -> Float[ArrayLike, "*slot"]:
    r"""The posterior is :math:`\mathrm{Dirichlet}(\gamma s + \alpha)`, with :math:`s` the label counts."""
    return reliability * counts + concentration
