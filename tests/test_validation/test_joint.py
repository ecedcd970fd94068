"""Pairs of plausibilities and annotations, against closed forms of their conditional distributions."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from validation._joint import Layout, draw_pairs, outcomes, probability
from validation.calibration import nested

FALSE_ALARM = 1e-5


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2), (2, 1), (3,), (1, 1, 1)])
def test_probabilities_of_all_rankings_sum_to_one_and_are_sums_over_orders(sizes):
    weights = np.random.default_rng(0).gamma(1.0, size=(3, 4))
    every = outcomes(sizes, 4)
    assert len(set(every)) == len(every)
    np.testing.assert_allclose(sum(probability(b, weights) for b in every), 1, rtol=1e-12)
    ranking = every[-1]
    literal = np.zeros(3)
    for order in permutations(range(4)):
        first = 0
        for block in ranking:
            if set(order[first : first + len(block)]) != set(block):
                break
            first += len(block)
        else:
            literal += np.prod([weights[:, order[i]] / weights[:, order[i:]].sum(1) for i in range(4)], axis=0)
    np.testing.assert_allclose(probability(ranking, weights), literal, rtol=1e-12)


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_by_power_the_conditional_is_the_posterior(power):
    """Two annotators who name a: Beta(1.5 + 2γ, 1.5); one a and one b: Beta(1.5 + γ, 1.5 + γ)."""
    rng = np.random.default_rng(1)
    pairs = draw_pairs(Layout(2, ((1,), (1,))), 6000, rng, shape=np.full(2, 1.5), power=power, complete=False)
    first = np.array([sum(ranking == ((0,),) for ranking in case) for case in pairs.annotations])
    for n in range(3):
        share = pairs.plausibility[first == n, 0]
        expected = stats.beta(1.5 + power * n, 1.5 + power * (2 - n))
        assert len(share) > 200
        assert stats.kstest(share, expected.cdf).pvalue > FALSE_ALARM


def test_a_remainder_is_never_named_and_the_conditional_knows_it():
    """One annotator of two classes and a remainder: Dirichlet(1 + γ, 1, 4) or (1, 1 + γ, 4), whichever is named."""
    rng, shape = np.random.default_rng(2), np.array([1.0, 1.0, 4.0])
    pairs = draw_pairs(Layout(2, ((1,),)), 3000, rng, shape=shape, power=2.0, complete=False)
    assert {case[0] for case in pairs.annotations} == {((0,),), ((1,),)}
    named = np.array([case[0][0][0] for case in pairs.annotations])
    own = pairs.plausibility[np.arange(3000), named]
    assert stats.kstest(own, stats.beta(3, 5).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(pairs.plausibility[:, 2], stats.beta(4, 4).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("temper", [0.5, 3.0])
def test_by_temper_the_conditional_is_the_posterior(temper):
    rng = np.random.default_rng(3)
    pairs = draw_pairs(Layout(2, ((1,),)), 4000, rng, shape=np.ones(2), temper=temper, complete=False)
    named = np.array([case[0][0][0] for case in pairs.annotations])
    own = pairs.plausibility[np.arange(4000), named]
    x = np.linspace(0, 1, 20_001)
    density = x**temper / (x**temper + (1 - x) ** temper)
    cdf = np.append(0, np.cumsum((density[1:] + density[:-1]) / 2))
    assert stats.kstest(own, lambda v: np.interp(v, x, cdf / cdf[-1])).pvalue > FALSE_ALARM


def test_complete_and_other_conditions_are_kept():
    rng = np.random.default_rng(4)
    pairs = draw_pairs(Layout(3, ((1, 1), (1, 1), (1,))), 50, rng, shape=np.ones(4), keep=nested)
    assert pairs.plausibility.shape == (50, 4)
    assert len(pairs.annotations) == 50
    for case in pairs.annotations:
        assert {k for ranking in case for block in ranking for k in block} == {0, 1, 2}
        assert case[0][0] == case[1][0]
