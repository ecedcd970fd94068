"""Threads, and other processes of this machine for what keeps one core busy with Python itself."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

# Not forked: JAX has threads, which a forked process lacks. Not by multiprocessing, which runs the user's script again.
_PROGRAM = """
import sys, cloudpickle
out, sys.stdout = sys.stdout.buffer, sys.stderr
sys.path[:] = cloudpickle.load(sys.stdin.buffer)
same, function, given = cloudpickle.load(sys.stdin.buffer)
from plausibly.base.fingerprint import settings
assert settings() == same
out.write(cloudpickle.dumps(function(*given)))
"""


def n_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(n: int | None = None) -> ThreadPoolExecutor:
    """Make a pool of threads, by default one for each core; one thread works alongside the block that has the pool."""
    return ThreadPoolExecutor(n or n_cores())


@contextmanager
def small_products() -> Iterator[None]:
    """Multiply matrices in one thread of NumPy and SciPy while the block, or the decorated function, runs.

    Where products are small and other threads work beside them, those of OpenBLAS wait for each other longer than they
    multiply.
    """
    from threadpoolctl import threadpool_limits  # here, since not all commands multiply

    with threadpool_limits(1, user_api="blas"):
        yield


def n_processes(most: int) -> int:
    """Return into how many processes work can be divided here, ``most`` at most: one for each core, one on a GPU."""
    import jax  # here, since agreement of few labels needs no JAX

    return max(1, min(n_cores(), most)) if jax.default_backend() == "cpu" else 1


@contextmanager
def in_processes(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[list[Future]]:
    """Call a function in a process for each tuple of arguments, while the block runs.

    A process that fails, for whatever reason, gives None: the work is then to be done in this process, which raises
    what there is to raise.
    """
    if not calls:
        yield []
        return
    # Here, since they take seconds, and agreement of few labels needs neither processes nor JAX.
    import cloudpickle

    from plausibly.base.fingerprint import settings

    def call(sent: bytes) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], input=sent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        return None if done.returncode else cloudpickle.loads(done.stdout)

    # Before anything runs: objects that are used meanwhile may change, such as by properties that are cached.
    first = cloudpickle.dumps(sys.path)
    sent = [first + cloudpickle.dumps((settings(), function, given)) for given in calls]
    with threads(len(calls)) as pool:
        yield [pool.submit(call, one) for one in sent]
