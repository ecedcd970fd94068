"""Annotations in random orders, of which the first few are visible: a copy of every case for each repetition."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations import Annotations


@dataclass(frozen=True, eq=False)
class Hidden:
    """Copies of cases, repetition by repetition.

    Attributes
    ----------
    annotations
        All annotations.
    repetitions
        Number of copies of each case.
    start
        Number of annotations of a copy that are visible from the beginning.
    order
        For each copy, its case's annotations in the order in which they become visible, one copy after the other.
    first_of
        Where the annotations of a copy begin there.
    case
        Case of each copy.
    """

    annotations: Annotations
    repetitions: int
    start: int
    order: Int[np.ndarray, " place"]
    first_of: Int[np.ndarray, " copy+1"]
    case: Int[np.ndarray, " copy"]

    @classmethod
    def of(cls, annotations: Annotations, start: int, repetitions: int, seed: int) -> "Hidden":
        """Put the annotations of every copy in a random order."""
        random = np.random.default_rng([seed, 0x68696465])
        case = annotations.annotation_case
        orders = [np.lexsort((random.random(len(case)), case)) for _ in range(repetitions)]
        counts = np.tile(np.diff(annotations.case_start), repetitions)
        return cls(
            annotations,
            repetitions,
            start,
            np.concatenate(orders),
            np.concatenate([[0], np.cumsum(counts)]),
            np.tile(np.arange(annotations.n_cases), repetitions),
        )

    @property
    def n_hidden(self) -> int:
        """Number of annotations that are hidden at the beginning of a repetition."""
        return int(np.maximum(np.diff(self.annotations.case_start) - self.start, 0).sum())

    def first(self) -> Int[np.ndarray, " copy"]:
        """How many annotations of each copy are visible at the beginning."""
        return np.minimum(np.diff(self.first_of), self.start)

    def choose(
        self,
        score: Float[np.ndarray, " copy"],
        visible: Int[np.ndarray, " copy"],
        wanted: int,
        random: np.random.Generator,
    ) -> Int[np.ndarray, " chosen"]:
        """Choose so many copies of each repetition, of greatest score, equal ones at random, with something hidden."""
        left = np.diff(self.first_of) > visible
        scores = np.where(left, score, -np.inf).reshape(self.repetitions, -1)
        luck = random.random(scores.shape)
        order = np.lexsort((luck, -scores), axis=1)[:, :wanted]
        n = scores.shape[1]
        chosen = (order + np.arange(self.repetitions)[:, None] * n).ravel()
        return np.sort(chosen[left[chosen]])

    def visible(self, copies: Int[np.ndarray, " chosen"], n_visible: Int[np.ndarray, " chosen"]) -> Annotations:
        """Return what is visible of some copies, each a case of its own."""
        of = self.annotations
        number = np.repeat(np.arange(len(copies)), n_visible)
        within = np.arange(len(number)) - np.repeat(np.cumsum(n_visible) - n_visible, n_visible)
        annotation = self.order[self.first_of[copies][number] + within]
        sort = np.lexsort((of.annotation_annotator[annotation], number))
        number, annotation = number[sort], annotation[sort]
        sizes = np.diff(of.annotation_start)[annotation]
        row = np.repeat(np.arange(len(annotation)), sizes)
        entry = of.annotation_start[annotation][row] + np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        n = of.n_cases
        names = [f"{copy // n} {of.cases[copy % n]}" for copy in copies.tolist()]
        return Annotations(
            cases=np.array(names),
            classes=of.classes,
            annotators=of.annotators,
            anonymous=of.anonymous,
            annotation_case=number.astype(np.int32),
            annotation_annotator=of.annotation_annotator[annotation],
            entry_annotation=row.astype(np.int32),
            entry_class=of.entry_class[entry],
            entry_block=of.entry_block[entry],
        )
