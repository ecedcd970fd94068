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
from jaxtyping import Bool, Float, Int

from plausibly.annotations import read_metadata
from plausibly.annotations._names import _show
from plausibly.annotations.io._files import naming
from plausibly.annotations.io._table_files import header_of, read_columns
from plausibly.bootstrap import CI_PROB, interval
from plausibly.errors import ArgumentError
from plausibly.evaluation._weights import check_clusters

FEW = 30  #: cases below which a group is flagged
TIMES = " × "  #: between the parts of an intersection
SUFFIX = "_by_group"
MOST = 500  #: groups, of each of which there are draws of every metric

Column = tuple[np.ndarray, Int[np.ndarray, " case"]]  # the values of a column, and which of them each case has


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
        to these, or to lists in the order of the cases. Groups that were read are returned as they are.
    cases
        Names of all cases.
    intersections
        Whether to add the combinations of columns that occur.

    Raises
    ------
    ArgumentError
        If it is none of these, a case has no group, or there are more than 500 groups.

    Examples
    --------
    >>> by = {"site": ["x", "y", "x"], "sex": ["f", "f", "m"]}
    >>> groups = read_groups(by, np.array(["p", "q", "r"]), intersections=True)
    >>> groups.coords["group"].tolist()
    ['site: x', 'site: y', 'sex: f', 'sex: m', 'site × sex: x × f', 'site × sex: x × m', 'site × sex: y × f']
    >>> groups.member[0].tolist()
    [1.0, 0.0, 1.0]
    """
    if isinstance(by, Groups):
        return by
    columns: dict[str, Column] = {}
    for name, values in columns_of(by).items():
        columns[name] = np.unique(check_clusters(values, cases, "group"), return_inverse=True)
        if len(cases) > 1 and set(map(str, columns[name][0])) == set(map(str, cases)):
            raise ArgumentError(f"the column {name!r} of by names the cases: call it 'case', so that rows are matched.")
    if not columns:
        raise ArgumentError("by must name a group of every case, but the table has no columns: give at least one.")
    if intersections:
        columns |= crossed(columns)
    n_groups = {name: len(values) for name, (values, _) in columns.items()}
    if sum(n_groups.values()) > MOST:
        most = max(n_groups, key=lambda name: n_groups[name])
        raise ArgumentError(
            f"by must make at most {MOST} groups, but it makes {sum(n_groups.values()):,}, {n_groups[most]:,} of them "
            f"by {most!r}: take broader groups."
        )
    pairs = [(name, value) for name, (values, _) in columns.items() for value in values]
    member = np.concatenate([np.arange(len(values))[:, None] == code for values, code in columns.values()])
    names, values = np.array(pairs, str).T
    return Groups(names, values, member.astype(np.float32))


def crossed(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Combine columns in twos, threes and so on; a case that one of them lacks (−1) belongs to no combination.

    Raises
    ------
    ArgumentError
        If a column has the name of a combination.

    Examples
    --------
    >>> site, sex = (np.array(["x", "y"]), np.array([0, 1, 0])), (np.array(["f", "m"]), np.array([0, 0, -1]))
    >>> [(name, values.tolist(), code.tolist()) for name, (values, code) in crossed({"site": site, "sex": sex}).items()]
    [('site × sex', ['x × f', 'y × f'], [0, 1, -1])]
    """
    found: dict[str, Column] = {}
    for size in range(2, len(columns) + 1):
        for chosen in combinations(columns, size):
            name = TIMES.join(chosen)
            if name in columns:
                raise ArgumentError(f"the column {name!r} has the name of an intersection: rename it.")
            codes = np.array([columns[one][1] for one in chosen])
            known = (codes >= 0).all(axis=0)
            there, place = np.unique(codes[:, known], axis=1, return_inverse=True)
            code = np.full(len(known), -1)
            code[known] = place.ravel()
            parts = [columns[one][0][of] for one, of in zip(chosen, there, strict=True)]
            found[name] = np.array([TIMES.join(map(str, value)) for value in zip(*parts, strict=True)], str), code
    return found


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
        One row per group and classifier: ``column``, ``group``, ``classifier``, ``n_cases``, ``mean`` over draws with
        ``lower`` and ``upper`` (the total interval, or without replicates the interval over draws); ``difference`` from
        all cases with its interval; ``few``, whether there are fewer than 30 cases, too few for the bootstrap;
        ``p_worst``, the probability that no group of the column is worse, among groups that are not ``few`` (NaN for
        the others, and with fewer than two such groups). For a point estimate, intervals and ``p_worst`` are unknown:
        NaN. For the difference between two groups, see :func:`group_difference`.

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
            few = results["group_n_cases"].values[own] < FEW
            worst = probability_greatest(of_groups if smaller else -of_groups, few)
            for at, group in enumerate(own):
                known = of_groups[at][~np.isnan(of_groups[at])]
                difference = of_groups[at] - whole[place]
                difference = difference[~np.isnan(difference)]
                n_cases = int(results["group_n_cases"].values[group])
                mean = _mean(results[metric + SUFFIX].values[group, place])
                row = {"column": column, "group": str(results["group_value"].values[group])}
                row |= {"classifier": str(classifier), "n_cases": n_cases, "mean": mean}
                row["lower"], row["upper"] = interval(known, ci_prob)
                row["difference"] = mean - _mean(results[metric].values[place])
                row["difference_lower"], row["difference_upper"] = interval(difference, ci_prob)
                rows.append(row | {"p_worst": worst[at], "few": bool(few[at])})
    return pd.DataFrame(rows)


def _mean(values: Float[np.ndarray, " draw"]) -> float:
    """Mean over the draws in which a metric is defined, if there are any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def group_difference(results: xr.Dataset, metric: str, first: str, second: str) -> xr.DataArray:
    """Return draws of the difference in a metric between two groups, the first minus the second.

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
        Differences by classifier and replicate (with total noise) or, without replicates, by classifier and draw.

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
    if further := [str(name) for name in results[variable].dims[2:-1]]:
        raise ArgumentError(
            f"{metric!r} has a value for each {further[0]}: choose one by results.sel({further[0]}=...)."
        )
    return results[variable].values, results[variable.removesuffix(SUFFIX)].values


def probability_greatest(
    values: Float[np.ndarray, "group draw"], few: Bool[np.ndarray, " group"]
) -> Float[np.ndarray, " group"]:
    """Share of draws in which each group has the greatest value, among those that are not few.

    Groups that tie share a draw. NaN for groups that are few, whose values are too extreme to take part, and where
    there are not two others or not two draws.

    Examples
    --------
    >>> values = np.array([[0.1, 0.3], [0.2, 0.1], [0.9, 0.9]])
    >>> probability_greatest(values, np.array([False, False, True])).tolist()
    [0.5, 0.5, nan]
    """
    found = np.full(len(values), np.nan)
    known = values[~few]
    known = np.nan_to_num(known[:, ~np.isnan(known).all(axis=0)], nan=-np.inf)
    if known.shape[0] > 1 and known.shape[1] > 1:
        top = known == known.max(axis=0)
        found[~few] = (top / top.sum(axis=0)).mean(axis=1)
    return found


def columns_of(by: Any) -> dict[str, Any]:
    """Return groups by column, from any form that :func:`read_groups` accepts."""
    if isinstance(by, str | PathLike):
        if isinstance(by, str) and not Path(by).exists():
            raise ArgumentError(
                f"by must be a table of groups, or its path, but there is no file {by!r}: read columns of metadata by "
                "pb.read_metadata(file)[[column]]."
            )
        with naming(by):
            header = header_of(Path(by)) if Path(by).suffix.lower() in (".csv", ".tsv", ".parquet") else ()
            of_cases = "case" in header and "annotator" not in header
            columns = read_columns(Path(by)) if of_cases else {}
        by = (
            pd.DataFrame({name: column.to_pylist() for name, column in columns.items()})
            if of_cases
            else read_metadata(by)
        )
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
