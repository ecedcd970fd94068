"""Cases under a population prior: shared parameters first, then cases independently, given these."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import gammaln
from scipy.stats import rankdata

from plausibly.aggregation._arguments import Settled
from plausibly.annotations import Annotations
from plausibly.inference import Heads
from plausibly.population import CasePriors, Population, case_priors, estimate, shifts_text
from plausibly.random_streams import Stream, fold_in, generator, stream_words

SAMPLED = 8  #: draws of the shared parameters given each of which the Gibbs sampler runs, for full Bayesian inference

#: sweeps by which shared parameters are sampled; heads and profiles hold each other, so that concentrations move slowly
SWEEPS = {"draws": 1000, "warmup": 500}

_LEAST = 1e-9


def borrow(settled: Settled, annotations: Annotations, *, seed: int, progress: bool) -> Settled:
    """Estimate the population if the class prior needs one and none was given."""
    if settled.population is not None:
        return replace(settled, class_shifts=shifts_text(annotations, settled.population))
    if settled.arguments.get("class_prior") != "population":
        return settled
    sampled = settled.arguments["shared"] == "sampled"
    by_case = settled.arguments["difficulty"] == "by-case"
    sweeps = SWEEPS if sampled else {}
    found = estimate(annotations, seed=seed, difficulty=by_case, samples=sampled, progress=progress, **sweeps)
    shifts = shifts_text(annotations, found)
    return replace(settled, population=found, class_shifts=shifts)  # what annotators share is learnt afterwards


@dataclass(frozen=True)
class Mixture:
    """Priors of some cases, given an estimate of the shared parameters or each of some draws of them."""

    annotations: Annotations
    priors: CasePriors  #: given the estimate
    populations: tuple[Population, ...]
    whole: Population  #: the estimate

    @classmethod
    def of(cls, settled: Settled, annotations: Annotations) -> "Mixture":
        """Lay out the cases of annotations."""
        population = settled.population
        assert population is not None
        wanted = settled.arguments.get("shared") == "sampled"
        populations = population.samples if wanted else (population,)
        return cls(annotations, case_priors(population, annotations), populations, population)

    @property
    def concentration(self) -> float:
        """Mean prior shape of a class."""
        population = self.populations[0]
        return population.concentration / len(population.classes)

    def describe(self) -> dict[str, Any]:
        """Attributes of the posterior: the shared parameters, and the prior shape of every class in a remainder."""
        found = self.whole
        shape = found.concentration * found.expected
        rounded = [float(f"{value:.4g}") for value in shape]
        return {"population": json.dumps(found.describe()), "class_prior_shape": json.dumps(rounded)}

    def parts(self, draws: int, most: int | None = None) -> Iterator[tuple[CasePriors, int]]:
        """Priors given each of the populations, or of ``most`` of them, with the number of draws it is for."""
        parts = self._split_draws(draws, most)
        chosen = np.linspace(0, len(self.populations) - 1, len(parts)).round().astype(int)
        for number, part in zip(chosen, parts, strict=True):
            yield self._given(self.populations[number]), len(part)

    def judged(self, plausibility: Float[np.ndarray, "chain draw slot"]) -> Float[np.ndarray, "chain draw slot"]:
        """Return what chains are judged by: ranks among the draws of the same population, one after the other.

        Ties are broken at random: a class that one of the populations makes unlikely is 0 in all draws, which would
        look like a variance that changes along the chains.
        """
        parts = self._split_draws(plausibility.shape[1], SAMPLED)
        if len(parts) == 1:
            return plausibility
        places = np.argsort(self.turns(plausibility.shape[1]))
        out, random = np.empty_like(plausibility), np.random.default_rng(0)
        for part in parts:
            block = plausibility[:, places[part]]
            flat = block.reshape(-1, block.shape[2])
            mixed = random.permutation(len(flat))
            flat[mixed] = rankdata(flat[mixed], method="ordinal", axis=0)
            out[:, part] = flat.reshape(block.shape)
        return out

    def turns(self, draws: int) -> np.ndarray:
        """Order in which populations take turns: a chain that has one after the other would seem to drift."""
        within = [np.arange(len(part)) for part in self._split_draws(draws, SAMPLED)]
        return np.argsort(np.concatenate(within), kind="stable")

    def _split_draws(self, draws: int, most: int | None) -> list[np.ndarray]:
        return np.array_split(np.arange(draws), min(len(self.populations), draws, most or draws))

    def _given(self, population: Population) -> CasePriors:
        if population is self.whole:
            return self.priors
        heads = case_priors(population, self.annotations).heads  # profiles have other heads in every draw
        return replace(self.priors, heads=heads).given(population)


def expected(mixture: Mixture, counts: Float[np.ndarray, " core"]) -> Float[np.ndarray, " slot"]:
    """Mean of the exact posterior: a mixture of Dirichlet distributions given label counts of the core slots."""
    parts = [_expected(priors, counts) for priors, _ in mixture.parts(len(mixture.populations))]
    return np.mean(parts, axis=0)


def _expected(priors: CasePriors, counts: np.ndarray) -> np.ndarray:
    weight = posterior_weights(priors, counts)
    shape = priors.shape + priors.on_slots(counts)
    total = np.add.reduceat(shape, priors.slots.start[:-1], axis=1)[:, priors.slots.case]
    return (weight.T[:, priors.slots.case] * shape / total).sum(0)


def posterior_weights(priors: CasePriors, counts: Float[np.ndarray, " core"]) -> Float[np.ndarray, "case head"]:
    """Posterior probabilities of the heads of every case, exact given label counts."""
    shape = np.maximum(priors.core_shape, _LEAST)
    terms = np.where(counts > 0, gammaln(shape + counts) - gammaln(shape), 0)
    start = priors.core.start[:-1]
    logs = priors.log_weight + np.add.reduceat(terms, start, axis=1).T
    whole, total = np.add.reduceat(shape, start, axis=1).T, np.add.reduceat(counts, start)[:, None]
    logs += gammaln(whole) - gammaln(whole + total)
    weight = np.exp(logs - logs.max(1, keepdims=True))
    return weight / weight.sum(1, keepdims=True)


def draw_exactly(
    mixture: Mixture, counts: Float[np.ndarray, " core"], keys: Key[Array, " case"], *, chains: int, draws: int
) -> Float[np.ndarray, "chain draw slot"]:
    """Independent draws from the mixture of Dirichlet distributions that is the posterior given label counts."""
    words = stream_words(keys)[Stream.POPULATION]
    slots = mixture.priors.slots
    out = np.empty((chains, draws, len(slots)), np.float32)
    first = 0
    for number, (priors, n) in enumerate(mixture.parts(draws)):
        weight, added = posterior_weights(priors, counts), priors.on_slots(counts)
        below = np.cumsum(weight, axis=1)
        for case in range(len(words)):
            own = slice(*slots.start[case : case + 2])
            random = generator(words[case], number)
            head = np.searchsorted(below[case], random.random(chains * n) * below[case, -1])
            shape = (priors.shape[:, own] + added[own])[np.minimum(head, below.shape[1] - 1)]
            out[:, first : first + n, own] = _dirichlet(random, shape).reshape(chains, n, -1)
        first += n
    return out


def sample_by_head(
    mixture: Mixture,
    sample: Callable[[Heads, int, Key[Array, " case"]], tuple[np.ndarray, dict[str, np.ndarray]]],
    keys: Key[Array, " case"],
    draws: int,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Sample plausibilities of the core slots with their heads, and give likely classes their shares.

    ``sample`` is given the priors, a number of draws and keys, and returns plausibilities and statistics, ``head``
    among them. The result has plausibilities of all slots and the other statistics.
    """
    words = stream_words(keys)[Stream.POPULATION]
    found, statistics = [], []
    for number, (priors, n) in enumerate(mixture.parts(draws, SAMPLED)):
        own = keys if number == 0 else fold_in(keys, np.full(len(words), number))
        core, more = sample(Heads(priors.log_weight, priors.core_shape.astype(np.float32)), n, own)
        found.append(_split(priors, core, more.pop("head"), words, number))
        statistics.append(more)
    order = mixture.turns(draws)
    joined = {name: np.concatenate([more[name] for more in statistics], axis=1)[:, order] for name in statistics[0]}
    return np.concatenate(found, axis=1)[:, order], joined


def _split(
    priors: CasePriors,
    core: Float[np.ndarray, "chain draw core"],
    head: Int[np.ndarray, "chain draw case"],
    words: np.ndarray,
    number: int,
) -> Float[np.ndarray, "chain draw slot"]:
    """Split the remainder among likely classes and what is left of it, given the head of every draw."""
    slots, parent = priors.slots, priors.core_of()
    out = core[..., parent]
    unnamed = priors.core.is_remainder[parent]
    for case in range(len(words)):
        own = np.arange(*slots.start[case : case + 2])
        own = own[unnamed[own]]
        if len(own) > 1:
            shape = priors.shape[:, own][head[..., case].ravel()]
            shares = _dirichlet(generator(words[case], number), shape)
            out[..., own] *= shares.reshape(*head.shape[:2], -1)
    return out


def _dirichlet(random: np.random.Generator, shape: Float[np.ndarray, "draw slot"]) -> Float[np.ndarray, "draw slot"]:
    """One draw for each row of shapes; by logarithms, where small shapes are not lost."""
    shape = np.maximum(shape, _LEAST)
    logs = np.log(random.standard_gamma(shape + 1)) - random.standard_exponential(shape.shape) / shape
    values = np.exp(logs - logs.max(1, keepdims=True))
    return values / values.sum(1, keepdims=True)
