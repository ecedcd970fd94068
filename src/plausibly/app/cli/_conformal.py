"""``plausibly conformal``: sets of classes that contain an answer with a guaranteed probability."""

import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from plausibly.aggregation import aggregate, parse_variants, plan_runs
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._groups import read_column
from plausibly.app.cli._model_names import ModelNames
from plausibly.app.cli._output import speaker
from plausibly.app.results.conformal import screen
from plausibly.base.bootstrap import CI_PROB
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyWarning
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.usual_models import usual_models
from plausibly.decisions.conformal import ConformalSweep, conformal_coverage
from plausibly.decisions.conformal import conformal as calibrate

_BETWEEN = " | "  # classes of a set


@example(
    """
    plausibly conformal annotations.json --predictions A=a.csv \\
        --alpha 0.05,0.1 --target plausibility \\
        --new A=new.csv --out results
    """
)
@options.of(calibrate, "score target loss samples:M")
def conformal(
    data: options.ClassifiedData,
    risks: Path | None = None,
    predictions: list[str] | None = None,
    new: list[str] | None = None,
    logits: bool = False,
    alpha: str = "0.1",
    by: str | None = None,
    new_by: Path | None = None,
    randomise: bool = False,
    splits: int = 100,
    ci_prob: float = CI_PROB,
    model: ModelNames = None,
    *,
    modelling: options.ModelOptions,
    sampling: options.SamplingOptions,
    seed: int = 0,
    output: options.Output,
    **asked: Any,
) -> None:
    """Compute sets of classes that contain an answer with a guaranteed probability, even where experts disagree.

    The answer is a class drawn from the plausibilities, the next annotator's first choice, or the vote (--target).
    Calibrates on the annotated cases; the guarantee is an average over new cases of the same kind. With several models
    or reliabilities, it holds under each of them. --target annotator and --target vote need no model.

    With --out, also writes thresholds.csv, coverage.csv (over random splits), model-fit.csv and figures; with --new,
    sets.csv.

    Options
    -------
    new NAME=FILE
        Name of a classifier and file of its predictions for new cases, whose sets are written to sets.csv. Repeat for
        each classifier.
    logits
        Treat predictions as logits and apply a softmax.
    alpha A1,A2
        Share of the answers that sets may miss, on average over cases; one or more values.
    by risk|certainty|FILE
        Groups that get their own threshold: risk level of the predicted class, certainty of the classifier, or a table
        with the columns case and group.
    new_by FILE
        Groups of the new cases, if --by is a table.
    randomise
        Randomise scores and thresholds, so that coverage is no higher than the guarantee requires. Sets are then
        usually smaller.
    splits N
        Number of random splits to measure coverage on; 0 for none.
    """
    named, given_new = options.parse_files(predictions), options.parse_files(new, "--new")
    alphas = options.parse_numbers(alpha, "--alpha", "0.05,0.1")
    read = data.read(progress=not output.quiet)
    if not isinstance(read, Annotations):
        raise AnnotationError(
            "sets consist of classes, but these annotations are scores: convert them to labels by a threshold first."
        )
    column, new_column = _read_by(by, new_by)
    asked |= {"by": column, "seed": seed, "risks": risks, "logits": logits, "randomise_threshold": randomise}
    asked |= {"randomise_scores": randomise and asked["score"] != "lac"}
    if strangers := [name for name in given_new if name not in named]:
        raise ArgumentError(
            f"--new {strangers[0]}=… has no match in --predictions ({', '.join(named) or 'none'}): give both the same "
            "name."
        )
    with warnings.catch_warnings():  # of the vote
        warnings.simplefilter("ignore", PlausiblyWarning)
        # Bad input is refused before sampling.
        tried = calibrate(read, named, alpha=alphas[0], **asked | {"target": "vote"})
    if given_new:
        tried.table(given_new, new_column)
    make_folder(output.out, [data.annotations])
    found: dict[float, dict[str, Any]] = {level: {} for level in alphas}
    measured = None
    for label, source in _sources(read, asked["target"], model, vars(modelling) | vars(sampling), seed, output):
        for level in alphas:
            found[level][label] = calibrate(source, named, alpha=level, **asked)
        if splits and measured is None:
            kept = {
                key: asked.get(key) for key in ("score", "by", "loss", "risks", "logits", "seed", "randomise_scores")
            }
            measured = conformal_coverage(
                source, named, alpha=alphas, splits=splits, ci_prob=ci_prob, progress=not output.quiet, **kept
            )
    swept, sets = {level: ConformalSweep(runs) for level, runs in found.items()}, None
    if given_new:
        tables = [one.common.table(given_new, new_column).assign(alpha=level) for level, one in swept.items()]
        sets = pd.concat(tables, ignore_index=True)
        sets["classes"] = [_BETWEEN.join(chosen) for chosen in sets["classes"]]
    output.publish(screen(swept, measured, sets))


def _sources(read: Annotations, target: str, model: list[str] | None, given: dict, seed: int, output: options.Output):
    """Posteriors by label; the annotations themselves where no model is needed, or asked for."""
    if target != "plausibility" and not model:
        yield "annotations", read
        return
    for run in plan_runs(read, parse_variants(model or usual_models(read)), given, seed=seed):
        speaker(output.quiet)(f"Aggregating by {run.label}")
        yield run.label, aggregate(read, run.model, **run.arguments, seed=seed, progress=not output.quiet)


def _read_by(by: str | None, new_by: Path | None) -> tuple[Any, Any]:
    """Groups of the cases, and those of the new ones."""
    if by in (None, "risk", "certainty"):
        if new_by is not None:
            raise ArgumentError("--new-by goes with --by FILE: leave it out, or name a table of groups.")
        return by, None
    new = None if new_by is None else str(new_by)
    return read_column(by, option="--by", column="group"), read_column(new, option="--new-by", column="group")
