"""Readers and models of a reader study in the plane of ROC curves."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from plausibly.agreement import ReaderStudy
from plausibly.app.plots.style import DOTTED, GREY, colour, marker, plain, square
from plausibly.base.errors import ArgumentError


def reader_study(result: ReaderStudy, *, ax: Axes | None = None) -> Axes:
    """Draw readers as points, models as ROC curves, and readers who gave scores without a threshold as thin curves.

    Where readers are the truth, points are against the other readers, and curves against all of them.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.reader_study`.

    Raises
    ------
    ArgumentError
        If there is no positive class.
    """
    study = result.study
    if study.positive is None:
        raise ArgumentError("an ROC curve needs a positive class: name one with positive=.")
    ax = square(ax)
    ax.plot([0, 1], [0, 1], **DOTTED)
    truths = study.truths
    for place, (name, model) in enumerate(study.models.items()):
        if model.scored:
            ax.plot(*_curve(truths, model.scores), color=colour(place), lw=2, label=plain(name, 24))
    points = result.by_reader.dropna(subset=["sensitivity", "specificity"])
    for place, name in enumerate(study.models):
        own = points[(points["kind"] == "model") & (points["who"] == name)]
        label = None if study.models[name].scored else plain(name, 24)
        ax.scatter(1 - own["specificity"], own["sensitivity"], color=colour(place), s=50, zorder=4, label=label)
    for place, (condition, side) in enumerate(zip(study.conditions, study.sides, strict=True)):
        own = points[points["kind"] == "reader"]
        own = own if study.conditions == [""] else own[own["condition"] == condition]
        shade = GREY if study.conditions == [""] else colour(len(study.models) + place)
        label = plain(side, 24)
        if len(own):
            style = {"facecolors": "none", "edgecolors": shade, "marker": marker(place)}
            ax.scatter(1 - own["specificity"], own["sensitivity"], s=40, zorder=5, label=label, **style)
            continue
        for scores in study.answers.scores[place]:
            ax.plot(*_curve(truths, scores), color=shade, lw=0.8, alpha=0.7, label=label)
            label = None
    ax.set(xlabel="1 − specificity", ylabel="sensitivity")
    ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax


def _curve(truths: Float[np.ndarray, "reader case"], scores: Float[np.ndarray, " case"]) -> tuple[np.ndarray, ...]:
    """False and true positive rate at every threshold, over the cases that have a score."""
    there = ~np.isnan(scores)
    order = np.argsort(-scores[there], kind="stable")
    positive = truths[:, there][:, order].sum(axis=0)
    last = np.flatnonzero(np.append(np.diff(scores[there][order]) != 0, True))
    true, false = (np.append(0, np.cumsum(of)[last]) for of in (positive, len(truths) - positive))
    return false / max(false[-1], 1), true / max(true[-1], 1)
