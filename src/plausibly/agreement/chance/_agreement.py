"""Agreement between annotators on labels of any type."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly._progress import Progress
from plausibly.agreement.chance._distance_distribution import Measures, PairDistances, check_p, measure
from plausibly.agreement.chance._distinct_labels import Distinct, distinct
from plausibly.agreement.chance._ks import KS
from plausibly.agreement.chance._pair_counts import (
    Across,
    Within,
    across_all,
    across_sample,
    n_across,
    pairable,
    within,
)
from plausibly.agreement.chance._pair_distances import distances_of
from plausibly.agreement.chance._pathologies import pathologies
from plausibly.distances import Distance, find_distance
from plausibly.errors import AnnotationError, ArgumentError
from plausibly.labels._container import Labels
from plausibly.random_streams import check_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Weighting = Literal["pairs", "units"]

_ALL_IF, _ALL_IF_SLOW = 3_000_000, 50_000  #: pairs of distinct labels up to which cross="auto" takes all
_BINS = 1 << 14  #: levels that a bootstrap tells apart
_BATCHES = 20  #: parts of a sample that show its error


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far annotators agree, by one distance.

    Made by :func:`agreement`. Agreement is high where labels on one case (``observed`` distances) are nearer to each
    other than labels on different cases (``expected`` distances, which chance would give).

    Parameters
    ----------
    distance
        Name of the distance.
    alpha
        One minus the ratio of mean observed to mean expected distance: 1 is perfect, 0 is chance. It depends on the
        scale of the distance, so alphas of different distances do not compare.
    ks
        ``.statistic``, ``.pvalue`` and ``.superiority`` (:class:`KS`): how well the distance tells pairs on one case
        from pairs on different cases. Choose the distance by ``.superiority``.
    sigma
        Share of observed distances too small to be chance; a lower bound on the share of pairs that agree for reasons
        other than chance.
    observed, expected
        The distances (:class:`PairDistances`).
    weighting
        ``"pairs"`` or ``"units"``.
    n_cross
        How many pairs of labels on different cases there are.
    sampled
        Whether the expected distances are a sample of them.
    warnings
        What is wrong with the distance, in sentences (:func:`pathologies`).
    """

    distance: str
    alpha: float
    ks: KS
    sigma: float
    observed: PairDistances
    expected: PairDistances
    weighting: Weighting
    n_cross: int
    sampled: bool
    warnings: tuple[str, ...]
    _parts: "_Parts" = field(repr=False)

    @property
    def cases(self) -> np.ndarray:
        """Names of the cases."""
        return self._parts.labels.cases

    def to_frame(self) -> pd.DataFrame:
        """Put the measures into a table of one row."""
        row = {
            "distance": self.distance,
            "alpha": self.alpha,
            "ks_superiority": self.ks.superiority,
            "ks_statistic": self.ks.statistic,
            "ks_pvalue": self.ks.pvalue,
            "sigma": self.sigma,
            "observed": self.observed.mean(),
            "expected": self.expected.mean(),
            "cases": int(np.count_nonzero(np.bincount(self._parts.labels.case))),
            "labels": len(self._parts.labels),
            "observed_pairs": int(self._parts.within.count.sum()),
            "expected_pairs": len(self.expected),
            "sampled": self.sampled,
            "weighting": self.weighting,
        }
        return pd.DataFrame([row])

    def by_case(self) -> pd.DataFrame:
        """Break agreement down by case.

        Returns
        -------
        pandas.DataFrame
            Columns ``case``, ``labels``, ``pairs``, ``distance`` (the mean of the case's pairs) and ``alpha``, one
            minus its ratio to the mean expected distance. NaN where a case has no pair.

        Examples
        --------
        >>> found = agreement({"p": {"ann": 1, "bob": 1}, "q": {"ann": 2, "bob": 1}})
        >>> found.by_case()["distance"].tolist()
        [0.0, 1.0]
        """
        parts = self._parts
        n = len(parts.labels.cases)
        pairs = np.bincount(parts.within.case, weights=parts.within.count, minlength=n)
        total = np.bincount(parts.within.case, parts.within.count * parts.distances[parts.place], n)
        mean = np.divide(total, pairs, out=np.full(n, np.nan), where=pairs > 0)
        return pd.DataFrame(
            {
                "case": parts.labels.cases,
                "labels": np.bincount(parts.labels.case, minlength=n),
                "pairs": pairs.astype(int),
                "distance": mean,
                "alpha": self._against_chance(mean),
            }
        )

    def annotators(self) -> pd.DataFrame:
        """Break agreement down by annotator.

        Returns
        -------
        pandas.DataFrame
            Columns ``annotator``, ``labels``, ``pairs`` (with other annotators' labels on the same cases),
            ``distance`` (the mean of these pairs) and ``alpha``, one minus its ratio to the mean expected distance.
            NaN where an annotator has no pair.

        Examples
        --------
        >>> found = agreement({"p": {"ann": 1, "bob": 1, "eve": 2}, "q": {"ann": 2, "bob": 2, "eve": 1}})
        >>> found.annotators()["distance"].tolist()
        [0.5, 0.5, 1.0]
        """
        table, parts = self.annotator_distances(), self._parts
        others = ~np.eye(len(table.mean), dtype=bool)
        pairs = np.where(others, table.pairs, 0).sum(axis=1)
        total = np.where(others, table.total, 0).sum(axis=1)
        mean = np.divide(total, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
        return pd.DataFrame(
            {
                "annotator": parts.labels.annotators,
                "labels": np.bincount(parts.labels.annotator, minlength=len(pairs)),
                "pairs": pairs.astype(int),
                "distance": mean,
                "alpha": self._against_chance(mean),
            }
        )

    def annotator_distances(self) -> "AnnotatorDistances":
        """Mean distance between every two annotators on the cases that both labelled.

        Returns
        -------
        AnnotatorDistances
            ``.mean``, ``.total`` and ``.pairs``, square arrays over ``.annotators``; on the diagonal the pairs of
            labels that one annotator gave one case. NaN where there is no pair.
        """
        return self._parts.annotator_distances

    def interval(
        self, prob: float = 0.95, replicates: int = 500, seed: int = 0, *, progress: bool = True
    ) -> pd.DataFrame:
        """Bootstrap intervals of the measures, over cases.

        Cases are drawn with replacement, each with all its labels, and all pairs among those drawn are weighed anew;
        copies of one case are not compared with each other. Distances are told apart at 16,384 quantiles. Of a sample
        of pairs, its members are weighed anew, so that intervals do not contain the error of the sample
        (:attr:`monte_carlo_error`).

        Parameters
        ----------
        prob
            Confidence of the intervals, between 0 and 1.
        replicates
            How often to draw.
        seed
            Of the random numbers.
        progress
            Whether to show a bar.

        Returns
        -------
        pandas.DataFrame
            Rows ``alpha``, ``ks_superiority``, ``ks_statistic``, ``sigma``; columns ``value``, ``lower``, ``upper``
            and ``sd``.

        Raises
        ------
        ArgumentError
            If `prob` is not between 0 and 1, there are fewer than two replicates, or the seed is not a whole number
            of 32 bits.

        References
        ----------
        Efron (1979); percentile intervals.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> labels = {f"case {i}": {name: i % 2 + 0.4 * rng.normal() for name in "abc"} for i in range(20)}
        >>> table = agreement(labels, "interval").interval(replicates=50, progress=False)
        >>> bool(table.loc["alpha", "lower"] < table.loc["alpha", "value"] < table.loc["alpha", "upper"])
        True
        """
        if not 0 < prob < 1:
            raise ArgumentError(f"prob must be between 0 and 1, but {prob!r} was given: write 0.95.")
        if not (isinstance(replicates, int | np.integer) and replicates >= 2):
            raise ArgumentError(f"replicates must be at least 2, and whole, but {replicates!r} was given: write 500.")
        drawn = self._parts.bootstrap(replicates, check_seed(seed), progress)
        values = Measures(self.alpha, self.ks, self.sigma).flat()
        tail = (1 - prob) / 2
        rows = {}
        for name, value in values.items():
            found = drawn[name][~np.isnan(drawn[name])]
            lower, upper = np.quantile(found, [tail, 1 - tail]) if len(found) else (np.nan, np.nan)
            sd = found.std(ddof=1) if len(found) > 1 else np.nan
            rows[name] = {"value": value, "lower": lower, "upper": upper, "sd": sd}
        return pd.DataFrame.from_dict(rows, orient="index")

    @cached_property
    def monte_carlo_error(self) -> dict[str, float]:
        """Standard error of each measure on account of the sample of pairs; zero where all pairs were compared.

        From the spread between twenty parts of the sample; NaN if it is too small for that.
        """
        names = Measures(self.alpha, self.ks, self.sigma).flat()
        if not self.sampled:
            return dict.fromkeys(names, 0.0)
        return self._parts.sample_error(list(names))

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the histograms of observed and expected distances (:func:`plausibly.plots.agreement_histogram`)."""
        from plausibly.plots import agreement_histogram

        return agreement_histogram(self, ax=ax)

    def _against_chance(self, mean: Float[np.ndarray, " part"]) -> Float[np.ndarray, " part"]:
        expected = self.expected.mean()
        return 1 - mean / expected if expected > 0 else np.full(len(mean), np.nan)

    def __repr__(self) -> str:
        return (
            f"Agreement({self.distance}: alpha {self.alpha:.4f}, KS {self.ks.superiority:.4f}, sigma {self.sigma:.4f}; "
            f"{int(self._parts.within.count.sum()):,} pairs on one case, {len(self.expected):,} "
            f"{'sampled ' if self.sampled else ''}on different cases)"
        )


@dataclass(frozen=True, eq=False)
class AnnotatorDistances:
    """Distances between annotators: totals and numbers of pairs, by the annotators of the two labels."""

    annotators: np.ndarray
    total: Float[np.ndarray, "annotator annotator"]
    pairs: Float[np.ndarray, "annotator annotator"]

    @property
    def mean(self) -> Float[np.ndarray, "annotator annotator"]:
        """Mean distances; NaN without pairs."""
        return np.divide(self.total, self.pairs, out=np.full(self.pairs.shape, np.nan), where=self.pairs > 0)


@dataclass(frozen=True, eq=False)
class _Parts:
    """What breakdowns and intervals are computed from."""

    labels: Labels
    distinct: Distinct
    within: Within
    across: Across
    keys: Int[np.ndarray, " key"]
    distances: Float[np.ndarray, " key"]
    place: Int[np.ndarray, " entry"]  # of the pairs on one case, among the keys
    cross_place: Int[np.ndarray, " entry"] | None  # of the others; None if these are the keys
    weight: Float[np.ndarray, " entry"]  # of each pair on one case
    levels: Float[np.ndarray, " level"]
    level: Int[np.ndarray, " key"]
    same_annotator: bool
    p: float

    def observed(self, drawn: Float[np.ndarray, " case"] | None = None) -> Float[np.ndarray, " level"]:
        """Weights of the observed distances, if cases are drawn so often."""
        weight = self.weight if drawn is None else self.weight * drawn[self.within.case]
        return np.bincount(self.level[self.place], weights=weight, minlength=len(self.levels))

    def expected(self, count: Float[np.ndarray, " entry"]) -> Float[np.ndarray, " level"]:
        """Weights of the expected distances."""
        level = self.level if self.cross_place is None else self.level[self.cross_place]
        return np.bincount(level, weights=count, minlength=len(self.levels))

    @cached_property
    def annotator_distances(self) -> AnnotatorDistances:
        """Compare annotators, case sizes one at a time."""
        labels, n = self.labels, len(self.labels.annotators)
        total, pairs = np.zeros(n * n), np.zeros(n * n)
        sizes = np.diff(labels.start)
        for size in np.unique(sizes[sizes > 1]):
            a, b = np.triu_indices(size, 1)
            step = max(1, (1 << 20) // len(a))
            starts = labels.start[:-1][sizes == size]
            for begin in range(0, len(starts), step):
                first = starts[begin : begin + step, None]
                left, right = (first + a).ravel(), (first + b).ravel()
                if not self.same_annotator:
                    other = labels.annotator[left] != labels.annotator[right]
                    left, right = left[other], right[other]
                low, high = np.sort([self.distinct.code[left], self.distinct.code[right]], axis=0)
                key = np.searchsorted(self.keys, low * len(self.distinct) + high)
                cell = labels.annotator[left] * n + labels.annotator[right]
                total += np.bincount(cell, weights=self.distances[key], minlength=n * n)
                pairs += np.bincount(cell, minlength=n * n)
        total, pairs = total.reshape(n, n), pairs.reshape(n, n)
        own = np.eye(n, dtype=bool)
        return AnnotatorDistances(
            labels.annotators, np.where(own, total, total + total.T), np.where(own, pairs, pairs + pairs.T)
        )

    def bootstrap(self, replicates: int, seed: int, progress: bool) -> dict[str, np.ndarray]:
        """Draw cases, and measure."""
        coarse = self._coarse()
        rng = np.random.default_rng(seed)
        n = len(self.labels.cases)
        has_labels = np.flatnonzero(np.bincount(self.labels.case, minlength=n))
        found: dict[str, list[float]] = {}
        with Progress(progress) as bars:
            advance = bars.task("Drawing cases", replicates, "replicates")
            for _ in range(replicates):
                drawn = np.zeros(n)
                np.add.at(drawn, rng.choice(has_labels, len(has_labels)), 1)
                observed, expected = coarse.observed(drawn), coarse.expected(self.across.resampled(drawn))
                # Too few different cases, or none with a pair, leave nothing to measure.
                empty = not (observed.sum() > 0 and expected.sum() > 0)
                values = None if empty else measure(coarse.levels, observed, expected, self.p).flat()
                for name in ("alpha", "ks_superiority", "ks_statistic", "sigma"):
                    found.setdefault(name, []).append(np.nan if values is None else values[name])
                advance(1)
        return {name: np.array(values) for name, values in found.items()}

    def _coarse(self) -> "_Parts":
        """Join levels until there are few, so that each holds a small share of the pairs."""
        if len(self.levels) <= _BINS:
            return self
        observed, expected = self.observed(), self.expected(self.across.count)
        share = (observed / observed.sum() + expected / expected.sum()) / 2
        joined = np.minimum((np.cumsum(share) - share) * _BINS, _BINS - 1).astype(np.int64)
        joined = np.unique(joined, return_inverse=True)[1]
        levels = np.bincount(joined, weights=share * self.levels) / np.maximum(
            np.bincount(joined, weights=share), 1e-300
        )
        return replace(self, levels=levels, level=joined[self.level])

    def sample_error(self, names: list[str]) -> dict[str, float]:
        """Spread of the measures between parts of the sample."""
        size = len(self.across.count) // _BATCHES
        if size < 2 or self.cross_place is None:
            return dict.fromkeys(names, float("nan"))
        observed, values = self.observed(), []
        for batch in range(_BATCHES):
            count = np.zeros(len(self.across.count))
            count[batch * size : (batch + 1) * size] = 1
            values.append(measure(self.levels, observed, self.expected(count), self.p).flat())
        return {name: float(np.std([value[name] for value in values], ddof=1) / np.sqrt(_BATCHES)) for name in names}


def agreement(
    labels: Any,
    distance: str | Distance | Callable[[Any, Any], float] = "nominal",
    *,
    preset: str | None = None,
    weighting: Weighting = "pairs",
    cross: Literal["auto", "all", "sample"] | int | None = None,
    same_annotator: bool = True,
    p: float = 0.05,
    seed: int = 0,
    processes: int = 1,
    progress: bool = True,
) -> Agreement:
    """Measure how far annotators agree on labels of any type, corrected for chance.

    Parameters
    ----------
    labels
        A long table with the columns ``case``, ``annotator`` and ``label``, in any form that :meth:`Labels.of` takes;
        labels may be any objects. Missing labels are left out, and cases and annotators need not be complete.
    distance
        A name from :mod:`plausibly.distances`, or a function of two labels: zero or greater, the same in either order.
    preset
        Conventions behind published numbers: ``"braylan2022"`` changes those of the distance if it is a name
        (:func:`plausibly.distances.find_distance`), and makes ``"sample"`` the default of `cross`.
    weighting
        ``"pairs"``: plain means over pairs, expected distances from labels on different cases. ``"units"``:
        Krippendorff's form: a case with `m` labels weighs its pairs by 1/(m − 1), expected distances come from all
        pairs of labels, and cases with one label are left out.
    cross
        Which pairs of labels on different cases to compare: ``"all"``; ``"sample"``, with replacement and as many as
        there are pairs on one case; a number of pairs; or ``"auto"`` (None, without a preset): all if there are at
        most 3,000,000 pairs of distinct labels (50,000 where the distance is slow), else a sample.
    same_annotator
        Whether two labels of one annotator on one case are a pair.
    p
        Of sigma: what probability is too small to be chance.
    seed
        Of the sample.
    processes
        How many processes share the work of a distance that compares one pair at a time.
    progress
        Whether to show a bar while distances are computed, if that takes long.

    Returns
    -------
    Agreement
        ``.alpha``, ``.ks``, ``.sigma``, ``.observed``, ``.expected``, ``.interval()``, ``.by_case()``,
        ``.annotators()``, ``.plot()``. If all labels on one case are alike, alpha is 1; if labels on different cases
        never differ, alpha and sigma are NaN.

    Raises
    ------
    AnnotationError
        If there are fewer than two cases, or no case has two labels.
    DistanceError
        If a label is of a wrong type; or a function fails, or gives something that is no distance, or is not symmetric
        (asked about fifty pairs). The message names the labels.
    ArgumentError
        If an argument is out of range, or there are too many pairs to hold.

    References
    ----------
    Braylan, Alonso and Lease (2022), "Measuring annotator agreement generally across complex structured,
    multi-object, and free-text annotation tasks"; Krippendorff (1970) for alpha.

    Examples
    --------
    >>> boxes = {
    ...     "photo 1": {"ann": [(0, 0, 10, 10)], "bob": [(0, 0, 10, 9)]},
    ...     "photo 2": {"ann": [(50, 50, 60, 60), (0, 0, 5, 5)], "bob": [(50, 50, 60, 62)]},
    ... }
    >>> found = agreement(boxes, "box_giou")
    >>> round(found.alpha, 3), found.ks.statistic
    (0.76, 1.0)
    >>> agreement(boxes, lambda a, b: abs(len(a) - len(b))).alpha
    0.0
    """
    check_p(p)
    if weighting not in ("pairs", "units"):
        raise ArgumentError(f'weighting must be "pairs" or "units", but {weighting!r} was given: choose one.')
    is_number = isinstance(cross, int | np.integer) and not isinstance(cross, bool)
    is_named = cross is None or (isinstance(cross, str) and cross in ("auto", "all", "sample"))
    if not (is_named or (is_number and cross > 0)):
        raise ArgumentError(
            f'cross must be "auto", "all", "sample" or a number of pairs, but {cross!r} was given: choose one.'
        )
    check_seed(seed)
    if not (isinstance(processes, int | np.integer) and processes >= 1):
        raise ArgumentError(f"processes must be at least 1, and whole, but {processes!r} was given: write 2.")
    chosen = find_distance(distance, preset)
    labels, units = Labels.of(labels), weighting == "units"
    if len(np.unique(labels.case)) < 2:
        raise AnnotationError(
            "agreement compares labels on one case with labels on others, but only one case has labels; give two"
        )
    found = distinct(labels)
    observed = within(labels, found, same_annotator)
    kept = pairable(labels, observed)
    if units:
        labels, found = kept, distinct(kept)
        observed = within(labels, found, same_annotator)
    across = _across(
        labels, found, observed, chosen, cross or ("sample" if preset else "auto"), same_annotator, seed, units
    )
    whole = not across.sampled
    keys = across.key if whole else np.union1d(observed.key, across.key)
    distances = distances_of(labels, found, keys, chosen, processes=processes, progress=progress)
    levels, level = np.unique(distances, return_inverse=True)
    weight = observed.count.astype(np.float64)
    if units:
        pairs = np.bincount(observed.case, weights=observed.count, minlength=len(labels.cases))
        sizes = np.bincount(labels.case, minlength=len(labels.cases))
        weight *= (sizes / (2 * np.maximum(pairs, 1)))[observed.case]
    parts = _Parts(
        labels=labels,
        distinct=found,
        within=observed,
        across=across,
        keys=keys,
        distances=distances,
        place=np.searchsorted(keys, observed.key),
        cross_place=None if whole else np.searchsorted(keys, across.key),
        weight=weight,
        levels=levels,
        level=level,
        same_annotator=same_annotator,
        p=p,
    )
    seen, chance = parts.observed(), parts.expected(across.count)
    measures = measure(levels, seen, chance, p, float(observed.count.sum()))
    return Agreement(
        distance=chosen.name,
        alpha=measures.alpha,
        ks=measures.ks,
        sigma=measures.sigma,
        observed=PairDistances(levels[seen > 0], seen[seen > 0]),
        expected=PairDistances(levels[chance > 0], chance[chance > 0]),
        weighting=weighting,
        n_cross=across.n_all,
        sampled=across.sampled,
        warnings=pathologies(levels, seen, chance),
        _parts=parts,
    )


def _across(labels, found, observed, distance, cross, same_annotator, seed, units) -> Across:
    """Take all pairs on different cases, or a sample."""
    n = len(found)
    if cross == "auto":
        most = _ALL_IF_SLOW if distance.slow else _ALL_IF
        cross = "all" if n * (n + 1) // 2 <= most else "sample"
    if cross == "all":
        everything = observed if same_annotator else within(labels, found, same_annotator=True)
        return across_all(labels, found, everything, own_case=units)
    size = int(observed.count.sum()) if cross == "sample" else int(cross)
    return across_sample(labels, found, n_across(labels, own_case=units), size, seed, own_case=units)
