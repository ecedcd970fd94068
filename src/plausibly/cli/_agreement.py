"""``plausibly agreement``: how far annotators agree on labels of any type."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from plausibly import agreement as measured
from plausibly import plots
from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._output import console, make_folder, say, write_table, writing
from plausibly.distances import BY_TYPE, find_distance
from plausibly.errors import ArgumentError


class Weighting(StrEnum):
    """How pairs are weighed."""

    pairs = "pairs"
    units = "units"


class Kind(StrEnum):
    """What the cells of a table hold."""

    literal = "literal"
    text = "text"
    bio = "bio"
    trees = "trees"
    boxes = "boxes"
    keypoints = "keypoints"
    spans = "spans"


_INPUT, _MEASURES = "Data", "Measures"


@example(
    """
    plausibly agreement boxes.csv --distance box_giou --distance box_iou \\
        --out results/
    plausibly agreement ann=ann.json --labels bob=bob.json \\
        --kind boxes --distance boxes
    """
)
def agreement(
    labels: Annotated[
        str,
        typer.Argument(
            metavar="LABELS", help="A long table (case, annotator, label), or NAME=FILE for one annotator's file."
        ),
    ],
    more: Annotated[
        list[str] | None,
        typer.Option("--labels", metavar="NAME=FILE", help="Another annotator's file.", rich_help_panel=_INPUT),
    ] = None,
    kind: Annotated[
        Kind, typer.Option(help="What cells or files hold; literals are JSON or Python.", rich_help_panel=_INPUT)
    ] = Kind.literal,
    case: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the cases.", rich_help_panel=_INPUT)
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the annotators.", rich_help_panel=_INPUT)
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the labels.", rich_help_panel=_INPUT)
    ] = None,
    distance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Distance between two labels, by default nominal; several are ranked. "
            f"Or a type, for all of its distances: {', '.join(BY_TYPE)}.",
            rich_help_panel=_MEASURES,
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Conventions of a publication: braylan2022.", rich_help_panel=_MEASURES)
    ] = None,
    weighting: Annotated[
        Weighting, typer.Option(help="Plain means over pairs, or Krippendorff's units.", rich_help_panel=_MEASURES)
    ] = Weighting.pairs,
    cross: Annotated[
        str,
        typer.Option(
            metavar="auto|all|sample|N",
            help="Which pairs of different cases to compare: all, as many as on one case, or a number.",
            rich_help_panel=_MEASURES,
        ),
    ] = "",
    other_annotators: Annotated[
        bool,
        typer.Option(
            "--other-annotators", help="Leave out pairs of one annotator's labels.", rich_help_panel=_MEASURES
        ),
    ] = False,
    replicates: Annotated[
        int, typer.Option(help="Of the bootstrap of intervals; 0 for none.", rich_help_panel=_MEASURES)
    ] = 200,
    processes: Annotated[int, typer.Option(help="For slow distances.", rich_help_panel=_MEASURES)] = 1,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write tables and figures here; made if it does not exist.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Measure how far annotators agree on labels of any type: categories, boxes, spans, rankings, text, trees.

    Prints alpha, KS and sigma by each distance, best first, and what is wrong with a distance. With --out also writes
    agreement.csv, cases.csv, annotators.csv and figures.
    """
    read = measured.read_labels(_source(labels, more or []), kind.value, case=case, annotator=annotator, label=label)
    if out is not None:
        make_folder(out)
    if replicates < 0 or replicates == 1:
        raise ArgumentError(f"--replicates must be 0, or 2 or more, but {replicates} was given: write 200.")
    choice = measured.choose_distance(
        read,
        _candidates(distance or ["nominal"]),
        preset=preset,
        weighting=weighting.value,
        cross=_cross(cross),
        same_annotator=not other_annotators,
        seed=seed,
        processes=processes,
        progress=not quiet,
    )
    table = _measures(choice, replicates, seed, not quiet)
    if not quiet:
        shown = console()
        shown.print(_laid_out(table))
        for name, found in choice.results.items():
            for sentence in found.warnings:
                say(f"{name}: {sentence}.")
    if out is not None:
        _write(choice, table, out)
        if not quiet:
            say(f"Wrote agreement.csv, cases.csv, annotators.csv and figures to {out}")
    best = choice.results[choice.best]
    say(
        f"By {choice.best}: alpha {best.alpha:.4f}, KS {best.ks.superiority:.4f}, sigma {best.sigma:.4f}; "
        f"{read!r}, {len(best.observed):,} pairs on one case."
    )


def _source(first: str, more: list[str]) -> str | dict[str, str]:
    texts = [first, *more]
    if len(texts) == 1 and ("=" not in first or Path(first).exists()):
        return first
    return options.parse_files(texts, "--labels") if all("=" in text for text in texts) else _refuse(texts)


def _refuse(texts: list[str]) -> dict[str, str]:
    bad = next(text for text in texts if "=" not in text)
    raise ArgumentError(f"with several files each is NAME=FILE, but {bad!r} was given: write for example ann={bad}.")


def _candidates(names: list[str]) -> list[str]:
    listed = [one for name in names for one in BY_TYPE.get(name, [name])]
    # A type and one of its distances, or a distance by two spellings, are measured once.
    return list({find_distance(one).name: one for one in listed}.values())


def _cross(text: str) -> str | int | None:
    if text.isdecimal():
        return int(text)
    return text or None


def _measures(choice: measured.DistanceChoice, replicates: int, seed: int, progress: bool) -> pd.DataFrame:
    """Put measures, their intervals and their Monte Carlo errors into one table."""
    rows = []
    for name, found in choice.results.items():
        row = found.to_frame().assign(distance=name)
        if replicates:
            interval = found.interval(replicates=replicates, seed=seed, progress=progress)
            for measure, numbers in interval.iterrows():
                row[f"{measure}_lower"], row[f"{measure}_upper"] = numbers["lower"], numbers["upper"]
        for measure, error in found.monte_carlo_error.items():
            row[f"{measure}_monte_carlo_error"] = error
        rows.append(row.assign(warnings="; ".join(found.warnings)))
    return pd.concat(rows, ignore_index=True)


def _laid_out(table: pd.DataFrame) -> Table:
    intervals = "alpha_lower" in table
    shown = Table(title=f"Agreement{' (95 % interval)' if intervals else ''}", title_justify="left", box=SIMPLE_HEAD)
    shown.add_column("distance", overflow="fold")
    measures = {"KS": "ks_superiority", "sigma": "sigma", "alpha": "alpha"}
    for name in measures:
        shown.add_column(name, justify="right")
    for row in table.to_dict("records"):
        cells = [str(row["distance"])]
        for measure in measures.values():
            text = f"{row[measure]:.3f}"
            if intervals:
                text += f" ({row[f'{measure}_lower']:.3f}–{row[f'{measure}_upper']:.3f})"
            cells.append(text)
        shown.add_row(*(Text(cell) for cell in cells))
    return shown


def _write(choice: measured.DistanceChoice, table: pd.DataFrame, out: Path) -> None:
    write_table(table, out / "agreement.csv")
    for name in ("cases", "annotators"):
        parts = [
            (found.by_case() if name == "cases" else found.annotators()).assign(distance_name=key)
            for key, found in choice.results.items()
        ]
        whole = pd.concat(parts, ignore_index=True)
        columns = ["distance_name", *(column for column in whole.columns if column != "distance_name")]
        write_table(whole[columns], out / f"{name}.csv")
    from matplotlib import pyplot

    figures = {
        "histograms.png": choice.plot(),
        "heatmap.png": choice.heatmap().figure,
        "annotators.png": plots.annotator_heatmap(choice.results[choice.best]).figure,
    }
    for file, figure in figures.items():
        with writing(out / file):
            figure.savefig(out / file, dpi=150)
        pyplot.close(figure)
