"""Tempered Plackett-Luce: reliabilities of the annotators, inferred together with the plausibilities of all cases."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import ArrayLike, Float, Int

from plausibly.data.case import Case
from plausibly.distributions import LogRatioDirichlet, PartialPlackettLuce, log_simplex


def tempered_plackett_luce(
    groups: Sequence[Case],
    annotators: Sequence[Int[ArrayLike, "_ _"]] | None = None,
    *,
    n_annotators: int = 0,
    location: Float[ArrayLike, ""] = 0.0,
    scale: Float[ArrayLike, ""] = 1.5,
    spread_scale: Float[ArrayLike, ""] = 1.0,
) -> None:
    r"""Tempered Plackett-Luce model of all cases, with inferred reliabilities.

    .. math::
       \log \gamma \sim \mathrm{Normal}(m, s), \quad \tau \sim \mathrm{HalfNormal}(t), \quad
       \log \gamma_r \sim \mathrm{Normal}(\log \gamma, \tau), \quad
       \lambda^i \sim \mathrm{Dirichlet}(\alpha), \quad
       b^{ir} \sim \mathrm{PartialPlackettLuce}\big((\lambda^i)^{\gamma_r}\big)

    Without annotators, all have the reliability :math:`\gamma`.

    Parameters
    ----------
    groups
        Groups of cases with the same shape; every array has a leading axis of cases.
    annotators
        Index of the annotator, from 0, of every (case, annotation) in each group; no two annotations of a case may then
        share a draw. None if all annotators have the same reliability; their annotations may be pooled into one row.
    n_annotators
        Number of annotators; 0 if all have the same reliability.
    location, scale, spread_scale
        :math:`m`, :math:`s` and :math:`t`.

    Notes
    -----
    Rankings depend on the weights :math:`\lambda^\gamma` only. The prior separates :math:`\lambda` from :math:`\gamma`:
    a concentration :math:`\alpha` determines how far plausibilities are spread, and :math:`\gamma` is how much further
    the annotators' weights are spread. Other concentrations give other reliabilities. Ratios :math:`\gamma_r / \gamma`
    need no such assumption: they follow from how much annotators agree with the others.

    Reliabilities of annotators are parametrised as multiples of their spread (non-centred), which is efficient if most
    annotators gave few annotations.

    References
    ----------
    Gelman & Hill (2007), Data analysis using regression and multilevel/hierarchical models, chapter 12, for partial
    pooling; the likelihood is that of :func:`plausibly.models.plackett_luce` with ``mode="temper"``.
    """
    log_reliability = numpyro.sample("log_reliability", dist.Normal(location, scale))
    numpyro.deterministic("reliability", jnp.exp(log_reliability))
    annotator_reliability = jnp.exp(log_reliability)[None]
    if n_annotators:
        spread = numpyro.sample("spread", dist.HalfNormal(spread_scale))
        with numpyro.plate("annotators", n_annotators):
            deviation = numpyro.sample("deviation", dist.Normal(0, 1))
        annotator_reliability = numpyro.deterministic(
            "annotator_reliability", jnp.exp(log_reliability + spread * deviation)
        )
    for i, case in enumerate(groups):
        n_cases, n_rows, _ = case.rankings.positions.shape
        sharpness = annotator_reliability[annotators[i] if annotators else jnp.zeros((1, 1), int)]
        with numpyro.plate(f"cases_{i}", n_cases, dim=-2):
            log_ratio = numpyro.sample(f"log_ratio_{i}", LogRatioDirichlet(case.concentration[:, None]))
            log_weight = log_simplex(log_ratio)
            present = case.n_classes[:, None] > 0
            numpyro.deterministic(f"plausibility_{i}", jax.nn.softmax(log_weight, where=present))
            with numpyro.plate(f"annotations_{i}", n_rows, dim=-1):
                ranking = PartialPlackettLuce(sharpness[..., None] * log_weight)
                numpyro.sample(f"ranking_{i}", ranking, obs=case.rankings)
