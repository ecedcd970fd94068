"""What classifiers name, class by class: the page of two classes, which clinicians know, and that of several."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float

from plausibly.aggregation.sweeps import Sweep
from plausibly.app import plots
from plausibly.app.report.tables import TOTAL, best_under, in_order, intervals, lead, value_and_interval
from plausibly.app.screen import Part
from plausibly.base.bootstrap import interval, width_in_words, width_of
from plausibly.evaluation import by_group, largest_confusions, summary
from plausibly.evaluation.cautions import constants
from plausibly.evaluation.comparison import share_better
from plausibly.evaluation.metrics import ANSWERS
from plausibly.evaluation.summaries import OF_LISTS, SUFFIX, few_cases, few_in_words, goodness
from plausibly.evaluation.truth import truth_in_words
from plausibly.metrics.words import capitalised, metric_name

MOST_CLASSIFIERS = 4  #: shown class by class, the best first
MOST_CLASSES = 15  #: in the table by class, the most frequent first
MOST_IN_MATRIX = 12  #: classes of a confusion matrix; of more, the largest confusions say most
_ROUNDING = 0.05  # cases, which are printed with one decimal
_IN_WORDS = 3  # confusions of each classifier
MOST_ROWS = 10  #: of metrics in one table for all classifiers
MOST_COLUMNS = 7  #: metrics in a table of groups
HALVES = {"sensitivity": "specificity", "ppv": "npv"}  #: metrics that are easily raised at the expense of another
_KNOWN = 0.99  # share of draws in which a metric has to be defined, for what is said of the others
OF_TWO = "auroc", "sensitivity", "specificity", "ppv", "npv", "brier", "log_score", *ANSWERS
_BY_CLASS = "sensitivity", "ppv", "f1"
_ACCURACY = re.compile(r"top\d+_accuracy")
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
    of_all = []
    panels = lead(swept).of_panels
    for results in [*([] if panels is None or "accuracy" not in panels else [panels]), *found]:
        under = "" if "truth" in results.attrs else f", under {lead(swept).label}"
        plain = results[[name for name in results if not OF_LISTS.match(str(name))]]
        of_all += metric_tables(plain, f"Against {truth_in_words(results.attrs)}{under} [{new_cases(results)}]")
    of_all += [_ONE_EXPERT] if len(found) > 1 else []
    as_many = f"{width_in_words(first)} interval for {first['confusion'].attrs['n_cases']:,.0f} new cases like these"
    shown = [*_introduction(swept, first), *of_all, *confusions(first, best, as_many, each_class=True)]
    return "Sensitivity, specificity and AUROC" if "positive" in first.attrs else "Which classes are confused?", shown


def new_cases(results: xr.Dataset) -> str:
    """What brackets hold."""
    return f"{width_in_words(results)} interval for new cases like these"


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


def plain_metrics(results: xr.Dataset) -> list[str]:
    """Name the metrics of labels that have one value for a classifier."""
    plain = [str(name) for name, of in results.items() if of.dims == ("classifier", "draw")]
    return [name for name in plain if not OF_LISTS.match(name)]


def first_metrics(results: xr.Dataset) -> list[str]:
    """Order the metrics that have a value: accuracies of lists come first or, of two classes, what clinicians read."""
    lists = [str(name) for name in results if "truth" not in results.attrs and _ACCURACY.fullmatch(str(name))]
    known = [name for name in [*lists, *plain_metrics(results)] if results[name].notnull().any()]
    if "positive" not in results.attrs:
        return known
    return sorted(known, key=lambda name: OF_TWO.index(name) if name in OF_TWO else len(OF_TWO))


def best_first(results: xr.Dataset) -> list[str]:
    """Order the classifiers, the best first, by their first metric and the one at whose expense it is raised.

    Those that always name the same class, which tell nothing of a case, come last.
    """
    names, metrics = [str(name) for name in results["classifier"].values], first_metrics(results)
    same = constants(results)
    both = [name for name in (*metrics[:1], HALVES.get(*metrics[:1], "")) if name in metrics] if metrics else []
    values = [goodness(results[metric].mean("draw").values, results[metric].attrs) for metric in both]
    return in_order(names, np.sum(values, axis=0) if both else np.zeros(len(names)), same)


def better(results: xr.Dataset, metric: str, first: str, second: str, class_name: str = "") -> str:
    """Write the probability that a classifier is better than another on new cases; empty if it is unknown."""
    at: dict[str, Any] = {"classifier": [results.get_index("classifier").get_loc(name) for name in (first, second)]}
    at |= {"class_name": results.get_index("class_name").get_loc(class_name)} if class_name else {}
    # Variables, since a page has hundreds of these, and a data set takes long to cut.
    variables = [results.variables[name].isel(at) for name in (metric, f"{metric}_total") if name in results.variables]
    known = ~np.isnan(variables[0].values).any(axis=0)
    drawn = len(variables) > 1 or results.attrs.get("truth", "most-plausible") == "most-plausible"
    share = share_better(*variables[-1].values, variables[0].attrs) if drawn and known.mean() >= _KNOWN else np.nan
    if np.isnan(share):
        return ""
    few = " (few cases)" if few_in_words(results) else ""
    return f">0.99{few}" if share >= 0.995 else f"<0.01{few}" if share < 0.005 else f"{share:.2f}"


def otherwise_against(results: xr.Dataset, metric: str) -> str:
    """Say what a metric is against, if not the truth that the table names."""
    said, truth = results[metric].attrs.get("against"), truth_in_words(results.attrs)
    return "" if said in (None, truth) else f" (against {said})"


def _size(results: xr.Dataset, at: int) -> str:
    n = f"{results['group_n_cases'].values[at]:,}"
    if "group_n_positive" in results.coords:
        n += f", {results['group_n_positive'].values[at]:,.0f} {results.attrs['positive']}"
    return f"{n} (few)" if few_cases(results)[at] else n


def metric_tables(results: xr.Dataset, caption: str) -> list[Any]:
    """Tabulate all metrics, and which classifier is better, best first.

    A row for each metric, and class, in one table; of many rows, or classifiers, in a table for each classifier.
    """
    table, best = summary(results), best_first(results)
    table["class"] = table.get("class", "")
    place = {name: at for at, name in enumerate(first_metrics(results))}
    table = table.sort_values("metric", key=lambda names: names.map(place).fillna(len(place)), kind="stable")
    rows = []
    for (metric, class_name), own in table.groupby(["metric", "class"], sort=False):
        row = {"metric": metric_name(str(metric)) + otherwise_against(results, str(metric)), "class": class_name}
        row |= dict(zip(own["classifier"], intervals(own, TOTAL), strict=True))
        for first, second in pairwise(best):
            row[f"P({first} better than {second})"] = better(results, str(metric), first, second, str(class_name))
        rows.append(row)
    of_all = pd.DataFrame(rows)
    what = [name for name in ("metric", "class") if name in of_all and of_all[name].any()]
    if len(rows) <= MOST_ROWS and len(best) <= MOST_CLASSIFIERS:
        apart = [name for name in of_all if str(name).startswith("P(")]
        return [{caption: of_all[[*what, *best, *apart]]}] if rows else []
    tables = {}
    for name, after in zip(best, [*best[1:], None], strict=True):
        own = of_all[[*what, name]].rename(columns={name: "value"})
        if after is not None:
            own[f"P(better than {after})"] = of_all[f"P({name} better than {after})"]
        tables[f"{name}: {caption[0].lower()}{caption[1:]}"] = own
    first = dict([*tables.items()][:MOST_CLASSIFIERS])
    return [first, Part("The other classifiers", {name: of for name, of in tables.items() if name not in first})]


def group_tables(results: xr.Dataset, column: str, metrics: Sequence[str], caption: str) -> dict[str, pd.DataFrame]:
    """Tabulate metrics that have one value by the groups of a column: a row for each group and classifier.

    Groups of few cases, or of few positive or negative ones, are marked.
    """
    own = results.isel(group=np.flatnonzero(results["group_column"].values == column))
    known = [name for name in metrics if name + SUFFIX in own]
    if not known:
        return {}
    first, *others = (by_group(own, name) for name in known[:MOST_COLUMNS])
    sizes = {str(group): _size(own, at) for at, group in enumerate(own["group_value"].values)}
    shown = {"group": first["group"], "cases": [sizes[group] for group in first["group"]]}
    shown |= {"classifier": first["classifier"]} if results.sizes["classifier"] > 1 else {}
    shown |= {capitalised(metric_name(name)): intervals(of) for name, of in zip(known, (first, *others), strict=False)}
    more = f"; groups.csv has {len(known) - MOST_COLUMNS} more metrics" if len(known) > MOST_COLUMNS else ""
    return {caption + more: pd.DataFrame(shown).sort_values("group", kind="stable", ignore_index=True)}


def of_column(
    results: xr.Dataset, column: str, metrics: Sequence[str], caption: str, *, drawn: bool = True
) -> list[Any]:
    """The groups of a column: a figure of the first metric, if it is `drawn`, and a table of all."""
    inside = results.isel(group=np.flatnonzero(results["group_column"].values == column))
    words = f"{capitalised(metric_name(metrics[0]))} by {column}; hollow: few cases; dotted: all cases"
    figure = [{words: partial(plots.metric_by_group, inside, metrics[0])}] if drawn else []
    return [*figure, group_tables(results, column, metrics, caption)]


def best_classifiers(swept: Sweep) -> list[str]:
    """Name the classifiers that are shown class by class, the best first."""
    return best_under(swept, lead(swept))[:MOST_CLASSIFIERS]


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


def at_threshold(results: xr.Dataset, what: str = "a probability of ") -> str:
    """Say from which probability on classifiers name the positive class; nothing if it only has to be the greater.

    The attribute ``threshold_from`` says where it comes from.

    Examples
    --------
    >>> at_threshold(xr.Dataset(attrs={"threshold": 0.25, "threshold_from": "chosen on tune.csv"}))
    ' from a probability of 0.25 on (chosen on tune.csv)'
    """
    threshold = results.attrs.get("threshold", results.attrs.get("cut_off"))
    if threshold is None:
        return ""
    own = json.loads(threshold) if isinstance(threshold, str) else {"": threshold}
    names = ["", *results["classifier"].values.tolist()] if "classifier" in results.coords else [""]
    shown = [f"{at:.3g}{f' ({name})' if name else ''}" for name, at in own.items() if name in names]
    chosen = f" ({results.attrs['threshold_from']})" if "threshold_from" in results.attrs else ""
    return f" from {what}{', '.join(shown)} on{chosen}"


def two_by_two(results: xr.Dataset, name: str) -> pd.DataFrame:
    """Tabulate what a classifier names (rows) by what is true (columns)."""
    numbers, noise = _numbers(results, name)
    n_cases = results["confusion"].attrs["n_cases"]
    expected = partial(_expected, width_of(results), n_cases=n_cases)
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
    expected = partial(_expected, width_of(results), n_cases=results["confusion"].attrs["n_cases"])
    table = summary(results.sel(classifier=[name])).set_index(["metric", "class"])
    classes = results["true_class"].values
    order = np.argsort(-numbers.mean(axis=-1), kind="stable")[:MOST_CLASSES]
    shown = {"Class": classes[order], "Expected cases": [expected(numbers[at], noise[at]) for at in order]}
    for metric in _BY_CLASS:
        shown[capitalised(metric_name(metric))] = intervals(table.loc[metric].loc[classes[order]], TOTAL)
    which = f", the {MOST_CLASSES} most frequent of {len(classes)} classes" if len(classes) > MOST_CLASSES else ""
    return {
        f"{name}: by class, against {truth_in_words(results.attrs)}{which} [{new_cases(results)}]": pd.DataFrame(shown)
    }


def _numbers(
    results: xr.Dataset, name: str
) -> tuple[Float[np.ndarray, "true named draw"], Float[np.ndarray, "true named replicate"]]:
    """Numbers of cases in every draw, and in every replicate if there are any."""
    own, n_cases = results.sel(classifier=name), results["confusion"].attrs["n_cases"]
    return own["confusion"].values * n_cases, own.get("confusion_total", own["confusion"]).values * n_cases


def _expected(
    ci_prob: float, draws: Float[np.ndarray, " draw"], noise: Float[np.ndarray, " replicate"], n_cases: float = np.inf
) -> str:
    """Write a number of cases with its interval, which a constant has not, and which ends at the number of all.

    Examples
    --------
    >>> _expected(0.94, np.array([3.0, 3.0]), np.array([2.0, 6.0]), 4).split()
    ['3.0', '[2.1,', '3.9]']
    >>> _expected(0.94, np.array([4.0]), np.array([4.0, 4.2]), 4)
    '4.0'
    """
    lower, upper = interval(noise.clip(0, n_cases), ci_prob) if len(noise) > 1 else (np.nan, np.nan)
    if abs(upper - lower) < _ROUNDING:
        lower = upper = np.nan
    return value_and_interval(draws.mean(), lower, upper, digits=1)
