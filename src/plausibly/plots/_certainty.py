"""How certain annotations are, over cases from the least to the most certain."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.plots._style import metric_name, new_axes, plain, shades


def certainty_curve(results: xr.Dataset | Mapping[str, xr.Dataset], size: int = 1, *, ax: Axes | None = None) -> Axes:
    """Draw the annotation certainty of all cases, sorted.

    Parameters
    ----------
    results
        From :func:`plausibly.evaluate`, or several by label, such as the reliability, in order.
    size
        Number of classes in the set: 1, 2 or 3.
    ax
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        One curve per label, a step per case. Its label carries the mean over cases.

    Raises
    ------
    ArgumentError
        If the results have no annotation certainty of this size.

    Examples
    --------
    >>> results = xr.Dataset({"annotation_certainty_1": ("case", [1.0, 0.4, 0.7])})
    >>> certainty_curve(results).lines[0].get_ydata().tolist()
    [0.4, 0.4, 0.7, 1.0]
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
        # A step per case, so that few cases fill the axis, too, and a single one is a line.
        ax.plot(share, [values[0], *values], color=shade, lw=2, label=plain(label), drawstyle="steps-pre")
        # Curves meet, but below their right ends there is room for all names.
        ax.annotate(
            f"{plain(label)} (mean {values.mean():.2f})".strip(),
            (1, 0),
            xycoords="axes fraction",
            xytext=(-4, 6 + 15 * (len(by_label) - 1 - position)),
            textcoords="offset points",
            ha="right",
            color=shade,
            fontweight="bold",
        )
    ax.set(xlabel="cases, least certain first (%)", ylabel=metric_name(name), xlim=(0, 100), ylim=(0, 1.03))
    ax.grid(axis="y", color="0.9")
    return ax
