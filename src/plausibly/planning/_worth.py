"""What labels of each case are worth towards a goal, and the table of cases."""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.planning._annotators import Asked
from plausibly.planning._dirichlet import Dirichlets, is_linear
from plausibly.planning._values import Bank, Source, Values


def goal_rows(source: Source, goal: str) -> slice:
    """Rows that a goal is about: differences for "better", and otherwise classifiers."""
    n = len(source.names)
    return slice(n, None) if goal == "better" else slice(0, n)


def score(values: Values, goal: str, source: Source) -> Float[np.ndarray, "annotator case"]:
    """Variance that one more label removes or, for information, nats that it brings; see :func:`plan`."""
    if goal == "information":
        return values.information.astype(float)
    rows = goal_rows(source, goal)
    return np.maximum(values.removed[:, rows].mean(axis=1, dtype=float), 0) / source.n_cases**2


def best_annotator(
    scores: Float[np.ndarray, "setting case"], asked: Asked
) -> tuple[Int[np.ndarray, " case"], Float[np.ndarray, " case"]]:
    """For each case, the annotator who brings most for her cost (−1 if all have annotated it), and her cost."""
    rate = np.where(asked.free, scores[asked.setting] / asked.cost, -1.0)
    best = rate.argmax(axis=0)
    cost = np.take_along_axis(np.broadcast_to(asked.cost, rate.shape), best[None], axis=0)[0]
    return np.where(asked.free.any(axis=0), best, -1), cost


def rows_by_draw(source: Source, values: Values) -> Float[np.ndarray, "row draw"]:
    """The metric of every classifier by draw, then the differences."""
    differences = [source.question.sign * (values.by_draw[a] - values.by_draw[b]) for a, b in source.question.pairs]
    return np.concatenate([values.by_draw, np.reshape(differences, (-1, values.by_draw.shape[1]))])


def removed_at_random(
    values: Values,
    best: Int[np.ndarray, " case"],
    asked: Asked,
    offered: Int[np.ndarray, " offered"],
    points: Int[np.ndarray, " point"],
) -> Float[np.ndarray, "point row"]:
    """Variance that so many labels of cases taken at random, as evenly as possible, are expected to remove by row.

    What n labels of a case remove is taken to be V n / (n + V / D − 1), with V the variance and D what one label
    removes: exact for Dirichlet plausibilities and metrics that are linear in them.
    """
    setting = asked.setting[np.maximum(best[offered], 0)]
    variance = values.variance[:, offered].astype(float)
    removed = np.clip(values.removed[setting, :, offered].T.astype(float), 0, variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        more = np.where(removed > 0, variance / removed - 1, 1.0)

    def upto(n: int) -> Float[np.ndarray, " row"]:
        return np.where(removed > 0, variance * n / np.maximum(n + more, 1e-30), 0).sum(axis=1)

    found = []
    for number in points / max(len(offered), 1):
        whole = int(number)
        found.append((whole + 1 - number) * upto(whole) + (number - whole) * upto(whole + 1))
    return np.array(found) / values.mean.shape[1] ** 2


def totals(
    source: Source,
    values: Values,
    goal: str,
    own: Float[np.ndarray, " case"],
    bank: Bank,
    exact: Dirichlets | None = None,
) -> Float[np.ndarray, "chosen annotation"]:
    """What one, two, … annotations of each case bring: exact or simulated, and for labels tied to what one brings."""
    rows = goal_rows(source, goal)
    known = source.question.length == 1
    labels = range(1, bank.mean.shape[1] + 1)
    ((_, count), *others) = source.question.annotators
    if goal == "information":
        total = bank.information.astype(float)
    elif known and exact is not None and is_linear(source) and not others:
        left = [exact.coverage_left(source, count, n)[rows][:, bank.cases].mean(axis=0) for n in labels]
        before = exact.coverage_left(source, count, 0)[rows][:, bank.cases].mean(axis=0)
        return np.maximum(before - left, 0).T / source.n_cases**2
    else:
        left = bank.variance[..., rows].mean(axis=(2, 3), dtype=float)
        total = (values.variance[rows][:, bank.cases].mean(axis=0)[:, None] - left) / source.n_cases**2
    total = np.maximum.accumulate(np.maximum(total, 0), axis=1)
    if known:
        first, simulated = own[bank.cases], total[:, :1]
        factor = np.where(simulated > 0, first[:, None] / np.maximum(simulated, 1e-30), 1.0)
        total = np.where(simulated > 0, total * np.clip(factor, 0.5, 2), 0)
        total[:, 0] = first
        total = np.maximum.accumulate(total, axis=1)
    return total


def narrowing(removed: Float[np.ndarray, " case"], variance: float) -> Float[np.ndarray, " case"]:
    """Percentage by which an interval narrows where so much is removed from its variance.

    Examples
    --------
    >>> narrowing(np.array([0.0, 0.19, 1.0]), 1.0).round(6).tolist()
    [0.0, 10.0, 100.0]
    """
    share = np.minimum(removed / variance, 1) if variance > 0 else np.zeros_like(removed)
    return 100 * share / (1 + np.sqrt(1 - share))


def table_of(source, values, goal, scores, common, asked, best, cost, offered, bank, order, variance) -> pd.DataFrame:
    """Cases in the order of their value; the labels to ask for; where reweighting cannot be trusted."""
    setting = asked.setting[np.maximum(best, 0)]
    at = np.arange(source.n_cases)
    own = np.where(best >= 0, scores[setting, at], 0.0)
    labels = np.zeros(source.n_cases, int)
    labels[bank.cases] = order.labels(len(order.case), len(bank.cases))
    effective = values.effective[setting, at]
    information = values.information[setting, at]
    if source.question.length > 1:
        brought = totals(source, values, goal, own, bank)
        own[bank.cases], information = brought[:, 0], information.copy()
        information[bank.cases], effective = bank.information[:, 0], effective.copy()
        effective[bank.cases] = bank.effective[:, 0]
    own = own + np.where(best >= 0, common, 0.0)
    table = pd.DataFrame(
        {
            "case": source.annotations.cases.astype(object),
            "value": own if goal == "information" else narrowing(own, variance[goal_rows(source, goal)].mean()),
            "information": information.astype(float),
            "labels": labels,
            "effective_draws": effective.astype(float),
            "cost": cost,
        }
    ).iloc[offered]
    if asked.names is not None:
        table["annotator"] = [asked.names[who] if who >= 0 else "" for who in best[offered]]
    rate = own[offered] / cost[offered]
    table = table.iloc[np.lexsort((-rate, table["labels"] == 0))].reset_index(drop=True)
    table.insert(1, "place", np.arange(1, len(table) + 1))
    return table if np.ptp(cost) > 0 or cost[0] != 1 else table.drop(columns="cost")
