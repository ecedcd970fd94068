"""The alternatives, against their definitions by loops, and the biases they are there to show."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import f1_score

from plausibly.agreement import annotator_first_ratio, discrepancy_ratio, others_consensus_ratio, relative_f1
from plausibly.datasets import simulate_label_noise
from plausibly.errors import AnnotationError


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return [(i, j, int(rng.integers(0, 3))) for i in range(12) for j in range(4) if rng.random() < 0.8]


def by_case(rows):
    found = {}
    for case, annotator, label in rows:
        found.setdefault(case, {})[annotator] = label
    return {case: said for case, said in found.items() if len(said) > 1}


def test_annotator_first(rows):
    cases = by_case(rows)
    model = {case: 1 for case in cases}
    alpha, mu = [], []
    for person in range(4):
        own = [(said, said[person], case) for case, said in cases.items() if person in said]
        alpha.append(np.mean([np.mean([said[j] != y for j in said if j != person]) for said, y, _ in own]))
        mu.append(np.mean([model[case] != y for _, y, case in own]))
    found = annotator_first_ratio(rows, {"A": model})
    assert found["A"] == pytest.approx(np.mean(mu) / np.mean(alpha))


@pytest.mark.parametrize("delta", ["nominal", "squared"])
def test_others_consensus(rows, delta):
    def distance(label, votes):
        if delta == "squared":
            return (label - np.mean(votes)) ** 2
        counts = Counter(votes)
        top = [value for value, n in counts.items() if n == max(counts.values())]
        return 1 - (label in top) / len(top)

    cases = by_case(rows)
    alpha = np.mean(
        [
            np.mean([distance(y, [z for k, z in said.items() if k != j]) for j, y in said.items()])
            for said in cases.values()
        ]
    )
    mu = np.mean([distance(1, list(said.values())) for said in cases.values()])
    found = others_consensus_ratio(rows, {"A": {case: 1 for case in cases}}, delta)
    assert found["A"] == pytest.approx(mu / alpha)


def test_relative_f1_is_that_of_scikit_learn_and_counts_ties_in_part():
    # Of four 0/1 labels, no two of which tie for the majority: all but one or all are alike.
    rng = np.random.default_rng(1)
    said = np.repeat(rng.integers(0, 2, (40, 1)), 4, axis=1)
    odd = rng.integers(0, 4, 40)
    said[np.arange(20), odd[:20]] ^= 1
    model = rng.integers(0, 2, 40)
    f1 = [f1_score(np.delete(said, j, axis=1).sum(axis=1) > 1, said[:, j], average="macro") for j in range(4)]
    expected = f1_score(said.sum(axis=1) > 2, model, average="macro") / np.mean(f1)
    rows = [(i, j, said[i, j]) for i in range(40) for j in range(4)]
    assert relative_f1(rows, {"A": dict(enumerate(model.tolist()))})["A"] == pytest.approx(expected)
    # Two annotators, who differ: the majority is half of each. The model says 1: F1 of 1 is 2 · ½ / (1 + ½) = 2/3,
    # that of 0 is 0, the mean 1/3. An annotator against the other: wrong, F1 0. Nothing to divide by: infinity.
    assert relative_f1({"p": {"a": 1, "b": 0}}, {"A": {"p": 1}}) == {"A": np.inf}


def test_alternatives_are_biased_by_skippers_and_numbers_of_annotators():
    """Easy cases have no discrepancy, hard ones are coin tosses; one annotator does only the easy ones.

    The model tosses coins, too, so it is as far from the annotators as they are from each other.
    """
    rng = np.random.default_rng(2)
    hard = np.arange(4000) % 2 == 1
    rows = [
        (i, j, int(rng.integers(0, 2)) if hard[i] else 0) for i in range(4000) for j in range(3) if j < 2 or not hard[i]
    ]
    said = {i: int(rng.integers(0, 2)) if hard[i] else 0 for i in range(4000)}
    assert discrepancy_ratio(rows, {"A": said}).ratio["A"] == pytest.approx(1, abs=0.05)
    # Errors of the model where nobody else errs weigh more in the wrong average.
    errs = {"A": {i: label if hard[i] or i % 20 else 1 for i, label in said.items()}}
    assert annotator_first_ratio(rows, errs)["A"] > discrepancy_ratio(rows, errs).ratio["A"] + 0.05
    ratios, f1, consensus = [], [], []
    for n in (3, 5, 10, 20):
        noise = simulate_label_noise(n_annotators=n, swap=1 / 9, models=(0.9,))
        ratios.append(discrepancy_ratio(noise.labels, noise.predictions).ratio["0.9"])
        f1.append(relative_f1(noise.labels, noise.predictions)["0.9"])
        consensus.append(others_consensus_ratio(noise.labels, noise.predictions)["0.9"])
    assert np.ptp(ratios) < 0.02
    assert np.mean(ratios) == pytest.approx(1, abs=0.02)
    assert np.ptp(f1) > 0.07
    assert np.ptp(consensus) > 0.3


@pytest.mark.parametrize("function", [others_consensus_ratio, relative_f1])
def test_a_consensus_takes_one_label_each(function):
    with pytest.raises(AnnotationError, match=r"row 2 \(case 'p', annotator 'a'\): a second label of the same case"):
        function([("p", "a", 1), ("p", "a", 0), ("p", "b", 0)], {"A": {"p": 1}})
    with pytest.raises(AnnotationError, match="no case has labels of two annotators"):
        function([("p", "a", 1)], {"A": {"p": 1}})
