"""The probability that one classifier is better than another."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from plausibly.evaluation.comparison import probabilities_better
from plausibly.plots._style import metric_name, new_axes, plain

_MANY = 6


def better_matrix(results: xr.Dataset, metric: str, *, ax: Axes | None = None) -> Axes:
    """Draw the probability that the classifier of a row is better than that of a column; ties count half.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    metric
        Name of a metric by draw, such as ``"top3_accuracy"``.
    """
    matrix = probabilities_better(results, metric)
    n = matrix.sizes["classifier"]
    upright = n > _MANY  # long names often differ at their ends, of which upright ones show more
    names = [plain(name, 26 if upright else 16) for name in matrix["classifier"].values]
    ax = new_axes(ax, 1.6 + 0.8 * n, 1.2 + 0.7 * n)
    ax.imshow(matrix.values, cmap="PuOr_r", vmin=-0.5, vmax=1.5, aspect="auto")
    for (row, column), value in np.ndenumerate(matrix.values):
        if row != column:
            ax.text(column, row, f"{value:.2f}", ha="center", va="center")
        else:
            ax.add_patch(Rectangle((row - 0.5, row - 0.5), 1, 1, fc="white", ec="white"))
    for edge in range(1, n):
        ax.axvline(edge - 0.5, color="white", lw=2)
        ax.axhline(edge - 0.5, color="white", lw=2)
    ax.set_xticks(range(n), names, rotation=90 if upright else 0)
    ax.set_yticks(range(n), names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set(xlabel="… is better than this one", ylabel="probability that this one …", title=metric_name(metric))
    return ax
