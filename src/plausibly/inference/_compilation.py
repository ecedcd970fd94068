"""Tracing and compiling, and the results of both kept on disk for the next process.

Tracing a program costs half a second, compiling it several. What is traced is kept in the form of JAX's exported
programs, under a name made of everything that it depends on, down to the source of this package; what is compiled is
kept by JAX's own compilation cache. The folder is the one that JAX is configured with (``JAX_COMPILATION_CACHE_DIR``)
or, on Linux, ``~/.cache/plausibly``; elsewhere JAX's cache has been seen to crash processes, so by default it is off.
``JAX_ENABLE_COMPILATION_CACHE=0`` turns both off. Everything in the folder may be deleted at any time.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import jax
from jax import export
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import SingleDeviceSharding

from plausibly.inference._devices import Device
from plausibly.inference._program import Program

# The loops are long and simple: LLVM's higher levels take a third of the compilation and gain nothing.
_OPTIONS = {"xla_backend_optimization_level": 1}
# Nor does the newer emitter of fused loops, which takes another third where it can be turned off (before JAX 0.11).
_OPTIONAL = {"xla_cpu_use_fusion_emitters": False}


@cache
def compiler_options() -> dict[str, Any] | None:
    """What XLA is asked to do, as far as this version of it can."""
    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda: 0).lower().compile({**_OPTIONS, **_OPTIONAL})
    except jax.errors.JaxRuntimeError:
        return dict(_OPTIONS)
    return {**_OPTIONS, **_OPTIONAL}


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
        Everything that the program depends on: numbers, texts, functions of this package, and tuples of such. With
        anything else in it, such as a user's own program, nothing is kept.
    make
        Returns a function and examples of its arguments; these and its result are arrays in lists, tuples and
        dictionaries.
    donated
        Which of the arguments may be overwritten.
    devices
        Where it is to run; what is traced, and kept, is the same for all.
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
            # Now as later: what has been on disk might be compiled to something else in the last bit.
            exported = export.deserialize(data)
        function = exported.call
        arguments, _ = jax.tree.unflatten(exported.in_tree, exported.in_avals)
    jitted = jax.jit(function, donate_argnums=donated)

    def on(device: Device, array: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=SingleDeviceSharding(device))

    return [jitted.lower(*jax.tree.map(partial(on, device), arguments)) for device in devices]


@contextmanager
def kept_on_disk() -> Iterator[None]:
    """Let JAX keep what is compiled meanwhile, unless it is configured not to."""
    folder = _folder()
    if folder is None:
        yield
        return
    settings = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.1,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        # XLA warns of every program it loads that its own preferences are not features of this machine (its issue
        # 44565), in lines of thousands of characters.
        "jax_logging_level": "CRITICAL",
    }
    before = {name: _setting(name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        # JAX goes on with a cache that it has once opened, whatever the settings.
        compilation_cache.reset_cache()
        # Of no level JAX makes nothing, not even the end of an earlier one.
        jax.config.update("jax_logging_level", "WARNING")
        for name, value in before.items():
            jax.config.update(name, value)


def _setting(name: str) -> Any:
    return getattr(jax.config, name)


def _folder() -> Path | None:
    """Where to keep things; None for nowhere."""
    if not _setting("jax_enable_compilation_cache"):
        return None
    configured = _setting("jax_compilation_cache_dir")
    if configured is not None and "://" in str(configured):
        return None  # JAX knows its way to a bucket of some cloud by itself.
    if configured is not None:
        folder = Path(configured)
    elif sys.platform == "linux":
        try:
            home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        except RuntimeError:  # Users whom the system does not know, as in containers, may have no home.
            return None
        # A home may be shared by machines whose processors differ.
        folder = Path(home) / "plausibly" / _processor()
    else:
        return None
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else None


@cache
def _processor() -> str:
    kinds = ("model name", "flags", "CPU implementer", "CPU part", "Features")
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return _digest("\n".join(sorted({line for line in lines if line.startswith(kinds)})))
    return "unknown"


def _spelled(ident: Any) -> str:
    """Write down what has the same meaning in every process; the rest is a TypeError."""
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
    settings = (_setting(f"jax_{name}") for name in (*names, "numpy_dtype_promotion"))
    return (_source(), jax.default_backend(), *settings)


@cache
def _source() -> str:
    """What the code is that programs are traced from."""
    package = Path(__file__).parent.parent
    import plausibly.models as models

    files = [*package.glob("*.py")]
    for folder in (
        *(package / name for name in ("inference", "distributions", "primitives")),
        Path(models.__file__).parent,
    ):
        files += folder.glob("*.py")
    text = b"".join(path.read_bytes() for path in sorted(files))
    return _digest(" ".join(version(name) for name in ("jax", "jaxlib", "numpyro")).encode() + text)


def _digest(text: str | bytes) -> str:
    return blake2b(text.encode() if isinstance(text, str) else text, digest_size=16).hexdigest()


def _read(name: str) -> export.Exported | None:
    folder = _folder()
    if folder is None:
        return None
    with suppress(Exception):  # Whatever is wrong with the file, it is written anew.
        digest, data = (folder / name).read_bytes().split(b"\n", 1)
        if digest.decode() == _digest(data):
            return export.deserialize(bytearray(data))
    return None


def _write(name: str, data: bytes) -> None:
    """With a checksum: a damaged program may be found out no sooner than it is compiled, or never."""
    folder = _folder()
    if folder is not None:
        # By way of another name, since other processes may read meanwhile.
        with suppress(OSError), tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            try:
                file.write(_digest(data).encode() + b"\n" + data)
                file.close()
                os.replace(file.name, folder / name)
            except OSError:
                os.unlink(file.name)
