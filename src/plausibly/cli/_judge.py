"""``plausibly judge``: whether a model can stand in for an annotator."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from plausibly import plots
from plausibly.agreement import Judgement, Labels
from plausibly.agreement import judge as judge_models
from plausibly.bootstrap import CI_PROB, REPLICATES
from plausibly.cli import _options as options
from plausibly.cli._app import NOT_CONVERGED, example
from plausibly.cli._output import make_folder, print_table, say, write_figure, write_table
from plausibly.errors import ArgumentError
from plausibly.report import judge_report

REPORT = "judge.html"


@example(
    """
    plausibly judge labels.csv --predictions gpt=gpt.csv \\
        --clusters patient --by language,region --out results/
    """
)
def judge(
    labels: options.LabelsFile,
    predictions: Annotated[
        list[str] | None,
        options.data(
            metavar="NAME=FILE", help="Name of a model and table of its labels (case, label). Repeat for each."
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        options.data(
            metavar="COLUMN",
            help="Column of the clusters to resample, such as patients. By default every case is its own cluster.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        options.data(
            metavar="COLUMN,…",
            help="Columns that group cases or annotators, such as language; results are also reported for each group.",
        ),
    ] = None,
    intersections: options.Intersections = False,
    distance: Annotated[
        str,
        options.measure(metavar="NAME", help="Distance between two labels; see --distance of plausibly discrepancy."),
    ] = "nominal",
    tolerance: Annotated[
        float | None,
        options.measure(help="Largest difference between two numbers that the hinge distance still ignores."),
    ] = None,
    epsilon: Annotated[
        float,
        options.measure(
            help="Cost-benefit parameter ε of the alternative annotator test: 0.2 if the annotators are experts, "
            "0.15 if they are skilled, 0.1 if they are crowd workers."
        ),
    ] = 0.2,
    margin: Annotated[float, options.measure(help="Amount by which the discrepancy ratio may exceed 1.")] = 0.1,
    accuracy_margin: Annotated[
        float, options.measure(help="Amount by which accuracy may fall below the annotators' mean.")
    ] = 0.05,
    model: Annotated[
        Literal["auto", "one-coin", "dawid-skene", "plackett-luce", "none"],
        options.modelling(help="Model of the annotators' errors, for questions 3 and 4."),
    ] = "auto",
    draws: Annotated[int, options.sampling(help="Number of draws per chain.")] = 250,
    chains: Annotated[int, options.sampling(help="Number of chains.")] = 4,
    warmup: Annotated[int, options.sampling(help="Number of warm-up draws.")] = 300,
    replicates: Annotated[int, options.measure(help="Number of bootstrap replicates.")] = REPLICATES,
    ci_prob: options.IntervalWidth = CI_PROB,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """Decide whether a model can stand in for an annotator.

    Asks four questions. Is the model as close to the annotators as they are to each other? Does it pass the alternative
    annotator test? Treated as one more annotator in a model of annotator errors, is it as accurate as the others?
    Measured against the truth inferred from the annotators' labels, is it as accurate as they are? Explains why the
    answers differ, if they do. Answers are yes or no from a probability of 0.95 on, else open. With --out, also writes
    judge.html (one page), judge.csv (one row per model), annotators.csv, groups.csv (with --by) and figures.
    """
    given = options.parse_files(predictions)
    if not given:
        raise ArgumentError("nothing to compare with the annotators: give --predictions NAME=FILE.")
    names = [] if by is None else [name.strip() for name in by.split(",") if name.strip()]
    read = Labels.of(labels, columns=list(dict.fromkeys([*([] if clusters is None else [clusters]), *names])))
    if out is not None:
        make_folder(out)
    result = judge_models(
        read,
        given,
        distance=distance,
        tolerance=tolerance,
        epsilon=epsilon,
        margin=margin,
        accuracy_margin=accuracy_margin,
        clusters=clusters,
        by=names or None,
        intersections=intersections,
        model=None if model == "none" else model,
        ci_prob=ci_prob,
        replicates=replicates,
        draws=draws,
        chains=chains,
        warmup=warmup,
        seed=seed,
        progress=not quiet,
    )
    if not quiet:
        _print(result)
    if out is not None:
        written = _write(
            result, out, {"labels": str(labels)} | {f"predictions {name}": path for name, path in given.items()}
        )
        if not quiet:
            say(f"Wrote {', '.join(written)} to {out}")
    for name in result.models:
        say(result.verdict(name))
    if strict and not all(found.converged for found in result.fits.values()):
        raise typer.Exit(NOT_CONVERGED)


def _print(result: Judgement) -> None:
    for name in result.models:
        rows = [
            (str(number), question.name, question.answer, question.words)
            for number, question in enumerate(result.questions[name], 1)
        ]
        print_table(name, ("", "question", "answer", "evidence"), rows, left=("question", "answer", "evidence"))
    if result.by is None:
        return
    shown = [
        name
        for name in ("model", "by", "group", "n_cases", "ratio", "advantage", "accuracy", "p_least_accurate")
        if name in result.by
    ]
    rows = [
        tuple(("" if value != value else f"{value:.2f}") if isinstance(value, float) else str(value) for value in row)
        for row in result.by[shown].itertuples(index=False)
    ]
    print_table("By group", [name.replace("_", " ") for name in shown], rows, left=("model", "by", "group"))


def _write(result: Judgement, out: Path, sources: dict[str, str]) -> list[str]:
    tables = {"judge.csv": result.table.reset_index(), "annotators.csv": result.test.table}
    if result.by is not None:
        tables["groups.csv"] = result.by
    for name, table in tables.items():
        write_table(table, out / name)
    figures = {f"judge-{number}.png": name for number, name in enumerate(result.models, 1)}
    for name, model in figures.items():
        write_figure(plots.judgement(result, model), out / name)
    judge_report(result, out / REPORT, sources)
    return [REPORT, *tables, *figures]
