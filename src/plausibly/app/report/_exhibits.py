"""Sentences, tables and figures as a page shows them, from what results and callers give, in any order and nesting."""

import io
import os
import re
import warnings
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox

import plausibly
from plausibly.app.report.page import Page, Part, pieces
from plausibly.app.results import kind_of, of
from plausibly.app.screen import Table, cell, short_names
from plausibly.base.errors import ArgumentError, FileError, show

MOST_ROWS = 200  #: of a table
_NUMBER = re.compile(r"([<>]?[+\-\u2212]?\d[\d,.]*(e[+-]?\d+)?( %)?([ /(\[].*)?)?", re.DOTALL)
_PANEL = 4.8  # inches; two panels fill a page
# Equal figures give equal bytes: no date, and identifiers from a fixed salt.
SVG = {"svg.hashsalt": "plausibly", "svg.fonttype": "path", "font.size": 10}
_NO_DATE = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass(frozen=True)
class Picture:
    """A figure of several panels, which are drawn one by one."""

    section: str  # of the page, by its id
    panels: Sequence[Any]  # side by side: titles or "", with functions that draw into ``ax``; then data URIs
    height: float  # inches
    alt: str  # description for readers who cannot see it
    caption: str  # how to read it
    limits: tuple[float, float] | None = None  # of the vertical axes
    folded: bool = False  # shown on demand only
    wide: bool = False  # each panel takes the whole width

    def draw(self, advance: Callable[[int], None] = lambda n: None) -> "Picture":
        """Draw each panel as a picture of its own, so that a narrow screen shows them one below the other."""
        drawn = []
        with matplotlib.rc_context(SVG), warnings.catch_warnings():
            # Letters that the font lacks become boxes, which readers see without a warning for each.
            warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
            for title, draw in self.panels:
                figure = Figure(figsize=(2 * _PANEL if self.wide else _PANEL, self.height), layout="constrained")
                ax = figure.subplots()
                if self.limits is not None:
                    ax.set_ylim(self.limits)
                draw(ax=ax)
                if title:
                    ax.set_title(title)
                drawn.append(to_uri(figure))
                advance(1)
        return replace(self, panels=drawn)


def to_uri(figure: Figure) -> str:
    """Write a figure as SVG into a data URI; one whose labels leave no room for its axes grows by them."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(SVG), warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied", UserWarning)
        FigureCanvasSVG(figure)
        figure.dpi = 72  # of SVG
        layout, tight = figure.get_layout_engine(), None
        try:  # laid out here, since savefig draws a second time for it
            if layout is not None and not _laid_out(figure):
                layout.execute(figure)
        except UserWarning:
            tight = "tight"
        figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", metadata=_NO_DATE, bbox_inches=tight)
    return "data:image/svg+xml;base64," + b64encode(buffer.getvalue()).decode()


def _laid_out(figure: Figure) -> bool:
    """Lay out a single axes in one pass, of which Matplotlib's layout has two; False where that is left to it."""
    axes, layout = figure.get_axes(), figure.get_layout_engine()
    if len(axes) > 1 or not isinstance(layout, ConstrainedLayoutEngine) or axes[0].get_aspect() != "auto":
        return False
    pad = np.array([layout.get()["w_pad"], layout.get()["h_pad"]]) / figure.get_size_inches()
    place, box = axes[0].get_position(original=True), axes[0].get_tightbbox(for_layout_only=True)
    assert box is not None
    taken = box.transformed(figure.transFigure.inverted())
    place = Bbox([place.min - taken.min + pad, 1 - (taken.max - place.max) - pad])
    if (place.size <= 0).any():
        return False
    axes[0].set_position(place)
    return True


def _draw_to_uri(draw: Callable[[], Axes | Figure]) -> str:
    """Data URI of a figure, which is drawn and closed."""
    with matplotlib.rc_context(SVG), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = draw().get_figure(root=True)
        assert figure is not None
        pyplot.close(figure)
        return to_uri(figure)


@dataclass(frozen=True)
class Exhibit:
    """One table, figure or sentence."""

    caption: str = ""
    text: str = ""  # a sentence, or
    panels: tuple[str, ...] = ()  # a figure: its panels as data URIs,
    alt: str = ""  # its description,
    wide: bool = False  # and whether it takes the whole width; or
    within: tuple["Exhibit", ...] = ()  # others, below a caption that unfolds them; or
    columns: tuple[str, ...] = ()  # a table: names,
    rows: tuple[tuple[str, ...], ...] = ()  # printed cells,
    numeric: tuple[bool, ...] = ()  # whether each column holds numbers,
    left_out: int = 0  # and the number of rows that are not shown


def exhibits(thing: Any, caption: str = "") -> list[Exhibit]:
    """Prepare something for a page, as :func:`plausibly.report` describes it; None adds nothing.

    `caption` is that of what has none of its own.
    """
    if thing is None or (isinstance(thing, str) and not thing):
        return []
    if isinstance(thing, str):
        return [Exhibit(caption, text=thing)]
    if isinstance(thing, Part):
        within = tuple(exhibits(thing.contents))
        return [Exhibit(thing.title, within=within)] if within else []
    if isinstance(thing, Picture):
        drawn = thing if all(isinstance(panel, str) for panel in thing.panels) else thing.draw()
        found = Exhibit(thing.caption, panels=tuple(drawn.panels), alt=thing.alt, wide=thing.wide)
        return [Exhibit(thing.alt, within=(found,))] if thing.folded else [found]
    if isinstance(thing, Table):
        return [_table([*thing.rows, *thing.foot], thing.columns, thing.title or caption)]
    if kind_of(thing):
        screen = of(thing)
        return exhibits([" ".join([screen.headline, *screen.notes]), *pieces(screen)], caption)
    if isinstance(thing, tuple) and thing and all(map(callable, thing)):  # panels side by side
        return [Exhibit(caption, panels=tuple(map(_draw_to_uri, thing)))]
    if callable(thing) and not isinstance(thing, type):  # a figure that is not drawn yet
        return [Exhibit(caption, panels=(_draw_to_uri(thing),), wide=True)]
    if isinstance(thing, pd.DataFrame | pd.Series):
        return [_of_frame(thing.to_frame() if isinstance(thing, pd.Series) else thing, caption)]
    if isinstance(thing, Axes | Figure):
        return [Exhibit(caption, panels=(to_uri(thing.get_figure(root=True)),), wide=True)]
    if isinstance(thing, Mapping):
        return [one for words, of in thing.items() for one in exhibits(of, str(words))]
    if isinstance(thing, Sequence | np.ndarray):
        return [one for of in thing for one in exhibits(of, caption)]
    for name in ("table", "to_frame"):
        found = getattr(thing, name, None)
        found = found() if callable(found) else found
        if isinstance(found, pd.DataFrame):
            return [*_verdict(thing), _of_frame(found, caption)]
    raise ArgumentError(
        f"the report takes sentences, data frames, figures, results with a table, and mappings or lists of these, but "
        f"{show(thing)} was given: give one of them."
    )


def _verdict(thing: Any) -> list[Exhibit]:
    verdict = getattr(thing, "verdict", None)
    verdict = verdict() if callable(verdict) else verdict
    return [Exhibit(text=verdict)] if isinstance(verdict, str) else []


def _of_frame(frame: pd.DataFrame, caption: str) -> Exhibit:
    shown = frame.head(MOST_ROWS)
    shown = pd.DataFrame(shown if isinstance(frame.index, pd.RangeIndex) else shown.reset_index())
    rows = [tuple(_cell(value) for value in row) for row in shown.itertuples(index=False, name=None)]
    columns = ["" if name == "index" else str(name).replace("_", " ") for name in shown.columns]
    return replace(_table(rows, columns, caption), left_out=len(frame) - len(shown))


def _table(rows: Sequence[Sequence[str]], columns: Sequence[str], caption: str) -> Exhibit:
    """A table of text; columns of numbers, but for the first, are aligned right."""
    by_column = [[str(cell) for cell in of] for of in zip(*rows, strict=True)] or [[] for _ in columns]
    by_column = [short_names(of) if name.lower() == "case" else of for name, of in zip(columns, by_column, strict=True)]
    numeric = tuple(at > 0 and all(map(_NUMBER.fullmatch, of)) for at, of in enumerate(by_column))
    return Exhibit(caption, columns=tuple(columns), rows=tuple(zip(*by_column, strict=True)), numeric=numeric)


def _cell(value: Any) -> str:
    """Three decimals, or two significant digits if they would all be zero."""
    small = isinstance(value, float | np.floating) and 0 < abs(value) < 0.001
    return cell("" if np.isscalar(value) and pd.isna(value) else value, ".2g" if small else ",.3f")


def render(page: Page) -> str:
    """Text of a page: one self-contained HTML file; equal pages give equal text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plausibly.app", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = (Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    digest = b64encode(sha256(script.encode()).digest()).decode()  # a page may run this script and no other
    screen, parts = page.screen, []
    for part in page.parts:
        if shown := exhibits(part.contents):
            parts.append({"id": part.id, "title": part.title, "open": part.open, "exhibits": shown})
    return environment.get_template("page.html.j2").render(
        page=page,
        short=exhibits([screen.figures, *([screen.table] if screen.table else [])]),
        notes=list(dict.fromkeys(screen.notes)),
        parts=parts,
        style=style,
        script=script,
        script_hash=f"sha256-{digest}",
        version=plausibly.__version__,
    )


def write(page: Page, path: str | os.PathLike) -> None:
    """Write a page into a file, which is replaced.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    try:
        Path(path).write_text(render(page), encoding="utf-8", newline="\n", errors="replace")
    except OSError as error:
        raise FileError(f"{path}: the file cannot be written ({error.strerror}); choose another place") from error
