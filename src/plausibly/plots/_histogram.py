"""A metric over the draws: how much of it is left open by the annotations."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.plots._style import colour, metric_name, new_axes, plain

_MOST = 500  # bins from the least to the greatest value


def metric_histogram(results: xr.Dataset, metric: str, *, bins: int = 12, ax: Axes | None = None) -> Axes:
    """Draw how a metric is distributed over the draws, one row per classifier.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`.
    metric
        One of its metrics by draw, such as ``"top3_accuracy"``.
    bins
        How many bins the narrowest row fills, about; bins are equally wide in all rows. Metrics are counts over cases,
        so bins hold whole numbers of their steps: narrower ones would show gaps that mean nothing.
    ax
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        Bars as high as the share of the draws, relative to the highest of the figure; a diamond at the point estimate.

    Raises
    ------
    ArgumentError
        If the results have no such metric.

    Examples
    --------
    >>> values = xr.DataArray([[0.2, 0.4, 0.4, 0.4]], dims=("classifier", "draw"), coords={"classifier": ["A"]})
    >>> results = xr.Dataset({"top1_accuracy": values, "top1_accuracy_point": values[:, 0]})
    >>> [round(float(bar.get_height()), 3) for bar in metric_histogram(results, "top1_accuracy").patches]
    [0.267, 0.8]
    """
    if metric not in results or results[metric].dims != ("classifier", "draw"):
        known = [name for name, variable in results.data_vars.items() if variable.dims == ("classifier", "draw")]
        raise ArgumentError(f"there is no metric {metric!r} by draw in these results: choose from {', '.join(known)}.")
    values, points = results[metric].values, results[f"{metric}_point"].values
    edges = _edges(values, bins)
    shares = np.array([np.histogram(row, edges)[0] / len(row) for row in values])
    heights = 0.8 * shares / shares.max()
    ax = new_axes(ax, height=1.2 + 0.7 * len(values))
    names = [plain(name, 24) for name in results["classifier"].values]
    for position, row in enumerate(heights):
        base, shade = len(values) - 1 - position, colour(position)
        seen = row > 0
        ax.bar(
            edges[:-1][seen], row[seen], np.diff(edges)[seen], bottom=base, align="edge", color=shade, alpha=0.6, lw=0
        )
        ax.axhline(base, color=shade, lw=0.8)
        ax.plot([points[position]], [base], marker="D", ms=7, mfc="white", mec=shade, mew=1.8, ls="", clip_on=False)
    ax.set_yticks(range(len(values)), names[::-1])
    for tick, position in zip(ax.get_yticklabels(), reversed(range(len(values))), strict=True):
        tick.set(color=colour(position), fontweight="bold")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set(xlabel=f"{metric_name(metric)} (◇ at the point estimate)", ylim=(-0.25, len(values)))
    return ax


def _edges(values: np.ndarray, bins: int) -> np.ndarray:
    """Edges of equal bins between the values that occur, each a whole number of their smallest step wide."""
    found = np.unique(np.round(values, 9))
    if len(found) == 1:
        return found[0] + np.array([-0.005, 0.005])
    step = np.diff(found).min()
    spreads = np.ptp(values, axis=1)
    # Rows that never vary say nothing about the width; the others' may be many steps apart.
    narrowest = spreads[spreads > step / 2].min(initial=np.inf)
    narrowest = narrowest if np.isfinite(narrowest) else step
    width = step * max(1, np.round(narrowest / step / bins), np.ceil((found[-1] - found[0]) / step / _MOST))
    n = int(np.ceil((found[-1] - found[0] + step / 2) / width))
    return found[0] - step / 2 + width * np.arange(n + 1)
