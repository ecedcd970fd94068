"""Comparing classifiers under one posterior: who is better, by how much, in which order, and what of it is noise.

Three kinds of noise stand behind a difference, and none may be taken for another:

* **annotation noise**: the truth of these cases is known only as well as the annotations allow. It is the spread of a
  metric over draws, and what :func:`probability_better`, :func:`differences` and :func:`rankings` speak of; more or
  better annotators reduce it.
* **Monte Carlo error**: the draws are finitely many. It is the error of the reported mean; more draws reduce it.
* **sampling noise**: other cases would give other numbers. It is the spread of a metric over samples of cases, here by
  the bootstrap; more cases reduce it.

:func:`variance_split` puts them side by side.
"""

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly._arviz import az
from plausibly.bootstrap import resampled_means
from plausibly.errors import ArgumentError
from plausibly.random_streams import check_seed

INTERVAL = 0.94
_ROUNDING = 1e-12  # Metrics are ratios of counts: what differs by less is equal.


def probability_better(results: xr.Dataset, metric: str, a: str, b: str) -> float:
    """Share of the draws in which classifier ``a`` does better than ``b`` on the data set, ties counting half.

    Both are measured against the same draws, so that what they find equally hard cancels. Of a distance the smaller
    value is better.

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
    values, names, _ = _goodness(results, metric)
    for name in (a, b):
        if name not in names:
            raise ArgumentError(f"there is no classifier {name!r} in these results: choose from {', '.join(names)}.")
    return float(_share_greater(values[names.index(a)], values[names.index(b)]))


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
    values, names, _ = _goodness(results, metric)
    matrix = np.array([[_share_greater(a, b) for b in values] for a in values]).reshape(len(values), len(values))
    return xr.DataArray(
        matrix, dims=("classifier", "versus"), coords={"classifier": names, "versus": names}, name=metric
    )


def differences(results: xr.Dataset, metric: str) -> pd.DataFrame:
    """Tabulate by how much classifiers differ, draw by draw.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`.
    metric
        One of its metrics by draw, such as ``"top3_accuracy"``.

    Returns
    -------
    pandas.DataFrame
        One row per pair: ``classifier``, ``versus``, then of their difference ``mean``, ``sd`` and equal-tailed 94 %
        interval (``lower``, ``upper``) over draws, ``point`` (at the point estimate; NaN where the results have none)
        and ``probability_better`` of the first. The interval holds annotation noise, and neither of the others.

    Raises
    ------
    ArgumentError
        If there is no such metric.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> table = differences(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy")
    >>> table[["classifier", "versus", "probability_better"]].values.tolist(), float(table["mean"][0].round(3))
    ([['A', 'B', 0.625]], -0.025)
    """
    values, names, sign = _goodness(results, metric)
    point = f"{metric}_point"
    points = results[point].values if point in results else np.full(len(names), np.nan)
    tail = (1 - INTERVAL) / 2
    rows = []
    for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
        difference = sign * (values[i] - values[j])
        lower, upper = np.quantile(difference, [tail, 1 - tail])
        rows.append(
            {
                "classifier": names[i],
                "versus": names[j],
                "mean": difference.mean(),
                "sd": difference.std(ddof=1) if len(difference) > 1 else 0.0,
                "lower": lower,
                "upper": upper,
                "point": points[i] - points[j],
                "probability_better": _share_greater(values[i], values[j]),
            }
        )
    columns = ["classifier", "versus", "mean", "sd", "lower", "upper", "point", "probability_better"]
    return pd.DataFrame(rows, columns=columns)


def rankings(results: xr.Dataset, metric: str) -> pd.DataFrame:
    """Tabulate the posterior over rankings of the classifiers.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`.
    metric
        One of its metrics by draw, such as ``"top3_accuracy"``.

    Returns
    -------
    pandas.DataFrame
        ``ranking``, such as ``"B > A = C"`` with the best first, and its ``probability``, the share of the draws; the
        most probable first. Classifiers that are equal in a draw share a place.

    Raises
    ------
    ArgumentError
        If there is no such metric.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.5]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> rankings(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy").values.tolist()
    [['A > B', 0.75], ['A = B', 0.25]]
    """
    values, names, _ = _goodness(results, metric)
    if not len(names):
        return pd.DataFrame({"ranking": [], "probability": []})
    # What differs by rounding is equal, and equal classifiers are named in their own order.
    order = np.argsort(-values, axis=0, kind="stable")
    gaps = np.diff(np.take_along_axis(values, order, axis=0), axis=0) < -_ROUNDING
    levels = np.zeros(values.shape, np.int64)
    np.put_along_axis(levels, order[1:], np.cumsum(gaps, axis=0), axis=0)
    order = np.argsort(levels, axis=0, kind="stable")
    tied = np.vstack([~gaps, np.zeros((1, levels.shape[1]), bool)])
    found, counts = np.unique(np.vstack([order, tied]), axis=1, return_counts=True)
    n = len(names)
    texts = [
        "".join(names[at] + (" = " if same else " > ") for at, same in zip(column[:n], column[n:], strict=True))[:-3]
        for column in found.T
    ]
    table = pd.DataFrame({"ranking": texts, "probability": counts / levels.shape[1]})
    return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def rank_probabilities(results: xr.Dataset, metric: str) -> xr.DataArray:
    """Probability of each classifier to take each place among all.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`.
    metric
        One of its metrics by draw, such as ``"top3_accuracy"``.

    Returns
    -------
    xarray.DataArray
        (classifier, place), places counting from 1, the best; rows and columns sum to one. Classifiers that are equal
        in a draw share its places equally.

    Raises
    ------
    ArgumentError
        If there is no such metric.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.5]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> rank_probabilities(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy").values.tolist()
    [[0.875, 0.125], [0.125, 0.875]]
    """
    values, names, _ = _goodness(results, metric)
    n = len(names)
    shares = np.zeros((n, n))
    for i in range(n):
        gap = values - values[i]
        better, equal = (gap > _ROUNDING).sum(axis=0), (np.abs(gap) <= _ROUNDING).sum(axis=0)
        for place in range(n):
            shares[i, place] = np.mean(((better <= place) & (place < better + equal)) / equal)
    coords = {"classifier": names, "place": np.arange(1, n + 1)}
    return xr.DataArray(shares, dims=("classifier", "place"), coords=coords, name=metric)


def variance_split(
    results: xr.Dataset,
    metric: str,
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Split the uncertainty of a metric, and of differences in it, into annotation, Monte Carlo and sampling noise.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`.
    metric
        One of its metrics by draw, such as ``"top3_accuracy"``.
    groups
        What is resampled together, one value for each case, such as the patient; by default every case is its own.
    resamples
        Of the bootstrap over cases.
    seed
        Of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and, with ``versus`` not empty, per pair of them: ``mean``; ``annotation_sd``, the
        standard deviation over draws; ``monte_carlo_se``, the standard error of the mean, by the effective number of
        draws ``effective_draws``; ``sampling_sd``, over samples of as many cases; and ``total_sd``, of annotation and
        sampling noise together, which is what a claim about other cases has to allow for. A point estimate has no draws
        to vary: its annotation noise is not 0 but unknown, NaN; so is the sampling noise of a single case or group.

    Raises
    ------
    ArgumentError
        If there is no such metric, it is not there by case, ``groups`` do not fit, or ``resamples`` is below 2.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", seed=1, progress=False)
    >>> results = pb.evaluate(posterior, {"A": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]}, k=1)
    >>> split = variance_split(results, "top1_accuracy")
    >>> bool((split["monte_carlo_se"] < split["annotation_sd"]).all())
    True
    """
    variable = _by_draw(results, metric)
    values, names = variable.values, [str(name) for name in variable["classifier"].values]
    by_case = f"{metric}_by_case"
    if by_case not in results:
        raise ArgumentError(f"there is no {by_case!r} in these results: give results of plausibly.evaluate.")
    if not isinstance(resamples, int | np.integer) or resamples < 2:
        raise ArgumentError(f"resamples must be a whole number of at least 2, but {resamples!r} was given: give more.")
    cases = results[by_case].transpose("classifier", "case").values.astype(float)
    if groups is not None:
        groups = list(groups)
        for value in groups:
            if not isinstance(value, Hashable) or value is None or value != value:
                raise ArgumentError(f"groups must name a group for every case, but {value!r} is none: name it.")
    weight = results["case_weight"].values.astype(float) if "case_weight" in results else np.ones(cases.shape[1])
    sampled = resampled_means(np.where(weight > 0, cases, 0), weight, groups, resamples, check_seed(seed))
    # One case, or one group, says nothing of others.
    varies = len({case if groups is None else groups[case] for case in np.flatnonzero(weight > 0)}) > 1
    chains = results["chain"].values if "chain" in results.coords else np.zeros(values.shape[1], int)
    pairs = [(i, None) for i in range(len(names))] + list(zip(*np.triu_indices(len(names), 1), strict=True))
    rows = []
    for i, j in pairs:
        draws, resample = (of[i] if j is None else of[i] - of[j] for of in (values, sampled))
        kept = ~np.isnan(draws)  # A subgroup may have no case in a draw.
        draws = draws[kept]
        annotation = draws.std(ddof=1) if len(draws) > 1 else np.nan
        effective = _effective(draws, chains[kept])
        sampling = np.nanstd(resample, ddof=1) if varies else np.nan
        rows.append(
            {
                "classifier": names[i],
                "versus": "" if j is None else names[j],
                "mean": draws.mean(),
                "annotation_sd": annotation,
                "monte_carlo_se": annotation / np.sqrt(effective),
                "sampling_sd": sampling,
                "total_sd": np.hypot(annotation, sampling),
                "effective_draws": effective,
            }
        )
    columns = ["classifier", "versus", "mean", "annotation_sd", "monte_carlo_se", "sampling_sd", "total_sd"]
    return pd.DataFrame(rows, columns=[*columns, "effective_draws"])


def _effective(draws: Float[np.ndarray, " draw"], chains: np.ndarray) -> float:
    """Effective number of draws for their mean; all of them where they never vary or are too few to tell."""
    _, counts = np.unique(chains, return_counts=True)
    if len(draws) < 2:
        return np.nan
    if np.ptp(draws) <= _ROUNDING or counts.min() != counts.max() or counts.min() < 4:
        return float(len(draws))
    return float(min(az.ess(draws.reshape(len(counts), -1), method="mean"), len(draws)))


def _by_draw(results: xr.Dataset, metric: str) -> xr.DataArray:
    if not isinstance(results, xr.Dataset):
        raise ArgumentError(
            f"results of plausibly.evaluate are needed, but a {type(results).__name__} was given: evaluate first."
        )
    known = [name for name, variable in results.data_vars.items() if set(variable.dims) == {"classifier", "draw"}]
    if metric not in known:
        raise ArgumentError(f"there is no metric {metric!r} by draw in these results: choose from {', '.join(known)}.")
    variable = results[metric].transpose("classifier", "draw")
    if variable.size and np.isnan(variable.values).any(axis=0).all():
        raise ArgumentError(f"{metric!r} is not a number in any draw: choose weights that some case has.")
    return variable


def _goodness(results: xr.Dataset, metric: str) -> tuple[Float[np.ndarray, "classifier draw"], list[str], int]:
    """Values of which more is better, names of the classifiers, and the sign that gives the metric back."""
    variable = _by_draw(results, metric)
    sign = -1 if variable.attrs.get("better") == "smaller" else 1
    values = sign * variable.values
    names = [str(name) for name in variable["classifier"].values]
    return values[:, ~np.isnan(values).any(axis=0)], names, sign


def _share_greater(a, b):
    difference = a - b
    return np.mean(np.where(np.abs(difference) <= _ROUNDING, 0.5, difference > 0))
