"""Shares of raters who would give a rating, and expected ratings, as functions of the mean of a case."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from scipy.special import ndtr

_GRID = 300  # means between which functions of them are linear, of more cases than that
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)  # of the normal distribution of log spreads
_WEIGHTS /= _WEIGHTS.sum()

Shared = Mapping[str, Float[np.ndarray, "chain draw *shape"]]


@dataclass(frozen=True)
class Scale:
    """How numbers on the latent scale become ratings: by cutpoints between values, or as numbers in other units."""

    values: Float[np.ndarray, " value"]  #: none of numbers
    cuts: Float[np.ndarray, " cut"]  #: one fewer than values
    unit: tuple[float, float] | None = None  #: the rating at 0, and how much higher it is at 1

    @classmethod
    def of(cls, constants: xr.Dataset) -> "Scale":
        """Read the scale of a posterior from its constants."""
        if "rating_unit" in constants:
            centre, unit = constants["rating_unit"].values.tolist()
            return cls(np.empty(0), np.empty(0), (centre, unit))
        return cls(constants["rating_value"].values, constants["cutpoint"].values)

    def constants(self) -> dict[str, tuple[str, np.ndarray]]:
        """Constants of a posterior, from which :meth:`of` reads the scale."""
        if self.unit is not None:
            return {"rating_unit": ("rating_unit_part", np.array(self.unit))}
        return {"cutpoint": ("cutpoint", self.cuts), "rating_value": ("rating_value", self.values)}

    def ratings(
        self, mean: Float[np.ndarray, "*shape"], sd: Float[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """Mean rating of normal latent numbers."""
        if self.unit is not None:
            return self.unit[0] + self.unit[1] * mean
        return self.values[0] + ndtr((mean[..., None] - self.cuts) / sd[..., None]) @ np.diff(self.values)


def shares_and_ratings(
    scale: Scale, shared: Shared, mean: Float[np.ndarray, "chain draw case"], cuts: Float[np.ndarray, " cut"]
) -> tuple[Float[np.ndarray, "chain draw case class"], Float[np.ndarray, "chain draw case"]]:
    """Shares of raters like these in the classes between cutpoints, and their mean rating, of each case.

    Severity and spread of a rater are integrated out: a severity adds to the variance, and spreads are summed over nine
    nodes.
    """
    plausibility = np.empty((*mean.shape, len(cuts) + 1), np.float32)
    ratings = np.empty(mean.shape, np.float32)
    inner = cuts if scale.unit is not None else scale.cuts
    wanted = np.searchsorted(inner, cuts)
    for at in np.ndindex(mean.shape[:2]):
        points, left, part = _between(mean[at])
        above = np.zeros((len(inner), len(points)))
        log = np.log(shared["typical_spread"][at]) + shared["spread_of_spreads"][at] * _NODES
        spread = np.sqrt(np.exp(2 * log) + shared["severity_spread"][at] ** 2)
        for sd, weight in zip(spread, _WEIGHTS, strict=True):
            above += weight * ndtr((points - inner[:, None]) / sd)
        if scale.unit is None:
            rating = scale.values[0] + np.diff(scale.values) @ above
        else:
            rating = scale.ratings(points, np.ones_like(points))
        rows = np.concatenate([above[wanted], rating[None]])
        found = rows if left is None else rows[:, left] * (1 - part) + rows[:, left + 1] * part
        ratings[at] = found[-1]
        ends = np.concatenate([np.ones((1, mean.shape[-1])), found[:-1], np.zeros((1, mean.shape[-1]))])
        plausibility[at] = np.maximum(ends[:-1] - ends[1:], 0).T
    return plausibility, ratings


def ratings_of_groups(
    scale: Scale,
    mean: Float[np.ndarray, "draw case"],
    severity: Float[np.ndarray, "draw rater"],
    spread: Float[np.ndarray, "draw rater"],
    code: Int[np.ndarray, " case"],
) -> Float[np.ndarray, "draw group"]:
    """Mean rating of each group of cases by the average of all raters, each of whom counts once."""
    n = np.bincount(code)
    found = np.empty((len(mean), len(n)))
    for at, (own, s, sd) in enumerate(zip(mean, severity, spread, strict=True)):
        points, left, part = _between(own)
        rating = scale.ratings(*np.broadcast_arrays(points[:, None] + s, sd)).mean(1)
        of_case = rating if left is None else rating[left] * (1 - part) + rating[left + 1] * part
        found[at] = np.bincount(code, of_case) / n
    return found


def expected_ratings(
    scale: Scale,
    mean: Float[np.ndarray, "draw case"],
    severity: Float[np.ndarray, "draw rater"],
    spread: Float[np.ndarray, "draw rater"],
    case: Int[np.ndarray, " rating"],
    rater: Int[np.ndarray, " rating"],
) -> Iterator[Float[np.ndarray, "2 rater"]]:
    """Expected rating of each rater over all cases, and over those that she rated, in one draw after the other.

    ``case`` and ``rater`` are those of all ratings.
    """
    n = np.bincount(rater)[:, None]
    for own, s, sd in zip(mean, severity, spread, strict=True):
        points, left, part = _between(own)
        if left is None or part is None:
            left, part = np.arange(len(own)), np.zeros(len(own))
        size, at, first = len(points), left[case], rater * len(points)
        weight = np.bincount(left, 1 - part, size) + np.bincount(left + 1, part, size + 1)[:size]
        of_rater = np.bincount(first + at, 1 - part[case], len(s) * size)
        of_rater += np.bincount(first + at + 1, part[case], len(s) * size + 1)[:-1]
        found = scale.ratings(*np.broadcast_arrays(points[:, None] + s, sd))
        yield np.stack([weight @ found / len(own), (of_rater.reshape(len(s), size) / n * found.T).sum(1)])


def _between(mean: Float[np.ndarray, " case"]) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Points for means of cases, and where each lies between two of them: the means themselves, if these are few."""
    if len(mean) <= _GRID:
        return mean.astype(float), None, None
    low, high = float(mean.min()), float(mean.max())
    place = (mean - low) / max(high - low, 1e-9) * (_GRID - 1)
    left = np.minimum(place.astype(int), _GRID - 2)
    return np.linspace(low, high, _GRID), left, place - left
