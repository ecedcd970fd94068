"""What a fitted model would have had annotators say, beside what they said."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.model_comparison import PredictiveCheck
from plausibly.plots._style import COLOURS, GREY, colour, marker, new_axes, plain

_FARTHEST = 6.0  # standard deviations; beyond, an arrow
_CHECKED = ("reproduced", "not reproduced")


def predictive_checks(checks: PredictiveCheck | Mapping[str, PredictiveCheck], *, ax: Axes | None = None) -> Axes:
    """Draw where the observed statistics lie among those of replicates, of one model or several.

    Parameters
    ----------
    checks
        From :func:`plausibly.predictive_check`; several by what to call them.
    ax
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each statistic that a model speaks of, with the observed value in standard deviations of the
        replicates from their mean, the replicates' 94 % interval as a band, and both values as text. What lies beyond
        six standard deviations stands at the edge as an arrow.

    Raises
    ------
    ArgumentError
        If there is nothing to draw.

    Examples
    --------
    >>> annotations = pb.Annotations.from_counts([[4, 1, 0], [0, 5, 0], [1, 1, 3]])
    >>> posterior = pb.aggregate(annotations, "majority-vote", progress=False)
    >>> ax = predictive_checks(pb.predictive_check(posterior, progress=False))
    >>> [label.get_text() for label in ax.get_yticklabels()][0]
    "overlap of two annotators' first blocks"
    """
    named = dict(checks) if isinstance(checks, Mapping) else {checks.model: checks}
    tables = {name: check.table.set_index("statistic") for name, check in named.items()}
    tables = {name: table[table["status"].isin(_CHECKED)] for name, table in tables.items()}
    shown = list(dict.fromkeys(statistic for table in tables.values() for statistic in table.index))
    if not shown:
        raise ArgumentError("there is no statistic to draw, for the models speak of none of them: check another model.")
    described = {s: row["description"] for table in tables.values() for s, row in table.iterrows()}
    # A line for each model that speaks of a statistic, and half of one between statistics.
    speaking = [[name for name, table in tables.items() if statistic in table.index] for statistic in shown]
    first = np.cumsum([0.0, *(len(names) + (0.5 if len(tables) > 1 else 0.0) for names in speaking)])
    ax = new_axes(ax, 8.5, 1.5 + 0.32 * first[-1])
    ax.axvline(0, color=GREY, lw=0.8, ls=(0, (2, 3)), zorder=1)
    places, texts, shades = [], [], []
    for statistic, start, names in zip(shown, first, speaking, strict=False):
        for line, name in enumerate(names):
            row, number, place = tables[name].loc[statistic], list(tables).index(name), start + line
            sd = max(row["sd"], 1e-9)
            low, high = ((row[side] - row["mean"]) / sd for side in ("lower", "upper"))
            at = (row["observed"] - row["mean"]) / sd
            ax.hlines(place, low, high, color="0.85", lw=6, zorder=1)
            good = row["status"] == "reproduced"
            shade = colour(number) if len(tables) > 1 else COLOURS[0] if good else COLOURS[1]
            shape = ("<" if at < 0 else ">") if abs(at) > _FARTHEST else marker(number)
            at = float(np.clip(at, -_FARTHEST, _FARTHEST))
            ax.plot([at], [place], shape, color=shade, ms=7, mfc="white" if good else shade, mew=1.6, zorder=3)
            places.append(place)
            texts.append(f"{row['observed']:.3g}, replicated {row['mean']:.3g}")
            shades.append(shade)
    beside = ax.secondary_yaxis("right")
    beside.set_yticks(places, texts)
    beside.spines["right"].set_visible(False)
    for label, shade in zip(beside.get_yticklabels(), shades, strict=True):
        label.set_color(shade)
    if len(tables) > 1:
        for number, name in enumerate(tables):
            ax.plot([], [], marker(number), color=colour(number), mfc="white", mew=1.6, label=plain(name, 28))
        columns = min(len(tables), 3)
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.02), ncols=columns)
    middles = [start + (len(names) - 1) / 2 for start, names in zip(first, speaking, strict=False)]
    ax.set_yticks(middles, [described[statistic] for statistic in shown])
    for axis in (ax, beside):
        axis.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    ax.set(xlim=(-1.08 * _FARTHEST, 1.08 * _FARTHEST), ylim=(places[-1] + 0.6, -0.6))
    ax.set_xlabel(
        "observed value, in standard deviations of replicates\n(their 94 % interval in grey; hollow if within it)"
    )
    return ax


def replicate_histogram(check: PredictiveCheck, statistic: str, *, ax: Axes | None = None) -> Axes:
    """Draw one statistic of the replicates as a histogram, and the observed value as a line.

    Parameters
    ----------
    check
        From :func:`plausibly.predictive_check`.
    statistic
        One that the model speaks of, such as ``"first_agreement"``.
    ax
        Where to draw.

    Raises
    ------
    ArgumentError
        If there is no such statistic, or the model says nothing of it.
    """
    table = check.table.set_index("statistic")
    known = list(table.index[table["status"].isin(_CHECKED)])
    if statistic not in known:
        names = ", ".join(known) or "none"
        raise ArgumentError(f"{check.model} has no replicates of {statistic!r}: choose from {names}.")
    row = table.loc[statistic]
    values = check.replicated.sel(statistic=statistic).values
    values = values[np.isfinite(values)]
    ax = new_axes(ax)
    ax.hist(values, bins=25 if np.ptp(values) > 0 else 1, color="0.8", label="replicates")
    shade = COLOURS[0] if row["status"] == "reproduced" else COLOURS[1]
    ax.axvline(
        row["observed"], color=shade, lw=2.5, label=f"observed ({row['probability']:.0%} of replicates exceed it)"
    )
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0))
    ax.set(xlabel=row["description"], ylabel="replicates")
    return ax
