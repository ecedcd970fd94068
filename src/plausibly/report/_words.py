"""The result in a few sentences that need no statistics to be read."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from plausibly.evaluation.comparison import probability_better
from plausibly.plots._style import metric_name
from plausibly.report._tables import headline, headline_metrics, lead
from plausibly.sweeps import Sweep

SETTLED, OPEN = 0.95, 0.5  #: certainties from which on a case counts as settled, and below which as open
_SURE = 0.95  # probability from which on one classifier counts as better than another


def sentences(swept: Sweep) -> Iterator[str]:
    """Say what was found, under the model that stands for all.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "a", "b"]] * 4)
    >>> scores = {"A": [[0.9, 0.1]] * 4}
    >>> swept = pb.sweep(annotations, scores, {"dirichlet-categorical": [100]}, progress=False)
    >>> list(sentences(swept))[0]
    'The annotations settle the most plausible class of 4 of 4 cases (100 %) almost surely; in 0 (0 %) no class is \
the most plausible one with a probability of even one half.'
    """
    run = lead(swept)
    known = "annotation_certainty_1" in run.results
    if known:
        yield _certainty(run)
    if not swept.classifiers:
        return
    metric = headline_metrics(run)[0]
    rows = headline(swept)
    rows = rows[rows["run"] == run.label].to_dict("records")
    best = rows[0]
    yield _accuracy(best, metric, several=len(rows) > 1)
    if len(rows) > 1:
        yield _order(swept, run, metric, rows)
    # A weighted mean over cases has another ceiling, and longer lists have a higher one.
    if known and metric == "top1_accuracy" and "case_weight" not in run.results:
        most = float(run.results["annotation_certainty_1"].mean())
        yield (
            f"Because the annotations leave the truth open, even a classifier that made the best of all they say would "
            f"be right in {_percent(most)} of cases on average, and no more."
        )


def _certainty(run) -> str:
    certainty = run.results["annotation_certainty_1"].values
    n, settled, undecided = len(certainty), int((certainty >= SETTLED).sum()), int((certainty < OPEN).sum())
    if run.results.sizes["draw"] == 1:
        return (
            f"{run.label} is a point estimate: it takes one truth for granted, and says nothing of how far the "
            "annotations can be trusted."
        )
    return (
        f"The annotations settle the most plausible class of {settled:,} of {n:,} cases ({100 * settled / n:.0f} %) "
        f"almost surely; in {undecided:,} ({100 * undecided / n:.0f} %) no class is the most plausible one with a "
        "probability of even one half."
    )


def _accuracy(best: dict, metric: str, several: bool) -> str:
    name, size = best["classifier"], int(metric[3:].split("_")[0])
    mean, lower, upper, voted = (best[f"{metric}_{column}"] for column in ("mean", "lower", "upper", "voted"))
    choice = "first choice is" if size == 1 else f"first {size} choices hold"
    who = f"{name}, on average the best of the classifiers: its" if several else f"{name}: its"
    told = (
        f"{who} {choice} the most plausible class in {_percent(mean)} of cases (94 % interval {_percent(lower)} to "
        f"{_percent(upper)})."
    )
    if np.isnan(voted):
        return told
    against = f"Measured against the label by majority vote alone it would be {_percent(voted)}"
    points = abs(voted - mean) * 100
    outside = not lower <= voted <= upper
    if points < 0.05:
        return f"{told} {against}, which is the same."
    more = "more" if voted > mean else "less"
    return f"{told} {against}, {points:.1f} points {more}" + (", outside the interval." if outside else ".")


def _order(swept: Sweep, run, metric: str, rows: list[dict]) -> str:
    first, second = rows[0]["classifier"], rows[1]["classifier"]
    share = probability_better(run.results, metric, first, second)
    if run.results.sizes["draw"] == 1:
        told = ""
    elif share >= _SURE:
        told = f"On these cases {first} beats {second}, the next, in {_share(share)} of what the annotations allow. "
    else:
        told = (
            f"Whether {first} or {second} is better the annotations do not settle: {first} is in {_share(share)} of "
            "what they allow. "
        )
    if len(swept.runs) == 1:
        return told.strip()
    rankings = swept.rankings(metric)
    rankings = rankings[~np.isinf(rankings["reliability"])] if np.isfinite(rankings["reliability"]).any() else rankings
    orders = pd.unique(rankings["ranking"])
    what = metric_name(metric)
    if len(orders) == 1:
        told += f"The order of the classifiers by {what} is the same under every model and reliability tried."
    else:
        told += (
            f"The order of the classifiers by {what} changes with the model or the reliability: "
            "it depends on how far the annotators are trusted."
        )
    return told


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _share(share: float) -> str:
    """A percentage that says all only where it is all."""
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"
