"""Metrics on plain arrays against SPEC 3 written as loops, and against scikit-learn where there is one draw."""

from functools import cache
from itertools import combinations

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import top_k_accuracy_score

from plausibly import metrics
from tests.shapes import LARGE


def top(scores, k):
    """The k highest, ties in class order, as a list."""
    return sorted(range(len(scores)), key=lambda c: (-scores[c], c))[:k]


def shared(a, b):
    return len(set(a) & set(b)) / len(a)


def fagin_kendall(a, b):
    """Kendall's distance with penalty 1/2 over all pairs of classes in either list, case by case as in the paper."""
    total = 0.0
    for x, y in combinations(sorted({*a, *b}), 2):
        if all(c in one for one in (a, b) for c in (x, y)):
            total += (a.index(x) < a.index(y)) != (b.index(x) < b.index(y))
        elif (x in a and y in a and not (x in b or y in b)) or (x in b and y in b and not (x in a or y in a)):
            total += 0.5
        elif (x in a and y in a) or (x in b and y in b):
            one, other = (a, b) if x in a and y in a else (b, a)
            absent, present = (x, y) if x not in other else (y, x)
            total += one.index(absent) < one.index(present)
        else:
            total += 1
    return total


def fagin_footrule(a, b):
    """Footrule with absent classes at place k + 1, over all classes in either list."""
    place = [{c: one.index(c) + 1 if c in one else len(a) + 1 for c in {*a, *b}} for one in (a, b)]
    return sum(abs(place[0][c] - place[1][c]) for c in place[0])


def apart(k):
    """Two lists without a common class, whose distance is the greatest."""
    return list(range(k)), list(range(k, 2 * k))


# Of two lists of the same length.
OF_LISTS = {
    "kendall_tau": lambda a, b: fagin_kendall(a, b) / fagin_kendall(*apart(len(a))),
    "spearman_footrule": lambda a, b: fagin_footrule(a, b) / fagin_footrule(*apart(len(a))),
    "top_k_accuracy": lambda a, b: b[0] in a,
    "set_accuracy": lambda a, b: set(a) == set(b),
    "overlap": shared,
    "average_overlap": lambda a, b: sum(shared(a[:j], b[:j]) for j in range(1, len(a) + 1)) / len(a),
}
LITERAL = {name: lambda scores, draw, k, of=of: of(top(scores, k), top(draw, k)) for name, of in OF_LISTS.items()}
LITERAL["coverage"] = lambda scores, draw, k: sum(draw[c] for c in top(scores, k))


@st.composite
def problems(draw):
    """Small problems with many ties, of few shapes, each of which JAX compiles for."""
    n_draws, n_cases, n_classes = draw(st.sampled_from([(1, 2, 1), (3, 2, 6)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 4, 1000]))
    plausibilities = rng.integers(0, levels, (n_draws, n_cases, n_classes)) / levels
    predictions = rng.integers(0, levels, (n_cases, n_classes)) / levels - 0.50001  # not all 0, which is no answer
    return predictions, plausibilities, draw(st.sampled_from([k for k in (1, 3, 6) if k <= n_classes]))


@cache
def in_jit(name):
    """The metric of JAX arrays, as part of a program."""
    return jax.jit(getattr(metrics, name), static_argnums=2)


@pytest.mark.parametrize("name", LITERAL)
@settings(max_examples=16)
@given(problem=problems())
def test_metric_is_its_definition(name, problem):
    predictions, plausibilities, k = problem
    expected = [
        [LITERAL[name](scores, draw, k) for scores, draw in zip(predictions, draws, strict=True)]
        for draws in plausibilities
    ]
    metric = getattr(metrics, name)
    np.testing.assert_allclose(metric(predictions, plausibilities, k), expected, atol=1e-6)
    if k == 3:
        np.testing.assert_allclose(in_jit(name)(predictions, plausibilities, k), expected, atol=1e-6)


def test_one_draw_gives_the_standard_metric():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, LARGE.classes, LARGE.cases)
    scores = rng.random((LARGE.cases, LARGE.classes))
    for k in (1, 3):
        ours = np.asarray(metrics.top_k_accuracy(scores, np.eye(LARGE.classes)[labels][None], k))
        assert ours.mean() == pytest.approx(top_k_accuracy_score(labels, scores, k=k), abs=1e-6)


def test_distances_of_one_draw_are_those_of_full_rankings():
    rng = np.random.default_rng(4)
    scores, draw = rng.random((30, 5)), rng.random((30, 5))
    # On lists of all classes Kendall's distance counts discordant pairs, and the footrule sums displacements.
    tau = [kendalltau(a, b).statistic for a, b in zip(scores, draw, strict=True)]
    discordant = (1 - np.array(tau)) / 2 * 10
    np.testing.assert_allclose(metrics.kendall_tau(scores, draw[None], 5)[0], discordant / 35, atol=1e-6)
    ranks = [(-np.asarray(x)).argsort(axis=1).argsort(axis=1) for x in (scores, draw)]
    displaced = np.abs(ranks[0] - ranks[1]).sum(axis=1)
    np.testing.assert_allclose(metrics.spearman_footrule(scores, draw[None], 5)[0], displaced / 30, atol=1e-6)
    for metric in (metrics.kendall_tau, metrics.spearman_footrule):
        assert not np.any(metric(scores, scores[None], 3))
        np.testing.assert_allclose(metric(scores, draw[None], 3), metric(draw, scores[None], 3), atol=1e-7)


def accuracy(scores, plausibilities, k=1, **options):
    return float(np.mean(metrics.top_k_accuracy(scores, plausibilities, k, **options)))


def test_the_treatment_of_ties_matters_as_much_as_it_should_and_random_ones_are_seeded_and_fair():
    # Two classes tie for the first place of every draw; the classifier names the first of them, or the second.
    n = 2000
    plausibilities = np.tile([0.4, 0.4, 0.2], (n, 1, 1))
    # Five standard deviations: a false alarm in two million seeds.
    sd = np.sqrt(0.25 / n)
    for scores, in_order in (([[1.0, 0.5, 0]], 1.0), ([[0.5, 1.0, 0]], 0.0)):
        assert accuracy(scores, plausibilities) == in_order
        assert abs(accuracy(scores, plausibilities, break_ties="random", seed=1) - 0.5) < 5 * sd
        # A list of two holds both of the tied classes.
        for ties in ("order", "random"):
            assert accuracy(scores, plausibilities, 2, break_ties=ties) == 1
    predictions, plausibilities = np.ones((n, 3)), np.tile([0.1, 0.2, 0.6], (1, n, 1))
    hit, again = (metrics.top_k_accuracy(predictions, plausibilities, 1, break_ties="random", seed=3) for _ in "ab")
    np.testing.assert_array_equal(hit, again)
    assert abs(np.mean(hit) - 1 / 3) < 5 * sd
    assert accuracy(predictions, plausibilities) == 0
    # Ties of both sides are broken independently.
    assert abs(accuracy(np.ones((n, 3)), np.ones((1, n, 3)), break_ties="random") - 1 / 3) < 5 * sd


def test_metrics_agree_where_they_must_and_are_greatest_without_a_common_class():
    rng = np.random.default_rng(2)
    predictions, plausibilities = rng.random((2, 6)), rng.dirichlet(np.ones(6), (3, 2))
    first = metrics.top_k_accuracy(predictions, plausibilities, 1)
    for metric in (metrics.set_accuracy, metrics.overlap, metrics.average_overlap):
        np.testing.assert_array_equal(metric(predictions, plausibilities, 1), first)
    for metric in (metrics.top_k_accuracy, metrics.set_accuracy):
        assert np.all(np.asarray(metric(predictions, plausibilities, 6)) == 1)
    scores = np.arange(6.0)
    for k in (1, 3):
        for metric in (metrics.kendall_tau, metrics.spearman_footrule):
            np.testing.assert_array_equal(metric([scores] * 2, [[scores[::-1]] * 2] * 3, k), 1)


def test_lists_of_one_class_are_right_or_wrong_and_averages_share_their_count():
    # What lets an evaluation count such metrics once.
    one, other = np.array([3]), np.array([5])
    for metric in metrics.METRICS.values():
        count = jax.jit(metric.count)
        if not metric.of_masses:
            equal, different = (int(count(one, of)) for of in (one, other))
            worth = (0, metric.scale(1)) if metric.better == "smaller" else (metric.scale(1), 0)
            assert (equal, different) == worth
        if metric.averages:
            lists = np.array([[0, 1, 2], [0, 2, 1], [4, 0, 5]]).T
            of = metrics.METRICS[metric.averages]
            np.testing.assert_array_equal(count(lists, lists[:, :1]), jax.jit(of.count)(lists, lists[:, :1]))
            assert metric.scale(3) == of.scale(3)
