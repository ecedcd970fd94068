"""Systems that were not judged alike: whether equals are told apart, and how often intervals cover.

Each world has 20 to 100 prompts, three to six systems, of which two are equally good, and one to four people, some of
them strict. P(better) of the equals may lie beyond .995, either way, in at most 2 % of worlds (1 % is due), and
intervals have to cover the win rate against each of the others equally often, or the mean outcome by the average person
on the average prompt, in at least 88 %. Schedules are round-robin, random, or uneven: one of the equals met the weak
systems, the other one the strong ones; people rated systems in different shares; or prompts are common in part.
"""

import warnings
from collections.abc import Iterator

import numpy as np
from scipy import stats
from scipy.special import expit

from plausibly.base.errors import PlausiblyWarning
from plausibly.base.progress import Progress
from plausibly.data.outcomes import Outcomes
from plausibly.systems import systems
from validation._result import Result, Settings

#: Prompts, systems, people.
SIZES, QUICK_SIZES = ((20, 3, 1), (40, 4, 2), (60, 6, 3), (100, 6, 4)), ((40, 4, 2),)
PAIRS, RATED = ("round-robin", "random", "opponents", "sides"), ("all", "random people", "people", "prompts", "both")
WORLDS, QUICK = 400, 200
CI_PROB, LEAST, EXTREME, MOST = 0.95, 0.88, 0.995, 0.02
_TIE, _SIDE, _NOISE, _STRICT = 0.5, 0.5, 1.0, 1.0  # ν; advantage of the first; spread by prompt; spread of strictness
_NODES = np.polynomial.hermite_e.hermegauss(21)


def check(settings: Settings) -> Iterator[Result]:
    """Count, for each schedule, in how many worlds equals are told apart, and how often intervals cover."""
    worlds, sizes = (QUICK, QUICK_SIZES) if settings.quick else (WORLDS, SIZES)
    with Progress(settings.progress) as bars:
        advance = bars.task("Simulating schedules", len(sizes) * len(PAIRS + RATED), "conditions")
        for size in sizes:
            for place, schedule in enumerate(PAIRS + RATED):
                yield condition(schedule, size, worlds, [settings.seed, *size, place])
                advance(1)


def condition(schedule: str, size: tuple[int, int, int], worlds: int, seed: list[int]) -> Result:
    """Simulate worlds with a schedule."""
    random = np.random.default_rng(seed)
    better, covered, cautions, comparable = [], [], 0, 0
    for _ in range(worlds):
        outcomes, truth = (compared if schedule in PAIRS else rated)(random, schedule, *size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlausiblyWarning)
            found = systems(outcomes, ci_prob=CI_PROB, replicates=2)
        row = found.differences.set_index(["system", "other"])
        better.append(float(row["p_better"].loc[("s0", "s1") if ("s0", "s1") in row.index else ("s1", "s0")]))
        ranking = found.ranking.set_index("system").loc[outcomes.systems]
        covered += ((ranking["lower"] <= truth) & (truth <= ranking["upper"])).tolist() if found.comparable else []
        cautions, comparable = cautions + bool(found.cautions), comparable + found.comparable
    extreme = int((np.abs(np.array(better) - 0.5) > EXTREME - 0.5).sum())
    share = float(np.mean(covered))
    p = {
        f"equals are told apart in at most {MOST:.0%}": float(stats.binom.sf(extreme - 1, worlds, MOST)),
        f"at least {LEAST:.0%}": float(stats.binom.cdf(round(share * worlds), worlds, LEAST)),  # systems are alike
    }
    words = "{} prompts, {} systems, {} people".format(*size)
    remark = f"told apart in {extreme / worlds:.1%}, covers {share:.1%}, "
    remark += f"said in {cautions / worlds:.0%}, ranked in {comparable / worlds:.0%}"
    return Result("designs", schedule, words, p, worlds, remark=remark)


def compared(random: np.random.Generator, schedule: str, n: int, n_systems: int, people: int):
    """Outcomes of pairs, and the win rate of each system against each of the others equally often."""
    strength = np.r_[0, 0, np.linspace(-1.5, 1.5, n_systems - 2)] if n_systems > 3 else np.array([0.0, 0.0, 1.0])
    pairs = np.array([(a, b) for a in range(n_systems) for b in range(a)])
    weight = np.ones(len(pairs))
    if schedule == "opponents":  # the first of the equals met weak systems, the second one strong ones
        gap = strength[pairs[:, 0]] + strength[pairs[:, 1]]
        with_first, with_second = (pairs == 0).any(axis=1), (pairs == 1).any(axis=1)
        weight = np.exp(-2.0 * gap * with_first + 2.0 * gap * with_second)
    chosen = random.choice(len(pairs), n, p=weight / weight.sum())
    if schedule in ("round-robin", "sides"):
        chosen = random.permutation(np.arange(n) % len(pairs))
    first, second = pairs[chosen].T
    first_place = np.choose(np.minimum(second, 2), [0.9, 0.1, 0.5]) if schedule == "sides" else 0.5  # of the second one
    turned = random.random(n) < first_place
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    noise = random.normal(0, _NOISE, n)
    x = strength[first] - strength[second] + noise + _SIDE * (schedule == "sides")
    case = np.repeat(np.arange(n), people)
    value = _davidson(random, x[case])
    truth = [
        np.mean([_rate(a - b) for place, b in enumerate(strength) if place != at]) for at, a in enumerate(strength)
    ]
    return _outcomes("pairs", first[case], case, np.tile(np.arange(people), n), value, n, second[case]), np.array(truth)


def _davidson(random: np.random.Generator, x):
    win, lose = np.exp(x / 2), np.exp(-x / 2)
    at = random.random(len(x)) * (win + lose + _TIE)
    return np.where(at < win, 1.0, np.where(at < win + lose, 0.0, 0.5))


def _rate(x: float) -> float:
    """Mean outcome over prompts."""
    at, weight = _NODES
    odds = x + _NOISE * at
    mean = 0.5 + np.sinh(odds / 2) / (2 * np.cosh(odds / 2) + _TIE)
    return float(mean @ weight / weight.sum())


def rated(random: np.random.Generator, schedule: str, n: int, n_systems: int, people: int):
    """Passes, and the mean outcome of each system by the average of these people on prompts like these."""
    level = np.r_[0, 0, np.linspace(-0.5, 1, n_systems - 2)]
    strict = random.normal(0, _STRICT, people)
    case, system = (one.ravel() for one in np.meshgrid(np.arange(n), np.arange(n_systems), indexing="ij"))
    hard = random.normal(0, _NOISE, n)
    share = np.ones((n_systems, people))
    if schedule in ("people", "both"):  # each system has a person who rates it three times as often
        share[np.arange(n_systems), np.arange(n_systems) % people] = 3
    if schedule in ("prompts", "both"):  # the first systems have easier prompts, so that parts are common
        kept = random.random(len(case)) < expit(np.where(system % 2, 1, -1) * hard[case])
        case, system = case[kept], system[kept]
    if schedule == "all":
        rater, case, system = np.tile(np.arange(people), len(case)), np.repeat(case, people), np.repeat(system, people)
    else:
        edges = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)[system]
        rater = (random.random((len(case), 1)) > edges).sum(axis=1)
    value = random.random(len(case)) < expit(level[system] - hard[case] - strict[rater])
    at, weight = _NODES
    often = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)  # of each person in all outcomes
    mean = expit(level[:, None, None] - _NOISE * at[:, None] - strict) @ often @ weight / weight.sum()
    return _outcomes("pass", system, case, rater, value.astype(float), n), mean


def _outcomes(kind, system, case, rater, value, n: int, opponent=None) -> Outcomes:
    number = int(max(system.max(), 0 if opponent is None else opponent.max())) + 1
    names = [
        np.array([f"{letter}{one}" for one in range(size)])
        for letter, size in zip("spr", (number, n, int(rater.max()) + 1), strict=True)
    ]
    return Outcomes(kind, *names, np.ones(len(names[2]), bool), system, case, rater, value, np.arange(n), opponent)
