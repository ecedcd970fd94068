"""``panels``: agreement with experts and accuracy against panels of them, from the annotations alone."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int, UInt32

from plausibly.base.bootstrap import REPLICATES, check_replicates
from plausibly.base.checks import check_whole
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning
from plausibly.base.random_streams import Stream, key_words
from plausibly.data.annotations import Annotations
from plausibly.data.groups import check_clusters
from plausibly.data.predictions import line_up, named_predictions
from plausibly.data.rounds import LEVEL, dependence
from plausibly.evaluation._unseen_case import UnseenCase, columns
from plausibly.evaluation.experts import Readers, of_others, reader_noise
from plausibly.evaluation.measure import Totals, predicted_lists
from plausibly.evaluation.truth import check_labels, first_choice_shares, most_common, of_panels, shares_of_panels
from plausibly.metrics.inputs import check_break_ties
from plausibly.posterior.ranges import CASES

MOST, FEWEST = 15, 30  #: labels of the largest panels; cases of the curve by default, if there are as many
_CASES = 50_000  # whose panels are counted at a time


def panels(
    annotations: Annotations,
    predictions: Mapping[str, Any],
    *,
    most: int | None = None,
    readers: Readers | None = None,
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
      that have two. Expert agreement over the same cases, *paired*, is what to compare with it.
    * *Panel accuracy*: the share of the panels, subsets of n of the labels of a case, whose most frequent class is the
      classifier's first choice; classes that tie share a panel. It is unbiased for the probability that the choice wins
      among n fresh labels (a U-statistic).
    * *Human panel*: the same for a further annotator, against panels of n of the others of the case.

    A curve over n compares the same cases at every n, those with at least ``most`` labels. At n = 1, panel accuracy and
    human panel are expert agreement and human level of these cases, which may be harder or easier than the others.

    If it depends on the first labels of a case how many it has, a warning says so. Agreement is then of as many labels
    as do not depend on them, and human level NaN if nothing tells which came first; panels count where the labels
    decide what n experts would say, and all cases count at every n.

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
    readers
        Whom intervals are for: readers other than these (``"others"``, the default with five annotators with names or
        more), by leaving annotators out in turn; or these
        (``"these"``).
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
        ``expert_agreement`` and ``expert_agreement_paired`` (classifier), ``human_level`` (), ``panel_accuracy``
        (classifier, n) and ``human_panel`` (n), for n from 1 to ``most``, all between 0 and 1. The attribute
        ``n_cases`` of each is the number of cases that it averages. NaN where there is none, and where a case of the
        curve lacks the label of a further annotator. The attributes ``constant`` and ``constant_agreement`` of
        ``human_level`` are the class that would agree most with an expert if it were named in all of its cases, and how
        often. With replicates, the same names with ``_total``, and ``replicate``
        as the last dimension: their quantiles are intervals for new cases like these with new annotations, by readers
        whom the attribute ``readers`` of the results names. Weights are
        those of :func:`plausibly.evaluate` with the same seed, replicates and clusters, and the same for all variables,
        so differences are paired. NaN if there is a single cluster.

    Raises
    ------
    AnnotationError
        If the annotations are scores or something else, or further labels follow from the first ones and it is not
        known what some panels would decide.
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
    if most is not None and n_labels.max() < check_whole("most", most, 1, "give for example 3"):
        raise ArgumentError(
            f"most must be at most the number of labels of some case, {n_labels.max()}, but {most} was given: choose "
            "fewer."
        )
    decided = [] if annotations.rounds is None else _decided(annotations, most)
    most = most or len(decided) or _default_most(n_labels[n_labels > 0])
    lined_up = [line_up(given, annotations) for given in named.values()]
    choice = first_choices(lined_up, annotations.cases, break_ties, seed)
    if annotations.rounds is None:
        told = less_certain(annotations, list(named), lined_up, seed)
        against_panels = _against_panels(annotations, choice, most, seed)
    else:
        told = annotations.rounds.told
        against_panels = _against_decided(annotations, decided, choice, seed)
    if told:
        warnings.warn(told, PlausiblyWarning, stacklevel=2)
    found, noise = agreement(annotations, choice) | against_panels, {}
    others = of_others(readers, annotations) and replicates > 0
    if others:
        sizes = most if annotations.rounds is None else 0
        noise = agreement_noise(annotations, choice, sizes, cluster, replicates, seed)
    coords = {"classifier": np.array(list(named), dtype=str), "n": np.arange(1, most + 1)}
    attrs = {"break_ties": break_ties, "seed": seed, "clusters": len(np.unique(cluster[n_labels > 0]))}
    attrs |= {"readers": "others" if others else "these"}
    words = key_words(seed, cluster, Stream.BOOTSTRAP)
    replicated = resampled(numbers_of(found), words, replicates, replicates)
    results = xr.Dataset(averages(found, cluster, words, columns(lined_up), replicated, noise), coords, attrs)
    results["human_level"].attrs |= _constant(annotations)
    return results


def _constant(annotations: Annotations) -> dict[str, str | float]:
    """The class that agrees most with an expert if it is named in every case with several, and how often it does."""
    if annotations.fair is None or not (annotations.fair.per_case > 1).any():
        return {}
    return dict(zip(("constant", "constant_agreement"), most_common(annotations, several=True), strict=True))


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


class Average(NamedTuple):
    """A share, or several, of each case, to be averaged."""

    dims: tuple[str, ...]  #: Names of the axes before that of the cases
    #: Numbers, finite also for cases without weight; a row of NaN has the average NaN
    values: Float[np.ndarray, "*shape case"]
    weight: Float[np.ndarray, " case"]  #: Weight of each case


def numbers_of(given: Mapping[str, Average]) -> Float[np.ndarray, "number case"]:
    """Weighted shares of all averages, and after them their weights, of which replicates have sums."""
    rows = chain((one.values * one.weight for one in given.values()), (one.weight for one in given.values()))
    return np.concatenate([of.reshape(-1, of.shape[-1]).astype(np.float32) for of in rows])


def resampled(
    numbers: Float[np.ndarray, "number case"], words: UInt32[np.ndarray, "case 2"], replicates: int, n_draws: int
) -> Float[np.ndarray, "number replicate"]:
    """Sums of numbers over cases with bootstrap weights, by random keys of their clusters."""
    totals = Totals.zeros((0, 0, 0), 1, 1, replicates, len(numbers))
    for first in range(0, len(words), CASES):
        some = slice(first, first + CASES)
        totals.resample(np.empty(0), np.empty(0), (), words[some], n_draws, numbers[:, some])
    return totals.sampling_numbers


def averages(
    given: Mapping[str, Average],
    cluster: np.ndarray,
    words: UInt32[np.ndarray, "case 2"],
    column: Int[np.ndarray, " classifier"],
    replicated: Float[np.ndarray, "number replicate"],
    noise: Mapping[str, Float[np.ndarray, "..."]] | None = None,
) -> dict[str, Any]:
    """Average shares over cases, and add the replicates of each, if there are any, under its name with ``_total``.

    Those follow from replicates of the sums of :func:`numbers_of`. The weights of clusters are those of
    :func:`plausibly.evaluate`: standard exponential variables that depend on the seed, the cluster's name, the draw and
    the round. So is the unseen case, with the coins of the classifiers' columns, and one of its own for an average that
    is not of classifiers. An average is NaN without a case, and so are its replicates with a single cluster. What
    readers add to replicates is `noise`, by name.
    """
    found: dict[str, Any] = {}
    replicates = replicated.shape[1]
    ends = np.cumsum([0, *(one.values[..., 0].size for one in given.values())])
    with np.errstate(invalid="ignore"):  # nothing has weight
        for at, (name, one) in enumerate(given.items()):
            shape = one.values.shape[:-1]
            mean = (one.values * one.weight).sum(axis=-1) / one.weight.sum()
            found[name] = one.dims, mean, {"n_cases": int(np.count_nonzero(one.weight))}
            if replicates:
                of_one = replicated[ends[at] : ends[at + 1]].reshape(*shape, replicates)
                total = replicated[ends[-1] + at]
                if one.weight.any():
                    unseen = UnseenCase(one.weight[:, None], words, column, replicates)
                    more, _, _, right = unseen.altogether()
                    right = right if "classifier" in one.dims else unseen.coin
                    of_one = of_one + more * right.reshape(-1, *[1] * (len(shape) - 1), replicates)[() if shape else 0]
                    total = total + more
                own = cluster[one.weight > 0]
                of_one = of_one / total if (own != own[:1]).any() else np.full_like(of_one, np.nan)
                of_one = np.clip(of_one + noise[name], 0, 1) if noise and name in noise else of_one
                found[f"{name}_total"] = (*one.dims, "replicate"), of_one
    return found


def agreement(
    annotations: Annotations,
    choice: Int[np.ndarray, "classifier case"],
    case_weight: Float[np.ndarray, " case"] | None = None,
) -> dict[str, Average]:
    """Compute how often annotators name the classes that classifiers chose, and how often they agree, in each case."""
    case_weight = np.ones(annotations.n_cases) if case_weight is None else case_weight
    fair = annotations.fair  # further labels may follow from the first ones
    shares, level = first_choice_shares(fair or annotations)
    named = shares.of_choices(choice, annotations.n_classes)
    several = ~np.isnan(level) & (fair is not None)
    return {
        "expert_agreement": Average(("classifier",), named, (annotations.per_case > 0) * case_weight),
        "expert_agreement_paired": Average(("classifier",), named, several * case_weight),
        "human_level": Average((), np.where(several, level, 0), several * case_weight),
    }


def agreement_noise(
    annotations: Annotations,
    choice: Int[np.ndarray, "classifier case"],
    most: int,
    cluster: np.ndarray,
    replicates: int,
    seed: int,
    case_weight: Float[np.ndarray, " case"] | None = None,
) -> dict[str, Float[np.ndarray, "..."]]:
    """What readers add to the replicates of agreement and, if `most` is not 0, of panels of 1 to `most`.

    Without a reader, panels of as many as cases have labels lack one; what those of one less add stands for them.
    """
    fair = annotations.fair
    assert fair is not None  # as readers are known

    def measured(left: Annotations, parts: np.ndarray) -> dict[str, np.ndarray]:
        found = agreement(left, choice, case_weight) | (
            _against_panels(left, choice, most - 1, seed) if most > 1 else {}
        )
        return {name: _means(one, parts) for name, one in found.items()}

    found = reader_noise(fair, measured, cluster, [np.ones(len(cluster))], replicates, seed)
    noise = {name: values[0] for name, values in found.items()}
    if most == 1:
        noise |= {"panel_accuracy": noise["expert_agreement"][:, None], "human_panel": noise["human_level"][None]}
    elif most:
        at = np.minimum(np.arange(most), most - 2)
        noise |= {"panel_accuracy": noise["panel_accuracy"][:, at], "human_panel": noise["human_panel"][at]}
    return noise


def _means(of: Average, parts: Bool[np.ndarray, "part case"]) -> Float[np.ndarray, "..."]:
    weight = parts * of.weight
    with np.errstate(invalid="ignore"):  # no case has the labels
        return np.moveaxis(of.values @ weight.T / weight.sum(axis=1), -1, 0)


def less_certain(
    annotations: Annotations, names: Sequence[str], predictions: Sequence[Float[np.ndarray, "case class"]], seed: int
) -> str | None:
    """Say that cases with several labels were not drawn at random, if classifiers are less, or more, certain of them.

    Tested by permutation of the ranks of the differences between the two highest scores, at :data:`LEVEL`.
    """
    annotated = np.flatnonzero(annotations.per_case)
    several = annotations.per_case[annotated] > 1
    if not len(names) or several.all() or not several.any():
        return None
    tops = [np.partition(np.asarray(values)[annotated], -2, axis=1)[:, -2:] for values in predictions]
    certain = [top[:, 1] - top[:, 0] for top in tops]
    ranks = np.column_stack([np.searchsorted(np.sort(values), values) / len(values) for values in certain])
    if dependence(ranks, several, np.random.default_rng([int(seed), 7])) > LEVEL:
        return None
    at = int(np.abs(ranks[several].mean(axis=0) - ranks[~several].mean(axis=0)).argmax())
    how = "less" if ranks[several, at].mean() < ranks[~several, at].mean() else "more"
    return (
        f"The {int(several.sum()):,} of {len(several):,} cases with several labels were not drawn at random: "
        f"{names[at]} is {how} certain of them. How often annotators agree there does not hold for all cases."
    )


def _against_panels(
    annotations: Annotations, choice: Int[np.ndarray, "classifier case"], most: int, seed: int
) -> dict[str, Average]:
    """Share of the panels of 1 to `most` labels that choices win, and a further annotator's label, in each case."""
    n_labels = annotations.per_case
    enough = np.flatnonzero(n_labels >= most)
    of_choice, of_human = np.zeros((len(choice), most, len(n_labels))), np.zeros((most, len(n_labels)))
    for first in range(0, len(enough), _CASES):
        at = enough[first : first + _CASES]
        won, human = shares_of_panels(annotations.select(at), most, seed)
        of_choice[..., at] = won.of_choices(choice[:, at], annotations.n_classes).swapaxes(1, 2)
        of_human[:, at] = human.T
    weight = (n_labels >= most).astype(float)
    further = np.arange(1, most + 1) < n_labels[enough].min()
    return {
        "panel_accuracy": Average(("classifier", "n"), of_choice, weight),
        "human_panel": Average(("n",), np.where(further[:, None], of_human, np.nan), weight),
    }


def _against_decided(
    annotations: Annotations, decided: Sequence[Annotations], choice: Int[np.ndarray, "classifier case"], seed: int
) -> dict[str, Average]:
    """The same where further labels follow from the first ones: of the cases whose labels decide each panel, all."""
    fair = annotations.fair
    least = 0 if fair is None else int(fair.per_case[fair.per_case > 0].min())
    shape, there = (len(choice), len(decided), annotations.n_cases), (annotations.per_case > 0).astype(float)
    of_choice, of_human = np.zeros(shape), np.full(shape[1:], np.nan)
    for n, of_n in enumerate(decided, 1):
        of_choice[:, n - 1] = _against_panels(of_n, choice, n, seed)["panel_accuracy"].values[:, n - 1]
        if n < least:
            assert fair is not None
            of_human[n - 1] = _against_panels(fair, choice, n + 1, seed)["human_panel"].values[n - 1]
    return {
        "panel_accuracy": Average(("classifier", "n"), of_choice, there),
        "human_panel": Average(("n",), of_human, there),
    }


def _decided(annotations: Annotations, most: int | None) -> list[Annotations]:
    """Annotations of which panels of 1 to `most` are a fair sample; by default, as far as all cases decide them."""
    found = []
    for n in range(1, (most or min(MOST, int(annotations.per_case.max()))) + 1):
        try:
            found.append(of_panels(annotations, n))
        except AnnotationError:
            if most is not None:
                raise
            break
    return found


def _default_most(n_labels: Int[np.ndarray, " case"]) -> int:
    """Number of labels that at least half of the cases have, and thirty or all."""
    needed = max(-(-len(n_labels) // 2), min(FEWEST, len(n_labels)))
    return int(min(MOST, np.sort(n_labels)[-needed]))
