"""Sentences on why an accuracy cannot be known, or not well, from some annotations."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.base.names import listed
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.columns import is_number
from plausibly.evaluation.evidence import known_predictions, knows_more
from plausibly.evaluation.summaries import few_in_words
from plausibly.evaluation.truth import check_labels
from plausibly.families.priors.evidence import mostly_single

FEW_CASES, FEW_PEOPLE, MANY_CLASSES = 60, 5, 10
_OTHERWISE = "other experts may judge otherwise"
_HARDLY = "how far other experts differ is hardly known, so intervals are wide"
_SURE = 2.5  # standard errors, and
_OFF = 0.01  # share of cases, from which on a posterior does not fit the panels of its labels


def limits(annotations: Annotations, *, others: bool = False) -> list[str]:
    """List the reasons why an accuracy that is computed from these annotations needs caution.

    Accuracy against the most plausible class depends on how the opinions of experts are distributed in a case, of
    which one label a case says nothing, and two say little.

    Parameters
    ----------
    annotations
        Labels, counts or rankings; first choices count, and cases without annotations do not. For scores, pass
        ``scores.split(threshold)``.
    others
        Whether intervals are for other experts than these, as those of panels under a posterior are by default.

    Returns
    -------
    list of str
        A sentence each, the most serious first; empty if there is nothing to say.

    Raises
    ------
    AnnotationError
        If the annotations are scores or something else.

    Examples
    --------
    >>> for sentence in limits(Annotations.from_counts([[1, 0], [0, 1], [1, 0], [0, 1], [2, 0], [0, 2]] * 15)):
    ...     print(sentence)
    Most cases (60 of 90) have one label: accuracy cannot be known from them, ...
    """
    check_labels(annotations)
    annotations = annotations.annotated
    n_labels, n_cases = np.diff(annotations.case_start), annotations.n_cases
    found = [] if annotations.rounds is None else [annotations.rounds.told]
    single, pairs = int((n_labels == 1).sum()), int((n_labels <= 2).sum())
    if mostly_single(annotations):
        found.append(
            f"Most cases ({single} of {n_cases}) have one label: accuracy cannot be known from them, however many they "
            "are, only agreement with an expert and bounds of the accuracy."
        )
    elif 2 * pairs > n_cases:
        found.append(
            f"Most cases ({pairs} of {n_cases}) have at most two labels: it cannot be checked whether experts disagree "
            "as is assumed. Collect a third label for some."
        )
    if annotations.ordered and annotations.n_classes > 2 and all(map(is_number, annotations.classes)):
        found.append(
            "An answer counts as right or wrong, however far off it is: of grades, mean_absolute_error and "
            "quadratic_kappa tell how far (--ordered, with --metrics mean_absolute_error,quadratic_kappa)."
        )
    if n_cases < FEW_CASES:
        found.append(f"{n_cases} cases are few: intervals are rough, and accuracies may be a point too low.")
    if not annotations.anonymous:
        own = np.sort(np.bincount(annotations.annotation_annotator))[::-1]
        own = own[own > 0]
        least = int(np.searchsorted(np.cumsum(own), own.sum() / 2, side="right")) + 1
        if len(own) <= FEW_PEOPLE:
            people = "one person" if len(own) == 1 else f"{len(own)} people"
            found.append(f"All labels are from {people}: {_HARDLY if others else _OTHERWISE}.")
        elif least <= min(FEW_PEOPLE, len(own) / 4):
            people = "One" if least == 1 else str(least)
            found.append(f"{people} of {len(own)} people gave most of the labels: {_HARDLY if others else _OTHERWISE}.")
    if annotations.n_classes > MANY_CLASSES:
        found.append(f"With {annotations.n_classes} classes, accuracies may be several points too low.")
    return found


def cautions(
    annotations: Annotations,
    results: xr.Dataset,
    checks: pd.DataFrame | None = None,
    panels: xr.Dataset | None = None,
) -> Iterator[str]:
    """Say what limits the accuracies of an evaluation, a sentence each, and nothing that does not apply.

    The first accuracies may be against `panels`, drawn under the same posterior.
    """
    attrs = results.attrs
    said = limits(annotations, others=panels is not None and panels.attrs["readers"] == "others")
    if annotations.rounds is not None:
        yield said.pop(0)
    if attrs.get("spread") == "assumed" and mostly_single(annotations):
        said[0] = (
            "Most cases have one label: how far experts agree is what you assumed by prior_kappa=, not the data's."
        )
    failed: dict[str, list[str]] = {}
    if checks is not None:
        for check, failures in checks[~checks["passed"].astype(bool)].groupby("check", sort=False):
            failed[str(check)] = failures["classifier"].tolist()
    withheld = "withheld" in attrs
    seen = failed.get("ceiling", [])
    if seen and withheld:
        yield (
            f"{listed(seen)} agree{_s(seen)} with more labels than is possible without having seen them, and the "
            "posterior takes these predictions for evidence, so no accuracy is stated, not of other classifiers "
            f"either: leave {listed(seen)} out, write --annotations-only, or collect fresh labels."
        )
    elif seen:
        yield (
            f"{listed(seen)} agree{_s(seen)} with more labels than is possible without having seen them: "
            f"{_accuracies(seen)} overestimated. Collect fresh labels."
        )
    if checks is not None and (fresh := checks[checks["check"] == "fresh"]).size:
        yield _fresh(fresh, failed.get("fresh", []))
    if not withheld and (outside := json.loads(attrs.get("outside", "[]"))):
        yield f"The posterior does not know the predictions of {listed(outside)}: {_accuracies(outside)} too low."
    if more := list(knows_more(results)):
        found = results.sel(classifier=more)
        observed, expected = (
            listed([f"{100 * share:.1f} %" for share in found[name].values.tolist()])
            for name in ("expert_agreement", "expected_agreement")
        )
        yield (
            f"{listed(more)} know{_s(more)} more about these cases than the annotations do (agreement with experts "
            f"{observed}, not {expected}): {_accuracies(more)} underestimated. Use "
            f"pb.aggregate(predictions=…) (--model {attrs.get('model', 'NAME')}:class_prior=predictions)."
        )
    if any(check in failed for check in ("plurality", "unanimous for", "unanimous against")):
        so = "" if withheld else ": accuracies may be several points off"
        yield (
            f"Experts disagree in another way than is assumed{so}. Agreement with an expert holds if no classifier has "
            "seen these labels."
        )
    yield from [] if panels is None else _of_panels(panels, annotations)
    if "answer_rate" in results:
        rates = results["answer_rate"]
        rates = rates.mean([dim for dim in rates.dims if dim != "classifier"]).to_series()
        if len(silent := 1 - rates[rates < 1]):
            yield f"{without_answer(silent.to_dict())}."
    if "err_together" in attrs:
        yield str(attrs["err_together"])
    yield from said
    if few := few_in_words(results):
        yield few
    if not withheld and known_predictions(attrs) and not (checks is not None and (checks["check"] == "fresh").any()):
        yield (
            "Nothing shows that the classifiers have not seen these labels; if they have, accuracies are too high. "
            "Fresh labels of some cases would tell (--fresh-labels)."
        )


def _of_panels(panels: xr.Dataset, annotations: Annotations) -> Iterator[str]:
    """Say whose panels do not decide as their labels do, and that other experts are not in intervals."""
    if "panel_excess" in panels:
        excess, error = (panels[name].to_series().to_dict() for name in ("panel_excess", "panel_excess_error"))
        if off := {name: value for name, value in excess.items() if abs(value) > max(_OFF, _SURE * error[name])}:
            points = ", ".join(f"{name} {100 * value:+.1f}" for name, value in off.items())
            people = panels.attrs["panel_checked"]
            yield (
                f"Panels do not decide as the labels do: for {people} of these annotators, the model expects other "
                f"numbers than their labels give, by points: {points}. Prefer panels of {people} (--truth panel "
                f"--panel {people} --readers these)."
            )
    if annotations.anonymous:
        yield (
            "Annotators have no names, so nothing tells how far other experts differ, and intervals do not allow for "
            "it: name them, if you can."
        )


def constants(results: xr.Dataset) -> dict[str, str]:
    """Return the class that a classifier names in every case, by the names of the classifiers that do so."""
    return json.loads(results.attrs.get("constant", "{}"))


def always_the_same(results: xr.Dataset) -> str:
    """Say which classifiers name the same class in every case; empty if none does."""
    told = [f"{name} names {of!r}" for name, of in constants(results).items()]
    return f"{listed(told)} in every case, and so tells nothing of a case." if told else ""


def without_answer(silent: Mapping[Any, float]) -> str:
    """Say what becomes of cases in which classifiers give no answer, given the share of these."""
    shares = ", ".join(f"{name} in {100 * share:.1f} %" for name, share in [*silent.items()][:5])
    return f"Cases without an answer count as wrong ({shares} of cases); selective accuracy leaves them out"


def _fresh(checks: pd.DataFrame, seen: Sequence[str]) -> str:
    differences = ", ".join(
        f"{row['classifier']} {100 * (row['observed'] - row['expected']):+.1f} (± {100 * row['standard_error']:.1f})"
        for row in checks.to_dict("records")
    )
    told = f"Agreement with fresh labels less that with the old ones, in points: {differences}."
    if not seen:
        return told
    return f"{told} {listed(seen)} must have seen the old ones: {_accuracies(seen)} overestimated."


def _s(names: Sequence[str]) -> str:
    return "s" if len(names) == 1 else ""


def _accuracies(names: Sequence[str]) -> str:
    return "its accuracy is" if len(names) == 1 else "their accuracies are"
