"""A process is killed at random moments, and the same command goes on: every file is the same to the byte.

Children are forked from a process in which everything is imported and JAX has not begun; what they leave unfinished is
finished in the process of the tests, where all programs are compiled.
"""

import multiprocessing
import shutil
import time

import numpy as np
import pytest

import plausibly as pb
from plausibly.cli._sweep import sweep

MOMENTS = 20
N, K = 10, 4


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Arguments of ``plausibly sweep``: three shards in each of two runs, and no chains."""
    folder = tmp_path_factory.mktemp("data")
    annotations = pb.datasets.simulate_differentials(N, n_classes=K, seed=0).annotations
    pb.write_annotations(annotations, folder / "annotations.json")
    rng = np.random.default_rng(0)
    for name in "ab":
        np.save(folder / f"{name}.npy", rng.random((N, K)))
    return {
        "annotations": folder / "annotations.json",
        "predictions": [f"A={folder / 'a.npy'}", f"B={folder / 'b.npy'}"],
        "model": ["prirn@10", "irn"],
        "draws": 5,
        "chains": 2,
        "k": "1",
        "shard": 4,
        "quiet": True,
    }


@pytest.fixture(scope="module")
def whole(command, tmp_path_factory):
    """The files of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    sweep(**command, out=folder)
    return contents(folder)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Seen:
    """Counts the names that appear below a folder."""

    def __init__(self, folder):
        self._folder, self._names = folder, set()

    def count(self):
        waiting = [self._folder]
        while waiting:
            folder = waiting.pop()
            try:
                found = list(folder.iterdir())
            except OSError:  # gone, or not yet a folder
                continue
            self._names.update(found)
            waiting += [path for path in found if path.is_dir()]
        return len(self._names)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["plausibly.cli._sweep"])

    def begin(command, folder):
        process = context.Process(target=sweep, kwargs=command | {"out": folder})
        process.start()
        return process, Seen(folder)

    return begin


def test_a_killed_process_leaves_no_trace(command, whole, start, tmp_path):
    process, seen = start(command, tmp_path / "first")
    while process.is_alive():
        seen.count()
        time.sleep(0.001)
    process.join()
    assert process.exitcode == 0
    assert contents(tmp_path / "first") == whole
    total = seen.count()
    rng = np.random.default_rng(pb.__version__.encode()[0])
    killed = 0
    for number in range(MOMENTS):
        folder = tmp_path / f"{number}"
        # Names of files tell the time on a machine of any load; a moment lies somewhere between two of them.
        names, further = divmod(rng.uniform(0, total), 1)
        process, seen = start(command, folder)
        while process.is_alive() and seen.count() < names:
            time.sleep(0.002)
        time.sleep(0.05 * further)
        process.kill()
        process.join()
        killed += process.exitcode == -9
        sweep(**command, out=folder)
        assert contents(folder) == whole, number
        shutil.rmtree(folder)
    assert killed >= 0.8 * MOMENTS
