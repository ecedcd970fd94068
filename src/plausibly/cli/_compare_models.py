"""``plausibly compare-models``: aggregation models by how well they predict left-out annotations."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from plausibly.aggregation import parse_variants
from plausibly.annotations import read_annotations
from plausibly.annotations._usual_models import OF_RANKINGS
from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._model_names import ComparedModelNames
from plausibly.cli._output import make_folder, print_table, say, write_figure, write_table
from plausibly.model_comparison import ComparisonPlan
from plausibly.plots import model_comparison

MODELS, POINTWISE, FIGURE = "models.csv", "left-out.csv", "models.png"

_SHOWN = ("elpd", "se", "elpd_diff", "dse", "p", "weight", "k_high", "refits", "impossible", "verdict")


@example(
    """
    plausibly compare-models annotations.json \\
        --model plackett-luce@1,3,10 --model prirn@10,30,100
    """
)
def compare_models(
    annotations: options.ClassAnnotationsFile,
    classes: options.ClassesFile = None,
    choices: options.Choices = None,
    predictions: options.PredictionFiles = None,
    model: ComparedModelNames = None,
    observation: Annotated[
        Literal["first", "ranking"],
        typer.Option(help="Part of a left-out annotation to predict: its first block or the whole ranking."),
    ] = "first",
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of folds to split each case's annotations into. By default leave-one-out."
        ),
    ] = None,
    method: Annotated[
        Literal["auto", "refit"],
        typer.Option(
            help="How to predict from the other annotations: auto reweights draws where that is reliable "
            "and samples again elsewhere, refit always samples again."
        ),
    ] = "auto",
    *,
    modelling: options.ModelOptions,
    sampling: options.SamplingOptions,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare aggregation models by how well they predict left-out annotations.

    Each annotation is left out in turn and predicted from the others. The best model gives the left-out annotations the
    highest probability. Models named with class_prior=predictions learn from --predictions, which others ignore. With
    --out, also writes models.csv, left-out.csv (one row per model and annotation) and
    models.png.
    """
    read = read_annotations(annotations, classes, choices=choices, progress=not quiet)
    given = {"observation": observation, "folds": folds, "method": method, "seed": seed}
    given |= vars(modelling) | vars(sampling) | {"predictions": options.parse_files(predictions) or None}
    plan = ComparisonPlan.of(read, parse_variants(model or OF_RANKINGS), **given)
    if out is not None:
        make_folder(out)

    def announce(number: int, label: str) -> None:
        if not quiet:
            say(f"[{number + 1} of {len(plan.labels)}] {label}", stderr=True)

    compared = plan.run(progress=not quiet, before=announce)
    table = compared.table
    if out is not None:
        write_table(table.reset_index(), out / MODELS)
        write_table(compared.pointwise.to_dataframe().reset_index(), out / POINTWISE)
        write_figure(model_comparison(compared), out / FIGURE)
    if not quiet:
        what = "first block" if plan.observation == "first" else "ranking"
        title = f"Log probability of the {what} of left-out annotations (standard errors by case)"
        columns = ("model", *(column.replace("_", " ") for column in _SHOWN))
        rows = [(str(name), *(_cell(column, row) for column in _SHOWN)) for name, row in table.iterrows()]
        print_table(title, columns, rows, left=("model", "verdict"))
        if table["warning"].any():
            names = ", ".join(table.index[table["warning"]])
            say(f"Not all chains converged ({names}): raise --warmup or --draws before trusting small differences.")
        if out is not None:
            say(f"Wrote {MODELS}, {POINTWISE} and {FIGURE} to {out}")
    say(compared.verdict())


def _cell(column: str, row: Mapping[str, Any]) -> str:
    value = row[column]
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if value != value:
        return "–"
    return f"{value:.2f}" if column in ("weight", "dse") else f"{value:,.1f}"
