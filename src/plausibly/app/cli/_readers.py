"""``plausibly readers``: a model against readers, or readers in two conditions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from plausibly.agreement import ReaderStudy, reader_study
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import check_answers, say
from plausibly.app.report import readers_report
from plausibly.app.screen import Screen, Table
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError
from plausibly.metrics.words import metric_name

REPORT = "readers.html"


@dataclass
class StudyOptions:
    """What is compared, and how."""

    metric: Annotated[
        Literal["auroc", "sensitivity", "specificity", "accuracy"],
        options.measure(help="Figure of merit: auroc of scores, the others of decisions."),
    ] = "auroc"
    positive: Annotated[str | None, options.data(help="Positive class, if two words or numbers do not tell.")] = None
    threshold: Annotated[
        float | None, options.measure(help="Score above which a reader is positive, as in evaluate.")
    ] = None
    model_threshold: Annotated[
        float | None, options.measure(help="Score from which on a model is positive, as in evaluate.")
    ] = None
    margin: Annotated[
        float, options.measure(help="Margin of non-inferiority. Choose it before you see the result.")
    ] = 0.05
    covariance: Annotated[
        Literal["jackknife", "delong"], options.measure(help="Covariances due to cases; delong is of auroc.")
    ] = "jackknife"
    clusters: options.LabelClusters = None
    ci_prob: options.IntervalWidth = CI_PROB
    replicates: options.MeasureReplicates = REPLICATES
    seed: options.Seed = 0


@example(
    """
    plausibly readers readers.csv --predictions A=a.csv \\
        --gold truth.csv --margin 0.05 --out results/
    plausibly readers aided.csv --gold truth.csv --conditions session
    """
)
def readers(
    data: options.LabelledData,
    predictions: Annotated[
        list[str] | None,
        options.data(
            metavar="NAME=FILE",
            help="Name of a model and table of its scores or classes (case, score or label). Repeat for each.",
        ),
    ] = None,
    gold: options.GoldFile = None,
    conditions: Annotated[
        str | None,
        options.data(metavar="COLUMN", help="Column of conditions; by default condition, if there is one."),
    ] = None,
    compare: Annotated[
        str | None,
        options.data(metavar="A,B", help="Two conditions: A minus B. By default in the order of the table."),
    ] = None,
    require: Annotated[
        Literal["non-inferior"] | None,
        options.measure(
            help="Exit with status 3 unless every model, or the first condition of --compare, is better, or not worse "
            "by the margin."
        ),
    ] = None,
    *,
    studying: StudyOptions,
    output: options.Output,
) -> None:
    """Compare a model with readers, or readers in two conditions, for other readers and other cases.

    Takes a table of readers' scores or classes (case, annotator, score or label, and condition if there are two), and
    gold labels; without them, the readers are the truth. Prints differences with intervals that hold for other readers
    and other cases, and whether the model, or the first condition, is not worse by the margin. With --out, also writes
    readers.html (one page), comparisons.csv (with variance components), by_reader.csv, means.csv, plan.csv (size of the
    next study) and roc.png. Exit status: 0, or 3 if --require is not met, 2 for invalid input.
    """
    files = options.parse_files(predictions)
    data.repeats = data.repeats or "readings"  # a reader reads a case once in each condition
    columns = [name for name in (conditions, studying.clusters) if name is not None]
    read = data.read(columns, ("condition",), quiet=True)
    make_folder(output.out, [data.labels])
    result = reader_study(
        read,
        files or None,
        gold,
        conditions=conditions,
        compare=None if compare is None else options.texts_of(compare),
        **vars(studying),
    )
    if require and not files and compare is None and len(result.study.sides) == 2:
        one, other = result.study.conditions
        raise ArgumentError(
            f"--require is of the first of two conditions, and the table does not say which that is: say --compare "
            f"{one},{other} or {other},{one}."
        )
    sources: dict[str, Any] = {"readers": options.shown_files(data.labels)}
    sources |= {} if gold is None else {"gold labels": str(gold)}
    sources |= {f"predictions {name}": path for name, path in files.items()}
    if not output.quiet:
        say(result.understood)
    screen = Screen(result.verdict(), _table(result), result.notes, "comparisons.csv")
    output.publish(screen, _files(result, sources), kept=2 * len(result.comparisons) if require else 0)
    if require:
        required = [one for one in result.comparisons if one.second and (not files or one.first in files)]
        passed = {one.name: result.passes(one) for one in required}
        answers = {name: "yes" if yes else "not shown" for name, yes in passed.items()}
        check_answers((name, require, answer, f"margin {result.margin:g}") for name, answer in answers.items())


def _table(result: ReaderStudy) -> Table:
    """A row for each comparison, or for each mean where nothing is compared."""
    alone, rows = not result.comparisons[0].second, []
    for one, row in zip(result.comparisons, result.table.to_dict("records"), strict=True):
        ends = "" if np.isnan(row["lower"]) else f" ({row['lower']:z.3f} to {row['upper']:z.3f})"
        sides = one.first if alone else f"{one.first} {row['first']:.3f}, {one.second} {row['second']:.3f}"
        cells = sides, f"{row['effect']:z.3f}{ends}", _p(row["p"]), _p(row["p_noninferior"])
        rows.append(cells[: 2 if alone else 4])
    name, width = metric_name(result.figure.name), f"({100 * result.ci_prob:g} %)"
    columns = (name, f"mean {width}") if alone else (name, f"difference {width}", "p", f"p worse by {result.margin:g}")
    return Table(columns, rows)


def _p(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}" if value >= 0.001 else "<0.001"


def _files(result: ReaderStudy, sources: dict[str, str]) -> Iterator[tuple[str, Any]]:
    yield REPORT, partial(readers_report, result, sources=sources)
    yield "comparisons.csv", result.table
    yield "means.csv", result.means_of_readers
    yield "by_reader.csv", result.by_reader
    if not any(one.effect.known for one in result.comparisons):
        yield "plan.csv", result.plan()
    if result.study.positive is not None:
        yield "roc.png", plots.reader_study(result)
