"""Agreement of annotators: distances beside chance, weighted reliability, abilities and reliabilities, a nomogram."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import logit

from plausibly._arviz import Posterior
from plausibly.agreement import WeightedReliability, actual_accuracy, ground_truth_accuracy, required_reliability
from plausibly.agreement.chance._annotators import TOO_FEW
from plausibly.annotators import annotator_reliabilities as tabulate
from plausibly.bootstrap import CI_PROB
from plausibly.errors import ArgumentError
from plausibly.plots._style import COLOURS, GREY, grid, matrix_axes, name_rows, new_axes, number_rows, panels, plain

_FEW = 12  # values of a distance up to which each has a bar
_LEAST = 0.5  # of the scales of a nomogram
_TICKS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


def agreement_histogram(result: Any, *, bins: int = 30, ax: Axes | None = None) -> Axes:
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


def agreement_histograms(results: Mapping[str, Any], *, columns: int = 2) -> Figure:
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


def agreement_heatmap(results: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
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


def annotator_heatmap(result: Any, *, most: int = 30, ax: Axes | None = None) -> Axes:
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
    image = ax.imshow(cells, cmap=colours, vmin=low, vmax=high, aspect="auto")
    for row, column in np.ndindex(cells.shape if write else (0, 0)):
        value = cells[row, column]
        if not np.isnan(value):
            dark = np.mean(image.cmap(image.norm(value))[:3]) < 0.5
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", color="white" if dark else "black")
    matrix_axes(ax, columns, rows)
    ax.xaxis.tick_top()


def reliability_by_case(result: WeightedReliability, *, ax: Axes | None = None) -> Axes:
    """Draw concordance and weighted reliability over cases, each sorted in increasing order.

    The area between the two curves is agreement that is probably wrong.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.weighted_reliability`.
    """
    ax = new_axes(ax)
    table = result.by_case()
    share = 100 * np.arange(1, len(table) + 1) / len(table)
    names = {"concordance": f"σ = {result.concordance:.3f}", "reliability": f"ϱ = {result.reliability:.3f}"}
    for (name, total), shade in zip(names.items(), (GREY, COLOURS[0]), strict=True):
        words = "concordance" if name == "concordance" else "weighted reliability"
        ax.plot(share, np.sort(table[name]), color=shade, lw=2, drawstyle="steps-mid", label=f"{words}, {total}")
    ax.legend(frameon=False, loc="upper left")
    ax.set(xlabel="cases, from least to most (%)", ylabel="mean over pairs of annotators", ylim=(-0.02, 1.02))
    grid(ax, "y")
    return ax


def annotator_abilities(result: WeightedReliability, ci_prob: float = CI_PROB, *, ax: Axes | None = None) -> Axes:
    """Draw the abilities of annotators under the Rasch model, with their posterior intervals.

    The most able annotator is at the top. The upper axis is the probability of being right about a case of average
    difficulty.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.weighted_reliability` with ``competence="rasch"``.
    ci_prob
        Probability of the intervals.
    """
    if result.posterior is None:
        raise ArgumentError(
            f"abilities are those of a Rasch model, but competence is {result.competence!r}: use competence='rasch'."
        )
    table = result.annotators(ci_prob).sort_values("ability")
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    places = range(len(table))
    ax.hlines(places, table["ability_lower"], table["ability_upper"], color=COLOURS[0], lw=2)
    ax.plot(table["ability"], places, "o", color=COLOURS[0], ms=6)
    name_rows(ax, places, [plain(name, 24) for name in table.index])
    ax.set(xlabel=f"ability, log odds ({ci_prob:.0%} interval)", ylim=(-0.6, len(table) - 0.4))
    grid(ax, "x")
    above = ax.secondary_xaxis("top")
    low, high = ax.get_xlim()
    shares = [p for p in (0.01, 0.05, 0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999) if low < logit(p) < high]
    above.set_xticks(logit(shares), [f"{p:g}" for p in shares])
    above.set_xlabel("probability of being right about an average case")
    above.spines["top"].set_visible(False)
    return ax


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


def nomogram(
    measured: float | None = None, reliability: float | None = None, annotators: int = 1, *, ax: Axes | None = None
) -> Axes:
    """Draw three scales on which values that belong together lie on a straight line.

    The left scale is the measured accuracy of a model, the right one the accuracy of the labels with the corresponding
    weighted reliability ϱ, and the middle one the actual accuracy. Scales are logarithmic, because actual accuracy is a
    product. Lay a ruler over two values to read the third.

    Parameters
    ----------
    measured, reliability
        Values to draw a line through. Both accuracy scales begin at 0.5; below that, the actual accuracy is written
        under the scales instead.
    annotators
        Number of annotators whose majority vote gives each label.

    References
    ----------
    Cabitza, Campagner et al. (2020), The elephant in the machine, Applied Sciences 10, 4014.
    """
    ax = new_axes(ax, 5.5, 6.5)
    for x, name in ((0, "measured\naccuracy"), (1, "actual\naccuracy"), (2, "accuracy\nof the labels")):
        # Halfway between the others, the middle scale shows their product: twice as many decades to the same length.
        scale = 0.5 if x == 1 else 1.0
        ticks = _TICKS if x != 1 else (0.25, 0.3, 0.35, 0.4, 0.45, *_TICKS)
        ax.plot([x, x], [np.log(_LEAST), 0], color="black", lw=1)
        for tick in ticks:
            height = scale * np.log(tick)
            ax.plot([x - 0.03, x], [height, height], color="black", lw=1)
            ax.text(x - 0.06, height, f"{tick:.2f}", ha="right", va="center", fontsize=9)
        ax.text(x, 0.05, name, ha="right" if x == 2 else "center", va="bottom", fontweight="bold")
    ax.text(2.06, 0.05, "weighted\nreliability ϱ", ha="left", va="bottom", fontweight="bold", color=COLOURS[0])
    for tick in _reliability_ticks(annotators):
        height = np.log(ground_truth_accuracy(tick, annotators))
        ax.plot([2, 2.03], [height, height], color=COLOURS[0], lw=1)
        ax.text(2.06, height, f"{tick:.2f}", ha="left", va="center", fontsize=9, color=COLOURS[0])
    if measured is not None and reliability is not None:
        truth = ground_truth_accuracy(reliability, annotators)
        actual = actual_accuracy(measured, truth)
        style = {"color": COLOURS[1], "fontweight": "bold"}
        if min(measured, truth) < _LEAST:
            words = f"actual {actual:.2f} = measured {measured:.2f} × labels {truth:.2f}, off the scales"
            ax.text(1, np.log(_LEAST) - 0.09, words, ha="center", va="top", **style)
        else:
            heights = [np.log(measured), np.log(actual) / 2, np.log(truth)]
            ax.plot([0, 1, 2], heights, color=COLOURS[1], lw=1.5, marker="o", ms=5, zorder=3)
            ax.annotate(f"actual {actual:.2f}", (1, heights[1]), xytext=(8, 8), textcoords="offset points", **style)
    panel = "labels by one annotator" if annotators == 1 else f"labels by a majority of {annotators} annotators"
    ax.text(1, np.log(_LEAST) - 0.04, panel, ha="center", va="top", color=GREY)
    ax.set(xlim=(-0.4, 2.6), ylim=(np.log(_LEAST) - 0.13, 0.16))
    ax.axis("off")
    return ax


def _reliability_ticks(annotators: int) -> list[float]:
    """Round values of ϱ whose heights do not collide."""
    ticks: list[float] = []
    for tick in np.arange(1.0, 0.0, -0.05).round(2).tolist():
        height = np.log(ground_truth_accuracy(tick, annotators))
        last = np.log(ground_truth_accuracy(ticks[-1], annotators)) if ticks else np.inf
        if tick >= required_reliability(_LEAST, annotators=annotators) - 1e-12 and last - height > 0.025:
            ticks.append(tick)
    return ticks
