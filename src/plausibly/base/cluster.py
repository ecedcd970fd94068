"""Work in parts on a Dask cluster: futures of ``dask.distributed``, which retries them where workers are lost.

Workers and client share no disk; a part depends on nothing but what is sent with it, so it may be computed anywhere.
"""

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import jax

from plausibly.base.errors import ArgumentError, ClusterError, PlausiblyError, PlausiblyWarning, first_line
from plausibly.base.fingerprint import PACKAGES, settings
from plausibly.base.memory import release_memory

_ANSWER = 10  # seconds for a scheduler to answer
_PATIENCE = 30  # seconds without any worker before that is said
_RETRIES = 2
_AHEAD = 2  # parts with the cluster for each worker: one in work and the next

# XLA uses all cores and tracing is not for several threads, so a process computes one part at a time, however many
# threads its worker has.
_one = threading.Lock()


def map_on(
    scheduler: Any, function: Callable[..., Any], items: Iterable[Any], *common: Any
) -> Iterator[tuple[int, Any]]:
    """Numbers of items and results of ``function(item, *common)`` on a Dask cluster, in the order in which they finish.

    ``scheduler`` is a ``dask.distributed.Client``, which is left open, or the address of a scheduler. Workers can
    import the function. Few ``items`` are taken and sent at a time, so an iterator may make them one by one; ``common``
    is sent once to each worker, so that JAX compiles a function in it once.

    Raises
    ------
    ArgumentError
        If the scheduler is none, or something cannot be sent to another process.
    ClusterError
        If Dask is not installed, no scheduler answers, the cluster fails, or workers have other versions of packages
        or other settings of JAX than this process.
    """
    with _connected(scheduler) as client, _in_sentences():
        import dask.config
        from distributed import as_completed

        todo, pending, known = enumerate(items), {}, set()
        finished = as_completed(loop=client.loop)
        # Dask warns of arguments larger than ten megabytes; these are the data of one part.
        dask_options = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
        try:
            shared = client.submit(_together, *common, pure=False)
            while True:
                workers = _workers(client)
                if workers - known:
                    _check_versions(client)
                    known |= workers
                for index, item in islice(todo, max(_AHEAD * len(workers) - len(pending), not pending)):
                    with dask.config.set(dask_options):
                        future = client.submit(_call, function, item, shared, settings(), pure=False, retries=_RETRIES)
                    pending[future] = index
                    finished.add(future)
                if not pending:
                    return
                future = next(finished)
                yield pending.pop(future), future.result()
        finally:
            if pending and client.status == "running":
                with suppress(OSError):
                    client.cancel(list(pending), force=True)


def check_reachable(scheduler: Any) -> None:
    """Raise what :func:`map_on` raises if nothing answers."""
    with _connected(scheduler):
        pass


def in_order(results: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """Results of :func:`map_on` in the order of the items; those that are early wait."""
    waiting, at = {}, 0
    for index, result in results:
        waiting[index] = result
        while at in waiting:
            yield waiting.pop(at)
            at += 1


def _together(*common: Any) -> tuple[Any, ...]:
    return common


def _call(function: Callable[..., Any], item: Any, common: tuple[Any, ...], expected: dict[str, str]) -> Any:
    """Do what a worker does."""
    if (found := settings()) != expected:
        what = _difference(expected, found)
        raise ClusterError(f"a worker has other settings of JAX than this process ({what}): set the same in both.")
    with _one:
        try:
            return function(item, *common)
        finally:
            release_memory()  # before Dask finds that this worker has too little left for the next part


def _workers(client: Any) -> set[str]:
    """Wait for workers, and say so if there are none for long."""
    if not client.nthreads():
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            address = client.scheduler.address
            warnings.warn(
                f"no worker has been connected for {_PATIENCE} seconds: start some with dask worker {address}",
                PlausiblyWarning,
                stacklevel=4,
            )
            client.wait_for_workers(1)
    return set(client.nthreads())


def _check_versions(client: Any) -> None:
    found = client.get_versions(check=False, packages=list(PACKAGES))
    here = found["client"]["packages"]
    for address, worker in found["workers"].items():
        what = _difference(*({name: about.get(name) for name in PACKAGES} for about in (here, worker["packages"])))
        if what:
            raise ClusterError(
                f"the worker {address} has other versions than this process ({what}), so results might differ: "
                "install the same in both."
            )


def _difference(here: dict[str, Any], there: dict[str, Any]) -> str:
    names = [name for name in here if here[name] != there.get(name)]
    return ", ".join(f"{name} is {here[name]} here and {there.get(name)} there" for name in names)


@contextmanager
def _connected(scheduler: Any) -> Iterator[Any]:
    try:
        import distributed
    except ImportError as error:
        raise ClusterError(
            f"a Dask cluster needs dask.distributed, which cannot be imported ({error}): pip install 'plausibly[dask]'."
        ) from error
    if isinstance(scheduler, str):
        try:
            client = distributed.Client(scheduler, timeout=_ANSWER, set_as_default=False)
        except Exception as error:  # whatever the protocol's library raises
            raise ClusterError(
                f"no Dask scheduler answers at {scheduler!r} within {_ANSWER} seconds ({error}): start one with dask "
                "scheduler, and give the address that it prints, such as tcp://10.0.0.1:8786."
            ) from error
        with client:
            yield client
    elif not isinstance(scheduler, distributed.Client) or scheduler.asynchronous:
        raise ArgumentError(
            "scheduler must be a dask.distributed.Client, not asynchronous, or the address of a Dask scheduler, but "
            f"{scheduler!r} was given."
        )
    elif scheduler.status != "running":
        raise ClusterError(f"the Dask client is {scheduler.status}: connect a new one.")
    else:
        yield scheduler


@contextmanager
def _in_sentences() -> Iterator[None]:
    """Raise what Dask raises as a sentence."""
    from distributed import CancelledError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    again = "repeat the call to continue with the missing parts"
    try:
        yield
    except PlausiblyError:
        raise
    except KilledWorker as error:
        raise ClusterError(
            f"one part ended the {error.allowed_failures + 1} workers that tried it, probably because they ran out "
            f"of memory: give workers more, or use fewer cases per shard with fresh=True (--fresh); else {again}."
        ) from error
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error):
            raise ClusterError(
                f"a worker has too little memory for a shard ({first_line(error)}): give workers more, or use fewer "
                "cases per shard with fresh=True (--fresh)."
            ) from error
        raise
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"a worker cannot load what it was sent ({error}): install plausibly, and what your program imports, where "
            "workers run."
        ) from error
    except (CancelledError, CommClosedError, ConnectionError) as error:
        raise ClusterError(f"the Dask scheduler went away, or dropped the work: {again}.") from error
    except (TypeError, RuntimeError) as error:
        if "serializ" not in str(error) and "pickle" not in str(error):
            raise
        raise ArgumentError(
            "something cannot be sent to other processes: let a model or metric of your own refer to plain functions, "
            "numbers and arrays, and install what your program imports where scheduler and workers run."
        ) from error
