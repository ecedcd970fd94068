"""Accuracy against panels of experts, by their size."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from plausibly.bootstrap import CI_PROB, interval
from plausibly.errors import ArgumentError
from plausibly.evaluation.comparison import metric_by_draw
from plausibly.plots._style import GREY, colour, grid, marker, name_ends, new_axes

_HUMAN = "a further expert"


def panel_curve(
    results: xr.Dataset, limit: xr.Dataset | None = None, ci_prob: float = CI_PROB, *, ax: Axes | None = None
) -> Axes:
    """Draw how often each classifier, and a further expert, names the most frequent class of a panel, by its size.

    At 1, and at 2, this is the agreement with an expert. Bands are intervals for new cases like these; without
    replicates, there are none.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluation.panels`.
    limit
        Results of :func:`plausibly.evaluate` for the same classifiers: their accuracy under the model, against the most
        plausible class, which is the limit of very large panels. It is drawn at the right, with total intervals if
        there are replicates, else annotation intervals.
    ci_prob
        Probability of the intervals.
    """
    if not isinstance(results, xr.Dataset) or "panel_accuracy" not in results:
        raise ArgumentError(
            "results must be those of pb.evaluation.panels, but they have no panel_accuracy: compute them from the "
            "annotations and predictions."
        )
    names, n = results["classifier"].values.tolist(), results["n"].values
    limits = None if limit is None else _limits(limit, names, ci_prob)
    ax = new_axes(ax)
    curves = [(name, results.sel(classifier=name), "panel_accuracy", colour(i)) for i, name in enumerate(names)]
    ends = []
    for at, (name, own, metric, shade) in enumerate([*curves, (_HUMAN, results, "human_panel", GREY)]):
        values = own[metric].values
        if np.isnan(values).all():
            continue
        style = {"color": shade, "lw": 2, "ls": "--" if name == _HUMAN else "-"}
        ax.plot(n, values, marker=None if name == _HUMAN else marker(at), ms=5, label=name, **style)
        if f"{metric}_total" in own:
            lower, upper = interval(own[f"{metric}_total"].transpose("replicate", "n").values, ci_prob)
            ax.fill_between(n, lower, upper, color=shade, alpha=0.13, lw=0)
        last = np.flatnonzero(~np.isnan(values))[-1]
        end = float(values[last])
        if limits is not None and metric == "panel_accuracy":
            mean, lower, upper = limits[name]
            place = n[-1] + 1 + 0.12 * (at - (len(names) - 1) / 2)
            ax.plot([float(n[last]), place], [end, mean], color=shade, lw=1, ls=":")
            ax.plot([place, place], [lower, upper], color=shade, lw=2)
            ax.plot([place], [mean], marker=marker(at), ms=7, mec=shade, mfc="white", mew=1.8, ls="")
            end = mean
        ends.append((name, end, shade))
    name_ends(ax, ends, n[-1] + (limits is not None), 12)
    shown = n[:: 1 + len(n) // 10].tolist()
    ax.set_xticks(shown)
    if limits is not None:
        ax.set_xticks([*shown, n[-1] + 1], [*map(str, shown), "most\nplausible"])
        ax.axvline(n[-1] + 0.5, color=GREY, lw=0.8, ls=(0, (2, 3)), zorder=1)
    ax.set(xlabel="experts in a panel", ylabel="panels whose most frequent class is named")
    ax.set_xlim(0.75, n[-1] + 0.25 + (limits is not None))
    grid(ax, "y")
    return ax


def _limits(limit: xr.Dataset, names: list[str], ci_prob: float) -> dict[str, tuple[float, float, float]]:
    """Accuracy of each classifier under the model: mean, lower and upper end."""
    metric = "top1_accuracy"
    by_draw = metric_by_draw(limit, metric)
    if missing := sorted(set(names) - set(by_draw["classifier"].values.tolist())):
        raise ArgumentError(f"there is no classifier {missing[0]!r} in limit: evaluate the same classifiers.")
    total = limit.get(f"{metric}_total")
    spread_of = by_draw if total is None or total.isnull().any() else total
    found = {}
    for name in names:
        lower, upper = interval(spread_of.sel(classifier=name).values, ci_prob)
        found[name] = float(by_draw.sel(classifier=name).mean()), float(lower), float(upper)
    return found
