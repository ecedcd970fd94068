"""Dirichlet-categorical: annotators draw one label each, by plausibility."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import ArrayLike, Float
from numpyro.handlers import scale

from plausibly.data.case import Case, Entries
from plausibly.families.model import STUTZ, Model
from plausibly.models.majority_vote import vote


def dirichlet_categorical(case: Case, *, reliability: Float[ArrayLike, ""] = 1.0) -> None:
    r"""Dirichlet-categorical model of the single labels of one case.

    .. math:: \lambda \sim \mathrm{Dirichlet}(\alpha), \quad y^r \sim \mathrm{Categorical}(\lambda)

    where every label counts :math:`\gamma` times. The posterior has a closed form, see :func:`posterior_concentration`.

    Parameters
    ----------
    case
        Annotations over slots, each of which names one class.
    reliability
        Number of times :math:`\gamma > 0` that each label counts.

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
    entries: Entries, concentration: Float[np.ndarray, " slot"], *, reliability: float
) -> Float[np.ndarray, " slot"]:
    r"""The posterior is :math:`\mathrm{Dirichlet}(\gamma s + \alpha)`, with :math:`s` the label counts."""
    return reliability * entries.totals(vote(entries.position, entries.block_size)) + concentration


def label_shares(entries: Entries) -> Float[np.ndarray, " slot"]:
    """Share of the labels of each case that name the slot's class."""
    return entries.shares(vote(entries.position, entries.block_size))


model = Model(
    name="dirichlet-categorical",
    program=dirichlet_categorical,
    takes="labels",
    reliability=1.0,
    concentration=1.0,
    reliabilities=(1, 2, 3, 5, 10),
    exact=posterior_concentration,
    point_estimate=label_shares,
    replicate="rankings",
    log_likelihood=True,
    citations=(("the Dirichlet posterior of labels", STUTZ),),
)
