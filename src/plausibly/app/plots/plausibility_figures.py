"""Draws of single cases: plausibilities beside the point estimate or in a triangle, and the density of scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtri

from plausibly.app.plots.style import (
    GREY,
    case_title,
    colour,
    grid,
    marker,
    name_rows,
    new_axes,
    plain,
    point_estimates,
)
from plausibly.base.arviz import Posterior
from plausibly.base.errors import ArgumentError
from plausibly.posterior import annotations_of, dense, scores_of, slots_of, stacked_draws

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])  #: of the triangle of three classes
# Steps by the golden ratio fill a row evenly without random numbers.
_GOLDEN = 0.6180339887498949
_POINTS = 400  # of a density
_TAIL = 0.004


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
    for which, shade in ((~rest, colour(0)), (rest, GREY)):
        if which.any():
            ax.plot(shown[:, order[which]].T.ravel(), np.add.outer(base[which], jitter).ravel(), color=shade, **dots)
    ax.vlines(values[:, order].mean(axis=0), base - 0.38, base + 0.38, color="black", lw=2, zorder=2)
    point_estimates(ax, point[order], base, colour(1))
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


def score_density(posterior: Posterior, case: str | int, *, draws: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the posterior predictive density of a case's scores, split at the threshold.

    The thick line is the mean density over draws, labelled with the probabilities of scores up to the threshold and
    above it; thin lines are single draws. Each score is a dot; equal scores are stacked. The posterior must have draws
    of means and variances, as with ``engine="exact"``.

    Parameters
    ----------
    posterior
        Posterior of scores under the model ``"normal-scores"``.
    case
        Name or position of the case.
    draws
        Number of draws to show as thin lines, equally spaced.
    """
    scores = scores_of(posterior)
    if "mean" not in posterior["posterior"]:
        raise ArgumentError(
            f"a density needs draws of means and variances, but this posterior of {posterior.attrs.get('model')} by "
            f"{posterior.attrs.get('engine')} has none: aggregate scores with engine='exact'."
        )
    position, threshold = scores.position(case), float(posterior.attrs["threshold"])
    own = scores.score[scores.case_start[position] : scores.case_start[position + 1]]
    mean, variance = (
        np.asarray(posterior["posterior"][name].isel(scored_case=position), float).ravel()
        for name in ("mean", "variance")
    )
    sd = np.sqrt(variance)
    ends = np.quantile(mean + sd * ndtri([[_TAIL], [1 - _TAIL]]), [_TAIL, 1 - _TAIL])
    low, high = min(ends[0], own.min(), threshold), max(ends[1], own.max(), threshold)
    # The threshold is a point of the grid, so both parts end there.
    x = np.union1d(np.linspace(low, high, _POINTS), [threshold])
    peaks = 1 / (sd * np.sqrt(2 * np.pi))
    by_draw = peaks * np.exp(-(((x[:, None] - mean) / sd) ** 2) / 2)  # SciPy's densities take a second to import
    density = by_draw.mean(axis=1)
    shares = posterior["posterior"]["plausibility"].values[..., 2 * position : 2 * position + 2].mean((0, 1))
    if "score_certainty" in (known := posterior["constant_data"]):
        # The exact value, which is reported; the mean over draws has Monte Carlo error.
        certainty = float(known["score_certainty"][position])
        shares = np.where(shares >= shares.max(), certainty, 1 - certainty)

    ax = new_axes(ax, height=3.4)
    parts = (x <= threshold, 0.02, "left", colour(0)), (x >= threshold, 0.98, "right", colour(1))
    for (part, place, side, shade), share, name in zip(parts, shares, scores.classes, strict=True):
        ax.fill_between(x[part], density[part], color=shade, alpha=0.35, lw=0)
        style = {"ha": side, "va": "top", "color": shade, "fontweight": "bold", "xycoords": "axes fraction"}
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
        ax.annotate(f"{plain(name, 24)}: {share:.2f}", (place, 0.97), bbox=box, **style)
    chosen = np.linspace(0, len(mean) - 1, min(draws, len(mean))).astype(int)
    ax.plot(x, by_draw[:, chosen], color=GREY, lw=0.6, alpha=0.35)
    ax.plot(x, density, color="black", lw=1.8)
    ax.axvline(threshold, color="black", lw=1, ls=(0, (4, 3)))
    # Most single draws fit below the text; the few narrowest would make all others flat.
    top = 1.3 * max(density.max(), min(np.quantile(peaks[chosen], 0.9), 2 * density.max()))
    height = np.array([(own[:at] == value).sum() for at, value in enumerate(own)])
    step = min(0.055, 0.6 / max(height.max(), 1)) * top
    ax.plot(own, 0.03 * top + step * height, "o", ms=6, mfc="black", mec="white", mew=0.8, ls="", zorder=3)
    ax.set(xlim=(low, high), ylim=(0, top), xlabel="score", yticks=[], title=case_title(scores.cases[position]))
    ax.spines["left"].set_visible(False)
    return ax


def simplex(
    posterior: Posterior,
    cases: str | Sequence[str],
    *,
    truth: Any = None,
    draws: int = 300,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the posterior of cases with three classes, as clouds in a triangle.

    The position of a cloud shows inherent uncertainty: near a corner one class is plausible, in the middle all are. Its
    width shows annotation uncertainty, which decreases with more annotators. Lines separate the regions in which each
    class is the most plausible.

    Parameters
    ----------
    posterior
        Posterior over three classes, from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    cases
        Name of a case, or names of several.
    truth
        True plausibilities (case, 3), if known; drawn as hollow markers.
    draws
        Number of draws to show, equally spaced.
    seed
        Random seed for splitting the remainder, see :func:`plausibly.dense`.
    """
    annotations = annotations_of(posterior, every=False)
    if annotations.n_classes != 3:
        raise ArgumentError(
            f"a triangle shows three classes, but this posterior has {annotations.n_classes}: use plots.plausibilities."
        )
    names = [cases] if isinstance(cases, str) else [str(case) for case in cases]
    if not names:
        raise ArgumentError("a triangle shows at least one case, but none was named: name some of the cases.")
    values = dense(posterior, names, seed)
    values = values[np.linspace(0, len(values) - 1, min(draws, len(values))).astype(int)]
    truth = None if truth is None else np.asarray(truth)
    if truth is not None and truth.shape != (len(names), 3):
        raise ArgumentError(
            f"truth must have the shape (case, class), {(len(names), 3)}, but has {truth.shape}: give the "
            "plausibilities of the cases drawn."
        )
    ax = new_axes(ax, 5.4, 4.8)
    draw_frame(ax, [plain(name, 20) for name in annotations.classes])
    for position, name in enumerate(names):
        shade = colour(position)
        dots = {"ls": "", "mew": 0, "ms": 3.5, "alpha": 0.35, "zorder": 2}
        ax.plot(*(values[:, position] @ CORNERS).T, marker=marker(position), color=shade, **dots)
        # Dots of a cloud are too faint for the legend.
        ax.plot([], [], marker=marker(position), color=shade, ls="", ms=6, label=plain(name, 30))
        if truth is not None:
            hollow = {"mfc": "white", "mec": shade, "mew": 2, "ms": 9, "ls": "", "zorder": 4}
            ax.plot(*(truth[position] @ CORNERS), marker=marker(position), **hollow)
    beside = ax.legend(loc="upper left", frameon=False, bbox_to_anchor=(-0.02, 1.0), handletextpad=0.2)
    beside.set_zorder(1)
    return ax


def draw_frame(ax: Axes, names: Sequence[str]) -> None:
    """Draw the triangle, names at its corners, and borders between the regions of the most plausible class."""
    outline = CORNERS[[0, 1, 2, 0]]
    ax.plot(*outline.T, color="black", lw=1.2, zorder=3, solid_joinstyle="round")
    middle = CORNERS.mean(axis=0)
    for a, b in ((0, 1), (1, 2), (0, 2)):
        half = CORNERS[[a, b]].mean(axis=0)
        ax.plot(*np.stack([middle, half]).T, color=GREY, lw=0.8, ls=(0, (4, 3)), zorder=1)
    for corner, name, below in zip(CORNERS, names, (True, True, False), strict=True):
        style = {"ha": "center", "va": "top" if below else "bottom", "fontweight": "bold"}
        ax.annotate(name, corner, xytext=(0, -6 if below else 6), textcoords="offset points", **style)
    ax.set(xlim=(-0.08, 1.08), ylim=(-0.09, 0.97), aspect="equal")
    ax.axis("off")
