"""The outcome of a comparison of models and annotators."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack

from plausibly.agreement.discrepancy._baselines import Baselines, Reasons, baselines_of, in_words
from plausibly.agreement.discrepancy._comparison import Comparison
from plausibly.agreement.discrepancy._delta import (
    ratio_of,
    ratios_of_annotators,
    taken_out,
    without_each,
)
from plausibly.base.bootstrap import (
    CI_PROB,
    REPLICATES,
    check_probability,
    interval,
    interval_of_known,
    quantile,
    resampled_sums,
)
from plausibly.base.errors import ArgumentError
from plausibly.base.names import many
from plausibly.base.shown import Shown

MARGIN = 0.1  #: of the test of non-inferiority: a tenth farther from the annotators than they are from each other


@dataclass(frozen=True, eq=False)
class Discrepancy(Shown, Comparison, kind="discrepancy"):
    """Discrepancies of models and annotators by case, and their ratios.

    For a single model without a name, numbers are floats; otherwise they are :class:`pandas.Series` by model.

    Parameters
    ----------
    labels, label_sets
        Labels of the annotators, and the set of labels for each annotator and case.
    distance
        Name of the distance.
    to_others
        Sum of the discrepancies of every set to the other sets of its case.
    to_sets
        Discrepancy of every model to each set; NaN if there is none.
    single
        Whether there is one model, without a name.
    clusters
        Cluster of every case, −1 without labels.
    by
        Names of groups of cases, and the group of every case.
    compared
        Labels in the form that the distance compares.
    """

    def __repr__(self) -> str:
        rows = self.baselines(ci_prob=None).assign(ratio=self._ratios)
        ratios = ", ".join(
            f"{name}: {row['ratio']:.3f} (shuffled {row['shuffled_ratio']:.3f})" for name, row in rows.iterrows()
        )
        return (
            f"Discrepancy({ratios}; best constant {self.constant_ratio:.3f}, "
            f"chance {self._baselines.chance_ratio:.3f}; {self.distance}, {self.n_cases:,} cases, "
            f"{len(self.labels.annotators):,} annotators, {many(len(self.excluded), 'case')} excluded)"
        )

    def non_inferiority(
        self, margin: float = MARGIN, level: float = 0.05, replicates: int = REPLICATES, seed: int = 0
    ) -> pd.DataFrame:
        """Test whether a model is no farther from the annotators than they are from each other, within a margin.

        The null hypothesis is Δ ≥ 1 + ``margin``. It is rejected, and the model is non-inferior, if the upper end of
        the one-sided confidence interval of Δ lies below 1 + ``margin``.

        Parameters
        ----------
        margin
            How much farther a model may be from the annotators than they are from each other, as a share: 0.1 allows a
            tenth, 0 nothing, and with a negative margin, down to −1, the model must be closer. Choose it before you
            look at the result, and no larger than you would accept from a person (``relative`` − 1 of your farthest
            annotator).
        level
            Probability of a false rejection.
        replicates, seed
            See :meth:`replicates`.

        Returns
        -------
        pandas.DataFrame
            By model: ``ratio``, ``upper``, ``p_value`` (the share of replicates at or above 1 + ``margin``, with one
            added to the count); ``answer``, which is ``"yes"``, ``"not shown"`` or, where the best constant answer or
            shuffled predictions pass the same test, or annotators may agree no more than by chance, ``"cannot tell"``;
            ``why``, the reason for the latter; and ``non_inferior``, whether the answer is yes.
        """
        check_probability("level", level)
        if not -1 < margin < np.inf:
            raise ArgumentError(f"margin must be a number greater than -1, but {margin!r} was given: give 0.1.")
        drawn = self.replicates(replicates, seed)
        upper = quantile(drawn.values, 1 - level)
        passed = upper < 1 + margin
        why = self.untold(margin, level, replicates, seed) if passed.any() else dict.fromkeys(self.models, ())
        p_value = (1 + (drawn.values >= 1 + margin).sum(axis=0)) / (1 + replicates)
        frame = pd.DataFrame({"ratio": self._ratios, "upper": upper, "p_value": p_value}, drawn.columns)
        told = [". ".join(why[name]) * yes for name, yes in zip(self.models, passed.tolist(), strict=True)]
        answers = np.select([~passed, [bool(words) for words in told]], ["not shown", "cannot tell"], "yes")
        return frame.assign(non_inferior=answers == "yes", answer=answers.astype(object), why=told)

    @cached_property
    def _baselines(self) -> Baselines:
        return baselines_of(self.labels, self.label_sets, self.to_others, self.compared)

    @property
    def constant_ratio(self) -> float:
        """Δ of the best constant answer, see :meth:`baselines`."""
        return float(self._baselines.ratios(self._baselines.to_constants[:1])[0])

    def baselines(self, ci_prob: float | None = CI_PROB, replicates: int = REPLICATES, seed: int = 0) -> pd.DataFrame:
        """Tabulate Δ of answers that look at no case, which every Δ should be read beside.

        Nothing here depends on an inferred truth. Where labels are many and the distance is slow, constant answers and
        the expected distance are found by samples of pairs.

        Parameters
        ----------
        ci_prob
            Confidence level of the interval of the agreement; None for no interval.
        replicates, seed
            See :meth:`replicates`.

        Returns
        -------
        pandas.DataFrame
            By model: ``constant``, the best constant answer, and its ``constant_ratio``; ``shuffled_ratio``, the mean
            Δ of the model's predictions in shuffled order; ``chance_ratio``, Δ at chance, 1 / (1 − α); ``agreement``,
            the agreement α of the annotators by the same distance, all cases weighing the same, with
            ``agreement_lower`` and ``agreement_upper``.
        """
        found = self._baselines
        shuffled = [
            float(found.ratios(found.to_shuffled[name]).mean()) if name in found.to_shuffled else np.nan
            for name in self.models
        ]
        columns = {"constant": in_words(found.constants[0]), "constant_ratio": self.constant_ratio}
        columns |= {"shuffled_ratio": shuffled, "chance_ratio": found.chance_ratio, "agreement": found.agreement}
        frame = pd.DataFrame(columns, self._index)
        if ci_prob is not None:
            ends = found.agreement_interval(self._cluster, ci_prob, replicates, seed)
            frame["agreement_lower"], frame["agreement_upper"] = ends
        return frame

    def beside_constant(self, replicates: int = REPLICATES, seed: int = 0) -> dict[str, str]:
        """Say by model, without a verdict, whether it agrees with the annotators better than the best constant answer.

        Parameters
        ----------
        replicates, seed
            See :meth:`replicates`.
        """
        found, told = self._baselines, {}
        constant, at = in_words(found.constants[0]), found.to_constants[0]
        for name, to_sets in self.to_sets.items():
            both, how = np.stack([to_sets, at]), "is not shown to agree with the annotators better than"
            own, best = (f"{ratio:.2f}" for ratio in found.ratios(both))
            if self.several_clusters:
                drawn = found.resampled_ratios(both, self._cluster, replicates, seed)
                with np.errstate(invalid="ignore"):
                    (lower,), (upper,) = interval_of_known(drawn[:, 1:] - drawn[:, :1], CI_PROB)
                how = "agrees with the annotators better than" if lower > 0 else how
                how = "agrees with the annotators worse than" if upper < 0 else how
            how = "agrees with the annotators no better than" if own == best else how
            told[name] = f"{name} {how} always answering {constant}: Δ {own} and {best}"
        return told

    def untold_agreement(self, replicates: int = REPLICATES, seed: int = 0) -> str:
        """Say why annotators who agree no more than by chance can tell nothing; no words if they agree."""
        ends = self._baselines.agreement_interval(self._cluster, CI_PROB, replicates, seed)
        return self._baselines.without_agreement(ends)

    def untold(
        self, margin: float = MARGIN, level: float = 0.05, replicates: int = REPLICATES, seed: int = 0
    ) -> Reasons:
        """Say by model why these annotators cannot tell that it is non-inferior; no reasons where they can.

        The arguments are those of :meth:`non_inferiority`. Shuffled predictions count if at least one in twenty
        shuffles is non-inferior. For a single cluster, which has no interval, answers pass if their Δ is at most 1.
        """
        found = self._baselines

        def share(to_sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            ratios = found.ratios(to_sets)
            if not self.several_clusters:
                return ratios, ratios <= 1
            drawn = found.resampled_ratios(to_sets, self._cluster, replicates, seed)
            return ratios, (drawn >= 1 + margin).mean(axis=0) <= level

        return found.reasons(
            self.models, share, lambda ratio: f"Δ = {ratio:.2f}", self.untold_agreement(replicates, seed)
        )

    def annotators(self, ci_prob: float | None = None, replicates: int = REPLICATES, seed: int = 0) -> pd.DataFrame:
        """Compute Δ of every annotator, who is left out and treated as a model.

        Only cases with two other annotators count, since a single one has no discrepancy to others.

        Parameters
        ----------
        ci_prob
            Confidence level of an interval to add as columns ``lower`` and ``upper``; None for no interval.
        replicates, seed
            See :meth:`replicates`.

        Returns
        -------
        pandas.DataFrame
            By annotator: ``ratio``, ``discrepancy`` (to the others), ``others_discrepancy`` (among the others) and
            ``n_cases``; the first three are NaN without cases. Because denominators differ between annotators, compare
            annotators by ``relative``: 1 plus the difference between the discrepancy to the others and that between two
            annotators of the same cases, as a share of α. It has the same denominator as the ratios of models and does
            not penalise annotators of hard cases; a typical annotator has 1.
        """
        people, alpha = len(self.labels.annotators), np.column_stack([self._by_case[:, 0], np.ones(self.n_cases)])
        of_annotators = taken_out(self.label_sets, self.to_others, people)[np.flatnonzero(self.included)]
        statistics = hstack([of_annotators, csr_array(alpha)], format="csr")
        sums = statistics.sum(axis=0)
        discrepancy, others, n_cases = sums[: 3 * people].reshape(3, people)
        ratio, relative = ratios_of_annotators(sums, people)
        with np.errstate(invalid="ignore"):
            table = {"ratio": ratio, "discrepancy": discrepancy / n_cases, "others_discrepancy": others / n_cases}
        table |= {"n_cases": n_cases.astype(int), "relative": relative}
        frame = pd.DataFrame(table, index=pd.Index(self.labels.annotators, name="annotator"))
        if ci_prob is not None:
            check_probability("ci_prob", ci_prob)
            drawn = resampled_sums(statistics, self._cluster, replicates, seed, progress=True)
            ratios, relatives = ratios_of_annotators(drawn, people)
            lower, upper = interval_of_known(ratios, ci_prob)
            frame.insert(1, "lower", lower)
            frame.insert(2, "upper", upper)
            frame["relative_lower"], frame["relative_upper"] = interval_of_known(relatives, ci_prob)
        return frame

    def without_annotators(self) -> pd.DataFrame:
        """Compute Δ of every model without each annotator, as if she had never taken part.

        Returns
        -------
        pandas.DataFrame
            One row for every annotator and model, greatest change first: ``annotator``, ``model``, ``ratio`` without
            the annotator, its ``change`` from Δ, and ``n_cases``, the number of cases in which two annotators are left;
            NaN if there are none.
        """
        names, models = self.labels.annotators, self.models
        sums, n_cases = without_each(self.label_sets, self.to_others, list(self.to_sets.values()), len(names))
        ratio = np.where(n_cases[:, None] > 0, ratio_of(sums[:, 1:], sums[:, :1]), np.nan)
        with np.errstate(invalid="ignore"):
            change = ratio - self._ratios
        table = pd.DataFrame(
            {
                "annotator": np.repeat(names, len(models)),
                "model": np.tile(np.array(models, object), len(names)),
                "ratio": ratio.ravel(),
                "change": change.ravel(),
                "n_cases": np.repeat(n_cases.astype(int), len(models)),
            }
        )
        order = np.argsort(-np.abs(table["change"].fillna(0).to_numpy()), kind="stable")
        return table.iloc[order].reset_index(drop=True)

    def by_group(self) -> pd.DataFrame:
        """Tabulate Δ, μ and α by group and model."""
        sums = self._statistics_by_group().sum(axis=0).reshape(-1, len(self.to_models) + 2)
        rows = []
        for name, (n, annotators, *models) in zip(self._group_names(), sums, strict=True):
            for model, value in zip(self.models, models, strict=True):
                row = {"group": name, "model": model, "ratio": float(ratio_of(value, annotators))}
                row |= {"model_discrepancy": value / n, "annotator_discrepancy": annotators / n}
                rows.append(row | {"n_cases": int(n)})
        return pd.DataFrame(rows)

    def by_case(self) -> pd.DataFrame:
        """Tabulate the discrepancies of the annotators and of every model by case, and the number of annotators.

        Only cases that count have a row; ``excluded`` names the others.
        """
        frame = pd.DataFrame(
            {"n_annotators": self.label_sets.n_annotators[self.included], "annotator_discrepancy": self._by_case[:, 0]},
            index=pd.Index(self.labels.cases[self.included], name="case"),
        )
        for place, name in enumerate(self.models, start=1):
            frame[f"model_discrepancy {name}"] = self._by_case[:, place]
        return frame

    def to_frame(
        self, ci_prob: float | None = CI_PROB, replicates: int = REPLICATES, seed: int = 0, *, progress: bool = True
    ) -> pd.DataFrame:
        """Tabulate Δ with its interval, μ and α, and the number of cases that count, by model.

        Parameters
        ----------
        ci_prob
            Confidence level of the interval; None for no interval. A single cluster has no interval.
        replicates, seed, progress
            See :meth:`replicates`.
        """
        frame = pd.DataFrame(
            {
                "ratio": self._ratios,
                "model_discrepancy": self._by_case.mean(axis=0)[1:],
                "annotator_discrepancy": self.annotator_discrepancy,
                "n_cases": self.n_cases,
                "n_excluded": len(self.excluded),
            },
            index=self._index,
        )
        if ci_prob is not None and self.several_clusters:
            check_probability("ci_prob", ci_prob)
            lower, upper = interval(self.replicates(replicates, seed, progress=progress).values, ci_prob)
            frame.insert(1, "lower", lower)
            frame.insert(2, "upper", upper)
        return frame
