"""Metrics that ``plausibly evaluate`` is asked for: computed for every run, or without a model, and shown as tables."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.cli._options import MetricOptions
from plausibly.cli._output import print_table
from plausibly.cli._sets_of_answers import kept_posterior
from plausibly.evaluation import by_group, check_asked, evaluate, summary
from plausibly.evaluation._by_group import SUFFIX
from plausibly.evaluation._of_labels import DEFAULT
from plausibly.sweeps import Folder, Plan, Run

_MOST = 8  # metrics in the table on the terminal


class AskedMetrics:
    """Metrics by the names that were given; none if no name was.

    Parameters
    ----------
    options
        Options of the command.
    plan
        Checked arguments of the runs.
    threshold
        Probability from which on classifiers name the positive class.

    Raises
    ------
    ArgumentError
        If there is no such metric, truth or class.
    """

    def __init__(self, options: MetricOptions, plan: Plan, threshold: float | None):
        self.names = DEFAULT if options.metrics is None else [name.strip() for name in options.metrics.split(",")]
        self._asked = bool(options and plan.predictions)
        self._plan, self.truth, self.results = plan, options.truth, None
        about = {"truth": options.truth, "positive": options.positive, "threshold": threshold}
        if not self:
            return
        self.by_class = check_asked(self.names, plan.annotations, **about)
        kept = ("clusters", "replicates", "by", "weights", "break_ties")
        self._options: dict[str, Any] = {name: plan.options[name] for name in kept}
        self._options |= {"metrics": self.names, "panel": options.panel, "seed": plan.seed, "progress": False, **about}
        if not self.of_draws:
            self.results = evaluate(plan.annotations, plan.predictions, **self._options)
            self.model = "annotator" if options.truth == "annotator" else f"panel of {options.panel}"

    def __bool__(self) -> bool:
        return self._asked

    @property
    def of_draws(self) -> bool:
        """Whether the truth is the most plausible class of every draw, so that metrics differ between runs."""
        return self.truth == "most-plausible"

    def of_run(self, run: Run, folder: Folder) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Evaluate a run, and tabulate the metrics of the cases, and of their groups."""
        source = kept_posterior(folder, run.label)
        assert source is not None, "the command keeps every posterior"
        self.results = evaluate(source, self._plan.predictions, **self._options)
        return _tables(self.results, run.model, run.reliability)

    def of_labels(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Tabulate the metrics against the labels themselves."""
        assert self.results is not None
        return _tables(self.results, self.model, np.nan)

    def in_columns(self, table: pd.DataFrame) -> pd.DataFrame:
        """Add a column for classes, which all tables have if one of them has."""
        if not (self and self.by_class) or "class" in table or "metric" not in table:
            return table
        with_class = table.copy()
        with_class.insert(table.columns.get_loc("metric") + 1, "class", "")
        return with_class

    def show(self) -> None:
        """Print the metrics of the cases; of several runs, of the last."""
        assert self.results is not None
        table = summary(self.results)
        said = {
            "most-plausible": "what most experts would name (the most plausible class)",
            "annotator": "what one expert would say",
            "panel": f"what {self.results.attrs.get('panel')} experts would decide",
        }[self.truth]
        title = f"Metrics against {said}, with 94 % intervals for new cases like these"
        if "positive" in self.results.attrs:
            title += f"; positive: {self.results.attrs['positive']}"
        names = ["classifier", "metric", *(["class"] if "class" in table else [])]
        rows = [
            [*(str(row[name]) for name in names), f"{row['mean']:.3f}", _interval(row)]
            for row in table.head(_MOST * len(table["classifier"].unique())).to_dict("records")
        ]
        print_table(title, [*names, "mean", "interval"], rows, left=names)


def _interval(row: dict[Any, Any]) -> str:
    lower, upper = row["total_lower"], row["total_upper"]
    return "" if np.isnan(lower) else f"{lower:.3f}–{upper:.3f}"


def _tables(results: xr.Dataset, model: str, reliability: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    of_cases = _named(summary(results), 1, model, reliability)
    tabulated = dict.fromkeys(of_cases["metric"])
    found = [name for name in tabulated if f"{name}_point{SUFFIX}" in results]
    tables = []
    for metric in found:
        classes = results["class_name"].values if "class_name" in results[metric].dims else [None]
        for class_name in classes:
            own = results if class_name is None else results.sel(class_name=class_name)
            table = _named(by_group(own, metric), 3, model, reliability)
            table.insert(5, "metric", metric)
            if "class_name" in results.dims:
                table.insert(6, "class", "" if class_name is None else class_name)
            tables.append(table)
    return of_cases, pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _named(table: pd.DataFrame, at: int, model: str, reliability: float) -> pd.DataFrame:
    table.insert(at, "model", model)
    table.insert(at + 1, "reliability", reliability)
    return table
