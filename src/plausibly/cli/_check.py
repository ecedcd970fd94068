"""``plausibly check``: whether fitted models reproduce the annotations."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._output import make_folder, print_table, say, write_figure, write_table
from plausibly.model_comparison import predictive_check
from plausibly.plots import predictive_checks
from plausibly.posterior import opened

TABLE, BY_CASE, FIGURE = "checks.csv", "checks-by-case.csv", "checks.png"


@example(
    """
    plausibly check posterior.nc
    plausibly check results/posterior-prirn-30.nc --out results
    """
)
def check(
    posteriors: Annotated[
        list[Path],
        typer.Argument(metavar="POSTERIOR…", help="Posteriors written by plausibly aggregate or evaluate."),
    ],
    replicates: Annotated[int, typer.Option(help="Number of posterior predictive replicates.")] = 200,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    quiet: options.Quiet = False,
) -> None:
    """Check whether fitted models reproduce how annotators agree and disagree.

    Draws posterior predictive replicates of the annotations and compares their statistics with the observed ones. With
    --out, also writes checks.csv, checks-by-case.csv and checks.png.
    """
    if out is not None:
        make_folder(out)
    checks = {}
    for path in posteriors:
        with opened(path) as posterior:
            found = predictive_check(posterior, replicates=replicates, seed=seed, progress=not quiet)
        # Two posteriors of one model and reliability may differ in their priors.
        checks[f"{found.model} ({path})" if found.model in checks else found.model] = found
    table = pd.concat([found.table.assign(model=name) for name, found in checks.items()], ignore_index=True)
    table.insert(0, "model", table.pop("model"))
    if out is not None:
        write_table(table, out / TABLE)
        cases = [found.by_case.to_dataframe().reset_index().assign(model=name) for name, found in checks.items()]
        write_table(pd.concat(cases, ignore_index=True), out / BY_CASE)
        write_figure(predictive_checks(checks), out / FIGURE)
    if not quiet:
        columns = ("model", "mean over cases of", "observed", "replicated (94 % interval)", "status")
        rows = [_cells(row) for row in table.to_dict("records")]
        print_table("Annotations and replicates", columns, rows, left=("model", "mean over cases of", "status"))
        if out is not None:
            say(f"Wrote {TABLE}, {BY_CASE} and {FIGURE} to {out}")
    for found in checks.values():
        say(found.verdict())


def _cells(row: dict) -> tuple[str, ...]:
    observed = "–" if pd.isna(row["observed"]) else f"{row['observed']:.3f}"
    interval = "–" if pd.isna(row["mean"]) else f"{row['mean']:.3f} ({row['lower']:.3f}–{row['upper']:.3f})"
    return row["model"], row["description"], observed, interval, row["status"]
