"""From annotations, all or those of a shard, to their posterior: what runs, once everything is settled."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from plausibly._arviz import Posterior
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.aggregation._point_estimates import exact_posterior, lay_out, point_estimate
from plausibly.aggregation._registry import MODELS, SETTINGS, find_model
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.diagnostics import convergence
from plausibly.errors import ArgumentError
from plausibly.inference import (
    MAX_TREE_DEPTH,
    THINNING,
    Program,
    dirichlet,
    dirichlet_tree,
    gibbs,
    log_likelihood,
    nested_cases,
    no_trajectories,
    nuts,
    sweeps_per_draw,
)
from plausibly.posterior import build_posterior
from plausibly.random_streams import case_keys


def infer_cases(
    annotations: Annotations,
    *,
    model: str | Callable[..., None],
    arguments: Mapping[str, Any],
    described: Mapping[str, Any],
    automatic: bool,
    quantities: int,
    progress: bool,
    draws_alone: bool = False,
) -> Posterior:
    """What :func:`aggregate` does to annotations, all or some of them; ``quantities`` are those judged together.

    It may do so in another process, so all arguments can be sent there.
    """
    known = find_model(model)
    name, engine = described["model"], described["engine"]
    described = dict(described)
    keys = case_keys(described["seed"], annotations.cases)
    alpha = arguments.get("concentration", 0.0)
    slots, prior = lay_out(annotations, arguments)
    static = tuple((key, arguments[key]) for key in ("mode", "ties") if key in arguments)
    program = Program(known.program, static)
    with Progress(progress) as bars:
        if engine in ("point", "ml"):
            point = point_estimate(name, annotations, slots, arguments.get("ties", "split"), keys, bars)
            return build_posterior(
                point[None, None], annotations, slots, point=point, concentration=alpha, attrs=described
            )
        numbers = {"reliability": arguments["reliability"]} if "reliability" in arguments else {}
        diagnosed: xr.Dataset | None = None
        statistics = None
        if engine == "exact":
            shape = exact_posterior(name, annotations, slots, prior, arguments)
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
        if isinstance(model, str) and not draws_alone:
            point = point_estimate(name, annotations, slots, arguments.get("ties", "split"), keys, bars)
            release_memory()
            likelihood = log_likelihood(annotations, slots, program, numbers, prior, plausibility, keys, progress=bars)
        else:
            if not isinstance(model, str):
                check_shares(name, annotations, slots, plausibility)
            # Of a program nothing is known but its draws, and of others nothing else may be wanted.
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


def check_shares(
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
