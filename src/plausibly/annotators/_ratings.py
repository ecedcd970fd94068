"""What is inferred of raters who differ: severities, and mean ratings of cases and of groups of them."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly._arviz import Posterior, to_groups
from plausibly.bootstrap import check_probability
from plausibly.errors import ArgumentError, show
from plausibly.families.ratings import expected_ratings
from plausibly.groups import check_clusters
from plausibly.posterior import check_posterior, scores_of


def severities(posterior: Posterior, ci_prob: float = 0.94, *, against: str | None = None) -> pd.DataFrame:
    """Tabulate how much higher or lower each rater rates than the others, in units of the ratings.

    A severity is the mean, over all cases, of the rating that is expected of the rater, minus that of the average of
    these raters, each of whom counts once. So it does not depend on which cases a rater was given. A positive one means
    higher ratings: a lenient rater where high is good, as with stars, and a strict one where high is bad, as with
    penalties.

    Parameters
    ----------
    posterior
        Posterior of ratings by raters who differ, from ``aggregate(scores, "ordinal-scores", raters="differ")``.
    ci_prob
        Probability of the equal-tailed intervals.
    against
        Rater to compare with, instead of the average of all.

    Returns
    -------
    pandas.DataFrame
        One row per rater, who rates highest first: ``annotator``, the number of ``ratings``, the median ``severity``,
        ``lower``, ``upper``; ``spread``, the median standard deviation with which the rater scatters on the latent
        scale, on which that of all ratings is 1, with ``spread_lower`` and ``spread_upper``; the posterior probability
        that the rater rates highest (``p_highest``) and lowest (``p_lowest``) of all; the mean of her ratings as they
        are (``raw_mean``) and under the model (``fitted_mean``); and ``converged``. Where the two means are apart, a
        rater uses the scale in another way than the others, and her severity should not be trusted: the model knows
        severities and spreads, but the steps between ratings are the same for all.

    Raises
    ------
    ArgumentError
        If the posterior has no severities, there is no such rater, or the probability is out of range.

    Examples
    --------
    >>> rows = [(f"case {i}", rater, 1 + i % 3 + more) for i in range(20) for rater, more in zip("ab", (0, i % 4 > 0))]
    >>> scores = pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"]))
    >>> settings = {"draws": 50, "chains": 2, "warmup": 50, "progress": False}
    >>> posterior = pb.aggregate(scores, "ordinal-scores", raters="differ", **settings)
    >>> table = severities(posterior)
    >>> table["annotator"].tolist(), table["severity"].round(1).tolist()
    (['b', 'a'], [0.4, -0.4])
    """
    expected, fitted = _expected(posterior)
    check_probability("ci_prob", ci_prob)
    group = posterior["posterior"]
    names = np.asarray(group["annotator"].values, str)
    base = expected.mean(1, keepdims=True)
    if against is not None:
        if against not in names:
            raise ArgumentError(f"there is no rater {against!r} to compare with: choose from {show(names.tolist())}.")
        base = expected[:, [names.tolist().index(against)]]
    spread = _flat(group["spread"].transpose("chain", "draw", "annotator").values)
    columns: dict[str, Any] = {"annotator": names.astype(object)}
    observed = posterior["observed_data"]
    who = observed["annotation_annotator"].values
    columns["ratings"] = np.bincount(who, minlength=len(names))
    columns |= _interval("severity", "", expected - base, ci_prob) | _interval("spread", "spread_", spread, ci_prob)
    for name, extreme in (("p_highest", expected.argmax(1)), ("p_lowest", expected.argmin(1))):
        columns[name] = np.bincount(extreme, minlength=len(names)) / len(expected)
    columns |= {"raw_mean": np.bincount(who, observed["score"].values) / columns["ratings"], "fitted_mean": fitted}
    judged = to_groups(posterior)["shared_convergence"]["converged"]
    good = [judged.sel(quantity=[f"{site} of {name}" for name in names]).values for site in ("severity", "spread")]
    table = pd.DataFrame(columns | {"converged": good[0] & good[1]})
    return table.sort_values("severity", ascending=False, kind="stable", ignore_index=True)


def mean_ratings(
    posterior: Posterior,
    by: str | Sequence[Any] | None = None,
    ci_prob: float = 0.94,
    *,
    best: Literal["highest", "lowest"] = "highest",
) -> pd.DataFrame:
    """Tabulate the mean rating of each case, or of groups of cases, that raters like these would give.

    Raters differ, and a case that severe raters saw has a lower mean than it deserves. Here severities and spreads are
    those of the distribution of raters, whoever rated the case.

    Parameters
    ----------
    posterior
        Posterior of ratings by raters who differ, from ``aggregate(scores, "ordinal-scores", raters="differ")``.
    by
        Name of one of the ``case_groups`` of the posterior, or the group of each case, in order or as a mapping. By
        default, each case is its own.
    ci_prob
        Probability of the equal-tailed intervals.
    best
        Whether the ``"highest"`` mean rating is the best, as with stars, or the ``"lowest"``, as with penalties.

    Returns
    -------
    pandas.DataFrame
        One row per case or group, the best first: ``group`` (or ``case``), the number of its ``cases`` and ``ratings``,
        the posterior ``mean`` with ``lower`` and ``upper``; the mean of its ratings as they are (``raw_mean``); its
        ``rank`` by posterior means, from 1, the best, with the ends of the interval of its rank in the draws
        (``rank_lower``, ``rank_upper``); and the posterior probability that it is best (``p_best``). Intervals are of
        these cases, not of others like them.

    Raises
    ------
    ArgumentError
        If the posterior has no mean ratings, there is no such group, or an argument is out of range.

    Examples
    --------
    >>> rows = [(f"case {i}", rater, 1 + i % 3 + (rater == "b")) for i in range(20) for rater in "ab"]
    >>> scores = pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"]))
    >>> settings = {"draws": 50, "chains": 2, "warmup": 50, "progress": False}
    >>> posterior = pb.aggregate(scores, "ordinal-scores", raters="differ", **settings)
    >>> mean_ratings(posterior, by=["low", "middle", "high"] * 6 + ["low", "middle"])["group"].tolist()
    ['high', 'middle', 'low']
    """
    _check(posterior)
    check_probability("ci_prob", ci_prob)
    if best not in ("highest", "lowest"):
        raise ArgumentError(f'best must be "highest" or "lowest", but {best!r} was given: choose one of the two.')
    scores = scores_of(posterior)
    code, names = np.arange(scores.n_cases), scores.cases
    if isinstance(by, str):
        if f"{by}_of_case" not in posterior["constant_data"]:
            known = [name.removesuffix("_of_case") for name in posterior["constant_data"] if "_of_case" in str(name)]
            raise ArgumentError(
                f"this posterior has no case group {by!r}: give one of its case_groups "
                f"({', '.join(known) or 'it has none'}), or the group of each case."
            )
        code = posterior["constant_data"][f"{by}_of_case"].values
        names = np.asarray(posterior["posterior"][by].values, str)
    elif by is not None:
        names, code = np.unique(check_clusters(by, scores.cases, "group"), return_inverse=True)
    n_cases, of_rating = np.bincount(code), code[scores.annotation_case]
    n = np.bincount(of_rating)
    each = _flat(posterior["posterior"]["mean_rating"].transpose("chain", "draw", "scored_case").values)
    draws = each if by is None else np.stack([np.bincount(code, one) for one in each]) / n_cases
    sign = -1 if best == "highest" else 1
    from scipy.stats import rankdata  # a second to import

    ranks = rankdata(sign * draws, axis=1)
    rank_ends = np.quantile(ranks, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0, method="closest_observation")
    interval = _interval("mean", "", draws, ci_prob) | {"mean": draws.mean(0)}
    table = pd.DataFrame(
        {"case" if by is None else "group": names.astype(object), "cases": n_cases, "ratings": n}
        | interval
        | {"raw_mean": np.bincount(of_rating, scores.score) / n, "rank": rankdata(sign * draws.mean(0), method="min")}
        | {"rank_lower": rank_ends[0], "rank_upper": rank_ends[1]}
        | {"p_best": np.bincount((sign * draws).argmin(1), minlength=len(names)) / len(draws)}
    )
    table = table.drop(columns="cases") if by is None else table
    whole = {name: int for name in ("rank", "rank_lower", "rank_upper")}
    return table.astype(whole).sort_values("rank", kind="stable", ignore_index=True)


def severity_sentences(table: pd.DataFrame, most: int = 3) -> list[str]:
    """Say by how much the raters differ who differ most, of those whose interval excludes 0; and whom it does not fit.

    The model does not fit a rater if the mean of her ratings is further from that under the model than her severity is
    uncertain.

    Examples
    --------
    >>> table = pd.DataFrame({"annotator": ["e2"], "severity": [-0.5], "lower": [-0.7], "upper": [-0.3]})
    >>> severity_sentences(table.assign(raw_mean=2.4, fitted_mean=2.5))
    ['e2 rates 0.5 points lower than the average rater of the same cases [0.3, 0.7].']
    >>> severity_sentences(table.assign(raw_mean=2.0, fitted_mean=2.5))[1]
    'The ratings of e2 have a mean of 2, and of 2.5 under the model: ... severity should not be trusted.'
    """
    clear = table.loc[(table["lower"] > 0) | (table["upper"] < 0)]
    clear = clear.sort_values("severity", key=np.abs, ascending=False, kind="stable").head(most)
    told = []
    for name, value, *ends in clear[["annotator", "severity", "lower", "upper"]].itertuples(index=False):
        low, high = sorted(abs(end) for end in ends)
        told.append(
            f"{name} rates {abs(value):.2g} points {'higher' if value > 0 else 'lower'} than the average rater of the "
            f"same cases [{low:.2g}, {high:.2g}]."
        )
    apart = (table["raw_mean"] - table["fitted_mean"]).abs() > (table["upper"] - table["lower"]) / 2
    for name, raw, fitted in table.loc[apart, ["annotator", "raw_mean", "fitted_mean"]].head(most).to_numpy():
        told.append(
            f"The ratings of {name} have a mean of {raw:.3g}, and of {fitted:.3g} under the model: this rater uses the "
            "scale in another way than the others, and the severity should not be trusted."
        )
    return told


def _check(posterior: Posterior) -> None:
    check_posterior(posterior)
    if not {"severity", "mean_rating"} <= {*posterior["posterior"].data_vars}:
        raise ArgumentError(
            "this posterior has no severities of raters: aggregate ratings by named raters with "
            "aggregate(scores, 'ordinal-scores', raters='differ')."
        )


def _expected(posterior: Posterior) -> tuple[Float[np.ndarray, "draw rater"], Float[np.ndarray, " rater"]]:
    """Rating expected of each rater over all cases, by draw, and over those that she rated, on average."""
    _check(posterior)
    group, constants = posterior["posterior"], posterior["constant_data"]
    mean = _flat(group["latent_mean"].transpose("chain", "draw", "scored_case").values)
    each = (_flat(group[site].transpose("chain", "draw", "annotator").values) for site in ("severity", "spread"))
    observed = posterior["observed_data"]
    rated = (np.asarray(observed[f"annotation_{of}"].values, np.int64) for of in ("case", "annotator"))
    scale = constants["rating_value"].values, constants["cutpoint"].values
    found = np.stack([*expected_ratings(*scale, mean, *each, *rated)])
    return found[:, 0], found[:, 1].mean(0)


def _flat(values: Float[np.ndarray, "chain draw quantity"]) -> Float[np.ndarray, "draw quantity"]:
    return np.asarray(values, float).reshape(-1, values.shape[-1])


def _interval(name: str, prefix: str, draws: Float[np.ndarray, "draw quantity"], ci_prob: float) -> dict[str, Any]:
    low, middle, high = np.quantile(draws, [(1 - ci_prob) / 2, 0.5, (1 + ci_prob) / 2], axis=0)
    return {name: middle, f"{prefix}lower": low, f"{prefix}upper": high}
