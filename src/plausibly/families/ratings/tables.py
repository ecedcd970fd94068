"""What is inferred of raters who differ: severities, and mean ratings of cases and of groups of them."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior, to_groups
from plausibly.base.bootstrap import CI_PROB, check_probability, median_and_ends, ranked
from plausibly.base.errors import ArgumentError, show
from plausibly.base.names import figures
from plausibly.data.annotations import Scores
from plausibly.data.groups import OTHERS, check_clusters, codes_of_annotators, read_annotator_groups
from plausibly.families.ratings._sampler import GROUP, SHARED
from plausibly.families.ratings._shares import Scale, expected_ratings, ratings_of_groups
from plausibly.posterior import check_posterior, scores_of


def severities(
    posterior: Posterior, ci_prob: float = CI_PROB, *, against: str | None = None, groups: Any = None
) -> pd.DataFrame:
    """Tabulate how much higher or lower each rater rates than the others, in units of the ratings.

    A severity is the mean, over all cases, of the rating that is expected of the rater, minus that of the average of
    these raters, each of whom counts once. So it does not depend on which cases a rater was given. A positive one means
    higher ratings: a lenient rater where high is good, as with stars, and a strict one where high is bad, as with
    penalties.

    Parameters
    ----------
    posterior
        Posterior of ratings by raters who differ, from ``aggregate(scores, "ordinal-scores", raters="differ")`` or
        ``"normal-scores"``.
    ci_prob
        Probability of the equal-tailed intervals.
    against
        Rater to compare with, instead of the average of all.
    groups
        Groups of raters, such as ``{"models": ["gpt", "llama"]}``, or the path of a table with the columns annotator
        and group.

    Returns
    -------
    pandas.DataFrame
        One row per rater, who rates highest first: ``annotator``, the number of ``ratings``, the median ``severity``,
        ``lower``, ``upper``; ``spread``, the median standard deviation with which the rater scatters by herself (under
        ``"ordinal-scores"`` on the latent scale, on which that of all ratings is 1, under ``"normal-scores"`` in
        points), with ``spread_lower`` and ``spread_upper``; the posterior probability that the rater rates highest
        (``p_highest``) and lowest (``p_lowest``) of all; the mean of her ratings as they are (``raw_mean``) and under
        the model (``fitted_mean``). Where the two means are apart, a rater uses the scale in another way than the
        others, and her severity should not be trusted: the model knows severities and spreads, but under
        ``"ordinal-scores"`` the steps between ratings are the same for all. Take ``"normal-scores"`` then.

        If raters who may err together were named (``annotator_groups`` of :func:`plausibly.aggregate`), then come the
        group of each, ``errs_with``, and the ``correlation`` of the errors of its members, with ``correlation_lower``
        and ``correlation_upper``; 0 for raters of no group. With ``groups``, which are only compared, come the
        ``group`` of each rater, and by how much the mean severity of the group is above that of all other raters:
        ``group_severity``, ``group_lower``, ``group_upper``. The last column is ``converged``.

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
    unit = Scale.of(posterior["constant_data"]).unit or (0, 1)
    spread = unit[1] * _draws(posterior, "spread", "annotator")
    columns: dict[str, Any] = {"annotator": names.astype(object)}
    observed = posterior["observed_data"]
    who = observed["annotation_annotator"].values
    columns["ratings"] = np.bincount(who, minlength=len(names))
    columns |= median_and_ends("severity", expected - base, ci_prob) | median_and_ends(
        "spread", spread, ci_prob, "spread_"
    )
    for name, extreme in (("p_highest", expected.argmax(1)), ("p_lowest", expected.argmin(1))):
        columns[name] = np.bincount(extreme, minlength=len(names)) / len(expected)
    columns |= {"raw_mean": np.bincount(who, observed["score"].values) / columns["ratings"], "fitted_mean": fitted}
    if SHARED in group:
        of_pairs, code = _correlations(posterior)
        columns["errs_with"] = np.array([*group[GROUP].to_numpy(), OTHERS], object)[code]
        found = median_and_ends("correlation", np.pad(of_pairs, ((0, 0), (0, 1))), ci_prob, "correlation_")
        columns |= {name: of[code] for name, of in found.items()}
    if groups is not None:
        of_groups, code = codes_of_annotators(read_annotator_groups(groups, names), names)
        member = np.eye(len(of_groups))[code]
        own, rest = (of / np.maximum(of.sum(0), 1) for of in (member, 1 - member))
        found = median_and_ends("group_severity", expected @ (own - rest), ci_prob, "group_")
        columns |= {"group": of_groups.astype(object)[code]} | {name: of[code] for name, of in found.items()}
    judged = to_groups(posterior)["shared_convergence"]["converged"]
    good = [judged.sel(quantity=[f"{site} of {name}" for name in names]).values for site in ("severity", "spread")]
    table = pd.DataFrame(columns | {"converged": good[0] & good[1]})
    return table.sort_values("severity", ascending=False, kind="stable", ignore_index=True)


def mean_ratings(
    posterior: Posterior,
    by: str | Sequence[Any] | None = None,
    ci_prob: float = CI_PROB,
    *,
    best: Literal["highest", "lowest"] = "highest",
) -> pd.DataFrame:
    """Tabulate the mean rating of each case, or of groups of cases, that the average of these raters would give.

    Raters differ, and a case that severe raters saw has a lower mean than it deserves. Here every rater counts once,
    whoever rated the case.

    Parameters
    ----------
    posterior
        Posterior of ratings by raters who differ, from ``aggregate(scores, "ordinal-scores", raters="differ")`` or
        ``"normal-scores"``.
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
        the posterior ``mean`` with ``lower`` and ``upper``; the mean of its ratings as they are (``raw_mean``) and its
        rank by these (``raw_rank``); its ``rank`` by posterior means, from 1, the best, with the ends of the interval
        of its rank in the draws (``rank_lower``, ``rank_upper``); and the posterior probability that it is best
        (``p_best``). A rank that raters moved is settled if ``raw_rank`` is outside the interval.

    Notes
    -----
    Of single cases, and of groups that the posterior does not know, means are of these very cases. Of its
    ``case_groups``, they are of further cases like those of the group (a system's outputs for prompts like these), so
    that intervals allow for the choice of cases, too. Where each case has one rating, only this is identified: how much
    a case differs from others, and how much its rater scatters, cannot be told apart. Errors that raters of a group
    share in a case are averaged out.

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
    check_probability("ci_prob", ci_prob)
    names, code, draws, scores = _of_groups(posterior, by)
    sign = _sign(best)
    n_cases, of_rating = np.bincount(code), code[scores.annotation_case]
    n = np.bincount(of_rating)
    raw = np.bincount(of_rating, scores.score) / n
    interval = median_and_ends("mean", draws, ci_prob) | {"mean": draws.mean(0)}
    table = pd.DataFrame(
        {"case" if by is None else "group": names.astype(object), "cases": n_cases, "ratings": n}
        | interval
        | {"raw_mean": raw, "raw_rank": ranked(sign * raw[None], ci_prob)["rank"]}
        | ranked(sign * draws, ci_prob)
    )
    table = table.drop(columns="cases") if by is None else table
    return table.sort_values("rank", kind="stable", ignore_index=True)


def rank_probabilities(
    posterior: Posterior, by: str | Sequence[Any] | None = None, *, best: Literal["highest", "lowest"] = "highest"
) -> pd.DataFrame:
    """Tabulate the posterior probability of each rank of each case, or group of cases, by the mean rating.

    Parameters
    ----------
    posterior, by, best
        As of :func:`mean_ratings`.

    Returns
    -------
    pandas.DataFrame
        One row per group in the order of :func:`mean_ratings`, one column per rank from 1, the best; rows and columns
        sum to 1.

    Raises
    ------
    ArgumentError
        As of :func:`mean_ratings`.

    Examples
    --------
    >>> rows = [(f"case {i}", rater, 1 + i % 3 + (rater == "b")) for i in range(20) for rater in "ab"]
    >>> scores = pb.Annotations.from_scores(pd.DataFrame(rows, columns=["case", "annotator", "score"]))
    >>> settings = {"draws": 50, "chains": 2, "warmup": 50, "progress": False}
    >>> posterior = pb.aggregate(scores, "ordinal-scores", raters="differ", **settings)
    >>> rank_probabilities(posterior, by=["low", "middle", "high"] * 6 + ["low", "middle"]).round().values.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    names, _, draws, _ = _of_groups(posterior, by)
    sign, n = _sign(best), len(names)
    rank = np.argsort(np.argsort(-sign * draws, axis=1, kind="stable"), axis=1)
    counts = np.bincount((np.arange(n) * n + rank).ravel(), minlength=n * n).reshape(n, n)
    found = pd.DataFrame(counts / len(draws), pd.Index(names.astype(object), name="group"), range(1, n + 1))
    return found.iloc[np.argsort(-sign * draws.mean(0), kind="stable")].rename_axis(columns="rank")


def rank_sentences(table: pd.DataFrame) -> list[str]:
    """Say how many ranks of groups change if raters are accounted for, which changes are settled, and what may be best.

    Parameters
    ----------
    table
        Table of groups, from :func:`mean_ratings`.

    Examples
    --------
    >>> table = pd.DataFrame({"group": ["x", "y", "z"], "raw_rank": [2, 1, 3], "rank": [1, 2, 3]})
    >>> table = table.assign(rank_lower=[1, 1, 3], rank_upper=[1, 2, 3], p_best=[0.98, 0.02, 0.0])
    >>> rank_sentences(table)
    ['Of 3 ranks, 2 are not those of the means as they are; 1 of them is settled: x (2 → 1).', 'Best: x (probability \
0.98).']
    """
    moved = table["rank"] != table["raw_rank"]
    told = []
    if moved.any():
        beyond = (table["raw_rank"] < table["rank_lower"]) | (table["raw_rank"] > table["rank_upper"])
        settled = table.loc[moved & beyond]
        columns = (settled[name].tolist() for name in ("group", "raw_rank", "rank"))
        each = [f"{group} ({before} → {after})" for group, before, after in zip(*columns, strict=True)]
        verb = "is" if len(each) == 1 else "are"
        told.append(
            f"Of {len(table)} ranks, {moved.sum()} are not those of the means as they are; "
            + (f"{len(each)} of them {verb} settled: {', '.join(each)}." if each else "none of them is settled.")
        )
    first = table.sort_values("p_best", ascending=False, kind="stable").iloc[0]
    return [*told, f"Best: {first['group']} (probability {first['p_best']:.2g})."]


def rating_draws(posterior: Posterior) -> Float[np.ndarray, "draw case"]:
    """Return the draws, of all chains, of the mean rating of each case that :func:`mean_ratings` tabulates, in points.

    Raises
    ------
    ArgumentError
        If the posterior has no mean ratings.
    """
    return _of_groups(posterior, None)[2]


def severity_sentences(table: pd.DataFrame, most: int = 3) -> list[str]:
    """Describe the largest severities whose intervals exclude 0, and the raters whom the model does not fit.

    It also says how the errors of the raters of a group correlate, if groups were named.

    The model does not fit a rater if the mean of her ratings is further from that under the model than her severity is
    uncertain.

    Examples
    --------
    >>> table = pd.DataFrame({"annotator": ["e2"], "severity": [-0.5], "lower": [-0.7], "upper": [-0.3]})
    >>> severity_sentences(table.assign(raw_mean=2.4, fitted_mean=2.5))
    ['e2 rates 0.5 points lower than the average rater of the same cases [0.3, 0.7].']
    >>> severity_sentences(table.assign(raw_mean=2.0, fitted_mean=2.5))[1]
    'The ratings of e2 have a mean of 2, and of 2.5 under the model: ... severity should not be trusted.'
    >>> models = pd.DataFrame({"annotator": ["gpt", "llama"], "severity": 0.0, "lower": -0.1, "upper": 0.1})
    >>> models = models.assign(errs_with="models", correlation=0.6, correlation_lower=0.5, correlation_upper=0.7)
    >>> severity_sentences(models.assign(raw_mean=2.5, fitted_mean=2.5))
    ['The errors of the raters of the group models correlate by 0.60 [0.50, 0.70]: in a case, 2 of them count as 1.2.']
    """
    clear = table.loc[(table["lower"] > 0) | (table["upper"] < 0)]
    clear = clear.sort_values("severity", key=np.abs, ascending=False, kind="stable").head(most)
    told = []
    for name, value, *ends in clear[["annotator", "severity", "lower", "upper"]].itertuples(index=False):
        low, high = sorted(abs(end) for end in ends)
        told.append(
            f"{name} rates {figures(abs(value))} points {'higher' if value > 0 else 'lower'} than the average rater "
            f"of the same cases [{figures(low)}, {figures(high)}]."
        )
    if "errs_with" in table:
        columns = ["errs_with", "correlation", "correlation_lower", "correlation_upper"]
        for name, rows in table.loc[table["errs_with"] != OTHERS, columns].groupby("errs_with", sort=True):
            middle, low, high = rows.iloc[0, 1:]
            told.append(
                f"The errors of the raters of the group {name} correlate by {middle:.2f} [{low:.2f}, {high:.2f}]: in a "
                f"case, {len(rows)} of them count as {len(rows) / (1 + (len(rows) - 1) * middle):.1f}."
            )
    apart = table["raw_mean"] - table["fitted_mean"]
    if "errs_with" in table:  # what a group errs together moves the ratings of all of its members
        shared = apart.groupby(table["errs_with"]).transform("mean")
        apart -= shared.where(table["errs_with"] != OTHERS, 0.0)
    apart = apart.abs() > (table["upper"] - table["lower"]) / 2
    for name, raw, fitted in table.loc[apart, ["annotator", "raw_mean", "fitted_mean"]].head(most).to_numpy():
        told.append(
            f"The ratings of {name} have a mean of {figures(raw, 3)}, and of {figures(fitted, 3)} under the model: "
            "this rater uses the scale in another way than the others, and the severity should not be trusted."
        )
    return told


def _check(posterior: Posterior) -> None:
    check_posterior(posterior)
    if not {"severity", "mean_rating"} <= {*posterior["posterior"].data_vars}:
        raise ArgumentError(
            "this posterior has no severities of raters: aggregate ratings by named raters with "
            "aggregate(scores, 'ordinal-scores', raters='differ')."
        )


def _sign(best: str) -> int:
    if best not in ("highest", "lowest"):
        raise ArgumentError(f'best must be "highest" or "lowest", but {best!r} was given: choose one of the two.')
    return 1 if best == "highest" else -1


def _of_groups(
    posterior: Posterior, by: str | Sequence[Any] | None
) -> tuple[np.ndarray, Int[np.ndarray, " case"], Float[np.ndarray, "draw group"], Scores]:
    """Names of groups, the group of each case, draws of mean ratings, and the ratings."""
    _check(posterior)
    scores = scores_of(posterior)
    constants = posterior["constant_data"]
    if isinstance(by, str):
        if f"{by}_of_case" not in constants:
            known = _groups_of(posterior)
            raise ArgumentError(
                f"this posterior has no case group {by!r}: give one of its case_groups "
                f"({', '.join(known) or 'it has none'}), or the group of each case."
            )
        code = constants[f"{by}_of_case"].values
        names = np.asarray(posterior["posterior"][by].values, str)
        return names, code, _mean_ratings(posterior, code, further=True), scores
    if by is None:
        return scores.cases, np.arange(scores.n_cases), _mean_ratings(posterior, np.arange(scores.n_cases)), scores
    names, code = np.unique(check_clusters(by, scores.cases, "group"), return_inverse=True)
    return names, code, _mean_ratings(posterior, code), scores


def _groups_of(posterior: Posterior) -> list[str]:
    """Names of case groups whose effects a posterior has."""
    return [str(name).removesuffix("_effect") for name in posterior["posterior"].data_vars if "_effect" in str(name)]


def _mean_ratings(
    posterior: Posterior, code: Int[np.ndarray, " case"], *, further: bool = False
) -> Float[np.ndarray, "draw group"]:
    """Draws of the mean rating of the cases of each group, or of further cases like them."""
    constants = posterior["constant_data"]
    severity, spread = _severity_and_spread(posterior)
    if not further:
        mean = _draws(posterior, "latent_mean", "scored_case")
        return ratings_of_groups(Scale.of(constants), mean, severity, spread, code)
    mean = _draws(posterior, "location")[:, None] + np.zeros(len(code))
    for name in _groups_of(posterior):
        mean += _draws(posterior, f"{name}_effect", name)[:, constants[f"{name}_of_case"].values]
    if "coefficients" in posterior["posterior"]:
        mean += _draws(posterior, "coefficients", "coefficient") @ constants["expected_of_case"].to_numpy().T
    spread = np.hypot(spread, _draws(posterior, "case_spread")[:, None])
    return ratings_of_groups(Scale.of(constants), mean, severity, spread, code)


def _draws(posterior: Posterior, name: str, *dims: str) -> Float[np.ndarray, " draw *shape"]:
    values = np.asarray(posterior["posterior"][name].transpose("chain", "draw", *dims).values, float)
    return values.reshape(-1, *values.shape[2:])


def _severity_and_spread(
    posterior: Posterior,
) -> tuple[Float[np.ndarray, "draw rater"], Float[np.ndarray, "draw rater"]]:
    """Severity of each rater, and the standard deviation around it, with what her group errs together."""
    severity, spread = (_draws(posterior, site, "annotator") for site in ("severity", "spread"))
    if SHARED in posterior["posterior"]:
        shared, code = _shared_spreads(posterior)
        spread = np.hypot(spread, shared[:, code])
    return severity, spread


def _shared_spreads(posterior: Posterior) -> tuple[Float[np.ndarray, "draw group"], Int[np.ndarray, " rater"]]:
    """Standard deviation of what each group errs together, and of none, which is the last; group of each rater."""
    groups = json.loads(posterior.attrs["arguments"])["annotator_groups"]
    names, raters = (posterior["posterior"][dim].to_numpy().tolist() for dim in (GROUP, "annotator"))
    code = [[*names, OTHERS].index(groups[rater]) for rater in raters]
    return np.pad(_draws(posterior, SHARED, GROUP), ((0, 0), (0, 1))), np.array(code)


def _correlations(posterior: Posterior) -> tuple[Float[np.ndarray, "draw group"], Int[np.ndarray, " rater"]]:
    """Correlation of the errors of two raters of each group who scatter as its members do on average."""
    shared, code = _shared_spreads(posterior)
    member = np.eye(shared.shape[1])[code][:, :-1]
    own = _draws(posterior, "spread", "annotator") ** 2 @ (member / member.sum(0))
    common = shared[:, :-1] ** 2
    return common / (common + own), code


def _expected(posterior: Posterior) -> tuple[Float[np.ndarray, "draw rater"], Float[np.ndarray, " rater"]]:
    """Rating expected of each rater over all cases, by draw, and over those that she rated, on average."""
    _check(posterior)
    mean = _draws(posterior, "latent_mean", "scored_case")
    each = _severity_and_spread(posterior)
    observed = posterior["observed_data"]
    rated = (np.asarray(observed[f"annotation_{of}"].values, np.int64) for of in ("case", "annotator"))
    found = np.stack([*expected_ratings(Scale.of(posterior["constant_data"]), mean, *each, *rated)])
    return found[:, 0], found[:, 1].mean(0)
