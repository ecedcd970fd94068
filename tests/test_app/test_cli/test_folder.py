"""Folders of results: those of other data, or of other commands, are not lost."""

import pytest

from tests.test_app.test_cli.run import plausibly, refuse, succeed


@pytest.fixture
def ratings(tmp_path):
    """Two tables of ratings; the raters of one give more."""
    rows = [
        (case, who, round(0.5 + case + 0.25 * at, 2)) for case in range(12) for at, who in enumerate(("ann", "bob"))
    ]
    for name, more in (("a", 0), ("b", 1)):
        text = "".join(f"{case},{who},{rating + more}\n" for case, who, rating in rows)
        (tmp_path / f"{name}.csv").write_text("case,annotator,score\n" + text)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_results_of_other_data_are_kept(ratings):
    out = ratings / "out"
    succeed("evaluate", ratings / "a.csv", "--out", out)
    kept = contents(out)
    (ratings / "same.csv").write_bytes((ratings / "a.csv").read_bytes())
    succeed("evaluate", ratings / "same.csv", "--out", out)  # as they say the same
    result = refuse("evaluate", ratings / "b.csv", "--out", out)
    said = " ".join(result.stderr.split())
    assert f"{out} holds results of other data, 'same.csv': name another folder with --out, or replace them" in said
    assert {name: kept[name] for name in ("ratings.csv", "raters.csv")}.items() <= contents(out).items()
    succeed("evaluate", ratings / "b.csv", "--out", out, "--fresh")
    assert contents(out)["ratings.csv"] != kept["ratings.csv"]


def test_data_that_changed_are_evaluated_again_and_said(ratings):
    words = "evaluate", ratings / "a.csv", "--out", ratings / "out"
    assert "changed since" not in succeed(*words).stderr + succeed(*words).stderr
    (ratings / "a.csv").write_bytes((ratings / "b.csv").read_bytes())
    assert "'a.csv' changed since the results in" in succeed(*words).stderr


def test_files_of_others_are_set_aside(ratings):
    labels, out = ratings / "labels.csv", ratings
    labels.write_text("case,annotator,label\n" + "".join(f"{n},{who},{n % 2}\n" for n in range(6) for who in "xyz"))
    (out / "cases.csv").write_text("mine")
    first = succeed("agreement", labels, "--replicates", 0, "--out", out)
    assert f"{out / 'cases.csv'} was there already: it is now cases-earlier.csv." in first.stderr
    assert (out / "cases-earlier.csv").read_text() == "mine"
    of_agreement = (out / "cases.csv").read_bytes()
    second = succeed("reliability", labels, "--replicates", 9, "--out", out)
    assert "of plausibly agreement, was there already: it is now cases-agreement.csv" in second.stderr
    for command, n in (("agreement", 0), ("reliability", 9), ("agreement", 0)):
        succeed(command, labels, "--replicates", n, "--out", out)
    assert (out / "cases.csv").read_bytes() == of_agreement
    assert (out / "cases-earlier.csv").read_text() == "mine"
    assert len([*out.glob("cases*.csv")]) == 3


@pytest.mark.slow
def test_files_of_an_earlier_run_are_not_taken_for_those_of_this_one(tmp_path):
    """Curves against gold labels stayed beside metrics against annotators."""
    rows = [f"c{n},{who},{'ab'[(n + k) % 3 % 2]}" for n in range(12) for k, who in enumerate("xyz")]
    (tmp_path / "labels.csv").write_text("\n".join(["case,annotator,label", *rows]))
    (tmp_path / "a.csv").write_text("\n".join(["case,b", *(f"c{n},{n % 7 / 7:.2f}" for n in range(12))]))
    out, words = tmp_path / "out", ("evaluate", tmp_path / "labels.csv", "--predictions", f"A={tmp_path / 'a.csv'}")
    words += ("--truth", "annotator", "--replicates", 2, "--out", out)
    succeed(*words, "--metrics", "auroc,roc_curve")
    before = contents(out)
    assert {"metrics.csv", "curves.csv", "report.html"} <= before.keys()
    again = succeed(*words, "--metrics", "auroc,roc_curve")
    assert "did not write" not in again.stderr
    told = " ".join(succeed(*words, "--metrics", "accuracy", "--quick").stderr.split())
    assert "had files that this run did not write: " in told
    assert all(f"{name} is now {name.replace('.', '-earlier.')}" in told for name in ("curves.csv", "report.html"))
    assert (out / "curves-earlier.csv").read_bytes() == before["curves.csv"]
    assert {"curves.csv", "report.html"}.isdisjoint(contents(out))
    succeed(*words, "--metrics", "auroc,roc_curve")
    refuse(*words, "--metrics", "none such")  # a run that ends in an error says nothing of others
    assert (out / "curves.csv").read_bytes() == before["curves.csv"]
    assert plausibly(*words, "--metrics", "accuracy", "--require", "accuracy>=0.99").exit_code == 3
    assert (out / "curves-earlier2.csv").exists()


def test_a_simulation_replaces_no_annotations_of_others(tmp_path):
    (tmp_path / "annotations.json").write_text("mine")
    assert "was not simulated" in refuse("simulate", "--cases", 3, "--classes", 3, "--out", tmp_path).stderr
    assert (tmp_path / "annotations.json").read_text() == "mine"
    for _ in range(2):
        assert plausibly("simulate", "--cases", 3, "--classes", 3, "--out", tmp_path / "new").exit_code == 0
