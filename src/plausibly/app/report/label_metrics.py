"""What classifiers name, class by class: the page of two classes, which clinicians know, and that of several."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.aggregation.sweeps import Sweep
from plausibly.app.report.tables import TOTAL, headline, intervals, lead, value_and_interval
from plausibly.base.bootstrap import CI_PROB, interval
from plausibly.evaluation import by_group, largest_confusions, summary
from plausibly.evaluation.metrics import ANSWERS, GROUPS
from plausibly.evaluation.summaries import OF_LISTS, SUFFIX
from plausibly.evaluation.truth import truth_in_words
from plausibly.metrics.words import capitalised, metric_name

MOST_CLASSIFIERS = 4  #: shown class by class, the best first
MOST_CLASSES = 15  #: in the table by class, the most frequent first
MOST_IN_MATRIX = 12  #: classes of a confusion matrix; of more, the largest confusions say most
_ROUNDING = 0.05  # cases, which are printed with one decimal
_IN_WORDS = 3  # confusions of each classifier
OF_TWO = "auroc", "sensitivity", "specificity", "ppv", "npv", "brier", "log_score", *ANSWERS
_OF_GRADES = GROUPS["ordered"]
_OF_MORE = *_OF_GRADES, "balanced_accuracy", "f1_macro", "brier", "log_score", "calibration_error", *ANSWERS
_BY_CLASS = "sensitivity", "ppv", "f1"
_AT_PREVALENCE = re.compile(r"(ppv|npv)_at_prevalence_[\d.]+$")
NEW_CASES = "94 % interval for new cases like these"  #: what brackets hold
_ONE_EXPERT = (
    "What one expert would say needs no model: a case on which experts disagree counts for each class by the share of "
    "its labels, so that no classifier can be right in all of them."
)


def truths(swept: Sweep) -> list[xr.Dataset]:
    """Metrics of labels against everything that classifiers are compared with; the first is what the page is about."""
    run = lead(swept)
    known = [None if "withheld" in run.results.attrs else run.of_labels, swept.of_labels]
    return [results for results in known if results is not None]


def of_classes(swept: Sweep) -> tuple[str, list[Any]]:
    """Title of the section, and its content."""
    found = truths(swept)
    if not found:
        return "", []
    first, best = found[0], best_classifiers(swept)
    of_all: list[Any] = [_of_all(swept, results) for results in found]
    of_all += [_ONE_EXPERT] if len(found) > 1 else []
    shown: list[Any] = list(_introduction(swept, first))
    as_many = f"94 % interval for {first['confusion'].attrs['n_cases']:,.0f} new cases like these"
    confused = confusions(first, best, as_many, each_class=True)
    if "positive" in first.attrs:
        return "Sensitivity, specificity and AUROC", [*shown, *of_all, *confused]
    largest = f"The largest confusions, by {truth_in_words(first.attrs)}:"
    return "Which classes are confused?", [*shown, largest, *confused, *of_all]


def confusions(results: xr.Dataset, names: Sequence[str], per_new_case: str, *, each_class: bool = False) -> list[Any]:
    """Numbers of cases by what is true and what classifiers name; of several classes, the largest confusions, too."""
    by = f"by {truth_in_words(results.attrs)}"
    if "positive" in results.attrs:
        table = pd.concat([two_by_two(results, name) for name in names], ignore_index=True)
        return [{f"Expected numbers of cases, {by} [{per_new_case}]": table}]
    shown: list[Any] = [sentence for name in names if (sentence := confusions_in_words(results, name))]
    for name in names:
        if results.sizes["true_class"] <= MOST_IN_MATRIX:
            shown.append({f"{name}: expected numbers of cases, {by}": matrix(results, name)})
        if each_class:
            shown.append(_by_class(results, name))
    return shown


def groups_of_classes(swept: Sweep, column: str) -> dict[str, pd.DataFrame]:
    """Tabulate metrics of labels by the groups of a column: a row for each group and classifier."""
    found = truths(swept)
    if not found:
        return {}
    grouped = found[0] if "truth" in found[0].attrs else lead(swept).results
    names = [name for name in plain_metrics(grouped) if name + SUFFIX in grouped]
    if not names:
        return {}
    results = grouped.isel(group=np.flatnonzero(grouped["group_column"].values == column))
    tables = {name: by_group(results, name) for name in names}
    first = tables[names[0]]
    few = np.where(first["few"], " (few)", "")
    shown = {"Group": first["group"], "Cases": [f"{n:,}{flag}" for n, flag in zip(first["n_cases"], few, strict=True)]}
    shown |= {"Classifier": first["classifier"]} if len(swept.classifiers) > 1 else {}
    for name, table in tables.items():
        shown[capitalised(metric_name(name))] = intervals(table)
    ordered = pd.DataFrame(shown).sort_values("Group", kind="stable", ignore_index=True)
    return {f"By {column}, against {truth_in_words(found[0].attrs)} [{NEW_CASES}]": ordered}


def plain_metrics(results: xr.Dataset) -> list[str]:
    """Name the metrics of labels that have one value for a classifier."""
    plain = [str(name) for name, of in results.items() if of.dims == ("classifier", "draw")]
    return [name for name in plain if not OF_LISTS.match(name)]


def of_labels_in_words(swept: Sweep, classifier: str) -> Iterator[str]:
    """Say how well a classifier tells two classes apart, or grades."""
    found = truths(swept)
    if not found:
        return
    results = found[0].sel(classifier=[classifier])
    first = OF_TWO[:3] if "positive" in results.attrs else _OF_GRADES[:3]
    table = summary(results).set_index("metric")
    told = [
        f"{metric_name(name)} {row['mean']:.2f}"
        + ("" if np.isnan(row["total_lower"]) else f" ({row['total_lower']:.2f} to {row['total_upper']:.2f})")
        for name, row in table.loc[[name for name in first if name in table.index]].dropna(subset="mean").iterrows()
    ]
    if told:
        listed = f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]
        of = f" for {results.attrs['positive']}{at_threshold(results)}" if "positive" in results.attrs else ""
        yield f"Against {truth_in_words(results.attrs)}, {classifier} has {listed}{of} (94 % intervals)."


def best_classifiers(swept: Sweep) -> list[str]:
    """Name the classifiers that are shown class by class, the best first."""
    return headline(swept, [lead(swept)])["classifier"].head(MOST_CLASSIFIERS).tolist()


def confusions_in_words(results: xr.Dataset, classifier: str) -> str:
    """Say which classes a classifier confuses most often; nothing if it confuses none."""
    table = largest_confusions(results.sel(classifier=[classifier]), _IN_WORDS)
    numbers = intervals(table, ("cases", "lower", "upper"), digits=1)
    told = [
        f"{row['named_class']} instead of {row['true_class']} in {text} cases "
        f"({100 * row['share_of_true']:.0f} % of those of {row['true_class']})"
        for row, text in zip(table.to_dict("records"), numbers, strict=True)
    ]
    return f"{classifier} most often names {'; '.join(told)}." if told else ""


def _introduction(swept: Sweep, results: xr.Dataset) -> Iterator[str]:
    withheld = lead(swept).results.attrs.get("withheld")
    if withheld:
        yield f"{withheld} So classifiers are compared with {truth_in_words(results.attrs)} here."
    if "positive" in results.attrs:
        shares = results["confusion"].isel(classifier=0, true_class=1).sum("named_class")
        yield (
            f"Positive is {results.attrs['positive']}: sensitivity, specificity, PPV and NPV are about who names it"
            f"{at_threshold(results)}. PPV and NPV are those at the prevalence of these cases, "
            f"{100 * float(shares.mean()):.0f} %."
        )
    more = len(swept.classifiers) - MOST_CLASSIFIERS
    if more > 0:
        yield f"Class by class, the best {MOST_CLASSIFIERS} classifiers are shown; {more} more are left out."


def at_threshold(results: xr.Dataset) -> str:
    """Say from which probability on classifiers name the positive class; nothing if it only has to be the greater.

    The attribute ``threshold_from`` says where it comes from.

    Examples
    --------
    >>> at_threshold(xr.Dataset(attrs={"threshold": 0.25, "threshold_from": "chosen on tune.csv"}))
    ' from a probability of 0.25 on (chosen on tune.csv)'
    """
    threshold = results.attrs.get("threshold")
    if threshold is None:
        return ""
    own = json.loads(threshold) if isinstance(threshold, str) else {"": threshold}
    names = ["", *results["classifier"].values.tolist()] if "classifier" in results.coords else [""]
    shown = [f"{at:.3g}{f' ({name})' if name else ''}" for name, at in own.items() if name in names]
    chosen = f" ({results.attrs['threshold_from']})" if "threshold_from" in results.attrs else ""
    return f" from a probability of {', '.join(shown)} on{chosen}"


def _of_all(swept: Sweep, results: xr.Dataset) -> dict[str, pd.DataFrame]:
    """Tabulate the metrics with one value for a classifier: a row per classifier, the best first."""
    table = summary(results)
    rows = table[table["class"] == ""] if "class" in table else table
    rows = rows.set_index(["metric", "classifier"])
    names = headline(swept, [lead(swept)])["classifier"]
    shown = {"Classifier": names}
    elsewhere = [str(name) for name in results if str(name) in rows.index and _AT_PREVALENCE.match(str(name))]
    wanted = [*OF_TWO, *elsewhere] if "positive" in results.attrs else _OF_MORE
    for metric in (metric for metric in wanted if metric in rows.index):
        shown[capitalised(metric_name(metric))] = intervals(rows.loc[metric].loc[names], TOTAL)
    under = "" if "truth" in results.attrs else f", under {lead(swept).label}"
    return {f"Against {truth_in_words(results.attrs)}{under} [{NEW_CASES}]": pd.DataFrame(shown)}


def two_by_two(results: xr.Dataset, name: str) -> pd.DataFrame:
    """Tabulate what a classifier names (rows) by what is true (columns)."""
    numbers, noise = _numbers(results, name)
    n_cases = results["confusion"].attrs["n_cases"]
    expected = partial(_expected, n_cases=n_cases)
    other, positive = results["true_class"].values.tolist()
    rows = []
    for named, label in ((1, positive), (0, other), (2, "no answer"))[: results.sizes["named_class"]]:
        cells = [expected(numbers[true, named], noise[true, named]) for true in (1, 0)]
        rows.append([name, label, *cells, expected(numbers[:, named].sum(0), noise[:, named].sum(0))])
    columns = ["Classifier", "It names", f"Truth: {positive}", f"Truth: {other}", "All"]
    totals = [expected(numbers[true].sum(0), noise[true].sum(0)) for true in (1, 0)]
    return pd.DataFrame([*rows, [name, "all", *totals, f"{n_cases:,.0f}"]], columns=columns)


def matrix(results: xr.Dataset, name: str) -> pd.DataFrame:
    """Tabulate expected numbers of cases: true classes are rows, and named classes, or no answer, columns."""
    numbers = _numbers(results, name)[0].mean(axis=-1)
    classes = results["true_class"].values.tolist()
    headings = [f"Named {label}" for label in classes] + ["No answer"]
    shown = {headings[at]: [f"{n:,.1f}" for n in of] for at, of in enumerate(numbers.T)}
    return pd.DataFrame({"Truth": classes} | shown | {"All": [f"{n:,.1f}" for n in numbers.sum(axis=1)]})


def _by_class(results: xr.Dataset, name: str) -> dict[str, pd.DataFrame]:
    """Tabulate the metrics of each class, the most frequent first."""
    numbers, noise = (of.sum(axis=1) for of in _numbers(results, name))
    expected = partial(_expected, n_cases=results["confusion"].attrs["n_cases"])
    table = summary(results.sel(classifier=[name])).set_index(["metric", "class"])
    classes = results["true_class"].values
    order = np.argsort(-numbers.mean(axis=-1), kind="stable")[:MOST_CLASSES]
    shown = {"Class": classes[order], "Expected cases": [expected(numbers[at], noise[at]) for at in order]}
    for metric in _BY_CLASS:
        shown[capitalised(metric_name(metric))] = intervals(table.loc[metric].loc[classes[order]], TOTAL)
    which = f", the {MOST_CLASSES} most frequent of {len(classes)} classes" if len(classes) > MOST_CLASSES else ""
    return {f"{name}: by class, against {truth_in_words(results.attrs)}{which} [{NEW_CASES}]": pd.DataFrame(shown)}


def _numbers(
    results: xr.Dataset, name: str
) -> tuple[Float[np.ndarray, "true named draw"], Float[np.ndarray, "true named replicate"]]:
    """Numbers of cases in every draw, and in every replicate if there are any."""
    own, n_cases = results.sel(classifier=name), results["confusion"].attrs["n_cases"]
    return own["confusion"].values * n_cases, own.get("confusion_total", own["confusion"]).values * n_cases


def _expected(
    draws: Float[np.ndarray, " draw"], noise: Float[np.ndarray, " replicate"], n_cases: float = np.inf
) -> str:
    """Write a number of cases with its interval, which a constant has not, and which ends at the number of all.

    Examples
    --------
    >>> _expected(np.array([3.0, 3.0]), np.array([2.0, 6.0]), 4).split()
    ['3.0', '[2.1,', '3.9]']
    >>> _expected(np.array([4.0]), np.array([4.0, 4.2]), 4)
    '4.0'
    """
    lower, upper = interval(noise.clip(0, n_cases), CI_PROB) if len(noise) > 1 else (np.nan, np.nan)
    if abs(upper - lower) < _ROUNDING:
        lower = upper = np.nan
    return value_and_interval(draws.mean(), lower, upper, digits=1)
