"""Ranked lists from slots against a literal split of the remainder and a sort of all classes."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from plausibly.base.random_streams import case_keys, stream_words
from plausibly.data.annotations import Slots
from plausibly.posterior.ranked_lists import rank_slots

N = 6000


def one_case(named, n_classes, remainder=True):
    """Slots of a single case."""
    m = n_classes - len(named)
    last = [-1] if remainder and m else []
    size = len(named) + len(last)
    return Slots(
        case=np.zeros(size, np.int32),
        class_index=np.array([*named, *last], np.int32),
        n_classes=np.array([1] * len(named) + [m] * len(last), np.int32),
        start=np.array([0, size]),
    )


def rank(plausibility, slots, depth, n_classes, concentration=1.0, **options):
    cases = np.arange(len(slots.start) - 1)
    words = stream_words(case_keys(0, [f"case {i}" for i in cases]))
    plausibility = np.asarray(plausibility, np.float32)
    return rank_slots(
        plausibility, slots, cases, words, depth, n_classes=n_classes, concentration=concentration, **options
    )


def literal(named, values, n_classes, concentration, depth):
    """Split the remainder by its Dirichlet, in logarithms, and sort all classes."""
    rng = np.random.default_rng(3)
    unnamed = np.setdiff1d(np.arange(n_classes), named)
    log_gamma = np.log(rng.gamma(concentration + 1, size=(N, len(unnamed))))
    log_gamma += np.log(rng.random(log_gamma.shape)) / concentration
    log_values = np.empty((N, n_classes))
    log_values[:, named] = np.log(values[:-1])
    log_values[:, unnamed] = log_gamma - np.logaddexp.reduce(log_gamma, axis=1, keepdims=True) + np.log(values[-1])
    return np.argsort(-log_values, axis=1)[:, :depth]


def p_value(a, b):
    """Chi-square that two samples of lists have one law; lists seen fewer than 20 times are pooled."""
    a, b = Counter(map(tuple, a.tolist())), Counter(map(tuple, b.tolist()))
    table = np.array([[a[key], b[key]] for key in {*a, *b}])
    rare = table.sum(axis=1) < 20
    table = np.concatenate([table[~rare], table[rare].sum(axis=0, keepdims=True)])
    table = table[table.sum(axis=1) > 0]
    return stats.chi2_contingency(table).pvalue if len(table) > 1 else 1.0


# Named classes, their plausibilities and that of the remainder, number of classes.
CASES = {
    "pieces above, between and below": ([1, 3], [0.35, 0.15, 0.5], 5),
    "a list longer than the named classes": ([2], [0.3, 0.7], 4),
    "one unnamed class": ([0, 1, 3], [0.4, 0.25, 0.05, 0.3], 4),
    "more named classes than places": ([0, 1, 2, 4, 6], [0.1, 0.2, 0.15, 0.05, 0.1, 0.4], 7),
    "many unnamed classes": ([7, 200], [0.5, 0.012, 0.488], 300),
    "most of the mass on the remainder": ([7, 8, 9], [0.01, 0.02, 0.03, 0.94], 300),
}


# Six cases by two concentrations at a rate of 1e-5: one false alarm in 8,000 seeds.
@pytest.mark.slow
@pytest.mark.parametrize("concentration", [0.01, 1.0])
@pytest.mark.parametrize("name", CASES)
def test_lists_have_the_law_of_a_literal_split(name, concentration):
    named, values, n_classes = CASES[name]
    lists = rank(np.tile(values, (N, 1)), one_case(named, n_classes), 3, n_classes, concentration)[:, 0]
    expected = literal(named, values, n_classes, concentration, 3)
    if n_classes < 300:
        assert p_value(lists, expected) > 1e-5
        return

    def blur(lists):
        """Unnamed classes become their tenth of the range, or else every list would be rare."""
        return np.where(np.isin(lists, named), lists, -1 - lists * 10 // n_classes)

    assert p_value(blur(lists)[:, :2], blur(expected)[:, :2]) > 1e-5
    position = np.isin(lists, named) * (lists + 1)
    assert p_value(position, np.isin(expected, named) * (expected + 1)) > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["order", "random"])
def test_a_short_list_is_the_beginning_of_a_long_one(ties):
    values = np.random.default_rng(0).dirichlet([1, 0.1, 0.1, 3], N)
    slots = one_case([0, 5, 6], 40)
    long = rank(values, slots, 6, 40, 0.3, break_ties=ties)
    np.testing.assert_array_equal(rank(values, slots, 4, 40, 0.3, break_ties=ties), long[..., :4])


@pytest.mark.slow
def test_unnamed_classes_follow_in_class_order_without_mass_and_come_first_with_it():
    assert rank([[0.7, 0.3, 0]], one_case([4, 2], 6), 5, 6).tolist() == [[[4, 2, 0, 1, 3]]]
    assert rank([[0.7, 0.3]], one_case([2, 4], 6, remainder=False), 5, 6).tolist() == [[[2, 4, 0, 1, 3]]]
    # Named classes without mass are no better, as majority vote has it for classes that lost.
    assert rank([[0, 1, 0, 0]], one_case([1, 3, 4], 6), 6, 6).tolist() == [[[3, 0, 1, 2, 4, 5]]]
    lists = rank(np.tile([0, 0.6, 0.4], (200, 1)), one_case([0, 3], 4), 4, 4)[:, 0]
    assert (lists[:, 0] == 3).mean() > 0.5
    assert (lists[:, 3] == 0).all()


@pytest.mark.slow
def test_ties_of_named_classes_in_class_order_or_at_random():
    slots = one_case([1, 2, 5], 6)
    values = np.tile([0.25, 0.25, 0.5, 0], (4000, 1))
    assert np.unique(rank(values, slots, 3, 6), axis=0).tolist() == [[[5, 1, 2]]]
    random = rank(values, slots, 6, 6, break_ties="random")[:, 0]
    assert (random[:, 0] == 5).all()
    # Five standard deviations: a false alarm in two million seeds.
    assert abs((random[:, 1] == 1).mean() - 0.5) < 5 * np.sqrt(0.25 / 4000)
    for place in (3, 4, 5):
        assert stats.chisquare(np.bincount(random[:, place], minlength=6)[[0, 3, 4]]).pvalue > 1e-6
