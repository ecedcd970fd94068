"""``plausibly plan``: which cases to annotate next, and how much the labels will help."""

from pathlib import Path
from typing import Any, Literal

import pandas as pd

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.results import of
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations.io.files import lines_of, naming, read_text
from plausibly.data.annotations.io.table_files import read_columns
from plausibly.decisions.planning import plan as make_plan


@example(
    """
    plausibly plan results/posterior-plackett-luce-3.nc \\
        --predictions A=a.csv --predictions B=b.csv --budget 200 --out results
    """
)
@options.of(
    make_plan,
    "metric:METRIC compare:A,B budget:N annotation level ci_prob break_ties seed",
)
def plan(
    posterior: options.PosteriorFile,
    predictions: list[str] | None = None,
    logits: list[str] | None = None,
    goal: Literal["width", "better", "information"] | None = None,
    costs: Path | None = None,
    annotators: str | None = None,
    candidates: Path | None = None,
    task_data: Path | None = None,
    *,
    output: options.Output,
    **asked: Any,
) -> None:
    """Plan which cases to annotate next, or to read again, and forecast how much the labels will help.

    The value of a case is the percentage by which one more label is expected to narrow the interval for the metric.
    With --out, also writes plan.csv (cases to annotate, most valuable first), forecast.csv, forecast.png, and
    tasks.json, which Label Studio can import.

    Options
    -------
    costs FILE
        Table with the columns case and cost. By default every label costs 1.
    annotators FILE|inferred
        Table with the columns annotator, reliability and optionally cost; or inferred, for the reliabilities stored in
        the posterior.
    candidates FILE
        Cases to choose from, one per line. By default all.
    task_data FILE
        Table with a column named case, plus columns to add to the Label Studio tasks, such as image.
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
        logits=options.parse_logits(logits),
        goal=goal or ("width" if named else "information"),
        cost=cost,
        annotators=known,
        candidates=offered,
        progress=not output.quiet,
        **asked,
    )
    output.publish(of(planned, shown))


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
