"""The short form of the check of sets, and broken ones caught."""

import pytest

from validation import conformal
from validation._breaks import BREAKS, broken
from validation._result import Verdict


def short():
    found = conformal.coverage("clear-cut", 20, 600, [0, 1])
    return Verdict(
        tuple(
            conformal._result(score, 20, kept, conformal.TARGETS[target][2], randomised=randomised)
            for (score, target, randomised), kept in found.items()
        )
    )


def test_sets_have_their_coverage():
    verdict = short()
    assert verdict.n_tests == len(conformal.SCORES) * len(conformal.TARGETS) * 9
    assert verdict.passed, str(verdict)


@pytest.mark.parametrize("name", [name for name, one in BREAKS.items() if one.group == "conformal"])
def test_broken_thresholds_are_caught(name):
    with broken(name):
        assert not short().passed
