"""Work in other processes of this machine, for what keeps one core busy with Python itself."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import cloudpickle
import jax

from plausibly.fingerprint import settings

# Not forked: JAX has threads, which a forked process lacks. Not by multiprocessing, which runs the user's script again.
_PROGRAM = """
import sys, cloudpickle
out, sys.stdout = sys.stdout.buffer, sys.stderr
sys.path[:] = cloudpickle.load(sys.stdin.buffer)
same, function, given = cloudpickle.load(sys.stdin.buffer)
from plausibly.fingerprint import settings
assert settings() == same
out.write(cloudpickle.dumps(function(*given)))
"""


def n_processes(most: int) -> int:
    """Return into how many processes work can be divided here, ``most`` at most: one for each core, one on a GPU."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, most)) if jax.default_backend() == "cpu" else 1


@contextmanager
def in_processes(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[list[Future]]:
    """Call a function in a process for each tuple of arguments, while the block runs.

    A process that fails, for whatever reason, gives None: the work is then to be done in this process, which raises
    what there is to raise.
    """

    def call(given: tuple[Any, ...]) -> Any:
        sent = cloudpickle.dumps(sys.path) + cloudpickle.dumps((settings(), function, given))
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], input=sent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        return None if done.returncode else cloudpickle.loads(done.stdout)

    with ThreadPoolExecutor(max(len(calls), 1)) as pool:
        yield [pool.submit(call, given) for given in calls]
