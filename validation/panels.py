"""Agreement and accuracy against panels: how often their intervals cover, over repeated simulations.

Cases of a cluster, such as a patient, resemble each other, and so do a classifier's errors on them. Annotators draw
labels from the plausibilities, which classifiers see through noise. Intervals have to cover the values in the
population, which are computed from the plausibilities of very many cases. Those of clusters may cover too often: the
unseen one is right or wrong in all of its cases, and clusters of these simulations are not.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import xarray as xr
from scipy import stats

from plausibly import evaluation
from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations
from validation._result import Result, Settings

REPETITIONS, QUICK = 500, 100
N_CLUSTERS, QUICK_CLUSTERS = 200, 60
SIZES = {"cases": 1, "clusters": 9}  #: most cases of a cluster, which has any number from 1
N_CLASSES, N_LABELS, PANEL = 3, 4, 3
_CLASSES = list("abc")
_NOISE = {"A": 0.7, "B": 1.2}
_LARGE = 200_000  # clusters whose mean stands for the population's


class Cases:
    """Simulated cases: plausibilities (case, class), what each classifier names, and the cluster of each."""

    def __init__(self, random: np.random.Generator, n_clusters: int, most: int):
        sizes = random.integers(1, most + 1, n_clusters)

        def noise(shared: float, own: float) -> np.ndarray:
            common = np.repeat(random.normal(size=(n_clusters, N_CLASSES)), sizes, axis=0)
            return shared * common + own * random.normal(size=common.shape)

        scores = noise(1.4, 0.7) + np.array([0.5, 0, 0])
        self.plausibility = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        self.named = {name: (scores + noise(sd, sd)).argmax(axis=1) for name, sd in _NOISE.items()}
        self.cluster = np.repeat(np.arange(n_clusters), sizes)

    def population(self) -> dict[str, float]:
        """What is measured, from the plausibilities."""
        wins = np.zeros(self.plausibility.shape)
        for labels in product(range(N_CLASSES), repeat=PANEL):
            votes = np.bincount(labels, minlength=N_CLASSES)
            best = votes == votes.max()
            wins += self.plausibility[:, labels].prod(axis=1)[:, None] * best / best.sum()
        humans = {"agreement of experts": self.plausibility, "expert against panels": wins}
        found = {what: float((self.plausibility * of).sum(axis=1).mean()) for what, of in humans.items()}
        for name, named in self.named.items():
            for what, of in (("agreement", self.plausibility), ("panels", wins)):
                found[f"{what}, {name}"] = float(np.take_along_axis(of, named[:, None], 1).mean())
        return with_differences(found)

    def intervals(self, random: np.random.Generator) -> dict[str, tuple[float, float]]:
        """Intervals of the same, from labels."""
        annotations = Annotations.from_counts(random.multinomial(N_LABELS, self.plausibility), classes=_CLASSES)
        scores = {name: np.eye(N_CLASSES)[named] for name, named in self.named.items()}
        seed = int(random.integers(2**31))
        results: xr.Dataset = evaluation.panels(annotations, scores, clusters=self.cluster, seed=seed).sel(n=PANEL)
        found = {"agreement of experts": results["human_level_total"].values}
        found["expert against panels"] = results["human_panel_total"].values
        for at, name in enumerate(self.named):
            found[f"agreement, {name}"] = results["expert_agreement_total"].values[at]
            found[f"panels, {name}"] = results["panel_accuracy_total"].values[at]
        ends = {what: interval(values, CI_PROB) for what, values in with_differences(found).items()}
        return {what: (float(low), float(high)) for what, (low, high) in ends.items()}


def with_differences(found: dict) -> dict:
    """Add differences between classifiers, and between a classifier and experts."""
    return found | {
        "agreement, A less B": found["agreement, A"] - found["agreement, B"],
        "agreement, A less experts": found["agreement, A"] - found["agreement of experts"],
        "panels, A less expert": found["panels, A"] - found["expert against panels"],
    }


def check(settings: Settings) -> Iterator[Result]:
    """Count how often intervals cover, where cases are independent and where they come in clusters."""
    n_clusters, repetitions = (QUICK_CLUSTERS, QUICK) if settings.quick else (N_CLUSTERS, REPETITIONS)
    with Progress(settings.progress) as bars:
        for kind, most in SIZES.items():
            random = np.random.default_rng([settings.seed, most])
            population = Cases(random, _LARGE, most).population()
            covered: dict[str, list[bool]] = {what: [] for what in population}
            advance = bars.task(f"Panels, {n_clusters} {kind}", repetitions, "data sets")
            for _ in range(repetitions):
                for what, (low, high) in Cases(random, n_clusters, most).intervals(random).items():
                    covered[what].append(low <= population[what] <= high)
                advance(1)
            for what, values in covered.items():
                side, rate = "less" if most > 1 else "two-sided", np.mean(values)
                test = stats.binomtest(sum(values), len(values), CI_PROB, side)
                remark = f"covers {rate:.1%}, {CI_PROB:.0%} asked"
                words = f"{n_clusters} {kind}"
                yield Result("panels", what, words, {"coverage": test.pvalue}, len(values), remark=remark)
