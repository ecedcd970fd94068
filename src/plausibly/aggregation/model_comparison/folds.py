"""Copies of cases from which some annotations are left out, so that one aggregation of all copies refits every case."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from plausibly.base.checks import check_whole
from plausibly.base.random_streams import Stream, case_keys, generator, stream_words
from plausibly.data.annotations import Annotations, Slots

_WITHOUT = " ∖ "  # between the name of a case and the number of what is left out of its copy


@dataclass(frozen=True)
class Folds:
    """Which annotations are left out together, and which copy of their case is without them."""

    annotations: Annotations  #: all of them
    #: number, within its case, of what each annotation is left out with
    fold: Int[np.ndarray, " annotation"]
    #: copy of its case by which each annotation is predicted, −1 if nothing would be left there; annotations of a case
    #: that say the same share a copy, since the others are the same for each of them
    copy: Int[np.ndarray, " annotation"]
    #: annotation that is left out of the copy and says the same as this one: itself, or one like it
    like: Int[np.ndarray, " annotation"]
    copy_case: Int[np.ndarray, " copy"]  #: case of each copy
    copy_fold: Int[np.ndarray, " copy"]  #: fold that is not in it
    n_folds: int | None = None  #: number of folds that was asked for, None for one annotation at a time

    @classmethod
    def of(cls, annotations: Annotations, folds: int | None, seed: int) -> "Folds":
        """Leave out every annotation by itself (None), or those of every case in a number of folds, at least 2.

        The annotations of a case are dealt out to as many folds at random, by the seed and the name of the case, and
        not by other cases; a case of fewer annotations has as many folds as annotations.
        """
        first = annotations.case_start[annotations.annotation_case]
        within = np.arange(annotations.n_annotations) - first
        if folds is None:
            fold, like = within, _alike(annotations)
        else:
            folds = check_whole("folds", folds, 2, "write 5")
            fold, like = _deal(annotations, folds, seed), np.arange(annotations.n_annotations)
        case = annotations.annotation_case.astype(np.int64)
        width = int(fold.max()) + 1
        keys, copy = np.unique(case * width + fold[like], return_inverse=True)
        # What is left out may be all there is.
        left = np.diff(annotations.case_start)[keys // width] > np.bincount(case * width + fold)[keys]
        number = np.where(left, np.cumsum(left) - 1, -1)
        return cls(annotations, fold, number[copy], like, (keys // width)[left], (keys % width)[left], folds)

    def __len__(self) -> int:
        return len(self.copy_case)

    def names(self) -> np.ndarray:
        """Return the name of each copy."""
        cases = self.annotations.cases[self.copy_case]
        return np.array(
            [f"{name}{_WITHOUT}{fold}" for name, fold in zip(cases, self.copy_fold, strict=True)], dtype=str
        )

    def train(self, which: Int[np.ndarray, " chosen"]) -> Annotations:
        """Return some of the copies, each as a case of its own."""
        return self._cases(which, lambda case_fold, copy_fold: case_fold != copy_fold)[0]

    def whole(self, which: Int[np.ndarray, " chosen"]) -> Annotations:
        """Return as many cases, with nothing left out of them."""
        return self._cases(which, lambda case_fold, copy_fold: case_fold >= 0)[0]

    def left_out(self, which: Int[np.ndarray, " chosen"]) -> tuple[Annotations, Int[np.ndarray, " annotation"]]:
        """Return as many cases, of what is left out of the copies alone, and where that stands among all."""
        return self._cases(which, lambda case_fold, copy_fold: case_fold == copy_fold)

    def _cases(
        self, which: Int[np.ndarray, " chosen"], keeps: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> tuple[Annotations, Int[np.ndarray, " annotation"]]:
        of = self.annotations
        case, fold = self.copy_case[which], self.copy_fold[which]
        number, annotation = _spread(of.case_start, case)
        kept = keeps(self.fold[annotation], fold[number])
        number, annotation = number[kept], annotation[kept]
        row, entry = _spread(of.annotation_start, annotation)
        made = Annotations(
            cases=self.names()[which],
            classes=of.classes,
            annotators=of.annotators,
            anonymous=of.anonymous,
            annotation_case=number,
            annotation_annotator=of.annotation_annotator[annotation],
            entry_annotation=row,
            entry_class=of.entry_class[entry],
            entry_block=of.entry_block[entry],
        )
        return made, annotation

    def alone(self) -> Bool[np.ndarray, " annotation"]:
        """Whether an annotation names a class that no other one outside its fold names, so that slots change."""
        of = self.annotations
        case = of.entry_case.astype(np.int64)
        key, inverse = np.unique(case * of.n_classes + of.entry_class, return_inverse=True)
        by_class = np.bincount(inverse, minlength=len(key))
        width = int(self.fold.max()) + 1
        _, within, count = np.unique(
            inverse * width + self.fold[of.entry_annotation], return_inverse=True, return_counts=True
        )
        only = by_class[inverse] == count[within]
        return np.bincount(of.entry_annotation, only, of.n_annotations) > 0


def first_block_shares(
    annotations: Annotations,
    case: Int[np.ndarray, " annotation"],
    slots: Slots,
    weight: Float[np.ndarray, "*draw slot"],
    chosen: Int[np.ndarray, " chosen"] | None = None,
    shape: Float[np.ndarray, " class"] | None = None,
) -> Float[np.ndarray, "*draw chosen"]:
    """Weight of the first block of each annotation, the weight of a remainder falling on its classes alike.

    With a ``shape``, it falls on them in proportion to it.

    ``case`` is that of each annotation in ``slots``, −1 where there is none: then all classes weigh the same. Weights
    sum to one within a case. ``chosen`` are the numbers of the annotations wanted, by default all.
    Under a Dirichlet(α 1) over the m classes of a remainder, the expected share of each is 1 / m, whatever α.
    """
    chosen = np.arange(annotations.n_annotations) if chosen is None else chosen
    row, entry = _spread(annotations.annotation_start, chosen)
    first = annotations.entry_block[entry] == 0
    row, entry = row[first], entry[first]
    of = case[chosen[row]]
    slot = slots_or_remainder(slots, of, annotations.entry_class[entry], annotations.n_classes)
    share = 1 / slots.n_classes[slot]
    if shape is not None:
        named = ~slots.is_remainder
        left = shape.sum() - np.bincount(slots.case[named], shape[slots.class_index[named]], len(slots.start) - 1)
        own = shape[annotations.entry_class[entry]] / np.maximum(left[np.maximum(of, 0)], 1e-300)
        share = np.where(slots.is_remainder[slot], np.minimum(own, 1), 1)
    per_class = np.where(slot < 0, 0, weight[..., slot] * share)
    per_class = np.where(of < 0, 1 / annotations.n_classes, per_class)
    # Every annotation has a first block, and entries are in the order of annotations.
    return np.add.reduceat(per_class, np.searchsorted(row, np.arange(len(chosen))), axis=-1)


def slots_or_remainder(
    slots: Slots, case: Int[np.ndarray, " entry"], class_index: Int[np.ndarray, " entry"], n_classes: int
) -> Int[np.ndarray, " entry"]:
    """Slot of each class, or that of the remainder that holds it; −1 where neither is."""
    width = n_classes + 1
    keys = slots.case.astype(np.int64) * width + np.where(slots.is_remainder, n_classes, slots.class_index)
    slot = np.full(len(case), -1)
    for wanted in (class_index, n_classes):
        key = case.astype(np.int64) * width + wanted
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        slot = np.where((slot < 0) & (keys[at] == key), at, slot)
    return slot


def _alike(annotations: Annotations) -> Int[np.ndarray, " annotation"]:
    """Return, for each annotation, the first one of its case that says the same."""
    first: dict[tuple[int, bytes], int] = {}
    said = np.stack([annotations.entry_class, annotations.entry_block.astype(np.int32)], axis=1)
    start = annotations.annotation_start
    return np.array(
        [
            first.setdefault((int(case), said[start[number] : start[number + 1]].tobytes()), number)
            for number, case in enumerate(annotations.annotation_case)
        ]
    )


def _deal(annotations: Annotations, folds: int, seed: int) -> Int[np.ndarray, " annotation"]:
    words = stream_words(case_keys(seed, annotations.cases))[Stream.FOLDS]
    sizes = np.diff(annotations.case_start)
    return np.concatenate(
        [generator(word).permutation(np.arange(size) % folds) for word, size in zip(words, sizes, strict=True)]
    )


def _spread(
    start: Int[np.ndarray, " row+1"], rows: Int[np.ndarray, " chosen"]
) -> tuple[Int[np.ndarray, " part"], Int[np.ndarray, " part"]]:
    """List the parts of some rows: the number of the row among those chosen, and the part."""
    sizes = np.diff(start)[rows]
    number = np.repeat(np.arange(len(rows)), sizes)
    before = np.cumsum(sizes) - sizes
    return number, np.repeat(start[rows] - before, sizes) + np.arange(sizes.sum())
