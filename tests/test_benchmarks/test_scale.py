"""Many cases through files, as the benchmark runs up to a million: each is as it would be among a few."""

import os

import numpy as np
import pytest
import xarray as xr

import plausibly as pb
from benchmarks import scale
from plausibly.posterior import ranges, slots_of, stacked_draws


@pytest.mark.slow
def test_a_case_does_not_notice_how_many_others_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "SHARD", 400)
    monkeypatch.setattr(ranges, "CASES", 400)
    scale.simulate(2 * scale.SHARD + 100, tmp_path)
    for step in (scale.aggregate, scale.evaluate):
        step(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["annotations.parquet", "posterior.zarr", "results.nc", "scores.npy"]
    annotations = pb.read_annotations(tmp_path / "annotations.parquet")
    scores = np.load(tmp_path / "scores.npy")
    posterior = pb.load(tmp_path / "posterior.zarr", lazy=True)
    results = xr.load_dataset(tmp_path / "results.nc", engine="h5netcdf")

    some = np.random.default_rng(0).permutation(annotations.n_cases)[:50]
    alone = pb.aggregate(annotations.select(some), **scale.FEW, progress=False)
    expected = pb.evaluate(alone, {"A": scores[some]})
    slots = slots_of(posterior)
    own = np.concatenate([np.arange(*slots.start[case : case + 2]) for case in some])
    np.testing.assert_allclose(stacked_draws(posterior)[:, own], stacked_draws(alone), atol=1e-5)
    assert posterior["posterior"]["case"].values[own].tolist() == alone["posterior"]["case"].values.tolist()
    assert posterior["posterior"]["class_name"].values[own].tolist() == alone["posterior"]["class_name"].values.tolist()
    for name, variable in expected.data_vars.items():
        if "case" in variable.dims:
            np.testing.assert_allclose(results[name].isel(case=some), variable, atol=1e-4, err_msg=name)
    # What is summed over cases, draw by draw, is what is summed over draws, case by case.
    for name in ("top1_accuracy", "top3_overlap", "top2_coverage", "top3_kendall_tau"):
        np.testing.assert_allclose(results[name].mean(), results[f"{name}_by_case"].mean(dtype=float), rtol=1e-6)
