"""``plausibly models check``: whether fitted models reproduce the annotations."""

from pathlib import Path
from typing import Annotated

import typer

from plausibly.aggregation.model_comparison import predictive_check
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.results.models import of_checks
from plausibly.base.bootstrap import CI_PROB
from plausibly.posterior import opened


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
    output.publish(of_checks(checks))
