"""Ranked lists: ties, precision, counts of what two lists share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.metrics import ranked_classes
from plausibly.metrics.certainties import set_certainty


@settings(max_examples=25)
@given(
    scores=st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=3, max_size=3),
    k=st.sampled_from([1, 3, 5]),
)
def test_numpy_and_jax_rank_ties_in_class_order(scores, k):
    expected = [sorted(range(5), key=lambda c: (-row[c], c))[:k] for row in scores]
    assert ranked_classes(np.array(scores), k).tolist() == expected
    assert jax.jit(ranked_classes, static_argnums=1)(jnp.array(scores), k).tolist() == expected


def test_ties_are_broken_as_asked_and_in_double_precision():
    scores, tie_break = np.array([[1.0, 2.0, 1.0, 1.0]]), np.array([[0.1, 0.0, 0.9, 0.5]])
    assert ranked_classes(scores, 4, tie_break).tolist() == [[1, 2, 3, 0]]
    assert ranked_classes(jnp.array(scores), 4, jnp.array(tie_break)).tolist() == [[1, 2, 3, 0]]
    assert ranked_classes(np.array([[1.0, 1.0 + 1e-12]]), 1).tolist() == [[1]]


@pytest.mark.parametrize("make", [np.array, jnp.array])
def test_unsigned_scores_and_negative_zero(make):
    assert ranked_classes(make([0, 2, 1], dtype=np.uint8), 3).tolist() == [1, 2, 0]
    assert ranked_classes(make([-0.0, 0.0, -1.0]), 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("n_classes", [3, 419, 10_000, 70_000])
def test_set_certainty_is_the_frequency_of_the_commonest_set(n_classes):
    rng = np.random.default_rng(0)
    for size in (1, 2, 3):
        # Few different classes, from the far end of the range, where packed words would overflow first.
        pool = n_classes - 1 - rng.permutation(min(4, n_classes))
        drawn = np.stack([[rng.permutation(pool)[:size] for _ in range(5)] for _ in range(12)])
        expected = [
            max(sum(set(a) == set(b) for b in drawn[:, case]) for a in drawn[:, case]) / 12 for case in range(5)
        ]
        np.testing.assert_allclose(set_certainty(jnp.array(drawn), n_classes), expected, rtol=1e-6)


def test_sets_too_large_for_one_number():
    rng = np.random.default_rng(1)
    drawn = np.stack(
        [np.stack([rng.permutation(60_000)[:9] for _ in range(4)]) for _ in range(5)]
    )  # (draw, case, place)
    drawn[2, 1], drawn[4, 1], drawn[3, 2] = drawn[0, 1][::-1], np.roll(drawn[0, 1], 2), drawn[0, 2][::-1]
    # Sets that differ in their last class only are different ones.
    drawn[1, 3] = drawn[0, 3]
    drawn[1, 3, 8] = 59_999 if 59_999 not in drawn[0, 3] else 0
    np.testing.assert_allclose(set_certainty(jnp.array(drawn), 60_000), [0.2, 0.6, 0.4, 0.2])
