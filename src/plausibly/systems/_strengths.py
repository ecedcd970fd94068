"""Strengths of systems that met different opponents, as win rates against each of the others equally often.

A system that met weak opponents wins more often than one that met strong ones. Davidson's (1970) model of pairs with
ties separates the two: with x = θ_a − θ_b + h, where h is the advantage of the output that is shown first,
P(a) : P(b) : P(tie) = e^{x/2} : e^{−x/2} : ν (without ties it is Bradley and Terry's, 1952). It is fitted by maximum
likelihood to the outcomes by people, and half a win and half a defeat against a system of average strength are added
for each system, so that one that won everything has a strength, too.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from plausibly.systems._estimates import Estimate

_STEPS, _SMALL = 200, 1e-10  # of Newton's method
_ADDED = 1.0  # outcomes of each system against one of average strength


class Meetings(NamedTuple):
    """Outcomes of pairs: two systems, 1, ½ or 0 for the first one, weight, cluster, and whether the first is on top."""

    first: Int[np.ndarray, " row"]
    second: Int[np.ndarray, " row"]
    value: Float[np.ndarray, " row"]
    weight: Float[np.ndarray, " row"]
    cluster: Int[np.ndarray, " row"]
    side: Float[np.ndarray, " row"]


class Strengths(NamedTuple):
    """Log strengths θ, log ν (−∞ without ties), the advantage h, and win rates against each of the others as often."""

    strength: Float[np.ndarray, " system"]
    log_tie: float
    first: float
    win_rate: Estimate


def strengths(rows: Meetings, n_systems: int, *, sided: bool = False) -> Strengths:
    """Fit the model; errors are those of clusters of cases, at least those that the model expects.

    Parameters
    ----------
    rows
        Outcomes. Systems that no chain of opponents links are only held together by the added outcomes.
    n_systems
        Number of systems.
    sided
        Whether what is shown first may have an advantage; otherwise h is 0.

    Returns
    -------
    Strengths
        What each cluster adds to errors has two terms: its scores, times the inverse information, and, in a row for
        each system, what one more outcome against a system of average strength might change. The latter is what is
        left of the error where a system won all its comparisons.

    References
    ----------
    Bradley & Terry (1952), Rank analysis of incomplete block designs, Biometrika 39; Davidson (1970), On extending the
    Bradley-Terry model to accommodate ties in paired comparison experiments, Journal of the American Statistical
    Association 65.
    """
    n, n_clusters, tied = n_systems, int(rows.cluster.max()) + 1, bool((rows.value == 0.5).any())
    free = np.flatnonzero(np.r_[np.ones(n, bool), tied, sided])  # strengths, log ν, h
    at, together = np.zeros(n + 2), np.zeros(len(rows.value), int)
    for _ in range(_STEPS):
        scores, spread = _scores(rows, at, at[n] if tied else -np.inf, together, 1)
        information = _information(rows, at, spread)[np.ix_(free, free)]
        step = np.linalg.solve(information, (scores[0] - _slope_of_added(at))[free])
        at[free] += step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < _SMALL:
            break
    log_tie = float(at[n]) if tied else -np.inf
    by_cluster, spread = _scores(rows, at, log_tie, rows.cluster, n_clusters)
    inverse = np.zeros((n + 2, n + 2))
    inverse[np.ix_(free, free)] = np.linalg.inv(_information(rows, at, spread)[np.ix_(free, free)])
    used = np.count_nonzero(np.bincount(rows.cluster, rows.weight))
    by_cluster *= np.sqrt(used / max(used - 1, 1))
    added = np.eye(n, n + 2) * np.sqrt(_ADDED * (0.25 + _half(at[:n]) ** 2))[:, None]
    influence = np.vstack([by_cluster, added]) @ inverse
    pairs = np.concatenate([rows.first, rows.second]), np.tile(rows.cluster, 2)
    seen = np.count_nonzero(np.bincount(pairs[0] * n_clusters + pairs[1], minlength=n * n_clusters).reshape(n, -1), 1)

    rate, slopes = _against_all(at[:n], log_tie)
    by_row = [rows.weight * one for one in spread]  # the variance of scores that the model expects of the rows
    alone, of_system = slopes @ inverse, influence @ slopes.T
    expected = np.sqrt(np.einsum("sp,pq,sq->s", alone, _information(rows, at, by_row), alone))
    of_system *= np.maximum(1, expected / np.sqrt((of_system**2).sum(axis=0)))
    return Strengths(at[:n], log_tie, float(at[-1]), Estimate(rate, of_system, seen, np.maximum(seen - 1.0, 1)))


def _half(x, log_tie=-np.inf):
    """Mean outcome of the first system above ½, which is half of P(a) − P(b)."""
    return np.sinh(x / 2) / (2 * np.cosh(x / 2) + np.exp(log_tie))


def _tie(x, log_tie):
    return np.exp(log_tie) / (2 * np.cosh(x / 2) + np.exp(log_tie))


def _slope_of_added(at: Float[np.ndarray, " parameter"]) -> Float[np.ndarray, " parameter"]:
    """Minus the scores of the added outcomes: one of each system, and a half of a tie between equals."""
    return np.r_[_ADDED * _half(at[:-2]), _ADDED * (_tie(0.0, at[-2]) - 0.5), 0]


def _scores(rows: Meetings, at: Float[np.ndarray, " parameter"], log_tie: float, part, n_parts: int):
    """Scores of the rows, by part, and the spread of the first score, of the second, and their covariance by row."""
    n = len(at) - 2
    x = at[rows.first] - at[rows.second] + at[-1] * rows.side
    mean, tie = _half(x, log_tie), _tie(x, log_tie)
    of_x, of_tie = rows.weight * (rows.value - 0.5 - mean), rows.weight * ((rows.value == 0.5) - tie)
    of_system = np.bincount(part * n + rows.first, of_x, n_parts * n)
    of_system -= np.bincount(part * n + rows.second, of_x, n_parts * n)
    rest = [np.bincount(part, one, n_parts) for one in (of_tie, rows.side * of_x)]
    spread = rows.weight * ((1 - tie) / 4 - mean**2), rows.weight * tie * (1 - tie), -rows.weight * mean * tie
    return np.column_stack([of_system.reshape(n_parts, n), *rest]), spread


def _information(
    rows: Meetings, at: Float[np.ndarray, " parameter"], spread
) -> Float[np.ndarray, "parameter parameter"]:
    """Information of the rows and of the outcomes that are added."""
    n, (of_x, of_tie, joint) = len(at) - 2, spread

    def by_system(values):
        return np.bincount(rows.first, values, n) - np.bincount(rows.second, values, n)

    met = np.bincount(rows.first * n + rows.second, of_x, n * n).reshape(n, n)
    found = np.zeros((n + 2, n + 2))
    found[:n, :n] = np.diag((met + met.T).sum(axis=1) + _ADDED * (0.25 - _half(at[:n]) ** 2)) - met - met.T
    found[n, :n] = found[:n, n] = by_system(joint)
    found[-1, :n] = found[:n, -1] = by_system(rows.side * of_x)
    found[n, -1] = found[-1, n] = (rows.side * joint).sum()
    equal = _tie(0.0, at[n])
    found[n, n], found[-1, -1] = of_tie.sum() + _ADDED * equal * (1 - equal), (rows.side**2 * of_x).sum()
    return found


def _against_all(
    strength, log_tie: float
) -> tuple[Float[np.ndarray, " system"], Float[np.ndarray, "system parameter"]]:
    """Win rates against each of the others equally often, a tie counting half, and their slopes."""
    n = len(strength)
    x = strength[:, None] - strength
    mean, tie = _half(x, log_tie), _tie(x, log_tie)
    others = (1 - np.eye(n)) / max(n - 1, 1)
    spread = ((1 - tie) / 4 - mean**2) * others
    slopes = np.hstack([np.diag(spread.sum(axis=1)) - spread, -(mean * tie * others).sum(axis=1, keepdims=True)])
    return 0.5 + (mean * others).sum(axis=1), np.pad(slopes, ((0, 0), (0, 1)))
