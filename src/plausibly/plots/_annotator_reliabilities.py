"""How reliable annotators are, and how much of that they share."""

import numpy as np
from matplotlib.axes import Axes

from plausibly._arviz import Posterior
from plausibly.aggregation._inferred_reliability import annotator_reliabilities as table_of
from plausibly.plots._style import COLOURS, GREY, new_axes, plain


def annotator_reliabilities(posterior: Posterior, prob: float = 0.9, *, most: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the reliabilities of annotators with their posterior intervals, the most reliable on top.

    Parameters
    ----------
    posterior
        From :func:`plausibly.infer_reliability` with ``per="annotator"``.
    prob
        Probability of the intervals.
    most
        Of more annotators than this, the upper and the lower half are drawn.
    ax
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each. A point is the fainter, the more it is shrunk towards the others'; the numbers of annotations
        stand at the right, and a band shows where the reliability of the data set lies.

    Raises
    ------
    ArgumentError
        As :func:`plausibly.annotators.annotator_reliabilities` does.

    Examples
    --------
    >>> from plausibly.datasets import simulate_annotators
    >>> from plausibly.aggregation._inferred_reliability import infer_reliability
    >>> annotations = simulate_annotators(8, [2.0] * 4, n_classes=3).annotations
    >>> posterior = infer_reliability(
    ...     annotations, per="annotator", draws=4, chains=1, warmup=0, progress=False
    ... )
    >>> len(annotator_reliabilities(posterior).get_yticklabels())
    4
    """
    table = table_of(posterior, prob)
    left_out = max(len(table) - most, 0)
    if left_out:
        upper = most - most // 2
        table = table.iloc[np.r_[:upper, len(table) - most // 2 : len(table)]]
    table = table.iloc[::-1]
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    places = np.arange(len(table))
    low, high = np.quantile(posterior["posterior"]["reliability"].values, [(1 - prob) / 2, (1 + prob) / 2])
    ax.axvspan(low, high, color="0.93", lw=0, zorder=0)
    # Nobody's interval is to be lost in the paper.
    opacity = 0.25 + 0.75 * (1 - table["shrinkage"].to_numpy())
    ax.hlines(places, table["lower"], table["upper"], color=COLOURS[0], lw=2, alpha=opacity)
    ax.scatter(table["reliability"], places, color=COLOURS[0], s=36, alpha=opacity, zorder=3)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_yticks(places, [plain(name, 24) for name in table["annotator"]])
    more = f"; {left_out} in between left out" if left_out else ""
    ax.set(
        xlabel=f"reliability ({prob:.0%} interval; band: of all{more})",
        ylim=(-0.6, len(table) - 0.4),
    )
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.92")
    counts = ax.secondary_yaxis("right")
    counts.set_yticks(places, [f"{n:,}" for n in table["annotations"]])
    counts.tick_params(axis="y", length=0, colors=GREY)
    counts.spines["right"].set_visible(False)
    counts.set_ylabel("annotations", color=GREY)
    return ax
