"""The bootstrap: cases, or clusters of them, drawn with replacement, and intervals of what is computed from them."""

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError
from plausibly.base.progress import Progress

REPLICATES, CI_PROB = 1000, 0.94
PANEL = 5  #: experts of a panel, if nothing else is said
_NUMBERS = 2**22  # counts in memory at once
_SLOW = 100_000_000  # clusters drawn that take seconds


def cluster_counts(
    n_clusters: int, replicates: int, seed: int, size: int | None = None
) -> Iterator[tuple[slice, Float[np.ndarray, "replicate cluster"]]]:
    """Draw `size` clusters, by default all, with replacement, and count them; some replicates at a time.

    The first replicates do not depend on how many follow.

    Examples
    --------
    >>> [(part, counts.sum(1).tolist()) for part, counts in cluster_counts(3, 2, seed=0)]
    [(slice(0, 2, None), [3.0, 3.0])]
    """
    random = np.random.default_rng(seed)
    size = n_clusters if size is None else size
    step = max(1, _NUMBERS // max(n_clusters, size))
    for first in range(0, replicates, step):
        n = min(step, replicates - first)
        drawn = random.integers(n_clusters, size=(n, size)) + n_clusters * np.arange(n)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n_clusters * n).reshape(n, n_clusters)
        yield slice(first, first + n), counts.astype(float)


def resampled_sums(
    statistics: Float[np.ndarray, "case statistic"] | csr_array,
    cluster: Int[np.ndarray, " case"],
    replicates: int,
    seed: int,
    progress: bool = False,
    size: int | None = None,
) -> Float[np.ndarray, "replicate statistic"]:
    """Sum statistics over clusters drawn with replacement; `cluster` is that of each case, counted from 0.

    As many clusters are drawn as there are, or `size` of them.

    Raises
    ------
    ArgumentError
        If there is a single cluster, or `replicates` or `seed` is out of range.

    Examples
    --------
    >>> ones = np.ones((4, 1))
    >>> sums = resampled_sums(ones, np.array([0, 0, 1, 2]), 500, 0)
    >>> sorted(set(sums.ravel().tolist())), bool(abs(sums.mean() - 4) < 0.2)
    ([3.0, 4.0, 5.0, 6.0], True)
    """
    check_replicates(replicates)
    check_whole("seed", seed, 0)
    if cluster.max() < 1:
        raise ArgumentError("a bootstrap draws clusters, but there is only 1: name more clusters, or none for cases.")
    return _sums(statistics, cluster, replicates, seed, progress, size)


def resampled_means(
    values: Float[np.ndarray, "row case"], replicates: int, seed: int
) -> Float[np.ndarray, "row replicate"]:
    """Means over cases that are drawn with replacement, the same cases for all rows.

    Examples
    --------
    >>> resampled_means(np.array([[0.5, 0.5, 0.5]]), 4, seed=0).tolist()
    [[0.5, 0.5, 0.5, 0.5]]
    """
    n_cases = values.shape[1]
    return _sums(values.T, np.arange(n_cases), replicates, seed).T / n_cases


def with_unseen(
    sums: Float[np.ndarray, "replicate thing"], total: Float[np.ndarray, " replicate"], unit: float, seed: int
) -> Float[np.ndarray, "replicate thing"]:
    """Divide sums of shares by totals, with one more case in every replicate, which is 1 or 0 by the toss of a coin.

    `unit` is what a case, or a cluster, adds to a total. Without it, shares that are 1 in all cases would be certain.

    Examples
    --------
    >>> found = with_unseen(np.full((1000, 1), 9.0), np.full(1000, 9.0), 1.0, seed=0)
    >>> bool(found.max() == 1), bool(abs(found.mean() - 0.95) < 0.02)
    (True, True)
    """
    random = np.random.default_rng([seed, 1])
    more = unit * random.standard_exponential(len(total))
    right = coins(np.arange(sums.shape[1]), len(total), random)
    return ((sums.T + more * right) / (total + more)).T


def coins(column: Int[np.ndarray, " thing"], n: int, random: np.random.Generator) -> Bool[np.ndarray, "thing n"]:
    """Toss coins that are fair, and of which those of two columns differ as often as possible.

    Of two, they always differ; of many, in half of the tosses.

    Examples
    --------
    >>> first, second = coins(np.array([0, 1]), 1000, np.random.default_rng(0))
    >>> bool((first != second).all()), bool(abs(first.mean() - 0.5) < 0.05)
    (True, True)
    """
    from scipy.linalg import hadamard

    size = 1 << int(column.max(initial=1)).bit_length()
    patterns = hadamard(size)[1:] > 0  # any two columns are equal in the first row, and in as many as they differ in
    return patterns[random.integers(size - 1, size=n)][:, column].T ^ (random.random(n) < 0.5)


def interval(values: Float[np.ndarray, " replicate *shape"], ci_prob: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of the central interval of replicates or draws, which may be infinite.

    The ends are NaN for fewer than two: a single value says nothing of the spread.
    """
    check_probability("ci_prob", ci_prob)
    if len(values) < 2:
        unknown = np.full(np.shape(values)[1:], np.nan)[()]
        return unknown, unknown
    return quantile(values, (1 - ci_prob) / 2), quantile(values, (1 + ci_prob) / 2)


def width_of(results: Any, ci_prob: float | None = None) -> float:
    """Probability of the intervals of results: the one that is given, or that of their attributes, or else 0.94."""
    return float(results.attrs.get("ci_prob", CI_PROB)) if ci_prob is None else ci_prob


def width_in_words(results: Any) -> str:
    """Probability of the intervals of results, in percent."""
    return f"{100 * width_of(results):g} %"


def median_and_ends(
    name: str, draws: Float[np.ndarray, "draw quantity"], ci_prob: float, prefix: str = ""
) -> dict[str, np.ndarray]:
    """Columns of the medians, under a name, and of the ends of the intervals, ``lower`` and ``upper``."""
    lower, upper = interval(draws, ci_prob)
    return {name: quantile(draws, 0.5), f"{prefix}lower": lower, f"{prefix}upper": upper}


def holding(
    value: Float[np.ndarray, "*shape"], ends: Sequence[Float[np.ndarray, "*shape"]]
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """Extend an interval to a value that lies outside, as the mean of shares that are 0 or 1 may; NaN changes nothing.

    Examples
    --------
    >>> low, high = holding(np.array([1.0, 0.5]), (np.array([0.8, 0.4]), np.array([0.99, 0.6])))
    >>> low.tolist(), high.tolist()
    ([0.8, 0.4], [1.0, 0.6])
    """
    lower, upper = ends
    return np.where(value < lower, value, lower)[()], np.where(value > upper, value, upper)[()]


def ranked(draws: Float[np.ndarray, "draw thing"], ci_prob: float) -> dict[str, np.ndarray]:
    """Ranks of things, of which more is better, by their means, from 1, with intervals; and how often each is best.

    Examples
    --------
    >>> {name: of.tolist() for name, of in ranked(np.array([[0.2, 0.4], [0.3, 0.5]]), 0.9).items()}
    {'rank': [2, 1], 'rank_lower': [2, 1], 'rank_upper': [2, 1], 'p_best': [0.0, 1.0]}
    """
    from scipy.stats import rankdata  # which takes long to import

    ends = (1 - ci_prob) / 2, (1 + ci_prob) / 2
    lower, upper = np.quantile(rankdata(-draws, axis=1), ends, axis=0, method="closest_observation")
    ranks = {"rank": rankdata(-draws.mean(0), method="min"), "rank_lower": lower, "rank_upper": upper}
    best = np.bincount(draws.argmax(1), minlength=draws.shape[1]) / len(draws)
    return {name: of.astype(int) for name, of in ranks.items()} | {"p_best": best}


def interval_of_known(
    values: Float[np.ndarray, " replicate *shape"], ci_prob: float, axis: int = 0
) -> Float[np.ndarray, " 2 *shape"]:
    """Lower and upper ends of the intervals of quantities, from the replicates in which each of them is not NaN."""
    values = np.moveaxis(values, axis, -1)
    ends = [interval(own[~np.isnan(own)], ci_prob) for own in values.reshape(-1, values.shape[-1])]
    return np.moveaxis(np.array(ends, float).reshape(*values.shape[:-1], 2), -1, 0)


def quantile(values: Float[np.ndarray, " replicate *shape"], q: float) -> Float[np.ndarray, "*shape"]:
    """Quantile along the first axis, by linear interpolation, of numbers that may be infinite.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0, 3.0, np.inf]), 0.5), quantile(np.array([1.0, np.inf, np.inf]), 0.9)
    (np.float64(2.5), np.float64(inf))
    """
    ordered = np.sort(values, axis=0)
    place = q * (len(ordered) - 1)
    low = int(place)
    lower, upper = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    weight = place - low
    same = (lower == upper) | (weight == 0)
    with np.errstate(invalid="ignore"):  # infinity less infinity, where the two are the same
        return np.where(same, lower, lower + weight * (upper - lower))[()]


def check_replicates(replicates: object, least: int = 1) -> None:
    """Refuse a number of replicates that is not whole or too small."""
    check_whole("replicates", replicates, least, "give 1000")


def check_probability(name: str, value: float) -> None:
    """Refuse a probability that is not strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0 < value < 1:
        raise ArgumentError(f"{name} must lie between 0 and 1, but {value!r} was given: give for example {CI_PROB}.")


def _sums(statistics, cluster, replicates, seed, progress=False, size=None) -> Float[np.ndarray, "replicate statistic"]:
    n_clusters = int(cluster.max()) + 1
    belongs = csr_array((np.ones(len(cluster)), (cluster, np.arange(len(cluster)))), shape=(n_clusters, len(cluster)))
    sums = belongs @ statistics
    out = np.empty((replicates, np.shape(statistics)[1]))
    with Progress(progress and replicates * n_clusters > _SLOW) as bars:
        advance = bars.task("Bootstrapping", replicates, "replicates")
        for part, counts in cluster_counts(n_clusters, replicates, seed, size):
            # Dense times sparse would be turned into the reverse of this anyway.
            out[part] = counts @ sums if isinstance(sums, np.ndarray) else (sums.T @ counts.T).T
            advance(len(counts))
    return out
