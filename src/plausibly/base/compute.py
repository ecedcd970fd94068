"""Programs compiled once per shape, and run over parts of the cases on all devices.

Cases are padded to a few *rungs*. A :class:`Part` holds some cases of one rung, repeated to a fixed size, so that a
rung needs one program (:func:`run`). Programs are traced one after the other (NumPyro's effect handlers are global),
then compiled and called by the threads of a :class:`Pool`, since XLA lets go of the interpreter while it works. They
are kept for the life of the process, and on disk for the next one (``plausibly.base.programs``).

Every program runs on one device, with sizes that do not depend on how many there are, so neither does anything that
comes out of it: devices share the cases, not the arrays, and results come back in the order of the parts. A program
laid over all devices would need as many cases of one shape as fill it everywhere, and devices would wait for each other
at the end of every call.
"""

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar, cast

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding
from jaxtyping import Float, Int

from plausibly.base.fingerprint import settings
from plausibly.base.pools import threads
from plausibly.base.programs import compiled_and_saved, devices, kept_on_disk, load, own_folder, place_of, without_jax
from plausibly.base.progress import Progress


def compiler_options(*, repeated: bool = False) -> dict[str, Any] | None:
    """Options for XLA on a CPU, but for those that ``XLA_FLAGS`` names; none elsewhere.

    Programs that are ``repeated`` go through the same few steps thousands of times, as samplers do. Their loops run two
    to three times as fast by the newer emitter of fused loops and with the usual optimisation. For other programs
    these, and the dearer of LLVM's passes, only add to the time of compiling.
    """
    if jax.default_backend() != "cpu":
        return None
    options: dict[str, Any] = {"xla_backend_optimization_level": 2}
    if not repeated:
        options = {"xla_backend_optimization_level": 1, "xla_llvm_disable_expensive_passes": True}
        # Which is the older emitter, there before JAX 0.11.
        options |= {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}
    flags = os.environ.get("XLA_FLAGS", "")
    return {name: value for name, value in options.items() if name not in flags}


def lower(
    function: Callable[..., Any], arguments: tuple[Any, ...], donated: tuple[int, ...] = (), *, devices: Sequence[Any]
) -> list[jax.stages.Lowered]:
    """A program traced once, given examples of its arguments, and lowered for each device.

    Arguments and results are arrays in lists, tuples and dictionaries; ``donated`` arguments may be overwritten.
    """
    jitted = jax.jit(function, donate_argnums=donated)

    def on(device: Any, array: Any) -> jax.ShapeDtypeStruct:
        kind = jax.dtypes.canonicalize_dtype(array.dtype)  # as an array is when the program is called
        return jax.ShapeDtypeStruct(array.shape, kind, sharding=SingleDeviceSharding(device))

    return [jitted.lower(*jax.tree.map(partial(on, device), arguments)) for device in devices]


Item = TypeVar("Item")

_KEPT = 256  # compiled programs; each new function of a user's own makes some
_AHEAD = 2  # parts that wait for each thread

_compiled: dict[Hashable, Any] = {}


class Part(NamedTuple):
    """Cases that a program computes side by side, by their places among those that are worked on."""

    rung: Any  #: of parts of one rung and size, inputs have the same shapes
    size: int  #: number of cases of a program, which the cases are repeated to fill
    at: Int[np.ndarray, " case"]

    @property
    def full(self) -> Int[np.ndarray, " size"]:
        """These cases, repeated to the size of the program."""
        return np.resize(self.at, self.size)


def parted(costs: Sequence[float] | Float[np.ndarray, " unit"], n: int) -> list[int]:
    """The number of a device, of ``n``, for every unit of work: a run of units to each, of about the same cost.

    Runs, because units of one shape follow each other, and the fewer devices do them, the fewer programs are compiled.
    """
    costs = np.asarray(costs, float)
    middle = np.cumsum(costs) - costs / 2
    return np.minimum(middle * n / max(costs.sum(), 1e-30), n - 1).astype(int).tolist()


class Pool:
    """Threads for each device that compile and run programs; what they have not begun is dropped on leaving."""

    def __init__(self):
        self.devices = devices()
        # One thread prepares and sends a part while an accelerator works on that of another.
        least = 1 if jax.default_backend() == "cpu" else 2
        self.size = max(least, -(-(os.cpu_count() or 1) // len(self.devices)))
        self._threads = [threads(self.size) for _ in self.devices]

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *error: object) -> None:
        for pool in self._threads:
            pool.shutdown(wait=False, cancel_futures=True)
        for pool in self._threads:
            pool.shutdown()

    def submit(self, device: int, function: Callable[..., Any], *arguments: Any) -> Future:
        """Let a thread of a device do something."""

        def work() -> Any:
            with jax.default_device(self.devices[device]):
                return function(*arguments)

        return self._threads[device].submit(work)

    def programs(
        self,
        sources: Mapping[Hashable, Callable[[], tuple[Callable, tuple]]],
        places: Iterable[tuple[Hashable, int]],
        *,
        code: Callable[..., Any],
        donated: tuple[int, ...] = (),
        repeated: bool = False,
        progress: Progress | None = None,
        doing: str = "",
    ) -> dict[tuple[Hashable, int], Any]:
        """Compile programs, unless this process has them already.

        ``sources`` has, by what identifies a program, a function that returns what to trace and examples of its
        arguments, of which ``donated`` ones may be overwritten; ``places`` are the programs that are needed, with the
        number of a device for each. ``code`` is what makes them; by its code and what it captures programs of other
        processes are known, unless it is a user's own. ``repeated`` is as for :func:`compiler_options`; ``doing`` is
        the name of the work.
        """
        keys = {(ident, device): ((*ident, *settings().values()), self.devices[device]) for ident, device in places}
        missing = [place for place, key in keys.items() if key not in _compiled]
        programs = {place: _compiled[key] for place, key in keys.items() if key in _compiled}
        if not missing:
            return programs
        what = f"Compiling for {doing[:1].lower()}{doing[1:]}"
        advance = _task(progress, what, len(missing), "programs")
        options = compiler_options(repeated=repeated)
        folder, files, compiling = own_folder(), {}, {}
        for ident, n in missing:
            file = place_of(folder, (code, keys[ident, n][0], donated), self.devices[n], options)
            if (program := load(file, self.devices[n])) is None:
                files.setdefault(ident, {})[n] = file
            else:
                programs[ident, n] = program
                advance(1)
        own = any(file is not None for of in files.values() for file in of.values())
        with without_jax() if own else kept_on_disk():
            for ident, of in files.items():
                lowered = lower(*sources[ident](), donated, devices=[self.devices[n] for n in of])
                for (n, file), program in zip(of.items(), lowered, strict=True):
                    compiling[self.submit(n, compiled_and_saved, program, options, file)] = ident, n
            for future in as_completed(compiling):
                programs[compiling[future]] = future.result()
                advance(1)
        _compiled.update((key, programs[place]) for place, key in keys.items())
        while len(_compiled) > _KEPT:
            del _compiled[next(iter(_compiled))]
        return programs


def run(
    name: tuple[Hashable, ...],
    function: Callable[..., Any],
    parts: Sequence[Part],
    inputs: Callable[[Part], tuple[Any, ...]],
    *,
    cost: Callable[[Any], float] = lambda rung: 1,
    repeated: bool = False,
    progress: Progress | None = None,
    doing: str = "",
) -> Iterator[tuple[Part, Any]]:
    """Apply a program to all parts, on all devices; what it returns comes back in their order, in NumPy.

    ``name`` identifies the function, and everything that it closes over, among all programs of the process; ``inputs``
    returns its arguments for a part, in NumPy. Neighbouring parts go to one device. ``cost`` is that of a case of a
    rung, in any unit; ``repeated`` is as for :func:`compiler_options`; ``doing`` is the name of the work.
    """
    with Pool() as pool:
        places = parted([part.size * cost(part.rung) for part in parts], len(pool.devices))
        sources, idents = {}, {}
        for part in parts:
            if part[:2] not in idents:
                leaves, tree = jax.tree.flatten(inputs(part))
                ident = *name, tree, *((np.shape(leaf), str(np.asarray(leaf).dtype)) for leaf in leaves)
                idents[part[:2]] = ident
                sources[ident] = lambda leaves=tuple(leaves), tree=tree: (
                    lambda *leaves: function(*jax.tree.unflatten(tree, leaves)),
                    leaves,
                )
        units = [(part, idents[part[:2]], place) for part, place in zip(parts, places, strict=True)]
        given: dict[str, Any] = {"code": function, "repeated": repeated, "progress": progress, "doing": doing}
        programs = pool.programs(sources, [unit[1:] for unit in units], **given)
        sources.clear()  # examples of inputs may be large

        def work(part: Part, program: Any) -> Any:
            return jax.tree.map(np.asarray, program(*jax.tree.leaves(inputs(part))))

        # Of one device, few results wait; of several, each computes a run of parts, which wait for their turn.
        most = _AHEAD * pool.size if len(pool.devices) == 1 else len(parts)
        coming, waiting = iter(units), deque()

        def submit(n: int) -> None:
            for part, ident, device in islice(coming, n):
                waiting.append((part, pool.submit(device, work, part, programs[ident, device])))

        advance = _task(progress, doing, sum(len(part.at) for part in parts), "cases")
        submit(most)
        while waiting:
            part, future = waiting.popleft()
            submit(1)
            yield part, future.result()
            advance(len(part.at))


def _task(progress: Progress | None, description: str, total: int, unit: str) -> Callable[[float], None]:
    return progress.task(description, total, unit) if progress else lambda n: None


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Take each item, such as a range that is read from disk, while the one before is worked on.

    Examples
    --------
    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    iterator = iter(items)
    nothing = object()
    with threads(1) as reader:
        coming = reader.submit(next, iterator, nothing)
        while (item := coming.result()) is not nothing:
            coming = reader.submit(next, iterator, nothing)
            yield cast(Item, item)
