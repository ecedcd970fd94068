"""``plausibly convert``: annotations from any format that is read to any that is written."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder, writing
from plausibly.app.cli._output import say
from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.data import annotations as annotated
from plausibly.data.annotations.io.files import naming_file
from plausibly.data.annotations.io.read import annotations_of
from plausibly.data.annotations.io.table_files import write_csv
from plausibly.data.annotations.io.write import Form, classes_from_form, find_form
from plausibly.data.understood import understood


@example(
    """
    plausibly convert export.json annotations.parquet --control diagnosis
    plausibly convert election.toi annotations.json
    plausibly convert ann=ann.jsonl bob=bob.jsonl annotations.csv
    plausibly convert annotations.csv votes/ --as toi --anonymous
    """
)
def convert(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="IN",
            help="File to read, or NAME=FILE … for files of one annotator each: rankings or an export of an annotation "
            "tool or of a tool that tests language models (.json, .jsonl, .eval), a table or counts (.csv, .xlsx, "
            ".parquet, .npy), or PrefLib (.soc, .soi, .toc, .toi, or a folder of them).",
        ),
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write; for several cases in PrefLib, a folder.")
    ],
    classes: Path | None = None,
    choices: Literal["all"] | None = None,
    form: Literal[Form, "outcomes"] | None = None,
    *,
    reading: options.Reading,
    soft_weight: int | None = None,
    anonymous: bool = False,
    write_classes: Path | None = None,
    quiet: bool = False,
) -> None:
    """Convert annotations between rankings (.json), one row per case (.jsonl), long tables, counts and PrefLib.

    Refuses a format that would lose information; only rankings can store everything. Long tables do not list classes
    that no annotator names, so read them with --classes.

    Options
    -------
    form --as
        Format to write, if OUT is a folder or has an ambiguous suffix; outcomes (.csv) is the table of an export that
        plausibly systems reads.
    soft_weight N
        Number of annotators that each soft label stands for.
    anonymous
        Drop the names of annotators, as counts and PrefLib require.
    write_classes FILE
        File for the class names, one per line.
    """
    source = options.one_or_each(source, "IN")
    if form == "outcomes":
        _write_outcomes(source, target, reading.control, quiet=quiet)
        return
    found = find_form(target, form)
    opened = reading.opened(source, classes=classes, soft_weight=soft_weight, progress=not quiet)
    with naming_file(source):
        read = annotations_of(opened, choices, told=reading.missing is not None)
    if not quiet:
        say(f"{understood(read, opened)}.")
    if isinstance(read, annotated.Scores):
        raise AnnotationError(
            f"{options.shown_files(source)} holds scores, which have one format only: convert files of rankings, "
            "labels or counts."
        )
    make_folder(target.parent)
    if write_classes is not None:
        make_folder(write_classes.parent)
        _write_classes(read.classes.tolist(), write_classes)
    annotated.write_annotations(read, target, found, anonymous=anonymous)
    if not classes_from_form(read, found):
        option = f"--classes {write_classes or classes or 'FILE'}"
        say(f"A table does not hold the list of classes: read it with {option}.", stderr=True)
    say(f"Wrote {read!r} to {target}" if not quiet else str(target))


def _write_outcomes(source: Path, target: Path, control: str | None, *, quiet: bool) -> None:
    """Write what raters say of the outputs of systems, with the system, as a table."""
    from plausibly.data.outcome_sources import outcomes_table

    if target.suffix.lower() != ".csv":
        raise ArgumentError(f"outcomes are not written as {target.suffix!r}: use .csv.")
    table = outcomes_table(source, control)
    make_folder(target.parent)
    with writing(target), target.open("w", encoding="utf-8", newline="") as file:
        write_csv(table, file)
    say(f"Wrote {len(table):,} outcomes to {target}" if not quiet else str(target))


def _write_classes(names: list[str], path: Path) -> None:
    for name in names:
        if "\n" in name or "\r" in name:
            raise AnnotationError(
                f"the class {name!r} has a line break in its name, but the file has one class per line: rename it."
            )
    with writing(path):
        path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8", newline="\n")
