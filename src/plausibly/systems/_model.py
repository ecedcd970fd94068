"""Draws of the model of all outcomes, and of the mean outcomes that people would give."""

from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float, Int
from numpyro import handlers
from numpyro.infer import NUTS, init_to_median

from plausibly.base.arviz import Posterior, from_groups
from plausibly.base.compute import Part, run
from plausibly.base.errors import AnnotationError
from plausibly.base.fingerprint import versions_text
from plausibly.base.progress import Progress
from plausibly.data.outcomes import Outcomes, cell_of_rows
from plausibly.families.settled import ENOUGH, SharedDraws
from plausibly.inference import STATISTICS
from plausibly.models.judged_outcomes import (
    JudgedOutcomes,
    Kinds,
    Nodes,
    Own,
    Parameters,
    facets,
    judged_outcomes,
    log_of_cells,
    log_of_nodes,
    quality_of,
)
from plausibly.posterior.diagnostics import passed

MOST_VALUES = 12  #: different ratings that are categories
_QUALITY, _ALIKE, _ERROR = 12, 5, 3  # nodes
_END = 3.0  # standard deviations beyond which no cell is
_MOST = 99, 24, 24  # nodes of each kind


@dataclass(frozen=True, eq=False)
class Layout:
    """Outcomes in codes, and what the codes mean."""

    judged: JudgedOutcomes
    nodes: Nodes
    raters: np.ndarray  #: names, people first
    values: Float[np.ndarray, " category"]


def lay_out(outcomes: Outcomes, own: Float[np.ndarray, "judge system"]) -> Layout:
    """Code outcomes. ``own`` is 1 for outputs that may be the judge's own, judges in the order of the outcomes."""
    order = np.argsort(~outcomes.is_person, kind="stable")
    rater, people = np.argsort(order)[outcomes.rater], int(outcomes.is_person.sum())
    value, first, second = outcomes.in_order
    longer, shown = np.zeros(len(value)), np.full(len(value), float(not outcomes.ranked))
    if outcomes.longer is not None and np.nanstd(outcomes.longer) > 0:
        longer = np.nan_to_num(outcomes.longer / np.nanstd(outcomes.longer))
    if second is not None:
        shown, longer = (np.where(outcomes.system > outcomes.opponent, -one, one) for one in (shown, longer))
    values = np.unique(value)
    if outcomes.kind != "ratings":
        values = np.array([0, 0.5, 1]) if 0.5 in values else np.array([0.0, 1.0])
    if not 2 <= len(values) <= MOST_VALUES:
        raise AnnotationError(
            f"the model takes 2 to {MOST_VALUES} different ratings, but there are {len(values):,}: round them, or do "
            "without the model."
        )
    compared = np.stack([first, first if second is None else second, longer], axis=1)
    columns = np.column_stack([compared, rater, np.searchsorted(values, value), shown])
    cell, n, at = cell_of_rows(outcomes)
    parts, sets = [], []
    for rows in (rater < people, rater >= people):
        kinds, of_cell = _kinds(columns[rows], cell[rows], n, pairs=second is not None)
        parts.append(kinds)
        sets.append(of_cell)
    cells, number_of = np.unique(np.column_stack([compared[at], *sets]), axis=0, return_counts=True)
    codes = cells.astype(np.int32)
    judged = JudgedOutcomes(
        by_people=parts[0],
        by_judges=parts[1],
        system=codes[:, 0],
        opponent=None if second is None else codes[:, 1],
        longer=cells[:, 2].astype(np.float32),
        people=codes[:, 3],
        judges=codes[:, 4],
        times=number_of.astype(np.float32),
        score=((values - values[0]) / (values[-1] - values[0]) - 0.5).astype(np.float32),
        own=np.asarray(own, np.float32).reshape(-1, len(outcomes.systems)),
        person=np.bincount(rater, minlength=len(order))[:people].astype(np.float32),
    )
    nodes = usual_nodes(len(order) - people, pairs=second is not None, middle=len(values) > 2)
    return Layout(judged, nodes, outcomes.raters[order], values)


def _kinds(columns: np.ndarray, cell: np.ndarray, n: int, *, pairs: bool) -> tuple[Kinds, Int[np.ndarray, " cell"]]:
    """Kinds of outcomes of some of the raters, and the set of these in each of all cells, which may be empty."""
    kinds, kind = np.unique(columns, axis=0, return_inverse=True)
    kind = kind.astype(np.int32)
    sort = np.lexsort((kind, cell))
    parts = np.split(kind[sort], np.searchsorted(cell[sort], np.arange(1, n)))
    seen: dict[bytes, int] = {}
    of_cell = np.array([seen.setdefault(part.tobytes(), len(seen)) for part in parts])
    sets = [np.frombuffer(part, kind.dtype) for part in seen]
    codes = kinds.astype(np.int32)
    return Kinds(
        system=codes[:, 0],
        opponent=codes[:, 1] if pairs else None,
        longer=kinds[:, 2].astype(np.float32),
        rater=codes[:, 3],
        category=codes[:, 4],
        shown=kinds[:, 5].astype(np.float32),
        kind=np.concatenate(sets),
        size=np.array([len(one) for one in sets], np.int32),
    ), of_cell


def usual_nodes(judges: int, *, pairs: bool, middle: bool) -> Nodes:
    """Nodes that suffice for usual spreads; a single judge shares no errors, and only pairs can tie."""
    return nodes_of(_QUALITY, _ALIKE if pairs and middle else 1, _ERROR if judges > 1 else 1)


def nodes_of(*numbers: int) -> Nodes:
    """Nodes of quality, of how alike a pair is, and of the error that judges share.

    Qualities are spaced evenly: where they differ much, probabilities of outcomes are nearly steps in them, at which
    Gauss-Hermite nodes err more. No cell is beyond three standard deviations.
    """
    even = _END * (2 * np.arange(numbers[0]) + 1 - numbers[0]) / numbers[0]
    weights = np.exp(-(even**2) / 2)
    even /= np.sqrt(np.average(even**2, weights=weights)) if numbers[0] > 1 else 1
    rules = [(even, weights), *(np.polynomial.hermite_e.hermegauss(number) for number in numbers[1:])]
    at = (x.astype(np.float32) for x, _ in rules)
    return Nodes(Own(*at), Own(*(np.log(of / of.sum()).astype(np.float32) for _, of in rules)))


def finer_nodes(nodes: Nodes) -> Nodes:
    """Twice as many nodes of each kind, up to a number that suffices for any spread met so far."""
    sizes = zip(map(len, nodes.at), _MOST, strict=True)
    return nodes_of(*(size if size == 1 else min(2 * size, most) for size, most in sizes))


def chosen(nodes: Nodes, finer: Nodes, which: Bool[np.ndarray, " kind"]) -> Nodes:
    """Return nodes of which some kinds are finer."""
    at, log_weight = (
        Own(*(new if yes else old for old, new, yes in zip(*both, which, strict=True)))
        for both in zip(nodes, finer, strict=True)
    )
    return Nodes(at, log_weight)


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
