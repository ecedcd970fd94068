"""The benchmark of the main job: its table, and that it notices results that differ."""

import sys

import numpy as np
import pytest

from benchmarks.main_job import _agreement as agreement
from benchmarks.main_job._measure import CommandError, Sample, run
from benchmarks.main_job._table import row

HEADER = "classifier,model,reliability,metric,mean,sd,point\n"


@pytest.fixture
def folders(tmp_path):
    for name in ("theirs", "ours"):
        (tmp_path / name / "results").mkdir(parents=True)
        (tmp_path / name / "results" / "metrics.csv").write_text(HEADER + "A,m,1.0,top1_accuracy,0.5,0.04,0.6\n")
    return tmp_path / "theirs", tmp_path / "ours"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("A,m,1.0,top1_accuracy,0.505,0.041,0.6\n", None),  # Monte Carlo error
        ("A,m,1.0,top1_accuracy,0.53,0.04,0.6\n", "mean was"),
        ("A,m,1.0,top1_accuracy,0.5,0.08,0.6\n", "sd was"),
        ("A,m,1.0,top1_accuracy,0.5,0.04,0.62\n", "point was"),
        ("B,m,1.0,top1_accuracy,0.5,0.04,0.6\n", "missing"),
    ],
)
def test_metrics_that_differ_are_found(folders, line, what):
    (folders[1] / "results" / "metrics.csv").write_text(HEADER + line)
    found = agreement.of_metrics(*folders)
    assert len(found) == (what is not None)
    assert all(what in text for text in found)


def test_draws_that_differ_are_found(folders):
    samples = [Sample(1, 1, 1, {"least_ess": 500, "converged": 9}), Sample(1, 1, 1, {"least_ess": 300, "converged": 8})]
    for folder, mean in zip(folders, (0.5, 0.9), strict=True):
        np.savez(folder / "draws.npz", mean=np.array([0.2, mean]), sd=np.array([0.1, 0.1]))
    found = agreement.of_draws(*folders, *samples)
    assert [text.split()[0] for text in found] == ["slot", "the", "9"]


def test_the_table_has_ratios_of_medians_and_aims_also_by_the_processor():
    ours, theirs = ([Sample(s, s, 2**20, {}) for s in seconds] for seconds in ((1, 2, 3), (8, 8, 30)))
    line = row("a job", "warm", ours, theirs, aim=5)
    assert "4 [4–10]" in line
    assert line.endswith("5 -")
    assert row("a job", "warm", ours, theirs, aim=4).endswith("4")
    ours, theirs = ([Sample(seconds, cpu, 2**20, {})] for seconds, cpu in ((10, 1), (20, 5)))
    assert row("a job", "warm", ours, theirs, aim=4).endswith("4 -")
    assert row("a job", "warm", ours, theirs, aim=4, by_cpu=True).endswith(" 4")


def test_a_command_is_measured_and_its_report_is_read(tmp_path):
    code = "import json; print('hello'); print(json.dumps({'seconds': 0.25, 'ess': 400}))"
    sample = run([sys.executable, "-c", code], tmp_path / "here", tmp_path / "cache")
    assert (sample.seconds, sample.found) == (0.25, {"ess": 400})
    assert sample.cpu > 0
    assert sample.peak > 2**20
    with pytest.raises(CommandError, match="ended with status 3"):
        run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "here", tmp_path / "cache")
