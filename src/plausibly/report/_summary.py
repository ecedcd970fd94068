"""The result in a few sentences that need no statistics to be read."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from plausibly.evaluation.comparison import probability_better
from plausibly.plots._style import metric_name
from plausibly.report._tables import headline, headline_metrics, lead
from plausibly.sweeps import Run, Sweep

SETTLED, OPEN = 0.95, 0.5  #: certainties from which on a case counts as settled, and below which as open
_SURE = 0.95  # probability from which on one classifier counts as better than another


def sentences(swept: Sweep) -> Iterator[str]:
    """Summarise the result under the run that stands for all.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "a", "b"]] * 4)
    >>> predictions = {"A": [[0.9, 0.1]] * 4, "B": [[0.6, 0.4]] * 4}
    >>> swept = pb.sweep(annotations, predictions, {"dirichlet-categorical": [100]}, progress=False)
    >>> list(sentences(swept))[0]
    'The annotations settle the most plausible class in 4 of 4 cases (100 %). In every case some class is the most \
plausible one with a probability of 1/2 or more.'
    """
    run = lead(swept)
    for label, assumed in _assumptions(swept).items():
        yield (
            f"{label} assumes {assumed} in every case: where annotators disagree, some of them err. Its plausibilities "
            "are probabilities of being that class, and leave no case ambiguous."
        )
    known = "annotation_certainty_1" in run.results
    if known:
        yield _certainty(run)
    if not swept.classifiers:
        return
    metric = headline_metrics(run)[0]
    rows = headline(swept)
    rows = rows[rows["run"] == run.label].to_dict("records")
    yield _accuracy(rows[0], metric, several=len(rows) > 1)
    if len(rows) > 1:
        yield _order(swept, run, metric, rows)
    # A weighted mean over cases has another limit, and longer lists have a higher one.
    if known and metric == "top1_accuracy" and "case_weight" not in run.results:
        most = float(run.results["annotation_certainty_1"].mean())
        yield (
            f"Because the annotations leave the truth open, even the best possible classifier would be right in "
            f"{_percent(most)} of cases on average."
        )


def _assumptions(swept: Sweep) -> dict[str, str]:
    return {run.label: str(run.attrs["assumes"]) for run in swept.runs if "assumes" in run.attrs}


def _certainty(run: Run) -> str:
    certainty = run.results["annotation_certainty_1"].values
    n, settled, undecided = len(certainty), int((certainty >= SETTLED).sum()), int((certainty < OPEN).sum())
    if run.results.sizes["draw"] == 1:
        return f"{run.label} is a point estimate: it takes one truth for granted and ignores annotation uncertainty."
    share = f"{settled:,} of {_cases(n)} ({100 * settled / n:.0f} %)"
    told = f"The annotations settle the most plausible class in {share}. "
    if not undecided:
        return f"{told}In every case some class is the most plausible one with a probability of 1/2 or more."
    return (
        f"{told}In {_cases(undecided)} ({100 * undecided / n:.0f} %) no class is the most plausible one with a "
        "probability of 1/2 or more."
    )


def _cases(n: int) -> str:
    return f"{n:,} case{'' if n == 1 else 's'}"


def _accuracy(best: dict, metric: str, several: bool) -> str:
    name, k = best["classifier"], int(metric[3:].split("_")[0])
    mean, lower, upper, voted = (best[f"{metric}_{column}"] for column in ("mean", "lower", "upper", "voted"))
    choice = "first choice is" if k == 1 else f"first {k} choices include"
    who = f"{name} is on average the best classifier: its" if several else f"{name}: its"
    told = (
        f"{who} {choice} the most plausible class in {_percent(mean)} of cases (94 % interval {_percent(lower)} to "
        f"{_percent(upper)})."
    )
    if np.isnan(voted):
        return told
    points = abs(voted - mean) * 100
    more = "the same" if points < 0.05 else f"{points:.1f} points {'more' if voted > mean else 'less'}"
    outside = "" if points < 0.05 or lower <= voted <= upper else " and outside the interval"
    return f"{told} Measured against the majority vote alone it would be {_percent(voted)}, {more}{outside}."


def _order(swept: Sweep, run: Run, metric: str, rows: list[dict]) -> str:
    first, second = rows[0]["classifier"], rows[1]["classifier"]
    share = probability_better(run.results, metric, first, second)
    told = []
    if run.results.sizes["draw"] > 1 and share >= _SURE:
        told.append(f"On these cases {first} is better than {second}, the next, with probability {_odds(share)}.")
    elif run.results.sizes["draw"] > 1:
        told.append(
            f"The annotations do not settle whether {first} or {second} is better: {first} is, with probability "
            f"{_odds(share)}."
        )
    if len(swept.runs) > 1:
        rankings = swept.rankings(metric)
        finite = rankings[~np.isinf(rankings["reliability"])]
        orders = pd.unique((finite if np.isfinite(rankings["reliability"]).any() else rankings)["ranking"])
        told.append(
            f"The order of the classifiers by {metric_name(metric)} is the same under all models and reliabilities."
            if len(orders) == 1
            else f"The order of the classifiers by {metric_name(metric)} changes with the model or the reliability: it "
            "depends on how far the annotators are trusted."
        )
    return " ".join(told)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _odds(share: float) -> str:
    """Two digits; 1 only if it is 1."""
    return "above 0.99" if 0.995 <= share < 1 else f"{share:.2f}"
