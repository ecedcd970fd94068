"""Diagnostics of all cases, the worst first; trace and rank plots of single quantities, and of the worst."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly.app.plots.style import GREY, case_title, colour, grid, name_rows, new_axes, new_figure, panels, plain
from plausibly.base.arviz import Posterior, is_posterior, to_groups
from plausibly.base.errors import ArgumentError, show
from plausibly.base.progress import Progress
from plausibly.posterior import REMAINDER_NAME, case_names, slots_of
from plausibly.posterior.diagnostics import E_BFMI, R_HAT, diagnose, judge
from plausibly.posterior.diagnostics.verdicts import GREATER_IS_WORSE, STATISTICS, kind, least, names, worst

_SHOWN = ("r_hat", "ess_bulk", "ess_tail", "e_bfmi", "at_max_depth")
_GOOD, _BAD = colour(0), colour(1)
_NAMED = 3
_DOTS = 60  # more cases are a curve without dots
_BINS = 20  # of ranks


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
    asked = {"r_hat": R_HAT, "ess_bulk": least(found), "ess_tail": least(found), "e_bfmi": E_BFMI}.get(statistic)
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


def trace(posterior: Posterior, case: str, class_name: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a trace plot, which shows a quantity along the draws of every chain.

    Chains that converged look alike: noise around one level. A chain that sticks, drifts or lies elsewhere did not
    converge.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    case
        Name of a case or, for models of labels such as the Rasch model, of a quantity such as ``"ability of ann"``.
    class_name
        Class whose plausibility to show; by default the class of the case whose chains are worst.
    """
    title, what, draws = _quantity(posterior, case, class_name)
    ax = new_axes(ax, height=2.5)
    for chain, values in enumerate(draws):
        ax.plot(values, color=colour(chain), lw=0.7, alpha=0.8)
    ax.set(xlabel="draw", ylabel=what, xlim=(0, max(draws.shape[1] - 1, 1)))
    ax.set_title(title, loc="left", fontsize="medium")
    grid(ax, "y")
    return ax


def rank(posterior: Posterior, case: str, class_name: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a rank plot: histograms of the ranks of each chain's draws among the draws of all chains.

    If the chains converged, histograms are flat. A histogram that leans to one side shows a shifted chain; one with a
    hump or a dip in the middle shows a chain narrower or wider than the others. Dotted lines show the height for equal
    chains.

    Parameters
    ----------
    posterior, case, class_name
        Arguments of :func:`trace`.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and localization, Bayesian
    Analysis 16, section 4.
    """
    title, _, draws = _quantity(posterior, case, class_name)
    chains, n = draws.shape
    ax = new_axes(ax, height=2.5)
    _, at, times = np.unique(draws, return_inverse=True, return_counts=True)
    ranks = ((np.cumsum(times) - times / 2) / draws.size)[at].reshape(draws.shape)  # equal draws share a rank
    bins = min(_BINS, max(n // 5, 1))
    counts = np.array([np.histogram(values, bins, (0, 1))[0] for values in ranks])
    # The histogram of equal chains fills half of its row.
    heights = np.minimum(counts / (n / bins) / 2, 0.95)
    edges = np.arange(bins + 1) / bins
    for chain, height in enumerate(heights):
        base = chains - 1 - chain
        ax.stairs(base + height, edges, baseline=base, fill=True, color=colour(chain), alpha=0.75, lw=0)
        ax.plot([0, 1], [base + 0.5] * 2, color="black", lw=0.8, ls=":")
    name_rows(ax, np.arange(chains)[::-1] + 0.25, [f"chain {chain}" for chain in range(chains)])
    ax.set_xticks([0, 0.5, 1], ["lowest", "rank among all draws", "highest"])
    for label, side in zip(ax.get_xticklabels(), ("left", "center", "right"), strict=True):
        label.set_horizontalalignment(side)
    ax.spines["left"].set_visible(False)
    ax.set(xlim=(0, 1), ylim=(0, chains))
    ax.set_title(title, loc="left", fontsize="medium")
    return ax


def worst_chains(posterior: Posterior, cases: Sequence[str] | None = None, *, most: int = 4) -> Figure:
    """Draw :func:`trace` and :func:`rank` for the cases with the worst chains, one row each.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`; its draws may still be on disk.
    cases
        Names of cases or quantities; by default the worst ones, the worst first.
    most
        Largest number of cases, if ``cases`` is not given.
    """
    wanted = worst(diagnose(posterior), most) if cases is None else [str(case) for case in cases]
    if not wanted:
        raise ArgumentError("there are no chains to draw, as draws are exact or a point estimate: name some cases.")
    figure, axes = new_figure(10.0, 2.1 * len(wanted) + 0.4, len(wanted), 2, width_ratios=[3, 2])
    for place, (row, name) in enumerate(zip(axes, wanted, strict=True)):
        trace(posterior, name, ax=row[0])
        rank(posterior, name, ax=row[1]).set_title("", loc="left")
        if place < len(axes) - 1:
            row[0].set_xlabel("")
            row[1].set_xticks([])
    return figure


def _quantity(
    posterior: Posterior, name: str, class_name: str | None
) -> tuple[str, str, Float[np.ndarray, "chain draw"]]:
    """Title, kind and draws of a quantity; no other draws are read."""
    groups = to_groups(posterior) if is_posterior(posterior) else {}
    if "plausibility" in groups.get("posterior", {}):
        kept = next((name for name in ("reliability_convergence", "shared_convergence") if name in groups), None)
        shared = groups[kept]["quantity"].values if kept else ()
        if str(name) in case_names(posterior) or class_name is not None or name not in shared:
            return _plausibility(posterior, name, class_name)
    if "convergence" in groups and class_name is None:
        for site, variable in groups["posterior"].drop_vars("plausibility", errors="ignore").data_vars.items():
            site = str(site).removeprefix("annotator_")
            ordered = variable.transpose("chain", "draw", ...)
            of = [variable[dim].values.astype(str) for dim in ordered.dims[2:]]
            for at in np.ndindex(ordered.shape[2:]):
                owner = ", ".join(names[i] for names, i in zip(of, at, strict=True))
                if str(name) == (f"{site} of {owner}" if of else site):
                    return plain(name), str(site) if of else "value", ordered.values[(..., *at)]
    raise ArgumentError(
        f"{show(name)} is not a case or quantity of this posterior: choose one that plausibly.diagnose names."
    )


def _plausibility(posterior: Posterior, case: str, class_name: str | None):
    at = np.flatnonzero(case_names(posterior) == str(case))
    if not len(at):
        first = str(case_names(posterior)[0])
        raise ArgumentError(f"there is no case {str(case)!r} in this posterior: its cases are {first!r}, ….")
    slots = slots_of(posterior)
    own = slice(slots.start[at[0]], slots.start[at[0] + 1])
    variable = posterior["posterior"]["plausibility"].transpose("chain", "draw", "slot")[..., own]
    classes = variable["class_name"].values.astype(str).tolist()
    draws = variable.values
    if class_name is None:
        with Progress(False) as progress:
            judged, good = judge(draws, progress=progress)
        effective = np.nan_to_num(np.minimum(judged["ess_bulk"], judged["ess_tail"]), nan=0.0)
        chosen = int(np.lexsort((effective, good))[0])
    elif class_name in classes:
        chosen = classes.index(class_name)
    else:
        raise ArgumentError(
            f"{class_name!r} has no slot in case {str(case)!r}: choose from {', '.join(map(repr, classes))}."
        )
    shown = "all unnamed classes" if classes[chosen] == REMAINDER_NAME else plain(classes[chosen])
    return f"{case_title(case)}: {shown}", "plausibility", draws[..., chosen]
