"""Work on a real Dask cluster: the content of one process, whatever happens to workers."""

import gc
import os
import signal
import sys
import threading
import time

import jax
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.app.cli import app
from plausibly.base import cluster as _cluster
from plausibly.base.arviz import to_groups
from plausibly.base.cluster import _in_sentences, in_order, map_on
from plausibly.base.errors import AnnotationError, ArgumentError, ClusterError, PlausiblyWarning
from plausibly.posterior import Store, ranges

cloudpickle = pytest.importorskip("cloudpickle")
distributed = pytest.importorskip("distributed")

N, K = 32, 12
SETTINGS = {"model": "prirn", "draws": 20, "chains": 2, "shard": 4, "progress": False}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, of two threads each: more than may work at a time."""
    kept = {"JAX_COMPILATION_CACHE_DIR": str(jax.config.jax_compilation_cache_dir), "JAX_PLATFORMS": "cpu"}
    kept["XLA_FLAGS"] = os.environ["XLA_FLAGS"]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0", silence_logs="CRITICAL", env=kept
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture(scope="module")
def threads():
    """Two workers in this process, where it does not matter that they share its memory."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs="CRITICAL"
    ) as cluster:
        yield cluster


@pytest.fixture
def near(threads):
    with distributed.Client(threads) as client:
        yield client


@pytest.fixture(scope="module")
def annotations():
    return pb.datasets.simulate_differentials(N, n_classes=K, seed=0).annotations


@pytest.fixture(scope="module")
def whole(annotations, tmp_path_factory):
    """What one process makes of them."""
    path = tmp_path_factory.mktemp("whole") / "p.zarr"
    pb.aggregate(annotations, out=path, **SETTINGS)
    return path


def assert_equal(found, path):
    for group, data in to_groups(pb.load(path)).items():
        own = to_groups(found)[group].load().drop_vars("annotation_order", errors="ignore")  # which a file has
        xr.testing.assert_equal(own, data)


@pytest.mark.slow
def test_a_worker_killed_midway_leaves_no_trace(monkeypatch, client, annotations, whole, tmp_path):
    workers, killed = client.run(os.getpid), []
    write = Store.write

    def kill(store, number, posterior):
        write(store, number, posterior)
        busy = [worker for worker, tasks in client.processing().items() if tasks and not killed]
        if busy:
            killed.append(workers[busy[0]])
            os.kill(workers[busy[0]], signal.SIGKILL)

    monkeypatch.setattr(Store, "write", kill)
    posterior = pb.aggregate(annotations, out=tmp_path / "p.zarr", scheduler=client, **SETTINGS)
    assert killed
    assert not set(killed) & set(client.run(os.getpid).values())
    assert_equal(posterior, whole)


@pytest.mark.slow
def test_without_a_folder_the_draws_are_in_memory(cluster, annotations, whole):
    assert_equal(pb.aggregate(annotations, scheduler=cluster.scheduler_address, **SETTINGS), whole)


@pytest.mark.slow
def test_chains_of_what_cases_share_are_those_of_one_process(client, tmp_path):
    labels = pb.Annotations.from_labels([["a", "ab"[n % 2], "b"] for n in range(9)], annotators=["x", "y", "z"])
    given = {"draws": 5, "chains": 3, "warmup": 5, "seed": 0, "progress": False}
    here = unjudged(pb.aggregate)(labels, "dawid-skene", **given)
    there = unjudged(pb.aggregate)(labels, "dawid-skene", out=tmp_path / "p.zarr", scheduler=client, shard=4, **given)
    for name in ("plausibility", "confusion"):
        np.testing.assert_array_equal(there["posterior"][name], here["posterior"][name])


@pytest.mark.slow
def test_the_command_makes_the_same_posterior(cluster, annotations, whole, tmp_path):
    pb.write_annotations(annotations, tmp_path / "a.json")
    words = ["aggregate", tmp_path / "a.json", "--model", "prirn", "--draws", 20, "--chains", 2, "--shard", 4]
    words += ["--out", tmp_path / "p.zarr", "--dask", cluster.scheduler_address]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    assert_equal(pb.load(tmp_path / "p.zarr"), whole)


def brier(scores, plausibility):
    return ((scores - plausibility) ** 2).sum()


@pytest.fixture(scope="module")
def asked():
    """All that an evaluation may depend on."""
    rng = np.random.default_rng(1)
    return {
        "predictions": {"A": rng.random((N, K), np.float32), "B": rng.integers(0, 3, (N, K))},
        "risks": np.arange(K) % 3,
        "metrics": ["overlap", "coverage", {"brier": pb.metrics.Metric(brier, better="smaller")}],
        "weights": rng.random((2 * 20, N)),
        "break_ties": "random",
        "k": 1,
        "seed": 3,
    }


@pytest.mark.slow
def test_an_evaluation_is_that_of_one_process(by_value, cluster, asked, whole, monkeypatch):
    monkeypatch.setattr(ranges, "CASES", 4)
    found = pb.evaluate(whole, **asked, scheduler=cluster.scheduler_address)
    xr.testing.assert_identical(found, pb.evaluate(whole, **asked))


@pytest.mark.slow
def test_a_sweep_is_that_of_one_process(cluster, annotations, tmp_path):
    scores = {"A": np.random.default_rng(0).random((N, K))}
    words = {"models": {"prirn": (30,)}, "k": 1, "draws": 20, "chains": 2, "shard": 4, "progress": False}
    words |= {"risks": np.arange(K) % 3, "weights": np.arange(1.0, N + 1), "metrics": ["overlap", "coverage"]}
    here = pb.sweep(annotations, scores, out=tmp_path / "here", **words)
    there = pb.sweep(annotations, scores, out=tmp_path / "there", scheduler=cluster.scheduler_address, **words)
    pd.testing.assert_frame_equal(there.metrics, here.metrics, rtol=1e-6)  # libraries add up in another order there
    one, two = (pb.load(tmp_path / where / "posterior-prirn-30.zarr") for where in ("here", "there"))
    xr.testing.assert_equal(one["posterior"]["plausibility"], two["posterior"]["plausibility"])


@pytest.fixture
def by_value():
    """Functions of this module are sent as they are, since workers cannot import it."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def power(number, exponent):
    return number**exponent


def forgotten(client):
    """Whether nothing is left to do or to hold; the client says so to the scheduler in its own time."""
    until = time.monotonic() + 20
    while client.futures and time.monotonic() < until:
        gc.collect()
        time.sleep(0.05)
    return not client.futures


@pytest.mark.slow
def test_few_parts_are_with_the_cluster_at_a_time(client, by_value):
    taken, done, ahead = [], [], []
    for index, square in map_on(client, power, (taken.append(number) or number for number in range(30)), 2):
        assert square == index**2
        done.append(index)
        ahead.append(len(taken) - len(done))
    assert sorted(done) == taken == list(range(30))
    assert 1 <= max(ahead) <= 4
    assert list(in_order(map_on(client, power, range(9), 3))) == [number**3 for number in range(9)]


def test_leaving_early_cancels_the_rest(near, by_value):
    running = map_on(near, power, range(30), 2)
    next(running)
    running.close()
    del running
    assert near.status == "running"
    assert forgotten(near)


@pytest.mark.slow
def test_shared_arguments_are_sent_once_and_errors_are_those_of_one_process(client, by_value):
    class Program:
        pass

    identities = {
        found for _, found in map_on(client, lambda _, program: (os.getpid(), id(program)), range(9), Program())
    }
    assert len(identities) <= 2

    def fail(number):
        raise AnnotationError("case 'p1' has none: name one.")

    with pytest.raises(AnnotationError, match=r"^case 'p1' has none: name one\.$"):
        list(map_on(client, fail, [0, 1]))


@pytest.mark.slow
def test_other_versions_and_settings_are_refused(monkeypatch, client, by_value):
    versions = client.get_versions(check=False, packages=["jax"])
    versions["client"]["packages"] |= {"numpy": "1.0", "jax": "0.1"}
    with monkeypatch.context() as patch:
        patch.setattr(client, "get_versions", lambda **asked: versions)
        patch.setattr(_cluster, "PACKAGES", ("numpy", "jax"))
        with pytest.raises(ClusterError, match=r"\(numpy is 1\.0 here and .* there, jax is 0\.1 here and"):
            list(map_on(client, power, [1], 2))
    monkeypatch.setattr(_cluster, "settings", lambda: {"jax_enable_x64": "True"})
    with pytest.raises(ClusterError, match=r"\(jax_enable_x64 is True here and False there\)"):
        list(map_on(client, power, [1], 2))


def test_waiting_for_workers_is_said(monkeypatch, threads, by_value):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.1)
    with distributed.Client(threads) as client:
        nobody = iter([{}])
        there = client.nthreads
        monkeypatch.setattr(client, "nthreads", lambda: next(nobody, there()))
        wait = client.wait_for_workers

        def late(n, timeout=None):
            if timeout:
                raise TimeoutError
            wait(n)

        monkeypatch.setattr(client, "wait_for_workers", late)
        with pytest.warns(PlausiblyWarning, match=rf"no worker .* dask worker {threads.scheduler_address}"):
            assert list(map_on(client, power, [3], 2)) == [(0, 9)]


def test_what_cannot_be_sent_and_closed_clients_are_refused(near, threads):
    with pytest.raises(ArgumentError, match="cannot be sent to other processes"):
        list(map_on(near, len, [threading.Lock()]))
    client = distributed.Client(threads)
    client.close()
    with pytest.raises(ClusterError, match=r"the Dask client is closed: connect a new one"):
        list(map_on(client, len, [""]))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("killed", r"one part ended the 4 workers that tried it, probably because they ran out of memory: .*--fresh"),
        (distributed.CancelledError("lost"), r"the Dask scheduler went away, or dropped the work: repeat the call to"),
        (MemoryError("Unable to allocate 3.00 TiB"), r"a worker has too little memory for a shard \(Unable to"),
        (
            jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.\nBuffers:"),
            r"a worker has too little memory for a shard \(RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes\.\)",
        ),
        (ConnectionError("closed"), r"the Dask scheduler went away, or dropped the work: repeat the call to continue"),
    ],
)
def test_what_dask_raises_is_said_in_a_sentence(error, sentence):
    from types import SimpleNamespace

    from distributed.scheduler import KilledWorker

    if error == "killed":
        error = KilledWorker("shard", SimpleNamespace(address="tcp://w:1"), 3)
    with pytest.raises(ClusterError, match=sentence), _in_sentences():
        raise error


@pytest.fixture(scope="module")
def small():
    """One worker of little memory, which its nanny ends when it takes more; a shard may end two of them."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit="1GB",
        dashboard_address=":0",
        silence_logs="CRITICAL",
        env={"JAX_PLATFORMS": "cpu"},
    ) as cluster:
        cluster.scheduler.allowed_failures = 1
        with distributed.Client(cluster) as client:
            yield client


def hungry(number, tried, times):
    """Take memory until somebody ends this, so many times; then be modest."""
    with open(tried, "ab") as file:
        file.write(b"x")
    held = []
    until = time.monotonic() + 60
    while os.path.getsize(tried) <= times and time.monotonic() < until:
        if len(held) < 60:
            held.append(bytearray(b"x") * 2**25)
        time.sleep(0.03)  # and a nanny on a busy machine may look later than it should
    return number**2


@pytest.mark.slow
def test_a_worker_that_runs_out_of_memory_is_replaced(small, by_value, tmp_path):
    def square(number, tried, times):
        return hungry(number, tried, times) if number == 2 else number**2

    found = in_order(map_on(small, square, range(4), str(tmp_path / "one"), 1))
    assert list(found) == [0, 1, 4, 9]
    with pytest.raises(ClusterError, match=r"one part ended the 2 workers that tried it, .* out of memory: .*--fresh"):
        list(map_on(small, square, range(4), str(tmp_path / "two"), 9))


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:9", "what://127.0.0.1:9"])
def test_nobody_answers(monkeypatch, annotations, address):
    monkeypatch.setattr(_cluster, "_ANSWER", 0.5)
    with pytest.raises(ClusterError, match=rf"no Dask scheduler answers at '{address}' within 0\.5 seconds"):
        pb.aggregate(annotations, scheduler=address, **SETTINGS)


def test_fresh_keeps_a_store_where_no_scheduler_answers(monkeypatch, annotations, tmp_path):
    monkeypatch.setattr(_cluster, "_ANSWER", 0.5)
    (tmp_path / "posterior.zarr").mkdir()
    (tmp_path / "posterior.zarr" / "zarr.json").write_text("kept")
    given = SETTINGS | {"out": tmp_path / "posterior.zarr", "fresh": True}
    with pytest.raises(ClusterError, match="no Dask scheduler answers"):
        pb.aggregate(annotations, scheduler="tcp://127.0.0.1:9", **given)
    assert (tmp_path / "posterior.zarr" / "zarr.json").read_text() == "kept"


@pytest.mark.parametrize("command", ["evaluate", "sweep"])
def test_commands_look_for_the_scheduler(monkeypatch, annotations, tmp_path, command):
    monkeypatch.setattr(_cluster, "_ANSWER", 0.5)
    pb.write_annotations(annotations, tmp_path / "a.json")
    np.save(tmp_path / "b.npy", np.zeros((N, K)))
    words = [command, tmp_path / "a.json", "--predictions", f"B={tmp_path / 'b.npy'}", "--model", "irn"]
    words += ["--dask", "tcp://127.0.0.1:9", "--out", tmp_path / "out"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 2
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in " ".join(result.stderr.split())


def test_what_is_no_scheduler(annotations, tmp_path):
    with pytest.raises(ArgumentError, match=r"scheduler must be a dask\.distributed\.Client, .* but 3 was given"):
        pb.aggregate(annotations, scheduler=3, **SETTINGS)
    with pytest.raises(ArgumentError, match=r"one model to all cases, which does not accept scheduler="):
        pb.aggregate(annotations, reliability="infer", scheduler="tcp://127.0.0.1:9")
    table = pd.DataFrame({"case": ["a", "a", "b"], "annotator": ["x", "y", "x"], "score": [1.0, 2.0, 3.0]})
    scores = pb.Annotations.from_scores(table)
    with pytest.raises(ArgumentError, match=r"one model to all cases, which has no shards, but scheduler was"):
        pb.aggregate(scores, "normal-scores", threshold=0, scheduler="tcp://127.0.0.1:9")
    words = ["aggregate", str(tmp_path / "a.json"), "--infer-reliability", "dataset", "--dask", "tcp://127.0.0.1:9"]
    pb.write_annotations(annotations, tmp_path / "a.json")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "--infer-reliability does not accept --dask tcp://127.0.0.1:9" in " ".join(result.output.split())


def test_without_dask(monkeypatch, annotations):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"needs dask\.distributed, .* pip install 'plausibly\[dask\]'"):
        pb.aggregate(annotations, scheduler="tcp://127.0.0.1:9", **SETTINGS)
