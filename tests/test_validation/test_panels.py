"""The short form of the check of agreement and panels, and intervals that ignore clusters caught by it."""

from validation import panels
from validation._breaks import broken
from validation._result import Settings, Verdict


def test_intervals_cover_and_those_that_ignore_clusters_are_caught(monkeypatch):
    monkeypatch.setattr(panels, "_LARGE", 20_000)
    verdict = Verdict(tuple(panels.check(Settings(quick=True, progress=False))))
    assert verdict.n_tests == 2 * 9
    assert verdict.passed, str(verdict)
    with broken("panels-clusters"):
        caught = Verdict(tuple(panels.check(Settings(quick=True, progress=False)))).failures
    assert caught
    assert {result.quantity for result in caught} == {"60 clusters"}
