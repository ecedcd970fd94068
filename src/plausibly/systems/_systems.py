"""From outcomes to a result."""

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import norm, rankdata

from plausibly.base.bootstrap import CI_PROB, check_probability, check_replicates
from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.base.names import some
from plausibly.data.audit.outcomes import of_cases, of_names
from plausibly.data.outcomes import Cells, Outcomes, cells_of, read_outcomes
from plausibly.systems._design import Design, design_of, shifted
from plausibly.systems._estimates import (
    LEAST_SHARED,
    Estimate,
    Proportions,
    bias,
    error_rates,
    mean,
    p_of_choice,
    p_of_contrast,
    p_of_equal,
    prediction_powered,
    products_within,
    rogan_gladen_by_system,
)
from plausibly.systems._findings import (
    Spread,
    by_person,
    drift,
    of_pairs,
    on_other_scales,
    people_on_scales,
    spread_of_people,
    unlike,
)
from plausibly.systems._plan import plan
from plausibly.systems._result import (
    FEW,
    FEW_CLUSTERS,
    FEW_OF_A_KIND,
    MEANT,
    Systems,
    few_in_words,
    in_ranks,
    table_of_differences,
)


def systems(
    outcomes: Any,
    people: Sequence[str] | str | PathLike | None = None,
    *,
    clusters: str | Mapping[str, Any] | Sequence[Any] | None = None,
    positive: str | None = None,
    control: str | None = None,
    system: str | None = None,
    case: str | None = None,
    raters: Sequence[str] | str | None = None,
    missing: Collection[str] | str = (),
    ci_prob: float = CI_PROB,
    replicates: int = 10_000,
    seed: int = 0,
    model: bool = False,
    draws: int = 500,
    chains: int = 4,
    warmup: int = 500,
    progress: bool = True,
) -> Systems:
    """Rank systems by the mean outcome that people would give, from few outcomes by people and many by judges.

    Judges, such as language models, saw many cases (prompts); people saw some of them, which must be a random sample.
    All estimates are closed forms that need no model of raters. Systems are strata: each has a correction of its own.
    Intervals allow for the choice of cases, that is for new cases like these; for these cases alone they are
    conservative. They do not allow for people other than these.

    ``model=True`` also samples the posterior of all outcomes by all raters (:func:`plausibly.models.judged_outcomes`),
    which takes a minute or more, and ranks by it if its chains converged: it uses all judges at once, and what is known
    of one system, person or judge for the others, so that its intervals are narrower. In exchange it assumes that the
    model is right, which ``checks`` tests, and that cases are independent.

    Parameters
    ----------
    outcomes
        Table (a data frame, or a ``.csv``, ``.tsv``, ``.parquet`` or ``.jsonl`` file) with the columns ``system``,
        ``case``, ``rater`` and ``outcome``: pass or fail (yes/no, true/false, 1/0), ratings (numbers), or classes, of
        which ``positive`` counts. Or pairs: ``system_a``, ``system_b``, ``rater``, ``outcome`` (``a``, ``b``, ``tie``,
        or the name of the one that won), where a tie counts half, with or without ``case``; ``length_a`` and
        ``length_b`` are looked at, too. Or rankings of the systems that a rater was shown, in a column ``ranking``
        (``A>B=C``) or with a row for each ``system`` and its ``rank``: every two of them are a pair, and those that
        were not shown are not worse. Common other names of columns are recognised. Or the export of a tool that tests
        language models. Or several of these, in a list, or in a mapping from the system that each is of.
    people
        Names of the raters who are people, or a file with a name per line; all others are judges. By default the
        column ``kind`` says so (person or judge), and of an export what the tool says.
    clusters
        Clusters of cases, such as topics: a column, or a mapping from case. By default each case is its own; of an
        export, the cases of a trace, and the outputs for one sample or test, are one cluster. What is said of one case,
        be it of several systems, is always in one cluster.
    positive
        Class that counts as a success.
    control
        Question of an export, if it has several.
    system, case
        Column or field with the name of the system or the case, if it has none of the usual names.
    raters
        Columns with the outcomes of a rater each, in which blank cells are no outcome, instead of the columns ``rater``
        and ``outcome``.
    missing
        Outcomes that stand for none, such as ``N/A``: rows with one of them, or a blank outcome, are left out, with a
        warning.
    ci_prob
        Probability of all intervals.
    replicates, seed
        Number of draws of the ranking, from the normal distribution of the estimates, and random seed.
    model
        Whether to also sample the model of all outcomes, and rank by it, which takes a minute or more.
    draws, chains, warmup
        Draws of each chain of the model, number of chains, and draws before them that are not kept.
    progress
        Whether to show progress of the sampling.

    Returns
    -------
    Systems
        Result with ``table`` (one row per system and estimator), ``ranking``, ``differences``, ``bias``, ``judges``,
        ``plan`` (what more human outcomes would bring), ``drift`` (bias by period, if there is a column ``date``) and
        ``summary``. The estimators are people alone (mean over cases of the mean of the people's outcomes); the
        judge alone; prediction-powered inference, PPI, the judge's mean corrected by the mean difference on cases that
        both saw, and PPI++, where the judge has the weight that makes the error least; of pass/fail and classes also
        Rogan–Gladen, from the judge's error rates. With several judges, each has rows, and so has their mean; the one
        with the narrowest intervals ranks the systems. A judge that shares fewer than 15 clusters of cases of a system
        with people has no weight there, so that PPI++ is what people say alone.

    Warns
    -----
    PlausiblyWarning
        If systems met different opponents, or were rated by different people or on different cases. The ranking is then
        by strengths, or by means in which people or cases are taken out, as far as systems have them in common; if
        they do not, P(best) and ``p_better`` are NaN.

    Raises
    ------
    AnnotationError
        If columns or cells are missing, a rater rates one output twice, a rater in ``people`` is unknown, or a system
        has no outcome by a person.
    ArgumentError
        If an argument is out of range.
    FileError
        If a file cannot be read.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382; Angelopoulos,
    Duchi & Zrnic (2023), PPI++, arXiv 2311.01453; Rogan & Gladen (1978), Estimating prevalence from the results of a
    screening test, American Journal of Epidemiology 107; Lang & Reiczigel (2014), Confidence limits for prevalence of
    disease adjusted for estimated sensitivity and specificity, Preventive Veterinary Medicine 113; Davidson (1970), On
    extending the Bradley–Terry model to accommodate ties in paired comparison experiments, Journal of the American
    Statistical Association 65; for the model, :func:`plausibly.models.judged_outcomes`.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> rows = []
    >>> for system, rate in (("A", 0.8), ("B", 0.6)):
    ...     for case in range(500):
    ...         good = random.random() < rate
    ...         rows.append((system, case, "judge", good if random.random() < 0.85 else not good))
    ...         rows += [(system, case, "ann", good)] if case < 80 else []
    >>> found = systems(pd.DataFrame(rows, columns=["system", "case", "rater", "outcome"]), people=["ann"])
    >>> found.ranking[["system", "mean", "p_best"]].round(2).values.tolist()
    [['A', 0.75, 0.98], ['B', 0.63, 0.02]]
    """
    check_probability("ci_prob", ci_prob)
    check_replicates(replicates, 2)
    check_whole("seed", seed, 0)
    read = read_outcomes(
        outcomes,
        people,
        clusters=clusters,
        positive=positive,
        control=control,
        system=system,
        case=case,
        raters=raters,
        missing=missing,
    )
    design = design_of(read)
    for sentence in design.cautions:
        warnings.warn(sentence, PlausiblyWarning, stacklevel=2)
    read = design.outcomes
    cells = cells_of(read)
    judges = {name: values for name, values in zip(read.judges, cells.judges, strict=True)}
    scales = on_other_scales(read)
    if scales and model:
        raise ArgumentError(
            f"{some([*scales])} rate{'s' * (len(scales) == 1)} on another scale than people: leave the model out "
            "(--model), or put all on one scale."
        )
    same = [values for name, values in judges.items() if name not in scales]
    if len(same) > 1:
        judges[f"mean of {len(same)} judges"] = np.mean(same, axis=0)
    alone = mean(cells)
    rated = {name: _Rated.of(cells, values, alone, read, ci_prob) for name, values in judges.items()}
    rated = {name: replace(one, bias=shifted(one.bias, design.shift, -1)) for name, one in rated.items()}
    rated |= {name: replace(rated[name], bias=unlike(rated[name].bias)) for name in scales}
    persons = by_person(read)
    spread = spread_of_people(persons)
    name, main = _main(rated, alone, share=read.is_share)
    name, main = "" if design.estimate else name, design.applied(main)
    order = np.argsort(-main.value, kind="stable")
    dated = {name: values * np.nan if name in scales else values for name, values in judges.items()}
    by_period, p_drift, drifted = drift(read, cells, dated, ci_prob)
    planned, advice, needed = plan(read, cells, judges.get(name), main, order, ci_prob, comparable=design.comparable)
    bias = [_bias(read, name, one.bias, ci_prob) for name, one in rated.items()]
    ranking, p_best = _ranking(read, main, order, ci_prob, replicates, seed, comparable=design.comparable)
    table = _table(read, cells, alone, judges, rated, design, name, main, ci_prob)
    found = Systems(
        outcomes=read,
        table=table[~((table["estimator"] == "ppi") & table["judge"].isin(scales))]  # a mean on no scale
        .sort_values(
            "system",
            key=lambda column: column.map({one: at for at, one in enumerate(read.systems[order])}),
            kind="stable",
        )
        .reset_index(drop=True),
        ranking=ranking,
        differences=_differences(read, main, order, ci_prob, comparable=design.comparable),
        bias=pd.concat(bias, ignore_index=True) if bias else pd.DataFrame(columns=list(_BIAS)),
        judges=pd.DataFrame(
            [_judge(read, name, one, cells, judges[name], p_drift, spread) for name, one in rated.items()],
            columns=_JUDGE,
        ),
        drift=by_period,
        plan=planned,
        advice=tuple(advice),
        notes=(
            *design.cautions,
            *design.if_random(p_best),
            *_notes(read, cells, alone, rated),
            *drifted,
        ),
        main=design.leads or ("ppi++" if name else "people"),
        judge=name,
        ci_prob=ci_prob,
        replicates=replicates,
        seed=seed,
        cautions=design.cautions,
        comparable=design.comparable,
        people=persons,
        needed=needed,
        other_scales=scales,
    )
    if not model:
        return found
    from plausibly.systems._modelled import with_model  # which compiles, as nothing else here does

    own = np.array([_own(read, one) for one in read.judges], float).reshape(-1, len(read.systems))
    return with_model(found, own, draws=draws, chains=chains, warmup=warmup, progress=progress)


_NOT_RANDOM = 0.001  # p-value below which the cases that people saw are no random sample
_BIAS = ("judge", "system", "n_shared", "bias", "lower", "upper", "own")
_RATES = [f"{rate}{end}" for rate in ("sensitivity", "specificity") for end in ("", "_lower", "_upper")]
_JUDGE = ["judge", "n_cases", "n_shared", "agreement", *_RATES, "correlation", "bias", "p_bias_differs"]
_JUDGE += ["p_unlike_people", "p_level_unlike_people", "p_own", "p_drift", "worth"]


@dataclass(frozen=True, eq=False)
class _Rated:
    """Estimates of all systems with one judge."""

    judge: Estimate
    ppi: Estimate
    tuned: Estimate
    bias: Estimate
    proportions: Proportions | None
    #: Sensitivity with the ends of its interval, and specificity, over all systems; NaN unless outcomes are 0 or 1
    rates: tuple[float, ...]
    #: Ratio of the variance of people alone to that with the judge
    gain: Float[np.ndarray, " system"]
    #: P-value of the same mean of the judge in the cases that people saw and in the others
    p_of_choice: Float[np.ndarray, " system"]

    @classmethod
    def of(cls, cells: Cells, values, alone: Estimate, read: Outcomes, ci_prob: float) -> "_Rated":
        tuned = prediction_powered(cells, values)
        binary = read.kind in ("pass", "classes") and np.isin(values[~np.isnan(values)], (0, 1)).all()
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(tuned.se > 0, (alone.se / tuned.se) ** 2, np.nan)
        rates = (float("nan"),) * 6
        if binary:
            of_all = error_rates(replace(cells, system=0 * cells.system), values)
            rates = tuple(float(end[0]) for share in of_all for end in (share.value, *share.interval(ci_prob)))
        return cls(
            mean(cells, values),
            prediction_powered(cells, values, tuned=False),
            tuned,
            bias(cells, values),
            rogan_gladen_by_system(cells, values, ci_prob) if binary else None,
            rates,
            gain,
            p_of_choice(cells, values),
        )


def _main(rated: Mapping[str, _Rated], alone: Estimate, *, share: bool) -> tuple[str, Estimate]:
    """Judge that ranks, or mean of all, by the narrowest intervals; people alone if none has any weight."""
    widths = {
        name: float(np.nanmean(np.subtract(*one.tuned.interval(0.95, share=share)[::-1])))
        for name, one in reversed(rated.items())  # the mean of all first
        if (one.bias.n_clusters >= LEAST_SHARED).any() and np.isfinite(one.tuned.se).all()
    }
    if not widths:
        return "", alone
    name = min(widths, key=lambda one: widths[one])
    return name, rated[name].tuned


def _table(
    read: Outcomes,
    cells: Cells,
    alone: Estimate,
    judges,
    rated: Mapping[str, _Rated],
    design: Design,
    leads: str,
    main: Estimate,
    ci_prob: float,
) -> pd.DataFrame:
    frames = [_rows(read, cells, "people", "", None, alone, *_ends(read, alone, ci_prob))]
    for name, one in rated.items():
        for estimator, found in (("judge", one.judge), ("ppi", one.ppi), ("ppi++", one.tuned)):
            ends = found.interval(ci_prob, share=_is_share(read, estimator, judges[name]))
            frames.append(_rows(read, cells, estimator, name, judges[name], found, *ends))
        if one.proportions is not None:
            ends = one.proportions.lower, one.proportions.upper
            frames.append(_rows(read, cells, "rogan-gladen", name, judges[name], one.proportions, *ends))
    if design.met:
        frames = [one.assign(meant=one["meant"] + "; against " + np.array(design.met, object)) for one in frames]
    if design.leads:
        ends = _ends(read, main, ci_prob)
        frames.append(_rows(read, cells, design.leads, leads, judges.get(leads), main, *ends))
    return pd.concat(frames, ignore_index=True)


def _ends(read: Outcomes, found: Estimate, ci_prob: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of intervals, within the range of shares."""
    return found.interval(ci_prob, share=read.is_share)


def _is_share(read: Outcomes, estimator: str, values) -> bool:
    """Whether the mean is a share; that of a judge alone is one if the judge's outcomes lie between 0 and 1."""
    return read.is_share and (estimator != "judge" or bool((np.nan_to_num(np.abs(2 * values - 1)) <= 1).all()))


def _means(found, *, share: bool) -> np.ndarray:
    return found.shares if share and isinstance(found, Estimate) else found.value


def _rows(read, cells: Cells, estimator: str, judge: str, values, found, lower, upper) -> pd.DataFrame:
    people = ~np.isnan(cells.people)
    both = people if estimator in ("people", "ppi++", "strengths", "adjusted") else people & ~np.isnan(values)
    return pd.DataFrame(
        {
            "system": read.systems,
            "estimator": estimator,
            "judge": judge,
            "n_people": 0 if estimator == "judge" else cells.by_system(both).astype(int),
            "n_judge": 0 if values is None else cells.by_system(~np.isnan(values)).astype(int),
            "mean": _means(found, share=_is_share(read, estimator, values)),
            "lower": lower,
            "upper": upper,
            "se": found.se,
            "weight": np.nan if getattr(found, "weight", None) is None else found.weight,
            "meant": MEANT[estimator],
        }
    )


def _ranking(
    read: Outcomes, main: Estimate, order, ci_prob: float, replicates: int, seed: int, *, comparable: bool
) -> tuple[pd.DataFrame, Float[np.ndarray, " system"]]:
    """Return the ranking, and P(best) of each system, which it has if they are comparable."""
    lower, upper = _ends(read, main, ci_prob)
    columns = {"mean": _means(main, share=read.is_share), "lower": lower, "upper": upper}
    middle, covariance = main.normal(share=read.is_share)
    n = len(read.systems)
    if np.isfinite(covariance).all():
        draws = np.random.default_rng(seed).multivariate_normal(middle, covariance, replicates, method="eigh")
        of_draws = [rankdata(-draws, method, axis=1) for method in ("min", "max")]  # which differ for ties
        ends = [
            np.quantile(rank, (1 + sign * ci_prob) / 2, axis=0, method="inverted_cdf")
            for rank, sign in zip(of_draws, (-1, 1), strict=True)
        ]
        best = of_draws[0] == 1
        share = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
        ranks = {"p_best": share, "rank_lower": ends[0], "rank_upper": ends[1]}
    else:
        ranks = {"p_best": np.array([1.0 if n == 1 else np.nan] * n), "rank_lower": 1, "rank_upper": n}
    told = ranks if comparable else {"p_best": np.nan, "rank_lower": 1, "rank_upper": n}
    return in_ranks(read, order, columns | told), ranks["p_best"][order]


def _differences(read: Outcomes, main: Estimate, order, ci_prob: float, *, comparable: bool) -> pd.DataFrame:
    first, second = (order[index] for index in np.triu_indices(len(order), 1))
    difference, lower, upper = main.difference(first, second, ci_prob, share=read.is_share)
    middle, covariance = main.normal(share=read.is_share)
    own = np.diag(covariance)
    se = np.sqrt(np.maximum(own[first] + own[second] - 2 * covariance[first, second], 0))
    apart = middle[first] - middle[second]
    with np.errstate(divide="ignore", invalid="ignore"):
        better = np.where((se == 0) & (apart == 0), 0.5, norm.cdf(apart / se))
    better = better if comparable else np.nan
    return table_of_differences(read, first, second, difference, lower, upper, better)


def _bias(read: Outcomes, name: str, found: Estimate, ci_prob: float) -> pd.DataFrame:
    lower, upper = found.interval(ci_prob)
    columns = (name, read.systems, found.n_clusters, found.value, lower, upper, _own(read, name))
    return pd.DataFrame(dict(zip(_BIAS, columns, strict=True)))


def _own(read: Outcomes, judge: str) -> list[bool]:
    """Whether the name of a judge is in that of each system."""
    short = _plain(judge)
    return [bool(short) and short in _plain(system) for system in read.systems]


def _plain(name: str) -> str:
    """A name without capitals and punctuation."""
    return re.sub(r"[\W_]+", "", name.lower())


def _judge(
    read: Outcomes, name: str, one: _Rated, cells: Cells, values, p_drift: Mapping[str, float], spread: Spread
) -> tuple:
    shared = ~np.isnan(cells.people) & ~np.isnan(values)
    product, of_people, of_judge = (float(one.sum()) for one in products_within(cells, values))
    known = min(of_people, of_judge) > 0
    correlation = product / np.sqrt(of_people * of_judge) if known else np.nan
    comparable = read.kind != "ratings" and shared.any()
    agreement = 1 - float(np.abs(values - cells.people)[shared].mean()) if comparable else np.nan
    sides = 2 if read.kind == "pairs" else 1  # of a comparison, which is a cell of both systems
    return (
        name,
        int((~np.isnan(values)).sum()) // sides,
        int(shared.sum()) // sides,
        agreement,
        *one.rates,
        correlation,
        float(np.mean(one.bias.value)),
        p_of_equal(one.bias),
        spread.of_systems(one.bias),
        spread.of_level(one.bias),
        p_of_contrast(one.bias, np.array(_own(read, name)))[1],
        p_drift.get(name, np.nan),
        float(one.gain @ cells.by_system(~np.isnan(cells.people))) / sides,
    )


def _notes(read: Outcomes, cells: Cells, alone: Estimate, rated: Mapping[str, _Rated]) -> Iterator[str]:
    n = cells.by_system(~np.isnan(cells.people))
    few = (n < FEW) | (alone.n_clusters < FEW_CLUSTERS)
    if binary := read.kind in ("pass", "classes"):
        few |= n * np.minimum(alone.value, 1 - alone.value) < FEW_OF_A_KIND
    if few.any():
        yield few_in_words(read.systems[few].tolist(), binary=binary)
    if not rated:
        yield "There is no judge, so all estimates are those of people alone."
    yield from people_on_scales(read)
    yield from of_names(read)
    for name in read.judges:
        one = rated[name]
        without = read.systems[one.bias.n_clusters < LEAST_SHARED]
        if len(without):
            yield (
                f"{name} has no weight in {some(without)}: it rated fewer than {LEAST_SHARED} of the cases (or "
                "clusters of cases) that people rated."
            )
        yield from of_cases(read, name)
        different = one.p_of_choice < _NOT_RANDOM / len(read.systems)
        if different.any():
            yield (
                f"{name} rates the cases of {some(read.systems[different])} that people rated differently from the "
                "others, so people did not see a random sample, and no correction holds there."
            )
    yield from of_pairs(read)
