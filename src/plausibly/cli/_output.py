"""Printing and writing of files, shared by the commands.

Every command starts with this module, so what only tables and figures need is imported where they are written.
"""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from plausibly.errors import ArgumentError, FileError, PlausiblyWarning

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from plausibly.sweeps import Sweep

TABLES = ".csv", ".parquet"  #: suffixes of tables that we write
_LONGEST = 2000  # characters of a sentence
_WIDTH = 120  # of a table without a terminal


def console(*, stderr: bool = False) -> Console:
    """Return a console that does not cut tables off where there is no terminal to fit them into."""
    found = Console(stderr=stderr, highlight=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = _WIDTH
    return found


def say(text: str, *, stderr: bool = False) -> None:
    """Print a line as it is: names may contain what looks like markup, and commands are to be copied whole."""
    console(stderr=stderr).print(Text(text), soft_wrap=True)


def speaker(quiet: bool) -> Callable[[str], None]:
    """Return a function that says how far the work has come, or that says nothing."""
    return (lambda text: None) if quiet else partial(say, stderr=True)


def complain(text: str, what: str = "Error") -> None:
    """Print a sentence about what went wrong; names of thousands of characters are left out of its middle."""
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
        show = warnings.showwarning

        def print_note(message, category, *rest, **further):
            if issubclass(category, PlausiblyWarning):
                complain(f"{str(message).removesuffix('.')}.", "Note")
            else:
                show(message, category, *rest, **further)

        warnings.showwarning = print_note
        yield


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write into a sentence that names the place."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror or error}): choose another place.") from error


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, and make sure that files can be written there."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass


def check_table(path: Path) -> None:
    """Refuse a name of a table that says no format.

    Raises
    ------
    ArgumentError
        If the suffix is neither ``.csv`` nor ``.parquet``, or the name is a folder's.
    """
    if path.is_dir() or path.suffix.lower() not in TABLES:
        raise ArgumentError(f"a table must be a file in {' or '.join(TABLES)}, but {str(path)!r} was given: name one.")


def write_table(table: pd.DataFrame, path: Path, *, append: bool = False) -> None:
    """Write a table in the format of its suffix; numbers to the last digit, so that reading gives the same back.

    As CSV, text that a spreadsheet would run as a formula gets an apostrophe before it (:func:`write_csv`). Parquet
    keeps text as it is.
    """
    import pandas as pd

    from plausibly.annotations.io._formulas import write_csv

    with writing(path):
        if path.suffix.lower() == ".parquet":
            if append:
                table = pd.concat([pd.read_parquet(path), table], ignore_index=True)
            table.to_parquet(path, index=False, write_page_checksum=True)
            return
        with path.open("a" if append else "w", encoding="utf-8", newline="") as file:
            write_csv(table, file, header=not append)


def write_figure(drawn: Axes | Figure, path: Path) -> None:
    """Write a figure, or that of some axes, and close it."""
    from matplotlib import pyplot

    figure = drawn.get_figure(root=True)
    assert figure is not None
    with writing(path):
        figure.savefig(path, dpi=150)
    pyplot.close(figure)


def write_svg(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, the same figure always with the same bytes."""
    from matplotlib import pyplot

    with writing(path), pyplot.rc_context({"svg.hashsalt": "plausibly"}):
        figure.savefig(path, metadata={"Date": None})


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], left: Collection[str] = ()) -> None:
    """Print a table; columns named in ``left`` are aligned left and may be wrapped, the others right."""
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        shown.add_column(Text(column), justify="left" if column in left else "right", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(str(cell)) for cell in row))
    console().print(shown)


def main_table(swept: Sweep, width: int) -> Table:
    """Lay out the main result for a terminal of a width."""
    from plausibly.evaluation._verdict import short_shares
    from plausibly.plots._words import metric_name
    from plausibly.report import headline
    from plausibly.report._tables import headline_metrics

    rows = headline(swept)
    metrics = headline_metrics(swept) if swept.classifiers else []
    # In a narrow terminal lines break before an interval, which holds no blank.
    wide = len("0.123 (0.123–0.456)" if width >= _WIDTH else "(0.123–0.456)")
    title = None
    if metrics:
        title = (
            "Mean (94 % total interval, for new cases like these)\n"
            "annot., sampling: standard deviations due to the annotations and to the sampling of cases\n"
            "point: value at the model's point estimate, which ignores uncertainty\n"
            f">/=/< next: percentage of draws in which the {metric_name(metrics[0])} is better than, equal to and "
            "worse than that of the next classifier; above, on these cases, below, on new cases like these\n"
            "certainty: largest share of draws that agree on which class is the most plausible, mean over cases"
        )
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True)
    if metrics:
        table.add_column("classifier", overflow="fold", min_width=min(12, max(map(len, swept.classifiers))))
        for metric in metrics:
            table.add_column(Text(metric_name(metric)), justify="right", width=wide)
            if metric == metrics[0]:
                table.add_column("annot. sampling", justify="right", width=len("0.012 0.034"))
            table.add_column("point", justify="right", no_wrap=True)
        table.add_column(">/=/< next", justify="right", width=len(">/=/< next"))
    for _, group in rows.groupby("run", sort=False):
        certainty = f"certainty {group['certainty'].iloc[0]:.3f}"
        lines = [*group["run"].iloc[0].replace(":", "\n:").splitlines(), certainty]
        first = max(1, len(lines) - len(group) + 1)
        names = ["\n".join(lines[:first]), *lines[first:]]
        for position, row in enumerate(group.to_dict("records")):
            cells = [names[position] if position < len(names) else ""]
            if metrics:
                cells.append(row["classifier"])
                for metric in metrics:
                    cells.append(_mean_and_interval(row, metric))
                    if metric == metrics[0]:
                        cells.append(" ".join(_number(row[f"{metric}_{column}"]) for column in ("sd", "sampling_sd")))
                    cells.append(f"{row[f'{metric}_point']:.3f}")
                shares = ([row[prefix + name] for name in ("better", "equal", "worse")] for prefix in ("", "total_"))
                cells.append(" ".join(map(short_shares, shares)).strip())
            table.add_row(*(Text(cell) for cell in cells), end_section=position == len(group) - 1)
    return table


def _mean_and_interval(row: dict[str, float], metric: str) -> str:
    mean, lower, upper = (row[f"{metric}_{column}"] for column in ("mean", "total_lower", "total_upper"))
    return f"{mean:z.3f}" if math.isnan(lower) else f"{mean:z.3f} ({lower:z.3f}–{upper:z.3f})"


def _number(value: float, digits: int = 3) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"
