"""The threshold of conformal risk control, and the losses of any number of calibration cases in bounded memory.

An *atom* is a class of a calibration case, with its score and the weight that its case gives to it. The weights of a
case sum to one, or to at most ``bound``, so the loss of case i at a threshold is the weight of its atoms with lower
scores. :class:`Steps` and :func:`threshold_of` are pure functions of arrays, batched along leading axes.

Atoms of a curve come in pieces. Pieces are sorted and merged like the digits of a binary counter: two of equal rank
become one of the next. Where a merged piece has more than ``MOST`` distinct scores, neighbouring ones are joined to the
lowest of them. That can only raise the losses, so the guarantee holds, and by at most one part in ``MOST`` each time.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

MOST = 2**21  #: distinct scores of a curve; up to here everything is exact
_ROUNDING = 1e-9  # of a sum of weights, relative to the number of cases

Piece = tuple[Float[np.ndarray, " step"], Float[np.ndarray, " step"]]  # scores and weights


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


@dataclass(frozen=True, eq=False)
class Curve:
    """Sum of the losses of calibration cases, as a function of the threshold."""

    scores: Float[np.ndarray, " step"]  #: distinct scores at which it steps, ascending
    weights: Float[np.ndarray, " step"]  #: height of each step
    n: int  #: number of calibration cases
    bound: float = 1.0  #: greatest loss that a case can have

    def threshold(self, alpha: float) -> tuple[float, float]:
        """Largest threshold with the guarantee, and the probability of keeping a class exactly there."""
        threshold, keep = threshold_of(Steps.of_sorted(self.scores, self.weights), alpha, self.n, self.bound)
        return float(threshold), float(keep)

    def lost(
        self, scores: Float[np.ndarray, "*shape"], side: Literal["left", "right"] = "left"
    ) -> Float[np.ndarray, "*shape"]:
        """Sum of the losses at thresholds; at a step, without the step itself ("left") or with it ("right")."""
        return np.concatenate([[0.0], np.cumsum(self.weights)])[np.searchsorted(self.scores, scores, side=side)]

    def risk(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Bound on the expected loss of a new case at thresholds: (sum of losses + bound) / (n + 1)."""
        return (self.lost(scores) + self.bound) / (self.n + 1)

    def p_values(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Share of the cases that conform no better than classes with these scores, a new case counting as one."""
        return np.minimum((1 + self.lost(scores, "right")) / (self.n + 1), 1.0)


class CurveBuilder:
    """Atoms of a curve, collected piece by piece."""

    def __init__(self, bound: float = 1.0):
        self._bound = bound
        self._n = 0
        self._waiting: list[Piece] = []
        self._size = 0
        self._merged: list[tuple[int, Piece]] = []  # by rank

    def add(self, n: int, scores: Float[np.ndarray, " atom"], weights: Float[np.ndarray, " atom"]) -> None:
        """Add the atoms of `n` cases."""
        self._n += n
        self._waiting.append((scores, weights))
        self._size += len(scores)
        if self._size > MOST:
            self._merge_waiting()

    def curve(self) -> Curve:
        """Curve of all atoms."""
        self._merge_waiting()
        pieces = [piece for _, piece in self._merged] or [(np.zeros(0), np.zeros(0))]
        return Curve(*_merge(pieces), self._n, self._bound)

    def _merge_waiting(self) -> None:
        if not self._size:
            return
        rank, piece = 0, _merge(self._waiting)
        self._waiting, self._size = [], 0
        while self._merged and self._merged[-1][0] == rank:
            piece, rank = _merge([self._merged.pop()[1], piece]), rank + 1
        self._merged.append((rank, piece))


def _merge(pieces: list[Piece]) -> Piece:
    scores, weights = (np.concatenate(column) for column in zip(*pieces, strict=True))
    distinct, place = np.unique(scores, return_inverse=True)
    return thinned(distinct, np.bincount(place, weights, len(distinct)), MOST)


def thinned(scores: Float[np.ndarray, " step"], weights: Float[np.ndarray, " step"], most: int) -> Piece:
    """Steps, neighbouring ones joined to the lowest of them where there are more than `most`.

    Joined steps weigh at most the total divided by a third of `most`; a heavier one stays by itself.
    """
    if len(scores) <= most:
        return scores, weights
    share = 3 * weights.sum() / most
    upto = np.cumsum(weights)
    part = ((upto - weights) / share).astype(np.int64)
    heavy = weights > share
    new = np.concatenate([[True], (part[1:] != part[:-1]) | heavy[1:] | heavy[:-1]])
    first = np.flatnonzero(new)
    return scores[first], np.add.reduceat(weights, first)
