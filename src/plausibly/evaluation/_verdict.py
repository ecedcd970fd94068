"""Whether one classifier is better than another, in words, and what would make that more certain."""

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.evaluation.comparison import differences

SURE = 0.95  #: probability at which one classifier counts as better than another


def verdict(results: xr.Dataset, metric: str, first: str, second: str) -> str:
    """State how probable it is that one classifier is better than another, and how to find out more.

    Parameters
    ----------
    results, metric
        Results and metric as for :func:`plausibly.comparison.probability_better`.
    first, second
        Names of two classifiers, the one with the better mean first.

    Returns
    -------
    str
        The probability for these cases and for new cases like these. If it is below 0.95, also whether more labels or
        more cases would help more.

    Raises
    ------
    ArgumentError
        If the results have no such metric.

    Examples
    --------
    >>> draws = xr.DataArray([[0.6, 0.7], [0.4, 0.6]], dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> verdict(xr.Dataset({"top1_accuracy": draws}), "top1_accuracy", "A", "B")
    'A is better than B with probability above 0.99 on these cases.'
    """
    row = difference(results, metric, first, second)
    return " ".join(filter(None, (probabilities(row, first, second), advice(row))))


def difference(results: xr.Dataset, metric: str, first: str, second: str) -> pd.Series:
    """Return the row of :func:`plausibly.comparison.differences` for two classifiers."""
    return differences(results.sel(classifier=[first, second]), metric).iloc[0]


def probabilities(row: pd.Series, first: str, second: str) -> str:
    """State the probability that the first classifier is better, for these cases and for new ones."""
    here, elsewhere = float(row["probability_better"]), float(row["total_probability_better"])
    told = f"{first} is better than {second} with probability {odds(here)} on these cases"
    return f"{told}." if np.isnan(elsewhere) else f"{told} and {odds(elsewhere)} on new cases like these."


def advice(row: pd.Series) -> str:
    """Say whether more cases or more labels tell more of which classifier is better; empty if that is settled."""
    here, elsewhere = float(row["probability_better"]), float(row["total_probability_better"])
    if np.isnan(elsewhere) or elsewhere >= SURE:
        return ""
    if here >= SURE or row["sampling_sd"] > row["sd"]:
        return "This is uncertain mostly because there are few cases: more cases would help more than more labels."
    return "This is uncertain mostly because of the annotations: more labels would help more than more cases."


def odds(share: float) -> str:
    """Write a probability with two digits, but never as 1, since it is a share of draws.

    Examples
    --------
    >>> odds(0.9999), odds(1.0), odds(0.5)
    ('above 0.99', 'above 0.99', '0.50')
    """
    return "above 0.99" if share >= 0.995 else f"{share:.2f}"
