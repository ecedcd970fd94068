"""Advice from a plan, in sentences."""

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.bootstrap import resampled_means
from plausibly.evaluation.comparison import variance_split
from plausibly.planning._result import Plan
from plausibly.planning._values import Source, Values
from plausibly.plots._words import metric_name

FEW_LABELS = 4  #: labels of a case, on average, below which the prior of classes matters
LEAST_DRAWS = 50  #: effective draws below which a value should not be trusted
_REPLICATES = 1000  # of the bootstrap over cases
_WORTH = 0.05  # share of a width, of which a smaller gain is not worth the rest of the budget


def noise_of(source: Source, values: Values, rows: np.ndarray, seed: int) -> pd.DataFrame:
    """Split the uncertainty of the metric into annotation and sampling noise, by :func:`variance_split`."""
    n = len(source.names)
    results = xr.Dataset(
        {
            "metric": (("classifier", "draw"), values.by_draw),
            "metric_sampling": (("classifier", "replicate"), resampled_means(values.mean[:n], _REPLICATES, seed)),
        },
        coords={"classifier": list(source.names), "chain": ("draw", values.chain)},
    )
    found = variance_split(results, "metric")
    wanted = {(a, b) if at[0] < at[1] else (b, a) for at in source.question.pairs for a, b in [source.labels[-1]]}
    keep = [
        not versus or (name, versus) in wanted
        for name, versus in zip(found["classifier"], found["versus"], strict=True)
    ]
    # The total would need draws of every case; a plan compares the two parts instead.
    return found[keep].drop(columns="total_sd").reset_index(drop=True)


def advise(plan: Plan) -> list[str]:
    """Say what to do, what it will bring, when to stop, and whether new cases would bring more."""
    chosen = plan.chosen
    if not len(chosen):
        return ["More labels of these cases are not expected to help: stop.", *_trust(plan)]
    if plan.noise is None:
        gained = plan.forecast["information"].iloc[-1]
        return [
            _what_to_do(plan, chosen),
            f"They are expected to give {gained:.3g} nats of information about the plausibilities.",
            *_trust(plan),
        ]
    if _is_settled(plan):
        return [*_needs_none(plan), *_trust(plan)]
    said = [_what_to_do(plan, chosen), *_what_it_brings(plan), *_when_to_stop(plan)]
    return [*said, *_new_cases(plan), *_trust(plan)]


def in_short(plan: Plan) -> list[str]:
    """Say what to do and when to stop, as :func:`advise` does, and no more."""
    if plan.noise is None or not len(plan.chosen):
        return plan.advice[:1]
    if _is_settled(plan):
        return _needs_none(plan)
    return [_what_to_do(plan, plan.chosen), *_when_to_stop(plan), *_new_cases(plan)]


def new_cases_or_labels(plan: Plan) -> tuple[float, float, float]:
    """Standard deviations of a claim about new cases: now, after the labels, and with new cases for the same cost.

    A new case has the labels that a case has now, on average, and shrinks annotation and sampling noise alike. Noise
    that annotators leave in cases is part of the spread between cases (:func:`plausibly.evaluation.total_noise`), so
    the larger of the two counts, not their sum.
    """
    noise = plan.noise
    assert noise is not None
    pair = noise["versus"] != ""
    rows = noise[pair] if plan.goal == "better" and pair.any() else noise[~pair]
    annotation, sampling = (np.nanmean(np.square(rows[f"{name}_sd"])) for name in ("annotation", "sampling"))
    first, last = (
        _goal_rows(plan, plan.forecast.loc[plan.forecast["labels"] == n]) for n in (0, plan.forecast["labels"].max())
    )
    widths = [np.mean(np.square(rows["width"])) for rows in (first, last)]
    left = annotation * widths[1] / widths[0] if widths[0] else annotation
    more = _new_for_the_same(plan)
    now = max(annotation, sampling)
    with_cases = now * plan.n_cases / (plan.n_cases + more)
    return tuple(float(np.sqrt(value)) for value in (now, max(left, sampling), with_cases))


def _what_to_do(plan: Plan, chosen: pd.DataFrame) -> str:
    n, what = int(chosen["labels"].sum()), "label" if plan.length == 1 else "ranking"
    first = [str(name).removeprefix("case ") for name in chosen["case"].head(5)]
    single = len(chosen) == 1
    who = "" if "annotator" in chosen else f", from annotators who have not yet labelled {'it' if single else 'them'}"
    if single:
        return f"Ask for {_count(n, f'more {what}')} on case {first[0]}{who}."
    several = f", at most {chosen['labels'].max()} per case" if chosen["labels"].max() > 1 else ""
    names = f"{', '.join(first[:-1])} and {first[-1]}"
    return f"Ask for {_count(n, f'more {what}')} on {len(chosen):,} cases{several}{who}. Start with cases {names}."


def _what_it_brings(plan: Plan) -> list[str]:
    first, last = (_goal_rows(plan, rows) for rows in _ends(plan))
    words = metric_name(plan.metric)
    said = []
    for (_, a), (_, b) in zip(first.iterrows(), last.iterrows(), strict=True):
        of = f"between {a['classifier']} and {a['versus']} in {words}" if a["versus"] else f"of {a['classifier']}"
        said.append(
            f"The {100 * plan.ci_prob:g} % interval of the {'difference' if a['versus'] else words} {of} on these "
            f"cases is expected to narrow from {_size(plan, a['width'])} to {_size(plan, b['width'])}{_unit(plan)} "
            f"({_size(plan, b['width_lower'])}–{_size(plan, b['width_upper'])} in 90 % of simulations); with cases "
            f"chosen at random, to {_size(plan, b['width_at_random'])}."
        )
    if plan.compare:
        now, then = (rows.loc[rows["versus"] != ""].iloc[0] for rows in _ends(plan))
        better = f"whether {now['classifier']} or {now['versus']} is better on these cases"
        if now["decided"]:
            said.append(_known(plan))
        else:
            chance = f"{then['decided']:.2f}" if then["decided"] >= 0.005 else "less than 0.01"
            said.append(
                f"The probability that these labels settle {better} is {chance} (settled means a posterior "
                f"probability of at least {plan.level:g})."
            )
    return said


def _is_settled(plan: Plan) -> bool:
    rows = _goal_rows(plan, _ends(plan)[0])
    return plan.goal == "better" and bool((rows["decided"] >= plan.level).any())


def _needs_none(plan: Plan) -> list[str]:
    """Say that a comparison needs no labels; new cases may still help."""
    now, labels, cases = new_cases_or_labels(plan)
    told = [_known(plan), "This comparison needs no more labels: stop."]
    return told + (_new_cases(plan) if np.isfinite(now) and cases < labels else [])


def _known(plan: Plan) -> str:
    rows = _ends(plan)[0]
    row = rows.loc[rows["versus"] != ""].iloc[0]
    better = f"whether {row['classifier']} or {row['versus']} is better on these cases"
    return f"It is already known {better} (posterior probability of at least {plan.level:g})."


def _when_to_stop(plan: Plan) -> list[str]:
    rows = _goal_rows(plan, plan.forecast)
    if plan.goal == "better":
        decided = rows.loc[rows["decided"] >= plan.level]
        if len(decided):
            return [
                f"Stop after {_count(decided['labels'].iloc[0], 'label')}: by then, the comparison is very probably "
                "settled."
            ]
    width = pd.Series(rows.groupby("labels")["width"].mean())
    enough = width.loc[width <= width.iloc[-1] + _WORTH * width.iloc[0]]
    if enough.index[0] == 0:
        return [
            f"All of them together narrow the interval by less than {100 * _WORTH:g} % of its width, which is hardly "
            "worth their cost."
        ]
    if enough.index[0] < width.index[-1]:
        return [
            f"After {_count(enough.index[0], 'label')} of these, the others narrow the interval by less than "
            f"{100 * _WORTH:g} % of its present width: stop there, or plan again with the new labels."
        ]
    return ["Plan again once some of them are in: the new labels change where the next ones help most."]


def _new_cases(plan: Plan) -> list[str]:
    now, labels, cases = new_cases_or_labels(plan)
    if not np.isfinite(now):
        return []
    spent = (
        f"{_count(round(_new_for_the_same(plan)), 'new case')} with about {plan.labels_per_case:.2g} annotations each"
    )
    what = "difference in " if plan.goal == "better" and plan.compare else ""
    assert plan.noise is not None
    of = f"{what}{metric_name(plan.metric)}"
    if not what and (plan.noise["versus"] == "").sum() > 1:
        of += " (root mean square over the classifiers)"
    before, after, instead = (_size(plan, value) for value in (now, labels, cases))
    if cases < labels:
        return [
            f"If your claim is about new cases like these, annotate new cases instead: {spent} would lower the "
            f"standard deviation of the {of} from {before} to {instead}{_unit(plan)}; the planned labels would leave "
            f"it at {after}."
        ]
    return [
        "If your claim is about new cases like these, the planned labels help more than new cases would: they lower "
        f"the standard deviation of the {of} from {before} to {after}{_unit(plan)}, and {spent} would lower it to "
        f"{instead}."
    ]


def _size(plan: Plan, value: float) -> str:
    """Write a width or a deviation of the metric; of an accuracy in points, since reports have it in percent."""
    return f"{100 * value if _unit(plan) else value:.3g}"


def _unit(plan: Plan) -> str:
    return " points" if plan.metric.endswith("accuracy") else ""


def _new_for_the_same(plan: Plan) -> float:
    """Number of new cases, with as many annotations as a case has now, that the labels of the plan would pay for."""
    return plan.forecast["cost"].max() / (plan.labels_per_case * plan.label_cost)


def _count(n: float, what: str) -> str:
    return f"{int(n):,} {what}{'' if int(n) == 1 else 's'}"


def _trust(plan: Plan) -> list[str]:
    said = []
    if plan.class_prior == "uniform" and plan.labels_per_case < FEW_LABELS:
        said.append(
            f"With {plan.labels_per_case:.2g} annotations per case, this plan depends on the prior, which assumes that "
            "all classes are equally common: aggregate with class_prior=population to learn the prior from all cases."
        )
    poor = plan.table["effective_draws"] < LEAST_DRAWS
    of = plan.table.loc[poor & (plan.table["labels"] > 0)]
    if not len(of):
        return said
    return [
        *said,
        f"The values of {len(of):,} of the chosen cases, such as {of['case'].iloc[0]}, come from fewer than "
        f"{LEAST_DRAWS} effective draws and cannot be trusted: sample more draws, or fit again after a few labels.",
    ]


def _ends(plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    labels = plan.forecast["labels"]
    return plan.forecast.loc[labels == 0], plan.forecast.loc[labels == labels.max()]


def _goal_rows(plan: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    pair = rows["versus"] != ""
    return rows[pair] if plan.goal == "better" else rows[~pair]
