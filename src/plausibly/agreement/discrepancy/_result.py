"""The outcome of a comparison of models and annotators."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array, hstack

from plausibly.agreement.discrepancy._label_sets import LabelSets, mean_by_case, ratio_of, taken_out, without_each
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
from plausibly.data.labels.container import Labels

MARGIN = 0.1  #: of the test of non-inferiority: a tenth farther from the annotators than they are from each other


@dataclass(frozen=True, eq=False)
class Discrepancy:
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
    """

    labels: Labels
    label_sets: LabelSets
    distance: str
    to_others: Float[np.ndarray, " set"]
    to_sets: Mapping[str, Float[np.ndarray, " set"]]
    single: bool
    clusters: Int[np.ndarray, " case"]
    by: tuple[np.ndarray, Int[np.ndarray, " case"]] | None

    def __repr__(self) -> str:
        ratios = ", ".join(f"{name}: {ratio:.3f}" for name, ratio in zip(self.models, self._ratios, strict=True))
        return (
            f"Discrepancy({ratios}; {self.distance}, {self.n_cases:,} cases, "
            f"{len(self.labels.annotators):,} annotators, {len(self.excluded):,} cases excluded)"
        )

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(self.to_sets)

    @cached_property
    def to_models(self) -> Mapping[str, Float[np.ndarray, " case"]]:
        """Mean discrepancy of every model to the annotators of each case; NaN without annotators."""
        return {name: mean_by_case(values, self.label_sets) for name, values in self.to_sets.items()}

    @cached_property
    def included(self) -> Bool[np.ndarray, " case"]:
        """Whether each case counts: cases with at least two annotators do."""
        return self.label_sets.n_annotators >= 2

    @property
    def n_cases(self) -> int:
        """Number of cases that count."""
        return int(self.included.sum())

    @property
    def excluded(self) -> list[str]:
        """Names of the cases with labels by fewer than two annotators."""
        return self.labels.cases[~self.included].tolist()

    @cached_property
    def _by_case(self) -> Float[np.ndarray, "case statistic"]:
        """The annotators' discrepancy and every model's, of the cases that count."""
        n = self.label_sets.n_annotators
        total = np.bincount(self.label_sets.case, self.to_others, len(n))
        annotators = total[self.included] / (n * (n - 1))[self.included]
        return np.column_stack([annotators, *(model[self.included] for model in self.to_models.values())])

    @cached_property
    def _cluster(self) -> Int[np.ndarray, " case"]:
        """Cluster of the cases that count, counted from 0."""
        return np.unique(self.clusters[self.included], return_inverse=True)[1]

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the cases that count."""
        return int(self._cluster.max()) + 1

    @property
    def several_clusters(self) -> bool:
        """Whether there are several clusters, so that intervals exist."""
        return self.n_clusters > 1

    @property
    def resampled(self) -> str:
        """What the bootstrap draws, in words."""
        return "cases" if self.n_clusters == self.n_cases else "clusters of cases"

    @cached_property
    def _ratios(self) -> np.ndarray:
        means = self._by_case.mean(axis=0)
        return ratio_of(means[1:], means[0])

    @property
    def ratio(self) -> Any:
        """Δ; below 1 the model is closer to the annotators than they are to each other."""
        return self._shaped(self._ratios)

    @property
    def model_discrepancy(self) -> Any:
        """μ, the mean disagreement between model and annotator."""
        return self._shaped(self._by_case.mean(axis=0)[1:])

    @property
    def annotator_discrepancy(self) -> float:
        """α, the mean disagreement between two annotators."""
        return float(self._by_case.mean(axis=0)[0])

    @property
    def mean_per_class(self) -> Any:
        """Mean of Δ over the groups, with equal weights."""
        return self._shaped(self._mean_over_groups(self._statistics_by_group().sum(axis=0)))

    def replicates(
        self, replicates: int = REPLICATES, seed: int = 0, *, mean_per_class: bool = False, progress: bool = True
    ) -> pd.DataFrame:
        """Compute Δ in bootstrap replicates, in each of which clusters are drawn with replacement.

        Rows are replicates, columns are models. All models see the same clusters, so differences between columns are
        differences between models. A single cluster is refused.

        Parameters
        ----------
        replicates
            Number of bootstrap replicates.
        seed
            Random seed.
        mean_per_class
            Whether to return the mean of Δ over groups instead.
        progress
            Whether to show progress.
        """
        statistics = self._statistics_by_group() if mean_per_class else self._by_case
        sums = resampled_sums(statistics, self._cluster, replicates, seed, progress)
        values = self._mean_over_groups(sums) if mean_per_class else ratio_of(sums[:, 1:], sums[:, :1])
        return pd.DataFrame(values, columns=self._index)

    def interval(
        self,
        ci_prob: float = CI_PROB,
        replicates: int = REPLICATES,
        seed: int = 0,
        *,
        mean_per_class: bool = False,
        progress: bool = True,
    ) -> Any:
        """Compute a confidence interval of Δ from quantiles of bootstrap replicates.

        Returns the lower and upper end or, for named models, a data frame with both.

        Parameters
        ----------
        ci_prob
            Confidence level of the interval, between 0 and 1.
        replicates, seed, mean_per_class, progress
            See :meth:`replicates`.
        """
        check_probability("ci_prob", ci_prob)
        drawn = self.replicates(replicates, seed, mean_per_class=mean_per_class, progress=progress)
        lower, upper = interval(drawn.values, ci_prob)
        ends = pd.DataFrame({"lower": lower, "upper": upper}, index=drawn.columns)
        return tuple(ends.iloc[0].tolist()) if self.single else ends

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
            added to the count), and ``non_inferior``.
        """
        check_probability("level", level)
        if not -1 < margin < np.inf:
            raise ArgumentError(f"margin must be a number greater than -1, but {margin!r} was given: give 0.1.")
        drawn = self.replicates(replicates, seed)
        upper = quantile(drawn.values, 1 - level)
        return pd.DataFrame(
            {
                "ratio": self._ratios,
                "upper": upper,
                "p_value": (1 + (drawn.values >= 1 + margin).sum(axis=0)) / (1 + replicates),
                "non_inferior": upper < 1 + margin,
            },
            index=drawn.columns,
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
        ratio, relative = _ratios_of_annotators(sums, people)
        with np.errstate(invalid="ignore"):
            table = {"ratio": ratio, "discrepancy": discrepancy / n_cases, "others_discrepancy": others / n_cases}
        table |= {"n_cases": n_cases.astype(int), "relative": relative}
        frame = pd.DataFrame(table, index=pd.Index(self.labels.annotators, name="annotator"))
        if ci_prob is not None:
            check_probability("ci_prob", ci_prob)
            drawn = resampled_sums(statistics, self._cluster, replicates, seed, progress=True)
            ratios, relatives = _ratios_of_annotators(drawn, people)
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

    def _group_names(self) -> np.ndarray:
        if self.by is None:
            raise ArgumentError("the cases have no groups: name a column of them with by=.")
        names, code = self.by
        return names[np.unique(code[self.included])]

    def _statistics_by_group(self) -> csr_array:
        """In the columns of the case's group: 1, the annotators' discrepancy, and every model's."""
        names = self._group_names()
        assert self.by is not None
        code = np.unique(self.by[1][self.included], return_inverse=True)[1]
        values = np.column_stack([np.ones(self.n_cases), self._by_case])
        width = values.shape[1]
        columns = code[:, None] * width + np.arange(width)
        rows = np.repeat(np.arange(self.n_cases), width)
        return csr_array((values.ravel(), (rows, columns.ravel())), shape=(self.n_cases, width * len(names)))

    def _mean_over_groups(self, sums: np.ndarray) -> np.ndarray:
        """Average Δ over the groups that a replicate has."""
        by_group = sums.reshape(*sums.shape[:-1], -1, len(self.to_models) + 2)
        there = by_group[..., :1] > 0
        ratios = ratio_of(by_group[..., 2:], by_group[..., 1:2])
        return np.where(there, ratios, 0.0).sum(axis=-2) / there.sum(axis=-2)

    @property
    def _index(self) -> pd.Index:
        return pd.Index(self.models, name="model")

    def _shaped(self, values: np.ndarray) -> Any:
        return values[0].item() if self.single else pd.Series(values, self._index)


def _ratios_of_annotators(
    sums: Float[np.ndarray, "*replicate statistic"], people: int
) -> tuple[Float[np.ndarray, "*replicate annotator"], Float[np.ndarray, "*replicate annotator"]]:
    """Ratios of annotators left out, and their disagreement with the others relative to α; NaN without a case."""
    each = sums[..., :-2].reshape(*sums.shape[:-1], 5, people)
    discrepancy, others, n_left_out, more, n_compared = np.moveaxis(each, -2, 0)
    alpha = (sums[..., -2] / sums[..., -1])[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.where(alpha > 0, 1 + more / n_compared / alpha, np.where(n_compared > 0, 1.0, np.nan))
    return np.where(n_left_out > 0, ratio_of(discrepancy, others), np.nan), relative
