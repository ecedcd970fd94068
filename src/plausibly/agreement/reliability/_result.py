"""The outcome of weighing agreement by confidence and competence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.sparse import csr_array

from plausibly.agreement.pairs import OneCoin, pairs_within
from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import CI_PROB, REPLICATES, check_replicates, interval, resampled_sums, with_unseen
from plausibly.base.names import many
from plausibly.base.progress import Progress
from plausibly.base.shown import Shown
from plausibly.data.labels.container import Labels

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


@dataclass(frozen=True, eq=False)
class WeightedReliability(Shown, kind="reliability"):
    """Concordance and weighted reliability, by case and in total.

    Parameters
    ----------
    labels
        Labels of the annotators.
    confidence
        Confidence of every label, and the same corrected for chance: the probability that the label was not a guess.
    concordance_by_case
        σ of every case; NaN for fewer than two annotators.
    reliability_by_case
        ϱ of every case in every draw; a single draw unless competence comes from a Rasch model.
    accuracy
        Probability that a label is right, averaged over draws.
    posterior
        Posterior of the Rasch model, an ArviZ container; None for other sources of competence.
    competence
        Source of the competence: ``"rasch"``, ``"leave-one-out"``, ``"one-coin"``, ``"known"`` or ``"given"``.
    resampling
        Accuracies under other weights of the cases, for intervals; None if accuracies are given or have a posterior.
    published
        ϱ of the published form, at the mean accuracies; None if the published form was used.
    """

    labels: Labels
    confidence: Float[np.ndarray, "label 2"]
    concordance_by_case: Float[np.ndarray, " case"]
    reliability_by_case: Float[np.ndarray, "draw case"]
    accuracy: Float[np.ndarray, " label"]
    posterior: Posterior | None
    competence: str
    resampling: Resampling | None = None
    published: float | None = None

    def __repr__(self) -> str:
        return (
            f"WeightedReliability(reliability {self.reliability:.3f}, concordance {self.concordance:.3f}; competence: "
            f"{self.competence}, {self.n_cases:,} cases, {many(len(self.excluded), 'case')} excluded)"
        )

    @property
    def _included(self) -> np.ndarray:
        return ~np.isnan(self.concordance_by_case)

    @property
    def n_cases(self) -> int:
        """Number of cases that count: those with labels by at least two annotators."""
        return int(self._included.sum())

    @property
    def excluded(self) -> list[str]:
        """Names of the cases with labels by fewer than two annotators."""
        return self.labels.cases[~self._included].tolist()

    @property
    def concordance(self) -> float:
        """σ, the mean over cases of the agreement that is not due to guessing."""
        return float(self.concordance_by_case[self._included].mean())

    @property
    def reliability(self) -> float:
        """ϱ, the mean over cases (and draws) of the agreement that is due to neither guessing nor shared mistakes."""
        return float(self.draws.mean())

    @property
    def draws(self) -> Float[np.ndarray, " draw"]:
        """ϱ in every draw."""
        return self.reliability_by_case[:, self._included].mean(axis=1)

    def interval(
        self, ci_prob: float = CI_PROB, replicates: int = REPLICATES, seed: int = 0, *, progress: bool = True
    ) -> tuple[float, float]:
        """Compute a bootstrap interval of ϱ over cases; accuracies are estimated again in each replicate.

        Parameters
        ----------
        ci_prob
            Probability (for a posterior) or confidence level of the interval.
        replicates, seed, progress
            Arguments of the bootstrap, see :meth:`Discrepancy.replicates`. Cases are weighted at random (Rubin 1981,
            The Bayesian bootstrap); with a Rasch model, once in each of its draws, whatever ``replicates`` is. The
            uncertainty of given accuracies is not included. Every replicate has one more case, in which ϱ is 0 or 1.
        """
        if self.resampling is not None:
            check_replicates(replicates)
            values = self.resampling.draws(self._included, replicates, seed, progress)
        elif self.posterior is None:
            cases = self.reliability_by_case[0, self._included, None]
            values = resampled_sums(cases, np.arange(len(cases)), replicates, seed, progress)[:, 0] / len(cases)
        else:
            values = np.empty(len(self.reliability_by_case))
            random = np.random.default_rng(seed)
            for draw, row in enumerate(self.reliability_by_case[:, self._included]):
                weight = random.standard_exponential(len(row))
                values[draw] = weight @ row / weight.sum()
        n_cases = np.full(len(values), float(self.n_cases))
        values = with_unseen(values[:, None] * self.n_cases, n_cases, 1.0, seed)[:, 0]
        lower, upper = interval(values, ci_prob)
        return float(lower), float(upper)

    def by_case(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Tabulate concordance and reliability by case, with posterior intervals if there is a posterior.

        Only cases that count have a row; ``excluded`` names the others.
        """
        there = self._included
        n = np.diff(self.labels.start)[there]
        draws = self.reliability_by_case[:, there]
        frame = pd.DataFrame(
            {"n_annotators": n, "concordance": self.concordance_by_case[there], "reliability": draws.mean(axis=0)},
            index=pd.Index(self.labels.cases[there], name="case"),
        )
        if self.posterior is not None:
            frame["lower"], frame["upper"] = interval(draws, ci_prob)
        return frame

    def annotators(self, ci_prob: float = CI_PROB) -> pd.DataFrame:
        """Tabulate labels, mean confidence and mean accuracy by annotator, and the ability under a Rasch model."""
        n = np.bincount(self.labels.annotator, minlength=len(self.labels.annotators))
        there = n > 0
        frame = pd.DataFrame({"n_labels": n[there]}, pd.Index(self.labels.annotators[there], name="annotator"))
        for name, values in (("confidence", self.confidence[:, 0]), ("accuracy", self.accuracy)):
            frame[name] = np.bincount(self.labels.annotator, values, len(n))[there] / n[there]
        if self.posterior is not None:
            ability = self.posterior["posterior"]["ability"].to_numpy().reshape(-1, len(n))[:, there]
            frame["ability"] = ability.mean(axis=0)
            frame["ability_lower"], frame["ability_upper"] = interval(ability, ci_prob)
        return frame

    def to_frame(
        self, ci_prob: float = CI_PROB, replicates: int = REPLICATES, seed: int = 0, *, progress: bool = True
    ) -> pd.DataFrame:
        """Tabulate concordance, reliability with its interval, and the number of cases that count, in one row."""
        row: dict[str, Any] = {"competence": self.competence, "concordance": self.concordance}
        row["reliability"] = self.reliability
        if self.published is not None:
            row["published_form"] = self.published
        if self.posterior is not None or self.n_cases > 1:
            row["lower"], row["upper"] = self.interval(ci_prob, replicates, seed, progress=progress)
        return pd.DataFrame([row | {"n_cases": self.n_cases, "n_excluded": len(self.excluded)}])
