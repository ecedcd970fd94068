"""Weighted reliability by case, and the abilities of annotators."""

import numpy as np
from matplotlib.axes import Axes
from scipy.special import logit

from plausibly.agreement import WeightedReliability
from plausibly.bootstrap import CI_PROB
from plausibly.errors import ArgumentError
from plausibly.plots._style import COLOURS, GREY, grid, name_rows, new_axes, plain


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
    table = result.annotators(ci_prob).sort_values("ability")
    ax = new_axes(ax, height=1.6 + 0.28 * len(table))
    places = range(len(table))
    ax.hlines(places, table["ability_lower"], table["ability_upper"], color=COLOURS[0], lw=2)
    ax.plot(table["ability"], places, "o", color=COLOURS[0], ms=6)
    name_rows(ax, places, [plain(name, 24) for name in table.index])
    ax.set(xlabel=f"ability, log odds ({ci_prob:.0%} interval)", ylim=(-0.6, len(table) - 0.4))
    grid(ax, "x")
    above = ax.secondary_xaxis("top")
    low, high = ax.get_xlim()
    shares = [p for p in (0.01, 0.05, 0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999) if low < logit(p) < high]
    above.set_xticks(logit(shares), [f"{p:g}" for p in shares])
    above.set_xlabel("probability of being right about an average case")
    above.spines["top"].set_visible(False)
    return ax
