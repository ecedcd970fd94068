"""Diagnostics of all cases, sorted, the worst case first."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly.diagnostics import E_BFMI, ESS_PER_CHAIN, R_HAT
from plausibly.diagnostics._verdict import GREATER_IS_WORSE, STATISTICS, kind, names
from plausibly.errors import ArgumentError
from plausibly.plots._style import COLOURS, GREY, grid, new_axes, panels, plain

_SHOWN = ("r_hat", "ess_bulk", "ess_tail", "e_bfmi", "at_max_depth")
_GOOD, _BAD = COLOURS[0], COLOURS[1]
_NAMED = 3
_DOTS = 60  # more cases are a curve without dots


def convergence(found: xr.Dataset, statistic: str = "r_hat", *, ax: Axes | None = None) -> Axes:
    """Draw a diagnostic for all cases, the worst first.

    Cases that did not converge are marked, and the worst are named; a dotted line shows the required value. Cases
    without a value are left out.

    Parameters
    ----------
    found
        Diagnostics from :func:`plausibly.diagnose`.
    statistic
        Diagnostic: ``"r_hat"``, ``"ess_bulk"``, ``"ess_tail"``, ``"n_diverging"``, ``"e_bfmi"`` or ``"at_max_depth"``.
    """
    if statistic not in STATISTICS or statistic not in found:
        known = [name for name in STATISTICS if name in found]
        choose = f"choose from {', '.join(known)}" if known else "they are exact draws or a point estimate"
        raise ArgumentError(f"{statistic!r} is not a diagnostic of these draws: {choose}.")
    values, good = found[statistic].values.astype(float), found["converged"].values
    known = np.flatnonzero(~np.isnan(values))
    sign = -1 if statistic in GREATER_IS_WORSE else 1
    order = known[np.argsort(sign * values[known], kind="stable")]
    ax = new_axes(ax, 4.8, 2.8)
    place = np.arange(1, len(order) + 1)
    style = {"marker": "o", "ms": 4} if len(order) <= _DOTS else {}
    ax.plot(place, values[order], color=_GOOD, lw=1.5, zorder=2, **style)
    bad = ~good[order]
    ax.plot(place[bad], values[order][bad], marker="o", ms=5, ls="", color=_BAD, zorder=3)
    least = ESS_PER_CHAIN * int(found.attrs.get("chains", 4))
    asked = {"r_hat": R_HAT, "ess_bulk": least, "ess_tail": least, "e_bfmi": E_BFMI}.get(statistic)
    if asked is not None:
        ax.axhline(asked, color=GREY, lw=1, ls=":", zorder=1)
        words = f"at {'most' if sign < 0 else 'least'} {asked:g}"
        offset = {"xytext": (-2, 3), "textcoords": "offset points"}
        ax.annotate(words, (1, asked), **offset, xycoords=ax.get_yaxis_transform(), ha="right", color=GREY, fontsize=8)
    if statistic.startswith("ess"):
        ax.set_ylim(bottom=0)
    if statistic == "at_max_depth":
        ax.set_ylim(-0.02, 1.02)
    failed = [plain(names(found)[at], 18) for at in order[bad]]
    if failed:
        more = f" and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
        ax.set_title(f"not converged: {', '.join(failed[:_NAMED])}{more}", loc="left", color=_BAD, fontsize="small")
    ax.set(xlabel=f"{'cases' if kind(found) == 'case' else 'quantities'}, worst first", ylabel=STATISTICS[statistic])
    ax.set_xlim(0.5, max(len(order), 1) + 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)
    grid(ax, "y")
    return ax


def convergence_overview(found: xr.Dataset, *, columns: int = 3) -> Figure:
    """Draw :func:`convergence` for every available diagnostic, one panel each.

    Parameters
    ----------
    found
        Diagnostics from :func:`plausibly.diagnose`.
    columns
        Number of panels in a row.
    """
    shown = shown_statistics(found)
    if not shown:
        raise ArgumentError("there are no chains to draw, as draws are exact or a point estimate: nothing converges.")
    figure, axes = panels(len(shown), columns, 3.6, 2.7)
    for ax, statistic in zip(axes, shown, strict=True):
        convergence(found, statistic, ax=ax)
    return figure


def shown_statistics(found: xr.Dataset) -> list[str]:
    """Diagnostics with a value for at least one case, except divergences, which are counted."""
    return [name for name in _SHOWN if name in found and not np.isnan(found[name].values.astype(float)).all()]
