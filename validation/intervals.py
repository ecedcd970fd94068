"""Annotation, sampling and total intervals: how often they cover, over repeated simulations from a known population.

Cases have plausibilities from a Dirichlet, annotators draw labels by them, and two classifiers name the most frequent
label with some probability, else any class: given the labels, they know nothing more of a case, as evaluation assumes.
Posteriors are exact. The annotation interval has to cover a classifier's value on the cases of the data set, and the
total interval, of accuracy and of differences, the value in the population. Where labels are many, hardly a case is
open and annotation intervals have few values, so these are only held to be wide enough.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats

import plausibly as pb
from plausibly.base.bootstrap import CI_PROB
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior import build_posterior
from validation._result import Result, Settings

SIZES, QUICK_SIZES = (200, 500, 1000), (60,)
REPETITIONS, QUICK = 500, 50
N_CLASSES, N_DRAWS = 3, 500
POPULATIONS = {"many labels": (50, 0.1), "few labels": (5, 0.3)}  #: labels of each case, concentration of the Dirichlet
QUALITIES = {"A": 0.7, "B": 0.6}
_CLASSES = list("abc")
_LARGE = 400_000  # cases whose mean stands for the population's


class Cases:
    """Simulated cases: plausibilities (case, class), label counts, and what each classifier names."""

    def __init__(self, random: np.random.Generator, n: int, population: str):
        labels, self.concentration = POPULATIONS[population]
        gamma = random.gamma(self.concentration, size=(n, N_CLASSES)) + 1e-300
        self.truth = gamma / gamma.sum(axis=1, keepdims=True)
        self.counts = random.multinomial(labels, self.truth)
        vote = (self.counts + 0.5 * random.random(self.counts.shape)).argmax(axis=1)
        self.named = {
            name: np.where(random.random(n) < quality, vote, random.integers(N_CLASSES, size=n))
            for name, quality in QUALITIES.items()
        }

    def accuracy(self) -> dict[str, float]:
        """Share of the cases in which each classifier names the most plausible class, and the difference."""
        found = {name: float((named == self.truth.argmax(axis=1)).mean()) for name, named in self.named.items()}
        return found | {"A less B": found["A"] - found["B"]}

    def evaluate(self, random: np.random.Generator) -> dict[str, dict[str, tuple[float, float]]]:
        """Intervals by kind and by what they are of."""
        n = len(self.truth)
        annotations = Annotations.from_counts(self.counts, classes=_CLASSES)
        case, class_index = np.divmod(np.arange(N_CLASSES * n, dtype=np.int32), np.int32(N_CLASSES))
        start = N_CLASSES * np.arange(n + 1)
        slots = Slots(case, class_index, np.ones(N_CLASSES * n, np.int32), start)
        gamma = random.gamma(self.counts + self.concentration, size=(N_DRAWS, n, N_CLASSES)) + 1e-300
        draws = (gamma / gamma.sum(axis=2, keepdims=True)).reshape(1, N_DRAWS, -1)
        posterior = build_posterior(draws, annotations, slots, point=draws[0, 0], concentration=self.concentration)
        scores = {name: np.eye(N_CLASSES)[named] for name, named in self.named.items()}
        seed = int(random.integers(2**31))
        results = pb.evaluate(posterior, scores, k=1, sizes=1, replicates=N_DRAWS, seed=seed, progress=False)
        rows = pb.summary(results).query("metric == 'top1_accuracy'").set_index("classifier").to_dict("index")
        rows["A less B"] = pb.comparison.differences(results, "top1_accuracy").iloc[0].to_dict()
        kinds = {"annotation": ("lower", "upper"), "total": ("total_lower", "total_upper")}
        return {
            kind: {name: (row[low], row[high]) for name, row in rows.items()} for kind, (low, high) in kinds.items()
        }


def check(settings: Settings) -> Iterator[Result]:
    """Count how often intervals cover what they are of."""
    sizes, repetitions = (QUICK_SIZES, QUICK) if settings.quick else (SIZES, REPETITIONS)
    with Progress(settings.progress) as bars:
        for what in POPULATIONS:
            for size in sizes:
                advance = bars.task(f"Intervals, {what}, {size} cases", repetitions, "data sets")
                covered = coverage(what, size, repetitions, settings.seed, advance)
                yield from _results(what, size, covered)


def coverage(what, size, repetitions, seed, advance=lambda n: None) -> dict[tuple[str, str], np.ndarray]:
    """Whether each interval covers, by kind and by what it is of, over repetitions."""
    random = np.random.default_rng([seed, POPULATIONS[what][0], size])
    population = Cases(random, _LARGE, what).accuracy()
    covered: dict[tuple[str, str], list[bool]] = {}
    for _ in range(repetitions):
        cases = Cases(random, size, what)
        targets = {"annotation": cases.accuracy(), "total": population}
        for kind, rows in cases.evaluate(random).items():
            for name, (low, high) in rows.items():
                value = targets[kind][name]
                covered.setdefault((kind, name), []).append(low - 1e-9 <= value <= high + 1e-9)
        advance(1)
    return {key: np.array(values) for key, values in covered.items()}


def _results(what: str, size: int, covered: dict[tuple[str, str], np.ndarray]) -> Iterator[Result]:
    for (kind, name), values in covered.items():
        wide = kind == "annotation" and what == "many labels"
        test = stats.binomtest(int(values.sum()), len(values), CI_PROB, "less" if wide else "two-sided")
        words = f"{kind} interval of {name}, {what}"
        remark = f"covers {values.mean():.1%}{', at least ' if wide else ', '}{CI_PROB:.0%} asked"
        yield Result("intervals", words, f"{size} cases", {"coverage": test.pvalue}, len(values), remark=remark)
