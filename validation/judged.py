"""The model of judged outcomes, calibrated by simulation, and how often its intervals cover in worlds that differ.

Calibration draws everything from the prior and the outcomes from that, and samples all data sets at once. The worlds
are those of :mod:`validation.systems`, with four systems each: the person is always right, the judge errs in 15 %, and
cases come in clusters or not, which is not what the model assumes.
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer import MCMC
from scipy import stats

from plausibly._progress import Progress
from plausibly.models.judged_outcomes import JudgedOutcomes, Nodes, facets, log_odds, probabilities
from plausibly.systems._layout import Layout, usual_nodes
from plausibly.systems._model import kernel, of_draw
from plausibly.systems._modelled import design_effect, widened
from plausibly.systems.outcomes import Cells
from validation import systems
from validation._ranks import places
from validation._result import Result, Settings

N, QUICK, DRAWS, THIN = 200, 40, 50, 3
SYSTEMS, CASES, PEOPLE = 3, 10, 2
PASS, PAIRS = "judged-outcomes, pass and fail", "judged-outcomes, pairs"
JUDGES = {PASS: 2, PAIRS: 1}
WORLDS, QUICK_WORLDS = 250, 50  # data sets with a system of each rate
RATES = (0.45, 0.6, 0.7, 0.85)
CLUSTERS = "of 1", "of 3"
#: Share of 95 % intervals that cover. The best and the worst system are drawn towards the others, most of few outcomes.
LEAST, LEAST_OF_FEW, FEW, MOST = 0.92, 0.88, 100, 0.985


def layout_of(system, opponent, rater, cell, category, *, pairs: bool, judges: int, people: int, n: int) -> Layout:
    """Lay out outcomes, each of which is a kind of its own, sorted by cell."""
    values = np.array([0.0, 0.5, 1.0] if pairs else [0.0, 1.0])
    judged = JudgedOutcomes(
        system,
        opponent if pairs else None,
        rater,
        category,
        np.ones(len(system), np.float32),
        np.zeros(len(system), np.float32),
        np.arange(len(system)),
        cell,
        np.ones(cell.max() + 1, np.float32),
        (values - 0.5).astype(np.float32),
        np.eye(judges, n, dtype=np.float32),
        np.ones(people, np.float32),
    )
    first = np.unique(cell, return_index=True)[1]
    return Layout(judged, usual_nodes(judges), np.arange(people + judges), values, first)


def sample(layout: Layout, changing: dict[str, jax.Array], seed: int, draws: int) -> dict[str, np.ndarray]:
    """Sample data sets that differ in some of the arrays, all at once; draws by name (data set, draw, …)."""
    nodes = jax.tree.map(jnp.asarray, layout.nodes)

    def one(key, arrays):
        judged = jax.tree.map(jnp.asarray, layout.judged)._replace(**arrays)
        sampler = MCMC(kernel(), num_warmup=200, num_samples=THIN * draws, progress_bar=False)
        sampler.run(key, judged, nodes)
        kept = {name: values[::THIN] for name, values in sampler.get_samples().items()}
        return jax.lax.map(lambda drawn: of_draw(layout, drawn), kept)

    n = len(next(iter(changing.values())))
    found = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), n), changing)
    return {name: np.asarray(values) for name, values in found.items()}


def calibrate(what: str, n: int, seed: int) -> Iterator[Result]:
    """Test the places of parameters and of a mean outcome among their draws."""
    judges, pairs = JUDGES[what], what == PAIRS
    grid = np.array([(s, c, r) for s in range(SYSTEMS) for c in range(CASES) for r in range(PEOPLE + judges)])
    system, case, rater = grid[(grid[:, 2] >= PEOPLE) | (grid[:, 1] % 2 == 1)].T
    cell = system * CASES + case
    sizes = {"judges": judges, "people": PEOPLE, "n": SYSTEMS}
    opponent, unknown = (system + 1) % SYSTEMS, np.zeros_like(cell)
    layout = layout_of(system, opponent, rater, cell, unknown, pairs=pairs, **sizes)
    judged = jax.tree.map(jnp.asarray, layout.judged)

    def simulated(key):
        keys = jax.random.split(key, 4)
        trace = handlers.trace(handlers.seed(facets, keys[0])).get_trace(judged)
        sites = {name: site["value"] for name, site in trace.items()}
        p = handlers.substitute(handlers.seed(facets, 0), sites)(judged)
        own = Nodes(*jax.random.normal(keys[1], (2, len(judged.times))), jnp.zeros(len(judged.times)))
        odds = log_odds(judged, own, p)[jnp.arange(len(cell)), cell]
        category = jax.random.categorical(keys[2], jnp.log(probabilities(judged, p, odds)))
        return of_draw(layout, sites), category

    truth, category = jax.jit(jax.vmap(simulated))(jax.random.split(jax.random.key(seed), n))
    found = sample(layout, {"category": category}, seed + 1, DRAWS)
    rng = np.random.default_rng([seed, n])
    for name, value in truth.items():
        values, draws = (np.asarray(one).reshape(*one.shape[:keep], -1) for one, keep in ((value, 1), (found[name], 2)))
        at = -1 if name in ("discrimination", "bias_longer") else 1 if name == "step" and pairs else 0
        values, draws = values[:, at], draws[..., at]
        if np.ptp(values) > 0 and name != "mean_of_these":  # which depends on the outcomes
            yield Result.of_places("judged", what, name, places(values, draws.T, rng), f"{DRAWS} draws")


def cover(worlds: int, n: int, clusters: str, seed: int) -> Iterator[Result]:
    """Count how often intervals of the model cover the rates of the worlds."""
    random = np.random.default_rng([seed, n, len(clusters)])
    of_rates = [systems.simulate(random, worlds, n, rate, *systems.CLUSTERS[clusters]) for rate in RATES]
    # Cells of a system with the same outcomes: what person and judge said, or the judge alone.
    patterns = [(y, f) for y in (0, 1) for f in (0, 1)] + [(None, 0), (None, 1)]
    rows = [
        (at, rater, len(patterns) * at + cell, said)
        for at in range(len(RATES))
        for cell, of in enumerate(patterns)
        for rater, said in enumerate(of)
        if said is not None
    ]
    system, rater, cell, category = np.array(rows).T
    layout = layout_of(system, None, rater, cell, category, pairs=False, judges=1, people=1, n=len(RATES))
    times = np.empty((worlds, len(RATES), len(patterns)), np.float32)
    effects = []
    for world in range(worlds):
        parts = []
        for at, cells in enumerate(of_rates):
            own = cells.system == world
            part = Cells(np.full(own.sum(), at), cells.cluster[own], cells.people[own], cells.judges[:1, own])
            parts.append(part)
            y, f = np.nan_to_num(part.people, nan=2), part.judges[0]
            times[world, at] = np.bincount((2 * y + f).astype(int), minlength=6)
        together = Cells(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("system", "cluster", "people")),
            np.concatenate([part.judges for part in parts], axis=1),
        )
        effects.append(design_effect(together, len(RATES)))
    drawn = sample(layout, {"times": jnp.asarray(times.reshape(worlds, -1))}, seed, 100)["mean"]
    ends = np.array([0.0, 1.0])
    found = np.stack([widened(one, effect, ends) for one, effect in zip(drawn, effects, strict=True)])
    lower, upper = np.quantile(found, [0.025, 0.975], axis=1)
    covered = int(((lower <= RATES) & (np.array(RATES) <= upper)).sum())
    least = LEAST if n >= FEW else LEAST_OF_FEW
    p = {f"at least {least:.0%}": float(stats.binom.cdf(covered, lower.size, least))}
    p["at most 98.5 %"] = float(stats.binom.sf(covered - 1, lower.size, MOST))
    remark = f"covers {covered / lower.size:.1%}, width {np.mean(upper - lower):.3f}"
    yield Result("judged", "model", f"{n} human outcomes, clusters {clusters}", p, lower.size, remark=remark)


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate the model, and count how often its intervals cover in other worlds."""
    for what in JUDGES:
        if settings.only in what:
            yield from calibrate(what, QUICK if settings.quick else N, settings.seed)
    if settings.only in "model":
        conditions = [(60, "of 1")] if settings.quick else [(n, of) for n in systems.N_HUMAN for of in CLUSTERS]
        with Progress(settings.progress) as bars:
            advance = bars.task("Simulating systems", len(conditions), "conditions")
            for n, clusters in conditions:
                yield from cover(QUICK_WORLDS if settings.quick else WORLDS, n, clusters, settings.seed)
                advance(1)
