"""``plausibly conformal``: sets of classes that contain an answer with a guaranteed probability."""

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer

from plausibly.aggregation import aggregate, parse_variants, plan_runs
from plausibly.annotations import Annotations, read_annotations
from plausibly.annotations._usual_models import usual_models
from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._groups import read_column
from plausibly.cli._model_names import ModelNamesOfClasses
from plausibly.cli._output import make_folder, print_table, say, write_figure, write_table
from plausibly.conformal import ConformalSweep, conformal_coverage
from plausibly.conformal import conformal as calibrate
from plausibly.errors import AnnotationError, ArgumentError, PlausiblyWarning

THRESHOLDS, SETS, COVERAGE, FIT = "thresholds.csv", "sets.csv", "coverage.csv", "model-fit.csv"
_BETWEEN = " | "  # classes of a set


@example(
    """
    plausibly conformal annotations.json --predictions A=a.csv \\
        --alpha 0.05,0.1 --target plausibility \\
        --new A=new.csv --out results
    """
)
def conformal(
    annotations: options.ClassAnnotationsFile,
    classes: options.ClassesFile = None,
    choices: options.Choices = None,
    risks: options.RisksFile = None,
    predictions: options.PredictionFiles = None,
    new: Annotated[
        list[str] | None,
        options.data(
            "--new",
            metavar="NAME=FILE",
            help="Name of a classifier and file of its predictions for new cases, whose sets are written to "
            "sets.csv. Repeat for each classifier.",
        ),
    ] = None,
    logits: Annotated[bool, options.data("--logits", help="Treat predictions as logits and apply a softmax.")] = False,
    alpha: Annotated[
        str,
        typer.Option(
            metavar="A1,A2", help="Share of the answers that sets may miss, on average over cases; one or more values."
        ),
    ] = "0.1",
    score: Annotated[
        Literal["lac", "aps", "raps", "top-k"], typer.Option(help="Conformal score that orders classes.")
    ] = "lac",
    target: Annotated[
        Literal["plausibility", "annotator", "vote"],
        typer.Option(
            help="Answer that sets should contain: a class drawn from the plausibilities, the next annotator's choice, "
            "or the majority vote."
        ),
    ] = "plausibility",
    by: Annotated[
        str | None,
        typer.Option(
            metavar="risk|certainty|FILE",
            help="Groups that get their own threshold: risk level of the predicted class, certainty of the "
            "classifier, or a table with the columns case and group.",
        ),
    ] = None,
    new_by: Annotated[
        Path | None,
        typer.Option("--new-by", metavar="FILE", help="Groups of the new cases, if --by is a table."),
    ] = None,
    loss: Annotated[
        Literal["risk"] | None,
        typer.Option(
            help="Loss to bound instead of the share of missed answers; risk stands for the expected risk "
            "level of missed answers."
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            metavar="M",
            help="Labels to draw per case. By default none are drawn: every class counts with its exact plausibility "
            "or share of the annotators.",
        ),
    ] = None,
    randomise: Annotated[
        bool,
        typer.Option(
            "--randomise",
            help="Randomise scores and thresholds, so that coverage is no higher than the guarantee requires. Sets "
            "are then usually smaller.",
        ),
    ] = False,
    splits: Annotated[
        int, typer.Option(metavar="N", help="Number of random splits to measure coverage on; 0 for none.")
    ] = 100,
    model: ModelNamesOfClasses = None,
    *,
    modelling: options.ModelOptions,
    sampling: options.SamplingOptions,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    quiet: options.Quiet = False,
) -> None:
    """Compute sets of classes that contain an answer with a guaranteed probability, even where experts disagree.

    The answer is a class drawn from the plausibilities, the next annotator's first choice, or the vote (--target).
    Calibrates on the annotated cases; the guarantee is an average over new cases of the same kind. With several models
    or reliabilities, it holds under each of them. --target annotator and --target vote need no model.

    With --out, also writes thresholds.csv, coverage.csv (over random splits), model-fit.csv and figures; with --new,
    sets.csv.
    """
    named, given_new = options.parse_files(predictions), options.parse_files(new, "--new")
    alphas = options.parse_numbers(alpha, "--alpha", "0.05,0.1")
    read = read_annotations(annotations, classes, choices=choices, progress=not quiet)
    if not isinstance(read, Annotations):
        raise AnnotationError(
            "sets consist of classes, but these annotations are scores: convert them to labels by a threshold first."
        )
    column, new_column = _read_by(by, new_by)
    asked: dict[str, Any] = {"score": score, "target": target, "by": column, "loss": loss, "seed": seed}
    asked |= {"risks": None if risks is None else str(risks), "samples": samples, "logits": logits}
    asked |= {"randomise_scores": randomise and score != "lac", "randomise_threshold": randomise}
    if strangers := [name for name in given_new if name not in named]:
        raise ArgumentError(
            f"--new {strangers[0]}=… has no match in --predictions ({', '.join(named) or 'none'}): give both the same "
            "name."
        )
    with warnings.catch_warnings():  # of the vote
        warnings.simplefilter("ignore", PlausiblyWarning)
        tried = calibrate(
            read, named, alpha=alphas[0], **asked | {"target": "vote"}
        )  # refuses bad input before sampling
    if given_new:
        tried.table(given_new, new_column)
    if out is not None:
        make_folder(out)
    found: dict[float, dict[str, Any]] = {level: {} for level in alphas}
    measured = None
    for label, source in _sources(read, target, model, vars(modelling) | vars(sampling), seed, quiet=quiet):
        for level in alphas:
            found[level][label] = calibrate(source, named, alpha=level, **asked)
        if splits and measured is None:
            kept = {key: asked[key] for key in ("score", "by", "loss", "risks", "logits", "seed", "randomise_scores")}
            measured = conformal_coverage(source, named, alpha=alphas, splits=splits, progress=not quiet, **kept)
    swept = {level: ConformalSweep(runs) for level, runs in found.items()}
    common = {
        level: next(iter(one.runs.values())) if len(one.runs) == 1 else one.common for level, one in swept.items()
    }
    thresholds = pd.concat([one.table.assign(alpha=level) for level, one in swept.items()], ignore_index=True)
    sets = None
    if given_new:
        tables = [one.table(given_new, new_column).assign(alpha=level) for level, one in common.items()]
        sets = pd.concat(tables, ignore_index=True)
        sets["classes"] = [_BETWEEN.join(chosen) for chosen in sets["classes"]]
    written = []
    if out is not None:
        written = _write(out, thresholds, sets, measured, common)
    if not quiet:
        _print(thresholds, sets, measured)
        if out is not None:
            say(f"Wrote {', '.join(written)} to {out}")
        if measured is not None:
            say(measured.verdict())
    for level, one in common.items():
        if not quiet or level == alphas[-1]:
            say(one.verdict())


def _sources(read: Annotations, target: str, model: list[str] | None, given: dict, seed: int, *, quiet: bool):
    """Posteriors by label; the annotations themselves where no model is needed, or asked for."""
    if target != "plausibility" and not model:
        yield "annotations", read
        return
    for run in plan_runs(read, parse_variants(model or usual_models(read)), given, seed=seed):
        if not quiet:
            say(f"Aggregating by {run.label}", stderr=True)
        yield run.label, aggregate(read, run.model, **run.arguments, seed=seed, progress=not quiet)


def _read_by(by: str | None, new_by: Path | None) -> tuple[Any, Any]:
    """Groups of the cases, and those of the new ones."""
    if by in (None, "risk", "certainty"):
        if new_by is not None:
            raise ArgumentError("--new-by goes with --by FILE: leave it out, or name a table of groups.")
        return by, None
    new = None if new_by is None else str(new_by)
    return read_column(by, option="--by", column="group"), read_column(new, option="--new-by", column="group")


def _write(out: Path, thresholds: pd.DataFrame, sets: pd.DataFrame | None, measured: Any, common: dict) -> list[str]:
    tables = {THRESHOLDS: thresholds}
    if sets is not None:
        tables[SETS] = sets
    figures = {f"thresholds-{level:g}.png": one.plot() for level, one in common.items()}
    if measured is not None:
        tables[COVERAGE] = measured.table
        if measured.fit is not None:
            tables[FIT] = measured.fit
        figures["coverage.png"] = measured.plot()
    for name, table in tables.items():
        write_table(table, out / name)
    for name, drawn in figures.items():
        write_figure(drawn, out / name)
    return [*tables, *figures]


def _print(thresholds: pd.DataFrame, sets: pd.DataFrame | None, measured: Any) -> None:
    shown = thresholds[["alpha", "run", "classifier", "group", "n", "threshold", "mean_size", "note"]]
    rows = [tuple(_cell(value) for value in row) for row in shown.itertuples(index=False)]
    print_table(
        "Thresholds and mean set sizes", [name.replace("_", " ") for name in shown], rows,
        left=("run", "classifier", "group", "note"),
    )  # fmt: skip
    if measured is not None:
        columns = ["alpha", "classifier", "target", *measured.measures, "size"]
        own = measured.table[measured.table["group"] == "all"][columns]
        what = "Risk missed" if measured.loss else "Coverage"
        title = f"{what} of test cases, mean over splits; target: the answer that the sets were calibrated on"
        rows = [tuple(_cell(value) for value in row) for row in own.itertuples(index=False)]
        print_table(title, columns, rows, left=("classifier", "target"))
    if sets is not None:
        table = sets.groupby(["alpha", "classifier"], sort=False)["size"].agg(["count", "mean", "min", "max"])
        rows = [
            tuple(_cell(value) for value in (*keys, *row))
            for keys, row in zip(table.index, table.to_numpy(), strict=True)
        ]
        print_table("Sets of the new cases", ("alpha", "classifier", "cases", "mean size", "least", "most"), rows)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
