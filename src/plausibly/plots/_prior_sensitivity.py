"""A metric under other priors and conventions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plausibly.errors import ArgumentError
from plausibly.model_comparison._prior_sensitivity import BASELINE, Sensitivity, check_metric
from plausibly.plots._style import GREY, colour, marker, metric_name, new_axes, plain


def prior_sensitivity(result: Sensitivity, metric: str, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a metric under every choice that was made otherwise than usual.

    Parameters
    ----------
    result
        From :func:`plausibly.prior_sensitivity`.
    metric
        One of its metrics, such as ``"top1_accuracy"`` or ``"annotation_certainty_1"``.
    model
        One of its models, with its reliability; may be left out where there is only one.
    ax
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each choice, the baseline on top, and in it a mark per classifier with the 94 % interval over draws;
        dotted lines lead the baselines down.

    Raises
    ------
    ArgumentError
        If there is no such metric or model.
    """
    check_metric(result, metric)
    models = list(dict.fromkeys(result.table["model"]))
    if model is None and len(models) > 1:
        raise ArgumentError(f"there are {len(models)} models, but none was chosen: choose from {', '.join(models)}.")
    model = models[0] if model is None else model
    own = result.table.loc[(result.table["model"] == model) & (result.table["metric"] == metric)]
    if not len(own):
        raise ArgumentError(f"there is no model {model!r} with {metric!r} here: choose from {', '.join(models)}.")
    choices = list(dict.fromkeys(zip(own["choice"], own["value"], strict=True)))
    classifiers = list(dict.fromkeys(own["classifier"]))
    ax = new_axes(ax, 7.0, 1.6 + (0.2 + 0.16 * len(classifiers)) * len(choices))
    step = 0.6 / len(classifiers)
    for number, classifier in enumerate(classifiers):
        shade = GREY if classifier == "" else colour(number)
        shape = "o" if classifier == "" else marker(number)
        rows = own.loc[own["classifier"] == classifier].set_index(["choice", "value"])
        ax.axvline(rows.loc[(BASELINE, ""), "mean"], color=shade, lw=1, ls=":", zorder=1)
        for at, choice in enumerate(choices):
            row = rows.loc[choice]
            place = at + step * (number - (len(classifiers) - 1) / 2)
            if np.isfinite(row["lower"]):
                ax.hlines(place, row["lower"], row["upper"], color=shade, lw=2, zorder=2)
            label = plain(classifier, 24) if at == 0 and classifier else None
            ax.plot([row["mean"]], [place], shape, color=shade, ms=6, mec="white", zorder=3, label=label)
    if classifiers != [""]:
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(len(classifiers), 4))
    usual = ", ".join(f"{name} {value}" for name, value in result.baselines[model].items())
    ax.set_yticks(range(len(choices)), [f"{choice} {value}".strip() for choice, value in choices])
    ax.get_yticklabels()[0].set_fontweight("bold")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    ax.set_ylim(len(choices) - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel(f"{metric_name(metric)}, {plain(model)}" + (f"\n(baseline: {usual})" if usual else ""))
    return ax


def prior_sensitivities(result: Sensitivity, metrics: Sequence[str] | None = None) -> Figure:
    """Draw several metrics of all models as one figure, a column per metric and a row per model.

    Parameters
    ----------
    result
        From :func:`plausibly.prior_sensitivity`.
    metrics
        By default the accuracy of the first choice, that of the longest list, and the certainty of the annotations, as
        far as they are there.

    Raises
    ------
    ArgumentError
        If there is no such metric.
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
