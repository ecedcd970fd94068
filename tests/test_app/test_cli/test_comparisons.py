"""The commands ``compare``, ``compare-models``, ``check`` and ``sensitivity``."""

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from tests.test_app.test_cli.run import plausibly, refuse, succeed


@pytest.fixture(scope="module")
def saved(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("saved") / "posterior.nc"
    words = ["aggregate", data / "annotations.json", "--model", "prirn@30", "--draws", 30, "--out", out]
    assert plausibly(*words).exit_code == 0
    return out


@pytest.mark.slow
def test_compare_writes_what_the_library_computes(data, predictions, saved, tmp_path):
    words = ["compare", saved, *predictions, "--metric", "top2_overlap", "--seed", 3, "--replicates", 50]
    words += ["--ci-prob", 0.5]
    result = succeed(*words, "--out", tmp_path)
    posterior = pb.load(saved)
    given = {name: str(data / f"predictions-{name}.csv") for name in "AB"}
    results = pb.evaluate(posterior, given, seed=3, replicates=50)
    tables = {
        "differences": pb.comparison.differences(results, "top2_overlap", ci_prob=0.5),
        "rankings": pb.comparison.rankings(results, "top2_overlap"),
        "variances": pb.comparison.variance_split(results, "top2_overlap"),
    }
    for name, table in tables.items():
        found = pd.read_csv(tmp_path / f"{name}.csv").replace({"versus": {np.nan: ""}})
        pd.testing.assert_frame_equal(found, table, check_dtype=False)
    for told in (
        "Differences in top-2 overlap, with 50 % intervals",
        "anking by top-2 overlap: ",
        "the annotations leave a ",
    ):
        assert told in " ".join(result.stdout.split())
    assert plausibly(*words, "--quiet").stdout.count("\n") == 1


@pytest.mark.slow
def test_compare_models_writes_what_the_library_computes_also_of_predictions(data, tmp_path, predictions):
    words = ["compare-models", data / "annotations.json", "--model", "prirn@3,30", "--model", "irn", "--ties", "full"]
    words += ["--folds", 2, "--seed", 4]
    result = succeed(*words, "--out", tmp_path)
    annotations = pb.read_annotations(data / "annotations.json")
    models = {"prirn": (3, 30), "irn": None}
    expected = pb.compare_models(annotations, models, ties="full", folds=2, seed=4, progress=False)
    found = pd.read_csv(tmp_path / "models.csv", index_col="model")
    assert found.index.tolist() == expected.table.index.tolist()
    np.testing.assert_allclose(found["elpd"].astype(float), expected.table["elpd"])
    assert found["verdict"].tolist() == expected.table["verdict"].tolist()
    assert len(pd.read_csv(tmp_path / "left-out.csv")) == 4 * annotations.n_annotations
    assert (tmp_path / "models.png").stat().st_size > 1000
    assert expected.headline in result.stdout
    assert "no difference" in result.stdout
    assert plausibly(*words, "--quiet").stdout.count("\n") == 1
    words = ["--model", "prirn@30", "--model", "prirn@30:class_prior=predictions", "--quiet"]
    result = succeed("compare-models", data / "annotations.json", *words, *predictions)
    informed = {"model": "prirn", "class_prior": "predictions", "reliability": 30}
    expected = pb.compare_models(
        pb.read_annotations(data / "annotations.json"),
        {"prirn": (30,), "prirn@30:class_prior=predictions": informed},
        predictions={name: str(data / f"predictions-{name}.csv") for name in "AB"},
        progress=False,
    )
    assert result.stdout.splitlines() == [expected.headline]


@pytest.mark.slow
def test_check_writes_what_the_library_computes_or_refuses(saved, tmp_path):
    result = succeed("check", saved, saved, "--replicates", 50, "--seed", 3, "--out", tmp_path)
    expected = pb.predictive_check(pb.load(saved), replicates=50, seed=3, progress=False)
    found = pd.read_csv(tmp_path / "checks.csv")
    assert found["model"].unique().tolist() == ["prirn@30", f"prirn@30 ({saved})"]
    own = found[found["model"] == "prirn@30"].drop(columns="model").reset_index(drop=True)
    pd.testing.assert_frame_equal(own, expected.table, check_dtype=False)
    assert len(pd.read_csv(tmp_path / "checks-by-case.csv")) == 2 * 7 * 12
    assert (tmp_path / "checks.png").stat().st_size > 1000
    assert expected.verdict() in result.stdout
    for status in ("given", "not modelled"):
        assert status in result.stdout
    for words, sentence in (
        (["none.nc"], "none.nc does not exist"),
        ([saved, "--replicates", 3], "replicates must be a whole number of at least 20"),
    ):
        result = refuse("check", *words)
        assert sentence in result.stderr


@pytest.mark.slow
def test_sensitivity_writes_what_the_library_computes(data, tmp_path):
    words = ["prior-sensitivity", data / "annotations.json", "--model", "prirn@30", "--draws", 30, "--k", "1"]
    scores = ["--predictions", f"A={data / 'predictions-A.csv'}", "--concentration", "0.1"]
    result = succeed(*words, *scores, "--out", tmp_path)
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
    assert "Top-1 accuracy of A shifts most with " in result.stdout
    alone = plausibly(*words, "--quiet")
    assert alone.stdout.startswith("Top-1 annotation certainty shifts most with ")
    refused = refuse("prior-sensitivity", data / "annotations.json", "--model", "majority-vote")
    assert "none of the models has a choice to make" in refused.stderr


def test_a_perfect_order_of_few_cases_is_called_few_and_meets_no_strict_requirement(tmp_path):
    """Three cases above three others have an AUROC of 1, and say little of new ones."""
    yes, score = ["pos"] * 3 + ["neg"] * 3, [0.95, 0.93, 0.9, 0.2, 0.1, 0.05]
    cases = [f"c{at}" for at in range(6)]
    rows = [(case, who, label) for case, label in zip(cases, yes, strict=True) for who in ("ann", "bob")]
    pd.DataFrame(rows, columns=["case", "annotator", "label"]).to_csv(tmp_path / "labels.csv", index=False)
    for name, values in (("A", score), ("B", score[::-1])):
        pd.DataFrame({"case": cases, "pos": values}).to_csv(tmp_path / f"{name}.csv", index=False)
    both = [word for name in "AB" for word in ("--predictions", f"{name}={tmp_path / name}.csv")]
    words = ["--truth", "annotator", "--metrics", "auroc,average_precision", "--require", "A: auroc>=0.99@0.95"]
    found = plausibly("evaluate", tmp_path / "labels.csv", *both, *words, "--quick", "--out", tmp_path / "out")
    output = " ".join(found.output.split())
    assert found.exit_code == 3, output
    assert "below the 0.95 required: not met" in output
    assert "Of few cases (6), numbers say little of new cases. Against" in output
    assert "more than 0.99 and" not in output
    table = pd.read_csv(tmp_path / "out" / "metrics.csv").query("classifier == 'A'").set_index("metric")
    assert (table["total_upper"] - table["total_lower"] > 0.4).all()
