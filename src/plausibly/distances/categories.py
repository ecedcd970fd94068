"""Categories without order and with one, numbers on an interval, a ratio or a circular scale, and vectors of either.

Krippendorff (2011), "Computing Krippendorff's alpha-reliability".
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.base.checks import to_numbers
from plausibly.base.errors import ArgumentError, show
from plausibly.distances._base import Counts, Distance, Distances, Indices, LabelRefused, as_list, each_label


class Nominal(Distance):
    """0 for equal labels, 1 for others.

    Examples
    --------
    >>> nominal = Nominal()
    >>> nominal("wart", "wart"), nominal("wart", "corn")
    (0.0, 1.0)
    """

    name, bound = "nominal", 1.0

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Int[np.ndarray, " label"]:
        try:
            first: dict[Any, int] = {}
            return np.array([first.setdefault(label, len(first)) for label in labels], np.int64)
        except TypeError:  # lists, dicts
            distinct: list[Any] = []
            return np.array([_place(distinct, label, position) for position, label in enumerate(labels)], np.int64)

    def between(self, encoded: Int[np.ndarray, " label"], left: Indices, right: Indices) -> Distances:
        return (encoded[left] != encoded[right]).astype(np.float64)


_ORDINAL = (
    "an ordinal label is a number, or one of the categories in their order: pass pb.distances.Ordinal(order=[…]), the "
    "lowest first, or an ordered Categorical, or --classes with a file of one a line"
)


class Ordinal(Distance):
    """Squared number of labels between two categories, including half of the labels in each of the two.

    It depends on how often each category occurs, so it is meaningful only for all labels of a data set;
    :func:`plausibly.agreement.agreement` passes their counts. If only two labels are compared, each occurs once.

    Parameters
    ----------
    order
        Categories from the lowest to the highest; by default labels are compared as numbers.

    Examples
    --------
    >>> grades = Ordinal(["none", "mild", "severe"])
    >>> encoded = grades.encode(["none", "mild", "severe"], np.array([4, 2, 6]))
    >>> grades.between(encoded, np.array([0, 0]), np.array([1, 2])).tolist()
    [9.0, 49.0]
    """

    name = "ordinal"

    def __init__(self, order: Iterable[Any] | None = None):
        self.order = None if order is None else list(order)

    def in_order(self, order: Sequence[Any] | None) -> "Ordinal":
        """Return the distance with this order, unless it has one."""
        return Ordinal(order) if self.order is None and order is not None else self

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Float[np.ndarray, " label"]:
        """Map every label to the mean of its ranks."""
        if self.order is None:
            places = numbers_of(labels, _ORDINAL)
        else:
            places = np.empty(len(labels))
            for position, label in enumerate(labels):
                if label not in self.order:
                    raise LabelRefused(
                        f"the label {show(label)} is not among the ordered categories {show(self.order)}; add it there",
                        position,
                    )
                places[position] = self.order.index(label)
        levels, level = np.unique(places, return_inverse=True)
        each = np.bincount(level, weights=counts, minlength=len(levels))
        return (np.cumsum(each) - each / 2)[level]

    def between(self, encoded: Float[np.ndarray, " label"], left: Indices, right: Indices) -> Distances:
        return (encoded[left] - encoded[right]) ** 2


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


class Absolute(Interval):
    """Absolute difference between two numbers.

    Examples
    --------
    >>> Absolute()(2, 5)
    3.0
    """

    name = "absolute"

    def between(self, encoded: Float[np.ndarray, " label"], left: Indices, right: Indices) -> Distances:
        return np.abs(encoded[left] - encoded[right])


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


def numbers_of(labels: Sequence[Any], rule: str) -> Float[np.ndarray, " label"]:
    """Read labels as finite numbers; refuse the first that is none."""
    numbers = to_numbers(labels)
    for position in np.flatnonzero(~np.isfinite(numbers)).tolist():
        raise LabelRefused(f"{rule}, got {show(labels[position])}; correct or remove it", position)
    return numbers


def _place(distinct: list[Any], label: Any, position: int) -> int:
    """Find a label that cannot be hashed among the distinct ones, or add it."""
    for place, other in enumerate(distinct):
        try:
            same = bool(np.all(label == other)) and type(label) is type(other)
        except ValueError as error:
            raise LabelRefused(f"labels such as {show(label)} cannot be compared for equality", position) from error
        if same:
            return place
    distinct.append(label)
    return len(distinct) - 1


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
