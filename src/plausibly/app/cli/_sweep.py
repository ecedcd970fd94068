"""``plausibly sweep``: every metric over models and reliabilities, and where the ranking of classifiers changes."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from plausibly.aggregation import parse_variants
from plausibly.aggregation.sweeps import Folder, Plan, Sweep
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._groups import read_column
from plausibly.app.cli._model_names import ModelNames
from plausibly.app.cli._output import check_converged, speaker
from plausibly.app.plots import ranking_by_reliability
from plausibly.app.plots.style import new_figure
from plausibly.app.results.evaluation import of_sweep
from plausibly.app.screen import Piece
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations.usual_models import usual_models
from plausibly.metrics.words import metric_name


@example(
    """
    plausibly sweep annotations.json --classes conditions.txt \\
        --predictions A=a.csv --predictions B=b.npy \\
        --model plackett-luce@1,2,3,5,10 --model prirn \\
        --metric top3_accuracy --seed 0 --out results/
    """
)
def sweep(
    data: options.SweptData,
    model: ModelNames = None,
    *,
    settings: options.SweepOptions,
    metric: str = "top1_accuracy",
    store: options.StoreOptions,
    dask: str | None = None,
    output: options.IntoResults,
) -> None:
    """Sweep metrics over models and reliabilities to see where the ranking of classifiers changes.

    Writes sweep.csv (one row per classifier, model, reliability and metric), sweep.nc (the same numbers in arrays, with
    the point estimates at infinite reliability), rankings.csv (the ranking of the classifiers in each run, and where it
    changes), rankings.svg (a figure of these rankings), and posterior-….nc for each model and reliability.

    Posteriors in FOLDER are reused if data, arguments and versions are the same, and replaced otherwise. If there are
    more cases than fit in one shard, posteriors are Zarr folders, posterior-….zarr, and an interrupted run continues
    where it stopped. A posterior that an earlier run left in the other format (.nc or .zarr) is removed.

    Options
    -------
    metric METRIC
        Metric to rank the classifiers by, such as top3_average_overlap.
    """
    read = data.read(progress=not output.quiet)
    if not data.files:
        raise ArgumentError("a sweep ranks classifiers, but no --predictions were given: write for example A=a.csv.")
    plan = Plan.of(
        read,
        data.files,
        parse_variants(model or usual_models(read)),
        risks=data.risks,
        clusters=read_column(data.clusters, data.source),
        **settings.arguments(),
    )
    if metric not in plan.metrics:
        raise ArgumentError(f"--metric must be one of {', '.join(plan.metrics)}, but {metric!r} was given: choose one.")
    make_folder(output.out, [data.annotations], fresh=store.fresh)
    runs = plan.runs(
        Folder(output.out, **vars(store)), progress=not output.quiet, say=speaker(output.quiet), scheduler=dask
    )
    swept = plan.sweep([*runs])
    table = swept.rankings(metric)
    files = [
        Piece("sweep.csv", swept.metrics),
        Piece("sweep.nc", partial(swept.dataset.to_netcdf, engine="h5netcdf")),
        Piece("rankings.csv", table.assign(metric=metric)),
        Piece("rankings.svg", partial(_draw, swept, metric)),
    ]
    told = _changes(table, metric)
    told += f" {swept.verdict()}" if output.quiet or not swept.converged else ""
    screen = of_sweep(swept, named=bool(model))._replace(files=files, more="sweep.csv")
    output.publish(screen._replace(headline=told if output.quiet else f"{screen.headline} {told}"))
    check_converged(swept.converged, strict=output.strict)


def _changes(table: pd.DataFrame, metric: str) -> str:
    """Say where the ranking of the classifiers changes."""
    rows = table.loc[table["changes"].astype(bool), ["model", "reliability", "ranking"]].to_numpy().tolist()
    changes = "; ".join(f"{model}@{reliability:g}: {ranking}" for model, reliability, ranking in rows)
    if changes:
        return f"The ranking by {metric_name(metric)} changes at {changes.replace('@inf', ' at the point estimate')}."
    orders = " and ".join(dict.fromkeys(table["ranking"]))
    return f"The ranking by {metric_name(metric)}, {orders}, is the same at every reliability of each model."


def _draw(swept: Sweep, metric: str) -> Figure:
    """Draw the rankings of all models one below the other."""
    models, height = list(swept.models), 1.8 + 0.55 * len(swept.classifiers)  # inches
    drawn, axes = new_figure(5.2, height * len(models), len(models))
    for ax, model in zip(axes[:, 0], models, strict=True):
        ranking_by_reliability(swept, metric, model, ax=ax)
    return drawn
