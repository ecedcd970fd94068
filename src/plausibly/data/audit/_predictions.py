"""Predictions that do not fit, are unrelated to the annotations, or repeat others."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from pandas.util import hash_array
from scipy.optimize import linear_sum_assignment

from plausibly.base.errors import PlausiblyError
from plausibly.data.annotations import Annotations
from plausibly.data.audit._finding import SHOWN, Finding
from plausibly.data.predictions import line_up

_NEARLY_ALL = 0.9  # of the rows, above which the others are an oversight
_SUM = 0.02  # by which the probabilities of a case may miss 1
_GAIN, _SURE = 0.01, 4  # least gain of an exchange: in the share of cases, and in standard errors
_MANY_CLASSES = 2000  # above which their assignment takes minutes
_SIGNIFICANT, _WEAK = 1.64, 0.3  # standard errors; part of the way from chance to always right
_FEW_CLASSES = 100  # up to which scores of all classes are compared
_CHANCE = 1e-4  # that a classifier agrees with one of the annotators in every case
_FEW_CASES = 30  # below which a good classifier may look like an unrelated one


def of_predictions(annotations: Annotations, named: Mapping[str, Any], extra: str = "refuse") -> Iterator[Finding]:
    """Check classifiers one by one, holding the scores of one at a time."""
    exchanged: list[str] = []
    wrong, unrelated, likeness, n_flat, flat, n_alike, alike = [], [], {}, 0, [], 0, []
    n_other, other_scale, copied = 0, [], []
    for name, source in named.items():
        try:
            scores = line_up(source, annotations, extra)
        except PlausiblyError as error:
            wrong.append(f"{name}: {error.args[0]}")
            continue
        best = scores.argmax(axis=1)
        if _is_unrelated(annotations, scores, best):
            unrelated.append(name)
        exchanged += [f"{name}: {pair}" for pair in exchanged_classes(annotations, best)]
        copied += [f"{name} = {who}" for who in _annotator_of(annotations, best)]
        silent = ~scores.any(axis=1)  # which says that there is no answer
        other = (scores < 0).any(axis=1) | (np.abs(scores.sum(axis=1, dtype=np.float64) - 1) > _SUM)
        other = np.flatnonzero(other & ~silent)
        if len(other) <= (1 - _NEARLY_ALL) * len(scores):
            n_other += len(other)
            other_scale += [f"{name} / {case}" for case in annotations.cases[other[:SHOWN]]]
        constant = np.flatnonzero(scores.max(axis=1) == scores.min(axis=1))
        even = constant[~silent[constant]]
        n_flat += len(even)
        flat += [f"{name} / {case}" for case in annotations.cases[even[:SHOWN]]]
        rows = _rows(scores)
        _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
        again = np.setdiff1d(np.flatnonzero(first[inverse] != np.arange(len(rows))), constant)
        if ((scores == 0) | (scores == 1)).all():  # names of classes
            again = again[:0]
        n_alike += len(again)
        alike += [
            f"{name} / {annotations.cases[first[inverse[row]]]} = {annotations.cases[row]}" for row in again[:SHOWN]
        ]
        likeness.setdefault(hashlib.sha256(rows).digest(), []).append(name)
    n_read = len(named) - len(wrong)
    yield Finding("mismatched predictions", len(wrong), len(named), wrong)
    yield Finding("predictions on another scale", n_other, n_read * annotations.n_cases, other_scale)
    yield Finding("unrelated predictions", len(unrelated), n_read, unrelated)
    yield Finding("predictions by an annotator", len(copied), n_read, copied)
    yield Finding("exchanged classes", len(exchanged), n_read * annotations.n_classes, exchanged)
    twins = [f"{names[0]} = {other}" for names in likeness.values() for other in names[1:]]
    yield Finding("identical classifiers", len(twins), n_read, twins)
    yield Finding("identical predictions", n_alike, n_read * annotations.n_cases, alike)
    yield Finding("flat predictions", n_flat, n_read * annotations.n_cases, flat)


def _rows(scores: Float[np.ndarray, "case class"]) -> UInt64[np.ndarray, " case"]:
    """Return a number for every row that two share if, and almost certainly only if, their scores are equal."""
    out = np.zeros(len(scores), np.uint64)
    for column in scores.T:
        out = hash_array(out ^ np.ascontiguousarray(column + 0.0, np.float64).view(np.uint64))  # + 0.0 makes 0 of −0
    return out


def exchanged_classes(annotations: Annotations, best: Int[np.ndarray, " case"]) -> list[str]:
    """Pairs of a class that a classifier chooses, and the class that annotators name first instead.

    Classes are assigned to the columns by the annotations of every other case. Pairs are reported if the assignment
    fits the remaining cases better than the names of the columns do. A single one is that of a classifier that mostly
    names one class.
    """
    n_cases, n_classes = annotations.n_cases, annotations.n_classes
    if n_classes > _MANY_CLASSES:
        return []
    first = annotations.entry_block == 0
    case, named = annotations.entry_case[first], annotations.entry_class[first]
    weight = 1 / np.bincount(case, minlength=n_cases)[case]

    def together(chosen: Bool[np.ndarray, " entry"]) -> Float[np.ndarray, "chosen named"]:
        cells = best[case[chosen]] * n_classes + named[chosen]
        return np.bincount(cells, weight[chosen], n_classes**2).reshape(n_classes, n_classes)

    def assigned(counts: Float[np.ndarray, "chosen named"]) -> Int[np.ndarray, " chosen"]:
        # A column keeps its name unless another one fits better.
        return linear_sum_assignment(counts + 1e-6 * np.eye(n_classes), maximize=True)[1]

    odd = case % 2 == 1
    gain = np.zeros(n_cases)
    for half in (odd, ~odd):
        fits = (named == assigned(together(~half))[best[case]]) - 1.0 * (named == best[case])
        gain += np.bincount(case, weight * fits * half, n_cases)
    if gain.mean() < _GAIN or gain.mean() * np.sqrt(n_cases) < _SURE * gain.std():
        return []
    counts = together(np.ones(len(case), bool))
    other, own = assigned(counts), np.arange(n_classes)
    better = counts[own, other] - counts[own, own]
    names = annotations.classes
    pairs = [f"{names[k]} is {names[other[k]]}" for k in np.argsort(-better, kind="stable") if better[k] > 0]
    return pairs if len(pairs) > 1 else []


def _annotator_of(annotations: Annotations, best: Int[np.ndarray, " case"]) -> Sequence[str]:
    """Annotators who name first what a classifier chooses in every case, more often than the others explain."""
    if annotations.anonymous:
        return []
    first, n_annotators = annotations.entry_block == 0, len(annotations.annotators)
    who = annotations.annotation_annotator[annotations.entry_annotation[first]]
    same = annotations.entry_class[first] == best[annotations.entry_case[first]]
    n, right = np.bincount(who, minlength=n_annotators), np.bincount(who, same, n_annotators)
    others = (right.sum() - right + 1) / (n.sum() - n + 2)
    found = (right == n) & (n * np.log(others) < np.log(_CHANCE / n_annotators))
    return annotations.annotators[found].tolist()


def _is_unrelated(
    annotations: Annotations, scores: Float[np.ndarray, "case class"], best: Int[np.ndarray, " case"]
) -> bool:
    """Whether first choices are among the annotators' no more often than those of other cases would be.

    Not said of a classifier that always chooses the same class or gives higher scores to what annotators name, nor
    where cases are so few that a weak classifier would look alike.
    """
    n_cases, n_classes = annotations.n_cases, annotations.n_classes
    chosen = np.bincount(best, minlength=n_classes) / n_cases
    if n_cases < _FEW_CASES or chosen.max() == 1:
        return False
    first = annotations.entry_block == 0
    key = np.unique(annotations.entry_case[first].astype(np.int64) * n_classes + annotations.entry_class[first])
    named = np.bincount(key % n_classes, minlength=n_classes) / n_cases
    expected = chosen @ named
    met = np.isin(np.arange(n_cases) * n_classes + best, key).mean()
    error = _SIGNIFICANT * np.sqrt(expected * (1 - expected) / n_cases)
    at_most = expected + _WEAK * (1 - expected)  # what a weak classifier reaches
    return bool(expected < 1 and met <= expected + error and met + error < at_most) and not _tells(annotations, scores)


def _tells(annotations: Annotations, scores: Float[np.ndarray, "case class"]) -> bool:
    """Whether classes that annotators name first have higher scores than in other cases, as shuffled rows hardly would.

    Of many classes this is not asked.
    """
    n, k = scores.shape
    if k > _FEW_CLASSES:
        return False
    first = annotations.entry_block == 0
    said = np.bincount(annotations.entry_case[first] * k + annotations.entry_class[first], minlength=n * k)
    shares = said.reshape(n, k) / np.maximum(said.reshape(n, k).sum(axis=1, keepdims=True), 1)
    both = [one - one.mean(axis=0) for one in (scores.astype(np.float64), shares)]
    spread = np.sum((both[0].T @ both[0]) * (both[1].T @ both[1])) / (n - 1)
    return bool((both[0] * both[1]).sum() > np.sqrt(max(spread, 1e-300)))
