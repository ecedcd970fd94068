"""``plausibly systems``: which system is best, by people and judges."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import ScreenTable, say
from plausibly.base.arviz import to_groups
from plausibly.base.errors import ArgumentError
from plausibly.metrics.words import capitalised
from plausibly.systems import NAMES, Systems
from plausibly.systems import systems as rank_systems

REPORT = "systems.html"
_MOST, _MOST_PEOPLE = 20, 8  # systems, and people, on the screen


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
    with P(best), every estimator, and what judges are worth and where they differ from people. All numbers are closed
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
    output.publish(_shown(result), _files(result, {"outcomes": ", ".join(outcomes)}))
    for sentence in result.summary if not output.quiet else ():
        if sentence not in (*result.cautions, result.headline):  # the former are notes above, the latter is the last
            say(sentence)
    say(result.headline)


def _sources(texts: list[str]) -> Any:
    """Tell files from files of one system, NAME=FILE."""
    found: list[Any] = []
    for text in texts:
        name, equals, path = text.partition("=")
        found.append({name: path} if equals and name and path and not Path(text).exists() else text)
    return found[0] if len(found) == 1 else found


def _shown(result: Systems) -> Iterator[ScreenTable | str]:
    rank = result.ranking.head(_MOST)
    spans = [
        f"{low}" if low == high else f"{low}–{high}"
        for low, high in zip(rank["rank_lower"], rank["rank_upper"], strict=True)
    ]
    shown = rank.drop(columns=["rank_lower", "rank_upper"]).assign(rank=spans)
    more = f"; {len(result.ranking) - len(rank)} more" if len(result.ranking) > len(rank) else ""
    width = f"{100 * result.ci_prob:g} % intervals{more}"
    title = f"{capitalised(result.quantity)}, by {result.by} ({width})"
    yield ScreenTable.of(title, shown, left=("system",))
    table = result.table[result.table["system"].isin(rank["system"])]
    named = [NAMES[one] for one in table["estimator"]]
    table = table.drop(columns=["se", "meant"]).assign(estimator=named)
    yield ScreenTable.of("Every estimator", table, missing="", left=("system", "estimator", "judge"))
    if len(result.checks):
        yield ScreenTable.of("Checks of the model by replicates", result.checks, left=("check",))
    bias = result.bias[result.bias["system"].isin(rank["system"])].dropna(subset=["bias"])
    if len(bias):
        title = "Judges against people: their mean outcome minus that of people on the same cases"
        shown = bias.drop(columns="own").rename(columns={"bias": "difference"})
        yield ScreenTable.of(title, shown, missing="", left=("judge", "system"))
        if len(result.people) and len(result.outcomes.people) <= _MOST_PEOPLE:
            wide = result.people.pivot(index="system", columns="person", values="difference")
            title = "People against each other: a person's mean outcome minus that of the others on the same cases"
            wide = wide.reindex(rank["system"]).reset_index()
            yield ScreenTable.of(title, wide, missing="", left=("system",))
    yield "Intervals are for new cases like these; that of a judge alone is for what it would say, not people."


def _files(result: Systems, sources: dict[str, str]) -> Iterator[tuple[str, Any]]:
    from plausibly.app import plots
    from plausibly.app.report import systems_report

    yield REPORT, partial(systems_report, result, sources=sources)
    yield "systems.csv", result.table
    further = [name for name in ("people", "drift") if len(getattr(result, name))]
    for name in ("ranking", "differences", "bias", "judges", "plan", *further):
        yield f"{name}.csv", getattr(result, name)
    if result.posterior is not None:
        yield "checks.csv", result.checks
        yield "convergence.csv", to_groups(result.posterior)["convergence"].to_dataframe().reset_index()
    yield "systems.png", plots.systems(result)
