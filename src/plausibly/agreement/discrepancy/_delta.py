"""Disagreements δ between two labels, and how to evaluate one for many pairs."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.chance._distinct_labels import different
from plausibly.annotations._names import _show
from plausibly.distances import BY_TYPE, DISTANCES, Distance, LabelRefused, find_distance
from plausibly.errors import AnnotationError, ArgumentError, DistanceError
from plausibly.labels._cells import literal
from plausibly.labels._table import to_objects

Compare: TypeAlias = Callable[[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]], Float[np.ndarray, " pair"]]

NUMERIC = ("squared", "absolute", "hinge")
NAMES = ("nominal", *NUMERIC, "jaccard")

_PART = 1 << 17  # pairs of different labels that a distance compares at a time

#: Distances of labels that have parts, which in a cell of a table are written as text.
_OF_PARTS = tuple(
    {
        type(one)
        for of in ("vectors", "boxes", "keypoints", "spans", "rankings", "partial rankings")
        for one in BY_TYPE[of].values()
    }
)


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

    @property
    def pairs_of_seconds(self) -> int:
        """How many pairs take seconds: by a formula, by arrays of labels' parts, or by a call for each."""
        if self.function is None:
            return 20_000_000
        return 500_000 if isinstance(self.function, Distance) and not self.function.slow else 20_000

    def compare(self, values: np.ndarray, n_labels: int | None = None) -> Compare:
        """Return a function that gives the disagreements of pairs of these labels, by their indices.

        Parameters
        ----------
        values
            Labels: codes for ``"nominal"``, float64 for numeric ones, else objects.
        n_labels
            How many of them, from the first on, are the annotators'; all if None. A distance that depends on how
            frequent labels are (ordinal) counts those only, so that no model alters the annotators' disagreement.

        Raises
        ------
        LabelRefused
            If a distance cannot take a label; with its index.
        """
        if isinstance(self.function, Distance):
            return _by_arrays(self.function, values, len(values) if n_labels is None else n_labels)
        if self.function is not None:
            return _by_function(self.function, values)
        if self.name == "nominal":
            return lambda left, right: (values[left] != values[right]).astype(np.float64)
        if self.name == "squared":
            return lambda left, right: (values[left] - values[right]) ** 2
        if self.name == "absolute":
            return lambda left, right: np.abs(values[left] - values[right])
        if self.name == "hinge":
            return lambda left, right: np.maximum(np.abs(values[left] - values[right]) - self.tolerance, 0.0)
        return _by_function(jaccard, to_objects(map(_to_set, values.tolist())))


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


def _distance(name: Any) -> Distance:
    """Look a name up among the distances of the package."""
    try:
        return find_distance(name)
    except ArgumentError:
        near = get_close_matches(str(name), [*NAMES, *DISTANCES], n=1)
        mend = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(NAMES)}, or pass a function."
        others = "those of plausibly.distances serve, too"
        raise ArgumentError(f"there is no disagreement {_show(name)}: {mend} ({others})") from None


def _by_arrays(distance: Distance, values: np.ndarray, n_labels: int) -> Compare:
    """Compare many labels at once, each pair of different labels once in a call."""
    if isinstance(distance, _OF_PARTS):
        values = to_objects(literal(value) if isinstance(value, str) else value for value in values.tolist())
    first, code = different(values)
    distinct = values[first].tolist()
    try:
        encoded = distance.encode(distinct, np.bincount(code[:n_labels], minlength=len(distinct)))
    except LabelRefused as error:
        raise LabelRefused(str(error), int(first[error.position])) from error

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        keys, place = np.unique(code[left] * len(distinct) + code[right], return_inverse=True)
        found = np.empty(len(keys))
        for part in range(0, len(keys), _PART):
            a, b = np.divmod(keys[part : part + _PART], len(distinct))
            found[part : part + _PART] = distance.between(encoded, a, b)
        for bad in np.flatnonzero(~((found >= 0) & (found < np.inf))):
            a, b = divmod(int(keys[bad]), len(distinct))
            _checked(float(found[bad]), distinct[a], distinct[b])
        return found[place]

    return compare


def _by_function(function: Callable[[Any, Any], float], values: np.ndarray) -> Compare:
    """Call a function once for every pair of different labels that occurs."""
    first, code = different(values)
    distinct = values[first].tolist()
    known: dict[int, float] = {}

    def compare(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        # Model labels come before annotators' ones only in pairs of the two; the order within a pair is kept.
        keys, place = np.unique(code[left] * len(distinct) + code[right], return_inverse=True)
        for key in keys.tolist():
            if key not in known:
                a, b = (distinct[number] for number in divmod(key, len(distinct)))
                known[key] = _checked(_called(function, a, b), a, b)
        return np.array([known[key] for key in keys.tolist()])[place]

    return compare


def _called(function: Callable[[Any, Any], float], a: Any, b: Any) -> float:
    try:
        return function(a, b)
    except Exception as error:  # a user's function can fail in any way
        reason = (str(error).splitlines() or [""])[0][:200]
        raise DistanceError(
            f"the disagreement of {_show(a)} and {_show(b)} failed ({type(error).__name__}: {reason}); mend the "
            "function"
        ) from error


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
