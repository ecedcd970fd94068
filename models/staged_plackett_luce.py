"""Staged Plackett-Luce: first choices by plausibility, later ones less reliable and dependent on the first."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln
from jaxtyping import ArrayLike, Float
from scipy.special import gammaln as scipy_gammaln

from plausibly.model import STUTZ, Model
from plausibly.models.plackett_luce_ml import RANKING
from plausibly.priors.population.shared_stages import LEAST, LEAST_MASS, Stages, subsets


def log_prob(
    plausibility: Float[ArrayLike, "*draw slot"],
    blocks: Sequence[Sequence[int]],
    follow: Float[ArrayLike, " share"],
    population: Float[ArrayLike, " slot"],
    stages: Stages,
    *,
    reliability: Float[ArrayLike, ""] = 1.0,
    rest: Float[ArrayLike, " class"] | None = None,
    xp: Any = jnp,
) -> Float[ArrayLike, "*draw"]:
    r"""Log probability of one partial ranking.

    The first draw is class :math:`k` with probability :math:`\propto \lambda_k^{\gamma}`; draw :math:`j \ge 2`, given
    the set :math:`S` that was drawn before, with probability

    .. math:: (1 - w) \frac{\lambda_k^{\rho\gamma}}{\sum_{l \notin S} \lambda_l^{\rho\gamma}}
       + w \frac{f_k}{\sum_{l \notin S} f_l}, \quad f_k = \lambda_k^{\eta} D_k^{\beta} \pi_k^{-\delta},

    within the first block with :math:`w = 0`; and each draw is careless with probability :math:`\epsilon_1` if it is
    the first, :math:`\epsilon` if not, and then made by the shares of the population. This depends on the set alone, so
    the orders of a tied block are summed over its subsets. By the focus :math:`\eta`, annotators of a case who agree on
    its first class agree on later ones more than annotators of two cases with the same first class. Both
    :math:`\lambda` and :math:`D` know which classes are common; the discount :math:`\delta`, with :math:`\pi` the
    shares of the population, keeps this from counting twice.

    Parameters
    ----------
    plausibility
        Plausibilities of the slots of a case, at any number of draws.
    blocks
        Slots in each block, best first, without the last block of unnamed classes.
    follow
        Shares :math:`D` of what follows the first block, averaged over its classes, by slot; instead of the
        remainder's there are those of its classes, one by one.
    population
        Shares by which careless draws are made; they sum to one over slots.
    stages
        Shared parameters :math:`\rho, w, \eta, \beta, \delta, \epsilon_1, \epsilon`, and those of the lengths of lists.
    reliability
        Reliability :math:`\gamma` of first choices.
    rest
        Prior shapes of the classes of a remainder, which is the last slot; its classes compete one by one, each with
        its share of the remainder's plausibility, in expectation. None if every slot is a class.
    xp
        Array functions, ``jax.numpy`` or ``numpy``.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.5, 0.3, 0.2])
    >>> float(np.exp(log_prob(p, [[0], [1]], p, p, Stages(), xp=np)).round(6))
    0.3
    """
    weight = xp.asarray(plausibility)
    sources = xp.asarray(follow), xp.asarray(population)
    total = xp.log(_of_blocks(blocks, weight, *sources, stages, reliability, rest, xp) + LEAST)
    return total + _of_lengths(blocks, weight, stages, rest is not None, xp)


def _of_blocks(blocks, weight, follow, population, stages, reliability, rest, xp):
    """Probability of the blocks in their order."""
    first, later = (_powered(weight, power, rest, xp) for power in (reliability, reliability * stages.ratio))
    follow = _powered(weight, stages.focus, rest, xp, _tilted(follow, population, stages, rest, xp))
    total, named = xp.ones(weight.shape[:-1]), []
    for number, block in enumerate(blocks):
        w = stages.dependence if number else 0.0
        sums = {(): xp.ones(weight.shape[:-1])}
        for subset in subsets(len(block))[1:]:
            value = 0.0
            for last in subset:
                before = tuple(other for other in subset if other != last)
                gone = [*named, *(block[other] for other in before)]
                of_first = not number and not before
                e = stages.careless if of_first else stages.careless_later
                shares = (1 - e) * (1 - w), (1 - e) * w, e
                sources = (first if of_first else later, follow, population)
                chance = 0.0
                for share, source in zip(shares, sources, strict=True):
                    left = source.sum(-1) - sum((source[..., slot] for slot in gone), 0.0)
                    chance = chance + share * source[..., block[last]] / xp.maximum(left, LEAST)
                value = value + sums[before] * xp.minimum(chance, 1.0)
            sums[subset] = value
        total = total * sums[tuple(range(len(block)))]
        named += block
    return total


def _tilted(follow, population, stages, rest, xp):
    """Shares of what follows, sharpened, with the population divided out: a remainder's by class, as they come."""
    if rest is not None:
        shape = xp.asarray(rest)
        population = xp.append(population[:-1], population[-1] * shape / shape.sum())
    return follow**stages.sharpness / xp.maximum(population, LEAST) ** stages.discount


def _powered(weight, power, rest, xp, shares=1.0):
    """Powers of plausibilities times shares, those of a remainder expected of the sum over its classes."""
    found = xp.exp(power * xp.log(xp.maximum(weight, LEAST)))
    if rest is None:
        return found * shares
    shape = xp.maximum(xp.asarray(rest), LEAST)
    log_gamma = gammaln if xp is jnp else scipy_gammaln
    slots = weight.shape[-1] - 1
    shares = xp.broadcast_to(xp.asarray(shares), (slots + len(shape),))
    several = (shares[slots:] * xp.exp(log_gamma(shape + power) - log_gamma(shape))).sum()
    several = several * xp.exp(log_gamma(shape.sum()) - log_gamma(shape.sum() + power))
    return found * xp.append(shares[:slots], several)


def _of_lengths(blocks, weight, stages, remainder, xp):
    """Log probability that the list ends after its last named block, not before, and that blocks are tied or not."""
    total, left = 0.0, xp.ones(weight.shape[:-1])
    top = (weight[..., :-1] if remainder and weight.shape[-1] > 1 else weight).max(-1)
    doubt = xp.log(xp.maximum(1 - top, LEAST_MASS))
    named = 0
    for number, block in enumerate(blocks):
        if stages.tie is not None:
            odds = stages.tie[min(named, 2)] + stages.tie[3] * doubt
            total = total - xp.logaddexp(0.0, -odds if len(block) > 1 else odds)
        left = left - sum(weight[..., slot] for slot in block)
        named += len(block)
        if stages.stop is not None:
            odds = stages.stop[min(named, 3) - 1] + stages.stop[3] * xp.log(xp.maximum(left, LEAST_MASS))
            odds = odds + stages.stop[4] * doubt
            total = total - xp.logaddexp(0.0, -odds if number == len(blocks) - 1 else odds)
    return total


def staged_plackett_luce(
    blocks: Sequence[Sequence[Sequence[int]]],
    follow: Sequence[Float[ArrayLike, " share"]],
    population: Float[ArrayLike, " slot"],
    heads: Float[ArrayLike, " head"],
    shape: Float[ArrayLike, "head slot"],
    stages: Stages,
    *,
    reliability: Float[ArrayLike, ""] = 1.0,
    rest: Float[ArrayLike, " class"] | None = None,
) -> None:
    r"""Staged Plackett-Luce model of one case, given the shared parameters.

    .. math::
       z \sim \mathrm{Categorical}(\pi), \quad \lambda \mid z \sim \mathrm{Dirichlet}(A\, C_z), \quad
       b^r \sim \mathrm{Staged}(\lambda^\gamma, \lambda^{\rho\gamma}, \lambda^\eta D^\beta \pi^{-\delta}, w,
       \epsilon_1, \epsilon)

    where :math:`z` is summed out; :func:`log_prob` is the probability of an annotation.

    Parameters
    ----------
    blocks
        Slots in each named block of every annotation, best first.
    follow
        What follows the first block of every annotation, see :func:`log_prob`.
    population
        Shares of the classes in careless draws.
    heads, shape
        Weights of the heads and prior shapes of the slots under each, see :mod:`plausibly.priors.population`.
    stages, reliability
        Shared parameters, and the reliability of first choices.
    rest
        Prior shapes of the classes of the remainder, the last slot; None without one.

    References
    ----------
    Benter (1994), Computer based horse race handicapping and wagering systems, for reliability by stage; Plackett
    (1975), The analysis of permutations.
    """
    prior = dist.MixtureSameFamily(dist.Categorical(probs=jnp.asarray(heads)), dist.Dirichlet(jnp.asarray(shape)))
    plausibility = numpyro.sample("plausibility", prior)
    for number, (one, after) in enumerate(zip(blocks, follow, strict=True)):
        value = log_prob(plausibility, one, after, population, stages, reliability=reliability, rest=rest)
        numpyro.factor(f"ranking_{number}", value)


model = Model(
    name="staged-plackett-luce",
    program=staged_plackett_luce,
    reliability=1.0,
    options={
        "first": ("inferred", "given"),
        "later": ("inferred", "same"),
        "follow": ("inferred", "none"),
        "careless": ("inferred", "none"),
        "lengths": ("inferred", "given"),
        "class_prior": ("population",),
        "difficulty": ("same", "by-case"),
    },
    reliabilities=(1,),
    staged=log_prob,
    replicate="rankings",
    citations=(
        *RANKING,
        (
            "reliability by stage",
            "Benter (1994), Computer based horse race handicapping and wagering systems, in: Efficiency of racetrack "
            "betting markets.",
        ),
        ("the posterior over partial rankings", STUTZ),
    ),
)
