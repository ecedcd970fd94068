"""Sets of labels, such as all findings of an image: how many members two sets share."""

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array

from plausibly.base.errors import show
from plausibly.distances._base import Counts, Distance, Distances, Indices, each_label, flat


class Members(NamedTuple):
    """Which of all members each set has, and how many."""

    incidence: csr_array
    size: Int[np.ndarray, " label"]


def set_of(label: Any) -> frozenset:
    """Make a set of a label: of text, the parts between bars or semicolons; ValueError for what has no members."""
    if isinstance(label, str):
        return frozenset(part.strip() for part in re.split("[|;]", label)) - {""}
    if not isinstance(label, Collection):
        raise ValueError(f'a label must be a set, got {show(label)}; write lists, or text such as "a|b"')
    return frozenset(label)


class Jaccard(Distance):
    """One less the share of common members among all members of two sets; 0 for two empty sets.

    A label is a set or a list, or text such as ``"a|b"`` or ``"a; b"``. Jaccard (1901).

    Examples
    --------
    >>> Jaccard()({1, 2, 3, 4}, {3, 4, 5}), Jaccard()("effusion|nodule", "nodule")
    (0.6, 0.5)
    """

    name, bound = "jaccard", 1.0

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Members:
        sets = each_label(set_of, labels)
        number: dict[Any, int] = {}
        members = [number.setdefault(member, len(number)) for one in sets for member in one]
        size = np.array([len(one) for one in sets], np.int64)
        start = np.append(0, np.cumsum(size))
        shape = (len(sets), max(len(number), 1))
        return Members(csr_array((np.ones(len(members)), members, start), shape=shape), size)

    @flat
    def between(self, encoded: Members, left: Indices, right: Indices) -> Distances:
        common = np.asarray((encoded.incidence[left] * encoded.incidence[right]).sum(axis=1)).ravel()
        all_members = encoded.size[left] + encoded.size[right] - common
        alike = np.divide(common, all_members, out=np.ones(len(left)), where=all_members > 0)
        return 1 - alike * self._factor(common, np.sort([encoded.size[left], encoded.size[right]], axis=0))

    def _factor(self, common: np.ndarray, sizes: np.ndarray) -> np.ndarray | float:
        """What the share of common members is multiplied by; `sizes` are of the smaller and the larger set."""
        return 1.0


class Masi(Jaccard):
    """Jaccard's distance with a monotonicity: sets of which neither contains the other are farther apart.

    One less the share of common members, times 2/3 if one set is part of the other, and 1/3 if they overlap otherwise.
    Passonneau (2006), Measuring agreement on set-valued items (MASI) for semantic and pragmatic annotation, LREC.

    Examples
    --------
    >>> round(Masi()({1, 2}, {1, 2, 3, 4}), 3), round(Masi()({1, 2, 3}, {3, 4}), 3)
    (0.667, 0.917)
    """

    name = "masi"

    def _factor(self, common: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return np.select([common == sizes[1], common == sizes[0]], [1.0, 2 / 3], 1 / 3)
