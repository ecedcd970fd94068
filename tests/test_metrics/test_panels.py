"""Shares of panels against a loop over all subsets of labels."""

from itertools import combinations, product

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plausibly.metrics import panel_shares
from plausibly.metrics.panels import panel_shares_of_entries


def of_subsets(labels, n_classes, n):
    """Share of the subsets of n labels that each class wins, ties split, literally; NaN without a subset."""
    total, n_subsets = np.zeros(n_classes), 0
    for subset in combinations(labels, n):
        votes = np.bincount(subset, minlength=n_classes)
        total += (votes == votes.max()) / (votes == votes.max()).sum()
        n_subsets += 1
    return total / n_subsets if n_subsets else np.full(n_classes, np.nan)


def labels_of(counts):
    return np.repeat(np.arange(len(counts)), counts)


@settings(max_examples=60)
@given(
    counts=st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=4), n=st.integers(1, 8)
)
@example(counts=[[2, 2, 2, 2], [1, 1, 1, 1], [8, 0, 0, 0], [0, 0, 0, 0]], n=4)
def test_shares_are_those_of_all_subsets(counts, n):
    expected = np.array([of_subsets(labels_of(of_case), 4, n) for of_case in counts])
    np.testing.assert_allclose(panel_shares(np.array(counts), n), expected, atol=1e-12)


def test_a_further_annotator_meets_panels_of_the_others_and_large_panels_keep_their_digits():
    counts = np.array([[3, 2, 1], [1, 1, 1], [4, 0, 2], [0, 1, 0]])
    row, column = np.nonzero(counts)
    _, of_others = panel_shares_of_entries(row, counts[row, column], 5)
    for at, (case, label) in enumerate(zip(row, column, strict=True)):
        others = counts[case].copy()
        others[label] -= 1
        expected = [of_subsets(labels_of(others), 3, n)[label] for n in range(1, 6)]
        np.testing.assert_allclose(of_others[at], expected, atol=1e-12)
    counts = np.random.default_rng(0).multinomial(100, np.random.default_rng(1).dirichlet(np.full(10, 0.5), 5))
    for n in (40, 100):
        np.testing.assert_allclose(panel_shares(counts, n).sum(axis=1), 1, atol=1e-12)
    winners = counts == counts.max(axis=1, keepdims=True)
    np.testing.assert_allclose(panel_shares(counts, 100), winners / winners.sum(axis=1, keepdims=True), atol=1e-12)


def test_the_mean_is_the_probability_to_win_among_fresh_labels():
    random, n = np.random.default_rng(2), 3
    plausibilities = random.dirichlet([0.8, 0.6, 0.4], 20_000)
    shares = panel_shares(random.multinomial(5, 1.0 * plausibilities).astype(int), n)
    expected = np.zeros(plausibilities.shape)
    for labels in product(range(3), repeat=n):
        votes = np.bincount(labels, minlength=3)
        wins = (votes == votes.max()) / (votes == votes.max()).sum()
        expected += plausibilities[:, labels].prod(axis=1)[:, None] * wins
    gap = shares - expected
    assert (np.abs(gap.mean(axis=0)) < 4.5 * gap.std(axis=0) / np.sqrt(len(gap))).all()
    assert np.abs(gap.mean(axis=0)).max() < 0.01
