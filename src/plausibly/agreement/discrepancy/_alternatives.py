"""Other ways to compare a model with annotators, each with a bias that the discrepancy ratio does not have.

They are here so that the bias can be seen: see the notebook ``discrepancy.ipynb``.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly._progress import Progress
from plausibly.agreement.discrepancy._annotator_disagreement import Opinions, discrepancy_to_model
from plausibly.agreement.discrepancy._delta import Delta, find_delta
from plausibly.agreement.discrepancy._discrepancy_ratio import comparable, discrepancy_ratio
from plausibly.agreement.discrepancy._result import ratio_of
from plausibly.agreement.reliability._majority import agreement_with_others, count_votes, share_of_top
from plausibly.errors import AnnotationError
from plausibly.labels._container import Labels
from plausibly.labels._predictions import Predictions, read_models


def annotator_first_ratio(labels: Any, predictions: Any, delta: Any = "nominal") -> dict[str, float]:
    """Δ with means taken within each annotator first, and then over annotators.

    Biased where annotators choose their cases: whoever skips the hard ones has a small discrepancy to the others, and
    weighs as much as one who did them all. The discrepancy ratio takes means within cases first.

    Parameters
    ----------
    labels, predictions, delta
        See :func:`discrepancy_ratio`.

    Returns
    -------
    dict
        The ratio by model.

    References
    ----------
    Lovchinsky et al. (2020), Discrepancy ratio, ICLR, who argue against it.

    Examples
    --------
    >>> labels = {"p": {"a": 1, "b": 0, "c": 0}, "q": {"a": 1, "b": 1}}
    >>> annotator_first_ratio(labels, {"A": {"p": 0, "q": 1}})
    {'A': 0.4}
    """
    labels = Labels.of(labels)
    models = predictions_of(predictions, labels)
    result = discrepancy_ratio(labels, models, delta, progress=False)
    opinions, chosen = result.opinions, find_delta(delta)
    counts = result.included[opinions.case]
    case, annotator = opinions.case[counts], opinions.annotator[counts]
    others = opinions.n_annotators[case] - 1
    n = np.bincount(annotator, minlength=len(labels.annotators))
    who = n > 0

    def first_by_annotator(values: np.ndarray) -> float:
        return float(np.mean(np.bincount(annotator, values, len(n))[who] / n[who]))

    alpha = first_by_annotator(result.to_others[counts] / others)
    by_model = {}
    for name, model in models.items():
        mu = first_by_annotator(_to_opinions(labels, opinions, model, chosen)[counts])
        by_model[name] = round(float(ratio_of(mu, alpha)), 12)
    return by_model


def others_consensus_ratio(labels: Any, predictions: Any, delta: str = "nominal") -> dict[str, float]:
    """Disagreement of a model with the consensus of all, over that of annotators with the consensus of the others.

    Biased by the number of annotators: the consensus of many is less noisy than that of few, so that the ratio moves
    with their number even if model and annotators stay as they are. The discrepancy ratio compares single opinions.

    Parameters
    ----------
    labels, predictions
        See :func:`discrepancy_ratio`; one label by annotator and case.
    delta
        ``"nominal"``, whose consensus is the most frequent label (of several, each counts in part), or ``"squared"``,
        whose consensus is the mean.

    Returns
    -------
    dict
        The ratio by model.

    Raises
    ------
    AnnotationError
        If an annotator labelled a case twice.

    References
    ----------
    Lovchinsky et al. (2020), Discrepancy ratio, ICLR, who argue against it.

    Examples
    --------
    >>> labels = {"p": {"a": 1.0, "b": 3.0}, "q": {"a": 2.0, "b": 2.0}}
    >>> others_consensus_ratio(labels, {"A": {"p": 3, "q": 2}}, "squared")
    {'A': 0.25}
    """
    labels = Labels.of(labels)
    counts = _single(labels)
    models = predictions_of(predictions, labels)
    chosen = find_delta(delta)
    values = comparable(labels, models, chosen)
    own = values[: len(labels)]
    case, n = labels.case, np.diff(labels.start)
    offset, by_model = len(labels), {}
    if delta == "squared":
        total = np.bincount(case, own, len(n))
        distance = (own - (total[case] - own) / np.maximum(n[case] - 1, 1)) ** 2
        consensus = total / np.maximum(n, 1)
    else:
        votes = count_votes(case, own.astype(int), len(n), int(values.max()) + 1)
        distance = 1 - np.nan_to_num(agreement_with_others(case, own.astype(int), *votes.shape))
    alpha = _mean_of_means(distance[counts[case]], case[counts[case]], len(n))
    for name, model in models.items():
        said = values[offset : offset + len(model.case)]
        if delta == "squared":
            distance = (said - consensus[model.case]) ** 2
        else:
            distance = 1 - share_of_top(votes)[model.case, said.astype(int)]
        kept = counts[model.case]
        mu = _mean_of_means(distance[kept], model.case[kept], len(n))
        by_model[name] = round(float(ratio_of(mu, alpha)), 12)
        offset += len(model.case)
    return by_model


def relative_f1(labels: Any, predictions: Any) -> dict[str, float]:
    """F1 of a model against the majority of all annotators, over the mean F1 of annotators against that of the others.

    Biased by the number of annotators, as every comparison with a consensus; above 1 for a model that the annotators
    would not tell from one of them as soon as they are few. F1 is the mean over classes; where labels tie for the
    majority, each counts in part.

    Parameters
    ----------
    labels, predictions
        See :func:`discrepancy_ratio`; one label by annotator and case, and by model and case.

    Returns
    -------
    dict
        The ratio by model; above 1 the model is better.

    Raises
    ------
    AnnotationError
        If an annotator labelled a case twice.

    References
    ----------
    Lovchinsky et al. (2020), Discrepancy ratio, ICLR, who argue against it.

    Examples
    --------
    >>> labels = {"p": {"a": 1, "b": 1, "c": 1}, "q": {"a": 0, "b": 0, "c": 1}}
    >>> {name: round(value, 3) for name, value in relative_f1(labels, {"A": {"p": 1, "q": 0}}).items()}
    {'A': 1.667}
    """
    labels = Labels.of(labels)
    counts = _single(labels)
    models = predictions_of(predictions, labels)
    values = comparable(labels, models, Delta("nominal")).astype(int)
    n_classes = int(values.max()) + 1
    own, case, annotator = values[: len(labels)], labels.case, labels.annotator
    votes = count_votes(case, own, len(counts), n_classes)
    kept = counts[case]
    by_annotator = []
    for person in np.unique(annotator[kept]):
        mine = kept & (annotator == person)
        others = votes[case[mine]].copy()
        others[np.arange(len(others)), own[mine]] -= 1
        by_annotator.append(_macro_f1(own[mine], share_of_top(others)))
    offset, by_model = len(labels), {}
    for name, model in models.items():
        said = values[offset : offset + len(model.case)]
        kept = counts[model.case]
        score = _macro_f1(said[kept], share_of_top(votes[model.case[kept]]))
        by_model[name] = float(ratio_of(score, np.mean(by_annotator)))
        offset += len(model.case)
    return by_model


def predictions_of(predictions: Any, labels: Labels) -> dict[str, Predictions]:
    """Read predictions, of every case that two annotators labelled."""
    return read_models(predictions, labels, Opinions.of(labels).n_annotators >= 2)


def _to_opinions(labels: Labels, opinions: Opinions, model: Predictions, delta: Delta) -> np.ndarray:
    """Mean disagreement of a model with every opinion: that with a case of which it is the only one."""
    alone = Labels(
        cases=np.arange(len(opinions.case)).astype(str),
        annotators=labels.annotators,
        case=opinions.of_label,
        annotator=labels.annotator,
        values=labels.values,
        columns={},
        rows=labels.rows,
    )
    at = np.searchsorted(model.case, opinions.case)
    said = np.searchsorted(model.case, opinions.case, "right") - at
    own = np.repeat(np.arange(len(opinions.case)), said)
    place = np.repeat(at, said) + np.arange(len(own)) - np.repeat(np.cumsum(said) - said, said)
    spread = Predictions(own, model.values[place])
    compare = delta.compare(comparable(alone, {"model": spread}, delta))
    found = discrepancy_to_model(own, len(labels), alone, Opinions.of(alone), compare, Progress(show=False))
    return np.nan_to_num(found)


def _single(labels: Labels) -> np.ndarray:
    """Refuse repeated labels; return for every case whether two annotators labelled it."""
    opinions = Opinions.of(labels)
    if (opinions.size > 1).any():
        twice = int(np.flatnonzero(opinions.size > 1)[0])
        label = int(np.flatnonzero(opinions.of_label == twice)[1])
        raise AnnotationError(
            f"{labels.where(label)}: a second label of the same case; a consensus takes one, keep one"
        )
    counts = opinions.n_annotators >= 2
    if not counts.any():
        raise AnnotationError("no case has labels of two annotators, so that nobody can be compared; give more labels")
    return counts


def _mean_of_means(values: np.ndarray, case: np.ndarray, n_cases: int) -> float:
    """Mean within cases first, then over those that have a value."""
    n = np.bincount(case, minlength=n_cases)
    return float(np.mean(np.bincount(case, values, n_cases)[n > 0] / n[n > 0]))


def _macro_f1(code: Int[np.ndarray, " case"], truth: Float[np.ndarray, "case class"]) -> float:
    """Mean over the classes that occur of 2 TP / (predicted + true), with a truth that may be shared."""
    n_classes = truth.shape[1]
    hits = np.bincount(code, truth[np.arange(len(code)), code], n_classes)
    total = np.bincount(code, minlength=n_classes) + truth.sum(axis=0)
    return float(np.mean(2 * hits[total > 0] / total[total > 0]))
