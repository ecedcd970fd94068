"""Risk of the cases: every class has one of a few levels, and a level's classes pool their plausibility."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations import Slots
from plausibly.evaluation._slices import Source
from plausibly.metrics._risk import N_LEVELS
from plausibly.posterior._split_remainder import dirichlet
from plausibly.random_streams import Stream, Words, generator


def level_plausibility(
    by_slot: Float[np.ndarray, "slot draw"],
    slots: Slots,
    words: Words,
    risks: Int[np.ndarray, " class"],
    concentration: float,
) -> Float[np.ndarray, "level case draw"]:
    """Sum of the plausibilities of the classes of each risk level.

    The remainder's mass falls on the levels as Dirichlet(concentration · number of unnamed classes of the level), which
    is how Dirichlet(concentration · 1) over the classes adds up within levels.

    Parameters
    ----------
    by_slot, slots
        Plausibilities, and which case and class they belong to.
    words
        Random keys of the cases, of every stream.
    risks
        Level of each class.
    concentration
        Of the Dirichlet that splits the remainder, for each class.
    """
    start, end = slots.start[:-1], slots.start[1:]
    of_slot = np.where(slots.is_remainder, -1, risks[slots.class_index])
    member = of_slot == np.arange(N_LEVELS)[:, None]
    n_of_level = np.bincount(risks, minlength=N_LEVELS) - np.add.reduceat(member, start, axis=1, dtype=int).T
    out = np.stack([np.add.reduceat(by_slot * row[:, None], start, axis=0) for row in member])
    for case in np.flatnonzero(slots.is_remainder[end - 1]):
        rest = by_slot[end[case] - 1]
        if rest.any():
            shares = dirichlet(generator(words[Stream.RISK][case]), concentration * n_of_level[case], len(rest))
            out[:, case] += rest * shares.T
    return out


def membership(
    source: Source, risks: Int[np.ndarray, " class"], level: int, of: str, ties: str
) -> Float[np.ndarray, "case draw"]:
    """Membership of cases in the subgroup of a risk level, see :func:`plausibly.evaluation.risk_weights`."""
    out = np.empty((source.n_cases, source.n_draws), np.float32)
    for part in source.draws():
        if of == "class":
            out[part.cases] = risks[part.lists(1, ties)[0]] == level
        else:
            masses = level_plausibility(part.by_slot, part.slots, part.words, risks, part.concentration)
            out[part.cases] = masses[level] if of == "plausibility" else masses.argmax(axis=0) == level
    return out


class RiskTotals:
    """Risk of each case, slice by slice."""

    def __init__(self, n_cases: int, risks: Int[np.ndarray, " class"]):
        self._risks = risks
        self._certainty = np.empty((2, n_cases), np.float32)
        self._plausibility = np.empty((n_cases, N_LEVELS), np.float32)
        self._expected = np.empty((3, n_cases), np.float32)

    def add(
        self,
        cases: Int[np.ndarray, " case"],
        best: Int[np.ndarray, "case draw"],
        levels: Float[np.ndarray, "level case draw"],
    ) -> None:
        """Take in a slice: its most plausible classes, and the plausibilities of its levels."""
        for row, level in enumerate((self._risks[best], levels.argmax(axis=0))):
            self._certainty[row, cases] = np.max([(level == at).mean(axis=1) for at in range(N_LEVELS)], axis=0)
        self._plausibility[cases] = levels.mean(axis=2).T
        expected = np.tensordot(np.arange(N_LEVELS, dtype=np.float32), levels, axes=1)
        self._expected[:, cases] = expected.mean(axis=1), expected.min(axis=1), expected.max(axis=1)

    def variables(self) -> dict[str, Any]:
        """Name what was found."""
        mean, least, greatest = self._expected
        return {
            "risk_certainty": (("case",), self._certainty[0]),
            "risk_level_certainty": (("case",), self._certainty[1]),
            "risk_plausibility": (("case", "risk_level"), self._plausibility),
            "expected_risk_mean": (("case",), mean),
            "expected_risk_min": (("case",), least),
            "expected_risk_max": (("case",), greatest),
        }
