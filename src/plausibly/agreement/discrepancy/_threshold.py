"""The discrepancy ratio of a score that is cut at a threshold, and the threshold chosen on other data."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.agreement.discrepancy._delta import LabelSets, find_delta, mean_by_case, ratio_of
from plausibly.agreement.discrepancy._discrepancy_ratio import discrepancy_of
from plausibly.agreement.discrepancy._result import Discrepancy
from plausibly.agreement.pairs import check_two_annotators, fair_pairs
from plausibly.base.checks import to_numbers
from plausibly.base.errors import AnnotationError, ArgumentError, PredictionError, renamed, show
from plausibly.data.annotations.io.spellings import positive_of_two
from plausibly.data.labels.container import Labels, column_names
from plausibly.data.labels.predictions import read_models


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """Δ of a score at every threshold: a case is positive if its score is above it.

    Parameters
    ----------
    thresholds
        Thresholds in increasing order: at the first, −∞, every case is positive; at the last, the greatest score, no
        case is.
    ratio
        Δ at each threshold.
    scores
        Score of every case that counts.
    discrepancies
        Three discrepancies of every case that counts: the annotators', the model's if it calls the case negative, and
        the model's if it calls it positive.
    share_positive
        Share of positive labels in the set of labels of every annotator and case.
    comparison
        Result for the annotators and their clusters, without a model.
    positive
        Label that a high score stands for.
    """

    thresholds: Float[np.ndarray, " threshold"]
    ratio: Float[np.ndarray, " threshold"]
    scores: Float[np.ndarray, " case"]
    discrepancies: Float[np.ndarray, "case 3"]
    share_positive: Float[np.ndarray, " set"]
    comparison: Discrepancy
    positive: Any

    @property
    def best(self) -> float:
        """Threshold with the smallest Δ, halfway to the next score that would change the result."""
        return _best(self.thresholds, self.ratio)

    def to_frame(self) -> pd.DataFrame:
        """Tabulate Δ by threshold."""
        return pd.DataFrame({"threshold": self.thresholds, "ratio": self.ratio})

    def at(self, threshold: float) -> Discrepancy:
        """Compute Δ of the score cut at a threshold, which should be chosen on other data, such as ``best`` there."""
        return self._cut(self.scores > threshold)

    def cross_fitted(self, folds: int = 5, seed: int = 0) -> Discrepancy:
        """Compute Δ with a threshold for every case that was chosen on the other folds, which contain other clusters.

        Parameters
        ----------
        folds
            Number of folds to divide the clusters into, from 2 to the number of clusters.
        seed
            Random seed for dividing the clusters.
        """
        n_clusters = self.comparison.n_clusters
        if not 2 <= folds <= n_clusters:
            raise ArgumentError(
                f"folds must lie between 2 and the number of clusters, {n_clusters}, but {folds!r} was given: give 2."
            )
        fold = (np.random.default_rng(seed).permutation(n_clusters) % folds)[self.comparison._cluster]
        positive = np.zeros(len(self.scores), bool)
        for number in range(folds):
            own = fold == number
            positive[own] = self.scores[own] > _best(*_curve(self.scores[~own], self.discrepancies[~own]))
        return self._cut(positive)

    def _cut(self, positive: np.ndarray) -> Discrepancy:
        called = np.full(len(self.comparison.labels.cases), np.nan)
        called[self.comparison.included] = positive
        to_sets = np.abs(called[self.comparison.label_sets.case] - self.share_positive)
        own = self.comparison.labels.values == self.positive
        said = np.flatnonzero(self.comparison.included), np.where(positive, own.argmax(), own.argmin())
        compared = replace(self.comparison.compared, models={"model": said})
        return replace(self.comparison, to_sets={"model": to_sets}, single=True, compared=compared)


@renamed(groups="clusters")
def threshold_curve(
    labels: Any, scores: Any, clusters: Any = None, *, positive: Any = None, progress: bool = True
) -> ThresholdCurve:
    """Compute Δ of a score at every threshold, for two possible labels.

    Parameters
    ----------
    labels
        Labels with two distinct values, see :func:`discrepancy_ratio`.
    scores
        Table with the columns ``case`` and ``score``, or a mapping ``{case: score}``; higher scores are more positive.
    clusters
        Clusters of cases that stay together in folds and bootstraps, see :func:`discrepancy_ratio`.
    positive
        Label that a high score stands for; by default the one that stands for a success, as in pass and fail, or the
        greater of the two.
    progress
        Whether to show progress.

    Returns
    -------
    ThresholdCurve
        Curve of Δ. At the best threshold Δ is optimistic, because the threshold was chosen on the same data: use
        :meth:`ThresholdCurve.cross_fitted`, or :meth:`ThresholdCurve.at` with other data.

    Examples
    --------
    >>> labels = {"p": {"a": 1, "b": 1}, "q": {"a": 0, "b": 1}, "r": {"a": 0, "b": 0}}
    >>> curve = threshold_curve(labels, {"p": 0.9, "q": 0.3, "r": 0.1})
    >>> curve.ratio.tolist(), round(curve.best, 6)
    ([1.5, 0.5, 0.5, 1.5], 0.2)
    """
    labels = Labels.of(labels, columns=column_names(clusters))
    labels, _ = fair_pairs(labels)
    sets = LabelSets.of(labels)
    names, code = labels.coded
    if len(names) != 2:
        raise AnnotationError(
            f"a threshold divides two labels, but there are {len(names)} "
            f"({', '.join(map(show, names[:3].tolist()))}{', …' if len(names) > 3 else ''}); give two kinds of labels"
        )
    if positive is None:
        positive = names[1].item() if labels.is_numeric else names[positive_of_two(names)]
    elif positive not in names.tolist():
        raise ArgumentError(f"positive must be one of the labels {names.tolist()}, but {positive!r} was given.")
    is_positive = code == names.tolist().index(positive)
    check_two_annotators(labels, sets.n_annotators)
    counts = sets.n_annotators >= 2
    found = _scores(scores, labels, counts)
    comparison = discrepancy_of(labels, sets, {}, find_delta("nominal"), clusters, progress=progress)
    share_positive = np.bincount(sets.of_label, is_positive) / sets.size
    to_negative = mean_by_case(share_positive, sets)[counts]
    discrepancies = np.column_stack([comparison._by_case[:, 0], to_negative, 1 - to_negative])
    curve = _curve(found[counts], discrepancies)
    return ThresholdCurve(*curve, found[counts], discrepancies, share_positive, comparison, positive)


def _scores(scores: Any, labels: Labels, needed: np.ndarray) -> np.ndarray:
    """Read a score for every case that needs one."""
    read = read_models({"model": scores}, labels, needed, "score")["model"]
    if len(read.case) > len(np.unique(read.case)):
        twice = read.case[1:][np.diff(read.case) == 0][0]
        raise PredictionError(f"case {str(labels.cases[twice])!r} has more than one score; keep one")
    numbers = to_numbers(read.values)
    for bad in np.flatnonzero(~np.isfinite(numbers)):
        case = str(labels.cases[read.case[bad]])
        raise PredictionError(f"case {case!r}: the score is {show(read.values[bad])}; write a finite number")
    by_case = np.full(len(labels.cases), np.nan)
    by_case[read.case] = numbers
    return by_case


def _curve(scores: Float[np.ndarray, " case"], discrepancies: Float[np.ndarray, "case 3"]) -> tuple:
    """Thresholds, and Δ at each, by cumulative sums over the cases in order of their scores."""
    order: Int[np.ndarray, " case"] = np.argsort(scores, kind="stable")
    ordered, (annotators, negative, positive) = scores[order], discrepancies[order].T
    below = np.concatenate([[0.0], np.cumsum(negative)])
    above = np.concatenate([np.cumsum(positive[::-1])[::-1], [0.0]])
    last = np.concatenate([[True], np.diff(ordered) > 0, [True]])  # of equal scores
    return np.concatenate([[-np.inf], ordered])[last], ratio_of((below + above)[last], annotators.sum())


def _best(thresholds: np.ndarray, ratio: np.ndarray) -> float:
    place = int(ratio.argmin())
    if 0 < place < len(thresholds) - 1:
        return float(thresholds[place] + thresholds[place + 1]) / 2
    return float(thresholds[place])
