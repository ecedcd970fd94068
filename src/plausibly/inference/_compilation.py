"""Tracing and compiling, with the results of both kept on disk for the next process.

Tracing a program costs half a second, compiling it several. Traced programs are kept as JAX's exported programs, under
a name made of everything that they depend on, including the source of this package; compiled programs are kept by JAX's
own compilation cache. The folder is the one that JAX is configured with (``JAX_COMPILATION_CACHE_DIR``) or, on Linux,
``~/.cache/plausibly``; on other systems JAX's cache has been seen to crash processes, so by default it is off.
``JAX_ENABLE_COMPILATION_CACHE=0`` turns both off. Everything in the folder may be deleted at any time.
"""

import os
import sys
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

import jax
from jax import export
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import SingleDeviceSharding

from plausibly import models
from plausibly._progress import tell
from plausibly.inference._devices import Device
from plausibly.inference._program import Program

#: Folders of this package whose functions are traced.
_TRACED = "inference", "distributions", "primitives", "posterior", "metrics", "evaluation"
_CACHE_SETTINGS = ("jax_compilation_cache_dir", "jax_enable_compilation_cache")
_keeping = Lock()
_before: list[dict[str, Any]] = []  # settings to restore, once for each thread within kept_on_disk


def compiler_options(*, repeated: bool = False) -> dict[str, Any] | None:
    """Options for XLA on a CPU, but for those that ``XLA_FLAGS`` names; none elsewhere.

    Parameters
    ----------
    repeated
        Whether the program repeats the same few steps thousands of times, as samplers do. Their loops run two to three
        times as fast by the newer emitter of fused loops and with the usual optimisation. For other programs these, and
        the dearer of LLVM's passes, only add to the time of compiling.
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
    ident: Hashable,
    make: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]],
    donated: tuple[int, ...] = (),
    *,
    devices: Sequence[Device],
) -> list[jax.stages.Lowered]:
    """Trace a program, or find it traced on disk, and lower it for each of some devices.

    Parameters
    ----------
    ident
        Everything that the program depends on: numbers, texts, functions of this package, and tuples of these. With
        anything else in it, such as a user's own program, nothing is kept.
    make
        Returns a function and examples of its arguments; these and its result are arrays in lists, tuples and
        dictionaries.
    donated
        Arguments that may be overwritten.
    devices
        Devices to lower it for; the traced program is the same for all.
    """
    try:
        name = f"plausibly-{_digest(_spelled((ident, _surroundings())))}.jaxexport"
    except TypeError:
        function, arguments = make()
    else:
        exported = _read(name)
        if exported is None:
            function, arguments = make()
            data = export.export(jax.jit(function, donate_argnums=donated))(*arguments).serialize()
            _write(name, bytes(data))
            # As in the next process: a program from disk might differ in the last bit once it is compiled.
            exported = export.deserialize(data)
        function = exported.call
        arguments, _ = jax.tree.unflatten(exported.in_tree, exported.in_avals)
    jitted = jax.jit(function, donate_argnums=donated)

    def on(device: Device, array: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=SingleDeviceSharding(device))

    return [jitted.lower(*jax.tree.map(partial(on, device), arguments)) for device in devices]


@contextmanager
def kept_on_disk() -> Iterator[None]:
    """Let JAX keep what is compiled within, unless it is configured not to.

    Settings are those of the process, so of several threads within, the last one to leave restores them.
    """
    folder = _folder()
    if folder is None:
        yield
        return
    with _keeping:
        _before.append(_before[0] if _before else _keep_in(folder))
    try:
        yield
    finally:
        with _keeping:
            before = _before.pop()
            if not _before:
                _restore(before)


def _keep_in(folder: Path) -> dict[str, Any]:
    """Configure JAX, and return what was configured before."""
    settings = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.1,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        # XLA warns of every program it loads that its own preferences are not features of this machine (its issue
        # 44565), in lines of thousands of characters.
        "jax_logging_level": "CRITICAL",
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    return before


def _restore(before: Mapping[str, Any]) -> None:
    # JAX keeps using a cache that is open, whatever the settings.
    compilation_cache.reset_cache()
    # Setting an empty level does not end an earlier one.
    jax.config.update("jax_logging_level", "WARNING")
    for name, value in before.items():
        jax.config.update(name, value)


@cache
def tell_of_first_run() -> None:
    """Say, once in a process, that the next run will be faster, unless programs are kept already."""
    if nothing_kept():
        tell("This is a first run: programs are compiled and kept, so the next run will be faster.")


def nothing_kept() -> bool:
    """Whether this is a first run: programs would be kept, and there are none."""
    folder = _folder()
    return folder is not None and next(folder.iterdir(), None) is None


def _folder() -> Path | None:
    """The folder of the caches; None if nothing is kept."""
    configured, enabled = (getattr(jax.config, name) for name in _CACHE_SETTINGS)
    if not enabled or "://" in str(configured):  # JAX itself keeps things in a cloud
        return None
    with suppress(OSError, RuntimeError):  # folders that cannot be written to; users without a home
        if configured is not None:
            folder = Path(configured)
        elif sys.platform == "linux":
            folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plausibly" / _processor()
        else:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        return folder if os.access(folder, os.W_OK) else None
    return None


@cache
def _processor() -> str:
    """A home may be shared by machines whose processors differ."""
    kinds = ("model name", "flags", "CPU implementer", "CPU part", "Features")
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return _digest("\n".join(sorted({line for line in lines if line.startswith(kinds)})))


def _spelled(ident: Any) -> str:
    """Text of an identity that means the same in every process; raises a TypeError for any other."""
    if isinstance(ident, Program):
        return f"Program({_spelled(ident.function)}, {_spelled(ident.static)})"
    if isinstance(ident, FunctionType) and ident.__module__.startswith("plausibly.") and "<" not in ident.__qualname__:
        return f"{ident.__module__}.{ident.__qualname__}"
    if isinstance(ident, tuple):
        return f"({', '.join(map(_spelled, ident))})"
    if ident is None or isinstance(ident, str | int | float):
        return repr(ident)
    raise TypeError


def _surroundings() -> tuple[Hashable, ...]:
    names = ("enable_x64", "default_matmul_precision", "threefry_partitionable", "debug_nans", "debug_infs")
    settings = (getattr(jax.config, f"jax_{name}") for name in (*names, "numpy_dtype_promotion"))
    return (_source(), jax.default_backend(), *settings)


@cache
def _source() -> str:
    """Digest of versions and of the source that programs are traced from."""
    package = Path(__file__).parent.parent
    folders = *(package / name for name in _TRACED), Path(models.__file__).parent
    files = [
        package / "case.py",
        package / "random_streams.py",
        *(path for folder in folders for path in sorted(folder.rglob("*.py"))),
    ]
    versions = " ".join(version(name) for name in ("jax", "jaxlib", "numpyro"))
    return _digest(versions.encode() + b"".join(path.read_bytes() for path in files))


def _digest(text: str | bytes) -> str:
    return blake2b(text.encode() if isinstance(text, str) else text, digest_size=16).hexdigest()


def _read(name: str) -> export.Exported | None:
    folder = _folder()
    with suppress(Exception):  # whatever is wrong with the file, it is written again
        return folder and export.deserialize(bytearray(zlib.decompress((folder / name).read_bytes())))
    return None


def _write(name: str, data: bytes) -> None:
    """Compressed, which adds a checksum: a damaged program may be noticed only when it is compiled, or never."""
    folder = _folder()
    if folder is not None:
        with suppress(OSError):  # by way of another name, since other processes may read at the same time
            part = folder / f"{name}.{os.getpid()}"
            part.write_bytes(zlib.compress(data, level=1))
            part.replace(folder / name)
