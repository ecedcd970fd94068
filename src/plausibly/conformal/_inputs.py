"""Arguments that all calibrations share, checked and read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly.annotations import Annotations, read_risks
from plausibly.errors import ArgumentError, show
from plausibly.posterior import annotations_of, opened, reading
from plausibly.predictions import Logits, line_up, named_predictions

TARGETS = ("plausibility", "annotator", "vote")


@dataclass(frozen=True, eq=False)
class Inputs:
    """A posterior, or annotations alone, with the predictions of its cases."""

    source: Posterior | Annotations
    annotations: Annotations
    predictions: Mapping[str, Float[np.ndarray, "case class"]]  #: by classifier; logits are probabilities here
    logits: tuple[str, ...]  #: classifiers whose predictions are given as logits
    risks: Int[np.ndarray, " class"] | None  #: risk level of each class
    cost: Float[np.ndarray, " class"] | None  #: cost of missing each class, if it is not 1
    bound: float  #: greatest loss of a case


@contextmanager
def read_inputs(
    posterior: Any, predictions: Mapping[str, Any], logits: bool, loss: Any = None, risks: Any = None
) -> Iterator[Inputs]:
    """Open a posterior for reading, or take annotations, and line up the predictions with their cases."""
    named = named_predictions(predictions, logits)
    if not named:
        raise ArgumentError('predictions must name at least one classifier, but none was given: write {"A": scores}.')
    marked = tuple(name for name, values in named.items() if isinstance(values, Logits))
    with _source(posterior) as source:
        annotations = source if isinstance(source, Annotations) else annotations_of(source)
        levels = None if risks is None else np.asarray(read_risks(risks, annotations.classes)).astype(np.int64)
        cost, bound = _cost(loss, levels)
        lined_up = {name: line_up(values, annotations) for name, values in named.items()}
        yield Inputs(source, annotations, lined_up, marked, levels, cost, bound)


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
