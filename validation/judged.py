"""The model of judged outcomes, calibrated by simulation, and how often its intervals cover in worlds that differ.

Calibration draws everything from the prior and the outcomes from that, and samples all data sets at once. The worlds
have four systems each. Some are those of :mod:`validation.systems`: the person is always right, the judge errs in 15 %,
and cases come in clusters or not, which is not what the model assumes. In others readers are strict or lenient, and the
judge errs by system and by output. Systems of one world share raters, so worlds are counted, not intervals.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from scipy import stats
from scipy.special import expit, logit

from plausibly.base.arviz import to_groups
from plausibly.base.progress import Progress
from plausibly.data.outcomes import Cells
from plausibly.models.judged_outcomes import JudgedOutcomes, Kinds, Own, facets, probabilities
from plausibly.systems._estimates import prediction_powered
from plausibly.systems._model import Layout, of_draw, sample, usual_nodes
from plausibly.systems._modelled import design_effect, widened
from validation import systems
from validation._ranks import places
from validation._result import Result, Settings

N, QUICK, DRAWS, THIN = 200, 20, 50, 3
SYSTEMS, CASES, PEOPLE = 3, 10, 2
PASS, PAIRS, RATINGS = (f"judged-outcomes, {kind}" for kind in ("pass and fail", "pairs", "ratings"))
JUDGES = {PASS: 2, PAIRS: 1, RATINGS: 1}
VALUES = {PASS: [0.0, 1.0], PAIRS: [0.0, 0.5, 1.0], RATINGS: [1.0, 2.0, 3.0, 4.0]}
WORLDS, QUICK_WORLDS = 250, 50  # data sets with a system of each rate
RATES = (0.45, 0.6, 0.7, 0.85)
CLUSTERS = "of 1", "of 3"
READERS = 5
SD_OF_OUTPUTS = 1.3  # in log odds
LEVEL_FACTOR = 1.25  # log odds of an average output, for a mean over outputs of about the rate
#: Share of 95 % intervals that cover. The best and the worst system are drawn towards the others, most of few outcomes.
LEAST, LEAST_OF_FEW, FEW, MOST = 0.92, 0.9, 100, 0.985


def layout_of(what: str, system, opponent, rater, cell, category, *, judges: int, people: int, n: int) -> Layout:
    """Lay out outcomes, each of which is a kind of its own, sorted by cell; every cell is one of its own."""
    values, pairs = np.array(VALUES[what]), what == PAIRS
    first = np.unique(cell, return_index=True)[1]
    cells = np.arange(len(first))

    def kinds(own: np.ndarray) -> Kinds:
        one = np.ones(own.sum(), np.float32)
        of = (system[own], opponent[own] if pairs else None, 0 * one, rater[own], category[own], one)
        return Kinds(*of, np.arange(len(one)), np.bincount(cell[own], minlength=len(cells)))

    judged = JudgedOutcomes(
        kinds(rater < people),
        kinds(rater >= people),
        system[first],
        opponent[first] if pairs else None,
        np.zeros(len(cells), np.float32),
        cells,
        cells,
        np.ones(len(cells), np.float32),
        ((values - values[0]) / (values[-1] - values[0]) - 0.5).astype(np.float32),
        np.eye(judges, n, dtype=np.float32),
        np.ones(people, np.float32),
    )
    nodes = usual_nodes(judges, pairs=pairs, middle=len(values) > 2)
    return Layout(judged, nodes, np.arange(people + judges), values)


def sampled(layouts: Iterable[Layout], names: Sequence[str], draws: int, seed: int) -> dict[str, np.ndarray]:
    """Sample data sets of one shape, two chains each; thinned draws by name (data set, draw, …)."""
    found = []
    for at, layout in enumerate(layouts):
        settings = {"draws": THIN * draws // 2, "chains": 2, "warmup": 200, "seed": seed + at, "progress": False}
        posterior = to_groups(sample(layout, np.arange(np.shape(layout.judged.own)[1]), **settings))["posterior"]
        thin = posterior.isel(draw=slice(None, None, THIN)).stack(sample=("chain", "draw")).transpose("sample", ...)
        found.append({name: thin[name].values for name in names})
    return {name: np.stack([one[name] for one in found]) for name in names}


def with_categories(layout: Layout, people: np.ndarray, judges: np.ndarray) -> Layout:
    """Return outcomes that differ in what was said."""
    judged = layout.judged
    of_people = judged.by_people._replace(category=people)
    return replace(
        layout, judged=judged._replace(by_people=of_people, by_judges=judged.by_judges._replace(category=judges))
    )


def calibrate(what: str, n: int, seed: int) -> Iterator[Result]:
    """Test the places of parameters and of a mean outcome among their draws."""
    judges = JUDGES[what]
    grid = np.array([(s, c, r) for s in range(SYSTEMS) for c in range(CASES) for r in range(PEOPLE + judges)])
    system, case, rater = grid[(grid[:, 2] >= PEOPLE) | (grid[:, 1] % 2 == 1)].T
    cell = system * CASES + case
    sizes = {"judges": judges, "people": PEOPLE, "n": SYSTEMS}
    opponent, unknown = (system + 1) % SYSTEMS, np.zeros_like(cell)
    layout = layout_of(what, system, opponent, rater, cell, unknown, **sizes)
    judged = jax.tree.map(jnp.asarray, layout.judged)

    def simulated(key):
        keys = jax.random.split(key, 4)
        trace = handlers.trace(handlers.seed(facets, keys[0])).get_trace(judged)
        sites = {name: site["value"] for name, site in trace.items()}
        p = handlers.substitute(handlers.seed(facets, 0), sites)(judged)
        quality, alike, error = jax.random.normal(keys[1], (3, len(judged.times), 1))
        said = []
        for key, kinds, shared in ((keys[2], judged.by_people, None), (keys[3], judged.by_judges, error)):
            of = np.repeat(np.arange(len(kinds.size)), kinds.size)
            own = Own(quality[of], alike[of], None if shared is None else shared[of])
            said.append(jax.random.categorical(key, jnp.log(probabilities(judged, kinds, own, p)[:, 0])))
        return of_draw(layout, sites), said

    truth, said = jax.jit(jax.vmap(simulated))(jax.random.split(jax.random.key(seed), n))
    # The mean of these cases depends on the outcomes, and what is constant is not sampled.
    tested = [name for name, value in truth.items() if np.ptp(value) > 0 and name != "mean_of_these"]
    layouts = (with_categories(layout, *each) for each in zip(*map(np.asarray, said), strict=True))
    found = sampled(layouts, tested, DRAWS, seed + 1)
    rng = np.random.default_rng([seed, n])
    for name in tested:
        pair = (truth[name], 1), (found[name], 2)
        values, draws = (np.asarray(one).reshape(*one.shape[:keep], -1) for one, keep in pair)
        at = -1 if name in ("discrimination", "bias_longer") else 1 if name == "step" and what != PASS else 0
        values, draws = values[:, at], draws[..., at]
        yield Result.of_places("judged", what, name, places(values, draws.T, rng), f"{DRAWS} draws")


def cover(worlds: int, n: int, clusters: str, seed: int) -> Iterator[Result]:
    """Count how often intervals of the model cover the rates of worlds with an infallible person."""
    random = np.random.default_rng([seed, n, CLUSTERS.index(clusters)])
    of_rates = [systems.simulate(random, worlds, n, rate, *systems.CLUSTERS[clusters]) for rate in RATES]
    layout = _patterns(people=1)
    times = np.empty((worlds, len(RATES), 6), np.float32)
    effects = []
    for world in range(worlds):
        parts = []
        for at, cells in enumerate(of_rates):
            own = cells.system == world
            part = Cells(np.full(own.sum(), at), cells.cluster[own], cells.people[own], cells.judges[:1, own])
            parts.append(part)
            y, f = np.nan_to_num(part.people, nan=2), part.judges[0]
            times[world, at] = np.bincount((2 * y + f).astype(int), minlength=6)
        columns = ([getattr(part, name) for part in parts] for name in ("system", "cluster", "people"))
        effects.append(design_effect(Cells(*map(np.concatenate, columns))))
    beside = []
    for cells, rate in zip(of_rates, RATES, strict=True):
        ppi = prediction_powered(cells, cells.judges[0])
        lower, upper = ppi.interval(0.95, share=True)
        beside.append((lower <= rate) & (rate <= upper))
    what = f"{n} human outcomes, clusters {clusters}"
    yield _covered(what, n, layout, times, np.array(RATES), effects, seed, f", PPI++ there {np.mean(beside):.1%}")


def cover_readers(worlds: int, n: int, seed: int) -> Iterator[Result]:
    """Count how often intervals cover where readers are strict or lenient and the judge errs by system and output."""
    random = np.random.default_rng([seed, n])
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    layout = _patterns(people=READERS)
    times = np.empty((worlds, len(RATES), 4 * READERS + 2), np.float32)
    truth = np.empty((worlds, len(RATES)))
    judge_alone = 4 * READERS
    for world in range(worlds):
        severity, bias = random.normal(0, 0.5, READERS), random.normal(0, 0.4, len(RATES))
        for at, rate in enumerate(RATES):
            level = LEVEL_FACTOR * logit(rate)
            by_reader = expit(level + severity + SD_OF_OUTPUTS * nodes[:, None]).mean(1)
            truth[world, at] = by_reader @ weights / weights.sum()
            quality = level + random.normal(0, SD_OF_OUTPUTS, 5 * n)
            said = random.random(5 * n) < expit(1.2 * quality + bias[at] + random.normal(0, 1, 5 * n))
            reader = np.arange(n) % READERS
            passed = random.random(n) < expit(quality[:n] + severity[reader])
            pattern = np.concatenate([4 * reader + 2 * passed, np.full(4 * n, judge_alone)]) + said
            times[world, at] = np.bincount(pattern, minlength=judge_alone + 2)
    yield _covered(f"{n} human outcomes, {READERS} readers", n, layout, times, truth, np.ones(worlds), seed)


def _patterns(people: int) -> Layout:
    """Lay out each way in which one of the people and a judge can have judged an output, or the judge alone."""
    patterns = [(person, y, f) for person in range(people) for y in (0, 1) for f in (0, 1)]
    patterns += [(None, 0, f) for f in (0, 1)]
    rows = []
    for at in range(len(RATES)):
        for cell, (person, y, f) in enumerate(patterns, start=len(patterns) * at):
            rows += [] if person is None else [(at, person, cell, y)]
            rows.append((at, people, cell, f))
    system, rater, cell, category = np.array(rows).T
    return layout_of(PASS, system, None, rater, cell, category, judges=1, people=people, n=len(RATES))


def _covered(condition: str, n: int, layout: Layout, times, truth, effects, seed: int, beside: str = "") -> Result:
    layouts = (replace(layout, judged=layout.judged._replace(times=of.ravel())) for of in times)
    drawn = sampled(layouts, ["mean"], 100, seed)["mean"]
    ends = np.array([0.0, 1.0])
    found = np.stack([widened(one, effect, ends) for one, effect in zip(drawn, effects, strict=True)])
    lower, upper = np.quantile(found, [0.025, 0.975], axis=1)
    of_worlds = ((lower <= truth) & (truth <= upper)).mean(axis=1)  # systems of a world share raters
    share, error = of_worlds.mean(), max(of_worlds.std(ddof=1), 0.5 / lower.shape[1]) / np.sqrt(len(of_worlds))
    least = LEAST if n >= FEW else LEAST_OF_FEW
    p = {f"at least {least:.0%}": float(stats.norm.cdf((share - least) / error))}
    p["at most 98.5 %"] = float(stats.norm.sf((share - MOST) / error))
    remark = f"covers {share:.1%}{beside}, width {np.mean(upper - lower):.3f}"
    return Result("judged", "model", condition, p, lower.size, remark=remark)


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate the model, and count how often its intervals cover in other worlds."""
    for what in JUDGES:
        if settings.only in what:
            yield from calibrate(what, QUICK if settings.quick else N, settings.seed)
    if settings.only in "model":
        conditions = [(60, of) for of in ("of 1", None)]
        if not settings.quick:
            conditions = [(n, of) for n in systems.N_HUMAN for of in (*CLUSTERS, None)]
        worlds = QUICK_WORLDS if settings.quick else WORLDS
        with Progress(settings.progress) as bars:
            advance = bars.task("Simulating systems", len(conditions), "conditions")
            for n, clusters in conditions:
                if clusters is None:
                    yield from cover_readers(worlds, n, settings.seed)
                else:
                    yield from cover(worlds, n, clusters, settings.seed)
                advance(1)
