"""The result in a few sentences that need no statistics to be read."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from plausibly.evaluation import verdict
from plausibly.plots._words import metric_name
from plausibly.report._ambiguity import CLEAR, OPEN, SETTLED, best_attainable, disagreements, need_labels, stay_open
from plausibly.report._tables import headline, headline_metrics, lead
from plausibly.sweeps import Run, Sweep

_NAMED = 5  # cases in a sentence
_OF_PRIOR = 0.02  # difference between labels given and labels expected from which on the prior is named


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
    if "annotation_certainty_1" in run.results:
        yield _certainty(run)
    yield from _labels(run)
    yield from prior_notes(swept)
    yield from _disagreement(swept)
    if not swept.classifiers:
        return
    metric = headline_metrics(run)[0]
    rows = headline(swept)
    rows = rows[rows["run"] == run.label].to_dict("records")
    yield _accuracy(rows[0], metric, several=len(rows) > 1)
    if len(rows) > 1:
        yield _order(swept, run, metric, rows)
    if metric == "top1_accuracy":  # longer lists have a higher limit
        yield from _attainable(run)


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


def _labels(run: Run) -> Iterator[str]:
    """Say which cases need more labels, and which no label settles."""
    if run.results.sizes["draw"] == 1:
        return
    needed, unclear = need_labels(run), stay_open(run)
    if len(needed):
        yield f"More labels would help most in {_listed(needed['case'].tolist())}."
    if len(unclear):
        yield (
            f"{_cases(len(unclear))} {'are' if len(unclear) > 1 else 'is'} settled but ambiguous: the most plausible "
            f"class is certain, and yet its share is below {CLEAR:g}, so annotators will go on disagreeing however "
            f"many are asked ({_listed(unclear['case'].tolist())})."
        )


def _listed(names: Sequence[object], word: str = "case") -> str:
    shown = ", ".join(str(name).removeprefix("case ") for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{word}{'s' if len(names) > 1 else ''} {shown}{more}"


def prior_notes(swept: Sweep) -> Iterator[str]:
    """Say under which runs the prior outweighs the annotations."""
    for run in swept.runs:
        share = run.results["prior_share"].values
        n = int((share > 0.5).sum())
        if n:
            yield (
                f"{run.label}: the prior outweighs the annotations in {n:,} of {_cases(len(share))} (it makes up "
                f"{100 * share.mean():.0f} % of what is known, on average). What these cases leave open is the "
                "prior's doubt, not the annotators'. Raise the reliability, lower the concentration, or learn the "
                'prior from all cases (class_prior "population").'
            )


def _disagreement(swept: Sweep) -> Iterator[str]:
    found = disagreements(swept)
    if len(found):
        yield (
            f"The models disagree about the most plausible class of {_listed(found['case'].tolist())}: ask further "
            "annotators there before you rely on either answer."
        )


def _attainable(run: Run) -> Iterator[str]:
    """State the best attainable values, and what each of them means."""
    best = best_attainable(run)
    if np.isnan(best["vote"]):  # a weighted mean over cases has another limit
        return
    told = (
        "Given these annotations, the first choice of the best possible classifier would be the most plausible class "
        f"in {_percent(best['vote'])} of cases on average"
    )
    if np.isnan(best["label"]):
        yield f"{told}."
        return
    told += f", and could agree with a random annotator's label in at most {_percent(best['given'])}"
    if best["given"] - best["label"] < _OF_PRIOR:
        yield f"{told}."
    else:
        yield f"{told} (the model expects {_percent(best['label'])} of the next label, including its prior's doubt)."


def _accuracy(best: dict, metric: str, several: bool) -> str:
    name, k = best["classifier"], int(metric[3:].split("_")[0])
    mean, lower, upper, voted = (best[f"{metric}_{column}"] for column in ("mean", "lower", "upper", "voted"))
    total = [best[f"{metric}_total_{end}"] for end in ("lower", "upper")]
    choice = "first choice is" if k == 1 else f"first {k} choices include"
    who = f"{name} is on average the best classifier: its" if several else f"{name}: its"
    told = f"{who} {choice} the most plausible class in {_percent(mean)} of cases"
    if np.isnan(total).any():
        told += f" (94 % interval on these cases {_range(lower, upper)})."
    else:
        told += (
            f". On cases like these it would be {_range(*total)} (94 % total interval); on these cases alone, what the "
            f"annotations leave open is {_range(lower, upper)}."
        )
    if np.isnan(voted):
        return told
    points = abs(voted - mean) * 100
    more = "the same" if points < 0.05 else f"{points:.1f} points {'more' if voted > mean else 'less'}"
    outside = "" if points < 0.05 or lower <= voted <= upper else " and outside what the annotations leave open"
    return f"{told} Measured against the majority vote alone it would be {_percent(voted)}, {more}{outside}."


def _range(lower: float, upper: float) -> str:
    return f"{100 * lower:.1f} to {_percent(upper)}"


def _order(swept: Sweep, run: Run, metric: str, rows: list[dict]) -> str:
    told = []
    if run.results.sizes["draw"] > 1:
        told.append(verdict(run.results, metric, rows[0]["classifier"], rows[1]["classifier"]))
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
