"""``plausibly readers``: a model against readers, or readers in two conditions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from plausibly.agreement import ReaderStudy, reader_study
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import answer_sentences, check_answers, say
from plausibly.app.report import readers_page, readers_screen, write
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError

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
    required = [one for one in result.comparisons if require and one.second and (not files or one.first in files)]
    answers = {one.name: "yes" if result.passes(one) else "not shown" for one in required}
    told = answer_sentences((name, str(require), one, f"margin {result.margin:g}") for name, one in answers.items())
    kept = 2 * len(result.comparisons) if require else 0
    output.publish(readers_screen(result), _files(result, sources, told), kept=kept)
    check_answers(told)


def _files(result: ReaderStudy, sources: dict[str, str], told: list[str]) -> Iterator[tuple[str, Any]]:
    yield REPORT, partial(write, readers_page(result, sources, told))
    yield "comparisons.csv", result.table
    yield "means.csv", result.means_of_readers
    yield "by_reader.csv", result.by_reader
    if not any(one.effect.known for one in result.comparisons):
        yield "plan.csv", result.plan()
    if result.study.positive is not None:
        yield "roc.png", plots.reader_study(result)
