"""Variants: models with options and reliabilities, as functions and commands that run several of them name them.

In Python they are a mapping, from names to reliabilities or to arguments:

>>> variants = {"prirn": (10, 30), "irn": None, "sparse": {"model": "plackett-luce", "concentration": 0.1}}
>>> [variant.label for variant in read_variants(variants)]
['prirn', 'irn', 'sparse']

On the command line each is a text, ``NAME@R1,R2:option=value:option=value``, in which NAME may be the path of a Python
file that ends with its :class:`plausibly.Model`, called ``model``:

>>> [variant.label for variant in parse_variants(["prirn@10,30:ties=full", "irn"])]
['prirn:ties=full', 'irn']

:func:`plan_runs` makes runs of them, each a model at one reliability, and checks every one before any is computed.
"""

import re
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from plausibly.aggregation._arguments import LEARNED, check_kind, family_of, settle
from plausibly.aggregation.registry import AnyModel, accepted, find_model, unknown_model
from plausibly.base.errors import ArgumentError, FileError, show
from plausibly.data.annotations import Annotations, Scores
from plausibly.families import Settled
from plausibly.families.model import Model
from plausibly.models import MODELS

_OF_ALL = {"seed", "progress", "out", "shard", "fresh", "scheduler", "version"}  # arguments that runs have in common


@dataclass(frozen=True)
class Variant:
    """A model with options and reliabilities."""

    label: str  #: name of the variant; those of its runs begin with it
    model: AnyModel
    reliabilities: Any = None  #: reliabilities to run it at, None for the usual ones of the model
    arguments: Mapping[str, Any] = field(default_factory=dict)  #: further arguments of :func:`plausibly.aggregate`
    single: bool = False  #: whether there is one run, which is called by the label alone


Variants = Mapping[AnyModel, Sequence[float] | Mapping[str, Any] | None] | Sequence[Variant] | Sequence[str]


@dataclass(frozen=True)
class PlannedRun:
    """A model at one reliability, completely checked."""

    label: str  #: name of the run, such as ``"prirn@10"``
    variant: str  #: label of the variant it belongs to
    reliability: float  #: NaN for a model that has none
    model: AnyModel
    arguments: Mapping[str, Any]  #: those given to :func:`plausibly.aggregate`, the reliability included
    settled: Settled  #: the declaration, the engine and all arguments with their defaults


def run_label(label: str, reliability: float) -> str:
    """Join the label of a variant and its reliability, if any, in the form used on the command line.

    Examples
    --------
    >>> run_label("prirn", 10.0), run_label("irn", float("nan")), run_label("prirn:ties=full", 3)
    ('prirn@10', 'irn', 'prirn@3:ties=full')
    """
    name, colon, options = label.partition(":")
    return label if np.isnan(reliability) else f"{name}@{reliability:.15g}{colon}{options}"


def read_variants(models: Variants) -> list[Variant]:
    """Read variants from a mapping; variants themselves are returned as they are.

    The mapping is from a name, Model or program to its reliabilities; None stands for the usual ones, or for a model
    without any. Or it is from any label to a mapping with ``model`` (unless the label is the name of one),
    ``reliability`` (one or several) and further arguments of :func:`plausibly.aggregate`, except those that belong to
    all runs. A list of names is read as on the command line (:func:`parse_variant`).
    """
    if isinstance(models, Sequence) and not isinstance(models, str) and all(isinstance(one, str) for one in models):
        return parse_variants(models, "a model")
    if isinstance(models, Sequence) and models and all(isinstance(variant, Variant) for variant in models):
        return list(models)
    if not isinstance(models, Mapping):
        raise ArgumentError(
            f"models must be names, or a mapping to reliabilities, but {show(models)} was given: write for example "
            "{model: (1, 3, 10), another: None}."
        )
    return [_read(name, value) for name, value in models.items()]


def _read(name: AnyModel, value: Any) -> Variant:
    label = name if isinstance(name, str) else find_model(name).name
    if not isinstance(value, Mapping):
        return Variant(label, name, value)
    arguments = dict(value)
    model, reliabilities = arguments.pop("model", name), arguments.get("reliability")
    for argument in _OF_ALL & arguments.keys():
        raise ArgumentError(
            f"{argument} belongs to all runs, but {label!r} has its own: give it to the function itself."
        )
    if reliabilities is None or isinstance(reliabilities, str) or np.ndim(reliabilities) == 0:
        return Variant(label, model, None, arguments, single=True)
    del arguments["reliability"]
    return Variant(label, model, reliabilities, arguments)


def parse_variants(texts: Sequence[str], option: str = "--model") -> list[Variant]:
    """Read variants from the command line, as :func:`parse_variant` does."""
    return [parse_variant(text, option) for text in texts]


def parse_variant(text: str, option: str = "--model") -> Variant:
    """Read ``NAME@R1,R2:option=value:option=value``; NAME may be the path of a Python file.

    Examples
    --------
    >>> variant = parse_variant("plackett-luce@1,3:mode=temper:concentration=0.5")
    >>> variant.label, variant.reliabilities, dict(variant.arguments)
    ('plackett-luce:mode=temper:concentration=0.5', [1.0, 3.0], {'mode': 'temper', 'concentration': 0.5})
    """
    found = re.fullmatch(r"(.*?\.py|[^@:]*)(?:@([^:]*))?(?::(.*))?", text, re.DOTALL)
    name, numbers, options = found.groups() if found else (text, None, None)
    if not name.endswith(".py") and name not in MODELS:
        raise ArgumentError(unknown_model(name, "name a Python file that declares one"))
    model = load_model(name) if name.endswith(".py") else name
    label = ":".join(part for part in (find_model(model).name, options) if part)
    pairs = [part.partition("=") for part in options.split(":")] if options else []
    if not all(key and value and key not in {"model", "reliability", *_OF_ALL} for key, _, value in pairs):
        raise ArgumentError(
            f"{option} must be NAME@R1,R2:option=value, but {text!r} was given: write for example "
            f"{name}@1,3:concentration=0.5."
        )
    try:
        reliabilities = None if numbers is None else [float(number) for number in numbers.split(",")]
    except ValueError:
        raise ArgumentError(
            f"the reliabilities of {option} {text!r} must be numbers separated by commas, but {numbers!r} was given: "
            f"write for example {name}@1,3,10."
        ) from None
    return Variant(label, model, reliabilities, {key: _value(value) for key, _, value in pairs})


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return [_value(part) for part in text.split(",")] if "," in text else text


def load_model(path: str | Path) -> Model:
    """Run a Python file and return its ``model``, a :class:`plausibly.Model`."""
    try:
        # Outside sys.modules, so that its program is sent to workers of a cluster by value.
        model = runpy.run_path(str(path), run_name=f"plausibly_model_{Path(path).stem}").get("model")
    except Exception as error:
        raise FileError(
            f"{path} cannot be run as a Python file with a model ({type(error).__name__}: {error}): fix the file or "
            "the path, and try again."
        ) from error
    if not isinstance(model, Model):
        raise FileError(
            f"{path} must end with the declaration of its model, but has {'no' if model is None else 'another'} "
            "'model': add model = pb.Model(name=…, program=…)."
        )
    return model


def plan_runs(
    observed: Annotations | Scores,
    models: Variants,
    common: Mapping[str, Any] | None = None,
    *,
    predictions: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> list[PlannedRun]:
    """Check the runs of some variants, and compute nothing.

    Common arguments of :func:`plausibly.aggregate` are passed to every variant that accepts them and has no other
    value; arguments that are None are left out. Those with ``class_prior="predictions"`` are given the predictions. It
    is an error if :func:`plausibly.aggregate` would refuse a run, no
    variant accepts a common argument, or two runs have the same label.
    """
    variants = read_variants(models)
    common = {name: value for name, value in (common or {}).items() if value is not None}
    known = [
        find_model(variant.model, isinstance(observed, Scores)).given(common | dict(variant.arguments))
        for variant in variants
    ]
    for model in known:
        check_kind(model, observed)
    own = [
        accepted(model, engine if (engine := variant.arguments.get("engine")) in model.engines else "auto")
        for model, variant in zip(known, variants, strict=True)
    ]
    for variant, model, taken in zip(variants, known, own, strict=True):
        says = family_of(model).says(model)
        if variant.arguments.get("class_prior") in LEARNED and says.takes_prior:
            taken["prior_kappa"] = None
        if says.groups:
            taken["annotator_groups"] = None
    for name in common.keys() - set().union(*own) if variants else ():
        raise ArgumentError(
            f"none of the models accepts {name}={common[name]!r}, but it was given: leave it out, or add a model that "
            "does."
        )
    runs: dict[str, PlannedRun] = {}
    for variant, model, taken in zip(variants, known, own, strict=True):
        given = {name: value for name, value in common.items() if name in taken} | dict(variant.arguments)
        if given.get("class_prior") == "predictions":
            given.setdefault("predictions", predictions)
        for reliability in [None] if variant.single else reliabilities(model, variant.reliabilities):
            arguments = given if reliability is None else given | {"reliability": reliability}
            if str(arguments.get("reliability")) == "infer":
                raise ArgumentError(
                    "an inferred reliability fits one model to all cases, which is not run alongside others, but "
                    f"reliability='infer' was given for {variant.label}: give numbers instead."
                )
            settled = settle(observed, variant.model, seed=seed, **arguments)
            used = settled.arguments.get("reliability", np.nan)
            label = variant.label if variant.single else run_label(variant.label, used)
            if label in runs:
                raise ArgumentError(f"{label} is given 2 times: give each run once.")
            runs[label] = PlannedRun(label, variant.label, used, variant.model, arguments, settled)
    return list(runs.values())


def reliabilities(model: Model, wanted: Sequence[float] | None) -> Sequence[float | None]:
    """Reliabilities at which to run a model, None for a model that has none."""
    if model.reliability is None:
        if wanted is not None and np.size(wanted):
            raise ArgumentError(
                f"{model.name} has no reliability, but {np.ravel(wanted)[0].item()!r} was given: leave it out."
            )
        return [None]
    if wanted is None:
        return model.reliabilities or [model.reliability]
    if np.ndim(wanted) != 1 or not len(wanted):
        raise ArgumentError(
            f"the reliabilities of {model.name} must be a list of numbers, but {show(wanted)} was given: write for "
            "example (1, 3, 10), or give None for the usual ones."
        )
    return wanted
