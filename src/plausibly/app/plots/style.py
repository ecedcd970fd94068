"""Shared by all figures: colours, axes, and labels that do not collide."""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from textwrap import fill
from types import UnionType
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from plausibly.base.errors import ArgumentError

# Okabe & Ito (2008), without yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#777777"
_LABEL = 56  # characters of a line of a label, which axes half a page wide have room for
DOTTED: dict[str, Any] = {"color": GREY, "lw": 0.8, "ls": (0, (2, 3)), "zorder": 1}  #: lines of reference


def draws_its_kind(function: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a first argument of another type than the function declares."""
    first = next(iter(signature(function).parameters.values()))
    declared = get_args(first.annotation) if isinstance(first.annotation, UnionType) else (first.annotation,)
    kinds = [get_origin(kind) or kind for kind in declared]

    @wraps(function)
    def draw(*given: Any, **named: Any) -> Any:
        drawn = given[0] if given else named.get(first.name)
        if drawn is not None and Any not in kinds and not isinstance(drawn, tuple(kinds)):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise ArgumentError(
                f"{function.__name__} draws {wanted}, but {first.name} is of type {type(drawn).__name__}: what to "
                f"give is in the documentation of pb.plots.{function.__name__}."
            )
        return function(*given, **named)

    return draw


def new_axes(ax: Axes | None, width: float = 6.0, height: float = 4.0) -> Axes:
    """Return the axes given, or those of a new figure, with the frame that all figures have."""
    made: Axes = new_figure(width, height)[1].item() if ax is None else ax
    made.spines[["top", "right"]].set_visible(False)
    return made


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """Make a figure and its axes (row, column)."""
    from matplotlib import pyplot

    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options)


def panels(n: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Make a figure of equal panels, `columns` in a row."""
    columns = min(columns, n)
    rows = -(-n // columns)
    figure, axes = new_figure(width * columns, height * rows, rows, columns)
    for ax in axes.flat[n:]:
        ax.remove()
    return figure, list(axes.flat[:n])


def grid(ax: Axes, axis: Literal["x", "y", "both"]) -> None:
    """Draw a faint grid behind everything else."""
    ax.grid(axis=axis, color="0.92")
    ax.set_axisbelow(True)


def finish_rows(ax: Axes, names: Sequence[object], xlabel: str, most: int = 24) -> None:
    """Name rows from top to bottom, and label the axis of their values."""
    name_rows(ax, range(len(names)), [plain(name, most) for name in names])
    ax.set(xlabel=fill(xlabel, _LABEL), ylim=(len(names) - 0.4, -0.6))
    grid(ax, "x")


def draw_rows(
    ax: Axes,
    places: ArrayLike,
    rows: pd.DataFrame,
    shade: str | Sequence[str],
    shape: str = "o",
    *,
    hollow: ArrayLike = False,
    label: str | None = None,
    alpha: Any = None,
) -> None:
    """Draw a row for each ``mean``, with a line from ``lower`` to ``upper`` if there are such columns."""
    shades = np.broadcast_to(shade, len(rows))
    if "lower" in rows:
        ax.hlines(places, rows["lower"], rows["upper"], color=shades, lw=2, alpha=alpha, zorder=2)
    faces = np.where(hollow, "white", shades)
    style = {"marker": shape, "color": faces, "edgecolors": shades, "linewidths": 1.4, "alpha": alpha, "zorder": 3}
    ax.scatter(rows["mean"], places, s=36, label=label, **style)


def draw_matrix(
    ax: Axes, cells: np.ndarray, write: Callable[[int, int], str], colours: str, low: float = 0.0, high: float = 1.0
) -> None:
    """Colour the cells of a matrix, and write what is written of each row and column, in white where it is dark."""
    image = ax.imshow(cells, cmap=colours, vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(cells):
        if text := "" if np.isnan(value) else write(row, column):
            shade = "white" if np.mean(image.cmap(image.norm(value))[:3]) < 0.5 else "black"
            ax.text(column, row, text, ha="center", va="center", color=shade, fontsize=8 if "\n" in text else None)


def square(ax: Axes | None) -> Axes:
    """Axes of two shares."""
    ax = new_axes(ax, 5.0, 5.0)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    grid(ax, "both")
    return ax


def name_rows(ax: Axes, places: ArrayLike, names: Sequence[str]) -> None:
    """Write names at the left of rows, without ticks."""
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)


def number_rows(ax: Axes, places: ArrayLike, texts: Sequence[str], colour: str = "black") -> SecondaryAxis:
    """Write texts, such as numbers, at the right of rows, without ticks."""
    right = ax.secondary_yaxis("right")
    right.set_yticks(places, texts)
    right.tick_params(axis="y", length=0, colors=colour)
    right.spines["right"].set_visible(False)
    return right


def point_estimates(ax: Axes, x: ArrayLike, y: ArrayLike, colour: str) -> None:
    """Mark values at the point estimate by hollow diamonds."""
    ax.plot(x, y, marker="D", ms=7, mfc="white", mec=colour, mew=1.9, ls="", clip_on=False)


def limit_axis(ax: Axes, reliabilities: Sequence[float], room: float) -> None:
    """Label an axis of reliabilities, the last step being their limit, the point estimate."""
    limit = len(reliabilities)
    if limit:
        ax.axvline(limit - 0.5, **DOTTED)
    ax.set_xticks(range(limit + 1), [f"{reliability:g}" for reliability in reliabilities] + ["point\nestimate"])
    ax.set(xlabel="reliability", xlim=(-room, limit + room))


def name_end(ax: Axes, name: str, at: tuple[float, float], offset: tuple[float, float], colour: str) -> None:
    """Write the name of a line beside its right end."""
    style = {"va": "center", "fontweight": "bold", "textcoords": "offset points", "annotation_clip": False}
    ax.annotate(plain(name, 24), at, xytext=offset, color=colour, **style)


def name_ends(ax: Axes, ends: Sequence[tuple[str, float, str]], x: float, offset: float) -> None:
    """Write names beside the right ends of lines, moved apart where they would collide: name, height and colour."""
    ax.margins(y=0.1)
    scale, back = (np.log, np.exp) if ax.get_yscale() == "log" else (np.asarray, np.asarray)
    low, high = scale(ax.get_ylim())
    gap = min(0.07, 1 / max(len(ends), 1)) * (high - low)
    heights = within(spread(scale([height for _, height, _ in ends]), gap), gap, low + gap / 2, high - gap / 2)
    for (name, _, shade), height in zip(ends, back(heights), strict=True):
        name_end(ax, name, (x, height), (offset, 0), shade)


def matrix_axes(ax: Axes, columns: Sequence[str], rows: Sequence[str], **style: Any) -> None:
    """Name the columns and rows of a matrix, without ticks and frame."""
    ax.set_xticks(range(len(columns)), columns, **style)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def only(models: Sequence[str], model: str | None) -> str:
    """Return the model asked for, or the only one; refuse one that is not there."""
    if model is None and len(models) > 1:
        raise ArgumentError(f"there are {len(models)} models, but none was chosen: choose from {', '.join(models)}.")
    if model is not None and model not in models:
        raise ArgumentError(f"there is no model {model!r} here: choose from {', '.join(models)}.")
    return models[0] if model is None else model


def case_title(case: object) -> str:
    """Title of a case, by its name.

    Examples
    --------
    >>> case_title("17"), case_title("patient 17")
    ('case 17', 'patient 17')
    """
    name = plain(case)
    return name if any(letter.isalpha() for letter in name) else f"case {name}"


def colour(position: int) -> str:
    """Colour of the n-th classifier."""
    return COLOURS[position % len(COLOURS)]


def marker(position: int) -> str:
    """Marker of the n-th classifier; it differs where colours repeat."""
    return MARKERS[(position + position // len(COLOURS)) % len(MARKERS)]


def plain(text: object, most: int = 40) -> str:
    """Make a name safe to draw: not too long, and without mathematics between dollar signs."""
    name = " ".join(str(text).split())
    name = name if len(name) <= most else name[: most - 1] + "…"
    return name.replace("$", r"\$")


def spread(values: ArrayLike, gap: float) -> list[float]:
    """Move labels apart as little as possible: same order, neighbours at least ``gap`` apart."""
    order = np.argsort(values, kind="stable")
    # Labels that touch form groups, each centred on its values; groups that touch join.
    groups: list[list[float]] = []
    for value in np.asarray(values, float)[order]:
        groups.append([value])
        while len(groups) > 1:
            low, high = groups[-2:]
            top = np.mean(low) + gap * (len(low) - 1) / 2
            bottom = np.mean(high) - gap * (len(high) - 1) / 2
            if bottom - top >= gap:
                break
            groups[-2:] = [low + high]
    placed = [np.mean(group) + gap * (i - (len(group) - 1) / 2) for group in groups for i in range(len(group))]
    out = np.empty(len(placed))
    out[order] = placed
    return out.tolist()


def within(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels that are ``gap`` apart into an interval, as far as it has room.

    Examples
    --------
    >>> within([0.9, 1.0, 1.1], gap=0.1, low=0, high=1)
    [0.8, 0.9, 1.0]
    """
    out = np.array(places, float)
    order = np.argsort(out, kind="stable")
    from_ends = gap * np.arange(len(out))
    # Each label leaves room for those below and above it.
    out[order] = np.minimum(np.maximum(out[order], low + from_ends), high - from_ends[::-1])
    return [round(float(x), 12) for x in out]
