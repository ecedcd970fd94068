"""Exact draws of Plackett-Luce, against integrals on a grid, a closed form and enumeration of what is nested."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausibly as pb
from plausibly.base.random_streams import case_keys
from plausibly.data.annotations import Annotations, Slots
from plausibly.inference import dirichlet_tree, nested_cases

CLASSES = "abcdefg"
DRAWS = 3000


def draw(annotations, reliability, alpha=1.0):
    slots = Slots.of(annotations)
    keys = case_keys(4, annotations.cases)
    concentration = np.full(len(slots), alpha)
    return dirichlet_tree(annotations, slots, reliability, concentration, keys, chains=2, draws=DRAWS), slots


def moments(rankings, reliability, alpha, n):
    """Means and second moments over three classes of which ``rankings`` name some, by a sum over midpoints."""
    step = 1 / n
    mid = (np.arange(n) + 0.5) * step
    x, y = np.meshgrid(mid, mid)
    inside = x + y < 1 - step / 2
    weights = np.stack([x[inside], y[inside], 1 - x[inside] - y[inside]])
    log = ((alpha - 1) * np.log(weights)).sum(0)
    for ranking in rankings:
        left = [0, 1, 2]
        for k in ranking:
            log += reliability * (np.log(weights[k]) - np.log(weights[left].sum(0)))
            left.remove(k)
    p = np.exp(log - log.max())
    p /= p.sum()
    return weights @ p, (weights[:, None] * weights) @ p


@pytest.mark.parametrize(
    "rankings",
    [[[0, 1], [1]], [[0, 1], [0, 2], [0, 1], [2]], [[1], [1], [2]], [[2, 0, 1], [2, 0]]],
)
@pytest.mark.parametrize("reliability", [0.5, 3.0])
def test_means_and_second_moments_are_those_of_the_posterior(rankings, reliability):
    named = Annotations.from_rankings([[[[CLASSES[k]] for k in ranking] for ranking in rankings]], classes="abc")
    draws, _ = draw(named, reliability, alpha=1.5)
    # The classes that nobody named come last, so that slots stand for the classes in their order, but for the last.
    named_classes = sorted({k for ranking in rankings for k in ranking})
    order = named_classes + [k for k in range(3) if k not in named_classes]
    relabelled = [[order.index(k) for k in ranking] for ranking in rankings]
    mean, second = moments(relabelled, reliability, 1.5, 800)
    flat = draws.reshape(-1, 3).astype(float)
    se = flat.std(0) / np.sqrt(len(flat))
    np.testing.assert_array_less(np.abs(flat.mean(0) - mean), 5 * se + 1e-3)
    products = flat[:, :, None] * flat[:, None]
    se = products.std(0) / np.sqrt(len(flat))
    np.testing.assert_array_less(np.abs(products.mean(0) - second), 5 * se + 1e-3)


def test_single_labels_give_the_dirichlet_distribution():
    annotations = Annotations.from_labels([["a", "a", "b"], ["c", "a", "a"]], classes=CLASSES)
    draws, slots = draw(annotations, 2.0)
    shape = 1 + 2.0 * np.array([2, 1, 0, 2, 1, 0])
    total = np.repeat([9.0, 9.0], 3)
    flat = draws.reshape(-1, len(slots))
    mean, variance = shape / total, shape * (total - shape) / total**2 / (total + 1)
    np.testing.assert_array_less(np.abs(flat.mean(0) - mean), 5 * np.sqrt(variance / len(flat)))
    np.testing.assert_allclose(flat.var(0), variance, rtol=0.1)


@settings(max_examples=40)
@given(st.lists(st.lists(st.permutations("abcd").map(lambda p: p[: 1 + ord(p[0]) % 4]), min_size=1, max_size=3)))
def test_nested_means_that_what_was_left_is_nested(cases):
    if not cases:
        return
    annotations = Annotations.from_rankings([[[[k] for k in r] for r in case] for case in cases], classes="abcde")
    for case, found in zip(cases, nested_cases(annotations), strict=True):
        gone = [frozenset(ranking[:i]) for ranking in case for i in range(len(ranking))]
        assert found == all(a <= b or b <= a for a, b in combinations(gone, 2))


def test_ties_are_not_nested():
    annotations = Annotations.from_rankings([[[["a", "b"]]], [[["a"]], [["b"], ["a", "c"]]], [[["a"]]]], classes="abcd")
    assert nested_cases(annotations).tolist() == [False, False, True]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["power", pytest.param("temper", marks=pytest.mark.slow)])
def test_auto_takes_the_exact_posterior_where_it_is_known(mode):
    """At reliability 1 the two modes are the same, and elsewhere only "power" has the closed form."""
    agree, quarrel = [[["a"], ["b"]], [["a"]]], [[["a"], ["b"]], [["b"], ["a"]]]
    annotations = Annotations.from_rankings({"cases": {"p": agree, "q": quarrel, "r": agree}}, classes="abcd")
    options = {"mode": mode, "draws": 20, "warmup": 20, "chains": 2, "progress": False}
    posterior = pb.aggregate(annotations, "plackett-luce", reliability=2 if mode == "power" else 1, **options)
    # The others by Gibbs or by NUTS, whose statistics of exact draws are zeros.
    steps = posterior["sample_stats"]["lp" if mode == "power" else "n_steps"]
    assert (steps != 0).any(("chain", "draw")).values.tolist() == [False, True, False]
    assert posterior.attrs["exact"] == "2 of 3 cases"
    of_case = posterior["posterior"]["plausibility"].groupby("case").sum()
    np.testing.assert_allclose(of_case, np.ones((2, 20, 3)), rtol=1e-5)
    if mode == "temper":
        sharper = pb.aggregate(annotations, "plackett-luce", reliability=2, **options)
        assert sharper.attrs["exact"] == "0 of 3 cases"
