"""Classifiers of graded quality."""

import numpy as np
import pytest

from plausibly.data.datasets import simulate_classifiers, simulate_differentials

GRADES = {"0": 0.0, "0.2": 0.2, "0.4": 0.4, "0.6": 0.6, "0.8": 0.8, "1": 1.0}


@pytest.fixture(scope="module")
def truth():
    return simulate_differentials(1_000, seed=2).plausibilities


def test_accuracy_rises_with_quality_from_nothing_to_the_truth(truth):
    scores = simulate_classifiers(truth, GRADES, seed=1)
    best = truth.argmax(axis=1)
    accuracy = np.array([(s.argmax(axis=1) == best).mean() for s in scores.values()])
    assert list(scores) == list(GRADES)
    assert np.all(np.diff(accuracy) > 0.02)
    assert accuracy[0] < 0.01
    assert accuracy[-1] == 1
    few = simulate_classifiers(truth[:100], (0.9, 0.5), seed=7)
    many = simulate_classifiers(truth, (0.9, 0.5, 0.2), seed=7)
    for name in "AB":
        np.testing.assert_array_equal(few[name], many[name][:100])
    for scores in simulate_classifiers(truth, (0.0, 0.5, 1.0)).values():
        assert scores.dtype == np.float32
        assert scores.shape == truth.shape
        assert np.isfinite(scores).all()
    scores = simulate_classifiers(np.array([[0.5, 0.25, 0.25, 0.0]]), [1.0])["A"]
    np.testing.assert_allclose(scores[0, :3], np.log([0.5, 0.25, 0.25]), rtol=1e-6)
    assert scores[0, 3] == pytest.approx(-87.3, abs=0.1)
    noise = simulate_classifiers(truth, [0.0])["A"]
    z = noise / np.log(truth).std(axis=1, keepdims=True)
    assert z.mean() == pytest.approx(0, abs=0.01)
    assert z.std() == pytest.approx(1, abs=0.01)
    correlation = np.corrcoef(z.ravel(), np.log(truth).ravel())[0, 1]
    assert correlation == pytest.approx(0, abs=0.01)
    scores = simulate_classifiers(truth, (0.0, 0.0))
    assert np.corrcoef(scores["A"].ravel(), scores["B"].ravel())[0, 1] == pytest.approx(0, abs=0.01)
