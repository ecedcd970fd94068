"""Metrics by group of cases: those of the subset, differences by draw, the worst group, forms and refusals."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app.report._by_group import results_by_group
from plausibly.app.report.tables import value_and_interval
from plausibly.evaluation import by_group, group_difference
from plausibly.evaluation.summaries import few_cases
from plausibly.posterior import ranges

N, CLASSES = 120, list("abcd")
METRICS = ["top1_accuracy", "top2_coverage", "top2_overlap"]
ASKED = {"k": (1, 2), "metrics": METRICS, "replicates": 80, "progress": False}
SITE, SEX = np.array(["north", "south", "west"])[np.arange(N) % 3], np.array(["f", "m"])[np.arange(N) // 100]


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    truth = random.dirichlet(np.full(4, 0.5), N)
    cases = [f"p{i}" for i in range(N)]
    labels = [[CLASSES[k] for k in random.choice(4, 3, p=p)] for p in truth]
    annotations = pb.Annotations.from_labels(labels, classes=CLASSES, cases=cases)
    predictions = {
        name: random.dirichlet(np.ones(4), N) + quality * truth for name, quality in (("A", 1.0), ("B", 0.2))
    }
    posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=40, chains=2, seed=0, progress=False)
    table = pd.DataFrame({"case": cases, "site": SITE, "sex": SEX})
    found = pb.evaluate(posterior, predictions, by=table, intersections=True, **ASKED)
    return annotations, posterior, predictions, table, found


@pytest.mark.slow
def test_groups_are_evaluate_on_the_subset_and_all_else_is_as_without_them(data):
    annotations, posterior, predictions, _, found = data
    name, group = "site × sex: west × f", (SITE == "west") & (SEX == "f")
    own = pb.aggregate(annotations.select(group), "dirichlet-categorical", draws=40, chains=2, seed=0, progress=False)
    alone = pb.evaluate(own, {key: p[group] for key, p in predictions.items()}, **ASKED)
    for metric in METRICS:
        for kind in ("", "_point", "_total"):
            values = found[f"{metric}{kind}_by_group"].sel(group=name).values
            np.testing.assert_allclose(values, alone[f"{metric}{kind}"].values, rtol=2e-5, atol=2e-6)
    assert int(found["group_n_cases"].sel(group=name)) == group.sum()
    plain = pb.evaluate(posterior, predictions, **ASKED)
    for name, values in plain.items():
        np.testing.assert_array_equal(found[name], values)


def test_the_table_says_what_the_draws_say(data):
    *_, found = data
    table = by_group(found, "top1_accuracy", 0.9).set_index(["column", "group", "classifier"]).sort_index()
    drawn = found["top1_accuracy_total_by_group"]
    difference = group_difference(found, "top1_accuracy", "site: north", "site: west")
    expected = drawn.sel(group="site: north").values - drawn.sel(group="site: west").values
    np.testing.assert_array_equal(difference.values, expected)
    row = table.loc[("site", "north", "A")]
    own = drawn.sel(group="site: north", classifier="A").values
    assert (row["lower"], row["upper"]) == pytest.approx(tuple(np.quantile(own, [0.05, 0.95])))
    own = own - found["top1_accuracy_total"].sel(classifier="A").values
    assert row["difference_lower"] == pytest.approx(np.quantile(own, 0.05))
    assert table.loc["site"].groupby("classifier")["p_worst"].sum().to_dict() == pytest.approx({"A": 1.0, "B": 1.0})
    three = [drawn.sel(group=f"site: {site}", classifier="A").values for site in ("north", "south", "west")]
    worst = np.stack(three) == np.min(three, axis=0)
    assert table.loc[("site", "north", "A"), "p_worst"] == pytest.approx((worst[0] / worst.sum(axis=0)).mean())
    sexes = table.loc["sex"]
    assert sexes["few"].to_dict() == {(sex, name): sex == "m" for sex in "fm" for name in "AB"}
    assert sexes["p_worst"].isna().all()  # a single group is large enough


def test_groups_with_few_cases_or_few_of_either_class_are_flagged():
    counts = {"group_n_cases": ("group", [100, 100, 100, 29]), "group_n_positive": ("group", [90, 91, 9, 15])}
    results = xr.Dataset(coords=counts)
    np.testing.assert_array_equal(few_cases(results, "auroc"), [False, True, True, True])
    np.testing.assert_array_equal(few_cases(results, "top1_accuracy"), [False, False, False, True])


@pytest.mark.parametrize("form", ["index", "mapping", "series", "nested", "path"])
def test_forms_of_groups(data, form, tmp_path):
    *_, table, _ = data
    by_case = table.set_index("case")["site"]
    table[["case", "site"]].to_csv(tmp_path / "groups.csv", index=False)
    given = {"index": table.set_index("case")[["site"]], "mapping": by_case.to_dict(), "series": by_case,
             "nested": {"site": by_case.to_dict()}, "path": tmp_path / "groups.csv"}[form]  # fmt: skip
    from plausibly.data.groups import read_groups

    found = read_groups(given, table["case"].to_numpy(str))
    assert found.value.tolist() == ["north", "south", "west"]
    np.testing.assert_array_equal(found.member[1], SITE == "south")


def test_the_report_has_worst_groups_a_figure_and_a_table_by_column(data):
    annotations, _, _, _, found = data
    run = Run("m@1", "m", 1.0, found, convergence=None, excerpt=None, attrs={})
    title, shown = results_by_group(Sweep(annotations, (run,)))
    assert title == "Results by site, sex"
    assert "site × sex" not in title
    worst = next(iter(shown[1].values()))
    assert worst["by"].tolist() == ["site", "site", "site × sex", "site × sex"]
    table = by_group(found, "top1_accuracy").set_index(["column", "group", "classifier"]).sort_index()
    for row in worst.itertuples():
        own = table.loc[(row.by, slice(None), row.classifier), "p_worst"]
        assert own.idxmax()[1] == row[3]
    shown = shown[3]["Top-1 accuracy by site"].set_index(["group", "classifier"])
    row = table.loc[("site", "west", "B")]
    expected = value_and_interval(*row[["mean", "lower", "upper"]])
    assert shown.loc[("west", "B"), "Top-1 accuracy"] == expected
    every = run.groups()
    assert set(every["metric"]) == set(run.metrics()["metric"])
    own = every[every["metric"] == "top1_accuracy"].drop(columns=["model", "reliability", "metric"])
    pd.testing.assert_frame_equal(own.reset_index(drop=True), by_group(found, "top1_accuracy"))


@pytest.mark.slow
def test_ranges_of_cases_may_lack_members_of_a_group(data, monkeypatch):
    """As where more cases than are read at a time are sorted by group."""
    _, posterior, predictions, _, _ = data
    by, given = {"site": np.sort(SITE)}, {"metrics": "top1_accuracy", "replicates": 80, "progress": False}
    whole = pb.evaluate(posterior, predictions, by=by, **given)
    monkeypatch.setattr(ranges, "CASES", 20)
    in_ranges = pb.evaluate(posterior, predictions, by=by, **given)
    for name in ("top1_accuracy_by_group", "top1_accuracy_total_by_group"):
        np.testing.assert_allclose(in_ranges[name], whole[name], rtol=1e-5, atol=1e-6)
