"""Evaluations: panels of experts, agreement with one, and how far the next classifier is behind."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from plausibly.aggregation.registry import find_model
from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.agreement import odd_annotators
from plausibly.app.report._cases import OPEN, SETTLED
from plausibly.app.report._summary import (
    accuracy_bounds,
    alike,
    certainty_in_words,
    choice_of_cases,
    freed_shape,
    prior_notes,
    rests_on,
)
from plausibly.app.report.label_metrics import (
    OF_TWO,
    at_threshold,
    best_first,
    better,
    first_metrics,
    otherwise_against,
    plain_metrics,
    truths,
)
from plausibly.app.report.of_labels import (
    Beside,
    about_labels,
    expert_in_words,
    files_of_labels,
    groups_of,
    headline_of_labels,
    labels_rest_on,
    model_of_panels,
    operating_point,
    unusual,
)
from plausibly.app.report.panels import (
    Column,
    Number,
    about_panels,
    agreement_sentence,
    ahead_sentence,
    behind,
    constant_in_words,
    drawn_panels,
    in_percent,
    narrower_sentence,
    of_panels,
    percent,
    plain,
    points,
)
from plausibly.app.report.tables import (
    METRICS_TABLE,
    annotated_cases,
    best_under,
    checks_failed,
    headline_metrics,
    in_order,
    lead,
)
from plausibly.app.results import comparison
from plausibly.app.screen import Screen, Table
from plausibly.base.bootstrap import width_in_words, width_of
from plausibly.base.errors import ArgumentError, PlausiblyError
from plausibly.base.names import listed
from plausibly.data.annotations import Annotations
from plausibly.evaluation import summary
from plausibly.evaluation.cautions import always_the_same, cautions
from plausibly.evaluation.freed import too_far
from plausibly.evaluation.summaries import few_in_words, goodness
from plausibly.evaluation.truth import truth_in_words
from plausibly.evaluation.verdicts import at_other_cut_offs, difference
from plausibly.families.ratings.tables import severity_sentences
from plausibly.metrics.words import capitalised, metric_name
from plausibly.posterior.annotator_tables import group_sentences
from plausibly.posterior.says import assumption

EXPERT = "another expert"
_GROUP = " of the group "  # in what is said of raters
_MOST = 4  # columns of numbers
MOST_DRAWN = 12  #: classifiers of the figure, the best first
_READ = "Points with {:g} % intervals for new cases like these; dashed, with a band: another expert"
_CLASS = {"what most experts would name": "the class that most experts would name"}  # as a class that is chosen


def screen(result: Sweep | xr.Dataset, *given: Any, compare: str = "", **asked: Any) -> Screen:
    """A sweep as :func:`of_sweep` puts it, or results of :func:`plausibly.evaluate` as :func:`of_labels` does.

    With a metric to ``compare`` classifiers by, results say how these differ.
    """
    if isinstance(result, xr.Dataset) and "classifier" not in result.dims:
        raise ArgumentError(
            f"of datasets, results of plausibly.evaluate can be put into words, but one over {', '.join(result.dims)} "
            "was given: pass what evaluate returned."
        )
    if compare and isinstance(result, xr.Dataset):
        return comparison.screen(result, compare)
    return (of_labels if isinstance(result, xr.Dataset) else of_sweep)(result, *given, **asked)


def of_metrics(results: xr.Dataset, metrics: Sequence[str], names: Sequence[str]) -> list[Column]:
    """Columns of metrics that have one value for a classifier."""
    table = summary(results.sel(classifier=list(names)))
    columns = []
    for metric in metrics:
        rows = table[table["metric"] == metric].set_index("classifier")
        numbers = {name: Number(*rows.loc[name, ["mean", "total_lower", "total_upper"]]) for name in names}
        columns.append(
            Column(
                metric_name(metric) + otherwise_against(results, metric),
                numbers,
                share=False,
                better=results[metric].attrs.get("better", "greater"),
                ci_prob=width_of(results),
            )
        )
    return columns


def table_of(columns: Sequence[Column], order: Sequence[str], apart: Mapping[str, str], title: str) -> Table:
    """A row for each classifier, and one for a further expert."""
    rows = []
    for name in order:
        cells = [(percent if one.share else plain)(one.numbers[name]) for one in columns]
        rows.append([name, *cells, *([apart.get(name, "")] if apart else [])])
    experts = [one.expert or Number(np.nan) for one in columns]
    known = not all(np.isnan(one.mean) for one in experts)
    foot = [[EXPERT, *map(percent, experts), *([""] if apart else [])]] if known else []
    headings = [one.heading + (", %" if one.share else "") for one in columns]
    headings = ["classifier", *headings, *([f"lead by {columns[0].by}, points"] if apart else [])]
    return Table(headings, rows, title, foot=foot)


def of_sweep(swept: Sweep, *, named: bool = False, metrics: Sequence[str] = ()) -> Screen:
    """Say what a sweep has to say on one screen, under the run that represents all.

    Parameters
    ----------
    swept
        Results of :func:`plausibly.sweep`.
    named
        Whether the model was named, whose accuracy then comes first, as published.
    metrics
        Metrics that were asked for, which come first.
    """
    run, names = lead(swept), swept.classifiers
    if not names:
        return _of_cases(swept)
    seen, metric = checks_failed(swept, "ceiling"), headline_metrics(swept)[0]
    known = metric.endswith("accuracy")
    columns, drawn = [] if swept.panels is None else of_panels(swept.panels, names), run.of_panels
    drawn = drawn if drawn is not None and "accuracy" in drawn else None  # not where it is withheld
    if drawn is not None:
        columns = [drawn_panels(drawn, names), columns[-1]]
    heading, accuracy = "accuracy" if metric == "top1_accuracy" else metric_name(metric), []
    for one in of_metrics(run.results, [metric], names) if known else ():
        numbers = {name: Number(np.nan) if name in seen else number for name, number in one.numbers.items()}
        accuracy = [one._replace(heading=heading, numbers=numbers, share=True)]
    results = truths(swept)[0] if "withheld" in run.results.attrs and truths(swept) else run.results
    results = drawn if drawn is not None and not metrics and not named else results
    one_valued = [name for name in metrics if name in results and results[name].dims == ("classifier", "draw")]
    accuracy = [] if metric in one_valued else accuracy
    asked = of_metrics(results, one_valued[: _MOST - 1], names)
    # The most plausible class, against infinitely many experts, is on the page where panels are known.
    first = asked + (accuracy + columns if named or not columns else columns + (accuracy if drawn is None else []))
    if not asked and "positive" in results.attrs:  # how well it tells the two apart
        beside = OF_TWO[:3] if results is not drawn else ("sensitivity", "specificity")
        beside = [name for name in beside if name in plain_metrics(results)]
        one_valued = beside[: _MOST - len(first)]
        first = [*first, *of_metrics(results, one_valued, names)]
    first = first[:_MOST]
    order = best_under(swept, run)
    for one in first[:1]:
        means = np.array([one.numbers[name].mean for name in order])
        order = in_order(order, goodness(means, {"better": one.better}), seen)
    # The difference is by the number that decides: of panels, of one expert, or of the model that was named.
    lead_column = first[0] if first else None
    apart, shares = {}, {}
    for one, other in pairwise(order):
        if lead_column is not None and lead_column.replicates:
            apart[one], shares[one] = behind(lead_column, one, other)
        elif lead_column in accuracy and not {one, other} & seen:
            row = difference(run.results, metric, one, other)
            apart[one] = Number(*(float(row[column]) for column in ("mean", "total_lower", "total_upper")))
            shares[one] = float(row["total_probability_better"])
    shown = {name: points(number) for name, number in apart.items()} if len(first) < _MOST else {}
    table = table_of(first, order, shown, _title(swept, run, columns, first, results, one_valued, named))
    told = []
    best = order[0]
    if named and known and best not in seen:
        k, truth = int(metric[3:].split("_")[0]), truth_in_words(run.results.attrs)
        choice = "first choice is" if k == 1 else f"first {k} choices include"
        share = in_percent(accuracy[0].numbers[best], " of cases")
        told.append(f"By {model_in_words(run)}, {best}'s {choice} {_CLASS.get(truth, truth)} in {share}.")
    elif asked:
        told.append(_metric_sentence(asked[0], best, results))
    if columns and swept.panels is not None:
        at_a_threshold = swept.of_labels is not None and "threshold" in swept.of_labels.attrs
        agrees = "'s first choice agrees" if at_a_threshold else " agrees"
        of = " of annotated cases" if annotated_cases(swept.annotations) else " of cases"
        told.append(agreement_sentence(swept.panels, columns, best, agrees, of))
    if withheld := [name for name in order if name in seen]:
        told.append(f"Accuracy is not stated of {listed(withheld)}, which may have seen these labels.")
    if best in apart:
        told.append(ahead_sentence(apart[best], shares[best], *order[:2], first[0].by))
    elif asked and len(order) > 1:
        told.append(_by_metric(results, one_valued[0], *order[:2]))
    notes = list(notes_of(swept, order, one_valued, None if named or asked else drawn))
    if first and first[0].drawn and drawn is not None and best not in seen:
        notes.append(narrower_sentence(drawn, swept.annotations, first[0], best))
    return Screen(" ".join(filter(None, told)), table, [*filter(None, notes)], "metrics.csv", _figures(first, order))


def _figures(columns: Sequence[Column], names: Sequence[str]) -> dict[str, Any]:
    """The figure of a table: its numbers with their intervals."""
    return {_READ.format(100 * columns[0].ci_prob): partial(_draw, columns, names[:MOST_DRAWN])} if columns else {}


def _draw(columns: Sequence[Column], names: Sequence[str]) -> Any:
    from plausibly.app.plots._numbers import draw_numbers  # with Matplotlib

    return draw_numbers(columns, names)


def model_in_words(run: Run) -> str:
    """Name a model as people would.

    The first words of its file say what it is called; a user's own has the name that it was given.
    """
    base, *options = run.model.split(":")
    with suppress(PlausiblyError):
        said = (getattr(inspect.getmodule(find_model(base).program), "__doc__", "") or "").partition(":")[0]
        base = said.replace(" for partial rankings", "").replace("-", "–") or base
    prior = {"class_prior=predictions": "informed by predictions", "class_prior=learned": "with a prior learned here"}
    how = [prior.get(option, option) for option in options]
    how += [] if np.isnan(run.reliability) or run.reliability == 1 else [f"reliability {run.reliability:g}"]
    return ", ".join([base, *how])


def _metric_sentence(column: Column, name: str, results: xr.Dataset) -> str:
    of = f" (positive class: {results.attrs['positive']})" if "positive" in results.attrs else ""
    value = plain(column.numbers[name], " to ")
    return f"Against {truth_in_words(results.attrs)}, {name} has {column.heading} {value}{of}." if value else ""


def _by_metric(results: xr.Dataset, metric: str, first: str, second: str) -> str:
    share = better(results, metric, first, second)
    if not share:
        return ""
    words = share.replace(">", "above ").replace("<", "below ")
    return f"{first} is better than {second} by {metric_name(metric)} with probability {words}."


def _title(
    swept: Sweep,
    run: Run,
    columns: Sequence[Column],
    first: Sequence[Column],
    results: xr.Dataset,
    asked: Sequence[str],
    named: bool,
) -> str:
    told = about_panels(swept.panels, columns) if columns and swept.panels is not None else ""
    of_accuracy, which = any(one.heading == "accuracy" for one in first), "metrics" if asked else ""
    if not which and not of_accuracy:
        return capitalised(told)
    against = f"{which or 'accuracy'}: against {truth_in_words(results.attrs)}"
    against += f", by {model_in_words(run)}" if "truth" not in results.attrs and not named else ""
    against += _positive(results) if asked else ""
    return capitalised("; ".join(filter(None, [told, against])))


def _positive(results: xr.Dataset) -> str:
    """Say which class is positive, and from which probability on, if there are two."""
    short = {} if "threshold" in results.attrs else {"what": ""}
    at = at_threshold(results, **short) if operating_point(results) else ""
    return f"; positive: {results.attrs['positive']}{at}" if "positive" in results.attrs else ""


def notes_of(
    swept: Sweep, order: Sequence[str], metrics: Sequence[str] = (), drawn: xr.Dataset | None = None
) -> Iterator[str]:
    """Say what limits a result, the worst first; of `metrics`, which are undefined or infinite in some draws.

    Of panels that were `drawn`, if these come first.
    """
    run = lead(swept)
    yield from odd_annotators(swept.annotations, leaning="severities" not in run.shared)
    yield from accuracy_bounds(swept, order[0])
    known = [drawn, *truths(swept), run.results][drawn is None :]
    yield from filter(None, [always_the_same(known[0])])
    if swept.panels is not None and (told := constant_in_words(swept.panels)):
        yield told
    if len(order) > 1 and (told := at_other_cut_offs(known[0], *order[:2])):
        yield told
    yield from groups_of(run.results if drawn is None else drawn)  # which were asked for
    yield from choice_of_cases(swept)  # what numbers are of
    raters = []
    for name, sentences in (("severities", severity_sentences), ("annotators", group_sentences)):
        raters += reversed(sentences(run.shared[name]) if name in run.shared else [])  # who differs most, last
    yield from (told for told in raters if _GROUP in told)  # which was asked for, too
    yield from cautions(swept.annotations, run.results, swept.checks, drawn)
    yield from (told for told in raters if _GROUP not in told)
    for freed in [*freed_shape(swept, run).values()][: drawn is None]:
        yield from filter(None, [too_far(freed)])
        if "total_lower" in freed:
            ends = " to ".join(f"{100 * freed[f'total_{end}']:.1f}" for end in ("lower", "upper"))
            yield (
                f"The {width_in_words(run.results)} interval of {freed['classifier']}'s accuracy is {ends} % if "
                "experts may disagree in other ways than the model assumes."
            )
    shown = tuple(f"{metric_name(name)} of " for name in metrics)
    yield from [capitalised(told) for told in unusual(run.results) if told.startswith(shown)][:1]
    if told := rests_on(run):
        yield told
    yield from prior_notes(alike(swept.runs, run)[:1])
    if "assumes" in run.attrs:
        yield f"{run.label} assumes {assumption(run.attrs)}"


def _of_cases(swept: Sweep) -> Screen:
    """Say how certain cases are, where there are no classifiers."""
    rows = []
    for run in swept.runs:
        certainty = run.results["annotation_certainty_1"].values
        counted = [f"{int(share.sum()):,}" for share in (certainty >= SETTLED, certainty < OPEN)]
        rows.append([run.label, f"{certainty.mean():.3f}", *counted])
    table = Table(
        ["model", "mean certainty", "certain cases", "open cases"],
        rows,
        "Certainty: largest share of draws that agree on which class is the most plausible; certain from 0.95, open "
        "below 0.5",
    )
    run = lead(swept)
    notes = [*odd_annotators(swept.annotations), *prior_notes(alike(swept.runs, run)[:1])]
    return Screen(certainty_in_words(swept, run), table, notes, "certainty.csv")


def of_labels(
    results: xr.Dataset,
    panels: xr.Dataset | None = None,
    annotations: Annotations | None = None,
    metrics: Sequence[str] = (),
    *,
    readers: Beside | None = None,
    unweighted: xr.Dataset | None = None,
) -> Screen:
    """Say what results of :func:`plausibly.evaluate` have to say on one screen.

    Parameters
    ----------
    results
        Results, against labels or under a posterior.
    panels
        Result of :func:`plausibly.evaluation.panels`, if there is one.
    annotations
        Annotations that the results are of, if they are known.
    metrics
        Metrics that were asked for; by default those that are read first.
    readers
        Annotators against the same gold labels.
    unweighted
        The same results without weights, which the table of metrics has, too.
    """
    names = best_first(results)
    known = [name for name in metrics if name in plain_metrics(results)] or first_metrics(results)
    columns = of_metrics(results, known[:_MOST], names)
    told = [results.attrs.get("selected"), few_in_words(results), headline_of_labels(results)]
    if panels is not None:
        told.append(agreement_sentence(panels, of_panels(panels, names)[-1:], names[0]))
    notes = [] if annotations is None else odd_annotators(annotations)
    notes += [always_the_same(results), "" if panels is None else constant_in_words(panels)]
    notes += [model_of_panels(results, annotations)] * ("strictness" in results.attrs)
    notes += ["" if annotations is None else expert_in_words(results, annotations)]
    notes += [results.attrs.get("unweighted", ""), *groups_of(results), *map(capitalised, unusual(results)[:2])]
    notes += [labels_rest_on(results) if panels is not None else "", "" if readers is None else readers.sentence]
    title = f"Against {truth_in_words(results.attrs)}"
    if any(not np.isnan(number.lower) for one in columns for number in one.numbers.values()):
        others = " and other experts" if results.attrs.get("readers") == "others" else ""
        title += f", with {width_in_words(results)} intervals for new cases like these{others}"
    title += _positive(results)
    table = table_of(columns, names, {}, title) if columns else None
    said = " ".join(filter(None, told))
    about = about_labels(results, panels, annotations, readers)
    files, figures = files_of_labels(results, unweighted, readers), _figures(columns, names)
    return Screen(said, table, [*filter(None, notes)], METRICS_TABLE, figures, files, about)
