"""Ambiguity against uncertainty of every case."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from plausibly.aggregation import learns
from plausibly.errors import ArgumentError
from plausibly.plots._style import COLOURS, GREY, case_title, grid, new_axes, spread, within

_NEEDED = "expected_entropy", "mutual_information"
_FEW = 3  # cases named in each corner
_FAINT = 300  # dots from which on they are drawn faint


def ambiguity(results: xr.Dataset, *, names: int = _FEW, ax: Axes | None = None) -> Axes:
    """Draw the ambiguity and the uncertainty of every case as a dot, and name the extreme cases.

    Ambiguity (horizontal) is the expected entropy of the plausibilities, which is mostly the prior's where annotations
    are few; uncertainty (vertical) is the mutual information of the next label and the plausibilities, which further
    annotations reduce if the model learns from them.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    names
        Number of most ambiguous cases, and of most uncertain cases, to name.
    """
    for name in _NEEDED:
        if name not in results:
            raise ArgumentError(f"the results have no {name!r}: evaluate again.")
    ambiguous, uncertain = (results[name].values.astype(float) for name in _NEEDED)
    known = np.isfinite(ambiguous) & np.isfinite(uncertain)
    cases, ambiguous, uncertain = results["case"].values[known], ambiguous[known], uncertain[known]
    ax = new_axes(ax, height=3.8)
    alpha = 0.6 if len(cases) <= _FAINT else max(0.12, 0.6 * _FAINT / len(cases))
    ax.plot(ambiguous, uncertain, "o", ms=4.5, mew=0, color=COLOURS[0], alpha=alpha, rasterized=len(cases) > 5000)
    right, top = max(ambiguous.max(initial=0), 0.1), max(uncertain.max(initial=0), 0.02)
    ax.set(xlim=(-0.03 * right, 1.5 * right), ylim=(-0.05 * top, 1.12 * top))
    reduced = ", more labels reduce it" if learns(results.attrs) else ""
    ax.set(xlabel="expected ambiguity (nats)", ylabel=f"uncertainty (nats{reduced})")
    grid(ax, "both")
    chosen: list[int] = []
    for values in (uncertain, ambiguous):
        chosen += [int(at) for at in np.argsort(-values, kind="stable")[:names] if int(at) not in chosen]
    gap = 0.085 * top
    heights = within(spread(uncertain[chosen].tolist(), gap), gap, -0.02 * top, 1.09 * top)
    for at, height in zip(chosen, heights, strict=True):
        x, y = ambiguous[at], uncertain[at]
        ax.plot([x, 1.1 * right], [y, height], color=GREY, lw=0.6, zorder=1)
        ax.plot([x], [y], "o", ms=6, mfc="none", mec="black", mew=1)
        ax.annotate(case_title(cases[at]), (1.12 * right, height), va="center", fontsize="small")
    return ax
