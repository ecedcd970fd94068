"""Inferred reliability: drawn from its prior, with annotations drawn from it, and found again.

Its place among the draws is uniform, and the 90 % interval covers it in 90 % of simulations.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from plausibly._progress import Progress
from plausibly.aggregation._inferred_reliability import simulated_coverage
from validation._result import Result, Settings

N, QUICK = 50, 10
PROB = 0.9


def check(settings: Settings) -> Iterator[Result]:
    """Simulate data sets, infer the reliability of each, and test places and coverage."""
    n = QUICK if settings.quick else N
    found = []
    with Progress(settings.progress) as progress:
        advance = progress.task("Inferring reliabilities", n, "data sets")
        for simulation in range(n):
            found.append(simulated_coverage(simulation, prob=PROB, seed=settings.seed))
            advance(1)
    what = "one reliability for 25 cases of four annotators, by temper"
    converged = f"converged in {sum(one['converged'] for one in found):.0f} of {n}"
    yield Result.of_places("reliability", what, "reliability", np.array([one["rank"] for one in found]), converged)
    covered = int(sum(one["covered"] for one in found))
    p = float(stats.binomtest(covered, n, PROB).pvalue)
    yield Result("reliability", what, f"{PROB:.0%} interval", {"binomial": p}, n, remark=f"{covered} of {n} cover")
