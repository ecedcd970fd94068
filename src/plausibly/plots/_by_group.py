"""A metric by group of cases."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from plausibly.bootstrap import CI_PROB
from plausibly.evaluation import by_group
from plausibly.plots._style import colour, finish_rows, marker, new_axes, plain
from plausibly.plots._words import metric_name


def metric_by_group(
    results: xr.Dataset, metric: str = "top1_accuracy", ci_prob: float = CI_PROB, *, ax: Axes | None = None
) -> Axes:
    """Draw a metric of every classifier by group of cases, with intervals; groups with few cases are hollow.

    Dotted lines are the classifiers' values on all cases.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with ``by``.
    metric
        Name of a metric in the results.
    ci_prob
        Probability of the intervals.
    """
    table = by_group(results, metric, ci_prob)
    classifiers = list(dict.fromkeys(table["classifier"]))
    groups = list(dict.fromkeys(zip(table["column"], table["group"], table["n_cases"], strict=True)))
    ax = new_axes(ax, height=1.2 + 0.3 * len(groups) * max(1, len(classifiers) / 2))
    offsets = np.linspace(-0.3, 0.3, len(classifiers)) if len(classifiers) > 1 else [0.0]
    for number, (name, offset) in enumerate(zip(classifiers, offsets, strict=True)):
        own, shade = table[table["classifier"] == name].set_index(["column", "group"]), colour(number)
        ax.axvline(float(results[metric].sel(classifier=name).mean()), color=shade, lw=0.8, ls=(0, (2, 3)), zorder=0)
        for place, (column, group, _) in enumerate(groups):
            row = own.loc[[(column, group)]].iloc[0]
            ax.plot([row["lower"], row["upper"]], [place + offset] * 2, lw=2, color=shade, zorder=1)
            style = {"marker": marker(number), "ms": 6, "mec": shade, "mfc": "white" if row["few"] else shade, "ls": ""}
            ax.plot([row["mean"]], [place + offset], label=plain(name, 24) if place == 0 else None, **style)
    several = table["column"].nunique() > 1
    names = [f"{f'{column}: ' if several else ''}{group} ({n:,})" for column, group, n in groups]
    if len(classifiers) > 1:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish_rows(ax, names, metric_name(metric), 40)
    return ax
