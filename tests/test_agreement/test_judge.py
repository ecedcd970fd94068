"""The judgement: its numbers are those of its parts, planted situations are told, groups, bad input."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from plausibly.agreement import Labels, alternative_annotator_test, discrepancy_ratio, judge
from plausibly.agreement.judge import _fit
from plausibly.agreement.judge._reasons import shared_error
from plausibly.base.errors import ArgumentError, PlausiblyWarning, PredictionError
from plausibly.data.labels.predictions import read_models
from tests import worlds
from tests.worlds import answers, noisy, table

FAST = {"draws": 250, "chains": 4, "warmup": 100, "replicates": 200, "progress": False}
UNJUDGED = FAST | {"draws": 50, "warmup": 20, "chains": 2}


@pytest.fixture(scope="module")
def crowd():
    return worlds.crowd()


def test_answers_agree_with_the_known_answer_where_chains_converge(crowd):
    _, _, found = crowd
    assert [question.answer for question in found.questions["bad"]] == ["no"] * 4
    assert "should not stand in" in found.headline("bad")
    assert [question.answer for question in found.questions["expert"]] == ["yes"] * 4
    assert "can stand in" in found.headline("expert")
    assert not found.reasons["expert"]
    assert list(found.reasons["copy"]) == ["copy"]
    assert "'a2'" in found.reasons["copy"]["copy"] or "a2" in found.reasons["copy"]["copy"]
    assert "should not count as another annotator" in found.headline("copy")
    assert found.table.loc["copy", "ratio"] < 1
    untold = judge(crowd[0], {"copy": crowd[1]["copy"]}, model=None, replicates=50, progress=False)
    assert list(untold.reasons["copy"]) == ["copy"]  # needs no model of annotators
    silent = replace(found, fits={name: replace(one, converged=False) for name, one in found.fits.items()})
    for question in silent.questions["expert"][2:]:
        assert question.answer == "unknown"
        assert "chains of the model of annotators did not converge" in question.words
        assert "0." not in question.words
    assert "The answers to questions 3 and 4 are unknown: chains" in silent.verdict("expert")
    assert [question.answer for question in silent.questions["expert"][:2]] == ["yes"] * 2


@pytest.mark.slow
def test_numbers_of_chains_that_did_not_converge_are_no_reasons_and_gold_labels_contradict_the_model(monkeypatch):
    """The reasons held posterior means of chains that did not converge; gold labels 0.2 away were not remarked on."""
    random = np.random.default_rng(0)
    truth = random.integers(2, size=200)
    miss = random.random((200, 7)) < np.where(truth == 1, 0.5, 0.04)[:, None]
    said = np.where(miss, 1 - truth[:, None], truth[:, None])
    vote = (said.mean(axis=1) > 0.5).astype(int)
    models, gold = {"m": answers(vote)}, answers(truth)
    monkeypatch.setattr(_fit, "_converged", lambda *_: True)  # nearly, and far enough for what is told here
    found = judge(table(said), models, model="one-coin", gold=gold, **UNJUDGED)
    assert "Gold labels contradict the model of annotators (one-coin)" in found.verdict()
    assert any("Rely on the gold labels" in note for note in found.notes("m"))
    agreeing = judge(table(said), models, model="one-coin", gold=answers(vote), **UNJUDGED)
    assert "contradict" not in agreeing.verdict()
    monkeypatch.setattr(_fit, "_converged", lambda *_: False)
    found = judge(table(said), models, **UNJUDGED)
    assert found.model == "dawid-skene"
    assert not {"shared error", "base rates"} & {*found.reasons["m"]}
    assert "sample longer" in found.verdict()
    assert "--model one-coin" in found.verdict()


def test_numbers_are_those_of_the_parts_and_of_the_subsets(crowd):
    frame, models, found = crowd
    ratio = discrepancy_ratio(frame, models, progress=False)
    assert found.table["ratio"].to_dict() == ratio.ratio.to_dict()
    lower = ratio.interval(0.94, 200, progress=False)["lower"]
    assert found.table["ratio_lower"].to_dict() == pytest.approx(lower.to_dict())
    test = alternative_annotator_test(frame, models, progress=False)
    assert found.table["winning_rate"].to_dict() == test.winning_rate.to_dict()
    votes = frame.groupby("case")["label"].agg(
        lambda own: own.value_counts().eq(own.value_counts().max()).pipe(lambda top: set(top[top].index))
    )
    shared = np.mean([(models["bad"][case] in top) / len(top) for case, top in votes.items()])
    assert found.table.loc["bad", "vote_accuracy"] == pytest.approx(shared)
    by = found.by[found.by["model"] == "bad"].set_index(["by", "group"])
    south = frame[frame["site"] == "south"]
    own = {
        name: {case: label for case, label in said.items() if case in set(south["case"])}
        for name, said in models.items()
    }
    alone = discrepancy_ratio(south, own, progress=False)
    assert by.loc[("site", "south"), "ratio"] == pytest.approx(alone.ratio["bad"])
    assert by.loc[("site", "south"), "advantage"] == pytest.approx(
        alternative_annotator_test(south, own, progress=False).advantage["bad"]
    )
    assert by.loc[("site", "south"), "n_cases"] == 60
    expected = found.fits["bad"].right[:, 180:].mean()
    assert by.loc[("site", "south"), "accuracy"] == pytest.approx(expected, abs=0.02)
    assert by.loc["site", "p_least_accurate"].sum() == pytest.approx(1)
    assert set(by.loc["site × ward"].index) == {"north × 0", "north × 1", "south × 0", "south × 1"}
    nurses = by.loc[("role", "nurse")]
    each = found.test.table.set_index(["model", "annotator"])["advantage"]["bad"]
    assert nurses["of"] == "annotators"
    assert nurses["advantage"] == pytest.approx(each[["a0", "a1"]].mean())


@pytest.mark.slow
def test_a_model_that_sees_the_case_is_not_underrated():
    """With four annotators who are right in 80 %, it lost 7 points to truths that their labels leave open."""
    random = np.random.default_rng(0)
    truth = random.integers(3, size=150)
    said, model = noisy(random, truth, 0.8, size=(4,)), noisy(random, truth, 0.87)
    found = judge(table(said), {"m": answers(model)}, **UNJUDGED | {"draws": 90})
    alone, independent = found.table.loc["m", ["accuracy", "accuracy_independent"]] - (model == truth).mean()
    assert alone < -0.04
    assert abs(independent) < 0.03


@pytest.mark.slow
def test_shared_errors_base_rates_and_ties_are_named(monkeypatch):
    """Seven annotators take half of the b for a; the model takes most of them for a."""
    monkeypatch.setattr(_fit, "_converged", lambda *_: True)  # nearly, and far enough for what is told here
    short = UNJUDGED | {"draws": 150, "warmup": 50}
    random = np.random.default_rng(0)
    truth = random.integers(2, size=400)
    miss = random.random((400, 7)) < np.where(truth == 1, 0.5, 0.04)[:, None]
    said = np.where(miss, 1 - truth[:, None], truth[:, None])
    model = np.where(random.random(400) < np.where(truth == 1, 0.85, 0.02), 1 - truth, truth)
    found = judge(table(said), {"m": answers(model)}, **short)
    assert [question.answer for question in found.questions["m"][1:]] == ["cannot tell", "no", "no"]  # as is always a
    assert "'b' called 'a'" in found.reasons["m"]["shared error"]
    assert found.table.loc["m", "vote_accuracy"] > found.table.loc["m", "accuracy"] + 0.1
    # Nine in ten cases are a; the model says a whatever it sees.
    random = np.random.default_rng(1)
    truth = (random.random(400) < 0.1).astype(int)
    said = noisy(random, truth, 0.9, 2, (5,))
    model = np.where(random.random(400) < 0.02, 1, 0)
    found = judge(table(said), {"m": answers(model)}, **short)
    assert found.test.passed["m"]
    assert "finds" in found.reasons["m"]["base rates"]
    assert "'b'" in found.reasons["m"]["base rates"]
    random = np.random.default_rng(2)
    truth = random.integers(3, size=150)
    said, model = noisy(random, truth, 0.7, size=(2,)), noisy(random, truth, 0.7)
    found = judge(table(said), {"m": answers(model)}, model="one-coin", **UNJUDGED)
    assert "tied" in found.reasons["m"]["ties"]
    assert any("at least 3" in note for note in found.notes("m"))
    row = found.table.loc["m"]
    assert row["vote_lost"] < row["vote_accuracy"] < row["vote_won"]


def test_votes_that_are_a_little_uncertain_are_not_repeated_errors():
    """Six in a hundred votes were said to be wrong, and a model that agreed with the vote to repeat them."""
    votes = np.eye(2)[np.arange(100) % 2]
    classes = SimpleNamespace(classes=np.array(["a", "b"]))
    answers = SimpleNamespace(votes=votes, said={"m": votes}, annotations=classes)
    fit = SimpleNamespace(vote=(0.9, 0.9, 0.9), right=np.full(3, 0.8))
    assert shared_error(0.94 * votes + 0.06 * votes[:, ::-1], answers, fit, "m") is None
    wrong = votes.copy()
    wrong[:6] = 0.1 * votes[:6] + 0.9 * votes[:6, ::-1]
    assert "about 5 % of the votes" in shared_error(wrong, answers, fit, "m")


def test_labels_without_names_or_classes_are_told_and_what_does_not_fit_refused():
    rows = [{"case": f"c{i}", "annotations": ["a", "b", "a"]} for i in range(4)]
    models = {"m": {f"c{i}": "a" for i in range(4)}}
    numbered = judge(rows, models, model=None, **FAST)
    named = judge([row | {"annotators": ["x", "y", "z"]} for row in rows], models, model=None, **FAST)
    assert any("numbered within each case" in note for note in numbered.notes("m"))
    assert "numbered within each case" in numbered.verdict("m")
    assert not any("numbered" in note for note in named.notes("m"))
    assert numbered.test.table["annotator"].tolist() == ["1", "2", "3"]
    random = np.random.default_rng(4)
    value = random.normal(size=60)
    rows = [(str(case), str(who), value[case] + random.normal() / 2) for case in range(60) for who in range(4)]
    found = judge(rows, {"m": {str(case): value[case] for case in range(60)}}, distance="squared", progress=False)
    assert [question.answer for question in found.questions["m"]] == ["yes", "yes", "unknown", "unknown"]
    assert "different labels, too many to be classes" in found.verdict()
    by = judge(rows, {"m": {str(case): value[case] for case in range(60)}}, distance="squared", progress=False,
               by={"half": {str(case): case // 30 for case in range(60)}}, replicates=50).by  # fmt: skip
    assert by["n_cases"].tolist() == [30, 30]
    rows = [{"case": c, "annotator": a, "label": 1, "odd": c + a} for c in "pq" for a in "xyz"]
    model = {"m": {"p": 1, "q": 1}}
    found = judge(rows, model, **FAST)
    assert "only one label" in found.verdict()
    other = judge(rows, {"m": {"p": 1, "q": 2}}, **FAST | {"replicates": 50}, model=None)
    assert "m says '2' in 1 of 2 cases, and no annotator ever does" in other.verdict()
    assert set(other.test.table["test"]) == {"t"}
    assert "fewer than 30 cases" in other.verdict()
    with pytest.raises(ArgumentError, match="no model 'x'"):
        found.headline("x")


def test_chains_that_did_not_converge_are_sampled_with_more_sweeps(monkeypatch):
    seen, converged = [], iter([False, True])
    monkeypatch.setattr(_fit, "aggregate", lambda annotations, model, **_: seen.append(model.family.thinning))
    monkeypatch.setattr(_fit, "_converged", lambda *_: next(converged))
    _fit._sampled(None, "one-coin", {"draws": 100, "chains": 2}, lambda _: (np.zeros(200),))
    assert seen == list(_fit._SWEEPS)


def test_two_annotators_leave_the_test_open():
    """It said yes, above a note that fewer than three annotators tell nothing of another one."""
    random = np.random.default_rng(0)
    truth = random.integers(3, size=60)
    said, model = noisy(random, truth, 0.7, size=(2,)), noisy(random, truth, 0.95)
    found = judge(table(said), {"m": answers(model)}, model=None, progress=False)
    assert found.test.table["rejected"].all()
    (_, replacement, *_) = found.questions["m"]
    assert replacement.answer == "open"
    assert replacement.sentences[-1] == "The test asks for at least 3 annotators"


def test_labels_that_are_numbers(tmp_path):
    random = np.random.default_rng(0)
    truth = random.integers(1, 6, 40)
    said = truth[:, None] + random.integers(-1, 2, (40, 3))
    rows = [(f"c{case}", f"a{who}", said[case, who]) for case in range(40) for who in range(3)]
    pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(tmp_path / "labels.csv", index=False)
    pd.DataFrame({"case": [f"c{case}" for case in range(40)], "label": truth}).to_csv(tmp_path / "m.csv", index=False)
    labels = Labels.of(tmp_path / "labels.csv")
    models = read_models({"m": tmp_path / "m.csv"}, labels, np.ones(40, bool))
    assert set(_fit.answers_of(labels, models, "nominal", "one-coin").annotations.classes) <= set("0123456")
    given = {"model": None, "replicates": 50, "progress": False}
    usual = judge(labels, models, **given)
    assert usual.test.comparison.distance == "ordinal"
    assert "if they are names of classes, say distance=" in usual.verdict("m")
    for distance in ("nominal", "squared"):
        assert "names of classes" not in judge(labels, models, distance=distance, **given).verdict("m")


def test_who_rates_higher_than_the_annotators_is_said_to():
    random = np.random.default_rng(1)
    truth = random.normal(3, 1.2, 80)
    rates = {name: np.clip(np.rint(truth + random.normal(0, 0.5, 80)), 1, 6).astype(int) for name in "abcm"}
    rows = [(f"c{i}", who, int(rates[who][i])) for who in "abc" for i in range(80)]
    models = {name: {f"c{i}": int(rates["m"][i] + more) for i in range(80)} for name, more in (("fair", 0), ("up", 1))}
    found = judge(rows, models, model=None, replicates=20, progress=False)
    assert "up rates the same cases 1." in found.reasons["up"]["offset"]
    assert "higher than the annotators" in found.reasons["up"]["offset"]
    assert "offset" not in found.reasons["fair"]


def test_the_same_answer_to_every_case_tells_nothing_of_the_truth():
    random = np.random.default_rng(3)
    truth = random.random(60) < 0.4
    rows = [(f"c{i}", a, "ny"[int(truth[i] == (random.random() < 0.8))]) for a in "abc" for i in range(60)]
    never = {f"c{i}": "n" for i in range(60)}
    found = judge(rows, {"never": never}, model="one-coin", draws=20, warmup=20, replicates=20, progress=False)
    fit = found.fits["never"]
    assert fit.independent[0].mean() == pytest.approx(fit.accuracy.mean(), abs=0.05)
    assert fit.ability["mean"].iloc[-1] == pytest.approx(fit.accuracy.mean(), abs=0.05)


def test_a_model_among_the_annotators_meets_the_others_and_one_name_on_each_side_may_be_of_one_code():
    rows = [(f"c{i}", who, "ab"[(i * n) % 3 % 2]) for i in range(30) for n, who in enumerate(("ann", "bob", "gpt"), 4)]
    own = {case: label for case, who, label in rows if who == "gpt"}
    with pytest.warns(PlausiblyWarning, match="'gpt' is among the annotators, and compared with the others"):
        ratio = discrepancy_ratio(rows, {"gpt": own}).ratio
    assert ratio.equals(discrepancy_ratio([row for row in rows if row[1] != "gpt"], {"gpt": own}).ratio)
    other = own | {"c0": "b" if own["c0"] == "a" else "a"}
    discrepancy_ratio(rows, {"gpt": other})  # another one of that name
    agreed = Labels.of({case: dict.fromkeys("xyz", "no") for case in "pqr"})
    with pytest.warns(PlausiblyWarning, match="annotators gave no label 'yes', which is predicted, but 'no'"):
        read = read_models({"m": dict.fromkeys("pqr", "yes")}, agreed, np.ones(3, bool))
    assert read["m"].values.tolist() == ["yes"] * 3


def test_a_second_answer_of_a_model_is_named_and_kept_as_asked():
    rows = [(str(case), who, "ab"[case % 2]) for case in range(8) for who in ("ann", "bob")]
    model = [(str(case), "ab"[case % 2]) for case in range(8)]
    twice, options = {"m": [*model, ("3", "a")]}, {"model": None, "replicates": 20, "progress": False}
    with pytest.raises(PredictionError, match=r"case '3', model 'm': a second answer, 'a' after 'b': .*--repeats last"):
        judge(rows, twice, **options)
    with pytest.warns(PlausiblyWarning, match="kept the first one"):
        first = judge(rows, twice, repeats="first", **options)
    assert first.table["ratio"].to_dict() == judge(rows, {"m": model}, **options).table["ratio"].to_dict()
    read = judge(rows, twice, repeats="readings", **options | {"model": "one-coin"})
    assert read.left_out == "m gives case '3' several labels"
    with pytest.warns(PlausiblyWarning, match="1 of 9 rows repeat"):
        judge(rows, {"m": [*model, ("3", "b")]}, **options)


def test_answers_of_several_people_in_memory_are_no_predictions():
    rows = [(str(case), who, "ab"[case % 2]) for case in range(8) for who in ("ann", "bob")]
    frame = pd.DataFrame(rows, columns=["case", "annotator", "label"])
    with pytest.raises(PredictionError, match="these are the answers of 'ann', 'bob', so keep those of one of them"):
        judge(rows, {"m": frame}, model=None, replicates=20, progress=False)
    one = frame[frame["annotator"] == "ann"]
    assert judge(rows, {"m": one}, model=None, replicates=20, progress=False).models == ["m"]
