"""Results as a table."""

from numbers import Real

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.errors import ArgumentError


def summary(results: xr.Dataset, ci_prob: float = 0.94) -> pd.DataFrame:
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
            lower, upper = interval(values, ci_prob)
            row = {"classifier": str(classifier), "metric": metric, "mean": values.mean()}
            row |= {"sd": values.std(ddof=1) if len(values) > 1 else 0.0, "lower": lower, "upper": upper}
            point = float(results[f"{metric}_point"].values[position])
            rows.append(row | {"best": best, "worst": worst, "point": point})
    columns = ["classifier", "metric", "mean", "sd", "lower", "upper", "best", "worst", "point"]
    return pd.DataFrame(rows, columns=columns)


def interval(values: Float[np.ndarray, " draw"], ci_prob: float) -> Float[np.ndarray, "2"]:
    """Ends of the equal-tailed interval that holds a share ``ci_prob`` of the values.

    Raises
    ------
    ArgumentError
        If ``ci_prob`` is not between 0 and 1.
    """
    if not isinstance(ci_prob, Real) or not 0 < ci_prob < 1:
        raise ArgumentError(f"ci_prob must be between 0 and 1, but {ci_prob!r} was given: write for example 0.94.")
    return np.quantile(values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
