"""Weighted reliability: agreement that is neither luck nor a common mistake."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly._progress import Progress
from plausibly.agreement.discrepancy._bootstrap import quantile, resampled_sums
from plausibly.agreement.discrepancy._case_pairs import BLOCK, pairs_within
from plausibly.agreement.discrepancy._result import REPLICATES, check_share
from plausibly.agreement.reliability._competence import (
    NAMES,
    correct_by_majority,
    mean_by_annotator,
    read_accuracies,
    read_truth,
)
from plausibly.agreement.reliability._confidence import COLUMN, beyond_chance, chance_of, read_confidence
from plausibly.agreement.reliability._rasch import accuracy_draws, sample_rasch
from plausibly.errors import AnnotationError, ArgumentError
from plausibly.labels._container import Labels

PROB = 0.94  # of posterior intervals, as everywhere in the package
_DRAWS = 64  # at a time
_SLOW = 10_000_000  # pairs, times draws, that take seconds


@dataclass(frozen=True, eq=False)
class WeightedReliability:
    """Concordance and weighted reliability, by case and in total.

    Parameters
    ----------
    labels
        Of the annotators.
    confidence
        Of every label, and with what chance would have given taken off: the probability that it was no guess.
    concordance_by_case
        σ of every case; NaN for fewer than two annotators.
    reliability_by_case
        ϱ of every case in every draw; one draw unless competence is a Rasch model.
    accuracy
        Mean over draws of the probability that a label is right.
    posterior
        Of the Rasch model, an ArviZ container; None without.
    competence
        Where competence comes from.
    """

    labels: Labels
    confidence: Float[np.ndarray, "label 2"]
    concordance_by_case: Float[np.ndarray, " case"]
    reliability_by_case: Float[np.ndarray, "draw case"]
    accuracy: Float[np.ndarray, " label"]
    posterior: Posterior | None
    competence: str

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
        """How many cases count: those that two annotators labelled."""
        return int(self._included.sum())

    @property
    def excluded(self) -> list[str]:
        """Names of the cases that fewer than two annotators labelled."""
        return self.labels.cases[~self._included].tolist()

    @property
    def concordance(self) -> float:
        """σ, the mean over cases of the agreement that was no guess."""
        return float(self.concordance_by_case[self._included].mean())

    @property
    def reliability(self) -> float:
        """ϱ, the mean over cases of the agreement that was neither a guess nor wrong; over draws, if there are."""
        return float(self.draws.mean())

    @property
    def draws(self) -> Float[np.ndarray, " draw"]:
        """ϱ in every draw."""
        return self.reliability_by_case[:, self._included].mean(axis=1)

    def interval(
        self, prob: float = PROB, replicates: int = REPLICATES, seed: int = 0, *, progress: bool = True
    ) -> tuple[float, float]:
        """Interval of ϱ: of the posterior if competence is a Rasch model, else by bootstrap over cases.

        Parameters
        ----------
        prob
            Its probability, or confidence.
        replicates, seed, progress
            Of the bootstrap, see :meth:`Discrepancy.replicates`.

        Raises
        ------
        ArgumentError
            If ``prob`` is out of range, or there is a single case to draw from.
        """
        check_share("prob", prob)
        values = self.draws
        if self.posterior is None:
            cases = self.reliability_by_case[0, self._included, None]
            values = resampled_sums(cases, np.arange(len(cases)), replicates, seed, progress)[:, 0] / len(cases)
        return float(quantile(values, (1 - prob) / 2)), float(quantile(values, (1 + prob) / 2))

    def by_case(self, prob: float = PROB) -> pd.DataFrame:
        """Concordance and reliability by case, with the posterior's interval if there is one.

        Only cases that count have a row; ``excluded`` names the others.
        """
        check_share("prob", prob)
        there = self._included
        n = np.diff(self.labels.start)[there]
        draws = self.reliability_by_case[:, there]
        frame = pd.DataFrame(
            {"n_annotators": n, "concordance": self.concordance_by_case[there], "reliability": draws.mean(axis=0)},
            index=pd.Index(self.labels.cases[there], name="case"),
        )
        if self.posterior is not None:
            for name, q in (("lower", (1 - prob) / 2), ("upper", (1 + prob) / 2)):
                frame[name] = np.quantile(draws, q, axis=0)
        return frame

    def annotators(self, prob: float = PROB) -> pd.DataFrame:
        """Labels, mean confidence and mean accuracy by annotator; and the ability, if there is a Rasch model."""
        check_share("prob", prob)
        n = np.bincount(self.labels.annotator, minlength=len(self.labels.annotators))
        there = n > 0
        frame = pd.DataFrame({"n_labels": n[there]}, pd.Index(self.labels.annotators[there], name="annotator"))
        for name, values in (("confidence", self.confidence[:, 0]), ("accuracy", self.accuracy)):
            frame[name] = np.bincount(self.labels.annotator, values, len(n))[there] / n[there]
        if self.posterior is not None:
            ability = self.posterior["posterior"]["ability"].to_numpy().reshape(-1, len(n))[:, there]
            frame["ability"] = ability.mean(axis=0)
            frame["ability_lower"], frame["ability_upper"] = np.quantile(ability, [(1 - prob) / 2, (1 + prob) / 2], 0)
        return frame

    def to_frame(self, prob: float = PROB, seed: int = 0, *, progress: bool = True) -> pd.DataFrame:
        """Concordance, reliability with its interval, and how many cases count, in a row."""
        row: dict[str, Any] = {"competence": self.competence, "concordance": self.concordance}
        row["reliability"] = self.reliability
        if self.posterior is not None or self.n_cases > 1:
            row["lower"], row["upper"] = self.interval(prob, seed=seed, progress=progress)
        return pd.DataFrame([row | {"n_cases": self.n_cases, "n_excluded": len(self.excluded)}])


def weighted_reliability(
    labels: Any,
    confidence: str | float | None = None,
    competence: Any = "rasch",
    chance: str | Mapping[Any, float] = "uniform",
    *,
    scale: Mapping[Any, float] | tuple[float, float] | None = None,
    truth: Any = None,
    n_classes: int | None = None,
    draws: int = 1000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int = 0,
    progress: bool = True,
) -> WeightedReliability:
    r"""Measure how far labels agree beyond chance, and how far what they agree on is right.

    With :math:`c_i` the confidence of annotator :math:`i` in her label of a case, :math:`p_i` the probability that
    chance gives that label and :math:`a_i` the probability that she is right,

    .. math::
       \hat c_i = \frac{c_i}{c_i + (1 - c_i) p_i}, \quad
       \sigma = \mathrm{mean}_{i<j} \, \hat c_i \hat c_j [r_i = r_j], \quad
       \varrho = \mathrm{mean}_{i<j} \, \hat c_i \hat c_j [r_i = r_j] \frac{a_i a_j}{a_i a_j + (1 - a_i)(1 - a_j)},

    over the pairs of annotators of the case; both then averaged over cases.

    Parameters
    ----------
    labels
        A long table with the columns ``case``, ``annotator``, ``label``, and perhaps one of confidences: see
        :meth:`Labels.of`. An annotator labels a case once; rows without a label are left out and counted, so that the
        pairs are those that exist.
    confidence
        Name of a column, or a number from 0 to 1 for all labels. By default the column ``confidence`` if there is one;
        else everyone is taken to be sure.
    competence
        Where :math:`a_i` comes from: ``"rasch"``, a model of abilities and difficulties, which gives ϱ a posterior;
        ``"leave-one-out"``, how often an annotator agrees with the majority of the others (of several largest groups,
        each counts in part); ``"known"``, how often she gives the label in ``truth``; a number, a mapping from
        annotator to accuracy, or a table (a data frame or a path) with columns ``annotator``, ``accuracy`` and perhaps
        ``case``, for what is known from elsewhere.
    chance
        Where :math:`p_i` comes from: ``"uniform"``, ``"empirical"`` (how frequent the label is in the table), or a
        mapping from label to probability.
    scale
        How the cells of the column become confidences: a mapping ``{level: confidence}``, or the pair (least, greatest)
        of a linear scale. By default they are confidences.
    truth
        A table with the columns ``case`` and ``label``, or a mapping ``{case: label}``, for ``"known"`` and, in place
        of the majority of the others, for ``"rasch"``; not every case needs one.
    n_classes
        How many labels there could be, for ``"uniform"``; by default those in use.
    draws, chains, warmup, seed
        Of the Rasch model's sampler.
    progress
        Whether to show a bar.

    Returns
    -------
    WeightedReliability
        With ``concordance``, ``reliability``, ``by_case()`` and what follows from them. Cases of fewer than two
        annotators count for nothing, and are named in ``excluded``. Perfect, fully confident agreement has σ = 1; so
        does a table of one class, whose ϱ says what the annotators' competence makes of it. Where one of two who agree
        is always right and the other always wrong, nothing tells which, and the probability of being right is ½.

    Raises
    ------
    AnnotationError
        If no case has two annotators, an annotator labelled a case twice, a confidence or an accuracy is missing or out
        of range, or nothing tells how competent an annotator is.
    ArgumentError
        If an argument is none of the above, or has no use.

    Notes
    -----
    Under ``"rasch"`` a label is right if it is the true one or, without ``truth``, that of the majority of the others;
    labels that share the majority with another say nothing. The majority of a few others errs itself: without
    ``truth``, it makes annotators look less competent, and ϱ less, than they are.

    References
    ----------
    Cabitza, Campagner et al. (2020), The elephant in the machine: proposing a new metric of data reliability and its
    application to a medical case to assess classification reliability, Applied Sciences 10, 4014.

    Examples
    --------
    >>> labels = {"p": {"ann": "wart", "bob": "wart", "cy": "corn"}, "q": {"ann": "corn", "bob": "corn"}}
    >>> result = weighted_reliability(labels, competence={"ann": 0.9, "bob": 0.8, "cy": 0.6})
    >>> round(result.concordance, 3), round(result.reliability, 3)
    (0.667, 0.649)
    """
    name = competence if isinstance(competence, str) and competence in NAMES else "given"
    if truth is None and name == "known":
        raise ArgumentError('competence="known" needs the true labels: pass truth=.')
    if truth is not None and name not in ("known", "rasch"):
        raise ArgumentError(f"truth is for known competence and for rasch, but competence={competence!r} was given.")
    columns = [confidence] if isinstance(confidence, str) else []
    labels = Labels.of(labels, columns=columns, optional=(COLUMN,))
    names, code = labels.coded
    _check(labels)
    given = read_confidence(labels, confidence, scale)
    certainty = beyond_chance(given, chance_of(code, names, chance, n_classes))
    posterior = None
    if name in ("rasch", "leave-one-out", "known"):
        judged = (
            correct_by_majority(labels, code, len(names)) if truth is None else read_truth(labels, names, code, truth)
        )
        if name == "rasch":
            clear = (judged == 0) | (judged == 1)
            if not clear.any():
                raise AnnotationError(
                    "no label can be judged right or wrong; give the truth of cases that have labels, or accuracies as "
                    "competence"
                )
            posterior = sample_rasch(
                labels.annotator[clear],
                labels.case[clear],
                judged[clear] == 1,
                labels.annotators,
                labels.cases,
                draws=draws,
                chains=chains,
                warmup=warmup,
                seed=seed,
                progress=progress,
            )
            accuracy = None
        else:
            accuracy = mean_by_annotator(labels, judged)
    else:
        accuracy = read_accuracies(labels, competence)
    n_draws = 1 if posterior is None else draws * chains
    with Progress(progress and n_draws * int(_n_pairs(labels).sum()) > _SLOW) as bars:
        concordance = _concordance(labels, code, certainty)
        reliability, mean_accuracy = _reliability(labels, code, certainty, accuracy, posterior, bars)
    return WeightedReliability(
        labels=labels,
        confidence=np.column_stack([given, certainty]),
        concordance_by_case=concordance,
        reliability_by_case=reliability,
        accuracy=mean_accuracy,
        posterior=posterior,
        competence=name,
    )


def correct_if_agreed(
    first: Float[np.ndarray, "*pair"], second: Float[np.ndarray, "*pair"]
) -> Float[np.ndarray, "*pair"]:
    """Probability that two who agree are right, from the accuracy of each; ½ if one is always right, one always wrong.

    Examples
    --------
    >>> correct_if_agreed(np.array([0.9, 0.5, 1.0]), np.array([0.8, 0.5, 0.0])).round(3).tolist()
    [0.973, 0.5, 0.5]
    """
    right, wrong = first * second, (1 - first) * (1 - second)
    return np.divide(right, right + wrong, out=np.full(np.shape(right), 0.5), where=right + wrong > 0)


def _check(labels: Labels) -> None:
    for label in 1 + np.flatnonzero((np.diff(labels.case) == 0) & (np.diff(labels.annotator) == 0)):
        raise AnnotationError(
            f"{labels.where(label)}: a second label of the same case; an annotator gives one, so keep one, or name the "
            "second annotator"
        )
    if (np.diff(labels.start) < 2).all():
        raise AnnotationError(
            f"no case has labels of two annotators ({len(labels.cases):,} cases, {len(labels.annotators):,} annotators "
            "in all), so that nobody can agree; give more labels"
        )


def _n_pairs(labels: Labels) -> Int[np.ndarray, " case"]:
    n = np.diff(labels.start)
    return n * (n - 1) // 2


def _concordance(labels: Labels, code: np.ndarray, certainty: np.ndarray) -> np.ndarray:
    """From sums by case and label: the pairs of a sum are its square less the squares, halved."""
    cells, place = np.unique(labels.case * (int(code.max()) + 1) + code, return_inverse=True)
    # Differences below zero are rounding, and of a label given once there is no pair at all.
    pairs = np.where(
        np.bincount(place) > 1, (np.bincount(place, certainty) ** 2 - np.bincount(place, certainty**2)) / 2, 0.0
    )
    n = _n_pairs(labels)
    total = np.bincount(cells // (int(code.max()) + 1), np.maximum(pairs, 0.0), len(n))
    return np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)


def _reliability(
    labels: Labels,
    code: np.ndarray,
    certainty: np.ndarray,
    accuracy: np.ndarray | None,
    posterior: Posterior | None,
    progress: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ϱ of every case, draws of the accuracies a few at a time; and the mean accuracies."""
    n = _n_pairs(labels)
    n_draws = 1 if posterior is None else int(np.prod(posterior["posterior"]["mean_ability"].shape))
    out = np.empty((n_draws, len(n)), np.float64 if posterior is None else np.float32)
    mean = np.zeros(len(labels))
    block = max(BLOCK // min(n_draws, _DRAWS), 1)
    agreeing = [
        (left[same], right[same])
        for left, right in pairs_within(labels.start, block)
        for same in [code[left] == code[right]]
    ]
    advance = progress.task("Weighing agreement", n_draws, "draws")
    for first in range(0, n_draws, _DRAWS):
        draws = slice(first, min(first + _DRAWS, n_draws))
        if posterior is None:
            own = np.asarray(accuracy)[None]
        else:
            own = accuracy_draws(posterior, labels.annotator, labels.case, draws)
        total = np.zeros((len(own), len(n)))
        for left, right in agreeing:
            weight = certainty[left] * certainty[right] * correct_if_agreed(own[:, left], own[:, right])
            for row, values in enumerate(weight):
                total[row] += np.bincount(labels.case[left], values, len(n))
        out[draws] = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
        mean += own.sum(axis=0) / n_draws
        advance(len(own))
    return out, mean
