"""Models beside annotators: discrepancy ratios, also along a setting or a threshold, and judgements."""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter

from plausibly.agreement import Discrepancy, Judgement, ThresholdCurve
from plausibly.app.plots.style import GREY, colour, finish_rows, grid, marker, new_axes, new_figure, only, plain, spread
from plausibly.base.bootstrap import CI_PROB, REPLICATES, interval
from plausibly.base.errors import ArgumentError

_AXIS = "discrepancy ratio Δ"
_ONE = {"color": "black", "lw": 0.8, "ls": (0, (2, 3)), "zorder": 0}  # the line that values are compared with
_MODEL, _OTHER = colour(0), GREY


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
    ax = new_axes(ax, height=1.2 + 0.3 * len(rows))
    finite = rows[["ratio", "upper"] if several else ["ratio"]].to_numpy()
    most = 1.1 * np.max(finite[np.isfinite(finite)], initial=1.0)
    for place, row in rows.iterrows():
        style = {"color": colour(0) if row["kind"] == "model" else GREY}
        if several:
            ends = np.minimum([row["lower"], row["upper"]], most)
            ax.plot(ends, [place, place], lw=2, solid_capstyle="butt", **style)
        if np.isfinite(row["ratio"]):
            ax.plot([row["ratio"]], [place], marker="D" if row["kind"] == "model" else "o", ms=6, **style)
        else:
            ax.annotate("∞", (most, place), xytext=(4, 0), textcoords="offset points", va="center", **style)
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
        ends.append(float(line.iloc[-1]))
    low, high = (np.log(ax.get_ylim()) if log else np.array(ax.get_ylim())).tolist()
    heights = np.array(spread(np.log(ends) if log else ends, gap=0.055 * (high - low)))
    for position, (name, height) in enumerate(zip(curves.columns, np.exp(heights) if log else heights, strict=True)):
        style = {"va": "center", "color": colour(position), "fontweight": "bold", "annotation_clip": False}
        end = curves.index.max(), height
        ax.annotate(plain(name, 24), end, xytext=(8, 0), textcoords="offset points", **style)
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
    for place, row in enumerate(rows.to_dict("records")):
        if f"{measure}_lower" in row:
            ax.plot([row[f"{measure}_lower"], row[f"{measure}_upper"]], [place, place], lw=2, color=_MODEL)
        ax.plot([row[measure]], [place], "o", ms=6, mec=_MODEL, mfc="white" if row["few"] else _MODEL)
    whole = result.table.loc[model, measure]
    ax.axvline(whole, **_ONE)
    several = len(set(rows["by"])) > 1
    named = zip(rows["by"], rows["group"], rows["n_cases"], strict=True)
    names = [f"{f'{by}: ' if several else ''}{group} ({n:,})" for by, group, n in named]
    what = "accuracy against the inferred truth" if measure == "accuracy" else "discrepancy ratio Δ"
    finish_rows(ax, names, f"{what} (dotted: all cases)", 40)
    return ax


def _closeness(result: Judgement, model: str, ax: Axes) -> None:
    compared = result.test.comparison
    own = replace(compared, to_sets={model: compared.to_sets[model]}, single=False)
    discrepancy_ratios(own, result.ci_prob, result.replicates, result.seed, ax=ax)


def _replacement(result: Judgement, model: str, ax: Axes) -> None:
    test = result.test
    rows = test.table[test.table["model"] == model].sort_values("advantage", ascending=False)
    ends = None
    if test.comparison.several_clusters:
        ends = test.interval(result.ci_prob, result.replicates, result.seed, by_annotator=True)
    for place, row in enumerate(rows.to_dict("records")):
        if ends is not None:
            ax.plot(ends.loc[(model, row["annotator"])], [place, place], lw=2, color=_MODEL)
        ax.plot([row["advantage"]], [place], "D", ms=6, mec=_MODEL, mfc=_MODEL if row["rejected"] else "white")
        ax.plot([row["annotator_advantage"]], [place], "o", ms=6, color=_OTHER)
    finish_rows(ax, rows["annotator"].tolist(), "at least as close to the others (hollow: not won; grey: annotator)")


def _ability(result: Judgement, model: str, ax: Axes) -> None:
    found = result.fits[model]
    rows = found.ability.iloc[::-1]
    order = np.concatenate([[0], 1 + np.argsort(-rows["mean"].to_numpy()[1:], kind="stable")])
    rows = rows.iloc[order]
    for place, row in enumerate(rows.itertuples()):
        style = {"color": _OTHER if place else _MODEL}
        ax.plot([row.lower, row.upper], [place, place], lw=2, **style)
        ax.plot([row.mean], [place], "o" if place else "D", ms=6, **style)
    alone = ""
    if found.typical is not None:
        ax.plot(interval(found.accuracy, result.ci_prob), [0, 0], lw=1, color=_MODEL)
        ax.plot([found.accuracy.mean()], [0], "D", ms=6, mec=_MODEL, mfc="white")
        alone = "; hollow: by the annotators' labels alone"
    ax.axvline(rows["mean"].iloc[1:].mean(), **_ONE)
    finish_rows(ax, rows.index.tolist(), f"{found.unit} ({result.model}{alone}; dotted: the annotators' mean)")


def _accuracy(result: Judgement, model: str, ax: Axes) -> None:
    if result.gold is not None:
        gold = result.gold[model]
        for place, (mean, shade) in enumerate(zip(gold.mean[:2], (_MODEL, _OTHER), strict=True)):
            if gold.replicates is not None:
                ends = interval(gold.replicates[:, place], result.ci_prob)
                ax.plot(ends, [place, place], lw=2, color=shade)
            ax.plot([mean], [place], "o" if place else "D", ms=6, color=shade)
        finish_rows(ax, [model, "annotators' mean"], "accuracy against gold labels")
        return
    found = result.fits[model]
    rows = [("their labels alone", found.accuracy.mean(), interval(found.accuracy, result.ci_prob), _MODEL)]
    if found.independent is not None:
        own = found.independent[0]
        rows.append(("if independent", own.mean(), interval(own, result.ci_prob), _MODEL))
    rows.append(("vote, ties shared", found.vote[0], found.vote[1:], _MODEL))
    if found.typical is not None:
        rows.append(("annotators' mean", found.typical.mean(), interval(found.typical, result.ci_prob), _OTHER))
    for place, (_, mean, ends, shade) in enumerate(rows):
        ax.plot(ends, [place, place], lw=2, color=shade)
        ax.plot([mean], [place], "D" if shade == _MODEL else "o", ms=6, color=shade)
    finish_rows(ax, [name for name, *_ in rows], "accuracy (line of the vote: all ties lost, all won)")
