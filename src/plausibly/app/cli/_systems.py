"""``plausibly systems``: which system is best, by people and judges."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.results import of
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations.io.files import named_file
from plausibly.systems import systems as rank_systems

REPORT = "systems.html"


@example(
    """
    plausibly systems outcomes.csv --people ann,bob --out results/
    """
)
@options.of(
    rank_systems,
    "people:NAME,… clusters:COLUMN positive:CLASS control system:FIELD case:FIELD raters:COLUMN,… missing:TEXT,… "
    "ci_prob seed",
)
def systems(
    outcomes: Annotated[
        list[str],
        typer.Argument(
            metavar="OUTCOMES…",
            help="Table with the columns system, case, rater and outcome, or system_a, system_b, rater and outcome, or "
            "case, rater and ranking (.csv, .tsv, .parquet, .jsonl), or the export of a tool that tests language "
            "models. Several are put together. NAME=FILE if a file is of one system.",
        ),
    ],
    people_file: Path | None = None,
    model: bool = False,
    replicates: int = 10_000,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    *,
    output: options.Output,
    **asked: Any,
) -> None:
    """Rank systems by the outcomes that people would give, from few outcomes by people and many by judges.

    Judges, such as language models, rated many cases; people rated some of them, chosen at random. Prints the ranking
    with P(best), what limits it, what to rate next and how well judges agree with people. All numbers are closed
    forms; --model also samples a model of all raters, and ranks by it. With --out, also writes systems.html (one page),
    systems.csv (every estimator), ranking.csv, differences.csv, bias.csv, people.csv (each against the others),
    judges.csv, plan.csv (what more human outcomes would bring), drift.csv (bias by period, if there is a column date),
    checks.csv and convergence.csv (of the model) and systems.png.

    Options
    -------
    people_file FILE
        Names of the raters who are people, one per line.
    replicates
        Number of draws of the ranking.
    draws
        Draws of each chain of the model; by default 500.
    chains
        Number of chains of the model; by default 4.
    warmup
        Draws of each chain before these; by default 500.
    """
    if "people" in asked and people_file is not None:
        raise ArgumentError("people are named twice, by --people and by --people-file: leave one out.")
    settings = ("draws", draws), ("chains", chains), ("warmup", warmup)
    sampling = {name: value for name, value in settings if value is not None}
    if sampling and not model:
        raise ArgumentError(f"--{next(iter(sampling))} is of the model: add --model.")
    asked |= {} if people_file is None else {"people": people_file}
    make_folder(output.out, outcomes)
    asked |= {"replicates": replicates, "model": model, "progress": not output.quiet}
    result = rank_systems(_sources(outcomes), **sampling, **asked)
    output.publish(of(result), REPORT, {"outcomes": ", ".join(outcomes)})


def _sources(texts: list[str]) -> Any:
    """Tell files from files of one system, NAME=FILE."""
    found: list[Any] = [text if (named := named_file(text)) is None else dict([named]) for text in texts]
    return found[0] if len(found) == 1 else found
