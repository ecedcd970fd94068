"""A metric against reliability, with intervals and its limit at the point estimate."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.plots._style import (
    COLOURS,
    colour,
    grid,
    limit_axis,
    marker,
    metric_name,
    name_end,
    new_axes,
    only,
    plain,
    spread,
    within,
)


def metric_by_reliability(
    metrics: pd.DataFrame, metric: str, model: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw a metric of every classifier against the reliability of one model.

    Lines are means over draws, bands 94 % intervals. At the right, where reliability would be infinite, is the value at
    the point estimate.

    Parameters
    ----------
    metrics
        Table ``metrics`` of :func:`plausibly.sweep`, or the ``metrics.csv`` of ``plausibly evaluate``.
    metric
        Name of a metric, such as ``"top3_accuracy"``.
    model
        Name of a model; not needed if there is only one.
    """
    model = only(list(dict.fromkeys(metrics["model"])), model)
    rows = metrics[(metrics["model"] == model) & (metrics["metric"] == metric)].sort_values("reliability")
    if rows.empty:
        known = ", ".join(dict.fromkeys(metrics["metric"]))
        raise ArgumentError(f"the table has no {metric!r} of {model!r}: choose from {known}.")
    ax = new_axes(ax)
    reliabilities = np.unique(rows["reliability"].dropna())
    # Reliabilities, roughly in geometric progression, are equally spaced; their limit comes one step later.
    step = {reliability: place for place, reliability in enumerate(reliabilities)}
    limit = len(reliabilities)
    # Many bands on top of each other would hide the lines.
    alpha = 0.18 if rows["classifier"].nunique() <= len(COLOURS) else 0.05
    ends = []
    for position, (classifier, own) in enumerate(rows.groupby("classifier", sort=False)):
        style = {"color": colour(position), "marker": marker(position), "ms": 6}
        swept = own.dropna(subset="reliability")
        places = [step[reliability] for reliability in swept["reliability"]]
        ax.plot(places, swept["mean"], lw=2, label=plain(classifier), **style)
        if len(places) == 1:  # too short for a band
            ax.plot(places * 2, [*swept["lower"], *swept["upper"]], color=style["color"], alpha=0.3, lw=5)
        ax.fill_between(places, swept["lower"], swept["upper"], color=style["color"], alpha=alpha, lw=0)
        last = own.iloc[-1]
        if places:
            ax.plot([places[-1], limit], [last["mean"], last["point"]], lw=1, ls=":", color=style["color"])
        ax.plot([limit], [last["point"]], mfc="white", mew=1.8, ls="", **style)
        ends.append((classifier, last["point"], style["color"]))
    ax.margins(y=0.1)
    low, high = ax.get_ylim()
    gap = min(0.07, 1 / len(ends)) * (high - low)
    heights = within(spread([value for _, value, _ in ends], gap), gap, low + gap / 2, high - gap / 2)
    for (classifier, _, shade), height in zip(ends, heights, strict=True):
        name_end(ax, classifier, (limit, height), (9, 0), shade)
    limit_axis(ax, reliabilities, 0.25)
    ax.set(ylabel=metric_name(metric), title=model)
    grid(ax, "y")
    return ax
