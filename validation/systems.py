"""Systems judged by people and models: how often intervals cover the people's mean outcome, over simulated worlds.

Cases of a cluster resemble each other. People saw some cases, a judge who errs in 15 % all of them; another judge knows
nothing. Intervals have to cover in 92 to 97 % (of Rogan–Gladen, in at least 92 %, as it is conservative), and a judge
who knows nothing may not make them wider than those of people alone by more than 2 %.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats
from scipy.special import expit

from plausibly._progress import Progress
from plausibly.systems._estimates import mean, prediction_powered, rogan_gladen_by_system
from plausibly.systems.outcomes import Cells
from validation._result import Result, Settings

N_HUMAN, QUICK_HUMAN = (60, 100, 150, 600), (60, 150)  # cases that people saw
SIZES = (1, 3)  # cases of a cluster
WORLDS, QUICK = 1000, 600
CI_PROB, LEAST, MOST, WIDER = 0.95, 0.92, 0.97, 1.02
_REST, _ACCURACY, _LEVEL, _SD = 4, 0.85, 0.4, 3.0  # cases of the judge alone for each of people; errors; clusters


def check(settings: Settings) -> Iterator[Result]:
    """Count how often intervals cover, where cases are independent and where they come in clusters."""
    worlds, numbers = (QUICK, QUICK_HUMAN) if settings.quick else (WORLDS, N_HUMAN)
    with Progress(settings.progress) as bars:
        advance = bars.task("Simulating systems", len(numbers) * len(SIZES), "conditions")
        for n in numbers:
            for size in SIZES:
                yield from _results(np.random.default_rng([settings.seed, n, size]), worlds, n, size)
                advance(1)


def _results(random: np.random.Generator, worlds: int, n: int, size: int) -> Iterator[Result]:
    cells, truth = simulate(random, worlds, n, size)
    sized = worlds, int(cells.cluster.max()) + 1
    good, useless = cells.judges
    alone = mean(cells, cells.people, *sized)
    found = {
        "people alone": alone,
        "PPI": prediction_powered(cells, cells.people, good, *sized, tuned=False),
        "PPI++": prediction_powered(cells, cells.people, good, *sized),
        "PPI++, useless judge": prediction_powered(cells, cells.people, useless, *sized),
    }
    ends = {what: one.interval(CI_PROB) for what, one in found.items()}
    proportions = rogan_gladen_by_system(cells, cells.people, good, *sized, CI_PROB)
    ends["Rogan–Gladen"] = proportions.lower, proportions.upper
    widest = WIDER * (ends["people alone"][1] - ends["people alone"][0]).mean()
    words = f"{n} human outcomes, clusters of {size}"
    for what, (lower, upper) in ends.items():
        covered = int(((lower <= truth) & (truth <= upper)).sum())
        p = {"at least 92 %": float(stats.binom.cdf(covered, worlds, LEAST))}
        if what != "Rogan–Gladen":
            p["at most 97 %"] = float(stats.binom.sf(covered - 1, worlds, MOST))
        width = np.nanmean(upper - lower)
        if "useless" in what:
            p["no wider"] = float(width <= widest)
        yield Result("systems", what, words, p, worlds, remark=f"covers {covered / worlds:.1%}, width {width:.3f}")


def simulate(random: np.random.Generator, worlds: int, n: int, size: int) -> tuple[Cells, float]:
    """Cells of many worlds, as if they were systems, and the pass rate of new cases like these."""
    total = (1 + _REST) * n
    cluster, sd = np.arange(total) // size, _SD * (size > 1)
    own = random.normal(0, 1, (worlds, int(cluster[-1]) + 1))[:, cluster]
    y = (random.random((worlds, total)) < expit(_LEVEL + sd * own)).astype(float)
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    truth = float(expit(_LEVEL + sd * node) @ weight / weight.sum())
    good = np.where(random.random(y.shape) < _ACCURACY, y, 1 - y)
    judges = np.stack([good.ravel(), (random.random(y.shape) < 0.5).astype(float).ravel()])
    y[:, n:] = np.nan
    return Cells(np.repeat(np.arange(worlds), total), np.tile(cluster, worlds), y.ravel(), judges), truth
