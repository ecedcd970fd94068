"""Distances between annotators, compared with those expected by chance."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly.agreement import Agreement
from plausibly.agreement.chance.annotators import TOO_FEW
from plausibly.app.plots.style import COLOURS, GREY, draw_matrix, matrix_axes, new_axes, panels, plain

_FEW = 12  # values of a distance up to which each has a bar


def agreement_histogram(result: Agreement, *, bins: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the distances between labels of the same case over those between labels of different cases.

    Bars are shares of pairs. The less the two histograms overlap, the better the distance separates agreement from
    chance.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.agreement`.
    bins
        Number of bins of equal width. A distance with at most twelve values has one bar for each value instead.
    """
    ax = new_axes(ax)
    both = {"same case": result.observed, "different cases": result.expected}
    values = np.unique(np.concatenate([found.values for found in both.values()]))
    few = len(values) <= _FEW
    if few:
        gap = np.diff(values).min() if len(values) > 1 else 1.0
        edges = np.concatenate([values - 0.4 * gap, values + 0.4 * gap])
    else:
        edges = _edges(values, bins)
    tops = []
    for position, (name, found) in enumerate(both.items()):
        shade, share = COLOURS[position], found.weights / found.weights.sum()
        if few:
            heights = share
            ax.bar(found.values + (position - 0.5) * 0.4 * gap, heights, 0.4 * gap, color=shade, alpha=0.7, lw=0)
        else:
            heights = np.histogram(found.values, edges, weights=share)[0]
            ax.stairs(heights, edges, fill=True, color=shade, alpha=0.35, lw=0)
            ax.stairs(heights, edges, color=shade, lw=1.5)
        tops.append(heights.max())
        style = {"transform": ax.transAxes, "ha": "right", "va": "top", "color": shade, "fontweight": "bold"}
        ax.text(1.0, 1.0 - 0.08 * position, f"{name} (mean {found.mean():.3g})", **style)
    against = f" (ties, {result.ks.ties:.0%}, against)".replace("%", " %") if result.ks.ties >= 0.005 else ""
    alpha = result.alpha_name.partition(" (")[0]
    sigma = "" if np.isnan(result.sigma) else f"   sigma {result.sigma:.3f}"
    note = f"superiority {result.ks.superiority:.3f}{against}{sigma}   {alpha} {result.alpha:.3f}"
    ax.set_title(f"{plain(result.distance)}\n", loc="left", fontweight="bold")
    ax.text(0, 1.02, note, transform=ax.transAxes, color=GREY)
    # Room for the names above the highest bar.
    ax.set(xlabel="distance", ylabel="share of pairs", ylim=(0, 1.25 * max(tops)), xlim=(edges.min(), edges.max()))
    return ax


def agreement_histograms(results: Mapping[str, Agreement], *, columns: int = 2) -> Figure:
    """Draw :func:`agreement_histogram` for several distances, one panel each.

    Parameters
    ----------
    results
        Results by name, in order.
    columns
        Number of panels in a row.
    """
    figure, axes = panels(len(results), columns, 5.4, 3.6)
    for ax, (name, result) in zip(axes, results.items(), strict=True):
        agreement_histogram(result, ax=ax)
        ax.set_title(f"{plain(name)}\n", loc="left", fontweight="bold")
    return figure


def agreement_heatmap(results: Mapping[str, Agreement], *, ax: Axes | None = None) -> Axes:
    """Draw measures of agreement under several distances as a heat map.

    Each distance has a row with its superiority (ties count against it), KS statistic, sigma and alpha.

    Parameters
    ----------
    results
        Results of :func:`plausibly.agreement.agreement` by name, in order.
    """
    rows = list(results.values())
    cells = np.array([[one.ks.superiority, one.ks.statistic, one.sigma, one.alpha] for one in rows])
    ax = new_axes(ax, 6.4, 1.2 + 0.45 * len(rows))
    measures = ["superiority, ties against", "KS statistic", "sigma", rows[0].alpha_name.replace(" (", "\n(")]
    _matrix(ax, cells, [plain(name) for name in results], measures, "YlGnBu", 0, 1)
    return ax


def annotator_heatmap(result: Agreement, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the mean distance between every two annotators as a heat map.

    If there are too many annotators, a third of those shown are the first in
    :meth:`plausibly.agreement.Agreement.annotators`, who are flagged or agree least, and the others are those with the
    most labels. All are in the order of that table, and flagged annotators have a star. Empty cells are pairs of
    annotators who share no case. Colours run from the smallest to the greatest distance shown.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.agreement`.
    most
        Largest number of annotators to draw.
    """
    table = result.annotators()
    flagged = ~table["flag"].isin(["", TOO_FEW])
    first = np.arange(len(table)) < min(most // 3, (table["flag"] != TOO_FEW).sum())
    chosen = np.sort(np.lexsort((-table["labels"], ~first))[:most])
    table, flagged, everyone = table.iloc[chosen], flagged.to_numpy()[chosen], len(table)
    distances = result.annotator_distances()
    place = {name: number for number, name in enumerate(distances.annotators.tolist())}
    order = [place[name] for name in table["annotator"]]
    mean = distances.mean[np.ix_(order, order)]
    n = len(order)
    ax = new_axes(ax, 2.4 + 0.55 * n, 1.6 + 0.4 * n) if n <= 12 else new_axes(ax, 2.4 + 0.35 * n, 1.6 + 0.35 * n)
    names = [plain(name, 16) + (" *" if star else "") for name, star in zip(table["annotator"], flagged, strict=True)]
    there = mean[~np.isnan(mean)]
    low, high = (there.min(), there.max()) if there.size else (0.0, 1.0)
    _matrix(ax, mean, names, names, "YlOrRd", low, high, write=n <= 12)
    ax.set_xticks(range(n), names, rotation=90 if max(map(len, names)) > 4 else 0)
    if n > 12:
        ax.figure.colorbar(ax.images[0], ax=ax, label="mean distance", shrink=0.7)
    whom = f"all {n} annotators, least agreement first"
    if n < everyone:
        whom = f"{n} of {everyone:,} annotators: {first.sum()} who agree least, and those with most labels"
    star = "\n* flagged" if flagged.any() else ""
    ax.set_title(f"Mean {plain(result.distance)} distance\n{whom}{star}", loc="left", pad=10)
    return ax


def _edges(values: np.ndarray, bins: int) -> np.ndarray:
    """Edges of equal bins; where values are multiples of a step, such as counts, bins hold whole numbers of them."""
    step, span = np.diff(values).min(), values[-1] - values[0]
    steps = (values - values[0]) / step
    if len(values) > 1000 or not np.allclose(steps, np.rint(steps), atol=1e-6):
        return np.linspace(values[0], values[-1], bins + 1)
    width = step * np.ceil(span / step / bins)
    return values[0] - step / 2 + width * np.arange(np.floor(span / width) + 2)


def _matrix(ax, cells, rows, columns, colours, low, high, write=True) -> None:
    """Draw a matrix with its numbers."""
    draw_matrix(ax, cells, lambda row, column: f"{cells[row, column]:.2f}" if write else "", colours, low, high)
    matrix_axes(ax, columns, rows)
    ax.xaxis.tick_top()
