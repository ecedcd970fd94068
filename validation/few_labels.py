"""Calibration from few labels of a case: whether intervals contain 0 for a classifier that knows what experts say.

Of 200 cases, two or three experts say yes or no. A classifier whose scores are how many of all experts would say yes
makes no error: its Brier score could not be better, it is calibrated, and it is at no distance from the experts. One
that is too sure of itself is to be found.
"""

from collections.abc import Iterator

import numpy as np
from scipy import stats
from scipy.special import expit

import plausibly as pb
from plausibly.base.progress import Progress
from validation._result import Result, Settings

N_CASES, LABELS = 200, (2, 3)
REPETITIONS, QUICK = 200, 40
COVERS = 0.9  #: share of data sets with 0 within the interval of who makes no error
FOUND = {"brier_excess": 0.3, "dist_ce": 0.3, "calibration_error": 0.6}  #: and without it in that of who is too sure
SURE = 3.0  #: by which log odds of the latter are multiplied


def study(n_labels: int, random: np.random.Generator, replicates: int = 400) -> dict[tuple[str, str], tuple]:
    """Mean and interval of each metric for the two classifiers, in one data set."""
    logit = 2.2 * random.normal(size=N_CASES) - 1.0
    yes = random.binomial(n_labels, expit(logit))
    labels = pb.Annotations.from_counts(np.c_[n_labels - yes, yes], classes=["no", "yes"])
    scores = {"exact": expit(logit), "too sure": expit(SURE * logit)}
    given = {name: np.c_[1 - p, p] for name, p in scores.items()}
    options = {"metrics": [*FOUND, "brier_unavoidable"], "replicates": replicates, "progress": False}
    found = pb.summary(pb.evaluate(labels, given, truth="annotator", **options))
    rows = zip(found["classifier"], found["metric"], strict=True)
    values = found[["mean", "total_lower", "total_upper"]].itertuples(index=False)
    return dict(zip(rows, map(tuple, values), strict=True))


def check(settings: Settings) -> Iterator[Result]:
    """Count how often intervals contain 0, and whether what is unavoidable is right on average."""
    repetitions = QUICK if settings.quick else REPETITIONS
    with Progress(settings.progress) as bars:
        for n_labels in LABELS:
            advance = bars.task(f"Few labels, {n_labels} a case", repetitions, "data sets")
            random, found = np.random.default_rng([settings.seed, n_labels]), []
            for _ in range(repetitions):
                found.append(study(n_labels, random))
                advance(1)
            yield from _results(n_labels, found)


def _results(n_labels: int, found: list[dict[tuple[str, str], tuple]]) -> Iterator[Result]:
    n = len(found)
    for metric, share in FOUND.items():
        for who, least in (("exact", COVERS), ("too sure", share)):
            inside = np.array([one[who, metric][1] <= 0 <= one[who, metric][2] for one in found])
            right = inside if who == "exact" else ~inside
            test = stats.binomtest(int(right.sum()), n, least, "less")
            remark = f"{right.mean():.1%} {'contain' if who == 'exact' else 'exclude'} 0, at least {least:.0%} asked"
            words = f"{metric} of who is {who}"
            yield Result("few-labels", words, f"{n_labels} labels a case", {"share": test.pvalue}, n, remark=remark)
    known = expit(2.2 * stats.norm.ppf((np.arange(4000) + 0.5) / 4000) - 1.0)
    off = np.array([one["exact", "brier_unavoidable"][0] for one in found]) - np.mean(known * (1 - known))
    test = stats.ttest_1samp(off, 0)
    remark = f"off by {off.mean():+.4f} on average"
    yield Result(
        "few-labels", "brier_unavoidable", f"{n_labels} labels a case", {"mean": test.pvalue}, n, remark=remark
    )
