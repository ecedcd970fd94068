"""Majorities by enumeration, the published 83 %, kappas against scikit-learn and print, and their paradoxes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from plausibly.agreement import (
    actual_accuracy,
    cohen_kappa,
    fleiss_kappa,
    ground_truth_accuracy,
    majority_accuracy,
    required_reliability,
    weighted_reliability,
)

shares = st.floats(0, 1)


@settings(max_examples=40)
@given(st.lists(shares, min_size=1, max_size=7))
def test_majority_is_the_sum_over_all_outcomes(accuracies):
    expected = 0.0
    for outcome in product((0, 1), repeat=len(accuracies)):
        probability = np.prod([a if right else 1 - a for a, right in zip(accuracies, outcome, strict=True)])
        expected += probability * (np.sign(2 * sum(outcome) - len(outcome)) + 1) / 2
    assert majority_accuracy(accuracies) == pytest.approx(expected)


def test_published_accuracy_and_limits_of_the_inverse():
    assert f"{actual_accuracy(0.98, 0.85):.0%}" == "83%"
    assert required_reliability(0.9, 0.9) == 1
    assert required_reliability(0, 0) == 0


@settings(max_examples=40)
@given(st.floats(0.01, 1), st.floats(0.01, 0.999), st.integers(1, 9))
def test_required_reliability_is_the_inverse(measured, share, annotators):
    found = required_reliability(share * measured, measured, annotators)
    assert actual_accuracy(measured, ground_truth_accuracy(found, annotators)) == pytest.approx(share * measured)


def of_table(table):
    """Rows of two annotators from a table of counts, first annotator's label by second's."""
    pairs = [(a, b) for a, row in enumerate(table) for b, n in enumerate(row) for _ in range(n)]
    return [(i, j, label) for i, pair in enumerate(pairs) for j, label in enumerate(pair)]


# Feinstein & Cicchetti (1990), High agreement but low kappa, J. Clin. Epidemiol. 43, tables of the two paradoxes.
PARADOXES = {
    "85 % agreement, even labels": ([[40, 9], [6, 45]], 0.85, 0.70),
    "85 % agreement, uneven labels": ([[80, 10], [5, 5]], 0.85, 0.32),
    "60 % agreement, alike": ([[45, 15], [25, 15]], 0.60, 0.13),
    "60 % agreement, unlike": ([[25, 35], [5, 35]], 0.60, 0.26),
}


@pytest.mark.parametrize("name", PARADOXES)
def test_paradoxes_of_kappa(name):
    """Kappa differs where agreement does not: concordance and, for given competence, reliability stay the same."""
    table, agreement, kappa = PARADOXES[name]
    rows = of_table(table)
    assert cohen_kappa(rows) == pytest.approx(kappa, abs=0.005)
    result = weighted_reliability(rows, competence=0.9)
    assert result.concordance == pytest.approx(agreement)
    assert result.reliability == pytest.approx(agreement * 0.81 / 0.82)


def test_kappas_are_those_of_scikit_learn_and_print_or_refused():
    rng = np.random.default_rng(0)
    said = rng.integers(0, 4, (60, 3))
    rows = [(i, f"a{j}", f"label {said[i, j]}") for i in range(60) for j in range(3)]
    rows = [row for row in rows if not (row[0] < 10 and row[1] == "a2")]
    assert cohen_kappa(rows, "a0", "a1") == pytest.approx(cohen_kappa_score(said[:, 0], said[:, 1]))
    assert cohen_kappa(rows, "a2", "a1") == pytest.approx(cohen_kappa_score(said[10:, 2], said[10:, 1]))
    # Fleiss (1971), the table of his example as most textbooks reprint it: 10 subjects, 14 raters, κ = 0.210.
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    rows = []
    for case, row in enumerate(counts):
        labels = [label for label, n in enumerate(row) for _ in range(n)]
        rows += [(case, j, label) for j, label in enumerate(labels)]
    assert fleiss_kappa(rows) == pytest.approx(0.210, abs=0.0005)
    assert fleiss_kappa([*rows, ("alone", 0, 1)]) == pytest.approx(0.210, abs=0.0005)


@pytest.mark.parametrize("kappa", [cohen_kappa, fleiss_kappa])
def test_kappa_at_its_limits(kappa):
    assert kappa({"p": {"a": 1, "b": 1}, "q": {"a": 1, "b": 1}}) == 1  # one class
    assert kappa({"p": {"a": 1, "b": 1}, "q": {"a": 0, "b": 0}}) == 1
