"""Shares of raters who would give a rating, and expected ratings, as functions of the mean of a case."""

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from plausibly.families.ratings._cases import RatedCases

_GRID = 300  # means between which functions of them are linear, of more cases than that
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)  # of the normal distribution of log spreads

Shared = Mapping[str, Float[np.ndarray, "chain draw *shape"]]


def shares_and_ratings(
    rated: RatedCases, shared: Shared, mean: Float[np.ndarray, "chain draw case"], cuts: Float[np.ndarray, " cut"]
) -> tuple[Float[np.ndarray, "chain draw case class"], Float[np.ndarray, "chain draw case"]]:
    """Shares of raters like these in the classes between cutpoints, and their mean rating, of each case.

    Severity and spread of a rater are integrated out: a severity adds to the variance, and spreads are summed over nine
    nodes.
    """
    plausibility = np.empty((*mean.shape, len(cuts) + 1), np.float32)
    ratings = np.empty(mean.shape, np.float32)
    inner, steps = rated.cuts[1:-1], np.diff(rated.values)
    weights = _WEIGHTS / _WEIGHTS.sum()
    for at in np.ndindex(mean.shape[:2]):
        log = np.log(shared["typical_spread"][at]) + shared["spread_of_spreads"][at] * _NODES
        sd = np.sqrt(np.exp(2 * log) + shared["severity_spread"][at] ** 2)
        points, left, part = _between(mean[at])
        above = np.zeros((len(inner), len(points)))
        for one, weight in zip(sd, weights, strict=True):
            above += weight * ndtr((points - inner[:, None]) / one)
        wanted = np.searchsorted(inner, cuts)
        rows = np.concatenate([above[wanted], (rated.values[0] + steps @ above)[None]])
        found = rows if left is None else rows[:, left] * (1 - part) + rows[:, left + 1] * part
        ratings[at] = found[-1]
        ends = np.concatenate([np.ones((1, mean.shape[-1])), found[:-1], np.zeros((1, mean.shape[-1]))])
        plausibility[at] = np.maximum(ends[:-1] - ends[1:], 0).T
    return plausibility, ratings


def expected_ratings(
    values: Float[np.ndarray, " value"],
    cuts: Float[np.ndarray, " cut"],
    mean: Float[np.ndarray, "draw case"],
    severity: Float[np.ndarray, "draw rater"],
    spread: Float[np.ndarray, "draw rater"],
    case: Int[np.ndarray, " rating"],
    rater: Int[np.ndarray, " rating"],
) -> Iterator[Float[np.ndarray, "2 rater"]]:
    """Expected rating of each rater over all cases, and over those that she rated, in one draw after the other.

    ``cuts`` are without the infinite ones; ``case`` and ``rater`` are those of all ratings.
    """
    steps, n = np.diff(values), np.bincount(rater)[:, None]
    for own, s, sd in zip(mean, severity, spread, strict=True):
        points, left, part = _between(own)
        if left is None or part is None:
            left, part = np.arange(len(own)), np.zeros(len(own))
        size, at, first = len(points), left[case], rater * len(points)
        weight = np.bincount(left, 1 - part, size) + np.bincount(left + 1, part, size + 1)[:size]
        of_rater = np.bincount(first + at, 1 - part[case], len(s) * size)
        of_rater += np.bincount(first + at + 1, part[case], len(s) * size + 1)[:-1]
        z = (points[:, None] + s)[..., None] - cuts
        found = values[0] + ndtr(z / sd[:, None]) @ steps
        yield np.stack([weight @ found / len(own), (of_rater.reshape(len(s), size) / n * found.T).sum(1)])


def _between(mean: Float[np.ndarray, " case"]) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Points for means of cases, and where each lies between two of them: the means themselves, if these are few."""
    if len(mean) <= _GRID:
        return mean.astype(float), None, None
    low, high = float(mean.min()), float(mean.max())
    place = (mean - low) / max(high - low, 1e-9) * (_GRID - 1)
    left = np.minimum(place.astype(int), _GRID - 2)
    return np.linspace(low, high, _GRID), left, place - left
