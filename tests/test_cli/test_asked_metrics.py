"""``plausibly evaluate --metrics``: rows of metrics.csv and groups.csv equal what ``evaluate`` finds."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.cli import _evaluate as evaluating
from tests.test_cli.run import plausibly

N = 24


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
    return folder


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    """The report takes longer than everything else."""
    monkeypatch.setattr(evaluating, "report", lambda *given, **options: None)


def run(files, out, *options, status=0):
    given = ["evaluate", files / "labels.csv", "--predictions", f"A={files / 'a.csv'}", "--out", out]
    given += ["--model", "dirichlet-categorical@1", "--draws", 20, "--chains", 2, "--replicates", 40, *options]
    found = plausibly(*given)
    assert found.exit_code == status, found.output
    return found


def test_labels_need_no_model(files, tmp_path):
    names = "auroc,sensitivity_at_specificity_0.9"
    shown = run(files, tmp_path, "--metrics", names, "--truth", "annotator", "--positive", "malignant", "--by", "site")
    table = pd.read_csv(tmp_path / "metrics.csv")
    of_labels = table[table["model"] == "annotator"].set_index("metric")
    annotations = pb.read_annotations(files / "labels.csv")
    options = {"metrics": names.split(","), "truth": "annotator", "replicates": 40, "positive": "malignant"}
    expected = pb.evaluate(annotations, {"A": files / "a.csv"}, **options)
    assert list(of_labels.index) == names.split(",")
    for name in names.split(","):
        np.testing.assert_allclose(of_labels.loc[name, "mean"], expected[name].item(), atol=1e-6)
    assert "Metrics against what one expert would say" in shown.output
    assert "positive: malignant" in " ".join(shown.output.split())
    groups = pd.read_csv(tmp_path / "groups.csv")
    assert set(groups.loc[groups["model"] == "annotator", "group"]) == {"x", "y"}


def test_draws_and_a_threshold(files, tmp_path):
    run(files, tmp_path, "--metrics", "sensitivity", "--threshold", "0.3", "--positive", "benign")
    table = pd.read_csv(tmp_path / "metrics.csv").set_index("metric")
    posterior = next(tmp_path.glob("posterior-*.nc"))
    expected = pb.evaluate(
        posterior,
        {"A": pd.read_csv(files / "a.csv").set_index("case")["score"]},
        metrics="sensitivity",
        threshold=0.3,
        positive="benign",
        replicates=40,
        progress=False,
    )
    np.testing.assert_allclose(table.loc["sensitivity", "mean"], expected["sensitivity"].mean(), atol=1e-6)
    assert table.loc["sensitivity", "model"] == "dirichlet-categorical"
    assert "top1_accuracy" in table.index


def test_what_clinicians_read_is_there_without_being_named(files, tmp_path):
    shown = run(files, tmp_path, "--by", "site").output
    table = pd.read_csv(tmp_path / "metrics.csv")
    names = ["top1_accuracy", "sensitivity", "specificity", "ppv", "npv", "brier", "auroc"]
    assert table["metric"].tolist() == names
    assert set(pd.read_csv(tmp_path / "groups.csv")["metric"]) == set(names)
    head, rows = shown.split("Metrics against what most experts would name")[1].split("auroc")
    assert "positive: malignant" in " ".join(head.split())
    assert [line.split()[0] for line in head.splitlines() if "–" in line] == names[1:-1]
    value = table.set_index("metric").loc["auroc"]
    assert f"{value['mean']:.3f} ({value['total_lower']:.3f}–{value['total_upper']:.3f})" in rows.splitlines()[0]


def test_thresholds_are_chosen_on_other_cases(files, tmp_path):
    table, random = pd.read_csv(files / "labels.csv"), np.random.default_rng(1)
    scores = pd.read_csv(files / "a.csv")
    other = table.assign(case="o" + table["case"])
    other.to_csv(tmp_path / "other.csv", index=False)
    more = pd.DataFrame({"case": other["case"].unique(), "score": random.random(N)})
    pd.concat([more, scores]).to_csv(tmp_path / "both.csv", index=False)
    given = ["--predictions", f"B={tmp_path / 'both.csv'}", "--truth", "annotator", "--metrics", "sensitivity"]
    given += ["--prevalence", "0.02", "--threshold-from", tmp_path / "other.csv", "--threshold-at", "sensitivity=0.7"]
    shown = plausibly("evaluate", files / "labels.csv", *given, "--model", "majority-vote", "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
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
    assert f"from a probability of {chosen['B']:.3g} B on (sensitivity=0.7 on" in " ".join(shown.output.split())
    wrong = run(files, tmp_path / "w", "--threshold-from", files / "labels.csv", status=2)
    assert "--threshold-from must have other cases" in " ".join(wrong.output.split())


def test_unknown_metrics_are_refused_before_anything_is_computed(files, tmp_path):
    found = run(files, tmp_path, "--metrics", "aurok", status=2)
    assert "there is no metric 'aurok'" in " ".join(found.output.split())
    assert not list(tmp_path.glob("posterior-*"))
