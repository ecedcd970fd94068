"""Programs compiled once per shape of case, and run over the cases of all buckets on all cores.

Either in chunks of a fixed number of cases, or in *seats* that take the next case as soon as the one they hold has
finished. Programs are traced one after the other (NumPyro's effect handlers are global), then compiled and run by
pools of threads, one for each device, since XLA lets go of the interpreter while it works. Compiled programs are kept
for the life of the process.
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int, Key

from plausibly._progress import Progress
from plausibly.inference._batching import Bucket
from plausibly.inference._compilation import compiler_options, kept_on_disk, lower
from plausibly.inference._devices import devices, parted
from plausibly.inference._shapes import Shape

_SIZES = (8, 32, 128, 512, 2048, 8192)  # cases per chunk
_compiled: dict[Hashable, Any] = {}


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
    build: Callable[[Any], Callable[[Any, Key[jax.Array, "case *chain"]], Any]],
    inputs: Callable[[Bucket, Int[np.ndarray, " case"]], Any],
    buckets: Sequence[Bucket],
    keys: Key[jax.Array, "case *chain"],
    *,
    name: Hashable,
    progress: Progress,
    doing: str,
    points: int = 1,
    repeated: bool = False,
    effort: Callable[[Bucket], Int[np.ndarray, " case"]] | None = None,
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
    points
        At how many points the program evaluates each case, which are in memory together.
    repeated
        Whether it repeats the same steps thousands of times; see :func:`compiler_options`.
    effort
        How long cases take, in any unit, if some take longer: those of similar effort share a chunk.
    """
    sizes = {bucket.shape: _chunk_size(len(bucket.cases), points) for bucket in buckets}
    keys, wrapped = _words(keys)

    def make(bucket: Bucket) -> tuple[Callable, tuple]:
        at = np.resize(np.arange(len(bucket.cases)), sizes[bucket.shape])
        example = inputs(bucket, at)
        leaves, tree = jax.tree.flatten(example)
        function = build(example)
        return lambda data, keys: function(jax.tree.unflatten(tree, data), wrapped(keys)), (
            leaves,
            keys[bucket.cases[at]],
        )

    def run(program: Any, bucket: Bucket, at: Int[np.ndarray, " case"]) -> Chunk:
        # A chunk that is not full is filled with repetitions, which are dropped afterwards.
        full = np.resize(at, sizes[bucket.shape])
        result = program(jax.tree.leaves(inputs(bucket, full)), keys[bucket.cases[full]])
        return Chunk(bucket, at, jax.tree.map(lambda a: np.asarray(a)[..., : len(at)], result))

    # The costliest chunks go first, so that no core is left with one of them at the end.
    buckets = sorted(buckets, key=lambda b: -sizes[b.shape] * b.shape.cost())
    with _Pool() as pool:
        units = _units(buckets, sizes, len(pool.devices), effort)
        programs = pool.compile(
            [(name, b.shape, sizes[b.shape]) for b in buckets], units, buckets, make, progress, doing, repeated=repeated
        )
        finished = progress.task(doing, sum(len(bucket.cases) for bucket in buckets), "cases")
        work = [pool.submit(device, run, programs[number, device], buckets[number], at) for number, device, at in units]
        for future in as_completed(work):
            chunk = future.result()
            yield chunk
            finished(len(chunk.at))


def _words(keys: Key[jax.Array, "*shape"]) -> tuple[np.ndarray, Callable[[jax.Array], Key[jax.Array, "*shape"]]]:
    """Take keys for the numbers they are, which programs on disk can be called with; and the way back."""
    return np.asarray(jax.random.key_data(keys)), partial(jax.random.wrap_key_data, impl=jax.random.key_impl(keys))


class Seated(NamedTuple):
    """A program that advances cases until some of them finish."""

    begin: Callable[[int], Any]  #: a state of so many seats; zeros in its place are seats without a case
    advance: Callable[[Any, Any, Key[jax.Array, "seat *chain"], Bool[jax.Array, " seat"], Int[jax.Array, ""]], Any]
    """Maps (state, data, keys, which seats have a new case, how many finished seats are wanted) to the state, which
    seats are finished, and their results with the seat on the last axis."""


def run_seats(
    build: Callable[[Any], Seated],
    inputs: Callable[[Bucket, Int[np.ndarray, " seat"]], Any],
    buckets: Sequence[Bucket],
    keys: Key[jax.Array, "case *chain"],
    *,
    name: Hashable,
    progress: Progress,
    doing: str,
    repeated: bool = False,
) -> Iterator[Chunk]:
    """Give every case of all buckets a seat in turn; chunks come back in the order in which they finish.

    For work that takes longer for some cases than for others. Arguments as in :func:`run_chunks`.
    """
    sizes = {bucket.shape: _seats(len(bucket.cases)) for bucket in buckets}

    keys, wrapped = _words(keys)

    def make(bucket: Bucket) -> tuple[Callable, tuple]:
        size = sizes[bucket.shape]
        at = np.resize(np.arange(len(bucket.cases)), size)
        example = inputs(bucket, at)
        program = build(example)
        state, of_state = jax.tree.flatten(jax.eval_shape(lambda: program.begin(size)))
        data, of_data = jax.tree.flatten(example)

        def advance(state: list, data: list, keys: np.ndarray, *others: Any) -> tuple[list, Any, Any]:
            state, data = jax.tree.unflatten(of_state, state), jax.tree.unflatten(of_data, data)
            state, done, result = program.advance(state, data, wrapped(keys), *others)
            return jax.tree.leaves(state), done, result

        return advance, (state, data, keys[bucket.cases[at]], np.zeros(size, bool), np.int32(0))

    def run(program: Any, bucket: Bucket, waiting: deque[int], out: SimpleQueue[Chunk | Exception]) -> None:
        try:
            seat_all(program, bucket, waiting, out)
        except Exception as error:  # for the thread that yields
            out.put(error)

    def seat_all(program: Any, bucket: Bucket, waiting: deque[int], out: SimpleQueue[Chunk | Exception]) -> None:
        size = sizes[bucket.shape]
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
            data = jax.tree.leaves(inputs(bucket, seated)), keys[bucket.cases[seated]]
            state, done, result = program(state, *data, fresh, wanted)
            done = np.asarray(done) & busy
            busy &= ~done
            out.put(Chunk(bucket, seated[done], jax.tree.map(lambda a, done=done: np.asarray(a)[..., done], result)))

    with _Pool() as pool:
        buckets = sorted(buckets, key=lambda b: -b.shape.cost())
        units = _units(buckets, sizes, len(pool.devices))
        idents = [(name, b.shape, sizes[b.shape]) for b in buckets]
        programs = pool.compile(idents, units, buckets, make, progress, doing, donated=(0,), repeated=repeated)
        left = sum(len(bucket.cases) for bucket in buckets)
        finished = progress.task(doing, left, "cases")
        out: SimpleQueue[Chunk | Exception] = SimpleQueue()
        queues = [deque(range(len(bucket.cases))) for bucket in buckets]
        rounds = Counter((unit.number, unit.device) for unit in units)
        for (number, device), n in rounds.items():
            for _ in range(min(pool.size, n)):
                pool.submit(device, run, programs[number, device], buckets[number], queues[number], out)
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
            for waiting in queues:
                waiting.clear()


class _Unit(NamedTuple):
    """Cases of a bucket that fill a program once, and where."""

    number: int  # of the bucket
    device: int
    at: Int[np.ndarray, " case"]


def _units(
    buckets: Sequence[Bucket],
    sizes: Mapping[Shape, int],
    n_devices: int,
    effort: Callable[[Bucket], Int[np.ndarray, " case"]] | None = None,
) -> list[_Unit]:
    """Cut buckets into what their programs take at a time, and give it to the devices."""
    cut = []
    for number, bucket in enumerate(buckets):
        order = np.arange(len(bucket.cases)) if effort is None else np.argsort(-effort(bucket), kind="stable")
        size = sizes[bucket.shape]
        cut += [(number, order[first : first + size]) for first in range(0, len(order), size)]
    shapes = [buckets[number].shape for number, _ in cut]
    places = parted([sizes[shape] * shape.cost() for shape in shapes], n_devices)
    return [_Unit(number, device, at) for (number, at), device in zip(cut, places, strict=True)]


class _Pool:
    """Threads for each device that compile and run programs; what they have not begun is dropped on leaving."""

    def __init__(self):
        self.devices = devices()
        self.size = -(-(os.cpu_count() or 1) // len(self.devices))
        self._threads = [ThreadPoolExecutor(self.size) for _ in self.devices]

    def __enter__(self) -> "_Pool":
        return self

    def __exit__(self, *error: object) -> None:
        for threads in self._threads:
            threads.shutdown(wait=False, cancel_futures=True)
        for threads in self._threads:
            threads.shutdown()

    def submit(self, device: int, function: Callable[..., Any], *arguments: Any) -> Future:
        """Let a thread of a device do something."""

        def run() -> Any:
            with jax.default_device(self.devices[device]):
                return function(*arguments)

        return self._threads[device].submit(run)

    def compile(
        self,
        idents: Sequence[Hashable],
        units: Sequence[_Unit],
        buckets: Sequence[Bucket],
        make: Callable[[Bucket], tuple[Callable, tuple]],
        progress: Progress,
        doing: str,
        donated: tuple[int, ...] = (),
        repeated: bool = False,
    ) -> dict[tuple[int, int], Any]:
        """One program for each bucket and device, from :data:`_compiled` where it is there already."""
        keys = {(unit.number, unit.device): (idents[unit.number], self.devices[unit.device]) for unit in units}
        wanted: dict[int, list[int]] = {}
        for (number, device), key in keys.items():
            if key not in _compiled:
                wanted.setdefault(number, []).append(device)
        if wanted:
            options = compiler_options(repeated=repeated)
            compiled = progress.task(
                f"Compiling for {doing[0].lower()}{doing[1:]}", sum(map(len, wanted.values())), "programs"
            )
            with kept_on_disk():
                compiling = {}
                for number, places in wanted.items():
                    on = [self.devices[device] for device in places]
                    programs = lower(*make(buckets[number]), donated, devices=on)
                    for device, program in zip(places, programs, strict=True):
                        compiling[self.submit(device, program.compile, options)] = keys[number, device]
                for future in as_completed(compiling):
                    _compiled[compiling[future]] = future.result()
                    compiled(1)
        return {place: _compiled[key] for place, key in keys.items()}
