"""Sweeps against the same evaluations made one by one."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.aggregation._infer import Independent
from plausibly.aggregation.sweeps import KEPT_CASES
from plausibly.base.errors import ArgumentError
from plausibly.posterior import case_names
from plausibly.posterior.diagnostics import verdict

SCORES = {"A": np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]], "B": np.eye(3)[[0, 0, 0, 0, 1, 1, 1, 1]]}


@pytest.fixture(scope="module")
def annotations():
    rankings = [[[["a"], ["b"]], [["a", "b"]]], [[["b"]], [["c"], ["a"]]], [[["c"]]], [[["a"]], [["b"]], [["c"]]]]
    return pb.Annotations.from_rankings(rankings * 2, classes=["a", "b", "c"])


@pytest.fixture(scope="module")
def swept(annotations):
    models = {"prirn": (30, 10), "irn": None}
    return pb.sweep(
        annotations, SCORES, models, risks=[0, 1, 2], k=(1, 3), draws=20, ties="full", seed=3, progress=False
    )


def test_runs_are_those_of_aggregate_and_evaluate(annotations, swept):
    posterior = pb.aggregate(annotations, "prirn", reliability=10, draws=20, ties="full", seed=3, progress=False)
    expected = pb.evaluate(posterior, SCORES, risks=[0, 1, 2], k=(1, 3), seed=3)
    assert [run.label for run in swept.runs] == ["prirn@30", "prirn@10", "irn"]
    xr.testing.assert_equal(swept.runs[1].results, expected)


@pytest.mark.slow
def test_posteriors_are_kept_and_reused(annotations, monkeypatch, tmp_path):
    models = {"prirn": (30,), "irn": None}
    words = {
        "risks": [0, 1, 2],
        "k": 1,
        "metrics": ["overlap"],
        "replicates": 20,
        "draws": 20,
        "ties": "full",
        "seed": 3,
        "progress": False,
        "out": tmp_path / "made",
    }
    sampled, tables = [], []
    draw = Independent.draw

    def watched(self, data, settled, **given):
        if settled.model.name != "majority-vote":
            sampled.append(settled.arguments.get("reliability"))
        return draw(self, data, settled, **given)

    monkeypatch.setattr(Independent, "draw", watched)
    for changed, computed in (
        ({}, [30, None]),
        ({}, []),
        ({"k": 3, "break_ties": "random"}, []),  # of the evaluation alone
        ({"draws": 10}, [30]),
        ({"draws": 10, "fresh": True}, [30, None]),
        ({"seed": 4}, [30, None]),
        ({}, [30, None]),
    ):
        sampled.clear()
        found = pb.sweep(annotations, SCORES, models, **words | changed)
        assert sampled == computed, changed
        tables.append((found.metrics, found.certainty))
    names = {"posterior-prirn-30.nc", "posterior-irn.nc"}
    assert {path.name for path in words["out"].glob("[!.]*")} == names
    for again in (tables[1], tables[-1]):
        for table, first in zip(again, tables[0], strict=True):
            pd.testing.assert_frame_equal(table, first, check_exact=True)


def test_tables_and_arrays_hold_summaries_point_estimates_and_certainties(swept):
    table = swept.metrics
    assert list(table.columns) == [
        "classifier", "model", "reliability", "metric", "class", "mean", "sd", "lower", "upper", "best", "worst",
        "point", "total_lower", "total_upper", "sampling_sd", "undefined", "infinite",
    ]  # fmt: skip
    assert len(table) == 3 * 2 * (14 + 1 + 2 * 3)
    one = table[(table["model"] == "prirn") & (table["reliability"] == 10)].reset_index(drop=True)
    expected = pb.summary(swept.runs[1].results)
    pd.testing.assert_frame_equal(one.drop(columns=["model", "reliability"]), expected)
    assert table.loc[table["model"] == "irn", "reliability"].isna().all()
    arrays, table = swept.dataset, swept.metrics
    assert dict(arrays.sizes) == {"model": 2, "reliability": 3, "classifier": 2, "metric": 15}
    assert arrays["reliability"].values.tolist() == [10, 30, np.inf]
    for row in table[table["class"] == ""].itertuples():
        at = {"classifier": row.classifier, "model": row.model, "metric": row.metric}
        if row.model == "prirn":
            own = arrays.sel(reliability=row.reliability, **at)
            for name in ("mean", "sd", "lower", "upper", "best", "worst", "point"):
                assert float(own[name]) == getattr(row, name)
        limit = arrays.sel(reliability=np.inf, **at)
        assert float(limit["mean"]) == float(limit["lower"]) == row.point
        assert float(limit["sd"]) == 0
    assert np.isnan(arrays["mean"].sel(model="irn", reliability=10)).all()
    table = swept.certainty
    assert len(table) == 3 * 8
    assert list(table.columns) == [
        "case", "model", "reliability",
        "annotation_certainty_1", "annotation_certainty_2",
        "risk_certainty", "risk_level_certainty", "risk_plausibility_0", "risk_plausibility_1", "risk_plausibility_2",
        "expected_risk_mean", "expected_risk_min", "expected_risk_max",
        "expected_entropy", "mutual_information", "top_plausibility", "top_plausibility_point",
        "prior_share", "annotator_agreement", "top_class",
        "r_hat", "ess_bulk", "ess_tail", "n_diverging", "converged",
    ]  # fmt: skip
    np.testing.assert_allclose(table.filter(like="risk_plausibility").sum(axis=1), 1, rtol=1e-5)
    assert table["r_hat"].isna().all()
    assert table["converged"].all()


@pytest.mark.parametrize("metric", ["top1_accuracy", "top3_kendall_tau"])
def test_rankings_say_where_they_change(swept, metric):
    table = swept.rankings(metric)
    runs = [["prirn", 10.0], ["prirn", 30.0], ["prirn", np.inf], ["irn", np.inf]]
    assert table[["model", "reliability"]].values.tolist() == runs
    before = {}
    for row in table.itertuples():
        assert row.changes == (row.model in before and before[row.model] != row.ranking)
        before[row.model] = row.ranking
        if np.isinf(row.reliability):
            assert np.isnan(row.probability)
            continue
        run = next(run for run in swept.runs if run.reliability == row.reliability)
        a, b = run.results[metric].mean("draw").values * (-1 if "tau" in metric else 1)
        assert row.ranking == ("A = B" if abs(a - b) < 1e-9 else "A > B" if a > b else "B > A")
        found = pb.comparison.rankings(run.results, metric).set_index("ranking")["probability"]
        assert row.probability == found.get(row.ranking, 0)


@pytest.mark.slow
def test_metrics_ties_and_weights_reach_the_evaluation(annotations):
    options = {"metrics": {"own": lambda a, b: a @ b}, "weights": np.arange(8.0), "sizes": 2}
    swept = pb.sweep(annotations, SCORES, {"irn": None}, k=1, break_ties="random", seed=5, progress=False, **options)
    posterior = pb.aggregate(annotations, "irn", seed=5, progress=False)
    expected = pb.evaluate(posterior, SCORES, k=1, break_ties="random", seed=5, **options)
    xr.testing.assert_equal(swept.runs[0].results, expected)
    assert set(swept.metrics["metric"]) >= {"own", "top1_coverage"}


def test_the_excerpt_is_the_posterior_of_the_least_certain_cases(annotations, swept):
    posterior = pb.aggregate(annotations, "prirn", reliability=30, draws=20, ties="full", seed=3, progress=False)
    run = swept.runs[0]
    certainty = run.results["annotation_certainty_1"]
    cases = case_names(run.excerpt)
    assert len(cases) == KEPT_CASES
    assert certainty.sel(case=cases).values.tolist() == np.sort(certainty.values)[:KEPT_CASES].tolist()
    for case in cases:
        for name in ("plausibility",):
            whole, kept = posterior["posterior"][name], run.excerpt["posterior"][name]
            np.testing.assert_array_equal(
                whole.values[..., whole["case"].values == case], kept.values[..., kept["case"].values == case]
            )
        np.testing.assert_array_equal(pb.dense(posterior, [case]), pb.dense(run.excerpt, [case]))


@pytest.mark.slow
def test_usual_reliabilities_and_lists_shorter_than_there_are_classes(annotations):
    swept = pb.sweep(annotations, {}, {"prirn": None}, k=1, draws=4, chains=1, progress=False)
    assert [run.reliability for run in swept.runs] == [10, 20, 30, 50, 100]
    assert swept.metrics.empty
    assert swept.classifiers == []
    annotations = pb.Annotations.from_labels([["a", "b"]])
    for k, found in ((None, {"top1"}), ((1, 2), {"top1", "top2"})):
        swept = pb.sweep(annotations, {"A": [[0.1, 0.9]]}, {"majority-vote": None}, k=k, metrics={}, progress=False)
        assert {name.split("_")[0] for name in swept.metrics["metric"]} == found


@pytest.mark.slow
def test_named_metrics_are_beside_those_of_lists():
    annotations = pb.Annotations.from_labels([["a", "b"], ["a"], ["b", "b"]])
    scores = {"A": [[0.1, 0.9], [0.6, 0.4], [0.3, 0.7]]}
    models = {"dirichlet-categorical": (1,)}
    options = {"metrics": ["auroc", "ppv"], "positive": "a", "threshold": 0.35, "replicates": 0, "progress": False}
    swept = pb.sweep(annotations, scores, models, **options)
    assert swept.metrics["metric"].tolist() == ["top1_accuracy", "ppv", "auroc"]
    posterior = pb.aggregate(annotations, "dirichlet-categorical", reliability=1, seed=0, progress=False)
    expected = pb.evaluate(posterior, scores, **options)
    for name in ("auroc", "ppv"):
        np.testing.assert_array_equal(swept.runs[0].results[name], expected[name])
    assert swept.rankings("auroc")["ranking"].tolist() == ["A", "A"]
    with pytest.raises(ArgumentError, match="no metric 'aurok'"):
        pb.sweep(annotations, scores, models, metrics=["aurok"], progress=False)


def found(converged):
    cases = [f"c{i}" for i in range(len(converged))]
    return xr.Dataset({"converged": ("case", converged), "r_hat": ("case", np.ones(len(cases)))}, {"case": cases})


def test_the_verdict_on_convergence_names_cases_once_and_counts_the_rest():
    failed = [False] * 12 + [True]
    text = verdict({"pl@1": found([True] * 13), "pl@3": found(failed), "pl@10": found([False] + [True] * 12)})
    names = ", ".join(f"'c{i}'" for i in range(10))
    assert text.startswith(f"Chains did not converge in 12 of 13 cases (pl@3: 12, pl@10: 1): {names} and 2 more. ")
    assert verdict({"pl@1": found([True, True])}) == "Chains converged in all 2 cases (pl@1)."
    assert verdict({"irn": found([True]).drop_vars("r_hat")}).startswith("No convergence check is needed")
