"""Figures of annotators: weighted reliability, inferred abilities and severities."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.special import logit

from plausibly.agreement import WeightedReliability, actual_accuracy, ground_truth_accuracy, required_reliability
from plausibly.agreement.annotators import annotator_reliabilities as tabulate
from plausibly.agreement.annotators import severities as tabulate_severities
from plausibly.app.plots.style import COLOURS, GREY, draw_rows, finish_rows, grid, new_axes, number_rows
from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.base.errors import ArgumentError

_LEAST = 0.5  # of the scales of a nomogram
_TICKS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


def reliability_by_case(result: WeightedReliability, *, ax: Axes | None = None) -> Axes:
    """Draw concordance and weighted reliability over cases, each sorted in increasing order.

    The area between the two curves is agreement that is probably wrong.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.weighted_reliability`.
    """
    ax = new_axes(ax)
    table = result.by_case()
    share = 100 * np.arange(1, len(table) + 1) / len(table)
    names = {"concordance": f"σ = {result.concordance:.3f}", "reliability": f"ϱ = {result.reliability:.3f}"}
    for (name, total), shade in zip(names.items(), (GREY, COLOURS[0]), strict=True):
        words = "concordance" if name == "concordance" else "weighted reliability"
        ax.plot(share, np.sort(table[name]), color=shade, lw=2, drawstyle="steps-mid", label=f"{words}, {total}")
    ax.legend(frameon=False, loc="upper left")
    ax.set(xlabel="cases, from least to most (%)", ylabel="mean over pairs of annotators", ylim=(-0.02, 1.02))
    grid(ax, "y")
    return ax


def annotator_abilities(result: WeightedReliability, ci_prob: float = CI_PROB, *, ax: Axes | None = None) -> Axes:
    """Draw the abilities of annotators under the Rasch model, with their posterior intervals.

    The most able annotator is at the top. The upper axis is the probability of being right about a case of average
    difficulty.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.weighted_reliability` with ``competence="rasch"``.
    ci_prob
        Probability of the intervals.
    """
    if result.posterior is None:
        raise ArgumentError(
            f"abilities are those of a Rasch model, but competence is {result.competence!r}: use competence='rasch'."
        )
    table = result.annotators(ci_prob).sort_values("ability", ascending=False)
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    rows = table.rename(columns={"ability": "mean", "ability_lower": "lower", "ability_upper": "upper"})
    draw_rows(ax, range(len(table)), rows, COLOURS[0])
    finish_rows(ax, table.index.tolist(), f"ability, log odds ({ci_prob:.0%} interval)")
    above = ax.secondary_xaxis("top")
    low, high = ax.get_xlim()
    shares = [p for p in (0.01, 0.05, 0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999) if low < logit(p) < high]
    above.set_xticks(logit(shares), [f"{p:g}" for p in shares])
    above.set_xlabel("probability of being right about an average case")
    above.spines["top"].set_visible(False)
    return ax


def annotator_reliabilities(
    posterior: Posterior, ci_prob: float = CI_PROB, *, most: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw the reliabilities of annotators with their intervals, the most reliable annotator at the top.

    The number of annotations is on the right. The more a reliability is shrunk towards the others, the fainter it is. A
    band shows the interval of the reliability of the data set.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.infer_reliability` with ``per="annotator"``.
    ci_prob
        Probability of the intervals.
    most
        Largest number of rows; if there are more annotators, those in the middle are left out.
    """
    table, more = _first_and_last(tabulate(posterior, ci_prob), most)
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    ax.axvspan(*interval(np.ravel(posterior["posterior"]["reliability"]), ci_prob), color="0.93", lw=0, zorder=0)
    opacity = 0.25 + 0.75 * (1 - table["shrinkage"].to_numpy())  # never too faint to see
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    words = f"reliability ({ci_prob:.0%} interval; band: data set{more})"
    return _annotators(ax, table, "reliability", words, "annotations", alpha=opacity)


def _first_and_last(table: pd.DataFrame, most: int) -> tuple[pd.DataFrame, str]:
    """Leave out the rows in the middle if there are more than `most`, and say how many."""
    left_out = max(len(table) - most, 0)
    rows = np.r_[: most - most // 2, len(table) - most // 2 : len(table)] if left_out else range(len(table))
    return table.iloc[rows], f"; {left_out} in between left out" if left_out else ""


def _annotators(ax: Axes, table: pd.DataFrame, value: str, words: str, counted: str, **look: Any) -> Axes:
    """Draw annotators from top to bottom, with the number of their answers on the right."""
    draw_rows(ax, range(len(table)), table.rename(columns={value: "mean"}), COLOURS[0], **look)
    finish_rows(ax, table["annotator"].tolist(), words)
    counts = [f"{n:,}" for n in table[counted]]
    number_rows(ax, range(len(table)), counts, GREY).set_ylabel(counted, color=GREY)
    return ax


def nomogram(
    measured: float | None = None, reliability: float | None = None, annotators: int = 1, *, ax: Axes | None = None
) -> Axes:
    """Draw three scales on which values that belong together lie on a straight line.

    The left scale is the measured accuracy of a model, the right one the accuracy of the labels with the corresponding
    weighted reliability ϱ, and the middle one the actual accuracy. Scales are logarithmic, because actual accuracy is a
    product. Lay a ruler over two values to read the third.

    Parameters
    ----------
    measured, reliability
        Values to draw a line through. Both accuracy scales begin at 0.5; below that, the actual accuracy is written
        under the scales instead.
    annotators
        Number of annotators whose majority vote gives each label.

    References
    ----------
    Cabitza, Campagner et al. (2020), The elephant in the machine, Applied Sciences 10, 4014.
    """
    ax = new_axes(ax, 5.5, 6.5)
    for x, name in ((0, "measured\naccuracy"), (1, "actual\naccuracy"), (2, "accuracy\nof the labels")):
        # Halfway between the others, the middle scale shows their product: twice as many decades to the same length.
        scale = 0.5 if x == 1 else 1.0
        ticks = _TICKS if x != 1 else (0.25, 0.3, 0.35, 0.4, 0.45, *_TICKS)
        ax.plot([x, x], [np.log(_LEAST), 0], color="black", lw=1)
        for tick in ticks:
            height = scale * np.log(tick)
            ax.plot([x - 0.03, x], [height, height], color="black", lw=1)
            ax.text(x - 0.06, height, f"{tick:.2f}", ha="right", va="center", fontsize=9)
        ax.text(x, 0.05, name, ha="right" if x == 2 else "center", va="bottom", fontweight="bold")
    ax.text(2.06, 0.05, "weighted\nreliability ϱ", ha="left", va="bottom", fontweight="bold", color=COLOURS[0])
    for tick in _reliability_ticks(annotators):
        height = np.log(ground_truth_accuracy(tick, annotators))
        ax.plot([2, 2.03], [height, height], color=COLOURS[0], lw=1)
        ax.text(2.06, height, f"{tick:.2f}", ha="left", va="center", fontsize=9, color=COLOURS[0])
    if measured is not None and reliability is not None:
        truth = ground_truth_accuracy(reliability, annotators)
        actual = actual_accuracy(measured, truth)
        style = {"color": COLOURS[1], "fontweight": "bold"}
        if min(measured, truth) < _LEAST:
            words = f"actual {actual:.2f} = measured {measured:.2f} × labels {truth:.2f}, off the scales"
            ax.text(1, np.log(_LEAST) - 0.09, words, ha="center", va="top", **style)
        else:
            heights = [np.log(measured), np.log(actual) / 2, np.log(truth)]
            ax.plot([0, 1, 2], heights, color=COLOURS[1], lw=1.5, marker="o", ms=5, zorder=3)
            ax.annotate(f"actual {actual:.2f}", (1, heights[1]), xytext=(8, 8), textcoords="offset points", **style)
    panel = "labels by one annotator" if annotators == 1 else f"labels by a majority of {annotators} annotators"
    ax.text(1, np.log(_LEAST) - 0.04, panel, ha="center", va="top", color=GREY)
    ax.set(xlim=(-0.4, 2.6), ylim=(np.log(_LEAST) - 0.13, 0.16))
    ax.axis("off")
    return ax


def _reliability_ticks(annotators: int) -> list[float]:
    """Round values of ϱ whose heights do not collide."""
    ticks: list[float] = []
    for tick in np.arange(1.0, 0.0, -0.05).round(2).tolist():
        height = np.log(ground_truth_accuracy(tick, annotators))
        last = np.log(ground_truth_accuracy(ticks[-1], annotators)) if ticks else np.inf
        if tick >= required_reliability(_LEAST, annotators=annotators) - 1e-12 and last - height > 0.025:
            ticks.append(tick)
    return ticks


def severities(posterior: Posterior, ci_prob: float = CI_PROB, *, most: int = 40, ax: Axes | None = None) -> Axes:
    """Draw how much higher or lower than the average rater each rater rates, the highest at the top.

    The number of ratings is on the right. Raters whose chains did not converge are hollow.

    Parameters
    ----------
    posterior
        Posterior of ratings by raters who differ, see :func:`plausibly.annotators.severities`.
    ci_prob
        Probability of the intervals.
    most
        Largest number of rows; if there are more raters, those in the middle are left out.
    """
    table, more = _first_and_last(tabulate_severities(posterior, ci_prob), most)
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    ax.axvline(0, color=GREY, lw=1, zorder=0)
    words = f"rates lower | higher than average ({ci_prob:.0%} interval{more})"
    return _annotators(ax, table, "severity", words, "ratings", hollow=~table["converged"].to_numpy(bool))
