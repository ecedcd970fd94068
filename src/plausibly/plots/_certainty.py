"""Certainty of the annotations: over sorted cases, and as a histogram."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.plots._style import COLOURS, grid, new_axes, plain, shades
from plausibly.plots._words import metric_name


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
    for position, ((label, found), shade) in enumerate(zip(by_label.items(), shades(len(by_label)), strict=True)):
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
