"""Classifiers against what experts would say, on one page and without a model: the metrics that are asked for."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import plausibly
from plausibly.aggregation.sweeps.runs import group_table
from plausibly.app import plots
from plausibly.app.report.beside import Beside
from plausibly.app.report.label_metrics import (
    MOST_CLASSIFIERS,
    NEW_CASES,
    OF_TWO,
    at_threshold,
    confusions,
    plain_metrics,
)
from plausibly.app.report.panels import agreement_in_words
from plausibly.app.report.tables import panel_table, value_and_interval, with_experts
from plausibly.base.names import figures, listed
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations
from plausibly.evaluation import summary
from plausibly.evaluation.comparison import probability_better
from plausibly.evaluation.summaries import FEW, FEW_OF_A_CLASS, SUFFIX, few_cases, few_in_words, goodness
from plausibly.evaluation.truth import truth_in_words, truth_of_labels
from plausibly.evaluation.verdicts import SURE, at_other_cut_offs, for_whom
from plausibly.metrics import LABEL_METRICS, SumMetric
from plausibly.metrics.words import capitalised, metric_name

RESTS_ON = (
    "This rests on these annotators, and on classifiers that have not seen these labels: if they have, their numbers "
    "are too good. Intervals are for other cases with labels of the same annotators; that others may differ is not "
    "in them. To compare a classifier with the average annotator, run plausibly judge or discrepancy."
)
_IN_WORDS = 3  # metrics of the headline
_CHANCE = 0.5  # AUROC of scores that say nothing
_SENTENCES = 6  # on values that are infinite or undefined
_NEW = f"{NEW_CASES}, with new annotations"
_HALVES = {"sensitivity": "specificity", "ppv": "npv"}  # metrics that are easily raised at the expense of another
_SOURCES = (
    "Bayesian bootstrap over cases, or clusters of them: Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9.",
    "Experts\u2019 annotations as draws from plausibilities: Stutz et al. (2025), Evaluating medical AI systems in "
    "dermatology under uncertain ground truth, arXiv 2307.02191.",
)


def headline_of_labels(results: xr.Dataset, *, short: bool = False) -> str:
    """State the first metrics of the best classifiers, and how probably one is better than the next.

    In short, that is of the best two, without how cases were selected.
    """
    best, metrics = best_first(results), first_metrics(results)
    if not metrics:
        return f"{listed(best)} against {truth_in_words(results.attrs)}."
    table = summary(results).set_index(["metric", "classifier"])
    of = f" (positive class: {results.attrs['positive']})" if "positive" in results.attrs else ""
    shown = best[: 1 if short else MOST_CLASSIFIERS]
    numbers = f"Against {truth_in_words(results.attrs)}, {numbers_in_words(results, shown)}{of}."
    first, last = (results.attrs.get(name, "") for name in ("selected", "unweighted"))
    said = numbers if short else " ".join(filter(None, [first, few_in_words(results), numbers, last]))
    compared = [name for name in (metrics[0], _HALVES.get(metrics[0])) if name in metrics]
    whom = "" if "gold" in results.attrs else f" {for_whom(results.attrs)}"
    for first, second in pairwise(best[: 2 if short else MOST_CLASSIFIERS]):
        shares = {name: share for name in compared if (share := better(results, name, first, second))}
        if shares:
            by = " and ".join(f"by {metric_name(name)} with probability {share}" for name, share in shares.items())
            by = by.replace(">", "more than ").replace("<", "less than ")
            sure = float(re.sub("[^0-9.]", "", shares.get(metrics[0], "1").partition(" ")[0])) >= SURE
            said += f" {first} is better than {second}{whom} {by}"
            said += "." if sure else ": which one is better is open."
        if "accuracy" in results:
            pair = sorted((first, second), key=lambda name: -table.loc[("accuracy", name), "mean"])
            said += f" {told}" if (told := at_other_cut_offs(results, *pair)) else ""
    if "positive" in results.attrs and "auroc" in table.index.get_level_values("metric"):
        upper = table.loc["auroc", "total_upper"].fillna(table.loc["auroc", "mean"])
        for name in [name for name in best if upper[name] < _CHANCE]:
            said += (
                f" {name} orders cases the wrong way round: if its scores are not those of "
                f"{results.attrs['positive']}, name their class with positive= (--positive)."
            )
    return said


def numbers_in_words(results: xr.Dataset, best: Sequence[str]) -> str:
    """State the first metrics of some classifiers; empty if none has a value."""
    metrics, told = first_metrics(results)[:_IN_WORDS], []
    table, ends = summary(results), ["mean", "total_lower", "total_upper"]
    for name in best[:MOST_CLASSIFIERS] if metrics else ():
        rows = table[table["classifier"] == name].set_index("metric")
        of_each = [f"{metric_name(one)} {value_and_interval(*rows.loc[one][ends], digits=2)}" for one in metrics]
        told.append(f"{name} has {listed(of_each)}")
    return "; ".join(told)


def expert_in_words(results: xr.Dataset, annotations: Annotations) -> str:
    """Say how good one expert is against another of the same case; empty unless there are two classes.

    A classifier is compared with what one expert would say, against which even the true class need not score well.
    """
    truth, attrs = results.attrs.get("truth"), results.attrs
    if truth != "annotator" or "gold" in attrs or "positive" not in attrs or annotations.n_classes != 2:
        return ""
    fair = annotations.fair
    if fair is None or not (fair.per_case > 1).any():  # which of them agree is not known, or nobody could
        return ""
    read = fair.select(fair.cases[fair.per_case > 1])
    n = read.per_case
    yes = n * truth_of_labels(read, "annotator")[:, read.classes.tolist().index(attrs["positive"])]
    both, neither, one = (yes * (yes - 1), (n - yes) * (n - yes - 1), yes * (n - yes))
    both, neither, one = (float((pairs / (n * (n - 1))).sum()) for pairs in (both, neither, one))
    if not (both + one and neither + one) or not np.allclose(yes, yes.round()):
        return ""
    sensitivity, specificity = both / (both + one), neither / (neither + one)
    return (
        f"For comparison, one expert against another has sensitivity {sensitivity:.2f} and specificity "
        f"{specificity:.2f}, and as a score of 0 or 1 AUROC {(sensitivity + specificity) / 2:.2f}."
    )


def first_metrics(results: xr.Dataset) -> list[str]:
    """Order the metrics that have a value: of two classes, those that clinicians read come first."""
    known = [name for name in plain_metrics(results) if results[name].notnull().any()]
    if "positive" not in results.attrs:
        return known
    return sorted(known, key=lambda name: OF_TWO.index(name) if name in OF_TWO else len(OF_TWO))


def best_first(results: xr.Dataset) -> list[str]:
    """Order the classifiers by their first metric, the best first."""
    names = [str(name) for name in results["classifier"].values]
    for metric in first_metrics(results)[:1]:
        values = goodness(results[metric].mean("draw").values, results[metric].attrs)
        names = [names[at] for at in np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")]
    return names


def better(results: xr.Dataset, metric: str, first: str, second: str) -> str:
    """Write the probability that a classifier is better than another on new cases; empty if it is unknown."""
    noise = "total" if f"{metric}_total" in results else None
    of_both = results[metric].sel(classifier=[first, second])
    share = np.nan if of_both.isnull().any() else probability_better(results, metric, first, second, noise=noise)
    if np.isnan(share):
        return ""
    few = " (few cases)" if few_in_words(results) else ""
    return f">0.99{few}" if share >= 0.995 else f"<0.01{few}" if share < 0.005 else f"{share:.2f}"


def metric_rows(results: xr.Dataset, write: Callable[[float, float, float], str]) -> pd.DataFrame:
    """Tabulate all metrics: a row each, and one per class; columns of classifiers and of which is better.

    `write` turns a value and its interval into text.
    """
    table, best = summary(results), best_first(results)
    if "class" not in table:
        table["class"] = ""
    rows = []
    for (metric, class_name), own in table.groupby(["metric", "class"], sort=False):
        values = own.set_index("classifier")
        row = {"metric": metric_name(str(metric)) + otherwise_against(results, str(metric)), "class": class_name}
        row |= {name: write(*values.loc[name, ["mean", "total_lower", "total_upper"]]) for name in best}
        of_class = results.sel(class_name=class_name, drop=True) if class_name else results
        for first, second in pairwise(best):
            row[f"P({first} better than {second})"] = better(of_class, str(metric), first, second)
        rows.append(row)
    found = pd.DataFrame(rows)
    return found if len(found) and found["class"].any() else found.drop(columns="class", errors="ignore")


def otherwise_against(results: xr.Dataset, metric: str) -> str:
    """Say what a metric is against, if not the truth that the table names."""
    said, truth = results[metric].attrs.get("against"), truth_in_words(results.attrs)
    return "" if said in (None, truth) else f" (against {said})"


def unusual(results: xr.Dataset) -> list[str]:
    """Say which metrics are infinite, or undefined, and in how many draws.

    Examples
    --------
    >>> ratio = xr.DataArray([[np.inf, np.inf, 2.0, np.nan]], dims=("classifier", "draw"), attrs={"better": "greater"})
    >>> point = ratio.isel(draw=0, drop=True)
    >>> results = xr.Dataset({"ratio": ratio, "ratio_point": point}, coords={"classifier": ["A"]})
    >>> unusual(results)
    ['ratio of A is infinite in 50 % of draws.', 'ratio of A is undefined in 25 % of draws, which are left out.']
    """
    table, told = summary(results), []
    for what, more in (("infinite", ""), ("undefined", ", which are left out")):
        for row in table.loc[table[what] > 0].to_dict("records"):
            of = f" for {row['class']}" if row.get("class") else ""
            often = f" in {figures(100 * row[what])} % of draws{more}" if row[what] < 1 else ""
            told.append(f"{metric_name(row['metric'])}{of} of {row['classifier']} is {what}{often}.")
    return told


def by_group_table(results: xr.Dataset, column: str, write: Callable[[float, float, float], str]) -> pd.DataFrame:
    """Tabulate all metrics by the groups of a column: a row per metric, class and group, a column per classifier.

    Groups of few cases, or few positive or negative ones, are marked.
    """
    inside = np.flatnonzero(results["group_column"].values == column)
    own = results.isel(group=inside)
    sizes = {str(group): _size(own, at) for at, group in enumerate(own["group_value"].values)}
    table, best, rows = group_table(own, {}), best_first(results), []
    if not len(table):
        return table
    if "class" not in table:
        table["class"] = ""
    for (metric, class_name, group), of in table.groupby(["metric", "class", "group"], sort=False):
        values = of.set_index("classifier")
        row = {"metric": metric_name(str(metric)), "class": class_name, "group": group, "cases": sizes[str(group)]}
        rows.append(row | {name: write(*values.loc[name, ["mean", "lower", "upper"]]) for name in best})
    found = pd.DataFrame(rows)
    return found if len(found) and found["class"].any() else found.drop(columns="class", errors="ignore")


def _size(results: xr.Dataset, at: int) -> str:
    n = f"{results['group_n_cases'].values[at]:,}"
    if "group_n_positive" in results.coords:
        n += f", {results['group_n_positive'].values[at]:,.0f} {results.attrs['positive']}"
    return f"{n} (few)" if few_cases(results)[at] else n


def about_few(results: xr.Dataset) -> str:
    """Say which groups are marked."""
    more = ""
    if "group_n_positive" in results.coords:
        more = f", or fewer than {FEW_OF_A_CLASS} that are {results.attrs['positive']} or that are not,"
    return f"Groups of fewer than {FEW} cases{more} are marked (few): their intervals can be too narrow."


def operating_point(results: xr.Dataset) -> str:
    """Say from which score on classifiers name a class; empty if no metric depends on it."""
    names = [str(name) for name in results.data_vars]
    declared = [LABEL_METRICS.get(name) for name in names]
    if not any(isinstance(metric, SumMetric) and metric.takes == "choice" for metric in declared):
        return ""
    if told := at_threshold(results):
        return f"A classifier names {results.attrs['positive']}{told}."
    return "No threshold was given: a classifier names the class with the highest score."


def labels_report(
    results: xr.Dataset,
    panels: xr.Dataset | None,
    annotations: Annotations,
    path: str | os.PathLike,
    sources: Mapping[str, str] | None = None,
    *,
    requirements: Sequence[str] = (),
    readers: Beside | None = None,
    progress: bool = True,
) -> None:
    """Write metrics against what experts would say as one self-contained HTML page.

    Parameters
    ----------
    results
        Result of :func:`plausibly.evaluate` with the truth ``"annotator"`` or ``"panel"``.
    panels
        Result of :func:`plausibly.evaluation.panels` for the same classifiers; None where the truth is gold labels.
    annotations
        Annotations that the results are of.
    path
        Path of the file; an existing file is replaced.
    sources
        Files the data come from.
    requirements
        Sentences on whether the classifiers meet what is required of them.
    readers
        Annotators against the same gold labels.
    progress
        Whether to show a bar while figures are drawn.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    from plausibly.app.report._environment import template, write_page
    from plausibly.app.report._extras import extras
    from plausibly.app.report._figures import drawn, of_labels, of_panels
    from plausibly.app.report._page import data_facts

    best = best_first(results)
    new = NEW_CASES if panels is None else _NEW
    shown, truth = results.sel(classifier=best[:MOST_CLASSIFIERS]), truth_in_words(results.attrs)
    with Progress(progress) as bars:
        sketches = list(of_labels([shown], None if readers is None else readers.table))
        sketches += [] if panels is None else of_panels(panels, None, best[:MOST_CLASSIFIERS])
        figures = list(drawn(sketches, bars))
    of_two = "threshold" in results.attrs and annotations.n_classes == 2
    named = "what classifiers name" if of_two else "first choices"
    agreement = None
    if panels is not None:
        experts = with_experts(panels, best, "expert_agreement", "Another expert", "human_level")
        rows = [(name, *text) for name, text in experts.items()]
        agreement = pd.DataFrame(rows, columns=["Classifier", "Agreement with an expert"])
    facts = data_facts(annotations, best)
    if (clusters := results.attrs["clusters"]) != annotations.n_cases:
        facts["clusters of cases"] = f"{clusters:,}"
    facts |= {f"file of {what}": str(file) for what, file in (sources or {}).items()}
    page = template("labels.html.j2").render(
        title=f"{listed(best)} against {truth}",
        headline=headline_of_labels(results),
        requirements=requirements,
        sentences=_sentences(results, panels, annotations, best),
        metrics=extras({f"Against {truth} [{new}]": _titled(metric_rows(results, value_and_interval))}),
        agreement=extras(None if panels is None else {f"Agreement with an expert, by {named} [{new}]": agreement}),
        readers=extras(None if readers is None else [readers.sentence, {"Annotators one by one": readers.table}]),
        groups=extras(_groups(results, new)),
        confusion=extras(confusions(shown, best[:MOST_CLASSIFIERS], new) if "confusion" in shown else None),
        figures=[figure for figure in figures if figure.section != "panels"],
        panels=[figure for figure in figures if figure.section == "panels"],
        all_panels=extras(None if panels is None else {"Panels of n experts": panel_table(panels, best)}),
        facts=facts | {"seed": results.attrs["seed"], "plausibly": plausibly.__version__},
        references=_SOURCES[:1] if panels is None else _SOURCES,
    )
    write_page(page, path)


def _sentences(
    results: xr.Dataset, panels: xr.Dataset | None, annotations: Annotations, best: Sequence[str]
) -> list[str]:
    panel, clusters = results.attrs.get("panel", 1), results.attrs["clusters"]
    rounds = annotations.rounds
    per_case = annotations.per_case[annotations.per_case >= (panel if rounds is None else 1)]
    n_cases, experts = len(per_case), " to ".join(f"{n}" for n in dict.fromkeys((per_case.min(), per_case.max())))
    over = f", in {clusters:,} clusters that are resampled whole" if clusters != n_cases else ""
    further = [operating_point(results), *map(capitalised, unusual(results)[:_SENTENCES])]
    if panels is None:
        told = f"The truth is the gold label of each of {n_cases:,} cases{over}. No model is needed."
        further = [results.attrs.get("selected"), results.attrs.get("unweighted"), *further]
        return list(filter(None, [told, *further]))
    how = f"the most frequent class of {panel} of its labels, over the cases that have {panel}"
    if results.attrs["truth"] == "annotator":
        how = "a case on which experts disagree counts for each class by the share of its labels"
    told = [
        None if rounds is None else rounds.told,
        f"The truth is {truth_in_words(results.attrs)}: {how}. No model is needed. Where experts disagree, no "
        "classifier can be right about every label.",
        expert_in_words(results, annotations),
        f"These are {n_cases:,} cases{over}, with {experts} experts each, {per_case.mean():.1f} on average.",
        *agreement_in_words(panels, best[:MOST_CLASSIFIERS]),
        *further,
        RESTS_ON,
    ]
    return list(filter(None, told))


def _groups(results: xr.Dataset, new: str) -> list[Any]:
    """Tables by group, and a figure of the first metric."""
    if "group" not in results.coords:
        return []
    found: list[Any] = [about_few(results)]
    for column in dict.fromkeys(results["group_column"].values.tolist()):
        for metric in [name for name in first_metrics(results) if name + SUFFIX in results][:1]:
            inside = results.isel(group=np.flatnonzero(results["group_column"].values == column))
            words = f"{capitalised(metric_name(metric))} by {column}; dotted: all cases"
            found.append({words: partial(plots.metric_by_group, inside, metric)})
        found.append({f"By {column} [{new}]": _titled(by_group_table(results, column, value_and_interval))})
    return found


def _titled(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns={name: name.capitalize() for name in ("metric", "class", "group", "cases")})
