"""What is odd about judges: those who change, and judges of pairs who contradict themselves.

What is odd about judges of pairs: no ties, the first output, the longer output.

A judge is compared with people by how often each does something, with errors of clusters of cases, as people who see
the same pair are alike. A judge that does the same as people is told of in 1 % of data sets at most.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats

from plausibly.data.outcomes import Cells, Outcomes, dates_of
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
