"""Shards computed on a Dask cluster.

A worker computes a shard, writes its file to a folder of its own and sends the bytes; the client keeps them. So workers
and client share no disk, and what is kept is what one process alone would have kept. Workers may come and go: a shard
depends on nothing but what is sent with it, and is computed again where it was lost.
"""

import asyncio
import logging
import pickle
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

import jax

from plausibly._memory import release_memory
from plausibly.errors import ArgumentError, ClusterError, PlausiblyWarning, first_line
from plausibly.fingerprint import processor, software

Made = TypeVar("Made")

_ANSWER = 10  # seconds for a scheduler to answer
_LOOK = 5  # seconds between two looks at whether there are workers
_PATIENCE = 30  # seconds without any worker before that is said
_AHEAD = 2  # shards with the cluster at a time, for each worker: one in work and the next

_log = logging.getLogger("distributed.client")

# XLA uses all cores and tracing is not for several threads, so a process computes one shard at a time, however many
# threads its worker has.
_one = threading.Lock()


class Cluster:
    """A Dask cluster as a place to compute shards; a context that lets go of it.

    Parameters
    ----------
    scheduler
        A ``dask.distributed.Client``, which is left open, or the address of a scheduler.

    Raises
    ------
    ArgumentError
        If it is something else.
    ClusterError
        If Dask is not installed, or no scheduler answers at the address.
    """

    def __init__(self, scheduler: Any):
        try:
            import distributed
        except ImportError as error:
            raise ClusterError(
                f"a Dask cluster needs dask.distributed, which cannot be imported ({error}): "
                "pip install 'plausibly[dask]'."
            ) from error
        self._dask = distributed
        self._own = isinstance(scheduler, str)
        if isinstance(scheduler, str):
            self._client: Any = self._connect(scheduler)
        elif not isinstance(scheduler, distributed.Client):
            raise ArgumentError(
                "scheduler must be a dask.distributed.Client or the address of a Dask scheduler, but "
                f"{scheduler!r} was given."
            )
        elif scheduler.asynchronous:
            raise ArgumentError("scheduler must be a Client that waits, but one with asynchronous=True was given.")
        elif scheduler.status != "running":
            raise ClusterError(f"the Dask client is {scheduler.status}: connect a new one.")
        else:
            self._client = scheduler

    def _connect(self, address: str) -> Any:
        try:
            # A client that fails to connect goes on trying in the background.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _greet(address)).result()
            client = self._dask.Client(address, timeout=_ANSWER, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {address!r} within {_ANSWER} seconds ({error}): start one with dask "
                "scheduler, and give the address that it prints, such as tcp://10.0.0.1:8786."
            ) from error

        # What it logs with a traceback, such as a lost connection, is raised as a sentence, too.
        self._level = _log.level
        _log.setLevel(logging.CRITICAL)
        return client

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None):
        if self._own:
            self._client.close()
            _log.setLevel(self._level)

    def compute(
        self,
        part: Callable[[int], Callable[[], Made]],
        write: Callable[[Made, Path], Any],
        numbers: Sequence[int],
    ) -> Generator[tuple[int, bytes], None, None]:
        """Compute shards, and yield their numbers and files in the order in which they are finished.

        Parameters
        ----------
        part
            Given the number of a shard, returns what computes it, which is sent to a worker.
        write
            Writes what was computed to a file.
        numbers
            Of the shards. Few are with the cluster at a time, so that nothing piles up at either end.

        Raises
        ------
        ClusterError
            If workers and client differ in what the bytes depend on, or the cluster fails.
        PlausiblyError
            What a worker raised.
        """
        waiting, running = deque(numbers), {}
        about = software()
        processors: set[str] = set()
        try:
            while waiting or running:
                while waiting and len(running) < _AHEAD * max(self._workers(), 1):
                    number = waiting.popleft()
                    running[self._submit(number, part(number), write, about)] = number
                number, file = self._take(running, processors)
                yield number, file
                del file
        finally:
            # A shard that a worker has begun, it finishes; nobody waits for it.
            if running and self._client.status == "running":
                with suppress(OSError, self._dask.TimeoutError):
                    self._client.cancel(list(running), force=True)

    def _take(self, running: dict[Any, int], processors: set[str]) -> tuple[int, bytes]:
        """Take a shard that is finished from those that are running."""
        done = self._first(list(running))
        number = running.pop(done)
        with self._told():
            file, processor = done.result()
        processors.add(processor)
        if len(processors) == 2:
            warnings.warn(
                f"workers have different processors ({' and '.join(sorted(processors))}), whose last digits differ, so "
                "another run need not end with the same draws",
                PlausiblyWarning,
                stacklevel=3,
            )
            processors.add("")  # Once is enough.
        return number, file

    def _workers(self) -> int:
        with self._told():
            return len(self._client.nthreads())

    def _submit(self, number: int, make: Callable[[], Made], write: Callable, about: Mapping[str, str]) -> Any:
        import cloudpickle
        import dask.config

        try:
            work = cloudpickle.dumps((make, write))
        except Exception as error:
            raise ArgumentError(
                f"a model or metric of your own cannot be sent to other processes ({' '.join(str(error).split())}): "
                "let it refer to plain functions, numbers and arrays."
            ) from error
        key = f"plausibly-shard-{number}-{uuid4().hex}"
        # Dask warns of what is larger than ten megabytes; these are the annotations of one shard.
        with self._told(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self._client.submit(pickle.loads, pickle.dumps(_Order(work, about)), key=key)

    def _first(self, running: Sequence[Any]) -> Any:
        """Wait for one of them, as long as it takes."""
        since, said = monotonic(), False
        while True:
            try:
                with self._told(), self._client.as_current():
                    waited: Any = self._dask.wait(running, timeout=_LOOK, return_when="FIRST_COMPLETED")
                    return waited.done.pop()
            except self._dask.TimeoutError:
                if not (lack := self._lack()):
                    since = monotonic()
                elif not said and monotonic() - since > _PATIENCE:
                    warnings.warn(
                        f"{lack}; what is finished is kept, and the rest waits for them", PlausiblyWarning, stacklevel=3
                    )
                    said = True

    def _lack(self) -> str:
        """Say why nothing can be going on, if so."""
        if not self._workers():
            address = self._client.scheduler.address
            return f"no worker has been there for {_PATIENCE} seconds: start some with dask worker {address}"
        with self._told():
            workers = self._client.scheduler_info()["workers"].values()
        if workers and all(worker.get("status") == "paused" for worker in workers):
            return (
                f"all workers have paused for {_PATIENCE} seconds, since their memory is nearly full: give workers "
                "more, or start others"
            )
        return ""

    def _told(self) -> "_Told":
        return _Told(self._dask)


def map_on(scheduler: Any, function: Callable[[Any], Made], items: Iterable[Any]) -> Iterator[Made]:
    """Apply a function to every item on the workers of a scheduler; results come in the order of the items."""
    waiting, given, at = {}, dict(enumerate(items)), 0

    def write(made: Made, path: Path) -> None:
        path.write_bytes(pickle.dumps(made))

    with Cluster(scheduler) as cluster:
        for number, data in cluster.compute(lambda number: partial(function, given[number]), write, list(given)):
            waiting[number] = data
            while at in waiting:
                yield pickle.loads(waiting.pop(at))
                at += 1


class _Told:
    """A context in which what Dask raises becomes a sentence."""

    def __init__(self, dask: Any):
        self._dask = dask

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None):
        from distributed.scheduler import KilledWorker

        again = "the same run again goes on with what is finished"
        if isinstance(error, KilledWorker):
            raise ClusterError(
                f"one shard ended the {error.allowed_failures + 1} workers that tried it, the last at "
                f"{error.last_worker.address}, for want of memory as a rule: give workers more, or take fewer cases "
                f"in a shard with fresh=True (--fresh); else {again}."
            ) from error
        if isinstance(error, MemoryError) or (
            isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error)
        ):
            raise ClusterError(
                f"a worker has too little memory for a shard ({first_line(error)}): give workers more, or take fewer "
                "cases in a shard with fresh=True (--fresh)."
            ) from error
        if isinstance(error, ModuleNotFoundError):
            raise ClusterError(
                f"a worker cannot load what it was sent ({error}): install plausibly, and what your program imports, "
                "where workers run."
            ) from error
        if isinstance(error, self._dask.CancelledError | self._dask.comm.CommClosedError | ConnectionError):
            raise ClusterError(f"the Dask scheduler went away, or dropped the work: {again}.") from error


async def _greet(address: str) -> None:
    from distributed.comm.core import connect
    from distributed.security import Security

    comm = await connect(address, timeout=_ANSWER, **Security().get_connection_args("client"))
    await comm.close()


class Once:
    """What is sent with every shard alike, and unpickled once by a worker: so JAX compiles a function in it once.

    In the other process, the value itself stands in its place.
    """

    def __init__(self, value: Any):
        self._value = value

    @cached_property
    def _data(self) -> bytes:
        import cloudpickle

        return cloudpickle.dumps(self._value)

    def __reduce__(self) -> tuple[Callable, tuple]:
        return _unpickled, (self._data,)


@lru_cache(maxsize=4)
def _unpickled(data: bytes) -> Any:
    return pickle.loads(data)


class _Order:
    """A call of :func:`_finish` that takes place where this is unpickled.

    A worker that cannot unpickle a task dies of it; one that cannot unpickle what its task unpickles says so. And the
    scheduler need not know this package.
    """

    def __init__(self, work: bytes, about: Mapping[str, str]):
        self._arguments = work, about

    def __reduce__(self) -> tuple[Callable, tuple]:
        return _finish, self._arguments


def _finish(work: bytes, about: Mapping[str, str]) -> tuple[bytes, str]:
    """Do what a worker does; return the contents of the file, and the name of the processor."""
    own = software()
    if own != about:
        names = [name for name in {**about, **own} if own.get(name) != about.get(name)]
        what = ", ".join(f"{name} is {about.get(name)} here and {own.get(name)} there" for name in names)
        raise ClusterError(
            f"a worker's environment is another than this one ({what}), so results might differ: install the "
            "same in both."
        )

    def finish() -> tuple[bytes, str]:
        make, write = pickle.loads(work)
        with TemporaryDirectory(prefix="plausibly-") as folder:
            path = Path(folder) / "shard"
            write(make(), path)
            found = path.read_bytes(), processor()
        release_memory()  # before Dask finds that this worker has too little left for the next shard
        return found

    # In a thread that Dask knows nothing of: in one of its own, xarray connects to the cluster to lock the file.
    with _one, ThreadPoolExecutor(1) as thread:
        return thread.submit(finish).result()
