"""Models of one true class, calibrated by simulation: everything drawn from its prior, labels from it, and found again.

Each data set has a few annotators who label most of forty cases of three classes. Priors and labels are drawn here,
by code of its own; with predictions, true classes come from the regression on simulated scores. The place of the truth
among the draws is uniform: of what cases share, of the log probability of all labels, and of the probability of a class
in the first case, for which the truth is one more draw of the parameters. A sampler that forgets the data passes by all
of these that do not look at it (Modrák et al. 2023); so for Dawid-Skene the log probability of all labels is also taken
without the confusion matrices, as if the majority were right.

Where cases differ in difficulty, looks, true classes, and what annotators see are drawn here as well, and how common
unclear cases are is one more quantity; with two groups of annotators, so is how often the second takes cases of the
first class for another.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import gammaln

from plausibly.base.progress import Progress
from plausibly.data.case import LabelledCases, Looks
from plausibly.data.regression import expected_shares, prior_moments, split
from plausibly.families.priors.evidence import log_scores as centred
from plausibly.families.true_class import class_probabilities, sampler_of
from plausibly.models import MODELS
from validation._ranks import places
from validation._result import Result, Settings

N, QUICK = 400, 16
CASES, ANNOTATORS, CLASSES, PER_CASE = 40, 8, 3, 6
DRAWS, WARMUP, WARMUP_BY_CASE = 40, 300, 150
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


def draw_skene_by_case(rng: np.random.Generator) -> Truth:
    """Draw everything but looks from the prior of Dawid-Skene, where attentive annotators name what they see."""
    values, k, r = dict(draw_skene(rng).values), CLASSES, ANNOTATORS
    values["common_confusion"] = np.eye(k)
    shape = np.empty((r, k, k))
    for a, c, j in np.ndindex(shape.shape):
        attention = values["attention"][a]
        shape[a, c, j] = values["concentration"][c] * (attention * (c == j) + (1 - attention) * values["habit"][a, j])
    logs = np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / np.maximum(shape, 1e-300)
    confusion = np.exp(np.maximum(logs - logs.max(-1, keepdims=True), -600))
    values["confusion"] = confusion / confusion.sum(-1, keepdims=True)
    return Truth(values, values["confusion"])


def draw_coin_by_case(rng: np.random.Generator) -> Truth:
    """Draw everything but looks from the prior of one coin, whose accuracies are of what annotators see."""
    truth = draw_coin(rng)
    return Truth(truth.values | {"attention": truth.values["accuracy"]}, truth.confusion)


def draw_common_by_case(rng: np.random.Generator) -> Truth:
    """Draw everything but looks from the prior of common confusion, one accuracy that is not below chance."""
    k, right = CLASSES, 0.0
    while right < 1 / k:
        right = rng.beta(4.0, 1.0)
    common = np.array([[right if j == c else (1 - right) / (k - 1) for j in range(k)] for c in range(k)])
    return Truth({"common_confusion": common}, np.stack([common] * ANNOTATORS))


def list_looks() -> tuple[np.ndarray, np.ndarray]:
    """Kind of each look, and the probability of each class in a case of that look."""
    k, own = CLASSES, np.eye(CLASSES)
    mixed = [(own[a], own[b]) for a, b in combinations(range(k), 2)] + [(own[a], np.full(k, 1 / k)) for a in range(k)]
    kinds, shares = list(range(k)), list(own)
    for number, (one, other) in enumerate(mixed):
        kinds += [k + number] * 5
        shares += [(6 - part) / 6 * one + part / 6 * other for part in range(1, 6)]
    return np.array(kinds), np.array(shares)


def draw_weights(rng: np.random.Generator, together: bool | None = None) -> np.ndarray:
    """Draw how common kinds of looks are; to a group of annotators by class, where they err together or do not."""
    k, (kind, shares) = CLASSES, list_looks()
    n = kind[-1] + 1
    if together is None:
        return rng.dirichlet([4 / k] * k + [0.5 / (n - k)] * (n - k))
    found = np.zeros((k, n))
    for c in range(k):
        unclear = [one for one in range(k, n) if shares[kind == one, c].mean() > 1 / 3]
        others = [one for one in range(k) if one != c] if together else []
        shape = [4.0] + [0.5 / max(len(others), 1)] * len(others) + [0.5 / len(unclear)] * len(unclear)
        found[c, [c, *others, *unclear]] = rng.dirichlet(shape)
    return found


def looks_given_class(weights: np.ndarray) -> np.ndarray:
    """Probability of each look (class, look) to a group of annotators in cases of a true class."""
    kind, shares = list_looks()
    size = np.bincount(kind)[kind]
    if weights.ndim == 1:
        joint = (weights[kind] / size)[:, None] * shares
        return (joint / joint.sum(0)).T
    found = np.empty((CLASSES, len(kind)))
    for c, p in np.ndindex(found.shape):
        of_kind = shares[kind == kind[p], c].sum()
        within = 1.0 if kind[p] < CLASSES else shares[p, c] / of_kind if of_kind else 0.0
        found[c, p] = weights[c, kind[p]] * within
    return found


SAMPLERS = {"dawid-skene": draw_skene, "one-coin": draw_coin, "common-confusion": draw_common}
BY_CASE = {"dawid-skene": draw_skene_by_case, "one-coin": draw_coin_by_case, "common-confusion": draw_common_by_case}
PREDICTED, DIFFERING, GROUPED = ", predictions", ", by case", ", two groups"  #: after the name of a model
LOG_PREVALENCE = np.log(np.array([0.5, 0.3, 0.2])).astype(np.float32)
CHECKED = (
    *SAMPLERS,
    *(f"{name}{PREDICTED}" for name in ("common-confusion", "one-coin")),
    *(f"{name}{DIFFERING}" for name in SAMPLERS),
    f"one-coin{DIFFERING}{GROUPED}",
    f"common-confusion{DIFFERING}{PREDICTED}",
)
QUICK_CHECKED = ("dawid-skene", f"one-coin{DIFFERING}{GROUPED}", f"common-confusion{PREDICTED}")
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


def with_looks(truth: Truth, rng: np.random.Generator, *, grouped: bool, predicted: bool) -> Truth:
    """Draw how common looks are, and what follows of classes and of annotators."""
    weights = np.stack([draw_weights(rng, one) for one in (False, True)] if grouped else [draw_weights(rng)])
    kind, shares = list_looks()
    values = truth.values | {"looks": weights}
    if not (grouped or predicted):
        values["prevalence"] = (weights[0][kind] / np.bincount(kind)[kind]) @ shares
    elif not predicted:
        values["prevalence"] = rng.dirichlet(np.ones(CLASSES))
    if "accuracy" in values:
        given = np.array([looks_given_class(one) for one in weights])[group_of_annotator(grouped)]
        right = np.einsum("akp,ps,ask->ak", given, shares, truth.confusion)
        values["accuracy"] = right @ values["prevalence"]
    return Truth(values, truth.confusion)


def group_of_annotator(grouped: bool) -> np.ndarray:
    """Group of each annotator: the second half are those who err together."""
    return np.repeat([0, 1], ANNOTATORS // 2) if grouped else np.zeros(ANNOTATORS, int)


def simulate(
    truth: Truth, rng: np.random.Generator, shares: np.ndarray | None = None, *, grouped: bool = False
) -> LabelledCases:
    """Draw true classes, what annotators see, and labels."""
    if shares is None:
        z = rng.choice(CLASSES, CASES, p=truth.values["prevalence"])
    else:
        z = (shares.cumsum(1) < rng.random((CASES, 1))).sum(1).clip(max=CLASSES - 1)
    case = np.repeat(np.arange(CASES), PER_CASE)
    who = np.concatenate([np.sort(rng.permutation(ANNOTATORS)[:PER_CASE]) for _ in range(CASES)])
    seen = z[case]
    if "looks" in truth.values:
        _, of_look = list_looks()
        given, group = [looks_given_class(one) for one in truth.values["looks"]], group_of_annotator(grouped)
        look = np.array([[rng.choice(len(of_look), p=one[c]) for one in given] for c in z])
        seen = np.array([rng.choice(CLASSES, p=of_look[look[i, group[a]]]) for i, a in zip(case, who, strict=True)])
    label = np.array([rng.choice(CLASSES, p=truth.confusion[a, s]) for s, a in zip(seen, who, strict=True)])
    return LabelledCases(case, who, label, CASES, ANNOTATORS, CLASSES)


def one_data_set(condition: str, number: int, seed: int) -> dict[str, tuple[float, np.ndarray]]:
    """Simulate a data set, sample it, and return the truth and the draws of each quantity."""
    rng = np.random.default_rng([seed, CHECKED.index(condition), number])
    name = condition.partition(",")[0]
    predicted, differing, grouped = (one in condition for one in (PREDICTED, DIFFERING, GROUPED))
    truth, family = (BY_CASE if differing else SAMPLERS)[name](rng), MODELS[name].family
    assert family is not None
    sampler = family.where("by-case" if differing else "same")
    scores, shares = None, None
    if predicted:
        truth, scores, shares = with_predictions(truth, rng)
    if differing:
        truth = with_looks(truth, rng, grouped=grouped, predicted=predicted)
    labels = simulate(truth, rng, shares, grouped=grouped).with_scores(scores, LOG_PREVALENCE)
    if not sampler.named:
        labels = replace(labels, annotator=np.zeros_like(labels.annotator), n_annotators=1)
    if differing:
        labels = replace(labels, looks=Looks.of(CLASSES))
    if grouped:
        labels = replace(labels, group=group_of_annotator(True), together=(False, True))
    warmup = WARMUP_BY_CASE if differing else WARMUP
    chain = sampler_of(sampler, labels, draws=DRAWS, warmup=warmup, seed=number).run([0])[0]
    shared = {site: draws[None] for site, draws in chain.items()}
    found = {}
    for site in QUANTITIES[name] + (("attention",) if differing and name == "one-coin" else ()):
        if differing and site == "common_confusion" and name == "dawid-skene":
            continue  # is known
        draws = shared[site].reshape(DRAWS, -1)
        found[site] = float(np.float32(np.ravel(truth.values[site])[0])), draws[:, 0]
    if differing:
        of_truth, draws = truth.values["looks"].astype(np.float32), chain["looks"]
        unclear = (0,) * (of_truth.ndim - 1) + (slice(CLASSES, None),)
        found["unclear"] = float(of_truth[unclear].sum()), draws[:, *unclear].sum(-1)
        if grouped:
            found["mistaken"] = float(of_truth[1, 0, 1:CLASSES].sum()), draws[:, 1, 0, 1:CLASSES].sum(-1)
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
    chosen = [name for name in (QUICK_CHECKED if settings.quick else CHECKED) if settings.only in name]
    n = QUICK if settings.quick else N
    with Progress(settings.progress) as progress:
        advance = progress.task("Calibrating models of one true class", n * len(chosen), "data sets")
        for name in chosen:
            yield from calibrate(name, n, settings.seed, advance)
