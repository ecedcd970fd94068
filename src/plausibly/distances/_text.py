"""Text: labels that are sentences, compared token by token.

A label is text, which is parted at blanks, or a list of tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.distances._base import Distance, show
from plausibly.distances._extras import needed
from plausibly.distances._objects import each_label

_FIRST_CHARACTER = 0xE000  # characters that stand for tokens begin after those that encode halves of others


def tokens_of(label: Any) -> list[str]:
    """Part text into tokens.

    Raises
    ------
    ValueError
        If the label is neither text nor a list of tokens.

    Examples
    --------
    >>> tokens_of("the quick  fox"), tokens_of(["the", "fox"])
    (['the', 'quick', 'fox'], ['the', 'fox'])
    """
    if isinstance(label, str):
        return label.split()
    if isinstance(label, bytes | dict | set) or not hasattr(label, "__len__"):
        raise ValueError(f"the label is to be text, got {show(label)}; write a string or a list of tokens")
    return [str(token) for token in label]


class Levenshtein(Distance):
    """How many tokens have to be put in, taken out or exchanged to turn one text into the other.

    Parameters
    ----------
    normalised
        Divide by the number of tokens of the longer text.

    Raises
    ------
    ArgumentError
        When it is used without the library that it takes: ``pip install 'plausibly[text]'``.

    Examples
    --------
    >>> Levenshtein()("the quick fox", "the slow brown fox"), Levenshtein(normalised=True)("a b", "a c")
    (2.0, 0.5)
    """

    def __init__(self, normalised: bool = False):
        self.normalised = normalised
        self.bound = 1.0 if normalised else np.inf

    @property
    def name(self) -> str:
        """``"levenshtein"``."""
        return "levenshtein_normalised" if self.normalised else "levenshtein"

    def encode(self, labels: Sequence[Any], counts: Int[np.ndarray, " label"] | None = None) -> np.ndarray:
        """Write every token as one character."""
        needed("rapidfuzz", "text")
        characters: dict[str, str] = {}
        texts = [
            "".join(characters.setdefault(token, chr(_FIRST_CHARACTER + len(characters))) for token in tokens)
            for tokens in each_label(tokens_of, labels)
        ]
        return np.array(texts, dtype=object)

    def between(
        self, encoded: np.ndarray, left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """Compare labels by index."""
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein as Library

        left, right = np.broadcast_arrays(left, right)
        scorer = Library.normalized_distance if self.normalised else Library.distance
        ours, theirs = encoded[left.ravel()].tolist(), encoded[right.ravel()].tolist()
        return process.cpdist(ours, theirs, scorer=scorer, dtype=np.float64).reshape(left.shape)


class _Translation(Distance):
    """One minus a score of translations that nltk computes pair by pair."""

    bound = 1.0
    slow = True

    def encode(self, labels: Sequence[Any], counts: Int[np.ndarray, " label"] | None = None) -> list[list[str]]:
        """Part texts into tokens."""
        needed("nltk", "text")
        return each_label(tokens_of, labels)

    def between(
        self, encoded: list[list[str]], left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """Compare labels by index, pair by pair."""
        left, right = np.broadcast_arrays(left, right)
        pairs = zip(left.flat, right.flat, strict=True)
        return np.array([self._distance(encoded[a], encoded[b]) for a, b in pairs]).reshape(left.shape)

    def _distance(self, a: list[str], b: list[str]) -> float:
        if not (a and b):
            return float(bool(a or b))
        return 1 - self._score(a, b)

    def _score(self, a: list[str], b: list[str]) -> float:
        raise NotImplementedError


class Bleu(_Translation):
    """One minus BLEU, the mean of either text as the reference of the other; in [0, 1].

    Sentences without a common n-gram of some length are smoothed by the fourth method of Chen and Cherry, by which a
    short text is not quite at distance 0 from itself.

    Raises
    ------
    ArgumentError
        When it is used without the library that it takes: ``pip install 'plausibly[text]'``.

    References
    ----------
    Papineni et al. (2002); Chen and Cherry (2014); Braylan, Alonso and Lease (2022).

    Examples
    --------
    >>> bleu = Bleu()
    >>> bleu("a b c d e", "a b c d e") < bleu("a b c d e", "a b c d f") < bleu("a b c d e", "v w x y z")
    True
    """

    @property
    def name(self) -> str:
        """``"bleu"``."""
        return "bleu"

    def _score(self, a: list[str], b: list[str]) -> float:
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smooth = SmoothingFunction().method4
        both = [sentence_bleu([one], other, smoothing_function=smooth) for one, other in ((a, b), (b, a))]
        return min(float(both[0] + both[1]) / 2, 1.0)


class Gleu(_Translation):
    """One minus GLEU, the lesser of precision and recall of all n-grams up to four; in [0, 1].

    Raises
    ------
    ArgumentError
        When it is used without the library that it takes: ``pip install 'plausibly[text]'``.

    References
    ----------
    Wu et al. (2016), "Google's neural machine translation system"; Braylan, Alonso and Lease (2022).

    Examples
    --------
    >>> round(Gleu()("the quick fox", "the slow fox"), 4)
    0.6667
    """

    @property
    def name(self) -> str:
        """``"gleu"``."""
        return "gleu"

    def _score(self, a: list[str], b: list[str]) -> float:
        from nltk.translate.gleu_score import sentence_gleu

        return float(sentence_gleu([a], b))
