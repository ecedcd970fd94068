"""Fingerprints of what a posterior depends on: data, a user's own program, versions of packages, settings of JAX.

Data are known by a checksum of their contents, a function by a checksum of what cloudpickle makes of it. Work that goes
on after an interruption, or in other processes, compares them.
"""

import json
import platform
import sys
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plausibly.errors import ArgumentError

PACKAGES = ("plausibly", "numpyro", "jax", "jaxlib", "numpy", "scipy", "arviz", "xarray", "h5netcdf", "h5py")
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable", "jax_disable_jit")

_DEVICE = "jax_default_device"
# Of a class: annotations, and what Python keeps in the order of a set or as a line of the file.
_OF_PROCESS = {"__annotations__", "__static_attributes__", "__firstlineno__", "_abc_impl"}
_PIECE = 2**24  # bytes of an array that are hashed at a time


def versions() -> dict[str, str]:
    """Return the versions of the packages that results depend on.

    Examples
    --------
    >>> list(versions())[:3]
    ['plausibly', 'numpyro', 'jax']
    """
    return {package: _version(package) for package in PACKAGES}


def versions_text() -> str:
    """Return the versions as JSON, the form in which posteriors have them as an attribute."""
    return json.dumps(versions())


def settings() -> dict[str, str]:
    """Return the settings of JAX in this thread that change draws.

    Examples
    --------
    >>> settings()["jax_enable_x64"]
    'False'
    """
    return {name: str(getattr(jax.config, name)) for name in SETTINGS}


def of_thread() -> dict[str, str]:
    """Return the settings, and the device that was chosen in this thread.

    Examples
    --------
    >>> of_thread()["jax_default_device"]
    'None'
    """
    return settings() | {"jax_default_device": str(getattr(jax.config, _DEVICE))}


def software() -> dict[str, str]:
    """Return the versions of Python and of packages, and the settings.

    Examples
    --------
    >>> software()["jax_enable_x64"]
    'False'
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **versions(), **settings()}


def processor() -> str:
    """Name the device on which JAX computes; the last digits of draws depend on it."""
    (device,) = jnp.zeros(()).devices()
    if device.platform != "cpu":
        return device.device_kind
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def data_digest(*values: Any) -> str:
    """Checksum of arrays, texts, numbers, and of sequences and mappings of them.

    Examples
    --------
    >>> data_digest(np.zeros(2)) == data_digest(np.zeros(2)), data_digest(np.zeros(2)) == data_digest(np.zeros((1, 2)))
    (True, False)
    """
    digest = blake2b(digest_size=16)

    def add(value: Any) -> None:
        if isinstance(value, Mapping):
            value = list(value.items())
        if isinstance(value, np.ndarray | jax.Array) and not np.asarray(value).dtype.hasobject:
            value = np.asarray(value)
            digest.update(f"{value.dtype.str} {value.shape}\0".encode())
            rows = np.atleast_1d(value)
            step = max(1, _PIECE * len(rows) // max(rows.nbytes, 1))  # copies of pieces, where needed, are small
            for first in range(0, len(rows), step):
                digest.update(np.ascontiguousarray(rows[first : first + step]))
        elif isinstance(value, list | tuple | np.ndarray):
            digest.update(f"{len(value)} items\0".encode())
            for item in value:
                add(item)
        else:
            digest.update(f"{type(value).__name__} {value!r}\0".encode())

    for value in values:
        add(value)
    return digest.hexdigest()


def code_digest(function: Callable[..., Any], what: str) -> str:
    """Checksum of a user's function, of what it captures, and of what it uses of its own module.

    Functions of installed packages count by their name, and so do those of other modules.

    Parameters
    ----------
    function
        A function, a ``functools.partial`` of one, or any callable object.
    what
        Name of it, for the error.

    Raises
    ------
    ArgumentError
        If cloudpickle cannot pickle it.

    Examples
    --------
    >>> def shifted(by):
    ...     return lambda x: x + by
    >>> code_digest(shifted(1), "f") == code_digest(shifted(1), "f")
    True
    >>> code_digest(shifted(1), "f") == code_digest(shifted(2), "f")
    False
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        """Leaves out what differs between processes, though the code is the same."""

        def persistent_id(self, obj: Any) -> str | None:
            return _written_out(obj)

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CodeType):  # in a notebook the name of the file has the number of the process
                return self.dispatch_table[CodeType](obj.replace(co_filename="", co_firstlineno=1))
            if type(obj).__module__.startswith("jaxtyping"):  # a class made for an annotation
                return str, (repr(obj),)
            reduced = super().reducer_override(obj)
            if not isinstance(reduced, tuple) or len(reduced) < 3:  # another package's, known by its name
                return reduced
            make, arguments, (state, slots), *rest = reduced
            if isinstance(obj, FunctionType):
                code, _, *cells = arguments  # without the place of its module
                slots = {**slots, "__annotations__": {}, "_cloudpickle_submodules": []}
                return make, (code, {}, *cells), (state, slots), *rest
            state = {name: value for name, value in state.items() if name not in _OF_PROCESS}
            return make, arguments[:-2], (state, slots), *rest  # without a random number

    used = (function, *getattr(function, "__dict__", {}).values(), getattr(function, "func", None))
    modules = {sys.modules.get(getattr(value, "__module__", None) or "") for value in used}
    own = [module for module in modules if (place := getattr(module, "__file__", None)) and not _installed(place)]
    pickled = BytesIO()
    try:
        for module in own:  # of an importable module a pickle has names alone
            cloudpickle.register_pickle_by_value(module)
        Pickler(pickled).dump(function)
    except Exception as error:
        raise ArgumentError(
            f"{what} has no fingerprint, because it cannot be pickled ({' '.join(str(error).split())}): let it refer "
            "to plain functions, numbers and arrays, or give version=."
        ) from error
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)
    return blake2b(pickled.getbuffer(), digest_size=16).hexdigest()


def _written_out(value: Any) -> str | None:
    """Write constants as text, sets in order: which of them are one object depends on the cache of bytecode."""
    if value is None or type(value) in (str, bytes, bool, int, float, complex):
        return f"{type(value).__name__} {value!r}"
    if type(value) in (tuple, set, frozenset):
        items = [_written_out(item) for item in value]
        if None not in items:
            return f"{type(value).__name__} {items if type(value) is tuple else sorted(map(str, items))}"
    return None


def _installed(place: str) -> bool:
    """Whether a file belongs to Python, to this package or to an installed one, whose version tells the rest."""
    own = (Path(__file__).parent, Path(sys.modules["plausibly.models"].__file__ or "").parent)
    library = any(Path(place).is_relative_to(folder) for folder in (sysconfig.get_path("stdlib"), *own))
    return library or not {"site-packages", "dist-packages"}.isdisjoint(Path(place).parts)


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
