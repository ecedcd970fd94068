"""Simulation-based calibration of every sampler × reading of reliability × treatment of unranked classes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import plausibly as pb
from plausibly.aggregation import unjudged
from plausibly.base.arviz import to_groups
from plausibly.base.progress import Progress
from plausibly.posterior import LIKELIHOODS
from plausibly.posterior.diagnostics import r_hat_and_ess
from validation._joint import Blocks, Layout, Pairs, draw_pairs, probability
from validation._ranks import places
from validation._result import Result, Settings

CHAINS, DRAWS, KEPT = 4, 50, 2  # of a Markov chain every second draw is used
CASES, QUICK = 1000, 200
CONCENTRATIONS = {"lumped": 1.0, "exact": 0.7, "ignore": 0.5}

MIXED = (
    Layout(3, ((1, 1), (1,), (2,))),
    Layout(4, ((3,), (1, 2), (1,))),
    Layout(3, ((1, 1, 1), (2, 1), (1,))),
)
# Beyond the sizes at which blocks are summed over their subsets; costly, so at one reliability only.
WIDE = Layout(9, ((1,), (8,), (9,)))
WIDE_AT = {("NUTS", "power"): 1.0, ("NUTS", "temper"): 3.0, ("Gibbs", "power"): 3.0}
NESTED = (Layout(3, ((1, 1), (1, 1), (1,))), Layout(3, ((1, 1, 1), (1, 1), (1,))))
LABELS = (Layout(5, ((1,), (1,), (1,), (1,))), Layout(5, ((1,), (1,))))


@dataclass(frozen=True)
class Sampler:
    """A sampler, as ``aggregate`` knows it."""

    model: str
    engine: str
    layouts: tuple[Layout, ...]


SAMPLERS = {
    "NUTS": Sampler("plackett-luce", "nuts", MIXED),
    "Gibbs": Sampler("plackett-luce", "gibbs", MIXED),
    "exact tree": Sampler("plackett-luce", "auto", NESTED),
    "exact Dirichlet": Sampler("dirichlet-categorical", "exact", LABELS),
}


@dataclass(frozen=True)
class Condition:
    """One sampler, with one reading of reliability and one treatment of unranked classes."""

    sampler: str
    mode: str
    reliability: float
    unranked: str

    def __str__(self) -> str:
        return f"{self.sampler}, {self.mode}, γ = {self.reliability:g}, {self.unranked}"

    @property
    def whole(self) -> bool:
        """Whether all classes are simulated apart, so that the data decide which are named."""
        return self.mode == "power" and self.unranked == "exact"

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The kinds of cases to simulate."""
        wide = WIDE_AT.get((self.sampler, self.mode)) == self.reliability and self.unranked != "exact"
        return (*SAMPLERS[self.sampler].layouts, *([WIDE] if wide else []))


RELIABILITIES = {
    ("NUTS", "power"): (0.5, 1.0, 3.0),
    ("NUTS", "temper"): (0.5, 1.0, 3.0),
    ("Gibbs", "power"): (1.0, 3.0),
    ("exact tree", "power"): (0.5, 1.0, 3.0),
    ("exact tree", "temper"): (1.0,),
}
CONDITIONS = [
    Condition(sampler, mode, reliability, unranked)
    for (sampler, mode), reliabilities in RELIABILITIES.items()
    for reliability in reliabilities
    for unranked in CONCENTRATIONS
] + [Condition("exact Dirichlet", "power", reliability, "exact") for reliability in (1.0, 3.0)]

#: One of each sampler and reading in the quick form, with one layout of cases: compiling takes most of the time.
QUICK_CONDITIONS = [
    Condition("NUTS", "power", 3.0, "lumped"),
    Condition("NUTS", "temper", 3.0, "ignore"),
    Condition("Gibbs", "power", 3.0, "exact"),
    Condition("exact tree", "power", 0.5, "exact"),
    Condition("exact Dirichlet", "power", 3.0, "exact"),
]


def nested(case: tuple[Blocks, ...]) -> bool:
    """Whether all annotations agree on what was left at each of their draws, none of which is of a tied block."""
    gone = [{k for block in ranking[:i] for k in block} for ranking in case for i in range(len(ranking))]
    return all(a <= b or b <= a for a in gone for b in gone)


@dataclass(frozen=True)
class Cases:
    """The pairs of a condition as annotations of one data set."""

    annotations: pb.Annotations
    parts: list[Pairs]
    concentration: float


def simulate(condition: Condition, n: int, seed: int, layouts: tuple[Layout, ...] | None = None) -> Cases:
    """Draw n cases of a condition, as many of each of its layouts."""
    alpha = CONCENTRATIONS[condition.unranked]
    layouts = condition.layouts if layouts is None else layouts
    n_classes = 5 if condition.unranked == "exact" else 12
    rng = np.random.default_rng([seed, CONDITIONS.index(condition)])
    exponent = {"power" if condition.mode == "power" else "temper": condition.reliability}
    keep = nested if condition.sampler == "exact tree" else None
    parts, cases = [], {}
    for number, layout in enumerate(layouts):
        share = n // len(layouts)
        if condition.whole:
            layout, shape = Layout(n_classes, layout.sizes), np.full(n_classes, alpha)
        elif condition.unranked == "ignore":
            shape = np.full(layout.n_classes, alpha)
        else:
            m = n_classes - layout.n_classes if condition.unranked == "exact" else 1
            shape = alpha * np.array([*[1] * layout.n_classes, m])
        pairs = draw_pairs(layout, share, rng, shape=shape, complete=not condition.whole, keep=keep, **exponent)
        parts.append(pairs)
        cases |= {f"{number}-{i:05}": [[list(b) for b in r] for r in case] for i, case in enumerate(pairs.annotations)}
    names = [f"class {k}" for k in range(n_classes)]
    return Cases(pb.Annotations.from_rankings({"cases": cases}, classes=names), parts, alpha)


def fit(condition: Condition, cases: Cases, seed: int, progress: bool = False):
    """Sample the posterior of all cases."""
    sampler = SAMPLERS[condition.sampler]
    chains = condition.sampler in ("NUTS", "Gibbs")
    options = {"chains": CHAINS, "draws": DRAWS} if chains else {"chains": 1, "draws": CHAINS * DRAWS // KEPT}
    if sampler.model == "plackett-luce":
        options |= {"mode": condition.mode, "unranked": condition.unranked}
    posterior = unjudged(pb.aggregate)(  # whether chains converged is part of what is tested
        cases.annotations,
        sampler.model,
        reliability=condition.reliability,
        concentration=cases.concentration,
        engine=sampler.engine,
        seed=seed,
        progress=progress,
        **options,
    )
    if condition.sampler == "exact tree":
        n = cases.annotations.n_cases
        assert posterior.attrs["exact"] == f"{n} of {n} cases", posterior.attrs["exact"]
    return posterior


def _log_likelihoods(part: Pairs, temper: float) -> np.ndarray:
    """Log probability of each case's annotations at the truth."""
    weights = part.plausibility**temper
    weights = weights / weights.sum(1, keepdims=True)
    out = np.zeros(len(weights))
    for i, case in enumerate(part.annotations):
        out[i] = sum(np.log(probability(ranking, weights[i : i + 1])[0]) for ranking in case)
    return out


def quantities(
    condition: Condition, cases: Cases, posterior, rng: np.random.Generator
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """(case,) true values and (chain, draw, case) draws of each quantity.

    * ``first class``: its plausibility; where it is unnamed, its part of the remainder.
    * ``remainder``: all unnamed classes together; the last class where there is no remainder.
    * ``largest``: the greatest plausibility of a named class.
    * ``log likelihood``: of all annotations of the case, a quantity that depends on the data.
    """
    found = posterior["posterior"]["plausibility"]
    thin = slice(KEPT - 1, None, KEPT) if len(found["chain"]) > 1 else slice(None)
    draws = found.values[:, thin].astype(float)
    n, width = cases.annotations.n_cases, cases.annotations.n_classes
    case, index = posterior["constant_data"]["case_index"].values, found["class_index"].values
    dense, rest = np.full((*draws.shape[:2], n, width), np.nan), np.zeros((*draws.shape[:2], n))
    dense[:, :, case[index >= 0], index[index >= 0]] = draws[..., index >= 0]
    rest[:, :, case[index < 0]] = draws[..., index < 0]

    temper = condition.reliability if condition.mode == "temper" else 1.0
    log_likelihood = np.concatenate([_log_likelihoods(part, temper) for part in cases.parts])
    most = max(width, *(part.plausibility.shape[1] for part in cases.parts))
    shares = [np.pad(p.plausibility, ((0, 0), (0, most - p.plausibility.shape[1]))) for p in cases.parts]
    full = np.concatenate(shares)
    named = ~np.isnan(dense[0, 0])
    truth = np.where(named, full[:, :width], np.nan)
    true_rest = np.where(named, 0, full[:, :width]).sum(1)

    def ends(values: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The remainder, or the last class that is named where there is none."""
        last = width - 1 - named[:, ::-1].argmax(1)
        return np.where(named.all(1) | (condition.unranked == "ignore"), values[..., np.arange(n), last], others)

    # An unnamed class has its share of the remainder, by a symmetric Dirichlet distribution over such classes.
    m = width - named.sum(1)
    alpha = cases.concentration
    split = np.where(m > 1, rng.beta(alpha, alpha * np.maximum(m - 1, 1), rest.shape), 1)
    of_first = np.where(named[:, 0], dense[..., 0], rest * split)
    by_annotation = next(posterior[group] for group in LIKELIHOODS if group in to_groups(posterior))["ranking"]
    of_case = np.searchsorted(cases.annotations.cases, by_annotation["case"].values)
    summed = np.zeros((*draws.shape[:2], n))
    np.add.at(summed, (slice(None), slice(None), of_case), by_annotation.values[:, thin].astype(float))
    return {
        "first class": (full[:, 0], of_first),
        "remainder": (ends(truth, true_rest), ends(dense, rest)),
        "largest": (np.nanmax(truth, 1), np.nanmax(dense, -1)),
        "log likelihood": (log_likelihood, summed),
    }


def effective(draws: np.ndarray) -> float:
    """Effective draws per draw, the median over some cases."""
    if len(draws) == 1:
        return 1.0
    some = draws[..., :: max(draws.shape[-1] // 100, 1)]
    sizes = r_hat_and_ess(some).ess_bulk
    return float(np.median(sizes)) / (draws.shape[0] * draws.shape[1])


def calibrate(condition: Condition, n: int, seed: int, layouts: tuple[Layout, ...] | None = None) -> list[Result]:
    """Simulate, fit, and test the places of the truth."""
    cases = simulate(condition, n, seed, layouts)
    posterior = fit(condition, cases, seed)
    rng = np.random.default_rng([seed, CONDITIONS.index(condition), 1])
    results = []
    for name, (truth, draws) in quantities(condition, cases, posterior, rng).items():
        u = places(truth, draws.reshape(-1, draws.shape[-1]), rng)
        remark = f"{draws.shape[0] * draws.shape[1]} draws × {effective(draws):.2f} effective"
        results.append(Result.of_places("calibration", str(condition), name, u, remark))
    return results


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate everything."""
    conditions = [c for c in (QUICK_CONDITIONS if settings.quick else CONDITIONS) if settings.only in str(c)]
    with Progress(settings.progress) as progress:
        advance = progress.task("Calibrating", len(conditions), "conditions")
        for condition in conditions:
            sizes = (QUICK, settings.seed, condition.layouts[:1]) if settings.quick else (CASES, settings.seed)
            yield from calibrate(condition, *sizes)
            advance(1)
