"""Aggregation models by how well they predict left-out annotations."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.plots.style import COLOURS, GREY, finish_rows, new_axes, number_rows

_COLUMNS = {"elpd", "elpd_diff", "dse", "weight", "impossible", "verdict"}


def model_comparison(compared: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far models fall short of the best in predicting left-out annotations.

    Each model has a row, the best at the top, with its difference in elpd (expected log predictive density) from the
    best, ± 2 standard errors, hollow if the data do not show a difference; elpd and stacking weight are on the right. A
    model that gives an annotation probability zero has a note instead of the difference.

    Parameters
    ----------
    compared
        Comparison from :func:`plausibly.compare_models`.
    """
    table = getattr(compared, "table", None)
    if not isinstance(table, pd.DataFrame) or not set(table.columns) >= _COLUMNS:
        raise ArgumentError(
            f"a result of plausibly.compare_models is needed, but a {type(compared).__name__} was given: compare "
            "models first."
        )
    n = len(table)
    ax = new_axes(ax, 7.0, 1.5 + 0.36 * n)
    difference = -table["elpd_diff"].to_numpy(float)
    dse = table["dse"].fillna(0).to_numpy(float)
    finite = np.isfinite(difference)
    reach = np.where(finite, difference - 2 * dse, 0).min()
    ax.axvline(0, color=GREY, lw=0.8, ls=(0, (2, 3)), zorder=1)
    for row, verdict in enumerate(table["verdict"]):
        if not finite[row]:
            count = int(table["impossible"].iloc[row])
            text = f"finds {count:,} annotation{'' if count == 1 else 's'} impossible"
            ax.annotate(text, (0, row), xytext=(-8, 0), textcoords="offset points", ha="right", va="center", color=GREY)
            continue
        filled = verdict in ("best", "worse")
        shade = COLOURS[0] if verdict != "worse" else COLOURS[1]
        ax.hlines(row, difference[row] - 2 * dse[row], difference[row] + 2 * dse[row], color=shade, lw=2)
        ax.plot([difference[row]], [row], "o", color=shade, ms=7, mfc=shade if filled else "white", mew=1.6)
    difference_axis = "log predictive density:\ndifference from the best (± 2 standard errors)"
    finish_rows(ax, table.index.tolist(), difference_axis, 32)
    numbers = zip(table["elpd"], table["weight"], strict=True)
    texts = [f"{elpd:,.1f}, weight {weight:.2f}" for elpd, weight in numbers]
    number_rows(ax, range(n), [text.replace("-inf", "−∞").replace("-", "−") for text in texts])
    width = -reach if reach < 0 else 1.0
    most = max(0.06 * width, np.where(finite, difference + 2 * dse, 0).max() * 1.05)
    ax.set_xlim(-1.06 * width, most)
    return ax
