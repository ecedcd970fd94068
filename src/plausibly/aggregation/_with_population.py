"""Cases under a prior that is learned: shared parameters first, then cases independently, given these."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from plausibly.base.progress import Progress
from plausibly.base.random_streams import Stream, case_keys, fold_in, generator, stream_words
from plausibly.data.annotations import Annotations
from plausibly.families import Settled
from plausibly.families.priors import CasePriors, ClassPrior, PredictionsPrior
from plausibly.families.priors.population import estimate, shifts_text
from plausibly.inference import Form, Heads, dirichlet_rows

SAMPLED = 8  #: draws of a population given each of which the Gibbs sampler runs, for full Bayesian inference
SAMPLED_ALONE = 25  #: the same for a prior without components, under which the sampler needs a fifth of the warm-up

#: sweeps by which shared parameters are sampled; heads and profiles hold each other, so that concentrations move slowly
SWEEPS = {"draws": 1000, "warmup": 500}

PARTS_OF_MEAN = 40  #: draws of the shared parameters over which an expected plausibility is averaged, at most


def learn_prior(settled: Settled, annotations: Annotations, *, seed: int, progress: bool) -> Settled:
    """Learn what cases share if the class prior needs it and none was given."""
    if settled.evidence is not None:
        if settled.prior is not None:
            return settled
        kept = settled.arguments["draws"] * settled.arguments["chains"]
        with Progress(progress) as bars:
            done = bars.task("Learning the prior", 1, "fits")
            kappa = settled.arguments.get("prior_kappa")
            prior = PredictionsPrior.learn(annotations, settled.evidence, draws=kept, seed=seed, kappa=kappa)
            done(1)
        return replace(settled, prior=prior, learned=True)
    if settled.prior is not None:
        return replace(settled, class_shifts=shifts_text(annotations, settled.prior))
    if settled.arguments.get("class_prior") != "population":
        return settled
    sampled = settled.arguments["shared"] == "sampled"
    by_case = settled.arguments["difficulty"] == "by-case"
    sweeps = SWEEPS if sampled else {}
    found = estimate(annotations, seed=seed, difficulty=by_case, samples=sampled, progress=progress, **sweeps)
    shifts = shifts_text(annotations, found)
    # What annotators share is learnt afterwards.
    return replace(settled, prior=found, learned=True, class_shifts=shifts)


@dataclass(frozen=True)
class Mixture:
    """Priors of some cases, given an estimate of the shared parameters or each of some draws of them."""

    annotations: Annotations
    priors: CasePriors  #: given the estimate, or the first draw
    whole: ClassPrior

    @classmethod
    def of(cls, settled: Settled, annotations: Annotations) -> "Mixture":
        """Lay out the cases of annotations."""
        prior = settled.prior
        assert prior is not None
        whole = prior if settled.shares_draws else prior.estimated()
        return cls(annotations, whole.lay_out(annotations), whole)

    def select(self, which: Bool[np.ndarray, " case"]) -> "Mixture":
        """Return the priors of some cases."""
        return Mixture(self.annotations.select(np.flatnonzero(which)), self.priors.select(which), self.whole)

    @property
    def most(self) -> int:
        """Draws of the shared parameters given each of which a Markov chain runs, at most."""
        return SAMPLED if self.priors.log_weight.shape[1] > 1 else SAMPLED_ALONE

    def warmup(self, sweeps: int) -> int:
        """Warm-up of each of several Markov chains that start where there are no components to find."""
        return sweeps if self.most == SAMPLED else -(-sweeps // 5)

    def parts(self, draws: int, most: int | None = None) -> Iterator[tuple[CasePriors, int]]:
        """Priors given each draw of the shared parameters, or ``most`` of them, with the number of draws it is for."""
        parts = self._split_draws(draws, most)
        for number, part in zip(self._numbers(parts), parts, strict=True):
            yield self.whole.given(self.priors, self.annotations, int(number)), len(part)

    def numbers(self, draws: int) -> Int[np.ndarray, " draw"]:
        """Number of the draw of the shared parameters that each draw of a Markov chain is given."""
        parts = self._split_draws(draws, self.most)
        return np.repeat(self._numbers(parts), [len(part) for part in parts])[self.turns(draws)]

    def _numbers(self, parts: list[np.ndarray]) -> Int[np.ndarray, " part"]:
        return np.linspace(0, self.whole.n_draws - 1, len(parts)).round().astype(int)

    def judged(self, plausibility: Float[np.ndarray, "chain draw slot"]) -> Float[np.ndarray, "chain draw slot"]:
        """Return what chains are judged by: ranks among the draws of the same population, one after the other.

        Ties are broken at random: a class that one of the populations makes unlikely is 0 in all draws, which would
        look like a variance that changes along the chains.
        """
        parts = self._split_draws(plausibility.shape[1], self.most)
        if len(parts) == 1:
            return plausibility
        from scipy.stats import rankdata  # a second to import

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
        within = [np.arange(len(part)) for part in self._split_draws(draws, self.most)]
        return np.argsort(np.concatenate(within), kind="stable")

    def _split_draws(self, draws: int, most: int | None) -> list[np.ndarray]:
        return np.array_split(np.arange(draws), min(self.whole.n_draws, draws, most or draws))


def expected(mixture: Mixture, counts: Float[np.ndarray, " core"]) -> Float[np.ndarray, " slot"]:
    """Mean of the exact posterior: a mixture of Dirichlet distributions given label counts of the core slots."""
    means = []
    for priors, _ in mixture.parts(mixture.whole.n_draws, PARTS_OF_MEAN):
        weight, slots = priors.weights(counts), priors.slots
        shape = priors.shape + priors.on_slots(counts)
        total = np.add.reduceat(shape, slots.start[:-1], axis=1)[:, slots.case]
        means.append((weight.T[:, slots.case] * shape / total).sum(0))
    return np.mean(means, axis=0)


def form_of(
    mixture: Mixture, counts: Float[np.ndarray, " core"], seed: int, numbers: Int[np.ndarray, " draw"] | None = None
) -> Form | None:
    """Posterior given label counts, if it has a form that is kept; ``numbers`` are those of :func:`draw_exactly`."""
    if mixture.whole.closed_form is None:
        return None
    counts = mixture.priors.on_slots(counts)
    return mixture.whole.closed_form(mixture.annotations.cases, mixture.priors.slots, counts, seed, numbers=numbers)


def draw_exactly(
    mixture: Mixture,
    counts: Float[np.ndarray, " core"],
    seed: int,
    *,
    chains: int,
    draws: int,
    numbers: Int[np.ndarray, " draw"] | None = None,
) -> Float[np.ndarray, "chain draw slot"]:
    """Independent draws from the mixture of Dirichlet distributions that is the posterior given label counts.

    ``numbers`` are those of the draws of the shared parameters, for a prior that every draw has one of.
    """
    if (form := form_of(mixture, counts, seed, numbers)) is not None:
        return form.draw(chains, draws)
    slots, words = mixture.priors.slots, stream_words(case_keys(seed, mixture.annotations.cases))[Stream.POPULATION]
    out = np.empty((chains, draws, len(slots)), np.float32)
    first = 0
    for number, (priors, n) in enumerate(mixture.parts(draws)):
        weight, added = priors.weights(counts), priors.on_slots(counts)
        below = np.cumsum(weight, axis=1)
        for case in range(len(words)):
            own = slice(*slots.start[case : case + 2])
            random = generator(words[case], number)
            head = np.searchsorted(below[case], random.random(chains * n) * below[case, -1])
            shape = (priors.shape[:, own] + added[own])[np.minimum(head, below.shape[1] - 1)]
            out[:, first : first + n, own] = dirichlet_rows(random, shape).reshape(chains, n, -1)
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
    for number, (priors, n) in enumerate(mixture.parts(draws, mixture.most)):
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
            shares = dirichlet_rows(generator(words[case], number), shape)
            out[..., own] *= shares.reshape(*head.shape[:2], -1)
    return out
