"""What a piece of work depends on, in short texts that can be compared with those of an earlier run.

Data are known by a checksum of their contents. A function is known by more than its name: by its compiled code, its
defaults, what it captures, and what it uses of its own module, all the way down to installed packages, which are known
by their versions.
"""

import dataclasses
import sys
import sysconfig
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from plausibly.errors import PlausiblyWarning


def file_digest(path: Path) -> str:
    """Checksum of a file's contents."""
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def data_digest(*values: Any) -> str:
    """Checksum of arrays, texts and numbers.

    Examples
    --------
    >>> data_digest(np.zeros(2)) == data_digest(np.zeros(2)), data_digest(np.zeros(2)) == data_digest(np.zeros((1, 2)))
    (True, False)
    """
    code = _Code()
    for value in values:
        code.spell(value, "")
    return code.hexdigest()


def code_digest(function: Callable[..., Any], what: str) -> str:
    """Checksum of a function by what it does; of what cannot be known, a warning says so, and so does the text.

    Parameters
    ----------
    function
        A function, a ``functools.partial`` of one, or any object that can be called.
    what
        What it is, for the warning.

    Examples
    --------
    >>> def shifted(by):
    ...     return lambda x: x + by
    >>> code_digest(shifted(1), "f") == code_digest(shifted(1), "f")
    True
    >>> code_digest(shifted(1), "f") == code_digest(shifted(2), "f")
    False
    """
    code = _Code()
    code.spell(function, what)
    if not code.unknown:
        return code.hexdigest()
    unknown = ", ".join(dict.fromkeys(code.unknown))
    warnings.warn(
        f"of {what} is not known what this is made of: {unknown}; if it changes while work is unfinished, start over "
        "with fresh=True",
        PlausiblyWarning,
        stacklevel=2,
    )
    return f"{code.hexdigest()}, not known: {unknown}"


_PIECE = 2**24  # bytes of an array that are taken in together


class _Code:
    """A checksum that takes in values of many kinds."""

    def __init__(self):
        self._digest = blake2b(digest_size=16)
        self._seen: dict[int, int] = {}
        self.unknown: list[str] = []

    def hexdigest(self) -> str:
        return self._digest.hexdigest()

    def _add(self, *words: object) -> None:
        for word in words:
            self._digest.update(word if isinstance(word, bytes) else str(word).encode())
            self._digest.update(b"\0")

    def spell(self, value: Any, where: str) -> None:
        """Take in a value, and everything that it is made of."""
        if value is None or isinstance(value, str | bytes | int | float | complex | np.generic):
            self._add(type(value).__name__, repr(value))
            return
        if isinstance(value, np.ndarray | jax.Array):
            self._spell_array(np.asarray(value), where)
            return
        if id(value) in self._seen:
            self._add("again", self._seen[id(value)])
            return
        self._seen[id(value)] = len(self._seen)
        self._add(type(value).__name__)
        if isinstance(value, CodeType):
            self._spell_code(value, where)
        elif isinstance(value, tuple | list):
            for item in value:
                self.spell(item, where)
            self._add("end")
        elif isinstance(value, set | frozenset):
            self._add(*sorted(map(repr, value)))
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self._add(repr(key))
                self.spell(item, where)
            self._add("end")
        elif isinstance(value, partial):
            self.spell((value.func, value.args, value.keywords), where)
        elif isinstance(value, MethodType):
            self.spell((value.__func__, value.__self__), where)
        elif isinstance(value, ModuleType):
            self._spell_module(value.__name__)
        elif _is_installed(value):
            self._add(value.__module__, getattr(value, "__qualname__", repr(value)))
            self._spell_version(value.__module__)
        elif isinstance(value, FunctionType):
            self._spell_function(value)
        elif hasattr(value, "__wrapped__"):  # by jax.jit, functools.cache and their like
            self.spell(value.__wrapped__, where)
        elif isinstance(value, type):
            self._add(value.__qualname__)
            self._spell_module(value.__module__)
        else:
            self._spell_object(value, where)

    def _spell_array(self, value: np.ndarray, where: str) -> None:
        if value.dtype.hasobject:
            self.spell(value.tolist(), where)
        else:
            self._add(value.dtype.str, value.shape)
            # In pieces, of which copies are small where they are needed.
            rows = np.atleast_1d(value)
            step = max(1, _PIECE * len(rows) // max(rows.nbytes, 1))
            for first in range(0, len(rows), step):
                self._digest.update(np.ascontiguousarray(rows[first : first + step]))

    def _spell_code(self, code: CodeType, where: str) -> None:
        self._add(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, code.co_argcount)
        self.spell(code.co_consts, where)

    def _spell_function(self, function: FunctionType) -> None:
        name = function.__qualname__
        self._add(sys.version_info[:2])  # which compiles in its own way
        self.spell(function.__code__, name)
        self.spell((function.__defaults__, function.__kwdefaults__), f"a default of {name}")
        for captured, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._add(captured)
            self.spell(cell.cell_contents, f"{captured}, which {name} captures")
        for used in sorted(_names(function.__code__)):
            if used in function.__globals__:
                self._add(used)
                self.spell(function.__globals__[used], f"{used}, which {name} uses")

    def _spell_module(self, name: str) -> None:
        module = sys.modules.get(name)
        place = getattr(module, "__file__", None)
        self._add(name)
        if place and not _installed(place) and Path(place).exists():
            self._add(file_digest(Path(place)))
        else:
            self._spell_version(name)

    def _spell_version(self, module: str) -> None:
        self._add(_version(module.partition(".")[0]))

    def _spell_object(self, value: Any, where: str) -> None:
        self.spell(type(value), where)
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                self._add(field.name)
                self.spell(getattr(value, field.name), where)
        elif getattr(type(value), "__slots__", None) is None and hasattr(value, "__dict__"):
            self.spell(vars(value), where)
        else:
            self.unknown.append(f"{where} (a {type(value).__name__})")


def _names(code: CodeType) -> set[str]:
    """Names that code and what is defined in it may look up in their module."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _is_installed(value: Any) -> bool:
    """Whether a function or a class comes with Python or with an installed package, whose version tells the rest."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or not callable(value):
        return False
    found = sys.modules.get(module)
    place = getattr(found, "__file__", None)
    if place is None:
        return found is not None and module != "__main__"
    named = hasattr(value, "__qualname__") and "<" not in value.__qualname__
    return named and _installed(place) and not getattr(value, "__closure__", None)


@cache
def _installed(place: str) -> bool:
    own = (Path(__file__).parent.parent, Path(sys.modules["plausibly.models"].__file__ or "").parent)
    library = any(Path(place).is_relative_to(folder) for folder in (sysconfig.get_path("stdlib"), *own))
    return library or not {"site-packages", "dist-packages"}.isdisjoint(Path(place).parts)


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "" if package not in sys.stdlib_module_names else str(sys.version_info[:3])
