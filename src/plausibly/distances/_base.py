"""What a distance is: a function of two labels that can also take many pairs at once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.errors import DistanceError


def show(value: object) -> str:
    """Show a value as received, on one line and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


class LabelRefused(DistanceError):
    """A label that a distance cannot take; `position` is its index among those given."""

    def __init__(self, reason: str, position: int):
        super().__init__(reason)
        self.position = position


class PairRefused(DistanceError):
    """A pair on which a distance failed; `left` and `right` are the labels' indices."""

    def __init__(self, reason: str, left: int, right: int):
        super().__init__(reason)
        self.left, self.right = left, right


class Distance(ABC):
    """A symmetric distance between labels of one type, zero or greater.

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

    #: The greatest value possible.
    bound: float = np.inf
    #: Whether a pair takes so long that a bar should show how far the work is.
    slow: bool = False

    @property
    @abstractmethod
    def name(self) -> str:
        """What the distance is called in tables and figures."""

    @abstractmethod
    def encode(self, labels: Sequence[Any], counts: Int[np.ndarray, " label"] | None = None) -> Any:
        """Turn labels into what :meth:`between` compares.

        Parameters
        ----------
        labels
            Labels, as a rule distinct ones.
        counts
            How often each occurs; once if None. Only distances that depend on the whole data use it (ordinal).

        Raises
        ------
        DistanceError
            If a label is of another type.
        """

    @abstractmethod
    def between(
        self, encoded: Any, left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """Compare labels by index.

        Parameters
        ----------
        encoded
            From :meth:`encode`.
        left, right
            Indices into the labels, of shapes that broadcast.

        Returns
        -------
        Distances of the broadcast shape, float64.
        """

    def __call__(self, a: Any, b: Any) -> float:
        """Compare two labels."""
        return float(self.between(self.encode([a, b]), np.array([0]), np.array([1]))[0])

    def __repr__(self) -> str:
        return f"<distance {self.name}>"


class FunctionDistance(Distance):
    """A distance that is any function of two labels, called pair by pair.

    Parameters
    ----------
    function
        Takes two labels and returns a number, zero or greater, the same in either order.

    Examples
    --------
    >>> FunctionDistance(lambda a, b: abs(len(a) - len(b)))("corn", "melanoma")
    4.0
    """

    slow = True

    def __init__(self, function: Callable[[Any, Any], float]):
        self.function = function

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def encode(self, labels: Sequence[Any], counts: Int[np.ndarray, " label"] | None = None) -> list[Any]:
        """Return the labels as they are."""
        return list(labels)

    def between(
        self, encoded: Sequence[Any], left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """Call the function pair by pair."""
        left, right = np.broadcast_arrays(left, right)
        found = np.empty(left.size)
        for place, (a, b) in enumerate(zip(left.flat, right.flat, strict=True)):
            try:
                found[place] = float(self.function(encoded[a], encoded[b]))
            except Exception as error:  # a user's function can fail in any way
                reason = (str(error).splitlines() or [""])[0][:200]
                raise PairRefused(
                    f"the distance {self.name!r} failed ({type(error).__name__}: {reason})", int(a), int(b)
                ) from error
        return found.reshape(left.shape)
