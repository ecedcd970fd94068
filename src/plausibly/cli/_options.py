"""Options that several commands share, and how their text is read."""

from collections.abc import Sequence
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plausibly.annotations import Annotations, Scores
from plausibly.errors import ArgumentError
from plausibly.models import MODELS


class Ties(StrEnum):
    """Weight of tied classes."""

    split = "split"
    full = "full"


class Mode(StrEnum):
    """Meaning of reliability."""

    power = "power"
    temper = "temper"


class Unranked(StrEnum):
    """Treatment of unnamed classes."""

    lumped = "lumped"
    exact = "exact"
    ignore = "ignore"


class Per(StrEnum):
    """What has a reliability of its own."""

    dataset = "dataset"
    annotator = "annotator"


class BreakTies(StrEnum):
    """Order of equal predictions, and of equal plausibilities."""

    order = "order"
    random = "random"


class TableFormat(StrEnum):
    """How tables are written."""

    csv = "csv"
    parquet = "parquet"


_DATA, _MODEL, _SAMPLING = "Data", "Models", "Sampling"
DEFAULT_MODELS = ("plackett-luce@3", "prirn@30")
DEFAULT_MODELS_OF_SCORES = ("normal-scores",)

AnnotationsFile = Annotated[
    Path,
    typer.Argument(
        metavar="ANNOTATIONS", help="Rankings (.json), a long table, counts or scores (.csv, .parquet, .npy), PrefLib."
    ),
]
LabelsFile = Annotated[
    Path, typer.Argument(metavar="LABELS", help="Long table (case, annotator, label): .csv, .parquet or .json.")
]
PosteriorFile = Annotated[
    Path, typer.Argument(metavar="POSTERIOR", help="File of plausibly aggregate, evaluate or reliability.")
]
OptionalFolder = Annotated[
    Path | None, typer.Option("--out", metavar="FOLDER", help="Folder for tables and figures. By default none.")
]
ResultsFolder = Annotated[
    Path, typer.Option("--out", metavar="FOLDER", help="Folder for the results, created if it does not exist.")
]
IntervalWidth = Annotated[float, typer.Option("--ci-prob", help="Probability of the intervals.")]
ClassesFile = Annotated[
    Path | None,
    typer.Option("--classes", metavar="FILE", help="Class names, one per line.", rich_help_panel=_DATA),
]
RisksFile = Annotated[
    Path | None,
    typer.Option(
        "--risks", metavar="FILE", help="Risk of each class (0, 1 or 2), one per line.", rich_help_panel=_DATA
    ),
]
TiesOption = Annotated[
    Ties | None,
    typer.Option(help="Weight of tied classes (IRN, PrIRN): shared or in full.", rich_help_panel=_MODEL),
]
ModeOption = Annotated[
    Mode | None,
    typer.Option(help="Meaning of reliability (Plackett-Luce): repeated or tempered.", rich_help_panel=_MODEL),
]
InferReliability = Annotated[
    Per | None,
    typer.Option(
        "--infer-reliability",
        help="Inferred reliability (Plackett-Luce): one for all or one per annotator.",
        rich_help_panel=_MODEL,
    ),
]
UnrankedOption = Annotated[
    Unranked | None,
    typer.Option(help="Treatment of unnamed classes (Plackett-Luce).", rich_help_panel=_MODEL),
]
Concentration = Annotated[
    float | None,
    typer.Option(help="Prior concentration per class. By default the model's.", rich_help_panel=_MODEL),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Threshold between the two classes of scores.", rich_help_panel=_MODEL),
]
PriorOption = Annotated[
    str | None,
    typer.Option(
        metavar="M,K,A,B",
        help="Prior of scores: mean, its strength, shape and scale of the variance. By default estimated.",
        rich_help_panel=_MODEL,
    ),
]
Shard = Annotated[int, typer.Option(min=1, metavar="N", help="Number of cases that are sampled and kept at a time.")]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Posteriors as Zarr stores, which an interrupted run continues."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="New samples, also where posteriors can be reused.")]
PredictionFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--predictions",
        metavar="NAME=FILE",
        help="Predictions of a classifier, cases × classes (.npy, .csv, .txt, .parquet). Repeatable.",
        rich_help_panel=_DATA,
    ),
]
ModelNames = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME@R1,R2:OPTION=VALUE",
        help="Aggregation model, its reliabilities (without @ its usual ones) and options; once for each. NAME is one "
        f"of {', '.join(MODELS)}, or a Python file that declares a model. By default {' and '.join(DEFAULT_MODELS)}, "
        f"for scores {DEFAULT_MODELS_OF_SCORES[0]}.",
        rich_help_panel=_MODEL,
    ),
]
Lengths = Annotated[
    str | None, typer.Option("--k", metavar="K1,K2", help="Lengths of the classifiers' lists. By default 1,2,3.")
]
BreakTiesOption = Annotated[
    BreakTies,
    typer.Option("--break-ties", help="Order of equal predictions, and of equal plausibilities."),
]
Draws = Annotated[int | None, typer.Option(help="Draws per chain. By default 250.", rich_help_panel=_SAMPLING)]
Chains = Annotated[int | None, typer.Option(help="Number of chains. By default 4.", rich_help_panel=_SAMPLING)]
Warmup = Annotated[
    int | None, typer.Option(help="Number of warm-up draws (NUTS). By default 300.", rich_help_panel=_SAMPLING)
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers do the computing.",
        rich_help_panel=_SAMPLING,
    ),
]
Format = Annotated[
    TableFormat, typer.Option("--format", help="Format of the tables. Parquet is smaller and faster for many cases.")
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit status 1 if chains did not converge.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No output but the last line.")]


def usual_models(annotations: Annotations | Scores) -> tuple[str, ...]:
    """Models to run where none is asked for."""
    return DEFAULT_MODELS_OF_SCORES if isinstance(annotations, Scores) else DEFAULT_MODELS


def parse_prior(text: str | None) -> list[float] | None:
    """Read the prior of scores.

    Raises
    ------
    ArgumentError
        If a part of it is no number.

    Examples
    --------
    >>> parse_prior("0,1,2,1")
    [0.0, 1.0, 2.0, 1.0]
    """
    return None if text is None else parse_numbers(text, "--prior", "0,1,2,1")


def value(choice: Enum | None) -> str | None:
    """Return the text of a choice."""
    return None if choice is None else choice.value


def plain(given: object) -> object:
    """Return the text of a choice, and anything else as it is."""
    return given.value if isinstance(given, Enum) else given


def parse_files(texts: Sequence[str], option: str = "--predictions") -> dict[str, str]:
    """Read names and files of classifiers, from an option that may be there several times.

    Raises
    ------
    ArgumentError
        If one is not NAME=FILE, or a name is there twice.

    Examples
    --------
    >>> parse_files(["A=a.csv", "B=b=2.npy"])
    {'A': 'a.csv', 'B': 'b=2.npy'}
    """
    predictions: dict[str, str] = {}
    for text in texts:
        name, _, path = text.partition("=")
        if not (name and path):
            raise ArgumentError(f"{option} must be NAME=FILE, but {text!r} was given: write for example A=a.csv.")
        if name in predictions:
            raise ArgumentError(f"{option} {name} is there twice ({predictions[name]!r} and {path!r}): keep one.")
        predictions[name] = path
    return predictions


def percent(probability: float) -> str:
    """Write a probability as a percentage.

    Examples
    --------
    >>> percent(0.94), percent(0.995)
    ('94 %', '99.5 %')
    """
    return f"{100 * probability:g} %"


def parse_numbers(text: str, what: str, such_as: str) -> list[float]:
    """Read numbers parted by commas.

    Raises
    ------
    ArgumentError
        If one of them is no number.

    Examples
    --------
    >>> parse_numbers("1,2.5", "qualities", "0.9,0.8")
    [1.0, 2.5]
    """
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ArgumentError(
            f"{what} must be numbers parted by commas, but {text!r} was given: write for example {such_as}."
        ) from None


def parse_lengths(text: str | None) -> list[int] | None:
    """Read the lengths of the lists.

    Raises
    ------
    ArgumentError
        If one of them is no whole number.

    Examples
    --------
    >>> parse_lengths("1,3")
    [1, 3]
    """
    if text is None:
        return None
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ArgumentError(
            f"--k must be whole numbers separated by commas, but {text!r} was given: write for example 1,3."
        ) from None


MODEL_NAMES = ", ".join(MODELS)
