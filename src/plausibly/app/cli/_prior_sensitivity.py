"""``plausibly models priors``: how much the results depend on priors and conventions."""

from collections.abc import Iterator
from typing import Annotated

import pandas as pd
import typer
from matplotlib.figure import Figure

from plausibly.aggregation import model_comparison, parse_variants
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._model_names import ModelNames
from plausibly.app.cli._output import check_converged
from plausibly.app.plots import prior_sensitivities
from plausibly.app.screen import Screen, Table, with_interval
from plausibly.base.bootstrap import CI_PROB
from plausibly.data.annotations.usual_models import usual_models
from plausibly.metrics.words import capitalised, metric_name

TABLE, FIGURE = "sensitivity.csv", "sensitivity.svg"


@example(
    """
    plausibly models priors annotations.json --classes conditions.txt \\
        --predictions A=a.csv --predictions B=b.npy \\
        --model plackett-luce@3 --model prirn@30 --out results
    """
)
@options.of(model_comparison.prior_sensitivity)
def prior_sensitivity(
    data: options.AnnotatedData,
    predictions: list[str] | None = None,
    model: ModelNames = None,
    concentration: Annotated[str | None, typer.Option(metavar="A1,A2")] = None,
    prior_kappa: Annotated[str | None, typer.Option(metavar="K1,K2")] = None,
    metric: str = "top1_accuracy",
    k: str | None = None,
    *,
    sampling: options.SamplingOptions,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    output: options.StrictOutput,
) -> None:
    """Evaluate again under other priors and conventions, changing one choice at a time.

    The choices are the prior concentration, or the prior of the concentration where it is learned, the treatment of
    unranked classes and the weight of ties. With --out, also writes sensitivity.csv and sensitivity.svg.

    Options
    -------
    metric METRIC
        Metric to print.
    """
    read = data.read(progress=not output.quiet)
    texts = {"concentration": concentration, "prior_kappa": prior_kappa}
    tried = {
        name: options.parse_numbers(text, f"--{name.replace('_', '-')}", "0.1,1,10")
        for name, text in texts.items()
        if text is not None
    }
    make_folder(output.out, [data.annotations])
    sensitivity = model_comparison.prior_sensitivity(
        read,
        options.parse_files(predictions),
        parse_variants(model or usual_models(read)),
        **tried,
        k=options.parse_numbers(k, *options.LENGTHS),
        **vars(sampling),
        ci_prob=ci_prob,
        seed=seed,
        progress=not output.quiet,
    )
    metric = metric if predictions or metric != "top1_accuracy" else "annotation_certainty_1"
    largest = sensitivity.largest(metric)
    whose = f" of {largest['classifier']}" if largest["classifier"] else ""
    choice = f"{largest['choice']} {largest['value']}".rstrip()
    name = metric_name(metric)
    told = f"{capitalised(name)}{whose} shifts most with {choice}: by {largest['shift']:+.3f} ({largest['model']})."
    table = sensitivity.of(metric).assign(size=lambda rows: rows["shift"].abs())
    notes = [] if sensitivity.table["converged"].all() else ["Not all chains converged: raise --warmup or --draws."]
    screen = Screen(
        told, _table(table.sort_values("size", ascending=False, kind="stable"), metric, ci_prob), notes, TABLE
    )
    output.publish(screen, _files(sensitivity), written=f"{TABLE} and {FIGURE}")
    check_converged(sensitivity.table["converged"].all(), strict=output.strict)


def _files(sensitivity: model_comparison.Sensitivity) -> Iterator[tuple[str, pd.DataFrame | Figure]]:
    yield TABLE, sensitivity.table
    yield FIGURE, prior_sensitivities(sensitivity)


def _table(table: pd.DataFrame, metric: str, ci_prob: float) -> Table:
    """A row for each choice, the largest shift first."""
    rows = []
    for row in table.to_dict("records"):
        mean = with_interval(row["mean"], row["lower"], row["upper"])
        choice = f"{row['choice']} {row['value']}".strip()
        rows.append((row["model"], choice, row["classifier"], mean, f"{row['shift']:+.3f}"))
    columns = ("model", "choice", "classifier", "mean", "shift")
    return Table(columns, rows, f"{metric_name(metric)}, with {options.percent(ci_prob)} intervals", n_left=3)
