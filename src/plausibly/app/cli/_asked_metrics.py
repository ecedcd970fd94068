"""Metrics of labels in ``plausibly evaluate``: those of the user's own, and thresholds."""

import runpy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plausibly.app.cli._options import EvaluatedData, MetricOptions, SweepOptions, parse_numbers, predicted_by_all
from plausibly.app.cli._output import note
from plausibly.app.cli._requirements import parse_requirements
from plausibly.base.errors import AnnotationError, ArgumentError, FileError, Serious
from plausibly.base.names import some
from plausibly.data.annotations import Annotations, Scores, read_classes
from plausibly.data.annotations.io.columns import is_number
from plausibly.data.audit import audit, serious
from plausibly.evaluation import choose_threshold
from plausibly.evaluation.metrics import USUAL, public_name
from plausibly.evaluation.truth import truth_in_words
from plausibly.metrics import Metric, OrderMetric, SumMetric

_OF_ORDER = {"unrelated predictions", "exchanged classes"}  # checks that find rows or columns in another order
RULES = "specificity", "sensitivity", "net_benefit"  #: by which a threshold is chosen


def graded(
    data: EvaluatedData,
    asked: MetricOptions,
    *,
    progress: bool,
    threshold: float | None = None,
    like: Annotations | Scores | None = None,
) -> Annotations | Scores:
    """Read annotations; with --ordered, scores as grades, of the scale in a file of classes if there is one.

    Further annotations have the scale of the first, which they are ``like``. Cases without a prediction are left out if
    that was asked for.
    """
    try:
        read = data.read(progress=progress)
    except AnnotationError:  # a scale of scores is no pair of classes
        read = data.read(progress=progress, classes=False) if asked.ordered else None
        if not isinstance(read, Scores):
            raise
    if asked.ordered and not isinstance(read, Scores):
        if data.classes is None and not all(map(is_number, read.classes)):
            raise ArgumentError(
                f"--ordered needs the order of the classes, such as {some(read.classes)}, but no --classes were given: "
                "write a file with a class per line, the lowest grade first."
            )
    elif asked.ordered and isinstance(read, Scores):
        if threshold is not None:
            raise ArgumentError(f"--ordered takes scores as grades, but --threshold {threshold:g} was given: keep one.")
        scale = None if like is None or isinstance(like, Scores) else like.classes
        read = read.grades(scale if data.classes is None else read_classes(data.classes))
    return read if data.unpredicted == "refuse" or not data.files else predicted_by_all(read, data.files)


def parse_metrics(options: MetricOptions, n_classes: int, *, drawn: bool, usual: Sequence[str] = (USUAL,)) -> Any:
    """Read the metrics that are named, or else the usual ones, and besides those of files and of requirements.

    None for the usual ones.
    """
    own = own_metrics(options.metric, n_classes, drawn=drawn)
    required = [one.metric for one in parse_requirements(options.require) if one.metric not in own]
    if options.metrics is None and not own and not required and usual == (USUAL,):
        return None
    names = usual if options.metrics is None else [name.strip() for name in options.metrics.split(",")]
    return [*dict.fromkeys([*names, *required]), *([own] if own else [])]


def own_metrics(files: Sequence[Path] | None, n_classes: int, *, drawn: bool) -> dict[str, Any]:
    """Run Python files, and return the ``metric`` of each by the name of its file.

    Without draws, the truth of a function of one case are the shares of labels, or of panels, that name each class.
    """
    found: dict[str, Any] = {}
    for path in files or ():
        if path.stem in found:
            raise ArgumentError(f"two files of --metric have the name {path.stem!r}: rename one.")
        try:
            metric = runpy.run_path(str(path), run_name=f"plausibly_metric_{path.stem}").get("metric")
        except Exception as error:
            raise FileError(
                f"{path} cannot be run as a Python file with a metric ({type(error).__name__}: {error}): fix the file "
                "or the path, and try again."
            ) from error
        if not (callable(metric) or isinstance(metric, Metric | SumMetric | OrderMetric)):
            raise FileError(
                f"{path} must end with its metric, but has {'no' if metric is None else 'another'} 'metric': add "
                "metric = pb.metrics.SumMetric(…), or a function of a case's scores and truth."
            )
        if public_name(metric) is not None:
            found[path.stem] = metric
            continue
        of_labels = metric if isinstance(metric, SumMetric | OrderMetric) else _of_cases(metric)
        uniform = np.full((2, n_classes), 1 / n_classes)
        try:
            of_labels.on_arrays(uniform, np.eye(n_classes)[[0, -1]])
        except Exception as error:
            told = str(error).splitlines()[:1] or [type(error).__name__]
            raise FileError(f"the metric of {path} cannot be computed ({told[0]}): fix it.") from error
        found[path.stem] = metric if drawn else of_labels
    return found


def _of_cases(metric: Any) -> SumMetric:
    function, better = (metric.function, metric.better) if isinstance(metric, Metric) else (metric, "greater")
    return SumMetric(function, better=better, takes="scores")


def chosen_thresholds(
    data: EvaluatedData,
    options: MetricOptions,
    read: Annotations | Scores,
    logits: bool | list[str] = False,
    *,
    progress: bool,
) -> dict[str, float]:
    """Choose a threshold for each classifier on the cases of --threshold-from, which are not among those evaluated."""
    assert options.threshold_from is not None
    other = graded(replace(data, annotations=options.threshold_from), options, progress=progress, like=read)
    rule, share = _rule(options)
    if isinstance(other, Scores) or isinstance(read, Scores):
        raise ArgumentError("--threshold-from chooses on labels, but annotations are scores: give --threshold.")
    both = np.intersect1d(other.cases, read.cases)
    if len(both):
        raise ArgumentError(
            f"--threshold-from must have other cases than those that are evaluated, but both have case {some(both)}: "
            "leave them out of one."
        )
    options.threshold_panel = min(options.n_experts, int(other.per_case.max()))
    about: dict[str, Any] = {rule: share, **_truth_of_threshold(options), "positive": options.positive}
    return choose_threshold(other, data.files, **about, extra="ignore", logits=logits)


def arguments_of(
    data: EvaluatedData, settings: SweepOptions, asked: MetricOptions, read: Annotations | Scores, *, progress: bool
) -> dict[str, Any]:
    """Arguments of an evaluation, with thresholds that are chosen on other cases."""
    arguments = settings.arguments() | data.left_out(settings.extra)
    if asked.threshold_from is not None:
        if settings.threshold is not None:
            raise ArgumentError("--threshold and --threshold-from were given, but each names a threshold: keep one.")
        chosen = chosen_thresholds(data, asked, read, arguments["logits"], progress=progress)
        arguments |= {"threshold": chosen, "extra": "ignore"}
    return arguments


def look_for_problems(read: Annotations, predictions: Mapping[str, Any], *, quiet: bool) -> pd.DataFrame:
    """Audit annotations and predictions, and say what is serious; if quiet, only if classes seem exchanged."""
    audited = audit(read, predictions)
    if (grave := serious(audited, told=False)) and (not quiet or "exchanged classes" in grave):
        found = audited.set_index("check")["examples"]
        said = ", ".join(f"{name} ({found[name]})" for name in grave)
        order = "rows or columns may be in another order; " if {*grave} & _OF_ORDER else ""
        note(Serious(f"the data have {said}: {order}run plausibly audit."))
    return audited


def how_chosen(options: MetricOptions) -> str:
    """Say where thresholds were chosen, for what, and against what; empty if they were not."""
    if options.threshold_from is None:
        return ""
    rule, share = _rule(options)
    wanted = "the greatest net benefit at a risk" if rule == "net_benefit" else f"a {rule}"
    truth = truth_in_words(_truth_of_threshold(options))
    return f"chosen on {options.threshold_from} for {wanted} of {share:g} against {truth}"


def _rule(options: MetricOptions) -> tuple[str, float]:
    rule, _, value = options.rule.partition("=")
    if rule not in RULES:
        raise ArgumentError(
            f"--threshold-at must be {', '.join(RULES)} with a value, but {options.rule!r} was given: write "
            "for example specificity=0.9."
        )
    return rule, parse_numbers(value, f"the value of --threshold-at {rule}", "0.9")[0]


def _truth_of_threshold(options: MetricOptions) -> dict[str, Any]:
    """Truth that thresholds are chosen against, which has no model."""
    truth = "annotator" if options.truth == "most-plausible" else options.truth
    return {"truth": truth, "panel": options.threshold_panel}
