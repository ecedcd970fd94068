"""Reader studies: the size of tests and the coverage of intervals over simulated readers and cases.

Readers rate as in the model of Roe & Metz (1997): a rating is a mean by truth, plus what is due to reader, case, reader
and case, each by itself and with the condition. Skill varies by reader (and with the condition); strictness, which
AUROC does not see, does, too. A model that is as good as readers are on average stands beside them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, norm

from plausibly.agreement import ReaderStudy, reader_study
from plausibly.agreement.readers._compare import effect_of
from plausibly.agreement.readers._figures import FIGURES, delong
from validation._result import Result, Settings

#: Mean AUROC, number of readers, number of cases of each kind.
CONDITIONS = ((0.7, 5, 50), (0.85, 5, 50), (0.95, 5, 50), (0.85, 10, 50), (0.85, 3, 50))
QUICK = 200  #: studies of each kind
LEVEL, COVERAGE = (0.03, 0.07), (0.92, 0.98)  #: where the true size and coverage may lie
#: Variances of Roe & Metz's structure HL: cases much, readers much.
READER, READER_CONDITION = 0.0055, 0.0055
CASE, CASE_CONDITION, READER_CASE, REST = 0.3, 0.3, 0.2, 0.2
DIFFERENCE = 0.05  # of AUROC, where the conditions differ
#: Figure, number of readers of all and of each case (0: of all), and whether gold labels are known.
DECIDED = (
    ("sensitivity", 10, 0, True),
    ("accuracy", 10, 3, True),
    ("sensitivity", 20, 2, True),
    ("accuracy", 5, 0, False),
    ("accuracy", 10, 0, False),
)
STRICTNESS, SKILL, OF_DECIDED = 0.7, 0.3, 120  # standard deviations over readers, and number of cases


def against_readers(folder: Path, **options: Any) -> ReaderStudy:
    """The simulated study of a model and ten readers that is published with its results."""
    with np.load(folder / "model_vs_readers.npz") as data:
        disease, model, readers = data["disease"].astype(int), data["model"], data["readers"]
    case, reader = np.indices(readers.shape)
    table = pd.DataFrame({"case": case.ravel(), "annotator": reader.ravel(), "score": readers.ravel()})
    return reader_study(table, {"model": by_case(model)}, by_case(disease), ci_prob=0.95, **options)


def by_case(values: np.ndarray) -> dict[str, Any]:
    """Values by the name of their case."""
    return {str(case): value for case, value in enumerate(values.tolist())}


def two_conditions(folder: Path, **options: Any) -> ReaderStudy:
    """The study of Van Dyke et al. (1993): five readers of images of two kinds."""
    table = pd.read_csv(folder / "vandyke.csv", dtype={"case": str})
    table = table.rename(columns={"reader": "annotator", "treatment": "condition", "rating": "score"})
    gold = table.groupby("case")["truth"].first().to_dict()
    return reader_study(table.drop(columns="truth"), gold=gold, ci_prob=0.95, **options)


def ratings(auc: Sequence[float], readers: int, cases: int, random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Truth (case,), ratings of two conditions (condition, reader, case), and of a model as good as the second one."""
    truth = np.repeat([1, 0], [cases, cases])
    spread = CASE + CASE_CONDITION + READER_CASE + REST
    # Half of what readers differ by is in the means of either kind of cases, so that AUROCs of readers vary.
    means = norm.ppf(auc) * np.sqrt(2 * (spread + READER + READER_CONDITION))

    def drawn(variance: float, *shape: int) -> np.ndarray:
        return random.normal(0, np.sqrt(variance), shape)

    of_readers = drawn(READER, 1, readers, 2) + drawn(READER_CONDITION, 2, readers, 2)
    strictness = drawn(0.5, 1, readers, 1)
    of_cases = drawn(CASE, 1, 1, 2 * cases) + drawn(CASE_CONDITION, 2, 1, 2 * cases)
    rest = drawn(READER_CASE, 1, readers, 2 * cases) + drawn(REST, 2, readers, 2 * cases)
    rated = means[:, None, None] * truth + of_readers[:, :, truth] + strictness + of_cases + rest
    own = means[1] * np.sqrt(spread / (spread + READER + READER_CONDITION))
    model = own * truth + of_cases[1, 0] + drawn(READER_CASE + REST, 2 * cases)
    return truth, rated, model


@dataclass(frozen=True)
class Rates:
    """How often a test rejected what is true, and an interval held the truth."""

    what: str
    n: int
    rejected: float
    covered: float


def run(n: int, seed: int, conditions: Sequence[tuple[float, int, int]]) -> Iterator[Rates]:
    """Simulate studies: equal conditions, conditions that differ, and a model as good as readers."""
    for auc, readers, cases in conditions:
        random = np.random.default_rng([seed, int(100 * auc), readers])
        found: dict[str, list[tuple[bool, bool]]] = {"equal conditions": [], "conditions differ": [], "model": []}
        for _ in range(n):
            for name, first in (
                ("equal conditions", auc),
                ("conditions differ", auc + DIFFERENCE * (1 if auc < 0.9 else -1)),
            ):
                truth, rated, model = ratings((first, auc), readers, cases, random)
                score = partial(FIGURES["auroc"].value, truth)
                values = np.array([[score(one) for one in of] for of in rated])
                rows = np.array([[delong(truth, one) for one in of] for of in rated])
                effects = {name: (effect_of(values[0] - values[1], rows[0] - rows[1]), first - auc)}
                if name == "equal conditions":
                    beside = effect_of(score(model) - values[1], delong(truth, model) - rows[1])
                    effects["model"] = beside, 0.0
                for what, (effect, true) in effects.items():
                    lower, upper = effect.ends(0.95)
                    found[what].append((effect.p_value() < 0.05, lower <= true <= upper))
        for name, rates in found.items():
            rejected, covered = np.mean(rates, axis=0)
            yield Rates(f"{name}, AUROC {auc}, {readers} readers of {cases} + {cases} cases", n, rejected, covered)


def decisions(readers: int, cases: int, random: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Truth (case,), decisions of readers who differ in strictness and skill (reader, case), and of a model."""
    truth = (random.random(cases) < 0.4).astype(float)
    sign, hard = 2 * truth - 1, random.normal(0, 0.6, cases)
    skill, limit = np.exp(random.normal(0, SKILL, (readers, 1))), random.normal(0, STRICTNESS, (readers, 1))
    seen = 1.28 * skill * sign + hard + random.normal(size=(readers, cases))
    model = 1.28 * sign + hard + random.normal(size=cases)
    return truth, (seen > limit).astype(float), (model > 0).astype(float)


def expected(name: str, gold: bool, seed: int) -> float:
    """Effect over a thousand readers and ten thousand cases."""
    truth, seen, model = decisions(1000, 10_000, np.random.default_rng([seed, 1]))
    if gold:
        counts = truth == 1 if name == "sensitivity" else np.ones(len(truth), bool)
        return float(np.mean((model == truth)[counts]) - np.mean((seen == truth)[:, counts]))
    n, positive = len(seen), seen.sum(axis=0)
    pairs = (positive * (positive - 1) + (n - positive) * (n - positive - 1)) / (n * (n - 1))
    return float(np.mean(np.where(model == 1, positive, n - positive) / n - pairs))


def run_decided(n: int, seed: int, designs: Sequence[tuple[str, int, int, bool]]) -> Iterator[Rates]:
    """Simulate a model against readers who decide: some of them in each case, or as the truth."""
    for name, readers, each, gold in designs:
        random, true = np.random.default_rng([seed, readers, each]), expected(name, gold, seed)
        found = []
        for _ in range(n):
            truth, seen, model = decisions(readers, OF_DECIDED, random)
            if each:
                seen[each <= random.permuted(np.tile(np.arange(readers), (OF_DECIDED, 1)), axis=1).T] = np.nan
            reader, case = np.indices(seen.shape)
            table = pd.DataFrame({"case": case.ravel(), "annotator": reader.ravel(), "label": seen.ravel()}).dropna()
            options: dict[str, Any] = {"metric": name, "ci_prob": 0.95, "replicates": 300}
            study = reader_study(table, {"model": by_case(model)}, by_case(truth) if gold else None, **options)
            row = study.table.iloc[0]
            found.append(row["lower"] <= true <= row["upper"])
        what = f"{name}, {each or 'all'} of {readers} readers a case, {'gold' if gold else 'readers as the truth'}"
        yield Rates(what, n, np.nan, float(np.mean(found)))


def check(settings: Settings) -> Iterator[Result]:
    """Test that sizes and coverages lie where they may."""
    n = QUICK if settings.quick else 1000
    for one in chain(run(n, settings.seed, CONDITIONS), run_decided(n // 2, settings.seed, DECIDED)):
        if settings.only not in one.what:
            continue
        wrong = {"coverage": (1 - one.covered, tuple(1 - end for end in COVERAGE[::-1]))}
        if not np.isnan(one.rejected) and "differ" not in one.what:
            wrong["size"] = one.rejected, LEVEL
        for quantity, (share, (least, most)) in wrong.items():
            times = round(share * one.n)
            p_values = {
                "too many": binomtest(times, one.n, most, "greater").pvalue,
                "too few": binomtest(times, one.n, least, "less").pvalue,
            }
            yield Result("readers", one.what, quantity, p_values, one.n, remark=f"{share:.3f}")
