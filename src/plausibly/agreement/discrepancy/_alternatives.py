"""Other ways to compare a model with annotators, each with a bias that the discrepancy ratio does not have.

They are here to show the bias, against which Lovchinsky et al. (2020), Discrepancy ratio, ICLR, argue: see the notebook
``discrepancy.ipynb``. Each returns the ratio by model, of labels and predictions as :func:`discrepancy_ratio` takes
them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement._case_pairs import check_single_labels, check_two_annotators
from plausibly.agreement._votes import agreement_with_others, count_votes, share_of_top
from plausibly.agreement.discrepancy._delta import Delta, find_delta
from plausibly.agreement.discrepancy._discrepancy_ratio import comparable, discrepancy_ratio
from plausibly.agreement.discrepancy._label_sets import ratio_of
from plausibly.errors import ArgumentError, renamed
from plausibly.labels.container import Labels
from plausibly.labels.predictions import read_models


@renamed(delta="distance")
def annotator_first_ratio(labels: Any, predictions: Any, distance: Any = "nominal") -> dict[str, float]:
    """Compute Δ with means taken within each annotator first, and then over annotators.

    This ratio is biased if annotators choose their cases: one who skips the hard cases has a small discrepancy to the
    others, and counts as much as one who labelled all cases. The discrepancy ratio takes means within cases first.
    Arguments are those of :func:`discrepancy_ratio`; returns the ratio by model.

    Examples
    --------
    >>> labels = {"p": {"a": 1, "b": 0, "c": 0}, "q": {"a": 1, "b": 1}}
    >>> annotator_first_ratio(labels, {"A": {"p": 0, "q": 1}})
    {'A': 0.4}
    """
    result = discrepancy_ratio(labels, predictions, distance, progress=False)
    sets, counts = result.label_sets, result.included[result.label_sets.case]
    annotator, others = sets.annotator[counts], sets.n_annotators[sets.case[counts]] - 1
    alpha = _mean_of_means(result.to_others[counts] / others, annotator)
    means = {name: _mean_of_means(values[counts], annotator) for name, values in result.to_sets.items()}
    return {name: round(float(ratio_of(mu, alpha)), 12) for name, mu in means.items()}


@renamed(delta="distance")
def others_consensus_ratio(labels: Any, predictions: Any, distance: str = "nominal") -> dict[str, float]:
    """Divide a model's disagreement with the consensus of all by that of annotators with the consensus of the others.

    This ratio depends on the number of annotators: the consensus of many is less noisy than that of few, so the ratio
    changes with their number even if model and annotators do not. The discrepancy ratio compares single annotators.

    Parameters
    ----------
    labels, predictions
        See :func:`discrepancy_ratio`; an annotator labels a case at most once (else :class:`AnnotationError`).
    distance
        ``"nominal"``, whose consensus is the most frequent label (in a tie, each counts in part), or ``"squared"``,
        whose consensus is the mean.

    Examples
    --------
    >>> labels = {"p": {"a": 1.0, "b": 3.0}, "q": {"a": 2.0, "b": 2.0}}
    >>> others_consensus_ratio(labels, {"A": {"p": 3, "q": 2}}, "squared")
    {'A': 0.25}
    """
    if distance not in ("nominal", "squared"):
        raise ArgumentError(f'distance must be "nominal" or "squared", but {distance!r} was given: choose one.')
    labels, counts, own, predicted = _single_labels(labels, predictions, find_delta(distance))
    case, n, by_model = labels.case, np.diff(labels.start), {}
    if distance == "squared":
        total = np.bincount(case, own, len(n))
        apart = (own - (total[case] - own) / np.maximum(n[case] - 1, 1)) ** 2
        consensus = total / np.maximum(n, 1)
    else:
        votes = _votes(labels, own, predicted)
        apart = 1 - np.nan_to_num(agreement_with_others(case, own, *votes.shape))
    alpha = _mean_of_means(apart[counts[case]], case[counts[case]])
    for name, (model_case, said) in predicted.items():
        if distance == "squared":
            apart = (said - consensus[model_case]) ** 2
        else:
            apart = 1 - share_of_top(votes)[model_case, said]
        kept = counts[model_case]
        by_model[name] = round(float(ratio_of(_mean_of_means(apart[kept], model_case[kept]), alpha)), 12)
    return by_model


def relative_f1(labels: Any, predictions: Any) -> dict[str, float]:
    """Divide a model's F1 against the majority by the mean F1 of annotators against the majority of the others.

    The ratio is above 1 if the model is better. It depends on the number of annotators, like every comparison with a
    consensus: with few annotators, it is above 1 even for a model that is no better than an annotator. F1 is the mean
    over classes; if labels tie for the majority, each counts in part. Arguments are those of :func:`discrepancy_ratio`,
    but annotators and models label a case at most once; returns the ratio by model.

    Examples
    --------
    >>> labels = {"p": {"a": 1, "b": 1, "c": 1}, "q": {"a": 0, "b": 0, "c": 1}}
    >>> {name: round(value, 3) for name, value in relative_f1(labels, {"A": {"p": 1, "q": 0}}).items()}
    {'A': 1.667}
    """
    labels, counts, own, predicted = _single_labels(labels, predictions, Delta("nominal"))
    case, annotator = labels.case, labels.annotator
    votes = _votes(labels, own, predicted)
    kept = counts[case]
    by_annotator = []
    for person in np.unique(annotator[kept]):
        mine = kept & (annotator == person)
        others = votes[case[mine]].copy()
        others[np.arange(len(others)), own[mine]] -= 1
        by_annotator.append(_macro_f1(own[mine], share_of_top(others)))
    by_model = {}
    for name, (model_case, said) in predicted.items():
        kept = counts[model_case]
        f1 = _macro_f1(said[kept], share_of_top(votes[model_case[kept]]))
        by_model[name] = float(ratio_of(f1, np.mean(by_annotator)))
    return by_model


def _single_labels(labels: Any, predictions: Any, delta: Delta) -> tuple:
    """Read labels of single values; return them, which cases count, and the annotators' and each model's values."""
    labels = Labels.of(labels)
    check_single_labels(labels)
    check_two_annotators(labels, np.diff(labels.start))
    counts = np.diff(labels.start) >= 2
    models = read_models(predictions, labels, counts)
    values = comparable(labels, models, delta)
    parts = np.split(values, np.cumsum([len(labels), *(len(model.case) for model in models.values())])[:-1])
    predicted = {name: (model.case, part) for (name, model), part in zip(models.items(), parts[1:], strict=True)}
    return labels, counts, parts[0], predicted


def _votes(labels: Labels, own: np.ndarray, predicted: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Count the votes of each case for every label that an annotator or a model gives."""
    n_classes = 1 + max(int(codes.max()) for codes in (own, *(codes for _, codes in predicted.values())))
    return count_votes(labels.case, own, len(labels.cases), n_classes)


def _mean_of_means(values: np.ndarray, group: np.ndarray) -> float:
    """Mean within cases (or annotators) first, then over those that have a value."""
    n = np.bincount(group)
    return float(np.mean(np.bincount(group, values)[n > 0] / n[n > 0]))


def _macro_f1(code: Int[np.ndarray, " case"], truth: Float[np.ndarray, "case class"]) -> float:
    """Mean over the classes that occur of 2 TP / (predicted + true), with a truth that may be shared."""
    n_classes = truth.shape[1]
    hits = np.bincount(code, truth[np.arange(len(code)), code], n_classes)
    total = np.bincount(code, minlength=n_classes) + truth.sum(axis=0)
    return float(np.mean(2 * hits[total > 0] / total[total > 0]))
