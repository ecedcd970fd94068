"""Labels that are several objects: any distance between single objects, lifted by best matches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Int

from plausibly.base.checks import check_choice
from plausibly.distances._base import (
    Counts,
    Distance,
    Distances,
    FunctionDistance,
    Indices,
    LabelRefused,
    PairRefused,
    as_list,
    each_label,
    flat,
)

Combine = Literal["directional", "pooled"]
_AT_ONCE = 1 << 15  #: pairs of objects compared at once, so that intermediate arrays stay in a core's cache


@dataclass(frozen=True)
class Lists:
    """Lists of different lengths, one after the other: list `i` has ``count[i]`` members, the first at ``start[i]``."""

    start: Int[np.ndarray, " label"]
    count: Int[np.ndarray, " label"]
    members: Any

    @classmethod
    def of(cls, lists: Sequence[Sequence[Any]], encode: Callable[[list[Any]], Any]) -> "Lists":
        """Join lists, and encode their members together."""
        count = np.array([len(one) for one in lists], np.int64)
        start = np.cumsum(count) - count
        return cls(start, count, encode([member for one in lists for member in one]))


class BestMatches(Distance):
    r"""Extend a distance between single objects to labels with several objects.

    Every object of one label is matched with the nearest object of the other. With :math:`\Delta(A, B) =
    \mathrm{mean}_{a \in A} \min_{b \in B} D(a, b)`, the distance is :math:`(\Delta(A, B) + \Delta(B, A)) / 2`. Braylan,
    Alonso and Lease (2022), section 4.

    Parameters
    ----------
    single
        Distance between two objects: a distance of this package, or any function.
    combine
        ``"directional"``: the mean of the two directions' means, as above; ``"pooled"``: one mean over the best matches
        of both directions, so that the label with more objects counts more.
    empty
        Distance between two labels without objects.
    greatest
        Distance between a label without objects and one with objects. By default the greatest value of `single`; if it
        has none, infinity, which :func:`plausibly.agreement.agreement` replaces by the greatest distance in the data.
    cap
        Upper limit for the distances of best matches (for a similarity ``1 − D``, a lower limit of ``1 − cap``).
    name
        Name of the distance.

    Examples
    --------
    >>> lifted = BestMatches(lambda a, b: abs(a - b))
    >>> lifted([1, 5], [2]), BestMatches(lambda a, b: abs(a - b), combine="pooled")([1, 5], [2])
    (1.5, 1.6666666666666667)
    >>> lifted([], [])
    0.0
    """

    def __init__(
        self,
        single: Distance | Callable[[Any, Any], float],
        combine: Combine = "directional",
        *,
        empty: float = 0.0,
        greatest: float | None = None,
        cap: float = np.inf,
        name: str | None = None,
    ):
        check_choice("combine", combine, ("directional", "pooled"))
        self.single = single if isinstance(single, Distance) else FunctionDistance(single)
        self.combine, self.empty, self.cap = combine, float(empty), float(cap)
        self.greatest = min(self.single.bound, self.cap) if greatest is None else float(greatest)
        self.slow = self.single.slow
        self.bound = max(min(self.single.bound, self.cap), self.greatest, self.empty)
        self.name = name or f"best matches of {self.single.name}"

    def objects(self, label: Any) -> Sequence[Any]:
        """Split a label into objects; here it already is a sequence."""
        return as_list(label, "a label of several objects is a list of them", "[object, …]")

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Lists:
        """Split labels into objects, and encode all objects together."""
        parts = each_label(self.objects, labels)
        try:
            return Lists.of(parts, self.single.encode)
        except LabelRefused as error:
            owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
            raise LabelRefused(str(error), int(owner[error.position])) from error

    @flat
    def between(self, encoded: Lists, left: Indices, right: Indices) -> Distances:
        found = np.empty(left.size)
        for chosen, m, n in by_shape(encoded.count[left], encoded.count[right]):
            if not (m and n):
                found[chosen] = self.greatest if m or n else self.empty
                continue
            ours = encoded.start[left[chosen]] + np.arange(m)[:, None, None]
            theirs = encoded.start[right[chosen]] + np.arange(n)[None, :, None]
            try:
                each = self.single.between(encoded.members, ours, theirs)
            except PairRefused as error:
                error.left, error.right = (
                    int(np.searchsorted(encoded.start, place, "right")) - 1 for place in (error.left, error.right)
                )
                raise
            rows, columns = each.min(axis=1), each.min(axis=0)
            if np.isfinite(self.cap):
                rows, columns = np.minimum(rows, self.cap), np.minimum(columns, self.cap)
            if self.combine == "pooled":
                found[chosen] = (rows.sum(axis=0) + columns.sum(axis=0)) / (m + n)
            else:
                found[chosen] = (rows.mean(axis=0) + columns.mean(axis=0)) / 2
        return found


class ObjectCount(Distance):
    """Difference between the numbers of objects in two labels.

    `objects` splits a label into objects.

    Examples
    --------
    >>> ObjectCount(list, "count")([1, 2, 3], [1])
    2.0
    """

    def __init__(self, objects: Callable[[Any], Sequence[Any]], name: str):
        self.objects, self.name = objects, name

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Int[np.ndarray, " label"]:
        return np.array([len(part) for part in each_label(self.objects, labels)], np.int64)

    def between(self, encoded: Int[np.ndarray, " label"], left: Indices, right: Indices) -> Distances:
        return np.abs(encoded[left] - encoded[right]).astype(np.float64)


def by_shape(
    left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"], at_once: int = _AT_ONCE
) -> Iterator[tuple[Int[np.ndarray, " chosen"], int, int]]:
    """Gather pairs of labels with equal numbers of objects, in portions of bounded size.

    A portion has at most `at_once` pairs of objects, or one pair of labels. Gives the indices of pairs, and the two
    numbers of objects they share.
    """
    base = int(right.max(initial=0)) + 1
    shapes = left.astype(np.int64) * base + right
    order = np.argsort(shapes, kind="stable")
    found, first = np.unique(shapes[order], return_index=True)
    for shape, group in zip(found.tolist(), np.split(order, first[1:]), strict=True):
        m, n = divmod(shape, base)
        step = max(1, at_once // max(1, m * n))
        for begin in range(0, len(group), step):
            yield group[begin : begin + step], m, n
