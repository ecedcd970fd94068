"""Metrics of labels in the report: its numbers are those of an evaluation, and it says what they compare with."""

import re
from html import unescape
from itertools import permutations

import numpy as np
import pytest
import xarray as xr

import plausibly as pb
from plausibly.app.report import render
from plausibly.app.report._cases import UNSURE, clear_cases
from plausibly.app.report._summary import prior_notes
from plausibly.app.report.label_metrics import confusions_in_words, truths
from plausibly.app.report.of_labels import expert_in_words
from plausibly.app.report.tables import accuracy_table, value_and_interval
from plausibly.app.results.evaluation import of_sweep
from tests import worlds
from tests.test_app.test_report.page import Page, without_figures
from tests.worlds import EVIL

MODEL = {"model": "dirichlet-categorical", "reliability": 1, "class_prior": "predictions", "draws": 50}
RECOMMENDED = {"rec": MODEL}
TWO = {"AUROC": "auroc", "PPV": "ppv", "NPV": "npv", "Brier score": "brier", "Log score": "log_score"}
TWO |= {"Sensitivity": "sensitivity", "Specificity": "specificity"}


def labelled(n_classes, n_labels=3, n_cases=60, seed=0):
    """Cases of readers who see them through noise, and two classifiers who see them through more."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n_cases, n_classes)) + np.linspace(1, 0, n_classes)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    classes = [EVIL, "b & c", "d"][:n_classes]
    labels = [rng.choice(classes, n_labels, p=of).tolist() for of in shares]
    annotations = pb.Annotations.from_labels(labels, classes)
    noisy = [np.exp(logits + rng.normal(size=logits.shape) * noise) for noise in (0.5, 1.5)]
    return annotations, {name: of / of.sum(axis=1, keepdims=True) for name, of in zip("AB", noisy, strict=True)}


def pages(annotations, predictions, models=RECOMMENDED, **options):
    swept = pb.sweep(annotations, predictions, models, progress=False, **options)
    text = render(swept)
    return swept, text, Page(text)


@pytest.fixture(scope="module")
def two():
    swept, text = worlds.swept_labels(), worlds.page_of_labels()
    return swept, text, Page(text), truths(swept)


def test_tables_curves_and_cases_of_two_classes(two):
    swept, text, page, both = two
    results = both[0]
    starts = "Against what most experts would name, under rec [94 %", "Against what one expert would say [94 %"
    for start, found in zip(starts, both, strict=True):
        heading, *rows = page.table(start)
        assert heading == ["metric", "A", "B", "P(A better than B)"]
        table = pb.summary(found).set_index(["classifier", "metric"])
        assert set(TWO) <= {row[0][:1].upper() + row[0][1:] for row in rows}
        for cells in rows:
            if (words := cells[0][:1].upper() + cells[0][1:]) in TWO:
                for name, cell in zip("AB", cells[1:3], strict=True):
                    row = table.loc[name, TWO[words]]
                    assert cell == value_and_interval(row["mean"], row["total_lower"], row["total_upper"])
    caption = "Expected numbers of cases, by what most experts would name [94 % interval for 60 new cases like these]"
    heading, *rows = page.tables[caption]
    assert heading == ["Classifier", "It names", "Truth: b", "Truth: a", "All"]
    for cells in rows:
        if "all" in cells[1:2]:
            continue
        own = results.sel(classifier=cells[0], named_class=cells[1])
        for true, cell in (("b", cells[2]), ("a", cells[3])):
            lower, upper = own["confusion_total"].sel(true_class=true).quantile([0.03, 0.97]).values * 60
            expected = own["confusion"].sel(true_class=true).mean().item() * 60
            near = {value_and_interval(expected + by, lower, upper, digits=1) for by in (-1e-4, 1e-4)}  # half a digit
            assert cell in near
    of_a = [float(cells[2].split()[0]) for cells in rows if cells[0] == "A"]
    assert of_a[0] + of_a[1] == pytest.approx(of_a[2], abs=0.11)
    alts = [attrs["alt"] for tag, attrs in page.tags if tag == "img"]
    for words in ("ROC curve", "Calibration", "Net benefit", "Precision and recall"):
        assert [alt.endswith(f"({n} of 2)") for n, alt in enumerate((a for a in alts if a.startswith(words)), 1)] == [
            True
        ] * 2
    for all_cases in re.findall(r"60\.0 \[[^\]]*\]", unescape(text)):
        assert float(all_cases.rstrip("]").split()[-1]) <= 60
    results = swept.runs[0].results
    shown = clear_cases(swept, "a&b.csv")
    tables = {words: table for one in shown if isinstance(one, dict) for words, table in one.items()}
    wrong = next(table for words, table in tables.items() if words.startswith("Classifier probably wrong"))
    unsure = next(table for words, table in tables.items() if words.startswith("Experts unsure"))
    assert shown[-1] == 'All cases are in <a href="a&amp;b.csv">a&amp;b.csv</a>.'
    for table in (wrong, unsure):
        assert table["Classifier"].value_counts().max() <= 5
        for row in table.to_dict("records"):
            own = results.sel(classifier=row["Classifier"], case=row["Case"])
            assert row["Probability that it is right"] == f"{100 * own['top1_accuracy_by_case'].item():.0f} %"
            assert row["Certainty"] == f"{own['annotation_certainty_1'].item():.2f}"
    assert (wrong["It names"] != wrong["Most plausible"]).all()
    assert (wrong["Certainty"].astype(float) >= 0.95).all()
    assert (unsure["Certainty"].astype(float) <= UNSURE).all()
    assert swept.panels.sizes["n"] == 3
    panels = page.table("Panels of n experts")
    assert [row[0] for row in panels[1:]] == ["A", "B", "A further expert"]
    shown = panels[1][3].split(" ")[0]
    assert float(shown) == pytest.approx(swept.panels["panel_accuracy"].sel(classifier="A", n=3).item(), abs=6e-4)


def test_metrics_confusions_and_groups_of_three_classes():
    swept = worlds.swept_labels_of_three()
    text, results = without_figures(swept), truths(swept)[0]
    page = Page(text)
    table = pb.summary(results).set_index(["classifier", "metric", "class"])
    for name in "AB":
        start = f"{name}: by class, against what most experts would name [94 %"
        heading, *rows = page.table(start)
        assert heading == ["Class", "Expected cases", "Sensitivity", "PPV", "F1"]
        expected = results["confusion"].sel(classifier=name).mean("draw").sum("named_class") * 60
        assert [cells[0] for cells in rows] == expected["true_class"].values[np.argsort(-expected.values)].tolist()
        for cells in rows:
            assert float(cells[1].split()[0]) == pytest.approx(expected.sel(true_class=cells[0]).item(), abs=0.06)
            for cell, metric in zip(cells[2:], ("sensitivity", "ppv", "f1"), strict=True):
                row = table.loc[name, metric, cells[0]]
                assert cell == value_and_interval(row["mean"], row["total_lower"], row["total_upper"])
        matrix = page.table(f"{name}: expected numbers of cases, by what most experts would name")
        assert matrix[0] == ["Truth", "Named a", "Named b", "Named c", "All"]
        of_true = results["confusion"].sel(classifier=name, true_class="b").mean("draw").values * 60
        assert matrix[2] == ["b", *(f"{n:.1f}" for n in of_true), f"{of_true.sum():.1f}"]
    row = pb.evaluation.largest_confusions(results.sel(classifier=["B"])).iloc[0]
    said = f"B most often names {row['named_class']} instead of {row['true_class']} in {row['cases']:.1f} ["
    assert said in unescape(text)
    assert confusions_in_words(truths(swept)[0], "B").startswith(said)
    assert text.count("<script") == 1
    heading, *rows = page.table("By site, against what most")
    assert "Balanced accuracy" in heading
    assert len(rows) == 4


@pytest.mark.slow
def test_accuracies_are_withheld_where_classifiers_saw_the_labels_or_there_is_one_each():
    annotations, predictions = labelled(2, n_cases=200)
    votes = pb.evaluation.truth_of_labels(annotations, "annotator")
    predictions = {"A": predictions["A"], "S": 0.9 * votes + 0.05}
    site = {"site": np.arange(200) % 2}
    models = {"rec": MODEL, "plain": MODEL | {"class_prior": "uniform"}}
    swept = pb.sweep(annotations, predictions, models, by=site, draws=50, replicates=200, progress=False)
    assert "withheld" in swept.runs[0].results.attrs
    text = unescape(without_figures(swept))
    assert "S agrees with more labels than is possible" in text
    assert "nan %" not in text
    assert "is better than" not in text.split('id="details"')[0]
    rows = accuracy_table(swept)
    assert rows["model"].unique().tolist() == ["rec"]
    assert rows["classifier"].tolist() == ["A", "S"]
    assert rows["P(better than the next)"].isna().all()
    screen = of_sweep(swept)
    assert "accuracy" not in screen.table.columns
    assert "first choice is" not in screen.headline
    annotations, predictions = labelled(2, n_labels=1)
    swept = pb.sweep(annotations, predictions, RECOMMENDED, by={"site": ["x", "y"] * 30}, progress=False)
    text = without_figures(swept)
    assert [results.attrs["truth"] for results in truths(swept)] == ["annotator"]
    assert "cannot be known" in text
    assert "So classifiers are compared with what one expert would say here." in text
    assert "Against what most experts would name" not in text
    assert Page(text).table("By site, against what one expert would say")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Which cases have a second label")
def test_the_prior_of_a_recommended_run_is_not_to_be_learned_again():
    annotations = pb.Annotations.from_labels([["a", "b"], ["a"], ["b", "b"]] * 20)
    learned = {"model": "dirichlet-categorical", "reliability": 1, "class_prior": "learned", "draws": 50}
    models = {"rec": learned, "plain": learned | {"class_prior": "uniform"}}
    predictions = {"A": np.random.default_rng(0).dirichlet([1, 1], 60)}
    swept = pb.sweep(annotations, predictions, models, progress=False)
    assert list(prior_notes([swept.runs[1]])) != []
    assert "Learn the prior from all cases" not in without_figures(swept)


@pytest.mark.slow
def test_scores_that_are_no_probabilities_have_no_calibration():
    annotations, predictions = labelled(2)
    hard = {"A": np.eye(2)[predictions["A"].argmax(axis=1)]}
    *_, page = pages(annotations, hard, {"majority-vote": None}, k=1)
    rows = page.table("Against what one expert")[1:]
    assert {"sensitivity", "specificity", "PPV", "NPV"} <= {row[0] for row in rows}
    assert not any(attrs["alt"].startswith(("ROC", "Calibration")) for tag, attrs in page.tags if tag == "img")
    *_, page = pages(annotations, {"A": np.log(predictions["A"])}, {"majority-vote": None}, k=1)
    rows = page.table("Against what one expert")[1:]
    assert {"AUROC", "sensitivity", "specificity", "PPV", "NPV"} <= {row[0] for row in rows}


@pytest.mark.slow
def test_of_many_classes_the_page_has_the_most_frequent_ones():
    rng = np.random.default_rng(0)
    classes = [f"class {n}" for n in range(60)]
    labels = [[classes[min(int(of), 59)] for of in rng.exponential(9, 3)] for _ in range(80)]
    annotations = pb.Annotations.from_labels(labels, classes)
    scores = rng.dirichlet(np.ones(60), 80)
    swept = pb.sweep(annotations, {"A": scores}, {"dirichlet-categorical": [1]}, draws=20, progress=False)
    page = Page(without_figures(swept))
    start = "A: by class, against what one expert would say, the 15 most frequent of 60 classes"
    rows = page.table(start)[1:]
    assert len(rows) == 15
    counts = {name: sum(names.count(name) for names in labels) / 3 for name in classes}
    assert rows[0][1].split()[0] == f"{max(counts.values()):.1f}"
    assert [f"{counts[cells[0]]:.1f}" for cells in rows] == [cells[1].split()[0] for cells in rows]
    assert not any(words.startswith("A: expected numbers") for words in page.tables)


def test_one_expert_against_another_in_words():
    """Ordered pairs of labels of a case, one after the other; each case counts as much as another."""
    labels = [["b", "b", "a"], ["a", "a"], ["b", "a"], ["b"], ["a", "a", "a", "b"]]
    counts = np.zeros((2, 2))
    for own in labels:
        pairs = list(permutations(own, 2))
        for one, other in pairs:
            counts["ab".index(other), "ab".index(one)] += 1 / len(pairs)
    specificity, sensitivity = counts.diagonal() / counts.sum(1)
    results = xr.Dataset(attrs={"truth": "annotator", "positive": "b"})
    said = expert_in_words(results, pb.Annotations.from_labels(labels, ["a", "b"]))
    assert f"sensitivity {sensitivity:.2f} and specificity {specificity:.2f}" in said
    assert f"AUROC {(sensitivity + specificity) / 2:.2f}" in said
    assert expert_in_words(results.assign_attrs(gold="g.csv"), pb.Annotations.from_labels(labels, ["a", "b"])) == ""


def test_nothing_is_said_of_experts_where_each_case_has_one():
    results = xr.Dataset(attrs={"truth": "annotator", "positive": "b"})
    assert expert_in_words(results, pb.Annotations.from_labels([["a"], ["b"]], ["a", "b"])) == ""
