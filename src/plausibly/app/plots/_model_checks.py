"""Checks of models: replicates of the annotations beside the annotations, and a metric under other priors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plausibly.aggregation.model_comparison import PredictiveCheck, Sensitivity
from plausibly.aggregation.model_comparison.sensitivities import BASELINE
from plausibly.app.plots.style import (
    COLOURS,
    DOTTED,
    GREY,
    colour,
    draw_rows,
    finish_rows,
    grid,
    marker,
    name_rows,
    new_axes,
    number_rows,
    only,
    plain,
)
from plausibly.base.errors import ArgumentError
from plausibly.base.names import many
from plausibly.metrics.words import metric_name

_FARTHEST = 6.0  # standard deviations; beyond, an arrow
_CHECKED = ("reproduced", "not reproduced")


def predictive_checks(checks: PredictiveCheck | Mapping[str, PredictiveCheck], *, ax: Axes | None = None) -> Axes:
    """Draw where the observed statistics lie among those of replicates, for one or several models.

    Each statistic that a model can reproduce has a row: the observed value in standard deviations of the replicates
    from their mean, the replicates' interval as a band, and both values as text. An arrow at the edge means more
    than six standard deviations.

    Parameters
    ----------
    checks
        Check from :func:`plausibly.predictive_check`, or several of them by label.
    """
    named = dict(checks) if isinstance(checks, Mapping) else {checks.model: checks}
    tables = {name: _checked(check) for name, check in named.items()}
    several = len(tables) > 1
    shown = list(dict.fromkeys(statistic for table in tables.values() for statistic in table.index))
    if not shown:
        raise ArgumentError("there is no statistic to draw, as the models reproduce none: check another model.")
    gap = 0.5 if several else 0.0  # between statistics
    ax = new_axes(ax, 8.5, 1.5 + 0.32 * (sum(map(len, tables.values())) + gap * len(shown)))
    ax.axvline(0, **DOTTED)
    next_row, places, texts, shades, middles, described = 0.0, [], [], [], [], []
    for statistic in shown:
        first = next_row
        for number, table in enumerate(tables.values()):
            if statistic not in table.index:
                continue
            row = table.loc[statistic]
            good = row["status"] == "reproduced"
            shade = colour(number) if several else COLOURS[0] if good else COLOURS[1]
            sd = max(row["sd"], 1e-9)
            low, high, at = ((row[name] - row["mean"]) / sd for name in ("lower", "upper", "observed"))
            ax.hlines(next_row, low, high, color="0.85", lw=6, zorder=1)
            shape = ("<" if at < 0 else ">") if abs(at) > _FARTHEST else marker(number)
            style = {"color": shade, "ms": 7, "mfc": "white" if good else shade, "mew": 1.6, "zorder": 3}
            ax.plot([np.clip(at, -_FARTHEST, _FARTHEST)], [next_row], shape, **style)
            places.append(next_row)
            texts.append(f"{row['observed']:.3g}, replicated {row['mean']:.3g}")
            shades.append(shade)
            next_row += 1
        middles.append((first + next_row - 1) / 2)
        described.append(row["description"])
        next_row += gap
    right = number_rows(ax, places, texts)
    for label, shade in zip(right.get_yticklabels(), shades, strict=True):
        label.set_color(shade)
    if several:
        for number, name in enumerate(tables):
            ax.plot([], [], marker(number), color=colour(number), mfc="white", mew=1.6, label=plain(name, 28))
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.02), ncols=min(len(tables), 3))
    name_rows(ax, middles, described)
    grid(ax, "x")
    ax.set(xlim=(-1.08 * _FARTHEST, 1.08 * _FARTHEST), ylim=(places[-1] + 0.6, -0.6))
    ax.set_xlabel(
        "observed value, in standard deviations of replicates\n"
        f"(their {100 * next(iter(named.values())).ci_prob:g} % interval in grey; hollow if within it)"
    )
    return ax


def replicate_histogram(check: PredictiveCheck, statistic: str, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of one statistic of the replicates, and the observed value as a line.

    Parameters
    ----------
    check
        Check from :func:`plausibly.predictive_check`.
    statistic
        Name of a statistic that the model can reproduce, such as ``"first_agreement"``.
    """
    table = _checked(check)
    if statistic not in table.index:
        known = ", ".join(table.index) or "none"
        raise ArgumentError(f"{check.model} has no replicates of {statistic!r}: choose from {known}.")
    row = table.loc[statistic]
    values = check.replicated.sel(statistic=statistic).values
    values = values[np.isfinite(values)]
    ax = new_axes(ax)
    ax.hist(values, bins=25 if np.ptp(values) > 0 else 1, color="0.8", label="replicates")
    shade = COLOURS[0] if row["status"] == "reproduced" else COLOURS[1]
    words = f"observed ({row['probability']:.0%} of replicates exceed it)"
    ax.axvline(row["observed"], color=shade, lw=2.5, label=words)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0))
    ax.set(xlabel=row["description"], ylabel="replicates")
    return ax


def _checked(check: PredictiveCheck) -> pd.DataFrame:
    """Rows of the statistics that the model has replicates of."""
    table = check.table.set_index("statistic")
    return table[table["status"].isin(_CHECKED)]


def prior_sensitivity(result: Sensitivity, metric: str, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a metric under every choice, changed one at a time.

    Each choice has a row, the baseline at the top, with a mark per classifier and the interval over draws. Dotted
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
        draw_rows(ax, places, rows, shade, shape, label=plain(classifier, 24) or None)
    if classifiers != [""]:
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(len(classifiers), 4))
    usual = ", ".join(f"{name} {value}" for name, value in result.baselines[model].items())
    words = f"{metric_name(metric)}, {plain(model)}" + (f"\n(baseline: {usual})" if usual else "")
    finish_rows(ax, [f"{choice} {value}".strip() for choice, value in choices], words, 40)
    ax.get_yticklabels()[0].set_fontweight("bold")
    ax.xaxis.set_major_locator(MaxNLocator(4))
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


_COLUMNS = {"elpd", "elpd_diff", "dse", "weight", "impossible", "verdict"}


def model_comparison(compared: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how far models fall short of the best in predicting left-out annotations.

    Each model has a row, the best at the top, with its difference in elpd (expected log predictive density) from the
    best, ± 2 standard errors, hollow if the data do not show a difference; elpd and stacking weight are on the right. A
    model that gives an annotation probability zero has a note instead of the difference.

    Parameters
    ----------
    compared
        Comparison from :func:`plausibly.compare_models`.
    """
    table = getattr(compared, "table", None)
    if not isinstance(table, pd.DataFrame) or not set(table.columns) >= _COLUMNS:
        raise ArgumentError(
            f"a result of plausibly.compare_models is needed, but a {type(compared).__name__} was given: compare "
            "models first."
        )
    n = len(table)
    ax = new_axes(ax, 7.0, 1.5 + 0.36 * n)
    difference, dse = -table["elpd_diff"].to_numpy(float), table["dse"].fillna(0).to_numpy(float)
    rows = pd.DataFrame({"mean": difference, "lower": difference - 2 * dse, "upper": difference + 2 * dse})
    rows = rows[np.isfinite(difference)]
    ax.axvline(0, **DOTTED)
    verdicts = table["verdict"].to_numpy()[rows.index]
    shades = [COLOURS[int(verdict == "worse")] for verdict in verdicts]
    draw_rows(ax, rows.index, rows, shades, hollow=~np.isin(verdicts, ("best", "worse")))
    for row in np.flatnonzero(~np.isfinite(difference)):
        text = f"finds {many(int(table['impossible'].iloc[row]), 'annotation')} impossible"
        ax.annotate(text, (0, row), xytext=(-8, 0), textcoords="offset points", ha="right", va="center", color=GREY)
    difference_axis = "log predictive density:\ndifference from the best (± 2 standard errors)"
    finish_rows(ax, table.index.tolist(), difference_axis, 32)
    numbers = zip(table["elpd"], table["weight"], strict=True)
    texts = [f"{elpd:,.1f}, weight {weight:.2f}" for elpd, weight in numbers]
    number_rows(ax, range(n), [text.replace("-inf", "−∞").replace("-", "−") for text in texts])
    width = -rows["lower"].min() if rows["lower"].min() < 0 else 1.0
    ax.set_xlim(-1.06 * width, max(0.06 * width, 1.05 * rows["upper"].max()))
    return ax
