"""Confusion matrices."""

import matplotlib
import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from matplotlib.axes import Axes

from plausibly.errors import ArgumentError
from plausibly.evaluation._curves import along_axes, mean_known
from plausibly.plots._style import matrix_axes, new_axes, plain

_MOST = 12  # classes
_CELL = 0.62  # inches


def confusion_matrix(
    results: xr.Dataset, classifier: str | None = None, most: int = _MOST, *, ax: Axes | None = None
) -> Axes:
    """Draw what a classifier calls the cases of each class: shares of the class, and expected numbers of cases.

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
        classes = [*(classes[k] for k in chosen), f"{len(classes) - len(chosen)} others"]
    n = len(classes)
    ax = new_axes(ax, 2.2 + _CELL * counts.shape[1], 1.6 + _CELL * n)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, counts / np.where(total > 0, total, 1), np.nan)
    ax.imshow(shares, cmap=matplotlib.colormaps["Blues"], vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(shares):
        if not np.isnan(share) and counts[row, column] >= 0.05:
            text = f"{100 * share:.0f} %\n{_number(counts[row, column])}"
            shade = "white" if share > 0.6 else "black"
            ax.annotate(text, (column, row), ha="center", va="center", color=shade, fontsize=8)
    tilted = {"rotation": 45, "ha": "right"} if n >= 4 else {"rotation": 0, "ha": "center"}
    matrix_axes(ax, classes + silent, classes, **tilted)
    title = "" if classifier is None else plain(names[at])
    ax.set(xlabel="named by the classifier", ylabel="true class", title=title)
    return ax


def _number(count: float) -> str:
    """Number of cases, with a decimal where it is small.

    Examples
    --------
    >>> _number(3.14), _number(1234.5)
    ('3.1', '1,234')
    """
    return f"{count:.1f}" if count < 9.95 else f"{count:,.0f}"


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
