"""Vectors: labels of several values, the same number in each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.distances._base import Counts, Distance, Distances, Indices, LabelRefused, as_list, each_label
from plausibly.distances._categories import Nominal
from plausibly.errors import show


class ShareUnequal(Distance):
    """Share of the places at which two vectors differ.

    Examples
    --------
    >>> ShareUnequal()(["a", 1, 2, 3], ["a", 1, 3, 2])
    0.5
    """

    name, bound = "share_unequal", 1.0

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Int[np.ndarray, "place label"]:
        """Number the distinct values at each place."""
        return np.array([Nominal().encode(column) for column in zip(*_rows(labels), strict=True)])

    def between(self, encoded: Int[np.ndarray, "place label"], left: Indices, right: Indices) -> Distances:
        return sum((column[left] != column[right]).astype(np.float64) for column in encoded) / len(encoded)


class RootMeanSquare(Distance):
    """Root mean squared difference between two vectors of numbers.

    Examples
    --------
    >>> RootMeanSquare()([0, 0], [3, 1])
    2.23606797749979
    """

    name = "rmse"

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Float[np.ndarray, "place label"]:
        return np.array(each_label(_numbers, _rows(labels))).T.copy()

    def between(self, encoded: Float[np.ndarray, "place label"], left: Indices, right: Indices) -> Distances:
        return np.sqrt(sum((column[left] - column[right]) ** 2 for column in encoded) / len(encoded))


def _rows(labels: Sequence[Any]) -> list[list[Any]]:
    """Read labels as lists of one length."""
    rows = each_label(lambda label: as_list(label, "a label must be a list of values", "[value, …]"), labels)
    for position, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise LabelRefused(
                f"labels that are vectors have equally many values, got {len(row)} beside {len(rows[0])}; "
                "fill or remove the label",
                position,
            )
        if not row:
            raise LabelRefused("a vector has at least one value, got none; fill or remove the label", position)
    return rows


def _numbers(row: list[Any]) -> Float[np.ndarray, " place"]:
    try:
        numbers = np.array(row, np.float64)
        if np.isfinite(numbers).all():
            return numbers
    except (TypeError, ValueError):
        pass
    raise ValueError(f"the values of a vector are finite numbers, got {show(row)}; correct it")
