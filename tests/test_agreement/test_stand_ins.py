"""Verdicts that say no more than they know: shared errors, base rates, two readings, and what takes back an answer."""

import time
from dataclasses import replace

import numpy as np
import pytest

from plausibly.agreement import Labels, judge
from plausibly.agreement.judge import _fit
from plausibly.agreement.judge import _readings as readings
from plausibly.data.labels.predictions import read_models
from tests import worlds
from tests.worlds import answers, noisy, table


@pytest.fixture(scope="module")
def crowd():
    return worlds.crowd()


def with_fit(found, model="expert", **changes):
    """The judgement with another fit of one model, and no answers yet."""
    return replace(found, fits=found.fits | {model: replace(found.fits[model], **changes)})


def test_a_reason_takes_back_the_yes_of_a_headline(crowd):
    found = crowd[2]
    assert "expert can stand in for an annotator: all four answers are yes (question 2 allows" in found.headline(
        "expert"
    )
    assert "up to 0.20 worse" in found.headline("expert")
    for name, why in (
        ("base rates", "constant answer"),
        ("shared error", "votes get wrong"),
        ("unknown labels", "no ann"),
    ):
        said = replace(found, reasons={"expert": {name: ""}}).headline("expert")
        assert said.startswith("These answers do not show that expert can stand in for an annotator, because")
        assert why in said
    assert "can stand in" in replace(found, reasons={"expert": {"ties": ""}}).headline("expert")


def test_question_3_needs_both_readings_and_that_nothing_else_says_no(crowd):
    found = crowd[2]
    low = with_fit(found, accuracy=found.fits["expert"].accuracy - 0.15)
    _, _, among, true = low.questions["expert"]
    assert (among.answer, true.answer) == ("open", "open")
    assert "by their labels alone" in among.words
    assert f"better than {low.table.loc['expert', 'n_beaten_dependent']} to 5 of 5" in among.words
    row = found.table.loc["expert"]
    same = (found.test.comparison.to_sets["expert"] == 0).mean()
    assert row["agreeing"] == pytest.approx(same)
    assert row["annotators_agreeing"] == pytest.approx(1 - found.test.comparison.annotator_discrepancy)
    yes = {1: "cannot tell", 4: "open"}  # a constant that is as close is no reason against an accuracy
    assert readings.held_back("yes", "", {"p_agreeing": 0.5}, yes, None, "") == ("yes", "")
    assert readings.held_back("yes", "", {"p_agreeing": 0.01}, yes, None, "")[0] == "open"
    for others in ({1: "no", 4: "open"}, {1: "open", 4: "no"}):
        answer, words = readings.held_back("yes", "", {}, others, None, "")
        assert answer == "open"
        assert "says no" in words
    assert readings.held_back("yes", "", {}, yes, None, "by chance")[0] == "cannot tell"
    assert readings.held_back("yes", "", {}, yes, "gold labels contradict", "")[0] == "open"
    assert readings.held_back("yes", "", {"p_constant": 0.96}, yes, None, "")[0] == "cannot tell"


def test_a_no_is_open_if_cases_that_mislead_the_annotators_explain_it(crowd):
    found = crowd[2]
    assert [question.answer for question in found.questions["bad"][2:]] == ["no", "no"]
    own = found.fits["bad"]
    below = {"accuracy": own.typical - 0.09, "independent": (own.independent[1] - 0.09, own.independent[1])}
    near = with_fit(found, "bad", lead=np.full_like(own.lead, -0.09), **below)
    for share, answer in ((0.0, "no"), (0.1, "open")):
        asked = replace(near, shared_errors=share)
        assert [question.answer for question in asked.questions["bad"][2:]] == [answer] * 2
        assert ("10 % of cases that mislead" in asked.questions["bad"][3].words) == bool(share)
    row = found.table.loc["expert"]
    ends = row[["accuracy_lower", "accuracy_upper", "accuracy_independent_lower", "accuracy_independent_upper"]]
    low, high = ends.min(), ends.max()
    assert row["accuracy_least"] == pytest.approx(low - 0.1 * (2 * low - 1))
    assert row["accuracy_most"] == pytest.approx(min(1.0, high + 0.1 * (2 * high - 1)))
    assert any("leave no trace in their labels" in note for note in found.notes("expert"))
    assert not any("leave no trace" in note for note in replace(found, shared_errors=0.0).notes("expert"))


def test_farther_is_not_worse(crowd):
    """A model that knows better than misled annotators was to "probably not stand in for an annotator"."""
    found = crowd[2]
    assert "worse only if they are right" in found.questions["bad"][0].words
    few = replace(found, fits={}, left_out="nobody asked")
    assert (
        few.headline("bad")
        == "bad should not stand in for an annotator if the annotators are right: both answers are no."
    )
    first, second, *rest = found.questions["bad"]
    half = replace(found)
    half.__dict__["questions"] = {"bad": [first, *(replace(one, answer="open") for one in (second, *rest))]}
    assert half.headline("bad").startswith("bad is farther from the annotators than they are from each other, which is")
    assert "should" not in half.headline("bad")


def test_chains_that_do_not_converge_leave_the_simplest_model(monkeypatch, crowd):
    frame, models, _ = crowd
    seen = []

    def fits(answers, *_, give_up=False):
        seen.append((answers.model, give_up))
        return None if give_up else ({}, "alone")

    monkeypatch.setattr(_fit, "_fits", fits)
    labels = Labels.of(frame)
    asked = _fit.answers_of(labels, read_models(models, labels, np.ones(240, bool)), "nominal", "auto")
    assert asked.model == "dawid-skene"
    sampling = {"draws": 250, "progress": False}
    answers, *_ = _fit.fit(asked, None, 0.94, sampling, simplify=True)
    assert answers.model == "one-coin"
    assert seen == [("dawid-skene", True), ("one-coin", False)]
    assert _fit.fit(asked, None, 0.94, sampling, simplify=False)[0].model == "dawid-skene"
    assert _fit.fit(asked, None, 0.94, sampling | {"draws": 20}, simplify=True)[0].model == "dawid-skene"
    told = replace(crowd[2], simplified=True)
    assert any("Chains of dawid-skene did not converge" in note for note in told.notes("expert"))


def test_ratings_with_rare_values_have_the_simplest_model():
    """Five values of 360 cases, of which the ends are rare, did not converge in half a minute."""
    random = np.random.default_rng(0)
    said = np.clip(np.round(random.normal(3, 1, (360, 1)) + 0.6 * random.normal(size=(360, 3))), 1, 5).astype(int)
    labels = Labels.of(table(said, "012345"))
    models = read_models({"m": answers(said[:, 0], "012345")}, labels, np.ones(360, bool))
    assert _fit.answers_of(labels, models, "nominal", "auto").model == "one-coin"


def test_a_way_out_is_offered_to_who_waits(monkeypatch, crowd):
    told = []
    monkeypatch.setattr(_fit, "_PATIENCE", 0.01)
    monkeypatch.setattr(_fit, "tell", told.append)
    monkeypatch.setattr(_fit, "_fits", lambda *_, **__: (time.sleep(0.2), {})[::-1])
    for progress in (False, True):
        assert not told
        _fit.fit(None, None, 0.94, {"draws": 250, "progress": progress}, simplify=False)
    assert len(told) == 1
    assert "--model none" in told[0]
    assert "model=None" in told[0]


def test_a_constant_that_is_right_by_gold_labels_cannot_be_told_from_a_good_model():
    random = np.random.default_rng(5)
    truth = (random.random(300) < 0.02).astype(int)
    never, gold = answers(np.zeros(300, int)), answers(truth)
    found = judge(table(noisy(random, truth, 0.95, 2, (3,))), {"never": never}, gold=gold, model=None, progress=False)
    row = found.table.loc["never"]
    assert row["gold_accuracy"] == pytest.approx(1 - truth.mean())
    assert row["p_gold"] == row["p_gold_constant"] == 1
    assert found.questions["never"][3].answer == "cannot tell"
    assert "can stand in" not in found.headline("never").partition("whether")[0]


def test_base_rates_are_named_without_chains(monkeypatch):
    random = np.random.default_rng(6)
    truth = (random.random(60) < 0.1).astype(int)
    monkeypatch.setattr(_fit, "_converged", lambda *_: False)
    few = {"draws": 20, "warmup": 5, "chains": 2, "replicates": 50, "progress": False}
    found = judge(
        table(noisy(random, truth, 0.95, 2, (3,))), {"m": answers(np.zeros(60, int))}, model="one-coin", **few
    )
    assert "finds only 0 % of" in found.reasons["m"]["base rates"]


def test_agreement_alone_is_of_equal_labels_whatever_the_distance():
    random = np.random.default_rng(7)
    said = random.integers(1, 4, (40, 3))
    own = random.integers(1, 4, 40)
    found = judge(
        table(said, range(4)), {"m": answers(own, range(4))}, distance="squared", model="one-coin",
        draws=20, warmup=5, chains=2, replicates=50, progress=False,
    )  # fmt: skip
    assert found.table.loc["m", "agreeing"] == pytest.approx((said == own[:, None]).mean())


def test_no_accuracy_exceeds_1():
    """A model that is right in 98 % was said to be right in up to 1.08."""
    assert readings.knowing(0.98, 0.1) == 1
    assert readings.knowing(0.8, 0.1) == pytest.approx(0.86)


def test_no_number_of_cases_is_promised_to_what_a_constant_does_as_well():
    """A model without any spans was told that it would pass with some more cases."""
    random = np.random.default_rng(4)
    true = random.random(60) < 0.3
    said = np.where(random.random((60, 3)) < 0.8, true[:, None], ~true[:, None])
    rows = [(f"c{i}", f"r{j}", str(said[i, j])) for i in range(60) for j in range(3)]
    never = [(f"c{i}", "False") for i in range(60)]
    words = judge(rows, {"never": never}, model=None, epsilon=0.0, progress=False).questions["never"][1].words
    assert "the best constant answer does as well" in words
    assert "it would pass" not in words
