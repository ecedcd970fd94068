"""Fingerprints of what a posterior depends on: data, a user's own program, versions of packages, settings of JAX.

Data are known by a checksum of their contents, a function by a checksum of what cloudpickle makes of it. Work that goes
on after an interruption, or in other processes, compares them; compiled programs are kept under them, too.
"""

import json
import platform
import sys
import sysconfig
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from dis import get_instructions
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, resolve_name
from io import BytesIO
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np

from plausibly.errors import ArgumentError

PACKAGES = ("plausibly", "numpyro", "jax", "jaxlib", "numpy", "scipy", "arviz", "xarray", "h5netcdf", "h5py")
SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_threefry_partitionable", "jax_disable_jit")

_DEVICE = "jax_default_device"
# Of a class: annotations, and what Python keeps in the order of a set or as a line of the file.
_OF_PROCESS = {"__annotations__", "__static_attributes__", "__firstlineno__", "_abc_impl"}
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
    """Checksum of a user's function, of what it captures, and of what it reaches in modules that are not installed.

    That is, functions, classes and other values of its own module and of those that it imports, as they are now.
    Functions of installed packages count by their name. ``what`` names the function in the ArgumentError that is raised
    if cloudpickle cannot pickle it.
    """
    import cloudpickle

    own: list[ModuleType] = []

    def by_value(module: ModuleType | None) -> bool:
        """Whether a module is the user's own, of whose functions a pickle would have names alone."""
        if module is None or not _is_own(module):
            return False
        if module.__name__ not in cloudpickle.list_registry_pickle_by_value():  # the user may have registered it
            own.append(module)
            cloudpickle.register_pickle_by_value(module)
        return True

    class Pickler(cloudpickle.Pickler):
        """Leaves out what differs between processes, though the code is the same."""

        def persistent_id(self, obj: Any) -> str | None:
            return _written_out(obj)

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CodeType):  # in a notebook the name of the file has the number of the process
                return self.dispatch_table[CodeType](obj.replace(co_filename="", co_firstlineno=1))
            if isinstance(obj, ModuleType):
                return str, (obj.__name__,)
            if type(obj).__module__.startswith("jaxtyping"):  # a class made for an annotation
                return str, (repr(obj),)
            wrapped = getattr(obj, "__wrapped__", None)
            module = sys.modules.get(str(getattr(obj, "__module__", None)))
            own_module = by_value(module) or module is None
            if own_module and callable(wrapped) and not isinstance(obj, FunctionType | type):
                return tuple, ((type(obj).__name__, wrapped),)  # such as of functools.cache, which has a name alone
            reduced = super().reducer_override(obj)
            if not isinstance(reduced, tuple) or len(reduced) < 3:  # another package's, known by its name
                return reduced
            make, arguments, (state, slots), *rest = reduced
            if isinstance(obj, FunctionType):
                code, _, *cells = arguments  # without the place of its module
                used = _used_of_modules(obj, slots["__globals__"])
                slots = {**slots, "__annotations__": {}, "_cloudpickle_submodules": used}
                return make, (code, {}, *cells), (state, slots), *rest
            state = {name: value for name, value in state.items() if name not in _OF_PROCESS}
            return make, arguments[:-2], (state, slots), *rest  # without a random number

    pickled = BytesIO()
    try:
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


def identity(function: Callable[..., Any]) -> Hashable:
    """What identifies a function among compiled programs: for a user's own, its code and all that it captures.

    It changes whenever a global, an attribute or a helper of the function does. A function without a fingerprint is
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


def _used_of_modules(function: FunctionType, captured: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """List what a function uses of the user's own modules among its globals, or that it imports itself, by name."""
    names, imports = _names(function.__code__)
    modules = [value for value in captured.values() if isinstance(value, ModuleType)]
    package = function.__globals__.get("__package__") or ""
    for level, name in sorted(imports):
        with suppress(Exception):  # whatever is wrong with the import, the function says so
            parts = resolve_name("." * level + name, package).split(".")
            modules += [import_module(".".join(parts[: n + 1])) for n in range(len(parts)) if _is_spec_own(parts[0])]
    found, seen = [], set()
    while modules:
        module = modules.pop()
        if module.__name__ not in seen and _is_own(module):
            seen.add(module.__name__)
            for name in sorted(names & vars(module).keys()):
                value = vars(module)[name]
                (modules if isinstance(value, ModuleType) else found).append(value)
    return found


def _names(code: CodeType) -> tuple[set[str], set[tuple[int, str]]]:
    """Names that code uses, and modules that it imports with the levels of relative imports; also functions within."""
    names, imports = set(code.co_names), set()
    steps = [step for step in get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for level, _, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":
            imports.add((level.argval, step.argval))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, further = _names(inner)
            names, imports = names | more, imports | further
    return names, imports


def _written_out(value: Any) -> str | None:
    """Write constants as text, sets in order: which of them are one object depends on the cache of bytecode."""
    if value is None or type(value) in (str, bytes, bool, int, float, complex):
        return f"{type(value).__name__} {value!r}"
    if type(value) in (tuple, set, frozenset):
        items = [_written_out(item) for item in value]
        if None not in items:
            return f"{type(value).__name__} {items if type(value) is tuple else sorted(map(str, items))}"
    return None


def _is_own(module: ModuleType | None) -> bool:
    """Whether a module is a user's own: not of Python, of this package, or of an installed one."""
    if module is None or module.__name__.partition(".")[0] in PACKAGES:
        return False
    place = getattr(module, "__file__", None)
    return not _is_library(place) if place else module.__spec__ is None  # such as the module of a notebook


def _is_spec_own(name: str) -> bool:
    """The same of a module that may not be imported yet."""
    if name in sys.modules:
        return _is_own(sys.modules[name])
    spec = find_spec(name)
    return spec is not None and spec.has_location and not _is_library(str(spec.origin))


def _is_library(place: str) -> bool:
    library = any(Path(place).is_relative_to(folder) for folder in (sysconfig.get_path("stdlib"), *_own_folders()))
    return library or not {"site-packages", "dist-packages"}.isdisjoint(Path(place).parts)


@cache
def _own_folders() -> tuple[Path, ...]:
    spec = find_spec("plausibly.models")  # which an editable install has elsewhere
    return Path(__file__).parent, Path(str(spec and spec.origin)).parent


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
