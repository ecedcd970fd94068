"""Bootstrap over cases that estimates accuracies again in every replicate, so that intervals include their error."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array

from plausibly._progress import Progress
from plausibly.agreement._case_pairs import pairs_within
from plausibly.agreement._votes import OneCoin
from plausibly.labels.container import Labels

Accuracies = Callable[[Float[np.ndarray, "replicate case"]], Float[np.ndarray, "replicate annotator"]]
Correct = Callable[[np.ndarray, np.ndarray], np.ndarray]

_NUMBERS = 2**21  # weights in memory at once
_SLOW = 20_000_000  # of labels, times replicates, that take seconds
_SWEEPS = 15  # from the estimate of all cases


class Resampling:
    """What agreement of every two annotators weighs in each case, and how their accuracies depend on cases' weights."""

    def __init__(
        self, labels: Labels, code: np.ndarray, certainty: np.ndarray, accuracies: Accuracies, correct: Correct
    ):
        people, n = len(labels.annotators), np.diff(labels.start)
        n_pairs = n * (n - 1) // 2
        rows, cells, values = [], [], []
        for left, right in pairs_within(labels.start):
            same = code[left] == code[right]
            left, right = left[same], right[same]
            rows.append(labels.case[left])
            cells.append(labels.annotator[left] * people + labels.annotator[right])
            values.append(certainty[left] * certainty[right] / n_pairs[labels.case[left]])
        cell, place = np.unique(np.concatenate(cells), return_inverse=True)
        shape = (len(labels.cases), len(cell))
        # By case and pair of annotators: agreement beyond chance, as a share of the pairs of the case.
        self.agreement = csr_array((np.concatenate(values), (np.concatenate(rows), place)), shape=shape)
        self.first, self.second = np.divmod(cell, people)
        self.accuracies, self.correct, self.n_labels = accuracies, correct, len(labels)

    def draws(
        self, included: Bool[np.ndarray, " case"], replicates: int, seed: int, progress: bool
    ) -> Float[np.ndarray, " replicate"]:
        """ϱ with the weights of the Bayesian bootstrap over cases (Rubin 1981), the mean of those that count."""
        random, out = np.random.default_rng(seed), np.empty(replicates)
        step = max(1, _NUMBERS // max(self.n_labels, 1))
        with Progress(progress and replicates * self.n_labels > _SLOW) as bars:
            advance = bars.task("Weighting cases", replicates, "replicates")
            for first in range(0, replicates, step):
                part = slice(first, min(first + step, replicates))
                weight = random.standard_exponential((part.stop - part.start, len(included)))
                accuracy = self.accuracies(weight)
                weight = weight * included
                weight /= weight.sum(axis=1, keepdims=True)
                right = self.correct(accuracy[:, self.first], accuracy[:, self.second])
                out[part] = ((self.agreement.T @ weight.T).T * right).sum(axis=1)
                advance(len(weight))
        return out


def by_judgement(labels: Labels, judged: Float[np.ndarray, " label"]) -> Accuracies:
    """Give accuracies as shares of labels that were judged to be right."""
    known = ~np.isnan(judged)
    at = labels.case[known], labels.annotator[known]
    shape = (len(labels.cases), len(labels.annotators))
    right, n = (csr_array((values, at), shape=shape) for values in (judged[known], np.ones(known.sum())))

    def accuracies(weight: np.ndarray) -> np.ndarray:
        total = (n.T @ weight.T).T
        return np.divide((right.T @ weight.T).T, total, out=np.zeros(total.shape), where=total > 0)

    return accuracies


def by_latent_truth(labels: Labels, code: np.ndarray, n_labels: int) -> tuple[np.ndarray, Accuracies]:
    """Estimate accuracies, and give them with other weights of the cases."""
    model = OneCoin(labels, code, np.full(max(n_labels, int(code.max()) + 1), 1 / (n_labels - 1)))
    found = model.accuracies(np.ones((1, len(labels.cases))))[0]
    return found, lambda weight: model.accuracies(weight, found, _SWEEPS)
