"""Verdicts that say no more than they know: shared errors, base rates, two readings, and what takes back an answer."""

import re
import time
from dataclasses import replace

import numpy as np
import pytest

from plausibly.agreement import Labels, judge
from plausibly.agreement.judge import _fit
from plausibly.agreement.judge import _readings as readings
from plausibly.agreement.judge._headline import NAMES, Question, headline
from plausibly.data.labels.predictions import read_models
from tests import worlds
from tests.worlds import answers, noisy, table

WORDS = 25  #: of a sentence that is read aloud


@pytest.fixture(scope="module")
def crowd():
    return worlds.crowd()


def with_fit(found, model="expert", **changes):
    """The judgement with another fit of one model, and no answers yet."""
    return replace(found, fits=found.fits | {model: replace(found.fits[model], **changes)})


#: Answers to the four questions, reasons, and how the headline begins: what it must say, and no more.
HEADLINES = [
    ("yes yes yes yes", (), "If the annotators are right, m can stand in for one of them"),
    ("yes yes open open", ("ties",), "If the annotators are right, m can probably stand in for one of them"),
    ("open yes unknown unknown", (), "Whether m can stand in for an annotator is largely open"),
    ("open open open open", (), "These data do not decide whether m can stand in"),
    ("no open open open", (), "m is farther from the annotators than they are from each other, which is worse only if"),
    ("no no unknown unknown", (), "If the annotators are right, m should not stand in for one of them"),
    ("no no no no", (), "m should not stand in for an annotator"),
    ("open open no open", (), "m should probably not stand in for an annotator"),
    ("no yes open open", (), "The answers about m differ. It is farther from the annotators"),
    ("yes yes no open", (), "The answers about m differ. Find out why before"),
    ("cannot tell,cannot tell,open,yes", (), "beside. These annotators cannot tell whether m can stand in"),
    ("cannot tell,cannot tell,no,no", (), "m should probably not stand in for an annotator"),
    ("yes yes yes yes", ("copy",), "m should not count as another annotator"),
    ("yes yes yes yes", ("base rates",), "These answers do not show that m can stand in"),
    ("yes yes yes yes", ("shared error",), "These answers do not show that m can stand in"),
    ("yes yes yes yes", ("unknown labels",), "These answers do not show that m can stand in"),
    ("yes yes yes yes", ("scale",), "said first. So no answer says how good it is"),
]


@pytest.mark.parametrize(("answers", "reasons", "start"), HEADLINES)
def test_a_headline_says_no_more_than_the_answers(answers, reasons, start):
    said = answers.split("," if "," in answers else None)
    allowed = "allowing it to be up to 0.20 worse"
    asked = [Question(name, answer, (), allowed) for name, answer in zip(NAMES, said, strict=True)]
    told = headline("m", asked, dict.fromkeys(reasons, "said first"), {}, "beside", None)
    assert ". ".join(told).startswith(start)
    if "scale" not in reasons:
        (of_answers,) = (one for one in told if one.startswith("Answers"))
        assert (allowed in of_answers) == (said[1] == "yes")
    if "yes" in said and not reasons:
        assert sum("are right" in one for one in told) == 1
    assert sum(allowed in one for one in told) <= 1
    assert max(len(one.split()) for one in told) <= WORDS


@pytest.fixture(scope="module")
def by_gold():
    """Three of five readers see each case; a model knows better, copies their vote, is .2 worse, or says a always."""
    random = np.random.default_rng(11)
    truth = (random.random(400) < 0.4).astype(int)
    said = noisy(random, truth, 0.86, 2, (5,))
    said[np.argsort(random.random(said.shape), axis=1) < 2] = -1
    vote = ((said == 1).sum(axis=1) > 1).astype(int)
    known = {"better": noisy(random, truth, 0.95, 2), "copy": vote, "worse": noisy(random, truth, 0.66, 2)}
    known["never"] = np.zeros(400, int)
    models = {name: answers(own) for name, own in known.items()}
    found = judge(table(said), models, gold=answers(truth), model=None, replicates=200, progress=False)
    return truth, said, known, found


def test_gold_labels_decide(by_gold):
    """A model that knows better read "answers differ", and one that copies the annotators' errors "can stand in"."""
    truth, said, known, found = by_gold
    how = {"better": "more", "copy": "more", "worse": "less", "never": "less"}
    of_each = (said == truth[:, None]).sum(axis=1) / (said >= 0).sum(axis=1)
    for name, own in known.items():
        first, *rest = found.sentences(name)
        accuracy = (own == truth).mean()
        assert (
            f"{name} is {how[name]} accurate than the average annotator: {accuracy:.2f} and {of_each.mean():.2f}"
            in first
        )
        row, lead = found.table.loc[name], accuracy - of_each.mean()
        se = ((own == truth) - of_each).std() / 20
        assert row["gold_difference_lower"] == pytest.approx(lead - 1.88 * se, abs=0.01)
        assert row["gold_difference_upper"] == pytest.approx(lead + 1.88 * se, abs=0.01)
        assert ("further opinion" in " ".join(rest)) == (name == "copy")
        assert (f"So {name} should not stand in" in " ".join(rest)) == (name in ("worse", "never"))
        assert not any("are right" in one or "differ" in one for one in (first, *rest[:2]) if "difference" not in one)
    close, *others = found.questions["better"]
    apart = replace(found)
    apart.__dict__["questions"] = {"better": [replace(close, answer="no"), *others]}
    assert found.sentences("better")[1] == "So better can stand in for an annotator"
    wrong = (said == 1).sum(axis=1) > 1
    assert f"of {(wrong != truth).sum()} answers that most of them get wrong, it gives {(wrong != truth).sum()}" in (
        found.headline("copy")
    )


@pytest.mark.slow
def test_no_sentence_is_long(by_gold, crowd):
    for found in (crowd[2], by_gold[3], replace(by_gold[3], gold=None)):
        for name in found.models:
            said = [*found.sentences(name), *found.limits(name), *(one.words for one in found.questions[name])]
            said += [found.test.verdict()]
            for sentence in re.split(r"(?<=[^.])\. ", ". ".join(said)):
                assert len(sentence.split()) <= WORDS, sentence


def test_a_good_model_reads_unlike_a_constant_where_annotators_cannot_tell():
    """Both began with the same sentence."""
    random = np.random.default_rng(3)
    truth = (random.random(300) < 0.03).astype(int)
    models = {"good": answers(truth), "never": answers(0 * truth)}
    found = judge(table(noisy(random, truth, 0.96, 2, (3,))), models, model=None, progress=False)
    assert {found.questions[name][1].answer for name in models} == {"cannot tell"}
    assert "agrees with the annotators better than always answering 'a'" in found.sentences("good")[0]
    assert "agrees with the annotators no better than always answering 'a'" in found.sentences("never")[0]
    for name in models:
        assert "cannot tell whether" in found.sentences(name)[1]


@pytest.mark.parametrize("distance", ["nominal", "squared"])
def test_scores_on_another_scale_are_no_answers(distance):
    """Of people's 0 and 1, and a judge's 1 to 100, it was said that the judge should not stand in."""
    random = np.random.default_rng(2)
    truth = random.integers(2, size=80)
    said, score = noisy(random, truth, 0.9, 2, (3,)), np.clip(np.round(40 * truth + random.normal(40, 9, 80)), 1, 100)
    models = {"gpt": answers(score.astype(int), range(101)), "same": answers(truth, range(101))}
    found = judge(table(said, range(2)), models, distance=distance, model=None, replicates=50, progress=False)
    assert found.headline("gpt").startswith("gpt and the annotators use different scales (")
    assert "should" not in found.verdict("gpt")
    assert "scale" not in found.verdict("same")


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
    said = ("yes", ())
    for row, others, doubt, answer in (
        ({"p_agreeing": 0.5}, yes, None, "yes"),
        ({"p_agreeing": 0.01}, yes, None, "open"),
        ({}, {1: "no", 4: "open"}, None, "open"),
        ({}, {1: "open", 4: "no"}, None, "open"),
        ({}, yes, "gold labels contradict", "open"),
        ({"p_constant": 0.96}, yes, None, "cannot tell"),
    ):
        assert readings.held_back(said, row, others, doubt)[0] == answer
    assert readings.cannot_tell(said, ["By chance"]) == ("cannot tell", ("These annotators cannot tell", "By chance"))


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


def test_a_way_out_is_offered_to_who_waits(monkeypatch):
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
    assert "The best constant answer does as well" in words
    assert "it would pass" not in words
