"""Templates of pages, and the files that pages are written to."""

import io
import os
import warnings
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly.base.errors import FileError
from plausibly.evaluation.verdicts import short_shares
from plausibly.metrics.words import capitalised, metric_name

# Equal figures give equal bytes: no date, and identifiers from a fixed salt.
SVG = {"svg.hashsalt": "plausibly", "svg.fonttype": "path", "font.size": 10}
_NO_DATE = {"Date": None, "Creator": None, "Format": None, "Type": None}


def to_uri(figure: Figure) -> str:
    """Write a figure as SVG into a data URI; one whose labels leave no room for its axes grows by them."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(SVG), warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied", UserWarning)
        try:
            figure.savefig(buffer, format="svg", metadata=_NO_DATE)
        except UserWarning:
            figure.set_layout_engine("none")
            figure.savefig(buffer, format="svg", metadata=_NO_DATE, bbox_inches="tight")
    return "data:image/svg+xml;base64," + b64encode(buffer.getvalue()).decode()


def draw_to_uri(draw: Callable[[], Axes | Figure]) -> str:
    """Data URI of a figure, which is drawn and closed."""
    with matplotlib.rc_context(SVG):
        figure = draw().get_figure(root=True)
    assert figure is not None
    pyplot.close(figure)
    return to_uri(figure)


_HERE = Path(__file__).parent


def template(name: str, **filters: Any) -> jinja2.Template:
    """Return the template of a page, with further filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plausibly.app", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    digest = b64encode(sha256(script.encode()).digest()).decode()  # a page may run this script and no other
    environment.globals |= {"style": style, "script": script, "script_hash": f"sha256-{digest}"}
    environment.filters |= {"metric": metric_name, "capitalised": capitalised, "shares": short_shares, **filters}
    return environment.get_template(name)


def write_page(text: str, path: str | os.PathLike) -> None:
    """Write a page into a file, which is replaced."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n", errors="replace")
    except OSError as error:
        raise FileError(f"{path}: the file cannot be written ({error.strerror}); choose another place") from error
