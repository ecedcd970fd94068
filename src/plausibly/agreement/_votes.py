"""Who is right by the labels of others: majorities, and accuracies where the true labels are not known."""

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly.labels.container import Labels

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
