"""``plausibly plan``: which cases to annotate next, and how much the labels will help."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.screen import Screen, Table
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations.io.files import lines_of, naming, read_text
from plausibly.data.annotations.io.table_files import read_columns
from plausibly.decisions.planning import Plan
from plausibly.decisions.planning import plan as make_plan

_MOST = 10  # cases to print


@example(
    """
    plausibly plan results/posterior-plackett-luce-3.nc \\
        --predictions A=a.csv --predictions B=b.csv --budget 200 --out results
    """
)
def plan(
    posterior: options.PosteriorFile,
    predictions: options.PredictionFiles = None,
    logits: options.LogitsOption = None,
    metric: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="Metric whose uncertainty the labels should reduce, a mean over cases such as top3_coverage or brier.",
        ),
    ] = "top1_accuracy",
    goal: Annotated[
        Literal["width", "better", "information"] | None,
        typer.Option(
            help="What the new labels should achieve: a narrower interval for the metric (width), a decision between "
            "two classifiers (better), or more information about the plausibilities (information). By default width; "
            "without predictions, information."
        ),
    ] = None,
    compare: Annotated[
        str | None, typer.Option(metavar="A,B", help="Two classifiers to decide between. By default the best two.")
    ] = None,
    budget: Annotated[
        float, typer.Option(metavar="N", help="Number of labels to plan or, with costs, their total cost.")
    ] = 100,
    costs: Annotated[
        Path | None,
        options.data(metavar="FILE", help="Table with the columns case and cost. By default every label costs 1."),
    ] = None,
    annotators: Annotated[
        str | None,
        options.data(
            metavar="FILE|inferred",
            help="Table with the columns annotator, reliability and optionally cost; or inferred, for the "
            "reliabilities stored in the posterior.",
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        options.data("--candidates", metavar="FILE", help="Cases to choose from, one per line. By default all."),
    ] = None,
    annotation: Annotated[
        Literal["label", "ranking"] | None,
        typer.Option(help="Form of the next annotations. By default the form of most annotations so far."),
    ] = None,
    task_data: Annotated[
        Path | None,
        options.data(
            metavar="FILE",
            help="Table with a column named case, plus columns to add to the Label Studio tasks, such as image.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability at which the better classifier counts as known.")] = 0.95,
    ci_prob: options.IntervalWidth = 0.94,
    break_ties: options.BreakTiesOption = "order",
    seed: options.Seed = 0,
    *,
    output: options.Output,
) -> None:
    """Plan which cases to annotate next, or to read again, and forecast how much the labels will help.

    The value of a case is the percentage by which one more label is expected to narrow the interval for the metric.
    With --out, also writes plan.csv (cases to annotate, most valuable first), forecast.csv, forecast.png, and
    tasks.json, which Label Studio can import.
    """
    named = options.parse_files(predictions)
    offered = None if candidates is None else _lines(candidates)
    known: Any = annotators if annotators in (None, "inferred") else _table(Path(str(annotators)))
    cost = None if costs is None else _cost(_table(costs), costs)
    shown = None if task_data is None else _table(task_data)
    make_folder(output.out, [posterior])
    planned = make_plan(
        posterior,
        named or None,
        metric=metric,
        logits=options.parse_logits(logits),
        goal=goal or ("width" if named else "information"),
        compare=None if compare is None else compare.split(","),
        budget=budget,
        cost=cost,
        annotators=known,
        candidates=offered,
        annotation=annotation,
        level=level,
        ci_prob=ci_prob,
        break_ties=break_ties,
        seed=seed,
        progress=not output.quiet,
    )
    tasks = json.dumps(planned.tasks(shown), ensure_ascii=False, indent=1) + "\n"
    first, *further = planned.advice
    output.publish(Screen(first, _first_cases(planned), further, "plan.csv"), _files(planned, tasks))


def _first_cases(planned: Plan) -> Table:
    """The cases to annotate first."""
    names = ("case", "annotator", "labels", "value", "information")
    frame = planned.chosen[[name for name in names if name in planned.chosen]]
    frame = frame.astype({name: str for name in ("case", "annotator") if name in frame}).head(_MOST)
    value = "" if planned.goal == "information" else "value: % by which one label narrows the interval; "
    return Table.of(frame, ".3g", f"Cases to annotate first ({value}information: nats)")


def _files(planned: Plan, tasks: str) -> Iterator[tuple[str, Any]]:
    yield "plan.csv", planned.chosen
    yield "forecast.csv", planned.forecast
    yield "forecast.png", planned.plot()
    yield "tasks.json", tasks


def _table(path: Path) -> pd.DataFrame:
    with naming(path):
        columns = read_columns(path)
    return pd.DataFrame({name: column.to_pylist() for name, column in columns.items()})


def _cost(table: pd.DataFrame, path: Path) -> dict[str, Any]:
    for name in ("case", "cost"):
        if name not in table:
            raise ArgumentError(f"{path} must have the columns case and cost, but has no {name!r}: rename them.")
    return dict(zip(table["case"].astype(str), table["cost"], strict=True))


def _lines(path: Path) -> list[str]:
    with naming(path):
        return [line.strip() for line in lines_of(read_text(path)) if line.strip()]
