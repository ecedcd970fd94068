"""Models of one true class, calibrated by simulation: everything drawn from its prior, labels from it, and found again.

Each data set has a few annotators who label most of forty cases of three classes. Priors and labels are drawn here,
by code of its own. The place of the truth among the draws is uniform: of what cases share, of the log probability of
all labels, and of the probability of a class in the first case, for which the truth is one more draw of the parameters.
A sampler that forgets the data passes by all of these that do not look at it (Modrák et al. 2023); so for Dawid-Skene
the log probability of all labels is also taken without the confusion matrices, as if the majority were right.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import gammaln

from plausibly._progress import Progress
from plausibly.case import LabelledCases
from plausibly.inference import class_probabilities, sample_chain
from plausibly.models import MODELS
from validation._ranks import places
from validation._result import Result, Settings

N, QUICK = 400, 100
CASES, ANNOTATORS, CLASSES, PER_CASE = 40, 8, 3, 6
DRAWS, WARMUP = 40, 300
PROB = 0.9


@dataclass(frozen=True)
class Truth:
    """What a data set was drawn from."""

    values: dict[str, Any]
    confusion: np.ndarray


def draw_skene(rng: np.random.Generator) -> Truth:
    """Draw everything that cases share from the prior of Dawid-Skene."""
    k, r = CLASSES, ANNOTATORS
    common = np.empty((k, k))
    for row in range(k):
        while True:
            common[row] = rng.dirichlet([4.0 if j == row else 1 / (k - 1) for j in range(k)])
            if common[row].argmax() == row:
                break
    concentration = rng.gamma(2, 5, k)
    mean, strength = rng.random(), rng.gamma(2)
    attention, habit = rng.beta(strength * mean, strength * (1 - mean), r), rng.dirichlet(np.ones(k), r)
    centre = attention[:, None, None] * common + (1 - attention[:, None, None]) * habit[:, None]
    confusion = np.array([[rng.dirichlet(concentration[c] * centre[a, c]) for c in range(k)] for a in range(r)])
    prevalence = rng.dirichlet(np.ones(k))
    values = {"prevalence": prevalence, "common_confusion": common, "concentration": concentration}
    values |= {"mean_attention": mean, "attention_strength": strength}
    values |= {"attention": attention, "habit": habit, "confusion": confusion}
    accuracy = np.array([sum(prevalence[c] * confusion[a, c, c] for c in range(k)) for a in range(r)])
    return Truth(values | {"accuracy": accuracy}, confusion)


def log_probability_by_vote(values: dict[str, np.ndarray], labels: LabelledCases) -> np.ndarray:
    """Log probability of all labels if the majority is right, by (draw) of Dawid-Skene without confusion matrices."""
    count = labels.count(labels.votes.argmax(1))
    attention = values["attention"][..., None, None]
    centre = attention * values["common_confusion"][..., None, :, :] + (1 - attention) * values["habit"][..., None, :]
    shape = np.maximum(values["concentration"][..., None, :, None] * centre, 1e-9)
    of_row = gammaln(shape.sum(-1)) - gammaln((shape + count).sum(-1))
    return (of_row + (gammaln(shape + count) - gammaln(shape)).sum(-1)).sum((-1, -2))


def draw_coin(rng: np.random.Generator) -> Truth:
    """Draw everything that cases share from the prior of one coin."""
    k = CLASSES
    lowest = (-np.log(k - 1) - 1.0) / 1.5
    mean = float(stats.truncnorm.rvs(lowest, np.inf, 1.0, 1.5, random_state=rng))
    spread = abs(rng.normal())
    unlike = rng.beta(1, 4)
    of_like = 1 / (1 + np.exp(-rng.normal(mean, spread, ANNOTATORS)))
    accuracy = np.where(rng.random(ANNOTATORS) < unlike, rng.random(ANNOTATORS), of_like)
    confusion = np.array([[[a if j == c else (1 - a) / (k - 1) for j in range(k)] for c in range(k)] for a in accuracy])
    values = {"prevalence": rng.dirichlet(np.ones(k)), "mean_log_odds": mean, "spread": spread}
    values |= {"share_unlike": unlike, "accuracy": accuracy}
    return Truth(values, confusion)


SAMPLERS = {"dawid-skene": draw_skene, "one-coin": draw_coin}
QUANTITIES = {
    "dawid-skene": (
        "prevalence",
        "common_confusion",
        "concentration",
        "mean_attention",
        "attention_strength",
        "attention",
        "accuracy",
    ),
    "one-coin": ("prevalence", "mean_log_odds", "spread", "share_unlike", "accuracy"),
}


def simulate(truth: Truth, rng: np.random.Generator) -> LabelledCases:
    """Draw true classes and labels."""
    z = rng.choice(CLASSES, CASES, p=truth.values["prevalence"])
    case = np.repeat(np.arange(CASES), PER_CASE)
    who = np.concatenate([np.sort(rng.permutation(ANNOTATORS)[:PER_CASE]) for _ in range(CASES)])
    label = np.array([rng.choice(CLASSES, p=truth.confusion[a, z[i]]) for i, a in zip(case, who, strict=True)])
    return LabelledCases(case, who, label, CASES, ANNOTATORS, CLASSES)


def one_data_set(name: str, number: int, seed: int) -> dict[str, tuple[float, np.ndarray]]:
    """Simulate a data set, sample it, and return the truth and the draws of each quantity."""
    rng = np.random.default_rng([seed, sorted(SAMPLERS).index(name), number])
    truth, sampler = SAMPLERS[name](rng), MODELS[name].true_class
    assert sampler is not None
    labels = simulate(truth, rng)
    chain = sample_chain(sampler, labels, draws=DRAWS, warmup=WARMUP, seed=number, chain=0)
    shared = {site: draws[None] for site, draws in chain.items()}
    found = {}
    for site in QUANTITIES[name]:
        draws = shared[site].reshape(DRAWS, -1)
        found[site] = float(np.ravel(truth.values[site])[0]), draws[:, 0]
    if name == "dawid-skene":
        found["log probability by vote"] = (
            float(log_probability_by_vote(truth.values, labels)),
            log_probability_by_vote(chain, labels),
        )
    at_truth = {site: np.asarray(value, float)[None, None] for site, value in truth.values.items()}
    plausibility, total = class_probabilities(sampler, labels, shared)
    true_plausibility, true_total = class_probabilities(sampler, labels, at_truth)
    found["first case"] = float(true_plausibility[0, 0, 0, 0]), plausibility[0, :, 0, 0]
    found["log likelihood"] = float(true_total.sum()), total[0].sum(-1)
    return found


def calibrate(name: str, n: int, seed: int, advance: Any = lambda number: None) -> Iterator[Result]:
    """Test the places of the truth in n data sets, and how often the interval of an accuracy covers it."""
    rng, found = np.random.default_rng([seed, n]), []
    for number in range(n):
        found.append(one_data_set(name, number, seed))
        advance(1)
    remark = f"{CASES} cases, {ANNOTATORS} annotators, {DRAWS} draws"
    for quantity in found[0]:
        truth = np.array([one[quantity][0] for one in found])
        draws = np.stack([one[quantity][1] for one in found], axis=1)
        yield Result.of_places("true class", name, quantity, places(truth, draws, rng), remark)
    ends = [(one["accuracy"][0], *np.quantile(one["accuracy"][1], [(1 - PROB) / 2, (1 + PROB) / 2])) for one in found]
    covered = sum(low <= true <= high for true, low, high in ends)
    # The quantiles of so few draws lie a little within the interval.
    expected = np.mean([_coverage(DRAWS, rng) for _ in range(2000)])
    p = float(stats.binomtest(int(covered), n, expected).pvalue)
    yield Result("true class", name, f"{PROB:.0%} of accuracy", {"binomial": p}, n, remark=f"{covered} of {n} cover")


def _coverage(draws: int, rng: np.random.Generator) -> bool:
    u = rng.random(draws + 1)
    low, high = np.quantile(u[1:], [(1 - PROB) / 2, (1 + PROB) / 2])
    return bool(low <= u[0] <= high)


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate both models."""
    chosen = [name for name in SAMPLERS if settings.only in name]
    n = QUICK if settings.quick else N
    with Progress(settings.progress) as progress:
        advance = progress.task("Calibrating models of one true class", n * len(chosen), "data sets")
        for name in chosen:
            yield from calibrate(name, n, settings.seed, advance)
