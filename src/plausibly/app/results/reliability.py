"""Weighted reliability, the agreement that is due to neither chance nor shared mistakes: what it says."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from plausibly import agreement
from plausibly.agreement import Labels, WeightedReliability
from plausibly.app import plots
from plausibly.app.screen import About, Piece, Screen, Table, percent, with_interval
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.names import many, some
from plausibly.posterior import save
from plausibly.posterior.diagnostics import diagnose

_MEASURES = {
    "concordance": "concordance σ",
    "reliability": "weighted reliability ϱ",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
    "cohen_kappa": "Cohen's kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "labels_accuracy": "accuracy of the labels",
    "actual_accuracy": "actual accuracy of the model",
}


def screen(
    result: WeightedReliability,
    ci_prob: float = CI_PROB,
    replicates: int = REPLICATES,
    seed: int = 0,
    *,
    labels: Labels | None = None,
    measured: float | None = None,
    majority: int = 1,
    given: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> Screen:
    """Concordance and weighted reliability beside other coefficients, and how far it is off.

    `labels` are all that were read; `measured` is the accuracy of a model against the labels, each of a `majority` of
    annotators; `given` are the arguments of :func:`plausibly.agreement.weighted_reliability`.
    """
    labels = result.labels if labels is None else labels
    frame = result.to_frame(ci_prob, replicates, seed, progress=progress)
    frame["fleiss_kappa"], frame["gwet_ac1"] = agreement.fleiss_kappa(labels), agreement.gwet_ac(labels)
    if len(labels.annotators) == 2:
        frame["cohen_kappa"] = agreement.cohen_kappa(labels)
    if (alpha := _alpha(labels)) is not None:
        frame["krippendorff_alpha"] = alpha
    frame["labels_accuracy"] = agreement.ground_truth_accuracy(result.reliability, majority)
    if measured is not None:
        frame["actual_accuracy"] = agreement.actual_accuracy(measured, frame["labels_accuracy"].item())
    row = frame.iloc[0]
    value = with_interval(row["reliability"], *row.get(["lower", "upper"], ()), form=" ({} to {})")
    told = (
        f"Weighted reliability is {value}: what remains of the agreement beyond chance, {row['concordance']:.3f}, "
        "without agreement on wrong labels."
    )
    notes, (converged, words) = list(_notes(result, given or {})), verdict(result)
    notes.insert(len(notes) if converged else 0, words)
    files = [
        Piece("reliability.csv", frame, "All measures"),
        Piece("cases.csv", lambda: result.by_case(ci_prob).reset_index(), "By case"),
        Piece("annotators.csv", lambda: result.annotators(ci_prob).reset_index(), "Annotators"),
    ]
    if result.posterior is not None:
        files.append(Piece("posterior-rasch.nc", partial(save, result.posterior)))
    drawn = "Concordance and weighted reliability, over cases"
    files.append(Piece("reliability.png", lambda: plots.reliability_by_case(result), drawn))
    if measured is not None:
        files.append(Piece("nomogram.png", lambda: plots.nomogram(measured, result.reliability, majority)))
    if result.posterior is not None:
        files.append(Piece("abilities.png", lambda: plots.annotator_abilities(result, ci_prob), "Abilities"))
    about = About("How reliable are the labels?", {"labels": str(labels), "competence": result.competence})
    return Screen(told, _table(frame, ci_prob), notes, "reliability.csv", files=files, about=about)


def _alpha(labels: Labels) -> float | None:
    """Compute Krippendorff's alpha of nominal labels; None where a single case or label leaves it undefined."""
    if (np.diff(labels.start) > 0).sum() < 2:
        return None
    alpha = agreement.agreement(labels, "nominal", weighting="units", progress=False).alpha
    return None if np.isnan(alpha) else alpha


def _table(frame: pd.DataFrame, ci_prob: float) -> Table:
    """A row for each measure."""
    row, rows = frame.iloc[0], []
    for name, words in _MEASURES.items():
        if name in frame:
            ends = f"{row['lower']:.3f}–{row['upper']:.3f}" if name == "reliability" and "lower" in frame else ""
            rows.append((words, f"{row[name]:.3f}", ends))
    return Table(("measure", "value", f"{percent(ci_prob)} interval"), rows)


def _notes(result: WeightedReliability, given: Mapping[str, Any]) -> Iterator[str]:
    """Say how far ϱ is off, where that is known."""
    n_labels = given.get("n_classes") or len(result.labels.coded[0])
    if result.published is None and n_labels > 2:
        yield (
            "ϱ is too small: the published form assumes that two annotators who are wrong agree, but there are "
            f'{n_labels} labels. wrong_labels="spread" (--wrong-labels spread) corrects this.'
        )
    elif n_labels > 2:
        yield (
            f"The published form, which assumes that two annotators who are wrong agree, gives {result.published:.3f}."
        )
    if given.get("truth") is None and result.competence in ("rasch", "leave-one-out"):
        further = {name: value for name, value in given.items() if name not in ("truth", "progress")}
        other = agreement.weighted_reliability(result.labels, competence="one-coin", progress=False, **further)
        yield (
            "ϱ is too small: annotators are judged by the majority of the others, which can be wrong. "
            f'competence="one-coin" (--competence one-coin) corrects this and gives {other.reliability:.3f}.'
        )
    if result.competence == "one-coin":
        yield ("ϱ is too large if annotators make the same mistakes, as in hard cases: one-coin assumes they do not.")


def verdict(result: WeightedReliability) -> tuple[bool, str]:
    """Whether chains converged, if there are any, and a sentence on that and on the cases that were used."""
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
