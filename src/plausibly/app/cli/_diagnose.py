"""``plausibly diagnose``: whether the chains of a saved posterior converged."""

import math
from collections.abc import Iterator
from typing import Annotated, Any

import typer
import xarray as xr

from plausibly.agreement.annotators import annotator_accuracies, annotator_confusions, severities
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import check_converged
from plausibly.app.screen import Piece, Screen, Table
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

    Prints the worst value of every diagnostic next to the required one, and names the worst cases. With --out, also
    writes diagnostics.csv (one row per case), convergence.png (all cases) and chains.png (trace and rank plots of
    the worst cases). Quantities shared by all cases go to reliabilities.csv or shared.csv; models that assume one
    true class add annotators.csv (accuracies) and confusions.csv, and raters who differ severities.csv.
    """
    make_folder(output.out, [posterior])
    with opened(posterior) as source:
        diagnostics = find(source, progress=not output.quiet)
        shared = shared_convergence(source)
        shared = None if shared is None else shared.load()
        named = worst(diagnostics, most)
        told = verdict({model_of(source) or "posterior": diagnostics})
        notes = list(_notes(diagnostics, named, shared))
        files = [Piece(*one) for one in _files(source, diagnostics, named, shared)]
        output.publish(Screen(told, _table(diagnostics, named, shared), notes, "diagnostics.csv", files=files))
    check_converged(diagnostics["converged"].values.all(), strict=output.strict)


def _table(diagnostics: xr.Dataset, named: list[str], shared: xr.Dataset | None) -> Table | None:
    """The worst value of every diagnostic, of cases and of quantities that all share."""
    found = [*([checks(diagnostics)] if named else []), *([] if shared is None else [checks(shared)])]
    rows = []
    for table_ in found:
        whose_all = f" (all {'quantities' if 'quantity' in table_ else 'cases'})" if len(found) > 1 else ""
        for statistic, value, name, required, failed in table_.itertuples(index=False):
            # Where there are none, no case is the worst.
            none = value == 0 and statistic in (STATISTICS["n_diverging"], STATISTICS["at_max_depth"])
            fail = "" if math.isnan(failed) else f"{failed:,.0f}"
            value_ = format(value, _FORMATS[statistic])
            rows.append((f"{statistic}{whose_all}", value_, "" if none else str(name), required, fail))
    columns = ("diagnostic", "worst", "in", "required", "that fail")
    return Table(columns, rows, "Worst value of every diagnostic", left=(0, 2, 3)) if rows else None


def _notes(diagnostics: xr.Dataset, named: list[str], shared: xr.Dataset | None) -> Iterator[str]:
    """Name the worst cases, and say whether what all cases share converged."""
    if shared is not None and not shared["converged"].values.all():
        yield population_verdict(shared) or verdict({"inferred": shared})
    if not named:
        return
    rows = table(diagnostics, named)
    every = rows["converged"].all()
    worst_first = [
        f"{row[rows.columns[0]]} (R-hat {row['r_hat']:.3f}{'' if every else ', ' + str(row['failed'])})"
        for row in rows.to_dict("records")
    ]
    yield f"{'Worst cases, though converged' if every else 'Worst cases'}: {'; '.join(worst_first)}."


def _files(
    source: Posterior, diagnostics: xr.Dataset, named: list[str], shared: xr.Dataset | None
) -> Iterator[tuple[str, Any]]:
    yield "diagnostics.csv", lambda: table(diagnostics)
    if named:
        yield "convergence.png", lambda: plots.convergence_overview(diagnostics)
        yield "chains.png", lambda: plots.worst_chains(source, named)
    if shared is not None:
        yield (
            "reliabilities.csv" if "reliability_convergence" in to_groups(source) else "shared.csv",
            lambda: table(shared),
        )
    if "severity" in source["posterior"]:
        yield "severities.csv", lambda: severities(source)
    if "accuracy" in source["posterior"]:
        yield "annotators.csv", lambda: annotator_accuracies(source)
        if "confusion" in source["posterior"]:
            yield "confusions.csv", lambda: annotator_confusions(source)
