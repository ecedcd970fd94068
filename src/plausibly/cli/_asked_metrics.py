"""Metrics of labels in ``plausibly evaluate``: a table on the screen; and, without a model, their values."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.annotations import Annotations, Scores
from plausibly.annotations._names import some
from plausibly.bootstrap import CI_PROB
from plausibly.cli._options import MetricOptions, parse_numbers, percent
from plausibly.cli._output import print_table, say
from plausibly.errors import ArgumentError
from plausibly.evaluation import choose_threshold, evaluate, summary
from plausibly.sweeps import Plan
from plausibly.sweeps._runs import group_table, metric_table

_ROWS = 24  #: of the table on the terminal; where there would be more, metrics of single classes are left out
RULES = "specificity", "sensitivity", "net_benefit"  #: by which a threshold is chosen
_LISTS = re.compile(r"top\d+_\w+")  # which the main table has


def of_labels(options: MetricOptions, plan: Plan, names: Any, threshold: Any) -> xr.Dataset | None:
    """Evaluate classifiers against the labels themselves; None if the truth has draws, or there are no classifiers."""
    if options.truth == "most-plausible" or not plan.predictions:
        return None
    kept = ("clusters", "replicates", "by", "weights", "break_ties")
    given: dict[str, Any] = {name: plan.options[name] for name in kept}
    given |= {"metrics": names, "truth": options.truth, "panel": options.panel, "positive": options.positive}
    given["prevalence"] = options.prevalence
    return evaluate(plan.annotations, plan.predictions, **given, threshold=threshold, seed=plan.seed, progress=False)


def chosen_thresholds(
    options: MetricOptions, other: Annotations | Scores, read: Annotations | Scores, predictions: Mapping[str, str]
) -> dict[str, float]:
    """Choose a threshold for each classifier on other cases than those that are evaluated.

    Raises
    ------
    ArgumentError
        If there is no such rule, annotations are scores, or a case is among those that are evaluated.
    """
    rule, _, value = options.threshold_at.partition("=")
    if rule not in RULES:
        raise ArgumentError(
            f"--threshold-at must be {', '.join(RULES)} with a value, but {options.threshold_at!r} was given: write "
            "for example specificity=0.9."
        )
    (share,) = parse_numbers(value, f"the value of --threshold-at {rule}", "0.9")[:1]
    if isinstance(other, Scores) or isinstance(read, Scores):
        raise ArgumentError("--threshold-from chooses on labels, but annotations are scores: give --threshold.")
    both = np.intersect1d(other.cases, read.cases)
    if len(both):
        raise ArgumentError(
            f"--threshold-from must have other cases than those that are evaluated, but both have case {some(both)}: "
            "leave them out of one."
        )
    truth = "annotator" if options.truth == "most-plausible" else options.truth
    about: dict[str, Any] = {rule: share, "truth": truth, "panel": options.panel, "positive": options.positive}
    return choose_threshold(other, predictions, **about, extra="ignore")


def tables_of_labels(results: xr.Dataset) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate metrics against labels, whose model is the truth, and the same by group."""
    names = {"model": _truth(results, "annotator", "panel of {panel}"), "reliability": np.nan}
    return metric_table(results, names), group_table(results, names)


def with_class(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column for classes, which tables have whether or not a metric has a value for every class."""
    if "class" not in table and "metric" in table:
        table.insert(table.columns.get_loc("metric") + 1, "class", "")
    return table


def show(results: xr.Dataset, chosen: str = "") -> None:
    """Print the metrics of labels: a row for each, and a column for each classifier; and how a threshold was chosen."""
    table = with_class(summary(results))
    table = table.loc[~table["metric"].map(_LISTS.fullmatch).astype(bool)]
    columns = ["metric", "class"]
    if len(table[columns].drop_duplicates()) > _ROWS:
        table = table.loc[table["class"] == ""]
    if not len(table):
        return
    said = _truth(results, "what one expert would say", "what {panel} experts would decide")
    title = f"Metrics against {said or 'what most experts would name (the most plausible class)'}"
    if table["total_lower"].notna().any():
        title += f", with {percent(CI_PROB)} intervals for new cases like these"
    if "positive" in results.attrs:
        title += f"; positive: {results.attrs['positive']}"
    if (threshold := results.attrs.get("threshold")) is not None:
        of_each = json.loads(threshold) if isinstance(threshold, str) else {"": threshold}
        title += f", from a probability of {', '.join(f'{at:.3g} {name}'.strip() for name, at in of_each.items())} on"
        title += f" ({chosen})" if chosen else ""
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
