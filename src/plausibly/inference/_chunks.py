"""Buckets cut into chunks of a fixed number of cases, compiled once per shape and run on all cores.

Programs are traced one after the other (NumPyro's effect handlers are global), then compiled and run by a pool of
threads, since XLA lets go of the interpreter while it works. Compiled programs are kept for the life of the process.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, Key

from plausibly._progress import Progress
from plausibly.inference._batching import Bucket

_SIZES = (8, 32, 128, 512, 2048, 8192)  # cases per chunk
# The loops are long and simple: LLVM's higher levels take a third of the compilation and gain nothing.
_OPTIONS = {"xla_backend_optimization_level": 1}
_compiled: dict[Hashable, Any] = {}


class Chunk(NamedTuple):
    """Some cases of a bucket, with what was computed for them."""

    bucket: Bucket
    at: Int[np.ndarray, " case"]  #: their places in the bucket
    result: Any  #: a tree of NumPy arrays with the case on the last axis


def _chunk_size(n: int) -> int:
    """How many cases a core handles well at a time, or a GPU; fewer if there are no more."""
    most = 128 if jax.default_backend() == "cpu" else _SIZES[-1]
    return next(size for size in _SIZES if size >= min(n, most))


def cases_last(tree: Any, at: Int[np.ndarray, " case"]) -> Any:
    """Take cases from arrays that have them on the first axis, and move them to the last."""
    return jax.tree.map(lambda a: jnp.asarray(np.moveaxis(a[at], 0, -1)), tree)


def run_chunks(
    build: Callable[[Any], Callable[[Any, Key[jax.Array, "case *chain"]], Any]],
    inputs: Callable[[Bucket, Int[np.ndarray, " case"]], Any],
    buckets: Sequence[Bucket],
    keys: Key[jax.Array, "case *chain"],
    *,
    name: Hashable,
    progress: Progress,
    doing: str,
) -> Iterator[Chunk]:
    """Apply a program to all cases of all buckets; chunks come back in the order in which they finish.

    Parameters
    ----------
    build
        Given the inputs of a bucket, returns the function of (inputs, keys) to compile for its shape.
    inputs
        Given a bucket and places in it, returns a tree of arrays with these cases on the last axis.
    buckets, keys
        The cases, and keys for each of them.
    name
        Identifies ``build`` and everything that it closes over among all programs of the process.
    progress, doing
        Where to report, and the name of the work.
    """
    n_cases = sum(len(bucket.cases) for bucket in buckets)
    on_cpu = jax.default_backend() == "cpu"
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        compiling = {}
        work = []
        # The costliest chunks go first, so that no core is left with one of them at the end.
        for bucket in sorted(buckets, key=lambda b: -_chunk_size(len(b.cases)) * b.shape.cost()):
            size = _chunk_size(len(bucket.cases))
            ident = (name, bucket.shape, size)
            for first in range(0, len(bucket.cases), size):
                work.append((ident, bucket, np.arange(first, min(first + size, len(bucket.cases)))))
            if ident not in _compiled:
                at = np.resize(work[-1][2], size)
                example = inputs(bucket, at)
                lowered = jax.jit(build(example)).lower(example, keys[bucket.cases[at]])
                compiling[pool.submit(lowered.compile, _OPTIONS if on_cpu else None)] = ident
        compiled = progress.task(f"Compiling for {doing}", len(compiling), "programs")
        for future in as_completed(compiling):
            _compiled[compiling[future]] = future.result()
            compiled(1)

        def run(ident: Hashable, bucket: Bucket, at: Int[np.ndarray, " case"]) -> Chunk:
            # A chunk that is not full is filled with repetitions, which are dropped afterwards.
            full = np.resize(at, ident[-1])
            result = _compiled[ident](inputs(bucket, full), keys[bucket.cases[full]])
            return Chunk(bucket, at, jax.tree.map(lambda a: np.asarray(a)[..., : len(at)], result))

        finished = progress.task(doing, n_cases, "cases")
        for future in as_completed([pool.submit(run, *item) for item in work]):
            chunk = future.result()
            yield chunk
            finished(len(chunk.at))
    finally:
        pool.shutdown(cancel_futures=True)
