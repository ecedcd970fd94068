"""Results as a table."""

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.bootstrap import CI_PROB, interval


def summary(results: xr.Dataset, ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Tabulate the data-set metrics of an evaluation.

    Parameters
    ----------
    results
        Results of :func:`evaluate`.
    ci_prob
        Probability of the equal-tailed interval.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and metric: ``mean``, ``sd``, interval (``lower``, ``upper``), greatest and least value
        (``best``, ``worst``; the other way round if less is better) over the draws, and ``point``, the value at the
        model's point estimate. Draws in which a subgroup has no case are left out.

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
    rows = []
    for position, classifier in enumerate(results["classifier"].values):
        for metric, variable in results.data_vars.items():
            if variable.dims != ("classifier", "draw"):
                continue
            values = variable.values[position]
            values = values[~np.isnan(values)]
            worst, best = values.min(), values.max()
            if variable.attrs.get("better") == "smaller":
                worst, best = best, worst
            spread = values.std(ddof=1) if len(values) > 1 else 0.0
            point = float(results[f"{metric}_point"].values[position])
            ends = interval(values, ci_prob)
            rows.append((str(classifier), metric, values.mean(), spread, *ends, best, worst, point))
    columns = ["classifier", "metric", "mean", "sd", "lower", "upper", "best", "worst", "point"]
    return pd.DataFrame(rows, columns=columns)
