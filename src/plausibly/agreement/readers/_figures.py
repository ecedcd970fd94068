"""Figures of merit of one reader or model on some cases, and what each case contributes to them.

A figure is a ratio of two weighted sums, so that readers of different cases can be pooled: the pairs of a positive and
a negative case that are in the right order, of all such pairs; or the right answers, of all that count.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import rankdata

_NUMBERS = 2**22  # weights in memory at once

Parts = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Figure:
    """A figure of merit.

    Attributes
    ----------
    name
        Name in tables.
    parts
        Function of the truth (case,), the answers (case,) and weights (..., case) to the sum above the line and that
        below it (...).
    rows
        Function of the truth and the answers to what leaving out each case alone takes from both sums; None if unknown.
    of
        What answers are: ``"scores"``, two ``"decisions"`` (1 if positive), or ``"classes"``.
    """

    name: str
    parts: Callable[[np.ndarray, np.ndarray, np.ndarray], Parts]
    rows: Callable[[np.ndarray, np.ndarray], Parts] | None
    of: str
    own: bool = False  #: whether a user wrote it

    def value(self, truth: np.ndarray, answers: np.ndarray, weights: np.ndarray | None = None) -> Any:
        """The figure; NaN where no case counts."""
        above, below = self.parts(truth, answers, np.ones(len(truth)) if weights is None else weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            return above / below


def _pairs(truth: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> Parts:
    """Pairs of a positive and a negative case, of which ties are half in order."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    positive, negative = (
        np.add.reduceat((weights * own)[..., order], starts, axis=-1) for own in (truth == 1, truth != 1)
    )
    lower = np.cumsum(negative, axis=-1) - negative / 2
    return (positive * lower).sum(axis=-1), positive.sum(axis=-1) * negative.sum(axis=-1)


def _rows_of_pairs(truth: np.ndarray, scores: np.ndarray) -> Parts:
    """Pairs of each case that are in order, and all pairs of it."""
    ranks, above, below = rankdata(scores), np.empty(len(truth)), np.empty(len(truth))
    for own in (truth == 1, truth != 1):
        lower, below[own] = ranks[own] - rankdata(scores[own]), (~own).sum()
        above[own] = lower if truth[own][:1] == 1 else below[own] - lower
    return above, below


def _right_among(name: str, counts: Callable[[np.ndarray], np.ndarray], of: str) -> Figure:
    """Share of right answers among the cases that count."""

    def rows(truth: np.ndarray, answers: np.ndarray) -> Parts:
        return (counts(truth) * (answers == truth)).astype(float), counts(truth).astype(float)

    def parts(truth: np.ndarray, answers: np.ndarray, weights: np.ndarray) -> Parts:
        above, below = rows(truth, answers)
        return weights @ above, weights @ below

    return Figure(name, parts, rows, of)


FIGURES = {
    "auroc": Figure("auroc", _pairs, _rows_of_pairs, "scores"),
    "accuracy": _right_among("accuracy", np.ones_like, "classes"),
    "sensitivity": _right_among("sensitivity", lambda truth: truth == 1, "decisions"),
    "specificity": _right_among("specificity", lambda truth: truth == 0, "decisions"),
}


def own_figure(function: Callable[..., float]) -> Figure:
    """Figure of a user's function of truth, answers and ``sample_weight``; a reader weighs as many as their cases."""

    def parts(truth: np.ndarray, answers: np.ndarray, weights: np.ndarray) -> Parts:
        flat = np.atleast_2d(weights)
        n = flat.sum(axis=-1)
        found = [function(truth[own > 0], answers[own > 0], sample_weight=own[own > 0]) for own in flat]
        shape = weights.shape[:-1]
        return (np.array(found, float) * n).reshape(shape), n.reshape(shape)

    return Figure(getattr(function, "__name__", "metric"), parts, None, "decisions", own=True)


def jackknife(
    figure: Figure, truth: np.ndarray, answers: np.ndarray, unit: Int[np.ndarray, " case"]
) -> Float[np.ndarray, " unit"]:
    """Contribution of every unit, a case or a cluster of cases, whose products sum to jackknife covariances.

    Units in which no case counts, such as negative ones for sensitivity, contribute nothing and are not left out.

    Examples
    --------
    >>> truth, answers = np.array([1, 1, 1, 0]), np.array([1, 1, 0, 0])
    >>> found = jackknife(FIGURES["sensitivity"], truth, answers, np.arange(4))
    >>> round(float(found @ found), 4)  # 2/3 · 1/3 / 2
    0.1111
    """
    above, below, whole = _without(figure, truth, answers, unit)
    counts = below != whole
    with np.errstate(invalid="ignore", divide="ignore"):
        without = above / below
    n_counts = counts.sum()
    mean = without[counts].mean()
    return np.where(counts, np.sqrt((n_counts - 1) / n_counts) * (without - mean), 0)


def _without(
    figure: Figure, truth: np.ndarray, answers: np.ndarray, unit: Int[np.ndarray, " case"]
) -> tuple[Float[np.ndarray, " unit"], Float[np.ndarray, " unit"], float]:
    """Sums above and below the line without each unit, and the whole sum below it."""
    n, (sum_above, whole) = int(unit.max()) + 1, figure.parts(truth, answers, np.ones(len(truth)))
    if figure.rows is not None:
        above, below = (np.bincount(unit, row, n) for row in figure.rows(truth, answers))
        if figure.of == "scores" and n < len(truth):  # pairs within a cluster were taken off twice
            by_unit = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit, minlength=n))[:-1])
            within = [figure.parts(truth[own], answers[own], np.ones(len(own))) for own in by_unit]
            above, below = above - np.array(within)[:, 0], below - np.array(within)[:, 1]
        return sum_above - above, whole - below, whole
    above, below = np.empty((2, n))
    step = max(1, _NUMBERS // len(truth))
    for first in range(0, n, step):
        left_out = np.arange(first, min(first + step, n))
        parts = figure.parts(truth, answers, (unit != left_out[:, None]).astype(float))
        above[left_out], below[left_out] = parts
    return above, below, whole


def delong(truth: np.ndarray, scores: np.ndarray) -> Float[np.ndarray, " case"]:
    """Contributions of cases to AUROC whose products sum to the covariances of DeLong, DeLong & Clarke-Pearson (1988).

    Examples
    --------
    >>> found = delong(np.array([1, 1, 0, 0]), np.array([4, 2, 3, 1]))
    >>> round(float(found @ found), 4)  # (1/8 + 1/8) / 2
    0.125
    """
    ranks, found = rankdata(scores), np.empty(len(truth))
    for own in (truth == 1, truth != 1):
        n, others = own.sum(), (~own).sum()
        share = (ranks[own] - rankdata(scores[own])) / others  # of the others that are lower
        found[own] = (share - share.mean()) / np.sqrt(n * (n - 1))
    return np.where(truth == 1, found, -found)
