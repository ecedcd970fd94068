"""The outcome of the alternative annotator test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly.agreement.discrepancy._baselines import Reasons, in_words
from plausibly.agreement.discrepancy._result import Discrepancy
from plausibly.agreement.judge._tests import FEW, adjusted, compared_sets, differences_of, p_values, reject
from plausibly.base.bootstrap import (
    CI_PROB,
    REPLICATES,
    check_probability,
    check_replicates,
    interval_of_known,
    resampled_sums,
)
from plausibly.base.errors import ArgumentError
from plausibly.base.names import some

_FEW_EACH = 5  # cases in common with others, of half of the annotators, below which no study of more is drawn
FEWEST = 3  #: annotators that the test's authors ask for
PASS = 0.5  #: winning rate from which a model passes
_MOST = 100_000  # cases for which power is computed
_CANNOT = "These annotators cannot tell whether {} is as good as one of them"
_TIED = 0.5  # share of equal distances from which the notes mention them


@dataclass(frozen=True, eq=False)
class AlternativeAnnotatorTest:
    """Result of the alternative annotator test, which compares a model with each annotator.

    For a single model without a name, numbers are floats; otherwise they are :class:`pandas.Series` by model.

    Parameters
    ----------
    comparison
        Discrepancies of models and annotators that the test uses.
    epsilon
        Cost-benefit parameter ε: how far an annotator's advantage may exceed the model's because the model costs less.
    fdr
        False discovery rate over annotators.
    few_cases
        Number of cases below which Wilcoxon's test replaces the t-test.
    """

    comparison: Discrepancy
    epsilon: float
    fdr: float
    few_cases: int = FEW

    def __repr__(self) -> str:
        parts = [
            f"{name}: winning rate {rate:.2f}, advantage {mean:.3f}, {self._beside(name)}"
            for name, rate, mean in zip(self.models, *self._means, strict=True)
        ]
        return f"AlternativeAnnotatorTest({'; '.join(parts)}; ε = {self.epsilon:g})"

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return self.comparison.models

    @cached_property
    def case(self) -> Int[np.ndarray, " comparison"]:
        """Case of every comparison."""
        return self.comparison.label_sets.case[compared_sets(self.comparison)]

    @cached_property
    def annotator(self) -> Int[np.ndarray, " comparison"]:
        """Annotator of every comparison."""
        return self.comparison.label_sets.annotator[compared_sets(self.comparison)]

    @cached_property
    def differences(self) -> Mapping[str, Int[np.ndarray, " comparison"]]:
        """By model, whether it is closer to the other annotators (−1), the annotator is (1), or both are as close."""
        return {name: differences_of(self.comparison, to_set) for name, to_set in self.comparison.to_sets.items()}

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per model and annotator.

        Columns: ``n_cases``; ``advantage``, the share of cases in which the model is at least as close to the others;
        ``annotator_advantage``, the share in which the annotator is; ``tied``, the share in which both are equally
        close; ``test`` (``"t"``, ``"wilcoxon"``, or ``"none"`` for one case); ``p_value``; ``p_adjusted``;
        ``rejected``.
        """
        frames = []
        for name in self.models:
            counts = self._counts(name).sum(axis=0).reshape(-1, 3)
            n = counts.sum(axis=1)
            p = p_values(counts, self.epsilon, self.few_cases)
            frame = {
                "model": name,
                "annotator": self._tested,
                "n_cases": n.astype(int),
                "advantage": (counts[:, 0] + counts[:, 1]) / n,
                "annotator_advantage": (counts[:, 1] + counts[:, 2]) / n,
                "tied": counts[:, 1] / n,
                "test": np.where(n < 2, "none", np.where(n < self.few_cases, "wilcoxon", "t")),
                "p_value": p,
                "p_adjusted": adjusted(p),
                "rejected": reject(p, self.fdr),
            }
            frames.append(pd.DataFrame(frame))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def untold(self) -> Reasons:
        """By model, why these annotators cannot tell that it is as good as they are; no reasons where they can."""

        def passes(to_sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            rates, _ = self._outcomes(to_sets)
            return rates, rates >= PASS

        agreement = self.comparison.untold_agreement()
        return self.comparison._baselines.reasons(
            self.models, passes, lambda rate: f"winning rate {rate:.2f}", agreement
        )

    @property
    def answer(self) -> Any:
        """``"yes"`` if the model passes, ``"no"`` if it does not, ``"cannot tell"`` if answers that ignore the case do.

        The latter replaces yes, also where annotators may agree no more than by chance (:attr:`untold`).
        """
        return self.comparison._shaped(np.array(self._answers, object))

    @property
    def _answers(self) -> list[str]:
        passed = zip(self.models, self._means[0] >= PASS, strict=True)
        return ["no" if not yes else "cannot tell" if self.untold[name] else "yes" for name, yes in passed]

    def baselines(self) -> pd.DataFrame:
        """Tabulate the test of answers that look at no case, by model.

        Columns: ``constant``, the constant answer with the highest winning rate (then, advantage), its
        ``constant_winning_rate`` and ``constant_advantage``; ``shuffled_winning_rate`` and ``shuffled_advantage``, the
        means for the model's predictions in shuffled order. See also :meth:`Discrepancy.baselines`.
        """
        found = self.comparison._baselines
        rates, advantages = self._outcomes(found.to_constants)
        best = int(np.lexsort((-advantages, -rates))[0])
        frame = pd.DataFrame({"constant": in_words(found.constants[best])}, self.comparison._index)
        frame["constant_winning_rate"], frame["constant_advantage"] = rates[best], advantages[best]
        names = ["shuffled_winning_rate", "shuffled_advantage"]
        shuffled = [np.mean(self._outcomes(found.to_shuffled[name]), axis=1) for name in self.models]
        frame[names] = np.array(shuffled)
        return frame

    @property
    def winning_rate(self) -> Any:
        """ω, the share of annotators for whom the hypothesis that the model is worse by more than ε is rejected."""
        return self.comparison._shaped(self._means[0])

    @property
    def advantage(self) -> Any:
        """Mean over annotators of the share of cases in which the model is at least as close to the others."""
        return self.comparison._shaped(self._means[1])

    @property
    def passed(self) -> Any:
        """Whether ω is at least one half."""
        return self.comparison._shaped(self._means[0] >= PASS)

    @cached_property
    def notes(self) -> list[str]:
        """Limits of the conclusion, in sentences."""
        table, notes = self.table, []
        own = table[table["model"] == self.models[0]]
        if self.comparison.labels.numbered:
            notes.append(
                "The labels do not name their annotators, who are therefore numbered within each case. Results by "
                "annotator hold only if the same number is the same person in all cases"
            )
        if len(own) < FEWEST:
            notes.append(
                f"The test asks for at least {FEWEST} annotators, and there {'is' if len(own) == 1 else 'are'} "
                f"{len(own)}. Whether the model could stand in for another one is unknown"
            )
        few = own[own["n_cases"] < max(FEW, self.few_cases)]
        if len(few):
            words = "The t-test, used for all of them, has little power there"
            if self._lenient:
                words = (
                    "Wilcoxon's test, used there as published, passed up to 39 % of simulated models that were worse "
                    "than allowed. With few_cases=0, the t-test replaces it, which passed at most 5 %"
                )
            notes.append(
                f"{len(few)} of {len(own)} annotators have fewer than {max(FEW, self.few_cases)} cases in common with "
                f"others: {some(few['annotator'].tolist())}. {words}"
            )
        none = own[own["test"] == "none"]
        if len(none):
            notes.append(
                "With a single case no test is possible, and the comparison is not won: "
                f"{some(none['annotator'].tolist())}"
            )
        for name, model in table.groupby("model", sort=False):
            tied = float(np.average(model["tied"], weights=model["n_cases"]))
            if tied >= _TIED:
                notes.append(
                    f"{name} and the annotator whom it replaces are equally close to the others in {100 * tied:.0f} % "
                    "of the comparisons. Each such tie counts as a win for both"
                )
        return notes

    def interval(
        self, ci_prob: float = CI_PROB, replicates: int = REPLICATES, seed: int = 0, *, by_annotator: bool = False
    ) -> pd.DataFrame:
        """Compute a bootstrap interval, over clusters of cases, of the average advantage or of each annotator's.

        The interval reflects that other cases could have been sampled, but not that other annotators could have been
        asked.

        Parameters
        ----------
        ci_prob
            Confidence level of the interval, between 0 and 1.
        replicates, seed
            Number of bootstrap replicates, and random seed.
        by_annotator
            Whether to return one row for each model and annotator.

        Returns
        -------
        pandas.DataFrame
            ``lower`` and ``upper`` by model, or by model and annotator.
        """
        check_probability("ci_prob", ci_prob)
        index = self.comparison._index
        advantages = [self._resampled_advantages(name, replicates, seed) for name in self.models]
        if by_annotator:
            index = pd.MultiIndex.from_product([self.models, self._tested], names=["model", "annotator"])
            drawn = np.concatenate(advantages, axis=1)
        else:
            drawn = np.stack([np.nanmean(each, axis=1) for each in advantages], axis=1)
        lower, upper = interval_of_known(drawn, ci_prob)
        return pd.DataFrame({"lower": lower, "upper": upper}, index)

    def power(self, n_clusters: Sequence[int] | None = None, replicates: int = 500, seed: int = 0) -> pd.DataFrame:
        """Estimate the probability that a model passes in a study of a given size with cases and annotators like these.

        Clusters of cases are resampled from the data, so this is the power of a new study with the same annotators: a
        number for planning, not another test of the same data.

        Parameters
        ----------
        n_clusters
            Numbers of clusters (of cases, if there are no clusters), each from 2 to 100,000. By default the number in
            the data, and fractions and multiples of it.
        replicates
            Number of simulated studies for each size.
        seed
            Random seed.

        Returns
        -------
        pandas.DataFrame
            Probability of passing by ``n_clusters`` (rows) and model (columns).
        """
        check_replicates(replicates)
        here = self.comparison.n_clusters
        usual = sorted({min(max(round(here * share), 2), _MOST) for share in (0.1, 0.25, 0.5, 1, 2, 4)})
        sizes = usual if n_clusters is None else [int(n) for n in n_clusters]
        if not sizes or min(sizes) < 2 or max(sizes) > _MOST:
            raise ArgumentError(f"n_clusters must lie between 2 and {_MOST:,}, but {sizes!r} was given: give [{here}].")
        found = [[self._passes(name, size, replicates, seed, self.few_cases) for name in self.models] for size in sizes]
        return pd.DataFrame(found, pd.Index(sizes, name="n_clusters"), self.comparison._index)

    def clusters_needed(self, power: float = 0.8, replicates: int = 500, seed: int = 0) -> Any:
        """Find the smallest number of clusters (or cases) with which a model passes with a given probability.

        The number is found by bisection to 5 %, under the assumptions of :meth:`power`. The t-test is used for every
        size, because the power of Wilcoxon's test falls when more cases remove its false rejections. The result is
        infinite if 100,000 are not enough: then the annotators' advantage exceeds ε, and more cases make passing less
        likely. It is NaN if half of the annotators share fewer than 5 cases with others: new cases would be others',
        whereas drawn ones repeat the few of each.
        """
        check_probability("power", power)
        if self.table["n_cases"].median() < _FEW_EACH:
            return self.comparison._shaped(np.full(len(self.models), np.nan))
        needed = np.array([self._needed(name, power, replicates, seed) for name in self.models])
        return self.comparison._shaped(needed)

    def to_frame(self, ci_prob: float = CI_PROB, replicates: int = REPLICATES, seed: int = 0) -> pd.DataFrame:
        """Winning rate, average advantage with its interval, and verdict by model.

        Parameters
        ----------
        ci_prob, replicates, seed
            See :meth:`interval`. A single cluster has no interval.
        """
        rates, advantages = self._means
        columns = {"winning_rate": rates, "advantage": advantages, "passed": rates >= PASS, "answer": self._answers}
        frame = pd.DataFrame(columns, self.comparison._index)
        if self.comparison.several_clusters:
            frame[["lower", "upper"]] = self.interval(ci_prob, replicates, seed)
        frame["n_annotators"], frame["n_cases"] = len(self._tested), self.comparison.n_cases
        return frame

    def verdict(self) -> str:
        """State the outcome in a sentence for each model, and what limits it."""
        words, n = [], len(self._tested)
        lenient = ", by a test that is too lenient with so few cases" if self._lenient else ""
        for name, rate, mean, answer in zip(self.models, *self._means, self._answers, strict=True):
            if answer == "cannot tell":
                words += [self.comparison.beside_constant()[name], _CANNOT.format(name), *self.untold[name]]
            words += [
                f"{name} {f'passes{lenient}' if rate >= PASS else 'does not pass'}, allowing it to be up to "
                f"{self.epsilon:.2f} worse",
                f"That is shown for {round(rate * n)} of {n} annotators",
                f"On average, it is at least as close to the others as an annotator in {100 * mean:.0f} % of the cases",
                f"For comparison, {self._beside(name)}",
            ]
        return ". ".join([*words, *self.notes]) + "."

    def _beside(self, model: str) -> str:
        row = self.baselines().loc[model]
        of_answers = zip((f"always {row['constant']}", "shuffled predictions"), ("constant", "shuffled"), strict=True)
        return "; ".join(
            f"{name}: winning rate {row[f'{of}_winning_rate']:.2f}, advantage {row[f'{of}_advantage']:.3f}"
            for name, of in of_answers
        )

    @property
    def _lenient(self) -> bool:
        """Whether any annotator is compared by Wilcoxon's test."""
        return bool((self.table["test"] == "wilcoxon").any())

    @cached_property
    def _tested(self) -> np.ndarray:
        """Names of the annotators who share a case with others."""
        return self.comparison.labels.annotators[np.unique(self.annotator)]

    @cached_property
    def _means(self) -> Float[np.ndarray, "2 model"]:
        """Winning rate and average advantage of every model."""
        by_model = self.table.groupby("model", sort=False)
        return np.asarray(by_model[["rejected", "advantage"]].mean(), float).T

    def _outcomes(self, to_sets: Float[np.ndarray, "answer set"]) -> Float[np.ndarray, "2 answer"]:
        """Winning rate and average advantage of answers, from their discrepancies to every set of labels."""
        place = 3 * np.unique(self.annotator, return_inverse=True)[1] + 1
        size = 3 * len(self._tested)
        counts = np.array(
            [np.bincount(place + differences_of(self.comparison, one), minlength=size) for one in to_sets]
        )
        counts = counts.reshape(len(to_sets), -1, 3)
        rejected = reject(p_values(counts, self.epsilon, self.few_cases), self.fdr)
        return np.stack([rejected.mean(axis=1), (counts[..., :2].sum(axis=-1) / counts.sum(axis=-1)).mean(axis=1)])

    def _counts(self, model: str) -> Float[csr_array, "case statistic"]:
        """For every case that counts and tested annotator, which of three differences there is."""
        place = np.cumsum(self.comparison.included) - 1
        columns = 3 * np.unique(self.annotator, return_inverse=True)[1] + self.differences[model] + 1
        shape = (self.comparison.n_cases, 3 * len(self._tested))
        return csr_array((np.ones(len(columns)), (place[self.case], columns)), shape=shape)

    def _resampled(
        self, model: str, replicates: int, seed: int, size: int | None = None
    ) -> Float[np.ndarray, "replicate annotator 3"]:
        """Counts of the three differences of every tested annotator, of clusters drawn with replacement."""
        statistics = self._counts(model).toarray()
        drawn = resampled_sums(statistics, self.comparison._cluster, replicates, seed, size=size)
        return drawn.reshape(replicates, -1, 3)

    def _resampled_advantages(self, model: str, replicates: int, seed: int) -> Float[np.ndarray, "replicate annotator"]:
        """Advantages over every tested annotator; NaN in a replicate without their cases."""
        closer, same, farther = np.moveaxis(self._resampled(model, replicates, seed), -1, 0)
        with np.errstate(invalid="ignore"):
            return (closer + same) / (closer + same + farther)

    def _passes(self, model: str, size: int, replicates: int, seed: int, few_cases: int) -> float:
        p = p_values(self._resampled(model, replicates, seed, size), self.epsilon, few_cases)
        return float((reject(np.nan_to_num(p, nan=1.0), self.fdr).mean(axis=1) >= PASS).mean())

    def _needed(self, model: str, power: float, replicates: int, seed: int) -> float:
        low, high = 2, 8
        while self._passes(model, high, replicates, seed, 0) < power:
            low, high = high, 2 * high
            if low >= _MOST:
                return np.inf
        while high - low > max(1, low // 20):
            middle = (low + high) // 2
            low, high = (low, middle) if self._passes(model, middle, replicates, seed, 0) >= power else (middle, high)
        return float(high)
