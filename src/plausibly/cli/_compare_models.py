"""The half of ``plausibly compare`` that compares aggregation models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from plausibly import annotations as annotated
from plausibly.cli import _options as options
from plausibly.cli._output import console, make_folder, say, write_figure, write_table
from plausibly.model_comparison import Comparing, Comparison
from plausibly.plots import model_comparison

MODELS, POINTWISE, FIGURE = "models.csv", "left-out.csv", "models.png"

_SHOWN = ("elpd", "se", "elpd_diff", "dse", "p", "weight", "k_high", "refits", "impossible", "verdict")


def compare_models(
    source: Path,
    classes: Path | None,
    models: Sequence[str],
    *,
    out: Path | None,
    quiet: bool,
    **given: Any,
) -> Comparison:
    """Read, compare, write and print."""
    read = annotated.read_annotations(source, classes, progress=not quiet)
    plan = Comparing.of(read, options.parse_models(models), **given)
    if out is not None:
        make_folder(out)

    def announce(number: int, label: str) -> None:
        if not quiet:
            say(f"[{number + 1} of {len(plan.labels)}] {label}", stderr=True)

    compared = plan.table(list(plan.scores(progress=not quiet, before=announce)))
    if out is not None:
        write_table(compared.reset_index(), out / MODELS)
        write_table(compared.pointwise.to_dataframe().reset_index(), out / POINTWISE)
        write_figure(model_comparison(compared), out / FIGURE)
    if not quiet:
        _print(compared, plan.observation)
        if compared["warning"].any():
            names = ", ".join(compared.index[compared["warning"]])
            say(f"Not all chains converged ({names}): give more --warmup or --draws before trusting small differences.")
        if out is not None:
            say(f"Wrote {MODELS}, {POINTWISE} and {FIGURE} to {out}")
    say(compared.verdict())
    return compared


def _print(compared: pd.DataFrame, observation: str) -> None:
    what = "first block" if observation == "first" else "ranking"
    title = f"Log probability of the {what} that each annotator, left out, gave (standard errors by case)"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("model", overflow="fold")
    for column in _SHOWN:
        table.add_column(column.replace("_", " "), justify="left" if column == "verdict" else "right")
    for name, row in compared.iterrows():
        table.add_row(Text(str(name)), *(Text(_cell(column, row)) for column in _SHOWN))
    console().print(table)


def _cell(column: str, row: Mapping[str, Any]) -> str:
    value = row[column]
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if value != value:
        return "–"
    return f"{value:.2f}" if column in ("weight", "dse") else f"{value:,.1f}"
