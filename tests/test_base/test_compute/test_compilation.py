"""Compiled programs on disk: kept by JAX, in a folder that is never in the way; traced programs are not kept."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausibly.base import compute as _run
from plausibly.base import programs as _compilation
from plausibly.base.compute import Part, run
from plausibly.base.programs import kept_on_disk

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_compilation, "_folder", lambda: tmp_path)
    return tmp_path


def test_every_process_traces_its_own_programs(folder, monkeypatch):
    """Functions may have changed since another process ran, in any module."""
    for factor in (2, 3):
        monkeypatch.setattr(_run, "_compiled", {})
        ((_, found),) = run(
            ("name",), lambda x, factor=factor: factor * x, [Part(3, 1, np.arange(1))], lambda part: (X,)
        )
        np.testing.assert_array_equal(found, factor * X)


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


def test_the_last_of_several_threads_restores_the_settings_of_jax(configured, folder):
    configured(None)
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = [getattr(jax.config, name) for name in names]
    with kept_on_disk():
        assert jax.config.jax_compilation_cache_dir == str(folder)
        jax.jit(jnp.cos).lower(X).compile()
    assert [getattr(jax.config, name) for name in names] == before
    configured(None)
    first, second = kept_on_disk(), kept_on_disk()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert jax.config.jax_compilation_cache_dir == str(folder)
    second.__exit__(None, None, None)
    assert jax.config.jax_compilation_cache_dir is None
