"""Draws of the model of all outcomes, and of the mean outcomes that people would give."""

from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from numpyro import handlers
from numpyro.infer import NUTS, init_to_median

from plausibly._arviz import Posterior, from_groups
from plausibly._progress import Progress
from plausibly.compute import Part, run
from plausibly.diagnostics import passed
from plausibly.families.settled import ENOUGH, SharedDraws
from plausibly.fingerprint import versions_text
from plausibly.inference import STATISTICS
from plausibly.models.judged_outcomes import (
    JudgedOutcomes,
    Parameters,
    facets,
    judged_outcomes,
    log_of_cells,
    log_of_nodes,
    quality_of,
)
from plausibly.systems._layout import Layout, chosen, finer_nodes

MEANS = "mean", "mean_of_these", "mean_of_new_people"
TARGET_ACCEPT = 0.95
MAX_TREE_DEPTH = 6, 8  # in the warm-up, and after
_BLOCK = 25  # draws between two looks at how far chains are
_TRIED = 10  # draws of each chain for which the integral is computed with more nodes
_NEGLIGIBLE = 0.5  # standard deviation of what more nodes add to the log likelihood
_AT_ONCE = 4  # draws whose mean outcomes are computed side by side
#: Sites with an element for each system or person, and those that outcomes do not tell of.
OF_EACH = "average", "said", "severity_of_people", "discrimination_of_people", "middle_of_people", "population"
_GRID = np.linspace(-15, 15, 301, dtype=np.float32)  # log odds between which mean outcomes are linear
_NEW = 5, 3, 3  # nodes of severity, discrimination and preference for the middle, of other people


def sample(
    layout: Layout, systems: np.ndarray, *, draws: int, chains: int, warmup: int, seed: int, progress: bool
) -> Posterior:
    """Sample the model by NUTS; again with more nodes where the integral over cells needs them.

    Returns
    -------
    xarray.DataTree
        ``posterior`` has the parameters by ``system``, ``rater`` and ``judge``, and the mean outcomes by ``system``,
        from 0 to 1 or in ratings: ``mean`` on new cases like these, ``mean_of_these``, by the people here, each of whom
        counts by the number of outcomes; and ``mean_of_new_people``, on new cases by other people like these.
        ``convergence`` is by quantity: means of systems, spreads and biases.
    """
    given = layout.judged, layout.nodes
    several = [at for at, of in enumerate(layout.nodes.at) if len(of) > 1]
    parts = [Part("chain", 1, np.array([chain])) for chain in range(chains)]
    keys = np.asarray(jax.random.split(jax.random.PRNGKey(seed), chains))

    def begun(key, given):
        """Set the sampler up, within the program that uses it, which drops the state if it needs none."""
        nuts = kernel(given[0])
        return nuts, nuts.init(key, warmup, None, given, {})

    def block(state, *given):
        nuts, _ = begun(state.rng_key, given)

        def step(state, _):
            state = nuts.sample(state, given, {})
            return state, (state.z, {ours: getattr(state, theirs) for theirs, ours in STATISTICS.items()})

        return jax.lax.scan(step, state, None, _BLOCK)

    def outcomes(z, values, *given):
        coded = Layout(*given, layout.raters, values)
        sites = begun(jax.random.PRNGKey(0), given)[0].postprocess_fn(given, {})
        return jax.lax.map(lambda one: of_draw(coded, sites(one)), z, batch_size=_AT_ONCE)

    def gains(z, finer, *given):
        """By how much the log likelihood of draws is greater with more nodes of each kind."""
        judged, nodes = given
        sites = begun(jax.random.PRNGKey(0), given)[0].postprocess_fn(given, {})

        def of(one):
            p = cast(Parameters, handlers.substitute(handlers.seed(facets, 0), sites(one))(judged))
            each = [nodes, *(chosen(nodes, finer, at == np.arange(len(nodes.at))) for at in several)]
            usual, *more = (log_of_cells(judged, those, p) for those in each)
            return jnp.stack([(judged.times * (one - usual)).sum() for one in more])  # sums of all have few digits left

        return jax.lax.map(of, z)

    def of_chains(function, inputs, *, repeated=False):
        """Apply a function to the inputs of each chain."""
        name = "judged outcomes", function.__name__, warmup
        found = run(name, function, parts, lambda part: (*inputs[part.at[0]], *given), repeated=repeated)
        return [of_chain for _, of_chain in found]

    def start(key, *given):
        return begun(key, given)[1]

    blocks, number = [], -(-(warmup + draws) // _BLOCK)
    with Progress(progress) as bars:
        advance = bars.task("Sampling the model", number * _BLOCK * chains, "draws")
        states = of_chains(start, [(key,) for key in keys])
        for _ in range(number):
            states, drawn = zip(*of_chains(block, [(state,) for state in states], repeated=True), strict=True)
            blocks.append(jax.tree.map(lambda *chain: np.stack(chain), *drawn))
            advance(_BLOCK * chains)
    z, statistics = jax.tree.map(lambda *of: np.concatenate(of, axis=1)[:, warmup : warmup + draws], *blocks)
    some = np.linspace(0, draws - 1, min(draws, _TRIED), dtype=int)
    finer = finer_nodes(layout.nodes)
    tried = [(jax.tree.map(lambda of, chain=chain: of[chain, some], z), finer) for chain in range(chains)]
    short = np.array([len(more) > len(of) for more, of in zip(finer.at, layout.nodes.at, strict=True)])
    short[several] &= ~(np.concatenate(of_chains(gains, tried)).std(axis=0) <= _NEGLIGIBLE)
    if short.any():
        options = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed, "progress": progress}
        return sample(replace(layout, nodes=chosen(layout.nodes, finer, short)), systems, **options)
    inputs = [(jax.tree.map(lambda of, chain=chain: of[chain], z), layout.values) for chain in range(chains)]
    found = jax.tree.map(lambda *chain: np.stack(chain), *of_chains(outcomes, inputs))
    return _posterior(layout, systems, found, statistics, seed, warmup, progress)


def kernel(judged: JudgedOutcomes) -> NUTS:
    """Return the sampler of the model, whose metric is diagonal for systems and people, and dense for all else."""
    trace = handlers.trace(handlers.seed(facets, 0)).get_trace(judged)
    common = tuple(name for name, site in trace.items() if site["type"] == "sample" and name not in OF_EACH)
    start = init_to_median(num_samples=15)
    options: dict[str, Any] = {"max_tree_depth": MAX_TREE_DEPTH, "target_accept_prob": TARGET_ACCEPT}
    return NUTS(judged_outcomes, dense_mass=[common], init_strategy=start, **options)


def of_draw(layout: Layout, sites: dict[str, Array]) -> dict[str, Array]:
    """Parameters, and mean outcomes of systems, of one draw of the sites."""
    judged, nodes = jax.tree.map(jnp.asarray, (layout.judged, layout.nodes))
    p = cast(Parameters, handlers.substitute(handlers.seed(facets, 0), sites)(judged))
    n = len(judged.person)
    alike = p.alike_spread * nodes.at.alike
    here = p.severity[:n], p.discrimination[:n], p.step[:n], judged.person / judged.person.sum()
    curves = _mean_outcome(layout, alike, *here)
    of_new = _mean_outcome(layout, alike, *_new_people(sites, n))
    x = quality_of(judged, p)[:, None] + p.output_spread * nodes.at.quality
    log = log_of_nodes(judged, nodes, p)
    prior = jnp.exp(nodes.log_weight.quality[:, None] + nodes.log_weight.alike)
    these = jax.nn.softmax(log.reshape(len(log), -1), axis=-1).reshape(log.shape)
    means = {
        name: _by_system(layout, (weight * jax.vmap(lambda y: jnp.interp(x, _GRID, y), 0, -1)(of)).sum((1, 2)))
        for name, weight, of in zip(MEANS, (prior, these, prior), (curves, curves, of_new), strict=True)
    }
    shown = {name: value for name, value in p._asdict().items() if value.size}
    return {name: value for name, value in sites.items() if name.endswith("_spread")} | shown | means


def _mean_outcome(layout: Layout, alike, severity, discrimination, step, weight) -> Float[Array, "alike grid"]:
    """Mean outcome that people would give at each point of the grid; of pairs, in both orders."""
    values, score = (jnp.asarray(one, jnp.float32) for one in (layout.values, layout.judged.score))
    both = (1, -1) if layout.judged.opponent is not None else (1,)
    between = jnp.zeros((len(alike), len(score))).at[:, 1:-1].set(alike[:, None])

    def at(x):
        odds = [(discrimination * x + sign * severity)[:, None] * score + step for sign in both]
        share = sum(jax.nn.softmax(one + between[:, None], axis=-1) for one in odds) / len(both)
        return jnp.einsum("akv,k,v->a", share, weight, values)

    return jax.lax.map(at, jnp.asarray(_GRID), batch_size=64).T


def _new_people(sites: dict[str, Array], n: int) -> tuple[Array, Array, Array, Array]:
    """Severity, discrimination, steps and weights of nodes of the population of people, of whom n are here."""
    rules = [np.polynomial.hermite_e.hermegauss(number) for number in _NEW]
    grids = np.meshgrid(*(x for x, _ in rules), indexing="ij")
    weight = np.prod(np.meshgrid(*(of / of.sum() for _, of in rules), indexing="ij"), axis=0)
    # The mean of all people is uncertain, since those here are a sample.
    severity, log_discrimination, middle = (
        grid.ravel() + mean / np.sqrt(n) for grid, mean in zip(grids, sites["population"], strict=True)
    )
    inner = jnp.zeros((len(middle), 0))
    if "step_of_people" in sites:
        inner = sites["step_of_people"] + sites["middle_spread"] * middle[:, None]
    return (
        sites.get("first", 0.0) + sites["severity_spread"] * severity,
        jnp.exp(sites["discrimination_spread"] * log_discrimination),
        jnp.pad(inner, ((0, 0), (1, 1))),
        jnp.asarray(weight.ravel(), jnp.float32),
    )


def _by_system(layout: Layout, of_cell: Float[Array, " cell"]) -> Float[Array, " system"]:
    """Mean over the cells of each system; what one system of a pair wins, the other loses."""
    judged, n = layout.judged, np.shape(layout.judged.own)[1]
    times = jnp.asarray(judged.times)
    total = jnp.zeros(n).at[judged.system].add(times * of_cell)
    number = jnp.zeros(n).at[judged.system].add(times)
    if judged.opponent is not None:
        total = total.at[judged.opponent].add(times * (1 - of_cell))
        number = number.at[judged.opponent].add(times)
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
    # Means are judged themselves, so what they rest on needs fewer effective draws.
    rest = ~np.isin(convergence["quantity"].values.astype(str), [f"{name} of {s}" for name in MEANS for s in systems])
    convergence["converged"] |= rest & passed(convergence, ENOUGH) & (n_diverging == 0)
    groups = {
        "posterior": xr.Dataset(variables, coordinates | names),
        "sample_stats": xr.Dataset({name: (("chain", "draw"), one) for name, one in statistics.items()}, coordinates),
        "convergence": convergence,
    }
    attrs = {"model": "judged-outcomes", "warmup": warmup, "seed": seed, "versions": versions_text()}
    return from_groups(groups, attrs)
