"""Rows in runs that fit into memory; and memory that is free within the process, given back to the system."""

import ctypes
import gc
import sys
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from jaxtyping import Int

_SHARE = 0.02  # of the time, at most, goes into this
_due = time.monotonic() + 15  # a third of a second is a long time in a short run


def runs(sizes: Int[np.ndarray, " row"], most: int) -> Iterator[slice]:
    """Runs of rows whose sizes add up to `most` at most, or of a single row."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        done = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, done + most, "right")), first + 1)
        yield slice(first, last)
        first = last


def release_memory() -> None:
    """Give freed memory back, where the C library can.

    Compiling a few dozen programs frees a gigabyte in pieces that glibc keeps for itself otherwise. Looking for what is
    free takes a third of a second, so it is put off where work comes in many small shards.

    Examples
    --------
    >>> release_memory()
    """
    global _due
    begin = time.monotonic()
    if begin < _due:
        return
    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
    end = time.monotonic()
    _due = end + (end - begin) / _SHARE
