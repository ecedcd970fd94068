"""Sentences on which classifier is better: for whom, and at which cut-off."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from plausibly.app.report.of_labels import headline_of_labels
from plausibly.evaluation.verdicts import at_other_cut_offs, for_whom
from tests.test_app.test_cli.run import succeed
from tests.test_app.test_report.page import leave_out_figures

READERS = {"ann": 0.9, "bob": 0.88, "cid": 0.92}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Labels of two classes, A that orders cases better, and B that is better at a cut-off of 0.5."""
    random, out = np.random.default_rng(0), tmp_path_factory.mktemp("cut-offs")
    truth = random.random(160) < 0.35
    rows = [
        (f"c{case}", who, "yes" if yes == (random.random() < right) else "no")
        for case, yes in enumerate(truth)
        for who, right in READERS.items()
    ]
    pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(out / "labels.csv", index=False)
    for name, gain, shift in (("A", 2.6, 3.0), ("B", 1.2, 0.6)):
        yes = 1 / (1 + np.exp(shift - gain * truth - random.normal(size=160)))
        pd.DataFrame({"case": [f"c{n}" for n in range(160)], "no": 1 - yes, "yes": yes}).to_csv(
            out / f"{name}.csv", index=False
        )
    return out


def given(folder):
    words = [folder / "labels.csv"]
    for name in "AB":
        words += ["--predictions", f"{name}={folder / name}.csv"]
    return words


CUT = "depends on the cut-off: by accuracy at a cut-off of 0.5 (the class of the highest score), B is"


METRICS = ["accuracy", "sensitivity", "specificity", "auroc", "roc_curve"]


def test_an_order_that_holds_at_a_cut_off_only_is_said_with_it(folder):
    annotations = pb.read_annotations(folder / "labels.csv")
    files = {name: folder / f"{name}.csv" for name in "AB"}
    results = pb.evaluate(annotations, files, truth="annotator", metrics=METRICS, replicates=50)
    area, right = (results[name].mean("draw").to_series() for name in ("auroc", "accuracy"))
    assert right["B"] > right["A"]
    assert area["A"] > area["B"]
    told = at_other_cut_offs(results, "B", "A")
    assert told.startswith(f"Which one is better {CUT}")
    assert f"by AUROC, A is ({area['A']:.3f}, B {area['B']:.3f}, with probability" in told
    assert "--threshold-from" in told
    at = float(results["specificity"].sel(classifier="B").mean())
    alike = pb.evaluate(annotations, files, truth="annotator", metrics=[f"sensitivity_at_specificity_{at:.2f}"])
    other = float(alike[f"sensitivity_at_specificity_{at:.2f}"].sel(classifier="A").mean())
    assert f"at the specificity of B, {at:.2f}, the sensitivity of A would be {other:.2f}" in told
    assert at_other_cut_offs(results, "A", "B") == ""  # as A leads by AUROC, too
    one = results.assign_attrs(threshold=0.5, threshold_from="chosen on tune.csv")
    assert "at a cut-off of 0.5, B is" in at_other_cut_offs(one, "B", "A")
    assert "--threshold-from" not in at_other_cut_offs(one, "B", "A")


@pytest.mark.slow
def test_the_screen_and_the_page_of_labels_say_both(folder, tmp_path, monkeypatch):
    leave_out_figures(monkeypatch)
    shown = succeed("evaluate", *given(folder), "--truth", "annotator", "--replicates", 50, "--out", tmp_path).output
    page = (tmp_path / "report.html").read_text()
    for told in (" ".join(shown.split()), page):
        assert CUT in told
        assert "A is better than B for these three annotators by AUROC with probability" in told


@pytest.mark.slow
def test_the_first_screen_and_compare_say_both_and_requirements_are_against_what_is_first(folder, tmp_path):
    required = "--require", "A:accuracy>=0.65@0.5", "--require", "A:top1_accuracy>=0.65@0.5"
    words = [*given(folder), *required, "--replicates", 50]
    shown = " ".join(succeed("evaluate", *words, "--quick", "--out", tmp_path).output.split())
    assert CUT in shown
    assert "which is better is open (better with probability" in shown
    of_panels, of_most = pd.read_csv(tmp_path / "requirements.csv").to_dict("records")
    assert (of_panels["metric"], of_panels["against"]) == ("accuracy", "what five other experts would decide")
    assert of_most["metric"] == "top1_accuracy"
    best = pd.read_csv(tmp_path / "metrics.csv").query("metric == 'panel_accuracy'").nlargest(1, "mean").iloc[0]
    told = f"{best['classifier']} decides as 5 other experts together would in {100 * best['mean']:.1f} %"
    assert told in shown
    (posterior,) = tmp_path.glob("posterior-*.nc")
    shown = " ".join(succeed("compare", posterior, *given(folder)[1:], "--replicates", 50).output.split())
    assert CUT in shown
    assert "on these cases, for these three annotators)" in shown
    assert "For these three annotators, on these cases, B is better than A in" in shown


def test_one_class_against_the_rest_has_a_cut_off_too(folder):
    """Of three classes, one of which is positive."""
    table = pd.read_csv(folder / "labels.csv")
    third = table["case"].str[1:].astype(int) % 5 == 0
    table["label"] = table["label"].where(~third, "other")
    annotations, files = pb.Annotations.from_table(table), {}
    for name in "AB":
        scores = pd.read_csv(folder / f"{name}.csv")
        scores["other"] = np.where(np.arange(160) % 5 == 0, 0.9, 0.0) * scores["no"]
        files[name] = scores.assign(no=scores["no"] - scores["other"])
    results = pb.evaluate(
        annotations, files, truth="annotator", positive="yes", metrics=["sensitivity", "auroc"], replicates=20
    )
    hit = results["sensitivity"].mean("draw").to_series()
    assert hit["B"] > hit["A"]
    assert "; by AUROC, A is (" in at_other_cut_offs(results, "B", "A", "sensitivity")


def test_an_open_order_is_no_better(folder):
    """A copy of A with some noise is not said to be better than A, nor A than it."""
    annotations = pb.read_annotations(folder / "labels.csv")
    scores = pd.read_csv(folder / "A.csv")
    noise = np.random.default_rng(1).normal(0, 0.3, 160)
    yes = 1 / (1 + np.exp(-np.log(scores["yes"] / scores["no"]) - noise))
    files = {"A": scores, "C": scores.assign(yes=yes, no=1 - yes)}
    results = pb.evaluate(annotations, files, truth="annotator", metrics=["auroc"], replicates=200)
    assert "which one is better is open" in headline_of_labels(results)


def test_annotators_are_counted_where_they_are_known():
    assert for_whom({"annotators": 3}) == "for these three annotators"
    assert for_whom({"annotators": 1}) == "for this one annotator"
    assert for_whom({"annotators": 8}) == "for these 8 annotators"
    assert for_whom({}) == "for these annotators"
