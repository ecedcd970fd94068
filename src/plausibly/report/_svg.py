"""Figures as reproducible data URIs."""

import io
from base64 import b64encode
from collections.abc import Callable

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Equal figures give equal bytes: no date, and identifiers from a fixed salt.
SVG = {"svg.hashsalt": "plausibly", "svg.fonttype": "path", "font.size": 10}
_NO_DATE = {"Date": None, "Creator": None, "Format": None, "Type": None}


def to_uri(figure: Figure) -> str:
    """Write a figure as SVG into a data URI."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(SVG):
        figure.savefig(buffer, format="svg", metadata=_NO_DATE)
    return "data:image/svg+xml;base64," + b64encode(buffer.getvalue()).decode()


def draw_to_uri(draw: Callable[[], Axes | Figure]) -> str:
    """Data URI of a figure, which is drawn and closed."""
    with matplotlib.rc_context(SVG):
        figure = draw().get_figure(root=True)
    assert figure is not None
    pyplot.close(figure)
    return to_uri(figure)
