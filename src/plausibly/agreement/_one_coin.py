"""Accuracies of annotators where the true labels are not known, by expectation maximisation."""

import numpy as np
from jaxtyping import Float, Int

from plausibly.labels._container import Labels

_SWEEPS, _START = 60, 0.7
_LEAST, _MOST = 0.01, 0.99


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
        n_labels = np.bincount(self.annotator, minlength=len(labels.annotators))
        self.start = np.concatenate([[0], np.cumsum(n_labels)])
        self.by_annotator = np.argsort(self.annotator, kind="stable")

    def accuracies(
        self,
        weight: Float[np.ndarray, "replicate case"],
        start: Float[np.ndarray, " annotator"] | None = None,
        sweeps: int = _SWEEPS,
    ) -> Float[np.ndarray, "replicate annotator"]:
        """Find the accuracies of the greatest likelihood, with weights of the cases, from a start."""
        weight = np.atleast_2d(weight)
        of_label = weight[:, self.case[self.group_of]]
        n = self._sum_by_annotator(of_label)
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
            accuracy = self._sum_by_annotator(of_label * right[:, self.group_of]) / np.maximum(n, 1e-300)
            accuracy = np.clip(accuracy, _LEAST, _MOST)
            of_group = right * weight[:, self.case]
            total = np.stack([np.bincount(self.code, row, self.n_distinct) for row in of_group]) + 1e-3
            shares = total / total.sum(axis=1, keepdims=True)
        return accuracy

    def _sum_by_annotator(self, values: Float[np.ndarray, "replicate label"]) -> np.ndarray:
        total = np.concatenate([np.zeros((len(values), 1)), np.cumsum(values[:, self.by_annotator], axis=1)], axis=1)
        return total[:, self.start[1:]] - total[:, self.start[:-1]]
