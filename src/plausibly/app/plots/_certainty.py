"""Certainty of the annotations, over sorted cases and as a histogram, and ambiguity against uncertainty."""

from collections.abc import Mapping

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from plausibly.app.plots.style import COLOURS, GREY, case_title, grid, new_axes, plain, spread, within
from plausibly.base.errors import ArgumentError
from plausibly.metrics.words import metric_name
from plausibly.posterior.says import learns

_NEEDED = "expected_entropy", "mutual_information"
_FEW = 3  # cases named in each corner
_FAINT = 300  # dots from which on they are drawn faint


def certainty_curve(results: xr.Dataset | Mapping[str, xr.Dataset], size: int = 1, *, ax: Axes | None = None) -> Axes:
    """Draw the sorted annotation certainties of all cases as steps, and their mean.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`, or a mapping from labels, such as reliabilities, to several results.
    size
        Number of classes in the set: 1, 2 or 3.
    """
    by_label = {"": results} if isinstance(results, xr.Dataset) else dict(results)
    name = f"annotation_certainty_{size}"
    for label, found in by_label.items():
        if name not in found:
            raise ArgumentError(f"the results {label!r} have no {name!r}: choose a size from 1 to 3, at most K.")
    ax = new_axes(ax)
    shades = matplotlib.colormaps["viridis_r"](np.linspace(0.25 if len(by_label) > 1 else 0.6, 0.95, len(by_label)))
    for position, ((label, found), shade) in enumerate(zip(by_label.items(), shades, strict=True)):
        values = np.sort(found[name].values)
        share = 100 * np.arange(len(values) + 1) / len(values)
        # A step per case, so that few cases fill the axis, and a single one is a line.
        ax.plot(share, [values[0], *values], color=shade, lw=2, label=plain(label), drawstyle="steps-pre")
        # Curves meet, but below their right ends there is room for all names.
        place = {"xycoords": "axes fraction", "xytext": (-4, 6 + 15 * (len(by_label) - 1 - position))}
        words = f"{plain(label)} (mean {values.mean():.2f})".strip()
        ax.annotate(words, (1, 0), **place, textcoords="offset points", ha="right", color=shade, fontweight="bold")
    ax.set(xlabel="cases, least certain first (%)", ylabel=metric_name(name), xlim=(0, 100), ylim=(0, 1.03))
    grid(ax, "y")
    return ax


def certainty_histogram(
    results: xr.Dataset, name: str = "annotation_certainty_1", *, bins: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw the number of cases by certainty, and a line at the mean over cases.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate`.
    name
        Name of a variable by case between 0 and 1, such as ``"score_certainty"``.
    bins
        Number of bins from 0 (or from 1/2, if no value is below) to 1.
    """
    if name not in results or results[name].dims != ("case",):
        known = [key for key, variable in results.data_vars.items() if variable.dims == ("case",)]
        raise ArgumentError(f"there is no {name!r} by case in these results: choose from {', '.join(map(str, known))}.")
    values = results[name].values
    values = values[np.isfinite(values)]
    least = 0.5 if len(values) and values.min() >= 0.5 else 0.0  # with two classes, one has at least 1/2
    ax = new_axes(ax, height=3.4)
    ax.hist(values, bins=bins, range=(least, 1), color=COLOURS[0], alpha=0.75, edgecolor="white", lw=0.8)
    if len(values):
        mean = float(values.mean())
        ax.axvline(mean, color="black", lw=1.5)
        right = mean < (1 + least) / 2
        place = {"xycoords": ("data", "axes fraction"), "xytext": (5 if right else -5, -2)}
        side = "left" if right else "right"
        ax.annotate(f"mean {mean:.2f}", (mean, 1), **place, textcoords="offset points", ha=side, va="top")
    ax.set(xlabel=metric_name(name), ylabel="cases", xlim=(least, 1))
    ax.margins(y=0.15)
    return ax


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
