"""``plausibly reliability``: how much of the annotators' agreement is due to neither chance nor shared mistakes."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from plausibly.agreement import (
    Labels,
    WeightedReliability,
    actual_accuracy,
    agreement,
    cohen_kappa,
    fleiss_kappa,
    ground_truth_accuracy,
    gwet_ac,
    weighted_reliability,
)
from plausibly.agreement.reliability.inputs import COLUMN, NAMES, default_competence
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import check_converged
from plausibly.app.screen import Screen, Table
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError
from plausibly.base.names import many, some
from plausibly.posterior import save
from plausibly.posterior.diagnostics import diagnose


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
    if sampler and competence != "rasch":
        raise ArgumentError(f"--{next(iter(sampler))} is for the Rasch model, but --competence is {competence}.")
    read = data.read([*filter(None, [asked.get("confidence")])], (COLUMN,), quiet=output.quiet)
    given = asked | {"scale": parse_scale(scale), "n_classes": classes, "progress": not output.quiet}
    result = weighted_reliability(
        read, competence=options.number_or_text(competence), truth=truth, seed=seed, **given, **sampler
    )
    frame = result.to_frame(ci_prob, replicates, seed, progress=not output.quiet)
    frame["fleiss_kappa"], frame["gwet_ac1"] = fleiss_kappa(read), gwet_ac(read)
    if len(read.annotators) == 2:
        frame["cohen_kappa"] = cohen_kappa(read)
    if (alpha := _alpha(read)) is not None:
        frame["krippendorff_alpha"] = alpha
    frame["labels_accuracy"] = ground_truth_accuracy(result.reliability, majority)
    if measured is not None:
        frame["actual_accuracy"] = actual_accuracy(measured, frame["labels_accuracy"].item())
    make_folder(output.out, [data.labels])
    converged, words = _verdict(result)
    row = frame.iloc[0]
    ends = f" ({row['lower']:.3f} to {row['upper']:.3f})" if "lower" in frame else ""
    told = (
        f"Weighted reliability is {row['reliability']:.3f}{ends}: of the agreement beyond chance, "
        f"{row['concordance']:.3f}, this much is correct."
    )
    notes = list(_notes(result, truth is not None, given))
    notes.insert(len(notes) if converged else 0, words)
    screen = Screen(told, _table(frame, ci_prob), notes, "reliability.csv")
    output.publish(screen, _files(result, frame, measured, majority, ci_prob))
    check_converged(converged, strict=output.strict)


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


def _alpha(labels: Labels) -> float | None:
    """Compute Krippendorff's alpha of nominal labels; None where a single case or label leaves it undefined."""
    if (np.diff(labels.start) > 0).sum() < 2:
        return None
    alpha = agreement(labels, "nominal", weighting="units", progress=False).alpha
    return None if np.isnan(alpha) else alpha


def _table(frame: pd.DataFrame, ci_prob: float) -> Table:
    """A row for each measure."""
    row = frame.iloc[0]
    names = {
        "concordance": "concordance σ",
        "reliability": "weighted reliability ϱ",
        "fleiss_kappa": "Fleiss' kappa",
        "gwet_ac1": "Gwet's AC1",
        "cohen_kappa": "Cohen's kappa",
        "krippendorff_alpha": "Krippendorff's alpha",
        "labels_accuracy": "accuracy of the labels",
        "actual_accuracy": "actual accuracy of the model",
    }
    rows = []
    for name, words in names.items():
        if name in frame:
            ends = f"{row['lower']:.3f}–{row['upper']:.3f}" if name == "reliability" and "lower" in frame else ""
            rows.append((words, f"{row[name]:.3f}", ends))
    return Table(("measure", "value", f"{options.percent(ci_prob)} interval"), rows)


def _notes(result: WeightedReliability, true: bool, given: dict[str, Any]) -> Iterator[str]:
    """Say how far ϱ is off, where that is known."""
    n_labels = given["n_classes"] or len(result.labels.coded[0])
    if result.published is None and n_labels > 2:
        yield (
            "ϱ is too small: the published form assumes that two annotators who are wrong agree, but there are "
            f"{n_labels} labels. --wrong-labels spread corrects this."
        )
    elif n_labels > 2:
        yield (
            f"The published form, which assumes that two annotators who are wrong agree, gives {result.published:.3f}."
        )
    if not true and result.competence in ("rasch", "leave-one-out"):
        other = weighted_reliability(result.labels, competence="one-coin", **given)
        yield (
            "ϱ is too small: annotators are judged by the majority of the others, which can be wrong. --competence "
            f"one-coin corrects this and gives {other.reliability:.3f}."
        )
    if result.competence == "one-coin":
        yield ("ϱ is too large if annotators make the same mistakes, as in hard cases: one-coin assumes they do not.")


def _files(
    result: WeightedReliability, frame: pd.DataFrame, measured: float | None, majority: int, ci_prob: float
) -> Iterator[tuple[str, Any]]:
    yield "reliability.csv", frame
    yield "cases.csv", result.by_case(ci_prob).reset_index()
    yield "annotators.csv", result.annotators(ci_prob).reset_index()
    if result.posterior is not None:
        yield "posterior-rasch.nc", partial(save, result.posterior)
    yield "reliability.png", plots.reliability_by_case(result)
    if measured is not None:
        yield "nomogram.png", plots.nomogram(measured, result.reliability, majority)
    if result.posterior is not None:
        yield "abilities.png", plots.annotator_abilities(result, ci_prob)


def _verdict(result: WeightedReliability) -> tuple[bool, str]:
    counted = f"{many(result.n_cases, 'case')} used"
    if result.excluded:
        counted += f", {len(result.excluded):,} with fewer than two annotators left out"
    if result.posterior is None:
        return True, f"{counted}."
    found = diagnose(result.posterior)
    failed = found["quantity"].values[~found["converged"].values]
    if not len(failed):
        return True, f"Chains converged in all {found.sizes['quantity']:,} quantities (rasch); {counted}."
    divergences = int(found["n_diverging"].values[0])
    why = f" with {divergences:,} divergences" if divergences else ""
    total = found.sizes["quantity"]
    return False, f"Chains did not converge{why} in {len(failed):,} of {total:,} quantities: {some(failed)}; {counted}."
