"""The threshold of conformal risk control: pure functions of arrays, batched along leading axes.

An *atom* is a class of a calibration case, with its score and the weight that its case gives to it. The weights of a
case sum to one, or to at most ``bound``, so the loss of case i at a threshold is the weight of its atoms with lower
scores.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_ROUNDING = 1e-9  # of a sum of weights, relative to the number of cases


@dataclass(frozen=True, eq=False)
class Steps:
    """The sum of all losses as a function of the threshold."""

    scores: Float[np.ndarray, "*batch atom"]  #: of the atoms, ascending
    below: Float[np.ndarray, "*batch atom"]  #: weight of all atoms with scores strictly below
    total: Float[np.ndarray, "*batch"]  #: weight of all atoms

    @classmethod
    def of(cls, scores: Float[np.ndarray, "*batch atom"], weights: Float[np.ndarray, "*batch atom"]) -> "Steps":
        """Sort atoms, and sum their weights."""
        order = np.argsort(scores, axis=-1, kind="stable")
        return cls.of_sorted(np.take_along_axis(scores, order, -1), np.take_along_axis(weights, order, -1))

    @classmethod
    def of_sorted(cls, scores: Float[np.ndarray, "*batch atom"], weights: Float[np.ndarray, "*batch atom"]) -> "Steps":
        """Sum the weights of atoms whose scores ascend."""
        upto = np.cumsum(weights, axis=-1, dtype=np.float64)
        below = upto - weights
        tied = scores[..., 1:] == scores[..., :-1]
        if tied.any():  # all atoms of a tie have below them what the first of them has
            below[..., 1:][tied] = 0
            np.maximum.accumulate(below, axis=-1, out=below)
        return cls(scores, below, upto[..., -1] if scores.shape[-1] else np.zeros(scores.shape[:-1]))


def budget(alpha: float, n: int | np.ndarray, bound: float = 1.0) -> float | np.ndarray:
    """The most that the losses of n calibration cases may sum to: α(n + 1) less the greatest loss of a new case.

    Angelopoulos, Bates, Fisch, Lei & Schuster (2022), Conformal risk control, equation 4.
    """
    return alpha * (n + 1) - bound


def threshold_of(
    steps: Steps, alpha: float, n: int | np.ndarray, bound: float = 1.0
) -> tuple[Float[np.ndarray, "*batch"], Float[np.ndarray, "*batch"]]:
    """Largest threshold at which the losses stay within their budget, and the probability of keeping a class there.

    A class is in the set if its score is at least the threshold: minus infinity (every class) where the budget is
    negative, infinity (none) where all losses together are within it. A class whose score equals the threshold is kept
    with the probability by which the losses use up their budget exactly; without randomisation, it is always kept. A
    sum that exceeds the budget by rounding alone counts as equal to it.

    Examples
    --------
    >>> steps = Steps.of(np.arange(19.0), np.ones(19))
    >>> [round(float(value), 3) for value in threshold_of(steps, 0.12, 19)]
    [1.0, 0.6]
    """
    most, slack = budget(alpha, n, bound), _ROUNDING * (np.asarray(n) + 1)
    limit = np.asarray(most + slack)
    within = (steps.below <= limit[..., None]).sum(-1)[..., None]
    # One more atom, above all others, stands for a threshold that keeps none of them.
    scores = np.concatenate([steps.scores, np.full((*steps.total.shape, 1), np.inf)], -1)
    edges = np.concatenate([steps.below, steps.total[..., None]], -1)
    last = np.maximum(within - 1, 0)
    threshold, below, above = (
        np.take_along_axis(values, at, -1)[..., 0] for values, at in ((scores, last), (edges, last), (edges, within))
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        drop = np.clip((most - below) / (above - below), 0, 1)
    none, all_in = limit < 0, steps.total <= limit
    threshold = np.where(none, -np.inf, np.where(all_in, np.inf, threshold))
    drop = np.where(none | all_in | ~np.isfinite(drop) | (drop * (above - below) <= slack), 0.0, drop)
    return threshold, 1 - drop
