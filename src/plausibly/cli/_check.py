"""``plausibly check``: whether fitted models reproduce the annotations."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._output import console, make_folder, say, write_figure, write_table
from plausibly.model_comparison import predictive_check
from plausibly.plots import predictive_checks
from plausibly.posterior import opened

TABLE, BY_CASE, FIGURE = "checks.csv", "checks-by-case.csv", "checks.png"


@example(
    """
    plausibly check posterior.nc
    plausibly check results/posterior-plackett-luce-3.nc results/posterior-prirn-30.nc --out results
    """
)
def check(
    posteriors: Annotated[
        list[Path], typer.Argument(metavar="POSTERIOR…", help="Files of plausibly aggregate or evaluate.")
    ],
    replicates: Annotated[int, typer.Option(help="How often to let annotators annotate anew.")] = 200,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    quiet: options.Quiet = False,
) -> None:
    """Check whether models, as fitted, would have annotators agree and disagree as they did.

    Annotators draw classes anew from the posterior, as many as they named, and statistics of what they say are held
    against those of what they said. With --out writes checks.csv, checks-by-case.csv and checks.png.
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
    table = table[["model", *(column for column in table.columns if column != "model")]]
    if out is not None:
        write_table(table, out / TABLE)
        cases = [found.by_case.to_dataframe().reset_index().assign(model=name) for name, found in checks.items()]
        write_table(pd.concat(cases, ignore_index=True), out / BY_CASE)
        write_figure(predictive_checks(checks), out / FIGURE)
    if not quiet:
        _print(table)
        if out is not None:
            say(f"Wrote {TABLE}, {BY_CASE} and {FIGURE} to {out}")
    for found in checks.values():
        say(found.verdict())


def _print(table: pd.DataFrame) -> None:
    shown = Table(title="Annotations beside replicates", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("model", "mean over cases of", "observed", "replicated (94 % interval)", "status"):
        shown.add_column(column, justify="right" if column.startswith(("observed", "replicated")) else "left")
    for row in table.to_dict("records"):
        silent = row["mean"] != row["mean"]
        interval = "–" if silent else f"{row['mean']:.3f} ({row['lower']:.3f}–{row['upper']:.3f})"
        observed = "–" if row["observed"] != row["observed"] else f"{row['observed']:.3f}"
        shown.add_row(*(Text(cell) for cell in (row["model"], row["description"], observed, interval, row["status"])))
    console().print(shown)
