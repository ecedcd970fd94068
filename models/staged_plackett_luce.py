"""Staged Plackett-Luce: first choices by plausibility, later ones less reliably, and from what follows the first."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import ArrayLike, Float

from plausibly.model import STUTZ, Model
from plausibly.models.plackett_luce_ml import RANKING

LARGEST_BLOCK = 8  #: classes that may be tied in a block, since its orders are summed over its subsets
_LEAST = 1e-30


class Stages(NamedTuple):
    r"""What annotators have in common beyond the plausibilities of a case; every part can be switched off."""

    ratio: Float[ArrayLike, ""] = 1.0  #: reliability of later draws as a share of the first's, 1 to switch it off
    dependence: Float[ArrayLike, ""] = 0.0  #: share w of later draws that follow from the first block, 0 for none
    careless: Float[ArrayLike, ""] = 0.0  #: probability of an annotation from the population alone, 0 for none
    #: log odds that a list ends: after the first, second and later blocks, and the slope on the log mass left
    stop: Sequence[float] | None = None  #: None to take lengths as given


@lru_cache(maxsize=64)
def _subsets(size: int) -> tuple[tuple[int, ...], ...]:
    members = range(size)
    return tuple(subset for length in range(size + 1) for subset in combinations(members, length))


def log_prob(
    plausibility: Float[ArrayLike, "*draw slot"],
    blocks: Sequence[Sequence[int]],
    follow: Float[ArrayLike, " slot"],
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
       + w \frac{D_k}{\sum_{l \notin S} D_l}.

    within the first block with :math:`w = 0`. This depends on the set alone, so the orders of a tied block are summed
    over its subsets.

    Parameters
    ----------
    plausibility
        Plausibilities of the slots of a case, at any number of draws.
    blocks
        Slots in each block, best first, without the last block of unnamed classes.
    follow
        Shares :math:`D` of what follows the first block, averaged over its classes; they sum to one over slots.
    population
        Shares by which a careless annotator draws; they sum to one over slots.
    stages
        Shared parameters :math:`\rho`, :math:`w`, :math:`\epsilon`, and those of the lengths of lists.
    reliability
        Reliability :math:`\gamma` of first choices.
    rest
        Shares of the classes of a remainder, which is the last slot; its classes compete one by one, each with its
        share of the remainder's plausibility. None if every slot is a class.
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
    total = _of_blocks(blocks, weight, xp.asarray(follow), stages, reliability, rest, xp)
    plain = xp.asarray(population)
    careless = _of_blocks(blocks, plain, plain, Stages(), 1.0, None, xp)
    total = xp.log((1 - stages.careless) * total + stages.careless * careless + _LEAST)
    return total if stages.stop is None else total + _of_length(blocks, weight, stages.stop, xp)


def _of_blocks(blocks, weight, follow, stages, reliability, rest, xp):
    """Probability of the blocks in their order."""
    first, later = (_powered(weight, power, rest, xp) for power in (reliability, reliability * stages.ratio))
    total = xp.ones(weight.shape[:-1])
    left, left_follow = later.sum(-1), follow.sum(-1)
    for number, block in enumerate(blocks):
        w = stages.dependence if number else 0.0
        sums = {(): xp.ones(weight.shape[:-1])}
        for subset in _subsets(len(block))[1:]:
            value = 0.0
            for last in subset:
                before = tuple(other for other in subset if other != last)
                slot = block[last]
                if number == 0 and not before:
                    chance = first[..., slot] / first.sum(-1)
                else:
                    gone = sum((later[..., block[other]] for other in before), 0.0)
                    gone_follow = sum((follow[..., block[other]] for other in before), 0.0)
                    chance = (1 - w) * later[..., slot] / xp.maximum(left - gone, _LEAST)
                    chance = chance + w * follow[..., slot] / xp.maximum(left_follow - gone_follow, _LEAST)
                value = value + sums[before] * xp.minimum(chance, 1.0)
            sums[subset] = value
        total = total * sums[tuple(range(len(block)))]
        left = left - sum(later[..., slot] for slot in block)
        left_follow = left_follow - sum(follow[..., slot] for slot in block)
    return total


def _powered(weight, power, rest, xp):
    """Powers of plausibilities, those of a remainder summed over its classes."""
    found = xp.exp(power * xp.log(xp.maximum(weight, _LEAST)))
    if rest is None:
        return found
    several = (xp.maximum(xp.asarray(rest), _LEAST) ** power).sum()
    return found * xp.where(xp.arange(weight.shape[-1]) == weight.shape[-1] - 1, several, 1.0)


def _of_length(blocks, weight, stop, xp):
    """Log probability that the list goes on after every block but the last named one, and ends there."""
    total, left = 0.0, xp.ones(weight.shape[:-1])
    for number, block in enumerate(blocks):
        left = left - sum(weight[..., slot] for slot in block)
        odds = stop[min(number, 2)] + stop[3] * xp.log(xp.maximum(left, 1e-6))
        total = total - xp.logaddexp(0.0, -odds if number == len(blocks) - 1 else odds)
    return total


def staged_plackett_luce(
    blocks: Sequence[Sequence[Sequence[int]]],
    follow: Sequence[Float[ArrayLike, " slot"]],
    population: Float[ArrayLike, " slot"],
    heads: Float[ArrayLike, " head"],
    shape: Float[ArrayLike, "head slot"],
    stages: Stages,
    *,
    reliability: Float[ArrayLike, ""] = 1.0,
    rest: Float[ArrayLike, " class"] | None = None,
) -> None:
    r"""One case under the staged Plackett-Luce model, given the shared parameters.

    .. math::
       z \sim \mathrm{Categorical}(\pi), \quad \lambda \mid z \sim \mathrm{Dirichlet}(A\, C_z), \quad
       b^r \sim \mathrm{Staged}(\lambda^\gamma, \lambda^{\rho\gamma}, D, w, \epsilon)

    with :math:`z` summed out; :func:`log_prob` has the probability of an annotation.

    Parameters
    ----------
    blocks
        Of every annotation, the slots in each named block, best first.
    follow
        Of every annotation, what follows its first block.
    population
        Shares by which careless annotators draw.
    heads, shape
        Weights of the heads and prior shapes of the slots under each, see :mod:`plausibly.population`.
    stages, reliability
        Shared parameters, and the reliability of first choices.
    rest
        Shares of the classes of the remainder, the last slot; None without one.

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
        ("posterior over partial rankings", STUTZ),
    ),
)
