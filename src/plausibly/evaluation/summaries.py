"""Results as a table."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.bootstrap import CI_PROB, interval

DIMS = ("classifier", "draw"), ("classifier", "class_name", "draw")


def summary(results: xr.Dataset, ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Tabulate the metrics of an evaluation with their intervals.

    Parameters
    ----------
    results
        Results of :func:`evaluate`.
    ci_prob
        Probability of the equal-tailed interval.

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
    rows, variables = [], results.variables  # arrays without their coordinates, of which there are hundreds
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
    return values.mean(), spread, *ends, best, worst, point, *of_total, sampling_sd, *shares
