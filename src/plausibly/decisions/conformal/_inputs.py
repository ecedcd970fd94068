"""Arguments that all calibrations share, checked and read, and predictions of new cases, which no annotations name."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.base.arviz import Posterior
from plausibly.base.errors import ArgumentError, PredictionError, show
from plausibly.base.names import some
from plausibly.base.random_streams import Stream
from plausibly.data.annotations import Annotations, read_risks
from plausibly.data.annotations.io.files import naming
from plausibly.data.annotations.io.predicted import is_path
from plausibly.data.predictions import Logits, line_up, named_predictions, probabilities, refuse_twice, scores_of
from plausibly.decisions.conformal._calibrate import Calibrated, shares_of
from plausibly.decisions.conformal._scores import Grouping, Score, parse_groups
from plausibly.posterior import annotations_of, opened, reading

TARGETS = ("plausibility", "annotator", "vote")


@dataclass(frozen=True, eq=False)
class Inputs:
    """A posterior, or annotations alone, with classifiers on its cases."""

    source: Posterior | Annotations
    annotations: Annotations
    classifiers: Mapping[str, Calibrated]  #: predictions that are given as logits are probabilities here
    logits: tuple[str, ...]  #: classifiers whose predictions are given as logits
    grouping: Grouping
    cost: Float[np.ndarray, " class"] | None  #: cost of missing each class, if it is not 1
    bound: float  #: greatest loss of a case


@contextmanager
def read_inputs(
    posterior: Any,
    predictions: Mapping[str, Any],
    logits: bool,
    loss: Any,
    risks: Any,
    by: Any,
    score: Score,
    seed: int,
) -> Iterator[Inputs]:
    """Open a posterior for reading, or take annotations, line up the predictions with their cases, and group these."""
    named = named_predictions(predictions, logits)
    if not named:
        raise ArgumentError('predictions must name at least one classifier, but none was given: write {"A": scores}.')
    marked = tuple(name for name, values in named.items() if isinstance(values, Logits))
    with _source(posterior) as source:
        annotations = source if isinstance(source, Annotations) else annotations_of(source)
        levels = None if risks is None else np.asarray(read_risks(risks, annotations.classes)).astype(np.int64)
        cost, bound = _cost(loss, levels)
        lined_up = {name: line_up(values, annotations) for name, values in named.items()}
        grouping, column = parse_groups(by, annotations, levels, list(lined_up.values()))
        shares = shares_of(annotations.cases, seed, Stream.CALIBRATED_SHARES) if score.randomised else None
        classifiers = {
            name: Calibrated(values, score, grouping.of(values, column), len(grouping.names), shares)
            for name, values in lined_up.items()
        }
        yield Inputs(source, annotations, classifiers, marked, grouping, cost, bound)


@contextmanager
def _source(posterior: Any) -> Iterator[Posterior | Annotations]:
    if isinstance(posterior, Annotations):
        yield posterior
        return
    with opened(posterior) if isinstance(posterior, str | PathLike) else reading(posterior) as source:
        yield source


def _cost(loss: Any, risks: Int[np.ndarray, " class"] | None) -> tuple[Float[np.ndarray, " class"] | None, float]:
    """Cost of missing each class, and the greatest loss of a case."""
    if loss is None:
        return None, 1.0
    if loss != "risk":
        raise ArgumentError(f'loss must be None or "risk", but {show(loss)} was given: choose one.')
    if risks is None:
        raise ArgumentError('loss="risk" needs the risk of each class, but none were given: add risks=….')
    if not risks.any():
        raise ArgumentError('loss="risk" needs a class of risk 1 or 2, but all are 0: leave the loss out.')
    return risks.astype(float), float(risks.max())


def check_alpha(alpha: Any, bound: float = 1.0) -> float:
    """Refuse anything but a number strictly between 0 and the greatest loss."""
    number = isinstance(alpha, int | float | np.integer | np.floating) and not isinstance(alpha, bool)
    if not number or not 0 < alpha < bound:
        raise ArgumentError(
            f"alpha must lie between 0 and {bound:g}, ends excluded, but {alpha!r} was given: write for example 0.1."
        )
    return float(alpha)


def check_target(target: Any, posterior: Any) -> None:
    """Refuse an unknown target, or one that needs a posterior where there is none."""
    if target not in TARGETS:
        raise ArgumentError(f"target must be one of {', '.join(TARGETS)}, but {show(target)} was given: choose one.")
    if target == "plausibility" and isinstance(posterior, Annotations):
        raise ArgumentError(
            'target="plausibility" needs a posterior, but annotations were given: aggregate them first, or choose '
            'target="annotator", which needs no model.'
        )


def read_new(
    new_scores: Any, classifiers: Sequence[str], classes: np.ndarray, logits: Collection[str]
) -> tuple[np.ndarray, dict[str, Float[np.ndarray, "case class"]]]:
    """Names of new cases ("0", "1", … where rows have none), and their predictions by classifier.

    Predictions are those of some or all of the calibrated classifiers; without names, if there is one classifier.
    """
    if not isinstance(new_scores, Mapping):
        if len(classifiers) > 1:
            raise ArgumentError(
                f"predictions of new cases must be a mapping from classifiers, of which there are "
                f"{len(classifiers)}, but they have no names: write {{{classifiers[0]!r}: scores, …}}."
            )
        new_scores = {classifiers[0]: new_scores}
    named = named_predictions(new_scores)
    unknown = [name for name in named if name not in classifiers]
    if unknown or not named:
        what = repr(unknown[0]) if unknown else "none at all"
        raise ArgumentError(f"classifiers must be among those calibrated, {some(classifiers)}, but {what} was given.")
    read = {name: _read(source, classes, name in logits) for name, source in named.items()}
    first, (cases, _) = next(iter(read.items()))
    predictions = {}
    for name, (names, values) in read.items():
        rows = pd.Index(names.astype(object)).get_indexer(pd.Index(cases.astype(object)))
        if len(names) != len(cases) or (rows < 0).any():
            raise PredictionError(
                f"{name} and {first} predict different cases ({len(names)} and {len(cases)}); give both the same cases"
            )
        predictions[name] = values if np.array_equal(rows, np.arange(len(rows))) else values[rows]
    return cases, predictions


def _read(source: Any, classes: np.ndarray, logits: bool) -> tuple[np.ndarray, Float[np.ndarray, "case class"]]:
    with naming(source if is_path(source) else "predictions"):
        matrix = scores_of(source, classes, logits=logits)
        cases = np.arange(len(matrix.values)).astype(str) if matrix.cases is None else matrix.cases
        if not len(cases):
            raise PredictionError("there are no rows; give a row per case")
        refuse_twice(cases)
        return cases, probabilities(matrix.values, source, cases, classes, logits)
