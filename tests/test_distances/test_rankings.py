"""Rank correlations against SciPy's on ranks written out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from plausibly.distances import RankedLists, find_distance

ranking = st.lists(st.integers(0, 12), unique=True, min_size=1, max_size=8)


def literal(a, b, coefficient, top, padding):
    a, b = a[:top], b[:top]
    if a == b:
        return 0.0
    union = sorted({*a, *b})
    m = len(union)
    ranks = [[one.index(x) if x in one else m for x in union] + [m] * padding for one in (a, b)]
    if any(len(set(one)) == 1 for one in ranks):
        return 1.0  # one vector is constant: no correlation
    return 1 - (kendalltau if coefficient == "kendall" else spearmanr)(*ranks).statistic


@settings(max_examples=80)
@given(
    a=ranking,
    b=ranking,
    coefficient=st.sampled_from(["kendall", "spearman"]),
    top=st.sampled_from([None, 1, 3, 5]),
    padding=st.sampled_from([0, 1, 50]),
)
def test_correlation_over_the_union(a, b, coefficient, top, padding):
    found = RankedLists(coefficient, top=top, padding=padding)(a, b)
    assert found == pytest.approx(literal(a, b, coefficient, top, padding), abs=1e-9)


def test_lists_without_members_and_padding_of_the_preset():
    for coefficient in ("kendall", "spearman"):
        distance = RankedLists(coefficient)
        assert distance([], []) == 0
        assert distance([], ["a"]) == 2
        assert distance(["a"], ["a"]) == 0
        assert distance(["a"], ["b"]) == 2
    a, b = [3, 1, 4, 5, 9, 2], [3, 4, 1, 9, 8, 7]
    assert find_distance("tau", "braylan2022")(a, b) == pytest.approx(literal(a, b, "kendall", None, 50))
    assert find_distance("tau@5", "braylan2022")(a, b) == pytest.approx(literal(a, b, "kendall", 5, 50))
    assert find_distance("rho", "braylan2022")(a, b) == pytest.approx(literal(a, b, "spearman", None, 50))
