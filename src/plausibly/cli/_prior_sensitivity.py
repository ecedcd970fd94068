"""``plausibly prior-sensitivity``: how much the results depend on priors and conventions."""

from typing import Annotated

import pandas as pd
import typer

from plausibly import annotations as annotated
from plausibly import model_comparison
from plausibly.aggregation import parse_variants
from plausibly.annotations._usual_models import usual_models
from plausibly.cli import _options as options
from plausibly.cli._app import NOT_CONVERGED, example
from plausibly.cli._model_names import ModelNames
from plausibly.cli._output import make_folder, print_table, say, write_svg, write_table
from plausibly.plots import prior_sensitivities
from plausibly.plots._words import metric_name

TABLE, FIGURE = "sensitivity.csv", "sensitivity.svg"


@example(
    """
    plausibly prior-sensitivity annotations.json --classes conditions.txt \\
        --predictions A=a.csv --predictions B=b.npy \\
        --model plackett-luce@3 --model prirn@30 --out results
    """
)
def prior_sensitivity(
    annotations: options.AnnotationsFile,
    classes: options.ClassesFile = None,
    choices: options.Choices = None,
    predictions: options.PredictionFiles = None,
    model: ModelNames = None,
    concentration: Annotated[
        str | None,
        options.modelling(
            metavar="A1,A2", help="Prior concentrations to try. By default one tenth and ten times the model's."
        ),
    ] = None,
    prior_kappa: Annotated[
        str | None,
        options.modelling(
            metavar="K1,K2",
            help="Prior medians to try for the concentration of a learned prior (class_prior learned or predictions). "
            "By default one tenth and ten times 2.72.",
        ),
    ] = None,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Metric to print.")] = "top1_accuracy",
    k: options.Lengths = None,
    *,
    sampling: options.SamplingOptions,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate again under other priors and conventions, changing one choice at a time.

    The choices are the prior concentration, or the prior of the concentration where it is learned, the treatment of
    unranked classes and the weight of ties. With --out, also writes sensitivity.csv and sensitivity.svg.
    """
    read = annotated.read_annotations(annotations, classes, choices=choices, progress=not quiet)
    texts = {"concentration": concentration, "prior_kappa": prior_kappa}
    tried = {
        name: options.parse_numbers(text, f"--{name.replace('_', '-')}", "0.1,1,10")
        for name, text in texts.items()
        if text is not None
    }
    if out is not None:
        make_folder(out)
    found = model_comparison.prior_sensitivity(
        read,
        options.parse_files(predictions),
        parse_variants(model or usual_models(read)),
        **tried,
        k=options.parse_lengths(k),
        **vars(sampling),
        seed=seed,
        progress=not quiet,
    )
    metric = metric if predictions or metric != "top1_accuracy" else "annotation_certainty_1"
    largest = found.largest(metric)
    if out is not None:
        write_table(found.table, out / TABLE)
        write_svg(prior_sensitivities(found), out / FIGURE)
    if not quiet:
        _print(found.of(metric), metric)
        if out is not None:
            say(f"Wrote {TABLE} and {FIGURE} to {out}")
    whose = f" of {largest['classifier']}" if largest["classifier"] else ""
    choice = f"{largest['choice']} {largest['value']}".rstrip()
    say(f"The largest shift in {metric}{whose} is {largest['shift']:+.3f}: {largest['model']} with {choice}.")
    if strict and not found.table["converged"].all():
        raise typer.Exit(NOT_CONVERGED)


def _print(table: pd.DataFrame, metric: str) -> None:
    rows = []
    for row in table.to_dict("records"):
        interval = "" if pd.isna(row["lower"]) else f" ({row['lower']:.3f}–{row['upper']:.3f})"
        choice = f"{row['choice']} {row['value']}".strip()
        rows.append((row["model"], choice, row["classifier"], f"{row['mean']:.3f}{interval}", f"{row['shift']:+.3f}"))
    columns = ("model", "choice", "classifier", "mean (94 % interval)", "shift")
    print_table(metric_name(metric), columns, rows, left=columns[:3])
