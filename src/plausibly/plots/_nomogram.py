"""A nomogram: measured accuracy, reliability of the labels, and the actual accuracy of a model."""

import numpy as np
from matplotlib.axes import Axes

from plausibly.agreement import actual_accuracy, ground_truth_accuracy, required_reliability
from plausibly.plots._style import COLOURS, GREY, new_axes

_LEAST = 0.5
_TICKS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


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
