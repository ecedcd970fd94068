"""NUTS and Gibbs on the real cases, or on simulated ones where those are absent.

Both sample the same posterior by different means, so of every case the difference of two averages over draws, divided
by its Monte Carlo standard error, is a standard normal variable: nearly so, for the error is itself estimated, from
the effective sample sizes of ArviZ. Cases are independent, plausibilities within a case are not, so one class of each
case is looked at, drawn at random: its plausibility. How often a class is the most plausible is compared for the class
of each case that is so most often by both samplers together, where that is less than nine times in ten: means of rarer
events are not normal. The certainties of all cases, whose distributions the two samplers should share, are compared by
the two-sample test of Kolmogorov and Smirnov; it takes the samples for independent, which they are not (the cases are
the same), and errs on the side of agreement.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy import stats

import plausibly as pb
from benchmarks._data import annotations as load
from plausibly.base.progress import Progress
from plausibly.posterior.diagnostics import ess_of_mean
from validation._result import Result, Settings

RELIABILITY = 3.0
CERTAIN = 0.9  #: share of draws from which on an indicator's mean is not normal enough


def certainties(top: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The greatest share of draws in which one slot of a case is the most plausible; of (…, slot) indicators."""
    return np.maximum.reduceat(top.mean((0, 1)), start[:-1])


def tops(plausibility: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Which slot of each case is the most plausible, in every draw."""
    case = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return plausibility == np.maximum.reduceat(plausibility, start[:-1], axis=-1)[..., case]


def in_doubt(share: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The slot of each case that is the most plausible most often, unless it nearly always is."""
    best = np.array([a + share[a:b].argmax() for a, b in pairwise(start)])
    return best[share[best] < CERTAIN]


def mean_and_error(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over (chain, draw, …) arrays and their Monte Carlo standard errors."""
    return x.mean((0, 1), dtype=float), x.std((0, 1), ddof=1, dtype=float) / np.sqrt(ess_of_mean(x))


def z_scores(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Differences of means by their errors, of (chain, draw, case) arrays, but for cases without any spread."""
    (a, error), (b, other) = mean_and_error(ours), mean_and_error(theirs)
    usable = np.isfinite(error) & np.isfinite(other) & (np.hypot(error, other) > 0)
    return (a - b)[usable] / np.hypot(error, other)[usable]


def compare(annotations: pb.Annotations, what: str, settings: Settings) -> list[Result]:
    """Sample with both and compare."""
    options = {"reliability": RELIABILITY, "seed": settings.seed, "progress": settings.progress}
    draws = {}
    for engine in ("nuts", "gibbs"):
        posterior = pb.aggregate(annotations, "plackett-luce", engine=engine, **options)
        found = posterior["posterior"]["plausibility"]
        draws[engine] = found.values
    case = np.unique(found["case"].values, return_index=True)[1]
    start = np.append(np.sort(case), found.shape[-1])
    rng = np.random.default_rng([settings.seed, 2])
    chosen = rng.integers(start[:-1], start[1:])
    name = f"NUTS and Gibbs, {what}, γ = {RELIABILITY:g}"
    indicators = {engine: tops(values, start) for engine, values in draws.items()}
    doubtful = in_doubt(sum(indicator.mean((0, 1)) for indicator in indicators.values()) / 2, start)
    results = []
    for quantity, values, at in (("means", draws, chosen), ("most plausible", indicators, doubtful)):
        z = z_scores(*(values[engine][..., at] for engine in ("nuts", "gibbs")))
        remark = f"z-scores have sd {z.std():.3f}, the greatest {np.abs(z).max():.2f}"
        results.append(Result.of_places("agreement", name, quantity, stats.norm.cdf(z), remark))
    a, b = (certainties(values, start) for values in indicators.values())
    test = stats.ks_2samp(a, b)
    remark = f"means {a.mean():.4f} and {b.mean():.4f}, KS statistic {test.statistic:.4f}"
    return [*results, Result("agreement", name, "top-1 certainty", {"ks": float(test.pvalue)}, len(a), remark=remark)]


def check(settings: Settings) -> Iterator[Result]:
    """Compare the samplers on the benchmark's cases."""
    with Progress(settings.progress) as progress:
        advance = progress.task("Comparing NUTS with Gibbs", 1, "data set")
        yield from compare(*load(settings.quick), settings)
        advance(1)
