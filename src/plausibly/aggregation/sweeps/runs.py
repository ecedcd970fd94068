"""Results of a sweep: those of every run, and tables of all of them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.base.arviz import Posterior
from plausibly.base.shown import Shown
from plausibly.data.annotations import Annotations
from plausibly.evaluation import by_group, summary
from plausibly.evaluation.comparison import rankings
from plausibly.evaluation.summaries import DIMS, SUFFIX
from plausibly.posterior.diagnostics.verdicts import verdict

STATISTICS = ("r_hat", "ess_bulk", "ess_tail", "n_diverging")


@dataclass(frozen=True)
class Run:
    """One model at one reliability.

    Attributes
    ----------
    label
        Name of the run, such as ``"plackett-luce@3"``.
    model
        Label of the variant; the name of the model, unless it has options.
    reliability
        Reliability; NaN for a model without one.
    results
        Result of :func:`plausibly.evaluate`.
    convergence
        Result of :func:`plausibly.diagnose`.
    excerpt
        Posterior of only the least certain cases, the least certain first.
    attrs
        Attributes of the posterior: arguments, seed, versions.
    worst
        Posterior of only the cases with the worst chains, the worst first; None without chains.
    choices
        Classes that each classifier ranks highest in the least certain cases, (classifier, case, place); None without
        classifiers.
    shared
        Tables of the quantities that all cases share, by name: "annotators"
        (:func:`plausibly.annotators.annotator_accuracies`) and "confusions" of a model of one true class, "severities"
        (:func:`plausibly.annotators.severities`) and "mean_ratings" of ratings by raters who differ.
    shared_convergence
        Convergence of the quantities that all cases share, from :func:`plausibly.diagnostics.shared_convergence`; None
        if nothing was sampled.
    of_labels
        Metrics of labels for the report, against the most plausible class of every draw, from
        :func:`plausibly.evaluate`: of the run that stands for the sweep, unless there are no classifiers or more than
        30 classes; else None.
    of_panels
        The same against panels of five other experts, of the run that stands for the sweep; None where the posterior
        does not know the predictions, or the labels themselves tell.
    """

    label: str
    model: str
    reliability: float
    results: xr.Dataset
    convergence: xr.Dataset
    excerpt: Posterior
    attrs: Mapping[str, Any]
    worst: Posterior | None = None
    choices: xr.DataArray | None = None
    shared: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    shared_convergence: xr.Dataset | None = None
    of_labels: xr.Dataset | None = None
    of_panels: xr.Dataset | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of the model and its engine."""
        return json.loads(self.attrs["arguments"])

    @property
    def has_chains(self) -> bool:
        """Whether the draws come from chains, which must converge."""
        return "r_hat" in self.convergence

    def metrics(self) -> pd.DataFrame:
        """Tabulate :func:`plausibly.summary` with the model and the reliability; of panels, as ``panel_…``."""
        return self._metrics.copy()

    @cached_property
    def _metrics(self) -> pd.DataFrame:
        return self._with_panels(metric_table)

    def groups(self) -> pd.DataFrame:
        """Tabulate every metric by group, see :func:`plausibly.evaluation.by_group`; empty without groups."""
        return self._with_panels(group_table)

    def _with_panels(self, table: Callable[[xr.Dataset, Mapping[str, Any]], pd.DataFrame]) -> pd.DataFrame:
        found = table(self.results, self.names)
        if self.of_panels is None or not len(found):
            return found
        more = table(self.of_panels, self.names)
        more["metric"] = "panel_" + more["metric"]
        found = pd.concat([found, more], ignore_index=True)
        return found.fillna({"class": ""}) if "class" in found else found

    @property
    def names(self) -> dict[str, Any]:
        """Columns of every table."""
        return {"model": self.model, "reliability": self.reliability}

    def certainty(self) -> pd.DataFrame:
        """Tabulate for each case how certain the annotations are and whether the chains converged."""
        columns: dict[str, Any] = {"case": self.results["case"].values}
        columns |= self.names
        for name, variable in self.results.data_vars.items():
            if variable.dims == ("case",):
                columns[str(name)] = variable.values
            elif variable.dims == ("case", "risk_level"):
                columns |= {f"{name}_{level}": values for level, values in enumerate(variable.values.T)}
        columns["top_class"] = self.results["top_class"].values
        missing = np.full(len(columns["case"]), np.nan)
        for name in STATISTICS:
            values = self.convergence[name].values if name in self.convergence else missing
            columns[name] = pd.array(values, dtype="Int64") if name == "n_diverging" else values
        columns["converged"] = self.convergence["converged"].values
        return pd.DataFrame(columns)

    def not_converged(self) -> list[str]:
        """Names of the cases whose chains did not converge."""
        return [str(name) for name in self.convergence["case"].values[~self.convergence["converged"].values]]


@dataclass(frozen=True, repr=False)
class Sweep(Shown, kind="evaluation"):
    """All runs of a sweep, in the order in which they were asked for.

    Attributes
    ----------
    annotations, runs
        Annotations that were evaluated, and the result of every run.
    voted
        Metrics of the classifiers against the majority vote, from :func:`plausibly.evaluate` with a single draw;
        uncertainty-adjusted metrics can be compared with them. None without classifiers.
    panels
        Agreement with experts and accuracy against panels of them, from :func:`plausibly.evaluation.panels`: without a
        model, so the same for all runs. None without classifiers.
    checks
        Checks of what accuracies rest on, from :func:`plausibly.evaluation.evidence_checks`, under the first run whose
        prior is learned from labels (and predictions). None without one.
    freed
        By how much freeing the shape of disagreement moves the mean top-1 accuracy of each classifier and the ends of
        its interval (:func:`plausibly.evaluation.freed_shape`). None unless a posterior knows the predictions.
    of_labels
        Metrics of labels for the report, against what one expert would say, from :func:`plausibly.evaluate`. None
        without classifiers.
    named
        Index of the class that each classifier names in every case, and its ``score``; ``first``, the index of the
        class with the highest score, which is another only with a threshold. All (classifier, case). None without
        classifiers.
    """

    annotations: Annotations
    runs: tuple[Run, ...]
    voted: xr.Dataset | None = None
    panels: xr.Dataset | None = None
    checks: pd.DataFrame | None = None
    freed: pd.DataFrame | None = None
    of_labels: xr.Dataset | None = None
    named: xr.Dataset | None = None

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per classifier, model, reliability, metric and class; :func:`plausibly.summary` has the columns."""
        return self._metrics.copy()

    @cached_property
    def _metrics(self) -> pd.DataFrame:
        return pd.concat([run.metrics() for run in self.runs], ignore_index=True)

    @property
    def dataset(self) -> xr.Dataset:
        """The table ``metrics``, without those of a class, as arrays over (model, reliability, classifier, metric).

        The reliability ``inf`` stands for the limit, the value at the point estimate, which has no spread. Combinations
        that were not run are NaN.
        """
        table = self.metrics
        if "class" in table:
            table = table.loc[table["class"] == ""].drop(columns="class")
        limits = []
        for model, runs in self.models.items():
            last = max(runs, key=lambda run: -np.inf if np.isnan(run.reliability) else run.reliability)
            own = table.loc[(table["model"] == model) & (table["reliability"].eq(last.reliability) | (len(runs) == 1))]
            at_point = {name: own["point"] for name in ("mean", "lower", "upper", "best", "worst")}
            at_point |= dict.fromkeys(("total_lower", "total_upper", "sampling_sd"), np.nan)
            limits.append(own.assign(reliability=np.inf, sd=0.0, **at_point))
        table = pd.concat([table.dropna(subset="reliability"), *limits], ignore_index=True)
        names = ["model", "reliability", "classifier", "metric"]
        order = {name: list(dict.fromkeys(table[name])) for name in names}
        order["reliability"] = sorted(order["reliability"])
        return table.set_index(names).to_xarray().reindex(order)

    def rankings(self, metric: str) -> pd.DataFrame:
        """Tabulate how each run ranks the classifiers, and at which reliabilities the ranking changes.

        Parameters
        ----------
        metric
            One of the metrics, such as ``"top3_accuracy"``.

        Returns
        -------
        pandas.DataFrame
            ``model``, ``reliability`` in increasing order (``inf`` for the point estimate), ``ranking`` by the mean
            over draws, such as ``"B > A"``, its ``probability``, the share of draws with the same ranking (NaN for the
            point estimate), and whether the ranking ``changes`` from the row above.

        Raises
        ------
        ArgumentError
            If there is no such metric.
        """
        if metric not in self._rankings:
            self._rankings[metric] = self._ranked(metric)
        return self._rankings[metric].copy()

    @cached_property
    def _rankings(self) -> dict[str, pd.DataFrame]:
        return {}

    def _ranked(self, metric: str) -> pd.DataFrame:
        rows = []
        for model, runs in self.models.items():
            ordered = sorted(runs, key=lambda run: run.reliability)
            before = None
            for run in [*(run for run in ordered if not np.isnan(run.reliability)), None]:
                results = ordered[-1].results if run is None else run.results
                found = rankings(results, metric).set_index("ranking")["probability"]
                if not len(found):
                    continue
                over = results[f"{metric}_point"] if run is None else results[metric].mean("draw")
                single = over.expand_dims(draw=1).assign_attrs(results[metric].attrs)
                ranking = rankings(xr.Dataset({metric: single}), metric)["ranking"].iloc[0]
                at, probability = (np.inf, np.nan) if run is None else (run.reliability, found.get(ranking, 0.0))
                rows.append((model, at, ranking, probability, before is not None and ranking != before))
                before = ranking
        return pd.DataFrame(rows, columns=["model", "reliability", "ranking", "probability", "changes"])

    @property
    def certainty(self) -> pd.DataFrame:
        """One row per case, model and reliability: annotation certainties, risks, and convergence."""
        return pd.concat([run.certainty() for run in self.runs], ignore_index=True)

    @property
    def classifiers(self) -> list[str]:
        """Names of the classifiers."""
        return [str(name) for name in self.runs[0].results["classifier"].values]

    @property
    def models(self) -> dict[str, list[Run]]:
        """Runs by the name of their model."""
        models: dict[str, list[Run]] = {}
        for run in self.runs:
            models.setdefault(run.model, []).append(run)
        return models

    @property
    def converged(self) -> bool:
        """Whether all chains of all runs converged."""
        return not any(run.not_converged() for run in self.runs)

    def verdict(self, most: int = 10) -> str:
        """Say whether the chains converged and, if not, which cases did not.

        Parameters
        ----------
        most
            Number of cases to name.
        """
        return verdict({run.label: run.convergence for run in self.runs}, most)


def metric_table(results: xr.Dataset, names: Mapping[str, Any]) -> pd.DataFrame:
    """Tabulate :func:`plausibly.summary` with columns of constants after that of the classifiers."""
    table = summary(results)
    for place, (name, value) in enumerate(names.items(), 1):
        table.insert(place, name, value)
    return table


def group_table(results: xr.Dataset, names: Mapping[str, Any]) -> pd.DataFrame:
    """Tabulate every metric by group, and by class where it has a value for each; empty without groups."""
    tables = []
    for metric in [str(name) for name, of in results.items() if of.dims in DIMS and f"{name}{SUFFIX}" in results]:
        classes = results["class_name"].values if "class_name" in results[metric].dims else [None]
        for class_name in classes:
            table = by_group(results if class_name is None else results.sel(class_name=class_name), metric)
            of_class = {"class": "" if class_name is None else class_name} if "class_name" in results.dims else {}
            for place, (name, value) in enumerate((names | {"metric": metric} | of_class).items(), 3):
                table.insert(place, name, value)
            tables.append(table)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def usual_position(reliabilities: Sequence[float], usual: float | None) -> int:
    """Position of the reliability that stands for a model: its default, or else the middle one.

    Examples
    --------
    >>> usual_position([10, 1, 3], 10), usual_position([10, 1, 3], 2)
    (0, 2)
    """
    ordered = sorted(range(len(reliabilities)), key=reliabilities.__getitem__)
    return next((at for at in ordered if reliabilities[at] == usual), ordered[(len(ordered) - 1) // 2])


def posterior_name(label: str, *, in_shards: bool = False) -> str:
    """Name of the file, or of the Zarr store, of a run's posterior.

    Examples
    --------
    >>> posterior_name("prirn@10"), posterior_name("prirn@10", in_shards=True)
    ('posterior-prirn-10.nc', 'posterior-prirn-10.zarr')
    """
    name = re.sub(r"[@:=/\\]+", "-", label)
    return f"posterior-{name}.{'zarr' if in_shards else 'nc'}"
