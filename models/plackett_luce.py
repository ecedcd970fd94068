"""Plackett-Luce for partial rankings: annotators draw classes without replacement, by plausibility."""

import jax
import numpy as np
import numpyro
from jaxtyping import ArrayLike, Float
from numpyro.handlers import scale

from plausibly.data.case import Case, Entries
from plausibly.distributions import LogRatioDirichlet, PartialPlackettLuce, StretchedGaps, log_simplex
from plausibly.families.model import CARON, STUTZ, Model
from plausibly.models.plackett_luce_ml import RANKING, update
from plausibly.models.tempered_plackett_luce import tempered_plackett_luce


def plackett_luce(case: Case, *, reliability: Float[ArrayLike, ""] = 1.0, mode: str = "power") -> None:
    r"""Plackett-Luce model of one case.

    .. math::
       \lambda \sim \mathrm{Dirichlet}(\alpha), \quad b^r \sim \mathrm{PartialPlackettLuce}(\lambda)

    Parameters
    ----------
    case
        Annotations over slots; ``case.concentration`` is :math:`\alpha`.
    reliability
        Reliability :math:`\gamma > 0`: how far to trust the annotators. With ``mode="power"``, every annotation counts
        :math:`\gamma` times, :math:`p(b \mid \lambda)^\gamma`; with ``"temper"``, annotators draw with weights
        :math:`\lambda^\gamma`. At :math:`\gamma = 1` the two are the same.
    mode
        Meaning of reliability, ``"power"`` or ``"temper"``.

    Notes
    -----
    Independent weights :math:`w_k \sim \mathrm{Gamma}(\alpha_k, 1)`, divided by their sum, have a Dirichlet
    distribution; rankings do not depend on the sum. Under ``"temper"`` the remainder competes as a single class with
    weight :math:`\lambda_{\text{rest}}^\gamma`.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    section 2.3.3 and Appendix B.
    """
    prior = LogRatioDirichlet(case.concentration)
    if case.order is not None:  # The same prior, but NUTS does not fall off cliffs.
        prior = LogRatioDirichlet(case.concentration, coordinates=StretchedGaps(case.order, reliability))
    log_ratio = numpyro.sample("log_ratio", prior)
    log_weight = log_simplex(log_ratio)
    numpyro.deterministic("plausibility", jax.nn.softmax(log_weight, where=case.n_classes > 0))
    repeats, sharpness = (reliability, 1.0) if mode == "power" else (1.0, reliability)
    with numpyro.plate("annotation", case.counts.shape[0]), scale(scale=repeats * case.counts):
        numpyro.sample("ranking", PartialPlackettLuce(sharpness * log_weight), obs=case.rankings)


def repeats(*, reliability: float, mode: str) -> float:
    """How often an annotation counts."""
    return reliability if mode == "power" else 1.0


def times_named(entries: Entries, *, reliability: float, mode: str) -> Float[np.ndarray, " slot"]:
    """How often annotations draw each class, which is what they add to the shape of its weight given all times."""
    return repeats(reliability=reliability, mode=mode) * entries.totals(np.ones(len(entries.position)))


def first_choice(*, reliability: float, mode: str) -> float | None:
    """The power of the plausibilities by which annotators choose."""
    return reliability if mode == "temper" else None


model = Model(
    name="plackett-luce",
    program=plackett_luce,
    reliability=3.0,
    concentration=1.0,
    options={"mode": ("power", "temper"), "unranked": ("lumped", "exact", "ignore")},
    reliabilities=(1, 2, 3, 5, 10),
    gibbs=True,
    repeats=repeats,
    evidence=times_named,
    first_choice=first_choice,
    replicate="rankings",
    update=update,
    log_likelihood=True,
    joint=tempered_plackett_luce,
    citations=(
        *RANKING,
        ("the posterior over partial rankings", CARON),
        ("the posterior over partial rankings", STUTZ),
    ),
)
