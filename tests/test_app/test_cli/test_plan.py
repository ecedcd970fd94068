"""The command ``plan``."""

import json

import numpy as np
import pandas as pd
import pytest

import plausibly as pb
from tests.test_app.test_cli.run import succeed
from tests.test_decisions.test_planning.conftest import COUNTS, labels_of


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    posterior = pb.aggregate(labels_of(COUNTS), "dirichlet-categorical", draws=250, seed=0, progress=False)
    pb.save(posterior, folder / "posterior.nc")
    random = np.random.default_rng(0)
    for name in "AB":
        np.save(folder / f"{name}.npy", random.dirichlet((1, 1), len(COUNTS)))
    pd.DataFrame({"case": range(len(COUNTS)), "image": "x.jpg"}).to_csv(folder / "data.csv", index=False)
    pd.DataFrame({"case": range(len(COUNTS)), "cost": [1, 2] * 12}).to_csv(folder / "costs.csv", index=False)
    (folder / "candidates.txt").write_text("1\n3\n6\n")
    return folder


@pytest.mark.slow
def test_plan_writes_what_the_library_computes(files, tmp_path):
    words = [files / "posterior.nc", "--predictions", f"A={files / 'A.npy'}", "--predictions", f"B={files / 'B.npy'}"]
    result = succeed("plan", *words, "--budget", 12, "--task-data", files / "data.csv", "--out", tmp_path)
    found = pb.plan(files / "posterior.nc", {name: files / f"{name}.npy" for name in "AB"}, budget=12, progress=False)
    written = pd.read_csv(tmp_path / "plan.csv", dtype={"case": str})
    pd.testing.assert_frame_equal(written, found.chosen, check_dtype=False)
    assert len(pd.read_csv(tmp_path / "forecast.csv")) == len(found.forecast)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert tasks[0]["data"] == {"case": found.chosen["case"][0], "image": "x.jpg"}
    assert (tmp_path / "forecast.png").stat().st_size > 10_000
    assert found.advice[0] in result.output.replace("\n", " ")


@pytest.mark.slow
def test_without_predictions_the_goal_is_information(files):
    words = ["--candidates", files / "candidates.txt", "--costs", files / "costs.csv", "--budget", 4, "--quiet"]
    result = succeed("plan", files / "posterior.nc", *words)
    assert result.output.startswith("Ask for")
