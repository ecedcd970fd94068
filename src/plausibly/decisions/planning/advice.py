"""Advice from a plan, in sentences."""

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.base.bootstrap import resampled_means
from plausibly.base.names import figures, many
from plausibly.decisions.planning._result import Plan
from plausibly.decisions.planning._values import Source, Values
from plausibly.evaluation.comparison import variance_split
from plausibly.metrics.words import metric_name

FEW_LABELS = 4  #: labels of a case, on average, below which the prior of classes matters
LEAST_DRAWS = 50  #: effective draws below which a value should not be trusted
_REPLICATES = 1000  # of the bootstrap over cases
_WORTH = 0.05  # share of a width, of which a smaller gain is not worth the rest of the budget
_NOTHING = 0.01  # share of a width, of which a smaller gain is none


_APART = (
    "Mark these labels in a column 'round' (2, where the first ones have 1): they follow from what is known, so how "
    "often annotators agree is told by the labels that all cases have, or by further ones of cases drawn at random."
)


def noise_of(source: Source, values: Values, seed: int) -> pd.DataFrame:
    """Split the uncertainty of the metric into annotation and sampling noise, by :func:`variance_split`."""
    n = len(source.names)
    results = xr.Dataset(
        {
            "metric": (("classifier", "draw"), values.by_draw),
            "metric_sampling": (("classifier", "replicate"), resampled_means(values.mean[:n], _REPLICATES, seed)),
        },
        coords={"classifier": list(source.names), "chain": ("draw", values.chain)},
    )
    table = variance_split(results, "metric")
    pair = {source.names[at] for pair in source.question.pairs for at in pair}
    keep = (table["versus"] == "") | (table["classifier"].isin(pair) & table["versus"].isin(pair))
    # The total would need draws of every case; a plan compares the two parts instead.
    return table[keep].drop(columns="total_sd").reset_index(drop=True)


def advise(plan: Plan) -> list[str]:
    """Say what to do for a claim about these cases and for one about new cases, and what it will bring."""
    n = _to_ask(plan)
    said = [_for_these_cases(plan, n)]
    if n and plan.noise is not None:
        said += _what_it_brings(plan, n)
    elif n:
        gained = plan.forecast.loc[plan.forecast["labels"] == n, "information"].iloc[0]
        said.append(f"They are expected to give {figures(gained, 3)} nats of information about the plausibilities.")
    said += [_APART] if n else []
    return [*said, *_for_new_cases(plan), *_trust(plan)]


def in_short(plan: Plan) -> list[str]:
    """Say what to do, as :func:`advise` does, and no more."""
    return [_for_these_cases(plan, _to_ask(plan)), *_for_new_cases(plan)]


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
    first, last = (np.mean(np.square(_goal_rows(plan, rows)["width"])) for rows in _ends(plan))
    left = annotation * last / first if first and plan.learns else annotation
    more = _new_for_the_same(plan)
    now = max(annotation, sampling)
    with_cases = now * plan.n_cases / (plan.n_cases + more)
    return tuple(float(np.sqrt(value)) for value in (now, max(left, sampling), with_cases))


def _to_ask(plan: Plan) -> int:
    """Number of the planned labels that are worth their cost."""
    if not (plan.learns and plan.sequence):
        return 0
    if plan.noise is None:
        return len(plan.sequence)
    if (settled := _settled_after(plan)) is not None:
        return settled
    width = pd.Series(_goal_rows(plan, plan.forecast).groupby("labels")["width"].mean())
    if width.iloc[-1] >= (1 - _NOTHING) * width.iloc[0]:
        return 0
    enough = width.index[np.argmax(width <= width.iloc[-1] + _WORTH * width.iloc[0])]
    return int(enough or width.index[-1])


def _for_these_cases(plan: Plan, n: int) -> str:
    told = _what_to_do(plan, n)
    if plan.noise is None:  # no claim about classifiers
        return told[0].upper() + told[1:]
    return f"For a claim about these {many(plan.n_cases, 'case')}: {told}"


def _what_to_do(plan: Plan, n: int) -> str:
    if not plan.learns:
        return (
            f"no label narrows an interval under {plan.posterior_model}, which gives all annotations of a case "
            "together the same weight. Plan under another model, such as plackett-luce."
        )
    if _settled_after(plan) == 0:
        return f"no more labels are needed. {_known(plan)}"
    before = after = np.nan
    if plan.noise is not None:
        before, after = (_goal_rows(plan, rows)["width"].mean() for rows in _ends(plan))
    if not plan.sequence or before == 0:
        return "more labels are not expected to help."
    if not n:
        return (
            f"more labels are hardly worth their cost. {many(len(plan.sequence), 'label')} are expected to "
            f"narrow the interval by {figures(100 * max(1 - after / before, 0), 1)} % of its width, "
            f"{_size(plan, before)}{_unit(plan)}."
        )
    return _ask(plan, n)


def _ask(plan: Plan, n: int) -> str:
    what = "label" if plan.length == 1 else "ranking"
    cases, labels = np.unique(plan.sequence[:n], return_counts=True)
    first = [name.removeprefix("case ") for name in list(dict.fromkeys(plan.sequence))[:5]]
    who = f", from annotators who have not yet labelled {'it' if len(cases) == 1 else 'them'}"
    if "annotator" in plan.table:
        who = ""
    if len(cases) == 1:
        told = f"ask for {many(n, f'more {what}')} on case {first[0]}{who}."
    else:
        several = f", at most {labels.max()} per case" if labels.max() > 1 else ""
        first = first[: len(cases)]
        names = f"{', '.join(first[:-1])} and {first[-1]}"
        told = f"ask for {many(n, f'more {what}')} on {len(cases):,} cases{several}{who}. Start with cases {names}."
    if plan.noise is None:
        return told
    if _settled_after(plan) is not None:
        return f"{told} By then, the comparison is very probably settled."
    if n < len(plan.sequence):
        return f"{told} Further ones would narrow the interval by less than {100 * _WORTH:g} % of its present width."
    return f"{told} Plan again once some of them are in: the new labels change where the next ones help most."


def _what_it_brings(plan: Plan, n: int) -> list[str]:
    start, end = (plan.forecast.loc[plan.forecast["labels"] == labels] for labels in (0, n))
    words = metric_name(plan.metric)
    said = []
    for (_, a), (_, b) in zip(_goal_rows(plan, start).iterrows(), _goal_rows(plan, end).iterrows(), strict=True):
        of = f"between {a['classifier']} and {a['versus']} in {words}" if a["versus"] else f"of {a['classifier']}"
        before, after = _size(plan, a["width"]), _size(plan, b["width"])
        narrows = f"narrow from {before} to {after}" if before != after else f"stay about as wide as it is, {before}"
        said.append(
            f"The {100 * plan.ci_prob:g} % interval of the {'difference' if a['versus'] else words} {of} on these "
            f"cases is expected to {narrows}{_unit(plan)} "
            f"({_size(plan, b['width_lower'])}–{_size(plan, b['width_upper'])} in 90 % of simulations); with cases "
            f"chosen at random, to {_size(plan, b['width_at_random'])}."
        )
    if plan.compare:
        now, then = (rows.loc[rows["versus"] != "", "decided"].iloc[0] for rows in (start, end))
        chance = f"{then:.2f}" if then >= 0.005 else "less than 0.01"
        said.append(
            _known(plan)
            if now
            else f"The probability that these labels settle {_which_is_better(plan)} is {chance} (settled means a "
            f"posterior probability of at least {plan.level:g})."
        )
    return said


def _settled_after(plan: Plan) -> int | None:
    """Number of labels after which the better of two classifiers is known; None if it will not be, or is no goal."""
    if plan.goal != "better":
        return None
    rows = _goal_rows(plan, plan.forecast)
    labels = rows.loc[rows["decided"] >= plan.level, "labels"]
    return int(labels.iloc[0]) if len(labels) else None


def _known(plan: Plan) -> str:
    return f"It is already known {_which_is_better(plan)} (posterior probability of at least {plan.level:g})."


def _which_is_better(plan: Plan) -> str:
    assert plan.compare is not None
    return f"whether {' or '.join(plan.compare)} is better on these cases, for these annotators"


def _for_new_cases(plan: Plan) -> list[str]:
    if plan.noise is None:
        return []
    now, labels, cases = new_cases_or_labels(plan)
    if not np.isfinite(now):
        return []
    each = f"with about {figures(plan.labels_per_case)} annotations each"
    more = f"{many(round(_new_for_the_same(plan)), 'new case')} {each}"
    what = "difference in " if plan.goal == "better" and plan.compare else ""
    of = f"{what}{metric_name(plan.metric)}"
    if not what and (plan.noise["versus"] == "").sum() > 1:
        of += " (root mean square over the classifiers)"
    before, after, instead = (_size(plan, value) for value in (now, labels, cases))
    claim, unit = "For a claim about new cases like these:", _unit(plan)
    if cases < labels:
        told = "hardly change it" if labels > (1 - _WORTH) * now else f"lower it to {after} at best"
        lowered = f"from {before} to {instead}{unit}" if before != instead else f"by little ({before}{unit})"
        return [
            f"{claim} annotate new cases. {more} would lower the standard deviation of the {of} {lowered}; labels on "
            f"these cases would {told}."
        ]
    lowered = f"from {before} to about {after}" if before != after else f"by little, {before}"
    return [
        f"{claim} ask for the labels, which help more than new cases would. All {len(plan.sequence):,} lower the "
        f"standard deviation of the {of} {lowered}{unit}; {more} would lower it to {instead}."
    ]


def _size(plan: Plan, value: float) -> str:
    """Write a width or a deviation of the metric; of an accuracy in points, since reports have it in percent.

    Quantiles of a few thousand draws have about two digits.
    """
    if not _unit(plan):
        return figures(value)
    return f"{100 * value:.1f}" if value >= 0.01 else figures(100 * value)


def _unit(plan: Plan) -> str:
    return " points" if plan.metric.endswith("accuracy") else ""


def _new_for_the_same(plan: Plan) -> float:
    """Number of new cases, with as many annotations as a case has now, that the labels of the plan would pay for."""
    return plan.forecast["cost"].max() / (plan.labels_per_case * plan.label_cost)


def _trust(plan: Plan) -> list[str]:
    said = []
    if plan.class_prior == "uniform" and plan.labels_per_case < FEW_LABELS:
        said.append(
            f"With {figures(plan.labels_per_case)} annotations per case, this plan depends on the prior, which assumes "
            "that all classes are equally common: aggregate with class_prior=learned to learn the prior from all cases."
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
