"""Crowds whose true classes are known: whether probabilities of the truth can be believed, and who errs together.

What users have is simulated: annotators who differ and label few cases each, cases that are unclear to all of them,
classes as common as each other or 95 to 5, every annotator's label of every case or a few. In one world, annotators see
what a case looks like, and the true class is one of those that it looks like, as often as they would say so: there, of
the cases in a bin of the probability of the most probable class, as many are to be true, within five points. In the
other, the log odds that an annotator is right are hers less those of the case (Whitehill et al. 2009), whatever the
true class: there, probabilities may be too low, as unclear cases of public crowds are like those of the first world,
but not too high.

Juries of five people and three language models, whose errors correlate by .6, label cases of two classes. Some miss
one class more often than the other, and the models do so alike. If they are named as a group, 94 % intervals of the
share of a class are to cover the truth in 90 to 97 % of juries; without, there is to be a warning in most juries. Where
all members are right equally often in both classes, there is to be one in nearly all.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import stats

from plausibly import Annotations, aggregate
from plausibly.base.progress import Progress
from validation._result import Result, Settings

N, QUICK = 12, 1  #: data sets of each kind
JURIES, QUICK_JURIES = 100, 4
JURY, EQUALS = JURIES_OF = "juries", "juries of equals"
GAP = 0.05
BINS = np.array([0.0, 0.7, 0.9, 1.0])
PEOPLE, MODELS = 5, 3
RIGHT = 1.39  #: mean log odds that a member of a jury is right, of .8
OF_ALL, OF_CLASSES, OF_MODELS = 0.5, 0.7, 0.3  #: spreads of log odds, and what is left of them among models
COPULA = 0.837  #: correlation of normal variables of which two are both among the lowest fifth with correlation .6
FIT = {"draws": 100, "chains": 2, "warmup": 150, "progress": False}


@dataclass(frozen=True)
class Kind:
    """A kind of crowd."""

    world: str
    prevalence: tuple[float, ...]
    cases: int
    annotators: int
    per_case: int

    def __str__(self) -> str:
        how = "all labels" if self.per_case == self.annotators else f"{self.per_case} labels a case"
        shares = "/".join(f"{100 * share:.0f}" for share in self.prevalence)
        return f"{self.world}, {shares} %, {how}"


EVEN, RARE = (1 / 3,) * 3, (0.95, 0.05)
KINDS = [
    Kind(world, prevalence, cases, annotators, per_case)
    for world in ("looks", "log odds")
    for prevalence in (EVEN, RARE)
    for cases, annotators, per_case in ((200, 8, 8), (400, 30, 4))
]


def crowd(kind: Kind, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Simulate labels (case, annotator, class), and the true classes."""
    k, n = len(kind.prevalence), kind.cases
    who = np.concatenate([rng.choice(kind.annotators, kind.per_case, replace=False) for _ in range(n)])
    case, ability = np.repeat(np.arange(n), kind.per_case), rng.normal(1.5, 0.8, kind.annotators)
    first = rng.choice(k, n, p=kind.prevalence)
    other = (first + rng.integers(1, k, n)) % k
    if kind.world == "looks":  # a third of the cases are unclear, in any proportion
        share = np.where(rng.random(n) < 1 / 3, rng.uniform(0.5, 1, n), 1.0)
        truth = np.where(rng.random(n) < share, first, other)
        meant = np.where(rng.random(len(case)) < share[case], first[case], other[case])
        right = rng.random(len(case)) < stats.logistic.cdf(ability[who] + 1)
    else:
        truth = first
        meant = truth[case]
        right = rng.random(len(case)) < stats.logistic.cdf(ability[who] - rng.normal(0, 1, n)[case])
    said = np.where(right, meant, (meant + rng.integers(1, k, len(case))) % k)
    return _table(case, who, said), truth


def jury(rng: np.random.Generator, cases: int = 400, *, equal: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Simulate the labels of a jury whose members are ``equal`` or not, and the true classes."""
    truth, size = (rng.random(cases) < 0.4).astype(int), PEOPLE + MODELS
    odds = rng.normal(0, OF_ALL, (size, 1)) + rng.normal(0, OF_CLASSES, (size, 2))
    odds[PEOPLE:] = odds[PEOPLE:].mean(0) + OF_MODELS * (odds[PEOPLE:] - odds[PEOPLE:].mean(0))
    right = stats.logistic.cdf(RIGHT + odds * (not equal))[:, truth].T
    common, own = rng.standard_normal((cases, 1)), rng.standard_normal((cases, size))
    own[:, PEOPLE:] = np.sqrt(COPULA) * common + np.sqrt(1 - COPULA) * own[:, PEOPLE:]
    wrong = stats.norm.cdf(own) > right
    case, who = np.divmod(np.arange(wrong.size), size)
    return _table(case, who, np.where(wrong, 1 - truth[:, None], truth[:, None]).ravel()), truth


def _table(case: np.ndarray, who: np.ndarray, said: np.ndarray) -> pd.DataFrame:
    names = {"case": case, "annotator": [f"m{at}" for at in who], "class": [f"k{at}" for at in said]}
    return pd.DataFrame(names).assign(case=[f"{at:04}" for at in case])


def _probabilities(table: pd.DataFrame, classes: int, seed: int, **options: object) -> tuple[np.ndarray, list[str]]:
    """Draws of the probability of each class (draw, case, class), and the warnings."""
    annotations = Annotations.from_table(table, classes=[f"k{at}" for at in range(classes)])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        posterior = aggregate(annotations, "dawid-skene", seed=seed, **FIT, **options)
    found = posterior["posterior"]["plausibility"].values
    return found.reshape(-1, annotations.n_cases, classes), [str(one.message) for one in said]


def confidence(kind: Kind, number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Probability of the most probable class of each case, and whether it is true."""
    table, truth = crowd(kind, np.random.default_rng([seed, number]))
    mean = _probabilities(table, len(kind.prevalence), number)[0].mean(0)
    return mean.max(1), mean.argmax(1) == truth


def share_of_a_jury(number: int, seed: int, *, equal: bool = False) -> tuple[bool, bool]:
    """Whether the interval covers the share of the first class if models are named, and whether there is a warning."""
    table, truth = jury(np.random.default_rng([seed, number]), equal=equal)
    models = [f"m{at}" for at in range(PEOPLE, PEOPLE + MODELS)]
    draws, _ = _probabilities(table, 2, number, annotator_groups={"models": models})
    rng = np.random.default_rng(number)
    low, high = np.quantile((rng.random(draws.shape[:2]) < draws[..., 0]).mean(1), [0.03, 0.97])
    _, said = _probabilities(table, 2, number)
    return bool(low <= (truth == 0).mean() <= high), any("err together" in one for one in said)


def beyond(said: np.ndarray, true: np.ndarray, least: int = 30) -> tuple[float, float, float]:
    """Mean of what is said less what is true, by data sets; p that it is at most ``GAP``, and at least ``-GAP``."""
    gaps = np.array([(one - other).mean() for one, other in zip(said, true, strict=True) if len(one)])
    sizes = np.array([len(one) for one in said if len(one)])
    if sizes.sum() < least:
        return 0.0, 1.0, 1.0
    mean = float(np.average(gaps, weights=sizes))
    # That of independent cases, or of data sets if it is more: their annotators differ.
    within = np.sqrt(max(float(np.concatenate(true).var()), 0.01) / sizes.sum())
    between = np.sqrt((sizes**2 * (gaps - mean) ** 2).sum()) / sizes.sum() if len(gaps) > 1 else 0.0
    error = max(within, between)
    return mean, float(stats.norm.sf((mean - GAP) / error)), float(stats.norm.cdf((mean + GAP) / error))


def check(settings: Settings) -> Iterator[Result]:
    """Fit crowds of all kinds, and juries."""
    n, juries = (QUICK, QUICK_JURIES) if settings.quick else (N, JURIES)
    kinds = [kind for kind in KINDS if settings.only in str(kind)]
    kinds_of_juries = [name for name in JURIES_OF if settings.only in name]
    with Progress(settings.progress) as progress:
        number_of_sets = n * len(kinds) + juries * len(kinds_of_juries)
        advance = progress.task("Fitting crowds and juries", number_of_sets, "data sets")
        for kind in kinds:
            found = []
            for number in range(n):
                found.append(confidence(kind, number, settings.seed))
                advance(1)
            for low, high in [(0.0, 1.0), *pairwise(BINS)]:
                inside = [(said > low) & (said <= high) for said, _ in found]
                said, true = ([one[at][some] for one, some in zip(found, inside, strict=True)] for at in (0, 1))
                mean, more, less = beyond(said, true)
                tests = {"too sure": more} | ({"too unsure": less} if kind.world == "looks" else {})
                remark = f"said less true {mean:+.3f}"
                size = int(sum(map(len, said)))
                yield Result("crowds", str(kind), f"said {low:.1f} to {high:.1f}", tests, size, remark=remark)
        for name in kinds_of_juries:
            found = []
            for number in range(juries):
                found.append(share_of_a_jury(number, settings.seed, equal=name == EQUALS))
                advance(1)
            covered, warned = np.sum(found, axis=0).tolist()
            low = float(stats.binomtest(covered, juries, 0.9, "less").pvalue)
            high = float(stats.binomtest(covered, juries, 0.97, "greater").pvalue)
            remark = f"{covered} of {juries} cover"
            yield Result("crowds", name, "94% of a share", {"few": low, "many": high}, juries, remark=remark)
            few = float(stats.binomtest(warned, juries, 0.5 if name == JURY else 0.95, "less").pvalue)
            yield Result("crowds", name, "warnings", {"few": few}, juries, remark=f"{warned} of {juries} warned")
