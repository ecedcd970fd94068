"""Sampling models whose annotators share more than a prior: independent proposals, accepted by their weights.

Proposals come from the posterior given label counts, which is known exactly, whatever the model makes of ties and later
ranks. Their weights are bounded, since half of them are given first choices alone, so that chains of accepted proposals
(Metropolis-Hastings with independent proposals) forget their start at a geometric rate (Mengersen & Tweedie 1996).
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Float, Key

from plausibly._progress import Progress
from plausibly.aggregation._arguments import Settled
from plausibly.annotations import Annotations
from plausibly.population import CasePriors, Population
from plausibly.population._stages import CaseView, SharedStages, check_blocks, estimate_stages, propose
from plausibly.random_streams import Stream, generator, stream_words

PROPOSALS = 8  #: proposals for every draw that is kept


def learn_stages(settled: Settled, annotations: Annotations, seed: int) -> Settled:
    """Estimate what annotators share, unless the population knows."""
    check_blocks(annotations)
    population, arguments = settled.population, settled.arguments
    assert population is not None
    if population.stages is not None:
        return settled
    found = estimate_stages(
        annotations,
        population,
        later=arguments["later"] == "inferred",
        follow=arguments["follow"] == "inferred",
        careless=arguments["careless"] == "inferred",
        lengths=arguments["lengths"] == "inferred",
        reliability=arguments["reliability"],
        seed=seed,
    )
    return replace(settled, population=replace(population, stages=found))


def sample_staged(
    annotations: Annotations,
    priors: CasePriors,
    population: Population,
    reliability: float,
    keys: Key[Array, " case"],
    *,
    chains: int,
    draws: int,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Sample every case's posterior, given the shared parameters.

    Returns
    -------
    tuple
        Plausibilities, and by (chain, draw, case) the log probability ``lp`` of the annotations and the share of
        proposals that were accepted since the last draw.
    """
    shared: SharedStages = population.stages
    words = stream_words(keys)[Stream.POPULATION]
    n, start = draws * PROPOSALS, priors.slots.start
    out = np.empty((chains, draws, len(priors.slots)), np.float32)
    lp, accepted = (np.empty((chains, draws, len(words)), np.float32) for _ in range(2))
    advance = progress.task("Sampling by independent proposals", len(words), "cases")
    for case, word in enumerate(words):
        random = generator(word)
        view = CaseView.of(annotations, priors, shared, population, case)
        plausibility, log_proposal = propose(view, priors, random, chains * n)
        likelihood = view.log_likelihood(plausibility, shared.stages, reliability)
        at, moved = _chains((likelihood - log_proposal).reshape(chains, n), random)
        kept = at[:, PROPOSALS - 1 :: PROPOSALS] + n * np.arange(chains)[:, None]
        out[:, :, start[case] : start[case + 1]] = plausibility[kept]
        lp[:, :, case] = likelihood[kept]
        accepted[:, :, case] = moved.reshape(chains, draws, PROPOSALS).mean(2)
        advance(1)
    return out, {"lp": lp, "acceptance_rate": accepted}


def _chains(log_weight: Float[np.ndarray, "chain step"], random: np.random.Generator):
    """Accept or reject one proposal after the other; the first is where a chain starts."""
    bound = log_weight - np.log(random.random(log_weight.shape))  # accepted if the present weight is below
    at, moved = np.zeros(log_weight.shape, np.int64), np.ones(log_weight.shape, bool)
    for chain, (weights, bounds) in enumerate(zip(log_weight.tolist(), bound.tolist(), strict=True)):
        now, here = weights[0], 0
        places = at[chain]
        for step in range(1, len(weights)):
            if bounds[step] > now:
                now, here = weights[step], step
            else:
                moved[chain, step] = False
            places[step] = here
    return at, moved
