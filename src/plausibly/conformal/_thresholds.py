"""The threshold of conformal risk control, and p-values: pure functions of arrays, batched along leading axes.

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
    """The sum of all losses as a function of the threshold.

    Attributes
    ----------
    scores
        Scores of the atoms, ascending.
    below
        Weight of all atoms with scores strictly below.
    total
        Weight of all atoms.
    """

    scores: Float[np.ndarray, "*batch atom"]
    below: Float[np.ndarray, "*batch atom"]
    total: Float[np.ndarray, "*batch"]

    @classmethod
    def of(cls, scores: Float[np.ndarray, "*batch atom"], weights: Float[np.ndarray, "*batch atom"]) -> "Steps":
        """Sort atoms.

        Examples
        --------
        >>> steps = Steps.of(np.array([0.9, 0.2, 0.2]), np.array([1.0, 0.5, 0.5]))
        >>> steps.scores.tolist(), steps.below.tolist(), float(steps.total)
        ([0.2, 0.2, 0.9], [0.0, 0.0, 1.0], 2.0)
        """
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

    Examples
    --------
    >>> budget(0.1, 19), budget(0.1, 5) < 0
    (1.0, True)
    """
    return alpha * (n + 1) - bound


def threshold_of(
    steps: Steps, alpha: float, n: int | np.ndarray, bound: float = 1.0
) -> tuple[Float[np.ndarray, "*batch"], Float[np.ndarray, "*batch"]]:
    """Find the largest threshold at which the losses stay within their budget.

    A sum that exceeds the budget by rounding alone counts as equal to it.

    Parameters
    ----------
    steps
        Losses of the calibration cases.
    alpha
        Most that a new case may lose on average.
    n
        Number of calibration cases.
    bound
        Greatest loss of a case.

    Returns
    -------
    threshold
        A class is in the set if its score is at least this. Minus infinity (every class) where the budget is negative,
        infinity (none) where all losses together are within it.
    keep
        Probability of keeping a class whose score equals the threshold, by which the losses use up their budget
        exactly; 1 keeps all of them, which is what a threshold without randomisation does.

    Examples
    --------
    >>> steps = Steps.of(np.arange(19.0), np.ones(19))
    >>> [float(value) for value in threshold_of(steps, 0.1, 19)]
    [1.0, 1.0]
    >>> [round(float(value), 3) for value in threshold_of(steps, 0.12, 19)]
    [1.0, 0.6]
    """
    most = budget(alpha, n, bound)
    slack = _ROUNDING * (np.asarray(n) + 1)
    most, slack = np.broadcast_to(most, steps.total.shape), np.broadcast_to(slack, steps.total.shape)
    within = (steps.below <= (most + slack)[..., None]).sum(-1)
    last = np.maximum(within - 1, 0)[..., None]
    if not steps.scores.shape[-1]:
        return np.where(most + slack < 0, -np.inf, np.inf), np.ones(steps.total.shape)
    threshold = np.take_along_axis(steps.scores, last, -1)[..., 0].astype(np.float64)
    below = np.take_along_axis(steps.below, last, -1)[..., 0]
    beyond = np.minimum(within, steps.scores.shape[-1] - 1)[..., None]
    above = np.take_along_axis(steps.below, beyond, -1)[..., 0]
    above = np.where(within < steps.scores.shape[-1], above, steps.total)
    with np.errstate(invalid="ignore", divide="ignore"):
        drop = np.clip((most - below) / (above - below), 0, 1)
    none, all_in = most + slack < 0, steps.total <= most + slack
    threshold = np.where(none, -np.inf, np.where(all_in, np.inf, threshold))
    drop = np.where(none | all_in | ~np.isfinite(drop) | (drop * (above - below) <= slack), 0.0, drop)
    return threshold, 1 - drop


def p_values_of(
    distinct: Float[np.ndarray, " step"],
    upto: Float[np.ndarray, " step"],
    n: int,
    scores: Float[np.ndarray, "*shape"],
) -> Float[np.ndarray, "*shape"]:
    """Share of the calibration cases that conform no better, a new case counting as one of them.

    Parameters
    ----------
    distinct, upto
        Distinct scores of the atoms, ascending, and the weight of all atoms up to each.
    n
        Number of calibration cases.
    scores
        Scores of the classes of new cases.

    Examples
    --------
    >>> p_values_of(np.array([0.2, 0.9]), np.array([1.0, 2.0]), 2, np.array([0.1, 0.2, 1.0])).round(3).tolist()
    [0.333, 0.667, 1.0]
    """
    before = np.searchsorted(distinct, scores, side="right")
    return np.minimum((1 + np.concatenate([[0.0], upto])[before]) / (n + 1), 1.0)
