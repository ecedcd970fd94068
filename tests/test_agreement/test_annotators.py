"""Who is a bad annotator: agreement adjusted for difficulty, the test against chance, and copies."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.agreement import agreement, annotators_in_words, odd_annotators
from plausibly.agreement.chance import _odd
from plausibly.agreement.chance.annotators import NO_BETTER, TOO_FEW
from validation.annotators import simulate


def table_of(rows, distance="nominal", **given):
    return agreement(rows, distance, progress=False, **given).annotators().set_index("annotator")


def noisy(n_cases, accuracies, seed=0, n_classes=4):
    """Labels that are right with the probabilities of the annotators, else any."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_cases)
    right = rng.random((n_cases, len(accuracies))) < np.array(accuracies)
    labels = np.where(right, truth[:, None], rng.integers(n_classes, size=right.shape))
    return [(i, f"a{j}", int(labels[i, j])) for i in range(n_cases) for j in range(len(accuracies))]


@pytest.mark.parametrize("kind", ["categories", "boxes"])
def test_planted_annotators_are_flagged_and_no_others(kind):
    rows, planted = simulate(kind, seed=3)
    table = table_of(rows, {"categories": "nominal", "boxes": "box_iou"}[kind], cross=50_000)
    flags = {int(name): flag for name, flag in table["flag"].items() if flag not in ("", TOO_FEW)}
    assert flags == planted
    assert set(map(int, table.index[:5])) == set(planted)
    rest = table[table["flag"] == ""]["agreement"]
    assert (np.diff(rest) >= 0).all()


def test_distances_are_those_of_their_definitions_whatever_the_names():
    rows = noisy(30, [0.9, 0.8, 0.5, 0.2])
    found = agreement(rows, "nominal", progress=False)
    table = found.annotators().set_index("annotator")
    said = {(i, who): label for i, who, label in rows}
    for who in table.index:
        others = [name for name in table.index if name != who]
        own = [np.mean([said[i, who] != said[i, name] for name in others]) for i in range(30)]
        assert table.loc[who, "distance"] == pytest.approx(np.mean(own))
        across = [said[i, who] != said[k, name] for i in range(30) for k in range(30) if k != i for name in others]
        assert table.loc[who, "by_chance"] == pytest.approx(np.mean(across), abs=0.04)
    # Of complete labels every case is as hard for all: agreement is alpha by annotator.
    expected = 1 - table["distance"] / float(found.expected)
    assert table["agreement"].to_numpy() == pytest.approx(expected.to_numpy(), abs=0.02)
    rows = noisy(40, [0.9, 0.6, 0.8, 0.1])
    before = table_of(rows)
    renamed = [(f"case {i}", who, "wxyz"[label]) for i, who, label in rows[::-1]]
    after = table_of(renamed).loc[before.index]
    pd.testing.assert_series_equal(before["agreement"], after["agreement"], atol=0.02)
    assert before["flag"].tolist() == after["flag"].tolist()


def test_hard_cases_and_few_labels_make_nobody_bad():
    """Two equally good annotators, one of whom labels hard cases alone; unadjusted they differ."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(400):
        hard, truth = i % 2, rng.integers(4)
        people = ["hard" if hard else "easy", *rng.choice([f"a{j}" for j in range(8)], 5, replace=False)]
        wrong = 0.55 if hard else 0.1
        rows += [(i, who, int(rng.integers(4) if rng.random() < wrong else truth)) for who in people]
    table = table_of(rows)
    plain = 1 - table["distance"] / table["by_chance"]
    difference, raw = (found["easy"] - found["hard"] for found in (table["agreement"], plain))
    assert raw > 0.4
    assert abs(difference) < 0.5 * raw
    assert table.loc["hard", "flag"] == ""
    rows = [*noisy(60, [0.9] * 4), *((i, "new", 0) for i in range(7))]
    assert table_of(rows).loc["new", "flag"] == TOO_FEW
    assert table_of(rows).index[-1] == "new"
    alone = table_of([("p", "ann", 1), ("p", "bob", 1), ("q", "eve", 2)])
    assert set(alone["flag"]) == {TOO_FEW}
    assert np.isnan(alone.loc["eve", "agreement"])


def test_copies_are_told_from_labels_that_are_equal_for_other_reasons():
    rows = noisy(80, [0.9] * 5, n_classes=2)
    rows = [(i, who, 0 if i % 5 else label) for i, who, label in rows]  # a frequent answer
    rows += [(i, who, 0) for i in range(80) for who in ("lazy", "idle")]
    table = table_of(rows)
    assert table.loc["lazy", "agreement"] > 0
    assert table.loc[["lazy", "idle"], "flag"].tolist() == [NO_BETTER] * 2
    flags = [table_of(noisy(60, [1.0, 1.0, 0.98, 0.05], seed=seed))["flag"] for seed in range(3)]
    assert not any(flag.startswith("copies") for found in flags for flag in found)
    random = np.random.default_rng(5)
    truth = random.normal(0, 10, 60)
    rows = [(i, f"a{j}", x + random.normal()) for i, x in enumerate(truth) for j in range(5)]
    copies = [
        (i, copier, x) for i, who, x in rows for copier, of in (("b1", "a1"), ("b3", "a3")) if who == of and i < 40
    ]
    same = [(i, "constant", 0.0) for i in range(30)]
    names = ["case", "annotator", "label"]
    table = pd.DataFrame([*rows, *copies, *same], columns=names).assign(round=np.arange(len(rows + copies + same)))
    flag = agreement(table, "interval", progress=False).annotators().set_index("annotator")["flag"]
    assert flag.to_dict() == {f"a{j}": "" for j in range(5)} | {
        "b1": "copies a1", "b3": "copies a3", "constant": NO_BETTER
    }  # fmt: skip
    rows = noisy(60, [0.7, 0.75, 0.8, 0.7, 0.8])
    copies = [(i, "copier", label) for i, who, label in rows if who == "a2" and i < 40]
    table = table_of(rows + copies)
    assert table.loc["copier", "flag"] == "copies a2"
    assert (table.drop("copier")["flag"] == "").all()


def test_annotations_and_scores_are_labels():
    rankings = {"p": {"ann": [["a"], ["b"]], "bob": [["a", "b"]]}, "q": {"ann": [["c"]], "bob": [["c"], ["a"]]}}
    ranked = pb.Annotations.from_rankings({"cases": rankings})
    assert agreement(ranked).distance == "partial_rankings"
    assert agreement(ranked).alpha == agreement(rankings, "partial_rankings").alpha
    single = pb.Annotations.from_labels([["a", "a"], ["b", "a"]], annotators=["ann", "bob"])
    assert (
        agreement(single).alpha == agreement([(0, "ann", "a"), (0, "bob", "a"), (1, "ann", "b"), (1, "bob", "a")]).alpha
    )
    table = pd.DataFrame({"case": [0, 0, 1, 1], "annotator": ["a", "b"] * 2, "score": [1.0, 2, 5, 7]})
    assert (
        agreement(pb.Annotations.from_scores(table)).alpha
        == agreement(table.rename(columns={"score": "label"}), "ordinal").alpha
    )


def test_the_sentence():
    table = pd.DataFrame({"annotator": list("abcde"), "agreement": [0.1, 0.2, 0.3, 0.4, 0.5]})
    flags = ["copies c", NO_BETTER, NO_BETTER, NO_BETTER, TOO_FEW]
    said = annotators_in_words(table.assign(flag=flags))
    assert said == (
        "4 of 5 annotators need a look: a copies c, b and c agree with the others no better than chance and 1 more. "
        "1 has too few labels to tell."
    )
    assert (
        "Nothing is odd about 5 annotators; a agrees least with the others (0.10 beyond chance; median 0.30)"
        in annotators_in_words(table.assign(flag=""))
    )
    assert "None of 5 annotators can be judged" in annotators_in_words(table.assign(flag=TOO_FEW))


def yes_or_no(seed, bias, n=80, people=5):
    """Labels of unclear cases; the first annotator says yes more often, by so much in log odds."""
    random = np.random.default_rng(seed)
    odds = random.normal(0, 1.5, n)[:, None] + np.eye(people)[0] * bias + random.normal(0, 0.5, (n, people))
    said = np.where(random.random((n, people)) < 1 / (1 + np.exp(-odds)), "yes", "no")
    some = random.random((n, people)) < 0.7
    return [(case, who, said[case, who]) for case, who in np.argwhere(some).tolist()]


def test_who_says_yes_more_often_than_others_is_told():
    rows = yes_or_no(0, 2.0)
    table = table_of(rows)
    row = table.loc["0"]
    assert (row["label"], row["leans"]) == ("yes", True)
    frame = pd.DataFrame(rows, columns=["case", "who", "label"]).assign(yes=lambda of: of["label"] == "yes")
    wide = frame.pivot(index="case", columns="who", values="yes").astype(float)
    mine = wide[wide[0].notna() & wide.drop(columns=0).notna().any(axis=1)]
    assert (row["own"], row["others"]) == pytest.approx((mine[0].mean(), mine.drop(columns=0).mean(axis=1).mean()))
    words = annotators_in_words(table.rename_axis("annotator").reset_index())
    assert f"0 says 'yes' in {100 * row['own']:.0f} % of cases, others in {100 * row['others']:.0f} % of" in words
    told = [table_of(yes_or_no(seed, 0.0))["leans"].any() for seed in range(30)]
    assert np.mean(told) < 0.07


def readers(seed, shift, coin=False, rare=0.0, n=60, people=5):
    """Labels of unclear cases by readers who differ in strictness and skill; the first is more lenient, or a coin."""
    random = np.random.default_rng(seed)
    severity, strict, noise = random.normal(size=n), random.normal(0, 0.2, people), random.uniform(0.3, 0.9, people)
    strict[0] -= shift
    said = severity[:, None] + noise * random.normal(size=(n, people)) > strict + rare
    said[:, 0] = random.random(n) < 0.5 if coin else said[:, 0]
    return pb.Annotations.from_labels(np.where(said, "yes", "no").tolist(), annotators=list("vwxyz"))


def test_a_coin_and_a_lenient_reader_are_named_and_honest_readers_are_not():
    honest = [told for seed in range(20) for rare in (0.0, 1.3) for told in odd_annotators(readers(seed, 0, rare=rare))]
    assert len(honest) <= 2
    coins = [odd_annotators(readers(seed, 0, coin=True)) for seed in range(10)]
    named = [
        any("1 of 5 annotators needs a look: v agrees with the others no better" in one for one in told)
        for told in coins
    ]
    assert np.mean(named) > 0.6
    rarely = [odd_annotators(readers(seed, 0, coin=True, rare=1.3)) for seed in range(10)]
    assert np.mean([any("v " in one for one in told) for told in rarely]) > 0.8
    lenient = [" ".join(odd_annotators(readers(seed, 1.5))) for seed in range(10)]
    assert np.mean(["v says 'yes' in " in told for told in lenient]) > 0.9
    assert (
        sum("says 'yes' in" in told.replace("v says 'yes' in", "") for told in lenient) <= 2
    )  # who look strict beside v
    assert odd_annotators(pb.Annotations.from_labels([["a", "b"]] * 9)) == []


def test_who_rates_higher_and_what_cannot_be_compared():
    random = np.random.default_rng(0)
    truth = random.normal(3, 1, 60)
    pairs = [(case, who) for case in range(60) for who in range(4)]
    rows = [(case, who, truth[case] + 1.0 * (who == 1) + random.normal(0, 0.5)) for case, who in pairs]
    table = table_of(rows, "interval")
    assert table.loc["1", "leans"]
    assert table.loc["1", "own"] - table.loc["1", "others"] == pytest.approx(1.0, abs=0.2)
    assert " 1 rates the same cases 1 higher" in annotators_in_words(table.rename_axis("annotator").reset_index())
    many = table_of([(case, who, f"w{case % 15}") for case in range(60) for who in range(3)])
    assert not many["leans"].any()
    assert many["own"].isna().all()


def test_what_is_odd_is_computed_once_for_all_screens_of_the_same_annotations(monkeypatch):
    made, calls = pb.Annotations.from_labels([["a", "b", "b"], ["a", "a", "b"]] * 10), []
    monkeypatch.setattr(_odd, "agreement", lambda *_, **__: calls.append(1) or agreement(made, progress=False))
    assert odd_annotators(made) == odd_annotators(made, leaning=True)
    assert len(calls) == 1
    odd_annotators(made.select(made.cases[:15]))
    odd_annotators(made)
    assert len(calls) == 3
