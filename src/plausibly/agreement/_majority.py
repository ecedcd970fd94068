"""Majorities: votes by case, and agreement with the majority of the others."""

import numpy as np
from jaxtyping import Float, Int

Indices = Int[np.ndarray, " label"]


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
