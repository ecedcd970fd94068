"""Thresholds against a literal loop, and what follows from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plausibly.decisions.conformal import _curve
from plausibly.decisions.conformal._curve import Curve, CurveBuilder, Steps, thinned, threshold_of


def literal(scores, weights, alpha, bound=1.0):
    """The largest candidate at which the definition holds; scores and weights are (case, class)."""
    n = len(scores)

    def loss(tau):
        return sum(weights[i][k] for i in range(n) for k in range(len(scores[i])) if scores[i][k] < tau)

    candidates = [-np.inf, *sorted({s for row in scores for s in row}), np.inf]
    holds = [tau for tau in candidates if (loss(tau) + bound) / (n + 1) <= alpha + 1e-9]
    return max(holds) if holds else -np.inf


@st.composite
def cases(draw):
    n, k = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(k, draw(st.sampled_from([0.1, 1.0, 10.0]))), n)
    if draw(st.booleans()):  # votes
        weights = (weights == weights.max(1, keepdims=True)).astype(float)
    levels = draw(st.sampled_from([2, 5, 10**9]))  # few levels: ties
    scores = random.integers(0, levels, (n, k)) / levels
    return scores, weights


@given(cases(), st.sampled_from([0.05, 0.1, 0.2, 0.3, 0.5, 0.9]), st.sampled_from([1.0, 2.0]))
def test_a_threshold_is_that_of_the_definition(data, alpha, bound):
    scores, weights = data
    weights = weights * bound
    expected = literal(scores, weights, alpha, bound)
    found, keep = threshold_of(Steps.of(scores.ravel(), weights.ravel()), alpha, len(scores), bound)
    sets = scores >= float(found)
    assert np.array_equal(sets[weights > 0], (scores >= expected)[weights > 0])
    assert 0 <= float(keep) <= 1
    builder = CurveBuilder(bound)
    builder.add(len(scores), scores.ravel(), weights.ravel())
    assert builder.curve().threshold(alpha)[0] == float(found)


@given(cases(), st.sampled_from([0.1, 0.3, 0.6]))
def test_a_randomised_threshold_uses_the_budget_up(data, alpha):
    scores, weights = data
    n = len(scores)
    threshold, keep = (float(x) for x in threshold_of(Steps.of(scores.ravel(), weights.ravel()), alpha, n))
    missed = weights[scores < threshold].sum() + (1 - keep) * weights[scores == threshold].sum()
    if np.isfinite(threshold):
        assert missed + 1 <= alpha * (n + 1) + 1e-6
        assert missed + 1 == pytest.approx(alpha * (n + 1), abs=1e-6)
    else:
        assert threshold == (-np.inf if alpha * (n + 1) < 1 else np.inf)


@given(cases(), st.sampled_from([0.1, 0.25, 0.5]))
def test_sets_are_the_classes_with_p_values_above_alpha(data, alpha):
    scores, weights = data
    n = len(scores)
    builder = CurveBuilder()
    builder.add(n, scores.ravel(), weights.ravel())
    curve = builder.curve()
    new = np.linspace(-0.1, 1.1, 37)
    by_sum = [(1 + weights[scores <= s].sum()) / (n + 1) for s in new]
    np.testing.assert_allclose(curve.p_values(new), np.minimum(by_sum, 1), atol=1e-12)
    near = np.abs(curve.p_values(new) - alpha) < 1e-9
    inside = new >= curve.threshold(alpha)[0]
    assert np.array_equal(inside[~near], (curve.p_values(new) > alpha)[~near])


def test_labels_without_ties_have_the_published_ranks():
    """The quantile of textbooks: rank ⌈(n + 1)(1 − α)⌉ among the nonconformity scores."""
    random = np.random.default_rng(0)
    for n, alpha in [(19, 0.1), (20, 0.1), (99, 0.05), (100, 0.07), (57, 0.29)]:
        nonconformity = random.random(n)
        rank = int(np.ceil(np.round((n + 1) * (1 - alpha), 9)))
        expected = np.sort(nonconformity)[rank - 1]
        assert -float(threshold_of(Steps.of(-nonconformity, np.ones(n)), alpha, n)[0]) == expected
    # ⌊α m (n + 1)⌋ − m + 1 among the m n sampled scores (Stutz et al. 2023).
    random = np.random.default_rng(1)
    for n, m, alpha in [(20, 10, 0.1), (31, 7, 0.2), (50, 3, 0.05)]:
        scores = random.random((n, m))
        rank = int(np.floor(alpha * m * (n + 1) + 1e-9)) - m + 1
        found = threshold_of(Steps.of(scores.ravel(), np.full(n * m, 1 / m)), alpha, n)[0]
        assert float(found) == np.sort(scores.ravel())[rank - 1]


def test_few_cases_batches_and_what_lies_beyond():
    for n in range(9):
        assert float(threshold_of(Steps.of(np.zeros(n), np.ones(n)), 0.1, n)[0]) == -np.inf
    assert float(threshold_of(Steps.of(np.zeros(9), np.ones(9)), 0.1, 9)[0]) == 0
    random = np.random.default_rng(2)
    scores, weights = random.integers(0, 9, (5, 40)) / 9, random.random((5, 40)) / 4
    together = threshold_of(Steps.of(scores, weights), 0.3, 40)
    apart = [threshold_of(Steps.of(a, b), 0.3, 40) for a, b in zip(scores, weights, strict=True)]
    np.testing.assert_array_equal(together, np.transpose(apart))
    found = Curve(np.array([1.0]), np.array([1.0]), 1).p_values(np.array([[0.0, 1.0], [2.0, -np.inf]]))
    assert found.tolist() == [[0.5, 1.0], [1.0, 0.5]]


def test_pieces_merge_to_the_curve_of_all(monkeypatch):
    random = np.random.default_rng(3)
    scores, weights = random.integers(0, 500, 4000) / 500, random.random(4000)
    whole = CurveBuilder()
    whole.add(4000, scores, weights)
    monkeypatch.setattr(_curve, "MOST", 600)
    parts = CurveBuilder()
    for at in range(0, 4000, 170):
        parts.add(len(scores[at : at + 170]), scores[at : at + 170], weights[at : at + 170])
    one, other = whole.curve(), parts.curve()
    np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_allclose(one.weights, other.weights)
    assert one.n == other.n == 4000


def test_joined_steps_only_raise_the_losses(monkeypatch):
    random = np.random.default_rng(4)
    scores, weights = random.random(20_000), np.where(random.random(20_000) < 0.01, 1.0, 0.01)
    exact = Curve(np.sort(scores), weights[np.argsort(scores)], 20_000)
    monkeypatch.setattr(_curve, "MOST", 1000)
    builder = CurveBuilder()
    for at in range(0, 20_000, 500):
        builder.add(500, scores[at : at + 500], weights[at : at + 500])
    joined = builder.curve()
    assert len(joined.scores) <= 1001
    at = np.linspace(0, 1, 2001)
    excess = joined.risk(at) - exact.risk(at)
    assert excess.min() > -1e-12
    assert excess.max() < 8 * 3 * weights.sum() / 1000 / 20_001
    kept, _ = thinned(np.arange(10.0), np.ones(10), 10)
    assert len(kept) == 10
