"""``plausibly systems``: which system is best, by people and judges."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.report import systems_page, systems_screen
from plausibly.base.arviz import to_groups
from plausibly.base.errors import ArgumentError
from plausibly.systems import Systems
from plausibly.systems import systems as rank_systems

REPORT = "systems.html"


@example(
    """
    plausibly systems outcomes.csv --people ann,bob --out results/
    """
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
    people: Annotated[
        str | None,
        options.data(
            metavar="NAME,…",
            help="Raters who are people; all others are judges. By default the column kind says so (person or judge).",
        ),
    ] = None,
    people_file: Annotated[
        Path | None, options.data(metavar="FILE", help="Names of the raters who are people, one per line.")
    ] = None,
    clusters: Annotated[
        str | None,
        options.data(
            metavar="COLUMN",
            help="Column of the clusters of cases, such as topics. By default every case is its own cluster.",
        ),
    ] = None,
    positive: Annotated[
        str | None, options.data(metavar="CLASS", help="Class that counts as a success, if outcomes are classes.")
    ] = None,
    control: options.Control = None,
    system: Annotated[
        str | None, options.data(metavar="FIELD", help="Column, or field of an export, with the system.")
    ] = None,
    case: Annotated[
        str | None, options.data(metavar="FIELD", help="Column, or field of an export, with the case.")
    ] = None,
    raters: Annotated[
        str | None,
        options.data(
            metavar="COLUMN,…",
            help="Columns with the outcomes of a rater each, instead of the columns rater and outcome.",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        options.data(
            metavar="TEXT,…",
            help="Outcomes that stand for none, such as N/A; rows with one of them, or a blank outcome, are left out.",
        ),
    ] = None,
    ci_prob: options.IntervalWidth = 0.95,
    replicates: Annotated[int, options.measure(help="Number of draws of the ranking.")] = 10_000,
    seed: options.Seed = 0,
    model: Annotated[
        bool,
        options.measure(
            "--model", help="Also sample the model of all outcomes, and rank by it, which takes a minute or more."
        ),
    ] = False,
    draws: Annotated[int | None, options.measure(help="Draws of each chain of the model; by default 500.")] = None,
    chains: Annotated[int | None, options.measure(help="Number of chains of the model; by default 4.")] = None,
    warmup: Annotated[int | None, options.measure(help="Draws of each chain before these; by default 500.")] = None,
    *,
    output: options.Output,
) -> None:
    """Rank systems by the outcomes that people would give, from few of theirs and many of judges.

    Judges, such as language models, rated many cases; people rated some of them, chosen at random. Prints the ranking
    with P(best), what limits it, what to rate next and how well judges agree with people. All numbers are closed
    forms; --model also samples a model of all raters, and ranks by it. With --out, also writes systems.html (one page),
    systems.csv (every estimator), ranking.csv, differences.csv, bias.csv, people.csv (each against the others),
    judges.csv, plan.csv (what more human outcomes would bring), drift.csv (bias by period, if there is a column date),
    checks.csv and convergence.csv (of the model) and systems.png.
    """
    if people is not None and people_file is not None:
        raise ArgumentError("people are named twice, by --people and by --people-file: leave one out.")
    settings = ("draws", draws), ("chains", chains), ("warmup", warmup)
    sampling = {name: value for name, value in settings if value is not None}
    if sampling and not model:
        raise ArgumentError(f"--{next(iter(sampling))} is of the model: add --model.")
    names = None if people is None else [name.strip() for name in people.split(",") if name.strip()]
    make_folder(output.out, outcomes)
    result = rank_systems(
        _sources(outcomes),
        people_file if names is None else names,
        clusters=clusters,
        positive=positive,
        control=control,
        system=system,
        case=case,
        raters=None if raters is None else options.texts_of(raters),
        missing=options.texts_of(missing),
        ci_prob=ci_prob,
        replicates=replicates,
        seed=seed,
        model=model,
        **sampling,
        progress=not output.quiet,
    )
    output.publish(systems_screen(result), _files(result, {"outcomes": ", ".join(outcomes)}))


def _sources(texts: list[str]) -> Any:
    """Tell files from files of one system, NAME=FILE."""
    found: list[Any] = []
    for text in texts:
        name, equals, path = text.partition("=")
        found.append({name: path} if equals and name and path and not Path(text).exists() else text)
    return found[0] if len(found) == 1 else found


def _files(result: Systems, sources: dict[str, str]) -> Iterator[tuple[str, Any]]:
    from plausibly.app import plots
    from plausibly.app.report import write

    yield REPORT, partial(write, systems_page(result, sources))
    yield "systems.csv", result.table
    further = [name for name in ("people", "drift") if len(getattr(result, name))]
    for name in ("ranking", "differences", "bias", "judges", "plan", *further):
        yield f"{name}.csv", getattr(result, name)
    if result.posterior is not None:
        yield "checks.csv", result.checks
        yield "convergence.csv", to_groups(result.posterior)["convergence"].to_dataframe().reset_index()
    yield "systems.png", plots.systems(result)
