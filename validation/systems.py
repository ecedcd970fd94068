"""Systems judged by people and models: how often intervals cover the people's mean outcome, over simulated worlds.

Cases of a cluster resemble each other; clusters may have different sizes, and nearly all outputs may pass. People saw
some cases, a judge who errs in 15 % all of them; another judge knows nothing. Intervals, also of differences between
systems, have to cover in 92 to 97 %; of Rogan–Gladen, and where nearly all pass, in at least 92 %, as they are
conservative, but with fewer than ten failures, of which a note tells, in at least 86 %. A judge who knows nothing may
not make them wider than those of people alone by more than 2 %.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from plausibly.base.progress import Progress
from plausibly.data.outcomes import Cells
from plausibly.systems._estimates import mean, prediction_powered, rogan_gladen_by_system
from plausibly.systems._result import FEW_OF_A_KIND
from validation._result import Result, Settings

N_HUMAN, QUICK_HUMAN = (60, 100, 150, 600), (60, 150)  # cases that people saw
#: Sizes of clusters of cases, drawn with equal probability, and the correlation of the outcomes in a cluster.
CLUSTERS = {"of 1": ((1,), 0.0), "of 3": ((3,), 0.5), "of 1 to 10": ((1, 1, 1, 1, 2, 2, 3, 4, 6, 10), 0.2)}
RATES = (0.6, 0.95)
WORLDS, QUICK = 1000, 600
CI_PROB, LEAST, LEAST_OF_FEW, MOST, WIDER = 0.95, 0.92, 0.86, 0.97, 1.02
_REST, _ACCURACY = 4, 0.85  # cases of the judge alone for each of people; share in which it is right


def check(settings: Settings) -> Iterator[Result]:
    """Count how often intervals cover, where cases are independent and where they come in clusters."""
    worlds, numbers = (QUICK, QUICK_HUMAN) if settings.quick else (WORLDS, N_HUMAN)
    with Progress(settings.progress) as bars:
        advance = bars.task("Simulating systems", len(numbers) * len(CLUSTERS) * len(RATES), "conditions")
        for n in numbers:
            for place, words in enumerate(CLUSTERS):
                for rate in RATES:
                    random = np.random.default_rng([settings.seed, n, place, int(100 * rate)])
                    yield from _results(random, worlds, n, words, rate)
                    advance(1)


def _results(random: np.random.Generator, worlds: int, n: int, clusters: str, rate: float) -> Iterator[Result]:
    cells = simulate(random, worlds, n, rate, *CLUSTERS[clusters])
    good, useless = cells.judges
    found = {
        "people alone": mean(cells),
        "PPI": prediction_powered(cells, good, tuned=False),
        "PPI++": prediction_powered(cells, good),
        "PPI++, useless judge": prediction_powered(cells, useless),
    }
    ends = {what: (*one.interval(CI_PROB, share=True), rate) for what, one in found.items()}
    first, second = np.arange(0, worlds - 1, 2), np.arange(1, worlds, 2)
    ends["difference, PPI++"] = *found["PPI++"].difference(first, second, CI_PROB, share=True)[1:], 0.0
    proportions = rogan_gladen_by_system(cells, good, CI_PROB)
    ends["Rogan–Gladen"] = proportions.lower, proportions.upper, rate
    widest = WIDER * float(np.mean(ends["people alone"][1] - ends["people alone"][0]))
    words = f"{n} human outcomes, clusters {clusters}, pass rate {rate:g}"
    least = LEAST if n * (1 - rate) >= FEW_OF_A_KIND else LEAST_OF_FEW
    for what, (lower, upper, truth) in ends.items():
        lower, upper = (
            end[~np.isnan(lower + upper)] for end in (lower, upper)
        )  # the rest had no failure, and no interval
        covered = int(((lower <= truth) & (truth <= upper)).sum())
        p = {f"at least {least:.0%}": float(stats.binom.cdf(covered, len(lower), least))}
        if what != "Rogan–Gladen" and rate == RATES[0]:
            p["at most 97 %"] = float(stats.binom.sf(covered - 1, len(lower), MOST))
        width = np.mean(upper - lower)
        if "useless" in what:
            p["no wider"] = float(width <= widest)
        yield Result("systems", what, words, p, worlds, remark=f"covers {covered / len(lower):.1%}, width {width:.3f}")


def simulate(
    random: np.random.Generator, worlds: int, n: int, rate: float, sizes: Sequence[int], alike: float
) -> Cells:
    """Cells of many worlds, as if they were systems, in which a share `rate` of new cases like these passes."""
    total = (1 + _REST) * n
    cluster = np.repeat(np.arange(total), random.choice(sizes, total))[:total]
    p = rate
    if alike:
        shape = 1 / alike - 1
        p = random.beta(shape * rate, shape * (1 - rate), (worlds, int(cluster[-1]) + 1))[:, cluster]
    y = (random.random((worlds, total)) < p).astype(float)
    good = np.where(random.random(y.shape) < _ACCURACY, y, 1 - y)
    judges = np.stack([good.ravel(), (random.random(y.shape) < 0.5).astype(float).ravel()])
    y[:, n:] = np.nan
    return Cells(np.repeat(np.arange(worlds), total), np.tile(cluster, worlds), y.ravel(), judges)
