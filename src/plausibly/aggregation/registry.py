"""Models by name, by declaration or as a bare program; and which arguments each of them accepts."""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from plausibly.base.errors import ArgumentError, suggest
from plausibly.families.model import SETTINGS, Model
from plausibly.models import MODELS

_OPTIONS = {"mode": ("power", "temper"), "ties": ("split", "full")}  # of programs without a declaration
_UNRANKED = {"unranked": ("lumped", "exact", "ignore")}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

AnyModel = str | Model | Callable[..., None]


def unknown_model(name: str, other: str = "") -> str:
    """Say that no model has a name, with the one that is nearest to it, or all of them and what else can be done."""
    otherwise = f"choose from {', '.join(MODELS)}{other and f', or {other}'}."
    return f"there is no model {name!r}: {suggest(name, MODELS, otherwise, cutoff=0.7)}"


def find_model(model: AnyModel, of_scores: bool = False) -> Model:
    """Look up a model by its name, or describe a NumPyro program (for scores or not) by its signature.

    A program without a declaration has concentration 1, ``unranked="lumped"``, a prior that may be learned from labels
    or predictions (``class_prior``), and those of ``reliability`` (1 unless it has a default), ``mode`` and ``ties``
    that are in its signature. Its first argument must be a case, and all
    others need defaults. It is sampled by NUTS, its point estimate is the mean of the draws, it has no log likelihood,
    and annotators make their first choice in proportion to the plausibilities or, with ``mode="temper"``, to a power of
    them.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        if model not in MODELS:
            other = "import the file and pass its `model`" if model.endswith(".py") else "pass a program"
            raise ArgumentError(unknown_model(model, other))
        return MODELS[model]
    if not callable(model):
        fix = "pass its `model`" if isinstance(model, ModuleType) else "pass for example 'prirn'"
        raise ArgumentError(f"model must be a name, a Model or a NumPyro program, but {model!r} was given: {fix}.")
    parameters = list(inspect.signature(model).parameters.values())
    if not parameters:
        raise ArgumentError(f"a NumPyro program must take a case as its first argument, but {model} takes none.")
    reliability = None
    options: dict[str, tuple[Any, ...]] = {} if of_scores else dict(_UNRANKED)
    for parameter in parameters[1:]:
        name, default = parameter.name, parameter.default
        if name == "reliability":
            reliability = 1.0 if default is parameter.empty else default
        elif name in _OPTIONS:
            values = _OPTIONS[name]
            first = values[0] if default is parameter.empty else default
            options[name] = (first, *(value for value in values if value != first))
        elif default is parameter.empty and parameter.kind not in _VARIADIC:
            raise ArgumentError(
                f"{model} asks for {name!r}, which no engine provides: give it a default, or bind it with "
                "functools.partial."
            )
    return Model(
        name=getattr(model, "__name__", "program"),
        program=model,
        takes="scores" if of_scores else "rankings",
        reliability=reliability,
        concentration=None if of_scores else 1.0,
        options=options,
        first_choice=_tempered if "mode" in options and reliability is not None else None,
    )


def _tempered(*, reliability: float, mode: str, **_: Any) -> float | None:
    return reliability if mode == "temper" else None


def accepted(model: Model, engine: str = "auto") -> dict[str, Any]:
    """List the arguments that a model and an engine accept, with their defaults.

    Examples
    --------
    >>> accepted(MODELS["irn"]), list(accepted(MODELS["prirn"]))
    ({'ties': 'split'}, ['reliability', 'concentration', 'ties', 'class_prior', 'draws', 'chains'])
    """
    engine = model.engines[0] if engine == "auto" else engine
    alone = ("draws", "chains")
    settings = {"point": (), "ml": (), "exact": alone}.get(engine, tuple(SETTINGS))
    return model.arguments | {key: SETTINGS[key] for key in settings}
