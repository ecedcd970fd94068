"""Cases under a prior that is learned: shared parameters first, then cases independently, given these."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from plausibly.base.progress import Progress
from plausibly.base.random_streams import Stream, fold_in, stream_words
from plausibly.data.annotations import Annotations, Slots
from plausibly.families import Settled
from plausibly.families.priors import CasePriors, ClassPrior, PredictionsPrior
from plausibly.inference import Form, draw_in_place

CHAINS_OF = 25  #: draws of the shared parameters given each of which Markov chains run, at most
PARTS_OF_MEAN = 40  #: draws of the shared parameters over which an expected plausibility is averaged, at most


def learn_prior(settled: Settled, annotations: Annotations, *, seed: int, progress: bool) -> Settled:
    """Learn what cases share if the class prior needs it and none was given."""
    if settled.prior is not None or settled.evidence is None:
        return settled
    kept = settled.arguments["draws"] * settled.arguments["chains"]
    with Progress(progress) as bars:
        done = bars.task("Learning the prior", 1, "fits")
        kappa = settled.arguments.get("prior_kappa")
        prior = PredictionsPrior.learn(annotations, settled.evidence, draws=kept, seed=seed, kappa=kappa)
        done(1)
    return replace(settled, prior=prior, learned=True)


@dataclass(frozen=True)
class Learned:
    """Priors of some cases, given each of some draws of the shared parameters."""

    annotations: Annotations
    priors: CasePriors  #: given the first draw
    whole: ClassPrior

    @classmethod
    def of(cls, settled: Settled, annotations: Annotations) -> "Learned":
        """Lay out the cases of annotations."""
        assert settled.prior is not None
        return cls(annotations, settled.prior.lay_out(annotations), settled.prior)

    def select(self, which: Bool[np.ndarray, " case"]) -> "Learned":
        """Return the priors of some cases."""
        return Learned(self.annotations.select(np.flatnonzero(which)), self.priors.select(which), self.whole)

    def warmup(self, sweeps: int) -> int:
        """Warm-up of the chains given each draw, a fifth of that of a single run."""
        return -(-sweeps // 5)

    def parts(self, draws: int, most: int) -> Iterator[tuple[CasePriors, int]]:
        """Priors given each of at most ``most`` draws of the shared parameters, with the number of draws it is for."""
        parts = self._split_draws(draws, most)
        for number, part in zip(self._numbers(parts), parts, strict=True):
            yield self.whole.given(self.priors, self.annotations, int(number)), len(part)

    def numbers(self, draws: int) -> Int[np.ndarray, " draw"]:
        """Number of the draw of the shared parameters that each draw of a Markov chain is given."""
        parts = self._split_draws(draws, CHAINS_OF)
        return np.repeat(self._numbers(parts), [len(part) for part in parts])[self.turns(draws)]

    def _numbers(self, parts: list[np.ndarray]) -> Int[np.ndarray, " part"]:
        return np.linspace(0, self.whole.n_draws - 1, len(parts)).round().astype(int)

    def judged(self, plausibility: Float[np.ndarray, "chain draw slot"]) -> Float[np.ndarray, "chain draw slot"]:
        """Return what chains are judged by: ranks among the draws of the same prior, one after the other.

        Ties are broken at random: a class that one of the priors makes unlikely is 0 in all draws, which would look
        like a variance that changes along the chains.
        """
        parts = self._split_draws(plausibility.shape[1], CHAINS_OF)
        if len(parts) == 1:
            return plausibility
        places = np.argsort(self.turns(plausibility.shape[1]))
        out, random = np.empty_like(plausibility), np.random.default_rng(0)
        for part in parts:
            block = plausibility[:, places[part]]
            flat = block.reshape(-1, block.shape[2])
            mixed = random.permutation(len(flat))
            order = np.argsort(flat[mixed].T, kind="stable")  # SciPy's ranks take a second to import
            np.put_along_axis(flat.T, mixed[order], np.arange(1, len(flat) + 1, dtype=flat.dtype)[None], axis=1)
            out[:, part] = flat.reshape(block.shape)
        return out

    def turns(self, draws: int) -> np.ndarray:
        """Order in which priors take turns: a chain that has one after the other would seem to drift."""
        within = [np.arange(len(part)) for part in self._split_draws(draws, CHAINS_OF)]
        return np.argsort(np.concatenate(within), kind="stable")

    def _split_draws(self, draws: int, most: int) -> list[np.ndarray]:
        return np.array_split(np.arange(draws), min(self.whole.n_draws, draws, most))


def expected(learned: Learned, counts: Float[np.ndarray, " core"]) -> Float[np.ndarray, " slot"]:
    """Mean of the exact posterior: of Dirichlet distributions given label counts of the core slots."""
    means = []
    for priors, _ in learned.parts(learned.whole.n_draws, PARTS_OF_MEAN):
        shape, slots = priors.shape + priors.on_slots(counts), priors.slots
        means.append(shape / np.add.reduceat(shape, slots.start[:-1])[slots.case])
    return np.mean(means, axis=0)


def form_of(
    learned: Learned, counts: Float[np.ndarray, " core"], seed: int, numbers: Int[np.ndarray, " draw"] | None = None
) -> Form:
    """Exact posterior given label counts; ``numbers`` are those of the draws of the shared parameters, by default all.

    Every draw has one of these.
    """
    counts = learned.priors.on_slots(counts)
    return learned.whole.closed_form(learned.annotations.cases, learned.priors.slots, counts, seed, numbers=numbers)


def sample_by_prior(
    learned: Learned,
    sample: Callable[[Float[np.ndarray, " core"], int, Key[Array, " case"]], tuple[np.ndarray, dict[str, np.ndarray]]],
    keys: Key[Array, " case"],
    draws: int,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Sample plausibilities of the core slots given one draw of the prior after another, and split the remainder.

    ``sample`` is given prior shapes, a number of draws and keys, and returns plausibilities and statistics. The result
    has plausibilities of all slots and the statistics.
    """
    found, statistics = [], []
    for number, (priors, n) in enumerate(learned.parts(draws, CHAINS_OF)):
        own = keys if number == 0 else fold_in(keys, np.full(len(keys), number))
        core, more = sample(priors.core_shape, n, own)
        found.append(_split(priors, core, stream_words(own)[Stream.PRIOR]))
        statistics.append(more)
    order = learned.turns(draws)
    joined = {name: np.concatenate([more[name] for more in statistics], axis=1)[:, order] for name in statistics[0]}
    return np.concatenate(found, axis=1)[:, order], joined


def _split(
    priors: CasePriors, core: Float[np.ndarray, "chain draw core"], words: np.ndarray
) -> Float[np.ndarray, "chain draw slot"]:
    """Split the remainder among likely classes and what is left of it."""
    slots, parent = priors.slots, priors.core_of()
    out, at = core[..., parent], np.flatnonzero(priors.core.is_remainder[parent])
    if len(at):
        cases, case = np.unique(slots.case[at], return_inverse=True)
        start = np.searchsorted(case, np.arange(len(cases) + 1))
        shares = np.repeat(priors.shape[at, None].astype(np.float32), core.shape[0] * core.shape[1], axis=1)
        draw_in_place(shares, Slots(case, slots.class_index[at], slots.n_classes[at], start), words[cases])
        out[..., at] *= shares.T.reshape(*core.shape[:2], -1)
    return out
