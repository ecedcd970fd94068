"""Slots: the (case, class) pairs that carry mass, with one slot for all unnamed classes of a case."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from plausibly.base.errors import AnnotationError
from plausibly.base.integers import distinct
from plausibly.data.annotations._container import Annotations

REMAINDER = -1


@dataclass(frozen=True, eq=False)
class Slots:
    """The (case, class) pairs over which plausibilities are inferred, a different number in each case.

    Annotators usually name only a handful of the K classes of a case; the others are exchangeable and share one slot,
    the *remainder*.

    Parameters
    ----------
    case
        (S,) case of each slot, non-decreasing.
    class_index
        (S,) class of each slot, ascending within a case; −1 for the remainder, always the last slot of its case.
    n_classes
        (S,) 1 for a named class, m for the remainder of m unnamed classes.
    start
        (N + 1,) offsets: the slots of case i are ``start[i]`` up to ``start[i + 1]``.

    Examples
    --------
    >>> slots = Slots.of(Annotations.from_rankings([[[[0], [2]]], [[[3]]]], classes="abcde"))
    >>> slots.class_index.tolist(), slots.n_classes.tolist(), slots.start.tolist()
    ([0, 2, -1, 3, -1], [1, 1, 3, 1, 4], [0, 3, 5])
    """

    case: Int[np.ndarray, " slot"]
    class_index: Int[np.ndarray, " slot"]
    n_classes: Int[np.ndarray, " slot"]
    start: Int[np.ndarray, " case+1"]

    def __len__(self) -> int:
        return len(self.case)

    @classmethod
    def of_every_class(cls, n_cases: int, n_classes: int) -> "Slots":
        """Give every class of every case a slot, for models in which unnamed classes are not exchangeable.

        Examples
        --------
        >>> Slots.of_every_class(2, 3).class_index.tolist()
        [0, 1, 2, 0, 1, 2]
        """
        case, class_index = np.divmod(np.arange(n_cases * n_classes, dtype=np.int64), n_classes)
        ones, start = np.ones(len(case), np.int32), n_classes * np.arange(n_cases + 1)
        return cls(case.astype(np.int32), class_index.astype(np.int32), ones, start)

    @classmethod
    def of(cls, annotations: Annotations, remainder: bool = True) -> "Slots":
        """Collect the slots of annotations.

        Parameters
        ----------
        annotations
            N cases over K classes.
        remainder
            Whether a case has a slot for its unnamed classes. A case in which every class is named never has one.

        Raises
        ------
        AnnotationError
            If ``annotations`` are scores or something else.
        """
        if not isinstance(annotations, Annotations):
            raise AnnotationError(
                f"partial rankings are needed, but a {type(annotations).__name__} was given; turn scores into labels "
                "of two classes first, with Scores.split(threshold)"
            )
        n_cases, n_classes = annotations.n_cases, annotations.n_classes
        width = n_classes + 1  # the remainder sorts as class K, after all others
        named, _ = distinct(annotations.entry_case.astype(np.int64) * width + annotations.entry_class)
        unnamed = n_classes - np.bincount(named // width, minlength=n_cases)
        key = named
        if remainder:
            key = np.sort(np.concatenate([named, np.flatnonzero(unnamed) * width + n_classes]), kind="stable")
        case, class_index = np.divmod(key, width)
        rest = class_index == n_classes
        return cls(
            case=case.astype(np.int32),
            class_index=np.where(rest, REMAINDER, class_index).astype(np.int32),
            n_classes=np.where(rest, unnamed[case], 1).astype(np.int32),
            start=np.searchsorted(case, np.arange(n_cases + 1)).astype(np.int64),
        )

    def select(self, which: Bool[np.ndarray, " case"]) -> "Slots":
        """Return the slots of some cases, renumbered.

        Examples
        --------
        >>> slots = Slots.of(Annotations.from_rankings([[[[0], [2]]], [[[3]]]], classes="abcde"))
        >>> slots.select(np.array([False, True])).start.tolist()
        [0, 2]
        """
        inside = which[self.case]
        number = np.cumsum(which) - 1
        return Slots(
            case=number[self.case[inside]].astype(np.int32),
            class_index=self.class_index[inside],
            n_classes=self.n_classes[inside],
            start=np.append(0, np.cumsum(np.diff(self.start)[which])),
        )

    def range(self, cases: slice) -> "Slots":
        """Return the slots of neighbouring cases, renumbered, in time proportional to their number.

        Examples
        --------
        >>> slots = Slots.of(Annotations.from_rankings([[[[0], [2]]], [[[3]]]], classes="abcde"))
        >>> slots.range(slice(1, 2)).class_index.tolist()
        [3, -1]
        """
        own = slice(int(self.start[cases.start]), int(self.start[cases.stop]))
        return Slots(
            case=self.case[own] - np.int32(cases.start),
            class_index=self.class_index[own],
            n_classes=self.n_classes[own],
            start=self.start[cases.start : cases.stop + 1] - own.start,
        )

    @property
    def is_remainder(self) -> np.ndarray:
        """(S,) whether each slot is a remainder."""
        return self.class_index == REMAINDER

    def find(self, case: Int[np.ndarray, "..."], class_index: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
        """Return the slot of each (case, class) pair; class −1 stands for the remainder.

        ``slots.find(annotations.entry_case, annotations.entry_class)`` is the slot of every entry.

        Raises
        ------
        AnnotationError
            If a pair has no slot.

        Examples
        --------
        >>> annotations = Annotations.from_rankings([[[[0], [2]]], [[[3]]]], classes="abcde")
        >>> Slots.of(annotations).find(annotations.entry_case, annotations.entry_class).tolist()
        [0, 1, 3]
        """
        case, class_index = np.asarray(case), np.asarray(class_index)
        key = self._key(case, class_index)
        slot = np.minimum(np.searchsorted(self._keys, key), len(self) - 1)
        absent = (self.case[slot] != case) | (self.class_index[slot] != class_index)
        if absent.any():
            i, k = case[absent].flat[0], class_index[absent].flat[0]
            raise AnnotationError(f"case {i} has no slot for class {k}; ask for classes that were named, or for −1")
        return slot

    @cached_property
    def _keys(self) -> np.ndarray:
        return self._key(self.case, self.class_index)

    def _key(self, case: np.ndarray, class_index: np.ndarray) -> np.ndarray:
        width = int(self.class_index.max(initial=0)) + 2
        within = np.where(class_index == REMAINDER, width - 1, np.minimum(class_index, width - 1))
        return case.astype(np.int64) * width + within
