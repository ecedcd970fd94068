"""A metric under other priors and conventions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plausibly.model_comparison import Sensitivity
from plausibly.model_comparison._prior_sensitivity import BASELINE
from plausibly.plots._style import GREY, colour, grid, marker, name_rows, new_axes, only, plain
from plausibly.plots._words import metric_name


def prior_sensitivity(result: Sensitivity, metric: str, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a metric under every choice, changed one at a time.

    Each choice has a row, the baseline at the top, with a mark per classifier and the 94 % interval over draws. Dotted
    lines extend the baselines.

    Parameters
    ----------
    result
        Result of :func:`plausibly.prior_sensitivity`.
    metric
        Name of a metric, such as ``"top1_accuracy"`` or ``"annotation_certainty_1"``.
    model
        Model with its reliability; not needed if there is only one.
    """
    own = result.of(metric)
    model = only(list(dict.fromkeys(result.table["model"])), model)
    own = own.loc[own["model"] == model]
    choices = list(dict.fromkeys(zip(own["choice"], own["value"], strict=True)))
    classifiers = list(dict.fromkeys(own["classifier"]))
    ax = new_axes(ax, 7.0, 1.6 + (0.2 + 0.16 * len(classifiers)) * len(choices))
    step = 0.6 / len(classifiers)
    for number, classifier in enumerate(classifiers):
        shade, shape = (colour(number), marker(number)) if classifier else (GREY, "o")
        rows = own.loc[own["classifier"] == classifier].set_index(["choice", "value"]).loc[choices]
        places = np.arange(len(choices)) + step * (number - (len(classifiers) - 1) / 2)
        ax.axvline(rows.loc[(BASELINE, ""), "mean"], color=shade, lw=1, ls=":", zorder=1)
        ax.hlines(places, rows["lower"], rows["upper"], color=shade, lw=2, zorder=2)
        style = {"color": shade, "ms": 6, "mec": "white", "ls": "", "zorder": 3}
        ax.plot(rows["mean"], places, marker=shape, label=plain(classifier, 24) or None, **style)
    if classifiers != [""]:
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(len(classifiers), 4))
    name_rows(ax, range(len(choices)), [f"{choice} {value}".strip() for choice, value in choices])
    ax.get_yticklabels()[0].set_fontweight("bold")
    grid(ax, "x")
    ax.set_ylim(len(choices) - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    usual = ", ".join(f"{name} {value}" for name, value in result.baselines[model].items())
    ax.set_xlabel(f"{metric_name(metric)}, {plain(model)}" + (f"\n(baseline: {usual})" if usual else ""))
    return ax


def prior_sensitivities(result: Sensitivity, metrics: Sequence[str] | None = None) -> Figure:
    """Draw several metrics of all models in one figure, with a column per metric and a row per model.

    Parameters
    ----------
    result
        Result of :func:`plausibly.prior_sensitivity`.
    metrics
        Names of metrics; by default the accuracies of the first choice and of the longest list, and the annotation
        certainty, if available.
    """
    if metrics is None:
        accuracies = [name for name in result.metrics if name.startswith("top") and name.endswith("_accuracy")]
        accuracies = [name for name in accuracies if not name.endswith("_set_accuracy")]
        metrics = list(dict.fromkeys([*accuracies[:1], *accuracies[-1:]]))
        metrics += [name for name in result.metrics if name == "annotation_certainty_1"]
    models = list(dict.fromkeys(result.table["model"]))
    heights = [
        1.5 + 0.34 * len(own[["choice", "value"]].drop_duplicates()) * (1 + 0.2 * own["classifier"].nunique())
        for own in (result.table.loc[result.table["model"] == model] for model in models)
    ]
    figure = Figure(figsize=(4.4 * len(metrics), sum(heights)), layout="constrained")
    axes = figure.subplots(len(models), len(metrics), squeeze=False, height_ratios=heights)
    for row, model in enumerate(models):
        for column, metric in enumerate(metrics):
            ax = prior_sensitivity(result, metric, model, ax=axes[row, column])
            if column:
                ax.set_yticklabels([])
                if (legend := ax.get_legend()) is not None:
                    legend.remove()
    return figure
