"""``plausibly readers``: a model against readers, or readers in two conditions."""

from pathlib import Path
from typing import Any, Literal

from plausibly.agreement import reader_study
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import answer_sentences, check_answers, say
from plausibly.app.results import of
from plausibly.base.errors import ArgumentError

REPORT = "readers.html"


@example(
    """
    plausibly readers readers.csv --predictions A=a.csv \\
        --gold truth.csv --margin 0.05 --out results/
    plausibly readers aided.csv --gold truth.csv --conditions session
    """
)
@options.of(
    reader_study,
    "conditions:COLUMN compare:A,B metric positive:CLASS threshold model_threshold margin covariance clusters ci_prob "
    "replicates seed",
)
def readers(
    data: options.LabelledData,
    predictions: list[str] | None = None,
    gold: Path | None = None,
    require: Literal["non-inferior"] | None = None,
    *,
    output: options.Output,
    **asked: Any,
) -> None:
    """Compare a model with readers, or readers in two conditions, with intervals for other readers and cases.

    Takes a table of readers' scores or classes (case, annotator, score or label, and condition if there are two), and
    gold labels; without them, the readers are the truth. Prints differences with intervals that hold for other readers
    and other cases, and whether the model, or the first condition, is not worse by the margin. With --out, also writes
    readers.html (one page), comparisons.csv (with variance components), by_reader.csv, means.csv, plan.csv (size of the
    next study) and roc.png. Exit status: 0, or 3 if --require is not met, 2 for invalid input.

    Options
    -------
    require
        Exit with status 3 unless every model, or the first condition of --compare, is better, or not worse by the
        margin.
    """
    files = options.parse_files(predictions)
    data.repeats = data.repeats or "readings"  # a reader reads a case once in each condition
    columns = [name for name in (asked.get(name) for name in ("conditions", "clusters")) if name]
    read = data.read(columns, ("condition",), quiet=True)
    make_folder(output.out, [data.labels])
    result = reader_study(read, files or None, gold, **asked)
    if require and not files and "compare" not in asked and len(result.study.sides) == 2:
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
    output.publish(of(result), REPORT, sources, told, kept)
    check_answers(told, output.out and output.out / REPORT)
