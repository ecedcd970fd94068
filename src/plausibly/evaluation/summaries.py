"""Tables of results, and the same by group of cases."""

import re
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Bool, Float

from plausibly.base.bootstrap import holding, interval, interval_of_known, width_of
from plausibly.base.errors import ArgumentError
from plausibly.evaluation.curves import mean_known

DIMS = ("classifier", "draw"), ("classifier", "class_name", "draw")


def summary(results: xr.Dataset, ci_prob: float | None = None) -> pd.DataFrame:
    """Tabulate the metrics of an evaluation with their intervals.

    Parameters
    ----------
    results
        Results of :func:`evaluate`.
    ci_prob
        Probability of the equal-tailed interval; by default that of the results.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and metric, and per class where a metric has a value for each, whose name is then in the
        further column ``class``: ``mean``, ``sd``, annotation interval (``lower``, ``upper``), and ``best``
        and ``worst`` value over the draws, all for these cases; ``point``, the value at the model's point estimate;
        ``total_lower`` and ``total_upper``, the interval for new cases like these; and ``sampling_sd``, the standard
        deviation from the sampling of cases. The last three are NaN without replicates or with a single cluster. For a
        point estimate, annotation and total noise are unknown: ``sd`` and both intervals are NaN. ``undefined`` and
        ``infinite`` are the shares of draws in which a metric is so, such as the sensitivity without a positive case,
        and the likelihood ratio without a wrong answer; undefined ones are left out.

    Raises
    ------
    ArgumentError
        If ``ci_prob`` is not between 0 and 1.

    Examples
    --------
    >>> accuracy = xr.DataArray([[0.5, 0.7]], dims=("classifier", "draw"), coords={"classifier": ["A"]})
    >>> table = summary(xr.Dataset({"top1_accuracy": accuracy, "top1_accuracy_point": accuracy[:, 0]}))
    >>> table[["classifier", "metric", "mean", "point"]].values.tolist()
    [['A', 'top1_accuracy', 0.6, 0.5]]
    """
    ci_prob, rows, variables = (
        width_of(results, ci_prob),
        [],
        results.variables,
    )  # arrays without their coordinates, of which there are hundreds
    metrics = {metric: variables[metric] for metric in results.data_vars}
    for position, classifier in enumerate(results["classifier"].values):
        for metric, variable in metrics.items():
            if variable.dims not in DIMS:
                continue
            of_classes = results["class_name"].values if "class_name" in variable.dims else [""]
            for at, class_name in enumerate(of_classes):
                place = (position, at) if "class_name" in variable.dims else (position,)
                row = _row(variables, metric, place, ci_prob)
                rows.append((str(classifier), metric, str(class_name), *row))
    columns = ["classifier", "metric", "class", "mean", "sd", "lower", "upper", "best", "worst", "point"]
    more = ["total_lower", "total_upper", "sampling_sd", "undefined", "infinite"]
    table = pd.DataFrame(rows, columns=[*columns, *more])
    return table if table["class"].any() else table.drop(columns="class")


def goodness(values: Float[np.ndarray, "*shape"], attrs: Mapping[str, Any]) -> Float[np.ndarray, "*shape"]:
    """Orient values so that greater ones are better, by the attribute ``better`` of a metric."""
    better = attrs.get("better", "greater")
    if isinstance(better, str):
        return -values if better == "smaller" else values
    return -np.abs(values - better)


def _row(variables: Mapping[Hashable, xr.Variable], metric: Hashable, place: tuple[int, ...], ci_prob: float) -> tuple:
    """Tabulate the draws of one metric of one classifier."""

    def known(name: str) -> Float[np.ndarray, " known"]:
        values = variables[name].values[place] if name in variables else np.empty(0)
        return values[~np.isnan(values)]

    drawn, point = variables[metric].values[place], float(variables[f"{metric}_point"].values[place])
    values, total, sampling = (known(f"{metric}{noise}") for noise in ("", "_total", "_sampling"))
    shares = np.isnan(drawn).mean(), np.isinf(drawn).mean()
    with np.errstate(invalid="ignore"):  # infinite likelihood ratios
        sampling_sd = sampling.std(ddof=1) if len(sampling) > 1 else np.nan
        spread = values.std(ddof=1) if len(values) > 1 else np.nan  # a point estimate, whose noise is unknown
    ends, of_total = interval(values, ci_prob), interval(total, ci_prob)
    if not len(values):  # undefined in every draw
        return *[np.nan] * 6, point, *of_total, sampling_sd, *shares
    good = goodness(values, variables[metric].attrs)
    worst, best = values[good.argmin()], values[good.argmax()]
    mean = values.mean()
    return mean, spread, *ends, best, worst, point, *holding(mean, of_total), sampling_sd, *shares


FEW, FEW_OF_A_CLASS = 30, 10  #: cases, and positive cases or others, below which a group is flagged
OF_LISTS = re.compile(r"top\d+_|expert_|human_")  #: names of metrics that need no positive class
SUFFIX = "_by_group"


def by_group(results: xr.Dataset, metric: str = "top1_accuracy", ci_prob: float | None = None) -> pd.DataFrame:
    """Tabulate a metric by group of cases.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with ``by``.
    metric
        Name of a metric in the results.
    ci_prob
        Probability of the intervals; by default that of the results.

    Returns
    -------
    pandas.DataFrame
        One row per group and classifier: ``column``, ``group``, ``classifier``, ``n_cases``, ``mean`` over draws with
        ``lower`` and ``upper`` (the total interval, or without replicates the interval over draws); ``difference`` from
        all cases with its interval; ``few``, whether there are fewer than 30 cases, or fewer than 10 that are
        positive, or that are not, where a metric has a positive class: too few for the bootstrap;
        ``p_worst``, the probability that no group of the column is worse, among groups that are not ``few`` (NaN for
        the others, and with fewer than two such groups). For a point estimate, intervals and ``p_worst`` are unknown:
        NaN. For the difference between two groups, see :func:`group_difference`.

    Raises
    ------
    ArgumentError
        If the results have no groups, or no such metric.
    """
    variable, ci_prob = _variable(results, metric), width_of(results, ci_prob)
    if further := [str(name) for name in results[variable].dims[2:-1]]:
        raise ArgumentError(
            f"{metric!r} has a value for each {further[0]}: choose one by results.sel({further[0]}=...)."
        )
    values, whole = results[variable].values, results[variable.removesuffix(SUFFIX)].values
    columns, few = results["group_column"].values, few_cases(results, metric)
    mean = mean_known(results[metric + SUFFIX].values)
    lower, upper = holding(mean, interval_of_known(values, ci_prob, -1))
    difference = mean - mean_known(results[metric].values)
    difference_lower, difference_upper = holding(difference, interval_of_known(values - whole, ci_prob, -1))
    good, worst = goodness(values, results[metric].attrs), np.empty(mean.shape)
    for at in (np.flatnonzero(columns == column) for column in np.unique(columns)):
        for place in range(mean.shape[1]):
            worst[at, place] = probability_greatest(-good[at, place], few[at])
    of_groups = {"mean": mean, "lower": lower, "upper": upper, "difference": difference}
    of_groups |= {"difference_lower": difference_lower, "difference_upper": difference_upper, "p_worst": worst}
    n_groups, n_classifiers = mean.shape
    of_all = {"column": columns, "group": results["group_value"].values}
    table = {name: np.tile(values, n_classifiers) for name, values in of_all.items()}
    table["classifier"] = np.repeat(results["classifier"].values.astype(str), n_groups)
    table["n_cases"] = np.tile(results["group_n_cases"].values, n_classifiers)
    table |= {name: values.T.ravel() for name, values in of_groups.items()}
    return pd.DataFrame(table | {"few": np.tile(few, n_classifiers)})


def few_cases(results: xr.Dataset, metric: str = "") -> Bool[np.ndarray, " group"]:
    """Say which groups have too few cases, of either class if a metric has a positive one, for their intervals."""
    n_cases = results["group_n_cases"].values
    few = n_cases < FEW
    if "group_n_positive" in results.coords and not OF_LISTS.match(metric):
        positive = results["group_n_positive"].values
        few = few | (np.minimum(positive, n_cases - positive) < FEW_OF_A_CLASS)
    return few


def few_in_words(results: xr.Dataset) -> str:
    """Say that results are of few cases, cases of either class, or clusters; empty if these are many.

    Examples
    --------
    >>> few_in_words(xr.Dataset(attrs={"n_cases": 300, "positive": "mal", "n_positive": 4.0, "clusters": 8}))
    'Of few cases that are mal (4) and few clusters (8), numbers say little of new cases.'
    """
    attrs, found = results.attrs, []
    n_cases, clusters = attrs.get("n_cases", FEW), attrs.get("clusters", FEW)
    if n_cases < FEW:
        found.append(f"few cases ({n_cases})")
    elif "n_positive" in attrs:
        of_sides = {"": attrs["n_positive"], "not ": n_cases - attrs["n_positive"]}
        few = {side: n for side, n in of_sides.items() if n < FEW_OF_A_CLASS}
        found += [f"few cases that are {side}{attrs['positive']} ({n:.3g})" for side, n in few.items()]
    if clusters < min(FEW, n_cases):
        found.append(f"few clusters ({clusters})")
    return f"Of {' and '.join(found)}, numbers say little of new cases." if found else ""


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


def probability_greatest(
    values: Float[np.ndarray, "group draw"], few: Bool[np.ndarray, " group"]
) -> Float[np.ndarray, " group"]:
    """Share of draws in which each group has the greatest value, among those that are not few.

    Groups that tie share a draw. NaN for groups that are few, whose values are too extreme to take part, and where
    there are not two others or not two draws.
    """
    found = np.full(len(values), np.nan)
    known = values[~few]
    known = np.nan_to_num(known[:, ~np.isnan(known).all(axis=0)], nan=-np.inf)
    if known.shape[0] > 1 and known.shape[1] > 1:
        top = known == known.max(axis=0)
        found[~few] = (top / top.sum(axis=0)).mean(axis=1)
    return found
