"""What commands print, and the files that they write.

A command declares its tables and figures; :meth:`Publisher.publish` shows and writes them. Every command starts with
this module, so what only tables and figures need is imported where they are written.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plausibly.app.cli._folder import keep_others, writing
from plausibly.app.cli._wording import in_options
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.base.progress import logged

if TYPE_CHECKING:
    import pandas as pd

    from plausibly.aggregation.sweeps import Run, Sweep

NOT_CONVERGED = 1  #: exit status under --strict
UNMET = 3  #: exit status if a requirement is not met
#: parameters of the command that runs
PARAMETERS: ContextVar[Mapping[str, Any] | None] = ContextVar("PARAMETERS", default=None)
TABLES = ".csv", ".parquet"  #: suffixes of tables that we write
_LONGEST = 2000  # characters of a sentence
_WIDTH, _NARROW = 120, 80  # of a table without a terminal, and of a terminal


def console(*, stderr: bool = False) -> Console:
    """Return a console that does not cut tables off where there is no terminal to fit them into."""
    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = _WIDTH
    return found


def say(text: str, *, stderr: bool = False) -> None:
    """Print a line as it is: names may contain what looks like markup, and commands are to be copied whole."""
    told = in_options(text, None if "plausibly " in text else PARAMETERS.get())
    console(stderr=stderr).print(Text(told), soft_wrap=True)


def lines_of(text: str) -> int:
    """Lines of a narrow screen that a sentence takes."""
    return -(-len(in_options(text, PARAMETERS.get())) // min(console().width, _NARROW))


def say_first(sentences: Sequence[str], lines: int) -> int:
    """Print the sentences that `lines` of a screen hold, and return how many are left."""
    for number, text in enumerate(sentences):
        lines -= lines_of(text)
        if lines < 0:
            return len(sentences) - number
        say(text)
    return 0


def speaker(quiet: bool) -> Callable[[str], None]:
    """Return a function that says how far the work has come, or that says nothing."""
    return (lambda text: None) if quiet else partial(say, stderr=True)


def complain(text: str, what: str = "Error") -> None:
    """Print a sentence about what went wrong; names of thousands of characters are left out of its middle."""
    text = in_options(text, PARAMETERS.get())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    console(stderr=True).print(
        Text(f"{what}: ", style="bold red" if what != "Note" else "bold") + Text(text, style="default"), soft_wrap=True
    )


@contextmanager
def notes() -> Iterator[None]:
    """Print our own warnings as notes of one line; those of others stay as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PlausiblyWarning)
        show, told = warnings.showwarning, set()

        def print_note(message, category, *rest, **further):
            words = f"{str(message).removesuffix('.')}."
            if issubclass(category, PlausiblyWarning) and words not in told:  # files may be read more than once
                told.add(words)
                complain(words, "Note")
            elif issubclass(category, PlausiblyWarning):
                return
            else:
                show(message, category, *rest, **further)

        warnings.showwarning = print_note
        yield


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


class ScreenTable(NamedTuple):
    """A table for the screen; columns named in `left` are aligned left and may be wrapped, the others right."""

    title: str
    columns: Iterable[str]
    rows: Iterable[Iterable[object]]
    left: Collection[str] = ()

    @classmethod
    def of(
        cls,
        title: str,
        table: pd.DataFrame,
        digits: str = ".3f",
        formats: Mapping[str, str] | None = None,
        *,
        missing: str = "nan",
        left: Collection[str] | None = None,
    ) -> ScreenTable:
        """Lay out a data frame: text at the left, numbers with `digits`, or in the format of their column."""
        formats = formats or {}
        if left is None:
            left = [name for name in table if table[name].dtype.kind not in "iuf"]
        columns = {name: [cell(value, formats.get(name, digits), missing) for value in table[name]] for name in table}
        names = [str(name).replace("_", " ") for name in table]
        return cls(title, names, zip(*columns.values(), strict=True), [name.replace("_", " ") for name in left])

    def print(self) -> None:
        """Print the table."""
        shown = new_table(self.title)
        for column in self.columns:
            shown.add_column(Text(column), justify="left" if column in self.left else "right", overflow="fold")
        for row in self.rows:
            shown.add_row(*(Text(str(value)) for value in row))
        console().print(shown)


def cell(value: object, digits: str = ".3f", missing: str = "nan") -> str:
    """Value of a table as text; NaN as `missing`."""
    if isinstance(value, float):
        return missing if math.isnan(value) else format(value, digits)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def with_interval(mean: float, lower: float = math.nan, upper: float = math.nan, missing: str = "") -> str:
    """Value with its interval, if it has one; NaN as `missing`."""
    interval = "" if math.isnan(lower) else f" ({lower:z.3f}–{upper:z.3f})"
    return missing if math.isnan(mean) else f"{mean:z.3f}{interval}"


def new_table(title: str | None = None) -> Table:
    """Return an empty table in the style of all tables on the screen."""
    return Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


class Publisher:
    """A screen, unless `quiet`, and a folder, if there is one: a command's options with these names."""

    out: Path | None
    quiet: bool

    def publish(
        self, shown: Iterable[ScreenTable | str], files: Iterable[tuple[str, Any]] = (), written: str = ""
    ) -> None:
        """Show tables and sentences, write files, and say which, by their names or as `written`.

        Files are names with their content: a data frame, a figure or its axes, text, or a function that writes to a
        path. What is not shown or written is not iterated over.
        """
        for thing in shown if not self.quiet else ():
            thing.print() if isinstance(thing, ScreenTable) else say(thing)
        if self.out is None:
            return
        names = []
        for name, content in files:
            write(content, self.out / name)
            names.append(name)
        if not self.quiet:
            say(f"Wrote {written or ', '.join(names)} to {self.out}")


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
        self.names: list[str] = []

    def write(self, name: str, table: pd.DataFrame) -> str:
        """Write a part of a table, and return the name of its file."""
        path = (self.folder / name).with_suffix(self.suffix)
        write_table(table, path, append=path.name in self.names)
        if path.name not in self.names:
            self.names.append(path.name)
        return path.name


def check_converged(converged: bool, *, strict: bool) -> None:
    """Exit with the status of chains that did not converge, if there are any and `strict`."""
    if strict and not converged:
        raise typer.Exit(NOT_CONVERGED)


def check_answers(answers: Iterable[tuple[str, str, str, str]]) -> None:
    """Say of every model, question and answer whether it is yes, as required, and exit with status 3 if one is not.

    The last words are what a yes rests on or allows.
    """
    answers = list(answers)
    for model, question, answer, allowed in answers:
        met = f"met, {allowed}" if answer == "yes" else f"{answer!r}, not met"
        say(f"{model}: {question} is required: {met}.")
    if any(answer != "yes" for _, _, answer, _ in answers):
        raise typer.Exit(UNMET)


def print_main_table(swept: Sweep, runs: Sequence[Run] | None = None) -> None:
    """Print the main result of runs for comparison, or of all, as wide as the terminal."""
    from plausibly.app.report import headline
    from plausibly.app.report.tables import headline_metrics
    from plausibly.evaluation.verdicts import for_whom, short_shares
    from plausibly.metrics.words import metric_name

    terminal = console()
    metrics = headline_metrics(swept) if swept.classifiers else []
    # In a narrow terminal lines break before an interval, which holds no blank.
    wide = len("0.123 (0.123–0.456)" if terminal.width >= _WIDTH else "(0.123–0.456)")
    title = None if runs is None else "For comparison"
    if metrics and runs is None:
        title = (
            "Mean (94 % total interval, for new cases like these)\n"
            "annot., sampling: standard deviations due to the annotations and to the sampling of cases\n"
            "point: value at the model's point estimate, which ignores uncertainty\n"
            f">/=/< next: {for_whom(swept.runs[0].results.attrs)}, percentage of draws in which the "
            f"{metric_name(metrics[0])} is better than, equal to and worse than that of the next classifier; above, on "
            "these cases, below, on new cases like these\n"
            "certainty: largest share of draws that agree on which class is the most plausible, mean over cases"
        )
    table = new_table(title)
    table.add_column("model", no_wrap=True)
    if metrics:
        table.add_column("classifier", overflow="fold", min_width=min(12, max(map(len, swept.classifiers))))
        for metric in metrics:
            table.add_column(Text(metric_name(metric)), justify="right", width=wide)
            if metric == metrics[0]:
                table.add_column("annot. sampling", justify="right", width=len("0.012 0.034"))
            table.add_column("point", justify="right", no_wrap=True)
        table.add_column(">/=/< next", justify="right", width=len(">/=/< next"))
    for _, group in headline(swept, runs).groupby("run", sort=False):
        certainty = f"certainty {group['certainty'].iloc[0]:.3f}"
        lines = [*group["run"].iloc[0].replace(":", "\n:").splitlines(), certainty]
        first = max(1, len(lines) - len(group) + 1)
        names = ["\n".join(lines[:first]), *lines[first:]]
        for position, row in enumerate(group.to_dict("records")):
            cells = [names[position] if position < len(names) else ""]
            if metrics:
                cells.append(row["classifier"])
                for metric in metrics:
                    ends = (row[f"{metric}_{end}"] for end in ("mean", "total_lower", "total_upper"))
                    cells.append(with_interval(*ends))
                    if metric == metrics[0]:
                        sds = (row[f"{metric}_{column}"] for column in ("sd", "sampling_sd"))
                        cells.append(" ".join(cell(sd, missing="") for sd in sds))
                    cells.append(f"{row[f'{metric}_point']:.3f}")
                shares = ([row[prefix + name] for name in ("better", "equal", "worse")] for prefix in ("", "total_"))
                cells.append(" ".join(map(short_shares, shares)).strip())
            table.add_row(*(Text(cell) for cell in cells), end_section=position == len(group) - 1)
    terminal.print(table)
