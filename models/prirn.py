"""Probabilistic inverse rank normalisation: a Dirichlet around the inverse ranks."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import ArrayLike, Float
from numpyro.handlers import scale

from plausibly.data.case import Case, Entries
from plausibly.families.model import STUTZ, Model
from plausibly.models.irn import inverse_rank, inverse_ranks


def prirn(case: Case, *, reliability: Float[ArrayLike, ""] = 30.0, ties: str = "split") -> None:
    r"""PrIRN model of one case, which treats inverse ranks as fractional label counts.

    .. math::
       \lambda \sim \mathrm{Dirichlet}(\alpha), \quad
       p(b \mid \lambda) \propto \prod_k \lambda_k^{\gamma \mathrm{IRN}_k}

    The posterior has a closed form, see :func:`posterior_concentration`; as :math:`\gamma \to \infty` it contracts to
    IRN.

    Parameters
    ----------
    case
        Annotations over slots.
    reliability
        Number of labels :math:`\gamma > 0` that all annotations of the case together are worth.
    ties
        Weight of tied classes, see :func:`plausibly.models.irn.inverse_rank`.

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
    entries: Entries, concentration: Float[np.ndarray, " slot"], *, reliability: float, ties: str
) -> Float[np.ndarray, " slot"]:
    r"""The posterior is :math:`\mathrm{Dirichlet}(\gamma \mathrm{IRN} + \alpha)`."""
    return reliability * inverse_ranks(entries, ties=ties) + concentration


model = Model(
    name="prirn",
    program=prirn,
    reliability=30.0,
    concentration=0.01,
    options={"ties": ("split", "full")},
    reliabilities=(10, 20, 30, 50, 100),
    exact=posterior_concentration,
    zero_concentration=True,
    point_estimate=inverse_ranks,
    log_likelihood=True,
    answers="plausibility",
    shares=False,
    learns=False,
    citations=(("probabilistic inverse rank normalisation", STUTZ),),
)
