"""Ratings by raters who differ, calibrated by simulation: everything that cases share from its prior, and found again.

Every data set is one pair of truth and draws. Some of its cases have one rating and others two, because the sampler
treats them apart, cases belong to groups, and a classifier predicts them. Ratings are of four values, or numbers, and
in some data sets three of five raters err together.

Penalties of translations are not normal: most are 0, some 5 or more, and severe raters scatter more. One rater marks
all segments of a document by one system. The intervals are those of normal ratings even so.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from plausibly.families.ratings import (
    LOCATION,
    OF_CASES,
    OF_GROUPS,
    OF_SCORES,
    OF_SEVERITIES,
    OF_SHARED,
    OF_SPREADS,
    SHARED,
    SPREAD,
    SPREAD_SD,
    RatedCases,
    sampler_of,
)
from validation._ranks import places
from validation._result import Result, Settings

N, QUICK, DRAWS = 250, 10, 40
CASES, RATERS, GROUPS = 16, 4, 3
CUTS = np.array([-np.inf, -0.8, 0.0, 0.9, np.inf])
CATEGORIES, NUMBERS = "ordinal-scores, raters", "normal-scores, raters"
TOGETHER = ", who err together"  #: after these
PENALTIES = "normal-scores, raters, skewed penalties"
CONDITIONS = CATEGORIES, NUMBERS, CATEGORIES + TOGETHER, NUMBERS + TOGETHER, PENALTIES
QUICK_CONDITIONS = NUMBERS, CATEGORIES + TOGETHER
N_PENALTIES, LEAST_COVERED = 100, 0.9  # worlds of penalties, and share of 94 % intervals that should contain the truth
EACH = 2  # kept draws of which one counts


def simulate(
    rng: np.random.Generator, *, numbers: bool = False, together: bool = False
) -> tuple[RatedCases, dict[str, float]]:
    """Draw everything shared from its prior, and ratings of four values, or as numbers."""
    raters = RATERS + together
    location, case_spread = rng.normal(0, LOCATION), abs(rng.normal(0, OF_CASES))
    severity_spread, group_spread = abs(rng.normal(0, OF_SEVERITIES)), abs(rng.normal(0, OF_GROUPS))
    typical, variation = rng.normal(SPREAD, SPREAD_SD), abs(rng.normal(0, OF_SPREADS))
    severity, effect = rng.normal(0, severity_spread, raters), rng.normal(0, group_spread, GROUPS)
    spread = np.exp(rng.normal(typical, variation, raters))
    code = np.arange(CASES) % GROUPS
    x = rng.standard_normal((CASES, 1))
    coefficients = rng.normal(0, OF_SCORES, 1)
    mean = rng.normal(location + effect[code] + x @ coefficients, case_spread)
    n = 1 + np.arange(CASES) % (5 if together else 2)
    case = np.repeat(np.arange(CASES), n)
    rater = np.concatenate([rng.permutation(raters)[:of] for of in n])
    z = rng.normal(mean[case] + severity[rater], spread[rater])
    shared_spread, of_group = abs(rng.normal(0, OF_SHARED)), np.arange(raters) < 3
    if together:
        z += of_group[rater] * rng.normal(0, shared_spread, CASES)[case]
    names = np.array([f"r{at}" for at in range(raters)])
    groups = {"system": (np.array([f"s{at}" for at in range(GROUPS)]), code)}
    if numbers:
        value, values, cuts, typical_of = np.arange(len(z)), z, np.empty(len(z) + 1), z
    else:
        value, values, cuts, typical_of = (
            np.digitize(z, CUTS[1:-1]),
            np.arange(4.0),
            CUTS,
            np.array([-1.3, -0.4, 0.4, 1.4]),
        )
    unit = (0.0, 1.0) if numbers else None
    rater_groups = (np.array(["models"]), np.where(of_group, 0, -1)) if together else None
    rated = RatedCases(case, rater, value, CASES, names, values, cuts, typical_of, groups, x, unit, rater_groups)
    truth = {"location": location, "case_spread": case_spread, "severity_spread": severity_spread}
    truth |= {"typical_spread": np.exp(typical), "spread_of_spreads": variation, "system_spread": group_spread}
    # one of each, and a difference, which is what comparisons rest on
    truth |= {"severity": severity[0], "spread": spread[0], "system_effect": effect[0], "latent_mean": mean[0]}
    truth |= {"coefficients": coefficients[0]} | ({SHARED: shared_spread} if together else {})
    return rated, truth | {"severity difference": severity[1] - severity[0]}


def calibrate(what: str, n: int, seed: int) -> Iterator[Result]:
    """Test the places of the truth among the draws of each data set; say how many are inside of 94 % intervals."""
    numbers, together = what.startswith(NUMBERS), what.endswith(TOGETHER)
    rng = np.random.default_rng([seed, n, numbers, *[1] * together])
    truths: dict[str, list[float]] = {}
    found: dict[str, list[np.ndarray]] = {}
    for number in range(n):
        while True:  # as calls refuse fewer values, whatever the truth
            rated, truth = simulate(rng, numbers=numbers, together=together)
            if len(np.unique(rated.value)) > 2:
                break
        drawn = sampler_of(rated, draws=EACH * DRAWS, warmup=100, seed=seed).run([number])[0]
        drawn["severity difference"] = drawn["severity"][:, 1] - drawn["severity"][:, 0]
        for quantity, value in truth.items():
            draws = drawn[quantity][EACH - 1 :: EACH]
            truths.setdefault(quantity, []).append(value)
            found.setdefault(quantity, []).append(draws if draws.ndim == 1 else draws[:, 0])
    for quantity, values in truths.items():
        draws = np.stack(found[quantity], axis=1)
        u = places(np.array(values, draws.dtype), draws, rng)
        covered = np.mean(np.abs(2 * u - 1) < 0.94)
        yield Result.of_places("ratings", what, quantity, u, f"{covered:.1%} in 94 % intervals, {DRAWS} draws of each")


def penalise(rng: np.random.Generator) -> tuple[RatedCases, dict[str, float]]:
    """Draw penalties of segments of documents by systems; minor errors count 1 point, major ones 5.

    Returns them, and the differences between two raters and between two systems.
    """
    n_systems, n_documents, n_segments, n_raters = 6, 8, 8, 4
    of_system, of_rater = 1 + rng.gamma(4, 0.3, n_systems), rng.normal(0, 0.35, n_raters)
    system, document, _ = (at.ravel() for at in np.indices((n_systems, n_documents, n_segments)))
    rater = rng.integers(n_raters, size=(n_systems, n_documents))[system, document]
    mean = np.maximum(of_system[system] + rng.normal(0, 0.2, n_documents)[document] + of_rater[rater], 0.05)
    minor, major = rng.gamma(1.5, 1 / 1.5, len(mean)), rng.gamma(1, 1, len(mean))
    score = rng.poisson(0.4 * mean * minor) + 5 * rng.poisson(0.12 * mean * major)
    values, value = np.unique(score, return_inverse=True)
    unit = float(score.mean()), float(score.std())
    groups = {"system": (np.arange(n_systems), system), "document": (np.arange(n_documents), document)}
    rated = RatedCases(
        case=np.arange(len(mean)),
        rater=rater,
        value=value,
        n_cases=len(mean),
        raters=np.arange(n_raters),
        values=values.astype(float),
        cuts=np.full(len(values) + 1, np.nan),
        typical=(values - unit[0]) / unit[1],
        groups=groups,
        unit=unit,
    )
    differences = {"severity": of_rater[1] - of_rater[0], "system_effect": of_system[1] - of_system[0]}
    return rated, {name: difference / unit[1] for name, difference in differences.items()}


def cover(n: int, seed: int) -> Iterator[Result]:
    """Count in how many worlds of penalties the interval of a difference contains the truth."""
    rng = np.random.default_rng([seed, n])
    covered: dict[str, list[bool]] = {}
    for number in range(n):
        rated, truth = penalise(rng)
        drawn = sampler_of(rated, draws=400, warmup=150, seed=seed).run([number])[0]
        for name, value in truth.items():
            low, high = np.quantile(drawn[name][:, 1] - drawn[name][:, 0], [0.03, 0.97])
            covered.setdefault(f"{name} difference", []).append(bool(low <= value <= high))
    for name, inside in covered.items():
        p = {"binomial": float(stats.binomtest(sum(inside), n, LEAST_COVERED, "less").pvalue)}
        yield Result("ratings", PENALTIES, name, p, n, remark=f"{np.mean(inside):.1%} in 94 % intervals")


def check(settings: Settings) -> Iterator[Result]:
    """Calibrate ratings by raters who differ."""
    for what in QUICK_CONDITIONS if settings.quick else CONDITIONS:
        if settings.only in what:
            n = QUICK if settings.quick else N
            yield from cover(N_PENALTIES, settings.seed) if what == PENALTIES else calibrate(what, n, settings.seed)
