"""Ranking of classifiers against reliability."""

import numpy as np
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.evaluation.comparison import rank_probabilities
from plausibly.plots._style import GREY, colour, limit_axis, marker, metric_name, name_end, new_axes, only
from plausibly.sweeps import Sweep

_LARGEST = 15.0  # points, of the marker of a certain place
_BAND = "#FBEBD3"


def ranking_by_reliability(swept: Sweep, metric: str, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the place of every classifier against the reliability of one model, and where places change.

    Lines connect the places by the mean over draws, the best on top, and end at the place at the point estimate. The
    area of a marker is the probability of that place. Steps at which the ranking changes are shaded.

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
    smaller = last.results[metric].attrs.get("better") == "smaller"
    values = [run.results[metric].mean("draw").values for run in runs] + [last.results[f"{metric}_point"].values]
    places = np.stack([_places(-row if smaller else row) for row in values])
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
            share = shares[at][position, int(np.floor(place)) - 1]
            ax.plot([at], [place], ls="", ms=max(2.5, _LARGEST * np.sqrt(share)), mec="white", zorder=3, **style)
        ax.plot([limit], [places[-1, position]], ls="", ms=8, mfc="white", mew=1.8, zorder=3, **style)
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


def _places(values: np.ndarray) -> np.ndarray:
    """Places, 1 for the greatest value; equal values share the mean of their places."""
    greater = (values[:, None] > values + 1e-9).sum(axis=0)
    equal = (np.abs(values[:, None] - values) <= 1e-9).sum(axis=0)
    return 1 + greater + (equal - 1) / 2
