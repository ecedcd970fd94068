"""Figures of sets of answers and of plans."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plausibly.app.plots.style import GREY, colour, draw_rows, grid, marker, name_rows, new_axes, new_figure, plain
from plausibly.metrics.words import metric_name

if TYPE_CHECKING:
    from plausibly.decisions.conformal._coverage_result import Coverage
    from plausibly.decisions.conformal._result import Conformal
    from plausibly.decisions.planning._result import Plan

_POINTS = 2000  # of a curve
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
_MANY = 5  # curves, from which on their names stand beside the axes
_WORDS = {"vote": "the vote", "annotator": "the next annotator", "plausibility": "plausibilities"}


def plot_thresholds(result: "Conformal", ax: Axes | None = None) -> Axes:
    """Draw what is guaranteed at every threshold, and the thresholds chosen; a line per classifier and group."""
    ax = new_axes(ax)
    grid(ax, "y")
    wanted = result.alpha if result.loss else 1 - result.alpha
    ax.axhline(wanted, color=GREY, lw=0.9, ls=(0, (4, 3)), zorder=1)
    for (name, group), curve in result.curves.items():
        if not len(curve.scores):
            continue
        scores = curve.scores[np.unique(np.linspace(0, len(curve.scores) - 1, _POINTS).astype(int))]
        risk = curve.risk(scores)
        label = name if result.groups == ["all"] else f"{name}, {group}"
        number, of = result.classifiers.index(name), result.groups.index(group)
        shade = colour(number if len(result.groups) == 1 else of)
        dashes = "-" if len(result.groups) == 1 else _DASHES[number % len(_DASHES)]
        ax.step(
            scores, risk if result.loss else 1 - risk, where="pre", color=shade, lw=2, ls=dashes, label=plain(label, 30)
        )
        chosen = float(result.threshold.sel(classifier=name, group=group))
        if np.isfinite(chosen):
            found = float(curve.risk(np.array(chosen)))
            style = {"marker": marker(number), "ms": 8, "mfc": "white", "mec": shade, "mew": 2, "ls": "", "zorder": 4}
            ax.plot(chosen, found if result.loss else 1 - found, **style)
    least, most = ("expected risk of what is missed, at most", None) if result.loss else ("coverage, at least", 1.02)
    ax.set(xlabel=f"threshold of the score ({result.score.name})", ylabel=least)
    ax.set_ylim(0, most)
    beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(result.curves) >= _MANY else {"loc": "best"}
    ax.legend(frameon=False, **beside)
    return ax


def plot_coverage(result: "Coverage") -> Figure:
    """Draw coverage by what sets were calibrated for and by what is asked of them, and the sizes of the sets.

    Points are means over splits, lines the intervals over splits; filled points are what sets were calibrated for.
    """
    table = result.table[result.table["group"] == "all"]
    alphas, targets, classifiers = (list(dict.fromkeys(table[name])) for name in ("alpha", "target", "classifier"))
    rows = [(alpha, target, name) for alpha in alphas for target in targets for name in classifiers]
    found = table.set_index(["alpha", "target", "classifier"]).loc[rows]
    # A gap between targets, and a larger one between levels.
    blocks = np.array([alphas.index(a) * len(targets) + targets.index(t) for a, t, _ in rows])
    places = -(np.arange(len(rows)) + 0.35 * blocks + 0.7 * np.array([alphas.index(a) for a, _, _ in rows]))
    height = 0.9 + 0.26 * (places.max() - places.min() + 1)
    panels = [*result.measures, "size"]
    figure, axes = new_figure(2.4 + 2.5 * len(panels), height, 1, len(panels))
    for ax, what in zip(axes.flat, panels, strict=True):
        ax.spines[["top", "right"]].set_visible(False)
        grid(ax, "x")
        for number, classifier in enumerate(classifiers):
            own = np.array([name == classifier for *_, name in rows])
            shown = found[own].rename(columns={what: "mean", f"{what}_lower": "lower", f"{what}_upper": "upper"})
            hollow = shown.index.get_level_values("target") != what
            draw_rows(ax, places[own], shown, colour(number), marker(number), hollow=hollow)
        for alpha in alphas if what != "size" else ():
            own = places[[row[0] == alpha for row in rows]]
            level = alpha if result.loss else 1 - alpha
            ax.plot([level] * 2, [own.min() - 0.5, own.max() + 0.5], color="black", lw=1, ls=(0, (4, 3)), zorder=1)
        words = f"{'risk missed of' if result.loss else 'coverage of'} {_WORDS.get(what, '')}"
        ax.set_title("mean size of the sets" if what == "size" else words, fontsize="medium", loc="left")
        ax.set_yticks([])
        ax.set_ylim(places.min() - 0.7, places.max() + 0.7)
    axes.flat[-1].set_xlim(left=0)
    levels = [f"{a:g}" if result.loss else f"{100 * (1 - a):g} %" for a, _, _ in rows]
    names = [f"{level}, for {_WORDS[t]}: {plain(n, 16)}" for level, (_, t, n) in zip(levels, rows, strict=True)]
    name_rows(axes.flat[0], places, names)
    return figure


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
