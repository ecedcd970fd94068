"""A process is killed at random moments, and the same call goes on: the posterior is the one of an undisturbed run.

Children are forked from a process in which everything is imported and JAX has not begun; what they leave unfinished is
finished in the process of the tests, where all programs are compiled.
"""

import multiprocessing
import shutil
import time

import numpy as np
import pytest

import plausibly as pb
from plausibly._arviz import to_groups

SETTINGS = {"model": "prirn", "draws": 5, "chains": 2, "shard": 100, "progress": False}


def write(out):
    """Aggregate 2,000 cases in twenty shards."""
    return pb.aggregate(pb.datasets.simulate_differentials(2000, n_classes=6, seed=0).annotations, out=out, **SETTINGS)


def versions(folder, seen):
    """Count the versions of files that have been seen below a folder."""
    for path in folder.rglob("*"):
        try:
            seen.add((path, path.stat().st_mtime_ns))
        except OSError:  # a partial file that has been renamed
            continue
    return len(seen)


@pytest.mark.slow
def test_a_killed_process_leaves_no_trace(tmp_path):
    kills = 20
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plausibly"])
    whole = to_groups(write(tmp_path / "whole.zarr"))
    total = versions(tmp_path / "whole.zarr", set())
    random = np.random.default_rng(0)
    killed = 0
    for number in range(kills):
        out = tmp_path / f"{number}.zarr"
        process = context.Process(target=write, args=(out,))
        process.start()
        seen, until = set(), random.uniform(0, 2 * total)  # most files are written several times
        while process.is_alive() and versions(out, seen) < until:
            time.sleep(0.002)
        process.kill()
        process.join()
        killed += process.exitcode == -9
        for name, data in to_groups(write(out)).items():
            for variable, values in whole[name].variables.items():
                np.testing.assert_array_equal(data.variables[variable].values, values.values)
        shutil.rmtree(out)
    assert killed >= 0.8 * kills
