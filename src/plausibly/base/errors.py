"""Errors a user can act on: one sentence with the rule, the value received, the place and the fix."""

import inspect
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from traceback import extract_tb
from types import CodeType
from typing import Any, ParamSpec, TypeVar
from warnings import warn

P = ParamSpec("P")
R = TypeVar("R")


class PlausiblyError(ValueError):
    """Base of all errors caused by the user's input."""


class AnnotationError(PlausiblyError):
    """Annotations that break a rule of :class:`plausibly.Annotations`."""


class PredictionError(PlausiblyError):
    """Predictions that do not match the cases or the classes."""


class FileError(PlausiblyError):
    """A file that is missing, unreadable, truncated or of an unknown format."""


class ArgumentError(PlausiblyError):
    """An argument outside its range, or one that the chosen model does not accept."""


class DistanceError(PlausiblyError):
    """A label that a distance cannot compare, or a value that is not a valid distance."""


class ClusterError(PlausiblyError):
    """A Dask cluster that cannot be reached, that fails, or whose workers have other package versions."""


class PlausiblyWarning(UserWarning):
    """Something was left out or done in an unexpected way, but nothing has to be fixed."""


class DataWarning(PlausiblyWarning):
    """Something about the data that may make results wrong: look at it before you read them."""


class Fault(str):
    """A note on what may make results wrong, such as a :class:`DataWarning`, which comes before other notes."""


class Serious(Fault):
    """A fault after which no number is to be trusted, which comes before all other notes."""


class ConvergenceWarning(PlausiblyWarning):
    """Chains did not converge, so that results should not be trusted: the message says where, and what helps."""


def reason(error: BaseException) -> str:
    """Extract the reason for a file error from the message of the system or of HDF5, which buries it between addresses.

    Examples
    --------
    >>> reason(OSError(28, "No space left on device"))
    'No space left on device'
    """
    quoted = re.search(r"error message = '([^']*)'", str(error))
    if quoted:
        return quoted.group(1)
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).splitlines()[0]


def first_line(error: BaseException) -> str:
    r"""Shorten the message of a library to its first line.

    Examples
    --------
    >>> first_line(ValueError("no table\nat all"))
    'no table'
    """
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def suggest(name: object, known: Iterable[str], otherwise: str, cutoff: float = 0.6) -> str:
    """Suggest the known name closest to an unknown one; if none is close, return `otherwise`.

    Examples
    --------
    >>> suggest("prirm", ["irn", "prirn"], "choose another"), suggest("x", ["irn"], "choose another")
    ("did you mean 'prirn'?", 'choose another')
    """
    near = get_close_matches(str(name), map(str, known), n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}?" if near else otherwise


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """Return the code of a user's function, unwrapping partial and bound functions; None for other callable objects.

    Examples
    --------
    >>> code_of(lambda x: x).co_name
    '<lambda>'
    """
    return getattr(inspect.unwrap(getattr(function, "func", function)), "__code__", None)


def raised(function: Callable[..., Any], error: BaseException) -> str:
    """Describe the error that a user's function raised, and where in its file.

    Examples
    --------
    >>> def half(x):
    ...     return x / 0
    >>> try:
    ...     half(1)
    ... except ZeroDivisionError as error:
    ...     print(raised(half, error))  # doctest: +ELLIPSIS
    raised ZeroDivisionError: division by zero (..., line 2); correct it there
    """
    code = code_of(function)
    place = "in its file"
    if code is not None:
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == code.co_filename]
        place = f"{code.co_filename}, line {[code.co_firstlineno, *lines][-1]}"
    return f"raised {type(error).__name__}: {first_line(error)} ({place}); correct it there"


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept keywords by their old names, too, with a FutureWarning; `names` gives the new name of each.

    Examples
    --------
    >>> list(inspect.signature(renamed(groups="clusters")(lambda *, clusters: None)).parameters)
    ['clusters']
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                if names[old] in kwargs:
                    raise ArgumentError(f"{old} is the old name of {names[old]}, but both were given: leave it out.")
                warn(f"{old} is called {names[old]} now: rename the argument.", FutureWarning, stacklevel=2)
                kwargs[names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


_NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")  # a NumPy scalar, as its type and its value


def show(value: object) -> str:
    """Text of a value as received, on one line and not too long."""
    try:
        text = _NUMPY.sub(r"\1", " ".join(repr(value).split()))
    except Exception:  # NumPy has no text for some of the times that an array can hold, and objects have their own
        return f"a value of the type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."
