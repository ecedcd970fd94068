"""``plausibly diagnose``: whether the chains of a posterior's file can be believed."""

import math
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from plausibly import plots
from plausibly._arviz import to_groups
from plausibly.cli import _options as options
from plausibly.cli._app import NOT_CONVERGED, example
from plausibly.cli._output import console, make_folder, say, write_table, writing
from plausibly.diagnostics import diagnose as find
from plausibly.diagnostics._verdict import STATISTICS, checks, table, verdict, worst
from plausibly.posterior import opened
from plausibly.sweeps import run_label

TABLE, OVERVIEW, CHAINS = "diagnostics.csv", "convergence.png", "chains.png"
RELIABILITIES = "reliabilities.csv"
_DIGITS = {"r_hat": ".3f", "ess_bulk": ",.0f", "ess_tail": ",.0f", "n_diverging": ",.0f"}
_DIGITS |= {"e_bfmi": ".2f", "at_max_depth": ".0%"}
_FORMATS = {words: _DIGITS[name] for name, words in STATISTICS.items()}


@example(
    """
    plausibly diagnose results/posterior-plackett-luce-3.nc
    plausibly diagnose posterior.nc --most 10 --out diagnostics/ --strict
    """
)
def diagnose(
    posterior: Annotated[
        Path,
        typer.Argument(metavar="POSTERIOR", help="A file of plausibly aggregate, evaluate or reliability."),
    ],
    most: Annotated[int, typer.Option(min=1, help="How many of the worst cases to name and draw.")] = 6,
    out: options.OptionalFolder = None,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """Say whether the chains of a posterior converged, and if not, where and why.

    Prints the worst value of every diagnostic beside what is asked of it, then the worst cases by name. With --out also
    writes diagnostics.csv (a row per case), convergence.png (all cases at a glance), chains.png (trace and rank plots
    of the worst), and reliabilities.csv where these were inferred. Draws stay in their file. With --strict the status
    is 0 if all chains converged, 1 if not; bad input gives 2.
    """
    if out is not None:
        make_folder(out)
    with opened(posterior) as source:
        found = find(source, progress=not quiet)
        named = worst(found, most)
        if named and not quiet:
            terminal = console()
            terminal.print(_overview(checks(found)))
            terminal.print(_cases(table(found, named)))
        written = [TABLE]
        if out is not None:
            write_table(table(found), out / TABLE)
            if named:
                _write(plots.convergence_overview(found), out / OVERVIEW)
                _write(plots.worst_chains(source, named), out / CHAINS)
                written += [OVERVIEW, CHAINS]
        shared = to_groups(source).get("reliability_convergence")
        if shared is not None:
            shared = shared.load()
            if not quiet:
                console().print(_overview(checks(shared), "Worst of the reliabilities"))
            if out is not None:
                write_table(table(shared), out / RELIABILITIES)
                written.append(RELIABILITIES)
        if out is not None and not quiet:
            say(f"Wrote {', '.join(written)} to {out}")
        label = run_label(str(source.attrs.get("model", "posterior")), float(source.attrs.get("reliability", math.nan)))
    if shared is not None and not shared["converged"].values.all():
        say(verdict({"inferred": shared}))
    say(verdict({label: found}))
    if strict and not found["converged"].values.all():
        raise typer.Exit(NOT_CONVERGED)


def _overview(rows: pd.DataFrame, title: str = "Worst of every diagnostic") -> Table:
    what = "quantities" if "quantity" in rows else "cases"
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("diagnostic")
    shown.add_column("worst", justify="right")
    shown.add_column(f"in {rows.columns[2]}", overflow="fold")
    shown.add_column("asked")
    shown.add_column(f"{what} that fail", justify="right")
    for statistic, value, name, asked, failed in rows.itertuples(index=False):
        number = format(value, _FORMATS[statistic])
        # Where the worst is as good as can be, it is that of any case.
        whose = "" if value == 0 and statistic in (STATISTICS["n_diverging"], STATISTICS["at_max_depth"]) else name
        fail = "" if math.isnan(failed) else f"{failed:,.0f}"
        shown.add_row(*(Text(cell) for cell in (statistic, number, whose, asked, fail)))
    return shown


def _cases(rows: pd.DataFrame) -> Table:
    every = rows["converged"].all()
    title = "Worst, though converged" if every else "Worst"
    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column(rows.columns[0], overflow="fold")
    known = [name for name in STATISTICS if name in rows]
    for name in known:
        shown.add_column(STATISTICS[name].replace("at maximum tree depth", "at max depth"), justify="right")
    if not every:
        shown.add_column("failed by", overflow="fold")
    for row in rows.to_dict("records"):
        numbers = ["–" if math.isnan(row[name]) else format(row[name], _DIGITS[name]) for name in known]
        cells = [row[rows.columns[0]], *numbers] + ([] if every else [row["failed"]])
        shown.add_row(*(Text(cell) for cell in cells))
    return shown


def _write(figure: Figure, path: Path) -> None:
    from matplotlib import pyplot

    with writing(path):
        figure.savefig(path, dpi=150)
    pyplot.close(figure)
