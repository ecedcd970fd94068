"""The short form of the check of plans, in few worlds."""

import pytest

from validation import planning
from validation._result import Settings, Verdict


def short():
    return Verdict(tuple(planning.check(Settings(quick=True, progress=False))))


@pytest.mark.slow
def test_forecasts_come_true():
    verdict = short()
    assert verdict.passed, str(verdict)
