"""What the figures share: colours, axes, and labels that do not collide."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes

# Okabe & Ito (2008), without yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#777777"


def new_axes(ax: Axes | None, width: float = 6.0, height: float = 4.0) -> Axes:
    """Return the axes given, or those of a new figure, with the frame that all figures have."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def colour(position: int) -> str:
    """Colour of the n-th classifier."""
    return COLOURS[position % len(COLOURS)]


def marker(position: int) -> str:
    """Marker of the n-th classifier, another one where colours repeat."""
    return MARKERS[(position + position // len(COLOURS)) % len(MARKERS)]


def shades(n: int) -> list[tuple[float, float, float, float]]:
    """Colours of an ordered quantity, from light to dark, that also differ in lightness.

    Examples
    --------
    >>> len(shades(3))
    3
    """
    colours = matplotlib.colormaps["viridis_r"]
    return [colours(x) for x in np.linspace(0.25 if n > 1 else 0.6, 0.95, n)]


def plain(text: object, most: int = 40) -> str:
    r"""Make a name safe to draw: not too long, and no mathematics between dollar signs.

    Examples
    --------
    >>> plain("a$b$")
    'a\\$b\\$'
    >>> plain("a long name", most=6)
    'a lon…'
    """
    name = " ".join(str(text).split())
    name = name if len(name) <= most else name[: most - 1] + "…"
    return name.replace("$", r"\$")


def metric_name(metric: str) -> str:
    """Put the name of a metric into words.

    Examples
    --------
    >>> metric_name("top3_average_overlap"), metric_name("annotation_certainty_1")
    ('top-3 average overlap', 'top-1 annotation certainty')
    """
    words = metric.split("_")
    if words[-1].isdigit():
        words = [f"top-{words[-1]}", *words[:-1]]
    elif words[0].startswith("top") and words[0][3:].isdigit():
        words[0] = f"top-{words[0][3:]}"
    return " ".join(words)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Move labels apart as little as it takes: same order, neighbours at least ``gap`` apart.

    Examples
    --------
    >>> [round(x, 6) for x in spread([0.5, 0.52, 0.9], gap=0.1)]
    [0.46, 0.56, 0.9]
    """
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
    """Move labels that are ``gap`` apart into an interval, as far as there is room in it.

    Examples
    --------
    >>> within([0.9, 1.0, 1.1], gap=0.1, low=0, high=1)
    [0.8, 0.9, 1.0]
    """
    out = np.asarray(places, float)
    order = np.argsort(out, kind="stable")
    from_ends = gap * np.arange(len(out))
    # Nobody stands lower than those below allow, nor higher than those above do.
    fitted = np.minimum(np.maximum(out[order], low + from_ends), high - from_ends[::-1])
    out = out.copy()
    out[order] = fitted
    return [round(float(x), 12) for x in out]
