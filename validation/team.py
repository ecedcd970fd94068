"""Metrics of a team with a probability of malignancy, two or three readers a lesion, and several lesions a patient.

800 lesions of 450 patients in three hospitals are malignant or benign. Lesions of a patient resemble each other, and so
do the errors of a classifier on them. Four readers of each hospital differ in strictness; two or three of them read a
lesion, and how many depends on the hospital. Three classifiers see how plausible malignancy is, through noise; "C" is
overconfident. Total intervals, over patients, have to cover the values of very many patients: against one expert (one
of the four readers) and a panel of three of them in 91 to 97 % of the data sets, against the class that most of the
four would name in at least 80 %, where the posterior knows the predictions. Intervals over lesions that ignore patients
cover less often than that, or this world would not show what patients do.

``python -m validation.team`` prints the table.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import stats
from scipy.special import expit
from sklearn import metrics as of_scikit_learn

import plausibly as pb
from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations
from validation._result import Result, Settings

REPETITIONS, QUICK = 300, 60
REPETITIONS_OF_DRAWS, QUICK_OF_DRAWS = 100, 10  #: against the most plausible class, which takes a posterior each
N_PATIENTS, N_LESIONS = 450, 800
LEAST, MOST, LEAST_OF_DRAWS, OFF = 0.91, 0.97, 0.8, 0.03  #: coverages, and bias of the AUROC, that are allowed
THRESHOLD = 0.25  #: from which on a lesion is called malignant
PANEL = 3
METRICS = ("auroc", "sensitivity", "specificity", "ppv", "brier", "log_score")
BASE = np.array([-4.6, -3.6, -2.6])  #: mean of the logits of a hospital's lesions
STRICTNESS = np.array([[-1.0, -0.3, 0.3, 1.0], [-0.8, -0.4, 0.2, 1.0], [-1.2, 0.0, 0.4, 0.8]])  #: of its readers
THIRD = np.array([0.4, 0.6, 0.8])  #: share of a hospital's lesions that three readers see
NOISE = {"A": 1.6, "B": 2.6, "C": 2.0}  #: of the logits that classifiers see
STATED = {"A": (-2.85, 0.6), "B": (-2.4, 0.37), "C": (-5.2, 1.1)}  #: logit of their probability: mean and slope
_LARGE = 1_000_000  # lesions that stand for the population
_READERS = STRICTNESS.shape[1]


class Lesions(NamedTuple):
    """Simulated lesions."""

    patient: np.ndarray  #: (lesion,)
    hospital: np.ndarray  #: (lesion,)
    malignant: np.ndarray  #: probability that each reader of the hospital calls it so (lesion, reader)
    third: np.ndarray  #: whether three readers see it
    probability: dict[str, np.ndarray]  #: of malignancy, by classifier (lesion,)

    def scores(self) -> dict[str, np.ndarray]:
        """Predictions (lesion, class)."""
        return {name: np.stack([1 - p, p], axis=1) for name, p in self.probability.items()}

    def labels(self, random: np.random.Generator) -> np.ndarray:
        """Draw labels of two or three of the readers (lesion, reader): 1 for malignant, -1 where one did not read."""
        named = (random.random(self.malignant.shape) < self.malignant).astype(int)
        place = random.random(self.malignant.shape).argsort(axis=1).argsort(axis=1)
        return np.where(place < 2 + self.third[:, None], named, -1)

    def annotations(self, random: np.random.Generator) -> Annotations:
        """Draw annotations."""
        labels = self.labels(random)
        counts = np.stack([(labels == 0).sum(axis=1), (labels == 1).sum(axis=1)], axis=1)
        return Annotations.from_counts(counts, classes=["benign", "malignant"])


def simulate(random: np.random.Generator, n_patients: int = N_PATIENTS, n_lesions: int = N_LESIONS) -> Lesions:
    """Simulate lesions; most patients have one or two, few have many."""
    more = random.standard_exponential(n_patients) ** 2
    sizes = 1 + random.multinomial(n_lesions - n_patients, more / more.sum())
    hospital = np.repeat(random.integers(len(BASE), size=n_patients), sizes)

    def noise(of_patient: float, own: float) -> np.ndarray:
        return np.repeat(of_patient * random.normal(size=n_patients), sizes) + own * random.normal(size=n_lesions)

    logit = BASE[hospital] + noise(2.7, 1.2)
    seen = {name: logit - BASE.mean() + noise(0.9 * sd, 0.44 * sd) for name, sd in NOISE.items()}
    probability = {name: expit(STATED[name][0] + STATED[name][1] * seen[name]) for name in NOISE}
    third = random.random(n_lesions) < THIRD[hospital]
    patient = np.repeat(np.arange(n_patients), sizes)
    return Lesions(patient, hospital, expit(logit[:, None] + STRICTNESS[hospital]), third, probability)


def majority(malignant: np.ndarray) -> np.ndarray:
    """Probability that two or three of three readers call a lesion malignant, over all panels of the readers."""
    found = [
        a * b + a * c + b * c - 2 * a * b * c
        for a, b, c in (malignant[:, list(of)].T for of in combinations(range(_READERS), PANEL))
    ]
    return np.mean(found, axis=0)


Values = dict[tuple[str, str], float]  # by metric and classifier


def population(lesions: Lesions) -> dict[str, Values]:
    """Metrics of very many lesions by what they are against, by scikit-learn."""
    expert = lesions.malignant.mean(axis=1)
    return {
        "annotator": of_truth(expert, lesions.probability),
        "panel": of_truth(
            majority(lesions.malignant)[lesions.third],
            {name: p[lesions.third] for name, p in lesions.probability.items()},
        ),
        "most-plausible": of_truth((expert > 0.5).astype(float), lesions.probability),
    }


def of_truth(truth: np.ndarray, probability: dict[str, np.ndarray]) -> Values:
    """Metrics for a probability of being positive (lesion,)."""
    label = np.repeat([0, 1], len(truth))
    weight = np.concatenate([1 - truth, truth])
    found: Values = {}
    for name, p in probability.items():
        p, named = np.tile(p, 2), np.tile(p >= THRESHOLD, 2).astype(int)
        (tn, fp), (fn, tp) = of_scikit_learn.confusion_matrix(label, named, sample_weight=weight)
        values = (
            of_scikit_learn.roc_auc_score(label, p, sample_weight=weight),
            tp / (tp + fn),
            tn / (tn + fp),
            tp / (tp + fp),
            of_scikit_learn.brier_score_loss(label, p, sample_weight=weight),
            of_scikit_learn.log_loss(label, np.clip(p, 1.2e-7, 1 - 1.2e-7), sample_weight=weight),
        )
        found |= {(metric, name): float(value) for metric, value in zip(METRICS, values, strict=True)}
    return found


class Found(NamedTuple):
    """Error of the mean, width of the total interval, and whether it covers, by metric and classifier."""

    error: dict[tuple[str, str], list[float]]
    width: dict[tuple[str, str], list[float]]
    covers: dict[tuple[str, str], list[bool]]

    @classmethod
    def empty(cls) -> "Found":
        """Nothing yet."""
        return cls(*({(metric, name): [] for metric in METRICS for name in NOISE} for _ in range(3)))

    def add(self, results: xr.Dataset, true: Values) -> None:
        """Compare results of one data set with the population."""
        for (metric, name), value in true.items():
            own = results.sel(classifier=name)
            low, high = interval(own[f"{metric}_total"].values, CI_PROB)
            self.error[metric, name].append(float(own[metric].mean()) - value)
            self.width[metric, name].append(float(high - low))
            self.covers[metric, name].append(bool(low <= value <= high))

    def coverage(self, metric: str) -> float:
        """Coverage of a metric, over data sets and classifiers."""
        return float(np.mean([self.covers[metric, name] for name in NOISE]))

    def bias(self, metric: str) -> float:
        """Error of a metric, over data sets and classifiers."""
        return float(np.mean([self.error[metric, name] for name in NOISE]))


_OPTIONS = {"metrics": list(METRICS), "threshold": THRESHOLD, "progress": False}


def against_labels(
    repetitions: int, seed: int, true: dict[str, Values], advance: Callable[[int], None] = lambda n: None
) -> dict[tuple[str, str], Found]:
    """Compare intervals from labels alone with the population, by the truth and what is resampled."""
    found = {(truth, over): Found.empty() for truth in ("annotator", "panel") for over in ("patients", "lesions")}
    for repetition in range(repetitions):
        random = np.random.default_rng([seed, repetition])
        lesions = simulate(random)
        annotations = lesions.annotations(random)
        for (truth, over), of in found.items():
            clusters = lesions.patient if over == "patients" else None
            options = {"truth": truth, "panel": PANEL, "clusters": clusters, "seed": repetition}
            of.add(pb.evaluate(annotations, lesions.scores(), **_OPTIONS, **options), true[truth])
        advance(1)
    return found


def against_draws(
    repetitions: int, seed: int, true: dict[str, Values], advance: Callable[[int], None] = lambda n: None
) -> dict[tuple[str, str], Found]:
    """Compare intervals from posteriors with the population, with predictions as evidence and from annotations only."""
    found = {("most-plausible", known): Found.empty() for known in ("predictions known", "annotations only")}
    for repetition in range(repetitions):
        random = np.random.default_rng([seed, repetition])
        lesions = simulate(random)
        annotations = lesions.annotations(random)
        for (_, known), of in found.items():
            predictions = lesions.scores() if known == "predictions known" else None
            options = {"predictions": predictions, "chains": 2, "draws": 500, "seed": repetition, "progress": False}
            posterior = pb.aggregate(annotations, "dirichlet-categorical", reliability=1, **options)
            results = pb.evaluate(posterior, lesions.scores(), **_OPTIONS, clusters=lesions.patient, seed=repetition)
            of.add(results, true["most-plausible"])
        advance(1)
    return found


def check(settings: Settings) -> Iterator[Result]:
    """Count how often intervals cover, against each truth."""
    true = population(simulate(np.random.default_rng([settings.seed, 2**31]), _LARGE * N_PATIENTS // N_LESIONS, _LARGE))
    n, n_of_draws = (QUICK, QUICK_OF_DRAWS) if settings.quick else (REPETITIONS, REPETITIONS_OF_DRAWS)
    with Progress(settings.progress) as bars:
        of_labels = against_labels(n, settings.seed, true, bars.task("Team, labels", n, "data sets"))
        of_draws = against_draws(n_of_draws, settings.seed, true, bars.task("Team, draws", n_of_draws, "data sets"))
    for (truth, over), found in of_labels.items():
        for metric in METRICS:
            covers = [sum(found.covers[metric, name]) for name in NOISE]
            if over == "patients":
                rare = min(stats.binomtest(k, n, LEAST, "less").pvalue for k in covers)
                often = min(stats.binomtest(k, n, MOST, "greater").pvalue for k in covers)
                tests = {"rare": min(1.0, len(covers) * rare), "often": min(1.0, len(covers) * often)}
            else:
                tests = {"often": stats.binomtest(max(covers), n, LEAST, "greater").pvalue}
            remark = f"covers {min(covers) / n:.1%} to {max(covers) / n:.1%}; bias {found.bias(metric):+.4f}"
            yield Result("team", f"against {truth}, over {over}", metric, tests, n, remark=remark)
    known = of_draws["most-plausible", "predictions known"]
    for metric in METRICS:
        covers = [sum(known.covers[metric, name]) for name in NOISE]
        rare = min(stats.binomtest(k, n_of_draws, LEAST_OF_DRAWS, "less").pvalue for k in covers)
        tests = {"coverage": min(1.0, len(covers) * rare)}
        if metric == "auroc":
            error = np.array([known.error[metric, name] for name in NOISE])
            se = error.std(axis=1, ddof=1) / np.sqrt(n_of_draws)
            off = stats.t.sf((np.abs(error.mean(axis=1)) - OFF) / se, n_of_draws - 1)
            tests["bias"] = min(1.0, len(error) * float(off.min()))
        alone = of_draws["most-plausible", "annotations only"]
        remark = f"covers {known.coverage(metric):.0%}, bias {known.bias(metric):+.3f}; annotations only "
        remark += f"{alone.coverage(metric):.0%}, {alone.bias(metric):+.3f}"
        yield Result("team", "against most-plausible, over patients", metric, tests, n_of_draws, remark=remark)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print truths, errors, coverages and widths of all metrics."""
    parser = argparse.ArgumentParser(prog="python -m validation.team", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help=f"number of data sets ({REPETITIONS})")
    parser.add_argument("--of-draws", type=int, default=REPETITIONS_OF_DRAWS, help="the same, with a posterior each")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    given = parser.parse_args(arguments)
    true = population(simulate(np.random.default_rng([given.seed, 2**31]), _LARGE * N_PATIENTS // N_LESIONS, _LARGE))
    runs = (against_labels, given.repetitions, "patients ignored"), (against_draws, given.of_draws, "annotations only")
    for of, repetitions, other in runs:
        print(f"\n| against | metric | A | B | C | error | covers | least | width | error, {other} | covers |")
        print("|---" * 11 + "|")
        found = list(of(repetitions, given.seed, true).items())
        for ((truth, _), here), (_, there) in zip(found[::2], found[1::2], strict=True):
            for metric in METRICS:
                values = [f"{true[truth][metric, name]:.3f}" for name in NOISE]
                least = min(np.mean(here.covers[metric, name]) for name in NOISE)
                width = np.mean([here.width[metric, name] for name in NOISE])
                cells = [truth, metric, *values, f"{here.bias(metric):+.3f}", f"{here.coverage(metric):.2f}"]
                cells += [f"{least:.2f}", f"{width:.3f}", f"{there.bias(metric):+.3f}", f"{there.coverage(metric):.2f}"]
                print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
