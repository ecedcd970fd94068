"""Plausibilities without draws: where a model's slots lie, its point estimate, its exact posterior."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from plausibly._progress import Progress
from plausibly.annotations import Annotations, Slots
from plausibly.inference import maximum_likelihood
from plausibly.models.dirichlet_categorical import posterior_concentration as label_posterior
from plausibly.models.irn import inverse_rank
from plausibly.models.majority_vote import vote
from plausibly.models.plackett_luce_ml import update as maximise
from plausibly.models.prirn import posterior_concentration as inverse_rank_posterior
from plausibly.random_streams import case_keys


def lay_out(annotations: Annotations, arguments: Mapping[str, Any]) -> tuple[Slots, Float[np.ndarray, " slot"]]:
    """The slots that a model's arguments give mass, and the prior shape of each."""
    alpha = arguments.get("concentration", 0.0)
    slots = Slots.of(annotations, remainder=alpha > 0 and arguments.get("unranked") != "ignore")
    lumped = arguments.get("unranked") == "lumped"
    return slots, np.where(slots.is_remainder & (not lumped), slots.n_classes, 1) * alpha


def expected_plausibility(
    annotations: Annotations, name: str, engine: str, arguments: Mapping[str, Any], *, progress: Progress
) -> tuple[Slots, Float[np.ndarray, " slot"]]:
    """Plausibilities that no draws are needed for: the mean of a Dirichlet posterior, or a point estimate.

    Parameters
    ----------
    annotations, name, engine, arguments
        As :func:`settle` returns them; the engine is ``"exact"``, ``"point"`` or ``"ml"``.
    progress
        Where to report.
    """
    slots, prior = lay_out(annotations, arguments)
    if engine == "exact":
        shape = exact_posterior(name, annotations, slots, prior, arguments)
        return slots, shape / np.add.reduceat(shape, slots.start[:-1])[slots.case]
    keys = case_keys(0, annotations.cases)  # Nothing is random.
    return slots, point_estimate(name, annotations, slots, arguments.get("ties", "split"), keys, progress)


def exact_posterior(
    name: str, annotations: Annotations, slots: Slots, prior: Float[np.ndarray, " slot"], arguments: Mapping[str, Any]
) -> Float[np.ndarray, " slot"]:
    """Shape of the Dirichlet posterior of each slot, of the models that have one."""
    per_slot = _PerSlot(annotations, slots)
    if name == "prirn":
        shares = per_slot.shares(inverse_rank, arguments["ties"])
        return inverse_rank_posterior(shares, prior, arguments["reliability"])
    return label_posterior(per_slot.totals(vote), prior, arguments["reliability"])


class _PerSlot:
    """Sums over the annotations of each case, by slot."""

    def __init__(self, annotations: Annotations, slots: Slots):
        self._slot = slots.find(annotations.entry_case, annotations.entry_class)
        self._position = annotations.entry_block
        self._tied = np.repeat(annotations.block_sizes, annotations.block_sizes)
        self._slots = slots

    def shares(self, weight: Callable[..., np.ndarray], *arguments: Any) -> Float[np.ndarray, " slot"]:
        """Total weight of each slot, normalised by case."""
        totals = self.totals(weight, *arguments)
        return totals / np.add.reduceat(totals, self._slots.start[:-1])[self._slots.case]

    def totals(self, weight: Callable[..., np.ndarray], *arguments: Any) -> Float[np.ndarray, " slot"]:
        """Total weight of each slot, given a function of an entry's position and the size of its block."""
        weights = weight(self._position, self._tied, *arguments)
        return np.bincount(self._slot, weights, len(self._slots))

    def winners(self) -> Float[np.ndarray, " slot"]:
        """The slots with the most votes, which they share if they tie."""
        votes = self.totals(vote)
        most = np.maximum.reduceat(votes, self._slots.start[:-1])[self._slots.case]
        won = (votes >= most * (1 - 1e-6)).astype(float)
        return won / np.add.reduceat(won, self._slots.start[:-1])[self._slots.case]


def point_estimate(
    name: str, annotations: Annotations, slots: Slots, ties: str, keys: Key[Array, " case"], progress: Progress
) -> Float[np.ndarray, " slot"]:
    """The point estimate that belongs to a model: what its posterior contracts to as reliability grows."""
    if name in ("irn", "prirn"):
        return _PerSlot(annotations, slots).shares(inverse_rank, ties)
    if name == "dirichlet-categorical":
        return _PerSlot(annotations, slots).shares(vote)
    if name == "majority-vote":
        return _PerSlot(annotations, slots).winners()
    named = Slots.of(annotations, remainder=False)
    out = np.zeros(len(slots), np.float32)
    found = maximum_likelihood(annotations, named, maximise, keys, progress=progress)
    out[slots.find(named.case, named.class_index)] = found
    return out
