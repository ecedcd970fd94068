"""Posteriors of one true class: in a draw, one class is true, drawn from its probabilities."""

import numpy as np
import pytest
import xarray as xr

import plausibly as pb
from plausibly.data.annotations import Slots
from plausibly.posterior import build_posterior, top_classes

N, K, DRAWS = 600, 4, 400
ACCURACY = {"metrics": "top1_accuracy", "replicates": 0, "progress": False}


def posterior_of(probability, draws=DRAWS, names=None, attrs=None):
    """Posterior of cases whose classes have these probabilities of being true (case, class), alike in all draws."""
    n, k = probability.shape
    labels = [[f"k{c}" for c in range(k)]] * n  # every class has a slot
    annotations = pb.Annotations.from_labels(labels, classes=labels[0], cases=names)
    plausibility = np.broadcast_to(probability.ravel(), (2, draws // 2, n * k)).astype(np.float32)
    assumed = {"assumes": "one true class"} if attrs is None else attrs
    given = {"point": plausibility[0, 0], "concentration": 0.0, "attrs": {"model": "hand", **assumed}}
    return build_posterior(plausibility, annotations, Slots.of(annotations), **given)


@pytest.fixture(scope="module")
def simulated():
    rng = np.random.default_rng(0)
    probability = rng.dirichlet([0.5] * K, N)
    truth = (rng.random((N, 1)) > probability.cumsum(1)).sum(1)
    return probability, truth, posterior_of(probability)


def test_certainty_is_the_probability_of_the_true_class(simulated):
    probability, truth, posterior = simulated
    results = pb.evaluate(posterior, {"perfect": np.eye(K)[truth]}, **ACCURACY)
    certainty, most = results["annotation_certainty_1"].values, probability.max(1)
    error = np.sqrt(most * (1 - most) / DRAWS)
    clear = most > 0.6  # below, the most frequent of several is somewhat more frequent than its probability
    assert np.abs((certainty - most) / (error + 1e-3))[clear].max() < 4.5
    assert certainty[clear].mean() == pytest.approx(most[clear].mean(), abs=0.003)
    # A classifier that names the truth is right with its probability: neither always, nor where the largest one is.
    known = probability[np.arange(N), truth]
    by_case = results["top1_accuracy_by_case"].values[0]
    assert by_case.mean() == pytest.approx(known.mean(), abs=4.5 * np.sqrt((known * (1 - known)).sum() / DRAWS) / N)
    spread = results["top1_accuracy"].values[0].std()
    assert spread == pytest.approx(np.sqrt((known * (1 - known)).sum()) / N, rel=0.15)
    # Its point estimate is what it was: the share of cases whose most probable class it names.
    assert results["top1_accuracy_point"].item() == pytest.approx((probability.argmax(1) == truth).mean(), abs=1e-6)


def test_nothing_is_ambiguous_and_means_keep_their_exactness(simulated):
    probability, _, posterior = simulated
    results = pb.evaluate(posterior, {}, progress=False)
    assert (results["expected_entropy"] == 0).all()
    entropy = -(probability * np.log(probability)).sum(1)
    np.testing.assert_allclose(results["mutual_information"], entropy, atol=2e-5)
    np.testing.assert_allclose(results["top_plausibility"], probability.max(1), atol=1e-5)


def test_the_drawn_class_is_first_and_others_follow_by_probability(simulated):
    probability, _, posterior = simulated
    lists = top_classes(posterior, K, seed=3)
    assert (np.sort(lists, axis=-1) == np.arange(K)).all()
    rest = np.take_along_axis(np.broadcast_to(probability, (DRAWS, N, K)), lists, -1)[..., 1:]
    assert (np.diff(rest, axis=-1) <= 0).all()
    assert ((lists[..., 0] == 0).mean(0) - probability[:, 0]).std() < 1.2 * np.sqrt(0.15 / DRAWS)


def test_all_metrics_see_the_same_class(simulated):
    """Accuracy, coverage, a metric of the user's own, risk and lists by draw, from programs of different kinds."""
    _, truth, posterior = simulated
    own = ["top1_accuracy", "coverage", {"mass": lambda scores, plausibilities: (scores * plausibilities).sum()}]
    risks = dict(zip([f"k{c}" for c in range(K)], [0, 1, 2, 2], strict=True))
    predictions = {"perfect": np.eye(K)[truth], "other": np.roll(np.eye(K)[truth], 1, axis=1)}
    found = pb.evaluate(
        posterior, predictions, k=(1, 2), metrics=own, risks=risks, seed=7, replicates=0, progress=False
    )
    np.testing.assert_allclose(found["top1_coverage"], found["top1_accuracy"], atol=1e-6)
    np.testing.assert_allclose(found["mass"], found["top1_accuracy"], atol=1e-6)
    drawn = top_classes(posterior, 1, seed=7)[..., 0]
    np.testing.assert_allclose(found["top1_accuracy"][0], (drawn == truth).mean(1), atol=1e-6)
    levels = np.array([0, 1, 2, 2])[drawn]
    np.testing.assert_allclose(found["risk_plausibility"][:, 2], (levels == 2).mean(0), atol=1e-6)
    np.testing.assert_array_equal(found["risk_certainty"], found["risk_level_certainty"])


def test_a_case_has_its_class_whatever_the_other_cases_are(simulated, tmp_path):
    probability, truth, _ = simulated
    names = [f"case {i}" for i in range(40)]
    whole = posterior_of(probability[:40], names=names)
    some = posterior_of(probability[[30, 4, 17]], names=[names[at] for at in (30, 4, 17)])
    np.testing.assert_array_equal(top_classes(whole, 2)[:, [30, 4, 17]], top_classes(some, 2))
    pb.save(whole, tmp_path / "old.nc")
    predictions = {"perfect": np.eye(K)[truth[:40]]}
    expected = pb.evaluate(whole, predictions, **ACCURACY)
    xr.testing.assert_identical(pb.evaluate(tmp_path / "old.nc", predictions, **ACCURACY), expected)


def test_other_posteriors_are_left_alone(simulated):
    """The same numbers without the assumption are shares of annotators."""
    probability, truth, _ = simulated
    posterior = posterior_of(probability, attrs={})
    results = pb.evaluate(posterior, {"perfect": np.eye(K)[truth]}, **ACCURACY)
    assert (results["annotation_certainty_1"] == 1).all()
    assert results["expected_entropy"].mean() > 0.3


def test_thresholds_by_draw_are_of_drawn_classes(simulated):
    """The threshold of a draw is that of sets calibrated on labels drawn in it."""
    probability, _, posterior = simulated
    predictions = {"A": probability}
    found = pb.conformal(posterior, predictions, score="lac", seed=5)
    drawn = top_classes(posterior, 1, seed=5)[..., 0]
    for at in (0, DRAWS - 1):
        labels = pb.Annotations.from_labels([[f"k{c}"] for c in drawn[at]], classes=[f"k{c}" for c in range(K)])
        expected = pb.conformal(labels, predictions, score="lac", target="annotator").threshold.item()
        assert found.threshold_by_draw.values[0, 0, at] == pytest.approx(expected, abs=1e-3)
    plain = pb.conformal(posterior_of(probability, attrs={}), predictions, score="lac")
    assert found.threshold.item() == plain.threshold.item()
