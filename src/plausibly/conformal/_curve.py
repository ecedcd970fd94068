"""The losses of any number of calibration cases in bounded memory.

Atoms come in pieces. Pieces are sorted and merged like the digits of a binary counter: two of equal rank become one of
the next. Where a merged piece has more than ``MOST`` distinct scores, neighbouring ones are joined to the lowest of
them. That can only raise the losses, so the guarantee holds, and by at most one part in ``MOST`` each time.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from plausibly.conformal._thresholds import Steps, p_values_of, threshold_of

MOST = 2**21  #: distinct scores of a curve; up to here everything is exact


@dataclass(frozen=True, eq=False)
class Curve:
    """Sum of the losses of calibration cases, as a function of the threshold.

    Attributes
    ----------
    scores
        Distinct scores at which it steps, ascending.
    weights
        Height of each step.
    n
        Number of calibration cases.
    bound
        Greatest loss that a case can have.
    """

    scores: Float[np.ndarray, " step"]
    weights: Float[np.ndarray, " step"]
    n: int
    bound: float = 1.0

    @property
    def steps(self) -> Steps:
        """For pure functions of arrays."""
        return Steps.of_sorted(self.scores, self.weights)

    def threshold(self, alpha: float) -> tuple[float, float]:
        """Largest threshold with the guarantee, and the probability of keeping a class exactly there.

        Examples
        --------
        >>> Curve(np.arange(19.0), np.ones(19), 19).threshold(0.1)
        (1.0, 1.0)
        """
        threshold, keep = threshold_of(self.steps, alpha, self.n, self.bound)
        return float(threshold), float(keep)

    def risk(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Bound on the expected loss of a new case at thresholds: (sum of losses + bound) / (n + 1)."""
        before = np.searchsorted(self.scores, scores, side="left")
        return (np.concatenate([[0.0], np.cumsum(self.weights)])[before] + self.bound) / (self.n + 1)

    def p_values(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """See :func:`p_values_of`."""
        return p_values_of(self.scores, np.cumsum(self.weights), self.n, scores)


class CurveBuilder:
    """Collects the atoms of a curve piece by piece."""

    def __init__(self, bound: float = 1.0):
        self._bound = bound
        self._n = 0
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._size = 0
        self._merged: list[tuple[int, np.ndarray, np.ndarray]] = []  # rank, scores, weights

    def add(self, n: int, scores: Float[np.ndarray, " atom"], weights: Float[np.ndarray, " atom"]) -> None:
        """Add the atoms of `n` cases."""
        self._n += n
        self._waiting.append((scores, weights))
        self._size += len(scores)
        if self._size > MOST:
            self._settle()

    def curve(self) -> Curve:
        """Merge everything."""
        self._settle()
        pieces = [(scores, weights) for _, scores, weights in self._merged]
        scores, weights = _merge(pieces) if pieces else (np.zeros(0), np.zeros(0))
        return Curve(scores, weights, self._n, self._bound)

    def _settle(self) -> None:
        if not self._size:
            return
        rank, piece = 0, _merge(self._waiting)
        self._waiting, self._size = [], 0
        while self._merged and self._merged[-1][0] == rank:
            piece, rank = _merge([self._merged.pop()[1:], piece]), rank + 1
        self._merged.append((rank, *piece))


def _merge(pieces: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    scores, weights = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.argsort(scores, kind="stable")
    return thinned(*_distinct(scores[order], weights[order]), MOST)


def _distinct(scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(scores):
        return scores, weights
    first = np.flatnonzero(np.concatenate([[True], scores[1:] != scores[:-1]]))
    return scores[first], np.add.reduceat(weights, first)


def thinned(
    scores: Float[np.ndarray, " step"], weights: Float[np.ndarray, " step"], most: int
) -> tuple[Float[np.ndarray, " kept"], Float[np.ndarray, " kept"]]:
    """Join neighbouring steps to the lowest of them where there are more than `most`.

    Joined steps weigh at most the total divided by a third of `most`; a heavier one stays by itself.

    Examples
    --------
    >>> scores, weights = thinned(np.arange(100.0), np.ones(100), 30)
    >>> len(scores) <= 30, float(weights.sum()), float(weights.max()) <= 10
    (True, 100.0, True)
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
