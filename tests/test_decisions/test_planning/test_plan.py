"""Plans: what is asked of whom, forecasts, advice, and bad arguments."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.decisions.planning._annotators import parse_annotators
from plausibly.decisions.planning._plan import _learned_from
from plausibly.decisions.planning._worth import allocate, best_annotator
from tests import worlds
from tests.test_decisions.test_planning.conftest import COUNTS, labels_of
from tests.test_decisions.test_planning.test_values import removed_by


@pytest.fixture(scope="module")
def plan():
    return worlds.plan()


def test_a_plan_spends_its_budget_on_the_values_of_brute_force_and_beats_chance(plan, two):
    table = plan.table
    assert table["labels"].sum() == 12
    assert table["place"].tolist() == list(range(1, 25))
    assert (np.diff(plan.chosen["value"]) <= 1e-12).all()
    assert plan.chosen["value"].iloc[-1] >= table["value"][table["labels"] == 0].max() - 1e-12
    assert plan.noise is not None
    assert plan.noise.notna().all(axis=None)
    assert "standard deviation of the top-1 accuracy (root mean square over the classifiers)" in plan.verdict()
    totals = plan.forecast.groupby("labels").first()["cost"]
    assert totals.index.tolist() == totals.tolist()
    assert plan.advice[0].startswith("For a claim about these 24 cases: ask for 12 more labels on")
    assert "narrow from" in plan.verdict()
    assert repr(plan).count("\n") > 3
    json.dumps(plan.tasks())
    assert [task["data"]["case"] for task in plan.tasks()] == plan.chosen["case"].tolist()
    for claim in ("these 24 cases:", "new cases like these:"):
        assert plan.verdict().count(f"For a claim about {claim}") == 1
    assert "instead" not in plan.verdict()
    before, after = (np.array([removed_by(counts, n) for counts in COUNTS]) for n in (0, 1))
    expected = 100 * (1 - np.sqrt((before.sum() - before + after) / before.sum()))
    found = plan.table.set_index(plan.table["case"].astype(int))["value"].sort_index()
    assert expected.max() > 0.4
    np.testing.assert_allclose(found, expected, atol=0.05)
    # The variance afterwards is the sum of what so many labels leave of each case.
    labels = plan.table.set_index(plan.table["case"].astype(int))["labels"]
    left = sum(removed_by(counts, int(labels[case])) for case, counts in enumerate(COUNTS))
    before = sum(removed_by(counts, 0) for counts in COUNTS)
    width = plan.forecast[(plan.forecast["classifier"] == "A") & (plan.forecast["versus"] == "")]["width"]
    assert width.iloc[-1] / width.iloc[0] == pytest.approx(np.sqrt(left / before), rel=0.02)
    results = pb.evaluate(two.posterior, two.predictions, metrics="top1_accuracy", progress=False)
    ends = results["top1_accuracy"].quantile([0.03, 0.97], "draw").values
    for at, name in enumerate("AB"):
        own = plan.forecast[(plan.forecast["classifier"] == name) & (plan.forecast["versus"] == "")]
        assert own["width"].iloc[0] == pytest.approx(ends[1, at] - ends[0, at], rel=1e-5)
        assert (np.diff(own["width"]) < 0).all()
        assert own["width"].iloc[-1] < own["width_at_random"].iloc[-1]
    pair = plan.forecast[plan.forecast["versus"] == "B"]
    assert (pair["decided_lower"] <= pair["decided"]).all()
    assert (pair["decided"] <= pair["decided_upper"]).all()


@pytest.mark.slow
def test_advice_ends_where_intervals_hardly_narrow(two):
    plan = pb.plan(two.posterior, {"A": two.predictions["A"]}, budget=150, progress=False)
    asked = int(re.search(r"ask for (\d+) more labels", plan.advice[0]).group(1))
    width = plan.forecast[plan.forecast["versus"] == ""].set_index("labels")["width"]
    assert 0 < asked < 150
    assert width[asked] <= width.iloc[-1] + 0.05 * width.iloc[0] < width.loc[: asked - 1].iloc[-1]


def test_parameters_are_learned_from_all_labels_unless_they_are_given(two):
    posterior, annotations = worlds.informed().posterior, worlds.informed().annotations
    assert _learned_from(posterior, annotations) == annotations.n_annotations
    spread = json.dumps({"spread": "unknown"})
    for changed in ({"prior_from": "given"}, {"evidence": spread}):
        other = SimpleNamespace(attrs=posterior.attrs | changed)
        assert _learned_from(other, annotations) == np.inf
    assert _learned_from(two.posterior, two.annotations) == np.inf


@pytest.mark.slow
def test_posteriors_under_which_nothing_is_gained(two):
    counts = [(900, 0), (0, 900)] * 4 + [(900, 600)] * 2
    posterior = pb.aggregate(labels_of(counts), "dirichlet-categorical", seed=0, progress=False)
    scores = np.tile([0.9, 0.1], (len(counts), 1))

    def own(scores, plausibilities):  # known to a few thousandths
        return (scores * plausibilities).sum()

    found = pb.plan(posterior, {"A": scores}, metric="own", metrics={"own": own}, budget=3, progress=False)
    assert "hardly worth their cost" in found.advice[0]
    assert "sk for" not in found.verdict()
    posterior = pb.aggregate(two.annotations, "prirn", seed=0, progress=False)
    with pytest.warns(PlausiblyWarning, match="its intervals do not narrow"):
        found = pb.plan(posterior, two.predictions, budget=12, progress=False)
    assert "no label narrows" in found.advice[0]
    assert "sk for" not in found.verdict()
    assert "narrow from" not in found.verdict()
    posterior = pb.aggregate(two.annotations, "prirn", seed=0, draws=50, progress=False)
    with pytest.warns(PlausiblyWarning, match="do not narrow"):
        parse_annotators(posterior, two.annotations, None, None)
    with pytest.raises(ArgumentError, match="single point"):
        pb.plan(pb.aggregate(two.annotations, "majority-vote"), two.predictions, progress=False)
    named = pb.Annotations.from_rankings(
        {"cases": {"p": {"ann": [["a"]], "bob": [["b"]]}, "q": {"ann": [["a"]], "bob": [["a"]]}}}, classes="ab"
    )
    posterior = pb.aggregate(named, "one-coin", seed=0, draws=4, chains=1, warmup=4, progress=False)
    with pytest.raises(ArgumentError, match="one true class"):
        pb.plan(posterior, goal="information", progress=False)


@pytest.mark.slow
def test_new_cases_are_advised_where_annotators_leave_little_open():
    given = {"seed": 0, "progress": False}

    def planned(counts):
        posterior = pb.aggregate(labels_of(counts), "dirichlet-categorical", **given)
        return pb.plan(posterior, {"A": np.tile([0.9, 0.1], (len(counts), 1))}, budget=20, progress=False)

    # A is right on half of the cases, all of them known for sure: what matters is which cases were sampled.
    sure = planned([(12, 0), (0, 12)] * 15)
    assert "new cases like these: annotate new cases" in sure.verdict()
    assert "root mean square" not in sure.verdict()  # of a single classifier
    noise = sure.noise.iloc[0]
    assert noise["annotation_sd"] < 0.2 * noise["sampling_sd"]
    # Of some cases little is known, and a new case would cost as many labels as the others have.
    unsure = planned([(12, 0)] * 24 + [(1, 1)] * 6)
    assert "help more than new cases" in unsure.verdict()


@pytest.mark.slow
def test_budgets_go_to_one_case_or_to_the_cheaper_annotator(two):
    scores = two.predictions["A"]
    other = scores.copy()
    other[1] = other[1, ::-1]
    plan = pb.plan(two.posterior, {"A": scores, "B": other}, goal="better", budget=6, progress=False)
    assert plan.chosen["case"].tolist() == ["1"]
    assert plan.chosen["labels"].tolist() == [6]
    assert "difference between A and B in top-1 accuracy" in plan.verdict()
    found = pb.plan(two.posterior, goal="information", annotators={"ann": 2.0, "bob": 2.0}, budget=4,
                    cost={"ann": 1.0, "bob": 3.0}, progress=False)  # fmt: skip
    assert set(found.chosen["annotator"]) == {"ann"}
    assert (found.chosen["labels"] == 1).all()


def test_annotators_differ_nobody_is_asked_twice_and_labels_go_where_they_pay(two):
    table = pd.DataFrame({"annotator": ["ann", "bob"], "reliability": [3.0, 1.0], "cost": [1.0, 1.0]})
    asked = parse_annotators(two.posterior, two.annotations, table, None)
    assert asked.settings == ((1.0, 1.0), (1.0, 3.0))
    assert asked.setting.tolist() == [1, 0]
    best, cost = best_annotator(
        np.array([[1.0, 1.0], [2.5, 0.5]]), replace(asked, cost=np.array([[2.0], [1.0]]), free=np.ones((2, 2), bool))
    )
    assert best.tolist() == [0, 1]  # 2.5 for 2, and 1 for 1
    assert cost.tolist() == [2.0, 1.0]
    rankings = {"p": {"ann": [["a"]], "bob": [["b"]]}, "q": {"ann": [["a"]]}}
    annotations = pb.Annotations.from_rankings({"cases": rankings}, classes="ab")
    posterior = pb.aggregate(annotations, "dirichlet-categorical", seed=0, progress=False)
    asked = parse_annotators(posterior, annotations, {"ann": 1.0, "bob": 1.0, "cat": 1.0}, None)
    assert asked.free.tolist() == [[False, False], [False, True], [True, True]]
    order = allocate(np.array([[4.0, 6.0], [3.0, 5.9], [0.0, 0.0]]), np.array([2.0, 1.0, 1.0]), 3.0)
    assert order.case.tolist() == [1, 1]  # the gains of case 0 are 2 and 1 per cost, those of case 1 are 3 and 2.9
    assert allocate(np.zeros((2, 2)), np.ones(2), 5).case.size == 0
    # One label of case 0 cannot overturn anything, two can.
    assert allocate(np.array([[0.0, 4.0], [1.5, 1.6]]), np.ones(2), 2).case.tolist() == [0, 0]
