"""Agreement with experts and with panels of them, against literal definitions."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.data.annotations import Annotations, Slots
from plausibly.evaluation import panels
from plausibly.posterior import build_posterior
from tests.test_metrics.test_panels import of_subsets

CLASSES = list("abcd")
RANKINGS = [
    [[["a"]], [["a", "b"], ["c"]], [["b"], ["a", "d"]], [["c", "a", "d"]]],
    [[["d"]], [["d"]], [["d", "a"]], [["b"]]],
    [[["b"]], [["c"]], [["a", "b", "c"]]],
]
SCORES = {"A": [[9, 1, 2, 3], [1, 2, 3, 9], [1, 2, 9, 3]], "B": [[1, 9, 2, 2], [9, 9, 0, 0], [0, 0, 0, 0]]}
CHOICES = {"A": [0, 3, 2], "B": [1, 0, -1]}  # -1: no answer


def first_blocks(of_case):
    return [[CLASSES.index(name) for name in ranking[0]] for ranking in of_case]


def literal(of_case, n, choice=None):
    """Mean over the labels that ties can become of the panels that a choice, or a further annotator, wins."""
    found = []
    for labels in product(*first_blocks(of_case)):
        if choice is not None:
            found.append(of_subsets(labels, 4, n)[choice] if choice >= 0 else 0)
            continue
        for at, label in enumerate(labels):
            found.append(of_subsets(labels[:at] + labels[at + 1 :], 4, n)[label])
    return np.mean(found)


@pytest.fixture(scope="module")
def annotations():
    return Annotations.from_rankings(RANKINGS, classes=CLASSES)


def test_everything_equals_its_literal_definition(annotations):
    results = panels(annotations, SCORES, most=3, replicates=0)
    agreement = {"expert_agreement", "expert_agreement_paired", "human_level"}
    assert set(results.data_vars) == agreement | {"panel_accuracy", "human_panel"}
    for name, choices in CHOICES.items():
        own = results.sel(classifier=name)
        named = [
            np.mean([(choice in block) / len(block) for block in first_blocks(of_case)])
            for of_case, choice in zip(RANKINGS, choices, strict=True)
        ]
        assert own["expert_agreement"].item() == pytest.approx(np.mean(named))
        for n in (1, 2, 3):
            expected = [literal(of_case, n, choice) for of_case, choice in zip(RANKINGS, choices, strict=True)]
            assert own["panel_accuracy"].sel(n=n).item() == pytest.approx(np.mean(expected))
    pairs = [
        np.mean([len({*a} & {*b}) / len(a) / len(b) for a, b in permutations(first_blocks(of_case), 2)])
        for of_case in RANKINGS
    ]
    assert results["human_level"].item() == pytest.approx(np.mean(pairs))
    for n in (1, 2):
        expected = np.mean([literal(of_case, n) for of_case in RANKINGS])
        assert results["human_panel"].sel(n=n).item() == pytest.approx(expected)
    assert np.isnan(results["human_panel"].sel(n=3).item())  # the last case has three labels


def test_many_ways_to_resolve_ties_are_sampled_by_the_name_of_the_case():
    tied = [[["a", "b", "c"]]] * 5 + [[["a", "d"]]] * 2 + [[["d"]]]
    assert np.prod([len(ranking[0]) for ranking in tied]) > 64
    cases = {f"p{i}": tied for i in range(100)} | {"single": [[["a"]]] * 8}
    forth, back = (
        Annotations.from_rankings({"cases": dict(order)}, classes=CLASSES)
        for order in (cases.items(), reversed(cases.items()))
    )
    scores = {"A": np.eye(4)[np.zeros(101, int)]}
    results = panels(forth, scores, most=3, replicates=0)
    expected = (100 * literal(tied, 3, 0) + 1) / 101
    assert results["panel_accuracy"].sel(n=3).item() == pytest.approx(expected, abs=0.01)
    again = panels(back, scores, most=3, replicates=0)
    assert results["panel_accuracy"].values == pytest.approx(again["panel_accuracy"].values, abs=1e-12)
    other = panels(forth, scores, most=3, replicates=0, seed=1)["panel_accuracy"].sel(n=3).item()
    assert 0 < abs(other - results["panel_accuracy"].sel(n=3).item()) < 0.02


def test_a_curve_compares_the_cases_that_have_the_labels():
    labels = [["a"]] * 18 + [["b"]] * 2 + [["a", "b"]] * 10 + [["a", "b", "a", "a"]] * 30 + [[*"abaabbb"]] * 5
    annotations = Annotations.from_labels(labels)
    scores = {"A": np.eye(2)[np.zeros(65, int)]}
    results = panels(annotations, scores, replicates=0)
    assert results["n"].values.tolist() == [1, 2, 3, 4]
    found = {name: results[name].attrs["n_cases"] for name in results}
    read = {"expert_agreement": 65, "expert_agreement_paired": 45, "human_level": 45}
    assert found == read | {"panel_accuracy": 35, "human_panel": 35}
    of_seven = np.array([3 / 7, 13 / 35])
    expected = (np.array([0.75, 1]) * 30 + of_seven * 5) / 35
    assert results["panel_accuracy"].sel(n=[1, 3]).values[0] == pytest.approx(expected)
    assert np.isnan(results["human_panel"].values).tolist() == [False, False, False, True]
    assert panels(annotations, scores, most=7)["panel_accuracy"].attrs["n_cases"] == 5
    alone = panels(Annotations.from_labels([["a"], ["b"]]), {}, replicates=10)
    assert alone["human_level"].isnull()
    assert alone["human_level_total"].isnull().all()
    assert alone.sizes["n"] == 1


def test_scores_at_a_threshold_and_random_ties():
    table = pd.DataFrame({"case": ["p", "p", "q"], "annotator": ["ann", "bob", "ann"], "score": [-1, 2, 3]})
    scores = Annotations.from_scores(table)
    results = panels(scores.split(0), {"A": [[0.2, 0.8], [0.2, 0.8]]}, replicates=0)
    assert results["expert_agreement"].item() == 0.75
    many = Annotations.from_labels([["a"]] * 200, classes="ab")
    even = {"A": np.ones((200, 2))}
    assert panels(many, even, replicates=0)["expert_agreement"].item() == 1
    assert 0.4 < panels(many, even, replicates=0, break_ties="random")["expert_agreement"].item() < 0.6


@pytest.mark.parametrize("clusters", [None, "patient"])
def test_replicates_have_the_weights_of_evaluate(clusters):
    """Where a case has one label and the posterior is sure of it, agreement and accuracy are the same."""
    random = np.random.default_rng(0)
    labels = random.integers(3, size=40)
    annotations = Annotations.from_labels(labels[:, None], classes=CLASSES[:3])
    clusters = None if clusters is None else [f"p{i % 13}" for i in range(40)]
    slots = Slots.of_every_class(40, 3)
    draws = np.tile(np.eye(3)[labels].ravel(), (1, 20, 1))
    posterior = build_posterior(draws, annotations, slots, point=draws[0, 0], concentration=1.0)
    options = {"clusters": clusters, "replicates": 20, "seed": 3}
    scores = {"A": random.random((40, 3)), "B": random.random((40, 3))}
    found = panels(annotations, scores, **options)
    results = pb.evaluate(posterior, scores, metrics="top1_accuracy", progress=False, **options)
    expected = results["top1_accuracy_sampling"].values
    assert np.ptp(expected) > 0.05
    np.testing.assert_allclose(found["expert_agreement_total"].values, expected, atol=1e-5)
    np.testing.assert_allclose(found["panel_accuracy_total"].values[:, 0], expected, atol=1e-5)
    assert found.attrs["clusters"] == (13 if clusters else 40)
    for name in ("expert_agreement", "expert_agreement_total", "human_level", "human_level_total"):
        np.testing.assert_allclose(results[name], found[name], atol=1e-6)
    assert results["human_level"].isnull()
    options |= {"replicates": 21}  # two rounds of draws
    twice = pb.evaluate(posterior, scores, metrics="top1_accuracy", progress=False, **options)
    np.testing.assert_allclose(twice["expert_agreement_total"], twice["top1_accuracy_sampling"], atol=1e-5)
    assert twice.sizes["replicate"] == 40


@pytest.mark.slow
def test_evaluate_weighs_cases_and_breaks_ties_alike(annotations):
    posterior = pb.aggregate(annotations, "irn", progress=False)
    options = {"k": 1, "metrics": ["top1_accuracy"], "replicates": 0, "progress": False}
    results = pb.evaluate(posterior, SCORES, weights=[1, 0, 3], **options)
    alone = [
        panels(annotations.select([case]), {name: [rows[case]] for name, rows in SCORES.items()}) for case in (0, 2)
    ]
    for name in ("expert_agreement", "human_level"):
        expected = (alone[0][name].values + 3 * alone[1][name].values) / 4
        np.testing.assert_allclose(results[name], expected)
    assert results["human_level"].attrs["n_cases"] == 2
    assert pb.evaluate(posterior, {}, **options)["expert_agreement"].shape == (0,)
    many = Annotations.from_labels([["a"]] * 200, classes="ab")
    even, options = {"A": np.ones((200, 2))}, {"break_ties": "random", "seed": 1, "replicates": 0}
    posterior = pb.aggregate(many, "dirichlet-categorical", draws=20, chains=1, progress=False)
    found = pb.evaluate(posterior, even, metrics=["top1_accuracy"], progress=False, **options)
    found = found["expert_agreement"].item()
    assert found == panels(many, even, **options)["expert_agreement"].item() != 1


def test_a_single_cluster_says_nothing_of_others(annotations):
    results = panels(annotations, SCORES, clusters=["p", "p", "p"], replicates=5)
    assert results["expert_agreement_total"].isnull().all()
    assert results["expert_agreement"].notnull().all()


def test_four_hundred_classes_with_ties_take_no_time():
    random = np.random.default_rng(0)
    names = [f"c{k}" for k in range(419)]
    rankings = [
        [[[names[k] for k in random.choice(12, random.integers(1, 3), replace=False)]] for _ in range(6)]
        for _ in range(300)
    ]
    annotations = Annotations.from_rankings(rankings, classes=names)
    results = panels(annotations, {"A": random.random((300, 419))}, replicates=10)
    assert results.sizes["n"] == 6
    assert (results["human_panel"].values[:5] < 0.5).all()


def test_published_agreement_of_a_classifier_and_of_annotators(shared):
    data = np.load(shared / "data/chaosnli/snli.npz")
    annotations = Annotations.from_counts(data["votes"], classes=["e", "n", "c"])
    results = panels(annotations, {"RoBERTa": data["roberta-base_0"]}, replicates=0)
    assert results["expert_agreement"].item() == pytest.approx(0.656, abs=5e-4)
    assert results["human_level"].item() == pytest.approx(0.658, abs=5e-4)
    assert results["panel_accuracy"].sel(n=3).item() == pytest.approx(0.70, abs=5e-3)
