"""Ratings by raters who differ: recovery, the oracle by NUTS, what is identified, and classes without a threshold."""

import warnings

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.base.errors import ArgumentError, ConvergenceWarning, PlausiblyWarning
from plausibly.families import settled
from plausibly.families.ratings import RatedCases, sampler_of
from plausibly.families.ratings._shared_errors import agreements
from plausibly.families.together import err_together
from tests.test_app.test_cli.run import succeed

SHORT = {"draws": 60, "chains": 2, "warmup": 40, "seed": 0, "progress": False}


def simulate(seed, n_cases=60, n_raters=6, per_case=3, n_groups=0, severity=0.5):
    """Ratings from 1 to 5, the severities of raters, and the group of each case."""
    random = np.random.default_rng(seed)
    s, sd = random.normal(0, severity, n_raters), 0.6 * np.exp(random.normal(0, 0.3, n_raters))
    group = np.arange(n_cases) % max(n_groups, 1)
    mean = random.normal(0, 0.8, n_cases) + random.normal(0, 0.5, max(n_groups, 1))[group]
    case = np.repeat(np.arange(n_cases), per_case)
    rater = np.concatenate([random.permutation(n_raters)[:per_case] for _ in range(n_cases)])
    z = mean[case] + s[rater] + sd[rater] * random.standard_normal(len(case))
    rows = {"case": [f"c{i:03}" for i in case], "annotator": [f"r{i}" for i in rater]}
    table = pd.DataFrame(rows | {"score": 1 + np.digitize(z, [-1.2, -0.4, 0.3, 1.0])})
    return table, s, group


def scores(*arguments, **options):
    return pb.Annotations.from_scores(simulate(*arguments, **options)[0])


def aggregate(data, model="ordinal-scores", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return pb.aggregate(data, model, raters="differ", **(SHORT | options))


@pytest.fixture(scope="module")
def posterior():
    return aggregate(scores(1, n_groups=4), case_groups={"system": np.arange(60) % 4})


def jury(seed, n=150, people=3, models=3, correlation=0.6):
    """Ratings from 1 to 5 by people and models, whose errors correlate, and the true means of cases."""
    random = np.random.default_rng(seed)
    mean, severity = random.normal(0, 0.8, n), random.normal(0, 0.3, people + models)
    error, common = random.standard_normal((n, people + models)), random.standard_normal((n, 1))
    error[:, people:] = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * error[:, people:]
    value = 1 + np.digitize(mean[:, None] + severity + 0.6 * error, [-1, -0.3, 0.3, 1])
    case, who = np.divmod(np.arange(value.size), people + models)
    names = np.array([f"p{at}" for at in range(people)] + [f"m{at}" for at in range(models)])
    rows = {"case": [f"c{at:03}" for at in case], "annotator": names[who], "score": value.ravel()}
    return pb.Annotations.from_scores(pd.DataFrame(rows)), mean


MODELS = {"models": ["m0", "m1", "m2"]}


@pytest.mark.slow
def test_raters_who_err_together_are_named_and_count_for_less_as_a_group(monkeypatch):
    data, mean = jury(0)
    with pytest.warns(PlausiblyWarning, match=r"Some raters err together: 'm0', 'm1', 'm2' rate .*--annotator-groups"):
        alone = aggregate(data)
    grouped = aggregate(data, annotator_groups=MODELS)
    assert "err_together" not in grouped.attrs
    monkeypatch.setattr(settled, "APART", 0.5)  # as if chains said different things of raters: then nobody is named
    assert "err_together" not in aggregate(data).attrs
    off = []
    for of in (alone, grouped):  # errors in units of the posterior standard deviation
        draws = of["posterior"]["latent_mean"].to_numpy().reshape(-1, len(mean))
        found = np.polyval(np.polyfit(mean, draws.mean(0), 1), mean) - draws.mean(0)
        off.append(np.sqrt((found**2).mean()) / draws.std(0).mean())
    assert off[0] > 1.3
    assert 0.75 < off[1] < 1.25
    table = pb.annotators.severities(grouped).set_index("annotator")
    assert table["errs_with"].to_dict() == dict.fromkeys(("m0", "m1", "m2"), "models") | dict.fromkeys(
        ("p0", "p1", "p2"), "(others)"
    )
    assert pb.annotators.severity_sentences(table.reset_index())[-1].startswith("The errors of the raters of the group")
    low, high = table.loc["m0", ["correlation_lower", "correlation_upper"]]
    assert low < 0.6 < high < 0.9
    assert (
        (table.loc[["p0", "p1", "p2"], ["correlation", "correlation_lower", "correlation_upper"]] == 0).to_numpy().all()
    )
    np.testing.assert_allclose(table["raw_mean"], table["fitted_mean"], atol=0.08)


def test_independent_errors_of_raters_are_not_held_for_shared_ones_and_shared_ones_are():
    for correlation, together in ((0.0, False), (0.6, True)):
        data, _ = jury(1, people=5, correlation=correlation)
        rated = RatedCases.of(data, "inferred", {})
        drawn = sampler_of(rated, draws=30, warmup=60, seed=0).run([0])[0]
        mean = drawn.pop("latent_mean")[None]
        found = err_together(agreements(rated, {name: of[None] for name, of in drawn.items()}, mean, 0))
        assert (found is not None) == together
        assert found is None or sorted(rated.raters[found[0]]) == MODELS["models"]


def test_spreads_and_skewed_ratings_are_not_held_for_shared_errors():
    """The numbers in the middle of intervals are no normal ones."""
    random = np.random.default_rng(500)
    z = random.normal(0, 0.8, (150, 1)) + np.geomspace(0.1, 1.5, 8) * random.standard_normal((150, 8))
    case, who = np.divmod(np.arange(z.size), 8)
    rows = {"case": [f"c{at:03}" for at in case], "annotator": [f"r{at}" for at in who]}
    data = pb.Annotations.from_scores(pd.DataFrame(rows | {"score": 1 + np.digitize(z.ravel(), [-1, -0.4, 0.3, 1])}))
    rated = RatedCases.of(data, "inferred", {})
    drawn = {name: of[None] for name, of in sampler_of(rated, draws=30, warmup=60, seed=0).run([0])[0].items()}
    mean = drawn.pop("latent_mean")
    assert err_together(agreements(rated, drawn, mean, 0)) is None


@pytest.mark.slow
def test_evaluate_takes_groups_of_raters(tmp_path, no_report):
    data, mean = jury(0, n=16)
    rows = {"case": data.cases[data.annotation_case], "annotator": data.annotators[data.annotation_annotator]}
    pd.DataFrame(rows | {"score": data.score}).to_csv(tmp_path / "ratings.csv", index=False)
    pd.DataFrame({"annotator": MODELS["models"], "group": "models"}).to_csv(tmp_path / "groups.csv", index=False)
    rating = 2 + np.digitize(mean, [-0.5, 0.5])
    pd.DataFrame({"case": data.cases, "prediction": rating}).to_csv(tmp_path / "judge.csv", index=False)
    given = ["--predictions", f"J={tmp_path / 'judge.csv'}", "--raters", "differ", "--draws", "8", "--chains", "1"]
    given += ["--warmup", "8", "--annotator-groups", str(tmp_path / "groups.csv"), "--out", str(tmp_path / "out")]
    said = succeed("evaluate", str(tmp_path / "ratings.csv"), *given)
    assert "The errors of the raters of the group models correlate by" in " ".join(said.output.split())
    assert (pd.read_csv(tmp_path / "out/severities.csv")["errs_with"] == "models").sum() == 3


@pytest.mark.slow
def test_raters_who_share_nothing_are_told_apart():
    halves = [simulate(seed, n_cases=20, n_raters=3)[0] for seed in (4, 5)]
    halves[1] = halves[1].assign(case="d" + halves[1]["case"], annotator="s" + halves[1]["annotator"])
    data = pb.Annotations.from_scores(pd.concat(halves))
    with pytest.warns(PlausiblyWarning, match=r"2 parts that share no case.*sr"):
        aggregate(data, draws=4, warmup=4)
    aggregate(data, draws=4, warmup=4, case_groups={"day": np.arange(40) % 2})  # they share, of which nothing is said


@pytest.mark.slow
def test_ratings_are_classes_without_a_threshold(posterior):
    data = scores(1, n_groups=4)
    assert posterior["constant_data"]["class_names"].values.tolist() == ["1", "2", "3", "4", "5"]
    plausibility = posterior["posterior"]["plausibility"].values.reshape(2, 60, 60, 5)
    mean = posterior["posterior"]["mean_rating"].values
    np.testing.assert_allclose(plausibility @ np.arange(1, 6), mean, atol=1e-4)
    raw = data.to_table().groupby("case")["score"].mean().loc[data.cases].to_numpy()
    assert np.corrcoef(mean.mean((0, 1)), raw)[0, 1] > 0.8
    metrics = ["mean_absolute_error", "quadratic_kappa"]
    results = pb.evaluate(posterior, {"near": raw, "far": 6 - raw}, metrics=metrics, progress=False)
    error = results["mean_absolute_error"].mean("draw")
    assert error.sel(classifier="near") < 1 < error.sel(classifier="far")
    assert results["quadratic_kappa"].mean("draw").sel(classifier="near") > 0.5
    row = pb.summary(results).set_index(["classifier", "metric"]).loc[("near", "mean_absolute_error")]
    assert row["lower"] < row["mean"] < row["upper"]
    assert row["total_lower"] < row["mean"] < row["total_upper"]
    split = aggregate(data, threshold=3, case_groups={"system": np.arange(60) % 4})
    above = split["posterior"]["plausibility"].values[..., 1::2]
    np.testing.assert_allclose(above, plausibility[..., 3:].sum(-1), atol=1e-5)


def test_tables_of_severities_and_mean_ratings(posterior):
    table = pb.annotators.severities(posterior)
    assert abs(table["severity"].mean()) < 0.05
    against = pb.annotators.severities(posterior, against="r2").set_index("annotator")
    assert against.loc["r2", ["severity", "lower", "upper"]].tolist() == [0, 0, 0]
    np.testing.assert_allclose(table["raw_mean"], table["fitted_mean"], atol=0.3)
    pair = pb.annotators.severities(posterior, groups={"pair": ["r1", "r4"]}).set_index("annotator")
    assert pair["group"].to_dict() == {f"r{at}": "pair" if at in (1, 4) else "(others)" for at in range(6)}
    one, other = pair.loc["r1", "group_severity"], pair.loc["r0", "group_severity"]
    assert one == pair.loc["r4", "group_severity"] == -other
    others = pair["severity"].drop(["r1", "r4"])
    assert one == pytest.approx(pair.loc[["r1", "r4"], "severity"].mean() - others.mean(), abs=0.03)
    assert (pair["group_lower"] < pair["group_upper"]).all()
    systems = pb.annotators.mean_ratings(posterior, "system")
    assert systems["mean"].is_monotonic_decreasing
    assert systems["p_best"].sum() == pytest.approx(1)
    reverse = pb.annotators.mean_ratings(posterior, [str(at % 4) for at in range(60)], best="lowest")
    assert reverse["group"].tolist() == systems["group"].tolist()[::-1]
    assert len(pb.annotators.mean_ratings(posterior)) == 60
    with pytest.raises(ArgumentError, match="no case group 'topic': give one of its case_groups \\(system\\)"):
        pb.annotators.mean_ratings(posterior, "topic")
    assert len(pb.plots.severities(posterior).collections) == 2


def test_cases_are_coded_once(monkeypatch):
    made = []
    of = RatedCases.of.__func__
    monkeypatch.setattr(RatedCases, "of", classmethod(lambda cls, *given: made.append(given) or of(cls, *given)))
    aggregate(scores(1), draws=4, warmup=0)
    assert len(made) == 1


def test_the_command_line_takes_ratings_without_a_threshold(tmp_path):
    table, _, _ = simulate(6, n_cases=30)
    table.to_csv(tmp_path / "ratings.csv", index=False)
    groups = pd.DataFrame({"case": sorted(set(table["case"])), "system": list("ab") * 15})
    groups.to_csv(tmp_path / "groups.csv", index=False)
    options = ["--draws", "8", "--warmup", "8", "--chains", "1", "--out", tmp_path / "posterior.nc"]
    told = succeed("aggregate", tmp_path / "ratings.csv", "--case-groups", tmp_path / "groups.csv", *options)
    assert "severity" in told.output
    assert "system_effect" in pb.load(tmp_path / "posterior.nc")["posterior"]
