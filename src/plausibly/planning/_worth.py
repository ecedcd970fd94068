"""What labels of each case are worth towards a goal, and the table of cases."""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.planning._annotators import Asked
from plausibly.planning._values import Bank, Source, Values


def score(values: Values, goal: str, source: Source) -> Float[np.ndarray, "annotator case"]:
    """What one more label brings towards the goal; see :func:`plan`."""
    if goal == "information":
        return values.information.astype(float)
    rows = slice(len(source.names), None) if goal == "better" else slice(0, len(source.names))
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
    values: Values, best: np.ndarray, asked: Asked, offered: np.ndarray, n_labels: int
) -> Float[np.ndarray, "label row"]:
    """Variance that none, one, two, … labels of cases taken at random are expected to remove from each row.

    Of n labels of a case it is V n / (n + V / D − 1), with V the variance and D what one label removes: exact for
    Dirichlet plausibilities and metrics that are linear in them.
    """
    n_cases = values.mean.shape[1]
    setting = asked.setting[np.maximum(best[offered], 0)]
    variance = values.variance[:, offered].astype(float)
    removed = np.clip(values.removed[setting, :, offered].T.astype(float), 0, variance)
    each = np.arange(n_labels + 1) / len(offered)
    found = np.zeros((n_labels + 1, len(values.mean)))
    with np.errstate(invalid="ignore", divide="ignore"):
        more = variance / removed - 1
        for at, number in enumerate(each):
            whole = int(number)

            def upto(n):
                return np.where(removed > 0, variance * n / (n + more), 0).sum(axis=1)

            found[at] = upto(whole) + (number - whole) * (upto(whole + 1) - upto(whole)) if at else 0
    return found / n_cases**2


def totals(source: Source, values: Values, goal: str, own: np.ndarray, bank: Bank) -> tuple[np.ndarray, Bank]:
    """What one, two, … annotations of each case bring: simulated, and for single labels tied to what is known."""
    if goal == "information":
        total = bank.information.astype(float)
    else:
        rows = slice(len(source.names), None) if goal == "better" else slice(0, len(source.names))
        left = bank.variance[..., rows].mean(axis=(2, 3), dtype=float)
        total = (values.variance[rows][:, bank.cases].mean(axis=0)[:, None] - left) / source.n_cases**2
    total = np.maximum.accumulate(np.maximum(total, 0), axis=1)
    if source.question.length == 1:
        known = own[bank.cases]
        factor = np.where(total[:, 0] > 0, known / np.maximum(total[:, 0], 1e-30), 1.0)
        total = np.where(total[:, :1] > 0, total * np.clip(factor, 0.5, 2)[:, None], 0)
        total[:, 0] = known
        total = np.maximum.accumulate(total, axis=1)
    return total, bank


def table_of(source, values, goal, scores, asked, best, cost, offered, bank, order) -> pd.DataFrame:
    """Cases in the order of their value; the labels to ask for; where reweighting cannot be trusted."""
    setting = asked.setting[np.maximum(best, 0)]
    at = np.arange(source.n_cases)
    own = np.where(best >= 0, scores[setting, at], 0.0)
    labels = np.zeros(source.n_cases, int)
    labels[bank.cases] = order.labels(len(order.case), len(bank.cases))
    effective = values.effective[setting, at]
    information = values.information[setting, at]
    if source.question.length > 1:
        brought, _ = totals(source, values, goal, own, bank)
        own[bank.cases], information = brought[:, 0], information.copy()
        information[bank.cases], effective = bank.information[:, 0], effective.copy()
        effective[bank.cases] = bank.effective[:, 0]
    table = pd.DataFrame(
        {
            "case": source.annotations.cases.astype(object),
            "value": own,
            "information": information.astype(float),
            "labels": labels,
            "effective_draws": effective.astype(float),
            "cost": cost,
        }
    ).iloc[offered]
    if asked.names is not None:
        table["annotator"] = [asked.names[who] if who >= 0 else "" for who in best[offered]]
    rate = table["value"] / table["cost"]
    table = table.iloc[np.lexsort((-rate, table["labels"] == 0))].reset_index(drop=True)
    table.insert(1, "place", np.arange(1, len(table) + 1))
    return table if np.ptp(cost) > 0 or cost[0] != 1 else table.drop(columns="cost")
