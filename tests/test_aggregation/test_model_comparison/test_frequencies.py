"""The row of class frequencies of the other cases: against literal definitions, and what is said where it wins."""

from itertools import permutations

import numpy as np
import pytest

import plausibly as pb
from plausibly.aggregation.model_comparison._frequencies import _log_drawn_first, class_frequencies
from plausibly.aggregation.model_comparison._left_out import _without_others
from plausibly.aggregation.model_comparison._summary import BASELINE
from tests.test_aggregation.test_model_comparison.test_compare import CLASSES, RANKINGS, rankings


def frequencies(case, place):
    """Of classes at a place in other cases, and one annotation for all classes."""
    weight = np.full(len(CLASSES), 1 / len(CLASSES))
    for name, own in RANKINGS.items():
        for blocks in own.values() if name != case else ():
            if place < len(blocks):
                weight[[CLASSES.index(one) for one in blocks[place]]] += 1 / len(blocks[place])
    return weight


def literal(case, blocks):
    """Probability of a ranking: the sum over all orders within ties, one class after the other."""
    p, left = 1.0, set(range(len(CLASSES)))
    for place, block in enumerate(blocks):
        weight, named = frequencies(case, place), [CLASSES.index(one) for one in block]
        total = 0.0
        for order in permutations(named):
            rest, of_order = set(left), 1.0
            for one in order:
                of_order *= weight[one] / weight[[*rest]].sum()
                rest -= {one}
            total += of_order
        p, left = p * total, left - set(named)
    return np.log(p)


@pytest.mark.parametrize("observation", ["first", "ranking"])
def test_annotations_are_drawn_with_the_frequencies_of_other_cases(observation):
    found = class_frequencies(rankings(), of_rankings=observation == "ranking")
    wanted = []
    for case, own in RANKINGS.items():
        for blocks in own.values():
            weight = frequencies(case, 0)
            first = np.log(weight[[CLASSES.index(one) for one in blocks[0]]].sum() / weight.sum())
            wanted.append(first if observation == "first" else literal(case, blocks))
    np.testing.assert_allclose(found.elpd, wanted, rtol=1e-9)
    assert (found.in_sample != found.elpd).all()


def test_without_other_cases_all_rankings_are_as_probable_as_of_every_model():
    alone = pb.Annotations.from_rankings({"cases": {"p": RANKINGS["p"]}}, classes=CLASSES)
    for of_rankings in (False, True):
        found = class_frequencies(alone, of_rankings=of_rankings)
        np.testing.assert_allclose(found.elpd, _without_others(alone, of_rankings, None), rtol=1e-9)


def test_ties_of_many_classes_and_of_unlike_weights():
    """By inclusion and exclusion."""
    weight = np.array([1e-6, 0.2, 3.0])
    subsets = [np.array([n >> bit & 1 for bit in range(3)]) for n in range(8)]
    expected = sum((-1) ** one.sum() * 0.5 / (0.5 + one @ weight) for one in subsets)
    assert _log_drawn_first(weight, 0.5) == pytest.approx(np.log(expected), rel=1e-7)
    assert _log_drawn_first(np.ones(20), 0.0) == 0.0


def test_probabilities_of_all_rankings_with_the_same_blocks_sum_to_one():
    """That of each ranking of two classes, in a case of its own beside the same others."""
    others = {name: own for name, own in RANKINGS.items() if name != "p"}
    total = 0.0
    for first, second in permutations(CLASSES, 2):
        cases = {"new": {"u": [[first], [second]]}} | others
        annotations = pb.Annotations.from_rankings({"cases": cases}, classes=CLASSES)
        total += np.exp(class_frequencies(annotations, of_rankings=True).elpd[0])
    assert total == pytest.approx(1, rel=1e-9)


MODELS = {"dirichlet-categorical": (1, 3)}


def test_where_the_frequencies_win_that_comes_first():
    """Annotators who look at nothing: each label is drawn from the same frequencies in all cases."""
    random = np.random.default_rng(0)
    labels = random.choice(list("abcd"), (60, 3), p=[0.7, 0.2, 0.05, 0.05])
    compared = pb.compare_models(pb.Annotations.from_labels(labels.tolist()), MODELS, progress=False)
    assert compared.table.index[0] == BASELINE
    assert compared.table["verdict"].tolist() == ["best", "worse", "worse"]
    assert compared.verdict().startswith(f"No model predicts left-out annotations better than the {BASELINE} (log ")


def test_where_cases_differ_the_frequencies_are_worse():
    random = np.random.default_rng(0)
    truth = random.integers(0, 4, 60)
    labels = np.where(random.random((60, 3)) < 0.8, truth[:, None], random.integers(0, 4, (60, 3)))
    compared = pb.compare_models(pb.Annotations.from_labels(labels.astype(str).tolist()), MODELS, progress=False)
    assert compared.table.loc[BASELINE, "verdict"] == "worse"
    assert "looks at nothing" not in compared.verdict()


def test_none_is_best_where_two_do_not_differ():
    annotations = pb.Annotations.from_counts([[3, 1], [1, 3], [4, 0], [0, 4]])
    compared = pb.compare_models(annotations, {"dirichlet-categorical": (0.1, 1)}, progress=False)
    assert compared.table["verdict"].tolist()[:2] == ["no difference", "no difference"]
    assert compared.verdict().startswith(
        "No model can be called best yet: dirichlet-categorical@1 has the highest log probability"
    )
