"""Tables of the report, which the command line also prints."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.aggregation.sweeps.runs import usual_position
from plausibly.app.report.panels import Number, column_of
from plausibly.app.screen import Part, with_interval
from plausibly.base.bootstrap import width_in_words
from plausibly.data.annotations import Annotations
from plausibly.evaluation import curve_points
from plausibly.evaluation.comparison import probability_better
from plausibly.evaluation.summaries import FEW
from plausibly.metrics import METRICS
from plausibly.metrics.words import capitalised, metric_name
from plausibly.posterior.diagnostics.verdicts import table as diagnostics_of

CERTAINTIES = ("annotation_certainty", "score_certainty", "risk_certainty", "risk_level_certainty")
ENDS, TOTAL = ("mean", "lower", "upper"), ("mean", "total_lower", "total_upper")
MOST_ROWS = 200  #: of cases that did not converge
METRICS_TABLE, GROUPS, CURVES, CONFUSION = "metrics.csv", "groups.csv", "curves.csv", "confusion.csv"  #: files
_COORDINATES = "classifier", "class_name", "mean", "lower", "upper", "total_lower", "total_upper"
#: metrics that equal top-1 accuracy, or 1 minus it, because for lists of length one all that is counted is equality
SAME_AS_ACCURACY = {f"top1_{name}" for name, metric in list(METRICS.items())[1:] if not metric.of_masses}


def with_class(table: pd.DataFrame) -> pd.DataFrame:
    """Add a column for classes, which tables have whether or not a metric has a value for every class."""
    if "class" not in table and "metric" in table:
        table.insert(table.columns.get_loc("metric") + 1, "class", "")
    return table


def curve_tables(results: xr.Dataset, names: Mapping[str, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Points of curves, and confusion matrices, if there are any, each with the name of its file."""
    tables: dict[str, list[pd.DataFrame]] = {CURVES: [], CONFUSION: []}
    plain = {"classifier", "class_name", "draw"}
    ungrouped = results.drop_dims("group", errors="ignore")
    for metric in [str(name) for name, of in ungrouped.items() if of.dims[-1:] == ("draw",) and {*of.dims} - plain]:
        table = curve_points(results, metric)
        if metric == "confusion":
            numbers = [name for name in table if name not in ("classifier", "true_class", "named_class")]
            table[numbers] *= results[metric].attrs["n_cases"]
            tables[CONFUSION].append(table.rename(columns={"mean": "cases"}))
            continue
        axes = [name for name in table if name not in _COORDINATES]
        at = table[axes[0]] if len(axes) == 1 else table[axes].astype(str).agg(" × ".join, axis=1)
        classes = table.get("class_name", "")
        shown = table[["classifier"]].assign(metric=metric, **{"class": classes}, axis=" × ".join(axes), at=at)
        tables[CURVES].append(shown.join(table[[name for name in _COORDINATES[2:]]]))
    for name, parts in tables.items():
        if parts:
            table = pd.concat(parts, ignore_index=True)
            for place, (column, value) in enumerate(names.items(), 1):
                table.insert(place, column, value)
            yield name, table


def sizes(run: Run) -> list[int]:
    """List lengths that a run was evaluated with."""
    found = (re.fullmatch(r"top(\d+)_(accuracy|coverage)_point", str(name)) for name in run.results.data_vars)
    return list(dict.fromkeys(int(name[1]) for name in found if name))


def headline_metrics(swept: Sweep) -> list[str]:
    """Metrics of the main table: accuracy of the first choice, and of the longest list of at most three.

    Where a run withholds accuracies, which cannot be known from its labels, coverage takes their place.
    """
    found = sizes(swept.runs[0])
    longest = max([size for size in found if size <= 3], default=max(found))
    what = "coverage" if any("withheld" in run.results.attrs for run in swept.runs) else "accuracy"
    return [f"top{size}_{what}" for size in dict.fromkeys([min(found), longest])]


def with_headline(swept: Sweep, runs: Sequence[Run]) -> list[Run]:
    """Choose the runs that have the metrics of the main table, which others lack where accuracies are withheld."""
    return [run for run in runs if not swept.classifiers or headline_metrics(swept)[0] in run.results]


def in_order(names: Sequence[str], values: ArrayLike, last: Collection[str] = ()) -> list[str]:
    """Order classifiers by goodness, the best first, unknown ones after these, and some `last`."""
    order = np.argsort(-np.nan_to_num(np.asarray(values, float), nan=-np.inf), kind="stable")
    return sorted((names[at] for at in order), key=lambda name: name in last)


def best_under(swept: Sweep, run: Run) -> list[str]:
    """Classifiers by the first metric of the main table under a run, the best first; who has seen the labels, last."""
    metric = headline_metrics(swept)[0]
    values = run.results[metric].mean("draw").values if swept.classifiers else ()
    return in_order(swept.classifiers, values, checks_failed(swept, "ceiling"))


def accuracy_table(swept: Sweep) -> pd.DataFrame:
    """Tabulate the metrics of the main table under every run that has them, with intervals, and against the vote.

    A row for each run and classifier, the best first, with the probability that it is better than the next one on new
    cases; none where one of the two must have seen the labels.
    """
    rows, metrics, seen = [], headline_metrics(swept), checks_failed(swept, "ceiling")
    for run in with_headline(swept, swept.runs):
        table, order = run.metrics(), best_under(swept, run)
        table = table[table["metric"].isin(metrics)].set_index(["metric", "classifier"])
        for name, following in zip(order, [*order[1:], ""], strict=True):
            row = {"model": run.label, "classifier": name}
            for metric in metrics:
                words, numbers = metric_name(metric), table.loc[(metric, name)].to_dict()
                for where, ends in (("new cases", TOTAL), ("these cases", ENDS)):
                    row[f"{words}, {where}"] = value_and_interval(*(numbers[end] for end in ends))
                if swept.voted is not None and metric in swept.voted:
                    row[f"{words}, majority vote"] = swept.voted[metric].sel(classifier=name).item()
            known = following and not seen & {name, following}
            better = probability_better(run.results, metrics[0], name, following, noise="total") if known else np.nan
            rows.append(row | {"P(better than the next)": better})
    return pd.DataFrame(rows)


def representative(runs: Sequence[Run]) -> Run:
    """Choose the run that stands for its model: at the default reliability, or else the middle one."""
    usual = json.loads(runs[0].attrs.get("declaration", "{}")).get("reliability")
    return runs[usual_position([run.reliability for run in runs], usual)]


def sampled(swept: Sweep) -> dict[str, list[Run]]:
    """Runs of the models that have draws; point estimates are drawn with the others."""
    return {name: runs for name, runs in swept.models.items() if any(run.results.sizes["draw"] > 1 for run in runs)}


def lead(swept: Sweep) -> Run:
    """Choose the run that stands for the sweep: of the first model with draws, if there is one.

    Where a run withholds accuracies, it stands for all, since no other can know them either.
    """
    models = list((sampled(swept) or swept.models).values())
    withheld = [runs for runs in models if "withheld" in representative(runs).results.attrs]
    return representative((withheld or models)[0])


def annotated_cases(annotations: Annotations) -> str:
    """Say how many cases are annotated; empty if all are."""
    n = int((annotations.per_case > 0).sum())
    return "" if n == annotations.n_cases else f", of which {n:,} {'is' if n == 1 else 'are'} annotated"


def checks_failed(swept: Sweep, check: str) -> set[str]:
    """Classifiers that fail a check."""
    return set() if swept.checks is None else set(swept.checks.query("check == @check and not passed")["classifier"])


def value_and_interval(mean: float, lower: float, upper: float, *, digits: int = 3, sign: str = "") -> str:
    """Write a value with its interval, which stays in one line; nothing for what is undefined."""
    return with_interval(mean, lower, upper, digits=digits, form=" [{},\xa0{}]", sign=sign)


def intervals(table: pd.DataFrame, names: Sequence[str] = ENDS, *, digits: int = 3, sign: str = "") -> list[str]:
    """Values of a table with their intervals, a text for each row."""
    return [value_and_interval(*ends, digits=digits, sign=sign) for ends in table[list(names)].to_numpy(float)]


def strata_table(swept: Sweep, settled: float, undecided: float) -> dict[str, pd.DataFrame] | None:
    """Tabulate classifiers by how certain cases are, and by how many annotators they have: a row for each group.

    Means over cases of the means over draws, under the run that stands for the sweep, weighted as in the evaluation.
    None without classifiers, or without the certainty of the most plausible class.
    """
    run = lead(swept)
    if not swept.classifiers or "annotation_certainty_1" not in run.results:
        return None
    metric = headline_metrics(swept)[0]
    certainty, annotators = run.results["annotation_certainty_1"].values, swept.annotations.per_case
    weight = run.results["case_weight"].values if "case_weight" in run.results else np.ones(len(certainty))
    groups = {
        f"certainty below {undecided:g}": certainty < undecided,
        f"certainty {undecided:g} to {settled:g}": (certainty >= undecided) & (certainty < settled),
        f"certainty at least {settled:g}": certainty >= settled,
        "no annotator": annotators == 0,
        "one annotator": annotators == 1,
        "2 or 3 annotators": (annotators > 1) & (annotators < 4),
        "4 or more annotators": annotators >= 4,
    }
    values = {"mean certainty": certainty}
    values |= dict(zip(swept.classifiers, run.results[f"{metric}_by_case"].values, strict=True))
    rows = [
        {"group": name, "cases": f"{n:,}{' (few)' if n < FEW else ''}"}
        | {of: float(np.average(each[which], weights=weight[which])) for of, each in values.items()}
        for name, which in groups.items()
        if weight[which].sum() > 0 and (n := int(which.sum()))
    ]
    words = f"{capitalised(metric_name(metric))} by certainty and by number of annotators, {run.label}"
    return {f"{words}: means over cases and draws; accuracy cannot exceed the mean certainty": pd.DataFrame(rows)}


def certainty_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Tabulate the certainties of the annotations, mean over cases."""
    rows = [
        {"run": run.label}
        | {
            str(name): float(variable.mean())
            for name, variable in run.results.data_vars.items()
            if variable.dims == ("case",) and str(name).startswith(CERTAINTIES)
        }
        for run in runs
    ]
    return pd.DataFrame(rows)


def not_converged_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Tabulate the cases that did not converge, by run."""
    tables = [diagnostics_of(run.convergence).assign(run=run.label) for run in runs if run.has_chains]
    return pd.concat([rows[~rows["converged"]] for rows in tables], ignore_index=True) if tables else pd.DataFrame()


def all_sizes(panels: xr.Dataset, classifiers: Sequence[str]) -> Part:
    """Accuracy against panels of every size: a row per classifier, and one for a further expert."""
    shown = with_experts(panels, classifiers, "panel_accuracy", "A further expert", "human_panel")
    table = pd.DataFrame(shown, index=[f"n = {n}" for n in panels["n"].values]).T
    table = table.rename_axis("Names what most of n experts say").reset_index()
    return Part("All sizes of panels", {f"Panels of n experts [{width_in_words(panels)} interval]": table})


def with_experts(
    panels: xr.Dataset, classifiers: Sequence[str], metric: str, expert: str, metric_of_experts: str
) -> dict[str, list[str]]:
    """Values of classifiers, and those of a further expert, with their intervals, by the size of panels if there is."""
    sizes = [panels] if "n" not in panels[metric].dims else [panels.sel(n=n) for n in panels["n"].values]
    columns = [column_of(one, metric, classifiers, "", metric_of_experts) for one in sizes]
    of_each = {name: [one.numbers[name] for one in columns] for name in classifiers}
    of_each[expert] = [one.expert or Number(np.nan) for one in columns]
    return {name: [value_and_interval(*number) for number in numbers] for name, numbers in of_each.items()}
