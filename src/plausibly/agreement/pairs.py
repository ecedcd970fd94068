"""Pairs of labels of a case, labels without duplicates, and votes of annotators."""

import warnings
from collections.abc import Hashable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from plausibly.base.errors import AnnotationError, PlausiblyWarning
from plausibly.base.memory import runs
from plausibly.data.labels.container import Labels
from plausibly.data.labels.types import check_nominal
from plausibly.data.rounds import Rounds, rounds, tell

BLOCK = 1 << 20  # pairs at a time

Pairs = Iterator[tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]]


def pairs_within(start: Int[np.ndarray, " boundary"], block: int = BLOCK) -> Pairs:
    """Unordered pairs of rows of one case, each once; the rows of case ``i`` are ``start[i]`` to ``start[i + 1]``."""
    later = np.arange(start[-1]) + 1
    return _pairs(later, np.repeat(start[1:], np.diff(start)) - later, block)


def pairs_of_others(labels: Labels, block: int = BLOCK) -> Pairs:
    """Pairs of labels that different annotators gave one case."""
    for left, right in pairs_within(labels.start, block):
        other = labels.annotator[left] != labels.annotator[right]
        if other.any():
            yield left[other], right[other]


def pairs_across(cases: Int[np.ndarray, " row"], start: Int[np.ndarray, " boundary"], block: int = BLOCK) -> Pairs:
    """Pairs of every row of one table, whose cases are given, and all rows of the same case in a second one.

    In the second table the rows of each case begin at `start`, as in :func:`pairs_within`.
    """
    return _pairs(start[:-1][cases], np.diff(start)[cases], block)


def _pairs(begin: Int[np.ndarray, " row"], counts: Int[np.ndarray, " row"], block: int) -> Pairs:
    """Pairs of every row and `counts` others from `begin` on, about `block` at a time."""
    ends = np.cumsum(counts)
    for run in runs(counts, block):
        left = np.repeat(np.arange(run.start, run.stop), counts[run])
        done = ends[run.start] - counts[run.start]
        if len(left):
            yield left, np.arange(done, done + len(left)) + (begin - ends + counts)[left]


def further_labels(labels: Labels) -> Bool[np.ndarray, " label"]:
    """Whether the annotator of each label has an earlier one of the same case."""
    return np.append(False, (np.diff(labels.case) == 0) & (np.diff(labels.annotator) == 0))[: len(labels)]


def counted_once(labels: Labels) -> Labels:
    """Leave out rows that repeat another, and warn of it; readings that differ stay."""
    left, told = without_repeats(labels)
    if len(left) < len(labels):
        warnings.warn(f"{told}.", PlausiblyWarning, stacklevel=3)
    return left


def single_labels(labels: Labels, nominal: str = "") -> Labels:
    """Labels as :func:`fair_pairs` keeps them, without repeated rows; refuses a second one of a case by an annotator.

    For a measure by name that takes equal labels only, texts of which hardly any are equal are refused, too.
    """
    if nominal:
        check_nominal(labels, nominal, "use agreement with")
    labels = counted_once(labels)
    for label in np.flatnonzero(further_labels(labels)):
        raise AnnotationError(
            f"{labels.where(label)}: a second label of the same case; keep one, since two readings by one person are "
            "not two annotators"
        )
    return fair_pairs(labels)[0]


def without_repeats(labels: Labels) -> tuple[Labels, str | None]:
    """Leave out rows that repeat another, where all further labels of an annotator do; readings that differ stay.

    Returns the labels and a sentence, without its full stop, that says which are compared; None if there is nothing to
    say.
    """
    again = further_labels(labels)
    if not again.any():
        return labels, None
    n, of, code = int(again.sum()), len(labels), distinct(labels).code
    if (code[again] == code[np.flatnonzero(again) - 1]).all():
        told = f"{n:,} of {of:,} rows repeat another (same case, annotator and label), and each is counted once"
        return labels.select(~again), told
    return labels, (
        f"{n:,} of {of:,} labels are further readings by the same annotator, and how well an annotator agrees with "
        "herself is left out: for that, pass same_annotator=True (--same-annotator)"
    )


def check_two_annotators(labels: Labels, n_annotators: np.ndarray) -> None:
    """Refuse labels of which no case has two annotators."""
    if (n_annotators < 2).all():
        raise AnnotationError(
            f"no case has labels of two annotators ({len(labels.cases):,} cases, {len(labels.annotators):,} annotators "
            "in all), so annotators cannot be compared; give more labels"
        )


@dataclass(frozen=True)
class Distinct:
    """The different labels, for every label an index into them, and for every one of them the first that is it."""

    values: list[Any]
    code: Int[np.ndarray, " label"]
    first: Int[np.ndarray, " distinct"]

    def __len__(self) -> int:
        return len(self.values)


def distinct(labels: Labels) -> Distinct:
    """Find equal labels: of the same type and content, through all levels of lists and mappings.

    What can be neither looked into nor hashed counts as different from everything else.
    """
    first, code = different(labels.values)
    values = labels.values[first]
    return Distinct(values.tolist() if labels.is_numeric else list(values), code, first)


def fair_pairs(labels: Labels, found: Distinct | None = None) -> tuple[Labels, Rounds | None]:
    """Keep as many labels of every case as do not depend on what the first ones say, which pairs are to be of.

    Warns of what was found (:func:`plausibly.data.rounds.rounds`). Further labels of an annotator go with the first.

    Raises
    ------
    AnnotationError
        If their number depends on the first one, or nothing tells which came first: then it cannot be told how
        often annotators agree.
    """
    own = ~further_labels(labels)
    if len({*np.bincount(labels.case[own]).tolist()} - {0}) < 2:
        return labels, None
    code = (found or distinct(labels)).code[own]
    place = None if labels.place is None else labels.place[own]
    depends = rounds(labels.case[own], code, place, labels.values[own].astype(float) if labels.is_numeric else None)
    if depends is None:
        return labels, None
    depends.refuse()
    assert depends.kept is not None
    tell(depends)
    return labels.select(depends.kept[np.cumsum(own) - 1]), depends


def different(values: np.ndarray) -> tuple[Int[np.ndarray, " distinct"], Int[np.ndarray, " label"]]:
    """Find the first of each of the different labels, and for every label which of them it is; see :func:`distinct`."""
    if values.dtype != object:
        _, first, code = np.unique(values, return_index=True, return_inverse=True)
        return first, code
    places: dict[Hashable, int] = {}
    code = np.empty(len(values), np.int64)
    first = []
    for position, value in enumerate(values):
        place = places.setdefault(_frozen(value), len(places))
        if place == len(first):
            first.append(position)
        code[position] = place
    return np.array(first), code


def _frozen(value: Any) -> Hashable:
    """Make of a label something that can be looked up."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        content = _frozen(value.tolist()) if value.dtype == object else value.tobytes()
        return "array", value.shape, value.dtype.str, content
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(_frozen, value))
    if isinstance(value, Mapping):
        return ("mapping", *sorted(((_frozen(key), _frozen(cell)) for key, cell in value.items()), key=repr))
    if isinstance(value, Set):
        return ("set", frozenset(map(_frozen, value)))
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return (type(value).__name__, value)


Indices = Int[np.ndarray, " label"]

_SWEEPS, _START = 60, 0.7
_LEAST, _MOST = 0.01, 0.99


def count_votes(case: Indices, code: Indices, n_cases: int, n_classes: int) -> Int[np.ndarray, "case class"]:
    """Count the labels of each kind in each case."""
    return np.bincount(case * n_classes + code, minlength=n_cases * n_classes).reshape(n_cases, n_classes)


def share_of_top(votes: Int[np.ndarray, "*case class"]) -> Float[np.ndarray, "*case class"]:
    """Distribution of the majority: even over the labels that have most votes."""
    top = votes == votes.max(axis=-1, keepdims=True)
    return top / top.sum(axis=-1, keepdims=True)


def agreement_with_others(
    case: Indices, code: Indices, n_cases: int, n_classes: int, part: int = 1 << 16
) -> Float[np.ndarray, " label"]:
    """Share of every label in the majority of the other labels of its case; NaN if there are none.

    An annotator labels a case once. Labels are compared `part` at a time.
    """
    votes = count_votes(case, code, n_cases, n_classes)
    out = np.empty(len(case))
    for first in range(0, len(case), part):
        at = slice(first, first + part)
        others, place = votes[case[at]], np.arange(len(case[at]))
        others[place, code[at]] -= 1
        alone = others.sum(axis=1) == 0
        out[at] = np.where(alone, np.nan, share_of_top(others)[place, code[at]])
    return out


class OneCoin:
    """Each case has one true label, which an annotator gives with a probability of her own (Dawid & Skene 1979).

    The true label of a case may be one that no annotator gave it; an annotator labels a case at most once. `code` are
    the labels as indices of the different labels, and `wrong` is the probability of each of these where it is wrong.
    """

    def __init__(self, labels: Labels, code: Int[np.ndarray, " label"], wrong: Float[np.ndarray, " distinct"]):
        order = np.lexsort((code, labels.case))
        self.annotator, self.n_distinct = labels.annotator[order], len(wrong)
        cell = labels.case[order] * self.n_distinct + code[order]  # of equal labels of a case
        cells, self.group_start, self.group_of = np.unique(cell, return_index=True, return_inverse=True)
        self.case, self.code = np.divmod(cells, self.n_distinct)
        _, self.case_start, self.case_of = np.unique(self.case, return_index=True, return_inverse=True)
        self.log_wrong = np.log(wrong)[code[order]]
        belongs = (np.ones(len(labels)), (np.arange(len(labels)), self.annotator))
        self.of_annotator = csr_array(belongs, shape=(len(labels), len(labels.annotators)))

    def accuracies(
        self,
        weight: Float[np.ndarray, "replicate case"],
        start: Float[np.ndarray, " annotator"] | None = None,
        sweeps: int = _SWEEPS,
    ) -> Float[np.ndarray, "replicate annotator"]:
        """Find the accuracies of the greatest likelihood, with weights of the cases, from a start."""
        weight = np.atleast_2d(weight)
        of_label = weight[:, self.case[self.group_of]]
        n = of_label @ self.of_annotator
        accuracy = np.broadcast_to(_START if start is None else start, n.shape)
        shares = np.full((len(weight), self.n_distinct), 1 / self.n_distinct)
        for _ in range(sweeps):
            odds = np.log(accuracy / (1 - accuracy))[:, self.annotator] - self.log_wrong
            score = np.add.reduceat(odds, self.group_start, axis=1) + np.log(shares[:, self.code])
            most = np.maximum(np.maximum.reduceat(score, self.case_start, axis=1), 0.0)
            right = np.exp(score - most[:, self.case_of])
            seen = np.add.reduceat(shares[:, self.code], self.case_start, axis=1)
            unseen = np.maximum(1 - seen, 0.0) * np.exp(-most)
            right /= (np.add.reduceat(right, self.case_start, axis=1) + unseen)[:, self.case_of]
            accuracy = (of_label * right[:, self.group_of]) @ self.of_annotator / np.maximum(n, 1e-300)
            accuracy = np.clip(accuracy, _LEAST, _MOST)
            of_group = right * weight[:, self.case]
            total = np.stack([np.bincount(self.code, row, self.n_distinct) for row in of_group]) + 1e-3
            shares = total / total.sum(axis=1, keepdims=True)
        return accuracy
