"""``plausibly judge``: whether a model can stand in for an annotator."""

from pathlib import Path
from typing import Any, Literal

from plausibly.agreement import judge as judge_models
from plausibly.agreement.judge.judgement import QUESTIONS
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import answer_sentences, check_answers, say
from plausibly.app.results import of
from plausibly.base.errors import ArgumentError
from plausibly.data.labels import read_gold

REPORT = "judge.html"


@example(
    """
    plausibly judge labels.csv --predictions gpt=gpt.csv \\
        --clusters patient --by language,region --out results/
    """
)
@options.of(
    judge_models,
    "clusters by:COLUMN,… intersections extra distance tolerance epsilon margin accuracy_margin shared_errors draws "
    "chains warmup replicates ci_prob seed",
)
def judge(
    data: options.LabelledData,
    predictions: list[str] | None = None,
    gold: Path | None = None,
    classes: Path | None = None,
    unpredicted: Literal["refuse", "leave-out"] = "refuse",
    require: str | None = None,
    model: Literal["auto", "one-coin", "dawid-skene", "plackett-luce", "none"] = "auto",
    *,
    output: options.StrictOutput,
    **asked: Any,
) -> None:
    """Decide whether a model can stand in for an annotator.

    Asks four questions. Is the model as close to the annotators as they are to each other? Does it pass the alternative
    annotator test? Treated as one more annotator in a model of annotator errors, is it as accurate as the others?
    Measured against the inferred truth, or against gold labels (--gold), is it as accurate as they are? Explains why
    the answers differ, if they do. Answers are yes or no from a probability of 0.95 on, else open, or "cannot tell" if
    labels that ignore the case would get a yes, too. With --out, also writes judge.html (one page), judge.csv (one row
    per model), annotators.csv, groups.csv (with --by) and figures. Exit status: 0, or 3 if --require is not met, 2 for
    invalid input, 1 if chains did not converge with --strict.

    Options
    -------
    require QUESTION,…
        Questions that must be answered with yes for every model, by name (closeness, replacement, 'as one of them',
        truth) or number, or all; else exit with status 3.
    """
    files = options.parse_files(predictions)
    if not files:
        raise ArgumentError("nothing to compare with the annotators: give --predictions NAME=FILE.")
    required = _required(require)
    names = [*asked.get("by", ()), *([asked["clusters"]] if "clusters" in asked else ())]
    columns = list(dict.fromkeys(names))
    read = data.read(columns, classes=classes, quiet=output.quiet)
    joined = None if gold is None else read_gold(gold, read)
    asked["distance"] = options.distance_of(read, asked.get("distance"), quiet=output.quiet)
    make_folder(output.out, [data.labels])
    if joined is not None:
        say(f"{joined}.")
    if unpredicted == "leave-out":
        read, asked["extra"] = options.predicted_by_all(read, files), "ignore"
        joined = None if gold is None else read_gold(gold, read)
    chosen = None if model == "none" else model
    result = judge_models(
        read, files, gold=joined, model=chosen, repeats=data.repeats, progress=not output.quiet, **asked
    )
    sources = {"labels": options.shown_files(data.labels)} | ({} if gold is None else {"gold labels": str(gold)})
    sources |= {f"predictions {name}": path for name, path in files.items()}
    kept = 2 * len(required) * len(result.models) + (joined is not None)
    questions = [(name, one) for name in result.models for one in result.questions[name] if one.name in required]
    right = {name: "" if gold and name == "truth" else "if the annotators are right, " for name in required}
    told = answer_sentences((name, one.name, one.answer, right[one.name] + one.allowed) for name, one in questions)
    output.publish(of(result), REPORT, sources, told, kept)
    converged = all(fit.converged for fit in result.fits.values())
    check_answers(told, output.out and output.out / REPORT, converged, strict=output.strict)


def _required(text: str | None) -> list[str]:
    """Read names or numbers of questions."""
    if text is None or text.strip() == "all":
        return [] if text is None else list(QUESTIONS)
    numbers = {str(number): name for number, name in enumerate(QUESTIONS, 1)}
    names = [numbers.get(name.strip(), name.strip()) for name in text.split(",")]
    for name in names:
        if name not in QUESTIONS:
            raise ArgumentError(
                f"--require names questions, {', '.join(QUESTIONS)}, but {name!r} was given: choose some, or all."
            )
    return names
