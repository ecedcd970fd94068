"""Tracing and compiling, with compiled programs kept on disk for the next process.

Compiling a program takes several seconds, tracing it half a second. JAX's own compilation cache keeps what is compiled,
under a key made of the traced program, in the folder that JAX is configured with (``JAX_COMPILATION_CACHE_DIR``) or, on
Linux, in ``~/.cache/plausibly``; on other systems it has been seen to crash processes, so by default it is off.
``JAX_ENABLE_COMPILATION_CACHE=0`` turns it off. Everything in the folder may be deleted at any time.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache
from jax.sharding import SingleDeviceSharding

from plausibly._progress import tell

_CACHE_SETTINGS = ("jax_compilation_cache_dir", "jax_enable_compilation_cache")
_keeping = Lock()
_before: list[dict[str, Any]] = []  # settings to restore, once for each thread within kept_on_disk


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
                # JAX keeps using a cache that is open, whatever the settings.
                compilation_cache.reset_cache()
                # Setting an empty level does not end an earlier one.
                jax.config.update("jax_logging_level", "WARNING")
                for name, value in before.items():
                    jax.config.update(name, value)


def _keep_in(folder: Path) -> dict[str, Any]:
    """Configure JAX, and return what was configured before."""
    settings = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,  # reading is faster than compiling even an addition
        "jax_persistent_cache_min_entry_size_bytes": -1,
        # XLA warns of every program it loads that its own preferences are not features of this machine (its issue
        # 44565), in lines of thousands of characters.
        "jax_logging_level": "CRITICAL",
        # Lines of the source for every operation are a fifth of the time of tracing.
        "jax_traceback_in_locations_limit": 0,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    return before


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
    text = "\n".join(sorted({line for line in lines if line.startswith(kinds)}))
    return blake2b(text.encode(), digest_size=16).hexdigest()
