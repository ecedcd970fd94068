"""What a check finds, and what each finding means."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64
from pandas.util import hash_array

from plausibly.annotations import Annotations

SHOWN = 3  #: examples
HANDFUL = 5  #: cases, below which little can be said of an annotator
LONG_TIE = 10  #: classes, above which a tie is extreme however many classes there are

MEANINGS = {
    "alike class names": "Classes whose names differ in capitals, blanks or punctuation alone are probably one class.",
    "alike case names": "Cases whose names differ in capitals, blanks or punctuation alone are probably one case.",
    "alike annotator names": "Annotators whose names differ in capitals, blanks or punctuation alone are probably one "
    "person.",
    "repeated rows": "Rows that repeat the case, annotator and class of another. The better rank was kept here; "
    "elsewhere the table is refused.",
    "several classes without a rank": "Annotators who name several classes of a case where nothing orders them: read "
    "as tied, not as a first and a second opinion.",
    "repeated annotations": "Annotations of a case by someone who, judging by the names, had annotated it already; "
    "they count as further annotators{note}.",
    "identical cases": "Cases that repeat an earlier one in everything that every annotator said, of those in which "
    "several classes are named: duplicates, unless classes are few and rankings short.",
    "one-annotator cases": "Cases with a single annotator: their uncertainty is an assumption of the model.",
    "annotators of few cases": f"Annotators of fewer than {HANDFUL} cases, and not of all: too few to tell how far "
    "they can be trusted.",
    "constant annotators": "Annotators who always say the same, more often than the frequency of that answer among the "
    "others explains.",
    "identical annotators": f"Pairs of annotators who say the same of every case they share, {HANDFUL} or more, more "
    "often than agreement explains: one person under two names, or a copy.",
    "disconnected annotators": "Annotators whom no chain of shared cases joins to the largest group: their skill "
    "cannot be compared with it.",
    "classes never named": "Classes that no annotator named: their plausibilities are those of the prior.",
    "fewer labels than classes": "Cases with fewer labels than there are classes: under dirichlet-categorical@1, the "
    "default for labels, the prior outweighs them. A prior learnt from all cases (class_prior=population) does not.",
    "annotations of nothing": "Annotations that tie all classes, which says nothing about the case.",
    "extreme ties": "Annotations that tie four classes or more that are at least half of all, or more than "
    f"{LONG_TIE}: defaults of a tool, or lists without an order.",
    "frequent scores": "Values that more than 5 % of the scores have: categories rather than measurements. Model them "
    "by ordinal-scores, above all if a threshold is one of these values.",
    "mismatched predictions": "Classifiers whose scores do not fit the cases and classes.",
    "unrelated predictions": "Classifiers whose first choices meet the annotations no more often than if the rows were "
    "shuffled: probably cases or classes in another order.",
    "identical classifiers": "Classifiers with the same scores throughout as another.",
    "identical predictions": "Cases with exactly the scores of an earlier one: duplicates, unless scores are coarse.",
    "predictions of nothing": "Cases all of whose classes have the same score, which class order or chance will rank.",
}


class Finding(NamedTuple):
    """How often a check found something, of how many, with examples."""

    check: str
    count: int
    of: int
    examples: Sequence[str]
    note: str = ""

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""
        return MEANINGS[self.check].format(note=self.note)


def known_names(annotations: Annotations) -> np.ndarray:
    """Return the names of the annotators; none if they are anonymous."""
    return annotations.annotators[:0] if annotations.anonymous else annotations.annotators


def fingerprints(annotations: Annotations) -> UInt64[np.ndarray, " annotation"]:
    """Return a number for every annotation that two share if, and almost certainly only if, they say the same."""
    entry = annotations.entry_block.astype(np.uint64) * np.uint64(annotations.n_classes) + np.uint64(1)
    hashed = hash_array(entry + annotations.entry_class.astype(np.uint64))
    return np.add.reduceat(hashed, annotations.annotation_start[:-1])
