"""Metrics on plain arrays against SPEC 3 written as loops, and against scikit-learn where there is one draw."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import top_k_accuracy_score

from plausibly import metrics
from plausibly.errors import ArgumentError


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
    return predictions, plausibilities, draw(st.sampled_from([k for k in (1, 2, 4, 6) if k <= n_classes]))


@pytest.mark.parametrize("name", LITERAL)
@settings(max_examples=40)
@given(problem=problems())
def test_metric_is_its_definition(name, problem):
    predictions, plausibilities, k = problem
    expected = [
        [LITERAL[name](scores, draw, k) for scores, draw in zip(predictions, draws, strict=True)]
        for draws in plausibilities
    ]
    metric = getattr(metrics, name)
    np.testing.assert_allclose(metric(predictions, plausibilities, k), expected, atol=1e-6)
    np.testing.assert_allclose(metric(jnp.array(predictions), jnp.array(plausibilities), k), expected, atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_draw_gives_the_standard_metric(k):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 6, 200)
    scores = rng.random((200, 6))
    ours = metrics.top_k_accuracy(scores, np.eye(6)[labels][None], k)
    assert float(ours.mean()) == pytest.approx(top_k_accuracy_score(labels, scores, k=k), abs=1e-6)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_distances_of_one_draw_are_those_of_full_rankings(k):
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
        assert (metric(scores, scores[None], k) == 0).all()
        np.testing.assert_allclose(metric(scores, draw[None], k), metric(draw, scores[None], k), atol=1e-7)


def test_the_treatment_of_ties_matters_as_much_as_it_should():
    # Two classes tie for the first place of every draw; the classifier names the first of them, or the second.
    plausibilities = np.tile([0.4, 0.4, 0.2], (2000, 1, 1))
    for scores, in_order in (([[1.0, 0.5, 0]], 1.0), ([[0.5, 1.0, 0]], 0.0)):
        assert float(metrics.top_k_accuracy(scores, plausibilities, 1).mean()) == in_order
        random = metrics.top_k_accuracy(scores, plausibilities, 1, break_ties="random", seed=1)
        # Five standard deviations: a false alarm in two million seeds.
        assert abs(float(random.mean()) - 0.5) < 5 * np.sqrt(0.25 / 2000)
        # A list of two holds both of the tied classes.
        for ties in ("order", "random"):
            assert float(metrics.top_k_accuracy(scores, plausibilities, 2, break_ties=ties).mean()) == 1


def test_metrics_agree_where_they_must_and_are_greatest_without_a_common_class():
    rng = np.random.default_rng(2)
    predictions, plausibilities = rng.random((20, 5)), rng.dirichlet(np.ones(5), (30, 20))
    first = metrics.top_k_accuracy(predictions, plausibilities, 1)
    for metric in (metrics.set_accuracy, metrics.overlap, metrics.average_overlap):
        np.testing.assert_array_equal(metric(predictions, plausibilities, 1), first)
    assert (metrics.top_k_accuracy(predictions, plausibilities, 5) == 1).all()
    assert (metrics.set_accuracy(predictions, plausibilities, 5) == 1).all()
    scores, draw = np.arange(8.0)[None], np.arange(8.0)[None, None, ::-1]
    for k in (1, 2, 4):
        assert float(metrics.kendall_tau(scores, draw, k)[0, 0]) == 1
        assert float(metrics.spearman_footrule(scores, draw, k)[0, 0]) == 1


@pytest.mark.parametrize("name", LITERAL)
def test_metrics_work_inside_jit(name):
    metric = getattr(metrics, name)
    predictions, plausibilities = jnp.array([[0.2, 0.5, 0.3]]), jnp.array([[[0.2, 0.3, 0.5]], [[0.5, 0.2, 0.3]]])
    jitted = jax.jit(lambda a, b: metric(a, b, 2))(predictions, plausibilities)
    np.testing.assert_allclose(jitted, metric(predictions, plausibilities, 2), rtol=1e-6)


def test_random_ties_are_seeded_fair_and_independent():
    predictions, plausibilities = np.ones((4000, 4)), np.tile([0.1, 0.2, 0.6, 0.1], (1, 4000, 1))
    hit = metrics.top_k_accuracy(predictions, plausibilities, 1, break_ties="random", seed=3)
    again = metrics.top_k_accuracy(predictions, plausibilities, 1, break_ties="random", seed=3)
    np.testing.assert_array_equal(hit, again)
    # One in four; five standard deviations: a false alarm in two million seeds.
    assert abs(float(hit.mean()) - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)
    assert metrics.top_k_accuracy(predictions, plausibilities, 1).sum() == 0
    tied = np.ones((4000, 2))
    hit = metrics.top_k_accuracy(tied, tied[None], 1, break_ties="random")
    assert abs(float(hit.mean()) - 0.5) < 5 * np.sqrt(0.25 / 4000)


BAD = {
    "k too large": (np.ones((1, 3)), np.ones((1, 1, 3)), 4, "k must be a whole number between 1 and .* 3, but 4"),
    "k zero": (np.ones((1, 3)), np.ones((1, 1, 3)), 0, "k must be a whole number .* but 0 was given"),
    "k a fraction": (np.ones((1, 3)), np.ones((1, 1, 3)), 1.5, "k must be a whole number .* but 1.5 was given"),
    "k a truth value": (np.ones((1, 3)), np.ones((1, 1, 3)), True, "k must be a whole number .* but True was given"),
    "two dimensions": (np.ones((1, 3)), np.ones((1, 3)), 1, r"plausibilities must have the shape \(draw, case"),
    "no draws": (np.ones((1, 3)), np.ones((0, 1, 3)), 1, "none of them empty"),
    "too few cases": (np.ones((1, 3)), np.ones((2, 2, 3)), 1, r"predictions must have .* \(2, 3\), but .* \(1, 3\)"),
    "too few classes": (np.ones((2, 2)), np.ones((2, 2, 3)), 1, r"predictions must have .* \(2, 3\), but .* \(2, 2\)"),
    "NaN score": (np.array([[1.0, np.nan]]), np.ones((1, 1, 2)), 1, r"finite numbers, but nan stands at \(0, 1\)"),
    "infinite score": (np.array([[np.inf, 1.0]]), np.ones((1, 1, 2)), 1, r"but inf stands at \(0, 0\)"),
    "NaN draw": (np.ones((1, 2)), np.array([[[1.0, np.nan]]]), 1, r"but nan stands at \(0, 0, 1\)"),
    "negative draw": (np.ones((1, 2)), np.array([[[1.5, -0.5]]]), 1, r"not negative, but -0.5 stands at \(0, 0, 1\)"),
    "words": (np.array([["a", "b"]]), np.ones((1, 1, 2)), 1, "predictions must be numbers, but an array of type <U1"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", LITERAL)
def test_bad_arguments_are_refused_in_one_sentence(name, bad):
    predictions, plausibilities, k, message = BAD[bad]
    with pytest.raises(ArgumentError, match=message):
        getattr(metrics, name)(predictions, plausibilities, k)


def test_unknown_treatment_of_ties_is_refused():
    with pytest.raises(ArgumentError, match='break_ties must be "order" or "random", but \'best\' was given'):
        metrics.overlap(np.ones((1, 3)), np.ones((1, 1, 3)), 1, break_ties="best")


def test_lists_of_one_class_are_right_or_wrong_and_averages_share_their_count():
    # What lets an evaluation count such metrics once.
    one, other = jnp.array([3]), jnp.array([5])
    for metric in metrics.METRICS.values():
        if not metric.of_masses:
            equal, different = (int(metric.count(one, of)) for of in (one, other))
            worth = (0, metric.scale(1)) if metric.better == "smaller" else (metric.scale(1), 0)
            assert (equal, different) == worth
        if metric.averages:
            lists = jnp.array([[0, 1, 2], [0, 2, 1], [4, 0, 5]]).T
            of = metrics.METRICS[metric.averages]
            for k in (2, 3):
                np.testing.assert_array_equal(
                    metric.count(lists[:k], lists[:k, :1]), of.count(lists[:k], lists[:k, :1])
                )
                assert metric.scale(k) == of.scale(k)
