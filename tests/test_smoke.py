"""The whole way once, from annotations to a report: what has to work whatever else is being changed."""

import numpy as np
from typer.testing import CliRunner

import plausibly as pb
from plausibly.cli import app


def test_from_annotations_to_metrics():
    simulated = pb.datasets.simulate_differentials(6, n_classes=5, seed=0)
    scores = {"A": np.random.default_rng(0).random((6, 5))}
    for model in ("dirichlet-categorical", "prirn", "plackett-luce"):
        annotations = simulated.annotations
        if model == "dirichlet-categorical":
            annotations = pb.Annotations.from_counts(np.random.default_rng(1).integers(0, 3, (6, 5)) + 1)
        engine = "gibbs" if model == "plackett-luce" else "exact"
        settings = {"draws": 20, "chains": 2, "engine": engine, "progress": False}
        if engine == "gibbs":
            settings["warmup"] = 20
        posterior = pb.aggregate(annotations, model, **settings)
        totals = posterior["posterior"]["plausibility"].groupby("case").sum("slot")
        np.testing.assert_allclose(totals, 1, atol=1e-5)
        results = pb.evaluate(posterior, scores, k=(1, 2))
        assert 0 <= float(results["top1_accuracy"].mean()) <= float(results["top2_accuracy"].mean()) <= 1


def test_from_files_to_a_report(tmp_path):
    run = CliRunner()
    # Shapes of the tests of commands, so that they share programs.
    made = run.invoke(app, ["simulate", "--out", str(tmp_path / "data"), "--cases", "12", "--classes", "6"])
    assert made.exit_code == 0, made.output
    data = tmp_path / "data"
    command = ["evaluate", str(data / "annotations.json"), "--classes", str(data / "classes.txt")]
    command += ["--risks", str(data / "risks.txt"), "--predictions", f"A={data / 'predictions-A.csv'}"]
    command += ["--predictions", f"B={data / 'predictions-B.csv'}", "--model", "prirn@10,30", "--draws", "20"]
    command += ["--out", str(tmp_path / "results")]
    done = run.invoke(app, command)
    assert done.exit_code == 0, done.output
    written = {path.name for path in (tmp_path / "results").iterdir()}
    assert {"metrics.csv", "certainty.csv", "report.html", "posterior-prirn-30.nc"} <= written
