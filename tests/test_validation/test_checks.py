"""Breaks on purpose are caught by short forms of checks; that these pass, ``python -m validation --quick`` says."""

import pytest

from validation import (
    annotators,
    conformal,
    designs,
    few,
    few_labels,
    intervals,
    judge,
    readers,
    stand_ins,
    systems,
    verdicts,
    verification,
    weighted_reliability,
)
from validation._breaks import BREAKS, broken
from validation._result import Settings, Verdict


def short(module, **sizes):
    """The check of a module, with some of its sizes changed."""

    def verdict(monkeypatch):
        for name, value in sizes.items():
            monkeypatch.setattr(module, name, value)
        return Verdict(tuple(module.check(Settings(quick=True, progress=False))))

    return verdict


def sets(_):
    found = conformal.coverage("clear-cut", 20, 600, [0, 1])
    return Verdict(
        tuple(
            conformal._result(score, 20, kept, conformal.TARGETS[target][2], randomised=randomised)
            for (score, target, randomised), kept in found.items()
        )
    )


def coverage(_):
    return Verdict(tuple(intervals._results("many labels", 60, intervals.coverage("many labels", 60, 12, seed=1))))


def of_few(_):
    what = "10 + 10, AUROC 0.97"
    return Verdict(tuple(few.results_of(what, *few.simulate(few.DESIGNS[what], 60, 0))))


# Check, number of p-values, and what is broken, with a quantity that is then wrong.
OF_SETS = [name for name, one in BREAKS.items() if one.group == "conformal"]
SHORT = {
    "conformal": (sets, len(conformal.SCORES) * len(conformal.TARGETS) * 9, dict.fromkeys(OF_SETS)),
    "intervals": (coverage, 2 * 3, {"intervals-cases": None}),
    "few": (of_few, None, {"few-unseen": "10 + 10, AUROC 0.97"}),
    "few-labels": (short(few_labels, LABELS=(2,), QUICK=25), 7, {"few-labels-shares": None}),
    "verification": (short(verification, DESIGNS=("readers",), QUICK=20), 4, {"verification-alike": "specificity"}),
    "judge": (short(judge, EPSILONS=(0.2,), ANNOTATORS=(3,), QUICK=200, QUICK_SIZES=(50,)), 1, {"judge-doubled": None}),
    "verdicts": (
        short(verdicts, QUICK_AGREEMENTS=(0.0,), KINDS={"ratings": verdicts.KINDS["ratings"]}),
        1,
        {"verdicts-told": "yes"},
    ),
    "stand-ins": (short(stand_ins, DESIGNS={"misled": ("knows",)}), 2, {"stand-ins-misled": "accuracy"}),
    "systems": (
        short(systems, QUICK_HUMAN=(60,), CLUSTERS={"of 3": systems.CLUSTERS["of 3"]}, RATES=(0.6,)),
        12,
        {"systems-clusters": "60 human outcomes, clusters of 3, pass rate 0.6"},
    ),
    "designs": (
        short(designs, QUICK=60, PAIRS=("opponents",), RATED=("people",)),
        4,
        {"designs-alike": "40 prompts, 4 systems, 2 people"},
    ),
    "readers": (
        short(readers, CONDITIONS=((0.85, 10, 50),), DECIDED=readers.DECIDED[1:2]),
        12,
        {"readers-of-cases": "size"},
    ),
    "annotators": (short(annotators, KINDS={"categories": "nominal"}), None, {"no-copies": None}),
    "weighted": (short(weighted_reliability, LABELS=(5,), N_CASES=400, REPLICATES=100), None, {"wrong-labels": None}),
}
SLOW = SHORT.keys() - {"judge", "systems", "verdicts"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in SHORT]
)
def test_what_is_broken_is_caught(name, monkeypatch):
    check, n_tests, breaks = SHORT[name]
    for one, quantity in breaks.items():
        with broken(one):
            verdict = check(monkeypatch)
        caught = {result.quantity for result in verdict.failures}
        assert n_tests in (None, verdict.n_tests)
        assert caught, one
        assert quantity is None or quantity in caught


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
