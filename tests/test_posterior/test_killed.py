"""A process is killed at random moments, and the same call goes on: the posterior is the one of an undisturbed run.

Children are forked from a process in which everything is imported and JAX has not begun. Several are killed one after
the other over one store; what they leave unfinished is finished in the process of the tests.
"""

import multiprocessing
import os
import time

import jax
import numpy as np
import pytest

import plausibly as pb
from plausibly.base.arviz import to_groups

SETTINGS = {"model": "prirn", "draws": 5, "chains": 2, "shard": 100, "progress": False}


def write(annotations, out):
    """Aggregate 2,000 cases in twenty shards."""
    return pb.aggregate(annotations, out=out, **SETTINGS)


def versions(folder, seen):
    """Count the versions of files that have been seen below a folder."""
    for place, _, names in os.walk(folder):  # which passes over folders that are being replaced
        for path in (os.path.join(place, name) for name in names):
            try:
                seen.add((path, os.stat(path).st_mtime_ns))
            except OSError:  # a partial file that has been renamed
                continue
    return len(seen)


@pytest.mark.slow
def test_killed_processes_leave_no_trace(tmp_path, monkeypatch):
    stores, kills = 1, 3
    # What one child has compiled the next finds, unless it was killed in the middle of that; and what tests have.
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", jax.config.jax_compilation_cache_dir)
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plausibly.aggregation", "zarr"])  # `import plausibly` alone imports nothing
    annotations = pb.datasets.simulate_differentials(2000, n_classes=6, seed=0).annotations
    whole = to_groups(write(annotations, tmp_path / "whole.zarr"))
    total = versions(tmp_path / "whole.zarr", set())
    random = np.random.default_rng(0)
    killed = 0
    for number in range(stores):
        out = tmp_path / f"{number}.zarr"
        for _ in range(kills):
            process = context.Process(target=write, args=(annotations, out))
            seen = set()
            # Most files are written several times, so that three children do not come to the end.
            until = versions(out, seen) + random.uniform(0, total / 3)
            process.start()
            while process.is_alive() and versions(out, seen) < until:
                time.sleep(0.002)
            process.kill()
            process.join()
            killed += process.exitcode == -9
        for name, data in to_groups(write(annotations, out)).items():
            for variable, values in whole[name].variables.items():
                np.testing.assert_array_equal(data.variables[variable].values, values.values)
    assert killed >= 0.6 * stores * kills
