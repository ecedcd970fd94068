"""Logits that are marked as such are probabilities everywhere; what cannot be logits is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax

import plausibly as pb
from tests.test_app.test_cli.run import plausibly

RANDOM = np.random.default_rng(0)
N = 24
CASES = [f"p{i}" for i in range(N)]
LOGITS = RANDOM.normal(scale=2, size=(N, 3))
OTHER = RANDOM.dirichlet(np.ones(3), N)
ANNOTATIONS = pb.Annotations.from_labels(RANDOM.choice(["x", "y", "z"], (N, 3)).tolist(), cases=CASES)
BINARY = pb.Annotations.from_labels(RANDOM.choice(["x", "y"], (N, 3)).tolist(), cases=CASES)


@pytest.mark.parametrize("logits", [True, ["A"], "A"])
def test_metrics_of_logits_are_those_of_their_probabilities(logits):
    options = {"metrics": ["brier", "auroc_macro", "calibration_curve"], "truth": "annotator", "replicates": 20}
    predictions = {"A": LOGITS} if logits is True else {"A": LOGITS, "B": OTHER}
    found = pb.evaluate(ANNOTATIONS, predictions, logits=logits, **options)
    given = {name: softmax(LOGITS, axis=1) if name == "A" else OTHER for name in predictions}
    expected = pb.evaluate(ANNOTATIONS, given, **options)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6)


def test_one_column_is_that_of_the_named_or_positive_class_and_large_logits_keep_their_order():
    column = LOGITS[:, 0] * 3
    second = np.stack([1 - expit(column), expit(column)], 1)
    np.testing.assert_allclose(pb.read_predictions(column, BINARY, logits=True), second)
    first = pb.read_predictions(pd.DataFrame({"x": column}), BINARY, logits=True)
    np.testing.assert_allclose(first, second[:, ::-1])
    options = {"metrics": "brier", "truth": "annotator", "positive": "x"}
    found = pb.evaluate(BINARY, {"A": column}, logits=True, **options)
    np.testing.assert_array_equal(found["brier"], pb.evaluate(BINARY, {"A": expit(column)}, **options)["brier"])
    found = pb.read_predictions(np.tile([[0.0, 500.0, 1000.0]], (N, 1)).astype(np.float32), ANNOTATIONS, logits=True)
    assert np.isfinite(found).all()
    assert (np.diff(found, axis=1) > 0).all()


@pytest.mark.slow
def test_logits_are_evidence_as_their_probabilities_are():
    above = LOGITS - LOGITS.min()  # none is negative, which would say that they are logits
    options = {"draws": 10, "chains": 1, "seed": 0, "progress": False}
    found = pb.aggregate(ANNOTATIONS, predictions={"A": above}, logits=True, **options)
    expected = pb.aggregate(ANNOTATIONS, predictions={"A": softmax(above, axis=1)}, **options)
    np.testing.assert_allclose(found["posterior"]["plausibility"], expected["posterior"]["plausibility"], rtol=1e-4)
    same = pb.evaluate(found, {"A": above}, logits=True, metrics="top1_accuracy", replicates=0, progress=False)
    assert "outside" not in same.attrs  # the posterior knows these predictions


@pytest.mark.slow
def test_plans_and_thresholds_of_logits_are_those_of_their_probabilities():
    posterior = pb.aggregate(ANNOTATIONS, "dirichlet-categorical", draws=50, chains=2, progress=False)
    options = {"metric": "brier", "budget": 3, "progress": False}
    found = pb.plan(posterior, {"A": LOGITS}, logits=True, **options)
    pd.testing.assert_frame_equal(found.table, pb.plan(posterior, {"A": softmax(LOGITS, axis=1)}, **options).table)
    column = LOGITS[:, 0] * 3
    options = {"sensitivity": 0.5, "truth": "annotator"}
    chosen = pb.evaluation.choose_threshold(BINARY, {"A": column}, logits=True, **options)
    assert chosen == pytest.approx(pb.evaluation.choose_threshold(BINARY, {"A": expit(column)}, **options))


@pytest.mark.slow
def test_other_commands_take_logits(tmp_path):
    posterior = pb.aggregate(ANNOTATIONS, "dirichlet-categorical", draws=50, chains=2, progress=False)
    pb.save(posterior, tmp_path / "posterior.nc")
    np.save(tmp_path / "a.npy", LOGITS)
    np.save(tmp_path / "b.npy", OTHER)
    files = [word for name in "AB" for word in ("--predictions", f"{name.upper()}={tmp_path / name.lower()}.npy")]
    given = [tmp_path / "posterior.nc", *files, "--metric", "brier", "--out", tmp_path]
    for command in ("plan", "compare"):
        assert plausibly(command, *given).exit_code == 2
        found = plausibly(command, *given, "--logits", "A", *(("--budget", 3) if command == "plan" else ()))
        assert found.exit_code == 0, found.output
    predictions = {"A": softmax(LOGITS, axis=1), "B": OTHER}
    results = pb.evaluate(posterior, predictions, metrics="brier", progress=False)
    expected = pb.comparison.differences(results, "brier")
    written = pd.read_csv(tmp_path / "differences.csv")
    np.testing.assert_allclose(written[["mean", "lower", "better"]], expected[["mean", "lower", "better"]], atol=1e-6)


@pytest.mark.parametrize("mark", ["all", "A"])
def test_the_command_takes_logits(tmp_path, mark):
    ANNOTATIONS.to_table().to_csv(tmp_path / "labels.csv", index=False)
    pd.DataFrame(LOGITS, columns=["x", "y", "z"]).assign(case=CASES).to_csv(tmp_path / "a.csv", index=False)
    given = ["evaluate", tmp_path / "labels.csv", "--predictions", f"A={tmp_path / 'a.csv'}", "--metrics", "brier"]
    given += ["--truth", "annotator", "--replicates", 20, "--out", tmp_path / "out"]
    refused = plausibly(*given)
    assert refused.exit_code == 2
    assert "mark logits as such (--logits)" in " ".join(refused.output.split())
    found = plausibly(*given, "--logits", mark)
    assert found.exit_code == 0, found.output
    expected = pb.evaluate(ANNOTATIONS, {"A": softmax(LOGITS, axis=1)}, metrics="brier", truth="annotator")
    table = pd.read_csv(tmp_path / "out" / "metrics.csv").set_index("metric")
    assert table.loc["brier", "mean"] == pytest.approx(expected["brier"].item(), abs=1e-6)
