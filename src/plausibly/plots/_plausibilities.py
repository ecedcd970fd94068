"""Draws of one case's plausibilities against the point estimate."""

import numpy as np
from matplotlib.axes import Axes

from plausibly._arviz import Posterior
from plausibly.plots._style import COLOURS, GREY, case_title, grid, name_rows, new_axes, plain, point_estimates
from plausibly.posterior import annotations_of, slots_of, stacked_draws

# Steps by the golden ratio fill a row evenly without random numbers.
_GOLDEN = 0.6180339887498949


def plausibilities(
    posterior: Posterior, case: str | int, *, draws: int = 100, classes: int = 6, ax: Axes | None = None
) -> Axes:
    """Draw the posterior of one case's plausibilities.

    Each class has a row with one dot per draw, a bar at the mean of all draws and a diamond at the point estimate.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    case
        Name or position of the case.
    draws
        Number of draws to show, equally spaced.
    classes
        Largest number of rows, for the classes with the greatest mean plausibility. All unnamed classes share one row.
    """
    annotations, slots = annotations_of(posterior, every=False), slots_of(posterior)
    position = annotations.position(case)
    own = np.arange(slots.start[position], slots.start[position + 1])
    values = stacked_draws(posterior)[:, own]
    point = posterior["constant_data"]["point_plausibility"].values[own]
    order = np.argsort(-values.mean(axis=0), kind="stable")[:classes]
    shown = values[np.linspace(0, len(values) - 1, min(draws, len(values))).astype(int)]
    names = [
        f"({slots.n_classes[own[at]]} other{'' if slots.n_classes[own[at]] == 1 else 's'})"
        if slots.is_remainder[own[at]]
        else plain(annotations.classes[slots.class_index[own[at]]], 30)
        for at in order
    ]
    ax = new_axes(ax, height=1.2 + 0.45 * len(order))
    jitter = (np.arange(1, len(shown) + 1) * _GOLDEN % 1 - 0.5) * 0.6
    base = np.arange(len(order))[::-1]
    rest = slots.is_remainder[own[order]]
    dots = {"marker": "o", "ls": "", "ms": 3, "mew": 0, "alpha": 0.35, "clip_on": False}
    for which, shade in ((~rest, COLOURS[0]), (rest, GREY)):
        if which.any():
            ax.plot(shown[:, order[which]].T.ravel(), np.add.outer(base[which], jitter).ravel(), color=shade, **dots)
    ax.vlines(values[:, order].mean(axis=0), base - 0.38, base + 0.38, color="black", lw=2, zorder=2)
    point_estimates(ax, point[order], base, COLOURS[1])
    name_rows(ax, range(len(order)), names[::-1])
    ax.tick_params(axis="y", pad=9)
    ax.set(
        xlim=(0, min(1.0, 1.05 * max(shown[:, order].max(), point[order].max()))),
        ylim=(-0.6, len(order) - 0.4),
        xlabel="plausibility\n(| mean, ◇ point estimate)",
        title=case_title(annotations.cases[position]),
    )
    grid(ax, "x")
    return ax
