"""``plausibly evaluate --metrics``: rows of metrics.csv and groups.csv equal what ``evaluate`` finds."""

import re
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import plausibly as pb
from plausibly.app.cli import _requirements
from plausibly.app.results import evaluation
from plausibly.base.errors import DataWarning
from tests.test_app.test_cli.run import plausibly, refuse, succeed

N = 24
pytestmark = pytest.mark.usefixtures("no_report")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("asked"), np.random.default_rng(0)
    cases = [f"p{i}" for i in range(N)]
    rows = [
        {"case": case, "annotator": f"r{j}", "class": random.choice(["benign", "malignant"]), "site": "xy"[i % 2]}
        for i, case in enumerate(cases)
        for j in range(3)
    ]
    pd.DataFrame(rows).to_csv(folder / "labels.csv", index=False)
    pd.DataFrame({"case": cases, "score": random.random(N)}).to_csv(folder / "a.csv", index=False)
    pd.DataFrame({"case": cases, "score": random.random(N)}).to_csv(folder / "b.csv", index=False)
    return folder


def run(files, out, *options, status=0, model=("--model", "dirichlet-categorical@1", "--draws", 20, "--chains", 2)):
    given = ["evaluate", files / "labels.csv", "--predictions", f"A={files / 'a.csv'}", "--out", out]
    found = plausibly(*given, *model, "--replicates", 40, *options)
    assert found.exit_code == status, found.output
    return found


def of_labels(files, out, *options, status=0):
    return run(files, out, "--positive", "malignant", *options, status=status, model=())


def words(text):
    return " ".join(unescape(text).split())


def test_labels_need_no_model(files, tmp_path):
    names = "auroc,sensitivity_at_specificity_0.9"
    more = ["--predictions", f"B={files / 'b.csv'}", "--by", "site", "--truth", "annotator", "--metrics", names]
    shown = words(of_labels(files, tmp_path, *more).output)
    assert {path.name for path in tmp_path.glob("[!.]*")} == {"metrics.csv", "groups.csv", "report.html"}
    table = pd.read_csv(tmp_path / "metrics.csv")
    assert set(table["model"]) == {"annotator"}
    found = table.set_index(["classifier", "metric"])
    options = {"metrics": names.split(","), "truth": "annotator", "replicates": 40, "positive": "malignant"}
    site = {"site": ["xy"[i % 2] for i in range(N)]}
    predictions = {"A": files / "a.csv", "B": files / "b.csv"}
    expected = pb.evaluate(pb.read_annotations(files / "labels.csv"), predictions, by=site, **options)
    for name in names.split(","):
        np.testing.assert_allclose(found.loc[("A", name), "mean"], expected[name].values[0, 0], atol=1e-6)
    better = pb.comparison.probability_better(expected, "auroc", "A", "B")
    page = words((tmp_path / "report.html").read_text())
    for text in (shown, page):
        assert "Against what one expert would say, " in text
        assert "sensitivity at 90 % specificity" in text
        assert re.search(r"experts agree with each other in \d", text)
        assert "have not seen these labels" in text
        assert f"{found.loc[('A', 'auroc'), 'mean']:.2f}" in text
    for value in expected["auroc_by_group"].values[:, 0, 0]:
        assert f"{value:.3f}" in page
        assert f"{value:.2f} (" in shown
    assert re.search(r"12, \d+ malignant \(few\)", page)
    assert f"{max(better, 1 - better):.2f}" in shown
    assert "what most experts would name" not in page
    groups = pd.read_csv(tmp_path / "groups.csv")
    assert set(groups["group"]) == {"x", "y"}
    assert groups["few"].all()


def test_the_last_line_names_the_positive_class_and_scores_of_the_other_one(tmp_path):
    """A column called score is that of the second class, love, and held the probability of hate."""
    rows = [(f"p{i}", f"r{j}", "hate" if i % 2 else "love") for i in range(N) for j in range(3)]
    pd.DataFrame(rows, columns=["case", "annotator", "class"]).to_csv(tmp_path / "labels.csv", index=False)
    scores = pd.DataFrame({"case": [f"p{i}" for i in range(N)], "score": [0.2 + 0.6 * (i % 2) for i in range(N)]})
    scores.to_csv(tmp_path / "a.csv", index=False)
    asked = ["--truth", "annotator", "--metrics", "auroc,accuracy", "--quiet"]
    told = words(run(tmp_path, tmp_path / "out", *asked, model=()).stdout)
    assert "(positive class: love)" in told
    assert "A orders cases the wrong way round: if its scores are not those of love, name their class" in told
    told = words(run(tmp_path, tmp_path / "out", *asked, "--positive", "hate", model=()).stdout)
    assert "(positive class: hate)" in told
    assert "wrong way round" not in told


@pytest.mark.slow
def test_panels_of_these_need_a_model_where_labels_are_too_few(files, tmp_path):
    of_these = "--truth", "panel", "--panel", 3, "--readers", "these"
    of_labels(files, tmp_path, *of_these, "--threshold", 0.3, "--prevalence", 0.02)
    table = pd.read_csv(tmp_path / "metrics.csv").set_index("metric")
    annotations, options = pb.read_annotations(files / "labels.csv"), {"threshold": 0.3, "positive": "malignant"}
    options |= {"metrics": ["sensitivity", "confusion"], "truth": "panel", "panel": 3, "replicates": 0}
    expected = pb.evaluate(annotations, {"A": files / "a.csv"}, **options)
    assert table.loc["sensitivity", "mean"] == pytest.approx(expected["sensitivity"].item(), abs=1e-6)
    page = words((tmp_path / "report.html").read_text())
    for said in (
        "what three experts would decide",
        "from a probability of 0.3 on",
        "ROC curve",
        "PPV at a prevalence of 2 %",
    ):
        assert said in page
    confusion = pd.read_csv(tmp_path / "confusion.csv")
    np.testing.assert_allclose(confusion["cases"], N * expected["confusion"].values.ravel(), atol=1e-4)
    few = pd.read_csv(files / "labels.csv").drop(index=[0, 3])
    few.to_csv(tmp_path / "labels.csv", index=False)
    given = ["evaluate", tmp_path / "labels.csv", "--predictions", f"net[a]={files / 'a.csv'}"]
    given += ["--out", tmp_path / "few"]
    shown = words(plausibly(*given, *of_these, "--metrics", "auroc", "--positive", "malignant").output)
    assert "Against what three experts would decide, with" in shown  # of all cases, under a model
    assert "net[a]" in shown


def test_several_classes_without_a_model(tmp_path):
    random = np.random.default_rng(0)
    rows = [
        {"case": f"p{i}", "annotator": f"r{j}", "class": random.choice(["x", "y", "z"]), "site": "ns"[i % 2]}
        for i in range(N)
        for j in range(3)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "labels.csv", index=False)
    scores = pd.DataFrame(random.dirichlet(np.ones(3), N), columns=["x", "y", "z"])
    scores.assign(case=[f"p{i}" for i in range(N)]).to_csv(tmp_path / "a.csv", index=False)
    given = ["evaluate", tmp_path / "labels.csv", "--predictions", f"A={tmp_path / 'a.csv'}", "--by", "site"]
    shown = succeed(*given, "--truth", "annotator", "--replicates", 40, "--out", tmp_path / "out")
    assert "By site, accuracy of A goes from" in words(shown.output)
    table = pd.read_csv(tmp_path / "out" / "metrics.csv")
    assert set(table.loc[table["metric"] == "sensitivity", "class"]) == {"x", "y", "z"}
    page = words((tmp_path / "out" / "report.html").read_text())
    assert "A: expected numbers of cases" in page
    for group in pd.read_csv(tmp_path / "out" / "groups.csv").query("metric == 'balanced_accuracy'")["mean"]:
        assert f"{group:.3f}" in page


@pytest.mark.slow
def test_curves_and_confusion_matrices_have_tables(files, tmp_path):
    shown = run(files, tmp_path, "--metrics", "curves", "--truth", "annotator", model=())
    assert "curves.csv" in shown.output
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert {"roc_curve", "decision_curve", "calibration_curve"} <= set(curves["metric"])
    roc = curves[curves["metric"] == "roc_curve"]
    assert set(roc["axis"]) == {"at_specificity"}
    assert roc["mean"].between(0, 1).all()
    assert pd.read_csv(tmp_path / "confusion.csv")["cases"].sum() == pytest.approx(N)


@pytest.mark.parametrize("truth", ["annotator", "panel"])
def test_own_metrics_beside_others(files, tmp_path, truth):
    (tmp_path / "squared.py").write_text(
        "import plausibly as pb\n"
        "metric = pb.metrics.SumMetric(lambda p, t: (p @ p - 2 * p @ t + 1) / 2, takes='probabilities')\n"
    )
    (tmp_path / "share.py").write_text("def metric(scores, truth):\n    return scores @ truth\n")
    own = ["--metric", tmp_path / "squared.py", "--metric", tmp_path / "share.py", "--metrics", "brier"]
    run(files, tmp_path / "out", *own, "--truth", truth, model=())
    table = pd.read_csv(tmp_path / "out" / "metrics.csv").set_index("metric")["mean"]
    assert table["squared"] == pytest.approx(table["brier"], abs=1e-5)
    if truth == "annotator":
        annotations = pb.read_annotations(files / "labels.csv")
        scores = pd.read_csv(files / "a.csv")["score"].to_numpy()
        shares = pb.evaluation.truth_of_labels(annotations, "annotator")
        assert table["share"] == pytest.approx((np.stack([1 - scores, scores], 1) * shares).sum(1).mean(), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metric = 3", "must end with its metric"),
        ("1 / 0", "cannot be run"),
        ("metric = lambda a: a", "cannot be comp"),
    ],
)
def test_errors_of_own_metrics_name_the_file(files, tmp_path, text, said):
    (tmp_path / "mine.py").write_text(text)
    found = words(of_labels(files, tmp_path, "--truth", "annotator", "--metric", tmp_path / "mine.py", status=2).output)
    assert "mine.py" in found
    assert said in found


@pytest.mark.slow
def test_draws_have_a_threshold(files, tmp_path):
    run(files, tmp_path, "--metrics", "sensitivity", "--threshold", "0.3", "--positive", "benign")
    table = pd.read_csv(tmp_path / "metrics.csv").set_index("metric")
    benign = pb.dense(pb.load(next(tmp_path.glob("posterior-*.nc"))))[..., 0] > 0.5
    named = pd.read_csv(files / "a.csv")["score"].to_numpy() >= 0.3  # of the positive class
    expected = ((benign & named).sum(axis=1) / benign.sum(axis=1)).mean()
    assert table.loc["sensitivity", "mean"] == pytest.approx(expected, abs=1e-6)
    assert table.loc["sensitivity", "model"] == "dirichlet-categorical"
    assert "top1_accuracy" in table.index


@pytest.mark.slow
def test_what_clinicians_read_is_there_without_being_named(files, tmp_path):
    shown = run(files, tmp_path, "--by", "site").output
    table = pd.read_csv(tmp_path / "metrics.csv")
    names = ["top1_accuracy", "sensitivity", "specificity", "ppv", "npv", "brier", "auroc"]
    assert table["metric"].tolist() == names
    assert set(pd.read_csv(tmp_path / "groups.csv")["metric"]) == set(names)
    value = table.set_index("metric").loc["auroc"]
    assert f"{value['mean']:.2f} ({value['total_lower']:.2f}–{value['total_upper']:.2f})" in shown
    assert "By site, sensitivity of A goes from" in shown


def test_thresholds_are_chosen_on_other_cases(files, tmp_path):
    table, random = pd.read_csv(files / "labels.csv"), np.random.default_rng(1)
    scores = pd.read_csv(files / "a.csv")
    other = table.assign(case="o" + table["case"])
    other.to_csv(tmp_path / "other.csv", index=False)
    more = pd.DataFrame({"case": other["case"].unique(), "score": random.random(N)})
    pd.concat([more, scores]).to_csv(tmp_path / "both.csv", index=False)
    given = ["--predictions", f"B={tmp_path / 'both.csv'}", "--truth", "annotator", "--metrics", "sensitivity"]
    given += ["--prevalence", "0.02", "--threshold-from", tmp_path / "other.csv", "--threshold-at", "sensitivity=0.7"]
    shown = succeed("evaluate", files / "labels.csv", *given, "--out", tmp_path / "out")
    annotations = pb.read_annotations(tmp_path / "other.csv")
    chosen = pb.evaluation.choose_threshold(
        annotations, {"B": more.set_index("case")["score"]}, sensitivity=0.7, truth="annotator"
    )
    found = pd.read_csv(tmp_path / "out" / "metrics.csv").set_index(["model", "metric"])["mean"]["annotator"]
    expected = pb.evaluate(
        pb.read_annotations(files / "labels.csv"),
        {"B": files / "a.csv"},
        metrics=["sensitivity"],
        prevalence=0.02,
        truth="annotator",
        threshold=chosen,
    )
    for name in ("sensitivity", "ppv_at_prevalence_0.02", "npv_at_prevalence_0.02"):
        assert found[name] == pytest.approx(expected[name].item(), abs=1e-6)
    assert f"from a probability of {chosen['B']:.3g} (B) on (chosen on" in words(shown.output)
    page = words((tmp_path / "out" / "report.html").read_text())
    for text in (words(shown.output), page):
        assert "other.csv for a sensitivity of 0.7 against what one expert would say" in text
    wrong = run(files, tmp_path / "w", "--threshold-from", files / "labels.csv", status=2)
    assert "--threshold-from must have other cases" in " ".join(wrong.output.split())


def test_unknown_metrics_are_refused_and_files_and_usual_ones_mix(files, tmp_path):
    found = run(files, tmp_path, "--metrics", "aurok", status=2)
    assert "there is no metric 'aurok'" in " ".join(found.output.split())
    assert not list(tmp_path.glob("posterior-*"))
    (tmp_path / "mine.py").write_text("import plausibly as pb\nmetric = pb.metrics.auroc\n")
    of_labels(files, tmp_path, "--truth", "annotator", "--metric", tmp_path / "mine.py", "--metrics", "usual,kappa")
    table = pd.read_csv(tmp_path / "metrics.csv").set_index("metric")["mean"]
    assert {"accuracy", "sensitivity", "kappa", "mine"} <= set(table.index)
    assert table["mine"] == table["auroc"]


def test_no_answer_has_a_column_and_a_rate(files, tmp_path):
    given = pd.read_csv(files / "a.csv").assign(
        prediction=lambda of: np.where(of["score"] < 0.5, "benign", "malignant")
    )
    given.loc[[1, 5, 9], "prediction"] = ""
    given[["case", "prediction"]].to_csv(tmp_path / "named.csv", index=False)
    read = ["evaluate", files / "labels.csv", "--predictions", f"A={tmp_path / 'named.csv'}", "--truth", "annotator"]
    read += ["--positive", "malignant", "--replicates", 40]
    found = succeed(*read, "--out", tmp_path)
    assert "(A in 12.5 % of cases)" in words(found.output)
    table = pd.read_csv(tmp_path / "metrics.csv").set_index("metric")
    assert table.loc["answer_rate", "mean"] == pytest.approx(1 - 3 / N)
    counts = pd.read_csv(tmp_path / "confusion.csv").set_index(["true_class", "named_class"])["cases"]
    assert counts.xs("(no answer)", level="named_class").sum() == pytest.approx(3, abs=1e-4)
    page = words((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "no answer" in page
    refused = refuse(*read, "--metrics", "auroc", "--out", tmp_path)
    assert "an answer in every case for 'auroc', but all scores of 'A' of case 'p1' are 0" in words(refused.output)


@pytest.mark.slow
def test_metrics_and_thresholds_are_named_where_they_matter(files, tmp_path):
    shown = words(
        of_labels(files, tmp_path, "--truth", "annotator", "--metrics", "accuracy", "--threshold", 0.2).output
    )
    accuracy = pd.read_csv(tmp_path / "metrics.csv")["mean"].item()
    assert f"A agrees with an expert in {100 * accuracy:.1f} % of cases" in shown
    assert "(positive class: malignant)" in shown
    names = "brier,brier_expected,calibration_slope,positive_likelihood_ratio"
    shown = words(run(files, tmp_path, "--positive", "malignant", "--threshold", 0.2, "--metrics", names).output)
    assert "; its first choice agrees with one expert in" in shown
    assert "Brier score expected (against the experts' distribution)" in shown
    table = pd.read_csv(tmp_path / "metrics.csv")
    assert {*names.split(",")} <= {*table["metric"]}
    assert {"undefined", "infinite"} <= {*table}
    more = "--metrics", "sensitivity", "--by", "site", "--require", "auroc>=0.99"
    shown = run(files, tmp_path, "--positive", "malignant", *more, status=3).output
    last = "A: P(AUROC >= 0.99) = 0.00 against what most experts would name, below the 0.95 required: not met"
    assert shown.splitlines()[-1] == last
    assert pd.read_csv(tmp_path / "requirements.csv")[["model", "met"]].values.tolist() == [
        ["dirichlet-categorical", False]
    ]
    assert "requirements.csv" in shown
    assert "By site, sensitivity of A goes from" in words(shown)
    given = "--truth", "annotator", "--threshold", 0.2, "--metrics"
    assert "from a probability of 0.2 on" not in words(of_labels(files, tmp_path, *given, "auroc").output)
    assert "from a probability of 0.2 on" in words(of_labels(files, tmp_path, *given, "auroc,ppv").output)
    shown = words(run(files, tmp_path, "--one-truth", "--draws", 20, "--chains", 2, "--warmup", 20, model=()).output)
    assert "against the true class" in shown
    assert "what most experts would name" not in shown


def test_requirements_set_the_exit_status(files, tmp_path):
    more = "--predictions", f"B={files / 'b.csv'}", "--metrics", "sensitivity", "--require", "auroc >= 0.1@0.6"
    labels = "--truth", "annotator", "--quiet"
    shown = of_labels(files, tmp_path, *more, *labels).output.splitlines()
    told = "P(AUROC >= 0.1) = 1.00 against what one expert would say, at least the 0.6 required: met"
    assert shown[-2:] == [f"A: {told}", f"B: {told.replace(' against what one expert would say', '')}"]
    found = of_labels(files, tmp_path, *more, *labels, "--require", "B:ppv>0.9@0.5", status=3).output.splitlines()
    assert found[-3:-1] == shown[-2:]
    assert re.fullmatch(r"B: P\(PPV > 0.9\) = 0[.\d]*, below the 0.5 required: not met", found[-1])
    assert all(words(line) in words((tmp_path / "report.html").read_text()) for line in found[-3:])
    table = pd.read_csv(tmp_path / "requirements.csv")
    assert table["met"].tolist() == [True, True, False]
    of = {"metrics": ["auroc", "ppv"], "truth": "annotator", "replicates": 40, "positive": "malignant"}
    predictions = {"A": files / "a.csv", "B": files / "b.csv"}
    results = pb.evaluate(pb.read_annotations(files / "labels.csv"), predictions, **of)
    expected = pb.comparison.probability(results, "ppv", ">", 0.9).sel(classifier="B")
    assert table["probability"].tolist() == [1, 1, pytest.approx(float(expected))]


def test_requirements_count_comparable_runs_and_what_is_unknown_is_not_met(monkeypatch):
    accuracy = xr.DataArray([[0.9, 0.95]] * 2, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    draws = accuracy.rename(draw="replicate")
    results = xr.Dataset({"top1_accuracy": accuracy, "top1_accuracy_total": draws})
    of = {"evidence": {"evidence": '["A"]'}, "alone": {}}
    runs = [
        SimpleNamespace(model="m:p=q", reliability=1.0, results=results, attrs=of["evidence"]),
        SimpleNamespace(model="m:p=q", reliability=3.0, results=results - 0.04, attrs=of["evidence"]),
        SimpleNamespace(model="m:p=q", reliability=9.0, results=results.isel(draw=[0]) * 0, attrs=of["evidence"]),
        SimpleNamespace(model="n", reliability=1.0, results=results * 0, attrs=of["alone"]),
    ]
    monkeypatch.setattr(_requirements, "lead", lambda swept: swept.runs[0])
    checks = pd.DataFrame({"classifier": ["B"], "check": ["ceiling"], "passed": [False]})
    rare = pb.Annotations.from_labels([["no"], ["yes"]])
    required = _requirements.parse_requirements(["top1_accuracy>0.88@0.5", "A:auroc>=0.5"])
    table = _requirements.requirement_table(SimpleNamespace(runs=runs, checks=checks, annotations=rare), required)
    assert [*_requirements.requirement_sentences(table)] == [
        "A: P(top-1 accuracy > 0.88) = 0.50 (lowest of 2 runs, under m@3:p=q), at least the 0.5 required: met "
        "(so close that another seed may say otherwise)",
        "B: P(top-1 accuracy > 0.88) is unknown (lowest of 2 runs, under m@1:p=q), and 0.5 is required: not met "
        "(it may have seen these labels)",
        "A: P(AUROC >= 0.5) is unknown (lowest of 2 runs, under m@1:p=q), and 0.95 is required: not met "
        "(it has no value, no draws, or a single cluster of cases)",
    ]
    assert table.groupby("classifier")["met"].all().tolist() == [False, False]


def test_requirements_need_classifiers_and_replicates(files, tmp_path):
    model = "--model", "dirichlet-categorical@1", "--draws", 20, "--require", "auroc>=0.5"
    assert "--require is about classifiers" in words(refuse("evaluate", files / "labels.csv", *model).output)
    shown = run(files, tmp_path, "--replicates", 0, "--require", "auroc>=0.5", status=2)
    assert "--require counts bootstrap replicates, but --replicates 0 was given" in words(shown.output)
    shown = of_labels(files, tmp_path, "--truth", "annotator", "--require", "auroc>=90", status=2)
    assert "is never or always met, as auroc lies between 0 and 1" in words(shown.output)


def test_what_always_names_the_same_class_meets_no_requirement_on_what_is_named():
    """Nine of ten labels say no, so that to answer no, whoever it is, is right more often than is required."""
    annotations = pb.Annotations.from_labels([["no"] * 3] * 36 + [["yes"] * 3] * 4, classes=["no", "yes"])
    scores = np.linspace(0.1, 0.4, 40)  # of which the highest are right, and none is above a half
    results = pb.evaluate(annotations, {"A": np.c_[1 - scores, scores]}, truth="annotator", positive="yes")
    required = _requirements.parse_requirements(["accuracy>=0.7", "npv>=0.7", "auroc>=0.7"])
    run = {"model": "annotator", "reliability": np.nan}
    judged = _requirements.requirement_rows(results, required, run, annotations)
    assert judged["met"].tolist() == [False, False, True]
    assert "not met (it names 'no' in every case, whatever the case is)" in next(
        _requirements.requirement_sentences(judged)
    )


def test_an_accuracy_that_the_most_common_class_has_is_met_by_nobody():
    """A coin that says yes in one of forty cases is no constant, and right in nearly nine of ten."""
    annotations = pb.Annotations.from_labels([["no"] * 3] * 108 + [["yes"] * 3] * 12, classes=["no", "yes"])
    coin, good = np.where(np.arange(120) == 7, 0.9, 0.1), np.r_[np.full(108, 0.1), np.full(12, 0.9)]
    given = {name: np.c_[1 - p, p] for name, p in {"coin": coin, "good": good}.items()}
    results = pb.evaluate(annotations, given, truth="annotator", metrics=["accuracy", "balanced_accuracy"])
    required = _requirements.parse_requirements(["accuracy>=0.7", "accuracy>=0.92", "balanced_accuracy>=0.7"])
    run = {"model": "annotator", "reliability": np.nan}
    judged = _requirements.requirement_rows(results, required, run, annotations)
    assert judged["met"].tolist() == [False, False, False, True, False, True]
    assert "'no' in every case would be right in 90 %" in judged["unknown"][1]


def test_who_always_names_the_same_does_not_come_first_by_that_and_is_said_to():
    annotations = pb.Annotations.from_labels([["no"] * 3] * 30 + [["yes"] * 3] * 30, classes=["no", "yes"])
    right = np.r_[np.full(30, 0.2), np.full(30, 0.8)]
    given = {"C": np.full(60, 0.9), "mostly": np.where(np.arange(60) % 5 == 0, 1 - right, right)}
    results_of = {"truth": "annotator", "positive": "yes", "metrics": ["sensitivity", "specificity"]}
    results = pb.evaluate(annotations, {name: np.c_[1 - p, p] for name, p in given.items()}, **results_of)
    screen = evaluation.of_labels(results, None, annotations, [])
    assert [row[0] for row in screen.table.rows] == ["mostly", "C"]
    worse = {"C": given["C"], "coin": np.where(np.arange(60) % 5 == 0, right, 1 - right)}
    with pytest.warns(DataWarning, match="columns of coin agree .* better under"):  # in 80 % of cases
        found = pb.evaluate(annotations, {name: np.c_[1 - p, p] for name, p in worse.items()}, **results_of)
    screen_of_worse = evaluation.of_labels(found, None, annotations, [])
    assert [row[0] for row in screen_of_worse.table.rows] == ["coin", "C"]
    assert "which one is better depends on what either error costs" in screen.headline
    assert screen.notes[0] == "C names 'yes' in every case, and so tells nothing of a case."
