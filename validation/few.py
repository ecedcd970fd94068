"""Few cases: how often intervals of every metric cover, and how often one of two equals is called better for certain.

Cases have a single label. Scores of two classes are normal, with a true AUROC from 0.5 to 0.97, for as many cases of
either class, for a rare class, and for lesions of patients, where both labels and scores resemble each other; grades
are named with normal errors. Two classifiers are equally good. Values in the population are those of very many cases.
Intervals of so few cases cannot cover exactly as often as they say, but have to in 90 % of data sets, of 94 % asked;
and by each metric, one of the two is better with a probability of 0.995 in at most 2 % of data sets.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

import plausibly as pb
from plausibly.base.bootstrap import CI_PROB
from plausibly.base.progress import Progress
from plausibly.evaluation.comparison import probability_better
from validation._result import Result, Settings

REPETITIONS, QUICK = 300, 40
LEAST, MOST_CERTAIN, CERTAIN = 0.9, 0.02, 0.995
AUROCS = 0.5, 0.7, 0.85, 0.97
OF_TWO = ["accuracy", "balanced_accuracy", "sensitivity", "specificity", "ppv", "npv", "f1", "mcc", "kappa", "brier"]
OF_TWO += ["log_score", "auroc", "average_precision", "sensitivity_at_specificity_0.9"]
OF_GRADES = ["accuracy", "mean_absolute_error", "within_one", "quadratic_kappa", "kappa", "ranked_probability_score"]
COMPARED = "accuracy", "sensitivity", "auroc", "brier"
_LARGE = 200_000  # cases whose values stand for the population's
_GRADES = np.arange(4)

#: Of some cases (or of very many, if True) the class, the probabilities of two classifiers, and the cluster
Draw = Callable[[np.random.Generator, bool], tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]]


def two_classes(auroc: float, n: tuple[int, int], *, rare: bool = False, patients: int = 0) -> Draw:
    """Draw cases of either class, `n` negative and positive ones, or on average if `rare`, or lesions of patients."""
    apart = np.sqrt(2) * stats.norm.ppf(auroc)
    prevalence = n[1] / sum(n)
    scale, prior = max(apart, 0.5), np.log(prevalence / (1 - prevalence))

    def draw(random: np.random.Generator, large: bool):
        size = _LARGE if large else sum(n)
        if patients:
            count = _LARGE // 4 if large else patients
            cluster = np.repeat(np.arange(count), random.integers(1, 7, count))
        else:
            cluster = np.arange(size)

        def noise() -> np.ndarray:
            own = random.normal(size=len(cluster))
            return np.sqrt(0.5) * (random.normal(size=len(cluster))[cluster] + own) if patients else own

        positive = noise() < stats.norm.ppf(prevalence)
        if not (rare or large or patients):
            positive = np.arange(sum(n)) >= n[0]
        common, given = noise(), {}
        for name in "AB":
            score = np.sqrt(0.6) * common + np.sqrt(0.4) * noise() + apart * (positive - 0.5)
            p = 1 / (1 + np.exp(-scale * score - prior))
            given[name] = np.stack([1 - p, p], axis=1)
        return positive.astype(int), given, cluster

    return draw


def grades(error: float, n: int) -> Draw:
    """Draw cases of four grades, which classifiers name with normal errors of a standard deviation."""

    def draw(random: np.random.Generator, large: bool):
        size = _LARGE if large else n
        true = random.integers(len(_GRADES), size=size)
        common, given = random.normal(size=size), {}
        for name in "AB":
            seen = true + error * (np.sqrt(0.5) * common + np.sqrt(0.5) * random.normal(size=size))
            log = -((seen[:, None] - _GRADES) ** 2) / (2 * error**2)
            given[name] = np.exp(log) / np.exp(log).sum(axis=1, keepdims=True)
        return true, given, np.arange(size)

    return draw


DESIGNS: dict[str, Draw] = {
    **{f"{k} + {k}, AUROC {auroc}": two_classes(auroc, (k, k)) for k in (3, 5, 10, 20) for auroc in AUROCS},
    **{
        f"{patients} patients, AUROC {auroc}": two_classes(auroc, (7, 3), patients=patients)
        for patients in (10, 25, 60)
        for auroc in (0.75, 0.9)
    },
    **{f"3 % of 300, AUROC {auroc}": two_classes(auroc, (291, 9), rare=True) for auroc in (0.7, 0.9)},
    **{f"{n} graded, error {error}": grades(error, n) for n in (10, 25) for error in (0.3, 0.8)},
}
QUICK_DESIGNS = "5 + 5, AUROC 0.97", "10 patients, AUROC 0.9"


def evaluated(drawn: tuple[np.ndarray, dict[str, np.ndarray], np.ndarray], seed: int, *, replicates: int = 1000):
    """Results of all metrics that suit the classes."""
    label, given, cluster = drawn
    n_classes = given["A"].shape[1]
    counts = np.eye(n_classes, dtype=int)[label]
    annotations = pb.Annotations.from_counts(counts, classes=[str(k) for k in range(n_classes)])
    options = {"positive": "1", "metrics": OF_TWO} if n_classes == 2 else {"ordered": True, "metrics": OF_GRADES}
    options |= {"clusters": cluster, "replicates": replicates, "truth": "annotator", "progress": False}
    return pb.evaluate(annotations, given, seed=seed, **options)


def simulate(draw: Draw, repetitions: int, seed: int, advance=lambda n: None):
    """Whether intervals cover, and whether one of two equals is certainly better, by metric; in repeated data sets."""
    random = np.random.default_rng(seed)
    true = pb.summary(evaluated(draw(random, True), 0, replicates=0)).groupby("metric")["mean"].mean()
    covers: dict[str, list[bool]] = {}
    certain: dict[str, list[bool]] = {}
    for _ in range(repetitions):
        drawn = draw(random, False)
        advance(1)
        if len(np.unique(drawn[0])) < 2:
            continue
        results = evaluated(drawn, int(random.integers(2**31)))
        table = pb.summary(results, CI_PROB)
        for row in table[table["total_lower"].notna()].to_dict("records"):
            holds = row["total_lower"] - 1e-9 <= true[row["metric"]] <= row["total_upper"] + 1e-9
            covers.setdefault(row["metric"], []).append(holds)
        for metric in COMPARED:
            if metric in results and results[metric].notnull().all():
                better = probability_better(results, metric, "A", "B", noise="total")
                certain.setdefault(metric, []).append(max(better, 1 - better) >= CERTAIN)
    return covers, certain


def check(settings: Settings) -> Iterator[Result]:
    """Count how often intervals cover, and equals differ for certain."""
    repetitions = QUICK if settings.quick else REPETITIONS
    with Progress(settings.progress) as bars:
        for what in QUICK_DESIGNS if settings.quick else DESIGNS:
            advance = bars.task(f"Few cases, {what}", repetitions, "data sets")
            covers, certain = simulate(DESIGNS[what], repetitions, settings.seed, advance)
            yield from results_of(what, covers, certain)


def results_of(what: str, covers: dict[str, list[bool]], certain: dict[str, list[bool]]) -> Iterator[Result]:
    """Test that rates are not below, or above, what they have to be."""
    for metric, holds in covers.items():
        # Data sets have two classifiers, which err together: the test counts them as one.
        n = len(holds) // 2
        test = stats.binomtest(round(np.mean(holds) * n), n, LEAST, "less")
        remark = f"covers {np.mean(holds):.1%}, {CI_PROB:.0%} asked, at least {LEAST:.0%}"
        yield Result("few", f"interval of {metric}", what, {"coverage": test.pvalue}, n, remark=remark)
    for metric, sure in certain.items():
        test = stats.binomtest(sum(sure), len(sure), MOST_CERTAIN, "greater")
        remark = f"certain in {np.mean(sure):.1%}, at most {MOST_CERTAIN:.0%}"
        yield Result("few", f"one of two equals, {metric}", what, {"certain": test.pvalue}, len(sure), remark=remark)
