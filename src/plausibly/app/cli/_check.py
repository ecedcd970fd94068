"""``plausibly models check``: whether fitted models reproduce the annotations."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from plausibly.aggregation.model_comparison import PredictiveCheck, predictive_check
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.plots import predictive_checks
from plausibly.app.screen import Screen, Table, cell, with_interval
from plausibly.base.bootstrap import CI_PROB
from plausibly.posterior import opened

TABLE, BY_CASE, FIGURE = "checks.csv", "checks-by-case.csv", "checks.png"


@example(
    """
    plausibly models check posterior.nc
    plausibly models check results/posterior-prirn-30.nc --out results
    """
)
def check(
    posteriors: Annotated[
        list[Path],
        typer.Argument(metavar="POSTERIOR…", help="Posteriors written by plausibly aggregate or evaluate."),
    ],
    replicates: int = 200,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    *,
    output: options.Output,
) -> None:
    """Check whether fitted models reproduce how annotators agree and disagree.

    Draws posterior predictive replicates of the annotations and compares their statistics with the observed ones. With
    --out, also writes checks.csv, checks-by-case.csv and checks.png.

    Options
    -------
    replicates
        Number of posterior predictive replicates.
    """
    make_folder(output.out, posteriors)
    checks = {}
    for path in posteriors:
        with opened(path) as posterior:
            checked = predictive_check(
                posterior, replicates=replicates, ci_prob=ci_prob, seed=seed, progress=not output.quiet
            )
        # Two posteriors of one model and reliability may differ in their priors.
        checks[f"{checked.model} ({path})" if checked.model in checks else checked.model] = checked
    table = pd.concat([checked.table.assign(model=name) for name, checked in checks.items()], ignore_index=True)
    table.insert(0, "model", table.pop("model"))
    several, rows = len(checks) > 1, []
    for row in table.to_dict("records"):
        replicated = with_interval(row["mean"], row["lower"], row["upper"])
        named = f"{row['model']}: " if several else ""
        rows.append((f"{named}{row['description']}", cell(row["observed"]), replicated, row["status"]))
    columns = ("mean over cases of", "observed", "replicated", "status")
    shown = Table(
        columns,
        rows,
        f"Annotations, and replicates under the model ({options.percent(ci_prob)} intervals)",
        left=(0, 3),
    )
    verdicts = [checked.verdict() for checked in checks.values()]
    output.publish(
        Screen(" ".join(verdicts), shown, (), TABLE), _files(table, checks), written=f"{TABLE}, {BY_CASE} and {FIGURE}"
    )


def _files(table: pd.DataFrame, checks: dict[str, PredictiveCheck]) -> Iterator[tuple[str, Any]]:
    yield TABLE, table
    cases = [check.by_case.to_dataframe().reset_index().assign(model=name) for name, check in checks.items()]
    yield BY_CASE, pd.concat(cases, ignore_index=True)
    yield FIGURE, predictive_checks(checks)
