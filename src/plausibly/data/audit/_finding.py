"""Findings of the checks, and what each of them means."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64
from pandas.util import hash_array
from scipy.sparse import csr_array
from scipy.special import ndtri

from plausibly.base.names import figures
from plausibly.data.annotations import Annotations, Scores

Prints = UInt64[np.ndarray, " annotation"]  # a number for every annotation

SHOWN = 3  #: examples
HANDFUL = 5  #: cases, below which little can be said of an annotator
LONG_TIE = 10  #: classes, above which a tie is extreme however many classes there are

MEANINGS = {
    "labels that follow from labels": "{note} Pairs and panels of all labels would be of selected cases. Posteriors "
    "given all labels are not affected.",
    "similar class names": "Class names that differ only in capitalisation, spaces or punctuation. Probably the same "
    "class.",
    "misspelt class names": "Class names that differ by one letter from one that is used at least {note} times as "
    "often. Probably a typo, which counts as a class of its own: correct it in the file.",
    "odd classes among numbers": "Rare classes that are no numbers, or far from all others, where the others are "
    "numbers. Probably typos, which make names of grades: correct them, or leave such rows out.",
    "missing labels as classes": "Class names that stand for a missing answer and are counted as a diagnosis like any "
    "other. Leave such rows out with missing= (--missing).",
    "unclear classes": "Class names that may stand for a missing answer. If they do, leave such rows out with missing= "
    "(--missing).",
    "similar case names": "Case names that differ only in capitalisation, spaces or punctuation. Probably the same "
    "case.",
    "similar annotator names": "Annotator names that differ only in capitalisation, spaces or punctuation. Probably "
    "the same person.",
    "repeated rows": "Rows with the same case, annotator and class as another row, {note} of all. Each is counted "
    "once. Where the ranks differ, the better one was used here, and other commands refuse the table.",
    "second answers": "Annotations that name several classes, where at least 98 % name a single one. Probably two "
    "answers of one annotator to one case, which are read as tied, or as first and second choice: keep one.",
    "several classes without a rank": "Annotations that name several classes, in data that rank none. These are read "
    "as tied, not as first and second choice. If their order means something, add a column rank.",
    "comparisons": "Annotations that each name the same number of classes, whatever is preferred. They look like "
    "comparisons of pairs, or of a few classes that were shown. Classes that were not shown count as worse, so results "
    "are wrong if these are comparisons: use systems for them (plausibly systems).",
    "repeated annotations": "Annotations of a case by someone who, judging by the names, had already annotated it. "
    "They count as annotations by further annotators{note}.",
    "identical cases": "Cases with exactly the same annotations as an earlier one, among cases with several named "
    "classes, where chance hardly gives them twice. Probably duplicates.",
    "cases pasted twice": "A row of cases with the annotations of an earlier row, case by case. Probably the same "
    "cases under other names: leave them out, since intervals take them for new ones.",
    "one-annotator cases": "Cases with a single annotator. Their uncertainty depends only on the model's assumptions.",
    "annotators of few cases": f"Annotators with fewer than {HANDFUL} cases. Too few to tell how reliable they are.",
    "constant annotators": "Annotators who always give the same answer, although its frequency among the others does "
    "not explain this.",
    "identical annotators": f"Pairs of annotators who agree on all of their shared cases ({HANDFUL} or more), more "
    "than good annotators would and than general agreement explains. Possibly one person under two names, or a copy.",
    "disconnected annotators": "Annotators without a chain of shared cases to the largest group. Their skill cannot be "
    "compared with that of the group.",
    "classes never named": "Classes that no annotator names. Their plausibilities come from the prior alone.",
    "fewer labels than classes": "Cases with fewer labels than there are classes. Under dirichlet-categorical@1, the "
    "default for labels, the prior outweighs them: consider a prior learned from all cases (class_prior=learned).",
    "empty annotations": "Annotations that tie all classes and therefore say nothing about the case.",
    "extreme ties": f"Annotations that tie at least half of all classes (four or more), or more than {LONG_TIE}. "
    "Probably defaults of a tool, or lists without an order.",
    "frequent scores": "Single values that make up more than 5 % of the scores. They suggest categories rather than "
    "measurements. Use ordinal-scores, especially if the threshold is one of these values.",
    "raters of another level": "Raters who rate higher or lower than the average rater of the same cases, by least "
    "squares. Use ordinal-scores with raters=differ (--raters differ), which allows for this.",
    "mismatched predictions": "Classifiers whose scores do not match the cases and classes.",
    "predictions on another scale": "Cases whose scores are not probabilities that sum to 1, although those of "
    "nearly all other cases of the classifier are. Probably percentages or logits in some rows.",
    "unrelated predictions": "Classifiers that agree with the annotations no more often than shuffled rows would, and "
    "give no higher scores to what annotators name. Cases or classes in another order, or predictions that tell "
    "nothing.",
    "predictions by an annotator": "Classifiers that choose what one of the annotators names in every case, and so are "
    "compared with themselves. Leave the annotator's rows out.",
    "exchanged classes": "Columns that agree with the annotations better under the name of another class. Probably "
    "columns in another order.",
    "identical classifiers": "Classifiers with exactly the same scores as another one.",
    "identical predictions": "Cases with exactly the same scores as an earlier one. Probably duplicates, unless scores "
    "are coarse.",
    "flat predictions": "Cases in which all classes have the same score. They are ranked by class order or at random.",
}


class Finding(NamedTuple):
    """Number of findings of a check, among how many, with examples."""

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


def fingerprints(annotations: Annotations) -> Prints:
    """Return a number for every annotation that two share if, and almost certainly only if, they say the same."""
    entry = annotations.entry_block.astype(np.uint64) * np.uint64(annotations.n_classes) + np.uint64(1)
    hashed = hash_array(entry + annotations.entry_class.astype(np.uint64))
    return np.add.reduceat(hashed, annotations.annotation_start[:-1])


_BY_CHANCE = 0.05  # how many raters may be expected by chance to be among those that are found
_MOST = 1000  # raters, whose effects are estimated together


def of_severities(scores: Scores) -> Finding:
    """Estimate effects of raters by least squares, with an effect of each case; name those too large for chance."""
    name, n = "raters of another level", len(scores.annotators)
    case, rater = scores.annotation_case, scores.annotation_annotator
    several = scores.per_case[case] > 1
    if scores.anonymous or not 2 <= n <= _MOST or not several.any():
        return Finding(name, 0, 0, [])
    case, rater, score = case[several], rater[several], scores.score[several]
    n_case, n_rater = np.bincount(case, minlength=scores.n_cases), np.bincount(rater, minlength=n)
    rest = score - (np.bincount(case, score, scores.n_cases) / np.maximum(n_case, 1))[case]
    pairs = csr_array((1 / np.sqrt(n_case[case]), (case, rater)), shape=(scores.n_cases, n))
    inverse = np.linalg.pinv(np.diag(n_rater.astype(float)) - (pairs.T @ pairs).toarray(), hermitian=True)
    effect = inverse @ np.bincount(rater, rest, n)
    own = effect[rater]
    error = rest - own + (np.bincount(case, own, scores.n_cases) / np.maximum(n_case, 1))[case]
    free = len(score) - np.count_nonzero(n_case) - n + 1
    if free < 1:
        return Finding(name, 0, 0, [])
    sd = np.sqrt((error**2).sum() / free * inverse.diagonal().clip(1e-12))
    found = np.flatnonzero(np.abs(effect) > -ndtri(_BY_CHANCE / (2 * n)) * sd)
    found = found[np.argsort(-np.abs(effect[found]), kind="stable")]
    way = np.where(effect > 0, "higher", "lower")
    shown = [f"{scores.annotators[at]}: {figures(abs(effect[at]))} points {way[at]}" for at in found[:SHOWN]]
    return Finding(name, len(found), np.count_nonzero(n_rater), shown)
