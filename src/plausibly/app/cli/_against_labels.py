"""``plausibly evaluate --truth annotator|panel``: classifiers against the labels themselves, without a model."""

import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from plausibly.aggregation import aggregate
from plausibly.aggregation.sweeps.label_results import label_metrics
from plausibly.app.cli._asked_metrics import (
    arguments_of,
    graded,
    how_chosen,
    look_for_problems,
    parse_metrics,
)
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._groups import groups_and_clusters
from plausibly.app.cli._options import EvaluatedData, MetricOptions, Output, SweepOptions
from plausibly.app.cli._output import WITHOUT_QUICK, check_answers, note, say
from plausibly.app.cli._requirements import (
    REQUIREMENTS,
    check_requirements,
    parse_requirements,
    requirement_rows,
    requirement_sentences,
)
from plausibly.app.report.label_metrics import best_first
from plausibly.app.report.of_labels import names_of, numbers_in_words, readers_beside
from plausibly.app.results.evaluation import of_labels
from plausibly.app.screen import Piece
from plausibly.base.errors import ArgumentError, PlausiblyWarning, PredictionError
from plausibly.base.names import some
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.io.files import naming
from plausibly.data.groups import read_groups
from plausibly.data.labels.gold import Gold, as_annotations, of_two_classes, read_gold
from plausibly.data.labels.verified import Selection, selected
from plausibly.data.predictions import line_up, named_predictions
from plausibly.data.rounds import tell
from plausibly.evaluation import evaluate, panels
from plausibly.evaluation.cautions import without_answer
from plausibly.evaluation.experts import enough_labels
from plausibly.evaluation.metrics import usual_metrics
from plausibly.evaluation.thresholds import decided
from plausibly.evaluation.truth import truth_in_words

REPORT = "report.html"


def against_labels(
    data: EvaluatedData,
    settings: SweepOptions,
    asked: MetricOptions,
    output: Output,
    *,
    suffix: str,
    fresh: bool = False,
    quick: bool = False,
) -> None:
    """Evaluate classifiers against what experts would say; write tables and a report, and print the numbers."""
    if not data.files and asked.gold is None:
        raise ArgumentError(f"--truth {asked.truth} is about classifiers, but there are no --predictions: give some.")
    read = graded(data, asked, threshold=settings.threshold, progress=not output.quiet)
    arguments = arguments_of(data, settings, asked, read, progress=not output.quiet)
    at, extra, logits = (arguments[name] for name in ("threshold", "extra", "logits"))
    if isinstance(read, Scores):
        read, at = read.split(settings.threshold), None
    given: Mapping[str, Any] = data.files
    selection, weights = None, None
    if asked.gold is not None:
        gold = read_gold(asked.gold, read, alike=asked.gold_positive is None)
        say(f"{gold}.")
        given, extra = data.files or _annotators(read, gold), "ignore"
        selection = _selection(gold, read, data.files, logits, asked.positive)
        annotated = read
        with naming(asked.gold):
            gold = gold if asked.gold_positive is None else of_two_classes(gold, asked.gold_positive, read.classes)
            read = as_annotations(gold, read)
        weights = None if selection is None or selection.weights is None else selection
    tell(read.rounds)
    lined_up = {
        name: np.asarray(line_up(scores, read, extra, asked.positive, ordered=asked.ordered))
        for name, scores in named_predictions(given, logits).items()
    }
    if silent := {name: share for name, one in lined_up.items() if (share := (~one.any(axis=1)).mean())}:
        note(without_answer(silent))
    two, scores = read.n_classes == 2 or asked.positive is not None, list(lined_up.values())
    usual = ["accuracy", *usual_metrics(2 if two else read.n_classes, scores, ordered=asked.ordered)]
    of_classes = ["confusion"] if asked.ordered and not two else label_metrics(two, scores)
    usual += [name for name in of_classes if name not in usual]
    metrics = parse_metrics(asked, read.n_classes, drawn=False, usual=usual)
    kept = read.cases if asked.gold is not None or data.fewer_cases else None  # of others, nothing is known to be true
    by, clusters = groups_and_clusters(data.by, data.clusters, data.source, kept)
    groups = None if by is None else read_groups(by, read.cases, intersections=data.intersections)
    options: dict[str, Any] = {"clusters": clusters}
    options |= {name: arguments[name] for name in ("break_ties", "replicates", "seed") if name in arguments}
    make_folder(output.out, [data.annotations], fresh=fresh)
    source: Any = read
    if asked.truth == "panel" and not enough_labels(read, asked.n_experts, asked.readers, ordered=asked.ordered):
        source = aggregate(read, predictions=lined_up, seed=settings.seed, progress=not output.quiet)
    evaluated = partial(
        evaluate,
        source,
        lined_up,
        metrics=metrics,
        ordered=asked.ordered,
        risks=data.risks,
        truth=asked.truth,
        panel=asked.n_experts,
        readers=asked.readers,
        positive=asked.positive,
        threshold=at,
        prevalence=asked.prevalence,
        by=groups,
        ci_prob=settings.ci_prob,
        **options,
    )
    results = evaluated(weights=weights)
    if "withheld" in results.attrs:
        raise ArgumentError(f"panels of {asked.n_experts} are not known: {results.attrs['withheld']}")
    unweighted = None if weights is None else evaluated()
    results.attrs |= {"threshold_from": chosen} if (chosen := how_chosen(asked)) else {}
    if asked.gold is not None:
        expert = truth_in_words(results.attrs)
        results.attrs["gold"] = str(asked.gold)
        if selection is not None:
            results.attrs["selected"] = selection.told
        if unweighted is not None and (alone := numbers_in_words(unweighted, best_first(results))):
            results.attrs["unweighted"] = f"Unweighted, of the cases with a gold label alone, {alone}."
        for metric in results.data_vars.values():
            if metric.attrs.get("against") == expert:
                metric.attrs["against"] = truth_in_words(results.attrs)
    required = parse_requirements(asked.require)
    single = [str(name) for name, values in results.items() if set(values.dims) == {"classifier", "draw"}]
    check_requirements(required, list(lined_up), single, settings.replicates)
    of_panels = None
    if asked.gold is None:
        of_panels = panels(read, decided(lined_up, at, read.classes, asked.positive), **options)
        of_panels.attrs["ci_prob"] = settings.ci_prob

    beside = asked.gold is not None and data.files and weights is None
    readers = readers_beside(annotated, gold, results.attrs.get("positive"), settings.ci_prob) if beside else None
    look_for_problems(read, lined_up, quiet=output.quiet)
    screen = of_labels(results, of_panels, read, asked.names, readers=readers, unweighted=unweighted)
    judged = requirement_rows(results, required, names_of(results), read)
    if required:
        screen = screen._replace(files=[*screen.files, Piece(REQUIREMENTS, judged)])
    met = list(requirement_sentences(judged))
    sources = data.sources({"thresholds": asked.threshold_from, "gold labels": asked.gold})
    further = {"without": WITHOUT_QUICK * quick, "quietly": f" Results: {output.out}."}
    output.publish(screen, REPORT, sources, met, 3 * len(met), suffix, **further)
    check_answers(met, output.out and (output.out / REQUIREMENTS).with_suffix(suffix))


def _selection(
    gold: Gold, annotations: Annotations, files: Mapping[str, Any], logits: Any, positive: str | None
) -> Selection | None:
    """Whether gold labels are of a random part, as annotations and predictions of all cases tell."""
    scores = {}
    for name, given in named_predictions(files, logits).items():
        with suppress(PredictionError), warnings.catch_warnings():  # of cases with a gold label alone; said later
            warnings.simplefilter("ignore", PlausiblyWarning)
            scores[name] = np.asarray(line_up(given, annotations, "ignore", positive))
    return selected(gold, annotations, scores)


def _annotators(annotations: Annotations, gold: Gold) -> dict[str, pd.DataFrame]:
    """Take annotators as classifiers: those who name one class first in every case that has a gold label."""
    table = annotations.select(gold.case).to_table()
    first = table[table["rank"] == 1] if not annotations.anonymous else table.iloc[:0]
    n_cases, found, left_out = len(gold.case), {}, []
    for who, rows in first.groupby("annotator", sort=False):
        if len(rows) == n_cases and len(set(rows["case"])) == n_cases:
            found[str(who)] = pd.DataFrame({"case": rows["case"], "prediction": rows["class"]})
        else:
            left_out.append(str(who))
    if not found:
        raise ArgumentError(
            "--gold compares classifiers, or annotators who name a class in every case with a gold label, but there "
            "are neither: give --predictions, or gold labels of fewer cases."
        )
    if left_out:
        say(f"Left out {some(left_out)}: they do not name a single class in every case with a gold label.", stderr=True)
    return found
