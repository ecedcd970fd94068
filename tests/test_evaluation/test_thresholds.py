"""Operating points: thresholds chosen on other cases, one for each classifier; predictive values elsewhere."""

import json
from itertools import pairwise

import numpy as np
import pytest

import plausibly as pb
from plausibly.evaluation import choose_threshold
from plausibly.evaluation.truth import truth_of_labels
from plausibly.metrics import LABEL_METRICS
from tests.test_evaluation.test_of_labels import REPLICATES, N, world

RULES = {"specificity": (0.3, 0.6, 0.9), "sensitivity": (0.3, 0.6, 0.9), "net_benefit": (0.2, 0.5, 0.8)}


def literal(rule, share, scores, weights):
    """All thresholds that differ, from the highest, by their counts."""
    positive, negative = weights[:, 1], weights[:, 0]
    levels = [1, *sorted(set(scores.tolist()), reverse=True), 0]
    found = []
    for above, below in pairwise(levels):
        named = scores >= (above + below) / 2
        tp, fp = positive[named].sum(), negative[named].sum()
        found.append(((above + below) / 2, tp / positive.sum(), 1 - fp / negative.sum(), tp - fp * share / (1 - share)))
    if rule == "specificity":
        return min(found, key=lambda one: (one[2] < share - 1e-6, one[0]))[0]
    if rule == "sensitivity":
        return min(found, key=lambda one: (one[1] < share - 1e-6, -one[0]))[0]
    return max(found, key=lambda one: (round(one[3], 9), one[0]))[0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("truth", ["most-plausible", "annotator", "panel"])
def test_thresholds_are_those_of_a_search_over_all(rule, truth):
    posterior, annotations, predictions, draws, _ = world(2, seed=3)
    weights = truth_of_labels(annotations, truth, 2) if truth != "most-plausible" else None
    if weights is None:
        weights = np.eye(2)[draws.argmax(-1)].mean(axis=0)
    for share in RULES[rule]:
        found = choose_threshold(posterior, predictions, **{rule: share}, truth=truth, panel=2)
        for name, p in predictions.items():
            assert found[name] == pytest.approx(literal(rule, share, p[:, 1].astype(float), weights), abs=1e-6)


@pytest.mark.parametrize("truth", ["most-plausible", "annotator"])
def test_every_classifier_has_its_own_threshold(truth):
    posterior, _, predictions, _, _ = world(2)
    options = {"metrics": ["sensitivity", "confusion"], "truth": truth, "replicates": REPLICATES, "progress": False}
    thresholds = {"B": 0.7, "A": 0.4}
    both = pb.evaluate(posterior, predictions, threshold=thresholds, **options)
    assert json.loads(both.attrs["threshold"]) == thresholds
    for name, one in thresholds.items():
        own = pb.evaluate(posterior, {name: predictions[name]}, threshold=one, **options)
        assert own.attrs["threshold"] == one
        for metric in ("sensitivity", "sensitivity_point", "confusion"):
            np.testing.assert_allclose(both[metric].sel(classifier=name), own[metric].sel(classifier=name), atol=1e-6)
    assert (both["sensitivity"].sel(classifier="A") != both["sensitivity"].sel(classifier="B")).any()


@pytest.mark.parametrize("truth", ["most-plausible", "annotator"])
def test_predictive_values_elsewhere_are_those_of_cases_weighted_to_the_prevalence(truth):
    posterior, annotations, predictions, draws, _ = world(2)
    options = {"truth": truth, "threshold": 0.4, "replicates": REPLICATES, "progress": False}
    found = pb.evaluate(posterior, predictions, metrics=["sensitivity"], prevalence=0.02, **options)
    assert {"sensitivity", "ppv_at_prevalence_0.02", "npv_at_prevalence_0.02_total"} < set(found)
    truths = np.eye(2)[draws.argmax(-1)] if truth == "most-plausible" else truth_of_labels(annotations, truth)[None]
    for name, p in predictions.items():
        chosen = np.eye(2)[(p[:, 1] >= 0.4).astype(int)]
        for draw, weights in enumerate(truths):
            rows = np.repeat(chosen, 2, axis=0), np.tile(np.eye(2), (N, 1))
            share = np.tile([0.98, 0.02] / weights.sum(axis=0), N)
            for metric in ("ppv", "npv"):
                expected = LABEL_METRICS[metric].on_arrays(*rows, weights.ravel() * share)
                own = found[f"{metric}_at_prevalence_0.02"].sel(classifier=name).values[draw]
                np.testing.assert_allclose(own, expected, rtol=2e-5)
