"""``plausibly discrepancy``: whether a model is closer to the annotators than they are to each other."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from plausibly import plots
from plausibly.agreement import Discrepancy, Labels, discrepancy_ratio, threshold_curve
from plausibly.annotations._names import some
from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._output import console, make_folder, say, write_figure, write_table
from plausibly.errors import ArgumentError
from plausibly.labels._case_columns import by_case

RATIOS, ANNOTATORS, CASES, STRATA = "discrepancy.csv", "annotators.csv", "cases.csv", "strata.csv"
FIGURE = "discrepancy.png"


@example(
    """
    plausibly discrepancy labels.csv \\
        --predictions A=a.csv --predictions B=b.csv \\
        --group patient --margin 0.1 --out results/
    """
)
def discrepancy(
    labels: options.LabelsFile,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="Labels of a model (case, label); once for each.", rich_help_panel="Data"
        ),
    ] = None,
    scores: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Scores of a model (case, score) for two labels; cut at the threshold that is best on other cases.",
            rich_help_panel="Data",
        ),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="Label that a high score stands for.", rich_help_panel="Data")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="What to resample, such as patients; else cases.", rich_help_panel="Data"),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Kinds of case, to compare one by one.", rich_help_panel="Data"),
    ] = None,
    delta: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Disagreement of two labels: nominal, squared, absolute, hinge, jaccard, or a distance.",
            rich_help_panel="Measure",
        ),
    ] = "nominal",
    tolerance: Annotated[
        float | None, typer.Option(help="Of hinge: how far apart numbers may be.", rich_help_panel="Measure")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="Test whether a model is not inferior by more than this.", rich_help_panel="Measure"),
    ] = None,
    replicates: Annotated[int, typer.Option(help="Of the bootstrap.", rich_help_panel="Measure")] = 1000,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare models with annotators by the discrepancy ratio.

    The ratio Δ is below 1 for a model that is closer to the annotators than they are to each other. Prints it with its
    95 % interval. With --out also writes discrepancy.csv (a row per model), annotators.csv (each
    taken out and treated as a model), cases.csv, strata.csv where there are any, and discrepancy.png.
    """
    given = options.parse_files(predictions or (), "--predictions")
    scored = options.parse_files(scores or (), "--scores")
    if not (given or scored):
        raise ArgumentError(
            "nothing to compare with the annotators: give --predictions NAME=FILE or --scores NAME=FILE."
        )
    if both := given.keys() & scored.keys():
        raise ArgumentError(f"the model {min(both)!r} has both --predictions and --scores: keep one.")
    read = Labels.of(labels, columns=[name for name in (group, strata) if name is not None])
    if scored and delta != "nominal":
        raise ArgumentError(f"scores are cut to labels, which are compared as nominal, but --delta {delta} was given.")
    results: dict[str, Discrepancy] = {}
    for name, path in scored.items():
        curve = threshold_curve(read, path, group, positive=_as_label(positive, read), progress=not quiet)
        results[name] = curve.cross_fitted(seed=seed)
    if given:
        compared = discrepancy_ratio(read, given, delta, group, tolerance=tolerance, progress=not quiet)
    else:
        compared = next(iter(results.values()))
    known = None if strata is None else by_case(strata, read, "stratum")
    compared = _joined(compared, known, {name: result.to_models["model"] for name, result in results.items()})
    if out is not None:
        make_folder(out)
    frame = compared.to_frame(replicates=replicates, seed=seed, progress=not quiet)
    if margin is not None:
        tested = compared.non_inferiority(margin, replicates=replicates, seed=seed)
        frame = frame.join(tested[["p_value", "non_inferior"]])
    if strata is not None:
        frame["mean_per_class"] = compared.mean_per_class
    if not quiet:
        console().print(_table(frame))
    if out is not None:
        _write(compared, frame, out, replicates, seed)
        if not quiet:
            say(f"Wrote {', '.join(path.name for path in sorted(out.iterdir()) if path.name in _files())} to {out}")
    say(_last_line(compared, read))


def _files() -> tuple[str, ...]:
    return (RATIOS, ANNOTATORS, CASES, STRATA, FIGURE)


def _joined(compared: Discrepancy, strata: tuple | None, more: dict) -> Discrepancy:
    models = {} if compared.single else dict(compared.to_models)
    return Discrepancy(
        labels=compared.labels,
        opinions=compared.opinions,
        delta=compared.delta,
        to_others=compared.to_others,
        to_models=models | more,
        single=False,
        group=compared.group,
        strata=strata,
    )


def _as_label(positive: str | None, labels: Labels) -> object:
    """Read a label that was given as text as the labels were."""
    if positive is None or not labels.is_numeric:
        return positive
    try:
        return float(positive)
    except ValueError:
        return positive


def _table(frame: pd.DataFrame) -> Table:
    table = Table(
        title="Discrepancy ratio (95 % interval)", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("model", overflow="fold")
    names = {"ratio": "Δ", "model_discrepancy": "model μ", "annotator_discrepancy": "annotators α"}
    names |= {"mean_per_class": "mean per class", "p_value": "p", "non_inferior": "not inferior"}
    shown = [name for name in names if name in frame]
    for name in shown:
        table.add_column(names[name], justify="right")
    for model, row in frame.iterrows():
        cells = []
        for name in shown:
            if name == "non_inferior":
                cells.append("yes" if row[name] else "no")
            elif name == "ratio" and "lower" in frame:
                cells.append(f"{row['ratio']:.3f} ({row['lower']:.3f}–{row['upper']:.3f})")
            else:
                cells.append(f"{row[name]:.3f}")
        table.add_row(*map(Text, [str(model), *cells]))
    return table


def _write(compared: Discrepancy, frame: pd.DataFrame, out: Path, replicates: int, seed: int) -> None:
    several = "lower" in frame
    write_table(frame.reset_index(), out / RATIOS)
    own = compared.annotators(0.95 if several else None, replicates, seed)
    write_table(own.reset_index(), out / ANNOTATORS)
    write_table(compared.by_case().reset_index(), out / CASES)
    if compared.strata is not None:
        write_table(compared.by_stratum(), out / STRATA)
    write_figure(plots.discrepancy_ratios(compared, replicates=replicates, seed=seed), out / FIGURE)


def _last_line(compared: Discrepancy, labels: Labels) -> str:
    words = f"{compared.n_cases:,} cases counted"
    if compared.excluded:
        words += f"; {len(compared.excluded):,} of fewer than two annotators did not: {some(compared.excluded)}"
    if labels.n_missing:
        words += f"; {labels.n_missing:,} rows had no label"
    return words + "."
