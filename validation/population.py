"""Models that borrow strength, calibrated by simulation: drawn from their priors, and found again.

First what cases share: prevalence, profiles, concentration and all else are drawn from the prior for each of many small
data sets, labels from them, and the sampler is asked for them; the table has how often 90 % intervals cover the truth.
Then the cases, given what they share: heads, plausibilities and annotations are drawn for many cases at once, and the
engines are asked for the plausibilities. Priors and annotations are drawn here, by code of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from scipy import stats
from scipy.special import gammaln, logsumexp

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.base.progress import Progress
from plausibly.families.priors.population import Population
from plausibly.families.priors.population._sampler import Labels, sweeps
from plausibly.inference.moves import Moves
from validation._ranks import places
from validation._result import Result, Settings

N, QUICK = 120, 8  # data sets
CLASSES, CASES, LABELS = 3, 100, 12
WARMUP, SWEEPS, THIN = 100, 500, 10
PROB = 0.9

MANY, FEW = 600, 150  # cases
K, PER_CASE = 8, 3  # classes of the cases, and annotations of each
SHARED = "what cases share"
SAMPLERS = (SHARED, f"{SHARED}, by difficulty", "mixture, exact", "mixture, Gibbs")
QUICK_SAMPLERS = (SHARED, "mixture, exact", "mixture, Gibbs")


@dataclass(frozen=True)
class Truth:
    """What a data set was drawn from."""

    concentration: float
    strength: float
    self_share: float
    prevalence: np.ndarray
    profiles: np.ndarray
    spread: float
    labels: np.ndarray  #: (case, label)


def draw_shared(rng: np.random.Generator, by_case: bool) -> Truth:
    """Draw what cases share from its prior, and labels."""
    concentration, strength, own = rng.exponential(10), rng.exponential(100), rng.random()
    prevalence = rng.dirichlet(np.full(CLASSES, 1 / CLASSES))
    base = np.maximum(strength * (own * np.eye(CLASSES) + (1 - own) * prevalence), 1e-9)
    profiles = np.array([rng.dirichlet(row) for row in base])
    spread = 0.0
    if by_case:
        spreads = np.linspace(0.05, 3, 60)
        weight = np.exp(-(spreads**2) / 2)
        spread = float(rng.choice(spreads, p=weight / weight.sum()))
    labels = [
        rng.choice(CLASSES, LABELS, p=rng.dirichlet(np.maximum(a * profiles[z], 1e-9)))
        for a, z in zip(
            case_concentrations(concentration, spread, CASES, rng), heads(prevalence, CASES, rng), strict=True
        )
    ]
    return Truth(concentration, strength, own, prevalence, profiles, spread, np.array(labels))


def heads(prevalence: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the heads of n cases."""
    return rng.choice(len(prevalence), n, p=prevalence)


def case_concentrations(concentration: float, spread: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the concentrations of n cases: log normal, as a rule of five nodes."""
    if not spread:
        return np.full(n, concentration)
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    return concentration * np.exp(spread * rng.choice(nodes, n, p=weights / weights.sum()))


def log_likelihood(truth: Truth, concentration: float, prevalence: np.ndarray, profiles: np.ndarray) -> float:
    """Log probability of all labels, heads summed out, at the median difficulty."""
    count = np.stack([(truth.labels == k).sum(1) for k in range(CLASSES)], axis=1)
    a = np.maximum(concentration * profiles, 1e-12)
    logs = (gammaln(a + count[:, None]) - gammaln(a)).sum(2) + np.log(np.maximum(prevalence, 1e-300))
    return float((logsumexp(logs, axis=1) + gammaln(concentration) - gammaln(concentration + LABELS)).sum())


def one_data_set(number: int, seed: int, by_case: bool) -> dict[str, tuple[float, np.ndarray]]:
    """Simulate a data set, sample what its cases share, and return the truth and the draws of each quantity."""
    rng = np.random.default_rng([seed, by_case, number])
    truth = draw_shared(rng, by_case)
    case, one = np.repeat(np.arange(CASES), LABELS), np.ones(CASES * LABELS)
    members = truth.labels.ravel()
    labels = Labels(case, one, np.arange(len(case)), one.astype(np.int64), members, CASES, CLASSES)
    random = Moves.of(seed, by_case, number, 1)
    states = islice(sweeps(labels, random, by_case=by_case, exchange=True), WARMUP, WARMUP + SWEEPS, THIN)
    drawn = list(states)
    quantities: dict[str, Callable] = {
        "concentration": lambda s: s.concentration,
        "strength": lambda s: s.strength,
        "self share": lambda s: s.self_share,
        "prevalence": lambda s: s.prevalence[0],
        "expected": lambda s: s.prevalence @ s.profiles[:, 0],
        "log likelihood": lambda s: log_likelihood(truth, s.concentration, s.prevalence, s.profiles),
    }
    if by_case:
        quantities["spread"] = lambda s: s.spread
    return {name: (of(truth), np.array([of(one) for one in drawn])) for name, of in quantities.items()}


def calibrate_shared(name: str, n: int, seed: int, advance: Callable[[int], None]) -> Iterator[Result]:
    """Test the places of the truth in n data sets, and how often intervals cover it."""
    rng, found = np.random.default_rng([seed, n]), []
    for number in range(n):
        found.append(one_data_set(number, seed, name != SHARED))
        advance(1)
    kept = SWEEPS // THIN
    inside = np.quantile(rng.random((kept, 4000)), [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
    expected = float(np.diff(inside, axis=0).mean())  # quantiles of so few draws lie a little within the interval
    for quantity in found[0]:
        truth = np.array([one[quantity][0] for one in found])
        draws = np.stack([one[quantity][1] for one in found], axis=1)
        low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2], axis=0)
        covered = int(((low <= truth) & (truth <= high)).sum())
        made = Result.of_places("population", name, quantity, places(truth, draws, rng))
        yield replace(made, remark=f"90 % intervals cover {covered} of {n}")
        if quantity != "log likelihood":
            p = float(stats.binomtest(covered, n, expected).pvalue)
            yield Result(
                "population", name, f"{PROB:.0%} of {quantity}", {"binomial": p}, n, remark=f"{covered} of {n}"
            )


def draw_cases(name: str, n: int, seed: int) -> tuple[Population, pb.Annotations, np.ndarray]:
    """Draw a population, cases with their plausibilities, and their annotations as the model of this name says."""
    rng = np.random.default_rng([seed, SAMPLERS.index(name)])
    spread = 0.7 if "difficulty" in name else 0.0
    prevalence = rng.dirichlet(np.full(K, 5.0))
    profiles = np.array([rng.dirichlet(30 * (0.3 * np.eye(K)[z] + 0.7 * prevalence)) for z in range(K)])
    classes = np.array([f"class {k}" for k in range(K)])
    population = Population(classes, prevalence, profiles, 4.0, spread=spread)
    of_case = zip(case_concentrations(4.0, spread, n, rng), heads(prevalence, n, rng), strict=True)
    shares = np.array([rng.dirichlet(np.maximum(a * profiles[z], 1e-9)) for a, z in of_case])
    if name.endswith("exact"):
        rankings = [[[[k]] for k in rng.choice(K, PER_CASE, p=p)] for p in shares]
    else:
        rankings = [[draw_in_turn(p, sizes, rng) for sizes in ((1, 1), (2,), (1,))] for p in shares]
    cases = {f"{i:04}": [[[int(k) for k in block] for block in one] for one in case] for i, case in enumerate(rankings)}
    named = {i: [[[str(classes[k]) for k in block] for block in one] for one in case] for i, case in cases.items()}
    return population, pb.Annotations.from_rankings({"cases": named}, classes=list(classes)), shares


def draw_in_turn(shares: np.ndarray, sizes: tuple[int, ...], rng: np.random.Generator) -> list[np.ndarray]:
    """Draw classes one after the other, and give them to blocks of these sizes."""
    drawn = rng.choice(len(shares), sum(sizes), replace=False, p=shares)
    return np.split(drawn, np.cumsum(sizes)[:-1])


MODELS = {
    "mixture, exact": {"model": "dirichlet-categorical", "chains": 1, "draws": 60},
    "mixture, Gibbs": {"model": "plackett-luce", "reliability": 1, "chains": 2, "draws": 60},
}


def calibrate_cases(name: str, n: int, seed: int) -> Iterator[Result]:
    """Test the places of the plausibilities from which cases were drawn."""
    population, annotations, truth = draw_cases(name, n, seed)
    posterior = unjudged(pb.aggregate)(annotations, class_prior=population, seed=seed, progress=False, **MODELS[name])
    draws = pb.dense(posterior).astype(float)
    if MODELS[name]["chains"] > 1:  # a Markov chain, of which every second draw is used
        draws = draws[1::2]
    named = np.zeros((n, K), bool)
    named[annotations.entry_case, annotations.entry_class] = True
    rng = np.random.default_rng([seed, SAMPLERS.index(name), 1])
    quantities: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "first class": lambda p: np.maximum(p[..., 0], 1e-6),  # less is lost in single precision
        "largest": lambda p: p.max(-1),
        "named": lambda p: np.round(np.where(named, p, 0).sum(-1), 6),
        "concentrated": lambda p: (p**2).sum(-1),
    }
    for quantity, of in quantities.items():
        u = places(of(truth), of(draws), rng)
        yield Result.of_places("population", name, quantity, u, f"{len(draws)} draws")


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate what cases share, and the cases given it."""
    chosen = [name for name in (QUICK_SAMPLERS if settings.quick else SAMPLERS) if settings.only in name]
    n = QUICK if settings.quick else N
    shared = [name for name in chosen if name.startswith(SHARED)]
    with Progress(settings.progress) as progress:
        advance = progress.task("Calibrating what cases share", n * len(shared), "data sets")
        for name in shared:
            yield from calibrate_shared(name, n, settings.seed, advance)
        for name in chosen:
            if name not in shared:
                yield from calibrate_cases(name, FEW if settings.quick else MANY, settings.seed)
