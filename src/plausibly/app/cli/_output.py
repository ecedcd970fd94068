"""What commands print, and the files that they write.

A command declares its tables and figures; :meth:`Publisher.publish` shows and writes them. Every command starts with
this module, so what only tables and figures need is imported where they are written.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from plausibly.app.cli._folder import keep_others, writing
from plausibly.app.cli._wording import in_options
from plausibly.app.screen import LINES, NOTES, WIDTH, Screen, layout, paragraph
from plausibly.base.errors import ArgumentError, DataWarning, Fault, PlausiblyWarning, Serious
from plausibly.base.progress import logged

if TYPE_CHECKING:
    import pandas as pd


NOT_CONVERGED = 1  #: exit status under --strict
UNMET = 3  #: exit status if a requirement is not met
WITHOUT_QUICK = ", which is written without --quick"  #: said of the report
#: parameters of the command that runs
PARAMETERS: ContextVar[Mapping[str, Any] | None] = ContextVar("PARAMETERS", default=None)
TABLES = ".csv", ".parquet"  #: suffixes of tables that we write
NOTES_FILE = "notes.txt"  #: of all notes, where a screen has not room for them
_LONGEST = 2000  # characters of a sentence
_WRITTEN = 2  # lines of what was written
_BEFORE = 1  # notes that are printed before there is a screen
_PATIENCE = 10.0  # seconds without a line, after which the next step is said
_FIGURES = 3  # from which on their number is said


@dataclass
class _Said:
    """What a run has printed so far, and what waits for a screen."""

    lines: int = 0
    at: float = 0.0  # when the last line was printed
    notes: list[str] = field(default_factory=list)  # all of them
    held: list[str] = field(default_factory=list)  # of these, which were not printed
    shown: bool = False  # whether there was a screen


_SAID = _Said()  # of the run that goes on


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or as a usual one where there is none."""
    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = WIDTH
    return found


def say(text: str, *, stderr: bool = False) -> None:
    """Print sentences, broken between words; commands and paths stay whole, as they are to be copied."""
    for line in text.splitlines():
        told = in_options(line, None if "plausibly " in line else PARAMETERS.get())
        whole = line.lstrip().startswith("plausibly ")
        for part in [told] if whole else paragraph(told, console().width, _LONGEST) or [""]:
            print_line(part, stderr=stderr)


def print_line(line: str, *, stderr: bool = False) -> None:
    """Print a line as it is: names may contain what looks like markup."""
    _SAID.lines += 1
    _SAID.at = monotonic()
    console(stderr=stderr).print(Text(line), soft_wrap=True)


def show(screen: Screen, where: str, kept: int = 0, notes_in: Path | None = None) -> bool:
    """Print a screen, which leaves some lines for what else is said; `where` has the rest of it.

    It has at most as many lines and notes as what was printed before leaves. Where some are left out, all notes are
    written to a file, if there is one; returns whether they are.
    """
    told = partial(in_options, parameters=PARAMETERS.get())
    printed = {*_SAID.notes} - {*_SAID.held}
    notes = [note for note in dict.fromkeys([*screen.notes, *_SAID.held]) if note not in printed]
    notes = [type(note)(told(note)) for note in notes]
    lines, left_out = layout(
        screen._replace(headline=told(screen.headline), notes=notes),
        console().width,
        LINES - _SAID.lines - kept,
        where,
        n_notes=NOTES - len(printed),
        elsewhere="" if notes_in is None else str(notes_in),
    )
    for line in lines:
        print_line(line)
    if left_out and notes_in is not None:
        write("\n".join(map(told, dict.fromkeys([*screen.notes, *_SAID.notes]))) + "\n", notes_in)
    _SAID.held.clear()
    _SAID.shown = True
    return bool(left_out) and notes_in is not None


def speaker(quiet: bool) -> Callable[[str], None]:
    """Return a function that says how far the work has come, or that says nothing.

    Steps after the first are said on a terminal only, after some seconds without a line.
    """

    def tell(text: str) -> None:
        step = (text.startswith("[") and not text.startswith("[1 of ")) or text.startswith("Writing")
        if not step or (console(stderr=True).is_terminal and monotonic() - _SAID.at >= _PATIENCE):
            say(text, stderr=True)

    return (lambda text: None) if quiet else tell


def complain(text: str, what: str = "Error") -> None:
    """Print a sentence about what went wrong; names of thousands of characters are left out of its middle."""
    text = in_options(text, PARAMETERS.get())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    to = console(stderr=True)
    said, style = f"{what}: ", "bold red" if what != "Note" else "bold"
    broken = what == "Note" or to.is_terminal  # an error is one line for programs that read it
    lines = [line for part in (said + text).splitlines() for line in paragraph(part, to.width, _LONGEST) or [""]]
    lines = lines if broken else [said + text]
    for number, line in enumerate(lines):
        start = "" if number else said
        to.print(Text(start, style=style) + Text(line.removeprefix(start), style="default"), soft_wrap=True)
    _SAID.lines += len(lines)


@contextmanager
def notes() -> Iterator[None]:
    """Print our own warnings as notes of one line; those of others stay as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PlausiblyWarning)
        show = warnings.showwarning
        vars(_SAID).update(vars(_Said()))

        def print_note(message, category, *rest, **further):
            if issubclass(category, PlausiblyWarning):
                words = f"{str(message).removesuffix('.')}."
                note(Fault(words) if issubclass(category, DataWarning) else words)
            else:
                show(message, category, *rest, **further)

        warnings.showwarning = print_note
        try:
            yield
        finally:
            for words in _SAID.held:  # there was no screen
                complain(words, "Note")


def note(words: str) -> None:
    """Print a note, once; where there are several before a screen, the others wait for it, unless they are serious."""
    if words in _SAID.notes:  # files may be read more than once
        return
    _SAID.notes.append(words)
    if not _SAID.shown and len(_SAID.notes) > _BEFORE and not isinstance(words, Serious):
        _SAID.held.append(words)
    else:
        complain(words, "Note")


def check_table(path: Path) -> None:
    """Refuse a name of a table that says no format."""
    if path.is_dir() or path.suffix.lower() not in TABLES:
        raise ArgumentError(f"a table must be a file in {' or '.join(TABLES)}, but {str(path)!r} was given: name one.")


def write_table(table: pd.DataFrame, path: Path, *, append: bool = False) -> None:
    """Write a table in the format of its suffix; numbers to the last digit, so that reading gives the same back.

    As CSV, text that a spreadsheet would run as a formula gets an apostrophe before it (:func:`write_csv`). Parquet
    keeps text as it is.
    """
    import pandas as pd

    from plausibly.data.annotations.io.table_files import write_csv

    with logged(f"Writing {path}"), writing(path):
        if not append:
            keep_others(path)
        if path.suffix.lower() == ".parquet":
            if append:
                table = pd.concat([pd.read_parquet(path), table], ignore_index=True)
            table.to_parquet(path, index=False, write_page_checksum=True)
            return
        with path.open("a" if append else "w", encoding="utf-8", newline="") as file:
            write_csv(table, file, header=not append)


class Publisher:
    """A screen, unless `quiet`, and a folder, if there is one: a command's options with these names."""

    out: Path | None
    quiet: bool

    def publish(
        self,
        screen: Screen,
        page: str = "",
        sources: Mapping[str, str] | None = None,
        decision: Sequence[str] = (),
        kept: int = 0,
        suffix: str = ".csv",
        without: str = "",
        quietly: str = "",
    ) -> None:
        """Show a screen, write its files, and a page if that is named, and say which; if quiet, say the headline.

        `sources` are the files that the page is of, `decision` says whether requirements are met. What is not written
        is not made. `kept` lines are left for what the command says afterwards. Tables have a `suffix`. `without` says
        why the page is not written this time, and `quietly` what comes after the headline.
        """
        noted = False
        if self.quiet:
            say(f"{screen.headline}{quietly}")
        else:
            more = page or screen.more
            where = f"{self.out / more}{without}" if self.out and more else "--out FOLDER writes all"
            own = screen if self.out else screen._replace(more="")
            noted = show(own, where, kept + (_WRITTEN if self.out else 0), self.out and self.out / NOTES_FILE)
        if self.out is None:
            return
        page = "" if without else page
        if page:
            from plausibly.app.report import write as write_page
            from plausibly.app.report.page import page_of

            write(partial(write_page, page_of(screen, sources, decision)), self.out / page)
        files = [one._replace(file=one.file.replace(".csv", suffix)) for one in screen.files if one.file]
        for one in files:
            of_path = one.file.endswith(".nc")  # which a function writes
            write(one.content if of_path else one.made(), self.out / one.file)
        figures = [one.file for one in files if one.is_figure]
        names = [one.file for one in files if not one.is_figure]
        names += figures if len(figures) < _FIGURES else [f"{len(figures)} figures"]
        names += [NOTES_FILE] * noted
        if not self.quiet:
            say_written([*filter(None, [page]), *names], self.out)


def say_written(names: Sequence[str], folder: Path) -> None:
    """Say which files were written, in one line: of many tables, the first and how many others."""
    told = f"Wrote {', '.join(names)} to {folder}"
    tables = [name for name in names if name.endswith(TABLES)]
    if len(told) > console().width and len(tables) > 2:
        rest = [name for name in names if name not in tables[1:]]
        rest.insert(rest.index(tables[0]) + 1, f"{len(tables) - 1} more tables")
        told = f"Wrote {', '.join(rest)} to {folder}"
    say(told)


def write(content: Any, path: Path) -> None:
    """Write a table, a figure (or that of axes), or text, by the suffix of the path; or let a function write there."""
    with writing(path):
        keep_others(path)
        if callable(content):
            content(path)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8", newline="\n")
        elif path.suffix in TABLES:
            write_table(content, path)
        else:
            from matplotlib import pyplot

            figure = content.get_figure(root=True)
            # As SVG, the same figure always has the same bytes.
            options: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 150}
            with pyplot.rc_context({"svg.hashsalt": "plausibly"}):
                figure.savefig(path, **options)
            pyplot.close(figure)


class TablesInParts:
    """Tables of a folder that are written part by part: the first part begins a file, the others are added to it."""

    def __init__(self, folder: Path, suffix: str = ".csv"):
        self.folder, self.suffix = folder, suffix
        self._columns: dict[str, list[str]] = {}

    @property
    def names(self) -> list[str]:
        """Names of the files."""
        return list(self._columns)

    def write(self, name: str, table: pd.DataFrame) -> str:
        """Write a part of a table, and return the name of its file; what a part has no column for stays empty."""
        path = (self.folder / name).with_suffix(self.suffix)
        first = path.name not in self._columns
        known = self._columns.setdefault(path.name, list(table))
        if (new := [column for column in table if column not in known]) and self.suffix == ".csv":
            import pandas as pd

            known += new
            before = pd.read_csv(path, dtype=str, keep_default_na=False)
            write_table(pd.concat([before, table]).reindex(columns=known), path)
        else:
            write_table(table if self.suffix != ".csv" else table.reindex(columns=known), path, append=not first)
        return path.name


def check_converged(converged: bool, *, strict: bool) -> None:
    """Exit with the status of chains that did not converge, if there are any and `strict`."""
    if strict and not converged:
        raise typer.Exit(NOT_CONVERGED)


def answer_sentences(answers: Iterable[tuple[str, str, str, str]]) -> list[str]:
    """Say of every model, question and answer whether it is yes, as required; last is what a yes rests on or allows."""
    told = []
    for model, question, answer, allowed in answers:
        met = f"met, {allowed}" if answer == "yes" else f"{answer!r}, not met"
        told.append(f"{model}: {question} is required: {met}.")
    return told


def check_answers(
    told: Iterable[str], where: Path | None = None, converged: bool = True, *, strict: bool = False
) -> None:
    """Say which requirements are met, and exit with status 3 if one is not; with 1 if `strict` and not `converged`.

    Where lines are few, those that are not met come first, and `where` is the file that has the others.
    """
    told = list(told)
    unmet = [sentence for sentence in told if "not met" in sentence]
    shown, room = told, LINES - _SAID.lines

    def rows() -> int:
        return sum(len(paragraph(one, console().width, _LONGEST)) for one in shown) + (len(shown) < len(told))

    if rows() > room:
        shown = [*unmet, *(one for one in told if one not in unmet)]
        while len(shown) > 1 and rows() > room:
            shown.pop()
    for sentence in shown:
        say(sentence)
    if len(shown) < len(told):
        say(f"{len(told) - len(shown)} more: {where or '--out FOLDER writes all'}.")
    check_converged(converged, strict=strict)
    if unmet:
        raise typer.Exit(UNMET)
