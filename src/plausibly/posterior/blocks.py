"""Blocks of cases of similar size, for compiled programs.

A block holds all draws of some cases: the plausibilities of their named classes, padded to a rung of a short ladder,
and of their remainders. How many cases it has follows from the number of draws, so a posterior needs a program for each
rung that its cases take, whatever their number; three rungs are enough for most data, one for little.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from plausibly.base.compute import Part
from plausibly.base.random_streams import Stream, Words, select
from plausibly.data.annotations import Slots
from plausibly.posterior.split_remainder import coefficients, largest_share

_RUNGS = 6, 16, 64, 256, 1024  # named classes that a block has room for; beyond, multiples of the last
_LITTLE = 2**17  # pairs of a case and a draw that are not worth more than one program
_MANY = 2**18  # that are worth a program of large blocks
_LEAST = 1e-9  # parameter of a class that a prior rules out


class Block(NamedTuple):
    """All draws of some cases of similar size, for a compiled program."""

    values: Any  #: plausibilities of the named classes (slot, case, draw)
    named: Any  #: these classes (slot, case); a slot that only fills the block has :data:`NO_CLASS` and the value 0
    rest: Any  #: mass of the remainder (case, draw), 0 where there is none
    n_named: Any  #: number of named classes (case,)
    n_unnamed: Any  #: number of all others (case,)
    #: share of the remainder (case,) that no piece of it exceeds but with a negligible probability; None if all classes
    #: are named in all cases of the data, so that programs need not split any
    largest_share: Any
    words: dict[Stream, Any]  #: random keys (case, 2) of every stream
    draw: Any  #: numbers of the draws
    concentration: Any  #: parameter of the Dirichlet that splits the remainder: one for all classes, or one for each
    polynomial: Any  #: its :func:`plausibly.posterior.split_remainder.coefficients`
    probability: Any = None
    """Probability of each named class to be the true one (slot, case, draw), if ``values`` are classes drawn from
    these; None for models that do not assume one true class."""


class Blocks:
    """Cases cut into blocks, whose arrays are made when they are asked for.

    ``draws`` are the plausibilities of all ``slots``, draws running fastest; ``cases`` the positions of those that are
    wanted, and ``words`` their random keys of every stream; ``concentration`` is the parameter of the Dirichlet that
    splits the remainder, one for all classes, or one for each. A program holds ``room`` numbers for each pair of a case
    and a draw, besides the named classes. ``numbers`` are those of the draws, if they are not 0, 1, …; a block has so
    many ``times`` as many cases as usual, where a program gives much for each block; ``probability`` has what ``draws``
    were drawn from, see :class:`Block`.
    """

    def __init__(
        self,
        draws: Float[np.ndarray, "slot draw"],
        slots: Slots,
        cases: Int[np.ndarray, " case"],
        words: Words,
        n_classes: int,
        concentration: float | Float[np.ndarray, " class"],
        *,
        room: int = 8,
        numbers: Int[np.ndarray, " draw"] | None = None,
        times: int = 1,
        probability: Float[np.ndarray, "slot draw"] | None = None,
    ):
        self._draws, self._slots, self._words, self._probability = draws, slots, words, probability
        self._n_classes, self._concentration = n_classes, np.maximum(concentration, _LEAST)
        n_draws = draws.shape[1]
        self._numbers = np.asarray(np.arange(n_draws) if numbers is None else numbers, np.uint32)
        self._first = slots.start[cases]
        end = slots.start[cases + 1]
        has_rest = (end > self._first) & slots.is_remainder[np.maximum(end, 1) - 1]
        self._rest = np.where(has_rest, end - 1, -1)
        self.n_named = (end - self._first - has_rest).astype(np.int32)
        rungs = np.array([min(_rung(n), n_classes) for n in range(self.n_named.max(initial=0) + 1)])[self.n_named]
        if len(cases) * n_draws <= _LITTLE:
            rungs = np.full_like(rungs, rungs.max(initial=0))
        self.parts = []
        for rung in np.unique(rungs):
            members = np.flatnonzero(rungs == rung)
            size = _size(n_draws, max(room, int(rung)), len(cases), times)
            self.parts += [Part(int(rung), size, members[i : i + size]) for i in range(0, len(members), size)]

    def block(self, part: Part) -> Block:
        """Make the arrays of a block."""
        at = part.full
        own = np.arange(part.rung)[:, None] < self.n_named[at]
        slot = np.where(own, self._first[at] + np.arange(part.rung)[:, None], 0)

        def padded(given: np.ndarray) -> np.ndarray:
            values = given[slot]
            values[~own] = 0
            return values

        rest = self._draws[np.maximum(self._rest[at], 0)]
        rest[self._rest[at] < 0] = 0
        n_unnamed = self._n_classes - self.n_named[at]
        even = not np.ndim(self._concentration)
        share = [largest_share(int(n), float(self._concentration)) if even else 1.0 for n in n_unnamed]
        return Block(
            padded(self._draws),
            np.where(own, self._slots.class_index[slot], NO_CLASS).astype(np.int32),
            rest,
            self.n_named[at],
            n_unnamed.astype(np.int32),
            np.array(share, np.float32) if (self.n_named < self._n_classes).any() else None,
            select(self._words, at),
            self._numbers,
            self._concentration.astype(np.float32),
            coefficients(self._concentration),
            None if self._probability is None else padded(self._probability),
        )


NO_CLASS = np.iinfo(np.int32).max // 2
"""Class of slots that only fill a block."""


def _rung(n: int) -> int:
    return next((rung for rung in _RUNGS if rung >= n), -(-n // _RUNGS[-1]) * _RUNGS[-1])


def _size(n_draws: int, room: int, n_cases: int, times: int) -> int:
    """How many cases a block has: as many as a core's cache holds, or as keep a GPU busy; no more than there are.

    Of many, more than a cache holds: handing over a block costs as much as a few thousand draws of a case.
    """
    many = n_cases * n_draws > _MANY
    pairs = ((2**20 if many else 2**17) * times if jax.default_backend() == "cpu" else 2**25) // room
    most = 1 << max(n_cases - 1, 0).bit_length()
    return min(1 << max(pairs // n_draws, 1).bit_length() - 1, most)
