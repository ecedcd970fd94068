"""Draws of the plausibilities of three classes, in a triangle."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from plausibly._arviz import Posterior
from plausibly.errors import ArgumentError
from plausibly.plots._style import GREY, colour, marker, new_axes, plain
from plausibly.posterior import annotations_of, dense

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


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
        ax.plot(*_place(values[:, position]).T, marker=marker(position), color=shade, **dots)
        # Dots of a cloud are too faint for the legend.
        ax.plot([], [], marker=marker(position), color=shade, ls="", ms=6, label=plain(name, 30))
        if truth is not None:
            hollow = {"mfc": "white", "mec": shade, "mew": 2, "ms": 9, "ls": "", "zorder": 4}
            ax.plot(*_place(truth[position]), marker=marker(position), **hollow)
    beside = ax.legend(loc="upper left", frameon=False, bbox_to_anchor=(-0.02, 1.0), handletextpad=0.2)
    beside.set_zorder(1)
    return ax


def _place(plausibilities: Float[np.ndarray, "*shape 3"]) -> Float[np.ndarray, "*shape 2"]:
    """Coordinates in the plane.

    Examples
    --------
    >>> _place(np.array([0.5, 0.5, 0.0])).tolist()
    [0.5, 0.0]
    """
    return plausibilities @ CORNERS


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
