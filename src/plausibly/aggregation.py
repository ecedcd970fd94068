"""From annotations to a posterior over plausibilities: the models by name, and what each of them takes."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Key

from plausibly import models
from plausibly._arviz import Posterior
from plausibly._joined import aggregate_in_shards
from plausibly._keys import case_keys, check_seed
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly._scored import aggregate_scores, check_prior, refuse_other_kind
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.annotations._scores import check_threshold
from plausibly.diagnostics import convergence
from plausibly.errors import AnnotationError, ArgumentError
from plausibly.inference import (
    MAX_TREE_DEPTH,
    THINNING,
    Program,
    check_repeats,
    dirichlet,
    dirichlet_tree,
    gibbs,
    log_likelihood,
    maximum_likelihood,
    nested_cases,
    no_trajectories,
    nuts,
    sweeps_per_draw,
)
from plausibly.models.dirichlet_categorical import posterior_concentration as label_posterior
from plausibly.models.irn import inverse_rank
from plausibly.models.majority_vote import vote
from plausibly.models.plackett_luce_ml import update as maximise
from plausibly.models.prirn import posterior_concentration as inverse_rank_posterior
from plausibly.posterior import REMAINDER_NAME, build_posterior, check_path, load, save, slots_of
from plausibly.reliabilities import check_inferable, infer_reliability

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


class _PerSlot:
    """Sums over the annotations of each case, by slot."""

    def __init__(self, annotations: Annotations, slots: Slots):
        self._slot = slots.find(annotations.entry_case, annotations.entry_class)
        self._position = annotations.entry_block
        self._tied = np.repeat(annotations.block_sizes, annotations.block_sizes)
        self._slots = slots

    def shares(self, weight: Callable[..., np.ndarray], *arguments: Any) -> Float[np.ndarray, " slot"]:
        """Total weight of each slot, normalised by case."""
        totals = self.totals(weight, *arguments)
        return totals / np.add.reduceat(totals, self._slots.start[:-1])[self._slots.case]

    def totals(self, weight: Callable[..., np.ndarray], *arguments: Any) -> Float[np.ndarray, " slot"]:
        """Total weight of each slot, given a function of an entry's position and the size of its block."""
        weights = weight(self._position, self._tied, *arguments)
        return np.bincount(self._slot, weights, len(self._slots))

    def winners(self) -> Float[np.ndarray, " slot"]:
        """The slots with the most votes, which they share if they tie."""
        votes = self.totals(vote)
        most = np.maximum.reduceat(votes, self._slots.start[:-1])[self._slots.case]
        won = (votes >= most * (1 - 1e-6)).astype(float)
        return won / np.add.reduceat(won, self._slots.start[:-1])[self._slots.case]


def _point(
    name: str, annotations: Annotations, slots: Slots, ties: str, keys: Key[Array, " case"], progress: Progress
) -> Float[np.ndarray, " slot"]:
    """The point estimate that belongs to a model: what its posterior contracts to as reliability grows."""
    if name in ("irn", "prirn"):
        return _PerSlot(annotations, slots).shares(inverse_rank, ties)
    if name == "dirichlet-categorical":
        return _PerSlot(annotations, slots).shares(vote)
    if name == "majority-vote":
        return _PerSlot(annotations, slots).winners()
    named = Slots.of(annotations, remainder=False)
    out = np.zeros(len(slots), np.float32)
    found = maximum_likelihood(annotations, named, maximise, keys, progress=progress)
    out[slots.find(named.case, named.class_index)] = found
    return out


def aggregate(
    annotations: Annotations | Scores,
    model: str | Callable[..., None] = "plackett-luce",
    *,
    reliability: float | Literal["infer"] | None = None,
    mode: Literal["power", "temper"] | None = None,
    unranked: Literal["lumped", "exact", "ignore"] | None = None,
    ties: Literal["split", "full"] | None = None,
    concentration: float | None = None,
    threshold: float | None = None,
    prior: Sequence[float] | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    engine: Literal["auto", "exact", "nuts", "gibbs", "ml"] = "auto",
    seed: int = 0,
    progress: bool = True,
    out: str | PathLike[str] | None = None,
    shard: int = 2000,
    fresh: bool = False,
) -> Posterior:
    r"""Infer the plausibilities of every case from its annotations.

    Parameters
    ----------
    annotations
        N cases over K classes, or scores of N cases.
    model
        ``"plackett-luce"``, ``"prirn"``, ``"dirichlet-categorical"`` (single labels), or the point estimates
        ``"irn"``, ``"plackett-luce-ml"`` and ``"majority-vote"``; ``"normal-scores"`` for scores; or a NumPyro program
        of one case, see :mod:`plausibly.models`.
    reliability
        :math:`\gamma > 0`, how far the annotators are trusted. By default 3 for Plackett-Luce, 30 for PrIRN, 1 else.
        ``"infer"`` gives it a prior, see :func:`plausibly.infer_reliability`, which can do more.
    mode
        Plackett-Luce: every annotation counts :math:`\gamma` times (``"power"``, the default), or annotators draw with
        weights :math:`\lambda^\gamma` (``"temper"``).
    unranked
        Plackett-Luce: the classes that nobody named in a case are together one class (``"lumped"``, the default), m
        classes (``"exact"``), or do not exist (``"ignore"``). Under ``"temper"`` they compete as one class with weight
        :math:`\lambda^\gamma` in either case, and ``"exact"`` concerns the prior alone.
    ties
        PrIRN and IRN: tied classes share a rank's weight (``"split"``, the default) or each get it (``"full"``).
    concentration
        Prior shape :math:`\alpha` of each class. By default 0.01 for PrIRN, 1 else.
    threshold
        Scores: the two classes are scores up to it and scores above it. There is no default.
    prior
        Scores: :math:`(m, \kappa, a, b)` of the normal-inverse-gamma prior that all cases share, see
        :class:`plausibly.case.NormalInverseGamma`. By default those of the greatest marginal likelihood of all scores,
        each of which counts once, whatever the reliability.
    draws, chains, warmup
        Kept draws per chain (250), chains (4), and trajectories or sweeps of each chain before the first (300, NUTS and
        Gibbs only). NUTS keeps the last of every three trajectories, of every four if a case has two slots; Gibbs the
        last of every three sweeps, of more at a reliability above 3.
    engine
        ``"exact"`` for independent draws where the posterior is known, ``"nuts"``, ``"gibbs"`` for Plackett-Luce by
        ``"power"`` with a whole reliability, ``"ml"`` for maximum likelihood. ``"auto"`` takes the first of these that
        the model has; of Plackett-Luce by ``"power"`` it draws exactly those cases whose annotators all agree on what
        was left at each of their draws, for example because each of them names one class, and the others by NUTS.
    seed
        Of all random numbers. Every case has its own, derived from the seed and the case's name.
    progress
        Show bars.
    out
        A file to write the posterior to, in shards of cases, so that memory is bounded by a shard and nothing is lost:
        after an interruption, the same call goes on with the shards that are finished, which it keeps beside the file
        in a folder of its name with ``.parts``. The draws that are returned stay in the file.
    shard
        Cases in a shard. (Scores, whose cases share a prior, are written as a whole.)
    fresh
        Start over, and forget what an interrupted call has finished.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        See :mod:`plausibly.posterior`. Draws of a Markov chain carry ``sample_stats``, and a group ``convergence`` by
        case, see :mod:`plausibly.diagnostics`. Exact draws among them have no trajectories: zero steps, energy 0.
        ``log_likelihood`` is that of single annotations, unscaled by reliability. A model without draws gives one chain
        of one draw, its point estimate. A posterior of scores has ``mean`` and ``variance`` of each case's scores
        beside the plausibilities (not by NUTS, which keeps plausibilities alone), and in ``constant_data`` the exact
        ``score_certainty``: the greater of the posterior-averaged probabilities up to the threshold and above.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or the model has no use for it.
    AnnotationError
        If the annotations are not of the kind that the model takes.
    FileError
        If ``out`` cannot be written.

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, section 2.3.

    Examples
    --------
    >>> annotations = Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]])
    >>> posterior = aggregate(annotations, "dirichlet-categorical", draws=1000, seed=1, progress=False)
    >>> posterior["posterior"]["plausibility"].mean(("chain", "draw")).astype(float).values.round(1).tolist()
    [0.6, 0.4, 0.8, 0.2]
    """
    settings: dict[str, Any] = {"draws": draws, "chains": chains, "warmup": warmup}
    if isinstance(reliability, str) and reliability == "infer":
        check_inferable(model, mode)
        useless = {"ties": ties, "threshold": threshold, "prior": prior, "engine": None if engine == "auto" else engine}
        for key, value in useless.items():
            if value is not None:
                raise ArgumentError(f"reliability='infer' has no use for {key}={value!r}: leave it out.")
        if out is not None:
            raise ArgumentError(
                "reliability='infer' makes one model of all cases, which comes in no shards, but out was given: "
                "leave it out, and save the posterior afterwards."
            )
        wanted = {"unranked": unranked, "concentration": concentration} | settings
        wanted = {key: value for key, value in wanted.items() if value is not None}
        return infer_reliability(annotations, **wanted, seed=seed, progress=progress)
    given = {"reliability": reliability, "mode": mode, "unranked": unranked, "ties": ties}
    given |= {"concentration": concentration, "threshold": threshold, "prior": prior} | settings
    automatic = engine == "auto"
    name, known, engine, arguments = settle(annotations, model, engine=engine, seed=seed, **given)
    described = _described(name, engine, seed, arguments)
    if isinstance(annotations, Scores):
        static = tuple((key, arguments[key]) for key in ("mode", "ties") if key in arguments)
        keys = case_keys(int(seed), annotations.cases)
        with Progress(progress) as bars:
            program = Program(known.program, static)
            found = aggregate_scores(annotations, program, engine, arguments, keys, described, bars)
        if not isinstance(model, str):
            _check_shares(name, annotations, slots_of(found), found["posterior"]["plausibility"].values)
        if out is None:
            return found
        # Cases share a prior, which shards would not; and scores are quick.
        check_path(out)
        save(found, out)
        return load(out, lazy=True)

    slots, _ = _lay_out(annotations, arguments)

    def infer(some: Annotations, progress: bool) -> Posterior:
        return _infer(
            some,
            model,
            known,
            arguments,
            described,
            automatic=automatic,
            quantities=len(slots),
            progress=progress,
        )

    if out is None:
        return infer(annotations, progress)
    if isinstance(shard, bool) or not isinstance(shard, int | np.integer) or shard < 1:
        raise ArgumentError(f"shard must be a whole number of at least 1, but {shard!r} was given.")
    check_path(out)
    return aggregate_in_shards(
        infer, annotations, slots, described, Path(out), shard=int(shard), fresh=fresh, progress=progress
    )


def refit(
    annotations: Annotations,
    model: str | Callable[..., None],
    *,
    engine: str = "auto",
    seed: int,
    progress: bool,
    **given: Any,
) -> Posterior:
    """As :func:`aggregate`, for draws alone: without log likelihoods, and with the mean of the draws as point estimate.

    These take as long as sampling, and whoever samples thousands of copies of cases has no use for them.
    """
    name, known, used, arguments = settle(annotations, model, engine=engine, seed=seed, **given)
    return _infer(
        annotations,
        model,
        known,
        arguments,
        _described(name, used, seed, arguments),
        automatic=engine == "auto",
        quantities=len(_lay_out(annotations, arguments)[0]),
        progress=progress,
        draws_alone=True,
    )


def _described(name: str, engine: str, seed: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"model": name, "engine": engine, "seed": int(seed)}
    described |= {key: value for key, value in arguments.items() if key not in ("concentration", "prior")}
    return described | {"arguments": json.dumps(arguments, sort_keys=True), "versions": _versions()}


def _infer(
    annotations: Annotations,
    model: str | Callable[..., None],
    known: Model,
    arguments: Mapping[str, Any],
    described: Mapping[str, Any],
    *,
    automatic: bool,
    quantities: int,
    progress: bool,
    draws_alone: bool = False,
) -> Posterior:
    """What :func:`aggregate` does to annotations, all or some of them; ``quantities`` are those judged together."""
    name, engine = described["model"], described["engine"]
    described = dict(described)
    keys = case_keys(described["seed"], annotations.cases)
    alpha = arguments.get("concentration", 0.0)
    slots, prior = _lay_out(annotations, arguments)
    static = tuple((key, arguments[key]) for key in ("mode", "ties") if key in arguments)
    program = Program(known.program, static)
    with Progress(progress) as bars:
        if engine in ("point", "ml"):
            point = _point(name, annotations, slots, arguments.get("ties", "split"), keys, bars)
            return build_posterior(
                point[None, None], annotations, slots, point=point, concentration=alpha, attrs=described
            )
        numbers = {"reliability": arguments["reliability"]} if "reliability" in arguments else {}
        diagnosed: xr.Dataset | None = None
        statistics = None
        if engine == "exact":
            shape = _exact_posterior(name, annotations, slots, prior, arguments)
            plausibility = dirichlet(shape, slots, keys, chains=arguments["chains"], draws=arguments["draws"])
        else:
            settings = {key: arguments[key] for key in SETTINGS} | {"progress": bars}
            if engine == "gibbs":
                plausibility, statistics = gibbs(annotations, slots, arguments["reliability"], prior, keys, **settings)
                described["thinning"] = sweeps_per_draw(arguments["reliability"])
            else:
                pooled = known is MODELS["plackett-luce"]
                exact = np.zeros(annotations.n_cases, bool)
                if pooled and automatic and (arguments["mode"] == "power" or arguments["reliability"] == 1):
                    exact = nested_cases(annotations)

                def sample(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
                    how = {"pooled": pooled, "gaps": arguments.get("mode") == "temper"}
                    return nuts(part, own, program, numbers, shape, keys[which], **how, **settings)

                def draw(which: np.ndarray, part: Annotations, own: Slots, shape: np.ndarray):
                    n = {key: arguments[key] for key in ("chains", "draws")}
                    made = dirichlet_tree(part, own, arguments["reliability"], shape, keys[which], **n)
                    return made, no_trajectories((*n.values(), len(which)))

                plausibility, statistics = _by_part(annotations, slots, prior, {draw: exact, sample: ~exact})
                described |= {"thinning": list(THINNING), "max_tree_depth": MAX_TREE_DEPTH}
                if pooled:
                    described["exact"] = f"{exact.sum()} of {annotations.n_cases} cases"
            release_memory()
            diagnosed = convergence(
                plausibility,
                slots,
                statistics.get("diverging"),
                quantities=quantities,
                statistics=statistics,
                progress=bars,
            )
            described["converged"] = f"{int(diagnosed['converged'].sum())} of {annotations.n_cases} cases"
        if draws_alone:
            point, likelihood = plausibility.mean((0, 1)), None
        elif isinstance(model, str):
            point = _point(name, annotations, slots, arguments.get("ties", "split"), keys, bars)
            release_memory()
            likelihood = log_likelihood(annotations, slots, program, numbers, prior, plausibility, keys, progress=bars)
        else:
            _check_shares(name, annotations, slots, plausibility)
            # Of a program nothing is known but its draws.
            point, likelihood = plausibility.mean((0, 1)), None
    return build_posterior(
        plausibility,
        annotations,
        slots,
        point=point,
        concentration=alpha,
        sample_stats=statistics,
        log_likelihood=likelihood,
        convergence=diagnosed,
        attrs=described,
    )


def _check_shares(
    name: str, annotations: Annotations | Scores, slots: Slots, plausibility: Float[np.ndarray, "chain draw slot"]
) -> None:
    """Refuse draws of somebody's program that are no distributions over classes; NaN is for the diagnosis to find."""
    total = np.add.reduceat(plausibility, slots.start[:-1], axis=-1)
    wrong = np.abs(total - 1) > 1e-3
    wrong |= np.minimum.reduceat(plausibility, slots.start[:-1], axis=-1) < 0
    if wrong.any():
        chain, draw, case = np.argwhere(wrong)[0]
        own = plausibility[chain, draw, slots.start[case] : slots.start[case + 1]]
        raise ArgumentError(
            f"the site 'plausibility' of {name} must be shares of the slots of a case, but in case "
            f"{str(annotations.cases[case])!r} one draw is {np.round(own, 3).tolist()}: let them sum to 1, and none be "
            "negative."
        )


def _by_part(annotations, slots, prior, engines):
    """Apply each engine to its own cases, and put together what they return."""
    plausibility, statistics = np.empty(0), {}
    for engine, which in engines.items():
        if not which.any():
            continue
        part = annotations if which.all() else annotations.select(np.flatnonzero(which))
        inside = which[slots.case]
        own = slots if which.all() else slots.select(which)
        draws, found = engine(np.flatnonzero(which), part, own, prior[inside])
        if not plausibility.size:
            plausibility = np.empty((*draws.shape[:2], len(slots)), draws.dtype)
        plausibility[..., inside] = draws
        for name, values in found.items():
            whole = statistics.setdefault(name, np.empty((*draws.shape[:2], annotations.n_cases), values.dtype))
            whole[..., which] = values
    return plausibility, statistics


def _lay_out(annotations: Annotations, arguments: Mapping[str, Any]) -> tuple[Slots, Float[np.ndarray, " slot"]]:
    """The slots that a model's arguments give mass, and the prior shape of each."""
    alpha = arguments.get("concentration", 0.0)
    slots = Slots.of(annotations, remainder=alpha > 0 and arguments.get("unranked") != "ignore")
    lumped = arguments.get("unranked") == "lumped"
    return slots, np.where(slots.is_remainder & (not lumped), slots.n_classes, 1) * alpha


def expected_plausibility(
    annotations: Annotations, name: str, engine: str, arguments: Mapping[str, Any], *, progress: Progress
) -> tuple[Slots, Float[np.ndarray, " slot"]]:
    """Plausibilities that no draws are needed for: the mean of a Dirichlet posterior, or a point estimate.

    Parameters
    ----------
    annotations, name, engine, arguments
        As :func:`settle` returns them; the engine is ``"exact"``, ``"point"`` or ``"ml"``.
    progress
        Where to report.
    """
    slots, prior = _lay_out(annotations, arguments)
    if engine == "exact":
        shape = _exact_posterior(name, annotations, slots, prior, arguments)
        return slots, shape / np.add.reduceat(shape, slots.start[:-1])[slots.case]
    keys = case_keys(0, annotations.cases)  # Nothing is random.
    return slots, _point(name, annotations, slots, arguments.get("ties", "split"), keys, progress)


def _exact_posterior(
    name: str, annotations: Annotations, slots: Slots, prior: Float[np.ndarray, " slot"], arguments: Mapping[str, Any]
) -> Float[np.ndarray, " slot"]:
    per_slot = _PerSlot(annotations, slots)
    if name == "prirn":
        shares = per_slot.shares(inverse_rank, arguments["ties"])
        return inverse_rank_posterior(shares, prior, arguments["reliability"])
    return label_posterior(per_slot.totals(vote), prior, arguments["reliability"])


def _versions() -> str:
    packages = ("plausibly", "numpyro", "jax", "jaxlib", "numpy", "arviz")
    return json.dumps({package: version(package) for package in packages})
