"""The short form of the check of intervals, and broken ones caught."""

from validation import intervals
from validation._breaks import broken
from validation._result import Verdict


def short():
    covered = intervals.coverage("many labels", 60, 25, seed=1)
    return Verdict(tuple(intervals._results("many labels", 60, covered)))


def test_intervals_cover_and_broken_ones_are_caught():
    verdict = short()
    assert verdict.n_tests == 2 * 3
    assert verdict.passed, str(verdict)
    with broken("intervals-cases"):
        assert not short().passed
