"""Systems that were not judged alike: strengths, adjusted means, and what cannot be told.

``python -m validation --only designs`` counts how often equals are told apart, and how often intervals cover.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import plausibly as pb
from plausibly.systems import _modelled, read_outcomes
from plausibly.systems._design import design_of, least_squares
from plausibly.systems._strengths import Meetings, strengths
from tests.test_systems.test_model import PUDDINGS, outcomes, pairs_of, stored

PAIR = ["system_a", "system_b", "case", "rater", "outcome"]
RATED = ["system", "case", "rater", "outcome"]


def told(given, people, match, **options):
    """Result of outcomes of which a warning tells."""
    with pytest.warns(pb.PlausiblyWarning, match=match):
        result = pb.systems(given, people=people, **options)
    assert result.cautions
    assert result.summary[: len(result.cautions)] == list(result.cautions) == list(result.notes[: len(result.cautions)])
    return result


def meetings(frame):
    names, code = np.unique(frame[["system_a", "system_b"]], return_inverse=True)
    first, second = code.reshape(-1, 2).T
    value = frame["outcome"].map({"a": 1.0, "b": 0.0, "tie": 0.5}).to_numpy()
    n = len(frame)
    return Meetings(first, second, value, np.ones(n), np.arange(n), np.ones(n)), len(names)


def test_strengths_are_davidsons_of_six_puddings(monkeypatch):
    won = [line.split() for line in PUDDINGS.strip().splitlines()]
    frame = pairs_of(
        [(a, b, what, int(n)) for a, b, _, *numbers in won for what, n in zip(["a", "b", "tie"], numbers, strict=True)]
    )
    found = strengths(*meetings(frame))  # with the outcomes that are added
    worth = np.exp(found.strength)
    published = [0.1388, 0.1730, 0.1617, 0.1654, 0.1587, 0.2024]
    np.testing.assert_allclose(worth / worth.sum(), published, atol=4e-4)
    monkeypatch.setitem(strengths.__globals__, "_ADDED", 1e-9)
    found = strengths(*meetings(frame))
    worth = np.exp(found.strength)
    np.testing.assert_allclose(worth / worth.sum(), published, atol=5e-5)
    assert np.exp(found.log_tie) == pytest.approx(0.7468, abs=5e-5)


def test_errors_of_strengths_are_those_of_a_bootstrap_over_cases():
    random = np.random.default_rng(1)
    rows, n = meetings(chain(random, 150))
    found = strengths(rows, n).win_rate
    again = []
    for _ in range(200):
        weight = np.bincount(random.integers(0, 150, 150), minlength=150).astype(float)
        again.append(strengths(rows._replace(weight=weight), n).win_rate.value)
    np.testing.assert_allclose(found.se, np.std(again, axis=0), rtol=0.2)


def chain(random, n, strong=1.5):
    """Comparisons in which s0 met the weak system nine times of ten, and s1, which is as good, the strong one."""
    strength = {"s0": 0.0, "s1": 0.0, "strong": strong, "weak": -strong}
    meet = [("s0", "weak"), ("s1", "strong")] * 9 + [("s0", "s1"), ("weak", "strong")]
    rows = []
    for case in range(n):
        a, b = random.permutation(meet[case % len(meet)])
        said = "tie" if random.random() < 0.15 else "a" if random.random() < expit(strength[a] - strength[b]) else "b"
        rows.append((a, b, case, "ann", said))
    return pd.DataFrame(rows, columns=PAIR)


def better(result, first="s0", second="s1"):
    row = result.differences.set_index(["system", "other"])["p_better"]
    return row[first, second] if (first, second) in row.index else 1 - row[second, first]


def test_equals_that_met_others_are_not_told_apart():
    """By win rates, the one that met the weak system was better with probability 1.00."""
    result = told(
        chain(np.random.default_rng(1), 200),
        ["ann"],
        r"opponents \(s0 met weak \(90 %\), s1 \(10 %\); s1 met strong .*\), so win rates do not compare",
    )
    people = result.table[result.table["estimator"] == "people"].set_index("system")
    assert people.loc["s0", "lower"] > people.loc["s1", "upper"]
    assert people.loc["s0", "meant"].endswith("against weak (90 %), s1 (10 %)")
    assert 0.02 < better(result) < 0.98
    assert result.main == "strengths"
    assert result.ranking["system"].iloc[[0, -1]].tolist() == ["strong", "weak"]
    assert "win rate that people would give against each of the others equally often" in result.headline
    rows = result.table[result.table["estimator"] == "strengths"].set_index("system")["mean"]
    assert result.ranking["mean"].tolist() == rows[result.ranking["system"]].tolist()
    assert result.comparable


def test_a_judges_schedule_counts_too():
    random = np.random.default_rng(0)
    names = ["s0", "s1", "strong", "weak"]
    even = [(a, b) for at, a in enumerate(names) for b in names[:at]]
    rows = [(*even[case % 6], case, "ann", "ab"[random.integers(2)]) for case in range(120)]
    given = pd.DataFrame(rows, columns=PAIR)
    assert pb.systems(given, people=["ann"]).main == "people"
    by_judge = chain(random, 300).assign(rater="gpt", case=range(1000, 1300))
    assert told(pd.concat([given, by_judge]), ["ann"], "met different opponents").main == "strengths"


def test_opponents_without_cases_are_those_of_each_person():
    meet = {("s0", "weak"): 0.8, ("s1", "strong"): 0.2, ("weak", "strong"): 0.1}
    random = np.random.default_rng(0)
    rows = [(a, b, f"r{one}", "ba"[random.random() < p]) for (a, b), p in meet.items() for one in range(40)]
    given = pd.DataFrame(rows, columns=["system_a", "system_b", "rater", "outcome"])
    result = told(given, [f"r{one}" for one in range(40)], "met different opponents")
    assert result.ranking["p_best"].notna().all()
    assert result.ranking["upper"].sub(result.ranking["lower"]).max() < 0.5


def test_a_system_that_won_all_has_a_strength():
    given = chain(np.random.default_rng(0), 100)
    of_strong = (given["system_a"] == "strong") | (given["system_b"] == "strong")
    given["outcome"] = given["outcome"].where(~of_strong, np.where(given["system_a"] == "strong", "a", "b"))
    result = told(given, ["ann"], "'strong' won or lost all comparisons")
    best = result.ranking.iloc[0]
    assert best["system"] == "strong"
    assert 0.5 < best["lower"] < best["mean"] < best["upper"] <= 1
    assert 0.02 < better(result) < 0.98


def test_systems_without_a_chain_of_opponents_are_not_ranked():
    given = chain(np.random.default_rng(0), 100)
    apart = [
        {a, b} in ({"s0", "weak"}, {"s1", "strong"}) for a, b in zip(given["system_a"], given["system_b"], strict=True)
    ]
    result = told(given[apart], ["ann"], "No chain of opponents links")
    not_told(result)


def not_told(result):
    assert not result.comparable
    assert result.ranking["p_best"].isna().all()
    assert result.differences["p_better"].isna().all()
    assert (result.ranking[["rank_lower", "rank_upper"]] == [1, len(result.ranking)]).all(axis=None)
    assert result.headline.startswith("Which system is best cannot be told")
    assert "P(best)" not in result.headline
    assert not result.advice


def test_who_is_shown_first_more_often_has_no_advantage():
    random = np.random.default_rng(0)
    rows = []
    for case in range(400):
        a, b = ("A", "B") if random.random() < 0.8 else ("B", "A")
        rows.append((a, b, case, "ann", "a" if random.random() < expit(1.5) else "b"))
    result = told(pd.DataFrame(rows, columns=PAIR), ["ann"], "were shown first in different shares")
    assert 0.05 < better(result, "A", "B") < 0.95
    people = result.table[result.table["estimator"] == "people"].set_index("system")
    assert people.loc["A", "lower"] > people.loc["B", "upper"]


def passes(random, people, *, rate=0.75, n=60, judged=200, own=False):
    """Two systems that are equally good. ``people`` are names, how strict, and the share of each system they rate."""
    rows = []
    for at, system in enumerate("AB"):
        shares = np.array([share[at] for _, _, share in people])
        for case in range(judged):
            good, name = random.random() < rate, f"{system * own}p{case}"
            rows.append((system, name, "gpt", good if random.random() < 0.85 else not good))
            if case < n:
                who, strict, _ = people[random.choice(len(people), p=shares / shares.sum())]
                rows.append((system, name, who, good and random.random() >= strict))
    return pd.DataFrame(rows, columns=RATED)


def test_a_person_a_system_tells_nothing_of_systems():
    """P(best) was above 0.99, without a note."""
    given = passes(np.random.default_rng(0), [("ann", 0, (1, 0)), ("bob", 0.4, (0, 1))])
    not_told(told(given, ["ann", "bob"], "'A' and 'B' were rated by different people"))


def test_no_case_in_common_tells_something_only_of_random_cases():
    random = np.random.default_rng(0)
    result = told(passes(random, [("ann", 0, (1, 1))], own=True), ["ann"], "'A' and 'B' have no cases in common")
    not_told(result)
    assert result.notes[1].startswith("If cases were given to systems at random, P(best) of the first one would be 0.")


def test_people_who_differ_are_taken_out_by_least_squares():
    random = np.random.default_rng(3)
    given = passes(random, [("ann", 0, (4, 1)), ("bob", 0.5, (1, 4))], n=150)
    people = given[given["rater"] != "gpt"]
    result = told(given, ["ann", "bob"], "by different people.*how strict each person is")
    assert result.main == "adjusted"
    assert result.judge == "gpt"
    assert 0.01 < better(result, "A", "B") < 0.99
    raw = pb.systems(people.assign(rater="one"), people=["one"])
    assert better(raw, "A", "B") > 0.995
    shared = pd.get_dummies(people[["system", "rater"]]).to_numpy(float)
    literal = np.linalg.lstsq(shared, people["outcome"].to_numpy(float))[0]
    read = read_outcomes(people, people=["ann", "bob"])
    found = least_squares(read, np.ones(len(people), bool), raters=True, cases=False)
    assert np.subtract(*found.value) == pytest.approx(literal[0] - literal[1])
    assert found.value @ np.bincount(read.system) / len(people) == pytest.approx(people["outcome"].astype(float).mean())


def test_cases_that_differ_are_taken_out_by_least_squares():
    """A has the easy cases, and a quarter of them is common."""
    random = np.random.default_rng(0)
    hard = random.normal(0, 1.5, 80)
    rows = [
        (system, case, "ann", random.random() < expit(-hard[case]))
        for system, sign in (("A", 1), ("B", -1))
        for case in range(80)
        if case % 4 == 0 or sign * hard[case] < 0
    ]
    given = pd.DataFrame(rows, columns=RATED)
    result = told(given, ["ann"], "on different cases.*how hard each case is")
    assert 0.02 < better(result, "A", "B") < 0.98
    dummies = pd.get_dummies(given[["system", "case"]].astype(str)).to_numpy(float)
    literal = np.linalg.lstsq(dummies, given["outcome"].to_numpy(float))[0]
    values = result.ranking.set_index("system")["mean"]
    assert values["A"] - values["B"] == pytest.approx(literal[0] - literal[1])


def test_only_common_cases_are_used_if_enough_are():
    given = passes(np.random.default_rng(0), [("ann", 0, (1, 1))], n=100)
    part = given[(given["system"] != "B") | (given["case"].str[1:].astype(int) >= 40)]
    result = told(part, ["ann"], "only the 160 cases that all of them have are used, of 200")
    common = pb.systems(given[given["case"].str[1:].astype(int) >= 40], people=["ann"])
    pd.testing.assert_frame_equal(result.ranking, common.ranking)
    assert result.main == "ppi++"


def test_many_people_of_each_system_are_a_sample_of_people():
    random = np.random.default_rng(0)
    strict = random.normal(0, 1.5, 24)
    rows = [
        ("AB"[person % 2], f"p{10 * (person // 2) + case}", f"r{person}", random.random() < expit(1 - strict[person]))
        for person in range(24)
        for case in range(10)
    ]
    given = pd.DataFrame(rows, columns=RATED)
    people = sorted(set(given["rater"]))
    result = told(given, people, "people of its own: they are taken for a sample")
    by_person = given.groupby(["system", "rater"])["outcome"].mean().groupby("system").sem()
    rows = result.table[result.table["estimator"] == "adjusted"].set_index("system")
    np.testing.assert_allclose(rows.loc[by_person.index, "se"], by_person, rtol=0.2)


def test_designs_of_chance_and_even_ones_are_not_told_of():
    random = np.random.default_rng(0)
    alarms = 0
    for _ in range(40):
        names = [f"s{one}" for one in range(random.integers(3, 6))]
        people = [f"r{one}" for one in range(random.integers(1, 5))]
        n = int(random.integers(20, 100))
        pairs = [
            (*random.choice(names, 2, replace=False), case, who, "ab"[random.integers(2)])
            for case in range(n)
            for who in people
        ]
        rows = [(name, case, random.choice(people), random.integers(2)) for case in range(n) for name in names]
        for given, columns in ((pairs, PAIR), (rows, RATED)):
            read = read_outcomes(
                pd.DataFrame(given, columns=columns),
                people=people if columns is PAIR else sorted({one[2] for one in rows}),
            )
            alarms += bool(design_of(read).cautions)
    assert alarms <= 2  # of 80


def test_the_model_does_not_rank_systems_that_were_not_judged_alike(monkeypatch):
    monkeypatch.setattr(_modelled, "sample", stored("pass"))
    given = outcomes("pass")
    plain = pb.systems(given, people=["ann", "bob"])
    options = {"draws": 25, "chains": 2, "warmup": 25, "progress": False}
    own = np.zeros((len(plain.outcomes.judges), 3))
    found = _modelled.with_model(replace(plain, cautions=("People differ.",)), own, **options)
    assert found.main == "ppi++"
    assert any("The model does not know that systems were not judged alike" in note for note in found.notes)
