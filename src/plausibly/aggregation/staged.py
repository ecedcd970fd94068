"""Sampling models whose annotators share more than a prior: independent proposals, accepted by their weights.

Proposals come from the posterior given label counts, which is known exactly, whatever the model makes of ties and later
ranks. Their weights are bounded, since half of them are given first choices alone, so that chains of accepted proposals
(Metropolis-Hastings with independent proposals) forget their start at a geometric rate (Mengersen & Tweedie 1996).
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Float, Key

from plausibly._progress import Progress
from plausibly.annotations import Annotations
from plausibly.errors import ArgumentError
from plausibly.families import Settled
from plausibly.priors import CasePriors
from plausibly.priors.population import Population
from plausibly.priors.population.shared_stages import SharedStages, check_blocks
from plausibly.priors.population.stage_estimate import estimate_stages
from plausibly.priors.population.staged_cases import StagedCases, propose
from plausibly.random_streams import Stream, generator, stream_words

PROPOSALS = 8  #: proposals for every draw that is kept


def learn_stages(settled: Settled, annotations: Annotations, seed: int) -> Settled:
    """Estimate what annotators share, unless the population knows."""
    check_blocks(annotations)
    population, arguments = settled.prior, settled.arguments
    assert isinstance(population, Population)
    if population.stages is not None:  # learnt from other cases, as far as is known
        return replace(settled, prior=replace(population, stages=replace(population.stages, own=False)))
    if arguments["first"] == "inferred" and arguments["reliability"] != settled.model.reliability:
        raise ArgumentError(
            f"{settled.model.name} infers the reliability of first choices, but reliability="
            f"{arguments['reliability']:g} was given: leave it out, or add first='given'."
        )
    of_option = {
        "first": ("reliability",),
        "later": ("ratio",),
        "follow": ("dependence", "focus", "sharpness", "discount"),
        "careless": ("careless", "careless_later"),
    }
    inferred = {name: arguments[option] == "inferred" for option, names in of_option.items() for name in names}
    inferred |= {"concentration": True, "spread": arguments["difficulty"] == "by-case"}
    found = estimate_stages(
        annotations,
        population,
        inferred=inferred,
        lengths=arguments["lengths"] == "inferred",
        reliability=arguments["reliability"],
        seed=seed,
        learnt=arguments["class_prior"] == "population",
    )
    return replace(settled, prior=found)


def sample_staged(
    annotations: Annotations,
    priors: CasePriors,
    population: Population,
    keys: Key[Array, " case"],
    *,
    chains: int,
    draws: int,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Plausibilities given the shared parameters, and statistics by (chain, draw, case).

    These are the log probability ``lp`` of the annotations and the share of accepted proposals since the last draw.
    """
    shared: SharedStages = population.stages
    words = stream_words(keys)[Stream.POPULATION]
    n = draws * PROPOSALS
    out = np.empty((chains, draws, len(priors.slots)), np.float32)
    lp, accepted = (np.empty((chains, draws, len(words)), np.float32) for _ in range(2))
    advance = progress.task("Sampling by independent proposals", len(words), "cases")
    whole, first_case, first_slot = StagedCases.of(annotations, priors, shared, population), 0, 0
    for part in whole.parts(chains * n):
        start = part.priors.slots.start
        logs = np.empty((chains * n, len(part.priors.slots)))
        log_proposal = np.empty((chains * n, part.annotations.n_cases))
        randoms = [generator(word) for word in words[first_case : first_case + part.annotations.n_cases]]
        for case, random in enumerate(randoms):
            own = slice(*start[case : case + 2])
            logs[:, own], log_proposal[:, case] = propose(part, case, random, chains * n)
        likelihood = part.log_likelihood(logs, shared.stages, shared.reliability)
        for case, random in enumerate(randoms):
            weight = (likelihood[:, case] - log_proposal[:, case]).reshape(chains, n)
            at, moved = _chains(weight, random)
            kept = at[:, PROPOSALS - 1 :: PROPOSALS] + n * np.arange(chains)[:, None]
            own = slice(*start[case : case + 2])
            out[:, :, first_slot + own.start : first_slot + own.stop] = np.exp(logs[kept][..., own])
            lp[:, :, first_case + case] = likelihood[kept, case]
            accepted[:, :, first_case + case] = moved.reshape(chains, draws, PROPOSALS).mean(2)
            advance(1)
        first_case, first_slot = first_case + len(randoms), first_slot + len(part.priors.slots)
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
