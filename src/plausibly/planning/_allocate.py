"""Which cases get how many labels: the largest expected gain per cost first.

The metric of a data set is a mean over cases whose plausibilities are independent, so what labels of one case remove
from its variance does not depend on those of the others, and taking the largest gains first is optimal as long as a
case's gains fall from one label to the next. Where they rise, because two labels can overturn what one cannot, they are
replaced by their mean over the labels that bring most together: the slopes of the concave majorant.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Order:
    """Labels in the order in which they are worth asking for."""

    case: Int[np.ndarray, " label"]  #: row, of those offered
    cost: Float[np.ndarray, " label"]  #: of all labels so far, the label included
    gain: Float[np.ndarray, " label"]  #: what the label is expected to bring

    def labels(self, upto: int, n_cases: int) -> Int[np.ndarray, " case"]:
        """Number of labels of each case among the first so many."""
        return np.bincount(self.case[:upto], minlength=n_cases)


def allocate(total: Float[np.ndarray, "case label"], cost: Float[np.ndarray, " case"], budget: float) -> Order:
    """Choose labels until the budget is spent; `total` is what one, two, … labels of a case bring together."""
    gain = np.maximum(falling_gains(total), 0)
    rate = (gain / cost[:, None]).ravel()
    order = np.argsort(-rate, kind="stable")
    order = order[rate[order] > 0]
    case = order // total.shape[1]
    spent = np.cumsum(cost[case])
    if len(spent) and spent[-1] > budget and np.ptp(cost) > 0:
        case, order = _that_fit(case, order, cost, budget)
        spent = np.cumsum(cost[case])
    keep = spent <= budget + 1e-9
    return Order(case[keep], spent[keep], gain.ravel()[order][keep])


def falling_gains(total: Float[np.ndarray, "case label"]) -> Float[np.ndarray, "case label"]:
    r"""Gain of each label: the slopes of the concave majorant of the totals.

    .. math:: \min_{a < n} \max_{b \ge n} (T_b - T_a) / (b - a)

    Examples
    --------
    >>> falling_gains(np.array([[4.0, 6.0, 6.5], [0.0, 4.0, 4.5]])).tolist()
    [[4.0, 2.0, 0.5], [2.0, 2.0, 0.5]]
    """
    total = np.concatenate([np.zeros((len(total), 1)), total], axis=1)
    most = total.shape[1]
    found = np.full((len(total), most - 1), np.inf)
    for a in range(most - 1):
        slopes = (total[:, a + 1 :] - total[:, a, None]) / np.arange(1, most - a)
        best = np.maximum.accumulate(slopes[:, ::-1], axis=1)[:, ::-1]
        found[:, a:] = np.minimum(found[:, a:], best)
    return found


def _that_fit(case, order, cost, budget):
    """Skip labels that what is left of the budget does not pay for, and all later ones of the same case."""
    kept, left, closed = [], budget, set()
    for at, row in enumerate(case.tolist()):
        if row in closed:
            continue
        if cost[row] <= left + 1e-9:
            kept.append(at)
            left -= cost[row]
        else:
            closed.add(row)
        if left < cost.min():
            break
    return case[kept], order[kept]
