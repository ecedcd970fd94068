"""``plausibly reliability``: how much of the annotators' agreement is due to neither chance nor shared mistakes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plausibly.agreement import weighted_reliability
from plausibly.agreement.reliability.inputs import COLUMN, NAMES, default_competence
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import check_converged
from plausibly.app.results import of
from plausibly.app.results.reliability import verdict
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError


@example(
    """
    plausibly reliability labels.csv --scale 1,5 --competence rasch \\
        --measured 0.98 --majority 3 --seed 0 --out results/
    """
)
@options.of(weighted_reliability, "confidence:COLUMN chance wrong_labels")
def reliability(
    data: options.LabelledData,
    scale: str | None = None,
    competence: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|NUMBER|FILE",
            help=f"Accuracy of the annotators: a way to estimate it ({', '.join(NAMES)}), a number, or a table "
            f"(annotator, accuracy). By default {default_competence(False)}; with --truth, {default_competence(True)}.",
        ),
    ] = None,
    truth: Path | None = None,
    classes: int | None = None,
    measured: float | None = None,
    majority: int = 1,
    replicates: int = REPLICATES,
    ci_prob: float = CI_PROB,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    seed: int = 0,
    *,
    output: options.StrictOutput,
    **asked: Any,
) -> None:
    """Measure weighted reliability: how much of the annotators' agreement is due to neither chance nor shared mistakes.

    Prints concordance and weighted reliability, its bias where that is known, and Cohen's, Fleiss' and Krippendorff's
    coefficients for comparison. With --out, also writes reliability.csv, cases.csv, annotators.csv and figures; the
    Rasch model adds posterior-rasch.nc.

    Options
    -------
    scale LOW,HIGH|LEVEL=C,…
        Scale of confidences: the ends of a linear scale, or a confidence for each level.
    truth FILE
        Table of true labels (case, label), for --competence known or rasch.
    chance
        Distribution of guessed labels: uniform or empirical.
    classes
        Number of possible labels, for uniform chance.
    measured
        Measured accuracy of a model against these labels, to compute the actual one.
    majority
        Number of annotators whose majority vote gives each label.
    replicates
        Number of bootstrap replicates; not used by the Rasch model.
    draws
        Draws per chain of the Rasch model. By default 1000.
    chains
        Chains of the Rasch model. By default 4.
    warmup
        Warm-up draws of the Rasch model. By default 1000.
    """
    competence = default_competence(truth is not None) if competence is None else competence
    sampler = {name: value for name, value in (("draws", draws), ("chains", chains), ("warmup", warmup)) if value}
    if sampler and competence != default_competence(True):
        raise ArgumentError(f"--{next(iter(sampler))} is for the Rasch model, but --competence is {competence}.")
    read = data.read([*filter(None, [asked.get("confidence")])], (COLUMN,), quiet=output.quiet)
    given = asked | {"scale": parse_scale(scale), "n_classes": classes, "progress": not output.quiet}
    result = weighted_reliability(
        read, competence=options.number_or_text(competence), truth=truth, seed=seed, **given, **sampler
    )
    make_folder(output.out, [data.labels])
    further = {"labels": read, "measured": measured, "majority": majority, "given": given | {"truth": truth}}
    output.publish(of(result, ci_prob, replicates, seed, **further, progress=not output.quiet))
    check_converged(verdict(result)[0], strict=output.strict)


def parse_scale(text: str | None) -> dict[str, float] | tuple[float, float] | None:
    """Read a scale of confidences."""
    if text is None:
        return None
    try:
        if "=" in text:
            levels = [part.rpartition("=") for part in text.split(",")]
            return {level.strip(): float(value) for level, _, value in levels}
        low, high = map(float, text.split(","))
    except ValueError:
        raise ArgumentError(
            f"--scale must be LOW,HIGH or LEVEL=CONFIDENCE,…, but {text!r} was given: write for example 1,5."
        ) from None
    return low, high
