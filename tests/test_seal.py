"""What comes of damage to a file: a sentence before anything is read from it."""

from itertools import pairwise
from random import Random
from subprocess import TimeoutExpired

import h5netcdf
import h5py
import numpy as np
import pytest
import xarray as xr

import plausibly as pb
from plausibly._arviz import to_groups
from plausibly.annotations import Annotations, Slots
from plausibly.errors import FileError
from plausibly.posterior import _trial, _walk, build_posterior, load, save
from plausibly.posterior._seal import _END, _MARK, is_sealed, seal
from plausibly.posterior._trial import try_out
from plausibly.posterior._walk import TOO_LARGE

KNOWN = Annotations.from_rankings([[[["a"], ["b"]], [["c", "b"]]], [[["ä"]]]], classes=["a", "b", "c", "ä", "e"])


@pytest.fixture(scope="module")
def posterior():
    slots = Slots.of(KNOWN)
    draws = np.random.default_rng(0).dirichlet(np.ones(len(slots)), (2, 300)).astype(np.float32)
    return build_posterior(draws, KNOWN, slots, point=draws[0, 0], concentration=1.0, attrs={"model": "irn"})


@pytest.fixture
def path(posterior, tmp_path):
    save(posterior, tmp_path / "p.nc")
    return tmp_path / "p.nc"


def places(path):
    """What the seal leaves to zlib's checksum."""
    whole = path.read_bytes()
    size, n, _, _ = _END.unpack(whole[-_END.size :])
    return size, np.frombuffer(whole[size:][: 16 * n], "<u8").reshape(-1, 2).astype(int)


def test_a_bit_that_flips_anywhere_is_noticed(path):
    whole = path.read_bytes()
    size, left_out = places(path)
    random = Random(0)
    sealed = [at for at in range(len(whole)) if not ((left_out[:, 0] <= at) & (at < left_out[:, 1])).any()]
    for at in [*random.sample(sealed, 300), size, size + 5, len(whole) - 1]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=r"p\.nc is damaged \(.*\): save the posterior again, or take another copy"):
            load(path)
    for begin, end in random.sample(left_out.tolist(), 20):
        damaged = bytearray(whole)
        damaged[random.randrange(begin, end)] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=r"p\.nc cannot be read as netCDF \("):
            load(path)


def test_only_what_zlib_checks_is_left_out(path):
    _, left_out = places(path)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(left_out.tolist()))
    found = []
    with h5py.File(path) as file:
        file.visititems(
            lambda _, thing: (
                found.extend(
                    (chunk.byte_offset, chunk.byte_offset + chunk.size)
                    for chunk in map(thing.id.get_chunk_info, range(thing.id.get_num_chunks()))
                )
                if isinstance(thing, h5py.Dataset) and thing.chunks and thing.compression
                else None
            )
        )
    assert left_out.tolist() == [list(place) for place in sorted(found)]
    assert "plausibility" in str(to_groups(load(path))["posterior"])


def test_what_was_not_compressed_is_sealed(tmp_path):
    """HDF5 leaves a chunk as it is if a filter that may fail does, and says so in the chunk's mask."""
    with h5py.File(tmp_path / "x.nc", "w") as file:
        to = file.create_dataset("x", (4,), "i8", chunks=(2,), compression="gzip")
        to.id.write_direct_chunk((0,), bytes(16), filter_mask=1)
        to[2:] = 7
    seal(tmp_path / "x.nc")
    assert len(places(tmp_path / "x.nc")[1]) == 1
    assert is_sealed(tmp_path / "x.nc")


def test_damage_to_draws_is_a_sentence_when_they_are_read(posterior, path, tmp_path):
    with h5py.File(path) as file:
        chunk = file["posterior/plausibility"].id.get_chunk_info(0)
    damaged = bytearray(path.read_bytes())
    damaged[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(damaged)
    opened = load(path, lazy=True)
    scores = {"A": np.eye(2, 5)}
    for use in (
        lambda: load(path),
        lambda: pb.evaluate(path, scores, progress=False),
        lambda: pb.evaluate(opened, scores, progress=False),
        lambda: pb.dense(opened),
        lambda: pb.posterior.top_classes(opened, 1),
        lambda: save(opened, tmp_path / "q.nc"),
    ):
        with pytest.raises(FileError, match=r"p\.nc cannot be read as netCDF \(.*read.*\): save the posterior again"):
            use()


def test_the_draws_are_not_read_for_the_seal(path, monkeypatch):
    read = 0
    crc32 = pb._seal.zlib.crc32

    def counting(data, value=0):
        nonlocal read
        read += len(data)
        return crc32(data, value)

    monkeypatch.setattr("plausibly.posterior._seal.zlib.crc32", counting)
    assert is_sealed(path)
    size, left_out = places(path)
    assert read == 16 + left_out.nbytes + size - (left_out[:, 1] - left_out[:, 0]).sum()


def test_other_programs_read_a_sealed_file(posterior, path):
    tree = xr.open_datatree(path, engine="h5netcdf")
    np.testing.assert_array_equal(tree["posterior/plausibility"], posterior["posterior"]["plausibility"])
    tree.close()
    with h5netcdf.File(path) as file:
        assert file.attrs["model"] == "irn"


def test_who_changes_a_file_takes_the_seal_off(path):
    """It is then a file of another program, which is read as such."""
    with h5py.File(path, "a") as file:
        file["constant_data/point_plausibility"][...] = 0.25
    assert not is_sealed(path)
    assert (load(path)["constant_data"]["point_plausibility"] == 0.25).all()


def test_files_of_earlier_versions_are_read(posterior, path):
    size, _ = places(path)
    path.write_bytes(path.read_bytes()[:size])
    assert not is_sealed(path)
    for name, group in to_groups(load(path)).items():
        xr.testing.assert_equal(group, to_groups(posterior)[name])


@pytest.mark.parametrize("cut", [1, _END.size - 1, _END.size, _END.size + 16])
def test_part_of_a_seal_is_none(path, cut):
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(FileError, match=r"p\.nc is damaged \(\d+ bytes follow its end, which are no seal\): save the"):
        load(path)


def test_a_seal_of_another_file_is_none(path):
    size, _ = places(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:size] + b"1" + whole[size:])
    with pytest.raises(FileError, match=r"damaged \(its size is another than was sealed\)"):
        load(path)
    path.write_bytes(_END.pack(2**63, 2**62, 0, _MARK))
    with pytest.raises(FileError, match=r"damaged \(its size is another than was sealed\)"):
        load(path)


def unsealed(path):
    size, _ = places(path)
    path.write_bytes(path.read_bytes()[:size])


def test_a_loop_in_a_file_without_seal_is_left(tmp_path):
    """The size of an object in HDF5's heap, which holds what differs in length: as great as can be, it is no step."""
    with h5py.File(tmp_path / "x.nc", "w") as file:
        file["x"] = ["one", "two"]
    content = bytearray((tmp_path / "x.nc").read_bytes())
    heap = content.index(b"GCOL") + 16
    content[heap + 8 : heap + 16] = b"\xf0" + b"\xff" * 7
    (tmp_path / "x.nc").write_bytes(content)
    with pytest.raises(FileError, match=r"x\.nc is damaged \(reading it crashes or does not end\): save the posterior"):
        load(tmp_path / "x.nc")


def test_numbers_that_no_file_of_its_size_holds_are_refused(tmp_path):
    with h5netcdf.File(tmp_path / "x.nc", "w") as file:
        file.dimensions = {"slot": 2**40}
        file.create_variable("plausibility", ("slot",), "f4", chunks=(2**20,), compression="gzip")
    with pytest.raises(FileError, match=r"x\.nc is damaged \(reading it needs more memory than it can have filled\)"):
        load(tmp_path / "x.nc")


@pytest.mark.parametrize("status", [0, 1, 2, 127, -11, -9, TOO_LARGE, 0xC0000005, None])
def test_how_a_trial_ends_tells(tmp_path, monkeypatch, status):
    h5py.File(tmp_path / "x.nc", "w").close()

    def run(command, *, timeout, **options):
        if status is None:
            raise TimeoutExpired(command, timeout)
        return type("Done", (), {"returncode": status})

    monkeypatch.setattr(_trial.subprocess, "run", run)
    if status in (0, 1, 2, 127):
        try_out(tmp_path / "x.nc")
        return
    with pytest.raises(FileError, match="needs more memory" if status == TOO_LARGE else "crashes or does not end"):
        try_out(tmp_path / "x.nc")


def test_memory_is_limited_beyond_what_libraries_have_taken(path, monkeypatch):
    unsealed(path)
    limits = []
    monkeypatch.setattr(_walk, "_limit", lambda seconds, memory: limits.append(memory))
    monkeypatch.setattr(_walk, "_taken", lambda: 2**40)
    _walk.main(str(path))
    assert limits == [2**40 + 2**32 + 16 * path.stat().st_size]


def test_without_further_processes_a_file_is_read_as_it_is(posterior, path, monkeypatch):
    unsealed(path)

    def refuse(*arguments, **options):
        raise BlockingIOError

    monkeypatch.setattr(_trial.subprocess, "run", refuse)
    assert load(path).attrs == posterior.attrs
    monkeypatch.setattr(_trial.sys, "executable", None)
    load(path)
