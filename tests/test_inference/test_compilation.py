"""Traced programs on disk: found again, not used when damaged, never in the way."""

import os
import zlib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausibly.inference import _compilation
from plausibly.inference._compilation import kept_on_disk, lower

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_compilation, "_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def made():
    """How often the program was traced, and what traces it."""
    count = []

    def make():
        count.append(1)
        return lambda x: {"twice": 2 * x}, (X,)

    return count, make


def run(ident, make):
    (program,) = lower(ident, make, devices=jax.devices()[:1])
    return program.compile()(X)["twice"]


def test_a_program_is_traced_once(folder, made):
    count, make = made
    for _ in range(3):
        np.testing.assert_array_equal(run(("name", 1), make), 2 * X)
    assert len(count) == 1
    run(("name", 2), make)
    assert len(count) == 2
    assert len(list(folder.iterdir())) == 2


def test_another_source_or_setting_is_another_program(folder, made, monkeypatch, float64):
    count, make = made
    run("name", make)
    with float64():
        run("name", make)
    monkeypatch.setattr(_compilation, "_source", lambda: "edited")
    run("name", make)
    assert len(count) == len(list(folder.iterdir())) == 3


def test_compilation_of_others_are_not_kept(folder, made):
    count, make = made
    for _ in range(2):
        np.testing.assert_array_equal(run(("name", lambda: 0), make), 2 * X)
    assert len(count) == 2
    assert not list(folder.iterdir())


DAMAGE = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "not compressed": zlib.decompress,
    "a byte in the middle": lambda data: data[:500] + bytes([data[500] ^ 255]) + data[501:],
    "the last byte": lambda data: data[:-1] + bytes([data[-1] ^ 255]),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_program_is_traced_again(folder, made, how):
    count, make = made
    run("name", make)
    (path,) = folder.iterdir()
    path.write_bytes(DAMAGE[how](path.read_bytes()))
    for _ in range(2):
        np.testing.assert_array_equal(run("name", make), 2 * X)
    assert len(count) == 2


def test_every_module_that_programs_are_traced_from_is_in_the_digest(tmp_path, monkeypatch):
    """Also those in the folders of the engines."""
    read = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or b"")
    _compilation._source.__wrapped__()
    names = {path.name for path in read}
    assert {"case.py", "plackett_luce.py", "_trajectory.py", "_sweep.py", "_program.py", "_race.py"} <= names


def test_a_folder_that_cannot_be_written_to_is_no_obstacle(made, tmp_path, monkeypatch):
    monkeypatch.setattr(_compilation, "_folder", lambda: tmp_path / "gone")
    count, make = made
    np.testing.assert_array_equal(run("name", make), 2 * X)
    assert len(count) == 1


@pytest.fixture
def configured():
    before = jax.config.jax_compilation_cache_dir
    yield lambda path: jax.config.update("jax_compilation_cache_dir", path)
    jax.config.update("jax_compilation_cache_dir", before)


def test_a_bucket_of_a_cloud_is_left_to_jax(configured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configured("gs://bucket/folder")
    assert _compilation._folder() is None
    with kept_on_disk():
        assert jax.config.jax_compilation_cache_dir == "gs://bucket/folder"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="homes are looked up in a database of users")
def test_users_without_a_home_keep_nothing(configured, monkeypatch):
    configured(None)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    assert _compilation._folder() is None


def test_settings_of_jax_are_as_before(configured, folder):
    configured(None)
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = [getattr(jax.config, name) for name in names]
    with kept_on_disk():
        assert jax.config.jax_compilation_cache_dir == str(folder)
        jax.jit(jnp.cos).lower(X).compile()
    assert [getattr(jax.config, name) for name in names] == before


def test_the_last_of_several_threads_restores_the_settings(configured, folder):
    configured(None)
    first, second = kept_on_disk(), kept_on_disk()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert jax.config.jax_compilation_cache_dir == str(folder)
    second.__exit__(None, None, None)
    assert jax.config.jax_compilation_cache_dir is None
