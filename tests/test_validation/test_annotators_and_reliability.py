"""The checks of flagged annotators and of weighted reliability: short forms, and broken ones caught."""

import pytest

from validation import annotators, weighted_reliability
from validation._breaks import BREAKS, broken
from validation._result import Settings, Verdict

SHORT = Settings(quick=True, progress=False)
CHECKS = {"annotators": annotators, "weighted": weighted_reliability}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["no-copies", "wrong-labels"])
def test_it_passes_and_what_is_broken_is_caught(name, monkeypatch):
    check = CHECKS[BREAKS[name].group]
    monkeypatch.setattr(weighted_reliability, "LABELS", (5,))
    monkeypatch.setattr(weighted_reliability, "N_CASES", 400)
    monkeypatch.setattr(weighted_reliability, "REPLICATES", 100)
    monkeypatch.setattr(annotators, "KINDS", {"categories": "nominal"})
    whole = Verdict(tuple(check.check(SHORT)))
    assert whole.passed, str(whole)
    with broken(name):
        assert not Verdict(tuple(check.check(SHORT))).passed


def test_the_share_to_be_covered_is_that_of_the_accuracies():
    """The share of pairs that agree and are right, of many cases, is its expectation."""
    found = []
    for seed in range(4):
        rows, truth, share = weighted_reliability.simulate(3, seed)
        right = {}
        for case, _, label in rows:
            right.setdefault(case, []).append(label == truth[case])
        pairs = [sum(r) * (sum(r) - 1) / (len(r) * (len(r) - 1)) for r in right.values()]
        found.append(sum(pairs) / len(pairs) - share)
    assert abs(sum(found) / 4) < 0.05
