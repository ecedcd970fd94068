"""Tables of metrics with several values: points of curves, and the largest confusions."""

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.base.bootstrap import holding, interval_of_known, width_of
from plausibly.base.errors import ArgumentError

_PLAIN = {"classifier", "class_name", "draw", "group"}  # dimensions of metrics with one value


def curve_points(results: xr.Dataset, metric: str, ci_prob: float | None = None) -> pd.DataFrame:
    """Tabulate a metric that has values along an axis, such as a curve, with its intervals.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    metric
        Name of the metric, such as ``"roc_curve"``.
    ci_prob
        Probability of the equal-tailed intervals; by default that of the results.

    Returns
    -------
    pandas.DataFrame
        One row per classifier, class (where there is a curve for each) and value along the axis, with columns of these
        names; ``mean`` over draws, annotation interval (``lower``, ``upper``), and total interval (``total_lower``,
        ``total_upper``), NaN where they are unknown. Draws in which a value is undefined are left out.

    Raises
    ------
    ArgumentError
        If the results have no such metric, or ``ci_prob`` is not between 0 and 1.

    Examples
    --------
    >>> values = xr.DataArray([[[0.5, 0.7]]], dims=("classifier", "threshold", "draw"), coords={"threshold": [0.2]})
    >>> curve_points(xr.Dataset({"curve": values.assign_coords(classifier=["A"])}), "curve")[["threshold", "mean"]]
       threshold  mean
    0        0.2   0.6
    """
    variable, ci_prob = along_axes(results, metric), width_of(results, ci_prob)
    axes = [str(axis) for axis in variable.dims if axis != "draw"]
    index = pd.MultiIndex.from_product([results[axis].values for axis in axes], names=axes)
    table = index.to_frame(index=False)
    table["mean"] = mean_known(variable.values).ravel()
    for prefix, name in (("", metric), ("total_", f"{metric}_total")):
        ends = [np.nan, np.nan]
        if name in results:
            ends = holding(mean_known(variable.values), interval_of_known(results[name].values, ci_prob, -1))
        table[f"{prefix}lower"], table[f"{prefix}upper"] = (np.ravel(end) if np.ndim(end) else end for end in ends)
    return table


def largest_confusions(results: xr.Dataset, n: int = 5, ci_prob: float | None = None) -> pd.DataFrame:
    """Tabulate the pairs of classes that each classifier confuses most often.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with the metric ``"confusion"``.
    n
        Number of pairs for each classifier.
    ci_prob
        Probability of the equal-tailed interval; by default that of the results.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and pair, the most frequent first: ``classifier``, ``true_class``, ``named_class``, the
        expected number of ``cases``, its interval (``lower``, ``upper``; for as many new cases or, without replicates,
        for these), and their share of the cases of the true class (``share_of_true``). Pairs that do not occur in any
        draw, and cases without an answer, are left out.

    Raises
    ------
    ArgumentError
        If the results have no confusion matrix, or ``ci_prob`` is not between 0 and 1.

    Examples
    --------
    >>> import plausibly as pb
    >>> annotations = pb.Annotations.from_labels([["cat", "cat"], ["dog", "cat"], ["cow", "cow"]])
    >>> scores = [[0.8, 0.1, 0.1], [0.2, 0.1, 0.7], [0.6, 0.2, 0.2]]  # of cat, cow and dog
    >>> results = pb.evaluate(annotations, {"A": scores}, metrics="confusion", truth="annotator")
    >>> largest_confusions(results)[["true_class", "named_class", "cases", "share_of_true"]].round(2)
      true_class named_class  cases  share_of_true
    0        cow         cat    1.0           1.00
    1        cat         dog    0.5           0.33
    """
    variable, ci_prob = along_axes(results, "confusion"), width_of(results, ci_prob)
    n_cases, classes = variable.attrs["n_cases"], results["true_class"].values
    noise = results.get("confusion_total", variable)
    rows = []
    for at, classifier in enumerate(results["classifier"].values):
        shares = mean_known(variable.values[at])
        wrong = np.where(np.eye(len(shares), dtype=bool), 0, shares[:, : len(shares)])
        for pair in np.argsort(-wrong, axis=None, kind="stable")[:n]:
            true, named = np.unravel_index(pair, wrong.shape)
            if wrong[true, named] > 0:
                of_true = wrong[true, named] / shares[true].sum()
                lower, upper = interval_of_known(noise.values[at, true, named] * n_cases, ci_prob)
                pairs = str(classes[true]), str(classes[named]), float(wrong[true, named] * n_cases)
                rows.append((str(classifier), *pairs, float(lower), float(upper), float(of_true)))
    columns = ["classifier", "true_class", "named_class", "cases", "lower", "upper", "share_of_true"]
    return pd.DataFrame(rows, columns=columns)


def along_axes(results: xr.Dataset, metric: str) -> xr.DataArray:
    """Return a metric with values along an axis."""
    known = [name for name, one in results.items() if "draw" in one.dims and {*one.dims} - _PLAIN]
    if metric not in known:
        there = f"choose from {', '.join(map(str, known))}" if known else f'pass metrics=["{metric}"] to evaluate'
        raise ArgumentError(f"there is no metric {metric!r} with values along an axis in these results: {there}.")
    return results[metric]


def mean_known(values: np.ndarray) -> np.ndarray:
    """Mean over draws, the last axis, in which a value is defined."""
    if not np.isnan(values).any():
        return values.mean(axis=-1)
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # undefined in all
        return np.where(known, values, 0).sum(axis=-1) / known.sum(axis=-1)
