"""The short form of the check of plans, and broken forecasts caught."""

import pytest

from validation import planning
from validation._breaks import broken
from validation._result import Settings, Verdict


def short():
    return Verdict(tuple(planning.check(Settings(quick=True, progress=False))))


@pytest.mark.slow
def test_forecasts_come_true():
    verdict = short()
    assert verdict.passed, str(verdict)


@pytest.mark.slow
def test_broken_forecasts_are_caught():
    with broken("planning-variance"):
        assert not short().passed
