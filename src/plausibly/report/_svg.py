"""Figures as small, reproducible data URIs."""

import io
import re
from collections.abc import Callable
from functools import cache
from urllib.parse import quote

import matplotlib
import numpy as np
from matplotlib import pyplot, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

# Equal figures give equal bytes: no date, and identifiers from a fixed salt.
SVG = {"svg.hashsalt": "plausibly", "svg.fonttype": "path", "font.size": 10}
# Titles stay where they are put: looking for what they might meet takes a third of the time of a figure.
PANEL = SVG | {"axes.titley": 1.0}
_USUAL = (0.13, 0.16, 0.82, 0.76)  # of a figure, where axes usually come to lie
_PADDING = 0.05  # inches
_TICKS = 5  # intervals between ticks, at most
_NO_DATE = {"Date": None, "Creator": None, "Format": None, "Type": None}
# Coordinates of paths and markers, in points, of which two decimals suffice.
_COORDINATES = re.compile(r'(?<= (?:d|x|y)=")[^"]*(?=")')
_DIGITS = re.compile(r"(\.\d\d)\d+")
# The header, and comments, which are the text of what is drawn as outlines.
_LEFT_OUT = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_BETWEEN = re.compile(r">\s+<")

# In a URI within quotation marks, and without meaning in HTML.
_SAFE = " =:/,;!()*'.-_~+"
_ESCAPES = {code: quote(chr(code), safe=_SAFE) for code in range(128)}  # there is no text, so nothing else


def fill(figure: Figure, ax: Axes) -> None:
    """Let the only axes of a figure fill it, but for the room that their labels need.

    It does in one pass what Matplotlib's constrained layout does in two and a draw. The axes must have been drawn with
    the settings :data:`PANEL`.

    Examples
    --------
    >>> figure = Figure(figsize=(4, 3))
    >>> ax = figure.subplots()
    >>> fill(figure, ax)
    >>> box, (width, height) = ax.get_tightbbox(), figure.get_size_inches() * figure.dpi
    >>> bool(0 < box.x0 < 9 and 0 < box.y0 < 9 and width - 9 < box.x1 < width and height - 9 < box.y1 < height)
    True
    """
    ax.set_position(_USUAL)
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_locator(), MaxNLocator):  # whose ticks would change with the size
            axis.get_major_locator().set_params(nbins=_TICKS)
            low, high = np.sort(axis.get_view_interval())
            ticks = axis.get_majorticklocs()
            axis.set_ticks(ticks[(ticks >= low) & (ticks <= high)])
    ruler, own = _ruler(figure.dpi), ax.get_window_extent()
    above = ax.xaxis.get_tightbbox(ruler) if ax.xaxis.get_ticks_position() == "top" else None
    if above is not None:
        ax.set_title(ax.get_title(), pad=(above.y1 - own.y1) * 72 / figure.dpi + rcParams["axes.titlepad"])
    box = ax.get_tightbbox(ruler)
    assert box is not None
    room = figure.get_size_inches() * figure.dpi
    low = (own.min - box.min + _PADDING * figure.dpi) / room
    high = 1 - (box.max - own.max + _PADDING * figure.dpi) / room
    if (high > low).all():
        ax.set_position((*low, *(high - low)))


@cache
def _ruler(dpi: float) -> RendererAgg:
    """What measures texts; the same for all figures, since it remembers them."""
    return RendererAgg(1, 1, dpi)


def to_uri(figure: Figure) -> str:
    """Write a figure as SVG into a data URI."""
    buffer = io.StringIO()
    with matplotlib.rc_context(SVG):
        figure.savefig(buffer, format="svg", metadata=_NO_DATE)
    text = _LEFT_OUT.sub("", buffer.getvalue())
    text = _COORDINATES.sub(lambda found: " ".join(_DIGITS.sub(r"\1", found.group()).split()), text)
    # Apostrophes as quotation marks need no escape in an HTML attribute.
    text = _BETWEEN.sub("><", text).replace('"', "'").strip()
    return "data:image/svg+xml," + text.translate(_ESCAPES)


def draw_to_uri(draw: Callable[[], Axes | Figure]) -> str:
    """Data URI of a figure, which is drawn and closed."""
    with matplotlib.rc_context(SVG):
        figure = draw().get_figure(root=True)
    assert figure is not None
    pyplot.close(figure)
    return to_uri(figure)
