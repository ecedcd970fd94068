"""The short form of the check of plans, in few worlds."""

import pytest

from validation import planning
from validation._result import Settings, Verdict


def short(monkeypatch):
    monkeypatch.setattr(planning, "QUICK", 12)
    return Verdict(tuple(planning.check(Settings(quick=True, progress=False))))


@pytest.mark.slow
def test_forecasts_come_true(monkeypatch):
    verdict = short(monkeypatch)
    assert verdict.passed, str(verdict)
