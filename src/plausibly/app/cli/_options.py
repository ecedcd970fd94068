"""Options that several commands share, and parsers of their text."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from plausibly.app.cli._output import Publisher
from plausibly.app.cli._signatures import of as of
from plausibly.base.bootstrap import CI_PROB, PANEL
from plausibly.base.errors import ArgumentError

if TYPE_CHECKING:
    from plausibly.data.annotations import Annotations, Scores
    from plausibly.data.annotations.io.source import Source
    from plausibly.data.labels.container import Labels

#: Options that are alike in the commands that have them: their names, what their values are called, and their help.
SHARED = """
layout NAME --layout --from
    Layout of the table or file, if two fit or none is recognised: table, wide, counts, cases, alt-test, nested and
    others.
missing TEXT,…
    Labels that stand for no answer, such as n/a,uncertain; rows with one of them, or a blank label, are left out, and
    their number is printed.
repeats
    What to do with several answers of one annotator to one case: refuse them, keep the first or the last, take them as
    one answer with several labels (ties) or, for agreement and discrepancy, as separate readings.
classes FILE|NAME,…
    Class names: a file with one per line, or names with commas, such as 0,1; grades in their order, the lowest first.
choices
    What annotators chose from. Annotations that look like comparisons of pairs are refused unless all says that
    annotators chose from all classes.
risks FILE
    Risk of each class (0, 1 or 2), one per line.
predictions NAME=FILE
    Name of a classifier and file of its predictions (.npy, .csv, .txt, .parquet, .json, .jsonl): cases × classes, or
    one class, label or score for each case; FILE:COLUMN for one column of a table. Repeat for each.
logits NAME
    Classifier whose predictions are logits, or all; they become probabilities by a softmax over classes (a single
    column by a sigmoid) before anything else. Repeat for each.
gold FILE
    Gold labels, known to be right: a table with the columns case and label. Prints how many cases have one.
clusters COLUMN
    Column of the clusters of cases to resample, such as patients. By default every case is its own cluster.
by COLUMN,…
    Columns that group the cases, such as site; results are also reported for each group.
intersections
    Also report groups that combine several --by columns, such as site and sex.
extra
    What to do with predictions of cases that are not annotated.
unpredicted
    What to do with annotated cases without a prediction: refuse them, or leave them out. To count a case as missed,
    write a row for it without an answer instead.
distance NAME
    Distance between two labels: nominal, squared, absolute, hinge, jaccard, or any that plausibly agreement takes. By
    default by their type, such as nominal for categories, ordinal for grades and bleu for texts.
tolerance
    Largest difference between two numbers that the hinge distance still ignores.
k K1,K2
    Values of k for the top-k metrics. By default 1, 2 and 3, or only those below the number of classes.
break_ties
    How to break ties between predictions or between plausibilities: by class order or at random.
replicates
    Number of bootstrap replicates.
ci_prob
    Probability of the intervals.
draws
    Number of draws per chain. By default 250.
chains
    Number of chains. By default 4.
warmup
    Number of warm-up draws (NUTS) or sweeps (Gibbs) per chain. By default 300, or 1000 to infer the reliability.
dask ADDRESS
    Address of the Dask scheduler to compute on, such as tcp://10.0.0.1:8786.
shard N
    Number of cases to sample and store at a time.
resume
    Store posteriors as Zarr folders, so that an interrupted run can continue.
fresh
    Sample again instead of reusing existing posteriors, and replace results of other data in --out.
out FOLDER
    Folder for tables and figures; created if needed.
seed
    Random seed.
strict
    Exit with status 1 if chains did not converge.
quiet --quiet -q
    Print only the answer.
"""
Clusters = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN|FILE",
        help="Cluster of each case for the bootstrap, such as the patient: a column of the annotations, or a table "
        "with the columns case and cluster. By default every case is its own cluster.",
    ),
]
LENGTHS, PRIOR = ("--k", "1,3", int), ("--prior", "0,1,2,1")  #: what messages about them say
Repeats = Literal["refuse", "first", "last", "ties", "readings"]


def _annotations(tables: str):
    return typer.Argument(
        metavar="ANNOTATIONS",
        help=f"Annotations: rankings (.json), {tables} (.csv, .xlsx, .parquet, .npy), an export of a tool, or PrefLib; "
        "or NAME=FILE … for the files of one annotator each.",
    )


LabelsFile = Annotated[
    list[str],
    typer.Argument(
        metavar="LABELS",
        help="Table with the columns case, annotator and label, or an export of a tool; or NAME=FILE … for the files "
        "of one annotator each.",
    ),
]
PosteriorFile = Annotated[
    Path, typer.Argument(metavar="POSTERIOR", help="Posterior written by the command aggregate, evaluate or sweep.")
]
Replicates = Annotated[int | None, typer.Option(min=0, help="Number of bootstrap replicates. By default 1000.")]
Shard = Annotated[int, typer.Option(min=1)]


@dataclass
class Output(Publisher):
    """Where results go."""

    out: Path | None = None
    quiet: bool = False


@dataclass
class StrictOutput(Output):
    """Where results go, and whether the chains must have converged."""

    strict: bool = False


@dataclass
class IntoResults(StrictOutput):
    """The same of commands that always write into a folder."""

    out: Path = Path("results")


@of("plausibly:read_annotations", "case:COLUMN annotator:COLUMN label:COLUMN score:COLUMN count:COLUMN control:NAME")
@dataclass(kw_only=True)
class Reading:
    """How a table is read, the same in every command."""

    case: str | None = None
    annotator: str | None = None
    label: str | None = None
    score: str | None = None
    count: str | None = None
    layout: str | None = None
    missing: str | None = None
    repeats: Repeats | None = None
    control: str | None = None

    @property
    def roles(self) -> dict[str, str | None]:
        """Columns that are named, by role."""
        return {role: getattr(self, role) for role in ("case", "annotator", "label", "score", "count")}

    @property
    def asked(self) -> dict[str, Any]:
        """What else was asked for, but marks of missing labels."""
        return {"layout": self.layout, "repeats": self.repeats, "control": self.control}

    def opened(self, source: Any, **options: Any) -> "Source":
        """Look into a file, or into files by annotator."""
        from plausibly.data.annotations.io.files import naming_file
        from plausibly.data.annotations.io.read import open_any
        from plausibly.data.annotations.io.spellings import name_columns

        missing = None if self.missing is None else texts_of(self.missing)
        with naming_file(source):
            found = open_any(source, self.roles, missing=missing, **self.asked, **options)
        name_columns(self.roles)
        return found


@dataclass(kw_only=True)
class LabelledData(Reading):
    """Labels of any type, and how to read them."""

    labels: LabelsFile

    def __post_init__(self):
        self.labels = one_or_each(self.labels)

    def read(
        self,
        columns: Sequence[str] = (),
        optional: Sequence[str] = (),
        *,
        classes: Path | None = None,
        quiet: bool = False,
    ) -> "Labels":
        """Read the labels, with further columns, in the order of a file of classes, and say what was read."""
        from plausibly.data.labels import Labels

        source = self.opened(self.labels, classes=classes)
        return checked(
            Labels.of(source, columns=columns, optional=optional), source, classes, (*columns, *optional), quiet=quiet
        )


@dataclass(kw_only=True)
class AnnotatedData(Reading):
    """Annotations, and the names of their classes."""

    annotations: Annotated[list[str], _annotations("a long table, counts or scores")]
    classes: Path | None = None
    choices: Literal["all"] | None = None

    @cached_property
    def source(self) -> "Source":
        """The annotations, opened once."""
        return self.opened(self.annotations, classes=self.classes)

    def __post_init__(self):
        self.annotations = one_or_each(self.annotations, "ANNOTATIONS")

    @property
    def further(self) -> list[str]:
        """Columns of the annotations that are read for something else, such as clusters."""
        return [name.strip() for names in ("by", "clusters") for name in (getattr(self, names, None) or "").split(",")]

    def read(self, *, progress: bool, classes: bool = True) -> "Annotations | Scores":
        """Read the annotations, with or without the names of their classes; with progress, say what was read."""
        from plausibly.app.cli._output import say
        from plausibly.data.annotations import Annotations
        from plausibly.data.annotations.io.files import naming_file
        from plausibly.data.annotations.io.read import annotations_of
        from plausibly.data.audit import tell_doubts
        from plausibly.data.understood import understood

        source = replace(self.source, progress=progress, classes=self.source.classes if classes else None)
        with naming_file(source):
            read = annotations_of(source, self.choices, told=self.missing is not None)
        if isinstance(read, Annotations):
            tell_doubts(read, source)
        if progress:
            say(f"{understood(read, source, self.further)}.")
        return read


@dataclass(kw_only=True)
class ClassifiedData(AnnotatedData):
    """Annotations that name classes."""

    annotations: Annotated[list[str], _annotations("a long table or counts")]
    score: str | None = field(default=None, init=False)


@dataclass(kw_only=True)
class SweptData(AnnotatedData):
    """Annotations, and what classifiers are evaluated with."""

    risks: Path | None = None
    predictions: list[str] | None = None
    clusters: Clusters = None

    @property
    def files(self) -> dict[str, str]:
        """File of predictions of each classifier."""
        return parse_files(self.predictions)


@dataclass(kw_only=True)
class EvaluatedData(SweptData):
    """The same, and groups of cases to report by.

    Options
    -------
    by COLUMN|FILE,…
        Columns that group the cases, such as site; results are also reported for each group. Give columns of the
        annotations, or tables with a column named case.
    """

    by: str | None = None
    intersections: bool = False
    unpredicted: Literal["refuse", "leave-out"] = "refuse"

    @property
    def fewer_cases(self) -> bool:
        """Whether cases of the annotations may be left out."""
        return self.missing is not None or self.unpredicted != "refuse"

    def left_out(self, extra: str) -> dict[str, str]:
        """Argument that ignores predictions of cases that are left out because another classifier has none."""
        return {"extra": "ignore"} if extra == "refuse" and self.unpredicted != "refuse" else {}

    def sources(self, further: dict[str, Path | None]) -> dict[str, str]:
        """Name the files of the data, and further ones, for a report."""
        paths: dict[str, Any] = {"annotations": self.annotations, "classes": self.classes, "risks": self.risks}
        paths |= further | {f"predictions of {name}": path for name, path in self.files.items()}
        return {what: shown_files(path) for what, path in paths.items() if path is not None}


@of("plausibly:aggregate", "annotator_groups:FILE")
@dataclass
class ModelOptions:
    """Conventions of a model; None for the model's default."""

    ties: Literal["split", "full"] | None = None
    mode: Literal["power", "temper"] | None = None
    unranked: Literal["lumped", "exact", "ignore"] | None = None
    concentration: float | None = None
    prior_kappa: float | None = None
    annotator_groups: Path | None = None


@of("plausibly:aggregate", "prior:M,K,A,B case_groups:FILE")
@dataclass
class ScoreOptions:
    """Options of the models of scores.

    Options
    -------
    threshold
        Score above which a case is positive; where annotations are no scores, probability from which on classifiers
        name the positive class.
    """

    threshold: float | None = None
    prior: str | None = None
    raters: Literal["alike", "differ"] | None = None
    case_groups: Path | None = None


@dataclass
class SamplingOptions:
    """Size of the sample; None for the defaults."""

    draws: int | None = None
    chains: int | None = None
    warmup: int | None = None


@of("plausibly:aggregate")
@dataclass
class SweepOptions(SamplingOptions, ScoreOptions, ModelOptions):
    """Options that `evaluate` and `sweep` pass to :class:`plausibly.sweeps.Plan`.

    Options
    -------
    extra
        What to do with predictions of cases that are not annotated: refuse or ignore them, or evaluate on these cases,
        too (include). The annotated cases must then have been chosen at random, or by the predictions.
    """

    k: str | None = None
    logits: list[str] | None = None
    extra: Literal["refuse", "ignore", "include"] = "refuse"
    break_ties: Literal["order", "random"] = "order"
    replicates: Replicates = None
    ci_prob: float = CI_PROB
    seed: int = 0

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the plan."""
        given = vars(self) | {"k": parse_numbers(self.k, *LENGTHS), "prior": parse_numbers(self.prior, *PRIOR)}
        given["logits"] = parse_logits(self.logits)
        return {name: value for name, value in given.items() if (name, value) != ("replicates", None)}


@of("plausibly:evaluate", "positive:CLASS prevalence:SHARE")
@dataclass
class MetricOptions:
    """Metrics of labels, besides those of lists.

    Options
    -------
    metrics NAME,…
        Metrics, such as auroc, sensitivity, sensitivity_at_specificity_0.9, brier or net_benefit_0.2; or groups of
        them: binary, classes, probability, distribution, ordered, curves; usual, the default, is what suits the data.
    metric FILE
        Python file of a metric of your own, which ends with metric = pb.metrics.SumMetric(…) or
        pb.metrics.OrderMetric(…), or a function of a case's scores and truth; it is named after the file. Repeat for
        each.
    require REQUIREMENT
        Requirement METRIC>=VALUE@PROBABILITY (or >, <=, <; in quotes), such as 'auroc>=0.9@0.95', or 'A:auroc>=0.9' for
        one classifier. It must hold on new cases with that probability (by default 0.95) under every reliability;
        otherwise the exit status is 3. Repeat for each.
    truth
        What classifiers are compared with: the most plausible class of every draw, what one expert would say
        (annotator), or what several would decide (panel). No model is fitted for annotator, nor for panels of these
        annotators (--readers these) if every case has enough labels.
    readers
        Members of the panel of --truth panel: other experts, who differ from the annotators as these do from each
        other, or these annotators. By default others, if annotators have names.
    gold_positive LABEL
        Gold label of the positive class, if gold labels have other names than the classes, such as malignant where
        annotations are scores; all other gold labels are then the negative class.
    threshold_from FILE
        Annotations of other cases, with rows in the same predictions, on which the threshold of each classifier is
        chosen, against what one expert would say (or --truth panel).
    threshold_at NAME=VALUE
        Specificity, sensitivity or net_benefit that the threshold of --threshold-from reaches there. By default
        specificity=0.9.
    """

    metrics: str | None = None
    metric: list[Path] | None = None
    require: list[str] | None = None
    ordered: bool = False
    truth: Literal["most-plausible", "annotator", "panel"] = "most-plausible"
    gold: Path | None = None
    gold_positive: str | None = None
    panel: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of experts in the panel of --truth panel. By default 5."),
    ] = None
    readers: Literal["others", "these"] | None = None
    positive: str | None = None
    threshold_from: Path | None = None
    threshold_at: str | None = None
    prevalence: float | None = None

    threshold_panel = PANEL  # of other cases, which may have fewer labels

    def __post_init__(self):
        if self.gold is not None:
            if self.truth == "panel":
                raise ArgumentError(f"--gold {self.gold} is the truth, but --truth panel was given: leave one out.")
            self.truth = "annotator"
        elif self.gold_positive is not None:
            raise ArgumentError(
                f"--gold-positive {self.gold_positive} is a gold label, but there is no --gold: add it."
            )
        if self.threshold_at is not None and self.threshold_from is None:
            raise ArgumentError(
                f"--threshold-at {self.threshold_at} is for a threshold that is chosen on other cases, but no "
                "--threshold-from was given: name their annotations, or write a metric such as "
                "sensitivity_at_specificity_0.9."
            )
        if self.panel is not None and self.truth != "panel":
            raise ArgumentError(
                f"--panel {self.panel} is for --truth panel, but --truth is {self.truth}: write --truth panel."
            )
        if self.readers is not None and self.truth != "panel":
            raise ArgumentError(
                f"--readers {self.readers} is for --truth panel, but --truth is {self.truth}: write --truth panel."
            )

    @property
    def n_experts(self) -> int:
        """Size of a panel."""
        return self.panel or PANEL

    @property
    def names(self) -> list[str]:
        """Names of metrics that were asked for."""
        named = [name.strip() for name in (self.metrics or "").split(",") if name]
        return [*named, *(path.stem for path in self.metric or ())]

    @property
    def rule(self) -> str:
        """What a chosen threshold has where it is chosen."""
        return self.threshold_at or "specificity=0.9"


@dataclass
class StoreOptions:
    """Storage of posteriors."""

    shard: Shard = 2000
    resume: bool = False
    fresh: bool = False


def texts_of(text: str | None) -> list[str]:
    """Read texts that commas separate; one of blanks stands for blank cells alone."""
    return [] if text is None else [one.strip() for one in text.split(",")]


def parse_files(texts: Sequence[str] | None, option: str = "--predictions") -> dict[str, str]:
    """Read names and files of classifiers from an option that may be repeated."""
    predictions: dict[str, str] = {}
    for text in texts or ():
        name, _, path = text.partition("=")
        if not (name and path):
            raise ArgumentError(f"{option} must be NAME=FILE, but {text!r} was given: write for example A=a.csv.")
        if name in predictions:
            raise ArgumentError(f"{option} {name} was given twice ({predictions[name]!r} and {path!r}): keep one.")
        predictions[name] = path
    return predictions


def one_or_each(texts: Sequence[str] | Path, what: str = "LABELS") -> Any:
    """Tell one file, as a path, from files of one annotator each, NAME=FILE, as a mapping."""
    from plausibly.data.annotations.io.files import named_file  # which imports pandas

    if isinstance(texts, Path):
        return texts
    if len(texts) == 1 and named_file(texts[0]) is None:
        return Path(texts[0])
    for text in texts:
        if "=" not in text:
            raise ArgumentError(
                f"with several files each is NAME=FILE, but {text!r} was given: write for example ann={text}."
            )
    return parse_files(texts, what)


def shown_files(files: Any) -> str:
    """Write what :func:`one_or_each` returns as it was given."""
    return " ".join(f"{name}={file}" for name, file in files.items()) if isinstance(files, dict) else str(files)


def parse_numbers(text: str | None, what: str, such_as: str, kind: type[float] | type[int] = float) -> Any:
    """Read numbers separated by commas; None of no text."""
    if text is None:
        return None
    try:
        return [kind(number) for number in text.split(",")]
    except ValueError:
        numbers = "whole numbers" if kind is int else "numbers"
        raise ArgumentError(
            f"{what} must be {numbers} separated by commas, but {text!r} was given: write for example {such_as}."
        ) from None


def number_or_text(text: str) -> float | str:
    """Read a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def checked(
    labels: "Labels",
    source: "Source | None" = None,
    classes: Path | None = None,
    used: Sequence[str] = (),
    *,
    quiet: bool = False,
) -> "Labels":
    """Labels with their order, if a file has it; say what was read, and what may be wrong with it."""
    from plausibly.app.cli._output import say
    from plausibly.data.annotations import read_classes  # which imports pandas
    from plausibly.data.audit import tell_doubts
    from plausibly.data.understood import understood

    tell_doubts(labels, source)
    if not quiet:
        say(f"{understood(labels, source, used)}.")
    return labels if classes is None else labels.in_order(read_classes(classes))


def distance_of(labels: "Labels", distance: str | None, *, quiet: bool) -> str:
    """Return the distance, or choose one by the type of the labels, and say so (if quiet, only unless it is usual)."""
    from plausibly.app.cli._output import say
    from plausibly.data.labels.types import usual_distance

    if distance is not None:
        return distance
    usual = usual_distance(labels, labels)
    if not quiet or usual.name != "nominal":
        say(f"{usual.words}.".capitalize())
    return usual.name


def parse_logits(names: Sequence[str] | None) -> bool | list[str]:
    """Read the classifiers whose predictions are logits."""
    return names == ["all"] or list(names or ()) or False


def predicted_by_all(read: Any, files: dict[str, str]) -> Any:
    """Keep the cases that all files have a prediction for, and say how many have none."""
    from plausibly.app.cli._output import note
    from plausibly.data.annotations import Annotations  # which imports pandas
    from plausibly.data.labels import Labels
    from plausibly.data.labels.predictions import all_predicted as all_labelled
    from plausibly.data.predictions import all_predicted

    if isinstance(read, Labels):
        before, kept = len(read.cases), all_labelled(read, files)
    else:
        before = read.n_cases
        kept = all_predicted(read if isinstance(read, Annotations) else read.split(0), files)
    if not len(kept):
        raise ArgumentError("no case has a prediction of every classifier: call the cases by the same names.")
    if len(kept) < before:
        note(
            f"{before - len(kept):,} of {before:,} cases have no prediction of some classifier and are left out; if "
            "these were not chosen at random, the numbers do not hold for all cases"
        )
    return read.of_cases(kept) if isinstance(read, Labels) else read.select(kept)
