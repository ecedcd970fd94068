"""What limits an accuracy, on the screen and in the report of ``plausibly evaluate``."""

import re

import numpy as np
import pandas as pd
import pytest

from plausibly.aggregation.sweeps._plan import Plan
from plausibly.app.cli import _evaluate as evaluating
from tests.test_app.test_cli.run import plausibly, succeed
from tests.test_app.test_report.page import leave_out_figures

N = 300
FEW = ("--draws", 50, "--chains", 2, "--replicates", 200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One label of each case, three labels of it, fresh labels of some, and two classifiers, one of which copies."""
    out, random = tmp_path_factory.mktemp("limits"), np.random.default_rng(2)
    plausibility = random.dirichlet([0.5] * 3, N)

    def labels(name, m, cases=slice(None)):
        chosen = np.arange(N)[cases]
        drawn = [random.choice(list("abc"), m, p=plausibility[case]) for case in chosen]
        rows = [
            (f"c{case}", f"{name}{i}", label)
            for case, own in zip(chosen, drawn, strict=True)
            for i, label in enumerate(own)
        ]
        pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(out / f"{name}.csv", index=False)
        return drawn

    labels("one", 1)
    three = labels("three", 3)
    labels("fresh", 4, slice(0, 80))
    np.save(out / "A.npy", np.log(plausibility + 1e-2) + 0.5 * random.normal(size=plausibility.shape))
    np.save(out / "B.npy", np.array([[list(own).count(label) for label in "abc"] for own in three], float))
    return out


def evaluated(folder, labels, monkeypatch, *words, classifiers="AB"):
    leave_out_figures(monkeypatch)
    monkeypatch.setattr(Plan, "_freed", lambda *_: None)  # tested in test_freed_shape.py
    for name in ("measure_sets", "plan_labels"):
        monkeypatch.setattr(evaluating, name, lambda *given, **options: None)
    files = [f"{name}={folder / name}.npy" for name in classifiers]
    predictions = [word for file in files for word in ("--predictions", file)]
    out = folder / f"results-{labels}-{len(words)}"
    found = succeed("evaluate", folder / f"{labels}.csv", *predictions, *FEW, *words, "--out", out)
    page = (out / "report.html").read_text(encoding="utf-8")
    screen = re.sub(r"<[^>]+>", " ", page[page.index('id="short"') : page.index("How to read these numbers")])
    return found, re.sub(r"\s+", " ", screen), out


@pytest.mark.slow
def test_one_label_a_case_is_reported_by_agreement_bounds_and_what_is_assumed(folder, monkeypatch):
    found, screen, out = evaluated(folder, "one", monkeypatch, classifiers="A")
    agreed = float(re.search(r"A agrees with an expert in ([\d.]+) %", found.stdout)[1])
    for text in (found.stdout, screen):
        lower = float(re.search(r"may be anything between ([\d.]+) % and 100.0 %", text)[1])
        assert lower == pytest.approx(2 * agreed - 100, abs=0.15)  # of a rounded number
        assert "class that most experts would name in" not in text
    assert "have one label: accuracy cannot be known" in found.output
    assert "have one label: accuracy cannot be known" in screen
    metrics = pd.read_csv(out / "metrics.csv").groupby("model", sort=False)["metric"].agg(set)
    assert metrics.iloc[0] == {"top1_coverage", "top2_coverage"}
    assert "top1_accuracy" in metrics.iloc[1]  # as published
    words = ["--predictions", f"A={folder / 'A.npy'}", *FEW, "--prior-kappa", 3, "--quick", "--out", folder / "assumed"]
    told = " ".join(succeed("evaluate", folder / "one.csv", *words).output.split())
    assert "is what you assumed by --prior-kappa" in told
    assert "decides as 5 other experts together would in" in told
    assert "may be anything" not in told


@pytest.mark.slow
def test_of_two_classes_with_one_label_no_run_has_a_second_table(folder, monkeypatch):
    """The table of the run that is for comparison was looked up by a metric that it does not have."""
    one = pd.read_csv(folder / "one.csv")
    one.assign(label=one["label"].replace("c", "b")).to_csv(folder / "two.csv", index=False)
    np.save(folder / "C.npy", np.eye(2)[(one["label"] != "a").astype(int)] + 0.1)
    found, _, _ = evaluated(folder, "two", monkeypatch, classifiers="C")
    assert "may be anything between" in found.stdout


@pytest.mark.slow
def test_fresh_labels_are_compared_with_the_old_ones_or_refused(folder, monkeypatch):
    found, screen, out = evaluated(folder, "three", monkeypatch, "--fresh-labels", folder / "fresh.csv")
    told = re.search(
        r"Agreement with fresh labels less that with the old ones, in points: A ([+-].*?) \(.*B (-[\d.]+)", found.output
    )
    assert float(told[2]) < -10 < float(told[1])
    assert ". B must have seen the old ones" in found.output
    assert told[0] in screen
    assert "Nothing shows" not in found.output
    assert "fresh.csv" in (out / "report.html").read_text(encoding="utf-8")
    other = folder / "other.csv"
    other.write_text("case,annotator,label\nnew,x,a\n")
    given = ["evaluate", folder / "three.csv", "--fresh-labels", other, "--out", folder / "refused"]
    assert "of the cases of the posterior" in plausibly(*given, "--predictions", f"A={folder / 'A.npy'}").stderr
    assert "checks classifiers" in plausibly(*given).stderr
    assert not (folder / "refused").exists()


@pytest.mark.slow
def test_who_has_seen_the_labels_has_no_accuracy_in_the_headline(folder, monkeypatch):
    found, screen, _ = evaluated(folder, "three", monkeypatch)
    assert "B agrees with more labels than is possible" in found.output
    assert "ccuracy is not stated of B, which may have seen these labels" in screen
    assert "B's first choice" not in screen
    told = found.output + screen
    assert "leave B out, write --annotations-only, or collect fresh labels" in told
    assert "overestimated" not in told
    assert "accuracies are too high" not in told


@pytest.mark.slow
def test_scores_are_labels_where_predictions_inform_the_posterior(folder, monkeypatch):
    three = pd.read_csv(folder / "three.csv")
    scores = three.assign(score=three["label"].map({"a": 1.0, "b": 2.0, "c": 3.0})).drop(columns="label")
    scores.to_csv(folder / "scores.csv", index=False)
    np.save(folder / "P.npy", np.random.default_rng(0).random(N))
    found, _, out = evaluated(folder, "scores", monkeypatch, "--threshold", 1, classifiers="P")
    assert "Scores are labels, ≤ 1 and > 1" in found.output
    assert found.output.index("expert in ") < found.output.index("Wrote metrics.csv")
    assert set(pd.read_csv(out / "metrics.csv")["model"]) == {
        "dirichlet-categorical",
        "dirichlet-categorical:class_prior=predictions",
    }
