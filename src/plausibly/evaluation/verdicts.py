"""Whether one classifier is better than another, for whom, at which cut-off, and what would make that more certain."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.base.names import figures, probability_in_words
from plausibly.data.annotations import Annotations
from plausibly.evaluation.comparison import differences, probability_better
from plausibly.evaluation.evidence import known_predictions, knows_more
from plausibly.evaluation.summaries import few_in_words
from plausibly.metrics.words import capitalised, metric_name
from plausibly.posterior.says import learns

MORE_EXPERTS = 10  #: annotators whom one might have, if there are fewer than half of them
SURE = 0.95  #: probability at which one classifier counts as better than another
#: metrics of two classes that a report has, which say whether an order of classifiers depends on the cut-off
OF_CUT_OFFS = ("sensitivity", "specificity", "auroc", "roc_curve")
_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven")
_ROUNDED = 0.005  # of a sensitivity, which is written with two digits
_AT_A_CUT_OFF = ("accuracy", "top1_accuracy")


def verdict(results: xr.Dataset, metric: str, first: str, second: str) -> str:
    """State how probable it is that one classifier is better than another, and how to find out more.

    Parameters
    ----------
    results, metric
        Results and metric as for :func:`plausibly.comparison.probability_better`.
    first, second
        Names of two classifiers, the one with the better mean first.

    Returns
    -------
    str
        Whether there are few cases; how often each agrees with an expert, which needs no model, and what the metric
        rests on; the shares of draws in which the first is better, equal and worse, for these annotators and cases, and
        for new cases like these; whether AUROC, or sensitivity at the same specificity, orders them otherwise. If it is
        better with a probability below 0.95, also what more cases and more labels would change. For a point estimate,
        that this is unknown.

    Raises
    ------
    ArgumentError
        If the results have no such metric.

    Examples
    --------
    >>> draws = xr.DataArray([[0.6, 0.7], [0.4, 0.7]], dims=("classifier", "draw"), coords={"classifier": ["A", "B"]})
    >>> verdict(xr.Dataset({"top1_accuracy": draws}), "top1_accuracy", "A", "B")
    'For these annotators, on these cases, A is better than B in 50 % of draws, equal in 50 % and worse in 0 %.'
    """
    row = difference(results, metric, first, second)
    whom = for_whom(results.attrs)
    told = (probabilities(row, first, second, whom), advice(row, learns(results.attrs)))
    told = (*told, at_other_cut_offs(results, first, second) if metric in _AT_A_CUT_OFF else "")
    rests = few_in_words(results), _agreement(results, first, second), _rests(results, metric)
    return " ".join(filter(None, (*rests, *told)))


def _agreement(results: xr.Dataset, first: str, second: str) -> str:
    if "expert_agreement" not in results:
        return ""
    a, b = (100 * float(results["expert_agreement"].sel(classifier=name)) for name in (first, second))
    return f"{first} agrees with an expert in {a:.1f} % of cases, {second} in {b:.1f} %."


def _rests(results: xr.Dataset, metric: str) -> str:
    """Say what a metric follows from, and which classifiers it is too low for."""
    if "spread" not in results.attrs:
        return ""
    name = metric_name(metric)
    assumed = " and on how far you assume that experts agree" if results.attrs["spread"] == "assumed" else ""
    if known_predictions(results.attrs):
        return f"What follows, by {name}, rests on the annotations and on what classifiers predict{assumed}."
    more = " and ".join(knows_more(results))
    too = f"; {more} know{'' if ' and ' in more else 's'} more, and would do better" if more else ""
    return f"What follows, by {name}, rests on the annotations alone{assumed}{too}."


def difference(results: xr.Dataset, metric: str, first: str, second: str) -> pd.Series:
    """Return the row of :func:`plausibly.comparison.differences` for two classifiers, and whether they are the same.

    They are if both have the same value in every case; of new cases, that tells nothing.
    """
    two = results.sel(classifier=[first, second])
    row, by_case = differences(two, metric).iloc[0], f"{metric}_by_case"
    alike = np.array_equal(*two[by_case].values, equal_nan=True) if by_case in two else row["total_equal"] == 1
    return pd.concat([row, pd.Series({"same": row["equal"] == 1 and alike})])


def for_whom(attrs: Mapping[str, Any]) -> str:
    """Say for which annotators a result holds, as other annotators may look for something else.

    Examples
    --------
    >>> for_whom({"annotators": 3}), for_whom({"annotators": 12}), for_whom({})
    ('for these three annotators', 'for these 12 annotators', 'for these annotators')
    """
    n = int(attrs.get("annotators", 0))
    if attrs.get("readers") == "others":
        return "for other experts"
    if n == 1:
        return "for this one annotator"
    return f"for these {_NUMBERS[n] if n < len(_NUMBERS) else f'{n:,}'} annotators".replace("  ", " ")


def at_other_cut_offs(results: xr.Dataset, first: str, second: str, metric: str = "accuracy") -> str:
    """Say that two classifiers are ordered otherwise by AUROC, or by sensitivity at the same specificity.

    Parameters
    ----------
    results
        Metrics of labels of two classes, or of a positive class, among which are ``OF_CUT_OFFS``.
    first, second
        Names of two classifiers, the first of which is better at a cut-off.
    metric
        What it is better by, in words.

    Returns
    -------
    str
        Empty if the order is the same, or metrics are missing.
    """
    if "positive" not in results.attrs or "auroc" not in results:
        return ""
    two = results[[name for name in OF_CUT_OFFS if name in results]].mean("draw").sel(classifier=[first, second])
    area, other_area = two["auroc"].values
    parts = []
    if round(other_area, 3) > round(area, 3):
        share = probability_better(results, "auroc", second, first, noise="total" if "auroc_total" in results else None)
        sure = "" if np.isnan(share) else f", with probability {probability_in_words(share)} {for_whom(results.attrs)}"
        parts.append(f"by AUROC, {second} is ({other_area:.3f}, {first} {area:.3f}{sure})")
    if {*OF_CUT_OFFS} <= {*two}:
        hit, right = (float(two[name][0]) for name in OF_CUT_OFFS[:2])
        curve = two["roc_curve"].isel(classifier=1)
        would = float(np.interp(right, curve["at_specificity"].values, curve.values))
        if would > hit + _ROUNDED:
            parts.append(
                f"at the specificity of {first}, {right:.2f}, the sensitivity of {second} would be {would:.2f}, that "
                f"of {first} is {hit:.2f}"
            )
    if not parts:
        return ""
    choose = " Choose cut-offs on other cases (--threshold-from, choose_threshold)."
    choose = "" if "threshold_from" in results.attrs else choose
    return (
        f"Which one is better depends on the cut-off: by {metric} at {cut_off(results)}, {first} is; "
        f"{'; '.join(parts)}.{choose}"
    )


def cut_off(results: xr.Dataset) -> str:
    """Name the cut-off of decisions; without one, it is the highest score, of two classes a probability of 0.5."""
    threshold = results.attrs.get("threshold")
    if threshold is None:
        return "a cut-off of 0.5 (the class of the highest score)"
    return "their cut-offs" if isinstance(threshold, str) else f"a cut-off of {threshold:.3g}"


def probabilities(row: pd.Series, first: str, second: str, whom: str = "for these annotators") -> str:
    """State how often the first classifier is better, equal and worse, for these cases and for new ones."""
    if np.isnan(row["better"]):
        return (
            f"How probable it is that {first} is better than {second} is unknown: a point estimate ignores what the "
            "annotations leave open. Aggregate with a model that has a posterior."
        )
    if row.get("same"):
        return (
            f"{first} and {second} made the same choices, as far as this metric can tell: in every case, their values "
            "are equal. Only cases in which they differ can tell which is better, and more labels cannot."
        )
    told = (
        f"{capitalised(whom)}, on these cases, {first} is better than {second} in {percent(row['better'])} of draws, "
    )
    told += f"equal in {percent(row['equal'])} and worse in {percent(row['worse'])}."
    if np.isnan(row["total_better"]):
        return told
    better, equal, worse = (percent(row[f"total_{name}"]) for name in ("better", "equal", "worse"))
    new = f"it is better in {better}, equal in {equal} and worse in {worse}"
    return f"{told} For the same annotators, on new cases like these, {new}."


def advice(row: pd.Series, learns: bool = True) -> str:
    """Say what more cases and more labels would tell of which classifier is better; empty if nothing or all is known.

    As in a plan, the larger of annotation and sampling noise counts for new cases. More cases reduce both; labels of
    these cases reduce the former only, and only if the model ``learns`` from them.
    """
    if np.isnan(row["total_better"]) or row["total_better"] >= SURE or row.get("same"):
        return ""
    if not learns:
        return (
            "This is uncertain: only more cases would help, since the model gives all annotations of a case together a "
            "fixed weight."
        )
    if row["sampling_sd"] >= row["sd"]:
        these = ": they would tell more of these cases only" if row["better"] < SURE else ""
        return (
            "For new cases, this is uncertain because there are few cases: more cases would help, but more labels of "
            f"these cases would not{these}."
        )
    before, after = (figures(row[name], 3) for name in ("sd", "sampling_sd"))
    lowered = f"labels can lower the standard deviation of the difference from {before} to {after} at best"
    if before == after:
        lowered = f"labels hardly lower the standard deviation of the difference, {before}"
    return (
        "This is uncertain mostly because of the annotations: more cases would help, and so would more labels of these "
        f"cases. For new cases, {lowered}."
    )


def what_narrows(panels: xr.Dataset, annotations: Annotations, name: str, metric: str = "accuracy") -> dict[str, float]:
    """Estimate by what factor the interval against panels of other experts would narrow, with more of something.

    Of its variance, what labels leave open falls with their number, and that of drawing cases with theirs; the rest is
    how far the n experts of a panel are from the mean of the J annotators, which is proportional to 1/n + 1/J.

    Parameters
    ----------
    panels
        Results against panels of other experts, with ``of_these_sd``, the standard deviation over draws of panels of
        these annotators.
    annotations
        Annotations that they are of.
    name, metric
        A classifier, and a metric with total draws.

    Returns
    -------
    Factors by what there would be more of, the least first; empty if there is no interval.
    """
    of = panels.sel(classifier=name)
    if f"{metric}_total" not in of or not (total := float(of[f"{metric}_total"].var())) > 0:
        return {}
    drawn, labels = float(of[metric].var()), float(of["of_these_sd"]) ** 2
    experts, cases, labels = max(drawn - labels, 0), max(total - drawn, 0), min(labels, drawn)
    size, n, known = panels.attrs["panel"], panels.attrs["effective_annotators"], int(panels.attrs["annotators"])
    more, per_case = max(MORE_EXPERTS, 2 * known), float(annotations.annotated.per_case.mean())
    rest = {
        f"{more} annotators": labels + cases + experts * (1 / size + 1 / (n * more / known)) / (1 / size + 1 / n),
        "twice as many cases": experts + (labels + cases) / 2,
        "another label of each case": experts + cases + labels * per_case / (per_case + 1),
    }
    found = {what: float(np.sqrt(left / (experts + cases + labels))) for what, left in rest.items()}
    return dict(sorted(found.items(), key=lambda one: one[1]))


def percent(share: float) -> str:
    """Write a share of draws in percent; only all of them are 100 %, and only none 0 %."""
    if 0.995 <= share < 1:
        return "more than 99 %"
    return "less than 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
