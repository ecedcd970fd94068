"""Annotations predicted by the staged model: plausibilities are drawn given the others, and weighted.

Draws come from the proposals by which such models are sampled, so that no chain is run. Half of them know what is left
out: a class that is plausible in few draws alone would seem less probable than it is. A class that only the annotation
left out names has a slot of its own, with the prior of its case.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import logsumexp

from plausibly._progress import Progress
from plausibly.annotations import Annotations
from plausibly.model_comparison.folds import Folds
from plausibly.priors import CasePriors
from plausibly.priors.population import Population, at_population, case_priors
from plausibly.priors.population.staged_cases import StagedCases, propose
from plausibly.random_streams import Stream, case_keys, generator, stream_words

PROPOSALS = 800  #: of plausibilities, for every copy of a case

_TOGETHER = 100  # copies of cases


def leave_out_staged(
    folds: Folds, population: Population, *, of_rankings: bool, seed: int, progress: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probability of each annotation given the others of its case, and given all of it; Monte Carlo error.

    Of whole rankings given the sizes of their blocks, or of a first choice within the first block.
    """
    annotations = folds.annotations
    elpd, in_sample, error = (np.full(annotations.n_annotations, np.nan) for _ in range(3))
    copies = np.arange(len(folds))
    predict = partial(_predict, population=population, of_rankings=of_rankings, seed=seed)
    with Progress(progress) as bars:
        advance = bars.task("Leaving annotations out", len(copies) + annotations.n_cases, "cases")
        for part in np.array_split(copies, -(-len(copies) // _TOGETHER)) if len(copies) else []:
            whole, train, (out, of) = folds.whole(part), folds.train(part), folds.left_out(part)
            heads = case_priors(population, train).heads
            priors = at_population(replace(case_priors(population, whole), heads=heads), population)
            elpd[of], error[of] = predict(train, out, priors)
            advance(len(part))
        elpd, error = elpd[folds.like], error[folds.like]
        for part in np.array_split(np.arange(annotations.n_cases), -(-annotations.n_cases // _TOGETHER)):
            some = annotations.select(part)
            inside = np.flatnonzero(np.isin(annotations.annotation_case, part))
            priors = case_priors(population, some)
            in_sample[inside], _ = predict(some, some, priors)
            alone = folds.copy[inside] < 0
            if alone.any():
                found = predict(None, some, priors)
                elpd[inside[alone]], error[inside[alone]] = (values[alone] for values in found)
            advance(len(part))
    return elpd, in_sample, error


def _predict(
    given: Annotations | None,
    wanted: Annotations,
    priors: CasePriors,
    population: Population,
    of_rankings: bool,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Log probability of the wanted annotations, given others of their cases or none, and its Monte Carlo error."""
    shared = population.stages
    other = StagedCases.of(wanted, priors, shared, population)
    nothing = np.zeros(len(priors.slots))
    seen = replace(other, first=nothing, later=nothing)
    if given is not None:
        seen = StagedCases.of(given, priors, shared, population)
    logs = np.empty((PROPOSALS, len(priors.slots)))
    weight = np.zeros((PROPOSALS, wanted.n_cases))
    words = stream_words(case_keys(seed, wanted.cases))[Stream.POPULATION]
    for case, word in enumerate(words):
        own = slice(*priors.slots.start[case : case + 2])
        logs[:, own], log_proposal = propose(seen, case, generator(word), PROPOSALS, None if given is wanted else other)
        weight[:, case] = -log_proposal
    if given is not None:
        weight += seen.log_likelihood(logs, shared.stages, shared.reliability)
    weight = (weight - logsumexp(weight, axis=0))[:, wanted.annotation_case]
    if of_rankings:
        value = other.by_annotation(logs, shared.stages._replace(stop=None, tie=None), shared.reliability)
    else:
        value = other.first_choices(logs, shared.stages, shared.reliability)
    found = logsumexp(weight + value, axis=0)
    spread = np.exp(weight) * np.expm1(np.minimum(value - found, 700))
    return found, np.sqrt((spread**2).sum(0))
