"""The metric of the main table by group of cases: the worst groups, all groups, and a figure."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from plausibly.evaluation import by_group
from plausibly.evaluation._by_group import FEW
from plausibly.groups import TIMES
from plausibly.plots import metric_by_group
from plausibly.plots._words import capitalised, metric_name
from plausibly.report._label_metrics import groups_of_classes
from plausibly.report._tables import headline_metrics, intervals, lead
from plausibly.sweeps import Sweep

MOST_FIGURES = 6  #: columns of groups that are drawn
_DIFFERENCE = ["difference", "difference_lower", "difference_upper"]
MOST_DRAWN = 40  #: groups of a column that are drawn


def results_by_group(swept: Sweep) -> tuple[str, list[Any]]:
    """Title of the section, and its content: the worst groups, and a figure and a table by column."""
    run = lead(swept)
    if "group" not in run.results.coords or not swept.classifiers:
        return "", []
    metric = headline_metrics(swept)[0]
    words = metric_name(metric)
    table = by_group(run.results, metric)
    columns = list(dict.fromkeys(table["column"]))
    shown: list[Any] = [
        f"{capitalised(words)} under {run.label}, with 94 % intervals. Groups of fewer than {FEW} cases are marked "
        "(few): their intervals can be too narrow, so they are never named as the worst. Differences are relative to "
        "the value on all cases.",
    ]
    if table["p_worst"].notna().any():
        shown.append({f"Worst group of each classifier by {words}": _worst(table)})
    for number, column in enumerate(columns):
        own = table.loc[table["column"] == column]
        if number < MOST_FIGURES and len(set(own["group"])) <= MOST_DRAWN:
            inside = np.flatnonzero(run.results["group_column"].values == column)
            drawn = partial(metric_by_group, run.results.isel(group=inside), metric)
            shown.append({f"{capitalised(words)} by {column}; hollow: few cases; dotted: all cases": drawn})
        shown.append({f"{capitalised(words)} by {column}": _wide(own)})
        shown += filter(None, [groups_of_classes(swept, column)])
    single = [column for column in columns if TIMES not in column]
    return f"Results by {', '.join(single[:3])}{' and others' if len(single) > 3 else ''}", shown


def _worst(table: pd.DataFrame) -> pd.DataFrame:
    """A row per column and classifier: the group that is most probably the worst."""
    known = table.loc[table["p_worst"].notna()].sort_values("p_worst", ascending=False, kind="stable")
    found = known.drop_duplicates(["column", "classifier"]).sort_index()
    rows = pd.concat([found.loc[found["column"] == column] for column in dict.fromkeys(table["column"])])
    return pd.DataFrame(
        {
            "by": rows["column"],
            "classifier": rows["classifier"],
            "worst group": rows["group"],
            "cases": rows["n_cases"],
            "value": intervals(rows, digits=2),
            "probability": rows["p_worst"].round(2),
            "difference": intervals(rows, _DIFFERENCE, digits=2, sign="+"),
        }
    ).reset_index(drop=True)


def _wide(table: pd.DataFrame) -> pd.DataFrame:
    """A row per group, a column per classifier."""
    first = table[["group", "n_cases", "few"]].drop_duplicates("group").set_index("group")
    found = pd.DataFrame({"cases": [f"{n:,}{' (few)' if few else ''}" for n, few in first.to_numpy()]}, first.index)
    for classifier, own in table.groupby("classifier", sort=False):
        found[str(classifier)] = intervals(own.set_index("group").loc[first.index], digits=2)
    return found.reset_index()
