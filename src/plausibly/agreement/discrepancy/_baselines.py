"""Answers that look at no case: the best constant answers, shuffled predictions, and what chance gives.

A verdict means something only if answers that ignore the case do not get it, too. All three are computed from
distances alone, so none needs a model of the annotators.

* **Chance.** With α the agreement between annotators, ``1 − observed / expected`` distance, all cases weighing the
  same, predictions that are distributed like the labels but know nothing of the case have Δ = 1 / (1 − α).
* **The best constant answer** is sought among the annotators' labels, the models' most frequent labels, the label
  without objects where labels are objects, and the mean where the distance is squared.
* **Shuffled predictions** of a model are its own, each given to another case. All that they know is how often it says
  what.

Where labels are many and a distance is slow, candidates are compared with a sample of the labels.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.discrepancy._delta import (
    Compare,
    Delta,
    LabelSets,
    PerSet,
    discrepancy_to_model,
    mean_by_case,
    ratio_of,
)
from plausibly.agreement.pairs import different, pairs_within
from plausibly.base.bootstrap import interval, resampled_sums
from plausibly.base.errors import show
from plausibly.base.progress import Progress
from plausibly.data.labels.container import Labels
from plausibly.data.labels.table import to_objects
from plausibly.distances import BestMatches, Interval, Jaccard, Masi, ObjectCount, SpanF1

LEVEL = 0.05  #: share of the shuffles from which a test says nothing if they pass it
_CONSTANTS, _CANDIDATES = 5, 100  # the best, of those that a sample of labels finds good
_SHUFFLES, _FEWEST_SHUFFLES, _NUMBERS = 20, 3, 4_000_000
_SEED = 20


Reasons: TypeAlias = dict[str, tuple[str, ...]]
Passes: TypeAlias = Callable[[Float[np.ndarray, "answer set"]], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Compared:
    """Labels of annotators and models in the form that a distance compares."""

    delta: Delta
    values: np.ndarray  # labels of annotators and of models, then added constant answers
    given: Sequence[np.ndarray]  # the same labels of annotators and of models, as they were given
    n_added: int  # number of the latter
    models: Mapping[str, tuple[Int[np.ndarray, " prediction"], Int[np.ndarray, " prediction"]]]  # case, and place above

    def compare(self) -> Compare:
        """Return the function of pairs of places."""
        return self.delta.compare(self.values, len(self.given[0]))


def with_constants(labels: Labels, sets: LabelSets, values: np.ndarray, delta: Delta) -> tuple[np.ndarray, int]:
    """Add constant answers that annotators may not have given: the label without objects, and the mean."""
    if values.dtype.kind in "biuf" and (delta.name == "squared" or isinstance(delta.distance, Interval)):
        weight = label_weights(sets)
        return np.append(values, weight @ values[: len(labels)] / weight.sum()), 1
    matched = isinstance(delta.distance, BestMatches) and np.isfinite(delta.distance.greatest)
    if values.dtype == object and (matched or isinstance(delta.distance, SpanF1 | ObjectCount | Jaccard | Masi)):
        return to_objects([*values, []]), 1
    return values, 0


def label_weights(sets: LabelSets) -> Float[np.ndarray, " label"]:
    """Weights by which labels count for their cases: 1 for each case of two annotators, the same for each of them."""
    n = sets.n_annotators[sets.case]
    return (np.where(n >= 2, 1 / n, 0.0) / sets.size)[sets.of_label]


@dataclass(frozen=True, eq=False)
class Baselines:
    """What answers that look at no case have, by case or by set of labels.

    Parameters
    ----------
    constants
        Best constant answers.
    to_constants
        Discrepancy of each of them to every set of labels.
    to_shuffled
        By model, that of its shuffled predictions; one row for each shuffle.
    observed, expected
        Mean distance of two annotators of each case that counts, and of its labels and those of other cases.
    """

    sets: LabelSets
    constants: Sequence[Any]
    to_constants: Float[np.ndarray, "constant set"]
    to_shuffled: Mapping[str, Float[np.ndarray, "shuffle set"]]
    observed: Float[np.ndarray, " case"]
    expected: Float[np.ndarray, " case"]

    @property
    def agreement(self) -> float:
        """Agreement α between annotators; NaN if labels of different cases never differ."""
        by_chance = float(np.mean(self.expected))
        return 1 - float(self.observed.mean()) / by_chance if by_chance > 0 else float("nan")

    @property
    def chance_ratio(self) -> float:
        """Δ at chance, 1 / (1 − α)."""
        return float(ratio_of(np.mean(self.expected), self.observed.mean()))

    def agreement_interval(
        self, cluster: Int[np.ndarray, " case"], ci_prob: float, replicates: int, seed: int
    ) -> tuple[float, float]:
        """Bootstrap interval of α over clusters of cases; NaN for a single cluster, or if α is NaN.

        A pair of cases changes with either, so the expected distance moves by twice what a case differs from the mean.
        Each replicate has one more cluster, which agrees perfectly or as by chance: see :func:`with_unseen`.
        """
        by_chance = float(np.mean(self.expected))
        if cluster.max() < 1 or not by_chance > 0:
            return float("nan"), float("nan")
        sums = resampled_sums(
            np.column_stack([self.observed, self.expected, np.ones(len(cluster))]), cluster, replicates, seed
        )
        observed, expected, n = sums.T
        expected = np.maximum(2 * expected / n - by_chance, 1e-9 * by_chance)
        sizes = np.bincount(cluster).astype(float)
        random = np.random.default_rng([seed, 1])
        more = (sizes**2).sum() / sizes.sum() * random.standard_exponential(replicates)
        observed = (observed + more * expected * (random.random(replicates) < 0.5)) / (n + more)
        lower, upper = interval(1 - observed / expected, ci_prob)
        return float(lower), float(upper)

    def ratios(self, to_sets: Float[np.ndarray, "answer set"]) -> Float[np.ndarray, " answer"]:
        """Δ of answers, from their discrepancies to every set."""
        return ratio_of(self._by_case(to_sets).mean(axis=0), self.observed.mean())

    def resampled_ratios(
        self, to_sets: Float[np.ndarray, "answer set"], cluster: Int[np.ndarray, " case"], replicates: int, seed: int
    ) -> Float[np.ndarray, "replicate answer"]:
        """Δ of answers in bootstrap replicates, which draw the same clusters for all."""
        sums = resampled_sums(np.column_stack([self.observed, self._by_case(to_sets)]), cluster, replicates, seed)
        return ratio_of(sums[:, 1:], sums[:, :1])

    def _by_case(self, to_sets: Float[np.ndarray, "answer set"]) -> Float[np.ndarray, "case answer"]:
        counts = self.sets.n_annotators >= 2
        return np.stack([mean_by_case(values, self.sets)[counts] for values in to_sets], axis=1)

    def reasons(self, models: Iterable[str], passes: Passes, words: Callable[[float], str], first: str) -> Reasons:
        """Say by model why a test that it passes tells nothing; no reasons where it tells something.

        `passes` returns a value of each answer, which `words` writes, and whether it passes. `first` is a reason that
        holds for all models, if there is one.
        """
        value, passed = passes(self.to_constants)
        common = [first] if first else []
        for at in np.flatnonzero(passed)[:1]:
            common.append(f"Always answering {in_words(self.constants[at])} passes, too ({words(value[at])})")
        found = {}
        for name in models:
            own = []
            if name in self.to_shuffled:
                value, passed = passes(self.to_shuffled[name])
                if passed.mean() >= LEVEL:
                    n = f"{int(passed.sum())} of {len(passed)} shuffles"
                    own = [f"Predictions of {name} in shuffled order pass in {n} ({words(value.mean())} on average)"]
            found[name] = (*common, *own)
        return found

    def without_agreement(self, ends: tuple[float, float]) -> str:
        """Why these annotators cannot tell any model from others, if they agree no more than by chance."""
        if ends[0] > 0:
            return ""
        if np.isnan(self.agreement):
            return "All of their labels are alike" if len(self.observed) > 1 else "There is a single case"
        within = "" if np.isnan(ends[0]) else f", {ends[0]:.2f} to {ends[1]:.2f}"
        return f"Annotators may agree no more than by chance (α = {self.agreement:.2f}{within})"


def baselines_of(labels: Labels, sets: LabelSets, to_others: PerSet, found: Compared) -> Baselines:
    """Compute what constant and shuffled answers have."""
    random, compare = np.random.default_rng(_SEED), found.compare()
    counts, n = sets.n_annotators >= 2, sets.n_annotators
    total = np.bincount(sets.case, to_others, len(n))
    weight = label_weights(sets)
    first, code = different(found.values[: len(labels)])
    to_all = _distance_to_all(found, compare, first, np.bincount(code, weight, len(first)), random)
    own = (total + _within_sets(labels, sets, compare)) / np.maximum(n, 1) ** 2
    others = np.bincount(labels.case, weight * to_all[code], len(n)) - own
    n_cases = int(counts.sum())
    expected = others[counts] / (n_cases - 1) if n_cases > 1 else np.full(n_cases, np.nan)
    # A constant answer of a model is one that annotators need not know.
    best = first[_best(found, compare, first, to_all, weight, random)]
    usual = [_most_frequent(found.values, place) for _, place in found.models.values()]
    added = np.arange(len(found.values) - found.n_added, len(found.values))
    places = np.concatenate([best, added, usual]).astype(np.int64)
    places = places[different(found.values[places])[0]]
    everybody = np.arange(len(labels))
    to_constants = []
    for place in places.tolist():
        distances = compare(np.full(len(labels), place), everybody)
        to_constants.append(np.bincount(sets.of_label, distances, len(sets.size)) / sets.size)
    order = np.argsort([mean_by_case(one, sets)[counts].mean() for one in to_constants], kind="stable")
    return Baselines(
        sets=sets,
        constants=[_shown(found, int(places[at])) for at in order],
        to_constants=np.array(to_constants)[order],
        to_shuffled={name: _shuffled(labels, sets, found, compare, name, random) for name in found.models},
        observed=(total / np.maximum(n * (n - 1), 1))[counts],
        expected=expected,
    )


def _distance_to_all(
    found: Compared,
    compare: Compare,
    first: Int[np.ndarray, " distinct"],
    times: Float[np.ndarray, " distinct"],
    random: np.random.Generator,
) -> Float[np.ndarray, " distinct"]:
    """Sum over cases of the mean distance of each distinct label to the labels of the case."""
    n, total = len(first), times.sum()
    if found.delta.distance is None and found.delta.name == "nominal":
        return total - times
    budget = found.delta.pairs_of_seconds // 4
    if n * (n - 1) // 2 > budget:
        partner = random.choice(n, size=(max(budget // n, 1), n), p=times / total)
        own = np.broadcast_to(first, partner.shape)
        distances = compare(own.ravel(), first[partner.ravel()]).reshape(partner.shape)
        return total * distances.mean(axis=0)
    out = np.zeros(n)
    step = max(1, (1 << 20) // max(n, 1))
    for begin in range(0, n, step):
        rows = np.arange(begin, min(begin + step, n))
        left, right = np.nonzero(rows[:, None] < np.arange(n))
        left = rows[left]
        distances = compare(first[left], first[right])
        out += np.bincount(left, distances * times[right], n) + np.bincount(right, distances * times[left], n)
    return out


def _within_sets(labels: Labels, sets: LabelSets, compare: Compare) -> Float[np.ndarray, " case"]:
    """Sum over the sets of each case of the mean distance of a set's labels, where an annotator gave several."""
    found = np.zeros(len(labels.cases))
    for left, right in pairs_within(labels.start) if (sets.size > 1).any() else ():
        same = sets.of_label[left] == sets.of_label[right]
        left, right = left[same], right[same]
        mean = 2 * compare(left, right) / sets.size[sets.of_label[left]] ** 2
        found += np.bincount(labels.case[left], mean, len(found))
    return found


def _best(
    found: Compared,
    compare: Compare,
    first: Int[np.ndarray, " distinct"],
    to_all: Float[np.ndarray, " distinct"],
    weight: Float[np.ndarray, " label"],
    random: np.random.Generator,
) -> Int[np.ndarray, " constant"]:
    """Distinct labels that are nearest to all, which a second sample decides if the first was small."""
    order = np.argsort(to_all, kind="stable")
    n, nominal = len(first), found.delta.distance is None and found.delta.name == "nominal"
    if nominal or n * (n - 1) // 2 <= found.delta.pairs_of_seconds // 4:
        return order[:_CONSTANTS]
    some = order[:_CANDIDATES]
    size = max(found.delta.pairs_of_seconds // 4 // len(some), 1)
    sample = random.choice(len(weight), size=size, p=weight / weight.sum())
    pairs = np.repeat(first[some], size), np.tile(sample, len(some))
    return some[np.argsort(compare(*pairs).reshape(len(some), size).mean(axis=1), kind="stable")[:_CONSTANTS]]


def _shuffled(
    labels: Labels, sets: LabelSets, found: Compared, compare: Compare, model: str, random: np.random.Generator
) -> Float[np.ndarray, "shuffle set"]:
    """Discrepancies of a model's predictions, each given to another case that counts."""
    case, place = found.models[model]
    counted = np.flatnonzero(sets.n_annotators >= 2)
    kept = np.isin(case, counted)
    case, place = case[kept], place[kept]
    n_pairs = max(int(np.diff(labels.start)[case].sum()), 1)
    most = min(found.delta.pairs_of_seconds // 2 // n_pairs, _NUMBERS // len(sets.case), _SHUFFLES)
    moved = np.arange(len(labels.cases))
    out = []
    for _ in range(max(most, _FEWEST_SHUFFLES)):
        moved[counted] = random.permutation(counted)
        out.append(discrepancy_to_model(moved[case], place, labels, sets, compare, Progress(show=False)))
    return np.array(out)


def _most_frequent(values: np.ndarray, place: Int[np.ndarray, " prediction"]) -> int:
    first, code = different(values[place])
    return int(place[first[np.bincount(code).argmax()]])


def _shown(found: Compared, place: int) -> Any:
    """Write a constant answer as it was given, though a disagreement may compare codes of labels."""
    for values in found.given:
        if place < len(values):
            value = values[place]
            return value.item() if isinstance(value, np.generic) else value
        place -= len(values)
    value = found.values[len(found.values) - found.n_added + place]
    return value.item() if isinstance(value, np.generic) else value


def in_words(label: Any) -> str:
    """Write an answer: numbers with four digits, and anything else as in messages."""
    return f"{label:.4g}" if isinstance(label, float) else show(label)
