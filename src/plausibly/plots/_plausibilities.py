"""Draws of one case: its plausibilities against the point estimate, or the density of its scores."""

import numpy as np
from matplotlib.axes import Axes
from scipy.stats import norm

from plausibly._arviz import Posterior
from plausibly.errors import ArgumentError
from plausibly.plots._style import COLOURS, GREY, case_title, grid, name_rows, new_axes, plain, point_estimates
from plausibly.posterior import annotations_of, scores_of, slots_of, stacked_draws

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
    ends = np.quantile(norm.ppf([[_TAIL], [1 - _TAIL]], mean, sd), [_TAIL, 1 - _TAIL])
    low, high = min(ends[0], own.min(), threshold), max(ends[1], own.max(), threshold)
    # The threshold is a point of the grid, so both parts end there.
    x = np.union1d(np.linspace(low, high, _POINTS), [threshold])
    density = norm.pdf(x[:, None], mean, sd).mean(axis=1)
    shares = posterior["posterior"]["plausibility"].values[..., 2 * position : 2 * position + 2].mean((0, 1))
    if "score_certainty" in (known := posterior["constant_data"]):
        # The exact value, which is reported; the mean over draws has Monte Carlo error.
        certainty = float(known["score_certainty"][position])
        shares = np.where(shares >= shares.max(), certainty, 1 - certainty)

    ax = new_axes(ax, height=3.4)
    parts = (x <= threshold, 0.02, "left"), (x >= threshold, 0.98, "right")
    for (part, place, side), share, shade, name in zip(parts, shares, COLOURS[:2], scores.classes, strict=True):
        ax.fill_between(x[part], density[part], color=shade, alpha=0.35, lw=0)
        style = {"ha": side, "va": "top", "color": shade, "fontweight": "bold", "xycoords": "axes fraction"}
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85}
        ax.annotate(f"{plain(name, 24)}: {share:.2f}", (place, 0.97), bbox=box, **style)
    chosen = np.linspace(0, len(mean) - 1, min(draws, len(mean))).astype(int)
    ax.plot(x, norm.pdf(x[:, None], mean[chosen], sd[chosen]), color=GREY, lw=0.6, alpha=0.35)
    ax.plot(x, density, color="black", lw=1.8)
    ax.axvline(threshold, color="black", lw=1, ls=(0, (4, 3)))
    # Most single draws fit below the text; the few narrowest would make all others flat.
    peaks = norm.pdf(0, 0, sd[chosen])
    top = 1.3 * max(density.max(), min(np.quantile(peaks, 0.9), 2 * density.max()))
    height = np.array([(own[:at] == value).sum() for at, value in enumerate(own)])
    step = min(0.055, 0.6 / max(height.max(), 1)) * top
    ax.plot(own, 0.03 * top + step * height, "o", ms=6, mfc="black", mec="white", mew=0.8, ls="", zorder=3)
    ax.set(xlim=(low, high), ylim=(0, top), xlabel="score", yticks=[], title=case_title(scores.cases[position]))
    ax.spines["left"].set_visible(False)
    return ax
