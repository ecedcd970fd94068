"""Metrics and rankings against reliability, with the limit at the point estimate."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from plausibly.aggregation.sweeps import Sweep
from plausibly.app.plots.style import (
    COLOURS,
    GREY,
    colour,
    grid,
    limit_axis,
    marker,
    name_end,
    name_ends,
    name_rows,
    new_axes,
    only,
    plain,
)
from plausibly.base.errors import ArgumentError
from plausibly.evaluation.comparison import rank_probabilities
from plausibly.evaluation.summaries import goodness
from plausibly.metrics.words import metric_name

_LARGEST = 15.0  # points, of the marker of a certain place
_BAND = "#FBEBD3"
_ROW, _FILLED = 0.55, 0.8  # inches of a metric among many, and the share that lines fill
_LETTERS = 44  # of the names beside each other in a legend
_SPREAD, _APART = 0.3, 0.08  # steps of reliability that marks of all classifiers take up at most, and those of two


def metric_by_reliability(
    metrics: pd.DataFrame, metric: str, model: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw a metric of every classifier against the reliability of one model.

    Lines are means over draws; light bands are total intervals, for new cases like these, and dark bands
    annotation intervals, for these cases. The rightmost value, at infinite reliability, is the value at the point
    estimate. Classifiers are drawn a little beside each other, so that equal values do not hide one another.

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
    rows = metrics[(metrics["model"] == model) & (metrics["metric"] == metric)].sort_values(
        "reliability", kind="stable"
    )
    if rows.empty:
        known = ", ".join(dict.fromkeys(metrics["metric"]))
        raise ArgumentError(f"the table has no {metric!r} of {model!r}: choose from {known}.")
    ax = new_axes(ax)
    reliabilities = np.unique(rows["reliability"].dropna())
    # Reliabilities, roughly in geometric progression, are equally spaced; their limit comes one step later.
    step = {reliability: place for place, reliability in enumerate(reliabilities)}
    limit = len(reliabilities)
    # Many bands on top of each other would hide the lines.
    alpha = 0.13 if rows["classifier"].nunique() <= len(COLOURS) else 0.05
    ends = []
    shifts = _side_by_side(rows["classifier"].nunique())
    for position, (classifier, own) in enumerate(rows.groupby("classifier", sort=False)):
        shift, style = shifts[position], {"color": colour(position), "marker": marker(position), "ms": 6}
        swept = own.dropna(subset="reliability")
        places = [step[reliability] + shift for reliability in swept["reliability"]]
        ax.plot(places, swept["mean"], lw=2, label=plain(classifier), **style)
        for low, high, width in (("total_lower", "total_upper", 3), ("lower", "upper", 6)):
            if low not in swept:
                continue
            if len(places) == 1:  # too short for a band
                ax.plot(places * 2, [*swept[low], *swept[high]], color=style["color"], alpha=0.3, lw=width)
            ax.fill_between(places, swept[low], swept[high], color=style["color"], alpha=alpha, lw=0)
        last = own.iloc[-1]
        if places:
            ax.plot([places[-1], limit + shift], [last["mean"], last["point"]], lw=1, ls=":", color=style["color"])
        ax.plot([limit + shift], [last["point"]], mfc="white", mew=1.8, ls="", **style)
        ends.append((classifier, last["point"], style["color"]))
    name_ends(ax, ends, limit + shifts[-1], 9)
    limit_axis(ax, reliabilities, 0.25)
    ax.set(ylabel=metric_name(metric), title=model)
    grid(ax, "y")
    return ax


def metrics_by_reliability(
    metrics: pd.DataFrame, names: Sequence[str] | None = None, model: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw many metrics of every classifier against the reliability of one model, one row per metric.

    Each row is like :func:`metric_by_reliability` and has its own scale, whose ends are written below the name of the
    metric.

    Parameters
    ----------
    metrics
        Table ``metrics`` of :func:`plausibly.sweep`, or the ``metrics.csv`` of ``plausibly evaluate``.
    names
        Names of metrics, from top to bottom; by default all.
    model
        Name of a model; not needed if there is only one.
    """
    model = only(list(dict.fromkeys(metrics["model"])), model)
    own = metrics[metrics["model"] == model].sort_values("reliability", kind="stable")
    names = list(dict.fromkeys(own["metric"])) if names is None else list(names)
    if missing := sorted(set(names) - set(own["metric"])):
        known = ", ".join(dict.fromkeys(own["metric"]))
        raise ArgumentError(f"the table has no {missing[0]!r} of {model!r}: choose from {known}.")
    values = [name for name in ("mean", "point", "lower", "upper", "total_lower", "total_upper") if name in own]
    columns = own[values].to_numpy(float)
    metric_of, classifier_of, reliability = (own[name].to_numpy() for name in ("metric", "classifier", "reliability"))
    reliabilities = np.unique(reliability[~np.isnan(reliability)])
    limit = len(reliabilities)
    ax = new_axes(ax, height=1.2 + _ROW * len(names))
    labels, lines, bands = [], {}, {}
    for row, name in enumerate(names):
        at = np.flatnonzero(metric_of == name)
        low, high = np.nanmin(columns[at]), np.nanmax(columns[at])
        labels.append(f"{metric_name(name)}\n{low:.2f} to {high:.2f}")
        scaled = (columns[at] - low) / (high - low or 1) * _FILLED + len(names) - 1 - row
        for classifier in dict.fromkeys(classifier_of[at]):
            of_classifier = classifier_of[at] == classifier
            heights, swept = scaled[of_classifier], ~np.isnan(reliability[at[of_classifier]])
            found = dict(zip(values, heights[swept].T, strict=True))
            lines.setdefault(classifier, []).append(([*found["mean"], np.nan], heights[-1, 1]))
            for lower, upper in (("total_lower", "total_upper"), ("lower", "upper")):
                if lower in found and limit:
                    x = [-_APART / 3, _APART / 3] if limit == 1 else [*range(limit)]
                    below, above = (np.broadcast_to(found[end], len(x)).tolist() for end in (lower, upper))
                    outline = [*zip(x, below, strict=True), *zip(x[::-1], above[::-1], strict=True)]
                    bands.setdefault(classifier, []).append(outline)
    alpha = 0.13 if len(lines) <= len(COLOURS) else 0.05
    shifts = _side_by_side(len(lines))
    for position, (classifier, rows) in enumerate(lines.items()):
        style = {"color": colour(position), "marker": marker(position), "ms": 4}
        shift = shifts[position]
        x = np.tile([*range(limit), np.nan], len(rows)) + shift
        ax.plot(x, np.concatenate([means for means, _ in rows]), lw=1.6, label=plain(classifier, 24), **style)
        ax.plot(
            [limit + shifts[position]] * len(rows), [point for _, point in rows], mfc="white", mew=1.4, ls="", **style
        )
        if classifier in bands:
            outlines = [np.add(outline, (shift, 0)) for outline in bands[classifier]]
            ax.add_collection(PolyCollection(outlines, facecolor=style["color"], alpha=alpha, lw=0))
    limit_axis(ax, reliabilities, 0.4)
    name_rows(ax, np.arange(len(names))[::-1] + _FILLED / 2, labels)
    ax.set_ylim(-0.1, len(names))
    longest = max(len(plain(classifier, 24)) for classifier in lines)
    side_by_side = max(1, min(len(lines), _LETTERS // (longest + 4)))
    place = {"loc": "lower right", "bbox_to_anchor": (1, 1), "frameon": False, "borderpad": 0, "columnspacing": 1}
    ax.legend(ncols=side_by_side, handlelength=1.2, **place)
    ax.set_title(model, pad=8 + 15 * -(-len(lines) // side_by_side))
    return ax


def ranking_by_reliability(swept: Sweep, metric: str, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the place of every classifier against the reliability of one model, and where places change.

    Lines connect the places by mean over draws, with the best at the top, and end at the place at the point estimate.
    The area of a marker is the probability of that place. Steps at which the ranking changes are shaded.

    Parameters
    ----------
    swept
        Results of :func:`plausibly.sweep`.
    metric
        Name of a metric, such as ``"top3_accuracy"``.
    model
        Name of a model; not needed if there is only one.
    """
    model = only(list(swept.models), model)
    if not swept.classifiers:
        raise ArgumentError("the sweep has no classifier to rank: give predictions to it.")
    runs = [run for run in swept.models[model] if not np.isnan(run.reliability)]
    runs.sort(key=lambda run: run.reliability)
    table = swept.rankings(metric)
    table = table[table["model"] == model].reset_index(drop=True)
    shares = [rank_probabilities(run.results, metric).values for run in runs]
    last = swept.models[model][-1] if not runs else runs[-1]
    attrs = last.results[metric].attrs
    values = [run.results[metric].mean("draw").values for run in runs] + [last.results[f"{metric}_point"].values]
    places = np.stack([_places(goodness(row, attrs)) for row in values])
    n, limit = len(swept.classifiers), len(runs)
    ax = new_axes(ax, height=1.4 + 0.55 * n)
    for at in np.flatnonzero(table["changes"]):
        ax.axvspan(at - 0.72, at - 0.28, color=_BAND, lw=0, zorder=0)
        ax.annotate("changes", (at - 0.5, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", color=GREY)
    for position in range(n):
        style = {"color": colour(position), "marker": marker(position)}
        ax.plot(range(limit), places[:limit, position], color=colour(position), lw=2, zorder=2)
        if limit:
            ax.plot([limit - 1, limit], places[-2:, position], color=colour(position), lw=1, ls=":", zorder=2)
        for at in range(limit):
            place = places[at, position]
            x = at + _shift_of_tied(places[at], position)
            share = shares[at][position, int(np.floor(place)) - 1]
            ax.plot([x], [place], ls="", ms=max(2.5, _LARGEST * np.sqrt(share)), mec="white", zorder=3, **style)
        x = limit + _shift_of_tied(places[-1], position)
        ax.plot([x], [places[-1, position]], ls="", ms=8, mfc="white", mew=1.8, zorder=3, **style)
    for place in np.unique(places[-1]):
        tied = np.flatnonzero(places[-1] == place)
        for row, position in enumerate(tied):
            offset = (12, -12 * (row - (len(tied) - 1) / 2))
            name_end(ax, swept.classifiers[position], (limit, place), offset, colour(position))
    limit_axis(ax, [run.reliability for run in runs], 0.35)
    ax.set_yticks(range(1, n + 1))
    ax.set(ylabel="place", ylim=(n + 0.5, 0.5))
    ax.set_title(f"{model}, {metric_name(metric)}", pad=18 if table["changes"].any() else 6)
    return ax


def _side_by_side(n: int) -> np.ndarray:
    """Shifts of n marks that would otherwise stand on one another, in steps of reliability.

    Examples
    --------
    >>> _side_by_side(1).tolist(), _side_by_side(3).round(2).tolist()
    ([0.0], [-0.08, 0.0, 0.08])
    """
    apart = min(_APART, _SPREAD / max(n - 1, 1))
    return (np.arange(n) - (n - 1) / 2) * apart


def _shift_of_tied(places: np.ndarray, position: int) -> float:
    """Shift of the mark of a classifier among those that share its place.

    Examples
    --------
    >>> [round(float(_shift_of_tied(np.array([1.5, 3, 1.5]), position)), 2) for position in range(3)]
    [-0.04, 0.0, 0.04]
    """
    tied = np.flatnonzero(places == places[position])
    return _side_by_side(len(tied))[np.searchsorted(tied, position)]


def _places(values: np.ndarray) -> np.ndarray:
    """Places, 1 for the greatest value; equal values share the mean of their places."""
    greater = (values[:, None] > values + 1e-9).sum(axis=0)
    equal = (np.abs(values[:, None] - values) <= 1e-9).sum(axis=0)
    return 1 + greater + (equal - 1) / 2
