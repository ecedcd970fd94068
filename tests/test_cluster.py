"""Shards on a real Dask cluster: the bytes of one process, whatever happens to workers."""

import gc
import importlib
import os
import signal
import sys
import threading
import time
import warnings
from functools import partial
from types import ModuleType

import jax
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

import plausibly as pb
from plausibly import cluster as _cluster
from plausibly.cli import app
from plausibly.cluster import Cluster, Once
from plausibly.errors import AnnotationError, ArgumentError, ClusterError, PlausiblyWarning
from plausibly.evaluation import _ranges
from plausibly.fingerprint import software
from plausibly.posterior._shards import Shards, work_through

cloudpickle = pytest.importorskip("cloudpickle")
distributed = pytest.importorskip("distributed")

N, K = 32, 12
SETTINGS = {"model": "prirn", "draws": 20, "chains": 2, "shard": 4, "progress": False}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, of two threads each: more than may work at a time."""
    kept = {"JAX_COMPILATION_CACHE_DIR": str(jax.config.jax_compilation_cache_dir), "JAX_PLATFORMS": "cpu"}
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
def annotations():
    return pb.datasets.simulate_differentials(N, n_classes=K, seed=0).annotations


@pytest.fixture(scope="module")
def whole(annotations, tmp_path_factory):
    """What one process makes of them."""
    path = tmp_path_factory.mktemp("whole") / "p.nc"
    pb.aggregate(annotations, out=path, **SETTINGS)
    return path


@pytest.fixture
def killing(monkeypatch, client):
    """Kill a worker that is at work when a shard is finished, once; what is killed is in this list."""
    before = client.run(os.getpid)
    add = Shards.add

    def kill(shards, number, write, *room):
        path = add(shards, number, write, *room)
        busy = [worker for worker, tasks in client.processing().items() if tasks and not killed]
        if busy:
            killed.append(before[busy[0]])
            os.kill(before[busy[0]], signal.SIGKILL)
        return path

    killed: list[int] = []
    monkeypatch.setattr(Shards, "add", kill)
    return killed


def test_a_worker_killed_midway_leaves_no_trace(killing, client, annotations, whole, tmp_path):
    posterior = pb.aggregate(annotations, out=tmp_path / "p.nc", scheduler=client, **SETTINGS)
    assert killing
    assert not set(killing) & set(client.run(os.getpid).values())
    assert (tmp_path / "p.nc").read_bytes() == whole.read_bytes()
    assert os.listdir(tmp_path) == ["p.nc"]
    assert posterior.attrs == pb.load(whole).attrs


def test_without_a_file_the_draws_are_in_memory(cluster, annotations, whole):
    posterior = pb.aggregate(annotations, scheduler=cluster.scheduler_address, **SETTINGS)
    expected = pb.load(whole)
    for group in ("posterior", "log_likelihood", "constant_data"):
        for name, variable in expected[group].variables.items():
            np.testing.assert_array_equal(posterior[group].variables[name].values, variable.values)


def test_the_command_makes_the_same_file(cluster, annotations, whole, tmp_path):
    pb.write_annotations(annotations, tmp_path / "a.json")
    words = ["aggregate", tmp_path / "a.json", "--model", "prirn", "--draws", 20, "--chains", 2, "--shard", 4]
    words += ["--out", tmp_path / "p.nc", "--dask", cluster.scheduler_address]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "p.nc").read_bytes() == whole.read_bytes()


def brier(scores, plausibility):
    return ((scores - plausibility) ** 2).sum()


@pytest.fixture(scope="module")
def asked():
    """All that an evaluation may depend on."""
    rng = np.random.default_rng(1)
    return {
        "predictions": {"A": rng.random((N, K), np.float32), "B": rng.integers(0, 3, (N, K))},
        "risks": np.arange(K) % 3,
        "metrics": {"brier": pb.metrics.Metric(brier, better="smaller")},
        "weights": rng.random((2 * 20, N)),
        "break_ties": "random",
        "seed": 3,
    }


def test_an_evaluation_is_that_of_one_process(by_value, cluster, asked, whole, monkeypatch):
    monkeypatch.setattr(_ranges, "CASES", 4)
    found = pb.evaluate(whole, **asked, scheduler=cluster.scheduler_address)
    xr.testing.assert_identical(found, pb.evaluate(whole, **asked))


def test_a_metric_is_unpickled_once(by_value):
    shards = [cloudpickle.dumps(Once(brier)) for _ in range(2)]
    one, two = (cloudpickle.loads(data) for data in shards)
    assert one is two
    assert one(np.zeros(2), np.ones(2)) == 2


def test_a_program_is_unpickled_once(monkeypatch, by_value, annotations):
    sent = []

    def program(case):
        raise AssertionError

    def compute(self, part, write, numbers):
        sent.extend(cloudpickle.loads(cloudpickle.dumps(part(number))) for number in numbers[:2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Cluster, "compute", compute)
    monkeypatch.setattr(Cluster, "__init__", lambda self, scheduler: None)
    monkeypatch.setattr(Cluster, "__exit__", lambda self, *error: None)
    with pytest.raises(KeyboardInterrupt):
        pb.aggregate(annotations, program, draws=20, shard=4, progress=False, scheduler=True)
    one, two = (part.keywords["model"] for part in sent)
    assert one is two
    assert one.__name__ == "program"


def test_a_sweep_is_that_of_one_process(cluster, annotations, tmp_path):
    scores = {"A": np.random.default_rng(0).random((N, K))}
    words = {"models": {"prirn": (30,)}, "k": 1, "draws": 20, "chains": 2, "shard": 4, "progress": False}
    words |= {"risks": np.arange(K) % 3, "weights": np.arange(1.0, N + 1)}
    here = pb.sweep(annotations, scores, out=tmp_path / "here", **words)
    there = pb.sweep(annotations, scores, out=tmp_path / "there", scheduler=cluster.scheduler_address, **words)
    pd.testing.assert_frame_equal(there.metrics, here.metrics, check_exact=True)
    pd.testing.assert_frame_equal(there.runs[0].subgroups, here.runs[0].subgroups, check_exact=True)
    one, two = (pb.load(tmp_path / where / "posterior-prirn-30.zarr") for where in ("here", "there"))
    xr.testing.assert_equal(one["posterior"]["plausibility"], two["posterior"]["plausibility"])


def test_a_sweep_of_scores_is_evaluated_by_the_cluster(cluster):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"case": np.repeat(np.arange(6), 3), "annotator": [0, 1, 2] * 6, "score": rng.normal(size=18)})
    scores, predictions = pb.Annotations.from_scores(table), {"A": rng.random((6, 2))}
    words = {"models": {"normal-scores": (1,)}, "threshold": 0, "draws": 20, "chains": 2, "progress": False}
    here = pb.sweep(scores, predictions, **words)
    there = pb.sweep(scores, predictions, scheduler=cluster.scheduler_address, **words)
    xr.testing.assert_identical(there.runs[0].results, here.runs[0].results)
    assert "score_certainty" in there.runs[0].results


def squares(number):
    """What computes the square of a number, for workers that cannot import this module."""
    return lambda: number**2


def write(made, path):
    path.write_text(str(made))


def forgotten(client):
    """Whether nothing is left to do or to hold; the client says so to the scheduler in its own time."""
    until = time.monotonic() + 20
    while client.futures and time.monotonic() < until:
        gc.collect()
        time.sleep(0.05)
    return not client.futures


@pytest.fixture
def by_value():
    """Functions of this module are sent as they are, since workers cannot import it."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_few_shards_are_with_the_cluster_at_a_time(client, by_value):
    begun, ahead = [], []

    def part(number):
        begun.append(number)
        return squares(number)

    with Cluster(client) as cluster:
        found = {}
        for number, data in cluster.compute(part, write, range(30)):
            found[number] = int(data)
            ahead.append(len(begun) - len(found))
    assert found == {number: number**2 for number in range(30)}
    assert begun == list(range(30))
    assert 1 <= max(ahead) <= 4


def test_leaving_early_cancels_the_rest(client, by_value):
    with Cluster(client) as cluster:
        running = cluster.compute(squares, write, range(30))
        next(running)
        running.close()
    assert client.status == "running"
    assert forgotten(client)


def test_interrupted_work_goes_on_with_what_is_finished(monkeypatch, client, annotations, whole, tmp_path):
    add = Shards.add

    def stop(shards, number, write):
        if len(kept) == 3:
            raise KeyboardInterrupt
        kept.append(number)
        return add(shards, number, write)

    kept: list[int] = []
    monkeypatch.setattr(Shards, "add", stop)
    with pytest.raises(KeyboardInterrupt):
        pb.aggregate(annotations, out=tmp_path / "p.nc", scheduler=client, **SETTINGS)
    monkeypatch.undo()
    assert forgotten(client)
    assert len(list((tmp_path / "p.nc.parts").glob("0*"))) == 3
    asked = []
    select = pb.Annotations.select
    monkeypatch.setattr(pb.Annotations, "select", lambda self, cases: asked.append(cases) or select(self, cases))
    pb.aggregate(annotations, out=tmp_path / "p.nc", scheduler=client, **SETTINGS)
    assert len(asked) == 8 - 3
    assert (tmp_path / "p.nc").read_bytes() == whole.read_bytes()


def test_errors_are_those_of_one_process(client, by_value):
    def part(number):
        def make():
            raise AnnotationError("case 'p1' has none: name one.")

        return make

    with Cluster(client) as cluster, pytest.raises(AnnotationError, match=r"^case 'p1' has none: name one\.$"):
        list(cluster.compute(part, write, [0, 1]))


def test_other_versions_are_refused(monkeypatch, client, annotations):
    others = software() | {"numpy": "1.0", "jax_enable_x64": "True"}
    monkeypatch.setattr(_cluster, "software", lambda: others)
    with pytest.raises(
        ClusterError, match=r"\(numpy is 1\.0 here and .* there, jax_enable_x64 is True here and False there\)"
    ):
        pb.aggregate(annotations, scheduler=client, **SETTINGS)


def test_what_a_worker_cannot_import(monkeypatch, client, by_value):
    module = ModuleType("nowhere")
    exec("def make(): pass", module.__dict__)
    monkeypatch.setitem(sys.modules, "nowhere", module)
    with (
        Cluster(client) as cluster,
        pytest.raises(ClusterError, match=r"cannot load what it was sent \(No module named 'nowhere'\): install"),
    ):
        list(cluster.compute(lambda number: module.make, write, [0]))


def test_different_processors_are_named_once(client, by_value):
    def part(number):
        def make():
            _cluster.processor = lambda: f"processor {number % 2}"

        return make

    with warnings.catch_warnings(record=True) as found, Cluster(client) as cluster:
        warnings.simplefilter("always", PlausiblyWarning)
        list(cluster.compute(part, write, range(6)))
        client.run(lambda: importlib.reload(_cluster) and None)
    assert ["processor 0 and processor 1" in str(one.message) for one in found] == [True]


def test_waiting_for_workers_is_said(monkeypatch, cluster, by_value):
    monkeypatch.setattr(_cluster, "_LOOK", 0.1)
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.2)
    address = cluster.scheduler_address
    with distributed.Client(cluster) as client:
        nobody = iter([{}] * 20)
        monkeypatch.setattr(client, "nthreads", lambda: next(nobody, {"w": 1}))
        with Cluster(client) as empty, pytest.warns(PlausiblyWarning, match=rf"no worker .* dask worker {address}"):
            found = list(empty.compute(lambda number: partial(time.sleep, 1.5), write, [3]))
    assert found == [(3, b"None")]


def test_workers_that_have_paused_are_said(monkeypatch, small, by_value):
    def pause(share, dask_worker):
        dask_worker.memory_manager.memory_pause_fraction = share

    monkeypatch.setattr(_cluster, "_LOOK", 0.1)
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.2)
    warn = warnings.warn

    def end(*message, **options):
        warn(*message, **options)
        small.run(partial(pause, 0.8))

    monkeypatch.setattr(_cluster.warnings, "warn", end)
    small.run(partial(pause, 1e-4))
    until = time.monotonic() + 20
    while {worker["status"] for worker in small.scheduler_info()["workers"].values()} != {"paused"}:
        assert time.monotonic() < until
        time.sleep(0.05)
    with (
        Cluster(small) as full,
        pytest.warns(PlausiblyWarning, match=r"all workers have paused .* memory is nearly full"),
    ):
        found = list(full.compute(squares, write, [3]))
    assert found == [(3, b"9")]


def test_what_cannot_be_sent(client):
    lock = threading.Lock()
    with Cluster(client) as cluster, pytest.raises(ArgumentError, match=r"cannot be sent to other processes \(.*lock"):
        list(cluster.compute(lambda number: lambda: lock, write, [0]))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            "killed",
            r"one shard ended the 4 workers that tried it, the last at tcp://w:1, for want of memory .*--fresh",
        ),
        (
            distributed.CancelledError("lost"),
            r"the Dask scheduler went away, or dropped the work: the same run again goes on",
        ),
        (
            MemoryError("Unable to allocate 3.00 TiB"),
            r"a worker has too little memory for a shard \(Unable to allocate 3\.00 TiB\): .* or .*--fresh",
        ),
        (
            jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.\nBuffers:"),
            r"a worker has too little memory for a shard \(RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes\.\)",
        ),
        (ConnectionError("closed"), r"the Dask scheduler went away, or dropped the work: the same run again goes on"),
    ],
)
def test_what_dask_raises_is_said_in_a_sentence(client, error, sentence):
    from types import SimpleNamespace

    from distributed.scheduler import KilledWorker

    if error == "killed":
        error = KilledWorker("shard", SimpleNamespace(address="tcp://w:1"), 3)
    with pytest.raises(ClusterError, match=sentence), Cluster(client)._told():
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


@pytest.fixture
def shards_of(small, by_value, tmp_path):
    """Compute the squares of 0, 1, 2 and 3 as shards, of which the third takes memory so many times."""

    def compute(times):
        tried = tmp_path / "tried"

        def part(number):
            return partial(hungry, number, str(tried), times) if number == 2 else squares(number)

        shards = Shards(tmp_path / "p.parts", {})
        with Cluster(small) as cluster:
            elsewhere = partial(cluster.compute, part, write)
            paths = work_through(shards, [1] * 4, None, None, lambda n: None, elsewhere)
        return [int(path.read_text()) for path in paths], tried.stat().st_size

    return compute


def test_a_worker_without_memory_is_done_without(shards_of):
    assert shards_of(times=1) == ([0, 1, 4, 9], 2)


def test_a_shard_that_no_worker_has_memory_for(shards_of, tmp_path):
    sentence = r"one shard ended the 2 workers that tried it, the last at tcp://.*, for want of memory .*--fresh"
    with pytest.raises(ClusterError, match=sentence):
        shards_of(times=9)
    finished = {path.name[:6]: int(path.read_text()) for path in (tmp_path / "p.parts").glob("0*")}
    assert finished.items() >= {"000000": 0, "000001": 1}.items()
    assert "000002" not in finished


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:9", "what://127.0.0.1:9"])
def test_nobody_answers(monkeypatch, annotations, address):
    monkeypatch.setattr(_cluster, "_ANSWER", 0.5)
    with pytest.raises(ClusterError, match=rf"no Dask scheduler answers at '{address}' within 0\.5 seconds"):
        pb.aggregate(annotations, scheduler=address, **SETTINGS)


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
    with pytest.raises(ArgumentError, match=r"scheduler must be a dask\.distributed\.Client or .* but 3 was given"):
        pb.aggregate(annotations, scheduler=3, **SETTINGS)
    with pytest.raises(ArgumentError, match=r"one model of all cases, which comes in no shards, but scheduler was"):
        pb.aggregate(annotations, reliability="infer", scheduler="tcp://127.0.0.1:9")
    table = pd.DataFrame({"case": ["a", "a", "b"], "annotator": ["x", "y", "x"], "score": [1.0, 2.0, 3.0]})
    scores = pb.Annotations.from_scores(table)
    with pytest.raises(ArgumentError, match=r"one model of all scores, which comes in no shards, but scheduler was"):
        pb.aggregate(scores, "normal-scores", threshold=0, scheduler="tcp://127.0.0.1:9")
    words = ["aggregate", str(tmp_path / "a.json"), "--infer-reliability", "dataset", "--dask", "tcp://127.0.0.1:9"]
    pb.write_annotations(annotations, tmp_path / "a.json")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "--infer-reliability does not accept --dask tcp://127.0.0.1:9" in " ".join(result.output.split())


def test_closed_clients_and_those_that_do_not_wait(cluster):
    client = distributed.Client(cluster)
    client.close()
    with pytest.raises(ClusterError, match=r"the Dask client is closed: connect a new one"):
        Cluster(client)


def test_without_dask(monkeypatch, annotations):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"needs dask\.distributed, .* pip install 'plausibly\[dask\]'"):
        pb.aggregate(annotations, scheduler="tcp://127.0.0.1:9", **SETTINGS)
