"""``plausibly diagnose``: whether the chains of a saved posterior converged."""

from typing import Annotated

import typer

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import check_converged
from plausibly.app.results.posterior import of_chains
from plausibly.posterior import opened
from plausibly.posterior.diagnostics import diagnose as find


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
        output.publish(of_chains(source, diagnostics, most))
    check_converged(diagnostics["converged"].values.all(), strict=output.strict)
