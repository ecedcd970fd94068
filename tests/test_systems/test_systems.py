"""Systems: estimators against literal definitions and published numbers, and what tables say.

``python -m validation --only systems`` counts how often intervals cover.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

import plausibly as pb
from plausibly.data.outcomes import Cells, Outcomes
from plausibly.systems._estimates import (
    bias,
    mean,
    p_of_choice,
    p_of_contrast,
    p_of_equal,
    prediction_powered,
    rogan_gladen,
    rogan_gladen_by_system,
    squared_correlation,
    trend,
)
from plausibly.systems._findings import of_pairs
from plausibly.systems._plan import Further

SCENARIOS = [
    (30, 2000, 0.80),
    (50, 450, 0.95),
    (100, 900, 0.90),
    (200, 1800, 0.75),
    (300, 4700, 0.85),
    (500, 500, 0.60),
]


def world(seed, n, rest, accuracy, rate=0.7):
    """Outcomes by people in n cases, by a judge there, and by the judge in the rest."""
    random = np.random.default_rng(seed)
    y = (random.random(n + rest) < rate).astype(float)
    f = np.where(random.random(n + rest) < accuracy, y, 1 - y)
    return y[:n], f[:n], f[n:]


def cells_of(y, f, rest):
    n = len(y) + len(rest)
    people = np.concatenate([y, np.full(len(rest), np.nan)])
    return Cells(np.zeros(n, int), np.arange(n), people, np.concatenate([f, rest])[None])


def literal(y, f, rest, weight=None):
    """Mean and weight as published; the standard error of cases that are corrected with the weight of the others."""
    n, m = len(y), len(rest)
    own = np.full(n, weight)
    if weight is None:
        below = (1 + n / m) * np.concatenate([f, rest]).var(ddof=1)

        def best(y, f):
            return min(max(((y - y.mean()) * (f - f.mean())).mean() / below, 0), 1)

        weight, own = best(y, f), np.array([best(np.delete(y, one), np.delete(f, one)) for one in range(n)])
    corrected = y - own * (f - f.mean())
    error = weight**2 * rest.var(ddof=1) / m + corrected.var(ddof=1) / n
    return y.mean() + weight * (rest.mean() - f.mean()), np.sqrt(error), weight


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_ppi_and_its_tuned_form_are_their_definitions(scenario):
    y, f, rest = world(1, *scenario)
    cells = cells_of(y, f, rest)
    for tuned in (False, True):
        found = prediction_powered(cells, cells.judges[0], tuned=tuned)
        value, se, weight = literal(y, f, rest, None if tuned else 1.0)
        own = found.value[0], found.se[0], found.weight[0]
        np.testing.assert_allclose(own, (value, se, weight), rtol=0, atol=1e-10)


def with_partly_rated(seed, rate, n, shared, total, worlds=1000):
    """Worlds, as systems: people rated the first n cases, and a good judge the first ones of these and all others."""
    random = np.random.default_rng(seed)
    y = (random.random((worlds, total)) < rate).astype(float)
    f = np.where(y == 1, random.random(y.shape) < 0.95, random.random(y.shape) > 0.7).astype(float)
    people, judge = y.copy(), f
    people[:, n:], judge[:, shared:n] = np.nan, np.nan
    place = np.repeat(np.arange(worlds), total), np.tile(np.arange(total), worlds)
    return Cells(*place, people.ravel(), judge.ravel()[None])


@pytest.mark.parametrize("rate", [0.6, 0.9])
@pytest.mark.parametrize(("n", "shared", "total"), [(30, 6, 120), (60, 20, 240), (60, 60, 240)])
def test_what_only_people_rated_counts(rate, n, shared, total):
    """Left out, it made estimates worse than those of people alone, and few shared cases made them certain."""
    cells = with_partly_rated(7, rate, n, shared, total)
    alone, found = mean(cells), prediction_powered(cells, cells.judges[0])
    rmse = [np.sqrt(((one.value - rate) ** 2).mean()) for one in (found, alone)]
    assert rmse[0] < 1.02 * rmse[1]
    lower, upper = found.interval(0.95, share=True)
    assert (lower < upper).all()
    assert ((lower <= rate) & (rate <= upper)).mean() >= 0.92
    if shared < 10:
        of_people = alone.value, alone.se, *alone.interval(0.95, share=True)
        np.testing.assert_allclose((found.value, found.se, lower, upper), of_people)
    if (n, shared) == (60, 60):
        assert rmse[0] < 0.93 * rmse[1]


def test_an_interval_of_a_share_is_never_empty():
    y, f, rest = np.ones(12), np.r_[np.zeros(9), np.ones(3)], np.r_[np.ones(99), np.zeros(1)]
    cells = cells_of(y, f, rest)
    found = prediction_powered(cells, cells.judges[0], tuned=False)
    assert found.value[0] > 1.2
    lower, upper = found.interval(0.95, share=True)
    assert lower < upper == 1


def test_differences_of_shares_have_newcombes_intervals():
    """Method 10 of paired cases: from the ends of both intervals that lie in the direction of the end."""
    both = np.stack(world(1, 50, 0, 0.7, rate=0.95)[:2])
    found = mean(Cells(np.repeat([0, 1], 50), np.tile(np.arange(50), 2), both.ravel()))
    (one, other), ends = both.mean(axis=1), np.transpose(found.interval(0.95, share=True))
    below, above = np.abs(ends - [[one], [other]]).T

    def distance(a, b):
        return np.sqrt(a**2 + b**2 - 2 * np.corrcoef(both)[0, 1] * a * b)

    value = one - other
    expected = value, value - distance(below[0], above[1]), value + distance(above[0], below[1])
    np.testing.assert_allclose(np.ravel(found.difference(np.array([0]), np.array([1]), 0.95, share=True)), expected)


def test_people_alone_are_a_t_interval_and_a_cluster_counts_once():
    y, f, rest = world(2, 40, 100, 0.8)
    cells = cells_of(y, f, rest)
    lower, upper = mean(cells).interval(0.9)
    expected = stats.t.interval(0.9, 39, y.mean(), stats.sem(y))
    np.testing.assert_allclose((lower[0], upper[0]), expected)
    twice = Cells(*(np.tile(one, 2) for one in (cells.system, cells.cluster, cells.people)), np.tile(cells.judges, 2))
    for estimate in (mean, lambda one: prediction_powered(one, one.judges[0], tuned=False)):
        assert estimate(twice).se[0] == pytest.approx(estimate(cells).se[0], abs=1e-12)
    once, doubled = (rogan_gladen_by_system(one, one.judges[0], 0.95) for one in (cells, twice))
    np.testing.assert_allclose(doubled, once, atol=1e-12)


def test_rogan_and_gladen_with_three_binomials():
    found = rogan_gladen(0.4, 1000, 0.9, 200, 0.7, 200, 0.95)
    np.testing.assert_allclose(found[:3], (0.1667, 0.0564, 0.2627), atol=5e-5)
    assert np.isnan(rogan_gladen(0.4, 1000, 0.5, 200, 0.4, 200, 0.95).value)  # it tells nothing


def test_a_judge_that_is_nearly_always_right_is_not_taken_for_perfect():
    """It misses some passes, and judged so many cases that its errors in the few that people saw are what counts."""
    n, errors, worlds, rate = 60, 0.02, 400, 0.6
    total = 61 * n
    random = np.random.default_rng(n)
    y = (random.random((worlds, total)) < rate).astype(float)
    f = np.where(random.random(y.shape) < errors / rate, 0, y)
    y[:, n:] = np.nan
    cells = Cells(np.repeat(np.arange(worlds), total), np.tile(np.arange(total), worlds), y.ravel(), f.reshape(1, -1))
    for found in (prediction_powered(cells, cells.judges[0], tuned=one) for one in (0, 1)):
        lower, upper = found.interval(0.95, share=True)
        assert ((lower <= rate) & (rate <= upper)).mean() >= 0.92  # without unseen errors .77 to .84
    lower, upper = bias(cells, cells.judges[0]).interval(0.95)
    assert (lower < upper).all()


def test_clusters_of_different_sizes_have_fewer_degrees_of_freedom():
    """CR2 and its degrees of freedom against their definitions, with matrices."""
    random = np.random.default_rng(0)
    sizes = [1, 1, 2, 3, 8]
    cluster, n = np.repeat(np.arange(5), sizes), sum(sizes)
    y = random.normal(size=n)
    found = mean(Cells(np.zeros(n, int), cluster, y))
    centred = np.eye(n) - 1 / n
    sums = [
        np.sqrt(1 / (1 - size / n)) * (cluster == number) @ centred / n for number, size in enumerate(sizes)
    ]  # A = (I − H)^(−1/2) has eigenvalue (1 − size/n)^(−1/2) for the vector of ones
    spread = np.array([[a @ b for b in sums] for a in sums])
    np.testing.assert_allclose(found.df, np.trace(spread) ** 2 / (spread**2).sum())
    np.testing.assert_allclose(found.se**2, sum((one @ y) ** 2 for one in sums))
    equal = mean(Cells(np.zeros(12, int), np.arange(12) // 3, y[:12]))
    np.testing.assert_allclose(equal.df, 3)


LEVELS = {
    "equal values": lambda cells, random: p_of_equal(mean(cells)),
    "a contrast": lambda cells, random: p_of_contrast(mean(cells), np.arange(4) == 0)[1],
    "a trend": lambda cells, random: trend(cells, np.repeat(random.random(40), 4)),
}


@pytest.mark.parametrize("what", LEVELS)
def test_tests_hold_their_level(what):
    random, p = np.random.default_rng(3), []
    for _ in range(400):
        gap = (random.normal(size=(40, 1)) + random.normal(size=(40, 4))).ravel()
        cells = Cells(np.tile(np.arange(4), 40), np.repeat(np.arange(40), 4), gap)
        p.append(LEVELS[what](cells, random))
    assert 0.02 <= (np.array(p) < 0.05).mean() <= 0.09
    few = Cells(np.tile(np.arange(4), 3), np.repeat(np.arange(3), 4), np.arange(12.0))
    assert np.isnan(p_of_equal(mean(few)))


def test_the_test_of_a_random_sample_holds_its_level_near_the_edge():
    """A judge passes nine of ten; people saw 30 cases, which it often passes all."""
    random = np.random.default_rng(4)
    f = (random.random((2000, 530)) < 0.9).astype(float)
    people = np.where(np.arange(530) < 30, 1.0, np.nan)
    cells = Cells(
        np.repeat(np.arange(2000), 530), np.tile(np.arange(530), 2000), np.tile(people, 2000), f.ravel()[None]
    )
    p = p_of_choice(cells, cells.judges[0])
    assert 0.02 <= (p < 0.05).mean() <= 0.08
    assert (p < 0.001).mean() <= 0.006


def table(seed=0, n=400, seen=100, favoured="gpt-4-turbo"):
    """Three systems; the judge passes most of the failures of the one that bears its name."""
    random = np.random.default_rng(seed)
    rows = []
    for system, rate in (("gpt-4-turbo", 0.6), ("B", 0.85), ("C", 0.7)):
        for case in range(n):
            good = random.random() < rate
            said = good if random.random() < 0.9 else not good
            said |= system == favoured and random.random() < 0.7
            rows.append((system, f"p{case}", "gpt-4", int(said)))
            rows += [(system, f"p{case}", "ann", int(good))] if case < seen else []
    return pd.DataFrame(rows, columns=["system", "case", "rater", "outcome"])


@pytest.fixture(scope="module")
def found():
    return pb.systems(table(), people=["ann"])


def test_the_table_has_every_estimator_of_every_system(found):
    rows = found.table[found.table["system"] == "B"].set_index("estimator")
    assert rows.index.tolist() == ["people", "judge", "ppi", "ppi++", "rogan-gladen"]
    given = table()
    own = given[given["system"] == "B"].pivot(index="case", columns="rater", values="outcome")
    shared = own.dropna()
    assert rows.loc["people", ["mean", "n_people"]].tolist() == [shared["ann"].mean(), 100]
    assert rows.loc["judge", "mean"] == own["gpt-4"].mean()
    rest = own.loc[own["ann"].isna(), "gpt-4"].to_numpy(float)
    for name, weight in (("ppi", 1.0), ("ppi++", None)):
        value, _, weight = literal(shared["ann"].to_numpy(), shared["gpt-4"].to_numpy(float), rest, weight)
        assert rows.loc[name, "mean"] == pytest.approx(value, abs=1e-12)
        assert rows.loc[name, "weight"] == pytest.approx(weight, abs=1e-12)
    assert "that people would give, on new cases" in rows.loc["ppi++", "meant"]
    assert "not people's" in rows.loc["judge", "meant"]


def test_the_judge_who_favours_its_own_is_found_and_corrected(found):
    alone = found.table[found.table["estimator"] == "judge"].set_index("system")["mean"]
    assert alone.idxmax() == "gpt-4-turbo"
    assert found.ranking["system"].iloc[0] == "B"
    assert found.ranking["system"].iloc[-1] == "gpt-4-turbo"
    bias = found.bias.set_index("system")
    assert bias.loc["gpt-4-turbo", "lower"] > 0
    assert bias["own"].to_dict() == {"gpt-4-turbo": True, "B": False, "C": False}
    assert found.judges["p_bias_differs"].item() < 0.01
    words = " ".join(found.summary)
    assert "B has the highest pass rate" in words
    assert "By gpt-4 alone, gpt-4-turbo would come first" in words
    assert "gpt-4 favours some systems" in words


def test_what_a_judge_is_worth_is_the_ratio_of_variances(found):
    rows = found.table.pivot(index="system", columns="estimator", values="se")
    expected = 100 * ((rows["people"] / rows["ppi++"]) ** 2).sum()
    assert found.judges["worth"].item() == pytest.approx(expected)
    assert expected > 300
    assert f"the 300 outputs that people rated tell as much as {expected:,.0f} would without" in " ".join(found.summary)


def test_judges_are_compared_with_people(found):
    """Agreement, and how often the judge passes what people pass and fails what they fail, over all systems."""
    wide = table().pivot(index=["system", "case"], columns="rater", values="outcome").dropna().astype(float)
    y, f = (wide[name].to_numpy() for name in ("ann", "gpt-4"))
    row = found.judges.iloc[0]
    assert row["agreement"] == pytest.approx((y == f).mean())
    for rate, said in (("sensitivity", f[y == 1]), ("specificity", 1 - f[y == 0])):
        assert row[rate] == pytest.approx(said.mean())
        assert row[f"{rate}_lower"] < row[rate] < row[f"{rate}_upper"]
    words = f"gpt-4 agrees with people in {100 * (y == f).mean():.0f} % of the {len(y)} outputs that both rated: in "
    assert any(one.startswith(words) for one in found.summary)


def test_differences_are_paired_by_case():
    random = np.random.default_rng(5)
    hard = random.normal(0, 2, 80)
    rows = [
        (name, str(case), "ann", hard[case] + shift + random.normal(0, 0.3))
        for name, shift in (("A", 0.0), ("B", 0.3))
        for case in range(80)
    ]
    result = pb.systems(pd.DataFrame(rows, columns=["system", "case", "rater", "score"]), people=["ann"])
    wide = pd.DataFrame(rows).pivot(index=1, columns=0, values=3)
    paired = stats.ttest_rel(wide["B"], wide["A"]).confidence_interval(0.94)
    row = result.differences.iloc[0]
    assert (row["system"], row["other"]) == ("B", "A")
    np.testing.assert_allclose(row[["lower", "upper"]].tolist(), paired)
    assert row["p_better"] > 0.99
    assert result.ranking["p_best"].tolist() == pytest.approx([1, 0], abs=0.01)
    assert result.headline.startswith("B has the highest")
    result.differences["lower"] = -0.01  # then the interval of the difference has 0 in it
    assert result.headline.startswith("No system can be called best yet: B has the highest")
    assert result.judge == ""
    assert any("There is no judge" in note for note in result.notes)


def test_several_judges_have_rows_and_their_mean_ranks():
    given = table()
    other = given[given["rater"] == "gpt-4"].assign(rater="llama")
    result = pb.systems(pd.concat([given, other]), people=["ann"])
    assert result.judges["judge"].tolist() == ["gpt-4", "llama", "mean of 2 judges"]
    assert result.judge == "mean of 2 judges"
    rows = result.table[(result.table["estimator"] == "ppi++") & (result.table["system"] == "B")]
    assert rows["mean"].nunique() == 1  # they say the same


def test_clusters_widen_and_few_outcomes_are_told(found):
    given = table(seen=24)
    given["topic"] = given["case"].str[1:].astype(int) // 8
    few = pb.systems(given, people=["ann"])
    assert any(note.startswith("People rated few cases of 'gpt-4-turbo', 'B', 'C'") for note in few.notes)
    assert not found.notes
    by_topic = pb.systems(given, people=["ann"], clusters="topic").table
    by_name = {f"p{case}": case // 8 for case in range(400)}
    same = pb.systems(given.drop(columns="topic"), people=["ann"], clusters=by_name).table
    pd.testing.assert_frame_equal(by_topic, same)
    assert not np.allclose(by_topic["se"], few.table["se"])
    alone = few.table["estimator"] == "people"
    assert by_topic[alone]["mean"].tolist() == few.table[alone]["mean"].tolist()


def comparisons(seed=0, n=900, seen=400):
    """Pairs of three systems: people tie often, the judge never, and mostly for the first and longer output."""
    random = np.random.default_rng(seed)
    strength = {"A": 0.8, "B": 0.0, "C": -0.8}
    rows = []
    for case in range(n):
        a, b = random.permutation(list(strength))[:2]
        p = expit(strength[a] - strength[b])
        longer = random.integers(1, 50, 2)
        if case < seen:
            said = "tie" if random.random() < 0.3 else a if random.random() < p else b
            rows.append((a, b, f"p{case}", "ann", said, *longer))
        first = random.random() < 0.5 * p + 0.5
        rows.append((a, b, f"p{case}", "gpt", a if first else b, *longer))
    return pd.DataFrame(rows, columns=["system_a", "system_b", "case", "rater", "outcome", "length_a", "length_b"])


def test_pairs_give_win_rates_in_which_ties_count_half():
    given = comparisons()
    result = pb.systems(given, people=["ann"])
    people = given[given["rater"] == "ann"]
    half = (people["outcome"] == "tie") / 2
    for system in "ABC":
        inside = (people["system_a"] == system) | (people["system_b"] == system)
        rate = ((people["outcome"] == system) + half)[inside].mean()
        rows = result.table[(result.table["system"] == system) & (result.table["estimator"] == "people")]
        assert rows["mean"].item() == pytest.approx(rate)
    assert result.ranking["system"].tolist() == ["A", "B", "C"]
    assert "rogan-gladen" not in set(result.table["estimator"])
    assert "highest win rate" in result.headline


def test_odd_judges_of_pairs_are_told():
    given = comparisons()
    notes = " ".join(pb.systems(given, people=["ann"]).notes)
    assert "gpt never ties, people do in" in notes
    assert "gpt prefers the output that is shown first in" in notes
    assert "longer" not in notes
    of_gpt = given["rater"] == "gpt"
    longer = np.where(given["length_a"] >= given["length_b"], given["system_a"], given["system_b"])
    wordy = given.assign(outcome=np.where(of_gpt, longer, given["outcome"]))
    assert "gpt prefers the longer output in 100 %" in " ".join(pb.systems(wordy, people=["ann"]).notes)
    fair = given.assign(rater=given["rater"].where(~of_gpt | (given["case"] < "p3"), "bob"))
    assert "bob" not in " ".join(pb.systems(fair, people=["ann", "bob"]).notes)


def test_a_judge_of_few_pairs_without_ties_is_not_odd():
    """People tie in 7 of 100, which leaves 22 comparisons without a tie in one of five."""
    rows = [("A", "B", f"p{n}", "ann", "tie" if n < 7 else "a" if n % 2 else "b") for n in range(100)]
    rows += [("A", "B", f"p{n}", "gpt", "a" if n % 2 else "b") for n in range(22)]
    columns = ["system_a", "system_b", "case", "rater", "outcome"]
    assert "never ties" not in " ".join(pb.systems(pd.DataFrame(rows, columns=columns), people=["ann"]).notes)


def test_judges_like_people_are_rarely_told_of():
    """Several people see each pair, and agree more than chance: 400 worlds in which the judge is one of them."""
    told, worlds, n = {"first": 0, "longer": 0, "ties": 0}, 400, 60
    for seed in range(worlds):
        random = np.random.default_rng(seed)
        easy, long = random.normal(0, 2, n), random.integers(1, 9, n) * random.choice([-1, 1], n)
        case = np.repeat(np.arange(n), 4)
        rater = np.tile(np.arange(4), n)
        value = np.where(random.random(4 * n) < 0.1, 0.5, random.random(4 * n) < expit(easy[case] + 0.1 * long[case]))
        names = [np.array(list(one)) for one in ("AB", "".join(map(chr, range(97, 97 + n))), "jklm")]
        zeros = np.zeros(4 * n, int)
        is_person = np.arange(4) > 0
        given = Outcomes(
            "pairs", *names, is_person, zeros, case, rater, value, np.arange(n), zeros + 1, longer=long[case] * 1.0
        )
        words = " ".join(of_pairs(given))
        told = {name: number + (name in words) for name, number in told.items()}
    assert max(told.values()) <= 0.03 * worlds, told


def test_a_judge_who_favours_its_own_is_told(found):
    assert found.judges["p_own"].item() < 0.001
    assert "gpt-4 prefers its own outputs (p < 0.001): bias +" in " ".join(found.summary)


def test_what_more_outcomes_bring_is_what_they_bring():
    """Widths are predicted for 200 worlds with 60 outcomes by people, and found with 160."""
    worlds, total, random = 200, 500, np.random.default_rng(6)
    y = (random.random((worlds, total)) < 0.65).astype(float)
    f = np.where(random.random(y.shape) < 0.9, y, 1 - y)
    cells, found = [], []
    for n in (60, 160):
        people = np.where(np.arange(total) < n, y, np.nan)
        place = np.repeat(np.arange(worlds), total), np.tile(np.arange(total), worlds)
        cells.append(Cells(*place, people.ravel()))
        found.append(prediction_powered(cells[-1], f.ravel()))
    given = np.full(worlds, 60), np.full(worlds, 440), squared_correlation(cells[0], f.ravel()), np.zeros(worlds)
    later = Further(found[0], *given, np.arange(worlds), 0.95, share=True).later(100)
    then, actual, now = (np.subtract(*one.interval(0.95, share=True)[::-1]).mean() for one in (later, *found[::-1]))
    assert then == pytest.approx(actual, rel=0.02)
    assert actual < 0.8 * now


def test_the_plan_names_systems_that_are_not_told_apart_yet(found):
    assert found.plan.columns.tolist() == ["system", "more", "n_people", "width", "p_told"]
    of_one = found.plan[found.plan["system"] == "B"]
    assert of_one["more"].tolist() == [25, 50, 100, 200, 300]  # all that only the judge saw
    assert of_one["width"].is_monotonic_decreasing
    assert of_one["p_told"].is_monotonic_increasing
    assert len(found.advice) == 1  # all are told from the first one
    assert found.advice[0].startswith("If people rated 100 more cases of each system, intervals would be ")
    random = np.random.default_rng(2)
    rows = [
        (name, case, who, int(random.random() < rate))
        for name, rate in (("A", 0.75), ("B", 0.68), ("C", 0.2))
        for who, n in (("ann", 80), ("gpt", 2000))
        for case in range(n)
    ]
    near = pb.systems(pd.DataFrame(rows, columns=["system", "case", "rater", "outcome"]), people=["ann"])
    first, second = near.ranking["system"].iloc[:2]
    assert f"To tell {first} from {second}, let people rate about " in near.advice[1]
    assert " C" not in near.advice[1]
    alone = pb.systems(pd.DataFrame(rows[:80], columns=["system", "case", "rater", "outcome"]), people=["ann"])
    assert alone.plan["more"].tolist() == [25, 50, 100, 200, 500, 1000]


def dated(moves, seed=0):
    """A judge whose errors become passes in half of the cases, after the middle of the time, if it moves."""
    random = np.random.default_rng(seed)
    given = table(seed, n=900, seen=450)
    day = given["case"].str[1:].astype(int) % 90
    late = (given["rater"] == "gpt-4") & (day > 45) & (random.random(len(given)) < 0.5) & moves
    return given.assign(
        outcome=given["outcome"].where(~late, 1), date=pd.Timestamp("2026-01-01") + day * pd.Timedelta(days=1)
    )


def test_a_bias_that_moves_with_time_is_told():
    moved = pb.systems(dated(moves=True), people=["ann"])
    assert moved.drift["judge"].unique().tolist() == ["gpt-4"]
    assert len(moved.drift) == 6
    assert moved.drift["n_shared"].sum() == 3 * 450
    assert moved.drift["bias"].iloc[-1] > moved.drift["upper"].iloc[0]
    assert (moved.drift["end"].iloc[:-1].to_numpy() < moved.drift["start"].iloc[1:].to_numpy()).all()
    assert moved.judges["p_drift"].item() < 0.001
    assert any(note.startswith("The bias of gpt-4 moves with time (p < 0.001): ") for note in moved.notes)
    still = pb.systems(dated(moves=False), people=["ann"])
    assert len(still.drift) == 6
    assert still.judges["p_drift"].item() > 0.01
    assert not still.notes
    without = pb.systems(table(), people=["ann"])
    assert not len(without.drift)
    assert np.isnan(without.judges["p_drift"].item())
    pairs = comparisons().assign(date="2026-01-01")
    assert not len(pb.systems(pairs, people=["ann"]).drift)  # one date
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(len(pairs)), unit="h")
    assert pb.systems(pairs.assign(date=days), people=["ann"]).drift["bias"].between(0, 1).all()


def test_a_judge_that_shares_no_case_with_people_is_not_used():
    given = table()
    elsewhere = given[(given["rater"] == "gpt-4") & (given["case"].str[1:].astype(int) >= 100)].assign(rater="far")
    result = pb.systems(pd.concat([given, elsewhere]), people=["ann"])
    assert result.judge == "gpt-4"
    assert any(note.startswith("far has no weight in 'gpt-4-turbo', 'B', 'C': ") for note in result.notes)
    of_far = result.table[(result.table["judge"] == "far") & (result.table["estimator"] == "ppi++")]
    alone = result.table[result.table["estimator"] == "people"]
    assert of_far["mean"].tolist() == alone["mean"].tolist()
    assert (of_far["weight"] == 0).all()
    assert "With far" not in " ".join(result.summary)


def test_a_judge_of_few_outputs_does_not_rank():
    """The mean of judges, which has outcomes where all have, was taken whatever its error."""
    given = table()
    few = given[(given["rater"] == "gpt-4") & (given["case"].str[1:].astype(int) % 12 == 0)].assign(rater="llama")
    result = pb.systems(pd.concat([given, few]), people=["ann"])
    assert result.judge == "gpt-4"
    pd.testing.assert_frame_equal(result.ranking, pb.systems(given, people=["ann"]).ranking)
    (told,) = [note for note in result.notes if "llama" in note and "no weight" not in note]
    assert told.startswith("'llama' counts as a judge, but rated about as few outputs as people do")


def test_people_and_judges_that_write_cases_differently_are_told():
    given = table()
    zeros = given["case"].where(given["rater"] == "gpt-4", "p00" + given["case"].str[1:])
    result = pb.systems(given.assign(case=zeros), people=["ann"])
    assert result.judge == ""
    (told,) = [note for note in result.notes if "in two ways" in note]
    assert told.startswith("300 of the 300 outputs that people rated have no outcome by gpt-4. ")
    assert told.endswith("People have 'p000', gpt-4 'p0'.")
    other = given["case"].where(given["rater"] == "gpt-4", "human-" + given["case"])
    (told,) = [n for n in pb.systems(given.assign(case=other), people=["ann"]).notes if "in two ways" in n]
    assert "People have 'human-p0', gpt-4 'p0'" in told
    some = (given["rater"] == "gpt-4") & (given["case"].str[1:].astype(int) > 9)
    numbers = given.assign(case=given["case"].str[1:].where(~some, "test " + given["case"].str[1:]))
    (told,) = [n for n in pb.systems(numbers, people=["ann"]).notes if "in two ways" in n]
    assert "People have '10', gpt-4 'test 10'" in told


def test_names_that_differ_only_in_capitals_are_told(found):
    given = table()
    late = given["case"].str[1:].astype(int) >= 300
    of_b = given["system"] == "B"
    more = given[of_b & late].assign(rater="ann")
    given = pd.concat([given.assign(system=given["system"].where(~of_b | ~late, "b")), more.assign(system="b")])
    with pytest.warns(pb.PlausiblyWarning, match="have no cases in common"):
        notes = pb.systems(given, people=["ann"]).notes
    assert any(note.startswith("The systems 'B' and 'b' are counted apart") for note in notes)
    given = pd.concat([given, given[given["rater"] == "gpt-4"].assign(rater="GPT 4")])
    with pytest.warns(pb.PlausiblyWarning, match="have no cases in common"):
        notes = pb.systems(given, people=["ann"]).notes
    assert any(note.startswith("The raters 'gpt-4' and 'GPT 4' are counted apart") for note in notes)
    assert not found.notes


def test_people_who_look_like_models_are_told():
    given = table()
    notes = pb.systems(given, people=["ann", "gpt-4"]).notes
    assert any(note.startswith("gpt-4 counts as a person, but the name is in that of the system 'g") for note in notes)
    bot = given.assign(rater=given["rater"].replace("gpt-4", "bot"))
    notes = pb.systems(bot, people=["ann", "bot"]).notes
    assert any(note.startswith("bot counts as a person, but rated 1,200 times, and nobody else more") for note in notes)
    assert not any("counts as" in note for note in pb.systems(bot, people=["ann"]).notes)


def test_where_people_saw_all_cases_the_judge_adds_nothing():
    result = pb.systems(table(seen=400), people=["ann"])
    rows = result.table.pivot(index="system", columns="estimator", values="upper")
    np.testing.assert_allclose(rows["ppi++"], rows["people"])
    assert rows["ppi"].isna().all()
    assert rows["rogan-gladen"].isna().all()


def test_cases_that_were_chosen_by_the_judge_are_told(found):
    assert not any("random sample" in note for note in found.notes)
    given = table().pivot(index=["system", "case"], columns="rater", values="outcome").reset_index()
    given = given[(given["system"] != "B") | given["ann"].isna() | (given["gpt-4"] == 0)]
    rows = given.melt(["system", "case"], value_name="outcome").dropna()
    with pytest.warns(pb.PlausiblyWarning, match="rated on different cases"):
        notes = pb.systems(rows, people=["ann"]).notes
    (told,) = [note for note in notes if "random sample" in note]
    assert told.startswith("gpt-4 rates the cases of 'B' that people rated differently from the others")


def test_systems_that_always_pass_share_the_first_rank():
    rows = [(system, str(case), "ann", 1) for system in "AB" for case in range(30)]
    result = pb.systems(pd.DataFrame(rows, columns=["system", "case", "rater", "outcome"]), people=["ann"])
    assert result.ranking["p_best"].tolist() == pytest.approx([0.5, 0.5], abs=0.02)
    assert result.ranking["upper"].tolist() == pytest.approx([1, 1])
    assert all(0.85 < lower < 0.9 for lower in result.ranking["lower"])
    assert result.ranking[["rank_lower", "rank_upper"]].values.tolist() == [[1, 2], [1, 2]]
    alone = pb.systems(pd.DataFrame(rows[::30], columns=["system", "case", "rater", "outcome"]), people=["ann"])
    assert alone.headline.startswith(
        "No system can be called best yet: A has the highest pass rate that people would give: 1.000"
    )
