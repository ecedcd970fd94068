"""The short form of the check of the alternative annotator test, and a doubled ε caught by it."""

from validation import judge
from validation._breaks import broken
from validation._result import Settings, Verdict


def short(monkeypatch):
    for name, value in {"EPSILONS": (0.2,), "ANNOTATORS": (3,), "QUICK": 200, "QUICK_SIZES": (50,)}.items():
        monkeypatch.setattr(judge, name, value)
    return Verdict(tuple(judge.check(Settings(quick=True, progress=False))))


def test_few_models_are_certified_falsely(monkeypatch):
    verdict = short(monkeypatch)
    assert verdict.n_tests == 1
    assert verdict.passed, str(verdict)


def test_a_doubled_difference_is_caught(monkeypatch):
    with broken("judge-doubled"):
        assert not short(monkeypatch).passed
