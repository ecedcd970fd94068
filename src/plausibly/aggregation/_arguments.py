"""Whether a model, its arguments and annotations go together, before anything is computed."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from plausibly.aggregation._registry import CHOICES, SETTINGS, Model, find_model, takes
from plausibly.aggregation._scores import check_prior, refuse_other_kind
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.annotations._scores import check_threshold
from plausibly.errors import AnnotationError, ArgumentError
from plausibly.inference import check_repeats
from plausibly.posterior import REMAINDER_NAME
from plausibly.random_streams import check_seed


def settle(
    annotations: Annotations | Scores,
    model: str | Callable[..., None],
    *,
    engine: str = "auto",
    seed: int = 0,
    **given: Any,
) -> tuple[str, Model, str, dict[str, Any]]:
    """Check everything that :func:`aggregate` checks, and compute nothing.

    Returns
    -------
    tuple
        Name of the model, what is known about it, the engine, and all arguments with their defaults.

    Raises
    ------
    ArgumentError, AnnotationError
        As :func:`aggregate` does.
    """
    of_scores = isinstance(annotations, Scores)
    known = find_model(model, of_scores)
    name = model if isinstance(model, str) else getattr(model, "__name__", "program")
    if isinstance(annotations, Annotations | Scores) and (
        wrong := refuse_other_kind(name, known.of_scores, annotations)
    ):
        raise AnnotationError(wrong)
    if engine != "auto" and engine not in known.engines:
        raise ArgumentError(f"{name} has the engines auto, {', '.join(known.engines)}, but {engine!r} was given.")
    engine = known.engines[0] if engine == "auto" else engine
    arguments = _arguments(name, takes(model, engine, of_scores), engine, given)
    if known.of_scores and arguments["threshold"] is None:
        raise ArgumentError(
            f"{name} needs a threshold, which parts scores into two classes, but none was given: write for example "
            "threshold=0 (--threshold 0)."
        )
    if engine == "gibbs":
        check_repeats(arguments["reliability"], arguments["mode"])
    check_seed(seed)
    _check_annotations(name if isinstance(model, str) else "", annotations)
    if engine in ("nuts", "gibbs", "ml") and isinstance(annotations, Annotations):
        _check_sizes(name, annotations)
    return name, known, engine, arguments


def _arguments(name: str, taken: Mapping[str, Any], engine: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in defaults and check; what the model has no use for is an error."""
    arguments = dict(taken)
    for key, value in given.items():
        if value is None:
            continue
        if key not in taken:
            what = ", ".join(taken) or "none"
            raise ArgumentError(
                f"{name} by engine {engine!r} has no use for {key}={value!r}: leave it out (its arguments: {what})."
            )
        if key in CHOICES and value not in CHOICES[key]:
            raise ArgumentError(f"{key} must be one of {', '.join(CHOICES[key])}, but {value!r} was given.")
        if key in SETTINGS:
            least = 0 if key == "warmup" else 4 if key == "draws" else 1
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ArgumentError(f"{key} must be a whole number of at least {least}, but {value!r} was given.")
            value = int(value)
        if key in ("reliability", "concentration"):
            value = _positive(key, value, zero=key == "concentration" and name == "prirn" and engine == "exact")
        if key == "threshold":
            value = check_threshold(value)
        if key == "prior":
            value = check_prior(value)
        arguments[key] = value
    return arguments


def _positive(key: str, value: Any, zero: bool) -> float:
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    # Engines compute in single precision, beyond whose range a value would turn into zero or infinity.
    if not (numeric and (1e-30 <= value <= 1e30 or (zero and value == 0))):
        least = "0, or between" if zero else "between"
        raise ArgumentError(f"{key} must be {least} 1e-30 and 1e30, but {value!r} was given.")
    return float(value)


def _check_annotations(name: str, annotations: Annotations | Scores) -> None:
    """What a model asks of annotations beyond the rules of the container."""
    if isinstance(annotations, Scores):
        return
    if isinstance(annotations, Annotations) and REMAINDER_NAME in annotations.classes:
        raise AnnotationError(
            f"a class is named {REMAINDER_NAME!r}, which in a posterior stands for the classes that nobody named; "
            f"rename it"
        )
    if not isinstance(annotations, Annotations):
        raise ArgumentError(
            f"annotations must be an Annotations, but a {type(annotations).__name__} was given: "
            "build one with read_annotations or Annotations.from_…."
        )
    if name == "dirichlet-categorical":
        named = np.diff(annotations.annotation_start)
        if (named != 1).any():
            worst = int((named != 1).argmax())
            raise AnnotationError(
                f"{name} takes one label per annotation, but {_whose(annotations, worst)} names {named[worst]}: "
                "use prirn or plackett-luce, which take partial rankings."
            )


# More classes in a case than a few thousand, and what samplers hold of it fills the memory.
_LARGEST = 2_000_000  # products of named classes and blocks drawn from them


def _check_sizes(name: str, annotations: Annotations) -> None:
    """Refuse cases that are too large to sample."""
    slots = np.diff(Slots.of(annotations, remainder=False).start)
    per_annotation = annotations.entry_block[annotations.annotation_start[1:] - 1] + 1
    blocks = np.bincount(annotations.annotation_case, per_annotation, annotations.n_cases)
    worst = int((slots * blocks).argmax())
    if slots[worst] * blocks[worst] > _LARGEST:
        raise AnnotationError(
            f"{name} is for cases of up to about a thousand named classes, but in case "
            f"{str(annotations.cases[worst])!r} annotators name {slots[worst]:,} of them in {int(blocks[worst]):,} "
            "blocks: use prirn, or merge classes."
        )


def _whose(annotations: Annotations, annotation: int) -> str:
    case = annotations.cases[annotations.annotation_case[annotation]]
    annotator = annotations.annotators[annotations.annotation_annotator[annotation]]
    return f"case {str(case)!r}, annotator {str(annotator)!r}"
