"""What is odd about judges: those who change, contradict themselves, or differ more from people than these do.

A judge is compared with people by how often each does something, with errors of clusters of cases, as people who see
the same pair are alike. A judge that does the same as people is told of in 1 % of data sets at most.

Each person is compared with the others as a judge is: her mean minus theirs on the same cases, by system. The spread of
these over systems and people is that of one more rater like them, to which a judge's bias is compared by an F test, as
in a two-way analysis of variance of raters and systems (Fisher 1925).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats

from plausibly.base.names import some
from plausibly.data.outcomes import Cells, Outcomes, cell_of_rows, dates_of
from plausibly.data.scales import ends_of, on_other_scale
from plausibly.systems._estimates import Estimate, mean, p_of_contrast, trend
from plausibly.systems._result import SURE, p_in_words

COLUMNS = ["judge", "start", "end", "n_shared", "bias", "lower", "upper"]
_OF_A_PERIOD, _PERIODS = 30, 6  # cases shared with people, at least, and the largest number of periods


def drift(
    read: Outcomes, cells: Cells, judges: dict[str, Float[np.ndarray, " cell"]], ci_prob: float
) -> tuple[pd.DataFrame, dict[str, float], list[str]]:
    """Return the bias of each judge by period, the p-value of a trend by judge, and what follows, in sentences.

    Periods have about as many cases each. Differences between systems are taken out. Of pairs, whose biases cancel,
    the bias is how far judge and people are apart, from 0 to 1.
    """
    tables, p_values, words = [], {}, []
    pairs = read.kind == "pairs"
    half = np.arange(len(cells.system)) < len(cells.system) // (2 if pairs else 1)
    for (name, values), when in zip(judges.items(), dates_of(read, len(half)), strict=False):
        gap = values - cells.people
        chosen = ~np.isnan(gap) & ~np.isnan(when) & half
        n_periods = min(int(chosen.sum()) // _OF_A_PERIOD, _PERIODS)
        if n_periods < 2 or when[chosen].min() == when[chosen].max():
            continue
        gap = np.abs(gap) if pairs else gap
        part = Cells(cells.system[chosen], cells.cluster[chosen], gap[chosen])
        p_values[name] = p = trend(part, stats.rankdata(when[chosen]))
        table = _by_period(part, when[chosen], n_periods, ci_prob)
        tables.append(table.assign(judge=name)[COLUMNS])
        if p < SURE and len(table) > 1:
            first, last = (table.iloc[at] for at in (0, -1))
            what = "distance to people" if pairs else "bias"
            words.append(
                f"The {what} of {name} moves with time (p {p_in_words(p)}): {_said(first, pairs)} until "
                f"{_day(first['end'])}, {_said(last, pairs)} from {_day(last['start'])} on. Look at the periods apart."
            )
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS), p_values, words


def _by_period(part: Cells, when: Float[np.ndarray, " cell"], n_periods: int, ci_prob: float) -> pd.DataFrame:
    """Bias, with its interval, in parts of the time, differences between systems taken out."""
    level = part.within(part.people) + part.people.mean()
    edges = np.unique(np.quantile(when, np.arange(1, n_periods) / n_periods, method="inverted_cdf"))
    _, period = np.unique(np.searchsorted(edges, when), return_inverse=True)
    found = mean(Cells(period, part.cluster, level))
    ends = [[when[period == one].min(), when[period == one].max()] for one in range(len(found.value))]
    dates = [pd.to_datetime(np.array(one), unit="D").floor("s") for one in np.transpose(ends)]
    columns = *dates, np.bincount(period), found.value, *found.interval(ci_prob)
    return pd.DataFrame(dict(zip(COLUMNS[1:], columns, strict=True)))


def _said(row: pd.Series, pairs: bool) -> str:
    sign = "" if pairs else "+"
    return f"{row['bias']:{sign}.3f} ({row['lower']:{sign}.3f} to {row['upper']:{sign}.3f})"


def _day(date: pd.Timestamp) -> str:
    return f"{date:%Y-%m-%d}"


_LEAST = 20  # comparisons by a judge


def of_pairs(outcomes: Outcomes) -> Iterator[str]:
    """Say of each judge whether it never ties, prefers what is shown first, or prefers what is longer."""
    if outcomes.opponent is None:
        return
    people = outcomes.is_person[outcomes.rater]
    ties = outcomes.value == 0.5
    first = outcomes.value == 1
    for judge in np.flatnonzero(~outcomes.is_person):
        own, name = outcomes.rater == judge, outcomes.raters[judge]
        if own.sum() < _LEAST:
            continue
        if not (own & ties).any():
            yield from _never_ties(outcomes, name, own, people, ties)
        if not outcomes.ranked:  # which do not say what was shown first
            yield from _preference(outcomes, name, "the output that is shown first", own & ~ties, people & ~ties, first)
        if outcomes.longer is not None:
            decided = ~ties & (outcomes.longer != 0) & ~np.isnan(outcomes.longer)
            long = first == (outcomes.longer > 0)
            yield from _preference(outcomes, name, "the longer output", own & decided, people & decided, long)


def _never_ties(
    outcomes: Outcomes,
    name: str,
    own: Bool[np.ndarray, " row"],
    people: Bool[np.ndarray, " row"],
    ties: Bool[np.ndarray, " row"],
) -> Iterator[str]:
    """Say that a judge never ties, if chance does not explain it; the comparisons of a cluster count once."""
    share = _shares(outcomes, ties.astype(float), people)
    fewest, n = share.interval(0.95, share=True)[0][0], len(np.unique(outcomes.cluster[outcomes.case[own]]))
    if (1 - fewest) ** n < SURE:
        yield f"{name} never ties, people do in {100 * share.value[0]:.0f} % of comparisons."


def _preference(
    outcomes: Outcomes,
    name: str,
    what: str,
    judged: Bool[np.ndarray, " row"],
    said: Bool[np.ndarray, " row"],
    preferred: Bool[np.ndarray, " row"],
) -> Iterator[str]:
    """Say that a judge prefers something more often than people do, if chance does not explain it."""
    if not judged.any() or not said.any():
        return
    shares = _shares(outcomes, preferred.astype(float), judged, said)
    more, p = p_of_contrast(shares, np.array([True, False]))
    if more > 0 and p < SURE:
        by_judge, by_people = 100 * shares.value
        yield (f"{name} prefers {what} in {by_judge:.0f} % of the comparisons it decides, people in {by_people:.0f} %.")


def _shares(outcomes: Outcomes, values: Float[np.ndarray, " row"], *chosen: Bool[np.ndarray, " row"]) -> Estimate:
    """Mean of each choice of rows, as if it were a system, with the errors of clusters of cases."""
    rows = np.concatenate([np.flatnonzero(one) for one in chosen])
    of = np.repeat(np.arange(len(chosen)), [int(one.sum()) for one in chosen])
    return mean(Cells(of, outcomes.cluster[outcomes.case[rows]], values[rows]))


@dataclass(frozen=True, eq=False)
class Spread:
    """How far people are from one another, as variances of one more rater like them.

    Parameters
    ----------
    variance, mean_square
        Variance between people of what they have for single systems, and the same with errors of the choice of cases.
    level, level_square
        The same of means over systems.
    freedom
        Degrees of freedom of both mean squares; 0 where people cannot be compared.
    others
        Mean number of people whose outcomes one of them, and a judge, is compared with.
    """

    variance: float
    mean_square: float
    level: float
    level_square: float
    freedom: tuple[int, int]
    others: float

    def of_systems(self, bias: Estimate) -> float:
        """P-value that a judge's bias differs between systems no more than that of one more person."""
        n = len(bias.value)
        if n < 2 or not self.freedom[0] or not np.isfinite(bias.covariance).all():
            return float("nan")
        size = 1 + 1 / self.others
        contrast = np.eye(n)[1:] - np.eye(n)[0]
        covariance = bias.covariance + size * self.variance * np.eye(n)
        between = contrast @ bias.value
        statistic = between @ np.linalg.pinv(contrast @ covariance @ contrast.T, hermitian=True) @ between / (n - 1)
        own = float(np.mean(np.diag(bias.covariance)))
        free = _freedom(own, float(np.min(bias.df)), size * self.variance, size * self.mean_square, self.freedom[0])
        return float(stats.f.sf(statistic, n - 1, free))

    def of_level(self, bias: Estimate) -> float:
        """P-value that a judge's mean bias is no farther from 0 than that of one more person."""
        if not self.freedom[1] or not np.isfinite(bias.covariance).all():
            return float("nan")
        size = 1 + 1 / self.others
        own = float(bias.covariance.mean())
        free = _freedom(own, float(np.min(bias.df)), size * self.level, size * self.level_square, self.freedom[1])
        se = np.sqrt(own + size * self.level)
        return float(2 * stats.t.sf(abs(bias.value.mean()) / se, free)) if se > 0 else float("nan")


def _freedom(own: float, df: float, variance: float, square: float, of_square: int) -> float:
    """Satterthwaite's degrees of freedom of a judge's own variance and that of people, which a mean square tells."""
    below = own**2 / max(df, 1) + square**2 / of_square
    return max(1.0, (own + variance) ** 2 / below) if below > 0 else float(of_square)


def by_person(read: Outcomes) -> pd.DataFrame:
    """Tabulate each person's mean minus that of the other people on the same cases, by system.

    Columns ``person``, ``system``, ``n_shared``, ``difference``, its standard error ``se``, and ``others``, the mean
    number of other people.
    """
    n = len(read.systems)
    chosen = read.is_person[read.rater]
    cell, n_cells, _ = cell_of_rows(read)
    cell, rater = cell[chosen], read.rater[chosen]
    value, first, second = read.in_order
    value, first, second = value[chosen], first[chosen], None if second is None else second[chosen]
    number, total = np.bincount(cell, minlength=n_cells)[cell], np.bincount(cell, value, n_cells)[cell]
    several = number > 1
    gap = (value - (total - value) / np.maximum(number - 1, 1))[several]
    key, others = (rater * n + first)[several], (number - 1)[several]
    if second is not None:
        key, gap = np.concatenate([key, (rater * n + second)[several]]), np.concatenate([gap, -gap])
        others = np.tile(others, 2)
    count = np.bincount(key, minlength=len(read.raters) * n)
    at = np.flatnonzero(count > 1)
    mean = np.bincount(key, gap, len(count)) / np.maximum(count, 1)
    square = np.bincount(key, (gap - mean[key]) ** 2, len(count))
    return pd.DataFrame(
        {
            "person": read.raters[at // n],
            "system": read.systems[at % n],
            "n_shared": count[at],
            "difference": mean[at],
            "se": np.sqrt(square[at] / (count[at] - 1) / count[at]),
            "others": (np.bincount(key, others, len(count))[at] / count[at]),
        }
    )


def spread_of_people(people: pd.DataFrame) -> Spread:
    """Summarise how far people are from one another, from a table by :func:`by_person`."""
    sums = {name: [] for name in ("square", "noise", "weight", "level", "level_noise", "level_weight")}
    systems = people["system"].nunique()
    for _, own in people.groupby("person"):
        n, d, noise = len(own), own["difference"].to_numpy(), own["se"].to_numpy() ** 2
        less = (own["others"] / (own["others"] + 1)).mean()  # a mean of others is as uncertain as they are few
        weight = float(own["n_shared"].sum())
        if n > 1:
            sums["square"].append(weight * less * d.var(ddof=1))
            sums["noise"].append(weight * less * noise.mean())
            sums["weight"].append(weight)
        if n == systems:
            sums["level"].append(weight * less * d.mean() ** 2)
            sums["level_noise"].append(weight * less * noise.mean() / n)
            sums["level_weight"].append(weight)
    of = {name: float(np.sum(values)) for name, values in sums.items()}
    both, levels = len(sums["weight"]), len(sums["level_weight"])
    total, of_level = max(of["weight"], 1), max(of["level_weight"], 1)
    return Spread(
        max(of["square"] - of["noise"], 0) / total,
        of["square"] / total,
        max(of["level"] - of["level_noise"], 0) / of_level,
        of["level"] / of_level,
        (max(both - 1, 0) * (systems - 1), max(levels - 1, 0)),
        float(people["others"].mean()) + 1 if len(people) else 1.0,
    )


def unlike(bias: Estimate) -> Estimate:
    """Return a bias that is not known, as the judge is on another scale."""
    return replace(bias, value=bias.value * np.nan, influence=bias.influence * np.nan)


def on_other_scales(read: Outcomes) -> dict[str, str]:
    """Say of each judge that seems to rate on another scale than people from where to where both go."""
    if read.kind != "ratings":
        return {}
    people = read.value[read.is_person[read.rater]]
    own = {str(name): read.value[read.rater == at] for at, name in enumerate(read.raters) if not read.is_person[at]}
    return {
        name: f"{ends_of(values)}, people {ends_of(people)}"
        for name, values in own.items()
        if on_other_scale(values, people)
    }


def people_on_scales(read: Outcomes) -> Iterator[str]:
    """Say which people rate on another scale than most of them."""
    if read.kind != "ratings":
        return
    own = {str(name): read.value[read.rater == at] for at, name in enumerate(read.raters) if read.is_person[at]}
    usual = sorted(own.values(), key=lambda values: np.abs(values).max())[(len(own) - 1) // 2]
    odd = [name for name, values in own.items() if on_other_scale(values, usual)]
    if odd:
        yield (
            f"People rate on different scales ({some(odd, 3)}: {ends_of(own[odd[0]])}, others {ends_of(usual)}), so "
            "their mean has no unit: put all on one scale first."
        )
