"""Compiled programs on disk, for the next process.

Compiling a program takes several seconds, tracing it half a second. JAX's own cache keeps what is compiled under a key
made of the traced program, in the folder that JAX is configured with (``JAX_COMPILATION_CACHE_DIR``) or, on Linux, in
``~/.cache/plausibly``; on other systems it has been seen to crash processes, so by default it is off.
``JAX_ENABLE_COMPILATION_CACHE=0`` turns it off. Everything in the folder may be deleted at any time.

Programs of this package are found there without being traced, unless JAX has been configured: their key is made of
what identifies them (code, all that it captures, shapes of arguments), of the source of this package, of versions and
of settings. Those of a user's code, which may change unseen, are left to JAX. Programs of other sources are deleted.
"""

import os
import pickle
import shutil
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import jax
import numpy as np
from jax.core import Tracer
from jax.experimental import serialize_executable
from jax.experimental.compilation_cache import compilation_cache
from jaxlib import lapack

from plausibly.base.fingerprint import contents_digest, data_digest, of_thread, software
from plausibly.base.progress import tell

_CHOICE = "jax_default_device"
_CACHE_SETTINGS = ("jax_compilation_cache_dir", "jax_enable_compilation_cache")
_keeping = Lock()
_before: list[dict[str, Any]] = []  # settings to restore, once for each thread within kept_on_disk
_without: list[None] = []  # one for each thread within without_jax
_KEPT_SOURCES = 2  # versions of this package whose programs are kept


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


@contextmanager
def without_jax() -> Iterator[None]:
    """Let JAX keep nothing for a while: a program that it has read cannot be written again.

    Threads that compile something else meanwhile compile it again in the next process.
    """

    def keeping(enabled: bool) -> None:
        jax.config.update(_CACHE_SETTINGS[1], enabled)
        compilation_cache.reset_cache()

    with _keeping:
        _without.append(None)
        if len(_without) == 1:
            keeping(False)
    try:
        yield
    finally:
        with _keeping:
            _without.pop()
            if not _without:
                keeping(True)


@cache
def tell_of_first_run() -> None:
    """Say, once in a process, that the next run will be faster, unless programs are kept already."""
    if nothing_kept():
        tell("This is a first run: programs are compiled and kept, so the next run will be faster.")


def nothing_kept() -> bool:
    """Whether this is a first run: programs would be kept, and there are none."""
    folder = _folder()
    return folder is not None and next(folder.iterdir(), None) is None


def _is_array(leaf: Any) -> bool:
    """Whether this is an array with values, not one that is traced."""
    return isinstance(leaf, np.ndarray) or (isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer))


def own_folder() -> Path | None:
    """The folder of programs that are found without being traced; None where JAX has been configured."""
    of_user = _before[0][_CACHE_SETTINGS[0]] if _before else getattr(jax.config, _CACHE_SETTINGS[0])
    return _folder() if of_user is None else None


def _folder() -> Path | None:
    """The folder of the caches; None if nothing is kept."""
    configured, enabled = (getattr(jax.config, name) for name in _CACHE_SETTINGS)
    if not (enabled or _without) or "://" in str(configured):  # JAX itself keeps things in a cloud
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


def place_of(folder: Path | None, ident: Hashable, device: Any, options: dict[str, Any] | None) -> Path | None:
    """The file of a program; None if it has none, as one of a user's code, which may change unseen."""
    if folder is None:
        return None
    with suppress(Exception):
        content = ident, options, device.id, device.device_kind
        return _of_this_source(folder) / contents_digest(content, of_packages=True)
    return None


@cache
def _of_this_source(folder: Path) -> Path:
    """The folder of programs of this source, on this machine; those of sources that were used longest ago go."""
    flags = {name: os.environ.get(name, "") for name in ("XLA_FLAGS", "JAX_PLATFORMS")}
    place = folder / "programs" / data_digest(software(), flags, jax.device_count())
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        os.utime(place)
        others = sorted(place.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in others[:-_KEPT_SOURCES]:
            shutil.rmtree(path, ignore_errors=True)
    return place


def load(place: Path | None, device: Any) -> Any:
    """A program from its file, ready to be called; None if there is none, or if it cannot be read."""
    if place is None:
        return None
    # Whatever a file has become, the program is compiled again; within, XLA says nothing of every program it loads.
    with kept_on_disk(), suppress(Exception):
        # JAX finds the functions of LAPACK where it traces a call of them; without, a loaded program ends the process.
        lapack.prepare_lapack_call("trsm", np.float32)
        return serialize_executable.deserialize_and_load(
            *pickle.loads(place.read_bytes()), backend=device.client, execution_devices=[device]
        )
    return None


def compiled_and_saved(lowered: jax.stages.Lowered, options: dict[str, Any] | None, place: Path | None) -> Any:
    """Compile a program, and write it to its file, if it can be written."""
    program = lowered.compile(options)
    if place is not None:
        with suppress(Exception):  # of programs that hold arrays, and of folders that are full
            content = pickle.dumps(serialize_executable.serialize(program))
            unfinished = place.with_name(f"{place.name}.{os.getpid()}")
            unfinished.write_bytes(content)
            unfinished.replace(place)
    return program


def devices() -> list[Any]:
    """Those to compute on: all that JAX has here, or the one that ``jax.default_device`` names."""
    chosen = getattr(jax.config, _CHOICE)
    if chosen is None or isinstance(chosen, str):
        return jax.local_devices(backend=chosen)
    return [chosen]


def kept(jitted: Callable[..., Any], static: int = 0) -> Callable[..., Any]:
    """Keep programs of a function under ``jax.jit`` on disk, where they are found without being traced.

    The first ``static`` arguments are static; all others have arrays in them.
    """
    programs: dict[Hashable, Any] = {}

    @wraps(jitted)
    def call(*arguments: Any) -> Any:
        fixed, arrays = arguments[:static], arguments[static:]
        leaves, tree = jax.tree.flatten(arrays)
        if not all(_is_array(leaf) for leaf in leaves):  # it is traced
            return jitted(*arguments)
        kinds = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
        key = fixed, tree, kinds, *of_thread().values()
        if key not in programs:
            device = devices()[0]
            place = place_of(own_folder(), (jitted.__wrapped__, *key), device, None)
            if place is None:
                return jitted(*arguments)
            program = load(place, device)
            if program is None:
                with without_jax():
                    program = compiled_and_saved(jitted.lower(*arguments), None, place)
            programs[key] = program
        return programs[key](*arrays)

    return call
