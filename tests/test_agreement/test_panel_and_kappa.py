"""Majorities by enumeration, the published 83 %, kappas against scikit-learn and print, and their paradoxes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from plausibly.agreement import (
    actual_accuracy,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    ground_truth_accuracy,
    gwet_ac,
    intraclass_correlations,
    majority_accuracy,
    required_reliability,
    weighted_reliability,
)
from tests.test_agreement.test_agreement import PUBLISHED, long

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


# Gwet (2014), table of four raters; AC2 by irrCAC 0.4 (Python 0.3), digit by digit.
@pytest.mark.parametrize(
    ("weights", "published"),
    [("nominal", 0.77544), ("ordinal", 0.89894), ("linear", 0.85874), ("quadratic", 0.91400)],
)
def test_gwets_example(weights, published):
    table = long(PUBLISHED)
    assert gwet_ac(table, weights) == pytest.approx(published, abs=5e-6)
    found = agreement(table, {"linear": "absolute", "quadratic": "interval"}.get(weights, weights))
    row = found.coefficients(replicates=400).loc["Gwet's AC1" if weights == "nominal" else "Gwet's AC2"]
    assert row["value"] == pytest.approx(published, abs=5e-6)
    # His interval, by the delta method at 95 %: .461 to 1; the cases are few, so only about.
    assert row["lower"] == pytest.approx({"nominal": 0.46}.get(weights, 0.65), abs=0.15)
    assert 0.9 < row["upper"] <= 1
    assert fleiss_kappa(table) == pytest.approx(0.761, abs=5e-4)
    names = dict(enumerate(["none", "mild", "moderate", "severe", "worst"], 1))
    words = [(case, who, names[label]) for case, who, label in table]
    assert gwet_ac(words, "ordinal", classes=names.values()) == pytest.approx(0.89894, abs=5e-6)


def test_gwets_coefficient_stays_where_kappa_falls():
    for table, kappa, ac in (([[118, 5], [2, 0]], -0.0234, 0.9408), ([[40, 9], [6, 45]], 0.70, 0.70)):
        assert cohen_kappa(of_table(table)) == pytest.approx(kappa, abs=0.005)
        assert gwet_ac(of_table(table)) == pytest.approx(ac, abs=0.001)


# Shrout & Fleiss (1979), table 2: six targets, four judges; intervals at 95 % as pingouin 0.6.1 prints them.
SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
ICCS = {
    "ICC1": (0.165742, -0.13, 0.72), "ICC2": (0.289764, 0.02, 0.76), "ICC3": (0.714841, 0.34, 0.95),
    "ICC1k": (0.442797, -0.88, 0.91), "ICC2k": (0.620051, 0.07, 0.93), "ICC3k": (0.909316, 0.68, 0.99),
}  # fmt: skip


def test_intraclass_correlations_are_those_of_shrout_and_fleiss():
    rows = [(target, judge, value) for target, row in enumerate(SHROUT) for judge, value in enumerate(row)]
    found = intraclass_correlations([*rows, ("gap", 0, 3), ("gap", 1, 5), ("gap", 2, 5)], ci_prob=0.95)
    for name, published in ICCS.items():
        row = found.loc[name, ["value", "lower", "upper"]].astype(float)
        assert row["value"] == pytest.approx(published[0], abs=5e-7)
        assert row.tolist()[1:] == pytest.approx(published[1:], abs=0.005)
    assert found.loc["ICC1", ["F", "df1", "df2"]].tolist() == [pytest.approx(1.794678, abs=1e-6), 5, 18]
    assert found.loc["ICC3", ["F", "df1", "df2"]].tolist() == [pytest.approx(11.027248, abs=1e-6), 5, 15]
    assert found["pvalue"].tolist()[:2] == [pytest.approx(0.164769, abs=1e-6), pytest.approx(0.000135, abs=1e-6)]
    assert found["cases"].eq(6).all()
    others = intraclass_correlations([(target, 4 * target + judge, value) for target, judge, value in rows])
    assert others["value"].tolist() == pytest.approx(
        [0.165742, np.nan, np.nan, 0.442797, np.nan, np.nan], nan_ok=True, abs=1e-6
    )


def test_coefficients_at_their_limits():
    perfect = {"p": {"a": 1, "b": 1}, "q": {"a": 2, "b": 2}, "r": {"a": 4, "b": 4}}
    constant = {"p": {"a": 1, "b": 1}, "q": {"a": 1, "b": 1}}
    found = intraclass_correlations(perfect)
    assert found["value"].eq(1).all()
    assert np.isnan(found[["lower", "upper"]].astype(float)).all(axis=None)
    assert np.isnan(intraclass_correlations(constant)["value"]).all()
    assert gwet_ac(constant) == gwet_ac(perfect) == gwet_ac(perfect, "quadratic") == 1
    table = agreement(perfect, "nominal").coefficients(replicates=200)
    assert table.loc["Gwet's AC1", "lower"] < 1  # three cases are not all
    assert agreement({"p": {"a": ["x"], "b": []}, "q": {"a": [], "b": []}}, "jaccard").coefficients().empty
