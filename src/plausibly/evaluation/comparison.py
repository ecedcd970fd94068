"""Compare classifiers under one posterior: which is better, by how much, and with what probability.

Three kinds of noise affect a difference, and they should not be confused:

* **annotation noise**: the truth of these cases is known only as well as the annotations allow. It is the spread of a
  metric over draws. More or better annotators reduce it.
* **Monte Carlo error**: the number of draws is finite. It is the standard error of the reported mean. More draws
  reduce it.
* **sampling noise**: other cases would give other numbers. It is the spread of a metric over samples of cases, here by
  the Bayesian bootstrap of :func:`plausibly.evaluate`. More cases reduce it.

:func:`variance_split` reports all three. By default, the results of the other functions hold *on these cases* and
include annotation noise only; with ``noise="total"`` they hold *on new cases like these* and include sampling noise,
too. Results against labels (``truth="annotator"`` or ``"panel"``) have no draws: there, total noise is the default.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.base.bootstrap import holding, interval, width_of
from plausibly.base.errors import ArgumentError
from plausibly.evaluation.metrics import public_name
from plausibly.evaluation.summaries import goodness
from plausibly.posterior.diagnostics import ess_of_mean

Noise = Literal["annotation", "sampling", "total"]
Relation = Literal[">=", ">", "<=", "<"]
_RELATIONS = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}

_ROUNDING = 1e-12  # Metrics are ratios of counts: values that differ by less are equal.
_SINGLE = 1e-6  # by which a metric in single precision may miss a number that is written in decimals
_COLUMNS = ["classifier", "versus", "mean", "sd", "lower", "upper", "point"]
_COLUMNS += ["probability_better", "better", "equal", "worse", "total_lower", "total_upper", "sampling_sd"]
_COLUMNS += ["total_probability_better", "total_better", "total_equal", "total_worse"]


def probability_better(results: xr.Dataset, metric: Any, a: str, b: str, *, noise: Noise | None = None) -> float:
    """Compute the probability that classifier ``a`` is better than ``b``.

    This is the share of draws in which ``a`` is better; ties count half, see :func:`better_equal_worse` for their
    share. Both classifiers are measured against the same draws, so cases that are equally hard for both cancel out. For
    a distance, the smaller value is better.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    metric
        Name of a metric by draw, such as ``"top3_accuracy"``, or its function, such as ``plausibly.metrics.auroc``.
    a, b
        Names of two classifiers.
    noise
        Uncertainty to include: that of the annotations (``"annotation"``: better on these cases), also that of
        sampling cases (``"total"``: better on new cases like these), or the latter alone (``"sampling"``). By default
        that of the annotations, or total noise where the truth has no draws (``truth="annotator"`` or ``"panel"``).

    Returns
    -------
    float
        Probability between 0 and 1; 1/2 for a classifier against itself. NaN if the noise is unknown: annotation and
        total noise of a point estimate, and sampling noise with a single cluster of cases.

    Raises
    ------
    ArgumentError
        If the results have no such metric, classifier or noise.

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
    shares = better_equal_worse(results, metric, a, b, noise=noise)
    return shares["better"] + shares["equal"] / 2


def probability(
    results: xr.Dataset, metric: Any, relation: Relation, value: float, *, noise: Noise | None = None
) -> xr.DataArray:
    """Compute the probability that a metric of each classifier meets a requirement, such as an AUROC of at least 0.9.

    Parameters
    ----------
    results, metric, noise
        As for :func:`probability_better`; a requirement on a classifier in use is about new cases: ``noise="total"``.
    relation, value
        Requirement: ``">="``, ``">"``, ``"<="`` or ``"<"``, and a number in the unit of the metric. Values of the
        metric that differ from it by rounding are equal to it.

    Returns
    -------
    xarray.DataArray
        Probabilities (classifier,), between 0 and 1: shares of the draws in which a classifier has a value. NaN if the
        noise is unknown, as for :func:`probability_better`.

    Raises
    ------
    ArgumentError
        If the results have no such metric, the relation is none of these, or the value or the noise is not valid.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> probability(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy", ">=", 0.6).values.tolist()
    [0.75, 0.75]
    """
    if relation not in _RELATIONS:
        raise ArgumentError(f"relation must be one of {', '.join(_RELATIONS)}, but {relation!r} was given: choose one.")
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(value):
        raise ArgumentError(f"value must be a finite number, but {value!r} was given: give for example 0.9.")
    values, names = _values(results, metric, noise)
    shares = np.full(len(names), np.nan)
    for at, own in enumerate(values):
        known = own[~np.isnan(own)]
        met = _RELATIONS[relation](np.where(np.isclose(known, value, rtol=_SINGLE, atol=_SINGLE), value, known), value)
        shares[at] = _share(met.sum(), len(known))
    return xr.DataArray(shares, {"classifier": names}, dims="classifier", name=public_name(metric))


def better_equal_worse(
    results: xr.Dataset, metric: Any, a: str, b: str, *, noise: Noise | None = None
) -> dict[str, float]:
    """Compute the probabilities that classifier ``a`` is better than ``b``, equal, or worse.

    Arguments and errors are those of :func:`probability_better`.

    Returns
    -------
    dict
        ``"better"``, ``"equal"`` and ``"worse"``: shares of draws, which sum to 1. NaN if the noise is unknown.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> better_equal_worse(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy", "A", "B")
    {'better': 0.5, 'equal': 0.25, 'worse': 0.25}
    """
    _check_results(results)
    names = list(map(str, results["classifier"].values))
    for name in (a, b):
        if name not in names:
            raise ArgumentError(f"there is no classifier {name!r} in these results: choose from {', '.join(names)}.")
    name = public_name(metric) or metric
    if name in results:  # of hundreds of metrics, these alone are cut
        results = results[[own for own in (name, f"{name}_sampling", f"{name}_total") if own in results]]
    (first, second), *_ = _goodness(results.isel(classifier=[names.index(a), names.index(b)]), metric, noise)
    return _shares(first - second)


def share_better(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"], attrs: Mapping[str, Any]) -> float:
    """Compute :func:`probability_better` from values of two classifiers, given the attributes of the metric.

    Examples
    --------
    >>> share_better(np.array([0.5, 0.7, 0.6, 0.6]), np.array([0.4, 0.6, 0.6, 0.9]), {"better": "greater"})
    0.625
    """
    known = ~(np.isnan(first) | np.isnan(second))
    shares = _shares(goodness(first[known], attrs) - goodness(second[known], attrs))
    return shares["better"] + shares["equal"] / 2


def probabilities_better(results: xr.Dataset, metric: Any, *, noise: Noise | None = None) -> xr.DataArray:
    """Compute :func:`probability_better` for every pair of classifiers.

    Arguments and errors are those of :func:`probability_better`.

    Returns
    -------
    xarray.DataArray
        Probabilities (classifier, versus); the two entries of a pair sum to 1, and the diagonal is 1/2.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> probabilities_better(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy").values.tolist()
    [[0.5, 0.625], [0.375, 0.5]]
    """
    values, names, _ = _goodness(results, metric, noise)
    shares = [_shares(a - b) for a in values for b in values]
    matrix = np.array([pair["better"] + pair["equal"] / 2 for pair in shares]).reshape(len(values), len(values))
    coords = {"classifier": names, "versus": names}
    return xr.DataArray(matrix, coords, dims=tuple(coords), name=public_name(metric))


def differences(results: xr.Dataset, metric: Any, ci_prob: float | None = None) -> pd.DataFrame:
    """Tabulate the differences between classifiers.

    Parameters
    ----------
    results, metric
        As for :func:`probability_better`.
    ci_prob
        Probability of the equal-tailed interval; by default that of the results.

    Returns
    -------
    pandas.DataFrame
        One row per pair: ``classifier`` and ``versus``; with annotation noise only, on these cases, the ``mean``,
        ``sd`` and interval (``lower``, ``upper``) of the difference over draws, ``point`` (the difference at the point
        estimate; NaN if the results have none), the shares of draws in which the first is ``better``, ``equal`` and
        ``worse``, which sum to 1, and ``probability_better`` of the first, which counts ``equal`` half; with sampling
        noise, on new cases like these, ``total_lower``, ``total_upper``, ``sampling_sd``, ``total_better``,
        ``total_equal``, ``total_worse`` and ``total_probability_better`` (NaN without replicates). Differences are
        those of the metric itself, also where smaller values are better. For a point estimate, annotation and total
        noise are unknown, and so are these intervals, deviations and probabilities: they are NaN.

    Raises
    ------
    ArgumentError
        If the results have no such metric, or ``ci_prob`` is not between 0 and 1.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.9]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> table = differences(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy")
    >>> table[["better", "equal", "worse", "probability_better"]].values.tolist(), float(table["mean"][0].round(3))
    ([[0.5, 0.25, 0.25, 0.625]], -0.025)
    """
    (values, names, sign), *replicates = (_goodness(results, metric, noise) for noise in get_args(Noise))
    sampling, total = (found for found, *_ in replicates)
    point, ci_prob = f"{public_name(metric)}_point", width_of(results, ci_prob)
    points = results[point].values if point in results else np.full(len(names), np.nan)
    rows = []
    for i, j in _pairs(names):
        row = {"classifier": names[i], "versus": names[j]}
        for prefix, of in (("", values), ("total_", total)):
            goodness = of[i] - of[j]
            shares = _shares(goodness)
            if not prefix:
                row |= {"mean": sign * goodness.mean(), "sd": _sd(goodness)}
            ends = holding(row["mean"], interval(sign * goodness, ci_prob))
            row |= zip((f"{prefix}lower", f"{prefix}upper"), ends, strict=True)
            row |= {"sampling_sd": _sd(sampling[i] - sampling[j])} if prefix else {"point": points[i] - points[j]}
            row |= {f"{prefix}probability_better": shares["better"] + shares["equal"] / 2}
            row |= {f"{prefix}{name}": share for name, share in shares.items()}
        rows.append(row)
    return pd.DataFrame(rows, columns=_COLUMNS)


def rankings(results: xr.Dataset, metric: Any, *, noise: Noise | None = None) -> pd.DataFrame:
    """Tabulate the posterior probability of each ranking of the classifiers.

    Arguments and errors are those of :func:`probability_better`.

    Returns
    -------
    pandas.DataFrame
        ``ranking``, such as ``"B > A = C"`` with the best classifier first, and its posterior ``probability``; the most
        probable ranking first. Classifiers that are equal in a draw share a place. The probability is NaN for a point
        estimate, and there is no row if the noise is unknown otherwise.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.5]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> rankings(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy").values.tolist()
    [['A > B', 0.75], ['A = B', 0.25]]
    """
    values, names, _ = _goodness(results, metric, noise)
    if not len(names) or np.isnan(values).any():
        return pd.DataFrame({"ranking": [], "probability": []})
    # Values that differ by rounding are equal, and equal classifiers keep their order.
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
    table = pd.DataFrame({"ranking": texts, "probability": [_share(count, levels.shape[1]) for count in counts]})
    return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def rank_probabilities(results: xr.Dataset, metric: Any, *, noise: Noise | None = None) -> xr.DataArray:
    """Compute the probability of each place for each classifier.

    Arguments and errors are those of :func:`probability_better`.

    Returns
    -------
    xarray.DataArray
        Probabilities (classifier, place); place 1 is the best. Rows and columns sum to 1. Classifiers that are equal in
        a draw share their places equally. NaN if the noise is unknown.

    Examples
    --------
    >>> draws = [[0.5, 0.7, 0.6, 0.6], [0.4, 0.6, 0.6, 0.5]]
    >>> accuracy = xr.DataArray(draws, dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> rank_probabilities(xr.Dataset({"top1_accuracy": accuracy}), "top1_accuracy").values.tolist()
    [[0.875, 0.125], [0.125, 0.875]]
    """
    values, names, _ = _goodness(results, metric, noise)
    n = len(names)
    shares = np.full((n, n), np.nan)
    for i in range(n if values.shape[1] > 1 else 0):
        gap = values - values[i]
        better, equal = (gap > _ROUNDING).sum(axis=0), (np.abs(gap) <= _ROUNDING).sum(axis=0)
        for place in range(n):
            shares[i, place] = np.mean(((better <= place) & (place < better + equal)) / equal)
    coords = {"classifier": names, "place": np.arange(1, n + 1)}
    return xr.DataArray(shares, coords, dims=tuple(coords), name=public_name(metric))


def variance_split(results: xr.Dataset, metric: Any) -> pd.DataFrame:
    """Split the uncertainty of a metric, and of differences in it, into annotation, Monte Carlo and sampling noise.

    Parameters
    ----------
    results, metric
        As for :func:`probability_better`; ``clusters`` and ``replicates`` of :func:`plausibly.evaluate` determine what
        is resampled and how often.

    Returns
    -------
    pandas.DataFrame
        One row per classifier, and one per pair of classifiers (``versus`` is not empty): ``mean``; ``annotation_sd``,
        the standard deviation over draws; ``monte_carlo_se``, the standard error of the mean, given the number of
        ``effective_draws``; ``sampling_sd``, the standard deviation over samples of as many cases; and ``total_sd``,
        sampling noise plus the missing part of annotation noise (:func:`plausibly.evaluation.total_noise`), which
        matters for claims about other cases. For a point estimate, annotation noise and total are unknown and therefore
        NaN; sampling noise is unknown without replicates and with a single case or cluster.

    Raises
    ------
    ArgumentError
        If the results lack the metric.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", seed=1, progress=False)
    >>> predictions = {"A": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]], "B": [[0.6, 0.4]] * 3}
    >>> results = pb.evaluate(posterior, predictions)
    >>> split = variance_split(results, "top1_accuracy")
    >>> bool((split["monte_carlo_se"] < split["annotation_sd"]).all())
    True
    """
    variable = metric_by_draw(results, metric)
    values, names = variable.values, [str(name) for name in variable["classifier"].values]
    total, sampling = (_replicates(results, metric, noise) for noise in ("total", "sampling"))
    chains = results["chain"].values if "chain" in results.coords else np.zeros(values.shape[1], int)
    rows = []
    for i, j in [*((i, None) for i in range(len(names))), *_pairs(names)]:
        draws, of_sampling, of_total = (of[i] if j is None else of[i] - of[j] for of in (values, sampling, total))
        kept = ~np.isnan(draws)  # A subgroup may have no case in a draw.
        draws = draws[kept]
        annotation, effective = _sd(draws), _effective(draws, chains[kept])
        noise = (annotation, annotation / np.sqrt(effective), _sd(of_sampling), _sd(of_total))
        rows.append((names[i], "" if j is None else names[j], draws.mean(), *noise, effective))
    columns = ["classifier", "versus", "mean", "annotation_sd", "monte_carlo_se", "sampling_sd", "total_sd"]
    return pd.DataFrame(rows, columns=[*columns, "effective_draws"])


def _sd(values: Float[np.ndarray, " n"]) -> float:
    """Standard deviation of what is known, NaN of a single value."""
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else np.nan


def _replicates(results: xr.Dataset, metric: Any, noise: str) -> Float[np.ndarray, "classifier replicate"]:
    """Values with bootstrap noise; a single NaN for each classifier if they are unknown."""
    name = f"{public_name(metric)}_{noise}"
    if name not in results or np.isnan(results[name].values).all():
        return np.full((results.sizes["classifier"], 1), np.nan)
    return results[name].transpose("classifier", "replicate").values


def _effective(draws: Float[np.ndarray, " draw"], chains: np.ndarray) -> float:
    """Effective number of draws for their mean; all of them if they are constant or too few to tell."""
    _, counts = np.unique(chains, return_counts=True)
    if len(draws) < 2:
        return np.nan
    if np.ptp(draws) <= _ROUNDING or counts.min() != counts.max() or counts.min() < 4:
        return float(len(draws))
    return float(min(ess_of_mean(draws.reshape(len(counts), -1, 1))[0], len(draws)))


def _check_results(results: object) -> None:
    if not isinstance(results, xr.Dataset) or "classifier" not in results.dims:
        raise ArgumentError(
            f"results of plausibly.evaluate are needed, but a {type(results).__name__} was given: evaluate first."
        )


def metric_by_draw(results: xr.Dataset, metric: Any) -> xr.DataArray:
    """Return a metric of results (classifier, draw)."""
    _check_results(results)
    metric = public_name(metric) or metric
    if metric not in results or set(results[metric].dims) != {"classifier", "draw"}:
        known = [name for name, variable in results.data_vars.items() if set(variable.dims) == {"classifier", "draw"}]
        raise ArgumentError(
            f"there is no metric {metric!r} by draw in these results: choose from {', '.join(map(str, known))}."
            + (f" {results.attrs['withheld']}" if "withheld" in results.attrs else "")
        )
    variable = results[metric].transpose("classifier", "draw")
    if variable.size and np.isnan(variable.values).any(axis=0).all():
        raise ArgumentError(f"{metric!r} is not a number in any draw: choose weights that some case has.")
    return variable


def _goodness(
    results: xr.Dataset, metric: Any, noise: str | None = None
) -> tuple[Float[np.ndarray, "classifier n"], list[str], int]:
    """Values oriented so that more is better, names of the classifiers, and the sign that restores the metric.

    Where values near a number are better, it restores their distances from it.
    """
    values, names = _values(results, metric, noise)
    attrs = results[public_name(metric)].attrs
    sign = 1 if attrs.get("better", "greater") == "greater" else -1
    known = ~np.isnan(values).any(axis=0)
    return goodness(values[:, known] if known.any() else values[:, :1], attrs), names, sign


def _values(results: xr.Dataset, metric: Any, noise: str | None) -> tuple[Float[np.ndarray, "classifier n"], list[str]]:
    """Values of a metric with the noise that is wanted, and names of the classifiers."""
    variable = metric_by_draw(results, metric)
    if noise is None:
        noise = "annotation" if results.attrs.get("truth", "most-plausible") == "most-plausible" else "total"
    if noise not in get_args(Noise):
        raise ArgumentError(f"noise must be one of {', '.join(get_args(Noise))}, but {noise!r} was given: choose one.")
    values = variable.values if noise == "annotation" else _replicates(results, metric, noise)
    return values, [str(name) for name in variable["classifier"].values]


def _pairs(names):
    return zip(*np.triu_indices(len(names), 1), strict=True)


def _shares(difference: Float[np.ndarray, " n"]) -> dict[str, float]:
    """Shares of draws in which an oriented difference is positive, none or negative."""
    signs = np.where(np.abs(difference) <= _ROUNDING, 0, np.sign(difference))
    return {
        name: _share((signs == sign).sum(), len(difference))
        for name, sign in (("better", 1), ("equal", 0), ("worse", -1))
    }


def _share(count: int, n: int) -> float:
    """Share of ``n`` draws; of a single one, such as a point estimate, it says nothing of the noise: NaN."""
    return float(count / n) if n > 1 else np.nan
