"""What limits a result, and what to do next, in sentences that need no statistics to be read."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app.report._cases import (
    OPEN,
    SETTLED,
    FirstChoices,
    best_attainable,
    disagreements,
    need_labels,
    of_prior,
    stay_open,
)
from plausibly.app.report.tables import annotated_cases, best_under, checks_failed, headline_metrics, lead
from plausibly.app.screen import short_names
from plausibly.base.names import many
from plausibly.decisions.planning import Plan
from plausibly.decisions.planning.advice import in_short
from plausibly.evaluation.ambiguity import CLEAR
from plausibly.evaluation.freed import METRIC, freed_table
from plausibly.evaluation.truth import truth_in_words
from plausibly.evaluation.verdicts import advice, difference
from plausibly.metrics.words import capitalised, metric_name
from plausibly.posterior.says import has_true_class, learns

_NAMED = 5  # cases in a sentence


def next_steps(swept: Sweep, plan: Plan | None = None) -> Iterator[str]:
    """Say what to do next: sample longer, add cases or labels (those of a plan, if there is one), look at cases."""
    run = lead(swept)
    best = best_under(swept, run)
    if not swept.converged:
        yield (
            "Make the chains converge, as the line at the top advises, before you use results that depend on the cases "
            "where they did not."
        )
    known = not checks_failed(swept, "ceiling")
    if known and plan is None and len(best) > 1 and run.results.sizes["draw"] > 1:
        first, second, *_ = best
        if said := advice(difference(run.results, headline_metrics(swept)[0], first, second), learns(run.attrs)):
            yield f"Is {first} better than {second}? {said}"
    yield from _labels(swept, run, plan)
    yield from _disagreement(swept)
    if not np.isnan(run.reliability) and run.reliability != 1 and len(swept.models[run.model]) == 1:
        yield (
            f"These numbers assume {run.label}, where {run.reliability:g} is the reliability: how far you trust the "
            "annotators. Check that the conclusion holds for other values (the page “Reliability” of the plausibly "
            "documentation lists the usual ones)."
        )
    yield from prior_notes([other for other in alike(swept.runs, run) if other is not run])


def certainty_in_words(swept: Sweep, run: Run) -> str:
    """Say how many cases are certain, and how many are open."""
    certainty = run.results["annotation_certainty_1"].values
    n, settled, undecided = len(certainty), int((certainty >= SETTLED).sum()), int((certainty < OPEN).sum())
    if run.results.sizes["draw"] == 1:
        return (
            f"{run.label} is a point estimate: it takes one set of plausibilities as the truth, and ignores annotation "
            "uncertainty."
        )
    under = f"Under {run.label}" if np.isnan(run.reliability) else f"At reliability {run.reliability:g}"
    which = "true" if has_true_class(run.attrs) else "most plausible"
    told = (
        f"{under}, {settled:,} of {many(n, 'case')} ({100 * settled / n:.0f} %) {'has' if n == 1 else 'have'} a class "
        f"that is the {which} one with a probability of at least {SETTLED:g}"
    )
    others = [
        f"{int((other.results['annotation_certainty_1'].values >= SETTLED).sum()):,} at {other.reliability:g}"
        for other in sorted(swept.models[run.model], key=lambda other: other.reliability)
        if other is not run
    ]
    told += f" ({', '.join(others)})." if others else "."
    if not np.isnan(run.reliability):
        told += " The greater the assumed reliability, the more cases count as settled, rightly or not."
    if not undecided:
        return told
    share = f"{many(undecided, 'case')} ({100 * undecided / n:.0f} %)"
    return f"{told} In {share}, no class is the {which} one with a probability of 0.5 or more."


def _labels(swept: Sweep, run: Run, plan: Plan | None) -> Iterator[str]:
    """Say which cases need more labels, and in which they would not help."""
    if plan is not None:
        first, *others = in_short(plan)
        under = "" if plan.posterior_model in ("", run.label) else f"Planned under {plan.posterior_model}: "
        yield from [under + first, *others]
    if run.results.sizes["draw"] == 1:
        return
    needed, unclear = need_labels(run), stay_open(swept, run)
    if not learns(run.attrs):
        yield (
            f"Under {run.label}, more labels would not make a case more certain: all annotations of a case together "
            "have a fixed weight. Ask another model, such as plackett-luce, where more labels would help."
        )
    if plan is None and len(needed):
        why = "the true class is least certain" if has_true_class(run.attrs) else "one would be most informative"
        where = _listed(needed["case"].tolist())
        yield f"For a claim about these cases, ask for more labels where {why}: {where}."
    if len(unclear):
        yield (
            f"In {many(len(unclear), 'case')}, annotators will keep disagreeing if they answer like these: the leading "
            f"class is clear, but fewer than {100 * CLEAR:g} % of them chose it, and, with a probability of at least "
            f"{SETTLED:g} under {run.label}, fewer than {100 * CLEAR:g} % of further ones would. "
            f"{'These are' if len(unclear) > 1 else 'This is'} "
            f"{_listed(unclear['case'].tolist())}."
        )


def _listed(names: Sequence[str], word: str = "case") -> str:
    shown = ", ".join(name.removeprefix("case ") for name in short_names(names[:_NAMED]))
    more = f" and {len(names) - _NAMED:,} more (see certainty.csv)" if len(names) > _NAMED else ""
    return f"{word}{'s' if len(names) > 1 else ''} {shown}{more}"


def prior_notes(runs: Iterable[Run]) -> Iterator[str]:
    """Say in which runs the prior counts at least as much as the annotations, and in how many cases."""
    for run in runs:
        share = run.results["prior_share"].values
        n = int(of_prior(share).sum())
        if n:
            prior, ways = run.attrs.get("class_prior"), []  # no prior if the model has no choice of it
            if prior == "uniform":
                ways.append(
                    f"learn the prior from all cases (--model {run.label.partition(':')[0]}:class_prior=learned)"
                )
            if prior in (None, "uniform") and not np.isnan(run.reliability):
                ways.append("do not raise the reliability only to narrow intervals")
            fix = "The prior is learned from all cases." if prior not in (None, "uniform") else "; ".join(ways)
            fix = capitalised(f"{fix.rstrip('.')}.") if fix else ""
            if learns(run.attrs):
                fix += " More labels for these cases reduce its share."
            yield (
                f"{run.label}: in {n:,} of {many(len(share), 'case')}, the prior counts as much as the annotations, or "
                f"more. (Averaged over all cases, it contributes {100 * share.mean():.0f} % of the information.) "
                f"Uncertainty in these cases comes from the prior at least as much as from the annotators. {fix}"
            )


def _disagreement(swept: Sweep) -> Iterator[str]:
    found = disagreements(swept)
    if len(found) and len(alike(swept.runs, lead(swept))) == len(swept.runs):
        yield f"The aggregation models disagree on the most plausible class of {_listed(found['case'].tolist())}." + (
            " Ask more annotators about them." if any(learns(run.attrs) for run in swept.runs) else ""
        )


def attainable(swept: Sweep, run: Run) -> str:
    """State what the annotations alone let a classifier reach, and with how many labels it can agree."""
    most = best_attainable(run)
    if np.isnan(most):
        return ""
    labels = FirstChoices.of(swept.annotations).most_frequent
    more = "" if "evidence" in run.attrs else "; one that knows more is scored too low"
    return (
        f"{_judged_by(run)}, a classifier that always chose what they favour would have an expected top-1 "
        f"accuracy of {_percent(most)}{more}. The most frequent "
        f"first choice of each case makes up {_percent(labels)} of the annotations (ties in full), so no "
        "classifier can agree with more of them."
    )


def choice_of_cases(swept: Sweep) -> Iterator[str]:
    """Say what accuracy over all cases assumes where only some are annotated."""
    if annotated := annotated_cases(swept.annotations):
        yield (
            f"Accuracy is over {many(swept.annotations.n_cases, 'case')}{annotated}. It assumes that these were chosen "
            "at random, or by the predictions alone. If they were chosen because they looked hard, or easy, it is "
            "wrong, however narrow its interval."
        )


def freed_shape(swept: Sweep, run: Run) -> dict[str, dict[Hashable, Any]]:
    """Rows of :func:`plausibly.evaluation.freed_shape` by classifier; none if the run does not depend on it."""
    if swept.freed is None or "evidence" not in run.attrs or METRIC not in run.results:
        return {}
    rows, seen = freed_table(run.results, swept.freed).to_dict("records"), checks_failed(swept, "ceiling")
    return {row["classifier"]: row for row in rows if row["classifier"] not in seen}


def accuracy_bounds(swept: Sweep, name: str) -> Iterator[str]:
    """Say between which values an accuracy may be, where labels do not tell it."""
    ends = ("top1_accuracy_lower_bound", "top1_accuracy_upper_bound")
    withheld = next((run.results for run in swept.runs if ends[0] in run.results), None)
    least, most = (np.nan if withheld is None else float(withheld[end].sel(classifier=name)) for end in ends)
    if not np.isnan(least):
        yield f"The accuracy of {name} may be anything between {_percent(least)} and {_percent(most)}."


def _judged_by(run: Run) -> str:
    """Say what the plausibilities of a run follow from."""
    return f"Judged by these {_sources(run)}{'' if 'evidence' in run.attrs else ' alone'}"


def _sources(run: Run) -> str:
    return "annotations and predictions" if "evidence" in run.attrs else "annotations"


def rests_on(run: Run) -> str:
    """Say what accuracies rest on if predictions are evidence; nothing otherwise."""
    if "evidence" not in run.attrs:
        return ""
    how = "how experts disagree within a case"
    if has_true_class(run.attrs):
        how = "that annotators and classifiers err independently of each other"
    return (
        "This takes the predictions as evidence on each case; how much they count follows from how well they go with "
        f"the labels of all cases. It assumes that the classifiers have not seen these labels, and {how}."
    )


def alike(runs: Iterable[Run], leading: Run) -> list[Run]:
    """Choose the runs whose prior is from the same source as that of the leading one: given, labels or predictions."""
    return [run for run in runs if _prior(run) == _prior(leading)]


def _prior(run: Run) -> str:
    return "predictions" if "evidence" in run.attrs else str(run.attrs.get("class_prior", "uniform"))


def order_over_runs(swept: Sweep, metrics: Sequence[str] = ()) -> str:
    """Say whether the order of the classifiers is the same under all models and reliabilities; nothing of one.

    It is by the first accuracy of the `metrics` that were asked for, if there is one.
    """
    if len(swept.runs) < 2 or len(swept.classifiers) < 2:
        return ""
    asked = (name for name in metrics if name.endswith("accuracy") and name in swept.runs[0].results)
    metric = next(asked, headline_metrics(swept)[0])
    if any(metric not in run.results for run in swept.runs):  # as where one label a case leaves accuracies unknown
        return ""
    rankings, run = swept.rankings(metric), lead(swept)
    finite = rankings[~np.isinf(rankings["reliability"])]
    orders = pd.unique((finite if np.isfinite(rankings["reliability"]).any() else rankings)["ranking"])
    order = f"By {metric_name(metric)} against {truth_in_words(run.results.attrs)}, the order"
    name = best_under(swept, run)[0]
    known = [run for run in swept.runs if np.isfinite(run.reliability)] or swept.runs
    values = [100 * float(run.results[metric].sel(classifier=name).mean()) for run in known]
    reach = f"{name}'s is {min(values):.1f} to {max(values):.1f} %."
    if len(orders) == 1:
        return f"{order} is the same under the {len(swept.runs)} settings run; {reach}"
    return f"{order} changes with the model or the reliability, so it depends on these choices; {reach}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
