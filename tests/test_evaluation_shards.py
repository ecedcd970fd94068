"""Evaluating in shards: the results of evaluating at once, the same bytes however often it was interrupted."""

import os
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import plausibly as pb
from plausibly import fingerprint
from plausibly.errors import ArgumentError, FileError
from plausibly.evaluation import _ranges

N, K = 25, 6


@pytest.fixture(scope="module")
def annotations():
    return pb.datasets.simulate_differentials(N, n_classes=K, seed=0).annotations


@pytest.fixture(scope="module")
def posterior(annotations, tmp_path_factory):
    path = tmp_path_factory.mktemp("posterior") / "p.nc"
    pb.save(pb.aggregate(annotations, "prirn", draws=10, chains=2, progress=False), path)
    return path


def brier(scores, plausibility):
    return jnp.sum((scores - plausibility) ** 2)


@pytest.fixture(scope="module")
def asked():
    rng = np.random.default_rng(1)
    return {
        "predictions": {"A": rng.random((N, K)), "B": rng.integers(0, 3, (N, K)).astype(float)},
        "risks": np.arange(K) % 3,
        "metrics": {"brier": pb.metrics.Metric(brier, better="smaller")},
        "ties": "random",
        "seed": 3,
    }


@pytest.fixture(scope="module")
def whole(posterior, asked, tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "r.nc"
    pb.evaluate(posterior, **asked, out=path, shard=8)
    return path


def interrupted(monkeypatch, posterior, asked, out, after, error=KeyboardInterrupt):
    """Evaluate, and be interrupted while the shard after so many is written."""
    written = []
    write = _ranges.Found.write

    def stop(found, path):
        if len(written) == after:
            path.write_bytes(b"half")
            raise error
        written.append(path)
        write(found, path)

    monkeypatch.setattr(_ranges.Found, "write", stop)
    with pytest.raises(error if error is KeyboardInterrupt else FileError):
        pb.evaluate(posterior, **asked, out=out, shard=8)
    monkeypatch.undo()


@pytest.mark.parametrize("weights", [None, "case", "draw"])
def test_shards_are_the_results(posterior, asked, tmp_path, weights):
    if weights is not None:
        weights = np.random.default_rng(2).random(N if weights == "case" else (20, N))
    at_once = pb.evaluate(posterior, **asked, weights=weights)
    sharded = pb.evaluate(posterior, **asked, weights=weights, out=tmp_path / "r.nc", shard=8)
    xr.testing.assert_allclose(sharded, at_once, rtol=1e-6)
    assert list(sharded) == list(at_once)
    assert os.listdir(tmp_path) == ["r.nc"]
    stored = xr.load_dataset(tmp_path / "r.nc", engine="h5netcdf")
    xr.testing.assert_equal(stored, sharded)
    assert stored["top1_kendall_tau"].attrs == {"better": "smaller"}
    if weights is None:
        # Counts leave no trace of shards.
        for name in ("top1_accuracy", "top3_overlap", "top2_spearman_footrule", "annotation_certainty_2"):
            np.testing.assert_array_equal(sharded[name], at_once[name])


def test_predictions_in_files_are_those_in_memory(posterior, asked, whole, tmp_path):
    paths = {name: tmp_path / f"{name}.npy" for name in asked["predictions"]}
    for name, path in paths.items():
        np.save(path, asked["predictions"][name])
    pb.evaluate(posterior, **{**asked, "predictions": paths}, out=tmp_path / "r.nc", shard=8)
    assert (tmp_path / "r.nc").read_bytes() == whole.read_bytes()


def test_halves_are_those_in_single_precision(posterior, asked):
    halves = np.random.default_rng(5).random((N, K)).astype(np.float16)
    one, two = (
        pb.evaluate(posterior, **{**asked, "predictions": {"A": scores}}, shard=8)
        for scores in (halves, halves.astype(np.float32))
    )
    xr.testing.assert_identical(one, two)


@pytest.mark.parametrize("after", [0, 2, 3])
def test_an_interruption_leaves_no_trace(monkeypatch, posterior, asked, whole, tmp_path, after):
    out = tmp_path / "r.nc"
    interrupted(monkeypatch, posterior, asked, out, after)
    computed = []
    compute = _ranges.Evaluation.compute
    monkeypatch.setattr(_ranges.Evaluation, "compute", lambda self: computed.append(self) or compute(self))
    pb.evaluate(posterior, **asked, out=out, shard=8)
    assert len(computed) == 4 - after
    assert out.read_bytes() == whole.read_bytes()
    assert os.listdir(tmp_path) == ["r.nc"]


def test_a_damaged_shard_counts_for_nothing(monkeypatch, posterior, asked, whole, tmp_path):
    out = tmp_path / "r.nc"
    interrupted(monkeypatch, posterior, asked, out, 2)
    first = min((tmp_path / "r.nc.parts").glob("000000-*"))
    first.write_bytes(first.read_bytes()[:-10] + b"0123456789")
    pb.evaluate(posterior, **asked, out=out, shard=8)
    assert out.read_bytes() == whole.read_bytes()


def test_a_full_disk_keeps_what_is_finished(monkeypatch, posterior, asked, whole, tmp_path):
    out = tmp_path / "r.nc"
    full = OSError(28, "No space left on device")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pb._shards.os, "fsync", lambda file: (_ for _ in ()).throw(full))
        with pytest.raises(FileError, match=r"r\.nc\.parts cannot be written \(No space left on device\): choose"):
            pb.evaluate(posterior, **asked, out=out, shard=8)
    interrupted(monkeypatch, posterior, asked, out, 2, error=full)
    assert len(list((tmp_path / "r.nc.parts").glob("00000[01]-*"))) == 2
    pb.evaluate(posterior, **asked, out=out, shard=8)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"seed": 4}, "seed was 3 and is 4"),
        ({"k": 1}, r"k was \[1, 2, 3\] and is \[1\]"),
        ({"risks": [0] * K}, "risks was [0-9a-f]{32} and is [0-9a-f]{32}"),
        ({"weights": np.ones(N)}, "weights was None and is [0-9a-f]{32}"),
        ({"metrics": {"brier": lambda scores, plausibility: scores @ plausibility}}, "metric brier was [0-9a-f]{32}, "),
        ({"predictions": {"A": np.ones((N, K)), "B": np.ones((N, K))}}, "predictions of A was [0-9a-f]{32} and is"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_shards_of_other_work_are_refused(monkeypatch, posterior, asked, whole, tmp_path, changed, difference):
    out = tmp_path / "r.nc"
    interrupted(monkeypatch, posterior, asked, out, 0)
    with pytest.raises(ArgumentError, match=rf"another run finished \({difference}.*--fresh"):
        pb.evaluate(posterior, **{**asked, **changed}, out=out, shard=8)


def test_shards_of_another_processor_are_refused(monkeypatch, posterior, asked, tmp_path):
    out = tmp_path / "r.nc"
    interrupted(monkeypatch, posterior, asked, out, 1)
    monkeypatch.setattr(fingerprint, "processor", lambda: "Abacus")
    with pytest.raises(ArgumentError, match=r"another run finished \(processor was .* and is Abacus\): .*--fresh"):
        pb.evaluate(posterior, **asked, out=out, shard=8)


def test_shards_of_another_posterior_are_refused_or_forgotten(
    monkeypatch, annotations, posterior, asked, whole, tmp_path
):
    out = tmp_path / "r.nc"
    other = pb.aggregate(annotations, "prirn", draws=10, chains=2, seed=1, progress=False)
    interrupted(monkeypatch, other, asked, out, 1)
    with pytest.raises(ArgumentError, match=r"another run finished \(posterior was [0-9a-f]{32} and is [0-9a-f]{32}\)"):
        pb.evaluate(posterior, **asked, out=out, shard=8)
    pb.evaluate(posterior, **asked, out=out, shard=8, fresh=True)
    assert out.read_bytes() == whole.read_bytes()


def test_no_classifier(posterior, asked, tmp_path):
    at_once = pb.evaluate(posterior, {}, metrics=asked["metrics"])
    sharded = pb.evaluate(posterior, {}, metrics=asked["metrics"], out=tmp_path / "r.nc", shard=10)
    xr.testing.assert_allclose(sharded, at_once, rtol=1e-6)


@pytest.mark.parametrize("shard", [0, 2.5, True])
def test_shards_have_cases(posterior, tmp_path, shard):
    with pytest.raises(ArgumentError, match=r"shard must be a whole number of at least 1, but"):
        pb.evaluate(posterior, {}, out=tmp_path / "r.nc", shard=shard)


def test_a_place_is_needed(posterior):
    with pytest.raises(ArgumentError, match="the name of a file is needed, but <class"):
        pb.evaluate(posterior, {}, out=partial)
