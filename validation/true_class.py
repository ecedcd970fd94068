"""Models of one true class, calibrated by simulation: everything drawn from its prior, labels from it, and found again.

Each data set has a few annotators who label most of forty cases of three classes. Priors and labels are drawn here,
by code of its own; with predictions, true classes come from the regression on simulated scores. The place of the truth
among the draws is uniform: of what cases share, of the log probability of all labels, and of the probability of a class
in the first case, for which the truth is one more draw of the parameters. A sampler that forgets the data passes by all
of these that do not look at it (Modrák et al. 2023); so for Dawid-Skene the log probability of all labels is also taken
without the confusion matrices, as if the majority were right.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import gammaln

from plausibly._progress import Progress
from plausibly.case import LabelledCases
from plausibly.families.true_class import class_probabilities, sample_chain
from plausibly.models import MODELS
from plausibly.priors.evidence import log_scores as centred
from plausibly.regression import expected_shares, prior_moments, split
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


def draw_common(rng: np.random.Generator) -> Truth:
    """Draw everything that cases share from the prior of common confusion."""
    common = draw_skene(rng).values["common_confusion"]
    values = {"prevalence": rng.dirichlet(np.ones(CLASSES)), "common_confusion": common}
    return Truth(values, np.stack([common] * ANNOTATORS))


SAMPLERS = {"dawid-skene": draw_skene, "one-coin": draw_coin, "common-confusion": draw_common}
PREDICTED = ", predictions"  #: after the name of a model
LOG_PREVALENCE = np.log(np.array([0.5, 0.3, 0.2])).astype(np.float32)
CHECKED = (*SAMPLERS, *(f"{name}{PREDICTED}" for name in ("common-confusion", "one-coin")))
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
    "common-confusion": ("prevalence", "common_confusion"),
}


def with_predictions(truth: Truth, rng: np.random.Generator) -> tuple[Truth, np.ndarray, np.ndarray]:
    """Draw coefficients from their prior; return scores of two classifiers, and the probabilities of true classes."""
    mean, sd = prior_moments(2, CLASSES)
    coefficients = (mean + sd * rng.normal(size=len(mean))).astype(np.float32)
    scores = np.stack([centred(rng.dirichlet(np.full(CLASSES, 0.5), CASES)) for _ in range(2)])
    shares = np.asarray(expected_shares(split(coefficients, 2, CLASSES), scores, LOG_PREVALENCE), float)
    values = truth.values | {"coefficients": coefficients, "prevalence": shares.mean(0)}
    return Truth(values, truth.confusion), scores, shares


def simulate(truth: Truth, rng: np.random.Generator, shares: np.ndarray | None = None) -> LabelledCases:
    """Draw true classes and labels."""
    if shares is None:
        z = rng.choice(CLASSES, CASES, p=truth.values["prevalence"])
    else:
        z = (shares.cumsum(1) < rng.random((CASES, 1))).sum(1).clip(max=CLASSES - 1)
    case = np.repeat(np.arange(CASES), PER_CASE)
    who = np.concatenate([np.sort(rng.permutation(ANNOTATORS)[:PER_CASE]) for _ in range(CASES)])
    label = np.array([rng.choice(CLASSES, p=truth.confusion[a, z[i]]) for i, a in zip(case, who, strict=True)])
    return LabelledCases(case, who, label, CASES, ANNOTATORS, CLASSES)


def one_data_set(name: str, number: int, seed: int) -> dict[str, tuple[float, np.ndarray]]:
    """Simulate a data set, sample it, and return the truth and the draws of each quantity."""
    rng = np.random.default_rng([seed, CHECKED.index(name), number])
    name, _, predicted = name.partition(PREDICTED[:2])
    truth, sampler = SAMPLERS[name](rng), MODELS[name].family
    assert sampler is not None
    scores, shares = None, None
    if predicted:
        truth, scores, shares = with_predictions(truth, rng)
    labels = simulate(truth, rng, shares).with_scores(scores, LOG_PREVALENCE)
    if not sampler.named:
        labels = replace(labels, annotator=np.zeros_like(labels.annotator), n_annotators=1)
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
    if predicted:
        found["score"] = float(truth.values["coefficients"][2]), chain["coefficients"][:, 2]
        found["first choice"] = float(truth.values["coefficients"][4]), chain["coefficients"][:, 4]
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
    if "accuracy" not in found[0]:
        return
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
    """Calibrate all models."""
    chosen = [name for name in CHECKED if settings.only in name]
    n = QUICK if settings.quick else N
    with Progress(settings.progress) as progress:
        advance = progress.task("Calibrating models of one true class", n * len(chosen), "data sets")
        for name in chosen:
            yield from calibrate(name, n, settings.seed, advance)
