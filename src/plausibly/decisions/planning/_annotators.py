"""Who is asked next, how she answers, and what it costs."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from plausibly.base.arviz import Posterior
from plausibly.base.errors import ArgumentError, PlausiblyWarning, show
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.matching import by_name
from plausibly.posterior.says import declared, draws_answers, learns

LEVELS = 8  #: most different reliabilities that are told apart


@dataclass(frozen=True, eq=False)
class Asked:
    """The annotators who may be asked."""

    names: np.ndarray | None  #: None if nobody in particular is asked
    #: power of the plausibilities by which an annotator chooses, and how often her annotation counts; without repeats
    settings: tuple[tuple[float, float], ...]
    setting: Int[np.ndarray, " annotator"]
    cost: Float[np.ndarray, "annotator case"]  #: of an annotation
    free: Bool[np.ndarray, "annotator case"]  #: whether she may be asked about a case: she has not annotated it


def usual_length(annotations: Annotations, annotation: str | None) -> int:
    """Number of blocks of the next annotation: the median so far, or 1 for a label."""
    if annotation not in (None, "label", "ranking"):
        raise ArgumentError(
            f'annotation must be "label", "ranking" or None, but {show(annotation)} was given: choose one of them.'
        )
    if annotation == "label":
        return 1
    blocks = np.bincount(annotations.block_annotation, minlength=annotations.n_annotations)
    usual = int(np.median(blocks))
    return max(usual, 2) if annotation == "ranking" else usual


def how_annotators_answer(posterior: Posterior) -> tuple[float, float]:
    """Power by which annotators choose under a posterior's model, and how often an annotation counts.

    Refuses a model of one true class in every case, whose annotators do not draw from the plausibilities.
    """
    if not draws_answers(posterior.attrs):
        why = posterior.attrs.get("assumes", "what annotators answer is something else in its program")
        raise ArgumentError(
            f"{posterior.attrs.get('model')} has plausibilities that are not what annotators choose by ({why}), so "
            "draws cannot be reweighted: plan with another model, such as dirichlet-categorical."
        )
    declaration = declared(posterior)
    power = declaration.get("choice_power")
    if power is None and "reliability" in posterior["posterior"]:
        power = float(posterior["posterior"]["reliability"].mean())
    return (1.0 if power is None else float(power)), float(declaration.get("count", 1.0))


def can_plan(posterior: Posterior) -> bool:
    """Whether more annotations narrow the posteriors of this model, and its draws can be reweighted.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b"]])
    >>> given = {"seed": 0, "draws": 5, "progress": False}
    >>> [can_plan(pb.aggregate(annotations, name, **given)) for name in ("dirichlet-categorical", "prirn")]
    [True, False]
    """
    several = posterior["posterior"].sizes["chain"] * posterior["posterior"].sizes["draw"] > 1
    return several and draws_answers(posterior.attrs) and learns(posterior.attrs)


def parse_annotators(posterior: Posterior, annotations: Annotations, annotators: Any, cost: Any) -> Asked:
    """Check who may be asked, and what it costs; see :func:`plausibly.plan`."""
    power, count = how_annotators_answer(posterior)
    if count == 0:
        warnings.warn(
            f"{posterior.attrs.get('model')} gives all annotations of a case together the same weight, however many "
            "they are, so its intervals do not narrow with more of them: the plan counts each as one label; choose "
            "another model, such as plackett-luce, for a forecast that comes true",
            PlausiblyWarning,
            stacklevel=4,
        )
        count = 1.0
    n_cases = annotations.n_cases
    if annotators is None:
        each = _cost_by_case(cost, annotations)[None]
        return Asked(None, ((power, count),), np.zeros(1, int), each, np.ones((1, n_cases), bool))
    table = _annotator_table(posterior, annotators)
    names = table["annotator"].astype(str).to_numpy(dtype=str)
    reliability = table["reliability"].to_numpy(float)
    for at in np.flatnonzero(~(np.isfinite(reliability) & (reliability > 0)))[:1]:
        raise ArgumentError(
            f"the reliability of an annotator must be positive, but {str(names[at])!r} has {reliability[at]:g}."
        )
    if len(set(names)) < len(names):
        raise ArgumentError("annotators must have different names, but one appears twice: keep one row for each.")
    levels, setting = _grouped(reliability)
    tempered = power != 1 or posterior.attrs.get("mode") == "temper"
    settings = tuple((float(level), 1.0) if tempered else (power, float(level)) for level in levels)
    if "cost" in table:
        if cost is not None:
            raise ArgumentError("annotators have a column of costs already: leave cost out, or the column.")
        cost = dict(zip(names, table["cost"].to_numpy(float), strict=True))
    if isinstance(cost, Mapping) and set(map(str, cost)) >= set(names):
        each = np.array([_check_cost({str(key): c for key, c in cost.items()}[name]) for name in names])[:, None]
        each = np.broadcast_to(each, (len(names), n_cases))
    else:
        each = np.broadcast_to(_cost_by_case(cost, annotations), (len(names), n_cases))
    free = np.ones((len(names), n_cases), bool)
    if not annotations.anonymous:
        place = {name: at for at, name in enumerate(names)}
        who = np.array([place.get(str(name), -1) for name in annotations.annotators])[annotations.annotation_annotator]
        free[who[who >= 0], annotations.annotation_case[who >= 0]] = False
    return Asked(names, settings, setting, each, free)


def _annotator_table(posterior: Posterior, annotators: Any) -> pd.DataFrame:
    if isinstance(annotators, str) and annotators == "inferred":
        if "annotator_reliability" not in posterior["posterior"]:
            raise ArgumentError(
                'annotators="inferred" needs reliabilities by annotator, but this posterior has none: use that of '
                'plausibly.infer_reliability(annotations, per="annotator").'
            )
        each = posterior["posterior"]["annotator_reliability"]
        names = np.asarray(each["annotator"]).astype(str)
        return pd.DataFrame({"annotator": names, "reliability": each.median(("chain", "draw")).values})
    if isinstance(annotators, pd.Series | Mapping):
        items = dict(annotators)
        return pd.DataFrame({"annotator": list(items), "reliability": [_check_number(v) for v in items.values()]})
    if isinstance(annotators, pd.DataFrame):
        for name in ("annotator", "reliability"):
            if name not in annotators:
                raise ArgumentError(f"a table of annotators must have the column {name!r}, but has none: add it.")
        return annotators
    raise ArgumentError(
        f'annotators must be reliabilities by name, a table of them or "inferred", but {show(annotators)} was given: '
        'write for example {"ann": 2.0, "bob": 0.5}.'
    )


def _grouped(reliability: Float[np.ndarray, " annotator"]) -> tuple[np.ndarray, np.ndarray]:
    """Reliabilities that are told apart, and which of them each annotator has: those that are alike share a mean."""
    levels, setting = np.unique(reliability, return_inverse=True)
    if len(levels) <= LEVELS:
        return levels, setting
    ends = np.quantile(np.log(reliability), np.linspace(0, 1, LEVELS + 1)[1:-1])
    setting = np.searchsorted(ends, np.log(reliability))
    kept, setting = np.unique(setting, return_inverse=True)
    return np.array([np.exp(np.log(reliability[setting == at]).mean()) for at in range(len(kept))]), setting


def _cost_by_case(cost: Any, annotations: Annotations) -> Float[np.ndarray, " case"]:
    n_cases = annotations.n_cases
    if cost is None:
        return np.ones(n_cases)
    cost = by_name(cost, annotations.cases, "cost")
    if np.ndim(cost) == 0:
        return np.full(n_cases, _check_cost(cost))
    if len(cost) != n_cases:
        raise ArgumentError(f"cost must have a value for each of the {n_cases} cases, but has {len(cost)}.")
    return np.array([_check_cost(one) for one in cost])


def _check_cost(cost: Any) -> float:
    value = _check_number(cost)
    if not (np.isfinite(value) and value > 0):
        raise ArgumentError(f"a cost must be a positive number, but {show(cost)} was given.")
    return value


def _check_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"a cost or a reliability must be a number, but {show(value)} was given.") from None
