"""Draws of the model of all outcomes, and of the mean outcomes that people would give."""

import sys
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from numpyro import handlers
from numpyro.handlers import reparam
from numpyro.infer import MCMC, NUTS, init_to_median
from numpyro.infer.reparam import LocScaleReparam

from plausibly._arviz import Posterior, from_groups
from plausibly._progress import Progress
from plausibly.families.settled import SharedDraws
from plausibly.fingerprint import versions_text
from plausibly.inference import STATISTICS
from plausibly.models.judged_outcomes import Parameters, facets, judged_outcomes, log_of_nodes, quality_of
from plausibly.systems._layout import Layout

MEANS = "mean", "mean_of_these", "mean_of_new_people"
#: Sites that are sampled as multiples of their spread, as few outcomes tell of each.
APART = "severity_of_people", "log_discrimination"
MAX_TREE_DEPTH = 8
_GRID = np.linspace(-15, 15, 301, dtype=np.float32)  # log odds between which mean outcomes are linear
_NEW = 5, 3, 3  # nodes of severity, discrimination and preference for the middle, of other people


def sample(
    layout: Layout, systems: np.ndarray, *, draws: int, chains: int, warmup: int, seed: int, progress: bool
) -> Posterior:
    """Sample the model by NUTS.

    Returns
    -------
    xarray.DataTree
        ``posterior`` has the parameters by ``system``, ``rater`` and ``judge``, and the mean outcomes by ``system``,
        from 0 to 1 or in ratings: ``mean`` on new cases like these, ``mean_of_these``, by the people here, each of whom
        counts by the number of outcomes; and ``mean_of_new_people``, on new cases by other people like these.
        ``convergence`` is by quantity: means of systems, spreads and biases.
    """
    judged, nodes = jax.tree.map(jnp.asarray, (layout.judged, layout.nodes))
    sampler = MCMC(
        kernel(),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=progress and sys.stderr.isatty(),
    )
    sampler.run(jax.random.key(seed), judged, nodes, extra_fields=tuple(STATISTICS))
    sites = sampler.get_samples(group_by_chain=True)
    fields = sampler.get_extra_fields(group_by_chain=True)
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in sites.items()}
    found = jax.jit(lambda drawn: jax.lax.map(lambda one: of_draw(layout, one), drawn, batch_size=20))(flat)
    found = {name: np.asarray(values).reshape(chains, draws, *values.shape[1:]) for name, values in found.items()}
    statistics = {ours: np.asarray(fields[theirs]) for theirs, ours in STATISTICS.items()}
    return _posterior(layout, systems, found, statistics, seed, warmup, progress)


def kernel() -> NUTS:
    """Return the sampler of the model."""
    program = reparam(judged_outcomes, config={name: LocScaleReparam(0) for name in APART})
    return NUTS(program, max_tree_depth=MAX_TREE_DEPTH, init_strategy=init_to_median(num_samples=15))


def of_draw(layout: Layout, sites: dict[str, Array]) -> dict[str, Array]:
    """Parameters, and mean outcomes of systems, of one draw of the sites."""
    judged, nodes = jax.tree.map(jnp.asarray, (layout.judged, layout.nodes))
    p = cast(Parameters, handlers.substitute(handlers.seed(facets, 0), sites)(judged))
    n = len(judged.person)
    here = _mean_outcome(layout, p.severity[:n], p.discrimination[:n], p.step[:n], judged.person / judged.person.sum())
    kept = {name: value for name, value in sites.items() if name.endswith("_spread")}
    usual = sites.get("step_of_people", jnp.zeros(0))
    new = _mean_outcome(layout, *_new_people(kept, sites.get("first", 0.0), usual))
    x = quality_of(judged, p)[layout.first, None] + p.output_spread * nodes.quality
    log = log_of_nodes(judged, nodes, p)
    weights = jnp.exp(nodes.log_weight), jax.nn.softmax(log, axis=-1), jnp.exp(nodes.log_weight)
    curves = here, here, new
    means = {
        name: _by_system(layout, (weight * jnp.interp(x, _GRID, curve)).sum(-1))
        for name, weight, curve in zip(MEANS, weights, curves, strict=True)
    }
    shown = {name: value for name, value in p._asdict().items() if value.size}
    return kept | shown | means


def _mean_outcome(layout: Layout, severity, discrimination, step, weight) -> Float[Array, " grid"]:
    """Mean outcome that people would give at each point of the grid; of pairs, in both orders."""
    values, score = (jnp.asarray(one, jnp.float32) for one in (layout.values, layout.judged.score))
    both = (1, -1) if layout.judged.opponent is not None else (1,)

    def at(x):
        odds = [discrimination * x + sign * severity for sign in both]
        share = sum(jax.nn.softmax(one[:, None] * score + step, axis=-1) for one in odds) / len(both)
        return weight @ (share @ values)

    return jax.lax.map(at, jnp.asarray(_GRID), batch_size=64)


def _new_people(spreads: dict[str, Array], first, usual) -> tuple[Array, Array, Array, Array]:
    """Severity, discrimination, steps and weights of nodes of the population of people."""
    rules = [np.polynomial.hermite_e.hermegauss(n) for n in _NEW]
    severity, log_discrimination, middle = (one.ravel() for one in np.meshgrid(*(x for x, _ in rules)))
    weight = np.meshgrid(*(of / of.sum() for _, of in rules))
    inner = jnp.zeros((len(middle), 0))
    if usual.size:
        inner = usual + spreads["middle_spread"] * middle[:, None]
    return (
        first + spreads["severity_spread"] * severity,
        jnp.exp(spreads["discrimination_spread"] * log_discrimination),
        jnp.pad(inner, ((0, 0), (1, 1))),
        jnp.asarray(np.prod(weight, axis=0).ravel(), jnp.float32),
    )


def _by_system(layout: Layout, of_cell: Float[Array, " cell"]) -> Float[Array, " system"]:
    """Mean over the cells of each system; what one system of a pair wins, the other loses."""
    judged, n = layout.judged, np.shape(layout.judged.own)[1]
    times, first = jnp.asarray(judged.times), jnp.asarray(judged.system)[layout.first]
    total = jnp.zeros(n).at[first].add(times * of_cell)
    number = jnp.zeros(n).at[first].add(times)
    if judged.opponent is not None:
        second = jnp.asarray(judged.opponent)[layout.first]
        total = total.at[second].add(times * (1 - of_cell))
        number = number.at[second].add(times)
    return total / number


def _posterior(layout, systems, found, statistics, seed: int, warmup: int, progress: bool) -> Posterior:
    judges = layout.raters[len(layout.judged.person) :]
    names: dict[str, Any] = {"system": systems, "rater": layout.raters, "judge": judges, "category": layout.values}
    dims = {"quality": ["system"], "severity": ["rater"], "discrimination": ["rater"], "step": ["rater", "category"]}
    dims |= {name: ["judge"] for name in ("bias_longer", "lapse", "guess")} | {"bias": ["judge", "system"]}
    dims |= {name: ["system"] for name in MEANS}
    coordinates = {"chain": np.arange(len(found["mean"])), "draw": np.arange(found["mean"].shape[1])}
    variables = {name: (["chain", "draw", *dims.get(name, [])], value) for name, value in found.items()}
    judged = [*MEANS, "bias", *(name for name in found if name.endswith("_spread"))]
    judged = {name: tuple(dims.get(name, [])) for name in judged if name in found and found[name].any()}
    with Progress(progress and len(systems) > 300) as bars:
        n_diverging = int(statistics["diverging"].sum())
        convergence = SharedDraws.of(found, judged, names, n_diverging=n_diverging, progress=bars).judged
    groups = {
        "posterior": xr.Dataset(variables, coordinates | names),
        "sample_stats": xr.Dataset({name: (("chain", "draw"), one) for name, one in statistics.items()}, coordinates),
        "convergence": convergence,
    }
    attrs = {"model": "judged-outcomes", "warmup": warmup, "seed": seed, "versions": versions_text()}
    return from_groups(groups, attrs)
