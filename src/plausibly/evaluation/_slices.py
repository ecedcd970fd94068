"""Draws in slices of cases: read from memory or from a file, never all of them at once in another form."""

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly.annotations import Slots
from plausibly.errors import ArgumentError
from plausibly.posterior import case_names, dense_slots, slots_of
from plausibly.posterior._ranked_lists import rank_slots
from plausibly.random_streams import Words, case_keys, select, stream_words

PAIRS = 2**19  #: of a draw and a case in a slice


@dataclass(frozen=True)
class Part:
    """All draws of some cases.

    Attributes
    ----------
    cases
        Their positions among all cases.
    slots
        Theirs alone; cases count from 0.
    by_slot
        Plausibilities; draws run fastest.
    words
        Random keys of the cases.
    n_classes, concentration
        Number of all classes, and of the Dirichlet that splits the remainder.
    """

    cases: Int[np.ndarray, " case"]
    slots: Slots
    by_slot: Float[np.ndarray, "slot draw"]
    words: Words
    n_classes: int
    concentration: float

    @property
    def n_draws(self) -> int:
        """Draws of all chains."""
        return self.by_slot.shape[1]

    def lists(self, depth: int, ties: str) -> Int[np.ndarray, "place case draw"]:
        """Rank the most plausible classes, see :func:`rank_slots`."""
        lists = rank_slots(
            self.by_slot.T,
            self.slots,
            np.arange(len(self.cases)),
            self.words,
            depth,
            n_classes=self.n_classes,
            concentration=self.concentration,
            ties=ties,
        )
        return lists.transpose(2, 1, 0)

    def dense(self, cases: Int[np.ndarray, " chosen"]) -> Float[np.ndarray, "draw chosen class"]:
        """Plausibilities of every class, of cases counted from the first of this part."""
        return dense_slots(
            self.by_slot.T, self.slots, cases, select(self.words, cases), self.n_classes, self.concentration
        )


class Source:
    """Where draws come from, slice by slice.

    Parameters
    ----------
    posterior
        Its draws may still be in a file.
    seed
        Of the split of the remainder, and of random ties.
    pairs
        Most pairs of a draw and a case in a slice, if there is more than one case in it.
    """

    def __init__(self, posterior: Posterior, seed: int, pairs: int = PAIRS):
        self._slots = slots_of(posterior)
        self._draws = posterior["posterior"]["plausibility"].variable.transpose("chain", "draw", "slot")
        self._point = posterior["constant_data"]["point_plausibility"].variable
        self._words = stream_words(case_keys(seed, case_names(posterior)))
        self._n_classes = int(posterior.attrs["n_classes"])
        self._concentration = float(posterior.attrs["concentration"])
        self._pairs = pairs
        self.n_chains, self.draws_per_chain = self._draws.shape[:2]
        self.n_draws = self.n_chains * self.draws_per_chain
        self.n_cases = self._usual = len(self._slots.start) - 1

    def range(self, cases: slice, usual: int) -> "Source":
        """Return the draws of neighbouring cases alone, in slices as of a range of the usual size."""
        part = copy(self)
        part._slots = self._slots.range(cases)
        own = slice(self._slots.start[cases.start], self._slots.start[cases.stop])
        part._draws, part._point = self._draws[..., own], self._point[own]
        part._words = select(self._words, cases)
        part.n_cases, part._usual = cases.stop - cases.start, usual
        return part

    def loaded(self) -> "Source":
        """Return the same with all draws in memory, as they can be sent to other processes."""
        part = copy(self)
        part._draws, part._point = (xr.Variable(v.dims, np.asarray(v.values)) for v in (self._draws, self._point))
        return part

    @property
    def words(self) -> Words:
        """Random keys of all cases."""
        return self._words

    @property
    def n_classes(self) -> int:
        """Number of all classes."""
        return self._n_classes

    @property
    def slots(self) -> Slots:
        """Of all cases."""
        return self._slots

    def size(self, n_draws: int) -> int:
        """Cases per slice: slices of equal size, which compile once and hardly need padding."""
        n_slices = min(self._usual, math.ceil(n_draws * self._usual / self._pairs))
        return math.ceil(self._usual / n_slices)

    def draws(self) -> Iterator[Part]:
        """All draws, a slice of cases at a time."""
        return self._parts(self.n_draws, lambda own: self._draws[..., own].values.reshape(self.n_draws, -1))

    def point(self) -> Iterator[Part]:
        """The point estimate as a single draw."""
        return self._parts(1, lambda own: self._point[own].values[None])

    def _parts(self, n_draws, read):
        start, size = self._slots.start, self.size(n_draws)
        for first in range(0, self.n_cases, size):
            cases = np.arange(first, min(first + size, self.n_cases))
            own = slice(int(start[first]), int(start[cases[-1] + 1]))
            slots = self._slots.range(slice(first, cases[-1] + 1))
            values = np.ascontiguousarray(np.asarray(read(own), np.float32).T)
            least, most = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
            if least < 0 or most > 1.01:  # what is not a number, is for the diagnosis to find
                raise ArgumentError(
                    f"plausibilities must be from 0 to 1, but those of the cases {first + 1} to {cases[-1] + 1} are "
                    f"from {least:.3g} to {most:.3g}: aggregate again."
                )
            yield Part(cases, slots, values, select(self._words, cases), self._n_classes, self._concentration)
