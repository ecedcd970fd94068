"""Reader studies: published numbers, literal definitions, closed forms, and what coins and constants get."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import plausibly as pb
from plausibly.agreement import reader_study
from plausibly.agreement.readers._compare import Effect, effect_of, left_in_turn
from plausibly.agreement.readers._figures import FIGURES, delong, jackknife, own_figure
from validation.readers import against_readers, two_conditions


def auroc(truth, scores):
    pairs = np.sign(scores[truth == 1][:, None] - scores[truth == 0])
    return (1 + pairs.mean()) / 2


def right(truth, answers, sample_weight):
    return np.average(truth == answers, weights=sample_weight)


LITERAL = {
    "auroc": auroc,
    "accuracy": lambda truth, answers: np.mean(truth == answers),
    "sensitivity": lambda truth, answers: np.mean(answers[truth == 1]),
    "specificity": lambda truth, answers: np.mean(1 - answers[truth == 0]),
}


@cache
def ratings(n=30, seed=0):
    """Truth, and grades or decisions of four raters."""
    random = np.random.default_rng(seed)
    truth = np.repeat([1, 0], [n // 2, n - n // 2])
    scores = np.round(2 * random.normal(truth, 1, (4, n))) / 2
    return truth, scores, (scores > 0.5).astype(float)


def table(scores, **columns):
    """Long table of readers' scores (reader, case)."""
    reader, case = np.indices(scores.shape)
    found = {"case": [f"c{i}" for i in case.ravel()], "annotator": [f"r{j}" for j in reader.ravel()]}
    return pd.DataFrame(found | {"score": scores.ravel()} | columns).dropna()


def by_case(values):
    return {f"c{i}": value for i, value in enumerate(np.asarray(values).tolist())}


@pytest.mark.parametrize("name", LITERAL)
def test_figures_and_their_jackknife_are_the_literal_ones(name):
    truth, scores, decisions = ratings()
    answers = scores[0] if name == "auroc" else decisions[0]
    unit, figure = np.arange(len(truth)) // 2, FIGURES[name]  # clusters of two cases
    assert figure.value(truth, answers) == pytest.approx(LITERAL[name](truth, answers))
    counts = {"sensitivity": truth == 1, "specificity": truth == 0}.get(name, np.ones(len(truth), bool))
    units = np.unique(unit[counts])
    without = np.array([LITERAL[name](truth[unit != one], answers[unit != one]) for one in units])
    variance = (len(units) - 1) * np.var(without)
    rows = jackknife(figure, truth, answers, unit)
    assert rows @ rows == pytest.approx(variance)
    alone = np.arange(len(truth))
    direct = jackknife(replace(figure, rows=None), truth, answers, alone)
    np.testing.assert_allclose(jackknife(figure, truth, answers, alone), direct, atol=1e-12)
    assert not rows[np.setdiff1d(unit, units)].any()


def test_weights_count_cases_as_often_as_they_say():
    truth, scores, decisions = ratings()
    weights = np.random.default_rng(1).integers(1, 4, len(truth))
    for name, figure in FIGURES.items():
        answers = scores[0] if name == "auroc" else decisions[0]
        expected = LITERAL[name](np.repeat(truth, weights), np.repeat(answers, weights))
        assert figure.value(truth, answers, weights.astype(float)) == pytest.approx(expected)
    assert own_figure(right).value(truth, decisions[0], weights.astype(float)) == pytest.approx(
        LITERAL["accuracy"](np.repeat(truth, weights), np.repeat(decisions[0], weights))
    )


def test_delong_is_the_covariance_of_placements():
    truth, scores, _ = ratings()
    psi = (1 + np.sign(scores[:, truth == 1][:, :, None] - scores[:, truth == 0][:, None])) / 2
    m, n = psi.shape[1:]
    expected = np.cov(psi.mean(axis=2)) / m + np.cov(psi.mean(axis=1)) / n
    rows = np.array([delong(truth, one) for one in scores])
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-12)


def test_effects_are_those_of_the_analysis_of_variance_of_two_conditions():
    random = np.random.default_rng(0)
    values, rows = random.normal(size=(2, 5)), random.normal(size=(2, 5, 20)) / 9
    covariance = np.einsum("ijn,kln->ijkl", rows, rows)
    apart = ~np.eye(5, dtype=bool)
    within = np.mean([covariance[i, :, i][apart].mean() for i in range(2)])
    across = covariance[0, :, 1][apart].mean()
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    square = (rest**2).sum() / 4
    both = square + 5 * max(within - across, 0)
    found = effect_of(values[0] - values[1], rows[0] - rows[1])
    assert found.se == pytest.approx(np.sqrt(2 * both / 5))
    assert found.df == pytest.approx(4 * both**2 / square**2)
    f = 5 * values.mean(axis=1).var(ddof=1) / both
    assert found.p_value() == pytest.approx(2 * t.sf(np.sqrt(f), found.df))


def test_pseudo_values_of_pairs_leave_readers_out():
    random = np.random.default_rng(0)
    pairs = random.normal(size=(5, 5))
    found, _ = left_in_turn(pairs, np.zeros((5, 5, 1)))

    def mean_of(kept):
        return np.mean([pairs[j, k] for j in kept for k in kept if j != k])

    expected = [5 * mean_of(range(5)) - 4 * mean_of([k for k in range(5) if k != j]) for j in range(5)]
    np.testing.assert_allclose(found, expected)


@pytest.fixture(scope="module")
def folder(shared):
    return shared / "data" / "reader_study"


def test_published_model_against_readers(folder):
    found = against_readers(folder).table.iloc[0]
    np.testing.assert_allclose(
        found[["effect", "lower", "upper"]].astype(float), [-0.00584125, -0.0323318, 0.0206493], atol=5e-8
    )
    np.testing.assert_allclose(found[["df", "p"]].astype(float), [31.00905, 0.656045], atol=5e-6)
    assert (found["effect"] + 0.05) / found["se"] == pytest.approx(3.39975, abs=5e-6)
    assert found["p_noninferior"] == pytest.approx(0.000936, abs=5e-7)


def test_published_two_conditions(folder):
    found = two_conditions(folder, metric="auroc", covariance="delong")
    row, numbers = found.table.iloc[0], ["effect", "se", "df", "lower", "upper", "p"]
    expected = [-0.04380032, 0.0206825, 15.06611, -0.0878672, 0.0002666, 0.0512330]
    np.testing.assert_allclose(row[numbers].astype(float), expected, atol=5e-6)
    expected = [[0.8970370, 0.8253461, 0.9687280, 12.59597], [0.9408374, 0.8942155, 0.9874592, 12.56530]]
    np.testing.assert_allclose(found.means_of_readers[["effect", "lower", "upper", "df"]], expected, atol=5e-6)
    row = two_conditions(folder, metric="sensitivity", threshold=2).table.iloc[0]
    np.testing.assert_allclose(
        row[["effect", "se", "df", "p"]].astype(float), [-0.09777778, 0.03780451, 15.71732, 0.02008822], atol=5e-6
    )


def test_a_study_is_read_as_it_is_computed():
    truth, scores, decisions = ratings()
    gold = by_case(np.where(truth, "ill", "well"))
    result = reader_study(table(scores[1:]), {"A": by_case(scores[0])}, gold, margin=0.1, ci_prob=0.9, positive="ill")
    own = np.array([auroc(truth, one) for one in scores])
    rows = np.array([jackknife(FIGURES["auroc"], truth, one, np.arange(30)) for one in scores])
    expected = effect_of(own[0] - own[1:], rows[0] - rows[1:])
    (row,) = result.table.to_dict("records")
    assert row["effect"] == pytest.approx(own[0] - own[1:].mean()) == pytest.approx(row["first"] - row["second"])
    assert (row["se"], row["df"]) == pytest.approx((expected.se, expected.df))
    assert (row["lower"], row["upper"]) == pytest.approx(expected.ends(0.9))
    assert row["p_noninferior"] == pytest.approx(t.sf((expected.value + 0.1) / expected.se, expected.df))
    assert result.by_reader["auroc"].tolist() == pytest.approx([*own[1:], own[0]])
    decided = reader_study(
        table(scores[1:]), {"A": by_case(decisions[0])}, gold, metric="specificity", threshold=0.75, positive="ill"
    )
    assert decided.by_reader["specificity"].tolist() == pytest.approx(
        [LITERAL["specificity"](truth, one) for one in [*decisions[1:], decisions[0]]]
    )
    assert "3 readers" in result.understood
    assert "'ill'" in result.understood
    assert not any("wrong" in note for note in result.notes)
    turned = reader_study(table(scores[1:]), gold=gold, positive="well")
    assert "wrong way round" in turned.notes[0]
    assert "'well'" in turned.understood


def test_classes_scores_gold_of_some_cases_and_functions_fit_together():
    truth, scores, decisions = ratings()
    words = np.where(decisions[1:], "ill", "well")
    gold = dict([*by_case(np.where(truth, "ill", "well")).items()][1:-1])
    result = reader_study(
        table(words), {"A": by_case(scores[0])}, gold, metric="accuracy", model_threshold=0.75, positive="ill"
    )
    assert result.table["first"].item() == pytest.approx(np.mean((truth == decisions[0])[1:-1]))
    assert "2 more left out" in result.understood
    same = reader_study(table(decisions[1:]), {"A": by_case(decisions[0])}, by_case(truth), metric=right)
    named = reader_study(table(decisions[1:]), {"A": by_case(decisions[0])}, by_case(truth), metric="accuracy")
    numbers = ["effect", "se", "df", "first", "second"]
    np.testing.assert_allclose(same.table[numbers].astype(float), named.table[numbers].astype(float))
    three = np.array(["a", "b", "c"])
    kinds = np.arange(30) % 3
    told = reader_study(
        table(three[np.roll([kinds] * 3, 1, axis=0)]),
        {"A": by_case(three[(kinds + (kinds < 1)) % 3])},
        by_case(three[kinds]),
        metric="accuracy",
    )
    assert told.table["first"].item() == pytest.approx(2 / 3)


def test_conditions_are_compared_in_the_order_asked_for():
    _, scores, _ = ratings()
    truth = by_case(ratings()[0])
    both = pd.concat([table(scores[:2]).assign(condition="alone"), table(scores[2:]).assign(condition="aided")])
    first = reader_study(both, gold=truth).table.iloc[0]
    turned = reader_study(both, gold=truth, compare=("aided", "alone")).table.iloc[0]
    assert first["comparison"] == "alone − aided"
    assert first["effect"] == pytest.approx(-turned["effect"])
    one = reader_study(both, gold=truth, compare=("aided",))
    assert one.table["comparison"].tolist() == ["readers (aided)"]
    assert one.table["p"].isna().all()
    with_model = reader_study(both, {"A": by_case(scores[0])}, truth)
    assert with_model.table["comparison"].tolist() == ["A − alone", "A − aided", "alone − aided"]


def test_readers_of_some_cases_each_have_product_weights():
    truth, scores, _ = ratings(n=80, seed=3)
    whole = reader_study(table(scores[1:]), {"A": by_case(scores[0])}, by_case(truth)).table.iloc[0]
    some = scores[1:].copy()
    some[0, 0] = np.nan
    result = reader_study(table(some), {"A": by_case(scores[0])}, by_case(truth))
    part = result.table.iloc[0]
    assert part["effect"] == pytest.approx(whole["effect"], abs=0.02)
    assert part["df"] >= 2
    assert 0.8 < part["se"] / whole["se"] < 1.6
    assert any("every reader" in note for note in result.notes)
    pooled = [
        auroc(truth[there], scores[0][there]) - auroc(truth[there], one[there])
        for one in some
        for there in [~np.isnan(one)]
    ]
    sizes = [there[truth == 1].sum() * there[truth == 0].sum() for one in some for there in [~np.isnan(one)]]
    assert part["effect"] == pytest.approx(np.average(pooled, weights=sizes))


def test_readers_as_truth_are_compared_with_each_other():
    _, _, decisions = ratings(n=60, seed=2)
    result = reader_study(table(decisions[1:]), {"A": by_case(decisions[0])}, metric="accuracy")
    agree = (decisions[:, None] == decisions).mean(axis=2)
    assert result.table["first"].item() == pytest.approx(agree[0, 1:].mean())
    assert result.table["second"].item() == pytest.approx(np.mean([agree[1, 2], agree[1, 3], agree[2, 3]]))
    assert any("truth" in note for note in result.notes)


def test_a_coin_a_constant_and_perfect_readers_get_no_yes():
    random = np.random.default_rng(0)
    truth = np.repeat([1, 0], [10, 190])
    seen = np.array([np.where(random.random(200) < 0.04, 1 - truth, truth) for _ in range(6)])
    never, coin = by_case(np.zeros(200)), by_case(random.random(200) < 0.5)
    result = reader_study(table(seen), {"never": never, "coin": coin}, by_case(truth), metric="accuracy")
    assert [result.answer(one) for one in result.comparisons] == ["cannot tell", "worse"]
    assert "Always answering 0" in result.notes[0]
    options = {"gold": by_case(truth), "metric": "specificity", "positive": 1}
    half = reader_study(table(seen), {"never": never, "one": by_case(seen[0])}, **options)
    assert [half.answer(one) for one in half.comparisons] == ["cannot tell", "not worse"]
    scored = reader_study(table(seen), {"never": never, "coin": coin}, by_case(truth))
    assert [scored.answer(one) for one in scored.comparisons] == ["worse", "worse"]
    unfair = reader_study(table(seen), {"sure": by_case(truth + random.random(200) / 2)}, by_case(truth))
    assert [unfair.answer(one) for one in unfair.comparisons] == ["cannot tell"]
    assert "AUROC is higher for that alone" in unfair.notes[0]
    perfect = reader_study(table(np.array([truth] * 5)), {"A": by_case(truth)}, by_case(truth))
    assert perfect.table[["lower", "upper", "p", "p_noninferior"]].isna().all(axis=None)
    assert perfect.answer(perfect.comparisons[0]) == "cannot tell"
    assert "no interval" in perfect.verdict()


def test_a_threshold_is_that_of_evaluate_at_the_boundary_too():
    gold = {str(case): "ny"[case % 2] for case in range(12)}
    rated = {case: {who: 2 + (int(case) + at) % 5 // 2 for at, who in enumerate("abc")} for case in gold}
    model = {case: (0.5, 0.4, 0.5, 0.5)[int(case) % 4] for case in gold}
    found = reader_study(rated, {"A": model}, gold, metric="sensitivity", threshold=3, model_threshold=0.5).by_reader
    rows = [(case, who, score) for case, own in rated.items() for who, score in own.items()]
    above = pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"])).split(3).to_table()
    above = above[above["case"].map(gold) == "y"]
    positive = (above["class"] == "> 3").groupby(above["annotator"]).mean()
    assert 0 < positive.mean() < np.mean([own[who] >= 3 for own in rated.values() for who in own])
    labels = pb.read_annotations({case: {"gold": one} for case, one in gold.items()})
    own = pb.evaluate(labels, {"A": model}, metrics="sensitivity", truth="annotator", positive="y", threshold=0.5)
    expected = [*positive, own["sensitivity_point"].item()]
    assert found["sensitivity"].tolist() == pytest.approx(expected)


def test_plan_gives_back_the_study_and_grows_narrower():
    effect = Effect(0.0, 0.004, 0.003, 0.001, 5, 100)
    same = effect.of_size(5, 100)
    assert (same.se, same.df) == pytest.approx((effect.se, effect.df))
    widths = [np.subtract(*effect.of_size(n, 400).ends(0.94)) for n in (5, 10, 20)]
    assert all(later > one for one, later in pairwise(widths))
    least = effect.of_size(5, 10**9)  # readers alone are left: .004 − .003 + .001 of 5
    assert least.se == pytest.approx(np.sqrt(0.002 / 5), rel=1e-3)
    draws = np.random.default_rng(0).normal(0.05, same.se, 200_000)
    chi = np.sqrt(np.random.default_rng(1).chisquare(same.df, 200_000) / same.df)
    power = np.mean(np.abs(draws / same.se / chi) > t.ppf(0.975, same.df))
    assert same.power(0.05, 0.05) == pytest.approx(power, abs=0.005)
    sure = Effect(0.0, 1e-9, 1e-4, 1e-5, 6, 300)  # of which SciPy's noncentral t is NaN
    assert sure.power(0.5, 0.05) == pytest.approx(1)
    assert sure.power(1e-9, 0.05) == pytest.approx(0.05, abs=1e-3)
    assert Effect(0.0, 0.0, 1e-4, 1e-5, 6, 300).power_noninferior(0.0, 0.05) == pytest.approx(0.05)
