"""``plausibly agreement``: its files, its last line, its exit statuses."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from plausibly.agreement import agreement, read_labels
from plausibly.cli import app
from plausibly.datasets import simulate_labels


def plausibly(*words):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, ["agreement", *map(str, words)])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    table = simulate_labels("boxes", noise=0.2, n_cases=12, n_annotators=3)
    path = tmp_path_factory.mktemp("data") / "boxes.csv"
    table.assign(label=table["label"].map(json.dumps)).to_csv(path, index=False)
    return path


def test_tables_and_figures_are_those_of_the_library(path, tmp_path):
    result = plausibly(path, "--distance", "boxes", "--replicates", 20, "--out", tmp_path / "made")
    assert result.exit_code == 0, result.output
    files = {"agreement.csv", "cases.csv", "annotators.csv", "histograms.png", "heatmap.png", "annotators.png"}
    assert {one.name for one in (tmp_path / "made").iterdir()} == files
    table = pd.read_csv(tmp_path / "made" / "agreement.csv").set_index("distance")
    found = agreement(read_labels(path), "box_giou")
    row = table.loc["box_giou"]
    assert (row["alpha"], row["ks_superiority"], row["sigma"]) == (found.alpha, found.ks.superiority, found.sigma)
    assert row["alpha_lower"] == found.interval(replicates=20, progress=False).loc["alpha", "lower"]
    cases = pd.read_csv(tmp_path / "made" / "cases.csv")
    assert len(cases) == 4 * 12
    assert list(cases.columns) == ["distance_name", "case", "labels", "pairs", "distance", "alpha"]
    assert result.output.count("box_iou") >= 1
    assert result.output.splitlines()[-1].startswith(f"By {table.index[0]}: alpha ")


def test_one_file_per_annotator(tmp_path):
    for name, line in (("ann", "the dog\na cat\n"), ("bob", "the dog\nthe cat\n")):
        (tmp_path / f"{name}.txt").write_text(line)
    words = [f"ann={tmp_path / 'ann.txt'}", "--labels", f"bob={tmp_path / 'bob.txt'}", "--kind", "text"]
    result = plausibly(*words, "--distance", "levenshtein", "--replicates", 0, "--quiet")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("By levenshtein: alpha 0.6667, KS 0.6000")
    assert len(result.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv"], "none.csv: the file does not exist"),
        (["a.csv", "--labels", "bob=b.csv"], "with several files each is NAME=FILE, but 'a.csv' was given"),
        (["BOXES", "--distance", "box_oui"], "there is no distance 'box_oui': did you mean 'box_iou'"),
        (["BOXES", "--preset", "2022"], "there is no preset '2022'"),
        (["BOXES", "--cross", "some"], 'cross must be "auto"'),
        (["BOXES", "--cross", "²"], 'cross must be "auto"'),
        (["BOXES", "--seed", "-1"], "seed must be a whole number from 0"),
        (["ann=", "--labels", "bob=b.csv"], "--labels must be NAME=FILE, but 'ann=' was given"),
        (["bob=a.csv", "--labels", "bob=b.csv"], "--labels bob is there twice"),
        (["BOXES", "--replicates", "1"], "--replicates must be 0, or 2 or more"),
        (["BOXES", "--distance", "spans"], "row 1 (case '1', annotator 'annotator 1'): a span is (start, end, tag)"),
    ],
)
def test_bad_input_is_one_sentence(path, words, message):
    result = plausibly(*(path if word == "BOXES" else word for word in words))
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_help_has_an_example():
    result = plausibly("--help")
    assert "plausibly agreement boxes.csv --distance box_giou" in result.output


def test_a_distance_named_twice_is_measured_once(path):
    words = ["--distance", "iou", "--distance", "box_iou", "--distance", "box-iou", "--replicates", 0]
    result = plausibly(path, *words)
    assert result.exit_code == 0, result.output
    assert result.output.count(" box_iou ") == 1
