"""Fingerprints of what a posterior depends on: data, a user's own program, versions of packages, settings of JAX.

Data are known by a checksum of their contents, a function by one of its code (what its source says, but for comments
and annotations) and of the values that it captures. The source text itself would not do: lambdas share a line, and a
file may have been edited since it was imported. Work that goes on after an interruption, or in other processes,
compares fingerprints; compiled programs are kept under them, too.
"""

import copyreg
import json
import platform
import sys
import sysconfig
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from dis import get_instructions
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np

from plausibly.base.errors import ArgumentError

PACKAGES = ("plausibly", "numpyro", "jax", "jaxlib", "numpy", "scipy", "arviz", "xarray", "h5netcdf", "h5py")
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable", "jax_disable_jit")

_DEVICE = "jax_default_device"
# Of a class: what its code does not depend on, or what Python keeps in the order of a set or as a line of the file.
_OF_PROCESS = {"__annotations__", "__static_attributes__", "__firstlineno__", "_abc_impl", "__module__", "__doc__"}
_OF_PROCESS |= {"__dict__", "__weakref__", "__annotate__", "__annotate_func__", "__annotations_cache__"}
_PIECE = 2**24  # bytes of an array that are hashed at a time
_traced: MutableMapping[Any, Hashable] = WeakKeyDictionary()  # identities of functions when they were last traced


def versions() -> dict[str, str]:
    """Versions of the packages that results depend on."""
    return {package: _version(package) for package in PACKAGES}


def versions_text() -> str:
    """The versions as JSON, the form in which posteriors have them as an attribute."""
    return json.dumps(versions())


def settings() -> dict[str, str]:
    """Settings of JAX in this thread that change draws."""
    return {name: str(getattr(jax.config, name)) for name in SETTINGS}


def of_thread() -> dict[str, str]:
    """The settings, and the device that was chosen in this thread."""
    return settings() | {"jax_default_device": str(getattr(jax.config, _DEVICE))}


def software() -> dict[str, str]:
    """Versions of Python and of packages, a checksum of the source of this one, and the settings."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **versions(), "source": source_digest(), **settings()}


def processor() -> str:
    """Name of the device on which JAX computes; the last digits of draws depend on it."""
    (device,) = jax.device_put(0.0).devices()
    if device.platform != "cpu":
        return device.device_kind
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def data_digest(*values: Any) -> str:
    """Checksum of arrays, texts, numbers, and of sequences and mappings of them."""
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
    """Checksum of a user's function, of its defaults, and of the values that it captures in closures or as globals.

    Functions and classes of hers among these count by their code, too, those of installed packages by their names.
    Modules count by their names as well: a change in a helper module of which the function uses an attribute, such as
    ``helper.scale``, is not seen. ``what`` names the function in the ArgumentError that is raised if something that it
    captures, such as a generator, has no content that could be compared.
    """
    try:
        return contents_digest(function)
    except Exception as error:
        raise ArgumentError(
            f"{what} has no fingerprint ({' '.join(str(error).split())}): let it refer to plain functions, numbers and "
            "arrays, or give version=."
        ) from error


def contents_digest(value: Any, *, of_packages: bool = False) -> str:
    """Checksum of what a value holds, of any type that has contents; whatever else is in it raises an exception.

    So does, of values ``of_packages``, code that is neither Python's nor of a package whose :func:`versions` count.
    """
    return data_digest(_contents(value, {}, of_packages))


def identity(function: Callable[..., Any]) -> Hashable:
    """What identifies a function among compiled programs: for a user's own, its code and all that it captures.

    It changes whenever something does that :func:`code_digest` sees. A function without a fingerprint is
    unlike any other, and unlike itself the next time.
    """
    if isinstance(function, Captured):
        return function.content
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__qualname__", "")
    if module.startswith("plausibly.") and getattr(sys.modules.get(module), name, None) is function:
        return function
    try:
        found = code_digest(function, "the function")
    except ArgumentError:
        found = object()
    with suppress(TypeError):  # of objects that cannot be referred to weakly
        if _traced.setdefault(function, found) != found:
            jax.clear_caches()  # where JAX keeps loops and compiled functions that it calls, by the function alone
            _traced[function] = found
    return found


@dataclass(frozen=True)
class Captured:
    """A function that is equal to another one if the two have the same :func:`identity` when they are wrapped."""

    function: Callable[..., Any] = field(compare=False)
    content: Hashable = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "content", identity(self.function))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, **kwargs)


@cache
def source_digest() -> str:
    """Checksum of the source of this package."""
    digest = blake2b(digest_size=16)
    for folder in _own_folders():
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _contents(value: Any, seen: dict[int, tuple[int, Any]], of_packages: bool = False) -> Any:
    """What distinguishes a value from others, of the types that :func:`data_digest` takes."""
    if value is None or type(value) in (str, bytes, bool, int, float, complex):
        return value
    if isinstance(value, np.ndarray | np.generic | jax.Array) and not value.dtype.hasobject:
        return np.asarray(value)
    if isinstance(value, ModuleType):
        return value.__name__
    if of_packages:
        code = value if isinstance(value, FunctionType | type) else type(value)
        package = str(code.__module__).partition(".")[0]
        if package not in PACKAGES and package not in sys.stdlib_module_names:
            raise ValueError(f"{code.__qualname__} is of {package}")
    if (name := _name_in_library(value)) is not None:
        return name

    def each(values: Iterable[Any]) -> list[Any]:
        return [_contents(one, seen, of_packages) for one in values]

    # Constants may be one object or several, depending on the cache of bytecode; all else is followed once.
    if type(value) is tuple:
        return each(value)
    if type(value) in (set, frozenset):
        return sorted(data_digest(one) for one in each(value))
    if isinstance(value, CodeType):
        names = value.co_names, value.co_varnames, value.co_freevars
        return [value.co_code, value.co_exceptiontable, each(names), each(value.co_consts)]
    if id(value) in seen:
        return "seen", seen[id(value)][0]
    seen[id(value)] = len(seen), value
    kind = _name_in_library(type(value)) or ""
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        module = sys.modules.get(value.__module__)  # none for what a text was executed to
        own = module is None or _is_own(module)
        used = {name: value.__globals__.get(name) for name in sorted(_globals_of(value.__code__))} if own else {}
        parts = value.__code__, value.__defaults__, value.__kwdefaults__, cells, used, vars(value)
    elif isinstance(value, type):
        own = {name: part for name, part in vars(value).items() if name not in _OF_PROCESS}
        parts = value.__name__, value.__bases__, own
    elif isinstance(value, Mapping):
        return kind, each(value.keys()), each(value.values())
    elif isinstance(value, list):
        parts = value
    elif callable(wrapped := getattr(value, "__wrapped__", None)):  # such as by functools.cache or jax.jit
        parts = (wrapped,)
    else:
        reduced = copyreg.dispatch_table.get(type(value), lambda one: one.__reduce_ex__(4))(value)
        parts = reduced if isinstance(reduced, tuple) else (type(value), reduced)
    return kind, each(parts)


def _globals_of(code: CodeType) -> set[str]:
    """Names of the globals that code uses, also in functions within."""
    names = {step.argval for step in get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _name_in_library(value: Any) -> str | None:
    """Name of a function or class that an installed package, or Python, has under it."""
    module = sys.modules.get(str(getattr(value, "__module__", None)))
    name = getattr(value, "__qualname__", None)
    if module is None or not isinstance(name, str) or _is_own(module):
        return None
    with suppress(AttributeError):
        if attrgetter(name)(module) is value:
            return f"{module.__name__}.{name}"
    return f"{module.__name__}.{name}" if isinstance(value, type) else None  # one made for an annotation, for example


def _is_own(module: ModuleType) -> bool:
    """Whether a module is a user's own: not of Python, of this package, or of an installed one."""
    if module.__name__.partition(".")[0] in PACKAGES:
        return False
    place = getattr(module, "__file__", None)
    return not _is_library(place) if place else module.__spec__ is None  # such as the module of a notebook


def _is_library(place: str) -> bool:
    library = any(Path(place).is_relative_to(folder) for folder in (sysconfig.get_path("stdlib"), *_own_folders()))
    return library or not {"site-packages", "dist-packages"}.isdisjoint(Path(place).parts)


@cache
def _own_folders() -> tuple[Path, ...]:
    spec = find_spec("plausibly.models")  # which an editable install has elsewhere
    return Path(__file__).parents[1], Path(str(spec and spec.origin)).parent


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
