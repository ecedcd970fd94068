"""Sentences of :func:`plausibly.systems` that may say nothing: no best system, other scales, people who differ."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.systems._findings import by_person, spread_of_people
from tests.test_app.test_cli.run import succeed

COLUMNS = ["system", "case", "rater", "outcome"]


def rated(seed=0, *, systems="ABCDE", cases=40, people=("ann", "bob"), apart=0.0, judge=None, seen=400, tastes=0.0):
    """Ratings from 1 to 5 of systems that are ``apart``; people have ``tastes`` for systems, the judge as it says."""
    random = np.random.default_rng(seed)
    rows = []
    for place, name in enumerate(systems):
        good = random.normal(3 + apart * place, 0.8, seen)
        own = {who: random.normal(0, tastes) for who in (*people, "gpt")}
        for who in people:
            said = np.clip(np.round(good[:cases] + own[who] + random.normal(0, 0.5, cases)), 1, 5)
            rows += [(name, f"p{case}", who, value) for case, value in enumerate(said)]
        if judge is not None:
            said = judge(name, good + own["gpt"] + random.normal(0, 0.5, seen))
            rows += [(name, f"p{case}", "gpt", value) for case, value in enumerate(said)]
    return pd.DataFrame(rows, columns=COLUMNS)


def five(_, good):
    return np.clip(np.round(good), 1, 5)


def test_a_system_that_may_not_be_the_best_is_not_called_so(tmp_path):
    given = rated()
    given.to_csv(tmp_path / "rated.csv", index=False)
    found = pb.systems(given, ["ann", "bob"])
    assert found.ranking["p_best"].iloc[0] < 0.8
    assert found.headline.startswith("No system can be called best yet: ")
    assert "more cases of each" in found.headline
    assert "best" not in repr(found)
    shown = succeed("systems", tmp_path / "rated.csv", "--people", "ann,bob", "--out", tmp_path / "out").output
    assert found.headline in " ".join(shown.split())
    assert found.headline in (tmp_path / "out" / "systems.html").read_text()
    sure = pb.systems(rated(apart=0.5), ["ann", "bob"])
    assert sure.ranking["p_best"].iloc[0] > 0.8
    assert sure.headline.startswith("E has the highest mean rating")


@pytest.mark.slow
def test_of_equal_systems_one_is_called_best_in_5_percent():
    systems, random, named, probable = "ABC", np.random.default_rng(3), 0, 0
    for _ in range(40):
        passed = random.random((len(systems), 40)) < 0.6
        given = pd.DataFrame({"system": np.repeat([*systems], 40), "case": np.tile(np.arange(40), len(systems))})
        found = pb.systems(given.assign(rater="ann", outcome=passed.ravel().astype(int)), ["ann"], replicates=2000)
        named += not found.headline.startswith("No system")
        probable += found.ranking["p_best"].iloc[0] >= 0.8
        assert found.headline.startswith("No system") == ("more cases of each" in found.headline)
    assert named <= 5  # 2 are expected of two; more have probability 0.01
    assert probable > named


def test_so_many_more_cases_would_call_the_best_one_best():
    """With the number that the sentence asks for, the first one of two is told from the other in most data sets."""
    rows = [
        (name, case, "ann", int(case * step % 61 < passed))
        for name, step, passed in (("A", 7, 40), ("B", 11, 37))
        for case in range(61)
    ]
    now = pb.systems(pd.DataFrame(rows, columns=COLUMNS), ["ann"])
    assert now.ranking["p_best"].iloc[0] < 0.8
    cases = 61 + int(now.headline.split("about ")[1].split(" more")[0].replace(",", ""))
    told, random = 0, np.random.default_rng(0)
    for _ in range(40):
        passed = random.random((2, cases)) < np.array([[40], [37]]) / 61
        later = pd.DataFrame({"system": np.repeat(["A", "B"], cases), "case": np.tile(np.arange(cases), 2)})
        later = pb.systems(later.assign(rater="ann", outcome=passed.ravel().astype(int)), ["ann"])
        told += later.ranking["system"].iloc[0] == "A" and later.differences["lower"].iloc[0] > 0
    assert 0.65 < told / 40 < 0.95


def test_too_few_to_tell_is_no_best():
    few = pd.DataFrame([("A", "p", "ann", 1), ("B", "p", "ann", 0)], columns=COLUMNS)
    assert pb.systems(few, ["ann"]).headline.startswith("No system can be called best yet: ")


def test_the_number_may_exceed_what_the_judge_saw():
    near = rated(judge=five, seen=60, systems="AB", apart=0.02)
    found = pb.systems(near, ["ann", "bob"])
    assert "new ones" in found.headline


@pytest.mark.parametrize(
    "judge",
    [
        lambda _, good: np.clip(np.round(20 * good), 1, 100),
        lambda _, good: np.clip(good / 5, 0, 1).round(2),
        lambda _, good: np.clip(np.round(2 * good), 1, 10),
    ],
)
def test_a_judge_on_another_scale_is_not_biased(judge, tmp_path):
    given = rated(judge=judge, apart=0.4)
    found = pb.systems(given, ["ann", "bob"])
    words = " ".join(found.summary)
    assert "gpt rates on another scale than people (" in words
    for claim in ("favours", "generous", "strict", "bias"):
        assert claim not in words
    assert found.bias["bias"].isna().all()
    assert "ppi" not in {*found.table["estimator"]}  # the judge's mean, only shifted: not of the people's scale
    assert found.table.loc[found.table["estimator"] == "ppi++", "mean"].between(1, 5).all()
    assert found.judges[["bias", "p_bias_differs", "p_own"]].isna().all(axis=None)
    given.to_csv(tmp_path / "rated.csv", index=False)
    assert "Judges against people" not in succeed("systems", tmp_path / "rated.csv", "--people", "ann,bob").output
    with pytest.raises(pb.PlausiblyError, match="on another scale"):
        pb.systems(given, ["ann", "bob"], model=True)


def test_shares_of_people_stay_shares_beside_a_judge_who_scores_to_100():
    """Intervals of pass rates went to 1.03."""
    given = rated(judge=lambda _, good: np.clip(np.round(20 * good), 1, 100))
    given["outcome"] = given["outcome"].where(given["rater"] == "gpt", (given["outcome"] > 1).astype(int))
    found = pb.systems(given, ["ann", "bob"]).table.set_index("estimator")[["mean", "lower", "upper"]]
    assert found.drop("judge").stack().between(0, 1).all()
    assert (found.loc["judge"] > 1).all(axis=None)


@pytest.mark.parametrize("judge", [five, lambda _, good: np.clip(np.round(good), 4, 5)])
def test_a_judge_on_the_same_scale_is_compared(judge):
    """Also one that uses a part of it only."""
    found = pb.systems(rated(judge=judge, apart=0.4), ["ann", "bob"])
    assert "another scale" not in " ".join(found.summary)
    assert found.bias["bias"].notna().all()


def test_people_on_different_scales_are_told():
    given = rated(people=("ann", "bob", "cid"))
    mixed = given.assign(outcome=given["outcome"].where(given["rater"] != "bob", 20 * given["outcome"]))
    assert any(
        "People rate on different scales ('bob'" in one for one in pb.systems(mixed, ["ann", "bob", "cid"]).notes
    )
    assert not any("scales" in one for one in pb.systems(given, ["ann", "bob", "cid"]).notes)


PEOPLE = ("ann", "bob", "cid", "dan")


@pytest.mark.slow
def test_a_judge_like_one_of_the_people_is_not_called_biased():
    """In 40 worlds where each of four people and the judge have tastes of their own for systems, 5 % at most are."""
    called = 0
    for seed in range(40):
        found = pb.systems(rated(seed, people=PEOPLE, judge=five, tastes=0.5, seen=60), PEOPLE)
        called += "favours some systems" in " ".join(found.summary)
        if seed == 0:
            assert found.judges["p_bias_differs"].item() < 0.001
            assert "people differ from one another as much" in " ".join(found.summary)
    assert called <= 5


def test_a_judge_who_differs_more_than_people_do_is_called_biased():
    def unfair(name, good):
        return five(name, good + 1.5 * (name == "A"))

    found = pb.systems(rated(people=PEOPLE, judge=unfair, seen=60), PEOPLE)
    assert "gpt favours some systems" in " ".join(found.summary)
    one = pb.systems(rated(people=("ann",), judge=unfair, seen=60), ["ann"])
    assert "gpt favours some systems by the outcomes of ann" in " ".join(one.summary)


def test_people_are_compared_with_each_other_by_its_definition():
    given = rated(3, people=PEOPLE, tastes=0.5)
    found = pb.systems(given, PEOPLE)
    wide = given.pivot(index=["system", "case"], columns="rater", values="outcome")
    rows = found.people.set_index(["person", "system"])["difference"]
    gaps = {who: (wide[who] - wide.drop(columns=who).mean(axis=1)).groupby("system").mean() for who in PEOPLE}
    for who in PEOPLE:
        np.testing.assert_allclose(rows[who].loc[[*"ABCDE"]], gaps[who])
    apart = np.stack([gaps[who].to_numpy() for who in PEOPLE])
    own = apart - apart.mean(axis=1, keepdims=True)
    spread = spread_of_people(by_person(found.outcomes))
    raw = (own**2).sum() / 16 * 9  # the two-way analysis of variance of four people and five systems
    np.testing.assert_allclose(spread.mean_square, raw / 12)
    assert 0 < spread.variance < spread.mean_square
