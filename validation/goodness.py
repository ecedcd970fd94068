"""What ``PartialPlackettLuce.sample`` draws, counted, and ``log_prob``, both against a likelihood written out here.

Chi-square tests over all rankings of given block sizes; rankings too rare to count are counted together. The counts for
several sets of weights are independent, so their statistics are added up.
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from plausibly.base.progress import Progress
from plausibly.distributions import PartialPlackettLuce
from validation._joint import outcomes, probability
from validation._result import Result, Settings

SIZES = ((1,), (1, 1), (2,), (1, 2), (2, 1), (3, 1), (1, 1, 1, 1, 1), (2, 2), (4,), (7,))
QUICK_SIZES = ((1, 1), (1, 2), (3, 1))
SPREADS = (0.0, 0.5, 1.0, 2.0, 4.0)  #: of the log weights
N, QUICK = 100_000, 20_000
RARE = 10.0  #: expected count below which rankings are counted together
TOLERANCE = 1e-4  #: of probabilities in single precision


def positions(rankings, n_classes: int) -> np.ndarray:
    """The position of every class in each ranking; those not named come last."""
    out = np.full((len(rankings), n_classes), max(len(r) for r in rankings))
    for i, ranking in enumerate(rankings):
        for position, block in enumerate(ranking):
            out[i, list(block)] = position
    return out


def chi_square(counts: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """The statistic and its degrees of freedom."""
    rare = expected < RARE
    if rare.any():
        counts, expected = (np.append(x[~rare], x[rare].sum()) for x in (counts, expected))
    if expected[-1] < RARE and len(expected) > 1:
        counts, expected = (np.append(x[:-2], x[-2:].sum()) for x in (counts, expected))
    return float(((counts - expected) ** 2 / expected).sum()), len(expected) - 1


def compare(sizes: tuple[int, ...], n: int, seed: int) -> Result:
    """Sample rankings of these sizes under several sets of weights."""
    n_classes = max(5, sum(sizes) + 1)
    rankings = outcomes(sizes, n_classes)
    possible = positions(rankings, n_classes)
    number = {row.tobytes(): i for i, row in enumerate(possible.astype(np.int32))}
    rng = np.random.default_rng([seed, *sizes])
    statistic, freedom, worst = 0.0, 0, 0.0

    @jax.jit
    def draw(logs, key):
        d = PartialPlackettLuce(logs, np.array(sizes), max_block_size=max(sizes))
        return d.log_prob(jnp.asarray(possible)), d.sample(key, (n,))

    for spread in SPREADS:
        logs = (spread * rng.standard_normal(n_classes)).astype(np.float32)
        weights = np.exp(logs.astype(float))[None]
        p = np.array([probability(ranking, weights)[0] for ranking in rankings])
        found, samples = draw(logs, jax.random.key(rng.integers(2**31)))
        worst = max(worst, float(np.abs(np.expm1(np.asarray(found, float) - np.log(p))).max()))
        samples = np.asarray(samples).astype(np.int32)
        kinds, times = np.unique(samples, axis=0, return_counts=True)
        counts = np.zeros(len(rankings))
        counts[[number[kind.tobytes()] for kind in kinds]] = times
        more, free = chi_square(counts, n * p)
        statistic, freedom = statistic + more, freedom + free
    p_value = float(stats.chi2.sf(statistic, freedom)) if worst < TOLERANCE else 0.0
    what = f"sample, blocks of {', '.join(map(str, sizes))} among {n_classes} classes"
    remark = f"{freedom} degrees of freedom; log_prob within {worst:.0e}"
    return Result("goodness", what, "counts of samples", {"chi-square": p_value}, n * len(SPREADS), remark=remark)


def check(settings: Settings) -> Iterator[Result]:
    """Compare samples with probabilities for blocks of several sizes."""
    with Progress(settings.progress) as progress:
        chosen = QUICK_SIZES if settings.quick else SIZES
        advance = progress.task("Counting samples", len(chosen), "kinds of ranking")
        for sizes in chosen:
            yield compare(sizes, QUICK if settings.quick else N, settings.seed)
            advance(1)
