"""Discrepancies of models and annotators by case, their ratios, and bootstrap replicates of these."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from plausibly.agreement.discrepancy._baselines import Compared
from plausibly.agreement.discrepancy._delta import LabelSets, mean_by_case, ratio_of
from plausibly.base.bootstrap import CI_PROB, REPLICATES, check_probability, interval, resampled_sums
from plausibly.base.errors import ArgumentError
from plausibly.data.labels.container import Labels


@dataclass(frozen=True, eq=False)
class Comparison:
    """Discrepancies of models and annotators by case, and their ratios; see :class:`Discrepancy`."""

    labels: Labels
    label_sets: LabelSets
    distance: str
    to_others: Float[np.ndarray, " set"]
    to_sets: Mapping[str, Float[np.ndarray, " set"]]
    single: bool
    clusters: Int[np.ndarray, " case"]
    by: tuple[np.ndarray, Int[np.ndarray, " case"]] | None
    compared: Compared

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
        return values.tolist()[0] if self.single else pd.Series(values, self._index)
