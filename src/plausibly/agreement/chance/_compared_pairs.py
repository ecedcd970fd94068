"""Pairs of labels with their distances: what the measures, their breakdowns and their intervals are computed from."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.chance._measures import Measures, measure
from plausibly.agreement.chance._pair_distances import Across, Within
from plausibly.agreement.pairs import Distinct, pairs_of_others, pairs_within
from plausibly.base.bootstrap import cluster_counts
from plausibly.base.progress import Progress
from plausibly.data.labels.container import Labels
from plausibly.distances import Distance

_BINS = 1 << 14  #: levels that a bootstrap tells apart
_BATCHES = 20  #: parts of a sample that show its error


@dataclass(frozen=True, eq=False)
class AnnotatorDistances:
    """Distances between annotators: totals and numbers of pairs of labels, by the annotators of the two labels."""

    annotators: np.ndarray
    total: Float[np.ndarray, "annotator annotator"]
    pairs: Float[np.ndarray, "annotator annotator"]

    @property
    def mean(self) -> Float[np.ndarray, "annotator annotator"]:
        """Mean distances; NaN without pairs."""
        return np.divide(self.total, self.pairs, out=np.full(self.pairs.shape, np.nan), where=self.pairs > 0)


@dataclass(frozen=True, eq=False)
class ComparedPairs:
    """Pairs on one case and pairs on different cases, as indices into the distances of distinct pairs."""

    labels: Labels
    distinct: Distinct
    within: Within
    across: Across
    weight: Float[np.ndarray, " entry"]  # of each entry of `within`
    keys: Int[np.ndarray, " key"]  # pairs of distinct labels, in increasing order
    distances: Float[np.ndarray, " key"]
    distance: Distance
    same_annotator: bool  # whether two labels of one annotator are a pair
    p: float  # below which a distance is too small to be due to chance
    has_sigma: bool  # whether any distance can be
    levels: Float[np.ndarray, " level"]  # distinct distances in increasing order
    level: Int[np.ndarray, " key"]  # index into them

    @cached_property
    def _place_within(self) -> Int[np.ndarray, " entry"]:
        return np.searchsorted(self.keys, self.within.key)

    @cached_property
    def _place_across(self) -> Int[np.ndarray, " entry"] | slice:
        return np.searchsorted(self.keys, self.across.key) if self.across.sampled else slice(None)

    def observed(self, drawn: Float[np.ndarray, " case"] | None = None) -> Float[np.ndarray, " level"]:
        """Weights of the levels on one case, if cases are drawn so often."""
        weight = self.weight if drawn is None else self.weight * drawn[self.within.case]
        return np.bincount(self.level[self._place_within], weights=weight, minlength=len(self.levels))

    def expected(self, count: Float[np.ndarray, " entry"] | None = None) -> Float[np.ndarray, " level"]:
        """Weights of the levels on different cases, from numbers of pairs."""
        count = self.across.count if count is None else count
        return np.bincount(self.level[self._place_across], weights=count, minlength=len(self.levels))

    def measure(self, observed: Float[np.ndarray, " level"], expected: Float[np.ndarray, " level"]) -> Measures:
        """Compute the measures from weights of the levels."""
        found = measure(self.levels, observed, expected, self.p, float(self.within.count.sum()))
        return found if self.has_sigma else replace(found, sigma=float("nan"))

    def by_case(self) -> tuple[Float[np.ndarray, " case"], Float[np.ndarray, " case"]]:
        """Numbers of pairs on each case, and sums of their distances."""
        case, count, n = self.within.case, self.within.count, len(self.labels.cases)
        total = np.bincount(case, count * self.distances[self._place_within], n)
        return np.bincount(case, weights=count, minlength=n), total

    def key_of(self, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]) -> Int[np.ndarray, " pair"]:
        """Number the pairs of distinct labels that two labels are."""
        low, high = np.sort([self.distinct.code[left], self.distinct.code[right]], axis=0)
        return low * len(self.distinct) + high

    def distance_of(
        self, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
    ) -> Float[np.ndarray, " pair"]:
        """Distances of pairs of labels that were compared."""
        return self.distances[np.searchsorted(self.keys, self.key_of(left, right))]

    @cached_property
    def annotator_distances(self) -> AnnotatorDistances:
        """Distances between every two annotators."""
        labels, n = self.labels, len(self.labels.annotators)
        total, pairs = np.zeros(n * n), np.zeros(n * n)
        for left, right in pairs_within(labels.start) if self.same_annotator else pairs_of_others(labels):
            cell = labels.annotator[left] * n + labels.annotator[right]
            total += np.bincount(cell, weights=self.distance_of(left, right), minlength=n * n)
            pairs += np.bincount(cell, minlength=n * n)
        total, pairs = (np.where(np.eye(n), one, one + one.T) for one in (total.reshape(n, n), pairs.reshape(n, n)))
        return AnnotatorDistances(labels.annotators, total, pairs)

    def bootstrap(self, replicates: int, seed: int, progress: bool) -> Float[np.ndarray, "replicate measure"]:
        """Draw cases, and measure; NaN where those drawn leave nothing to compare.

        There is one more case in every replicate, whose labels agree as well as any, or as if by chance, by the toss
        of a coin: without it, annotators who agree in all cases would seem sure to agree in any other.
        """
        random = np.random.default_rng([seed, 1])
        of_cases = np.bincount(self.within.case, self.weight)
        more = (of_cases**2).sum() / of_cases.sum() * random.standard_exponential(replicates)
        alike = random.random(replicates) < 0.5
        coarse = self._coarse()
        drawn = np.zeros(len(self.labels.cases))
        has_labels = np.flatnonzero(np.diff(self.labels.start))
        found = np.full((replicates, len(Measures.NAMES)), np.nan)
        with Progress(progress) as bars:
            advance = bars.task("Drawing cases", replicates, "replicates")
            for part, counts in cluster_counts(len(has_labels), replicates, seed):
                for place, count in zip(range(*part.indices(replicates)), counts, strict=True):
                    drawn[has_labels] = count
                    observed, expected = coarse.observed(drawn), coarse.expected(self.across.resampled(drawn))
                    if observed.sum() > 0 and expected.sum() > 0:
                        by_chance = expected / expected.sum()
                        observed += more[place] * (np.arange(len(observed)) == 0 if alike[place] else by_chance)
                        found[place] = coarse.measure(observed, expected).values()
                    advance(1)
        return found

    def sample_error(self) -> Float[np.ndarray, " measure"]:
        """Standard errors of the measures, from the spread between parts of the sample; zero without a sample."""
        if not self.across.sampled:
            return np.zeros(len(Measures.NAMES))
        size = len(self.across.count) // _BATCHES
        if size < 2:
            return np.full(len(Measures.NAMES), np.nan)
        observed, values = self.observed(), []
        for batch in range(_BATCHES):
            count = np.zeros(len(self.across.count))
            count[batch * size : (batch + 1) * size] = 1
            values.append(self.measure(observed, self.expected(count)).values())
        return np.std(values, axis=0, ddof=1) / np.sqrt(_BATCHES)

    def _coarse(self) -> "ComparedPairs":
        """Join levels until there are few, so that each holds a small share of the pairs."""
        if len(self.levels) <= _BINS:
            return self
        observed, expected = self.observed(), self.expected()
        share = (observed / observed.sum() + expected / expected.sum()) / 2
        joined = np.minimum((np.cumsum(share) - share) * _BINS, _BINS - 1).astype(np.int64)
        joined = np.unique(joined, return_inverse=True)[1]
        total = np.maximum(np.bincount(joined, weights=share), 1e-300)
        levels = np.bincount(joined, weights=share * self.levels) / total
        return replace(self, levels=levels, level=joined[self.level])
