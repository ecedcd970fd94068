"""Options that several commands share, and how their text is read."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from plausibly.errors import ArgumentError

if TYPE_CHECKING:
    from plausibly.annotations import Annotations, Scores

DEFAULT_MODELS = ("plackett-luce@3", "prirn@30")
DEFAULT_MODELS_OF_LABELS = ("dirichlet-categorical@1",)
DEFAULT_MODELS_OF_SCORES = ("ordinal-scores", "normal-scores")
MOST_CATEGORIES = 21  #: distinct scores up to which they are taken for categories

data, modelling, sampling, measure = (
    partial(typer.Option, rich_help_panel=panel) for panel in ("Data", "Models", "Sampling", "Measure")
)
BreakTies = Literal["order", "random"]

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
ClassesFile = Annotated[Path | None, data("--classes", metavar="FILE", help="Class names, one per line.")]
RisksFile = Annotated[
    Path | None, data("--risks", metavar="FILE", help="Risk of each class (0, 1 or 2), one per line.")
]
PredictionFiles = Annotated[
    list[str] | None,
    data(
        "--predictions",
        metavar="NAME=FILE",
        help="Predictions of a classifier, cases × classes (.npy, .csv, .txt, .parquet). Repeatable.",
    ),
]
Groups = Annotated[
    str | None,
    data(
        "--group",
        metavar="COLUMN|FILE",
        help="Group of each case, such as the patient, for the bootstrap: a column of the annotations, or a table with "
        "the columns case and group. By default each case is its own group.",
    ),
]
Replicates = Annotated[
    int | None, typer.Option(min=0, help="Number of bootstrap replicates over cases or groups. By default 1000.")
]
Lengths = Annotated[
    str | None, typer.Option("--k", metavar="K1,K2", help="Lengths of the classifiers' lists. By default 1,2,3.")
]
BreakTiesOption = Annotated[
    BreakTies, typer.Option("--break-ties", help="Order of equal predictions, and of equal plausibilities.")
]
Shard = Annotated[int, typer.Option(min=1, metavar="N", help="Number of cases that are sampled and kept at a time.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="New samples, also where posteriors can be reused.")]
Dask = Annotated[
    str | None,
    sampling(
        "--dask",
        metavar="ADDRESS",
        help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers do the computing.",
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit status 1 if chains did not converge.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No output but the last line.")]


@dataclass
class ModelOptions:
    """How annotations are understood; None for a model's own choice."""

    ties: Annotated[
        Literal["split", "full"] | None, modelling(help="Weight of tied classes (IRN, PrIRN): shared or in full.")
    ] = None
    mode: Annotated[
        Literal["power", "temper"] | None,
        modelling(help="Meaning of reliability (Plackett-Luce): repeated or tempered."),
    ] = None
    unranked: Annotated[
        Literal["lumped", "exact", "ignore"] | None, modelling(help="Treatment of unnamed classes (Plackett-Luce).")
    ] = None
    concentration: Annotated[float | None, modelling(help="Prior concentration per class. By default the model's.")] = (
        None
    )


@dataclass
class ScoreOptions:
    """What models of scores need besides."""

    threshold: Annotated[float | None, modelling(help="Threshold between the two classes of scores.")] = None
    prior: Annotated[
        str | None,
        modelling(
            metavar="M,K,A,B",
            help="Prior of scores: mean, its strength, shape and scale of the variance. By default estimated.",
        ),
    ] = None


@dataclass
class SamplingOptions:
    """How much is drawn; None for the usual."""

    draws: Annotated[int | None, sampling(help="Draws per chain. By default 250.")] = None
    chains: Annotated[int | None, sampling(help="Number of chains. By default 4.")] = None
    warmup: Annotated[int | None, sampling(help="Number of warm-up draws (NUTS). By default 300.")] = None


@dataclass
class SweepOptions(SamplingOptions, ScoreOptions, ModelOptions):
    """What `evaluate` and `sweep` ask of a :class:`plausibly.sweeps.Plan`."""

    k: Lengths = None
    break_ties: BreakTiesOption = "order"
    replicates: Replicates = None
    seed: Seed = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the plan."""
        given = vars(self) | {"k": parse_lengths(self.k), "prior": parse_prior(self.prior)}
        return {name: value for name, value in given.items() if (name, value) != ("replicates", None)}


@dataclass
class StoreOptions:
    """How posteriors are kept."""

    shard: Shard = 2000
    resume: Annotated[
        bool, typer.Option("--resume", help="Posteriors as Zarr stores, which an interrupted run continues.")
    ] = False
    fresh: Fresh = False


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of those of its parameters that are classes of options, each as an option.

    Examples
    --------
    >>> def command(given: StoreOptions, seed: Seed = 0): print(given, seed)
    >>> spread(command)(shard=5, resume=False, fresh=True, seed=7)
    StoreOptions(shard=5, resume=False, fresh=True) 7
    """
    parameters: list[inspect.Parameter] = []
    classes: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        if not is_dataclass(parameter.annotation):
            parameters.append(parameter)
            continue
        classes[parameter.name] = parameter.annotation
        parameters += [
            parameter.replace(name=field.name, default=field.default, annotation=field.type)
            for field in fields(parameter.annotation)
        ]

    @wraps(command)
    def with_options(**given: Any) -> None:
        for name, options in classes.items():
            given[name] = options(**{field.name: given.pop(field.name) for field in fields(options)})
        command(**given)

    keywords = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    with_options.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in keywords}
    return with_options


def usual_models(annotations: "Annotations | Scores") -> tuple[str, ...]:
    """Models to run where none is asked for: of labels, if every annotation names one class, of rankings or scores."""
    from plausibly.annotations import Scores

    if not isinstance(annotations, Scores):
        starts = annotations.annotation_start
        return DEFAULT_MODELS_OF_LABELS if starts[-1] == len(starts) - 1 else DEFAULT_MODELS
    categories, numbers = DEFAULT_MODELS_OF_SCORES
    return (categories,) if len(set(annotations.score.tolist())) <= MOST_CATEGORIES else (numbers,)


def parse_files(texts: Sequence[str] | None, option: str = "--predictions") -> dict[str, str]:
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
    for text in texts or ():
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


def parse_numbers(text: str, what: str, such_as: str, kind: type[float] | type[int] = float) -> list[Any]:
    """Read numbers separated by commas.

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
        return [kind(number) for number in text.split(",")]
    except ValueError:
        numbers = "whole numbers" if kind is int else "numbers"
        raise ArgumentError(
            f"{what} must be {numbers} separated by commas, but {text!r} was given: write for example {such_as}."
        ) from None


def parse_prior(text: str | None) -> list[float] | None:
    """Read the prior of scores."""
    return None if text is None else parse_numbers(text, "--prior", "0,1,2,1")


def parse_lengths(text: str | None) -> list[int] | None:
    """Read the lengths of the lists."""
    return None if text is None else parse_numbers(text, "--k", "1,3", int)
