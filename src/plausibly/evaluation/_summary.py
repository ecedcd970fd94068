"""Results as a table."""

import numpy as np
import pandas as pd
import xarray as xr

INTERVAL = 0.94


def summary(results: xr.Dataset) -> pd.DataFrame:
    """Tabulate the data-set metrics of an evaluation.

    Parameters
    ----------
    results
        From :func:`evaluate`.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and metric: ``mean``, ``sd``, equal-tailed 94 % interval (``lower``, ``upper``), greatest
        and least value (``best``, ``worst``; the other way round where less is better) over the draws, and ``point``,
        the value at the model's point estimate. Draws in which a subgroup has no case are left out.

    Examples
    --------
    >>> accuracy = xr.DataArray([[0.5, 0.7]], dims=("classifier", "draw"), coords={"classifier": ["A"]})
    >>> table = summary(xr.Dataset({"top1_accuracy": accuracy, "top1_accuracy_point": accuracy[:, 0]}))
    >>> table[["classifier", "metric", "mean", "point"]].values.tolist()
    [['A', 'top1_accuracy', 0.6, 0.5]]
    """
    tail = (1 - INTERVAL) / 2
    rows = []
    for position, classifier in enumerate(results["classifier"].values):
        for metric, variable in results.data_vars.items():
            if variable.dims != ("classifier", "draw"):
                continue
            values = variable.values[position]
            values = values[~np.isnan(values)]
            least, greatest = values.min(), values.max()
            if variable.attrs.get("better") == "smaller":
                least, greatest = greatest, least
            lower, upper = np.quantile(values, [tail, 1 - tail])
            rows.append(
                {
                    "classifier": str(classifier),
                    "metric": metric,
                    "mean": values.mean(),
                    "sd": values.std(ddof=1) if len(values) > 1 else 0.0,
                    "lower": lower,
                    "upper": upper,
                    "best": greatest,
                    "worst": least,
                    "point": float(results[f"{metric}_point"].values[position]),
                }
            )
    columns = ["classifier", "metric", "mean", "sd", "lower", "upper", "best", "worst", "point"]
    return pd.DataFrame(rows, columns=columns)
