"""Metrics of labels: curves of a score, confusion matrices, and accuracy against panels of experts."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Int
from matplotlib.axes import Axes

from plausibly.app.plots.style import (
    COLOURS,
    DOTTED,
    GREY,
    colour,
    draw_matrix,
    grid,
    marker,
    matrix_axes,
    name_ends,
    new_axes,
    plain,
    square,
)
from plausibly.base.bootstrap import interval, interval_of_known, width_of
from plausibly.base.errors import ArgumentError
from plausibly.base.names import many
from plausibly.evaluation.comparison import metric_by_draw
from plausibly.evaluation.curves import along_axes, mean_known

_ALPHA = 0.13, 0.25  # of total and annotation intervals
_MOST = 12  # classes of a confusion matrix
_CELL = 0.62  # inches
_HUMAN = "a further expert"


class _Curve(NamedTuple):
    name: str
    place: int
    mean: np.ndarray
    total: np.ndarray | None
    annotation: np.ndarray | None


def roc_curve(
    results: xr.Dataset,
    class_name: str | None = None,
    ci_prob: float | None = None,
    *,
    readers: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the ROC curve of every classifier: sensitivity against one minus specificity.

    Lines are means over draws; light bands are total intervals, for new cases like these, and dark bands annotation
    intervals, for these cases. Both hold for each specificity by itself. If the results have ``auroc``, too, the legend
    has its mean; if they have a threshold, ``sensitivity`` and ``specificity``, a marker shows this operating point.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with the metric ``"roc_curve"``.
    class_name
        Class against all others, if there are more than two classes. By default every class of a single classifier.
    ci_prob
        Probability of the intervals; by default that of the results.
    readers
        Annotators to draw as points, with the columns ``sensitivity`` and ``specificity``.
    """
    ax = square(ax)
    ax.plot([0, 1], [0, 1], **DOTTED)
    if readers is not None and "sensitivity" in readers:
        at = 1 - readers["specificity"], readers["sensitivity"]
        ax.scatter(*at, s=40, facecolors="none", edgecolors=GREY, zorder=5, label="annotators")
    x = 1 - results["at_specificity"].values if "at_specificity" in results else np.empty(0)
    for curve in _curves(results, "roc_curve", class_name, ci_prob):
        _band(ax, x, curve)
        label = _with_area(results, "auroc", curve.name, class_name)
        ax.plot([*x, 0], [*curve.mean, 0], color=colour(curve.place), lw=2, label=label)
    point = ("specificity", "sensitivity")
    if "threshold" in results.attrs and {*point} <= {*results}:
        for place, name in enumerate(results["classifier"].values):
            at = [mean_known(results[metric].sel(classifier=name).values) for metric in point]
            style = {"marker": marker(place), "ms": 8, "mec": "white", "mew": 0.8, "ls": "", "zorder": 5}
            ax.plot([1 - at[0]], [at[1]], color=colour(place), **style)
    ax.set(xlabel="1 − specificity", ylabel="sensitivity")
    return _with_legend(ax, "lower right", class_name)


def precision_recall_curve(
    results: xr.Dataset, class_name: str | None = None, ci_prob: float | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw precision (positive predictive value) against recall (sensitivity) for every classifier.

    Lines, bands and arguments are those of :func:`roc_curve`, with the metric ``"precision_recall_curve"``; the legend
    has the mean of ``average_precision``.
    """
    ax = square(ax)
    for curve in _curves(results, "precision_recall_curve", class_name, ci_prob):
        x = results["recall"].values
        _band(ax, x, curve)
        label = _with_area(results, "average_precision", curve.name, class_name)
        ax.plot(x, curve.mean, color=colour(curve.place), lw=2, label=label)
    ax.set(xlabel="recall (sensitivity)", ylabel="precision (positive predictive value)")
    return _with_legend(ax, "lower left", class_name)


def calibration_curve(results: xr.Dataset, ci_prob: float | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw observed frequencies against predicted probabilities, in ten bins, for every classifier.

    Of two classes, the frequency of the positive one; of more, how often the most probable class is the true one. Above
    the diagonal, probabilities are too low. Thin, light bars are total intervals, for new cases like these, and thick,
    dark bars annotation intervals, for these cases.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with the metric ``"calibration_curve"``, or the group ``"curves"``.
    ci_prob
        Probability of the intervals; by default that of the results.
    """
    ax = square(ax)
    ax.plot([0, 1], [0, 1], **DOTTED)
    for curve in _curves(results, "calibration_curve", None, ci_prob):
        x = np.broadcast_to(results["probability"].values, curve.mean.shape)
        if "mean_predicted" in results:
            x = mean_known(results["mean_predicted"].sel(classifier=curve.name).values)
        there, shade = ~np.isnan(curve.mean), colour(curve.place)
        for ends, width, alpha in ((curve.total, 2, 0.35), (curve.annotation, 5, 0.45)):
            if ends is not None:
                ax.vlines(x[there], *ends[:, there], color=shade, lw=width, alpha=alpha)
        style = {"color": shade, "marker": marker(curve.place), "ms": 6, "mec": "white", "mew": 0.7}
        ax.plot(x[there], curve.mean[there], lw=1.5, label=plain(curve.name, 24), **style)
    ax.set(xlabel="predicted probability", ylabel="observed frequency")
    return _with_legend(ax, "upper left")


def decision_curve(
    results: xr.Dataset, class_name: str | None = None, ci_prob: float | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the net benefit of treating by each classifier against the threshold, beside treating all and none.

    Lines, bands and arguments are those of :func:`roc_curve`, with the metric ``"decision_curve"``.
    """
    ax = new_axes(ax)
    top = 0.01
    curves = _curves(results, "decision_curve", class_name, ci_prob)
    if "net_benefit_of_all" in results:
        of_all = np.unique([one.mean for one in _curves(results, "net_benefit_of_all", class_name, ci_prob)], axis=0)
        for at, values in enumerate(of_all):
            style = {"color": GREY, "lw": 1.2, "ls": "--"}
            ax.plot(results["threshold"].values, values, label="treat all" if at == 0 else None, **style)
    for curve in curves:
        x = results["threshold"].values
        _band(ax, x, curve)
        ax.plot(x, curve.mean, color=colour(curve.place), lw=2, label=plain(curve.name, 24))
        upper = curve.mean if curve.total is None else curve.total[1]
        top = float(np.nanmax([top, *curve.mean, *upper]))  # of a single cluster, the interval is unknown
    ax.axhline(0, color="black", lw=1, label="treat none")
    ax.set(xlabel="threshold probability", ylabel="net benefit", xlim=(0, 1), ylim=(-0.15 * top, 1.05 * top))
    grid(ax, "y")
    return _with_legend(ax, "upper right", class_name)


def _curves(results: xr.Dataset, metric: str, class_name: str | None, ci_prob: float | None) -> list[_Curve]:
    """Curves of the classifiers or, of a single one, of the classes."""
    variable = along_axes(results, metric)
    names = [str(name) for name in results["classifier"].values]
    chosen: list[dict[str, str]] = [{"classifier": name} for name in names]
    if "class_name" in variable.dims:
        classes = [str(name) for name in results["class_name"].values]
        if class_name is None and (len(names) > 1 or len(classes) > len(COLOURS)):
            raise ArgumentError(
                f"there are {len(names)} classifiers and {len(classes)} classes, but no class was chosen: pass "
                f"class_name, one of {', '.join(classes[:9])}."
            )
        if class_name is not None and class_name not in classes:
            raise ArgumentError(
                f"there is no class {class_name!r} in these results: choose from {', '.join(classes[:9])}."
            )
        of = classes if class_name is None else [class_name]
        chosen = [one | {"class_name": name} for one in chosen for name in of]
    found = []
    for place, one in enumerate(chosen):
        name = one["classifier"] if class_name or len(one) == 1 else one["class_name"]
        ends = []
        for values in (results.get(f"{metric}_total"), variable):
            known = None if values is None or values.shape[-1] < 2 else values.sel(one).values
            ends.append(None if known is None else interval_of_known(known, width_of(results, ci_prob), -1))
        found.append(_Curve(name, place, mean_known(variable.sel(one).values), *ends))
    return found


def _band(ax: Axes, x: np.ndarray, curve: _Curve) -> None:
    for ends, alpha in zip((curve.total, curve.annotation), _ALPHA, strict=True):
        if ends is not None:
            ax.fill_between(x, *ends, color=colour(curve.place), alpha=alpha, lw=0)


def _with_area(results: xr.Dataset, metric: str, name: str, class_name: str | None) -> str:
    """Name of a curve, with the mean of the area below it if that is known."""
    if metric not in results:
        return plain(name, 24)
    own = {"classifier": name}
    if "class_name" in results[metric].dims:
        own = {"classifier": name, "class_name": class_name} if class_name else {"class_name": name}
    return f"{plain(name, 24)} ({float(results[metric].sel(own).mean()):.2f})"


def _with_legend(ax: Axes, place: str, class_name: str | None = None) -> Axes:
    ax.set_title("" if class_name is None else f"{plain(class_name)} against all others")
    ax.legend(loc=place, frameon=False)
    return ax


def confusion_matrix(
    results: xr.Dataset, classifier: str | None = None, most: int = _MOST, *, ax: Axes | None = None
) -> Axes:
    """Draw the classes that a classifier names for the cases of each class: shares, and expected numbers of cases.

    Numbers are means over draws. If there are more classes than `most`, those with the largest confusions are shown,
    and all others are one: there, it does not show which of them are confused. Cases in which a classifier gives no
    answer are the last column.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluate` with the metric ``"confusion"``.
    classifier
        Name of a classifier; not needed if there is only one.
    most
        Largest number of classes.
    """
    variable = along_axes(results, "confusion")
    names = [str(name) for name in results["classifier"].values]
    if (classifier is None and len(names) > 1) or (classifier is not None and classifier not in names):
        said = "no classifier was chosen" if classifier is None else f"there is no classifier {classifier!r} here"
        raise ArgumentError(f"{said}: choose from {', '.join(names)}.")
    at = 0 if classifier is None else names.index(classifier)
    counts = mean_known(variable.values[at]) * variable.attrs["n_cases"]
    classes = [plain(name, 18) for name in results["true_class"].values]
    silent = [plain(name, 18) for name in results["named_class"].values[len(classes) :]]
    if len(classes) > most:
        chosen = _confused(counts, most - 1)
        counts = _with_others(counts, chosen)
        classes = [*(classes[k] for k in chosen), many(len(classes) - len(chosen), "other")]
    n = len(classes)
    ax = new_axes(ax, 2.2 + _CELL * counts.shape[1], 1.6 + _CELL * n)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, counts / np.where(total > 0, total, 1), np.nan)

    def write(row: int, column: int) -> str:
        count = counts[row, column]
        number = f"{count:.1f}" if count < 9.95 else f"{count:,.0f}"
        return f"{100 * shares[row, column]:.0f} %\n{number}" if count >= 0.05 else ""

    draw_matrix(ax, shares, write, "Blues")
    tilted = {"rotation": 45, "ha": "right"} if n >= 4 else {"rotation": 0, "ha": "center"}
    matrix_axes(ax, classes + silent, classes, **tilted)
    title = "" if classifier is None else plain(names[at])
    ax.set(xlabel="named by the classifier", ylabel="true class", title=title)
    return ax


def _confused(counts: Float[np.ndarray, "true named"], most: int) -> Int[np.ndarray, " class"]:
    """Find the classes with the largest confusions, in the order of the classes."""
    wrong = np.where(np.eye(len(counts), dtype=bool), 0, counts[:, : len(counts)])
    pairs = np.argsort(-wrong, axis=None, kind="stable")[: most**2]
    in_order = np.stack(np.unravel_index(pairs, wrong.shape), axis=1).ravel()
    _, first = np.unique(in_order, return_index=True)
    return np.sort(in_order[np.sort(first)][:most])


def _with_others(
    counts: Float[np.ndarray, "true named"], chosen: Int[np.ndarray, " class"]
) -> Float[np.ndarray, "row column"]:
    """Keep some classes, and add up all others in a row and a column, after which is that without answers."""
    into = np.full(counts.shape[1], len(chosen))
    into[chosen], into[len(counts) :] = np.arange(len(chosen)), len(chosen) + 1
    found = np.zeros((len(chosen) + 1, into.max() + 1))
    np.add.at(found, (into[: len(counts), None], into), counts)
    return found


def panel_curve(
    results: xr.Dataset, limit: xr.Dataset | None = None, ci_prob: float | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw how often each classifier, and a further expert, names the most frequent class of a panel, by its size.

    At 1, and at 2, this is the agreement with an expert. Bands are intervals for new cases like these; without
    replicates, there are none.

    Parameters
    ----------
    results
        Results of :func:`plausibly.evaluation.panels`.
    limit
        Results of :func:`plausibly.evaluate` for the same classifiers: their accuracy under the model, against the most
        plausible class, which is the limit of very large panels. It is drawn at the right, with total intervals if
        there are replicates, else annotation intervals.
    ci_prob
        Probability of the intervals; by default that of the results.
    """
    if not isinstance(results, xr.Dataset) or "panel_accuracy" not in results:
        raise ArgumentError(
            "results must be those of pb.evaluation.panels, but they have no panel_accuracy: compute them from the "
            "annotations and predictions."
        )
    names, n, ci_prob = results["classifier"].values.tolist(), results["n"].values, width_of(results, ci_prob)
    limits = None if limit is None else _limits(limit, names, ci_prob)
    ax = new_axes(ax)
    curves = [(name, results.sel(classifier=name), "panel_accuracy", colour(i)) for i, name in enumerate(names)]
    ends = []
    for at, (name, own, metric, shade) in enumerate([*curves, (_HUMAN, results, "human_panel", GREY)]):
        values = own[metric].values
        if np.isnan(values).all():
            continue
        style = {"color": shade, "lw": 2, "ls": "--" if name == _HUMAN else "-"}
        ax.plot(n, values, marker=None if name == _HUMAN else marker(at), ms=5, label=name, **style)
        if f"{metric}_total" in own:
            lower, upper = interval(own[f"{metric}_total"].transpose("replicate", "n").values, ci_prob)
            ax.fill_between(n, lower, upper, color=shade, alpha=0.13, lw=0)
        last = np.flatnonzero(~np.isnan(values))[-1]
        end = float(values[last])
        if limits is not None and metric == "panel_accuracy":
            mean, lower, upper = limits[name]
            place = n[-1] + 1 + 0.12 * (at - (len(names) - 1) / 2)
            ax.plot([float(n[last]), place], [end, mean], color=shade, lw=1, ls=":")
            ax.plot([place, place], [lower, upper], color=shade, lw=2)
            ax.plot([place], [mean], marker=marker(at), ms=7, mec=shade, mfc="white", mew=1.8, ls="")
            end = mean
        ends.append((name, end, shade))
    name_ends(ax, ends, n[-1] + (limits is not None), 12)
    shown = n[:: 1 + len(n) // 10].tolist()
    ax.set_xticks(shown)
    if limits is not None:
        ax.set_xticks([*shown, n[-1] + 1], [*map(str, shown), "most\nplausible"])
        ax.axvline(n[-1] + 0.5, **DOTTED)
    ax.set(xlabel="experts in a panel", ylabel="panels whose most frequent class is named")
    ax.set_xlim(0.75, n[-1] + 0.25 + (limits is not None))
    grid(ax, "y")
    return ax


def _limits(limit: xr.Dataset, names: list[str], ci_prob: float) -> dict[str, tuple[float, float, float]]:
    """Accuracy of each classifier under the model: mean, lower and upper end."""
    metric = "top1_accuracy"
    by_draw = metric_by_draw(limit, metric)
    if missing := sorted(set(names) - set(by_draw["classifier"].values.tolist())):
        raise ArgumentError(f"there is no classifier {missing[0]!r} in limit: evaluate the same classifiers.")
    total = limit.get(f"{metric}_total")
    spread_of = by_draw if total is None or total.isnull().any() else total
    found = {}
    for name in names:
        lower, upper = interval(spread_of.sel(classifier=name).values, ci_prob)
        found[name] = float(by_draw.sel(classifier=name).mean()), float(lower), float(upper)
    return found
