"""Metrics over the draws: how far the annotations leave them open, which classifier is better, and groups of cases."""

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes

from plausibly.app.plots.style import (
    DOTTED,
    colour,
    draw_matrix,
    draw_rows,
    finish_rows,
    marker,
    matrix_axes,
    name_rows,
    new_axes,
    plain,
    point_estimates,
)
from plausibly.base.bootstrap import interval, width_of
from plausibly.evaluation import by_group
from plausibly.evaluation.comparison import Noise, better_equal_worse, metric_by_draw, probabilities_better
from plausibly.metrics.words import metric_name

_MOST = 500  # bins from the least to the greatest value
_MANY = 6


def metric_histogram(results: xr.Dataset, metric: str, *, bins: int = 12, ax: Axes | None = None) -> Axes:
    """Draw how a metric is distributed over the draws, one row per classifier.

    The height of a bar is its share of the draws, relative to the highest bar; a diamond marks the point estimate. A
    line below the bars is the total interval, if the results have replicates.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    metric
        Name of a metric by draw, such as ``"top3_accuracy"``.
    bins
        Approximate number of bins in the narrowest row; bins are equally wide in all rows. Metrics have discrete
        values, so the width of a bin is a multiple of the step between them: otherwise there would be spurious gaps.
    """
    values, points = metric_by_draw(results, metric).values, results[f"{metric}_point"].values
    edges, total = _edges(values, bins), None
    if f"{metric}_total" in results and not np.isnan(results[f"{metric}_total"].values).any():
        total = interval(results[f"{metric}_total"].values.T, width_of(results))
    shares = np.array([np.histogram(row, edges)[0] / len(row) for row in values])
    heights = 0.8 * shares / shares.max()
    n = len(values)
    ax = new_axes(ax, height=1.2 + 0.7 * n)
    for position, row in enumerate(heights):
        base, shade = n - 1 - position, colour(position)
        ax.stairs(base + row, edges, baseline=base, fill=True, color=shade, alpha=0.6, lw=0)
        ax.axhline(base, color=shade, lw=0.8)
        if total is not None:
            ax.hlines(base - 0.12, *(end[position] for end in total), color=shade, lw=2.5)
        point_estimates(ax, [points[position]], [base], shade)
    name_rows(ax, range(n), [plain(name, 24) for name in results["classifier"].values[::-1]])
    for tick, position in zip(ax.get_yticklabels(), reversed(range(n)), strict=True):
        tick.set(color=colour(position), fontweight="bold")
    ax.spines["left"].set_visible(False)
    ax.set(xlabel=f"{metric_name(metric)} (◇ at the point estimate)", ylim=(-0.3, n))
    return ax


def _edges(values: Float[np.ndarray, "classifier draw"], bins: int) -> Float[np.ndarray, " edge"]:
    """Edges of equal bins between the values that occur, each a whole number of their smallest step wide."""
    found = np.unique(np.round(values, 9))
    if len(found) == 1:
        return found[0] + np.array([-0.005, 0.005])
    step = np.diff(found).min()
    spreads = np.ptp(values, axis=1)
    # Constant rows do not determine the width; values of the others may be many steps apart.
    narrowest = spreads[spreads > step / 2].min(initial=np.inf)
    narrowest = narrowest if np.isfinite(narrowest) else step
    width = step * max(1, np.round(narrowest / step / bins), np.ceil((found[-1] - found[0]) / step / _MOST))
    n = int(np.ceil((found[-1] - found[0] + step / 2) / width))
    return found[0] - step / 2 + width * np.arange(n + 1)


def better_matrix(results: xr.Dataset, metric: str, *, noise: Noise = "annotation", ax: Axes | None = None) -> Axes:
    """Draw the probability that the classifier in a row is better than the one in a column.

    Below it is the probability that the two are equal, if it is at least 0.005. Colours count it half.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    metric
        Name of a metric by draw, such as ``"top3_accuracy"``.
    noise
        Uncertainty to include, see :func:`plausibly.comparison.probability_better`.
    """
    matrix = probabilities_better(results, metric, noise=noise)
    n = matrix.sizes["classifier"]
    upright = n > _MANY  # long names often differ at their ends, of which upright ones show more
    names = [plain(name, 26 if upright else 16) for name in matrix["classifier"].values]
    ax = new_axes(ax, 1.6 + 0.8 * n, 1.2 + 0.7 * n)
    given = [str(name) for name in matrix["classifier"].values]

    def write(row: int, column: int) -> str:
        shares = better_equal_worse(results, metric, given[row], given[column], noise=noise)
        equal = f"\n= {shares['equal']:.2f}" if shares["equal"] >= 0.005 else ""
        return f"{shares['better']:.2f}{equal}" if row != column else ""

    draw_matrix(ax, np.where(np.eye(n), np.nan, matrix.values), write, "PuOr_r", -0.5, 1.5)
    for edge in range(1, n):
        ax.axvline(edge - 0.5, color="white", lw=2)
        ax.axhline(edge - 0.5, color="white", lw=2)
    matrix_axes(ax, names, names, rotation=90 if upright else 0)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set(xlabel="… is better than this one", ylabel="probability that this one …", title=metric_name(metric))
    return ax


def metric_by_group(
    results: xr.Dataset, metric: str = "top1_accuracy", ci_prob: float | None = None, *, ax: Axes | None = None
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
        Probability of the intervals; by default that of the results.
    """
    table = by_group(results, metric, ci_prob)
    classifiers = list(dict.fromkeys(table["classifier"]))
    groups = list(dict.fromkeys(zip(table["column"], table["group"], table["n_cases"], strict=True)))
    ax = new_axes(ax, height=1.2 + 0.3 * len(groups) * max(1, len(classifiers) / 2))
    offsets = np.linspace(-0.3, 0.3, len(classifiers)) if len(classifiers) > 1 else [0.0]
    for number, (name, offset) in enumerate(zip(classifiers, offsets, strict=True)):
        own = table[table["classifier"] == name].set_index(["column", "group", "n_cases"]).loc[groups]
        ax.axvline(float(results[metric].sel(classifier=name).mean()), **DOTTED | {"color": colour(number)})
        look = {"hollow": own["few"], "label": plain(name, 24)}
        draw_rows(ax, np.arange(len(groups)) + offset, own, colour(number), marker(number), **look)
    several = table["column"].nunique() > 1
    names = [f"{f'{column}: ' if several else ''}{group} ({n:,})" for column, group, n in groups]
    if len(classifiers) > 1:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish_rows(ax, names, metric_name(metric), 40)
    return ax
