"""meanAO against the matrices of its definition, and its properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausibly.metrics import average_overlap, mean_average_overlap, soft_permutation


@st.composite
def rankings(draw, most=6):
    """Two partial rankings of the same classes; what the last block holds may be left out."""
    n_classes = draw(st.integers(1, most))
    found = []
    for _ in range(2):
        order = draw(st.permutations(range(n_classes)))
        cuts = sorted(draw(st.sets(st.integers(1, n_classes), max_size=n_classes)))
        blocks = [list(order[a:b]) for a, b in zip([0, *cuts], cuts, strict=False)]
        found.append(blocks)
    return *found, n_classes


def literal_soft_permutation(blocks, n_classes):
    """P Bᵀ diag(1 / (B 1)) B."""
    named = {c for block in blocks for c in block}
    rest = [c for c in range(n_classes) if c not in named]
    blocks = [*blocks, rest] if rest else blocks
    b = np.zeros((len(blocks), n_classes))
    for row, block in enumerate(blocks):
        b[row, block] = 1
    p = np.eye(n_classes)[[c for block in blocks for c in block]]
    return p @ b.T @ np.diag(1 / b.sum(axis=1)) @ b


def literal_uao(p, q, depth):
    """Tr{(T Q)ᵀ D_L (T P)}."""
    n = len(p)
    t = np.tril(np.ones((n, n)))
    d = np.diag([1 / (depth * place) if place <= depth else 0 for place in range(1, n + 1)])
    return np.trace((t @ q).T @ d @ (t @ p))


@settings(max_examples=60)
@given(problem=rankings(), data=st.data())
def test_mean_average_overlap_is_its_definition(problem, data):
    a, b, n = problem
    depth = data.draw(st.integers(1, n))
    p, q = literal_soft_permutation(a, n), literal_soft_permutation(b, n)
    np.testing.assert_allclose(soft_permutation(a, n), p, atol=1e-12)
    expected = literal_uao(p, q, depth) / np.sqrt(literal_uao(p, p, depth) * literal_uao(q, q, depth))
    assert mean_average_overlap(a, b, depth, n) == pytest.approx(expected, abs=1e-12)
    assert mean_average_overlap(b, a, depth, n) == pytest.approx(expected, abs=1e-12)


@given(problem=rankings(), depth=st.integers(1, 8))
def test_a_ranking_agrees_with_itself_and_names_do_not_matter(problem, depth):
    for blocks in problem[:2]:
        if blocks:
            assert mean_average_overlap(blocks, blocks, depth) == pytest.approx(1)
        assert mean_average_overlap(blocks, blocks, depth, problem[2]) == pytest.approx(1)
    a, b, n = problem
    renamed = [[[f"class {c}" for c in block] for block in blocks] for blocks in (a, b)]
    assert mean_average_overlap(*renamed, 3, n) == pytest.approx(mean_average_overlap(a, b, 3, n))


def test_the_printed_example_has_columns_of_numbered_classes():
    expected = [[0, 0, 0, 1], [0.5, 0, 0.5, 0], [0.5, 0, 0.5, 0], [0, 1, 0, 0]]
    assert soft_permutation([[3], [2, 0], [1]]).tolist() == expected
    assert soft_permutation(np.array([[0, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0]])).tolist() == expected
    # The last block need not be written out.
    assert soft_permutation([[3], [2, 0]], 4).tolist() == expected


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_without_ties_it_is_the_ordinary_average_overlap(depth):
    rng = np.random.default_rng(0)
    for _ in range(10):
        scores, draw = rng.random((1, 6)), rng.random((1, 1, 6))
        rankings = [[[int(c)] for c in np.argsort(-x.ravel())] for x in (scores, draw)]
        ordinary = float(average_overlap(scores, draw, depth)[0, 0])
        # Of full rankings the overlap with oneself is 1.
        assert mean_average_overlap(*rankings, depth) == pytest.approx(ordinary, abs=1e-6)
