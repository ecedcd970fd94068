"""Figures as small, reproducible data URIs."""

import io
import re
from urllib.parse import quote

import matplotlib
from matplotlib.figure import Figure

# Equal figures give equal bytes: no date, and identifiers from a fixed salt.
SVG = {"svg.hashsalt": "plausibly", "svg.fonttype": "path", "font.size": 10}
_NO_DATE = {"Date": None, "Creator": None, "Format": None, "Type": None}
# Coordinates of paths and markers, in points, of which two decimals suffice.
_COORDINATES = re.compile(r'(?<= (?:d|x|y)=")[^"]*(?=")')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_HEADER = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)  # the text of what is drawn as outlines
_BETWEEN = re.compile(r">\s+<")

_SAFE = " =:/,;!()*'.-_~+"  # in a URI within quotation marks, and without meaning in HTML


def to_uri(figure: Figure) -> str:
    """Write a figure as SVG into a data URI.

    Examples
    --------
    >>> to_uri(Figure(figsize=(1, 1)))[:30]
    'data:image/svg+xml,%3Csvg xmln'
    """
    buffer = io.StringIO()
    with matplotlib.rc_context(SVG):
        figure.savefig(buffer, format="svg", metadata=_NO_DATE)
    return "data:image/svg+xml," + quote(_smaller(buffer.getvalue()), safe=_SAFE)


def _smaller(text: str) -> str:
    text = _COMMENTS.sub("", _METADATA.sub("", _HEADER.sub("", text)))
    text = _COORDINATES.sub(lambda found: " ".join(_DIGITS.sub(r"\1", found.group()).split()), text)
    # Apostrophes as quotation marks need no escape in an HTML attribute.
    return _BETWEEN.sub("><", text).replace('"', "'").strip()
