"""Measuring time and memory."""

import multiprocessing
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple


class Timed(NamedTuple):
    """Seconds of a function's first call and of the best later one."""

    first: float
    warm: float

    @property
    def compilation(self) -> float:
        return max(self.first - self.warm, 0.0)


def timed(function: Callable[..., Any], *arguments: Any, budget: float = 2.0) -> Timed:
    """Time a function of arrays whose first call compiles, then again for ``budget`` seconds, or once."""
    import jax

    seconds = []
    while len(seconds) < 2 or sum(seconds[1:]) < budget:
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        seconds.append(time.perf_counter() - start)
    return Timed(seconds[0], min(seconds[1:]))


def _memory(what: str) -> float:
    """Bytes that the process holds (``VmRSS``) or held at most (``VmHWM``)."""
    try:
        # Not getrusage, whose figure a process inherits from the one that started it.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        kilobytes = int(status.split(f"{what}:")[1].split()[0])
    except FileNotFoundError:
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024


def peak_above(function: Callable[[], Any]) -> tuple[Any, float]:
    """Call a function; returns its result and by how many bytes the process grew at most meanwhile."""
    with suppress(OSError):  # Without it an earlier, higher peak counts.
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the high-water mark
    before = _memory("VmRSS")
    result = function()
    return result, _memory("VmHWM") - before


def _with_peak(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    result = function(*arguments)
    return result, _memory("VmHWM")


def apart(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Call a function in a fresh process; returns its result and the process's peak memory in bytes."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_with_peak, (function, arguments))
