"""What a distance is: a function of two labels that can also compare many pairs at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from functools import wraps
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, Int

from plausibly.base.errors import DistanceError, show

Indices: TypeAlias = Int[np.ndarray, "*pair"]
Distances: TypeAlias = Float[np.ndarray, "*pair"]
Counts: TypeAlias = Int[np.ndarray, " label"] | None


class LabelRefused(DistanceError):
    """A label that a distance does not accept; `position` is its index among the given labels."""

    def __init__(self, reason: str, position: int):
        super().__init__(reason)
        self.position = position


class PairRefused(DistanceError):
    """A pair on which a distance failed; `left` and `right` are the labels' indices."""

    def __init__(self, reason: str, left: int, right: int):
        super().__init__(reason)
        self.left, self.right = left, right

    def __reduce__(self):  # so that it can come from another process
        return type(self), (str(self), self.left, self.right)


class Distance(ABC):
    """Symmetric distance between labels of the same type, zero or greater.

    Called with two labels it returns their distance. For many pairs, :meth:`encode` turns the labels into arrays once
    and :meth:`between` compares any of them by index.

    Examples
    --------
    >>> from plausibly.distances import nominal
    >>> nominal("wart", "corn")
    1.0
    >>> encoded = nominal.encode(["wart", "corn", "wart"])
    >>> nominal.between(encoded, np.array([0, 0]), np.array([1, 2])).tolist()
    [1.0, 0.0]
    """

    #: Name in tables and figures.
    name: str
    #: Greatest possible value.
    bound: float = np.inf
    #: Whether a pair takes so long that a progress bar is useful.
    slow: bool = False

    def in_order(self, order: Sequence[Any] | None) -> "Distance":
        """Return the distance where labels have an order, from the lowest; the same, unless it depends on one."""
        return self

    @abstractmethod
    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Any:
        """Turn labels into the arrays that :meth:`between` compares.

        Labels are usually distinct. `counts` says how many times each occurs (once if None), for distances that depend
        on the whole data (ordinal). Raises a DistanceError if a label has another type.
        """

    @abstractmethod
    def between(self, encoded: Any, left: Indices, right: Indices) -> Distances:
        """Compare labels by index.

        `left` and `right` are indices into the labels passed to :meth:`encode`; the result has their broadcast shape.
        """

    def __call__(self, a: Any, b: Any) -> float:
        """Compare two labels."""
        return float(self.between(self.encode([a, b]), np.array([0]), np.array([1]))[0])

    def __repr__(self) -> str:
        return f"<distance {self.name}>"


def flat(between: Callable[[Any, Any, Indices, Indices], Distances]) -> Callable[..., Distances]:
    """Let a method ``between`` that takes indices in one dimension take indices of any shapes that broadcast."""

    @wraps(between)
    def of_any_shape(self: Any, encoded: Any, left: Indices, right: Indices) -> Distances:
        left, right = np.broadcast_arrays(left, right)
        return between(self, encoded, left.ravel(), right.ravel()).reshape(left.shape)

    return of_any_shape


class PairwiseDistance(Distance):
    """A distance that is computed pair by pair, by :meth:`compare`."""

    slow = True

    @abstractmethod
    def compare(self, a: Any, b: Any) -> float:
        """Compare two encoded labels."""

    @flat
    def between(self, encoded: Sequence[Any], left: Indices, right: Indices) -> Distances:
        found = np.empty(left.size)
        for place, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
            try:
                found[place] = float(self.compare(encoded[a], encoded[b]))
            except Exception as error:  # a user's function can fail in any way
                reason = (str(error).splitlines() or [""])[0][:200]
                raise PairRefused(
                    f"the distance {self.name!r} failed ({type(error).__name__}: {reason})", a, b
                ) from error
        return found


class FunctionDistance(PairwiseDistance):
    """Distance made from any function of two labels, which is called pair by pair.

    The function returns a number, zero or greater, the same in either order.

    Examples
    --------
    >>> FunctionDistance(lambda a, b: abs(len(a) - len(b)))("corn", "melanoma")
    4.0
    """

    def __init__(self, function: Callable[[Any, Any], float]):
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def compare(self, a: Any, b: Any) -> float:
        return self.function(a, b)

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> list[Any]:
        return list(labels)


def each_label(read: Callable[[Any], Any], labels: Sequence[Any]) -> list[Any]:
    """Read labels one by one; of one that cannot be read, give its position."""
    found = []
    for position, label in enumerate(labels):
        try:
            found.append(read(label))
        except (TypeError, ValueError) as error:
            raise LabelRefused(str(error), position) from error
    return found


def as_list(label: Any, rule: str, such_as: str) -> list[Any]:
    """Return the members of a label that is a list, a tuple or an array; raise ValueError for any other."""
    if isinstance(label, str | bytes | Mapping | Set) or not hasattr(label, "__len__"):
        raise ValueError(f"{rule}, got {show(label)}; write {such_as}")
    return label.tolist() if isinstance(label, np.ndarray) else list(label)
