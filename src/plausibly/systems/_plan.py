"""What more outcomes by people would bring: widths of intervals, and which system is told from the first.

With n cases rated by people, of which a judge with the correlation ρ to them rated s of its N, the squared standard
error of PPI++ goes with (1 − ρ² s (N − s) / (N n)) / n, by its formula with the best weight; that of people alone with
1 / n. What is estimated now is scaled by this, which keeps the effect of clusters.
"""

from bisect import bisect_left
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.stats import norm, t

from plausibly.base.names import listed
from plausibly.data.outcomes import Cells, Outcomes
from plausibly.systems._estimates import Estimate, squared_correlation

MORE = (25, 50, 100, 200, 500, 1000)  #: further outcomes of each system that a plan looks at
COLUMNS = ["system", "more", "n_people", "width", "p_told"]
_TOLD = 0.8  # probability that is wanted of telling two systems apart
_FAR = 100_000  # outcomes, the most that are thought of


def plan(
    read: Outcomes,
    cells: Cells,
    judge: Float[np.ndarray, " cell"] | None,
    main: Estimate,
    order,
    ci_prob: float,
    *,
    comparable: bool = True,
) -> tuple[pd.DataFrame, list[str], str]:
    """Return a row per system and number of further outcomes, and sentences, if systems are comparable.

    The last one says what it would take to call the first system the best.
    """
    n_systems = len(read.systems)
    known = ~np.isnan(cells.people)
    n = np.bincount(cells.system[known], minlength=n_systems)
    rest = np.full(n_systems, _FAR)
    squared, apart = np.zeros((2, n_systems))
    if judge is not None:
        rest = np.bincount(cells.system[np.isnan(cells.people) & ~np.isnan(judge)], minlength=n_systems)
        apart = np.bincount(cells.system[known & np.isnan(judge)], minlength=n_systems)
        squared = np.where(main.weight, squared_correlation(cells, cells.people, judge, n_systems), 0)
    least = int(rest.min())
    if not comparable or not np.isfinite(main.se).all():
        return pd.DataFrame(columns=COLUMNS), [], "Let people rate more outputs of each system."
    what = "comparisons" if read.kind == "pairs" else "cases"
    first = _to_call_best(read, main, n, rest, squared, apart, order, ci_prob, what, judged=judge is not None)
    if not least:
        return pd.DataFrame(columns=COLUMNS), [], first
    rows = []
    for more in (*(one for one in MORE if one < least), *([least] if least <= MORE[-1] else [])):
        later = _later(main, n, rest, squared, more, apart)
        lower, upper = later.interval(ci_prob, share=read.is_share)
        told = _told(later, order, ci_prob, share=read.is_share)
        rows.append(pd.DataFrame(dict(zip(COLUMNS, (read.systems, more, n + more, upper - lower, told), strict=True))))
    table = pd.concat([one.iloc[order] for one in rows], ignore_index=True)
    now = np.subtract(*main.interval(ci_prob, share=read.is_share)[::-1])
    more = 100 if least > 100 else int(table["more"].max())
    then = table.loc[table["more"] == more, "width"]
    words = [
        f"If people rated {more:,} more {what} of each system, intervals would be {then.mean():.3f} wide on average, "
        f"now {now.mean():.3f}."
    ]
    words += _to_tell(read, main, n, rest, squared, apart, order, ci_prob, what, judged=judge is not None)
    return table, words, first


def _later(main: Estimate, n, rest, squared, more: int, apart=0) -> Estimate:
    """Return the estimate, with the errors that it would have after further outcomes of each system.

    `apart` is the number of cases that people rated and the judge did not.
    """

    def variance(number: Int[np.ndarray, " system"]) -> Float[np.ndarray, " system"]:
        of_all = n - apart + rest
        shared = number - apart
        unseen = np.maximum(of_all - shared, 0)  # none is left to the judge alone where people rate new cases
        return (1 - squared * shared * unseen / (np.maximum(of_all, 1) * number)) / number

    ratio = variance(n + more) / variance(n)
    times = (n + more) / n
    return replace(
        main, influence=main.influence * np.sqrt(ratio), n_clusters=main.n_clusters * times, df=main.df * times
    )


def _told(later: Estimate, order, ci_prob: float, *, share: bool) -> Float[np.ndarray, " system"]:
    """Probability that the interval of the difference to the first leaves 0 out, if the difference is as estimated.

    For the first itself, of the one that is hardest to tell from it.
    """
    first = order[0]
    _, covariance = later.normal(share=share)
    own = np.diag(covariance)
    se = np.sqrt(np.maximum(own[first] + own - 2 * covariance[first], 0))
    quantile = t.ppf((1 + ci_prob) / 2, np.minimum(later.df, later.df[first]))
    apart = np.abs(later.value[first] - later.value)
    told = norm.cdf(np.divide(apart, se, out=np.where(apart > 0, np.inf, 0), where=se > 0) - quantile)
    told[first] = np.nan
    told[first] = np.nanmin(told) if len(told) > 1 else np.nan
    return told


def _near(read: Outcomes, main: Estimate, order, ci_prob: float) -> Int[np.ndarray, " system"]:
    """Systems whose difference to the first one may be 0."""
    others = order[1:]
    _, lower, upper = main.difference(np.full(len(others), order[0]), others, ci_prob, share=read.is_share)
    return others[(lower <= 0) & (upper >= 0)]


def _places(
    read: Outcomes,
    main: Estimate,
    n,
    rest,
    squared,
    apart,
    order,
    ci_prob: float,
    steps,
    near,
) -> list[int]:
    """Place of the first of some numbers of further outcomes by which each system is told; their number if none."""

    @cache
    def told(more: int) -> Float[np.ndarray, " system"]:
        return _told(_later(main, n, rest, squared, more, apart), order, ci_prob, share=read.is_share) >= _TOLD

    return [bisect_left(steps, x=True, key=lambda more, one=one: bool(told(int(more))[one])) for one in near]


def _to_call_best(
    read: Outcomes, main: Estimate, n, rest, squared, apart, order, ci_prob: float, what: str, *, judged: bool
) -> str:
    """Say how many further outcomes would tell the first system from all others."""
    near = _near(read, main, order, ci_prob)
    if not len(near):
        return ""
    limit, steps = int(rest.min()), np.unique(np.geomspace(1, _FAR, 200).astype(int))
    last = max(_places(read, main, n, rest, squared, apart, order, ci_prob, steps, near))
    if last == len(steps):
        return f"Even {_FAR:,} more {what} of each would hardly tell: take the first ones for equally good."
    more = _rounded(int(steps[last]))
    new = f" ({limit:,} that only the judge saw, and new ones)" if judged and more > limit else ""
    return (
        f"To call one best, let people rate about {more:,} more {what} of each{new}, enough with probability "
        f"{_TOLD:g} if they differ as estimated."
    )


def _rounded(number: int) -> int:
    """Round up to two digits."""
    scale = 10 ** max(int(np.log10(number)) - 1, 0)
    return -(-number // scale) * scale


def _to_tell(
    read: Outcomes, main, n, rest, squared, apart, order, ci_prob: float, what: str, *, judged: bool
) -> list[str]:
    """Say how many further outcomes would tell the first system from those whose differences to it may be 0."""
    near, limit = _near(read, main, order, ci_prob), int(rest.min())
    if not len(near):
        return []
    steps = np.unique(np.geomspace(1, limit, 120).astype(int))
    first, words = read.systems[order[0]], []
    places = _places(read, main, n, rest, squared, apart, order, ci_prob, steps, near)
    reached = [(int(steps[place]), one) for place, one in zip(places, near, strict=True) if place < len(steps)]
    if reached:
        names = listed(read.systems[[one for _, one in reached]].tolist())
        words.append(
            f"To tell {first} from {names}, let people rate about {_rounded(max(reached)[0]):,} more {what} of each of "
            f"them (enough with probability {_TOLD:g} if they differ as estimated)."
        )
    far = [one for place, one in zip(places, near, strict=True) if place == len(steps)]
    if far:
        all_of = f"all {limit:,} {what} that only the judge saw" if judged else f"{limit:,} {what} more"
        words.append(f"Even {all_of} would hardly tell {first} from {listed(read.systems[far].tolist())}.")
    return words
