"""Posteriors on disk: written in shards, interrupted, gone on with, damaged."""

import asyncio
import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr

import plausibly as pb
from plausibly.aggregation import on_disk
from plausibly.aggregation._infer import Independent
from plausibly.aggregation.sweeps import Folder, Plan
from plausibly.base.arviz import to_groups
from plausibly.base.errors import ArgumentError, FileError, PlausiblyError, PlausiblyWarning
from plausibly.posterior import LIKELIHOODS, PSEUDO_LIKELIHOOD, Store

SETTINGS = {"model": "prirn", "draws": 20, "chains": 2, "progress": False, "shard": 8}
SETTINGS["log_likelihood"] = True


@pytest.fixture(scope="module")
def annotations():
    return pb.datasets.simulate_differentials(24, n_classes=8, seed=0).annotations


@pytest.fixture(scope="module")
def whole(annotations, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "p.zarr"
    pb.aggregate(annotations, out=path, **SETTINGS)
    return path


def assert_equal(found, expected, rtol=0.0):
    """Two posteriors are alike; log likelihoods to rounding, where cases were computed beside others."""
    assert to_groups(found).keys() == to_groups(expected).keys()
    assert {k: v for k, v in found.attrs.items() if k != "fingerprint"} == {
        k: v for k, v in expected.attrs.items() if k != "fingerprint"
    }
    for group, data in to_groups(expected).items():
        other = to_groups(found)[group]
        assert set(other.coords) == set(data.coords)
        for name, variable in data.variables.items():
            assert (other.variables[name].dims, other.variables[name].dtype) == (variable.dims, variable.dtype)
            if group in LIKELIHOODS and variable.dtype.kind == "f":
                np.testing.assert_allclose(other.variables[name], variable, rtol=rtol)
            else:
                np.testing.assert_array_equal(other.variables[name].values, variable.values)


def interrupt(monkeypatch, annotations, out, after, error=KeyboardInterrupt, **changed):
    """Aggregate, and be interrupted when the shard after so many has been written but is not marked."""
    write, written = Store.write, []

    def stop(store, number, posterior):
        write(store, number, posterior)
        if len(written) == after:
            store._root["shards"]["complete"][number] = False
            raise error
        written.append(number)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", stop)
        with pytest.raises(error):
            pb.aggregate(annotations, out=out, **SETTINGS | changed)


def test_shards_have_the_draws_of_all_cases_together(annotations, whole):
    at_once = pb.aggregate(annotations, **SETTINGS)
    assert_equal(pb.load(whole), at_once, rtol=1e-5)
    assert_equal(pb.load(whole, lazy=True), at_once, rtol=1e-5)


def test_cases_that_converged_are_counted_over_all_shards(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "p.zarr")
    shards = zarr.open_group(tmp_path / "p.zarr")["shards"]
    for name, counts in {"converged": [8, 5, 3], "exact": [0, 2, 1]}.items():
        shards.create_array(name, data=np.array(counts), dimension_names=["shard"])
    attrs = pb.load(tmp_path / "p.zarr").attrs
    assert (attrs["converged"], attrs["exact"]) == ("16 of 24 cases", "3 of 24 cases")


@pytest.mark.slow
def test_chains_in_shards(annotations, tmp_path):
    settings = {"reliability": 2, "engine": "gibbs", "warmup": 20, "draws": 20, "chains": 2, "progress": False}
    settings["log_likelihood"] = True
    found = pb.aggregate(annotations, out=tmp_path / "p.zarr", shard=9, **settings)
    expected = pb.aggregate(annotations, **settings)
    assert found.attrs.items() >= expected.attrs.items()
    for group in ("posterior", "sample_stats", PSEUDO_LIKELIHOOD, "convergence", "constant_data"):
        assert found[group].attrs == expected[group].attrs
        for name, variable in expected[group].data_vars.items():
            if variable.dtype.kind == "f":
                np.testing.assert_allclose(found[group][name], variable, rtol=1e-2, atol=1e-3)
            else:
                np.testing.assert_array_equal(found[group][name], variable)
    np.testing.assert_allclose(found["posterior"]["plausibility"], expected["posterior"]["plausibility"], atol=1e-5)


@pytest.mark.parametrize("name", ["p.nc", "p.zarr"])
def test_what_is_there_is_returned(monkeypatch, annotations, tmp_path, name):
    first = pb.aggregate(annotations, out=tmp_path / name, **SETTINGS)
    inferred = []
    draw = Independent.draw
    monkeypatch.setattr(Independent, "draw", lambda *a, **k: inferred.append(a) or draw(*a, **k))
    assert_equal(pb.aggregate(annotations, out=tmp_path / name, **SETTINGS), first)
    assert not inferred
    pb.aggregate(annotations, out=tmp_path / name, fresh=True, **SETTINGS)
    assert inferred


@pytest.mark.parametrize("after", [0, 2])
def test_an_interruption_leaves_no_trace(monkeypatch, annotations, whole, tmp_path, after):
    out = tmp_path / "p.zarr"
    interrupt(monkeypatch, annotations, out, after)
    with pytest.raises(FileError, match=rf"p\.zarr is not complete \({after} of 3 shards\)"):
        pb.load(out)
    sampled = []
    draw = Independent.draw
    monkeypatch.setattr(Independent, "draw", lambda *a, **k: sampled.append(a) or draw(*a, **k))
    pb.aggregate(annotations, out=out, **SETTINGS)
    assert len(sampled) == 3 - after
    assert_equal(pb.load(out), pb.load(whole))


@pytest.mark.parametrize("lost", ["shards/complete"])
def test_a_layout_that_was_cut_off_is_laid_out_again(annotations, whole, tmp_path, lost):
    out = tmp_path / "p.zarr"
    shutil.copytree(whole, out)
    (out / "zarr.0.partial").write_text("{")
    shutil.rmtree(out / lost)
    shutil.rmtree(out / "constant_data")
    with pytest.raises(FileError, match="is not complete"):
        pb.load(out)
    pb.aggregate(annotations, out=out, **SETTINGS)
    assert_equal(pb.load(out), pb.load(whole))


@pytest.mark.slow
def test_another_posterior_is_refused_or_replaced(monkeypatch, float64, annotations, whole, tmp_path):
    out = tmp_path / "p.zarr"
    shutil.copytree(whole, out)
    others = {"reliability was 30.0 and is 3.0": {"reliability": 3}, "shard was 8 and is 9": {"shard": 9}}
    others |= {"draws was 20 and is 21, seed": None, "seed was 0 and is 1": {"seed": 1}}
    for sentence, changed in others.items():
        if changed is not None:
            with pytest.raises(ArgumentError, match=rf"p\.zarr holds another posterior \({sentence}\).*--fresh"):
                pb.aggregate(annotations, out=out, **SETTINGS | changed)
    with pytest.raises(ArgumentError, match=r"\(annotations changed\)"):
        pb.aggregate(annotations.select(np.arange(20)), out=out, **SETTINGS)
    with float64(), pytest.raises(ArgumentError, match=r"jax_enable_x64 was False and is True"):
        pb.aggregate(annotations, out=out, **SETTINGS)
    with monkeypatch.context() as patch:
        patch.setattr(on_disk, "software", lambda: {"numpy": "0.1"})
        with pytest.raises(ArgumentError, match=r"numpy was .* and is 0\.1"):
            pb.aggregate(annotations, out=out, **SETTINGS)
        patch.undo()
        patch.setattr(on_disk, "processor", lambda: "Abacus")
        with pytest.warns(PlausiblyWarning, match=r"begun on another processor .*Abacus"):
            pb.aggregate(annotations, out=out, **SETTINGS)
    assert_equal(pb.load(out), pb.load(whole))
    pb.aggregate(annotations, out=out, fresh=True, **SETTINGS | {"seed": 1})
    assert pb.load(out).attrs["seed"] == 1


@pytest.mark.slow
def test_a_program_of_one_s_own_is_known_by_its_code_or_version(annotations, tmp_path):
    def program(factor):
        def own(case, reliability=30.0):
            return pb.models.prirn(case, reliability=reliability * factor)

        return own

    some = annotations.select(np.arange(1))
    settings = {"draws": 4, "chains": 1, "warmup": 2, "progress": False}
    pb.aggregate(some, program(1.0), out=tmp_path / "p.zarr", **settings)
    pb.aggregate(some, program(1.0), out=tmp_path / "p.zarr", **settings)
    with pytest.raises(ArgumentError, match=r"another posterior \(program changed\)"):
        pb.aggregate(some, program(2.0), out=tmp_path / "p.zarr", **settings)
    pb.aggregate(some, program(1.0), out=tmp_path / "p.zarr", fresh=True, version="1", **settings)
    pb.aggregate(some, program(2.0), out=tmp_path / "p.zarr", version="1", **settings)
    with pytest.raises(ArgumentError, match="program was 1 and is 2"):
        pb.aggregate(some, program(1.0), out=tmp_path / "p.zarr", version="2", **settings)
    with pytest.raises(ArgumentError, match="version is for your own program, but prirn was named"):
        pb.aggregate(some, version="1", out=tmp_path / "p.zarr", **SETTINGS)


def test_a_folder_with_something_else_is_left_alone(annotations, tmp_path):
    (tmp_path / "p.zarr").mkdir()
    (tmp_path / "p.zarr" / "thesis.tex").write_text("mine")
    for fresh in (False, True):
        with pytest.raises(ArgumentError, match=r"p\.zarr holds something other"):
            pb.aggregate(annotations, out=tmp_path / "p.zarr", fresh=fresh, **SETTINGS)
    assert (tmp_path / "p.zarr" / "thesis.tex").read_text() == "mine"


def test_no_place_to_write(monkeypatch, annotations, whole, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"p\.zarr cannot be written"):
        pb.aggregate(annotations, out=tmp_path / "file" / "p.zarr", **SETTINGS)
    with monkeypatch.context() as patch:  # nothing is computed for a file that cannot be written
        patch.setattr(Independent, "draw", None)
        (tmp_path / "folder.nc").mkdir()
        for name in ("folder", "a" * 300, "file/p"):
            with pytest.raises(FileError, match="cannot be written"):
                pb.aggregate(annotations, out=tmp_path / f"{name}.nc", **SETTINGS)

    def full(*names):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_create", full)
        with pytest.raises(FileError, match=r"cannot be written \(No space left on device\).*repeat the call"):
            pb.aggregate(annotations, out=tmp_path / "p.zarr", **SETTINGS)
    pb.aggregate(annotations, out=tmp_path / "p.zarr", **SETTINGS)
    assert_equal(pb.load(tmp_path / "p.zarr"), pb.load(whole))


def test_a_disk_that_is_full_is_told_once(monkeypatch, annotations, tmp_path):
    """Zarr writes chunks side by side; those that are unfinished when Python ends would be tracebacks."""
    from zarr.storage import LocalStore

    write, begun, done = LocalStore.set, [], []

    async def full(self, key, value):
        if "ranking/c/" not in key:
            return await write(self, key, value)
        begun.append(key)
        if len(begun) > 1:
            await asyncio.sleep(0.2)
        done.append(key)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalStore, "set", full)
    monkeypatch.setattr("plausibly.posterior._store._CHUNK", 200)
    with pytest.raises(FileError, match=r"cannot be written \(No space left on device\)"):
        pb.aggregate(annotations, out=tmp_path / "p.zarr", **SETTINGS)
    assert len(begun) > 1
    assert sorted(done) == sorted(begun)


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: flip(path, 20),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
    ],
)
def test_a_damaged_chunk_is_a_sentence(whole, tmp_path, damage):
    out = tmp_path / "p.zarr"
    shutil.copytree(whole, out)
    damage(out / "closed_form" / "shape" / "c" / "0")
    for use in (
        lambda: pb.load(out),
        lambda: pb.evaluate(out, {"A": np.eye(24, 8)}, metrics="top1_accuracy", progress=False),
        lambda: pb.dense(pb.load(out, lazy=True)),
    ):
        with pytest.raises(FileError, match=r"p\.zarr (cannot be read|is damaged)"):
            use()


@pytest.mark.parametrize("name", ["", "posterior/", "closed_form/shape/", "observed_data/rank/"])
def test_damaged_metadata_are_a_sentence(annotations, whole, tmp_path, name):
    out = tmp_path / "p.zarr"
    shutil.copytree(whole, out)
    (out / name / "zarr.json").write_text('{"zarr')
    for use in (pb.load, pb.diagnose, lambda out: pb.aggregate(annotations, out=out, **SETTINGS)):
        with pytest.raises(PlausiblyError, match=r"p\.zarr (cannot be read|is damaged|holds something other)"):
            use(out)


def test_a_chunk_that_is_lost_before_the_end_is_not_taken_for_zeros(monkeypatch, annotations, tmp_path):
    interrupt(monkeypatch, annotations, tmp_path / "p.zarr", 1)
    (tmp_path / "p.zarr/closed_form/shape/c/0").unlink()  # the other shards lie in it, too
    posterior = pb.aggregate(annotations, out=tmp_path / "p.zarr", **SETTINGS)
    plausibility = posterior["posterior"]["plausibility"]
    assert np.isnan(plausibility.sel(slot=plausibility["case"] == annotations.cases[0])).all()


@pytest.mark.slow
def test_a_sweep_says_what_it_continues(monkeypatch, annotations, tmp_path):
    interrupt(monkeypatch, annotations, tmp_path / "posterior-prirn-30.zarr", 1, log_likelihood=False)
    plan, said = Plan.of(annotations, {}, {"prirn": (30,)}, draws=20, chains=2), []
    for _ in range(2):
        list(plan.runs(Folder(tmp_path, 8), progress=False, say=said.append))
    assert [text.rpartition(" (")[2] for text in said] == ["posterior continued)", "posterior reused)"]


@pytest.mark.slow
def test_a_sweep_replaces_what_does_not_match_in_either_format(annotations, tmp_path):
    some = annotations.select(np.arange(4))
    nc, store = (tmp_path / f"posterior-prirn-30.{suffix}" for suffix in ("nc", "zarr"))
    for seed, shard, how, words in (
        (0, 9, "", []),
        (0, 2, "", [f"{nc} was removed: {store.name} takes its place"]),
        (1, 2, " (posterior replaced: seed was 0 and is 1)", []),
        (1, 3, " (posterior replaced: shard was 2 and is 3)", []),
        (1, 3, " (posterior reused)", []),
        (1, 9, "", [f"{store} was removed: {nc.name} takes its place"]),
        (2, 9, " (posterior replaced: seed was 1 and is 2)", []),
    ):
        said = []
        plan = Plan.of(some, {}, {"prirn": (30,)}, draws=4, chains=1, seed=seed)
        list(plan.runs(Folder(tmp_path, shard), progress=False, say=said.append))
        assert said == [f"[1 of 1] prirn@30{how}", *words]
        path = store if shard < 4 else nc
        assert [found.name for found in tmp_path.iterdir()] == [path.name]
        assert pb.load(path).attrs["seed"] == seed


@pytest.mark.slow
def test_links_and_folders(annotations, whole, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.zarr").symlink_to(tmp_path / "real")
    for fresh in (False, True):
        pb.aggregate(annotations, out=tmp_path / "link.zarr", fresh=fresh, **SETTINGS)
        assert_equal(pb.load(tmp_path / "real"), pb.load(whole))
    pb.aggregate(annotations, out=tmp_path / "new" / "p.nc", **SETTINGS)
    expected, lazy = (pb.load(tmp_path / "new" / "p.nc", lazy=lazy) for lazy in (False, True))
    pb.save(lazy, tmp_path / "new" / "p.nc")  # into the file that it is read from
    assert_equal(pb.load(tmp_path / "new" / "p.nc"), expected)
    pb.save(lazy, tmp_path / "file.zarr")
    with pytest.raises(ArgumentError, match="holds something other"):
        pb.aggregate(annotations, out=tmp_path / "file.zarr", **SETTINGS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # h5netcdf closes what it never opened
def test_bits_that_flip_in_a_file_are_noticed(annotations, tmp_path):
    pb.aggregate(annotations.select(np.arange(4)), out=tmp_path / "p.nc", **SETTINGS)
    expected, data = pb.load(tmp_path / "p.nc"), (tmp_path / "p.nc").read_bytes()
    random = np.random.default_rng(0)
    flips, noticed = 20, 0
    for at in random.integers(0, len(data), flips):
        path = tmp_path / f"{at}.nc"  # HDF5 may still have the last one open
        path.write_bytes(data)
        flip(path, int(at))
        try:
            found = pb.load(path)
        except pb.errors.PlausiblyError:
            noticed += 1
            continue
        assert found.attrs == expected.attrs
        assert all(data.identical(to_groups(found)[name]) for name, data in to_groups(expected).items())
    assert noticed > flips / 2
