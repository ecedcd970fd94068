"""Reliabilities of annotators, and how far they are shrunk."""

import numpy as np
from matplotlib.axes import Axes

from plausibly._arviz import Posterior
from plausibly.annotators import annotator_reliabilities as tabulate
from plausibly.plots._style import COLOURS, GREY, grid, name_rows, new_axes, number_rows, plain


def annotator_reliabilities(
    posterior: Posterior, ci_prob: float = 0.94, *, most: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw the reliabilities of annotators with their intervals, the most reliable annotator at the top.

    The number of annotations is on the right. The more a reliability is shrunk towards the others, the fainter it is. A
    band shows the interval of the reliability of the data set.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.infer_reliability` with ``per="annotator"``.
    ci_prob
        Probability of the intervals.
    most
        Largest number of rows; if there are more annotators, those in the middle are left out.
    """
    table = tabulate(posterior, ci_prob)
    left_out = max(len(table) - most, 0)
    if left_out:
        upper = most - most // 2
        table = table.iloc[np.r_[:upper, len(table) - most // 2 : len(table)]]
    table = table.iloc[::-1]
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    places = np.arange(len(table))
    ends = np.quantile(posterior["posterior"]["reliability"].values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    ax.axvspan(*ends, color="0.93", lw=0, zorder=0)
    opacity = 0.25 + 0.75 * (1 - table["shrinkage"].to_numpy())  # never too faint to see
    ax.hlines(places, table["lower"], table["upper"], color=COLOURS[0], lw=2, alpha=opacity)
    ax.scatter(table["reliability"], places, color=COLOURS[0], s=36, alpha=opacity, zorder=3)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    name_rows(ax, places, [plain(name, 24) for name in table["annotator"]])
    more = f"; {left_out} in between left out" if left_out else ""
    ax.set(xlabel=f"reliability ({ci_prob:.0%} interval; band: data set{more})", ylim=(-0.6, len(table) - 0.4))
    grid(ax, "x")
    number_rows(ax, places, [f"{n:,}" for n in table["annotations"]], GREY).set_ylabel("annotations", color=GREY)
    return ax
