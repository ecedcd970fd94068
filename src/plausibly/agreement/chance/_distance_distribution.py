"""Distances as distinct levels with weights: all that the measures need of millions of pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float

from plausibly.agreement.chance._alpha import alpha
from plausibly.agreement.chance._ks import KS, ks
from plausibly.agreement.chance._sigma import sigma
from plausibly.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class PairDistances:
    """Distances of many pairs: distinct values in increasing order, and how many pairs (or what weight) each has.

    ``numpy.asarray`` gives the distances one by one, where weights are numbers of pairs; ``float`` their mean.

    Examples
    --------
    >>> distances = PairDistances(np.array([0.0, 0.5]), np.array([3.0, 1.0]))
    >>> distances.mean(), np.asarray(distances).tolist(), len(distances)
    (0.125, [0.0, 0.0, 0.0, 0.5], 4)
    """

    values: Float[np.ndarray, " level"]
    weights: Float[np.ndarray, " level"]

    def mean(self) -> float:
        """Weighted mean."""
        return float(self.values @ self.weights / self.weights.sum())

    def __float__(self) -> float:
        return self.mean()

    def __len__(self) -> int:
        return round(float(self.weights.sum()))

    def __iter__(self) -> Iterator[float]:
        return iter(np.asarray(self).tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        counts = np.rint(self.weights)
        if not np.allclose(counts, self.weights):
            raise ArgumentError(
                "these distances have weights that are no counts (weighting='units'): use .values and .weights."
            )
        return np.repeat(self.values, counts.astype(np.int64)).astype(dtype or np.float64)

    def __repr__(self) -> str:
        return f"PairDistances({len(self):,} pairs, mean {self.mean():.4g})"


@dataclass(frozen=True)
class Measures:
    """The three measures of two distributions of distances."""

    alpha: float
    ks: KS
    sigma: float

    def flat(self) -> dict[str, float]:
        """Name every number.

        Examples
        --------
        >>> list(Measures(1.0, KS(1.0, 0.0, 0.5), 1.0).flat())
        ['alpha', 'ks_superiority', 'ks_statistic', 'sigma']
        """
        return {
            "alpha": self.alpha,
            "ks_superiority": self.ks.superiority,
            "ks_statistic": self.ks.statistic,
            "sigma": self.sigma,
        }


def measure(
    levels: Float[np.ndarray, " level"],
    observed: Float[np.ndarray, " level"],
    expected: Float[np.ndarray, " level"],
    p: float,
    n_observed: float | None = None,
) -> Measures:
    """Compute the three measures from weights of common levels."""
    return Measures(
        alpha(levels, observed, expected), ks(observed, expected, n_observed), sigma(levels, observed, expected, p)
    )


def measures_of_distances(observed: ArrayLike, expected: ArrayLike, *, p: float = 0.05) -> Measures:
    """Compute alpha, KS and sigma from distances that were computed elsewhere.

    Parameters
    ----------
    observed
        Distances of pairs of labels on one case, zero or greater, in any order.
    expected
        Distances of pairs on different cases.
    p
        Of :func:`sigma`: what probability is too small to be chance.

    Returns
    -------
    Measures
        ``.alpha``, ``.ks`` (``.statistic``, ``.pvalue``, ``.superiority``) and ``.sigma``.

    Raises
    ------
    ArgumentError
        If either is empty, or holds what is no distance; or `p` is no probability.

    References
    ----------
    Braylan, Alonso and Lease (2022), section 3.

    Examples
    --------
    >>> found = measures_of_distances([0, 0, 0, 2], [2, 2, 2, 2, 1, 3])
    >>> found.alpha, round(found.ks.superiority, 4), found.sigma
    (0.75, 0.6786, 0.75)
    """
    check_p(p)
    both = []
    for name, given in (("observed", observed), ("expected", expected)):
        array = np.asarray(given, np.float64).ravel()
        if not array.size:
            raise ArgumentError(f"there are no {name} distances: give at least one.")
        for place in np.flatnonzero(~(np.isfinite(array) & (array >= 0)))[:1]:
            raise ArgumentError(
                f"distances are finite and zero or greater, but {name}[{place}] is {array[place]:g}: mend it."
            )
        both.append(array)
    levels, level = np.unique(np.concatenate(both), return_inverse=True)
    n = len(both[0])
    weights = [np.bincount(part, minlength=len(levels)).astype(np.float64) for part in (level[:n], level[n:])]
    return measure(levels, weights[0], weights[1], p)


def check_p(p: float) -> None:
    """Refuse a probability outside (0, 1)."""
    if not 0 < p < 1:
        raise ArgumentError(f"p must be between 0 and 1, but {p!r} was given: write 0.05.")
