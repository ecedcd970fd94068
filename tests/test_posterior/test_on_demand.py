"""Draws that are made when they are read, from a closed form."""

import numpy as np
import pytest
import xarray as xr

import plausibly as pb
from plausibly.base.errors import FileError
from plausibly.inference import Form
from plausibly.posterior import on_demand

RANDOM = np.random.default_rng(0)
N, K = 40, 5
LABELS = pb.Annotations.from_labels([RANDOM.choice(list("abcde"), RANDOM.integers(1, 5)).tolist() for _ in range(N)])
PREDICTIONS = {name: RANDOM.dirichlet(np.ones(K), N) for name in "AB"}
FEW = {"draws": 25, "chains": 2, "progress": False}


@pytest.fixture(params=["named", "evidence"])
def drawn(request, monkeypatch):
    """A posterior of which little is held at a time, one that holds all its draws, and the cases drawn so far."""
    cases, draw = [], Form.draw

    def counted(self, chains, draws, of=None):
        cases.append(N if of is None else of.stop - of.start)
        return draw(self, chains, draws, of)

    monkeypatch.setattr(Form, "draw", counted)
    more = {"model": "dirichlet-categorical"} if request.param == "named" else {"predictions": PREDICTIONS}
    held = pb.aggregate(LABELS, **more, **FEW)
    held["posterior"]["plausibility"].load()
    monkeypatch.setattr(on_demand, "_LITTLE", 0)
    cases.clear()
    return pb.aggregate(LABELS, **more, **FEW), held, cases


def test_draws_are_made_of_the_cases_that_are_read(drawn):
    posterior, held, cases = drawn
    whole = held["posterior"]["plausibility"].values
    plausibility = posterior["posterior"]["plausibility"]
    assert plausibility.shape == whole.shape
    assert not cases
    slots = np.array([30, 2, 2, 31, 7])
    np.testing.assert_array_equal(plausibility.isel(slot=slots).values, whole[..., slots])
    np.testing.assert_array_equal(plausibility[1, ::5, 3:9].values, whole[1, ::5, 3:9])
    np.testing.assert_array_equal(plausibility.transpose("slot", "draw", "chain")[4].values, whole[..., 4].T)
    assert plausibility[..., :0].values.shape == (2, 25, 0)
    assert max(cases) < 5
    np.testing.assert_array_equal(plausibility.values, whole)


def test_evaluation_draws_each_case_once_and_never_all(drawn, monkeypatch):
    posterior, held, cases = drawn
    monkeypatch.setattr("plausibly.posterior.ranges.CASES", 9)
    found = pb.evaluate(posterior, PREDICTIONS, metrics="top1_accuracy", progress=False)
    assert max(cases) < 10
    assert sum(cases) == N
    expected = pb.evaluate(held, PREDICTIONS, metrics="top1_accuracy", progress=False)
    np.testing.assert_array_equal(found["top1_accuracy"].values, expected["top1_accuracy"].values)


def test_a_file_has_the_closed_form(drawn, tmp_path, monkeypatch):
    posterior, held, _ = drawn
    pb.save(posterior, tmp_path / "form.nc")
    pb.save(held, tmp_path / "draws.nc")
    for lazy in (False, True):
        for name in ("form", "draws"):
            found = pb.load(tmp_path / f"{name}.nc", lazy=lazy)["posterior"]["plausibility"]
            np.testing.assert_array_equal(found.values, held["posterior"]["plausibility"].values)
    assert "plausibility" not in xr.open_dataset(tmp_path / "form.nc", group="posterior", engine="h5netcdf")
    some = held["posterior"]["plausibility"].variable
    assert on_demand.not_drawn(posterior["posterior"]["plausibility"].variable[:, ::2]) is on_demand.not_drawn(some)
    monkeypatch.setattr(on_demand, "DRAWN_BY", "1")
    with pytest.raises(FileError, match=r"form\.nc has the closed form of a posterior whose draws another version"):
        pb.load(tmp_path / "form.nc")
    assert pb.load(tmp_path / "draws.nc")["posterior"].sizes["slot"] == len(some[0, 0])


@pytest.mark.parametrize("index", [[-2, -1], [-1, 0, 1], [3, 4, 5], [5, 3], [2]])
def test_numbers_that_follow_each_other_are_those_of_the_array(index):
    values = np.arange(12.0).reshape(2, 6)
    np.testing.assert_array_equal(on_demand.outer(values, (slice(None), np.array(index))), values[:, index])
