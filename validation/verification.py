"""Gold labels of the suspicious: whether weighted intervals cover, and random gold labels raise no alarm.

Three readers and a classifier see 600 cases of which 30 % are ill. Who is verified depends on how many readers are
suspicious, on the classifier's score, on whether either is, or on nothing. Sensitivity, specificity and AUROC are those
of the population.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import plausibly as pb
from plausibly.base.progress import Progress
from plausibly.data.labels.verified import Selection, selection
from validation._result import Result, Settings

N_CASES, REPETITIONS, QUICK = 600, 200, 40
DESIGNS, RANDOM = ("readers", "scores", "either"), "random"
COVERS, ALARMS = 0.88, 0.05
METRICS = "sensitivity", "specificity", "auroc"
_LARGE = 400_000
_CLASSES = ["benign", "malignant"]


class Study:
    """Cases: who is ill, the share of suspicious readers, scores, and who is verified."""

    def __init__(self, design: str, random: np.random.Generator, n: int = N_CASES):
        self.ill = random.random(n) < 0.3
        z = np.where(self.ill, 0.8, -0.8) + random.normal(size=n)
        self.share = (random.random((n, 3)) < expit(2 * z)[:, None]).mean(axis=1)
        self.score = expit(1.2 * z + np.where(self.ill, 0.4, -0.4) + 0.6 * random.normal(size=n))
        chance = {
            "readers": np.where(self.share > 0.5, 0.9, np.where(self.share > 0, 0.4, 0.1)),
            "scores": 0.1 + 0.8 * self.score,
            "either": np.where((self.share > 0.5) | (self.score > 0.5), 0.9, 0.15),
            "random": np.full(n, 0.4),
        }[design]
        self.gold = np.flatnonzero(random.random(n) < chance)

    def truth(self) -> tuple[float, float, float]:
        """Sensitivity, specificity and AUROC of all cases."""
        named = self.score > 0.5
        auroc = roc_auc_score(self.ill, self.score)
        return float(named[self.ill].mean()), float((~named)[~self.ill].mean()), float(auroc)

    def selection(self, seed: int) -> Selection | None:
        """What the cases with gold labels tell of how they were chosen."""
        shares, scores = (np.c_[1 - of, of] for of in (self.share, self.score))
        return selection(shares, {"A": scores}, self.gold, _CLASSES, np.arange(len(self.ill)).astype(str), seed)

    def intervals(self, weights: Selection, seed: int) -> np.ndarray:
        """Intervals of the metrics, (metric, end), from the verified cases."""
        said = [[_CLASSES[int(one)]] for one in self.ill[self.gold]]
        labels = pb.Annotations.from_labels(said, classes=_CLASSES, cases=self.gold.astype(str))
        options = {"metrics": list(METRICS), "weights": weights, "replicates": 400, "seed": seed, "progress": False}
        found = pb.summary(pb.evaluate(labels, {"A": self.score[self.gold]}, truth="annotator", **options))
        return found.set_index("metric").loc[list(METRICS), ["total_lower", "total_upper"]].to_numpy()


def check(settings: Settings) -> Iterator[Result]:
    """Count how often weighted intervals cover, and how often random gold labels are said to be chosen."""
    repetitions = QUICK if settings.quick else REPETITIONS
    truth = np.array(Study(RANDOM, np.random.default_rng(settings.seed), _LARGE).truth())[:, None]
    with Progress(settings.progress) as bars:
        for design in DESIGNS:
            advance = bars.task(f"Gold labels by {design}", repetitions, "data sets")
            random, covered = np.random.default_rng([settings.seed, len(design)]), []
            for seed in range(repetitions):
                one = Study(design, random)
                found = one.selection(seed)
                if found is not None and found.weights is not None:
                    ends = one.intervals(found, seed)
                    covered.append((ends[:, :1] <= truth) & (truth <= ends[:, 1:]))
                advance(1)
            for metric, inside in zip(METRICS, np.array(covered)[:, :, 0].T, strict=True):
                test = stats.binomtest(int(inside.sum()), len(inside), COVERS, "less")
                words, remark = f"gold labels by {design}", f"covers {inside.mean():.1%}, at least {COVERS:.0%} asked"
                yield Result("verification", words, metric, {"coverage": test.pvalue}, len(inside), remark=remark)
    random, n = np.random.default_rng([settings.seed, 1]), 5 * repetitions
    alarms = sum(Study(RANDOM, random).selection(seed) is not None for seed in range(n))
    test = stats.binomtest(alarms, n, ALARMS, "greater")
    yield Result("verification", "random gold labels", "alarms", {"share": test.pvalue}, n, remark=f"{alarms} of {n}")
