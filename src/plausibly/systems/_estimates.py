"""Estimators of means by system, in closed form, with what each cluster of cases contributes to their errors.

An estimate is nearly a sum over clusters: :attr:`Estimate.influence` has, by cluster and system, by how much the
cluster moves it. Covariances, between systems too, are sums of products of these (the cluster-robust sandwich, with the
CR2 correction and the degrees of freedom of Bell and McCaffrey, 2002, for few clusters or clusters of different sizes),
so that differences between systems are paired by case. Intervals of shares are Wilson's, with the number of independent
cases that would have the same standard error; they hold near 0 and 1, too.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats

from plausibly.data.outcomes import Cells

Values = Float[np.ndarray, " cell"]

LEAST_SHARED = 15  #: clusters that people and a judge have in common, below which the judge has no weight


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates of all systems.

    Parameters
    ----------
    value
        Estimate of each system, NaN if there is none.
    influence
        What each cluster adds to its error, NaN if it is the only one; and rows for what clusters do not show.
    n_clusters
        Number of clusters with outcomes by people (of a judge alone: by the judge).
    df
        Degrees of freedom of its standard error.
    weight
        Weight of the judge, λ; None if there is none.
    additive
        Whether errors are as large near 0 and 1 as elsewhere, as those of a judge's mean that is corrected in full are.
    """

    value: Float[np.ndarray, " system"]
    influence: Float[np.ndarray, "part system"]
    n_clusters: Int[np.ndarray, " system"]
    df: Float[np.ndarray, " system"]
    weight: Float[np.ndarray, " system"] | None = None
    additive: bool = False

    @property
    def covariance(self) -> Float[np.ndarray, "system system"]:
        """Covariance of the estimates; NaN where there is a single cluster."""
        return self.influence.T @ self.influence

    @cached_property
    def se(self) -> Float[np.ndarray, " system"]:
        """Standard errors."""
        return np.sqrt((self.influence**2).sum(axis=0))

    @property
    def shares(self) -> Float[np.ndarray, " system"]:
        """Values as shares, which corrections may carry below 0 or above 1."""
        return np.clip(self.value, 0, 1)

    def interval(
        self, ci_prob: float, *, share: bool = False
    ) -> tuple[Float[np.ndarray, " system"], Float[np.ndarray, " system"]]:
        """Ends of the intervals, by quantiles of Student's t: of means, or Wilson's (1927) if each is a `share`."""
        t = stats.t.ppf((1 + ci_prob) / 2, np.where(self.df > 0, self.df, np.nan))
        if not share:
            return self.value - t * self.se, self.value + t * self.se
        if self.additive:  # from the nearest share, so that the interval never is empty
            return np.maximum(self.shares - t * self.se, 0), np.minimum(self.shares + t * self.se, 1)
        at, least = self.shares, 0.5 / np.maximum(self.n_clusters, 1)
        near = np.clip(at, least, 1 - least)
        with np.errstate(divide="ignore", invalid="ignore"):  # where all say the same, a cluster counts as one case
            size = np.where(self.se > 0, near * (1 - near) / self.se**2, self.n_clusters + 0 * self.se)
        return _wilson(at, size, t)

    def normal(self, *, share: bool = False) -> tuple[Float[np.ndarray, " system"], Float[np.ndarray, "system system"]]:
        """Mean and covariance of the normal distribution that has the middle and the width of the intervals."""
        lower, upper = self.interval(0.95, share=share)
        sd = (upper - lower) / 2 / stats.t.ppf(0.975, np.where(self.df > 0, self.df, np.nan))
        errors = np.divide(self.influence, self.se, out=np.zeros_like(self.influence), where=self.se > 0)
        correlation = errors.T @ errors
        np.fill_diagonal(correlation, 1)
        return (lower + upper) / 2, correlation * np.outer(sd, sd)

    def difference(
        self, first: Int[np.ndarray, " pair"], second: Int[np.ndarray, " pair"], ci_prob: float, *, share: bool = False
    ) -> tuple[Float[np.ndarray, " pair"], Float[np.ndarray, " pair"], Float[np.ndarray, " pair"]]:
        """Differences of two systems each, and the ends of their intervals.

        The interval is that of Newcombe (1998), method 10: distances to the ends of both intervals take the place of
        standard errors. Of means it is Student's for paired cases.
        """
        se = self.se[first] * self.se[second]
        shared = (self.influence[:, first] * self.influence[:, second]).sum(axis=0)
        together = np.divide(shared, se, out=np.zeros_like(se), where=se > 0)
        below, above = (np.abs(end - self.value) for end in self.interval(ci_prob, share=share))
        value = self.value[first] - self.value[second]
        down, up = (
            np.sqrt(np.maximum(a[first] ** 2 + b[second] ** 2 - 2 * together * a[first] * b[second], 0))
            for a, b in ((below, above), (above, below))
        )
        return value, value - down, value + up


class Proportions(NamedTuple):
    """Estimates with intervals that are not symmetric."""

    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    se: np.ndarray


class Share(NamedTuple):
    """Shares, and the number of independent cells behind each."""

    value: Float[np.ndarray, " system"]
    size: Float[np.ndarray, " system"]

    def interval(self, ci_prob: float) -> tuple[Float[np.ndarray, " system"], Float[np.ndarray, " system"]]:
        """Ends of Wilson's intervals."""
        return _wilson(self.value, self.size, stats.norm.ppf((1 + ci_prob) / 2))


def _wilson(at, size, quantile) -> tuple[Float[np.ndarray, " system"], Float[np.ndarray, " system"]]:
    """Ends of Wilson's intervals of shares, each of so many independent cases."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = quantile**2 / size
        half = np.sqrt(shift * (at * (1 - at) + shift / 4)) / (1 + shift)
        middle = (at + shift / 2) / (1 + shift)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def mean(cells: Cells, values: Values | None = None) -> Estimate:
    """Mean of what people say, or of other values, over the cells of each system where it is not NaN."""
    values = cells.people if values is None else values
    known = ~np.isnan(values)
    return Estimate(*_centred(cells, np.where(known, values, 0), known))


def bias(cells: Cells, judge: Values) -> Estimate:
    """Mean of a judge minus that of people in the cells that both saw."""
    found = mean(cells, judge - cells.people)
    return replace(found, influence=np.vstack([found.influence, np.diag(np.sqrt(_unseen_errors(cells, judge)))]))


def prediction_powered(cells: Cells, judge: Values, *, tuned: bool = True) -> Estimate:
    """Mean of what people say, with what a judge says in the cells that people did not see.

    For the mean ȳ of the k cells that people saw, the judge's mean f̄ in those n of them that it saw, too, and its mean
    f̄′ in m others, it is ȳ + λ (f̄′ − f̄). λ is `tuned` (PPI++) to n/k cov(y, f) / ((1 + n/m) var(f)), between 0 and 1,
    which makes the variance least; or 0, which leaves the mean of people alone, where fewer than `LEAST_SHARED`
    clusters are shared. Not tuned, λ is 1, and cells that the judge did not see are left out. If every cell is a
    cluster and n = k, the squared standard error is var(y − λ f) / n + λ² var(f′) / m (Angelopoulos et al. 2023).

    As λ is estimated from the same cells, the standard error is that of cells corrected with a λ whose covariance
    leaves their cluster out; otherwise it would be too small. The estimate is biased by about 1/n. Where people and
    judge are apart in fewer than two clusters, so many more of them are added to the variance, as a judge that was
    right a few times is not always right.
    """
    known, rated = ~np.isnan(cells.people), ~np.isnan(judge)
    both, rest = known & rated, ~known & rated
    seen = known if tuned else both
    y, f = np.where(seen, cells.people, 0), np.where(rated, judge, 0)
    k, n = cells.by_system(seen), cells.by_system(both)
    shared, others = _clusters_with(cells, both), _clusters_with(cells, rest)
    enough = (others > 1) & (shared >= LEAST_SHARED) if tuned else others > 1  # the rest must show its spread
    errors = _unseen_errors(cells, judge)
    weight = np.where(enough, 1.0, np.nan)
    own = others_weight = weight[cells.system]
    if tuned:
        part = n / np.maximum(k, 1)
        weight, others_weight = _tuned(cells, y, f, both, rest, part, errors)
        weight = np.where(enough, weight, 0)
        own, others_weight = weight[cells.system], np.where(enough[cells.system], others_weight, 0)
    mean_f = cells.by_system(both * f) / np.maximum(n, 1)
    gap = np.where(both, (k / np.maximum(n, 1))[cells.system] * (f - mean_f[cells.system]), 0)
    value, _, used, free = _centred(cells, y, seen)  # less λ times gaps, which sum to zero
    _, of_seen, _, _ = _centred(cells, y - others_weight * gap, seen)
    unseen, of_unseen, _, free_of_rest = _centred(cells, own * f, rest)
    value = value + np.where(weight == 0, 0, unseen - weight * mean_f)
    of_unseen = np.where(weight == 0, 0, of_unseen)
    errors = np.nan_to_num(weight) ** 2 * errors
    a, b = (of_seen**2).sum(axis=0) + errors, (of_unseen**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # Satterthwaite's degrees of freedom
        df = (a + b) ** 2 / (a**2 / free + b**2 / np.maximum(free_of_rest, 1))
    df = np.where((a + b > 0) & (free > 0), df, free)
    influence = np.vstack([of_seen + of_unseen, np.diag(np.sqrt(errors))])
    return Estimate(value, influence, used, df, weight, not tuned)


def _unseen_errors(cells: Cells, judge: Values) -> Float[np.ndarray, " system"]:
    """Variance of the mean difference of judge and people that few clusters do not show, by system.

    It is that of as many clusters as are missing from two in which they are apart, by the least that the judge's values
    are, among two more clusters than both saw (Bonett and Price 2012, who add them always, for paired shares).
    """
    difference = judge - cells.people
    apart, shared = _clusters_with(cells, np.nan_to_num(difference) != 0), _clusters_with(cells, ~np.isnan(difference))
    least = np.diff(np.unique(judge[~np.isnan(judge)])).min(initial=1.0)
    return np.where(shared > 0, np.maximum(2 - apart, 0) * (least / (shared + 2)) ** 2, 0)


def rogan_gladen(p, n, sensitivity, n_positive, specificity, n_negative, ci_prob: float) -> Proportions:
    """Proportion of positive cases, from that of a test with errors.

    (p + specificity − 1) / (sensitivity + specificity − 1) of Rogan and Gladen (1978), NaN unless the test tells
    positive from negative cases, with the interval of Lang and Reiczigel (2014), which allows for the binomial errors
    of all three. `n` is the sample size behind `p`; `n_positive` and `n_negative` are those behind the sensitivity and
    the specificity. All may be numbers or arrays.

    Examples
    --------
    >>> found = rogan_gladen(0.4, 1000, 0.9, 200, 0.7, 200, 0.95)
    >>> [round(float(number), 4) for number in found[:3]]
    [0.1667, 0.0564, 0.2627]
    """
    z = stats.norm.ppf((1 + ci_prob) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (p + specificity - 1) / (sensitivity + specificity - 1)
        tells = (sensitivity + specificity > 1) & (n > 0) & (n_positive > 0) & (n_negative > 0)
        size, positive, negative = n + z**2, n_positive + 2, n_negative + 2
        share = (n * p + z**2 / 2) / size
        hit = (n_positive * sensitivity + 1) / positive
        miss = (n_negative * specificity + 1) / negative
        middle = (share + miss - 1) / (hit + miss - 1)
        of_hit, of_miss = hit * (1 - hit) / positive, miss * (1 - miss) / negative
        shift = 2 * z**2 * (middle * of_hit - (1 - middle) * of_miss)
        variance = share * (1 - share) / size + (1 - middle) ** 2 * of_miss + middle**2 * of_hit
        se = np.sqrt(variance) / (hit + miss - 1)
        ends = [np.clip(middle + shift + sign * z * se, 0, 1) for sign in (-1, 1)]
    return Proportions(*(np.where(tells, one, np.nan) for one in (np.clip(value, 0, 1), *ends, se)))


def rogan_gladen_by_system(cells: Cells, judge: Values, ci_prob: float) -> Proportions:
    """Share of positive outcomes by people of each system, from a judge's in the cells that people did not see.

    Numbers of cells are divided by the design effect of the clusters.
    """
    rest = np.isnan(cells.people) & ~np.isnan(judge)
    p = _share(cells, np.nan_to_num(judge), rest.astype(float))
    hit, miss = error_rates(cells, judge)
    return rogan_gladen(*p, *hit, *miss, ci_prob)


def error_rates(cells: Cells, judge: Values) -> tuple[Share, Share]:
    """Sensitivity and specificity of a judge by system: of what people count, and do not count, what it does the same.

    Where people differ, each share of them counts for as much.
    """
    both = ~np.isnan(cells.people) & ~np.isnan(judge)
    y, f = np.where(both, cells.people, 0), np.where(both, judge, 0)
    return _share(cells, f, both * y), _share(cells, 1 - f, both * (1 - y))


def _share(cells: Cells, said, weight) -> Share:
    """Weighted mean of shares by system, and the number of independent cells behind it."""
    total = cells.by_system(weight)
    share = cells.by_system(weight * said) / np.where(total > 0, total, np.nan)
    error = np.nan_to_num(weight * (said - share[cells.system]))
    alone, together = cells.by_system(error**2), (_sums(cells, error) ** 2).sum(axis=0)
    effect = np.where(alone > 0, together / np.where(alone > 0, alone, 1), 1)
    return Share(share, total / np.maximum(effect, 1))


def p_of_equal(estimate: Estimate) -> float:
    """P-value of Wald's test that all systems have the same value, by the F distribution of Hotelling's T².

    NaN for a single system, and where there are too few clusters to tell.
    """
    n, free = len(estimate.value), float(np.min(estimate.df))
    covariance = estimate.covariance
    if n < 2 or not free - (n - 1) + 1 >= 1 or not np.isfinite(covariance).all():
        return float("nan")
    contrast = np.eye(n)[1:] - np.eye(n)[0]
    between = contrast @ estimate.value
    statistic = between @ np.linalg.pinv(contrast @ covariance @ contrast.T, hermitian=True) @ between
    second = free - (n - 1) + 1
    return float(stats.f.sf(statistic * second / (free * (n - 1)), n - 1, second))


def p_of_contrast(estimate: Estimate, chosen: Bool[np.ndarray, " system"]) -> tuple[float, float]:
    """Mean of the chosen systems minus that of the others, and the p-value of no difference; NaN without either."""
    if not chosen.any() or chosen.all():
        return float("nan"), float("nan")
    contrast = np.where(chosen, 1 / chosen.sum(), -1 / (~chosen).sum())
    value, df = float(contrast @ estimate.value), float(np.min(estimate.df))
    se = float(np.sqrt(contrast @ estimate.covariance @ contrast))
    return value, float(2 * stats.t.sf(abs(value) / se, df)) if se > 0 and df > 0 else float("nan")


def trend(cells: Cells, time: Values) -> float:
    """P-value that outcomes by people within systems do not go up or down with time, with errors of clusters.

    NaN if time does not vary within systems.
    """
    y, x = cells.within(cells.people), cells.within(time)
    total, used = float(x @ x), len(np.unique(cells.cluster))
    if not total > 0 or used < 3:
        return float("nan")
    slope = float(x @ y) / total
    share = np.bincount(cells.cluster, x**2) / total
    by_cluster = np.bincount(cells.cluster, x * (y - slope * x)) / total
    se = float(np.sqrt((by_cluster**2 / np.maximum(1 - share, 1e-9)).sum()))
    df = max(used - 1 - len({*cells.system.tolist()}), 1)
    return float(2 * stats.t.sf(abs(slope) / se, df)) if se > 0 else float("nan")


def squared_correlation(cells: Cells, judge: Values) -> Float[np.ndarray, " system"]:
    """Squared correlation of a judge with people in cells that both saw, by system; 0 if it is negative or unknown."""
    product, of_y, of_f = products_within(cells, judge)
    known = (of_y > 0) & (of_f > 0)
    return np.where(known, np.maximum(product, 0) ** 2 / np.where(known, of_y * of_f, 1), 0)


def products_within(cells: Cells, judge: Values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums by system of what people say times what a judge says, less the means, and the squares of both."""
    both = ~np.isnan(cells.people) & ~np.isnan(judge)
    y, f = (cells.within(one, both) for one in (cells.people, judge))
    product, of_y, of_f = map(cells.by_system, (y * f, y * y, f * f))
    return product, of_y, of_f


def p_of_choice(cells: Cells, judge: Values) -> Float[np.ndarray, " system"]:
    """P-value that a judge has the same mean in the cells that people saw and in the others, by system.

    The variance is that of all cells, times the design effect of the clusters. NaN where there is nothing to compare.
    """
    known = ~np.isnan(judge)
    seen = known & ~np.isnan(cells.people)
    n, m = cells.by_system(seen), cells.by_system(known & ~seen)
    error = cells.within(judge, known)
    of_seen, of_all, squares = map(cells.by_system, (seen * error, error, error**2))
    by_cluster = (_sums(cells, error) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = of_seen / n - (of_all - of_seen) / m
        variance = squares / (n + m - 1) * np.maximum(by_cluster / squares, 1) * (1 / n + 1 / m)
        return 2 * stats.norm.sf(np.abs(gap) / np.sqrt(variance))


def _tuned(cells: Cells, y, f, both, rest, part, errors: Float[np.ndarray, " system"]) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the judge that makes the variance least, by system, and by cell without its cluster.

    The latter leaves the cluster out of the covariance of y and f. `part` is the share of the cells that people saw
    in which the judge has an outcome, and `errors` is the variance of the judge's errors that they do not show.
    """
    n, m = cells.by_system(both), cells.by_system(rest)
    variance = cells.by_system(cells.within(f, both | rest) ** 2) / np.maximum(n + m - 1, 1)
    below = (1 + n / np.maximum(m, 1)) * variance + n * errors
    scale = np.where((m > 0) & (below > 0), part / np.where(below > 0, below, 1), 0)

    def weight(number, of_y, of_f, of_both):
        size = np.maximum(number, 1)
        return np.clip(scale * (of_both / size - of_y * of_f / size**2), 0, 1)

    each = [both * one for one in (1.0, y, f, y * f)]
    without = weight(*(cells.by_system(one) - _sums(cells, one) for one in each))
    return weight(*map(cells.by_system, each)), without[cells.cluster, cells.system]


def _centred(cells: Cells, values, chosen):
    """Means over the chosen cells, what clusters add to their errors, the number of clusters, and degrees of freedom.

    For a mean, CR2 divides what a cluster with the share h of the cells adds by √(1 − h); all clusters of the same size
    give G/(G − 1) and G − 1 degrees of freedom.
    """
    number = cells.by_system(chosen)
    means = cells.by_system(chosen * values) / np.where(number, number, np.nan)
    error = np.where(chosen, values - means[cells.system], 0) / np.maximum(number, 1)[cells.system]
    share = _sums(cells, chosen) / np.maximum(number, 1)
    used = np.count_nonzero(share, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        influence = _sums(cells, error) / np.sqrt(1 - share)
        part = share**2 / (1 - share)
        df = 1 / ((share**2).sum(axis=0) + part.sum(axis=0) ** 2 - (part**2).sum(axis=0))
    return means, influence, used, np.where(used > 1, df, 0)


def _sums(cells: Cells, values) -> Float[np.ndarray, "cluster system"]:
    place = cells.cluster.astype(np.int64) * cells.n_systems + cells.system
    return np.bincount(place, values, cells.n_clusters * cells.n_systems).reshape(cells.n_clusters, cells.n_systems)


def _clusters_with(cells: Cells, chosen: Bool[np.ndarray, " cell"]) -> Int[np.ndarray, " system"]:
    """Number of clusters of each system with any of the cells."""
    return np.count_nonzero(_sums(cells, chosen), axis=0)
