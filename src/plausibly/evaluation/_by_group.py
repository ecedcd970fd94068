"""Metrics by group of cases: what the groups are, and tables of what was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.annotations import read_metadata
from plausibly.annotations._names import _show
from plausibly.bootstrap import CI_PROB, interval
from plausibly.errors import ArgumentError
from plausibly.evaluation._weights import check_groups

FEW = 30  #: cases below which a group is flagged
TIMES = " × "  #: between the parts of an intersection
SUFFIX = "_by_group"


@dataclass(frozen=True)
class Groups:
    """Groups of cases, by one column or several.

    Parameters
    ----------
    column, value
        Of every group the column, and the value in it.
    member
        Whether a case belongs to each group.
    """

    column: np.ndarray
    value: np.ndarray
    member: Float[np.ndarray, "group case"]

    def __len__(self) -> int:
        return len(self.column)

    @property
    def coords(self) -> dict[str, Any]:
        """Coordinates of results."""
        names = [f"{column}: {value}" for column, value in zip(self.column, self.value, strict=True)]
        coords = {"group": np.array(names, str), "group_column": ("group", self.column)}
        return coords | {
            "group_value": ("group", self.value),
            "group_n_cases": ("group", self.member.sum(1).astype(int)),
        }


def read_groups(by: Any, cases: np.ndarray, *, intersections: bool = False) -> Groups:
    """Read groups of cases.

    Parameters
    ----------
    by
        A table with a row per case: a data frame with a column "case" or an index of cases, or the path of one (or of
        what :func:`plausibly.read_metadata` reads); a Series, or a mapping from case to group; or a mapping from names
        to these, or to lists in the order of the cases.
    cases
        Names of all cases.
    intersections
        Whether to add the combinations of columns that occur.

    Raises
    ------
    ArgumentError
        If it is none of these, or a case has no group.

    Examples
    --------
    >>> by = {"site": ["x", "y", "x"], "sex": ["f", "f", "m"]}
    >>> groups = read_groups(by, np.array(["p", "q", "r"]), intersections=True)
    >>> groups.coords["group"].tolist()
    ['site: x', 'site: y', 'sex: f', 'sex: m', 'site × sex: x × f', 'site × sex: x × m', 'site × sex: y × f']
    >>> groups.member[0].tolist()
    [1.0, 0.0, 1.0]
    """
    columns = {name: check_groups(values, cases) for name, values in _columns(by).items()}
    if not columns:
        raise ArgumentError("by must name a group of every case, but the table has no columns: give at least one.")
    if intersections:
        for size in range(2, len(columns) + 1):
            for chosen in combinations(list(columns)[: len(columns)], size):
                if not any(TIMES in name for name in chosen):
                    columns[TIMES.join(chosen)] = np.array(
                        [TIMES.join(parts) for parts in zip(*(columns[name] for name in chosen), strict=True)]
                    )
    pairs = [(name, value) for name, values in columns.items() for value in np.unique(values)]
    member = np.array([columns[name] == value for name, value in pairs], np.float32)
    return Groups(np.array([name for name, _ in pairs], str), np.array([value for _, value in pairs], str), member)


def by_group(results: xr.Dataset, metric: str = "top1_accuracy", ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Tabulate a metric by group of cases.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with ``by``.
    metric
        Name of a metric in the results.
    ci_prob
        Probability of the intervals.

    Returns
    -------
    pandas.DataFrame
        A row per group and classifier: ``column``, ``group``, ``classifier``, ``n_cases``, ``mean`` over draws with
        ``lower`` and ``upper`` (the total interval, or without replicates that over draws); ``difference`` from all
        cases with its ends; ``p_worst``, the probability that no group of the column is worse; ``few``, whether there
        are fewer than 30 cases, so that the interval is all there is to say.

    Raises
    ------
    ArgumentError
        If the results have no groups, or no such metric.
    """
    values, whole = _draws(results, metric)
    smaller = results[metric].attrs.get("better") == "smaller"
    rows = []
    for place, classifier in enumerate(results["classifier"].values):
        for column in dict.fromkeys(results["group_column"].values.tolist()):
            own = np.flatnonzero(results["group_column"].values == column)
            of_groups = values[own, place]
            worst = _worst(of_groups if smaller else -of_groups)
            for at, group in enumerate(own):
                known = of_groups[at][~np.isnan(of_groups[at])]
                difference = of_groups[at] - whole[place]
                difference = difference[~np.isnan(difference)]
                n_cases = int(results["group_n_cases"].values[group])
                mean = np.nanmean(results[metric + SUFFIX].values[group, place])
                row = {"column": column, "group": str(results["group_value"].values[group])}
                row |= {"classifier": str(classifier), "n_cases": n_cases, "mean": mean}
                row["lower"], row["upper"] = interval(known, ci_prob)
                row["difference"] = mean - np.nanmean(results[metric].values[place])
                row["difference_lower"], row["difference_upper"] = interval(difference, ci_prob)
                rows.append(row | {"p_worst": worst[at], "few": n_cases < FEW})
    return pd.DataFrame(rows)


def group_difference(results: xr.Dataset, metric: str, first: str, second: str) -> xr.DataArray:
    """Draws of the difference of a metric between two groups, the first less the second.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with ``by``.
    metric
        Name of a metric in the results.
    first, second
        Names of groups, such as ``"site: north"``, as in the coordinate ``group``.

    Returns
    -------
    xarray.DataArray
        By classifier and replicate (total), or without replicates by draw.

    Raises
    ------
    ArgumentError
        If there is no such metric or group.
    """
    variable = _variable(results, metric)
    for name in (first, second):
        if name not in results["group"].values:
            known = ", ".join(map(str, results["group"].values[:9]))
            raise ArgumentError(f"there is no group {name!r}: choose from {known}.")
    return results[variable].sel(group=first, drop=True) - results[variable].sel(group=second, drop=True)


def _variable(results: xr.Dataset, metric: str) -> str:
    """Name of the draws of a metric by group: with total noise where there is any."""
    if metric + SUFFIX not in results:
        known = [
            str(name).removesuffix(SUFFIX) for name, v in results.items() if v.dims == ("group", "classifier", "draw")
        ]
        fix = f"choose from {', '.join(known)}" if known else "pass by= to evaluate"
        raise ArgumentError(f"there is no metric {metric!r} by group: {fix}.")
    total = f"{metric}_total{SUFFIX}"
    return total if total in results else metric + SUFFIX


def _draws(results: xr.Dataset, metric: str) -> tuple[np.ndarray, np.ndarray]:
    variable = _variable(results, metric)
    return results[variable].values, results[variable.removesuffix(SUFFIX)].values


def _worst(values: Float[np.ndarray, "group draw"]) -> Float[np.ndarray, " group"]:
    """Share of draws in which a group has the greatest value; those that tie share a draw."""
    values = np.where(np.isnan(values), -np.inf, values)
    top = values == values.max(axis=0)
    return (top / top.sum(axis=0)).mean(axis=1)


def _columns(by: Any) -> dict[str, Any]:
    if isinstance(by, str | PathLike):
        if isinstance(by, str) and not Path(by).exists():
            raise ArgumentError(
                f"by must be a table of groups, or its path, but there is no file {by!r}: read columns of metadata by "
                "pb.read_metadata(file)[[column]]."
            )
        table = pd.read_csv(by, dtype={"case": str}) if Path(by).suffix.lower() == ".csv" else None
        by = read_metadata(by) if table is None or "annotator" in table or "case" not in table else table
    if isinstance(by, pd.DataFrame):
        by = by.set_index(by["case"].astype(str)).drop(columns="case") if "case" in by else by
        return {str(name): by[name] for name in by.columns}
    if isinstance(by, pd.Series):
        return {str(by.name if by.name is not None else "group"): by}
    if isinstance(by, Mapping) and by:
        nested = all(isinstance(one, Mapping | pd.Series | list | tuple | np.ndarray) for one in by.values())
        return {str(name): one for name, one in by.items()} if nested else {"group": by}
    raise ArgumentError(
        f"by must be a table of groups by case, but {_show(by)} was given: give a data frame or a mapping."
    )
