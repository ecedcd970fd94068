"""``plausibly doctor``: what files are, and which commands they are enough for."""

from math import inf
from pathlib import Path
from typing import Annotated

import typer

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import BAD_INPUT, example
from plausibly.app.cli._folder import results_in
from plausibly.app.cli._output import complain, console, say
from plausibly.app.cli._study import STORE, files_of, is_by_annotators
from plausibly.app.doctor import doctor as look
from plausibly.app.screen import LINES


@example(
    """
    plausibly doctor annotations.csv A.csv B.csv classes.txt
    plausibly doctor study/
    plausibly doctor ann=ann.jsonl bob=bob.jsonl
    plausibly doctor sheet.csv predictions.csv --layout wide --case Patient
    """
)
def doctor(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Files of any kind: annotations (NAME=FILE for those of one annotator each), predictions, labels, "
            "ratings, classes, risks, groups of cases, outcomes of systems, posteriors, exports of tools.",
        ),
    ],
    *,
    reading: options.Reading,
    all: Annotated[bool, typer.Option("--all", help="Print all, also what 25 lines have no room for.")] = False,
    quiet: bool = False,
) -> None:
    """Identify files, check that they fit together, and print the command for every question that they answer.

    Prints the format and content of each file, what does not fit between files, and a complete command for every
    question. Computes and writes nothing. A file of labels by one rater holds gold labels if its name says so
    (gold.csv, truth.csv), otherwise predictions. Options say how to read the first file, and others that cannot be
    read without. With --quiet, prints the first command only. The exit status is 2 if no file can be read, and 1 if
    there is no command for them.
    """
    files = [one for path in files for one in (_within(path) or [path])]
    found = look(files, missing=reading.missing, **reading.roles, **reading.asked)
    unread = [one for one in found.files if one.role is None]
    if len(unread) == len(found.files):
        for one in unread:
            complain(str(one))
        raise typer.Exit(BAD_INPUT)
    for line in found.commands[:1] if quiet else found.lines(inf if all else LINES, console().width):
        say(line)
    if not found.commands:
        raise typer.Exit(1)


def _within(path: Path) -> list[Path]:
    """Files of a folder, of results the posteriors; none of a posterior, and of annotations that are a folder."""
    files = files_of(path) if path.is_dir() and path.suffix != STORE else []
    results = results_in(path)
    files = [one for one in files if one.name not in results or one.suffix in (STORE, ".nc")]
    return [] if files and is_by_annotators(look(files).files) else files
