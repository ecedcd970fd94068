"""The commands that compare models, check them, and try other priors."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import plausibly as pb
from plausibly.cli import app


def plausibly(*words):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    words = ["simulate", "--cases", 12, "--classes", 5, "--qualities", "0.9,0.5", "--out", folder]
    assert plausibly(*words).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def saved(data):
    out = data / "posterior.nc"
    words = ["aggregate", data / "annotations.json", "--model", "prirn@30", "--draws", 30, "--out", out]
    assert plausibly(*words).exit_code == 0
    return out


def test_compare_models_writes_what_the_library_computes(data, tmp_path):
    words = ["compare", data / "annotations.json", "--model", "prirn@3,30", "--model", "irn", "--ties", "full"]
    words += ["--folds", 2, "--seed", 4]
    result = plausibly(*words, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    annotations = pb.read_annotations(data / "annotations.json")
    models = {"prirn": (3, 30), "irn": None}
    expected = pb.compare(annotations, models, ties="full", folds=2, seed=4, progress=False)
    found = pd.read_csv(tmp_path / "models.csv", index_col="model")
    assert found.index.tolist() == expected.index.tolist()
    np.testing.assert_allclose(found["elpd"].astype(float), expected["elpd"])
    assert found["verdict"].tolist() == expected["verdict"].tolist()
    pointwise = pd.read_csv(tmp_path / "left-out.csv")
    assert len(pointwise) == 3 * annotations.n_annotations
    assert (tmp_path / "models.png").stat().st_size > 1000
    assert result.stdout.splitlines()[-1] == expected.verdict()
    assert "no difference" in result.stdout
    assert plausibly(*words, "--quiet").stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "words", "sentence"),
    [
        ("annotations.json", ["--model", "prirn"], None),
        ("annotations.json", ["--model", "prirn@3"], "a comparison needs two models, but 1 was given"),
        ("annotations.json", ["--model", "prirn", "--metric", "top1_accuracy"], "either classifiers are compared or"),
        ("annotations.json", ["--model", "prirn", "--predictions", "A=a.csv"], "--predictions belongs to the one and"),
        ("annotations.json", ["--folds", "0", "--model", "prirn"], "folds must be a whole number of at least 2"),
        ("annotations.json", ["--resamples", "50", "--folds", "3"], "--resamples belongs to the one and --folds to"),
        ("annotations.json", ["--model", "prirn", "--observation", "ranking"], "no probability of whole rankings"),
        ("posterior.nc", ["--model", "prirn"], "is a posterior, which one model made, but --model compares models"),
        ("posterior.nc", ["--seed", "1"], "a comparison needs two classifiers, but 0 were given"),
        ("none.json", ["--model", "prirn"], "none.json"),
    ],
)
def test_compare_tells_its_two_uses_apart(data, saved, source, words, sentence):
    result = plausibly("compare", saved.parent / source, *words, "--quiet")
    if sentence is None:
        assert result.exit_code == 0, result.output
        assert "predicts annotations that are left out best" in result.stdout
    else:
        assert result.exit_code == 2
        assert sentence in result.stderr
        assert "Traceback" not in result.output


def test_check_writes_what_the_library_computes(saved, tmp_path):
    result = plausibly("check", saved, saved, "--replicates", 50, "--seed", 3, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    expected = pb.predictive_check(pb.load(saved), replicates=50, seed=3, progress=False)
    found = pd.read_csv(tmp_path / "checks.csv")
    assert found["model"].unique().tolist() == ["prirn@30", f"prirn@30 ({saved})"]
    own = found[found["model"] == "prirn@30"].drop(columns="model").reset_index(drop=True)
    pd.testing.assert_frame_equal(own, expected.table, check_dtype=False)
    assert len(pd.read_csv(tmp_path / "checks-by-case.csv")) == 2 * 7 * 12
    assert (tmp_path / "checks.png").stat().st_size > 1000
    assert result.stdout.splitlines()[-1] == expected.verdict()
    for status in ("given", "not modelled"):
        assert status in result.stdout


def test_check_refuses(data, saved):
    for words, sentence in (
        (["none.nc"], "none.nc does not exist"),
        ([saved, "--replicates", 3], "replicates must be a whole number of at least 20"),
    ):
        result = plausibly("check", *words)
        assert result.exit_code == 2
        assert sentence in result.stderr


def test_sensitivity_writes_what_the_library_computes(data, tmp_path):
    words = ["sensitivity", data / "annotations.json", "--model", "prirn@30", "--draws", 30, "--top", "1"]
    scores = ["--predictions", f"A={data / 'predictions-A.csv'}", "--concentration", "0.1"]
    result = plausibly(*words, *scores, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    expected = pb.prior_sensitivity(
        pb.read_annotations(data / "annotations.json"),
        {"A": str(data / "predictions-A.csv")},
        {"prirn": (30,)},
        concentration=(0.1,),
        k=1,
        draws=30,
        progress=False,
    )
    found = pd.read_csv(tmp_path / "sensitivity.csv", keep_default_na=False, na_values={"sd": [""]})
    assert found[["choice", "value"]].values.tolist() == expected.table[["choice", "value"]].values.tolist()
    np.testing.assert_allclose(found["mean"], expected.table["mean"])
    assert (tmp_path / "sensitivity.svg").stat().st_size > 1000
    assert result.stdout.splitlines()[-1].startswith("The largest shift in top1_accuracy of A is ")
    alone = plausibly(*words, "--quiet")
    assert alone.stdout.startswith("The largest shift in annotation_certainty_1 is ")
    refused = plausibly("sensitivity", data / "annotations.json", "--model", "majority-vote")
    assert refused.exit_code == 2
    assert "none of the models has a choice to make" in refused.stderr
