"""``plausibly diagnose``: whether the chains of a saved posterior converged."""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import pandas as pd
import typer
import xarray as xr

from plausibly.agreement.annotators import annotator_accuracies, annotator_confusions, severities
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import ScreenTable, check_converged, say
from plausibly.base.arviz import Posterior, to_groups
from plausibly.posterior import model_of, opened
from plausibly.posterior.diagnostics import diagnose as find
from plausibly.posterior.diagnostics import shared_convergence
from plausibly.posterior.diagnostics.verdicts import STATISTICS, checks, population_verdict, table, verdict, worst

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
    *,
    output: options.StrictOutput,
) -> None:
    """Check whether the chains of a posterior converged and, if not, where and why.

    Prints the worst value of every diagnostic next to the required one, then the worst cases. With --out, also writes
    diagnostics.csv (one row per case), convergence.png (all cases) and chains.png (trace and rank plots of the worst
    cases). Quantities shared by all cases go to reliabilities.csv or shared.csv; models that assume one true class add
    annotators.csv (accuracies) and confusions.csv, and raters who differ severities.csv.
    """
    make_folder(output.out, [posterior])
    with opened(posterior) as source:
        diagnostics = find(source, progress=not output.quiet)
        shared = shared_convergence(source)
        shared = None if shared is None else shared.load()
        named = worst(diagnostics, most)
        output.publish(_shown(diagnostics, named, shared), _files(source, diagnostics, named, shared))
        label = model_of(source) or "posterior"
    if shared is not None and not shared["converged"].values.all():
        say(population_verdict(shared) or verdict({"inferred": shared}))
    say(verdict({label: diagnostics}))
    check_converged(diagnostics["converged"].values.all(), strict=output.strict)


def _shown(diagnostics: xr.Dataset, named: list[str], shared: xr.Dataset | None) -> Iterator[ScreenTable]:
    if named:
        yield _checks(checks(diagnostics), "Worst value of every diagnostic")
        yield _cases(table(diagnostics, named))
    if shared is not None:
        yield _checks(checks(shared), "Worst value of every diagnostic, quantities shared by all cases")


def _files(
    source: Posterior, diagnostics: xr.Dataset, named: list[str], shared: xr.Dataset | None
) -> Iterator[tuple[str, Any]]:
    yield "diagnostics.csv", table(diagnostics)
    if named:
        yield "convergence.png", plots.convergence_overview(diagnostics)
        yield "chains.png", plots.worst_chains(source, named)
    if shared is not None:
        yield "reliabilities.csv" if "reliability_convergence" in to_groups(source) else "shared.csv", table(shared)
    if "severity" in source["posterior"]:
        yield "severities.csv", severities(source)
    if "accuracy" in source["posterior"]:
        yield "annotators.csv", annotator_accuracies(source)
        if "confusion" in source["posterior"]:
            yield "confusions.csv", annotator_confusions(source)


def _checks(rows: pd.DataFrame, title: str) -> ScreenTable:
    what = "quantities" if "quantity" in rows else "cases"
    columns = ("diagnostic", "worst", f"in {rows.columns[2]}", "required", f"{what} that fail")
    cells = []
    for statistic, value, name, required, failed in rows.itertuples(index=False):
        # Where there are none, no case is the worst.
        whose = "" if value == 0 and statistic in (STATISTICS["n_diverging"], STATISTICS["at_max_depth"]) else name
        fail = "" if math.isnan(failed) else f"{failed:,.0f}"
        cells.append((statistic, format(value, _FORMATS[statistic]), whose, required, fail))
    return ScreenTable(title, columns, cells, left=(columns[0], *columns[2:4]))


def _cases(rows: pd.DataFrame) -> ScreenTable:
    every = rows["converged"].all()
    known = [name for name in STATISTICS if name in rows]
    words = {name: STATISTICS[name].replace("at maximum tree depth", "at max depth") for name in known}
    shown = rows[[rows.columns[0], *known, *([] if every else ["failed"])]].rename(
        columns=words | {"failed": "failed by"}
    )
    title = "Worst cases, though converged" if every else "Worst cases"
    formats = {words[name]: _DIGITS[name] for name in known}
    return ScreenTable.of(title, shown, formats=formats, missing="–", left=(rows.columns[0], "failed by"))
