"""``plausibly diagnose``: whether the chains of a saved posterior converged."""

import math
from typing import Annotated

import pandas as pd
import typer

from plausibly import plots
from plausibly._arviz import to_groups
from plausibly.annotators import annotator_accuracies, annotator_confusions
from plausibly.cli import _options as options
from plausibly.cli._app import NOT_CONVERGED, example
from plausibly.cli._output import make_folder, print_table, say, write_figure, write_table
from plausibly.diagnostics import diagnose as find
from plausibly.diagnostics import shared_convergence
from plausibly.diagnostics._verdict import STATISTICS, checks, population_verdict, table, verdict, worst
from plausibly.posterior import model_of, opened

TABLE, OVERVIEW, CHAINS = "diagnostics.csv", "convergence.png", "chains.png"
RELIABILITIES = "reliabilities.csv"
SHARED, ANNOTATORS, CONFUSIONS = "shared.csv", "annotators.csv", "confusions.csv"
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
    posterior: options.PosteriorFile,
    most: Annotated[int, typer.Option(min=1, help="Number of cases to list and plot, worst first.")] = 6,
    out: options.OptionalFolder = None,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """Check whether the chains of a posterior converged and, if not, where and why.

    Prints the worst value of every diagnostic next to the required one, then the worst cases. With --out, also writes
    diagnostics.csv (one row per case), convergence.png (all cases) and chains.png (trace and rank plots of the worst
    cases). Quantities shared by all cases go to reliabilities.csv or shared.csv; models that assume one true class add
    annotators.csv (accuracies) and confusions.csv.
    """
    if out is not None:
        make_folder(out)
    with opened(posterior) as source:
        found = find(source, progress=not quiet)
        named = worst(found, most)
        if named and not quiet:
            _print_checks(checks(found), "Worst value of every diagnostic")
            _print_cases(table(found, named))
        written = [TABLE]
        if out is not None:
            write_table(table(found), out / TABLE)
            if named:
                write_figure(plots.convergence_overview(found), out / OVERVIEW)
                write_figure(plots.worst_chains(source, named), out / CHAINS)
                written += [OVERVIEW, CHAINS]
        shared = shared_convergence(source)
        of_shared = RELIABILITIES if "reliability_convergence" in to_groups(source) else SHARED
        if shared is not None:
            shared = shared.load()
            if not quiet:
                _print_checks(checks(shared), "Worst value of every diagnostic, quantities shared by all cases")
            if out is not None:
                write_table(table(shared), out / of_shared)
                written.append(of_shared)
        if out is not None and "assumes" in source.attrs:
            write_table(annotator_accuracies(source), out / ANNOTATORS)
            written.append(ANNOTATORS)
            if "confusion" in source["posterior"]:
                write_table(annotator_confusions(source), out / CONFUSIONS)
                written.append(CONFUSIONS)
        if out is not None and not quiet:
            say(f"Wrote {', '.join(written)} to {out}")
        label = model_of(source) or "posterior"
    if shared is not None and not shared["converged"].values.all():
        say(population_verdict(shared) or verdict({"inferred": shared}))
    say(verdict({label: found}))
    if strict and not found["converged"].values.all():
        raise typer.Exit(NOT_CONVERGED)


def _print_checks(rows: pd.DataFrame, title: str) -> None:
    what = "quantities" if "quantity" in rows else "cases"
    columns = ("diagnostic", "worst", f"in {rows.columns[2]}", "required", f"{what} that fail")
    cells = []
    for statistic, value, name, required, failed in rows.itertuples(index=False):
        # Where there are none, no case is the worst.
        whose = "" if value == 0 and statistic in (STATISTICS["n_diverging"], STATISTICS["at_max_depth"]) else name
        fail = "" if math.isnan(failed) else f"{failed:,.0f}"
        cells.append((statistic, format(value, _FORMATS[statistic]), whose, required, fail))
    print_table(title, columns, cells, left=(columns[0], *columns[2:4]))


def _print_cases(rows: pd.DataFrame) -> None:
    every = rows["converged"].all()
    known = [name for name in STATISTICS if name in rows]
    words = [STATISTICS[name].replace("at maximum tree depth", "at max depth") for name in known]
    last = [] if every else ["failed"]
    cells = [
        (
            row[rows.columns[0]],
            *("–" if math.isnan(row[name]) else format(row[name], _DIGITS[name]) for name in known),
            *(row[name] for name in last),
        )
        for row in rows.to_dict("records")
    ]
    columns = [rows.columns[0], *words, *(f"{name} by" for name in last)]
    title = "Worst cases, though converged" if every else "Worst cases"
    print_table(title, columns, cells, left=(columns[0], "failed by"))
