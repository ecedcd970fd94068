"""The figure of the first screen: accuracy of every classifier with both intervals, as positions on one axis."""

import math
from typing import Any

import numpy as np

from plausibly.report._tables import headline, headline_metrics, lead
from plausibly.sweeps import Sweep

MOST = 12  #: classifiers in the figure
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_INTERVALS = 5  # between ticks, at most


def first_figure(swept: Sweep) -> dict[str, Any] | None:
    """Place the accuracies of the classifiers under the run that represents all, the best first.

    Returns
    -------
    dict or None
        ``metric``; ``rows``, each with the classifier, the numbers of the main table (``mean``, ``lower``, ``voted``,
        …) and ``at``, the positions of these numbers in percent of the width of the axis; ``ticks``, each a position
        and its label; ``more``, the number of classifiers left out. None without classifiers.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"]] * 4)
    >>> predictions = {"A": [[0.2, 0.8]] * 4, "B": [[0.9, 0.1]] * 4}
    >>> swept = pb.sweep(annotations, predictions, {"majority-vote": None}, progress=False)
    >>> first_figure(swept)["ticks"]
    [(0.0, '0 %'), (25.0, '25 %'), (50.0, '50 %'), (75.0, '75 %'), (100.0, '100 %')]
    """
    if not swept.classifiers:
        return None
    run = lead(swept)
    metric = headline_metrics(swept)[0]
    table = headline(swept, [run])
    names = ("mean", "lower", "upper", "total_lower", "total_upper", "voted")
    rows = [
        {"classifier": row["classifier"]} | {name: float(row[f"{metric}_{name}"]) for name in names}
        for row in table.head(MOST).to_dict("records")
    ]
    values = np.array([[row[name] for name in names] for row in rows])
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    step = next((step for step in _STEPS if (most - least) / step <= _INTERVALS - 1), _STEPS[-1])
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    last = max(last, first + 1)

    def place(value: float) -> float:
        return round(100 * (value / step - first) / (last - first), 2)

    for row in rows:
        row["at"] = {name: place(row[name]) for name in names if not math.isnan(row[name])}
    ticks = [(place(tick * step), f"{100 * tick * step:.0f} %") for tick in range(first, last + 1)]
    return {"metric": metric, "rows": rows, "ticks": ticks, "more": len(table) - len(rows)}
