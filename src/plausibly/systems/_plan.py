"""What more outcomes by people would bring: widths of intervals, and which system is told from the first.

With n cases rated by people, of which a judge with the correlation ρ to them rated s of its N, the squared standard
error of PPI++ goes with (1 − ρ² s (N − s) / (N n)) / n, by its formula with the best weight; that of people alone with
1 / n. What is estimated now is scaled by this, which keeps the effect of clusters.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cache, cached_property

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


@dataclass(frozen=True, eq=False)
class Further:
    """What further outcomes by people would make of an estimate.

    Parameters
    ----------
    main
        Estimate that ranks the systems.
    n
        Number of cases of each system that people rated.
    rest, apart
        Number of cases that only the judge rated, and that only people rated.
    squared
        Squared correlation of the judge with people.
    order
        Systems, the best first.
    ci_prob, share
        Probability of the intervals, and whether means are shares.
    """

    main: Estimate
    n: Float[np.ndarray, " system"]
    rest: Float[np.ndarray, " system"]
    squared: Float[np.ndarray, " system"]
    apart: Float[np.ndarray, " system"]
    order: Int[np.ndarray, " system"]
    ci_prob: float
    share: bool

    def later(self, more: int) -> Estimate:
        """Return the estimate, with the errors that it would have after further outcomes of each system."""

        def variance(number: Float[np.ndarray, " system"]) -> Float[np.ndarray, " system"]:
            of_all = self.n - self.apart + self.rest
            shared = number - self.apart
            unseen = np.maximum(of_all - shared, 0)  # none is left to the judge alone where people rate new cases
            return (1 - self.squared * shared * unseen / (np.maximum(of_all, 1) * number)) / number

        influence = self.main.influence * np.sqrt(variance(self.n + more) / variance(self.n))
        times = (self.n + more) / self.n
        return replace(self.main, influence=influence, n_clusters=self.main.n_clusters * times, df=self.main.df * times)

    def width(self, more: int) -> Float[np.ndarray, " system"]:
        """Widths of the intervals after further outcomes."""
        return np.subtract(*self.later(more).interval(self.ci_prob, share=self.share)[::-1])

    def told(self, more: int) -> Float[np.ndarray, " system"]:
        """Probability that the interval of the difference to the first leaves 0 out, if the difference is as estimated.

        For the first itself, of the one that is hardest to tell from it.
        """
        later, first = self.later(more), self.order[0]
        _, covariance = later.normal(share=self.share)
        own = np.diag(covariance)
        se = np.sqrt(np.maximum(own[first] + own - 2 * covariance[first], 0))
        quantile = t.ppf((1 + self.ci_prob) / 2, np.minimum(later.df, later.df[first]))
        apart = np.abs(later.value[first] - later.value)
        told = norm.cdf(np.divide(apart, se, out=np.where(apart > 0, np.inf, 0), where=se > 0) - quantile)
        told[first] = np.nan
        told[first] = np.nanmin(told) if len(told) > 1 else np.nan
        return told

    @cached_property
    def near(self) -> Int[np.ndarray, " system"]:
        """Systems whose difference to the first one may be 0."""
        first, others = self.order[0], self.order[1:]
        _, lower, upper = self.main.difference(np.full(len(others), first), others, self.ci_prob, share=self.share)
        return others[(lower <= 0) & (upper >= 0)]

    def places(self, steps: Int[np.ndarray, " step"]) -> list[int]:
        """Place of the first of some numbers by which each near system is told from the first; past the end if none."""
        told = cache(lambda more: self.told(more) >= _TOLD)
        return [bisect_left(steps, x=True, key=lambda more, one=one: bool(told(int(more))[one])) for one in self.near]


def plan(
    read: Outcomes,
    cells: Cells,
    judge: Float[np.ndarray, " cell"] | None,
    main: Estimate,
    order: Int[np.ndarray, " system"],
    ci_prob: float,
    *,
    comparable: bool = True,
) -> tuple[pd.DataFrame, list[str], str]:
    """Return a row per system and number of further outcomes, and sentences, if systems are comparable.

    The last one says what it would take to call the first system the best.
    """
    nothing = pd.DataFrame(columns=COLUMNS)
    if not comparable or not np.isfinite(main.se).all():
        return nothing, [], "Let people rate more outputs of each system."
    known = ~np.isnan(cells.people)
    n = cells.by_system(known)
    rest, squared, apart = np.full(len(n), float(_FAR)), np.zeros(len(n)), np.zeros(len(n))
    if judge is not None:
        rated = ~np.isnan(judge)
        rest, apart = cells.by_system(~known & rated), cells.by_system(known & ~rated)
        squared = np.where(main.weight, squared_correlation(cells, judge), 0)
    further, least = Further(main, n, rest, squared, apart, order, ci_prob, read.is_share), int(rest.min())
    what = "comparisons" if read.kind == "pairs" else "cases"
    first = _to_call_best(further, least, what, judged=judge is not None)
    if not least:
        return nothing, [], first
    rows = []
    for more in (*(one for one in MORE if one < least), *([least] if least <= MORE[-1] else [])):
        columns = read.systems, more, (n + more).astype(int), further.width(more), further.told(more)
        rows.append(pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))).iloc[order])
    table = pd.concat(rows, ignore_index=True)
    more = 100 if least > 100 else int(table["more"].max())
    words = [
        f"If people rated {more:,} more {what} of each system, intervals would be "
        f"{table.loc[table['more'] == more, 'width'].mean():.3f} wide on average, now {further.width(0).mean():.3f}."
    ]
    return table, [*words, *_to_tell(further, read.systems, least, what, judged=judge is not None)], first


def _to_call_best(further: Further, limit: int, what: str, *, judged: bool) -> str:
    """Say how many further outcomes would tell the first system from all others."""
    if not len(further.near):
        return ""
    steps = np.unique(np.geomspace(1, _FAR, 200).astype(int))
    last = max(further.places(steps))
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


def _to_tell(further: Further, systems: np.ndarray, limit: int, what: str, *, judged: bool) -> list[str]:
    """Say how many further outcomes would tell the first system from those whose differences to it may be 0."""
    near, words = further.near, []
    first, steps = systems[further.order[0]], np.unique(np.geomspace(1, limit, 120).astype(int))
    places = np.array(further.places(steps), int)
    reached = places < len(steps)
    if reached.any():
        words.append(
            f"To tell {first} from {listed(systems[near[reached]].tolist())}, let people rate about "
            f"{_rounded(int(steps[places[reached].max()])):,} more {what} of each of them (enough with probability "
            f"{_TOLD:g} if they differ as estimated)."
        )
    if not reached.all():
        all_of = f"all {limit:,} {what} that only the judge saw" if judged else f"{limit:,} {what} more"
        words.append(f"Even {all_of} would hardly tell {first} from {listed(systems[near[~reached]].tolist())}.")
    return words
