"""Sets with a guarantee: how often they hold what they were calibrated for, over repeated simulations.

Coverage must not be below 1 − α and, with a randomised threshold, not above 1 − α + 1 / (n + 1). Classifiers and
annotators see plausibilities that are ambiguous or clear-cut. A repetition draws calibration and test cases anew.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy import stats

from plausibly.base.progress import Progress
from plausibly.decisions.conformal import _curve
from plausibly.decisions.conformal._scores import Score
from validation._result import Result, Settings

SIZES, QUICK_SIZES = (20, 50, 200, 2000), (20, 50)
ALPHAS = (0.05, 0.1, 0.3)
REPETITIONS, QUICK = 2000, 600
SETTINGS = {"ambiguous": 1.0, "clear-cut": 0.05}
N_CLASSES, N_ANNOTATORS, N_TEST = 4, 3, 50
RISKS = np.array([0.0, 0.0, 1.0, 2.0])
_NUMBERS = 2**21  # scores sorted together


def _square(p: np.ndarray) -> np.ndarray:
    """A user's score."""
    return p**2 - 0.5 * p.max(axis=1, keepdims=True) ** 2


SCORES = {
    "lac": Score("lac"),
    "aps": Score("aps"),
    "aps, randomised": Score("aps", randomised=True),
    "raps": Score("raps", penalty=0.1, free_ranks=1),
    "top-k": Score("top-k"),
    "function": Score("function", _square),
}


class Cases:
    """Simulated cases: (repetition, case, …).

    Attributes
    ----------
    probabilities
        What the classifier says of each class.
    counts
        Number of annotators who choose each class.
    concentration
        Prior of the plausibilities, for each class.
    """

    def __init__(self, random: np.random.Generator, shape: tuple[int, int], concentration: float):
        self.random, self.concentration = random, concentration
        truth = _dirichlet(random, np.full((*shape, N_CLASSES), concentration))
        self.probabilities = _dirichlet(random, 8 * truth + 0.3)
        place = random.random((*shape, N_ANNOTATORS, 1))
        chosen = (place > np.cumsum(truth, axis=-1)[..., None, :]).sum(-1).clip(max=N_CLASSES - 1)
        self.counts = (chosen[..., None] == np.arange(N_CLASSES)).sum(-2)

    def plausibility(self) -> np.ndarray:
        """Posterior mean."""
        shapes = self.counts + self.concentration
        return shapes / shapes.sum(-1, keepdims=True)

    def annotator(self) -> np.ndarray:
        """Share of the annotators."""
        return self.counts / N_ANNOTATORS

    def vote(self) -> np.ndarray:
        """Majority vote, ties shared."""
        won = self.counts == self.counts.max(-1, keepdims=True)
        return won / won.sum(-1, keepdims=True)

    def sampled(self, m: int) -> np.ndarray:
        """Shares of m labels drawn from the posterior mean."""
        return self.random.multinomial(m, self.plausibility()) / m

    def risk(self) -> np.ndarray:
        """Posterior mean times the risk of the class."""
        return self.plausibility() * RISKS


# Target: weights to calibrate by, weights to measure by, greatest loss.
TARGETS: dict[str, tuple[Callable[[Cases], np.ndarray], Callable[[Cases], np.ndarray], float]] = {
    "plausibility": (Cases.plausibility, Cases.plausibility, 1.0),
    "annotator": (Cases.annotator, Cases.annotator, 1.0),
    "vote": (Cases.vote, Cases.vote, 1.0),
    "1 sampled label": (lambda cases: cases.sampled(1), Cases.plausibility, 1.0),
    "10 sampled labels": (lambda cases: cases.sampled(10), Cases.plausibility, 1.0),
    "risk": (Cases.risk, Cases.risk, 2.0),
}


def check(settings: Settings) -> Iterator[Result]:
    """Simulate every setting and size, and test the coverage of every score and target."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    repetitions = QUICK if settings.quick else REPETITIONS
    conditions = list(product(SETTINGS, sizes))
    with Progress(settings.progress) as progress:
        advance = progress.task("Simulating sets", len(conditions), "conditions")
        for number, (setting, n) in enumerate(conditions):
            found = coverage(setting, n, repetitions, [settings.seed, 19, number])
            for (score, target, randomised), kept in found.items():
                yield _result(f"{setting}, {score}, {target}", n, kept, TARGETS[target][2], randomised=randomised)
            advance(1)


def coverage(setting: str, n: int, repetitions: int, seed: list[int]) -> dict[tuple[str, str, bool], np.ndarray]:
    """Mean coverage of test cases in every repetition, (alpha, repetition), by score, target and randomisation."""
    random = np.random.default_rng(seed)
    step = max(1, _NUMBERS // (n * N_CLASSES))
    found: dict[tuple[str, str, bool], list[np.ndarray]] = {}
    for first in range(0, repetitions, step):
        size = min(step, repetitions - first)
        cases = Cases(random, (size, n + N_TEST), SETTINGS[setting])
        weights = {name: (by(cases), of(cases)) for name, (by, of, _) in TARGETS.items()}
        for name, score in SCORES.items():
            flat = cases.probabilities.reshape(-1, N_CLASSES)
            shares = random.random(len(flat)) if score.randomised else None
            scores = score.of(flat, shares).reshape(cases.probabilities.shape)
            calibrated, new = scores[:, :n].reshape(size, -1), scores[:, n:]
            order = np.argsort(calibrated, axis=1)
            ascending = np.take_along_axis(calibrated, order, 1)
            at_random = random.random((size, N_TEST, 1))
            for target, (by, of) in weights.items():
                own = np.take_along_axis(by[:, :n].reshape(size, -1), order, 1)
                steps = _curve.Steps.of_sorted(ascending, own)
                for alpha, randomised in product(ALPHAS, (False, True)):
                    threshold, keep = _curve.threshold_of(steps, alpha, n, TARGETS[target][2])
                    threshold, keep = threshold[:, None, None], keep[:, None, None]
                    inside = new >= threshold
                    if randomised:
                        inside &= (new > threshold) | (at_random < keep)
                    missed = (of[:, n:] * ~inside).sum(-1).mean(-1)
                    found.setdefault((name, target, randomised), []).append(1 - missed)
    n_alphas = len(ALPHAS)
    return {
        key: np.stack([np.concatenate(kept[at::n_alphas]) for at in range(n_alphas)]) for key, kept in found.items()
    }


def _result(what: str, n: int, kept: np.ndarray, bound: float, *, randomised: bool) -> Result:
    """Test whether coverage is too low and, if thresholds are randomised, too high."""
    p_values, told, lowest = {}, [], np.inf
    for alpha, own in zip(ALPHAS, kept, strict=True):
        mean, error = own.mean(), own.std(ddof=1) / np.sqrt(len(own))
        error = max(error, 1e-12)
        below = (mean - (1 - alpha)) / error
        lowest = min(lowest, below)
        p_values[f"{1 - alpha:g}"] = float(stats.norm.cdf(below))
        told.append(f"{mean:.4f}")
        if randomised:
            above = (1 - alpha + bound / (n + 1) - mean) / error
            lowest = min(lowest, above)
            p_values[f"{1 - alpha:g} + {bound:g}/(n + 1)"] = float(stats.norm.cdf(above))
    quantity = "randomised" if randomised else "coverage"
    remark = f"coverage {', '.join(told)}; nearest limit {lowest:+.1f} standard errors"
    return Result("conformal", what, quantity, p_values, n, remark=remark)


def _dirichlet(random: np.random.Generator, shapes: np.ndarray) -> np.ndarray:
    """Draw from Dirichlets; on the logarithmic scale, since small shapes underflow."""
    logs = np.log(random.standard_gamma(shapes + 1)) - random.standard_exponential(shapes.shape) / shapes
    values = np.exp(logs - logs.max(-1, keepdims=True))
    return values / values.sum(-1, keepdims=True)
