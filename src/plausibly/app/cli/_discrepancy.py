"""``plausibly discrepancy``: whether a model is closer to the annotators than they are to each other."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

from plausibly.agreement import MARGIN, Discrepancy, discrepancy_ratio, threshold_curve
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import answer_sentences, check_answers
from plausibly.app.results import of
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError
from plausibly.data.labels.container import by_case


@example(
    """
    plausibly discrepancy labels.csv \\
        --predictions A=a.csv --predictions B=b.csv \\
        --clusters patient --margin 0.1 --out results/
    """
)
def discrepancy(
    data: options.LabelledData,
    predictions: list[str] | None = None,
    scores: list[str] | None = None,
    positive: str | None = None,
    classes: Path | None = None,
    clusters: str | None = None,
    by: Annotated[str | None, typer.Option(metavar="COLUMN")] = None,
    distance: str | None = None,
    tolerance: float | None = None,
    margin: float = MARGIN,
    require: Literal["non-inferior"] | None = None,
    replicates: int = REPLICATES,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    *,
    output: options.Output,
) -> None:
    """Compare models with annotators by the discrepancy ratio.

    The ratio Δ is below 1 if the model is closer to the annotators than they are to each other. Prints Δ with its
    interval, Δ of answers that ignore the case, whether the model is non-inferior within the margin ("cannot tell" if
    answers that ignore the case are non-inferior, too), the range of Δ of the annotators, and the annotator on whom Δ
    depends most. With --out, also writes discrepancy.csv (one row per model), annotators.csv
    (each annotator treated as a model), without_annotators.csv (Δ without each annotator), cases.csv, groups.csv (with
    --by), and discrepancy.png. Exit status: 0, or 3 if --require is not met, 2 for invalid input.

    Options
    -------
    scores NAME=FILE
        Name of a model and table of its scores (case, score); only if there are exactly two possible labels. Scores of
        each case are cut at the threshold that is best on all other cases.
    positive
        Label that a high score stands for.
    margin
        Margin of non-inferiority: how far Δ may exceed 1. Choose it before you see the results, and no larger than you
        would accept from another annotator.
    require
        Exit with status 3 unless every model is non-inferior.
    """
    labelled = options.parse_files(predictions)
    scored = options.parse_files(scores, "--scores")
    if not (labelled or scored):
        raise ArgumentError(
            "nothing to compare with the annotators: give --predictions NAME=FILE or --scores NAME=FILE."
        )
    if both := labelled.keys() & scored.keys():
        raise ArgumentError(f"the model {min(both)!r} has both --predictions and --scores: keep one.")
    columns = [name for name in (clusters, by) if name is not None]
    read = data.read(columns, classes=classes, quiet=output.quiet)
    if scored and distance not in (None, "nominal"):
        raise ArgumentError(
            f"scores are cut to labels, which are compared as nominal, but --distance {distance} was given."
        )
    distance = options.distance_of(read, "nominal" if scored else distance, quiet=output.quiet)
    results: dict[str, Discrepancy] = {}
    label = positive if positive is None or not read.is_numeric else options.number_or_text(positive)
    for name, path in scored.items():
        curve = threshold_curve(read, path, clusters, positive=label, progress=not output.quiet)
        results[name] = curve.cross_fitted(seed=seed)
    if labelled:
        compared = discrepancy_ratio(read, labelled, distance, clusters, tolerance=tolerance, progress=not output.quiet)
    else:
        compared = next(iter(results.values()))
    groups = None if by is None else by_case(by, read, "group")
    models = dict(compared.to_sets) if labelled else {}
    models |= {name: result.to_sets["model"] for name, result in results.items()}
    said = {name: result.compared.models["model"] for name, result in results.items()}
    own = replace(compared.compared, models=dict(compared.compared.models) | said if labelled else said)
    compared = replace(compared, to_sets=models, single=False, by=groups, compared=own)
    make_folder(output.out, [data.labels])
    screen = of(compared, margin, replicates, ci_prob, seed, labels=read, progress=not output.quiet)
    frame = screen.files[0].content.set_index("model")
    output.publish(screen, kept=2 * len(frame) if require is not None else 0)
    if require is not None:
        answers = frame["answer"] if "answer" in frame else pd.Series("not shown", frame.index)
        allowed = f"if the annotators are right, allowing Δ up to {1 + margin:g}"
        asked = ((str(model), "non-inferior", answer, allowed) for model, answer in answers.items())
        check_answers(answer_sentences(asked))
