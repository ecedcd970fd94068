"""Majority vote: the baseline that uncertainty-adjusted evaluation replaces."""

import numpy as np
import numpyro
from jaxtyping import Array, ArrayLike, Bool, Float, Num

from plausibly.data.case import Case, Entries
from plausibly.families.model import Model


def vote(position: Num[ArrayLike, "*entry"], block_size: Num[ArrayLike, "*entry"]) -> Float[ArrayLike, "*entry"]:
    """Return the vote that an annotation gives to a class it names: its first block shares one vote.

    Examples
    --------
    >>> float(vote(0, 2)), float(vote(1, 1))
    (0.5, 0.0)
    """
    return (position == 0) / (1.0 * block_size)


def majority_vote(case: Case) -> None:
    """Point estimate of one case: all plausibility on the class with the most votes, shared in a tie.

    Parameters
    ----------
    case
        Annotations over slots.
    """
    votes = case.counts @ (case.named * vote(case.rankings.positions, case.block_sizes))
    winners: Bool[Array, " slot"] = votes >= votes.max() * (1 - 1e-6)
    numpyro.deterministic("plausibility", winners / winners.sum())


def winners(entries: Entries) -> Float[np.ndarray, " slot"]:
    """Shares of the classes with the most votes, all cases at once."""
    votes = entries.totals(vote(entries.position, entries.block_size))
    return entries.normalised((votes >= entries.largest(votes) * (1 - 1e-6)).astype(float))


model = Model(
    name="majority-vote",
    program=majority_vote,
    deterministic=True,
    point_estimate=winners,
    shares=False,
    baseline=True,
)
