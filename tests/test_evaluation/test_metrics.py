"""Every function takes metrics in the same forms: names, groups, functions, metrics of one's own, and mixtures."""

import numpy as np
import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError
from plausibly.decisions.planning._values import read_metric
from plausibly.metrics import LABEL_METRICS, SumMetric
from tests import worlds

RANDOM = np.random.default_rng(0)
N = 24
LABELS = RANDOM.choice(["x", "y"], (N, 3))
ANNOTATIONS = pb.Annotations.from_labels(LABELS.tolist(), classes=["x", "y"])
PREDICTIONS = {name: RANDOM.dirichlet((1, 1), N) for name in "AB"}
OWN = SumMetric(lambda p, truth: (p @ p - 2 * p @ truth + 1) / 2, better="smaller", takes="probabilities")


def evaluated(metrics, **options):
    options = {"truth": "annotator", "replicates": 10} | options
    return pb.evaluate(options.pop("posterior", ANNOTATIONS), PREDICTIONS, metrics=metrics, progress=False, **options)


def names_of(results):
    return list(dict.fromkeys(pb.evaluation.summary(results)["metric"]))


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (pb.metrics.auroc, ["auroc"]),
        ([pb.metrics.auroc, "ppv"], ["ppv", "auroc"]),
        (["auroc", {"mine": OWN}], ["mine", "auroc"]),
        ([{"mine": OWN}, {"other": OWN}], ["mine", "other"]),
        ({"mine": OWN, "brier": "brier", "rank": pb.metrics.auroc}, ["mine", "brier", "rank"]),
        ({"benefit": pb.metrics.net_benefit(0.2), "auroc": pb.metrics.auroc}, ["benefit", "auroc"]),
        ([LABEL_METRICS["brier"], "ordered"], ["brier", "mean_absolute_error", "within_one", "quadratic_kappa"]),
        (["usual", {"mine": OWN}], ["accuracy", "sensitivity", "specificity", "ppv", "npv", "brier", "mine", "auroc"]),
    ],
)
def test_metrics_may_be_mixed(metrics, expected):
    found = evaluated(metrics)
    assert names_of(found)[: len(expected)] == expected
    literal = evaluated(["brier", "auroc"])
    for name, same in {"mine": "brier", "rank": "auroc", "brier": "brier"}.items():
        if name in found:
            np.testing.assert_allclose(found[name], literal[same], atol=1e-6)


@pytest.mark.slow
def test_functions_stand_for_lists_of_all_lengths_also_in_sweeps_scorers_and_comparisons():
    posterior = pb.aggregate(ANNOTATIONS, "dirichlet-categorical", draws=20, chains=2, progress=False)
    found = evaluated([pb.metrics.overlap, "coverage", {"mine": OWN}], posterior=posterior, truth="most-plausible", k=2)
    assert names_of(found) == ["top2_overlap", "top2_coverage", "mine"]
    own = {"first": "top1_accuracy", "mine": OWN, "listed": pb.metrics.coverage}
    found = evaluated(own, posterior=posterior, truth="most-plausible", k=1)
    np.testing.assert_array_equal(found["first"], found["top1_accuracy"])
    np.testing.assert_array_equal(found["listed"], found["top1_coverage"])
    options = {"draws": 20, "chains": 2, "replicates": 0, "progress": False}
    mixed = [pb.metrics.auroc, {"mine": OWN}]
    swept = pb.sweep(ANNOTATIONS, PREDICTIONS, {"dirichlet-categorical": (1,)}, metrics=mixed, **options)
    assert list(dict.fromkeys(swept.metrics["metric"])) == ["top1_accuracy", "mine", "auroc"]
    results = evaluated(["auroc", "brier"])
    for compare in (pb.comparison.rankings, pb.comparison.differences, pb.comparison.variance_split):
        assert compare(results, pb.metrics.brier).equals(compare(results, "brier"))
    with pytest.raises(ArgumentError, match="a scorer needs a metric with one value"):
        pb.evaluation.scorer(posterior, pb.metrics.roc_curve)
    assert callable(pb.evaluation.scorer(posterior, pb.metrics.auroc))


def test_metrics_of_plans_have_one_form():
    assert worlds.plan().metric == "top1_accuracy"
    assert read_metric("accuracy", None, 2) == read_metric("top1_accuracy", None, 2)
    assert read_metric("brier", None, 2) == read_metric(pb.metrics.brier, None, 2)
