"""Metrics of labels in ``plausibly evaluate``: a table on the screen; and, without a model, their values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.bootstrap import CI_PROB
from plausibly.cli._options import MetricOptions, percent
from plausibly.cli._output import print_table, say
from plausibly.evaluation import evaluate, summary
from plausibly.sweeps import Plan
from plausibly.sweeps._runs import group_table, metric_table

_ROWS = 24  #: of the table on the terminal; where there would be more, metrics of single classes are left out
_LISTS = re.compile(r"top\d+_\w+")  # which the main table has


def of_labels(options: MetricOptions, plan: Plan, names: Any, threshold: Any) -> xr.Dataset | None:
    """Evaluate classifiers against the labels themselves; None if the truth has draws, or there are no classifiers."""
    if options.truth == "most-plausible" or not plan.predictions:
        return None
    kept = ("clusters", "replicates", "by", "weights", "break_ties")
    given: dict[str, Any] = {name: plan.options[name] for name in kept}
    given |= {"metrics": names, "truth": options.truth, "panel": options.panel, "positive": options.positive}
    return evaluate(plan.annotations, plan.predictions, **given, threshold=threshold, seed=plan.seed, progress=False)


def tables_of_labels(results: xr.Dataset) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate metrics against labels, whose model is the truth, and the same by group."""
    names = {"model": _truth(results, "annotator", "panel of {panel}"), "reliability": np.nan}
    return metric_table(results, names), group_table(results, names)


def with_class(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column for classes, which tables have whether or not a metric has a value for every class."""
    if "class" not in table and "metric" in table:
        table.insert(table.columns.get_loc("metric") + 1, "class", "")
    return table


def show(results: xr.Dataset) -> None:
    """Print the metrics of labels: a row for each, and a column for each classifier."""
    table = with_class(summary(results))
    table = table[~table["metric"].map(_LISTS.fullmatch).astype(bool)]
    columns = ["metric", "class"]
    if len(table[columns].drop_duplicates()) > _ROWS:
        table = table[table["class"] == ""]
    if not len(table):
        return
    said = _truth(results, "what one expert would say", "what {panel} experts would decide")
    title = f"Metrics against {said or 'what most experts would name (the most plausible class)'}"
    if table["total_lower"].notna().any():
        title += f", with {percent(CI_PROB)} intervals for new cases like these"
    for name in ("positive", "threshold"):
        title += f"; {name}: {results.attrs[name]}" if name in results.attrs else ""
    columns = columns if table["class"].any() else columns[:1]
    classifiers = list(dict.fromkeys(table["classifier"]))
    rows = [[*_names(keys), *_cells(own, classifiers)] for keys, own in table.groupby(columns, sort=False)]
    say(title)
    print_table("", [*columns, *classifiers], rows, left=columns)


def _truth(results: xr.Dataset, of_one: str, of_panel: str) -> str:
    """Words for the truth of labels; none where it has draws."""
    return {"annotator": of_one, "panel": of_panel}.get(results.attrs.get("truth", ""), "").format(**results.attrs)


def _names(keys: Sequence[str]) -> list[str]:
    return [str(name).replace("_", " ") if at == 0 else str(name) for at, name in enumerate(keys)]


def _cells(table: pd.DataFrame, classifiers: Sequence[str]) -> list[str]:
    rows: Mapping[str, Any] = {row["classifier"]: row for row in table.to_dict("records")}
    return [_cell(rows[name]) for name in classifiers]


def _cell(row: Mapping[str, float]) -> str:
    interval = "" if np.isnan(row["total_lower"]) else f" ({row['total_lower']:.3f}–{row['total_upper']:.3f})"
    return "" if np.isnan(row["mean"]) else f"{row['mean']:.3f}{interval}"
