"""Figures of forecasts."""

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plausibly.plots.style import GREY, colour, grid, marker, new_figure, plain
from plausibly.plots.words import metric_name

if TYPE_CHECKING:
    from plausibly.planning._result import Plan

_WIDTH, _HEIGHT = 4.6, 3.6  # of a panel


def plot_forecast(plan: "Plan") -> Figure:
    """Draw the expected width of every classifier's interval and, of a pair, the probability of a decision.

    Bands around widths hold the central 90 % of simulated budgets, the band around the probability is its Monte Carlo
    interval, and dashed lines are the same number of labels for cases at random.
    """
    table = plan.forecast
    if "information" in table:
        figure, axes = new_figure(_WIDTH, _HEIGHT)
        ax = axes[0, 0]
        ax.plot(table["labels"], table["information"], color=colour(0), lw=2)
        _finish(ax, "expected information (nats)")
        return figure
    widths = table[(table["versus"] != "") if plan.goal == "better" else (table["versus"] == "")]
    pairs = table[table["versus"] != ""]
    figure, axes = new_figure(_WIDTH * (1 + bool(len(pairs))), _HEIGHT, 1, 1 + bool(len(pairs)))
    ax = axes[0, 0]
    for at, ((name, versus), rows) in enumerate(widths.groupby(["classifier", "versus"], sort=False)):
        label = plain(f"{name} − {versus}" if versus else name, 24)
        ax.fill_between(rows["labels"], rows["width_lower"], rows["width_upper"], color=colour(at), alpha=0.2, lw=0)
        ax.plot(rows["labels"], rows["width"], color=colour(at), lw=2, marker=marker(at), ms=5, label=label)
        ax.plot(rows["labels"], rows["width_at_random"], color=colour(at), lw=1.2, ls=(0, (4, 3)))
    ax.plot([], [], color=GREY, lw=1.2, ls=(0, (4, 3)), label="cases at random")
    _finish(ax, f"width of the {100 * plan.ci_prob:g} % interval")
    ax.set_title(metric_name(plan.metric), fontsize="medium", loc="left")
    ax.legend(frameon=False, fontsize="small")
    if len(pairs):
        ax, pair = axes[0, 1], pairs.iloc[0]
        ax.fill_between(pairs["labels"], pairs["decided_lower"], pairs["decided_upper"], color=GREY, alpha=0.25, lw=0)
        ax.plot(pairs["labels"], pairs["decided"], color="black", lw=2)
        words = f"{plain(pair['classifier'], 16)} or {plain(pair['versus'], 16)} better?"
        ax.set_title(f"{words} Settled at {plan.level:g}", fontsize="medium", loc="left")
        _finish(ax, "probability that it is settled")
        ax.set_ylim(-0.02, 1.02)
    return figure


def _finish(ax, words: str) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    grid(ax, "y")
    ax.set(xlabel="further labels", ylabel=words)
    ax.margins(x=0.02)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(0, 1.04 * ax.get_ylim()[1])
