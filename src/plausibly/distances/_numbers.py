"""Single numbers: differences on an interval, a ratio or a circular scale (Krippendorff 2011)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.distances._base import Counts, Distance, Distances, Indices, LabelRefused
from plausibly.distances._categories import numbers_of
from plausibly.errors import ArgumentError


class Interval(Distance):
    """Squared difference between two numbers.

    Examples
    --------
    >>> Interval()(2, 5)
    9.0
    """

    name = "interval"

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Float[np.ndarray, " label"]:
        return numbers_of(labels, "the label must be a finite number")

    def between(self, encoded: Float[np.ndarray, " label"], left: Indices, right: Indices) -> Distances:
        return (encoded[left] - encoded[right]) ** 2


class Ratio(Interval):
    """Squared ratio of the difference to the sum of two numbers, which must not be negative; 0 for two zeros.

    Examples
    --------
    >>> Ratio()(1, 3), Ratio()(0, 0)
    (0.25, 0.0)
    """

    name, bound = "ratio", 1.0

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Float[np.ndarray, " label"]:
        numbers = super().encode(labels)
        for position in np.flatnonzero(numbers < 0):
            raise LabelRefused(
                f"labels on a ratio scale are zero or greater, got {numbers[position]:g}; use the interval distance",
                int(position),
            )
        return numbers

    def between(self, encoded: Float[np.ndarray, " label"], left: Indices, right: Indices) -> Distances:
        total = encoded[left] + encoded[right]
        return ((encoded[left] - encoded[right]) / np.where(total > 0, total, 1.0)) ** 2


class Circular(Interval):
    """Squared sine of half the angle between two numbers on a circle: 0 for the same point, 1 for opposite points.

    Parameters
    ----------
    period
        Length of the circle, greater than zero: 360 for degrees, 24 for hours of the day.

    Examples
    --------
    >>> round(Circular()(350, 10), 4), Circular(24)(0, 12)
    (0.0302, 1.0)
    """

    name, bound = "circular", 1.0

    def __init__(self, period: float = 360.0):
        if not 0 < period < np.inf:
            raise ArgumentError(f"the period must be greater than zero, but {period!r} was given: write 360 or 24.")
        self.period = float(period)

    def between(self, encoded: Float[np.ndarray, " label"], left: Indices, right: Indices) -> Distances:
        # Of the remainder, because the sine of a multiple of π is not quite zero.
        turns = np.mod(encoded[left] - encoded[right], self.period) / self.period
        return np.sin(np.pi * turns) ** 2
