"""Disagreements δ between two labels, and how to evaluate one for many pairs."""

import importlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement._read import to_objects
from plausibly.annotations._names import _show
from plausibly.errors import AnnotationError, ArgumentError, PlausiblyError

Compare: TypeAlias = Callable[[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]], Float[np.ndarray, " pair"]]

NUMERIC = ("squared", "absolute", "hinge")
NAMES = ("nominal", *NUMERIC, "jaccard")


@dataclass(frozen=True)
class Delta:
    """A disagreement: by one of :data:`NAMES`, or a function of two labels.

    Parameters
    ----------
    name
        How it is called.
    function
        Of two labels, for those that have no formula for arrays; taken to be symmetric.
    tolerance
        Of ``"hinge"``.
    """

    name: str
    function: Callable[[Any, Any], float] | None = None
    tolerance: float = 0.0

    @property
    def is_numeric(self) -> bool:
        """Whether labels have to be numbers."""
        return self.function is None and self.name in NUMERIC

    def compare(self, values: np.ndarray) -> Compare:
        """Return a function that gives the disagreements of pairs of these labels, by their indices.

        Parameters
        ----------
        values
            Labels: codes for ``"nominal"``, float64 for numeric ones, else objects.
        """
        if self.function is not None:
            # A distance of the package knows how to compare many labels at once.
            arrays = hasattr(self.function, "encode") and hasattr(self.function, "between")
            return _by_arrays(self.function, values) if arrays else _by_function(self.function, values)
        if self.name == "nominal":
            return lambda left, right: (values[left] != values[right]).astype(np.float64)
        if self.name == "squared":
            return lambda left, right: (values[left] - values[right]) ** 2
        if self.name == "absolute":
            return lambda left, right: np.abs(values[left] - values[right])
        if self.name == "hinge":
            return lambda left, right: np.maximum(np.abs(values[left] - values[right]) - self.tolerance, 0.0)
        return _by_function(jaccard, to_objects(map(_to_set, values)))


def find_delta(delta: str | Callable[[Any, Any], float], tolerance: float | None = None) -> Delta:
    """Find a disagreement.

    Parameters
    ----------
    delta
        One of :data:`NAMES`, a name in ``plausibly.distances``, or a function.
    tolerance
        λ of ``"hinge"``, at least 0: how far apart two numbers may be without disagreeing.

    Raises
    ------
    ArgumentError
        If there is no such name, or the tolerance is absent, negative, or there for another disagreement.

    Examples
    --------
    >>> find_delta("hinge", tolerance=1).compare(np.array([1.0, 1.5, 4.0]))(np.array([0, 0]), np.array([1, 2])).tolist()
    [0.0, 2.0]
    """
    if tolerance is not None and not (isinstance(delta, str) and delta == "hinge"):
        raise ArgumentError(f"only hinge has a tolerance, but {tolerance!r} was given with {delta!r}: leave it out.")
    if callable(delta):
        own = getattr(delta, "__name__", getattr(delta, "name", None))
        return Delta(own if isinstance(own, str) else type(delta).__name__, delta)
    if isinstance(delta, str) and delta in NAMES:
        if delta == "hinge" and (tolerance is None or not 0 <= tolerance < np.inf):
            raise ArgumentError(
                f"hinge needs a tolerance of at least 0, but {tolerance!r} was given: pass for example tolerance=1."
            )
        return Delta(delta, tolerance=tolerance or 0.0)
    return Delta(str(delta), _distance(delta))


def jaccard(first: Collection, second: Collection) -> float:
    """One less the share of common members; 0 for two empty sets.

    Examples
    --------
    >>> jaccard({"a", "b"}, {"b", "c"}), jaccard(set(), set())
    (0.6666666666666667, 0.0)
    """
    union = len({*first, *second})
    return 1 - len({*first} & {*second}) / union if union else 0.0


def _to_set(label: Any) -> frozenset:
    """Make a set of a label: of text, the parts between bars."""
    if isinstance(label, str):
        return frozenset(part.strip() for part in label.split("|"))
    try:
        return frozenset(label)
    except TypeError:
        raise AnnotationError(
            f'jaccard compares sets, but a label is {_show(label)}; write lists, or text such as "a|b"'
        ) from None


def _distance(name: Any) -> Callable[[Any, Any], float]:
    """Look a name up among the distances of the package."""
    reason = (
        f"there is no disagreement {_show(name)}: choose from {', '.join(NAMES)}, or pass a function of two labels."
    )
    try:
        return importlib.import_module("plausibly.distances").find_distance(name)
    except (ModuleNotFoundError, PlausiblyError) as error:
        raise ArgumentError(reason) from error


def _by_arrays(distance: Any, values: np.ndarray) -> Compare:
    distinct, code = _distinct(values)
    encoded = distance.encode(list(distinct))
    return lambda left, right: np.asarray(distance.between(encoded, code[left], code[right]), float)


def _by_function(function: Callable[[Any, Any], float], values: np.ndarray) -> Compare:
    """Call a function once for every pair of different labels that occurs."""
    distinct, code = _distinct(values)
    known: dict[int, float] = {}

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        # Model labels come before annotators' ones only in pairs of the two; the order within a pair is kept.
        keys, place = np.unique(code[left] * len(distinct) + code[right], return_inverse=True)
        for key in keys.tolist():
            if key not in known:
                a, b = (distinct[number] for number in divmod(key, len(distinct)))
                known[key] = _checked(function(a, b), a, b)
        return np.array([known[key] for key in keys.tolist()])[place]

    return compare


def _distinct(values: np.ndarray) -> tuple[Sequence[Any], np.ndarray]:
    first: dict[Any, int] = {}
    try:
        code = np.fromiter((first.setdefault(value, len(first)) for value in values.tolist()), np.int64, len(values))
    except TypeError:
        return values, np.arange(len(values))
    return list(first), code


def _checked(value: Any, a: Any, b: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise ArgumentError(
            f"a disagreement is a finite number of at least 0, but that of {_show(a)} and {_show(b)} is "
            f"{_show(value)}: mend the function."
        )
    return number
