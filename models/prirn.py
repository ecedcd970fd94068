"""Probabilistic inverse rank normalisation: a Dirichlet around the inverse ranks."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import ArrayLike, Float
from numpyro.handlers import scale

from plausibly.case import Case

from .irn import inverse_rank


def prirn(case: Case, *, reliability: Float[ArrayLike, ""] = 30.0, ties: str = "split") -> None:
    r"""One case, its inverse ranks taken for fractional label counts.

    .. math::
       \lambda \sim \mathrm{Dirichlet}(\alpha), \quad
       p(b \mid \lambda) \propto \prod_k \lambda_k^{\gamma \mathrm{IRN}_k}

    The posterior is known, see :func:`posterior_concentration`; as :math:`\gamma \to \infty` it contracts to IRN.

    Parameters
    ----------
    case
        Annotations over slots.
    reliability
        :math:`\gamma > 0`, the number of labels that all annotations of the case together are worth.
    ties
        See :func:`plausibly.models.irn.inverse_rank`.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    section 2.3.2.
    """
    plausibility = numpyro.sample("plausibility", dist.Dirichlet(case.concentration))
    weights = case.named * inverse_rank(case.rankings.positions, case.block_sizes, ties)
    share = reliability * weights / (case.counts @ weights).sum()
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=case.counts):
        numpyro.factor("ranking", (share * jnp.where(share > 0, jnp.log(plausibility), 0)).sum(-1))


def posterior_concentration(
    inverse_ranks: Float[ArrayLike, "*slot"], concentration: Float[ArrayLike, "*slot"], reliability: float
) -> Float[ArrayLike, "*slot"]:
    r"""The posterior is :math:`\mathrm{Dirichlet}(\gamma \mathrm{IRN} + \alpha)`."""
    return reliability * inverse_ranks + concentration
