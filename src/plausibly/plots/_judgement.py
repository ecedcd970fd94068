"""A judgement of models that could stand in for annotators: four questions, and groups of cases."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly.agreement import Judgement
from plausibly.bootstrap import interval
from plausibly.errors import ArgumentError
from plausibly.plots._discrepancy import discrepancy_ratios
from plausibly.plots._style import COLOURS, GREY, finish_rows, new_axes, new_figure, only

_LINE = {"color": "black", "lw": 0.8, "ls": (0, (2, 3)), "zorder": 0}
_MODEL, _OTHER = COLOURS[0], GREY


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
    ax.axvline(whole, **_LINE)
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
    ax.axvline(rows["mean"].iloc[1:].mean(), **_LINE)
    finish_rows(ax, rows.index.tolist(), f"{found.unit} ({result.model}; dotted: the annotators' mean)")


def _accuracy(result: Judgement, model: str, ax: Axes) -> None:
    found = result.fits[model]
    rows = [("inferred truth", found.accuracy.mean(), interval(found.accuracy, result.ci_prob), _MODEL)]
    rows.append(("vote, ties shared", found.vote[0], found.vote[1:], _MODEL))
    if found.typical is not None:
        rows.append(("annotators' mean", found.typical.mean(), interval(found.typical, result.ci_prob), _OTHER))
    for place, (_, mean, ends, colour) in enumerate(rows):
        ax.plot(ends, [place, place], lw=2, color=colour)
        ax.plot([mean], [place], "D" if colour == _MODEL else "o", ms=6, color=colour)
    finish_rows(ax, [name for name, *_ in rows], "accuracy (line of the vote: all ties lost, all won)")
