"""Models beside annotators: discrepancy ratios, also along a setting or a threshold, and judgements."""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter
from numpy.typing import ArrayLike

from plausibly.agreement import Discrepancy, Judgement, ThresholdCurve
from plausibly.app.plots.style import (
    DOTTED,
    GREY,
    colour,
    draw_rows,
    finish_rows,
    grid,
    marker,
    name_ends,
    new_axes,
    new_figure,
    only,
    plain,
)
from plausibly.base.bootstrap import CI_PROB, REPLICATES, interval
from plausibly.base.errors import ArgumentError

_AXIS = "discrepancy ratio Δ"
_ONE = DOTTED | {"color": "black", "zorder": 0}  # the line that values are compared with
_MODEL, _OTHER = colour(0), GREY
_PEOPLE = "annotators' mean"


def discrepancy_ratios(
    result: Discrepancy,
    ci_prob: float = CI_PROB,
    replicates: int = REPLICATES,
    seed: int = 0,
    *,
    annotators: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw Δ of every model, and every annotator on the same scale, with bootstrap intervals.

    Values above 1 belong to models that are farther from the annotators than these are from each other; a dashed line
    marks the best constant answer, which looks at no case. All values have the same denominator, the disagreement
    between two annotators; annotators are drawn at ``relative`` from :meth:`Discrepancy.annotators`.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.discrepancy_ratio`.
    ci_prob, replicates, seed
        Confidence level, number of bootstrap replicates and random seed of the intervals; a single cluster has no
        interval.
    annotators
        Whether to also draw the annotators; those who cannot be judged are left out.
    """
    several = result.several_clusters
    frames = [result.to_frame(ci_prob, replicates, seed, progress=False).assign(kind="model")]
    if annotators:
        own = result.annotators(ci_prob if several else None, replicates, seed).filter(like="relative")
        own.columns = [name.removeprefix("relative_").replace("relative", "ratio") for name in own]
        frames.append(own.dropna().sort_values("ratio").assign(kind="annotator"))
    rows = pd.concat([frame.assign(name=frame.index) for frame in frames], ignore_index=True)
    rows = rows.rename(columns={"ratio": "mean"})
    ax = new_axes(ax, height=1.2 + 0.3 * len(rows))
    finite = rows[["mean", "upper"] if several else ["mean"]].to_numpy(float)
    most = 1.1 * np.max(finite[np.isfinite(finite)], initial=1.0)
    unbounded = ~np.isfinite(rows["mean"])
    for place in np.flatnonzero(unbounded):
        ax.annotate("∞", (most, place), xytext=(4, 0), textcoords="offset points", va="center", color=_MODEL)
    rows["mean"] = rows["mean"].mask(unbounded)
    if several:
        rows[["lower", "upper"]] = rows[["lower", "upper"]].clip(upper=most)
    _draw(ax, rows, rows["kind"] == "model")
    ax.axvline(1, **_ONE)
    constant = float(result.constant_ratio)
    if constant <= most:
        ax.axvline(constant, **_ONE | {"ls": (0, (6, 3)), "color": colour(1)})
    if 0 < (n := (rows["kind"] == "model").sum()) < len(rows):
        ax.axhline(n - 0.5, color="0.85", lw=0.8)
    xlabel = f"disagreement, relative to two annotators' (α = {result.annotator_discrepancy:.3g})"
    xlabel += f", {ci_prob:.0%} interval" if several else ""
    xlabel += f"; best constant answer {'(dashed) ' if constant <= most else ''}{constant:.2f}"
    finish_rows(ax, rows["name"].tolist(), xlabel)
    ax.set_xlim(0, most)
    return ax


def discrepancy_curves(
    curves: pd.DataFrame, xlabel: str | None = None, ylabel: str = _AXIS, *, log: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw Δ, or another ratio, of several models along a setting such as the annotators' error.

    Parameters
    ----------
    curves
        Table with one column per line, indexed by the setting.
    xlabel, ylabel
        Labels of the axes; `xlabel` is the name of the index by default.
    log
        Whether to use a logarithmic scale, on which ratios of ½ and 2 are equally far from 1.
    """
    ax = new_axes(ax)
    if log:
        ax.set_yscale("log")
        least, most = curves.min(axis=None), curves.max(axis=None)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if most > 3 * least else MaxNLocator(6))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(ScalarFormatter())
        ax.axhline(1, **_ONE)
    ends = []
    for position, name in enumerate(curves.columns):
        line = curves[name].dropna()
        ax.plot(line.index, line, color=colour(position), marker=marker(position), ms=4, lw=1.8)
        ends.append((str(name), float(line.iloc[-1]), colour(position)))
    name_ends(ax, ends, curves.index.max(), 8)
    ax.set(xlabel=xlabel if xlabel is not None else str(curves.index.name or ""), ylabel=ylabel)
    ax.grid(color="0.92")
    return ax


def discrepancy_by_threshold(curve: ThresholdCurve, *, ax: Axes | None = None) -> Axes:
    """Draw Δ of a score against the threshold above which cases are positive, and mark the best threshold.

    Parameters
    ----------
    curve
        Result of :func:`plausibly.agreement.threshold_curve`.
    """
    ax = new_axes(ax)
    finite = curve.thresholds[1:]
    span = float(np.ptp(finite)) or 1.0
    places = np.concatenate([[finite[0] - 0.05 * span], finite])
    ax.step(places, curve.ratio, where="post", color=colour(0), lw=1.8)
    best, least = min(max(curve.best, places[0]), places[-1]), float(curve.ratio.min())
    if np.isfinite(least):
        ax.plot([best], [least], "D", color=colour(1), ms=7)
        style = {"xytext": (0, -14), "textcoords": "offset points", "ha": "center", "color": colour(1)}
        ax.annotate(f"best here: Δ = {least:.2f} above {best:.3g}", (best, least), **style)
    ax.axhline(1, **_ONE)
    ax.set(xlabel=f"threshold of the score for {plain(curve.positive)!r}", ylabel=_AXIS)
    ax.set_ylim(bottom=0)
    grid(ax, "y")
    return ax


def judgement(result: Judgement, model: str | None = None) -> Figure:
    """Draw the numbers behind the four answers about one model, annotators in grey.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.judge`.
    model
        Name of the model; not needed if there is only one.
    """
    model = only(result.models, model)
    people = len(result.test.comparison.labels.annotators)
    figure, axes = new_figure(11.0, max(5.0, 2.4 + 0.34 * people), 2, 2)
    for question, ax in enumerate(axes.flat):
        judgement_question(result, model, question, ax=ax)
    return figure


def judgement_question(result: Judgement, model: str, question: int, *, ax: Axes | None = None) -> Axes:
    """Draw the numbers behind one answer about a model, counted from 0; nothing but its title where it was left out."""
    people = len(result.test.comparison.labels.annotators)
    ax = new_axes(ax, 5.5, 1.4 + 0.2 * people)
    answer = result.questions[model][question]
    if answer.answer != "unknown":
        (_closeness, _replacement, _ability, _accuracy)[question](result, model, ax)
    else:
        ax.set_axis_off()
    ax.set_title(f"{question + 1}. {answer.name.capitalize()}: {answer.answer}", loc="left", fontsize="medium")
    return ax


def judgement_by_group(result: Judgement, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw accuracy (without a model of annotators, Δ) by group of cases; groups with few cases are hollow.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.judge` with ``by``.
    model
        Name of the model; not needed if there is only one.

    Raises
    ------
    ArgumentError
        If there are no groups of cases.
    """
    model = only(result.models, model)
    rows = None if result.by is None else result.by[(result.by["of"] == "cases") & (result.by["model"] == model)]
    if rows is None or not len(rows):
        raise ArgumentError("there are no groups of cases: pass by= to judge.")
    measure = "accuracy" if "accuracy" in rows else "ratio"
    ax = new_axes(ax, height=1.2 + 0.3 * len(rows))
    names = {measure: "mean", f"{measure}_lower": "lower", f"{measure}_upper": "upper"}
    draw_rows(ax, range(len(rows)), rows.rename(columns=names), _MODEL, hollow=rows["few"])
    whole = result.table.loc[model, measure]
    ax.axvline(whole, **_ONE)
    several = len(set(rows["by"])) > 1
    named = zip(rows["by"], rows["group"], rows["n_cases"], strict=True)
    names = [f"{f'{by}: ' if several else ''}{group} ({n:,})" for by, group, n in named]
    what = "accuracy against the inferred truth" if measure == "accuracy" else "discrepancy ratio Δ"
    finish_rows(ax, names, f"{what} (dotted: all cases)", 40)
    return ax


def _draw(ax: Axes, rows: pd.DataFrame, of_model: ArrayLike) -> None:
    """Draw rows of models as diamonds, and others in grey."""
    for which, shade, shape in ((np.asarray(of_model, bool), _MODEL, "D"), (~np.asarray(of_model, bool), _OTHER, "o")):
        draw_rows(ax, np.flatnonzero(which), rows[which], shade, shape)


def _closeness(result: Judgement, model: str, ax: Axes) -> None:
    compared = result.test.comparison
    own = replace(compared, to_sets={model: compared.to_sets[model]}, single=False)
    discrepancy_ratios(own, result.ci_prob, result.replicates, result.seed, ax=ax)


def _replacement(result: Judgement, model: str, ax: Axes) -> None:
    test = result.test
    rows = test.table[test.table["model"] == model].sort_values("advantage", ascending=False)
    rows, places = rows.rename(columns={"advantage": "mean"}), range(len(rows))
    if test.comparison.several_clusters:
        ends = test.interval(result.ci_prob, result.replicates, result.seed, by_annotator=True).loc[model]
        rows = rows.drop(columns=["lower", "upper"], errors="ignore").join(ends, on="annotator")
    draw_rows(ax, places, rows, _MODEL, "D", hollow=~rows["rejected"].to_numpy(bool))
    draw_rows(ax, places, rows[["annotator_advantage"]].set_axis(["mean"], axis=1), _OTHER)
    finish_rows(ax, rows["annotator"].tolist(), "at least as close to the others (hollow: not won; grey: annotator)")


def _ability(result: Judgement, model: str, ax: Axes) -> None:
    found = result.fits[model]
    rows = found.ability.iloc[::-1]
    order = np.concatenate([[0], 1 + np.argsort(-rows["mean"].to_numpy()[1:], kind="stable")])
    rows = rows.iloc[order]
    _draw(ax, rows, np.arange(len(rows)) == 0)
    alone = ""
    if found.typical is not None:
        ax.plot(interval(found.accuracy, result.ci_prob), [0, 0], lw=1, color=_MODEL)
        ax.plot([found.accuracy.mean()], [0], "D", ms=6, mec=_MODEL, mfc="white")
        alone = "; hollow: by the annotators' labels alone"
    ax.axvline(rows["mean"].iloc[1:].mean(), **_ONE)
    finish_rows(ax, rows.index.tolist(), f"{found.unit} ({result.model}{alone}; dotted: the annotators' mean)")


def _accuracy(result: Judgement, model: str, ax: Axes) -> None:
    if result.gold is not None:
        gold, words = result.gold[model], "accuracy against gold labels"
        rows = pd.DataFrame({"mean": gold.mean[:2]}, [model, _PEOPLE])
        if gold.replicates is not None:
            rows["lower"], rows["upper"] = interval(gold.replicates[:, :2], result.ci_prob)
    else:
        found, words = result.fits[model], "accuracy (line of the vote: all ties lost, all won)"
        drawn = {"their labels alone": found.accuracy}
        drawn |= {} if found.independent is None else {"if independent": found.independent[0]}
        of_each = {name: (own.mean(), *interval(own, result.ci_prob)) for name, own in drawn.items()}
        of_each["vote, ties shared"] = found.vote
        if found.typical is not None:
            of_each[_PEOPLE] = found.typical.mean(), *interval(found.typical, result.ci_prob)
        rows = pd.DataFrame(of_each, ["mean", "lower", "upper"]).T
    _draw(ax, rows, rows.index != _PEOPLE)
    finish_rows(ax, rows.index.tolist(), words)
