"""Inferred reliability: drawn from its prior, with annotations drawn from it, and found again.

Its place among the draws is uniform, and the 90 % interval covers it in 90 % of simulations.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

import plausibly as pb
from plausibly.base.arviz import to_groups
from plausibly.base.checks import check_seed
from plausibly.base.progress import Progress
from plausibly.data.datasets import simulate_annotators
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


def simulated_coverage(
    simulation: int, *, prob: float = 0.9, n_cases: int = 25, n_annotators: int = 4, seed: int = 0, **arguments: Any
) -> dict[str, float]:
    """Draw a reliability from its prior and annotations from it, and look whether its interval covers it.

    Of many simulations, a share of ``prob`` should cover: intervals are those of the model that draws the data.

    Parameters
    ----------
    simulation
        Number of the simulation, from 0.
    prob
        Probability of the interval.
    n_cases, n_annotators
        Size of the data set: cases of three classes, all of whose annotators rank them.
    seed
        Random seed of all simulations.
    arguments
        Arguments of :func:`plausibly.infer_reliability`.

    Returns
    -------
    dict
        ``reliability``, ``lower``, ``upper``, ``covered`` (0 or 1), ``rank`` (share of draws below), ``converged``.
    """
    location, scale = arguments.get("prior", (0.0, 1.5))
    rng = np.random.default_rng([check_seed(seed), simulation])
    true = float(np.exp(rng.normal(location, scale)))
    simulated = simulate_annotators(
        n_cases,
        [true] * n_annotators,
        n_classes=3,
        per_case=n_annotators,
        full=True,
        seed=int(rng.integers(2**32)),
    )
    posterior = pb.infer_reliability(simulated.annotations, seed=simulation, progress=False, **arguments)
    found = np.asarray(posterior["posterior"]["reliability"]).ravel()
    lower, upper = np.quantile(found, [(1 - prob) / 2, (1 + prob) / 2])
    good = bool(to_groups(posterior)["reliability_convergence"]["converged"].values.all())
    return {
        "reliability": true,
        "lower": float(lower),
        "upper": float(upper),
        "covered": float(lower <= true <= upper),
        "rank": float((found < true).mean()),
        "converged": float(good),
    }
