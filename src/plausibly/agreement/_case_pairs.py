"""Pairs of rows of one case, in blocks that fit into memory; labels refused that have none, or several of one."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from plausibly._memory import runs
from plausibly.errors import AnnotationError
from plausibly.labels.container import Labels

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


def check_single_labels(labels: Labels) -> None:
    """Refuse a second label of one case by one annotator."""
    for label in 1 + np.flatnonzero((np.diff(labels.case) == 0) & (np.diff(labels.annotator) == 0)):
        raise AnnotationError(
            f"{labels.where(label)}: a second label of the same case; an annotator gives one, so keep one, or name the "
            "second annotator"
        )


def check_two_annotators(labels: Labels, n_annotators: np.ndarray) -> None:
    """Refuse labels of which no case has two annotators."""
    if (n_annotators < 2).all():
        raise AnnotationError(
            f"no case has labels of two annotators ({len(labels.cases):,} cases, {len(labels.annotators):,} annotators "
            "in all), so annotators cannot be compared; give more labels"
        )
