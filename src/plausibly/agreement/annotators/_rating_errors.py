"""Errors of classifiers that predict ratings as numbers, against the mean rating of each case."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import CI_PROB, check_probability, interval
from plausibly.base.checks import check_seed
from plausibly.base.errors import ArgumentError, show
from plausibly.data.annotations.matching import by_name
from plausibly.data.groups import check_clusters
from plausibly.families.ratings.tables import rating_draws
from plausibly.posterior import scores_of


def rating_errors(
    posterior: Posterior,
    predictions: Mapping[str, Any],
    *,
    clusters: Any = None,
    ci_prob: float = CI_PROB,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Tabulate the errors, in points, of classifiers that predict ratings as numbers.

    The truth is the mean rating of each case by the average of all raters, a number, as in
    :func:`plausibly.annotators.mean_ratings`; it is known by its draws, over which errors are averaged. Where ratings
    are classes, :func:`plausibly.evaluate` has ``mean_absolute_error`` in grades, for which a number counts as the
    nearest grade.

    Parameters
    ----------
    posterior
        Posterior of ratings by raters who differ, from ``aggregate(scores, "ordinal-scores", raters="differ")`` or
        ``"normal-scores"``. A classifier that sees more than the ratings say is underrated unless the posterior knows
        its predictions (``aggregate(…, predictions=…)``).
    predictions
        Predicted rating of each case by name of the classifier, in order, or as a mapping or Series by case. Of
        probabilities of ratings, give the expected rating.
    clusters
        Cluster of each case, such as its patient or document, which are resampled together; by default every case is
        its own.
    ci_prob
        Probability of the intervals.
    seed
        Random seed of the weights of cases.

    Returns
    -------
    pandas.DataFrame
        One row per classifier, the least wrong first: ``classifier``, ``mean_absolute_error`` in points with ``lower``
        and ``upper`` on these cases, and ``total_lower`` and ``total_upper``, which allow for the choice of cases, too
        (Bayesian bootstrap); the mean error ``bias``, positive if it predicts too much, with ``bias_lower`` and
        ``bias_upper`` on these cases; and the posterior probability that it is the least wrong on these (``p_best``).

    Raises
    ------
    ArgumentError
        If the posterior has no mean ratings, or an argument is out of range.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9.

    Examples
    --------
    >>> rows = [(f"case {i}", rater, 1 + i % 3 + (rater == "b")) for i in range(20) for rater in "ab"]
    >>> scores = pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"]))
    >>> settings = {"draws": 50, "chains": 2, "warmup": 50, "progress": False}
    >>> posterior = pb.aggregate(scores, "ordinal-scores", raters="differ", **settings)
    >>> near = {case: 1.5 + int(case.split()[1]) % 3 for case in scores.cases}
    >>> found = rating_errors(posterior, {"always 3": [3] * 20, "near": near})
    >>> found["classifier"].tolist(), bool(found["mean_absolute_error"][0] < 0.3)
    (['near', 'always 3'], True)
    """
    truth, cases = rating_draws(posterior), scores_of(posterior).cases
    check_probability("ci_prob", ci_prob)
    check_seed(seed)
    if not isinstance(predictions, Mapping) or not predictions:
        raise ArgumentError(
            f"predictions must be a mapping from names of classifiers to predicted ratings, but {show(predictions)} "
            "was given: write {'A': [3.5, 4, …]}."
        )
    values = {str(name): _numbers(name, given, cases) for name, given in predictions.items()}
    _, cluster = np.unique(check_clusters(clusters, cases), return_inverse=True)
    weight = np.random.default_rng(seed).standard_exponential((len(truth), cluster.max() + 1))[:, cluster]
    weight /= weight.sum(1, keepdims=True)
    rows, by_draw = [], []
    for name, value in values.items():
        error = value - truth
        absolute = np.abs(error)
        by_draw.append(absolute.mean(1))
        row = {"classifier": name, "mean_absolute_error": by_draw[-1].mean()}
        row |= _ends("", by_draw[-1], ci_prob) | _ends("total_", (weight * absolute).sum(1), ci_prob)
        rows.append(row | {"bias": error.mean()} | _ends("bias_", error.mean(1), ci_prob))
    least = np.array(by_draw) == np.min(by_draw, axis=0)
    table = pd.DataFrame(rows).assign(p_best=(least / least.sum(0)).mean(1))
    return table.sort_values("mean_absolute_error", kind="stable", ignore_index=True)


def _numbers(name: Any, given: Any, cases: np.ndarray) -> Float[np.ndarray, " case"]:
    fix = "give one predicted rating for each case."
    try:
        values = np.asarray(by_name(given, cases, "predicted rating"), float)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"predictions of {name} must be numbers, but {show(given)} was given: {fix}") from error
    if values.shape != (len(cases),):
        raise ArgumentError(
            f"predictions of {name} must have the shape (case,), {(len(cases),)}, but theirs is {values.shape}: {fix}"
        )
    if not np.isfinite(values).all():
        worst = int(np.isfinite(values).argmin())
        raise ArgumentError(
            f"predictions of {name} must be finite, but that of case {str(cases[worst])!r} is {values[worst]}: {fix}"
        )
    return values


def _ends(prefix: str, draws: Float[np.ndarray, " draw"], ci_prob: float) -> dict[str, float]:
    return dict(zip((f"{prefix}lower", f"{prefix}upper"), interval(draws, ci_prob), strict=True))
