"""Memory that is free within the process, given back to the system."""

import ctypes
import gc
import sys
import time

import pyarrow as pa

_SHARE = 0.02  # of the time, at most, goes into this
_due = 0.0


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
