"""``plausibly compare``: classifiers under a posterior that is there already, or aggregation models."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._compare_models import compare_models
from plausibly.cli._output import console, make_folder, say, write_table
from plausibly.errors import ArgumentError
from plausibly.evaluation import METRICS, evaluate, risk_weights
from plausibly.evaluation.comparison import differences, rankings, variance_split
from plausibly.posterior import opened

DIFFERENCES, RANKINGS, VARIANCES = "differences.csv", "rankings.csv", "variances.csv"
POSTERIOR = ".nc"  #: how the file of a posterior ends
_MOST = 10  # rankings to print
_CLASSIFIERS, _MODELS = "Classifiers", "Models"


class Observation(StrEnum):
    """What is scored."""

    first = "first"
    ranking = "ranking"


class Method(StrEnum):
    """How posteriors without an annotation are had."""

    auto = "auto"
    refit = "refit"


@example(
    """
    plausibly compare posterior.nc --predictions A=a.csv --predictions B=b.npy --metric top3_accuracy
    plausibly compare posterior.nc --predictions A=a.csv --predictions B=b.npy --risks risks.txt --risk 2
    plausibly compare annotations.json --model plackett-luce@1,3,10 --model prirn@10,30,100
    """
)
def compare(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="POSTERIOR|ANNOTATIONS",
            help="Of classifiers: a file of plausibly aggregate or evaluate (.nc). Of models: annotations.",
        ),
    ],
    predictions: options.PredictionFiles = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help="By which to compare, such as top3_average_overlap; by default top1_accuracy.",
            rich_help_panel=_CLASSIFIERS,
        ),
    ] = None,
    top: Annotated[
        str | None,
        typer.Option(
            metavar="K1,K2", help="Lengths of the classifiers' lists, by default 1,2,3.", rich_help_panel=_CLASSIFIERS
        ),
    ] = None,
    risks: options.RisksFile = None,
    risk: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2,
            help="Count cases as far as their most plausible class is of this risk.",
            rich_help_panel=_CLASSIFIERS,
        ),
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(min=2, help="Of the bootstrap over cases, by default 2000.", rich_help_panel=_CLASSIFIERS),
    ] = None,
    break_ties: Annotated[
        options.BreakTies | None,
        typer.Option(
            "--break-ties",
            help="Equal scores and equal plausibilities: in class order, or at random.",
            rich_help_panel=_CLASSIFIERS,
        ),
    ] = None,
    classes: options.ClassesFile = None,
    model: options.ModelNames = None,
    observation: Annotated[
        Observation | None,
        typer.Option(help="What of an annotation left out is scored.", rich_help_panel=_MODELS),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Leave out K folds of each case's annotations, not one at a time.",
            rich_help_panel=_MODELS,
        ),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(help="Reweight draws where that can be trusted, or sample anew for all.", rich_help_panel=_MODELS),
    ] = None,
    ties: options.TiesOption = None,
    mode: options.ModeOption = None,
    unranked: options.UnrankedOption = None,
    concentration: options.Concentration = None,
    draws: options.Draws = None,
    chains: options.Chains = None,
    warmup: options.Warmup = None,
    seed: options.Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to write the tables, if anywhere.")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare classifiers under a posterior, or aggregation models by the annotations that they predict.

    With --predictions: who is better, by how much, in which order, and which noise stands behind it. The draws stay in
    their file and are read in slices. With --out writes differences.csv, rankings.csv and variances.csv.

    With --model: each annotation is left out, and the model that gave it most probability is the best. With --out
    writes models.csv, left-out.csv (a row per model and annotation) and models.png.
    """
    of_models = {"model": model, "observation": observation, "folds": folds, "method": method, "classes": classes}
    of_models |= {"ties": ties, "mode": mode, "unranked": unranked, "concentration": concentration}
    of_models |= {"draws": draws, "chains": chains, "warmup": warmup}
    of_classifiers = {"predictions": predictions, "metric": metric, "top": top, "risks": risks, "risk": risk}
    of_classifiers |= {"resamples": resamples, "break-ties": break_ties}
    if _asks_for_models(source, of_models, of_classifiers):
        settings = {name: options.plain(value) for name, value in of_models.items() if value is not None}
        for name in ("model", "classes"):
            settings.pop(name, None)
        chosen = model or options.DEFAULT_MODELS
        compare_models(source, classes, chosen, out=out, quiet=quiet, seed=seed, **settings)
        return
    compare_classifiers(
        source,
        predictions or (),
        metric=metric or "top1_accuracy",
        top=top,
        risks=risks,
        risk=risk,
        resamples=2000 if resamples is None else resamples,
        break_ties=options.BreakTies.order if break_ties is None else break_ties,
        seed=seed,
        out=out,
        quiet=quiet,
    )


def _asks_for_models(source: Path, of_models: Mapping[str, object], of_classifiers: Mapping[str, object]) -> bool:
    """Tell the two comparisons apart by what is given, and refuse what belongs to both.

    Raises
    ------
    ArgumentError
        If options of both are there, or options of one with the file of the other.
    """
    models, classifiers = (
        [f"--{name}" for name, value in of.items() if value is not None and value != []]
        for of in (of_models, of_classifiers)
    )
    if models and classifiers:
        raise ArgumentError(
            f"either classifiers are compared or aggregation models, but {classifiers[0]} belongs to the one and "
            f"{models[0]} to the other: leave one of them out."
        )
    is_posterior = source.suffix == POSTERIOR
    if models and is_posterior:
        raise ArgumentError(
            f"{source} is a posterior, which one model made, but {models[0]} compares models of annotations: give the "
            "annotations instead."
        )
    return not (classifiers or is_posterior)


def compare_classifiers(
    posterior: Path,
    predictions: Sequence[str],
    *,
    metric: str,
    top: str | None,
    risks: Path | None,
    risk: int | None,
    resamples: int,
    break_ties: options.BreakTies,
    seed: int,
    out: Path | None,
    quiet: bool,
) -> None:
    """Read, compare, write and print."""
    named = options.parse_files(predictions)
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
        VARIANCES: variance_split(results, metric, replicates=resamples, seed=seed),
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
