"""Text: labels that are sentences, compared token by token.

A label is text, which is split at blanks, or a list of tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plausibly.distances._base import (
    Counts,
    Distance,
    Distances,
    Indices,
    PairwiseDistance,
    as_list,
    check_library,
    each_label,
    flat,
)

_FIRST_CHARACTER = 0xE000  # characters that stand for tokens begin after those that encode halves of others


def tokens_of(label: Any) -> list[str]:
    """Split text into tokens; raise ValueError for what is neither text nor a list."""
    if isinstance(label, str):
        return label.split()
    return [str(token) for token in as_list(label, "the label must be text", "a string or a list of tokens")]


class Levenshtein(Distance):
    """Number of tokens to insert, delete or replace to turn one text into the other.

    Parameters
    ----------
    normalised
        Whether to divide by the number of tokens of the longer text.

    Examples
    --------
    >>> Levenshtein()("the quick fox", "the slow brown fox"), Levenshtein(normalised=True)("a b", "a c")
    (2.0, 0.5)
    """

    def __init__(self, normalised: bool = False):
        self.normalised = normalised
        self.bound = 1.0 if normalised else np.inf
        self.name = "levenshtein_normalised" if normalised else "levenshtein"

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> np.ndarray:
        """Write every token as one character."""
        check_library("rapidfuzz", "text")
        characters: dict[str, str] = {}
        texts = [
            "".join(characters.setdefault(token, chr(_FIRST_CHARACTER + len(characters))) for token in tokens)
            for tokens in each_label(tokens_of, labels)
        ]
        return np.array(texts, dtype=object)

    @flat
    def between(self, encoded: np.ndarray, left: Indices, right: Indices) -> Distances:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein as Library

        scorer = Library.normalized_distance if self.normalised else Library.distance
        return process.cpdist(encoded[left].tolist(), encoded[right].tolist(), scorer=scorer, dtype=np.float64)


class _Translation(PairwiseDistance):
    """One minus a measure of translations that nltk computes pair by pair."""

    bound = 1.0

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> list[list[str]]:
        check_library("nltk", "text")
        return each_label(tokens_of, labels)

    def compare(self, a: list[str], b: list[str]) -> float:
        return 1 - self.similarity(a, b) if a and b else float(bool(a or b))

    def similarity(self, a: list[str], b: list[str]) -> float:
        raise NotImplementedError


class Bleu(_Translation):
    """One minus BLEU, the mean of either text as the reference of the other; in [0, 1].

    Sentences without a common n-gram of some length are smoothed by the fourth method of Chen and Cherry, by which a
    short text is not quite at distance 0 from itself. Papineni et al. (2002); Chen and Cherry (2014).

    Examples
    --------
    >>> bleu = Bleu()
    >>> bleu("a b c d e", "a b c d e") < bleu("a b c d e", "a b c d f") < bleu("a b c d e", "v w x y z")
    True
    """

    name = "bleu"

    def similarity(self, a: list[str], b: list[str]) -> float:
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smooth = SmoothingFunction().method4
        both = [sentence_bleu([one], other, smoothing_function=smooth) for one, other in ((a, b), (b, a))]
        return min(float(both[0] + both[1]) / 2, 1.0)


class Gleu(_Translation):
    """One minus GLEU, the lesser of precision and recall of all n-grams up to four; in [0, 1].

    Wu et al. (2016), "Google's neural machine translation system".

    Examples
    --------
    >>> round(Gleu()("the quick fox", "the slow fox"), 4)
    0.6667
    """

    name = "gleu"

    def similarity(self, a: list[str], b: list[str]) -> float:
        from nltk.translate.gleu_score import sentence_gleu

        return float(sentence_gleu([a], b))
