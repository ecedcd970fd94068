"""Partial rankings: labels that are blocks of tied classes, best first, as in differential diagnoses."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from plausibly.distances._base import Counts, Distance, Distances, Indices, LabelRefused, as_list, each_label, flat
from plausibly.errors import ArgumentError, show


def blocks_of(label: Any) -> list[list[Any]]:
    """Read a partial ranking, of blocks or of classes that are blocks of one; raise ValueError for any other label."""
    parts = as_list(label, "a partial ranking is a list of blocks", "[[class, …], …]")
    blocks = [list(one) if isinstance(one, list | tuple | set | frozenset | np.ndarray) else [one] for one in parts]
    named = [one for block in blocks for one in block]
    for one in named:
        if not isinstance(one, Hashable):
            raise ValueError(f"the classes of a ranking are text or numbers, got {show(one)}; write [[class, …], …]")
    if len(set(named)) < len(named) or not all(blocks):
        raise ValueError(
            f"a partial ranking has no empty block and names no class twice, got {show(label)}; correct it"
        )
    return blocks


class PartialRankings(Distance):
    r"""One minus the mean average overlap of two partial rankings, in [0, 1].

    A block of `s` tied classes fills its `s` places with 1/s of each class; the unranked classes fill the remaining
    places. If :math:`C_{lk}` is the share of class `k` in the first `l` places, the average overlap to depth `L` is
    :math:`\sum_l \frac{1}{l L} \sum_k C_{lk} C'_{lk}`, and the mean average overlap is this number divided by the
    geometric mean of the overlaps of each ranking with itself. Stutz et al. (2025), appendix C, arXiv 2307.02191.

    Parameters
    ----------
    depth
        Number `L` of places that count; by default the largest number of classes that a label names.
    classes
        Names of all classes; by default those that occur.

    Examples
    --------
    >>> distance = PartialRankings(depth=2, classes=["wart", "corn", "nevus"])
    >>> round(distance([["wart"], ["corn"]], [["wart", "corn"]]), 4)
    0.134
    >>> distance([["wart"], ["corn"]], [["wart"], ["corn"]])
    0.0
    """

    name, bound = "partial_rankings", 1.0

    def __init__(self, depth: int | None = None, classes: Iterable[Any] | None = None):
        if depth is not None and depth < 1:
            raise ArgumentError(f"the depth must be at least 1, but {depth!r} was given: write 3.")
        self.depth, self.classes = depth, None if classes is None else dict.fromkeys(classes)

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Float[np.ndarray, "label feature"]:
        """Turn every label into a vector of length one, such that the mean average overlap is an inner product."""
        rankings = each_label(blocks_of, labels)
        column: dict[Any, int] = {}
        for position, blocks in enumerate(rankings):
            for one in (one for block in blocks for one in block):
                if self.classes is not None and one not in self.classes:
                    raise LabelRefused(f"the class {one!r} is not among the classes given; add it there", position)
                column.setdefault(one, len(column))
        n_classes = len(column) if self.classes is None else len(self.classes)
        if not n_classes:
            return np.ones((len(labels), 1))  # no label ranks anything: all alike
        never = n_classes - len(column)  # classes in no label, and so alike in all of them
        named = [sum(map(len, blocks)) for blocks in rankings]
        depth = max(1, min(self.depth or max(named, default=1), n_classes))
        shares = np.zeros((len(labels), depth, len(column) + 1))
        for row, (blocks, n_named) in zip(shares, zip(rankings, named, strict=True), strict=True):
            place = 0
            for block in blocks:
                members = [column[one] for one in block]
                row[place : place + len(block), members] = 1 / len(block)
                place += len(block)
            if n_named < n_classes:
                rest = np.ones(len(column) + 1, bool)
                rest[[column[one] for block in blocks for one in block]] = False
                row[n_named:, rest] = 1 / (n_classes - n_named)
        first = np.cumsum(shares, axis=1)
        first[:, :, -1] *= np.sqrt(never)
        first /= np.sqrt(np.arange(1, depth + 1) * depth)[None, :, None]
        features = first.reshape(len(labels), -1)
        return features / np.linalg.norm(features, axis=1, keepdims=True)

    @flat
    def between(self, encoded: Float[np.ndarray, "label feature"], left: Indices, right: Indices) -> Distances:
        found = np.empty(left.size)
        step = max(1, (1 << 20) // encoded.shape[1])
        for begin in range(0, len(found), step):
            part = slice(begin, begin + step)
            found[part] = np.einsum("if,if->i", encoded[left[part]], encoded[right[part]])
        # Rounding makes the overlap of a ranking with itself a little more or less than one.
        distances = np.where(left == right, 0.0, np.clip(1 - found, 0.0, 1.0))
        return np.where(distances < 8e-15, 0.0, distances)
