"""Classifiers against what experts would say, on one page and without a model: the metrics that are asked for."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from plausibly import agreement
from plausibly.aggregation.sweeps.runs import group_table, metric_table
from plausibly.app.report.label_metrics import (
    HALVES,
    MOST_CLASSIFIERS,
    at_threshold,
    best_first,
    better,
    confusions,
    first_metrics,
    metric_tables,
    new_cases,
    of_column,
)
from plausibly.app.report.page import data_facts
from plausibly.app.report.tables import (
    GROUPS,
    METRICS_TABLE,
    all_sizes,
    curve_tables,
    value_and_interval,
    with_class,
    with_experts,
)
from plausibly.app.screen import About, Part, Piece, over_groups, with_interval
from plausibly.base.errors import PlausiblyError
from plausibly.base.names import figures, listed, many
from plausibly.data.annotations import Annotations
from plausibly.data.labels.gold import Gold
from plausibly.evaluation import by_group, summary
from plausibly.evaluation.summaries import FEW, FEW_OF_A_CLASS, SUFFIX, few_cases
from plausibly.evaluation.truth import truth_in_words, truth_of_labels
from plausibly.evaluation.verdicts import SURE, at_other_cut_offs, for_whom
from plausibly.metrics import LABEL_METRICS, SumMetric
from plausibly.metrics.words import metric_name

_SEEN = "These numbers hold for classifiers that have not seen these labels; if one has, its numbers are too good."
_IN_WORDS = 3  # metrics of the headline
_CHANCE = 0.5  # AUROC of scores that say nothing; probability that either is better
_BESIDE = "accuracy", "sensitivity", "specificity"  # metrics of annotators' decisions
_REPLICATES = 200  # of weights, where not everybody annotated every case
_SOURCES = (
    "Bayesian bootstrap over cases, or clusters of them: Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9.",
    "Experts\u2019 annotations as draws from plausibilities: Stutz et al. (2025), Evaluating medical AI systems in "
    "dermatology under uncertain ground truth, arXiv 2307.02191.",
)


class Beside(NamedTuple):
    """Annotators against gold labels: a row each, and what they come to."""

    table: pd.DataFrame
    sentence: str


def readers_beside(annotations: Annotations, gold: Gold, positive: str | None, ci_prob: float) -> Beside | None:
    """Measure annotators against gold labels; None if they have no names, are fewer than two, or rank classes."""
    try:
        names = _BESIDE if positive is not None else _BESIDE[:1]
        asked: dict[str, Any] = {"positive": positive, "ci_prob": ci_prob, "replicates": _REPLICATES}
        found = {name: agreement.reader_study(annotations, gold=gold, metric=name, **asked) for name in names}
    except PlausiblyError:
        return None
    table = next(iter(found.values())).by_reader.drop(columns=["kind", "auroc"], errors="ignore")
    told = []
    for name, study in found.items():
        mean = study.means_of_readers.loc[0, ["effect", "lower", "upper"]]
        told.append(f"{metric_name(name)} {with_interval(*mean, digits=2, form=' ({} to {})')}")
    return Beside(
        table.rename(columns={"who": "annotator"}),
        f"For comparison, {many(len(table), 'annotator')} against the same gold labels, on average: {', '.join(told)}. "
        "To compare a classifier with them, for other readers and cases, run plausibly readers.",
    )


def headline_of_labels(results: xr.Dataset) -> str:
    """State the first metrics of the best classifier, and how probably it is better than the next."""
    best, metrics = best_first(results), first_metrics(results)
    if not metrics:
        return f"{listed(best)} against {truth_in_words(results.attrs)}."
    table = summary(results).set_index(["metric", "classifier"])
    of = f" (positive class: {results.attrs['positive']})" if "positive" in results.attrs else ""
    said = f"Against {truth_in_words(results.attrs)}, {numbers_in_words(results, best[:1])}{of}."
    compared = [name for name in (metrics[0], HALVES.get(metrics[0])) if name in metrics]
    whom = "" if "gold" in results.attrs else f" {for_whom(results.attrs)}"
    for first, second in pairwise(best[:2]):
        shares = {name: share for name in compared if (share := better(results, name, first, second))}
        if shares:
            by = " and ".join(f"by {metric_name(name)} with probability {share}" for name, share in shares.items())
            by = by.replace(">", "more than ").replace("<", "less than ")
            sure = [float(re.sub("[^0-9.]", "", share.partition(" ")[0])) for share in shares.values()]
            said += f" {first} is better than {second}{whom} {by}"
            if max(sure) >= SURE and min(sure) <= 1 - SURE:
                said += ": which one is better depends on what either error costs."
            else:
                said += "." if max(sure) >= SURE and min(sure) >= _CHANCE else ": which one is better is open."
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
        known = [one for one in metrics if not np.isnan(rows.loc[one, "mean"])]
        of_each = [f"{metric_name(one)} {value_and_interval(*rows.loc[one][ends], digits=2)}" for one in known]
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
        f"For comparison, one expert judged by another has sensitivity {sensitivity:.2f} and specificity "
        f"{specificity:.2f}, which as a score of 0 or 1 gives AUROC {(sensitivity + specificity) / 2:.2f}."
    )


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


def about_few(results: xr.Dataset) -> str:
    """Say which groups are marked."""
    more = ""
    if "group_n_positive" in results.coords:
        more = f", or fewer than {FEW_OF_A_CLASS} that are {results.attrs['positive']} or that are not,"
    return f"Groups of fewer than {FEW} cases{more} are marked (few): their intervals can be too narrow."


def groups_of(results: xr.Dataset) -> Iterator[str]:
    """Say between which values the first metric of the first classifier lies over groups of cases."""
    if "group" not in results.coords:
        return
    metrics = [str(name) for name in results.data_vars if f"{name}{SUFFIX}" in results]
    metrics = [name for name in metrics if results[name].dims == ("classifier", "draw")]
    first = sorted(metrics, key=lambda name: name.startswith("top"))[:1]
    for column in dict.fromkeys(results["group_column"].values.tolist()):
        inside = results.isel(group=np.flatnonzero(results["group_column"].values == column))
        for metric in first:
            own = by_group(inside, metric).dropna(subset="mean")
            own = own[own["classifier"] == own["classifier"].iloc[0]] if len(own) else own
            few = f" {about_few(inside)}" if own["few"].any() else ""
            for told in over_groups(column, f"{metric_name(metric)} of {' '.join(own['classifier'][:1])}", own, "mean"):
                yield told + few


def labels_rest_on(results: xr.Dataset) -> str:
    """Say what numbers rest on, and whom intervals are for."""
    if results.attrs.get("readers") == "others":
        return f"{_SEEN} Intervals are for new cases and other experts, as far as these tell of them."
    return (
        f"{_SEEN} Intervals are for new cases with labels of the same annotators; others may differ. To compare a "
        "classifier with the average annotator, run plausibly judge or discrepancy."
    )


def operating_point(results: xr.Dataset) -> str:
    """Say from which score on classifiers name a class; empty if no metric depends on it."""
    names = [str(name) for name in results.data_vars]
    declared = [LABEL_METRICS.get(name) for name in names]
    if not any(isinstance(metric, SumMetric) and metric.takes == "choice" for metric in declared):
        return ""
    if told := at_threshold(results):
        return f"A classifier names {results.attrs['positive']}{told}."
    return "No threshold was given: a classifier names the class with the highest score."


def about_labels(
    results: xr.Dataset, panels: xr.Dataset | None, annotations: Annotations | None, readers: Beside | None
) -> About:
    """What a page says of results of :func:`plausibly.evaluate` besides their screen."""
    best = best_first(results)
    facts = {"classifiers": ", ".join(best)} if annotations is None else data_facts(annotations, best)
    if (clusters := results.attrs["clusters"]) != (None if annotations is None else annotations.n_cases):
        facts["clusters of cases"] = f"{clusters:,}, which are resampled whole"
    rounds = "" if annotations is None or annotations.rounds is None else f" {annotations.rounds.told}"
    return About(
        f"{listed(best)} against {truth_in_words(results.attrs)}",
        facts | {"seed": results.attrs["seed"]},
        sources=_SOURCES[: 1 if panels is None else 2],
        parts=partial(_parts, results, panels, annotations, readers),
        understood=model_of_panels(results, annotations) + rounds,
    )


def _parts(
    results: xr.Dataset, panels: xr.Dataset | None, annotations: Annotations | None, readers: Beside | None
) -> list[Part]:
    """All metrics, groups, decisions and curves, and agreement with experts."""
    from plausibly.app.report._figures import of_labels, of_panels

    best, truth = best_first(results), truth_in_words(results.attrs)
    first, new = best[:MOST_CLASSIFIERS], new_cases(results) + ("" if panels is None else ", with new annotations")
    shown = results.sel(classifier=first)
    metrics = [operating_point(results), *metric_tables(results, f"Against {truth} [{new}]")]
    beside = [] if readers is None else [readers.sentence, {"Annotators one by one": readers.table}]
    groups: list[Any] = [about_few(results)] if "group" in results.coords else []
    for column in dict.fromkeys(results["group_column"].values.tolist()) if groups else ():
        ordered = [name for name in first_metrics(results) if name + SUFFIX in results]
        groups += of_column(results, column, ordered, f"By {column} [{new}]", drawn=bool(ordered)) if ordered else []
    confused = confusions(shown, first, new) if "confusion" in shown else []
    experts_agree: list[Any] = []
    if panels is not None:
        of_two = "threshold" in results.attrs and annotations is not None and annotations.n_classes == 2
        named = "what classifiers name" if of_two else "first choices"
        experts = with_experts(panels, best, "expert_agreement", "Another expert", "human_level")
        rows = [(name, *text) for name, text in experts.items()]
        table = pd.DataFrame(rows, columns=["classifier", "agreement with an expert"])
        experts_agree = [
            {f"Agreement with an expert, by {named} [{new}]": table},
            *of_panels(panels, None, first),
            all_sizes(panels, best),
        ]
    return [
        Part("All metrics", metrics, "metrics", open=True),
        Part("Annotators beside them", beside, "readers"),
        Part("By group", groups, "groups", open=True),
        Part("Decisions and curves", [*confused, *of_labels([shown], getattr(readers, "table", None))], "curves"),
        Part("Agreement with experts", experts_agree, "agreement"),
    ]


def names_of(results: xr.Dataset) -> dict[str, Any]:
    """Columns of every table: what is in the place of a model, which has no reliability."""
    attrs = results.attrs
    named = f"panel of {attrs['panel']}" if attrs.get("truth") == "panel" else attrs.get("truth", attrs.get("model"))
    return {"model": "gold" if "gold" in attrs else named, "reliability": np.nan}


def files_of_labels(results: xr.Dataset, unweighted: xr.Dataset | None, readers: Beside | None) -> list[Piece]:
    """Tables of metrics, groups, curves and annotators, as commands write them."""
    names = names_of(results)
    table = metric_table(results, names)
    if unweighted is not None:
        further = metric_table(unweighted, names | {"model": "gold, unweighted"})
        table = pd.concat([table, further], ignore_index=True)
    files = [Piece(METRICS_TABLE, with_class(table))]
    if "group" in results.coords:
        table, few = with_class(group_table(results, names)), pd.Series(few_cases(results), results["group"].values)
        if len(table):
            table["few"] = few.loc[table["column"] + ": " + table["group"]].to_numpy()
        files.append(Piece(GROUPS, table))
    files += [Piece(*one) for one in curve_tables(results, names)]
    return files + ([] if readers is None else [Piece("readers.csv", readers.table)])


def model_of_panels(results: xr.Dataset, annotations: Annotations | None = None) -> str:
    """Say what panels are drawn under, or that no model is needed."""
    attrs = results.attrs
    if "truth" not in attrs:
        return f"The model is {attrs['model']}."
    if "strictness" not in attrs:
        return "No model is needed."
    whom = f"These {attrs['annotators']}" if "annotators" in attrs else "The"
    differ = f"{whom} annotators tell how far others differ: by a standard deviation of {attrs['strictness']:.2f} in "
    differ += f"how readily they name a class, and of {attrs['skill']:.2f} in how sure they are, on log odds."
    model = f"Panels are drawn under a model, {attrs['model']}."
    if attrs["readers"] == "others":
        return f"{model} {differ}"
    if annotations is None or annotations.fair is None:
        return model
    size = attrs["panel"]
    few = int((annotations.fair.per_case < size).sum())
    have = "has" if few == 1 else "have"
    return (
        f"{few:,} of {annotations.n_cases:,} cases {have} fewer than {size} labels: the further ones are drawn under a "
        f"model, {attrs['model']}."
    )
