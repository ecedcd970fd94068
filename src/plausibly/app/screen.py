"""What a result says: one table, a verdict, what limits it, and the tables and figures behind it.

:func:`plausibly.app.results.of` makes a :class:`Screen` of every result, which a terminal, a notebook and a page show.
:func:`layout` makes lines of it, for any width: nothing is cut, long names are shortened in their middle, sentences
break between words, and the table has as many rows as the other lines leave.
"""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.cells import cell_len

from plausibly.base.errors import Fault, Serious

if TYPE_CHECKING:
    import pandas as pd

LINES, WIDTH = 25, 80  #: of a screen, and of one that is no terminal
NOTES = 3  #: of a screen
_FEWEST, _LEAST = 4, 6  # rows of a table, and characters of a name
_LONGEST = 60  # characters of a word in a sentence, so that options stay whole
_GAP = "  "
_FILE = re.compile(r"[^/\\]\.\w{2,5}$")  # end of the name of a file


class Table(NamedTuple):
    """A table of text: the first `n_left` columns, or those at the places `left`, are aligned left, numbers right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    n_left: int = 1
    left: tuple[int, ...] = ()
    foot: Sequence[Sequence[str]] = ()  #: rows that are shown however many others there are

    @classmethod
    def of(cls, frame: "pd.DataFrame", digits: str = ".3f", title: str = "", **formats: str) -> "Table":
        """Lay out a data frame: numbers with `digits`, or in the format of their column; what is unknown stays empty.

        Columns of text must be first.
        """
        columns = [[cell(value, formats.get(str(name), digits)) for value in frame[name]] for name in frame]
        n_left = sum(frame[name].dtype.kind not in "iufb" for name in frame)
        return cls(list(map(str, frame)), list(zip(*columns, strict=True)), title, max(n_left, 1))


def cell(value: Any, digits: str = ".3f") -> str:
    """Value of a table as text; nothing for what is unknown.

    Examples
    --------
    >>> cell(2000), cell(1 / 3), cell(float("nan")), cell(True), cell(["a", "b"])
    ('2,000', '0.333', '', 'yes', 'a, b')
    """
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return format(value, digits)
    if isinstance(value, list | tuple | set | np.ndarray):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)


def percent(probability: float) -> str:
    """Write a probability as a percentage."""
    return f"{100 * probability:g} %"


def with_interval(
    mean: float,
    lower: float = np.nan,
    upper: float = np.nan,
    missing: str = "",
    *,
    digits: int = 3,
    form: str = " ({}–{})",
    sign: str = "",
) -> str:
    """Value with its interval in a `form`, if it has one; NaN as `missing`.

    Examples
    --------
    >>> with_interval(0.5, 0.25, 0.75), with_interval(0.5, 0.4, 0.6, digits=1, form=" ({} to {})"), with_interval(0.5)
    ('0.500 (0.250–0.750)', '0.5 (0.4 to 0.6)', '0.500')
    """
    value, *ends = (f"{one:{sign}z,.{digits}f}" for one in (mean, lower, upper))
    return missing if np.isnan(mean) else value if np.isnan(lower) else value + form.format(*ends)


def over_groups(by: str, what: str, table: "pd.DataFrame", value: str) -> Iterator[str]:
    """Say between which values a number lies over groups, from rows with ``group`` and perhaps ``n_cases``."""
    known = table.dropna(subset=value)
    if len(known):
        ends = []
        for row in known.loc[[known[value].idxmin(), known[value].idxmax()]].to_dict("records"):
            cases = f", {row['n_cases']:,} cases" if "n_cases" in row else ""
            ends.append(f"{row[value]:.2f} ({row['group']}{cases})")
        yield f"By {by}, {what} goes from {ends[0]} to {ends[1]}: groups.csv has the rest."


class Part(NamedTuple):
    """A section of a page or, within another, what is unfolded on demand."""

    title: str
    contents: Any
    id: str = ""
    open: bool = False


class Piece(NamedTuple):
    """A table or a figure of a result, made when it is written or shown."""

    file: str  #: in which a command writes it; empty for what only a page has
    content: Any  #: a data frame, or a function that makes one, draws a figure or, of other files, writes to a path
    caption: str = ""  #: on a page, which has those with a caption
    on_page: Any = None  #: what a page has in its place

    @property
    def is_figure(self) -> bool:
        """Whether it is drawn."""
        return self.file.endswith((".png", ".svg"))

    def made(self) -> Any:
        """The table, figure or text, made now."""
        return self.content() if callable(self.content) else self.content


class About(NamedTuple):
    """What a page of a result says besides."""

    title: str = "Result"
    facts: Mapping[str, str] = {}  #: about the data and settings
    assumed: Sequence[tuple[str, str]] = ()  #: on what, and what is assumed
    sources: Sequence[str | tuple[str, str]] = ()  #: to cite, perhaps after what for
    parts: Sequence[Part] | Callable[[], Sequence[Part]] = ()  #: sections that come first, or a function of them
    understood: str = ""  #: what was read


class Screen(NamedTuple):
    """What a result has to say, in the order in which it is read."""

    headline: str  #: the verdict, with its number, its interval and its truth
    table: Table | None = None
    notes: Sequence[str] = ()  #: what limits the verdict and what to do, the worst first
    more: str = ""  #: file with all rows
    figures: Any = ()  #: on a page, by their captions; by default those of the files
    files: Sequence[Piece] = ()  #: tables and figures, in the order in which they are written
    about: About = About()

    def __str__(self) -> str:
        """The screen as lines, as commands print them."""
        return "\n".join(layout(self, where="pb.report writes all")[0])

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        parts = []
        if self.table is not None:
            rows = [("th", self.table.columns), *(("td", row) for row in (*self.table.rows, *self.table.foot))]
            cells = ("".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) for tag, row in rows)
            parts.append(f"<table><caption>{html.escape(self.table.title)}</caption>")
            parts += [f"<tr>{row}</tr>" for row in cells] + ["</table>"]
        parts.append(f"<p><strong>{html.escape(self.headline)}</strong></p>")
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return "".join(parts) + (f"<ul>{notes}</ul>" if notes else "")


def layout(
    screen: Screen,
    width: int = WIDTH,
    most: int = LINES,
    where: str = "",
    *,
    n_notes: int = NOTES,
    elsewhere: str = "",
) -> tuple[list[str], list[str]]:
    r"""Lines of the table, the headline and as many notes as there is room for, faults first; and notes left out.

    Parameters
    ----------
    screen
        What to show.
    width
        Columns of the terminal.
    most
        Lines to fill at most; a headline and the worst note are shown in any case.
    where
        File, or option, that has the rows and notes that are left out.
    n_notes
        Number of notes at most; the worst is shown in any case.
    elsewhere
        File that has the notes that are left out, if that is another one.

    Examples
    --------
    >>> rows = [("A", "77 % (69 to 83)"), ("dermatologist-assistant-v2", "73 % (64 to 80)")]
    >>> screen = Screen("A is better than the next.", Table(("model", "agrees"), rows), ["Cases are few: add some."])
    >>> print("\n".join(layout(screen, 32)[0]))
    model                     agrees
    ────────────────────────────────
    A                77 % (69 to 83)
    dermato…tant-v2  73 % (64 to 80)
    <BLANKLINE>
    A is better than the next.
    Note: Cases are few: add some.
    """
    verdict = list(paragraph(screen.headline, width))
    told = sorted(
        dict.fromkeys(screen.notes), key=lambda note: (not isinstance(note, Serious), not isinstance(note, Fault))
    )
    notes = [paragraph(f"Note: {note}", width) for note in told]
    lines: list[str] = []
    left = most - len(verdict) - sum(map(len, notes[:1])) - (len(notes) > 1)
    if screen.table is not None and (len(screen.table.rows) or len(screen.table.foot)):
        lines += _table(screen.table, width, left - 1, screen.more or where)
        left -= len(lines) + 1
        lines += [""] * (left >= 0)
    lines += verdict
    n_shown, rest = 0, []
    for text, note in zip(told, notes, strict=True):
        if not n_shown or (n_shown < n_notes and len(note) <= left):
            left -= len(note) if n_shown else 0
            n_shown += 1
            lines += note
        else:
            rest.append(text)
    if rest:
        lines.append(f"{len(rest)} more note{'s' * (len(rest) > 1)}: {elsewhere or where}.")
    return lines, rest


def paragraph(text: str, width: int = WIDTH, longest: int = _LONGEST) -> list[str]:
    """Break a sentence between words; those of more than `longest` characters are shortened in their middle."""
    words = " ".join(middle(word, longest) for word in text.split())
    return wrap(words, width, break_long_words=False, break_on_hyphens=False)


def middle(text: str, longest: int) -> str:
    """Shorten a name in its middle.

    Examples
    --------
    >>> middle("dermatologist-assistant-v2", 16)
    'dermatol…tant-v2'
    """
    if cell_len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[: longest - 1 - half]}…{text[len(text) - half :] if half else ''}"


def short_names(cases: Sequence[str]) -> list[str]:
    """Names of cases: files without the folders that all are in, and what is longer shortened in its middle.

    Examples
    --------
    >>> short_names(["data/skin/a/1.png", "data/skin/b/2.png"]), short_names(["p/1", "p/2"])
    (['a/1.png', 'b/2.png'], ['p/1', 'p/2'])
    """
    names, shared = list(map(str, cases)), 0
    if names and all(map(_FILE.search, names)):
        first, last = min(names), max(names)
        same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
        shared = max(first.rfind(slash, 0, same) for slash in "/\\") + 1
    return [middle(name[shared:], _LONGEST) for name in names]


def _table(table: Table, width: int, most: int, where: str) -> Iterator[str]:
    """Lines of a table; of too many rows the first, and how many more there are."""
    names = [one.replace("_", " ") for one in table.columns]
    aligned = {*(table.left or range(table.n_left))}
    rows = [[str(cell) for cell in row] for row in (*table.rows, *table.foot)]
    widths = _widths(names, rows, width, aligned)
    head = [wrap(name, one) or [""] for name, one in zip(names, widths, strict=True)]
    yield from paragraph(table.title, width) if table.title else ()
    deep = max(map(len, head))
    lines = [_line([[""] * (deep - len(cell)) + cell for cell in head], at, widths, aligned) for at in range(deep)]
    yield from lines
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    left = most - len(lines) - 1 - (len(paragraph(table.title, width)) if table.title else 0)
    printed = []
    for row in rows:
        cells = [_cell(cell, one) for cell, one in zip(row, widths, strict=True)]
        deep = max(map(len, cells))
        cells = [cell + [""] * (deep - len(cell)) for cell in cells]
        printed.append([_line(cells, at, widths, aligned) for at in range(deep)])
    body, foot = printed[: len(table.rows)], printed[len(table.rows) :]
    left -= sum(map(len, foot))
    shown = len(body)
    while shown > _FEWEST and sum(map(len, body[:shown])) + (shown < len(body)) > left:
        shown -= 1
    for row in (*body[:shown], *foot):
        yield from row
    if others := len(body) - shown:
        yield f"{others:,} more row{'s' * (others > 1)}: {where}."


def _widths(names: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: set[int]) -> list[int]:
    """Widths of columns: as wide as their cells, or as the words of their headings, and narrower as needed."""
    room = width - len(_GAP) * (len(names) - 1)
    columns = list(zip(*rows, strict=True))
    widths = [
        max([*map(cell_len, of), *map(cell_len, name.split()), 1]) for name, of in zip(names, columns, strict=True)
    ]
    least = [
        max(map(cell_len, " ".join([name, *of]).split()), default=1) for name, of in zip(names, columns, strict=True)
    ]
    least = [min(one, _LEAST) if at in left else one for at, one in enumerate(least)]
    while sum(widths) > room:
        spare = [one - fewest for one, fewest in zip(widths, least, strict=True)]
        widest = int(np.argmax([one if more > 0 else 0 for one, more in zip(widths, spare, strict=True)]))
        if spare[widest] <= 0:
            break
        widths[widest] -= 1
    for at, name in enumerate(names):  # headings in one line, where there is room
        widths[at] += max(0, min(cell_len(name) - widths[at], room - sum(widths)))
    return widths


def _cell(text: str, width: int) -> list[str]:
    """Lines of a cell."""
    lines = wrap(text, width, break_long_words=False, break_on_hyphens=False) if cell_len(text) > width else [text]
    return [middle(line, width) for line in lines] or [""]


def _line(cells: Sequence[Sequence[str]], at: int, widths: Sequence[int], left: set[int]) -> str:
    padded = []
    for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (width - cell_len(cell[at]))
        padded.append(cell[at] + blank if number in left else blank + cell[at])
    return _GAP.join(padded).rstrip()
