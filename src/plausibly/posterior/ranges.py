"""Ranges of neighbouring cases, read from memory or from a file, so that all draws are never held in another form."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior
from plausibly.base.checks import check_seed
from plausibly.base.errors import ArgumentError
from plausibly.base.random_streams import Words, case_keys, select, stream_words
from plausibly.data.annotations import Slots
from plausibly.posterior._container import case_names, remainder_concentration, slots_of
from plausibly.posterior.blocks import Blocks
from plausibly.posterior.ranked_lists import rank_slots
from plausibly.posterior.says import has_true_class
from plausibly.posterior.true_class import draw_true_class

PAIRS = 2**19  #: most pairs of a draw and a case in a range of more than one case
CASES = 2000  #: most cases in a range


@dataclass(frozen=True)
class Range:
    """All draws of neighbouring cases, and their point estimate."""

    cases: slice  #: Positions among all cases
    names: np.ndarray  #: Names of the cases
    slots: Slots  #: Slots of these cases, which count from 0
    #: Plausibilities in every draw, and last at the point estimate, which run fastest. Under a model of one true class,
    #: 1 for the class drawn and 0 for all others, but at the point estimate as they are.
    values: Float[np.ndarray, "slot draw+1"]
    words: Words  #: Random keys of the cases
    n_classes: int  #: Number of all classes
    #: Parameter of the Dirichlet that splits the remainder: one for all classes, or one for each
    concentration: float | Float[np.ndarray, " class"]
    #: Probabilities that ``values`` were drawn from; None for other models
    probability: Float[np.ndarray, "slot draw+1"] | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def draws(self) -> Float[np.ndarray, "slot draw"]:
        """Plausibilities in every draw."""
        return self.values[:, :-1]

    @property
    def means(self) -> Float[np.ndarray, " slot"]:
        """Mean plausibilities over draws; of drawn classes, the mean of their probabilities."""
        values = self.draws if self.probability is None else self.probability[:, :-1]
        return values.mean(axis=1, dtype=np.float64)

    @property
    def n_draws(self) -> int:
        """Number of draws of all chains."""
        return self.draws.shape[1]

    def lists(self, depth: int, break_ties: str) -> Int[np.ndarray, "place case draw"]:
        """Rank the most plausible classes, see :func:`rank_slots`."""
        lists = rank_slots(
            self.draws.T,
            self.slots,
            np.arange(len(self)),
            self.words,
            depth,
            n_classes=self.n_classes,
            concentration=self.concentration,
            break_ties=break_ties,
            probability=None if self.probability is None else self.probability[:, :-1].T,
        )
        return lists.transpose(2, 1, 0)

    def blocks(
        self, room: int, *, point: bool = True, cases: Int[np.ndarray, " chosen"] | None = None, times: int = 1
    ) -> Blocks:
        """Cut the range into blocks for compiled programs, with the point estimate as the last of their draws."""
        # It splits the remainder as the first draw does.
        numbers = np.append(np.arange(self.n_draws), np.zeros(int(point)))
        draws, probability = (
            values if point or values is None else values[:, :-1] for values in (self.values, self.probability)
        )
        wanted, words = np.arange(len(self)), self.words
        if cases is not None:
            wanted, words = cases, select(words, cases)
        more = {"room": room, "times": times, "numbers": numbers, "probability": probability}
        return Blocks(draws, self.slots, wanted, words, self.n_classes, self.concentration, **more)


class Ranges:
    """The ranges of a posterior, in order, whose draws may still be in a file; each is read when it is asked for.

    The seed is that of the split of the remainder, of true classes, and of random ties.
    """

    def __init__(self, posterior: Posterior, seed: int, names: np.ndarray | None = None):
        self._slots, self._names = slots_of(posterior), case_names(posterior) if names is None else names
        self._draws = posterior["posterior"]["plausibility"].variable.transpose("chain", "draw", "slot")
        self._point = posterior["constant_data"]["point_plausibility"].variable
        self._seed = check_seed(seed)
        self._n_classes = int(posterior.attrs["n_classes"])
        self._concentration = remainder_concentration(posterior)
        self._has_true_class = has_true_class(posterior.attrs)
        self.n_chains, self.draws_per_chain = self._draws.shape[:2]
        self.n_draws = self.n_chains * self.draws_per_chain
        self.n_cases = len(self._names)
        most = min(CASES, max(1, PAIRS // self.n_draws))
        self._size = math.ceil(self.n_cases / math.ceil(self.n_cases / most))  # equal sizes hardly need padding

    def __iter__(self) -> Iterator[Range]:
        return map(self.read, self.slices)

    @property
    def slices(self) -> list[slice]:
        """Positions of the cases of each range."""
        firsts = range(0, self.n_cases, self._size)
        return [slice(first, min(first + self._size, self.n_cases)) for first in firsts]

    def read(self, cases: slice) -> Range:
        """Read the draws of neighbouring cases."""
        own = slice(int(self._slots.start[cases.start]), int(self._slots.start[cases.stop]))
        names, slots = self._names[cases], self._slots.range(cases)
        words = stream_words(case_keys(self._seed, names))
        values = _checked(self._draws[..., own].values.reshape(self.n_draws, -1), self._point[own].values, cases)
        probability = None
        if self._has_true_class:
            probability, values = values, draw_true_class(values, slots, np.arange(len(names)), words)
            values[:, -1] = probability[:, -1]
        return Range(cases, names, slots, values, words, self._n_classes, self._concentration, probability)


def _checked(
    draws: Float[np.ndarray, "draw slot"], point: Float[np.ndarray, " slot"], cases: slice
) -> Float[np.ndarray, "slot draw+1"]:
    values = np.empty((draws.shape[1], len(draws) + 1), np.float32)
    values[:, :-1], values[:, -1] = draws.T, point
    least, most = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    if least < 0 or most > 1.01:  # what is not a number is for the diagnosis to find
        raise ArgumentError(
            f"plausibilities must be from 0 to 1, but those of cases {cases.start + 1} to {cases.stop} are from "
            f"{least:.3g} to {most:.3g}: aggregate again."
        )
    return values
