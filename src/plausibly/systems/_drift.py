"""Whether a judge's bias moves with time: judge minus people by period, and a test of a trend."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from plausibly.systems._estimates import mean, trend
from plausibly.systems._result import SURE, p_in_words
from plausibly.systems.outcomes import Cells, Outcomes, dates_of

COLUMNS = ["judge", "start", "end", "n_shared", "bias", "lower", "upper"]
_OF_A_PERIOD, _PERIODS = 30, 6  # cases shared with people, at least, and the largest number of periods


def drift(
    read: Outcomes, cells: Cells, judges: dict[str, Float[np.ndarray, " cell"]], n_clusters: int, ci_prob: float
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
        part = Cells(cells.system[chosen], cells.cluster[chosen], gap[chosen], np.empty((0, int(chosen.sum()))))
        p_values[name] = p = trend(part, gap[chosen], stats.rankdata(when[chosen]), len(read.systems), n_clusters)
        table = _by_period(part, gap[chosen], when[chosen], n_periods, len(read.systems), n_clusters, ci_prob)
        tables.append(table.assign(judge=name)[COLUMNS])
        if p < SURE and len(table) > 1:
            first, last = (table.iloc[at] for at in (0, -1))
            what = "distance to people" if pairs else "bias"
            words.append(
                f"The {what} of {name} moves with time (p {p_in_words(p)}): {_said(first, pairs)} until "
                f"{_day(first['end'])}, {_said(last, pairs)} from {_day(last['start'])} on. Look at the periods apart."
            )
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS), p_values, words


def _by_period(part: Cells, gap, when, n_periods: int, n_systems: int, n_clusters: int, ci_prob: float) -> pd.DataFrame:
    number = np.bincount(part.system, minlength=n_systems)
    of_system = np.bincount(part.system, gap, n_systems) / np.maximum(number, 1)
    level = gap - of_system[part.system] + gap.mean()
    edges = np.unique(np.quantile(when, np.arange(1, n_periods) / n_periods, method="inverted_cdf"))
    _, period = np.unique(np.searchsorted(edges, when), return_inverse=True)
    n = int(period.max()) + 1
    found = mean(Cells(period, part.cluster, level, part.judges), level, n, n_clusters)
    lower, upper = found.interval(ci_prob)
    ends = [[when[period == one].min(), when[period == one].max()] for one in range(n)]
    start, end = (pd.to_datetime(np.array(one), unit="D").floor("s") for one in np.transpose(ends))
    return pd.DataFrame(
        {
            "start": start,
            "end": end,
            "n_shared": np.bincount(period),
            "bias": found.value,
            "lower": lower,
            "upper": upper,
        }
    )


def _said(row: pd.Series, pairs: bool) -> str:
    sign = "" if pairs else "+"
    return f"{row['bias']:{sign}.3f} ({row['lower']:{sign}.3f} to {row['upper']:{sign}.3f})"


def _day(date: pd.Timestamp) -> str:
    return f"{date:%Y-%m-%d}"
