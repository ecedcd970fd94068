"""``panels``: agreement with experts and accuracy against panels of them, from the annotations alone."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from scipy.special import ndtr

from plausibly.base.bootstrap import REPLICATES, check_replicates
from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError
from plausibly.base.random_streams import Stream, key_words
from plausibly.data.annotations import Annotations
from plausibly.data.groups import check_clusters
from plausibly.data.predictions import line_up, named_predictions
from plausibly.evaluation._intervals import Average, averages
from plausibly.evaluation._unseen_case import columns
from plausibly.evaluation.evidence import ERRORS, paired
from plausibly.evaluation.measure import predicted_lists
from plausibly.evaluation.truth import ByClass, check_labels, drawn_labels, first_choice_shares
from plausibly.metrics.inputs import check_break_ties
from plausibly.metrics.panels import panel_shares_of_entries

MOST, FEWEST = 15, 30  #: labels of the largest panels; cases of the curve by default, if there are as many
_CASES = 50_000  # whose panels are counted at a time


def panels(
    annotations: Annotations,
    predictions: Mapping[str, Any],
    *,
    most: int | None = None,
    clusters: Sequence[Hashable] | Mapping[str, Hashable] | None = None,
    replicates: int = REPLICATES,
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
) -> xr.Dataset:
    r"""Measure how often classifiers agree with an expert, and with panels of them, without a model.

    An annotation counts as one label, its first choice; of tied classes, one that is drawn with equal probability.
    Averages are over the labels of a case, then over cases.

    * *Expert agreement*: the share of the labels that are the classifier's first choice. It is unbiased for the
      plausibility of its choice.
    * *Human level*: the share of the pairs of different annotators of a case whose labels are equal, over the cases
      that have two.
    * *Panel accuracy*: the share of the panels, subsets of n of the labels of a case, whose most frequent class is the
      classifier's first choice; classes that tie share a panel. It is unbiased for the probability that the choice wins
      among n fresh labels (a U-statistic).
    * *Human panel*: the same for a further annotator, against panels of n of the others of the case.

    A curve over n compares the same cases at every n, those with at least ``most`` labels. At n = 1, panel accuracy and
    human panel are expert agreement and human level of these cases, which may be harder or easier than the others.

    Parameters
    ----------
    annotations
        Labels, counts or rankings of N cases; those without annotations do not count. For scores, pass
        ``scores.split(threshold)``.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`. May be empty.
    most
        Number of labels of the largest panels. By default the largest, up to 15, for which at least half of the cases,
        and at least 30 (or all of fewer), have enough labels.
    clusters
        Cluster of each case, such as its patient; see :func:`plausibly.evaluate`.
    replicates
        Number of replicates of the Bayesian bootstrap over clusters; 0 for none.
    break_ties
        How to break ties between a classifier's scores: by class order (``"order"``) or at random (``"random"``).
    seed
        Random seed for replicates, random ties and, where the ties in the first choices of a case can be resolved in
        more than 64 ways, the 64 random ways that are averaged.

    Returns
    -------
    xarray.Dataset
        ``expert_agreement`` (classifier), ``human_level`` (), ``panel_accuracy`` (classifier, n) and ``human_panel``
        (n), for n from 1 to ``most``, all between 0 and 1. The attribute ``n_cases`` of each is the number of cases
        that it averages. NaN where there is none, and where a case of the curve lacks the label of a further annotator.
        With replicates, the same names with ``_total``, and ``replicate`` as the last dimension: their quantiles are
        intervals for new cases like these with new annotations. Weights are those of :func:`plausibly.evaluate` with
        the same seed, replicates and clusters, and the same for all variables, so differences are paired. NaN if there
        is a single cluster.

    Raises
    ------
    AnnotationError
        If the annotations are scores or something else.
    PredictionError
        If predictions do not match the cases or classes, or are not finite.
    ArgumentError
        If no case has ``most`` labels, or another argument is out of range or does not match the cases.

    References
    ----------
    Hoeffding (1948), A class of statistics with asymptotically normal distribution, Annals of Mathematical Statistics
    19. Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9. Annotations as draws from plausibilities: Stutz et
    al. (2025), section 2, arXiv 2307.02191.

    Examples
    --------
    >>> annotations = Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]])
    >>> results = panels(annotations, {"A": [[0.9, 0.1], [0.2, 0.8]]})
    >>> results["panel_accuracy"].values.round(3).tolist(), results["human_panel"].values.round(3).tolist()
    ([[0.833, 0.833, 1.0]], [0.667, 0.667, nan])
    >>> lower, upper = results["expert_agreement_total"].quantile([0.03, 0.97], "replicate").values[:, 0]
    >>> bool(0.1 < lower < 0.5 < results["expert_agreement"].item() < upper)  # two cases say little of new ones
    True
    """
    check_labels(annotations)
    check_break_ties(break_ties)
    check_replicates(replicates, least=0)
    named = named_predictions(predictions)
    cluster = check_clusters(clusters, annotations.cases)
    n_labels = annotations.per_case
    most = _default_most(n_labels[n_labels > 0]) if most is None else most
    most = check_whole("most", most, 1, "give for example 3")
    if n_labels.max() < most:
        raise ArgumentError(
            f"most must be at most the number of labels of some case, {n_labels.max()}, but {most} was given: choose "
            "fewer."
        )
    lined_up = [line_up(given, annotations) for given in named.values()]
    choice = first_choices(lined_up, annotations.cases, break_ties, seed)
    found = agreement(annotations, choice) | _against_panels(annotations, choice, most, seed)
    coords = {"classifier": np.array(list(named), dtype=str), "n": np.arange(1, most + 1)}
    attrs = {"break_ties": break_ties, "seed": seed, "clusters": len(np.unique(cluster[n_labels > 0]))}
    return xr.Dataset(averages(found, cluster, columns(lined_up), seed, replicates), coords, attrs)


def first_choices(
    predictions: Sequence[Float[np.ndarray, "case class"]], cases: np.ndarray, break_ties: str, seed: int
) -> Int[np.ndarray, "classifier case"]:
    """Class to which each classifier gives the highest score; of equal ones the first, or a random one.

    Scores that are all 0 are no answer: -1. A block of cases at a time, since predictions may be mapped from a file.
    """
    words = key_words(seed, cases, Stream.PREDICTIONS) if break_ties == "random" else None
    choice = np.empty((len(predictions), len(cases)), np.int64)
    for first in range(0, len(cases), _CASES):
        at = slice(first, first + _CASES)
        for of_classifier, values in zip(choice, predictions, strict=True):
            ties = None if words is None else words[at]
            of_classifier[at] = predicted_lists(np.array(values[at]), 1, ties)[:, 0]
    return choice


def agreement(
    annotations: Annotations,
    choice: Int[np.ndarray, "classifier case"],
    case_weight: Float[np.ndarray, " case"] | None = None,
) -> dict[str, Average]:
    """Compute how often annotators name the classes that classifiers chose, and how often they agree, in each case."""
    case_weight = np.ones(annotations.n_cases) if case_weight is None else case_weight
    shares, level = first_choice_shares(annotations)
    named = shares.of_choices(choice, annotations.n_classes)
    several = annotations.per_case > 1
    return {
        "expert_agreement": Average(("classifier",), named, (annotations.per_case > 0) * case_weight),
        "human_level": Average((), np.where(several, level, 0), several * case_weight),
    }


def _against_panels(
    annotations: Annotations, choice: Int[np.ndarray, "classifier case"], most: int, seed: int
) -> dict[str, Average]:
    """Share of the panels of 1 to `most` labels that choices win, and a further annotator's label, in each case."""
    n_labels = annotations.per_case
    enough = np.flatnonzero(n_labels >= most)
    of_choice, of_human = np.zeros((len(choice), most, len(n_labels))), np.zeros((most, len(n_labels)))
    for first in range(0, len(enough), _CASES):
        at = enough[first : first + _CASES]
        of_choice[..., at], of_human[:, at] = _of_cases(annotations.select(at), choice[:, at], most, seed)
    weight = (n_labels >= most).astype(float)
    further = np.arange(1, most + 1) < n_labels[enough].min()
    return {
        "panel_accuracy": Average(("classifier", "n"), of_choice, weight),
        "human_panel": Average(("n",), np.where(further[:, None], of_human, np.nan), weight),
    }


def _of_cases(
    annotations: Annotations, choice: Int[np.ndarray, "classifier case"], most: int, seed: int
) -> tuple[Float[np.ndarray, "classifier n case"], Float[np.ndarray, "n case"]]:
    case, row, label = drawn_labels(annotations, seed)
    key, count = np.unique(row * annotations.n_classes + label, return_counts=True)
    row = key // annotations.n_classes
    shares, of_others = panel_shares_of_entries(row, count, most)
    won = ByClass(key, shares).of_choices(choice[:, case], annotations.n_classes)
    n_rows = np.bincount(case)
    start = np.cumsum(n_rows) - n_rows
    n_labels = np.diff(annotations.case_start)
    of_human = np.add.reduceat(of_others * (count / n_labels[case[row]])[:, None], np.searchsorted(row, start))
    of_choice = np.add.reduceat(won, start, axis=1)
    return (of_choice / n_rows[:, None]).swapaxes(1, 2), (of_human / n_rows[:, None]).T


def _default_most(n_labels: Int[np.ndarray, " case"]) -> int:
    """Number of labels that at least half of the cases have, and thirty or all."""
    needed = max(-(-len(n_labels) // 2), min(FEWEST, len(n_labels)))
    return int(min(MOST, np.sort(n_labels)[-needed]))


MOST_CASES = 20_000  #: cases of which the ceiling is computed; of more, these are drawn at random


def some_cases(annotations: Annotations, seed: int) -> tuple[Annotations, Int[np.ndarray, " case"]]:
    """Draw cases of which checks are made where there are very many, and their numbers."""
    at = np.arange(annotations.n_cases)
    if len(at) <= MOST_CASES:
        return annotations, at
    at = np.sort(np.random.default_rng([int(seed), 3]).choice(at, MOST_CASES, replace=False))
    return annotations.select(at), at


def above_ceiling(
    every: Annotations,
    names: Sequence[str],
    choice: Int[np.ndarray, "classifier case"],
    cluster: np.ndarray,
    seed: int,
) -> list[str]:
    """Names of the classifiers that agree with more annotations than is possible without having seen them."""
    annotations, at = some_cases(every.annotated, seed)
    at = np.flatnonzero(every.per_case)[at]
    observed = agreement(annotations, choice[:, at])["expert_agreement"].values
    return [row[0] for row in ceiling(annotations, list(names), observed, cluster[at]) if not row[6]]


def ceiling(
    annotations: Annotations, names: list[str], observed: Float[np.ndarray, "classifier case"], cluster: np.ndarray
) -> Iterator[tuple[Any, ...]]:
    """Compare agreement with its limit: a row of :func:`evidence_checks` for each classifier."""
    level = first_choice_shares(annotations)[1]
    several = ~np.isnan(level)
    human = level[several].mean() if several.any() else 0.0
    if human * annotations.n_classes <= 1:  # less than by chance
        return
    limit, slope = most_agreement(float(human), annotations.n_classes)
    above = slope * np.where(several, level - human, 0) / several.mean()
    difference, error = paired(observed - limit - above, cluster)
    for at, name in enumerate(names):
        passed = not difference[at] > ERRORS * error[at]
        found = 100 * observed[at].mean()
        meaning = f"{name} agrees with annotators in {found:.1f} %"
        meaning += (
            f", not more often than is possible for somebody who has not seen the annotations ({100 * limit:.1f} %)."
            if passed
            else f", but nobody who has not seen the annotations can in more than {100 * limit:.1f} % "
            f"(± {100 * error[at]:.1f}): {name} has seen them. Its accuracy is overestimated: collect fresh ones."
        )
        p = ndtr(-difference[at] / error[at])
        yield name, "ceiling", observed[at].mean(), limit, float(error[at]), p, passed, meaning


def most_agreement(human: float, n_classes: int) -> tuple[float, float]:
    r"""Compute the most that anyone can agree with fresh annotations, given how often two annotations agree.

    Two annotations of a case agree with probability :math:`h = \sum_k \lambda_k^2`. Given h, the greatest plausibility
    is at most :math:`\big(1 + \sqrt{(K - 1)(K h - 1)}\big) / K`, where all others are equal. This is concave in h, so
    it holds for means over cases, too, however plausibilities are distributed.
    """
    root = np.sqrt((n_classes - 1) * max(n_classes * human - 1, 1e-12))
    return float((1 + root) / n_classes), float((n_classes - 1) / (2 * root))
