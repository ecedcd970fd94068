"""Vectors: labels of several values, as many in each."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.distances._base import Distance, LabelRefused, show
from plausibly.distances._categories import Nominal


class _Vectors(Distance):
    def _rows(self, labels: Sequence[Any]) -> list[list[Any]]:
        """Read labels as lists of one length."""
        rows: list[list[Any]] = []
        for position, label in enumerate(labels):
            if isinstance(label, str | bytes) or not hasattr(label, "__len__"):
                raise LabelRefused(f"a label is to be a list of values, got {show(label)}; write [value, …]", position)
            rows.append(list(label))
            if len(rows[-1]) != len(rows[0]):
                raise LabelRefused(
                    f"labels that are vectors have equally many values, got {len(rows[-1])} beside {len(rows[0])}; "
                    "fill or remove the label",
                    position,
                )
            if not rows[0]:
                raise LabelRefused("a vector has at least one value, got none; fill or remove the label", position)
        return rows

    @abstractmethod
    def _difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray: ...

    def _mean(self, encoded, left, right):
        total = sum(self._difference(column[left], column[right]) for column in encoded)
        return total / len(encoded)


class ShareUnequal(_Vectors):
    """Share of the places at which two vectors differ.

    Examples
    --------
    >>> ShareUnequal()(["a", 1, 2, 3], ["a", 1, 3, 2])
    0.5
    """

    bound = 1.0

    @property
    def name(self) -> str:
        """``"share_unequal"``."""
        return "share_unequal"

    def encode(
        self, labels: Sequence[Any], counts: Int[np.ndarray, " label"] | None = None
    ) -> Int[np.ndarray, "place label"]:
        """Number the distinct values at each place."""
        columns = zip(*self._rows(labels), strict=True)
        return np.array([Nominal().encode(column) for column in columns])

    def _difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a != b).astype(np.float64)

    def between(
        self, encoded: Int[np.ndarray, "place label"], left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """Compare labels by index."""
        return self._mean(encoded, left, right)


class RootMeanSquare(_Vectors):
    """Root mean squared difference of two vectors of numbers.

    Examples
    --------
    >>> RootMeanSquare()([0, 0], [3, 1])
    2.23606797749979
    """

    @property
    def name(self) -> str:
        """``"rmse"``."""
        return "rmse"

    def encode(
        self, labels: Sequence[Any], counts: Int[np.ndarray, " label"] | None = None
    ) -> Float[np.ndarray, "place label"]:
        """Read numbers."""
        found = []
        for position, row in enumerate(self._rows(labels)):
            try:
                found.append(np.array(row, np.float64))
                finite = bool(np.isfinite(found[-1]).all())
            except (TypeError, ValueError):
                finite = False
            if not finite:
                raise LabelRefused(f"the values of a vector are finite numbers, got {show(row)}; mend it", position)
        return np.array(found).T.copy()

    def _difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a - b) ** 2

    def between(
        self, encoded: Float[np.ndarray, "place label"], left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """Compare labels by index."""
        return np.sqrt(self._mean(encoded, left, right))
