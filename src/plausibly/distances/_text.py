"""Text: labels that are sentences, compared token by token.

A label is text, which is split at blanks, or a list of tokens. Edit distances are those of rapidfuzz, for many pairs in
one call and on all cores. BLEU and GLEU are those of nltk, for many pairs at once: which n-grams a text has is a row of
a sparse matrix, and what two texts share is the product of their rows, element by element.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from scipy.sparse import csr_array

from plausibly.base.checks import check_library
from plausibly.distances._base import Counts, Distance, Distances, Indices, as_list, each_label, flat

_LONGEST = 4  # tokens of an n-gram
_SMOOTHING = 5  # the constant K of Chen and Cherry
_BLOCK = 2**22  # n-grams of all texts that are compared at a time
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
        return process.cpdist(
            encoded[left].tolist(), encoded[right].tolist(), scorer=scorer, dtype=np.float64, workers=-1
        )


class _NGrams(NamedTuple):
    """Numbers of tokens of texts, and which n-grams of one to four tokens each of them has.

    A column of the incidence matrix is an n-gram with a number: the first, second, … occurrence of it in a text. Two
    texts share as many n-grams, each as often as in the text that has it less often, as they share columns.
    """

    n_tokens: Int[np.ndarray, " label"]
    incidence: csr_array  # (label, column), of ones
    order: Int[np.ndarray, " column"]  # tokens of the n-gram, less one

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> "_NGrams":
        columns: dict[tuple[str | int, ...], int] = {}  # by n-gram and number
        rows, places = [], []
        for row, tokens in enumerate(texts):
            times: Counter[tuple[str, ...]] = Counter()
            for order in range(_LONGEST):
                for gram in zip(*(tokens[first:] for first in range(order + 1)), strict=False):
                    times[gram] += 1
                    rows.append(row)
                    places.append(columns.setdefault((*gram, times[gram]), len(columns)))
        incidence = csr_array((np.ones(len(rows), np.int8), (rows, places)), shape=(len(texts), len(columns)))
        order = np.array([len(column) - 2 for column in columns], np.int64)
        return cls(np.array([len(tokens) for tokens in texts], np.int64), incidence, order)

    def shared(self, left: Indices, right: Indices) -> Int[np.ndarray, "pair order"]:
        """Count the n-grams of each order that two texts share."""
        both = self.incidence[left].multiply(self.incidence[right]).tocsr()
        pair = np.repeat(np.arange(len(left)), np.diff(both.indptr))
        cells = np.bincount(pair * _LONGEST + self.order[both.indices], minlength=_LONGEST * len(left))
        return cells.reshape(-1, _LONGEST)


class _Translation(Distance):
    """One minus a measure of translations that counts the n-grams which two texts share."""

    bound = 1.0

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> _NGrams:
        return _NGrams.of(each_label(tokens_of, labels))

    @flat
    def between(self, encoded: _NGrams, left: Indices, right: Indices) -> Distances:
        size = np.diff(encoded.incidence.indptr)
        cuts = np.cumsum(size[left] + size[right]) // _BLOCK
        found = np.empty(len(left))
        for part in np.split(np.arange(len(left)), np.flatnonzero(np.diff(cuts)) + 1):
            a, b = left[part], right[part]
            n, m = encoded.n_tokens[a], encoded.n_tokens[b]
            with np.errstate(divide="ignore", invalid="ignore"):  # of empty texts
                similarity = self.similarity(encoded.shared(a, b), n, m)
            found[part] = np.where((n > 0) & (m > 0), 1 - similarity, (n > 0) | (m > 0))
        return found

    @abstractmethod
    def similarity(self, shared: Int[np.ndarray, "pair order"], n: Indices, m: Indices) -> Distances:
        """Compare texts of n and m tokens, by the numbers of n-grams that they share."""


def _n_grams(n_tokens: Indices) -> Int[np.ndarray, "pair order"]:
    return np.maximum(n_tokens[:, None] - np.arange(_LONGEST), 0)


class Bleu(_Translation):
    """One minus BLEU, averaged over which of the two texts is the reference; in [0, 1].

    If sentences have no common n-gram of some length, BLEU is smoothed by the fourth method of Chen and Cherry, so a
    short text is not quite at distance 0 from itself. Papineni et al. (2002); Chen and Cherry (2014).

    Examples
    --------
    >>> bleu = Bleu()
    >>> bleu("a b c d e", "a b c d e") < bleu("a b c d e", "a b c d f") < bleu("a b c d e", "v w x y z")
    True
    """

    name = "bleu"

    def similarity(self, shared: Int[np.ndarray, "pair order"], n: Indices, m: Indices) -> Distances:
        return np.minimum((_bleu(shared, n, m) + _bleu(shared, m, n)) / 2, 1)


def _bleu(shared: Int[np.ndarray, "pair order"], n: Indices, of_reference: Indices) -> Distances:
    """BLEU of texts of n tokens: a geometric mean of precisions, less if the text is shorter than its reference."""
    none = shared == 0
    smoothed = np.log(n)[:, None] / (_SMOOTHING * 2.0 ** np.cumsum(none, axis=1))  # of a text of one token 0: left out
    precision = np.where(none, smoothed, shared) / np.maximum(_n_grams(n), 1)
    logarithm = np.log(np.where(precision > 0, precision, 1)).sum(axis=1)
    brevity = np.exp(np.minimum(1 - of_reference / n, 0))
    return np.where(none[:, 0], 0, brevity * np.exp(logarithm / _LONGEST))


class Gleu(_Translation):
    """One minus GLEU, the smaller of precision and recall of all n-grams up to length four; in [0, 1].

    Wu et al. (2016), "Google's neural machine translation system".

    Examples
    --------
    >>> round(Gleu()("the quick fox", "the slow fox"), 4)
    0.6667
    """

    name = "gleu"

    def similarity(self, shared: Int[np.ndarray, "pair order"], n: Indices, m: Indices) -> Distances:
        return shared.sum(axis=1) / _n_grams(np.maximum(n, m)).sum(axis=1)
