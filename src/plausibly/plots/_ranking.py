"""Where the ranking of classifiers changes with the reliability."""

import numpy as np
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.evaluation.comparison import rank_probabilities
from plausibly.plots._style import GREY, colour, marker, metric_name, new_axes, plain
from plausibly.sweeps import Sweep

_LARGEST = 15.0  # points, of the marker of a certain place
_BAND = "#FBEBD3"


def ranking_by_reliability(swept: Sweep, metric: str, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the place of every classifier over the reliabilities of one model, and where places change.

    Parameters
    ----------
    swept
        From :func:`plausibly.sweep`.
    metric
        One of its metrics, such as ``"top3_accuracy"``.
    model
        One of its models; may be left out where there is only one.
    ax
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A line per classifier through its places by the mean over draws, the best on top, and at the right by the point
        estimate. The area of a marker is the share of draws in which the classifier has that place. Steps between which
        the ranking changes are shaded.

    Raises
    ------
    ArgumentError
        If there is no such metric or model, or there is no classifier.

    Examples
    --------
    >>> annotations = pb.Annotations.from_rankings([[[["a"], ["b"]], [["b"]]], [[["a"]], [["a"]]]])
    >>> scores = {"A": [[0.9, 0.1], [0.8, 0.2]], "B": [[0.2, 0.8], [0.6, 0.4]]}
    >>> swept = pb.sweep(annotations, scores, {"prirn": (10, 100)}, k=1, progress=False)
    >>> ranking_by_reliability(swept, "top1_accuracy").get_title()
    'prirn, top-1 accuracy'
    """
    names = list(swept.models)
    if model is None and len(names) > 1:
        raise ArgumentError(f"the sweep has {len(names)} models, but none was chosen: choose from {', '.join(names)}.")
    model = names[0] if model is None else model
    if model not in names:
        raise ArgumentError(f"the sweep has no model {model!r}: choose from {', '.join(names)}.")
    if not swept.classifiers:
        raise ArgumentError("the sweep has no classifier to rank: give predictions to it.")
    runs = sorted(
        (run for run in swept.models[model] if not np.isnan(run.reliability)), key=lambda run: run.reliability
    )
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
            ax.annotate(
                plain(swept.classifiers[position], 24),
                (limit, place),
                xytext=(12, -12 * (row - (len(tied) - 1) / 2)),
                textcoords="offset points",
                color=colour(position),
                va="center",
                fontweight="bold",
                annotation_clip=False,
            )
    if limit:
        ax.axvline(limit - 0.5, color=GREY, lw=0.8, ls=(0, (2, 3)), zorder=1)
    ax.set_xticks(range(limit + 1), [f"{run.reliability:g}" for run in runs] + ["point\nestimate"])
    ax.set_yticks(range(1, n + 1))
    ax.set(xlabel="reliability", ylabel="place", xlim=(-0.35, limit + 0.35), ylim=(n + 0.5, 0.5))
    ax.set_title(f"{model}, {metric_name(metric)}", pad=18 if table["changes"].any() else 6)
    return ax


def _places(values: np.ndarray) -> np.ndarray:
    """Places from 1, the greatest value's; equal values share the mean of theirs."""
    greater = (values[:, None] > values + 1e-9).sum(axis=0)
    equal = (np.abs(values[:, None] - values) <= 1e-9).sum(axis=0)
    return 1 + greater + (equal - 1) / 2
