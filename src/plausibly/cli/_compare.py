"""``plausibly compare``: classifiers under a posterior that is there already."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._output import console, make_folder, say, write_table
from plausibly.comparison import differences, rankings, variance_split
from plausibly.errors import ArgumentError
from plausibly.evaluation import METRICS, evaluate
from plausibly.posterior import opened
from plausibly.subgroups import risk_weights

DIFFERENCES, RANKINGS, VARIANCES = "differences.csv", "rankings.csv", "variances.csv"
_MOST = 10  # rankings to print


@example(
    """
    plausibly compare posterior.nc --predictions A=a.csv --predictions B=b.npy --metric top3_accuracy
    plausibly compare posterior.nc --predictions A=a.csv --predictions B=b.npy --risks risks.txt --risk 2
    """
)
def compare(
    posterior: Annotated[Path, typer.Argument(metavar="POSTERIOR", help="A file of plausibly aggregate or evaluate.")],
    predictions: options.PredictionFiles = None,
    metric: Annotated[
        str, typer.Option(metavar="METRIC", help="By which to compare, such as top3_average_overlap.")
    ] = "top1_accuracy",
    top: options.Top = None,
    risks: options.RisksFile = None,
    risk: Annotated[
        int | None, typer.Option(min=0, max=2, help="Count cases as far as their most plausible class is of this risk.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=2, help="Of the bootstrap over cases.")] = 2000,
    break_ties: options.BreakTiesOption = options.BreakTies.order,
    seed: options.Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to write the tables, if anywhere.")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare classifiers: who is better, by how much, in which order, and which noise stands behind it.

    The draws stay in their file and are read in slices. With --out writes differences.csv, rankings.csv and
    variances.csv.
    """
    named = options.parse_files(predictions or ())
    if len(named) < 2:
        raise ArgumentError(
            f"a comparison needs two classifiers, but {len(named)} were given: write --predictions A=a.csv for each."
        )
    if risk is not None and risks is None:
        raise ArgumentError(f"--risk {risk} needs the risks of the classes, but none were given: add --risks FILE.")
    if out is not None:
        make_folder(out)
    with opened(posterior) as draws:
        given = {"k": ks} if (ks := options.parse_top(top)) is not None else {"k": _usual(draws)}
        known = [f"top{size}_{name}" for size in given["k"] for name in METRICS]
        if metric not in known:
            raise ArgumentError(f"--metric must be one of {', '.join(known)}, but {metric!r} was given: choose one.")
        weights = None
        if risk is not None:
            weights = risk_weights(draws, str(risks), risk, ties=break_ties.value, seed=seed)
        results = evaluate(draws, named, **given, weights=weights, ties=break_ties.value, seed=seed, progress=not quiet)
    tables = {
        DIFFERENCES: differences(results, metric),
        RANKINGS: rankings(results, metric),
        VARIANCES: variance_split(results, metric, resamples=resamples, seed=seed),
    }
    if out is not None:
        for name, table in tables.items():
            write_table(table, out / name)
    if not quiet:
        _print(tables, metric)
        if out is not None:
            say(f"Wrote {', '.join(tables)} to {out}")
    best = tables[RANKINGS].iloc[0]
    say(f"Most probable ranking by {metric}: {best['ranking']} (probability {best['probability']:.2f}).")


def _usual(posterior) -> list[int]:
    return [size for size in (1, 2, 3) if size <= int(posterior.attrs["n_classes"])]


def _print(tables: dict[str, pd.DataFrame], metric: str) -> None:
    titles = {
        DIFFERENCES: f"Differences in {metric} over draws (94 % interval: annotation noise alone)",
        RANKINGS: "Posterior over rankings",
        VARIANCES: "What kind of noise: annotation, Monte Carlo, sampling of cases",
    }
    terminal = console()
    for name, table in tables.items():
        shown = Table(title=titles[name], title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for column in table.columns:
            numeric = pd.api.types.is_numeric_dtype(table[column])
            shown.add_column(column.replace("_", " "), justify="right" if numeric else "left", overflow="fold")
        for row in table.head(_MOST).itertuples(index=False):
            shown.add_row(*(Text(_cell(column, value)) for column, value in zip(table.columns, row, strict=True)))
        terminal.print(shown)


def _cell(column: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if column == "effective_draws" else f"{value:.4f}"
