"""Forecasts by the number of labels: widths of intervals, and the probability of a decision."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import betaincinv, ndtr, ndtri

from plausibly.base.bootstrap import interval
from plausibly.decisions.planning._values import Bank, Values
from plausibly.decisions.planning._worth import Order

REPLICATES = 1000  #: simulated budgets
FORECAST_PROB = 0.9  #: probability of the intervals of a forecast


@dataclass(frozen=True, eq=False)
class Now:
    """What is known of the metric, and of the differences, before any label is added."""

    variance: Float[np.ndarray, " row"]  #: over draws
    shared: Float[np.ndarray, " row"]  #: part of it that cases share, through sampled parameters
    mean: Float[np.ndarray, " row"]
    per_sd: Float[np.ndarray, " row"]  #: width of the interval in standard deviations
    #: number of annotations that shared parameters are learned from; infinite if more labels say nothing of them
    learned_from: float

    def removed(self, n_labels: int) -> Float[np.ndarray, " row"]:
        """Shared variance that so many labels remove, where it falls as 1 / (number of annotations); see `plan`."""
        return self.shared * n_labels / (self.learned_from + n_labels)


def what_is_known(
    values: Values,
    rows: Float[np.ndarray, "row draw"],
    n_cases: int,
    ci_prob: float,
    *,
    shared: bool,
    learned_from: float,
) -> Now:
    """Collect the variances of all rows; ``shared`` says whether draws of different cases belong together."""
    of_cases = values.variance.sum(axis=1, dtype=float) / n_cases**2
    spread = rows.var(axis=1, ddof=1)
    common = np.maximum(spread - of_cases, 0) if shared else np.zeros(len(of_cases))
    lower, upper = interval(rows.T, ci_prob)
    usual = 2 * ndtri((1 + ci_prob) / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_sd = np.where(spread > 0, (upper - lower) / np.sqrt(spread), usual)
    # Of few cases the metric takes few values, and quantiles jump from one to the next.
    per_sd = np.clip(per_sd, 0.5 * usual, 1.5 * usual)
    variance = of_cases + common
    with np.errstate(invalid="ignore", divide="ignore"):  # so that the width is that of the draws
        per_sd = np.where(variance * spread > 0, per_sd * np.sqrt(spread / variance), per_sd)
    return Now(variance, common, rows.mean(axis=1), per_sd, learned_from)


def forecast(
    values: Values,
    bank: Bank,
    order: Order,
    now: Now,
    labels: list[tuple[str, str]],
    points: Int[np.ndarray, " point"],
    at_random: Float[np.ndarray, "point row"],
    *,
    level: float,
    seed: int,
) -> pd.DataFrame:
    """Simulate the labels of a plan; a row for each number of labels, classifier, and pair of classifiers.

    Cases of the order are rows of the bank, and ``labels`` are the classifier and the opponent of each row of values.
    ``at_random`` is the variance of single cases that so many labels of cases taken at random are expected to remove,
    and ``level`` the probability at which a pair counts as decided.
    """
    n_cases = values.mean.shape[1]
    random = np.random.default_rng([seed, 0x706C616E])
    replicate = random.integers(bank.mean.shape[2], size=(REPLICATES, len(bank.cases)), dtype=np.uint8)
    mean = np.broadcast_to(now.mean, (REPLICATES, len(now.mean))).copy()
    variance = np.broadcast_to(now.variance, mean.shape).copy()
    common = random.standard_normal(mean.shape)  # by which what is learned of shared parameters moves the means
    before = np.zeros(len(bank.cases), int)
    tables = []
    for upto, removed in zip(points.tolist(), at_random, strict=True):
        after = order.labels(upto, len(bank.cases))
        changed = np.flatnonzero(after != before)
        for part in np.array_split(changed, max(1, math.ceil(len(changed) * REPLICATES / 2**21))):
            for number, sign in ((before[part], -1), (after[part], 1)):
                m, v = _known_after(values, bank, part, number, replicate[:, part])
                mean += sign * m / n_cases
                variance += sign * v / n_cases**2
        before, shared = after, now.removed(upto)
        left = np.sqrt(np.maximum(variance - shared, 0))
        width = now.per_sd * left
        lower, upper = interval(width, FORECAST_PROB)
        columns = {
            "labels": upto,
            "cost": order.cost[upto - 1] if upto else 0.0,
            "classifier": [name for name, _ in labels],
            "versus": [versus for _, versus in labels],
            "width": width.mean(axis=0),
            "width_lower": lower,
            "width_upper": upper,
            "width_at_random": now.per_sd * np.sqrt(np.maximum(now.variance - removed - shared, 0)),
        }
        decided = _decided(mean + np.sqrt(shared) * common, left, level, simulated=upto > 0)
        pair = np.array([bool(versus) for _, versus in labels])
        tables.append(pd.DataFrame(columns | {name: np.where(pair, share, np.nan) for name, share in decided.items()}))
    return pd.concat(tables, ignore_index=True)


def _known_after(
    values: Values,
    bank: Bank,
    rows: Int[np.ndarray, " case"],
    labels: Int[np.ndarray, " case"],
    replicate: Int[np.ndarray, "replicate case"],
) -> tuple[Float[np.ndarray, "replicate row"], Float[np.ndarray, "replicate row"]]:
    """Sums over some cases of their mean and variance after so many labels."""
    some = labels > 0
    mean = values.mean[:, bank.cases[rows[~some]]].sum(axis=1, dtype=float)[None]
    variance = values.variance[:, bank.cases[rows[~some]]].sum(axis=1, dtype=float)[None]
    if some.any():
        at = rows[some], labels[some] - 1
        mean = mean + bank.mean[at[0], at[1], replicate[:, some]].sum(axis=1, dtype=float)
        variance = variance + bank.variance[at[0], at[1], replicate[:, some]].sum(axis=1, dtype=float)
    return mean, variance


def _decided(
    mean: Float[np.ndarray, "replicate row"], sd: Float[np.ndarray, "replicate row"], level: float, *, simulated: bool
) -> dict[str, Float[np.ndarray, " row"]]:
    """Share of the simulations in which the sign is known, with its Monte Carlo interval under Jeffreys' prior."""
    with np.errstate(invalid="ignore", divide="ignore"):
        better = np.where(sd > 0, ndtr(mean / sd), 0.5 + 0.5 * np.sign(mean))
    share = (np.maximum(better, 1 - better) >= level).mean(axis=0)
    counts = share * REPLICATES + 0.5, (1 - share) * REPLICATES + 0.5
    lower, upper = betaincinv(*counts, [[(1 - FORECAST_PROB) / 2], [(1 + FORECAST_PROB) / 2]])
    lower, upper = (np.minimum(lower, share), np.maximum(upper, share)) if simulated else (share, share)
    return {"decided": share, "decided_lower": lower, "decided_upper": upper}
