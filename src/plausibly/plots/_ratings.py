"""Severities of raters."""

import numpy as np
from matplotlib.axes import Axes

from plausibly._arviz import Posterior
from plausibly.annotators import severities as tabulate
from plausibly.bootstrap import CI_PROB
from plausibly.plots.style import COLOURS, GREY, grid, name_rows, new_axes, number_rows, plain


def severities(posterior: Posterior, ci_prob: float = CI_PROB, *, most: int = 40, ax: Axes | None = None) -> Axes:
    """Draw by how much each rater rates higher or lower than the average of them, who rates highest at the top.

    The number of ratings is on the right. Raters whose chains did not converge are hollow.

    Parameters
    ----------
    posterior
        Posterior of ratings by raters who differ, see :func:`plausibly.annotators.severities`.
    ci_prob
        Probability of the intervals.
    most
        Largest number of rows; if there are more raters, those in the middle are left out.
    """
    table = tabulate(posterior, ci_prob)
    left_out = max(len(table) - most, 0)
    if left_out:
        table = table.iloc[np.r_[: most - most // 2, len(table) - most // 2 : len(table)]]
    table = table.iloc[::-1]
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    places = np.arange(len(table))
    ax.axvline(0, color=GREY, lw=1, zorder=0)
    ax.hlines(places, table["lower"], table["upper"], color=COLOURS[0], lw=2)
    faces = np.where(table["converged"], COLOURS[0], "white")
    ax.scatter(table["severity"], places, color=faces, edgecolor=COLOURS[0], s=36, zorder=3)
    name_rows(ax, places, [plain(name, 24) for name in table["annotator"]])
    more = f"; {left_out} in between left out" if left_out else ""
    ax.set(xlabel=f"rates lower | higher than average ({ci_prob:.0%} interval{more})", ylim=(-0.6, len(table) - 0.4))
    grid(ax, "x")
    number_rows(ax, places, [f"{n:,}" for n in table["ratings"]], GREY).set_ylabel("ratings", color=GREY)
    return ax
