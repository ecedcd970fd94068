"""Programs run over the cases of all buckets: in chunks of a fixed number, or in *seats*.

A seat takes the next case as soon as the one that it holds has finished.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int, Key

from plausibly.base.compute import Part, Pool, parted, run
from plausibly.base.progress import Progress
from plausibly.inference._batching import Bucket

_SIZES = (8, 32, 128, 512, 2048, 8192)  # cases per chunk


class Chunk(NamedTuple):
    """Some cases of a bucket, with what was computed for them."""

    bucket: Bucket
    at: Int[np.ndarray, " case"]  #: their places in the bucket
    result: Any  #: a tree of NumPy arrays with the case on the last axis


def _chunk_size(n: int, points: int) -> int:
    """How many cases a core handles well at a time, or a GPU; fewer if there are few, or each needs much room."""
    if jax.default_backend() == "cpu":
        n, most = -(-n // 4), 128  # a handful of chunks, for the cores to share
    else:
        most = _SIZES[-1]
    return next(size for size in _SIZES if size >= min(n, most // max(points // 60, 1)))


def _seats(n: int) -> int:
    """How many cases should sit side by side: few on a core, so that there is a next one for each."""
    most = 32 if jax.default_backend() == "cpu" else _SIZES[-1]
    return next(size for size in _SIZES if size >= min(n, most))


def run_chunks(
    function: Callable[[Any, Key[jax.Array, " case *chain"]], Any],
    inputs: Callable[[Bucket, Int[np.ndarray, " case"]], Any],
    buckets: Sequence[Bucket],
    keys: Key[jax.Array, " case *chain"],
    *,
    name: tuple[Hashable, ...],
    progress: Progress,
    doing: str,
    points: int = 1,
    repeated: bool = False,
    effort: Callable[[Bucket], Int[np.ndarray, " case"]] | None = None,
) -> Iterator[Chunk]:
    """Apply a program to all cases of all buckets, the costliest first.

    ``function`` is compiled for the shape of each bucket, and takes ``inputs``, which returns a tree of arrays with
    the cases at some places of a bucket on the last axis, and the keys of these cases. ``name`` identifies it, and
    everything that it closes over, among all programs of the process. It evaluates each case at so many ``points``,
    which are in memory together; ``repeated`` is as for :func:`plausibly.base.compute.compiler_options`. If some cases
    take longer, ``effort`` says how long, in any unit: those of similar effort share a chunk.
    """
    words, wrapped = _words(keys)
    of_shape = {bucket.shape: bucket for bucket in buckets}
    sizes = {bucket.shape: _chunk_size(len(bucket.cases), points) for bucket in buckets}

    def of_part(part: Part) -> tuple[Any, np.ndarray]:
        bucket = of_shape[part.rung]
        return inputs(bucket, part.full), words[bucket.cases[part.full]]

    # The costliest chunks go first, so that no core is left with one of them at the end.
    buckets = sorted(buckets, key=lambda b: -sizes[b.shape] * b.shape.cost())
    results = run(
        name,
        lambda data, words: function(data, wrapped(words)),
        [part for bucket in buckets for part in _parts(bucket, sizes[bucket.shape], effort)],
        of_part,
        cost=lambda shape: shape.cost(),
        repeated=repeated,
        progress=progress,
        doing=doing,
    )
    for part, result in results:
        n = len(part.at)
        yield Chunk(of_shape[part.rung], part.at, jax.tree.map(lambda a, n=n: a[..., :n], result))


def _parts(bucket: Bucket, size: int, effort: Callable[[Bucket], Int[np.ndarray, " case"]] | None = None) -> list[Part]:
    order = np.arange(len(bucket.cases)) if effort is None else np.argsort(-effort(bucket), kind="stable")
    return [Part(bucket.shape, size, order[first : first + size]) for first in range(0, len(order), size)]


def _words(keys: Key[jax.Array, "*shape"]) -> tuple[np.ndarray, Callable[[jax.Array], Key[jax.Array, "*shape"]]]:
    """Take keys for the numbers they are, which programs on disk can be called with; and the way back."""
    return np.asarray(jax.random.key_data(keys)), partial(jax.random.wrap_key_data, impl=jax.random.key_impl(keys))


class Seated(NamedTuple):
    """A program that advances cases until some of them finish."""

    begin: Callable[[int], Any]  #: a state of so many seats; zeros in its place are seats without a case
    advance: Callable[[Any, Any, Key[jax.Array, " seat *chain"], Bool[jax.Array, " seat"], Int[jax.Array, ""]], Any]
    """Maps (state, data, keys, which seats have a new case, how many finished seats are wanted) to the state, which
    seats are finished, and their results with the seat on the last axis."""


def run_seats(
    build: Callable[[Any], Seated],
    inputs: Callable[[Bucket, Int[np.ndarray, " seat"]], Any],
    buckets: Sequence[Bucket],
    keys: Key[jax.Array, " case *chain"],
    *,
    name: tuple[Hashable, ...],
    progress: Progress,
    doing: str,
    repeated: bool = False,
) -> Iterator[Chunk]:
    """Give every case of all buckets a seat in turn; chunks come back in the order in which they finish.

    For work that takes longer for some cases than for others. ``build`` makes the program for the shape of its inputs;
    other arguments as in :func:`run_chunks`.
    """
    words, wrapped = _words(keys)
    buckets = sorted(buckets, key=lambda b: -b.shape.cost())
    of_shape = {bucket.shape: bucket for bucket in buckets}
    parts = [part for bucket in buckets for part in _parts(bucket, _seats(len(bucket.cases)))]

    def source(part: Part) -> tuple[Callable, tuple]:
        example = inputs(of_shape[part.rung], part.full)
        program = build(example)
        state, of_state = jax.tree.flatten(jax.eval_shape(lambda: program.begin(part.size)))
        data, of_data = jax.tree.flatten(example)

        def advance(state: list, data: list, words: np.ndarray, *others: Any) -> tuple[list, Any, Any]:
            state, data = jax.tree.unflatten(of_state, state), jax.tree.unflatten(of_data, data)
            state, done, result = program.advance(state, data, wrapped(words), *others)
            return jax.tree.leaves(state), done, result

        own = words[of_shape[part.rung].cases[part.full]]
        return advance, (state, data, own, np.zeros(part.size, bool), np.int32(0))

    def seat_all(program: Any, bucket: Bucket, size: int, waiting: deque[int]) -> None:
        seated, busy = np.zeros(size, int), np.zeros(size, bool)
        state = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), program.args_info[0][0])
        while True:
            fresh = np.zeros(size, bool)
            for seat in np.flatnonzero(~busy):
                try:
                    seated[seat] = waiting.popleft()
                except IndexError:
                    break
                fresh[seat] = busy[seat] = True
            if not busy.any():
                return
            wanted = np.int32((~busy).sum() + (-(-busy.sum() // 4) if waiting else busy.sum()))
            data = jax.tree.leaves(inputs(bucket, seated)), words[bucket.cases[seated]]
            state, done, result = program(state, *data, fresh, wanted)
            done = np.asarray(done) & busy
            busy &= ~done
            out.put(Chunk(bucket, seated[done], jax.tree.map(lambda a, done=done: np.asarray(a)[..., done], result)))

    def work(*arguments: Any) -> None:
        try:
            seat_all(*arguments)
        except Exception as error:  # for the thread that yields
            out.put(error)

    out: SimpleQueue[Chunk | Exception] = SimpleQueue()
    with Pool() as pool:
        devices = parted([part.size * part.rung.cost() for part in parts], len(pool.devices))
        sources = {(*name, part.rung, part.size): partial(source, part) for part in parts}
        places = [((*name, part.rung, part.size), device) for part, device in zip(parts, devices, strict=True)]
        given = {"code": build, "repeated": repeated, "progress": progress, "doing": doing}
        programs = pool.programs(sources, places, donated=(0,), **given)
        left = sum(len(bucket.cases) for bucket in buckets)
        finished = progress.task(doing, left, "cases")
        queues = {bucket.shape: deque(range(len(bucket.cases))) for bucket in buckets}
        for (ident, device), n in Counter(places).items():
            *_, shape, size = ident
            for _ in range(min(pool.size, n)):
                pool.submit(device, work, programs[ident, device], of_shape[shape], size, queues[shape])
        try:
            while left:
                chunk = out.get()
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
                left -= len(chunk.at)
                finished(len(chunk.at))
        finally:
            # A caller who stops early waits only for the cases that have a seat.
            for waiting in queues.values():
                waiting.clear()
