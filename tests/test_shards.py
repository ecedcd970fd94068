"""Work in shards: the same bytes however often it was interrupted, and never a wrong part."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import plausibly as pb
from plausibly import fingerprint
from plausibly.aggregation import _aggregate
from plausibly.errors import ArgumentError, FileError
from plausibly.posterior import _joined
from plausibly.posterior._shards import Shards

SETTINGS = {"reliability": 2, "engine": "gibbs", "warmup": 20, "draws": 20, "chains": 2, "progress": False}


@pytest.fixture(scope="module")
def annotations():
    return pb.datasets.simulate_differentials(24, seed=0).annotations


@pytest.fixture(scope="module")
def whole(annotations, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "p.nc"
    pb.aggregate(annotations, out=path, shard=8, **SETTINGS)
    return path


def interrupted(monkeypatch, annotations, out, after, error=KeyboardInterrupt, **changed):
    """Aggregate, and be interrupted while the shard after so many is written."""
    written = []

    def stop(posterior, path):
        if len(written) == after:
            Path(path).write_bytes(b"half")
            raise error
        written.append(path)
        pb.save(posterior, path)

    monkeypatch.setattr(_joined, "save", stop)
    with pytest.raises(error):
        pb.aggregate(annotations, out=out, shard=8, **{**SETTINGS, **changed})
    monkeypatch.undo()


def test_shards_are_the_posterior(annotations, whole):
    posterior = pb.load(whole)
    at_once = pb.aggregate(annotations, **SETTINGS)
    np.testing.assert_allclose(posterior["posterior"]["plausibility"], at_once["posterior"]["plausibility"], atol=1e-5)
    for group in ("sample_stats", "log_likelihood", "observed_data", "constant_data", "convergence"):
        for name, variable in at_once[group].variables.items():
            found = posterior[group].variables[name]
            assert found.dims == variable.dims
            assert found.dtype.kind == variable.dtype.kind
            if variable.dtype.kind == "f":
                np.testing.assert_allclose(found, variable, rtol=1e-2, atol=1e-3)
            else:
                np.testing.assert_array_equal(found, variable)
    assert posterior.attrs == at_once.attrs
    assert not whole.with_name("p.nc.parts").exists()


def test_one_shard_is_what_save_writes(annotations, tmp_path):
    pb.aggregate(annotations, out=tmp_path / "out.nc", **SETTINGS)
    pb.save(pb.aggregate(annotations, **SETTINGS), tmp_path / "saved.nc")
    assert (tmp_path / "out.nc").read_bytes() == (tmp_path / "saved.nc").read_bytes()


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_interruption_leaves_no_trace(monkeypatch, annotations, whole, tmp_path, after):
    out = tmp_path / "p.nc"
    interrupted(monkeypatch, annotations, out, after)
    assert not out.exists()
    sampled = []
    infer = _aggregate.infer_cases
    monkeypatch.setattr(_aggregate, "infer_cases", lambda some, *a, **k: sampled.append(some) or infer(some, *a, **k))
    pb.aggregate(annotations, out=out, shard=8, **SETTINGS)
    assert len(sampled) == 3 - after
    assert out.read_bytes() == whole.read_bytes()
    assert os.listdir(tmp_path) == ["p.nc"]


def test_a_damaged_part_counts_for_nothing(monkeypatch, annotations, whole, tmp_path):
    out = tmp_path / "p.nc"
    interrupted(monkeypatch, annotations, out, 2)
    first = min((tmp_path / "p.nc.parts").glob("000000-*"))
    first.write_bytes(first.read_bytes()[:-10] + b"0123456789")
    pb.aggregate(annotations, out=out, shard=8, **SETTINGS)
    assert out.read_bytes() == whole.read_bytes()


def test_parts_of_another_run_are_refused_or_forgotten(monkeypatch, annotations, whole, tmp_path):
    out = tmp_path / "p.nc"
    interrupted(monkeypatch, annotations, out, 1, reliability=3)
    with pytest.raises(ArgumentError, match=r"another run finished \(reliability was 3.0 and is 2.0\).*--fresh"):
        pb.aggregate(annotations, out=out, shard=8, **SETTINGS)
    fewer = annotations.select(np.arange(20))
    with pytest.raises(ArgumentError, match=r"annotations was [0-9a-f]+ and is"):
        pb.aggregate(fewer, out=out, shard=8, **{**SETTINGS, "reliability": 3})
    pb.aggregate(annotations, out=out, shard=8, fresh=True, **SETTINGS)
    assert out.read_bytes() == whole.read_bytes()


def test_parts_of_another_processor_or_setting_are_refused(monkeypatch, float64, annotations, whole, tmp_path):
    out = tmp_path / "p.nc"
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "processor", lambda: "Abacus")
        interrupted(patch, annotations, out, 1)
    with pytest.raises(ArgumentError, match=r"another run finished \(processor was Abacus and is .*\): .*--fresh"):
        pb.aggregate(annotations, out=out, shard=8, **SETTINGS)
    interrupted(monkeypatch, annotations, out, 1, fresh=True)
    with (
        float64(),
        pytest.raises(ArgumentError, match=r"another run finished \(jax_enable_x64 was False and is True\)"),
    ):
        pb.aggregate(annotations, out=out, shard=8, **SETTINGS)
    pb.aggregate(annotations, out=out, shard=8, **SETTINGS)
    assert out.read_bytes() == whole.read_bytes()


def test_a_full_disk_keeps_what_is_finished(monkeypatch, annotations, whole, tmp_path):
    out = tmp_path / "p.nc"
    interrupted(monkeypatch, annotations, out, 2, error=FileError)
    shutil.copytree(tmp_path / "p.nc.parts", tmp_path / "copy")
    assert len(list((tmp_path / "copy").glob("00000[01]-*"))) == 2
    pb.aggregate(annotations, out=out, shard=8, **SETTINGS)
    assert out.read_bytes() == whole.read_bytes()


def test_a_folder_with_something_else_is_left_alone(annotations, tmp_path):
    (tmp_path / "p.nc.parts").mkdir()
    (tmp_path / "p.nc.parts" / "thesis.tex").write_text("mine")
    with pytest.raises(ArgumentError, match=r"p\.nc\.parts is needed .* holds something else"):
        pb.aggregate(annotations, out=tmp_path / "p.nc", **SETTINGS)
    with pytest.raises(ArgumentError, match=r"p\.nc\.parts is needed .* holds something else"):
        pb.aggregate(annotations, out=tmp_path / "p.nc", fresh=True, **SETTINGS)
    assert (tmp_path / "p.nc.parts" / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize("shard", [0, -1, 2.5, True, None])
def test_shards_have_cases(annotations, tmp_path, shard):
    with pytest.raises(ArgumentError, match=r"shard must be a whole number of at least 1, but"):
        pb.aggregate(annotations, out=tmp_path / "p.nc", shard=shard, **SETTINGS)


def test_no_place_to_write(annotations, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"p\.nc\.parts cannot be written .*: choose another place"):
        pb.aggregate(annotations, out=tmp_path / "file" / "p.nc", **SETTINGS)
    with pytest.raises(ArgumentError, match="the name of a file is needed, but 3 was given"):
        pb.aggregate(annotations, out=3, **SETTINGS)


def test_a_manifest_that_was_cut_off_belongs_to_another_run(tmp_path):
    Shards(tmp_path / "s", {"seed": 0})
    (tmp_path / "s" / "manifest.json").write_text('{"seed"')
    with pytest.raises(ArgumentError, match=r"seed was None and is 0"):
        Shards(tmp_path / "s", {"seed": 0})
    (tmp_path / "s" / "manifest.json").write_text("[1]")
    with pytest.raises(ArgumentError, match=r"seed was None and is 0"):
        Shards(tmp_path / "s", {"seed": 0})
