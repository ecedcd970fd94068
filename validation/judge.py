"""The alternative annotator test: how often a model passes that is worse than every annotator by more than ε.

Models are as good as they may be under that hypothesis, so that the limit of 5 % is tried where it is nearest. Below 30
cases the published rule uses Wilcoxon's test, which does not hold that limit: it is shown, and the t-test checked.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy import stats

from plausibly.agreement.judge._tests import FEW, p_values, reject
from plausibly.base.progress import Progress
from validation._result import Result, Settings

SIZES, QUICK_SIZES = (12, 20, 29, 30, 50, 100, 300), (20, 50)
ANNOTATORS, CLASSES, ACCURACY = (3, 5), 3, 0.85
EPSILONS = (0.1, 0.2)
REPETITIONS, QUICK = 2000, 400
LEVEL = 0.05
_TUNING = 4000  # cases by which the model's accuracy is found


def check(settings: Settings) -> Iterator[Result]:
    """Simulate studies of every size, and test that at most 5 % of them certify."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    repetitions = QUICK if settings.quick else REPETITIONS
    conditions = list(product(EPSILONS, ANNOTATORS, sizes))
    with Progress(settings.progress) as progress:
        advance = progress.task("Simulating judges", len(conditions), "conditions")
        for number, (epsilon, people, n) in enumerate(conditions):
            random = np.random.default_rng([settings.seed, 23, number])
            accuracy = worst_allowed(epsilon, people, random)
            counts = studies(random, repetitions, n, people, accuracy)
            certified = reject(p_values(counts, epsilon, few=0), LEVEL).mean(axis=1) >= 0.5
            published = reject(p_values(counts, epsilon), LEVEL).mean(axis=1) >= 0.5
            remark = f"false certification {certified.mean():.3f} (model right in {accuracy:.2f})"
            if n < FEW:
                remark += f"; {published.mean():.3f} by Wilcoxon's test"
            p = float(stats.binom.sf(certified.sum() - 1, repetitions, LEVEL))
            yield Result(
                "judge",
                f"ε = {epsilon}, {people} annotators",
                "false certification",
                {"at most 5 %": p},
                n,
                remark=remark,
            )
            advance(1)


def studies(random: np.random.Generator, repetitions: int, n: int, people: int, accuracy: float) -> np.ndarray:
    """Counts of the differences −1, 0 and 1 between an annotator and the model, (repetition, annotator, 3)."""
    truth = random.integers(CLASSES, size=(repetitions, n, 1))
    said = _noisy(random, truth, ACCURACY, (repetitions, n, people))
    model = _noisy(random, truth, accuracy, (repetitions, n, 1))
    to_model = (said == model).sum(axis=2, keepdims=True) - (said == model)
    agree = (said[..., None] == said[:, :, None]).sum(axis=3) - 1
    difference = np.sign(agree - to_model)
    return np.stack([(difference == value).sum(axis=1) for value in (-1, 0, 1)], axis=-1)


def worst_allowed(epsilon: float, people: int, random: np.random.Generator) -> float:
    """Accuracy of a model whose annotators have an advantage of ε, by bisection."""
    low, high = 0.1, 0.95
    for _ in range(12):
        middle = (low + high) / 2
        counts = studies(random, 20, _TUNING, people, middle).sum(axis=(0, 1))
        low, high = (middle, high) if (counts[2] - counts[0]) / counts.sum() > epsilon else (low, middle)
    return low - 0.01


def _noisy(random: np.random.Generator, truth: np.ndarray, accuracy: float, shape: tuple[int, ...]) -> np.ndarray:
    wrong = (truth + random.integers(1, CLASSES, shape)) % CLASSES
    return np.where(random.random(shape) < accuracy, truth, wrong)
