"""The losses of any number of calibration cases in bounded memory.

Atoms come in pieces. Pieces are sorted and merged like the digits of a binary counter: two of equal rank become one of
the next. Where a merged piece has more than ``MOST`` distinct scores, neighbouring ones are joined to the lowest of
them. That can only raise the losses, so the guarantee holds, and by at most one part in ``MOST`` each time.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from plausibly.conformal._thresholds import Steps, threshold_of

MOST = 2**21  #: distinct scores of a curve; up to here everything is exact

Piece = tuple[Float[np.ndarray, " step"], Float[np.ndarray, " step"]]  # scores and weights


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
