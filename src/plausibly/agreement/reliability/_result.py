"""The outcome of weighing agreement by confidence and competence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly._arviz import Posterior
from plausibly.agreement.reliability._resampling import Resampling
from plausibly.bootstrap import CI_PROB, REPLICATES, check_replicates, interval, resampled_sums
from plausibly.labels.container import Labels


@dataclass(frozen=True, eq=False)
class WeightedReliability:
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
            f"{self.competence}, {self.n_cases:,} cases, {len(self.excluded):,} cases excluded)"
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
            uncertainty of given accuracies is not included.
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
