"""Annotation certainty against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.metrics import annotation_certainty, certainty


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(1, 1, 1), (7, 4, 1), (7, 4, 3)]),
    levels=st.sampled_from([2, 1000]),
)
def test_certainty_is_the_best_over_all_sets(seed, shape, levels):
    n_draws, n_classes, size = shape
    draws = np.random.default_rng(seed).integers(0, levels, (n_draws, 3, n_classes)) / levels
    expected = []
    for case in range(3):
        sets = [frozenset(sorted(range(n_classes), key=lambda c: (-draw[c], c))[:size]) for draw in draws[:, case]]
        expected.append(max(sets.count(s) for s in sets) / n_draws)
    np.testing.assert_allclose(annotation_certainty(draws, size), expected, rtol=1e-6)


def test_certainty_by_hand():
    draws = np.repeat(np.random.default_rng(0).dirichlet(np.ones(4), (1, 3)), 7, axis=0)
    for size in (1, 3, 4):
        assert annotation_certainty(draws, size).tolist() == [1.0] * 3
    draws = np.array([[[0.5, 0.4, 0.1]], [[0.4, 0.5, 0.1]]])
    assert annotation_certainty(draws, 1).tolist() == [0.5]
    assert annotation_certainty(draws, 2).tolist() == [1.0]
    draws = np.random.default_rng(1).random((6, 1, 10_000))
    draws[:4, 0, [9_999, 9_997, 9_998]] += 2
    assert annotation_certainty(draws, 3).tolist() == pytest.approx([4 / 6])


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1, 3]), levels=st.sampled_from([2, 1000]))
def test_certainty_of_given_sets_is_the_share_of_draws_that_have_them(seed, size, levels):
    n_classes = 4
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, levels, (7, 3, n_classes)) / levels
    sets = np.stack([rng.permutation(n_classes)[:size] for _ in range(3)])
    expected = np.zeros(3)
    for draw in draws:
        for case in range(3):
            top = sorted(range(n_classes), key=lambda c, case=case, draw=draw: (-draw[case, c], c))[:size]
            expected[case] += (set(top) == set(sets[case].tolist())) / 7
    found = certainty(draws, sets)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (np.asarray(found) <= np.asarray(annotation_certainty(draws, size)) + 1e-6).all()
