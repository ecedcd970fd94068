"""The models by name, and what each of them takes."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from plausibly import models
from plausibly.errors import ArgumentError

CHOICES = {"mode": ("power", "temper"), "unranked": ("lumped", "exact", "ignore"), "ties": ("split", "full")}
SETTINGS = {"draws": 250, "chains": 4, "warmup": 300}  #: of the engines that draw

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Model:
    """What :func:`aggregate` knows about a model."""

    program: Callable[..., None]
    engines: tuple[str, ...]  #: the first is what "auto" means
    arguments: Mapping[str, Any] = field(default_factory=dict)  #: those it takes, with their defaults
    reliabilities: tuple[float, ...] = ()  #: its usual sweep
    of_scores: bool = False  #: whether it takes scores, and not partial rankings


MODELS = {
    "dirichlet-categorical": Model(
        models.dirichlet_categorical, ("exact", "nuts"), {"reliability": 1.0, "concentration": 1.0}, (1, 2, 3, 5, 10)
    ),
    "irn": Model(models.irn, ("point",), {"ties": "split"}),
    "prirn": Model(
        models.prirn,
        ("exact", "nuts"),
        {"reliability": 30.0, "concentration": 0.01, "ties": "split"},
        (10, 20, 30, 50, 100),
    ),
    "plackett-luce": Model(
        models.plackett_luce,
        ("nuts", "gibbs"),
        {"reliability": 3.0, "concentration": 1.0, "mode": "power", "unranked": "lumped"},
        (1, 2, 3, 5, 10),
    ),
    "plackett-luce-ml": Model(models.plackett_luce_ml, ("ml",)),
    "normal-scores": Model(
        models.normal_scores,
        ("exact", "nuts"),
        {"reliability": 1.0, "threshold": None, "prior": None},
        (1, 2, 3, 5, 10),
        of_scores=True,
    ),
    "majority-vote": Model(models.majority_vote, ("point",)),
}


def find_model(model: str | Callable[..., None], of_scores: bool = False) -> Model:
    """Look a model up by name, or describe a NumPyro program by its signature.

    Parameters
    ----------
    model
        Name or program.
    of_scores
        Whether a program is called with the scores of a case.

    Raises
    ------
    ArgumentError
        If there is no model of that name, or the program does not take a case first, or takes what no engine gives it.
    """
    if isinstance(model, str):
        if model not in MODELS:
            raise ArgumentError(f"there is no model {model!r}: choose from {', '.join(MODELS)}, or pass a program.")
        return MODELS[model]
    if not callable(model):
        raise ArgumentError(f"model must be a name or a NumPyro program, but {model!r} was given.")
    parameters = list(inspect.signature(model).parameters.values())
    if not parameters:
        raise ArgumentError(f"a NumPyro program must take a case as its first argument, but {model} takes none.")
    taken: dict[str, Any] = {"concentration": 1.0, "unranked": "lumped"}
    if of_scores:
        taken = {"threshold": None, "prior": None}
    for parameter in parameters[1:]:
        if parameter.name in ("reliability", "mode", "ties"):
            first = 1.0 if parameter.name == "reliability" else CHOICES[parameter.name][0]
            taken[parameter.name] = first if parameter.default is parameter.empty else parameter.default
        elif parameter.default is parameter.empty and parameter.kind not in _VARIADIC:
            raise ArgumentError(
                f"{model} asks for {parameter.name!r}, which no engine provides: give it a default, or bind it with "
                "functools.partial."
            )
    return Model(model, ("nuts",), taken, of_scores=of_scores)


def takes(model: str | Callable[..., None], engine: str = "auto", of_scores: bool = False) -> dict[str, Any]:
    """List the arguments that a model and an engine have a use for, with their defaults.

    Parameters
    ----------
    model, of_scores
        As for :func:`find_model`.
    engine
        Of the model.

    Examples
    --------
    >>> takes("irn"), list(takes("prirn"))
    ({'ties': 'split'}, ['reliability', 'concentration', 'ties', 'draws', 'chains'])
    """
    known = find_model(model, of_scores)
    engine = known.engines[0] if engine == "auto" else engine
    settings = {"point": (), "ml": (), "exact": ("draws", "chains")}.get(engine, tuple(SETTINGS))
    return dict(known.arguments) | {key: SETTINGS[key] for key in settings}
