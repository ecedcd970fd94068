"""Pairs of labels with their distances: what the measures, their breakdowns and their intervals are computed from.

With many labels and few distinct ones, counting pairs is what makes agreement cheap: whatever the number of labels, a
distance is looked at once per pair of distinct labels, which are numbered by a **key**, ``lesser · D + greater``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.chance._measures import Measures, measure
from plausibly.agreement.pairs import Distinct, pairs_of_others, pairs_within
from plausibly.base.bootstrap import cluster_counts
from plausibly.base.errors import AnnotationError, ArgumentError, DistanceError
from plausibly.base.pools import in_processes
from plausibly.base.progress import Progress
from plausibly.data.labels.container import Labels
from plausibly.distances import BestMatches, Distance, FunctionDistance, LabelRefused, PairRefused

MOST = 10_000_000  #: pairs of distinct labels that are held at once


@dataclass(frozen=True)
class Within:
    """Pairs of labels on one case: how many (``count``) of a case have a key; sorted by case."""

    case: Int[np.ndarray, " entry"]
    key: Int[np.ndarray, " entry"]
    count: Int[np.ndarray, " entry"]


@dataclass(frozen=True)
class Across:
    """Pairs of labels that show what chance would give."""

    key: Int[np.ndarray, " entry"]  # distinct and in increasing order, or those of the sample
    count: Float[np.ndarray, " entry"]  # of pairs that have the key
    resampled: Callable[[Float[np.ndarray, " case"]], Float[np.ndarray, " entry"]]  # counts, from draws of each case
    n_all: int  # pairs that there are, sampled or not
    sampled: bool


def within(labels: Labels, distinct: Distinct, same_annotator: bool) -> Within:
    """Count the pairs of labels on one case; of one annotator's labels only if `same_annotator`."""
    base = len(distinct)
    found = _pairs(labels.case, distinct.code, base)
    if same_annotator:
        return found
    unit = labels.case * len(labels.annotators) + labels.annotator
    _, which, times = np.unique(unit, return_inverse=True, return_counts=True)
    several = times[which] > 1
    if not several.any():
        return found
    own = _pairs(unit[several], distinct.code[several], base)
    case = np.concatenate([found.case, own.case // len(labels.annotators)])
    key = np.concatenate([found.key, own.key])
    order = np.lexsort((key, case))
    new = np.flatnonzero(np.r_[True, (np.diff(case[order]) > 0) | (np.diff(key[order]) > 0)])
    count = np.add.reduceat(np.concatenate([found.count, -own.count])[order], new)
    left = count > 0
    return Within(case[order][new][left], key[order][new][left], count[left])


def across_all(labels: Labels, distinct: Distinct, everything: Within, *, own_case: bool) -> Across:
    """Count all pairs of labels on different cases, and those on one case, too, if `own_case` (Krippendorff's form).

    `everything` are all pairs on one case.
    """
    base, n_cases = len(distinct), len(labels.cases)
    n_keys = base * (base + 1) // 2
    if n_keys > MOST:
        raise ArgumentError(
            f"all pairs of {base:,} distinct labels are {n_keys:,}, more than the {MOST:,} that fit into memory: "
            'pass cross="sample", or a number of pairs.'
        )
    low, high = (side.astype(np.int32) for side in np.triu_indices(base))
    diagonal = low == high
    keys = low.astype(np.int64) * base + high
    # How often a case has a label, for pairs of equal labels.
    entry, times = np.unique(labels.case * base + distinct.code, return_counts=True)
    place = np.searchsorted(keys, everything.key)
    apart = everything.key // base != everything.key % base

    def resampled(drawn: Float[np.ndarray, " case"]) -> Float[np.ndarray, " entry"]:
        total = np.bincount(distinct.code, weights=drawn[labels.case], minlength=base)
        count = total[low] * total[high]
        count[diagonal] -= np.bincount(entry % base, weights=(times * drawn[entry // base]) ** 2, minlength=base)
        count[diagonal] /= 2
        times_drawn = drawn[everything.case]
        own = everything.count * (times_drawn - times_drawn**2 * apart if own_case else -(times_drawn**2) * apart)
        count += np.bincount(place, weights=own, minlength=len(keys))
        return count

    count = resampled(np.ones(n_cases))
    return Across(keys, count, resampled, int(count.sum()), sampled=False)


def across_sample(labels: Labels, distinct: Distinct, size: int, seed: int, *, own_case: bool) -> Across:
    """Draw `size` pairs of labels on different cases with replacement; pairs on one case, too, if `own_case`."""
    rng, base, n = np.random.default_rng(seed), len(distinct), len(labels)
    left, right = np.empty(0, np.int64), np.empty(0, np.int64)
    while len(left) < size:
        a, b = rng.integers(0, n, (2, max(1024, size - len(left))))
        good = a != b if own_case else labels.case[a] != labels.case[b]
        left, right = np.concatenate([left, a[good]]), np.concatenate([right, b[good]])
    left, right = left[:size], right[:size]
    low, high = np.sort([distinct.code[left], distinct.code[right]], axis=0)

    def resampled(drawn: Float[np.ndarray, " case"]) -> Float[np.ndarray, " entry"]:
        same = labels.case[left] == labels.case[right]
        return np.where(same, drawn[labels.case[left]], drawn[labels.case[left]] * drawn[labels.case[right]])

    sizes = np.diff(labels.start).astype(np.int64)
    n_all = n * (n - 1) // 2 - (0 if own_case else int((sizes * (sizes - 1) // 2).sum()))
    return Across(low * base + high, np.ones(size), resampled, n_all, sampled=True)


def pairable(labels: Labels, pairs: Within) -> Labels:
    """Keep the labels of cases that have a pair; refuse labels without any."""
    has = np.zeros(len(labels.cases), bool)
    has[pairs.case] = True
    if not has.any():
        raise AnnotationError(
            f"none of the {len(labels.cases):,} cases has labels of two annotators to compare; give one that has"
        )
    return labels.select(has[labels.case])


def _pairs(unit: Int[np.ndarray, " label"], code: Int[np.ndarray, " label"], base: int) -> Within:
    """Count pairs within units, by way of how often each distinct label occurs in a unit."""
    entry, times = np.unique(unit * base + code, return_counts=True)
    unit, code = entry // base, entry % base
    end = np.searchsorted(unit, unit, "right")
    partners = end - np.arange(len(entry))  # itself and those after it
    if partners.sum() > MOST:
        raise ArgumentError(
            f"the labels of single cases make {int(partners.sum()):,} pairs of distinct labels, more than the "
            f"{MOST:,} that fit into memory: take a sample of the labels of each case."
        )
    left = np.repeat(np.arange(len(entry)), partners)
    right = np.arange(len(left)) - np.repeat(np.cumsum(partners) - partners, partners) + left
    count = np.where(left == right, times[left] * (times[left] - 1) // 2, times[left] * times[right])
    some = count > 0
    left, right = left[some], right[some]
    return Within(unit[left], code[left] * base + code[right], count[some])


_BLOCK, _SLOW_BLOCK = 1 << 17, 256
_MANY = 3_000_000  #: pairs that take seconds by any distance
_CHECKED = 50  #: pairs for which a user's function is called in both orders


def distances_of(
    labels: Labels,
    distinct: Distinct,
    key: Int[np.ndarray, " pair"],
    distance: Distance,
    *,
    processes: int = 1,
    progress: bool = True,
) -> Float[np.ndarray, " pair"]:
    """Compute the distances of pairs of distinct labels, which are given as numbers ``lesser · D + greater``."""
    left, right = np.divmod(key, len(distinct))
    try:
        encoded = distance.encode(distinct.values, np.bincount(distinct.code, minlength=len(distinct)))
    except LabelRefused as error:
        raise DistanceError(f"{labels.where(distinct.first[error.position])}: {error}") from error
    try:
        if isinstance(distance, FunctionDistance):
            _check_symmetry(labels, distinct, distance, encoded, left, right)
        found, done = np.empty(len(key)), 0
        with Progress(progress and (distance.slow or len(key) > _MANY)) as bars:
            advance = bars.task("Comparing labels", len(key), "pairs")
            for block in _blocks(distance, encoded, left, right, processes):
                found[done : done + len(block)] = block
                done += len(block)
                advance(len(block))
    except PairRefused as error:
        pair = _pair(labels, distinct, error.left, error.right)
        raise DistanceError(f"{error} on {pair}; correct the distance") from error.__cause__
    if isinstance(distance, BestMatches) and np.isposinf(found).any() and np.isfinite(found).any():
        # Labels without objects, where the distance of single objects has no bound: as far as any two labels are.
        found[np.isposinf(found)] = found[np.isfinite(found)].max()
    for place in np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[:1]:
        raise DistanceError(
            f"a distance is a finite number, zero or greater, but {distance.name!r} gave {found[place]:g} on "
            f"{_pair(labels, distinct, left[place], right[place])}; correct the distance"
        )
    return found


def _blocks(
    distance: Distance, encoded: Any, left: np.ndarray, right: np.ndarray, processes: int
) -> Iterator[np.ndarray]:
    size = _SLOW_BLOCK if distance.slow else _BLOCK
    own, *rest = np.array_split(np.arange(len(left)), processes if len(left) > size else 1)
    calls = [(encoded, left[part], right[part]) for part in rest]
    with in_processes(distance.between, calls) as others:
        for begin in range(0, len(own), size):
            at = own[begin : begin + size]
            yield distance.between(encoded, left[at], right[at])
        for call, found in zip(calls, others, strict=True):
            values = found.result()
            yield distance.between(*call) if values is None else values


def _check_symmetry(labels, distinct, distance, encoded, left, right) -> None:
    """Call a user's function on some pairs in both orders."""
    different = np.flatnonzero(left != right)
    some = different[np.linspace(0, len(different) - 1, min(_CHECKED, len(different))).astype(int)]
    there, back = distance.between(encoded, left[some], right[some]), distance.between(encoded, right[some], left[some])
    for place in np.flatnonzero(~np.isclose(there, back, rtol=1e-9, atol=1e-12, equal_nan=True))[:1]:
        raise DistanceError(
            f"a distance is the same in either order, but {distance.name!r} gave {there[place]:g} and {back[place]:g} "
            f"on {_pair(labels, distinct, left[some[place]], right[some[place]])}; return for example the mean of both"
        )


def _pair(labels: Labels, distinct: Distinct, left: int, right: int) -> str:
    places = [int(distinct.first[side]) for side in (left, right)]
    return " and ".join(f"the label of {labels.where(place)}" for place in places)


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
