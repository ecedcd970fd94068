"""The result in a few sentences that need no statistics to be read, and what to do next."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app.report._ambiguity import (
    OPEN,
    SETTLED,
    FirstChoices,
    best_attainable,
    disagreements,
    need_labels,
    of_prior,
    stay_open,
)
from plausibly.app.report.label_metrics import of_labels_in_words, truths
from plausibly.app.report.panels import agreement_in_words
from plausibly.app.report.tables import annotated_cases, checks_failed, headline, headline_metrics, lead, sampled
from plausibly.base.names import figures, listed
from plausibly.decisions.planning import Plan
from plausibly.decisions.planning.advice import in_short
from plausibly.evaluation.ambiguity import CLEAR
from plausibly.evaluation.cautions import cautions
from plausibly.evaluation.freed import METRIC, freed_table, too_far
from plausibly.evaluation.verdicts import advice, at_other_cut_offs, difference, for_whom, probabilities
from plausibly.metrics.words import capitalised, metric_name
from plausibly.posterior.says import are_shares, has_true_class, learns

_NAMED = 5  # cases in a sentence


def sentences(swept: Sweep) -> Iterator[str]:
    """Summarise the result under the run that represents all: classifiers first, then the annotations."""
    run = lead(swept)
    rows = _rows(swept, run)
    if rows:
        first, *further = _accuracy(rows[0], headline_metrics(swept)[0], swept, run)
        yield from (first, *of_labels_in_words(swept, rows[0]["classifier"]))
        yield from (*cautions(swept.annotations, run.results, swept.checks), *further)
    yield from choice_of_cases(swept)
    yield from prior_notes([run])
    if len(rows) > 1:
        yield from filter(None, [_order(swept, run, rows)])
    if "annotation_certainty_1" in run.results and "withheld" not in run.results.attrs:
        yield certainty_in_words(swept, run)
    for label, attrs in {run.label: run.attrs for run in swept.runs if "assumes" in run.attrs}.items():
        if not has_true_class(attrs):
            yield f"{label} assumes {attrs['assumes']}."
            continue
        hard = ""
        if attrs.get("difficulty") == "same":
            hard = "; all count as equally hard: if some are unclear, probabilities are too near 0 and 1"
        yield (
            f"{label} assumes {attrs['assumes']} in every case: where annotators disagree, some of them are wrong. Its "
            f"plausibilities are the probabilities that each class is the true one, so no case is ambiguous{hard}."
        )


def next_steps(swept: Sweep, plan: Plan | None = None) -> Iterator[str]:
    """Say what to do next: sample longer, add cases or labels (those of a plan, if there is one), look at cases."""
    run = lead(swept)
    rows = _rows(swept, run)
    if not swept.converged:
        yield (
            "Make the chains converge, as the line at the top advises, before you use results that depend on the cases "
            "where they did not."
        )
    known = not checks_failed(swept, "ceiling")
    if known and plan is None and len(rows) > 1 and run.results.sizes["draw"] > 1:
        first, second = rows[0]["classifier"], rows[1]["classifier"]
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


def _rows(swept: Sweep, run: Run) -> list[dict]:
    """Rows of the main table for a run, the best classifier first."""
    return headline(swept, [run]).to_dict("records") if swept.classifiers else []


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
        f"{under}, {settled:,} of {_cases(n)} ({100 * settled / n:.0f} %) {'has' if n == 1 else 'have'} a class that "
        f"is the {which} one with a probability of at least {SETTLED:g}"
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
    share = f"{_cases(undecided)} ({100 * undecided / n:.0f} %)"
    return f"{told} In {share}, no class is the {which} one with a probability of 0.5 or more."


def _cases(n: int) -> str:
    return f"{n:,} case{'' if n == 1 else 's'}"


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
            f"In {_cases(len(unclear))}, annotators will keep disagreeing if they answer like these: the leading class "
            f"is clear, but fewer than {100 * CLEAR:g} % of them chose it, and, with a probability of at least "
            f"{SETTLED:g} under {run.label}, fewer than {100 * CLEAR:g} % of further ones would. "
            f"{'These are' if len(unclear) > 1 else 'This is'} "
            f"{_listed(unclear['case'].tolist())}."
        )


def _listed(names: Sequence[object], word: str = "case") -> str:
    shown = ", ".join(str(name).removeprefix("case ") for name in names[:_NAMED])
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
                f"{run.label}: in {n:,} of {_cases(len(share))}, the prior counts as much as the annotations, or more. "
                f"(Averaged over all cases, it contributes {100 * share.mean():.0f} % of the information.) Uncertainty "
                f"in these cases comes from the prior at least as much as from the annotators. {fix}"
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


def _accuracy(best: dict, metric: str, swept: Sweep, run: Run) -> Iterator[str]:
    """State the headline, then what limits it, and the value against the majority vote."""
    name, k, n = best["classifier"], _length(metric), len(swept.classifiers)
    mean, lower, upper, voted = (best[f"{metric}_{column}"] for column in ("mean", "lower", "upper", "voted"))
    seen = checks_failed(swept, "ceiling")
    if metric.endswith("coverage") or name in seen:
        why = f" Its accuracy is not stated: {listed(sorted(seen))} may have seen these labels." if seen else ""
        yield " ".join(agreement(swept, [name])) + why
        return
    annotated = annotated_cases(swept.annotations)
    freed = freed_shape(swept, run).get(name, {}) if metric == METRIC else {}
    first = accuracy_in_words(swept, best, metric, run)  # with the only interval: figures have the others
    agrees = agreement(swept, [name], bounds=False)
    yield " ".join([*agrees, first + (f", the highest share of {n} classifiers." if n > 1 else ".")])
    told = list(filter(None, [rests_on(run), too_far(freed) if freed else ""]))
    if "total_lower" in freed:
        within = _range(freed["total_lower"], freed["total_upper"])
        told.append(
            f"The 94 % interval on new cases like these is {within} if experts may disagree in other ways than "
            "the model assumes."
        )
    if run.results.sizes["draw"] > 1:
        told.append(
            f"The 94 % interval is {_range(lower, upper)} on these cases, where only the labels are uncertain, if the "
            "model is right."
        )
        if best[f"{metric}_total_upper"] - best[f"{metric}_total_lower"] < upper - lower:
            told.append(
                "It is no narrower than the one on new cases because here the labels, not the choice of cases, limit "
                "what is known; the small difference comes from the finite number of draws."
            )
    told += _over_settings(swept, run, name, metric)
    if told:
        yield " ".join(told)
    most = best_attainable(run) if k == 1 and "evidence" not in run.attrs else np.nan
    if not np.isnan(most):
        yield (
            f"A classifier that always chose what these {_sources(run)} favour would score {_percent(most)}. One that "
            f"knows more, as {name} may, is scored too low."
        )
    if not np.isnan(voted):
        points = abs(voted - mean) * 100
        more = "the same" if points < 0.05 else f"{points:.1f} points {'higher' if voted > mean else 'lower'}"
        tied = FirstChoices.of(swept.annotations).n_tied
        ties = f" ({_cases(tied)} tied, decided by class order)" if tied else ""
        of = f" of the {_cases(swept.annotations.annotated.n_cases)} with annotations" if annotated else ""
        yield (
            f"Against the majority vote{of}{ties}, {name}'s accuracy is {_percent(voted)}, {more}. Either number can "
            "be the farther from the truth."
        )
    yield from _noise(best, metric)


def _length(metric: str) -> int:
    return int(metric[3:].split("_")[0])


def accuracy_in_words(swept: Sweep, row: Mapping[str, Any], metric: str, run: Run) -> str:
    """State an accuracy, from a row of the main table, without the full stop."""
    name, k, total = row["classifier"], _length(metric), [row[f"{metric}_total_{end}"] for end in ("lower", "upper")]
    choice = "first choice is" if k == 1 else f"first {k} choices include"
    over = "" if np.isnan(total).any() else f" (94 % interval {_range(*total)} on new cases like these)"
    annotated = annotated_cases(swept.annotations)
    cases = f"{_cases(swept.annotations.n_cases)}{annotated}" if annotated else "cases"
    return f"{_judged_by(run)}, {name}'s {choice} {_truth(run)} in {_percent(row[f'{metric}_mean'])} of {cases}{over}"


def choice_of_cases(swept: Sweep) -> Iterator[str]:
    """Say what accuracy over all cases assumes where only some are annotated."""
    if annotated := annotated_cases(swept.annotations):
        yield (
            f"Accuracy is over {_cases(swept.annotations.n_cases)}{annotated}. It assumes that these were chosen at "
            "random, or by the predictions alone. If they were chosen because they looked hard, or easy, it is wrong, "
            "however narrow its interval."
        )


def freed_shape(swept: Sweep, run: Run) -> dict[str, dict[Hashable, Any]]:
    """Rows of :func:`plausibly.evaluation.freed_shape` by classifier; none if the run does not depend on it."""
    if swept.freed is None or "evidence" not in run.attrs or METRIC not in run.results:
        return {}
    rows, seen = freed_table(run.results, swept.freed).to_dict("records"), checks_failed(swept, "ceiling")
    return {row["classifier"]: row for row in rows if row["classifier"] not in seen}


def agreement(swept: Sweep, classifiers: Sequence[str], *, bounds: bool = True) -> Iterator[str]:
    """State how often classifiers decide as panels of experts would, and agree with one, which needs no model.

    With `bounds`, also in which interval.
    """
    if swept.panels is None:
        return
    at_threshold = swept.of_labels is not None and "threshold" in swept.of_labels.attrs
    agrees = "'s first choice agrees" if at_threshold else " agrees"
    of = " of annotated cases" if annotated_cases(swept.annotations) else " of cases"
    sentences = agreement_in_words(swept.panels, classifiers, agrees, of, bounds=bounds)
    for told, name in zip(sentences, classifiers, strict=True):
        yield " ".join([told, *accuracy_bounds(swept, name)])


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


def _truth(run: Run) -> str:
    if has_true_class(run.attrs):
        return "the true class"
    return "the class that most experts would name" if are_shares(run.attrs) else "the most plausible class"


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


def _over_settings(swept: Sweep, leading: Run, name: str, metric: str) -> Iterator[str]:
    """Say between which values the result lies over the models and reliabilities that were run."""
    runs = [run for runs in (sampled(swept) or swept.models).values() for run in runs]
    means = {run.label: float(run.results[metric].sel(classifier=name).mean()) for run in runs}
    others = [means.pop(run.label) for run in runs if "evidence" in leading.attrs and "evidence" not in run.attrs]
    if others:
        values = _percent(others[0]) if len(others) == 1 else _range(min(others), max(others))
        yield f"By the annotations alone, it would be {values}, too low for a classifier that looks at the case."
    least, most = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if len(means) > 1:
        yield (
            f"Between the {len(means)} settings run (models and reliabilities), the accuracy goes from "
            f"{_percent(means[least])} ({least}) to {_percent(means[most])} ({most})."
        )


def _noise(best: dict, metric: str) -> Iterator[str]:
    if min(sds := (best[f"{metric}_sd"], best[f"{metric}_sampling_sd"])) > 0:
        yield (
            f"The annotations account for a standard deviation of {figures(100 * sds[0])} points, the sampling of "
            f"cases for {figures(100 * sds[1])}."
        )


def _range(lower: float, upper: float) -> str:
    return f"{100 * lower:.1f} to {_percent(upper)}"


def _order(swept: Sweep, run: Run, rows: list[dict]) -> str:
    metric, told = headline_metrics(swept)[0], []
    if run.results.sizes["draw"] > 1:
        pair = rows[0]["classifier"], rows[1]["classifier"]
        if checks_failed(swept, "ceiling") & set(pair):
            return ""
        told.append(probabilities(difference(run.results, metric, *pair), *pair, for_whom(run.results.attrs)))
    of_labels = [*truths(swept), run.results][0]
    told.append(at_other_cut_offs(of_labels, *(row["classifier"] for row in rows[:2])))
    return " ".join(filter(None, [*told, order_over_runs(swept)]))


def order_over_runs(swept: Sweep) -> str:
    """Say whether the order of the classifiers is the same under all models and reliabilities; nothing of one."""
    if len(swept.runs) < 2 or len(swept.classifiers) < 2:
        return ""
    metric = headline_metrics(swept)[0]
    if any(metric not in run.results for run in swept.runs):  # as where one label a case leaves accuracies unknown
        return ""
    rankings = swept.rankings(metric)
    finite = rankings[~np.isinf(rankings["reliability"])]
    orders = pd.unique((finite if np.isfinite(rankings["reliability"]).any() else rankings)["ranking"])
    order = f"The order of the classifiers by {metric_name(metric)}"
    if len(orders) == 1:
        return f"{order} is the same under the {len(swept.runs)} settings run."
    return f"{order} changes with the model or the reliability, so it depends on these choices."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
