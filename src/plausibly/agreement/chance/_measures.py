"""The three measures of agreement beyond chance, from weights of distinct distances: alpha, KS and sigma.

Krippendorff (1970) for alpha; Braylan, Alonso and Lease (2022), section 3, for all of them.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr

from plausibly.base.bootstrap import check_probability
from plausibly.base.errors import ArgumentError

Levels = Float[np.ndarray, " level"]

_FAR = 9.0  #: bandwidths beyond which a normal distribution has no mass in double precision


def alpha(levels: Levels, observed: Levels, expected: Levels) -> float:
    """Compute one minus the ratio of the mean observed distance to the mean expected one.

    Parameters
    ----------
    levels
        Distinct distances.
    observed, expected
        For each distance, weights of the pairs of labels of the same case, and of different cases.

    Returns
    -------
    1 for perfect agreement, 0 for chance, negative for less than chance. NaN if labels of different cases never differ:
    if nothing varies, agreement cannot be distinguished from chance.

    Examples
    --------
    >>> alpha(np.array([0.0, 1.0]), np.array([9.0, 1.0]), np.array([1.0, 1.0]))
    0.8
    """
    by_chance = float(levels @ expected / expected.sum())
    return 1 - float(levels @ observed / observed.sum()) / by_chance if by_chance > 0 else float("nan")


class KS(NamedTuple):
    """Three numbers that say how far observed distances lie below expected ones.

    Parameters
    ----------
    statistic
        Greatest excess of the distribution function of observed distances over that of expected ones, in [0, 1].
    pvalue
        p-value of the one-sided test with that statistic, as if pairs were independent. Because pairs share labels, it
        is too small: use it only to understand published tables.
    superiority
        Probability that labels of different cases are farther apart than labels of the same case, with ties counting
        against agreement, times n / (n + 1) for n pairs of labels of different cases. The table of Braylan et al. calls
        it KS.
    ties
        Probability that the two pairs are equally far apart, times the same factor: if ties counted half, superiority
        would be greater by ``ties / 2``. Labels with few values tie often.
    """

    statistic: float
    pvalue: float
    superiority: float
    ties: float


def ks(observed: Levels, expected: Levels, n_observed: float | None = None) -> KS:
    """Compare two distributions over the same levels.

    The p-value is that of Hodges (1958).

    Parameters
    ----------
    observed, expected
        Weights of distances in increasing order of the distance; `expected` must be numbers of pairs.
    n_observed
        Number of pairs behind the observed weights; by default their sum.

    Examples
    --------
    >>> found = ks(np.array([3.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0]))
    >>> found.statistic, round(found.superiority, 4), round(found.ties, 4)
    (0.75, 0.5833, 0.0833)
    """
    n, m = float(expected.sum()), float(observed.sum() if n_observed is None else n_observed)
    share, below = observed / observed.sum(), np.cumsum(expected) / n
    statistic = float(max(0.0, (np.cumsum(share) - below).max()))
    greater, lesser = max(m, n), min(m, n)
    scaled = np.sqrt(m * n / (m + n)) * statistic
    log_p = -2 * scaled**2 - 2 * scaled * (greater + 2 * lesser) / np.sqrt(m * n * (m + n)) / 3
    superiority, ties = n / (n + 1) * (1 - share @ below), share @ expected / (n + 1)
    return KS(statistic, float(np.exp(log_p)), float(superiority), float(ties))


def sigma(levels: Levels, observed: Levels, expected: Levels, p: float = 0.05) -> float:
    r"""Compute the share of observed distances `d` for which chance falls in [0, d] with a probability below `p`.

    This is the definition as published. Where chance gives the smallest distance with a probability of `p` or more, no
    distance is rarer than that, but smoothing makes the smallest ones look so: of two labels chosen at random, sigma is
    0.5. :func:`plausibly.agreement.agreement` leaves it out there.

    The distribution under chance is a Gaussian kernel density estimate of the expected distances with Scott's bandwidth
    (1992). Its mass below zero is not counted, and the rest is not scaled up, so that small distances look rarer than
    they are if much mass lies below zero. The bandwidth shrinks with the number of pairs, so sigma from a sample of
    pairs differs systematically from sigma from all pairs, most if the distribution is steep near zero. If all expected
    distances are equal, sigma is the share of smaller distances.

    Parameters
    ----------
    levels
        Distinct distances in increasing order.
    observed, expected
        For each distance, the weight of the pairs of labels of the same case, and the number of pairs of different
        cases.
    p
        Probability below which a distance is too small to be due to chance.

    Returns
    -------
    Between 0 and 1; NaN if labels of different cases never differ.

    Examples
    --------
    >>> sigma(np.array([0.0, 5.0, 6.0, 7.0]), np.array([3.0, 1, 0, 0]), np.array([0.0, 10, 10, 10]))
    0.75
    """
    some = expected > 0
    points, weights = levels[some], expected[some] / expected.sum()
    if not points[-1] > 0:
        return float("nan")
    total = observed.sum()
    n = float(expected.sum())
    mean = weights @ points
    variance = weights @ (points - mean) ** 2 * n / max(n - 1, 1)
    if len(points) == 1 or not variance > 0:
        return float(observed[levels < points[0]].sum() / total)
    bandwidth = n ** (-1 / 5) * np.sqrt(variance)
    near_zero = slice(0, int(np.searchsorted(points, _FAR * bandwidth)))
    below_zero = weights[near_zero] @ ndtr(-points[near_zero] / bandwidth)

    def mass(d: float) -> float:
        first, last = np.searchsorted(points, [d - _FAR * bandwidth, d + _FAR * bandwidth])
        partly = weights[first:last] @ ndtr((d - points[first:last]) / bandwidth)
        return weights[:first].sum() + partly - below_zero

    # The mass grows with d: halve the observed distances until it is clear which are below p.
    where = np.flatnonzero(observed > 0)
    n_below = bisect_left(where, p, key=lambda level: mass(levels[level]))
    return float(observed[where[:n_below]].sum() / total)


def share_of_smallest(observed: Levels, expected: Levels) -> float:
    """Share of the expected distances that are tied at the smallest distance of all."""
    return float(expected[np.argmax(observed + expected > 0)] / expected.sum())


@dataclass(frozen=True)
class Measures:
    """Three measures of the difference between two distributions of distances."""

    NAMES: ClassVar = ("alpha", "ks_superiority", "ks_statistic", "sigma")

    alpha: float
    ks: KS
    sigma: float

    def values(self) -> tuple[float, ...]:
        """Return the numbers of :attr:`NAMES`."""
        return self.alpha, self.ks.superiority, self.ks.statistic, self.sigma

    def flat(self) -> dict[str, float]:
        """Return the numbers by name."""
        return dict(zip(self.NAMES, self.values(), strict=True))


def measure(levels: Levels, observed: Levels, expected: Levels, p: float, n_observed: float | None = None) -> Measures:
    """Compute the three measures from weights of common levels."""
    return Measures(
        alpha(levels, observed, expected), ks(observed, expected, n_observed), sigma(levels, observed, expected, p)
    )


def measures_of_distances(observed: ArrayLike, expected: ArrayLike, *, p: float = 0.05) -> Measures:
    """Compute alpha, KS and sigma from distances that were computed elsewhere.

    Parameters
    ----------
    observed
        Distances between two labels of the same case, zero or greater, in any order.
    expected
        Distances between labels of different cases.
    p
        Probability below which a distance is too small to be due to chance (:func:`sigma`).

    Returns
    -------
    Measures
        ``.alpha``, ``.ks`` (``.statistic``, ``.pvalue``, ``.superiority``) and ``.sigma`` as published, which misleads
        where chance gives the smallest distance with a probability of ``p`` or more.

    Examples
    --------
    >>> found = measures_of_distances([0, 0, 0, 2], [2, 2, 2, 2, 1, 3])
    >>> found.alpha, round(found.ks.superiority, 4), found.sigma
    (0.75, 0.6786, 0.75)
    """
    check_probability("p", p)
    both = []
    for name, given in (("observed", observed), ("expected", expected)):
        array = np.asarray(given, np.float64).ravel()
        if not array.size:
            raise ArgumentError(f"there are no {name} distances: give at least one.")
        for place in np.flatnonzero(~(np.isfinite(array) & (array >= 0)))[:1]:
            raise ArgumentError(
                f"distances are finite and zero or greater, but {name}[{place}] is {array[place]:g}: correct it."
            )
        both.append(array)
    levels, level = np.unique(np.concatenate(both), return_inverse=True)
    n = len(both[0])
    weights = [np.bincount(part, minlength=len(levels)).astype(np.float64) for part in (level[:n], level[n:])]
    return measure(levels, weights[0], weights[1], p)


_AT_TOP, _PROMINENCE, _GRID = 0.25, 0.1, 256


def pathologies(
    levels: Levels, observed: Levels, expected: Levels, p: float = 0.05, *, withheld: bool = False
) -> tuple[str, ...]:
    """Describe in sentences what is wrong with a distance or with the data.

    * Labels of different cases never differ.
    * At least a share `p` of the expected distances are tied at the smallest of all: then no distance is too small to
      be due to chance. If sigma is withheld for this reason, the sentence says so.
    * At least a quarter of the observed distances have the greatest possible value: the distance does not distinguish
      labels that differ somewhat from labels that differ completely. (This does not apply to distances with two
      values.)
    * The distribution of expected distances has several modes: the cases are a mixture, for example of texts of
      different lengths, and chance differs between its parts.

    Parameters
    ----------
    levels, observed, expected
        As for :func:`plausibly.agreement.alpha`.
    p
        Probability below which a distance is too small to be due to chance.
    withheld
        Whether sigma is withheld.

    Examples
    --------
    >>> for sentence in pathologies(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([1.0, 0.0, 3.0])):
    ...     print(sentence)
    25 % of labels of different cases are as close as can be (distance 0)...
    50 % of the observed distances are the greatest that occur...
    """
    some = (observed > 0) | (expected > 0)
    levels, chance, seen = levels[some], expected[some] / expected.sum(), observed[some] / observed.sum()
    if chance[levels > 0].sum() == 0:
        return (
            "labels of different cases never differ under this distance, so agreement cannot be distinguished "
            "from chance",
        )
    found = []
    tied = share_of_smallest(seen, chance)
    if tied >= p:
        so = ", so sigma is not given" if withheld else ""
        found.append(
            f"{tied:.0%} of labels of different cases are as close as can be (distance {levels[0]:.3g}): "
            f"even the smallest distance may be due to chance{so}".replace("%", " %")
        )
    at_top = float(seen[-1])
    if at_top >= _AT_TOP and len(levels) > 2:
        found.append(
            f"{at_top:.0%} of the observed distances are the greatest that occur: the distance does not distinguish "
            "labels that differ somewhat from labels that differ completely".replace("%", " %")
        )
    n = n_modes(levels, chance)
    if n > 1:
        found.append(
            f"the expected distances have {n} modes: the cases may be a mixture, with chance different in each"
        )
    return tuple(found)


def n_modes(levels: Levels, weights: Levels) -> int:
    """Number of modes of a smoothed distribution that stand out by a tenth of the highest.

    Smoothed by a fifth of the standard deviation at least, so that steps of a distance that takes few values (such as
    shares of seven) are none. Distances of fewer than eight values are not judged.
    """
    some = weights > 0
    points, shares = levels[some], weights[some] / weights.sum()
    if len(points) < 8:
        return 1
    spread = np.sqrt(shares @ (points - shares @ points) ** 2)
    step = np.diff(points).max() if len(points) <= 64 else 0.0
    width = max(spread / 5, step)
    edges = np.linspace(points[0] - 3 * width, points[-1] + 3 * width, _GRID + 1)
    cells = np.clip(np.searchsorted(edges, points, "right") - 1, 0, _GRID - 1)
    mass = np.bincount(cells, weights=shares, minlength=_GRID)
    centres = (edges[1:] + edges[:-1]) / 2
    distribution = ndtr((edges[:, None] - centres[None, :]) / width) @ mass
    density = np.diff(distribution)
    return n_peaks(density, _PROMINENCE * density.max())


def n_peaks(density: Float[np.ndarray, " cell"], prominence: float) -> int:
    """Number of peaks of at least a prominence: how often the density rises by that much and then falls by it.

    Equal to the number that ``scipy.signal.find_peaks`` finds, whose import takes a second, but for peaks of exactly
    the same height, which count as one unless the density falls far enough between them.
    """
    n, lowest, highest = 0, density[0], None
    for height in density:
        if highest is None:
            lowest = min(lowest, height)
            highest = height if height - lowest >= prominence else None
        else:
            highest = max(highest, height)
            if highest - height >= prominence:
                n, lowest, highest = n + 1, height, None
    return n
