"""``plausibly audit``: checks of annotations and predictions."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from plausibly.agreement import agreement
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import check_table, say, show, write_table
from plausibly.app.results.audit import screen
from plausibly.data.annotations import Annotations
from plausibly.data.audit import SERIOUS, checks_of, read_for_audit, serious, tell_doubts
from plausibly.data.understood import understood

FOUND = 1  #: exit status under --strict


@example(
    """
    plausibly audit annotations.csv --predictions A=a.csv --out audit.csv
    plausibly audit annotations.csv --annotators annotators.csv
    plausibly audit annotations.csv --strict --quiet
    """
)
def audit(
    data: options.AnnotatedData,
    predictions: list[str] | None = None,
    extra: Literal["refuse", "ignore"] = "refuse",
    out: Path | None = None,
    annotators: Path | None = None,
    strict: Annotated[
        bool, typer.Option("--strict", help=f"Exit with status 1 if any of these are found: {', '.join(SERIOUS)}.")
    ] = False,
    quiet: bool = False,
) -> None:
    """Check annotations and predictions for problems, such as duplicates and unused classes.

    Also finds annotators who always give the same answer or share no case with the others, cases with a single
    annotator, annotations that tie most of the classes, and predictions that do not match the cases or classes.
    Findings are reported rather than treated as errors: for example, repeated rows are only counted, although other
    commands refuse them.

    Options
    -------
    extra
        What to do with predictions of cases that are not annotated: report, or leave out.
    out FILE
        File for the table of all checks (.csv or .parquet).
    annotators FILE
        File for a table of annotators: their agreement with the others, and whether they agree no better than chance or
        copy another annotator (.csv or .parquet).
    """
    for path in filter(None, (out, annotators)):
        check_table(path)
        make_folder(path.parent)
    files = options.parse_files(predictions)
    read, repeats = read_for_audit(data.source, None, data.choices)
    if not quiet:
        if isinstance(read, Annotations):
            tell_doubts(read, data.source)
        say(f"{understood(read, data.source)}.")
    found = checks_of(read, repeats, files or None, extra)
    if out is not None:
        write_table(found, out)
    told, grave = screen(found, read), serious(found)
    if annotators is not None:
        write_table(agreement(read, progress=not quiet).annotators(), annotators)
    if quiet:
        say(told.headline)
    else:
        show(told, str(out) if out is not None else "--out FILE writes all", kept=4)
    for path in filter(None, (out, annotators)) if not quiet else ():
        say(f"Wrote {path}")
    if strict and grave:
        raise typer.Exit(FOUND)
