"""Comparing classifiers under one posterior."""

import numpy as np
import xarray as xr

from plausibly.errors import ArgumentError

_ROUNDING = 1e-12  # Metrics are ratios of counts: what differs by less is equal.


def probability_better(results: xr.Dataset, metric: str, a: str, b: str) -> float:
    """Share of the draws in which classifier ``a`` does better than ``b`` on the data set, ties counting half.

    Both are measured against the same draws, so that what they find equally hard cancels.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`.
    metric
        One of its metrics by draw, such as ``"top3_accuracy"``.
    a, b
        Names of two classifiers.

    Returns
    -------
    float
        Between 0 and 1; 1/2 for a classifier against itself.

    Raises
    ------
    ArgumentError
        If there is no such metric or classifier.

    References
    ----------
    Stutz et al. (2025), section 2.5, arXiv 2307.02191.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> probability_better(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy", "A", "B")
    0.625
    """
    values = _by_draw(results, metric)
    names = [str(name) for name in values["classifier"].values]
    for name in (a, b):
        if name not in names:
            raise ArgumentError(f"there is no classifier {name!r} in these results: choose from {', '.join(names)}.")
    return float(_share_greater(values.values[names.index(a)], values.values[names.index(b)]))


def probabilities_better(results: xr.Dataset, metric: str) -> xr.DataArray:
    """:func:`probability_better` for every pair of classifiers.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`.
    metric
        One of its metrics by draw, such as ``"top3_accuracy"``.

    Returns
    -------
    xarray.DataArray
        (classifier, versus); the entries of a pair sum to one, and the diagonal is 1/2.

    Raises
    ------
    ArgumentError
        If there is no such metric.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> probabilities_better(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy").values.tolist()
    [[0.5, 0.625], [0.375, 0.5]]
    """
    variable = _by_draw(results, metric)
    values, names = variable.values, variable["classifier"].values
    matrix = np.array([[_share_greater(a, b) for b in values] for a in values]).reshape(len(values), len(values))
    return xr.DataArray(
        matrix, dims=("classifier", "versus"), coords={"classifier": names, "versus": names}, name=metric
    )


def _by_draw(results, metric):
    known = [name for name, variable in results.data_vars.items() if set(variable.dims) == {"classifier", "draw"}]
    if metric not in known:
        raise ArgumentError(f"there is no metric {metric!r} by draw in these results: choose from {', '.join(known)}.")
    return results[metric].transpose("classifier", "draw")


def _share_greater(a, b):
    difference = a - b
    return np.mean(np.where(np.abs(difference) <= _ROUNDING, 0.5, difference > 0))
