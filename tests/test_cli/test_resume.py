"""Commands that were stopped go on, and end with the files of a run that was not."""

import os
import re
import resource
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import plausibly as pb
from plausibly import fingerprint
from plausibly.cli import app
from plausibly.posterior import _shards

N, K = 10, 4


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    pb.write_annotations(pb.datasets.simulate_differentials(N, n_classes=K, seed=0).annotations, folder / "a.json")
    np.save(folder / "p.npy", np.random.default_rng(0).random((N, K)))
    return folder


def command(data, name, out, *words):
    more = ["--predictions", f"A={data / 'p.npy'}", "--model", "prirn@10", "--draws", 5, "--chains", 2, "--shard", 4]
    words = [name, data / "a.json", *more, "--k", 1, "--out", out, *words]
    return CliRunner().invoke(app, [str(word) for word in words])


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def stop(monkeypatch):
    """Stop a command when it has finished so many files."""

    def arm(after, error):
        done, fsync = [], os.fsync

        def count(file):
            if len(done) == after:
                raise error
            done.append(file)
            fsync(file)

        monkeypatch.setattr(_shards.os, "fsync", count)

    return arm


def test_evaluate_goes_on(data, tmp_path, stop, monkeypatch):
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert command(data, "evaluate", whole).exit_code == 0
    assert sorted(contents(whole)) == ["certainty.csv", "metrics.csv", "posterior-prirn-10.nc", "report.html"]
    # A manifest, and that of the posterior; two of its shards are there, the third is not.
    stop(4, KeyboardInterrupt)
    result = command(data, "evaluate", out)
    assert (result.exit_code, os.listdir(out)) == (130, ["evaluate.parts"])
    monkeypatch.undo()
    result = command(data, "evaluate", out, "--seed", 1)
    assert result.exit_code == 2
    assert "holds what another run finished (seed was 0 and is 1)" in result.stderr
    assert "start over with fresh=True (--fresh)" in result.stderr
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "processor", lambda: "Abacus")
        result = command(data, "evaluate", out)
    assert result.exit_code == 2
    assert "and is Abacus): finish that one" in " ".join(result.stderr.split())
    computed = []
    aggregated = _shards.Shards.add
    monkeypatch.setattr(_shards.Shards, "add", lambda self, *given: computed.append(self) or aggregated(self, *given))
    assert command(data, "evaluate", out).exit_code == 0
    assert sum(shards.folder.name == "posterior-0.parts" for shards in computed) == 2  # a shard, and the whole
    assert contents(out) == contents(whole)
    assert command(data, "evaluate", out, "--fresh").exit_code == 0
    assert contents(out) == contents(whole)


def test_a_full_disk_is_a_line(data, tmp_path, stop):
    stop(5, OSError(28, "No space left on device"))
    result = command(data, "sweep", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        f"Error: {tmp_path / 'out' / 'sweep.parts' / 'posterior-0.parts'} cannot be written (No space left on device): "
        "make room there, and run the same again, which goes on with what is finished."
    )


def test_fresh_forgets(data, tmp_path, stop, monkeypatch):
    out = tmp_path / "out"
    stop(6, KeyboardInterrupt)
    assert command(data, "sweep", out, "--seed", 1).exit_code == 130
    monkeypatch.undo()
    assert command(data, "sweep", out).exit_code == 2
    assert command(data, "sweep", out, "--fresh").exit_code == 0
    assert command(data, "sweep", tmp_path / "other").exit_code == 0
    assert contents(out) == contents(tmp_path / "other")


def test_files_that_may_not_grow_are_a_full_disk(data, tmp_path):
    words = ["aggregate", data / "a.json", "--model", "prirn@10", "--draws", 400, "--chains", 2, "--shard", 4, "--out"]
    words = [str(word) for word in words]
    whole, out = tmp_path / "whole.nc", tmp_path / "p.nc"
    assert CliRunner().invoke(app, [*words, str(whole)]).exit_code == 0
    limit = int(0.9 * whole.stat().st_size)  # parts fit, the whole does not
    # A process of its own: HDF5 is of no use to one in which it could not close a file.
    limited = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {resource.getrlimit(resource.RLIMIT_FSIZE)[1]}))"
    program = f"import resource; {limited}; from plausibly.cli import main; main()"
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "0"}
    arguments = [sys.executable, "-c", program, *words, str(out)]
    result = subprocess.run(arguments, capture_output=True, text=True, env=environment)
    assert result.returncode == 2, result.stderr
    assert re.search(r"Error: .*p\.nc\.parts cannot be written \(.+\): make room there", result.stderr.splitlines()[-1])
    assert len(list((tmp_path / "p.nc.parts").glob("00000[012]-*"))) == 3
    assert CliRunner().invoke(app, [*words, str(out)]).exit_code == 0
    assert out.read_bytes() == whole.read_bytes()
