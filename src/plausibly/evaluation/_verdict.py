"""Whether one classifier is better than another, in words, and what would make that surer."""

import numpy as np
import xarray as xr

from plausibly.evaluation.comparison import differences

SURE = 0.95  #: probability from which on one classifier counts as better than another


def verdict(results: xr.Dataset, metric: str, first: str, second: str) -> str:
    """Say how sure it is that one classifier is better, on these cases and on cases like these, and what to do next.

    Parameters
    ----------
    results, metric
        As for :func:`plausibly.comparison.probability_better`.
    first, second
        Names of two classifiers, the better one on average first.

    Raises
    ------
    ArgumentError
        If the results have no such metric.

    Examples
    --------
    >>> draws = xr.DataArray([[0.6, 0.7], [0.4, 0.6]], dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> verdict(xr.Dataset({"top1_accuracy": draws}), "top1_accuracy", "A", "B")
    'On these cases A is better than B with probability 1.00.'
    """
    row = differences(results.sel(classifier=[first, second]), metric).iloc[0]
    here, elsewhere = float(row["probability_better"]), float(row["total_probability_better"])
    told = (
        f"On these cases {first} is better than {second} with probability {odds(here)}"
        if here >= SURE
        else f"The annotations do not settle whether {first} or {second} is better on these cases: {first} is, with "
        f"probability {odds(here)}"
    )
    if np.isnan(elsewhere):
        return f"{told}."
    told += f"; on cases like these with probability {odds(elsewhere)}."
    if elsewhere >= SURE:
        return told
    if here >= SURE or row["sampling_sd"] > row["sd"]:
        return f"{told} More cases, rather than more labels, would settle it."
    return f"{told} More labels on the uncertain cases, rather than more cases, would settle it."


def odds(share: float) -> str:
    """Write a probability with two digits; 1 only if it is 1.

    Examples
    --------
    >>> odds(0.9999), odds(1.0), odds(0.5)
    ('above 0.99', '1.00', '0.50')
    """
    return "above 0.99" if 0.995 <= share < 1 else f"{share:.2f}"
