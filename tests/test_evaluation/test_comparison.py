"""Comparisons of classifiers against counts by hand."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import plausibly as pb
from plausibly.decisions.planning.advice import new_cases_or_labels
from plausibly.evaluation import verdict
from plausibly.evaluation.comparison import (
    better_equal_worse,
    differences,
    probabilities_better,
    probability,
    probability_better,
    rank_probabilities,
    rankings,
    variance_split,
)
from plausibly.evaluation.verdicts import advice
from plausibly.posterior import annotations_of
from tests import worlds


def results(values):
    names = [chr(ord("A") + i) for i in range(len(values))]
    accuracy = xr.DataArray(values, dims=("classifier", "draw"), coords={"classifier": names})
    return xr.Dataset({"top1_accuracy": accuracy, "top1_accuracy_point": accuracy[:, 0]})


def test_ties_count_half_also_those_that_rounding_hides():
    draws = results([[0.5, 0.7, 0.6, 0.6], [0.4, 0.8, 0.6, 0.6]])
    assert better_equal_worse(draws, "top1_accuracy", "A", "B") == {"better": 0.25, "equal": 0.5, "worse": 0.25}
    assert probability_better(draws, "top1_accuracy", "A", "B") == (1 + 0 + 0.5 + 0.5) / 4
    assert probability_better(draws, "top1_accuracy", "A", "A") == 0.5
    assert probability_better(results([[0.1 + 0.2] * 2, [0.3] * 2]), "top1_accuracy", "A", "B") == 0.5
    # Also where the value lies between two steps of 1e-9, as k / 1024 does; and large metrics do not overflow.
    at = 513 / 1024
    found = rankings(results([[at, at], [np.nextafter(at, 0), at + 1e-15]]), "top1_accuracy")
    assert found.values.tolist() == [["A = B", 1.0]]
    found = rankings(results([[1e12, 3e12], [2e12, 1e12]]), "top1_accuracy")
    assert sorted(found["ranking"]) == ["A > B", "B > A"]


def test_probability_of_a_requirement_is_the_share_of_draws_that_meet_it():
    draws = results([[0.5, 0.7, 0.6, 0.6], [0.4, np.nan, 0.6, 0.9]])
    for relation, a, b in ((">=", 3 / 4, 2 / 3), (">", 1 / 4, 1 / 3), ("<=", 3 / 4, 2 / 3), ("<", 1 / 4, 1 / 3)):
        np.testing.assert_allclose(probability(draws, "top1_accuracy", relation, 0.6), [a, b])
    single = draws.astype(np.float32)  # in which 0.6 and 0.7 are no longer those of decimals
    assert probability(single, "top1_accuracy", ">=", 0.7).values.tolist() == [1 / 4, pytest.approx(1 / 3)]
    assert probability(single, "top1_accuracy", ">", 0.7).values[0] == 0
    total = xr.DataArray([[0.8, 0.9, np.nan], [0.8, np.nan, 0.9]], dims=("classifier", "replicate"))
    both = draws.assign(top1_accuracy_total=total)
    found = probability(both, "top1_accuracy", ">=", 0.85, noise="total")
    assert found.values.tolist() == [0.5, 0.5]  # a value that one lacks says nothing of the other
    assert probability(draws, "top1_accuracy", ">=", 0.5, noise="total").isnull().all()
    assert probability(draws.isel(draw=[0]), "top1_accuracy", ">=", 0.5).isnull().all()


def test_differences_are_those_of_the_draws_and_the_matrix_holds_every_pair():
    draws = results(np.random.default_rng(0).integers(0, 4, (3, 50)) / 4)
    matrix = probabilities_better(draws, "top1_accuracy")
    for a in "ABC":
        for b in "ABC":
            expected = probability_better(draws, "top1_accuracy", a, b)
            assert float(matrix.sel(classifier=a, versus=b)) == expected
    np.testing.assert_allclose(matrix.values + matrix.values.T, 1)
    draws = results(np.random.default_rng(0).random((3, 400)))
    table = differences(draws, "top1_accuracy")
    assert table[["classifier", "versus"]].values.tolist() == [["A", "B"], ["A", "C"], ["B", "C"]]
    gap = draws["top1_accuracy"].values[0] - draws["top1_accuracy"].values[2]
    row = table.iloc[1]
    assert row["mean"] == pytest.approx(gap.mean())
    assert row["sd"] == pytest.approx(gap.std(ddof=1))
    assert [row["lower"], row["upper"]] == pytest.approx(np.quantile(gap, [0.03, 0.97]).tolist())
    point = draws["top1_accuracy_point"].values
    assert row["point"] == pytest.approx(point[0] - point[2])


values = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=4)


@settings(max_examples=30)
@given(values=values, smaller=st.booleans())
def test_rankings_are_counted_draw_by_draw(values, smaller):
    found = results(np.array(values) / 4)
    found["top1_accuracy"].attrs["better"] = "smaller" if smaller else "greater"
    names = "ABCD"[: len(values)]
    seen, places = Counter(), np.zeros((len(values), len(values)))
    for column in np.array(values).T * (-1 if smaller else 1):
        groups = [[n for n, v in zip(names, column, strict=True) if v == level] for level in sorted(set(column))[::-1]]
        seen[" > ".join(" = ".join(group) for group in groups)] += 1
        taken = 0
        for group in groups:
            for name in group:
                places[names.index(name), taken : taken + len(group)] += 1 / len(group)
            taken += len(group)
    table = rankings(found, "top1_accuracy")
    assert dict(zip(table["ranking"], table["probability"], strict=True)) == {r: n / 5 for r, n in seen.items()}
    assert table["probability"].is_monotonic_decreasing
    shares = rank_probabilities(found, "top1_accuracy")
    np.testing.assert_allclose(shares, places / 5)
    assert shares["place"].values.tolist() == list(range(1, len(values) + 1))


def test_of_a_distance_less_is_better_and_draws_without_weight_are_left_out():
    draws = results([[0.5, 0.7, 0.6], [0.4, 0.8, 0.5]])
    draws["top1_accuracy"].attrs["better"] = "smaller"
    assert probability_better(draws, "top1_accuracy", "A", "B") == pytest.approx(1 / 3)
    row = differences(draws, "top1_accuracy").iloc[0]
    # A difference is one of the metric itself, whichever way is better.
    assert row["mean"] == pytest.approx(1 / 30)
    assert row["probability_better"] == pytest.approx(1 / 3)
    draws = results([[0.5, np.nan, 0.6], [0.4, np.nan, 0.7]])
    assert probability_better(draws, "top1_accuracy", "A", "B") == 0.5
    assert rankings(draws, "top1_accuracy")["probability"].tolist() == [0.5, 0.5]


def random_cases(n_cases=40, seed=0):
    """A posterior of few labels, and the plausibilities that they were drawn from."""
    random = np.random.default_rng(seed)
    truth = random.dirichlet(np.full(5, 0.3), n_cases)
    classes = list("abcde")
    labels = [[classes[k] for k in random.choice(5, 6, p=p)] for p in truth]
    annotations = pb.Annotations.from_labels(labels, classes=classes)
    given = {"draws": 40, "chains": 2, "seed": 0, "progress": False}
    return pb.aggregate(annotations, "dirichlet-categorical", **given), truth


@pytest.mark.slow
def test_a_third_classifier_without_a_value_changes_no_pair():
    found = results([[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9], [np.nan] * 4])
    assert better_equal_worse(found, "top1_accuracy", "A", "B") == {"better": 0.5, "equal": 0.25, "worse": 0.25}


@pytest.mark.filterwarnings("ignore:The columns of")  # scores that are turned round
@pytest.mark.slow
def test_a_better_classifier_is_better_by_every_metric_and_kind_of_noise():
    posterior, truth = random_cases()
    loss = pb.metrics.Metric(lambda scores, plausibility: ((scores - plausibility) ** 2).sum(), better="smaller")
    gain = pb.metrics.Metric(lambda scores, plausibility: scores @ plausibility)
    given = {"k": 2, "metrics": {"loss": loss, "gain": gain}, "replicates": 80, "progress": False}
    found = pb.evaluate(posterior, {"good": truth, "bad": -truth}, **given)
    metrics = [name for name in found if found[name].dims == ("classifier", "draw")]
    assert len(metrics) == len(pb.metrics.METRICS) + 2
    for metric in metrics:
        sign = -1 if found[metric].attrs["better"] == "smaller" else 1
        row = differences(found, metric).iloc[0]
        for kind in ("", "total_"):
            assert row[[kind + name for name in ("better", "equal", "worse")]].tolist() == [1, 0, 0], metric
            assert row[f"{kind}probability_better"] == 1
            assert (sign * row[[f"{kind}lower", f"{kind}upper"]] > 0).all(), metric  # of the metric itself, as the mean
        assert sign * row["mean"] > 0
        for noise in ("annotation", "sampling", "total"):
            assert probability_better(found, metric, "good", "bad", noise=noise) == 1, metric
            assert rankings(found, metric, noise=noise)["ranking"].tolist() == ["good > bad"], metric
            assert rank_probabilities(found, metric, noise=noise).values.tolist() == [[1, 0], [0, 1]], metric
        assert verdict(found, metric, "good", "bad").count("100 %") == 2, metric


def noise_of(mean, sd, sampling_sd, better, total_better):
    """A row of differences."""
    shares = {"better": better, "equal": 0.0, "worse": 1 - better}
    total = {"total_better": total_better, "total_equal": 0.0, "total_worse": 1 - total_better}
    return pd.Series({"mean": mean, "sd": sd, "sampling_sd": sampling_sd} | shares | total)


@pytest.mark.parametrize(("sd", "sampling_sd"), [(0.03, 0.0295), (0.03, 0.01), (0.02, 0.03)])
def test_advice_on_labels_agrees_with_what_a_plan_says_of_new_cases(sd, sampling_sd):
    """However many labels: on new cases, they leave sampling noise, and new cases reduce both kinds."""
    forecast = {"labels": [0, 10], "versus": ["", ""], "width": [sd, 0.0], "cost": [0.0, 50.0]}  # they settle all
    noise = pd.DataFrame({"versus": [""], "annotation_sd": [sd], "sampling_sd": [sampling_sd]})
    given = {"noise": noise, "forecast": pd.DataFrame(forecast), "goal": "width", "learns": True}
    now, labels, _ = new_cases_or_labels(SimpleNamespace(n_cases=100, label_cost=1.0, labels_per_case=5.0, **given))
    told = advice(noise_of(0.02, sd, sampling_sd, 0.8, 0.75))
    assert "more cases would help" in told
    if labels < now:
        assert f"from {now:.3g} to {labels:.3g} at best" in told
    else:
        assert "more labels of these cases would not" in told


@pytest.mark.slow
def test_labels_are_not_advised_under_a_model_that_learns_nothing_from_them():
    posterior, truth = random_cases()
    posterior = pb.aggregate(annotations_of(posterior), "prirn", draws=40, seed=0, progress=False)
    scores = dict(zip("AB", truth + 0.3 * np.random.default_rng(0).random((2, *truth.shape)), strict=True))
    found = pb.evaluate(posterior, scores, metrics="top1_accuracy", replicates=80, progress=False)
    assert "only more cases would help" in verdict(found, "top1_accuracy", "A", "B")


def test_what_is_settled_needs_no_advice():
    assert advice(noise_of(0.2, 0.03, 0.02, 1.0, 0.99)) == ""
    assert "tell more of these cases" not in advice(noise_of(0.05, 0.02, 0.04, 0.99, 0.9))


@pytest.mark.slow
def test_equal_choices_are_called_so_and_labels_are_not_advised():
    of = worlds.labels_of_three()
    own = of.predictions["A"]
    other = own * np.where(own < own.max(axis=1, keepdims=True), 0.9, 1)
    found = pb.evaluate(of.posterior, {"A": own, "B": other / 2}, metrics=["top1_accuracy"], **worlds.EVALUATE)
    told = verdict(found, "top1_accuracy", "A", "B")
    assert "made the same choices" in told
    assert "more labels cannot" in told
    row = differences(found, "top1_accuracy").iloc[0]
    assert row[["equal", "probability_better"]].tolist() == [1, 0.5]
    assert row["total_probability_better"] == pytest.approx(0.5, abs=0.05)  # of new cases, they may not be


N_CASES, N_DRAWS = 60, 400


def noisy(chains=4):
    """Results with known noise: hits of two classifiers, independent between draws and cases."""
    rng = np.random.default_rng(0)
    hit = (rng.random((2, N_DRAWS, N_CASES)) < rng.random((2, 1, N_CASES))).astype(float)
    coords = {
        "classifier": ["A", "B"],
        "chain": ("draw", np.repeat(np.arange(chains), N_DRAWS // chains)),
        "case": [f"c{i}" for i in range(N_CASES)],
    }
    weight = rng.dirichlet(np.ones(N_CASES), N_DRAWS)
    means = {
        "x": (("classifier", "draw"), hit.mean(axis=2)),
        "x_by_case": (("classifier", "case"), hit.mean(axis=1)),
        "x_total": (("classifier", "replicate"), (hit * weight).sum(axis=2)),
        "x_sampling": (("classifier", "replicate"), hit.mean(axis=1) @ weight.T),
    }
    return xr.Dataset(means, coords=coords)


def test_the_three_kinds_of_noise_on_these_cases_and_on_cases_like_these():
    data = noisy()
    table = variance_split(data, "x").set_index(["classifier", "versus"])
    draws, cases, total = data["x"].values, data["x_by_case"].values, data["x_total"].values
    for name, own, by_case, of_total in zip("AB", draws, cases, total, strict=True):
        row = table.loc[(name, "")]
        assert row["annotation_sd"] == pytest.approx(own.std(ddof=1))
        assert row["monte_carlo_se"] == pytest.approx(row["annotation_sd"] / np.sqrt(row["effective_draws"]))
        # Independent draws: nearly all of them count.
        assert 0.6 * N_DRAWS < row["effective_draws"] <= N_DRAWS
        # The closed form of the Bayesian bootstrap; 400 replicates give its standard deviation within 3.5 %.
        assert row["sampling_sd"] == pytest.approx(by_case.std() / np.sqrt(N_CASES + 1), rel=0.14)
        assert row["total_sd"] == pytest.approx(of_total.std(ddof=1))
    row = table.loc[("A", "B")]
    assert row["annotation_sd"] == pytest.approx((draws[0] - draws[1]).std(ddof=1))
    assert row["sampling_sd"] == pytest.approx((cases[0] - cases[1]).std() / np.sqrt(N_CASES + 1), rel=0.14)
    row = differences(data, "x").iloc[0]
    total = data["x_total"].values[0] - data["x_total"].values[1]
    assert [row["total_lower"], row["total_upper"]] == pytest.approx(np.quantile(total, [0.03, 0.97]).tolist())
    assert row["total_probability_better"] == pytest.approx((total > 0).mean())
    assert probability_better(data, "x", "A", "B", noise="total") == row["total_probability_better"]
    assert rankings(data, "x", noise="total").set_index("ranking")["probability"]["A > B"] == pytest.approx(
        row["total_probability_better"]
    )


def test_draws_that_repeat_are_worth_less_and_without_replicates_sampling_noise_is_unknown():
    data = noisy()
    sticky = data.assign(x=data["x"].copy(data=np.repeat(data["x"].values[:, ::10], 10, axis=1)))
    few, many = (variance_split(found, "x")["effective_draws"] for found in (sticky, data))
    assert (few < 0.3 * many).all()
    data = noisy().drop_vars(["x_total", "x_sampling"])
    split = variance_split(data, "x")
    assert split[["sampling_sd", "total_sd"]].isna().all(axis=None)
    assert (split["annotation_sd"] > 0).all()
    row = differences(data, "x").iloc[0]
    assert row[["total_lower", "total_upper", "sampling_sd", "total_probability_better"]].isna().all()
    assert np.isnan(probability_better(data, "x", "A", "B", noise="total"))


@pytest.mark.parametrize("replicates", [0, 50])
def test_a_point_estimate_leaves_annotation_noise_unknown(replicates):
    """And everything that would need it: only sampling noise, and the values themselves, are known."""
    annotations = pb.Annotations.from_labels([["a"], ["b"], ["b"], ["b"]])
    posterior = pb.aggregate(annotations, "majority-vote", progress=False)
    predictions = {"A": [[1, 0], [1, 0], [0, 1], [0, 1]], "B": [[0, 1], [0, 1], [1, 0], [0, 1]]}
    given = {"replicates": replicates, "by": {"site": ["x", "x", "y", "y"]}, "progress": False}
    found = pb.evaluate(posterior, predictions, metrics="top1_accuracy", **given)
    split = variance_split(found, "top1_accuracy").iloc[0]
    assert split[["annotation_sd", "monte_carlo_se", "total_sd"]].isna().all()
    own = pb.summary(found).iloc[0]
    assert own[["sd", "lower", "upper", "total_lower", "total_upper"]].isna().all()
    assert own[["mean", "best", "worst", "point"]].tolist() == [0.75] * 4
    between = differences(found, "top1_accuracy").iloc[0]
    assert between[["mean", "point"]].tolist() == [0.25] * 2
    unknown = ["lower", "upper", "better", "equal", "worse", "probability_better"]
    assert between[["sd", *unknown, *(f"total_{name}" for name in unknown)]].isna().all()
    assert all(np.isnan(row["sampling_sd"]) == (replicates == 0) for row in (split, own, between))
    assert np.isnan(probability_better(found, "top1_accuracy", "A", "B"))
    assert np.isnan(rank_probabilities(found, "top1_accuracy")).all()
    ranked = rankings(found, "top1_accuracy")
    assert ranked["ranking"].tolist() == ["A > B"]
    assert ranked["probability"].isna().all()
    by_site = pb.evaluation.by_group(found)
    assert by_site[["lower", "upper", "difference_lower", "difference_upper", "p_worst"]].isna().all(axis=None)
    assert by_site["mean"].tolist() == [0.5, 1, 0.5, 0.5]
    assert "is unknown" in verdict(found, "top1_accuracy", "A", "B")


@pytest.mark.parametrize("truth", ["annotator", "panel"])
def test_truths_without_draws_are_compared_by_their_noise(truth):
    random = np.random.default_rng(0)
    shares = random.beta(1, 1, size=60)
    labels = np.where(random.random((60, 3)) < shares[:, None], "b", "a").tolist()
    found = pb.evaluate(
        pb.Annotations.from_labels(labels, classes=["a", "b"]),
        {"A": shares, "B": (shares + random.random(60)) / 2},
        metrics=["auroc"],
        truth=truth,
        panel=3,
    )
    shares_of_draws = better_equal_worse(found, "auroc", "A", "B")
    assert sum(shares_of_draws.values()) == pytest.approx(1)
    assert shares_of_draws == better_equal_worse(found, "auroc", "A", "B", noise="total")
    assert probabilities_better(found, "auroc").notnull().all()
    assert rankings(found, "auroc")["ranking"].iloc[0] == "A > B"
    assert np.isnan(probability_better(found, "auroc", "A", "B", noise="annotation"))
