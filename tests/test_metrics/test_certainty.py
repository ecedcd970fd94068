"""Annotation certainty against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.errors import ArgumentError
from plausibly.metrics import annotation_certainty, certainty


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_draws=st.sampled_from([1, 8]),
    n_classes=st.sampled_from([1, 4]),
    levels=st.sampled_from([2, 1000]),
    data=st.data(),
)
def test_certainty_is_the_best_over_all_sets(seed, n_draws, n_classes, levels, data):
    size = data.draw(st.integers(1, n_classes))
    draws = np.random.default_rng(seed).integers(0, levels, (n_draws, 3, n_classes)) / levels
    expected = []
    for case in range(3):
        sets = [frozenset(sorted(range(n_classes), key=lambda c: (-draw[c], c))[:size]) for draw in draws[:, case]]
        expected.append(max(sets.count(s) for s in sets) / n_draws)
    np.testing.assert_allclose(annotation_certainty(draws, size), expected, rtol=1e-6)


def test_certainty_by_hand():
    draws = np.repeat(np.random.default_rng(0).dirichlet(np.ones(6), 4)[None], 9, axis=0)
    for size in (1, 2, 3, 6):
        assert annotation_certainty(draws, size).tolist() == [1.0] * 4
    assert annotation_certainty(draws[:1], 2).tolist() == [1.0] * 4
    draws = np.array([[[0.5, 0.4, 0.1]], [[0.4, 0.5, 0.1]]])
    assert annotation_certainty(draws, 1).tolist() == [0.5]
    assert annotation_certainty(draws, 2).tolist() == [1.0]
    draws = np.random.default_rng(1).random((6, 1, 10_000))
    draws[:4, 0, [9_999, 9_997, 9_998]] += 2
    assert annotation_certainty(draws, 3).tolist() == pytest.approx([4 / 6])


def test_sets_larger_than_the_classes_and_nan_are_refused():
    for size in (0, 4):
        with pytest.raises(ArgumentError, match=f"size must be a whole number between 1 and .* 3, but {size} was"):
            annotation_certainty(np.ones((1, 1, 3)), size)
    with pytest.raises(ArgumentError, match="plausibilities must be finite numbers that are not negative, but nan"):
        annotation_certainty(np.full((1, 1, 3), np.nan))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(1, 5), levels=st.sampled_from([2, 1000]), data=st.data())
def test_certainty_of_given_sets_is_the_share_of_draws_that_have_them(seed, n_classes, levels, data):
    size = data.draw(st.integers(1, n_classes))
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


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([[0, 0]], r"different classes from 0 to 2, but that of case 0 is \[0, 0\]"),
        ([[0, 3]], r"different classes from 0 to 2, but that of case 0 is \[0, 3\]"),
        ([[0], [1]], r"of shape \(case, size\) for 1 cases, but the shape is \(2, 1\)"),
        ([[0.5]], "whole numbers .* the type float64"),
        ([[0, 1, 2, 0]], "size must be a whole number between 1 and .* 3, but 4"),
    ],
)
def test_sets_that_are_none_are_refused(sets, message):
    with pytest.raises(ArgumentError, match=message):
        certainty(np.ones((2, 1, 3)), sets)
