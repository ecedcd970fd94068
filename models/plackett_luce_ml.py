"""Plackett-Luce by maximum likelihood: a deterministic aggregate of partial rankings."""

import jax
import jax.numpy as jnp
import numpyro
from jaxtyping import Array, Float

from plausibly.data.case import Case
from plausibly.distributions import PartialPlackettLuce
from plausibly.families.model import Model

RANKING = tuple(
    ("the Plackett–Luce model of partial rankings", source)
    for source in (
        "Plackett (1975), The analysis of permutations, Journal of the Royal Statistical Society C 24.",
        "Luce (1959), Individual Choice Behavior: A Theoretical Analysis, Wiley.",
        "Ma, Yi, Tang et al. (2021), Learning-to-rank with partitioned preference: fast estimation for the "
        "Plackett–Luce model, AISTATS.",
    )
)
_LEAST = 1e-30  # keeps the logarithm of a plausibility that is on its way to zero finite


def update(plausibility: Float[Array, " slot"], case: Case) -> Float[Array, " slot"]:
    r"""One step of the minorise-maximise algorithm.

    .. math:: \lambda_k \leftarrow n_k / D_k(\lambda), \qquad
       D_k = \frac{n_k - \partial \log L / \partial \log \lambda_k}{\lambda_k}

    with :math:`n_k` the number of times that :math:`k` is named; the likelihood never falls (Hunter 2004, Eq. 5,
    extended to ties, for which :math:`D_k` is an average over the unknown order). Unnamed classes go to zero at once.

    Parameters
    ----------
    plausibility
        Current values.
    case
        Annotations over slots.
    """

    def log_likelihood(log_weight: Float[Array, " slot"]) -> Float[Array, ""]:
        return (case.counts * PartialPlackettLuce(log_weight).log_prob(case.rankings)).sum()

    ties = [(t.draws @ t.members.any(-2).astype(t.draws.dtype)) for t in case.rankings.ties]
    named = case.counts @ sum(ties, case.rankings.singles)
    slope = jax.grad(log_likelihood)(jnp.log(jnp.maximum(plausibility, _LEAST)))
    # A class named only where nothing else was left has no slope, and keeps its weight.
    new = jnp.where(named > 0, plausibility * named / jnp.maximum(named - slope, _LEAST), 0)
    return new / new.sum()


def plackett_luce_ml(case: Case, *, iterations: int = 1000) -> None:
    """Point estimate of one case: the plausibilities under which its annotations are most probable.

    Parameters
    ----------
    case
        Annotations over slots.
    iterations
        Number of steps of :func:`update`; the engine iterates to convergence instead.
    """
    present = case.n_classes > 0
    start = present / present.sum()
    plausibility = jax.lax.fori_loop(0, iterations, lambda _, p: update(p, case), start)
    numpyro.deterministic("plausibility", plausibility)


model = Model(
    name="plackett-luce-ml",
    program=plackett_luce_ml,
    deterministic=True,
    replicate="rankings",
    update=update,
    citations=(
        *RANKING,
        (
            "the maximum likelihood of partial rankings",
            "Hunter (2004), MM algorithms for generalized Bradley–Terry models, Annals of Statistics 32.",
        ),
    ),
)
