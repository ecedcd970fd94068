"""Partial rankings against the matrices of the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.distances import PartialRankings

K = 6


@st.composite
def partial_rankings(draw):
    order = draw(st.permutations(range(K)))[: draw(st.integers(1, K))]
    cuts = sorted(draw(st.sets(st.integers(1, len(order)))) | {len(order)})
    return [order[low:high] for low, high in zip([0, *cuts[:-1]], cuts, strict=True)]


def soft_permutation(blocks):
    """Places × classes: any compatible order, averaged within blocks."""
    named = [one for block in blocks for one in block]
    rest = [one for one in range(K) if one not in named]
    whole = [*blocks, rest] if rest else blocks
    permutation = np.zeros((K, K))
    permutation[np.arange(K), [one for block in whole for one in block]] = 1
    membership = np.array([[one in block for one in range(K)] for block in whole], float)
    return permutation @ membership.T @ np.diag(1 / membership.sum(axis=1)) @ membership


def literal(a, b, depth):
    first = np.tril(np.ones((K, K)))
    weights = np.diag([1 / (place * depth) if place <= depth else 0 for place in range(1, K + 1)])

    def overlap(x, y):
        return np.trace((first @ soft_permutation(y)).T @ weights @ (first @ soft_permutation(x)))

    return 1 - overlap(a, b) / np.sqrt(overlap(a, a) * overlap(b, b))


@settings(max_examples=60)
@given(a=partial_rankings(), b=partial_rankings(), depth=st.integers(1, K))
def test_mean_average_overlap(a, b, depth):
    assert PartialRankings(depth, range(K))(a, b) == pytest.approx(literal(a, b, depth), abs=1e-12)


def test_unnamed_classes_count():
    few, many = PartialRankings(3, "abc"), PartialRankings(3, "abcdefgh")
    assert few([["a"]], [["b"]]) < many([["a"]], [["b"]])
    assert PartialRankings()(["a", "b"], ["a", "b"]) == PartialRankings()([], []) == 0
