"""Metrics by their names in results, and which names are left for those of the user's own."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError
from plausibly.metrics import (
    LABEL_METRICS,
    METRICS,
    Metric,
    OrderMetric,
    SumMetric,
    net_benefit,
    npv_at_prevalence,
    ppv_at_prevalence,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
)
from plausibly.metrics._declared import improper
from plausibly.metrics._inputs import answered, check_share
from plausibly.metrics._user import Function, as_metric, check_function

COORDINATES = ("classifier", "draw", "chain", "case", "risk_level", "replicate", "class_name", "group")
_LIST = re.compile(rf"top(\d+)_({'|'.join(METRICS)})")
_AT_POINT = {
    "sensitivity_at_specificity": sensitivity_at_specificity,
    "specificity_at_sensitivity": specificity_at_sensitivity,
    "net_benefit": net_benefit,
    "ppv_at_prevalence": ppv_at_prevalence,
    "npv_at_prevalence": npv_at_prevalence,
}
_NAMED_POINT = re.compile(rf"({'|'.join(_AT_POINT)})_(0?\.\d+)")
_PARTS = [f"{score}_{part}" for score in ("brier", "log_score") for part in ("expected", "unavoidable", "excess")]
_CALIBRATION = "calibration_error", "calibration_intercept", "calibration_slope", "calibration_temperature"
GROUPS: dict[str, list[str]] = {
    "binary": [
        *("auroc", "average_precision", "sensitivity", "specificity", "ppv", "npv", "f1", "balanced_accuracy"),
        *("mcc", "kappa"),
    ],
    "classes": [
        *("accuracy", "balanced_accuracy", "mcc", "kappa", "sensitivity", "ppv", "f1", "f1_macro", "f1_weighted"),
        "auroc_macro",
    ],
    "probability": ["brier", "log_score", *_CALIBRATION],
    "distribution": [*_PARTS, "dist_ce", "entropy_ce"],
    "curves": [
        *("roc_curve", "precision_recall_curve", "calibration_curve", "mean_predicted", "decision_curve"),
        *("net_benefit_of_all", "confusion"),
    ],
    "calibration_curve": ["calibration_curve", "mean_predicted"],
    "decision_curve": ["decision_curve", "net_benefit_of_all"],
    "ordered": ["mean_absolute_error", "within_one", "quadratic_kappa", "ranked_probability_score"],
}  #: names for several metrics
SIZES = (1, 2, 3)  #: of lists, and of the sets whose annotation certainty is reported, unless others are asked for
LISTS = "lists"  #: name for all metrics of ranked lists, of the lengths ``k``
ANSWERS = "answer_rate", "selective_accuracy"  #: metrics of classifiers that do not answer in every case
_BY_CLASS = 30  # classes up to which metrics of every class are computed without being named


class Asked(NamedTuple):
    """Metrics that are wanted, by name.

    Attributes
    ----------
    lists
        Metrics of ranked lists, and their lengths.
    own
        Metrics of one case in one draw.
    sums, order
        Metrics of labels.
    """

    lists: dict[str, tuple[str, int]]
    own: dict[str, Metric]
    sums: dict[str, SumMetric]
    order: dict[str, OrderMetric]


def metric_names(ks: Sequence[int], own: Iterable[str] = ()) -> dict[str, tuple[str, int]]:
    """List metrics and lengths by their names in results; user-defined metrics come last, with length 0.

    Examples
    --------
    >>> metric_names([3], ["mine"])["top3_overlap"], metric_names([3], ["mine"])["mine"]
    (('overlap', 3), ('mine', 0))
    """
    return {f"top{k}_{name}": (name, k) for k in ks for name in METRICS} | {name: (name, 0) for name in own}


def usual_metrics(n_classes: int, predictions: Sequence[Float[np.ndarray, "case class"]]) -> list[str]:
    """Name the metrics of labels that suit the data.

    Of two classes, those that clinicians read. Order needs scores, not hard labels (ones and zeros), and the Brier
    score needs probabilities, of every classifier. Of more classes, metrics of choices, by class if these are few. If
    a classifier gives no answer in some case, how often it does, and metrics of choices.

    Examples
    --------
    >>> usual_metrics(2, [np.array([[0.2, 0.8], [0.6, 0.4]])])
    ['sensitivity', 'specificity', 'ppv', 'npv', 'brier', 'auroc']
    >>> usual_metrics(2, [np.array([[0, 1], [1, 0]])])
    ['sensitivity', 'specificity', 'ppv', 'npv']
    >>> usual_metrics(2, [np.array([[-1.5, 2.5], [1.0, -1.0]])])[4:], usual_metrics(419, [])
    (['auroc'], ['balanced_accuracy'])
    """
    silent = ANSWERS if any(not answered(given).all() for given in predictions) else ()
    if n_classes != 2:
        return ["balanced_accuracy", *silent, *(("sensitivity", "ppv") if n_classes <= _BY_CLASS else ())]
    names = ["sensitivity", "specificity", "ppv", "npv", *silent]
    if silent or any(((given == 0) | (given == 1)).all() for given in predictions):
        return names
    return [*names, *(() if any(improper(given) is not None for given in predictions) else ("brier",)), "auroc"]


def read_metrics(
    metrics: Any,
    ks: Sequence[int] | None,
    n_classes: int,
    *,
    predictions: Sequence[Float[np.ndarray, "case class"]] = (),
    threshold: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    drawn: bool = True,
) -> Asked:
    """Read which metrics are wanted.

    Parameters
    ----------
    metrics
        Names of metrics, or of groups of them; or metrics of the user's own by name, besides those of lists; or None
        for the latter and :func:`usual_metrics`.
    ks
        Lengths of the lists, where metrics of lists are not named. By default 1, 2 and 3, if below the number of
        classes; of two classes, the accuracy is then the only metric of lists.
    n_classes
        Number of classes.
    predictions
        Predictions of every classifier, which are needed where no metrics are named.
    threshold
        Threshold of the net benefit that is named without one.
    prevalence
        Prevalence at which predictive values are wanted besides.
    drawn
        Whether the truth has draws, which metrics of lists and of plausibilities need.

    Raises
    ------
    ArgumentError
        If there is no such metric, it needs draws, or a metric of the user's own is not one or its name is taken.

    Examples
    --------
    >>> asked = read_metrics(["auroc", "top1_accuracy", "net_benefit_0.2"], [1, 2], 3)
    >>> list(asked.order), asked.lists, list(asked.sums)
    (['auroc'], {'top1_accuracy': ('accuracy', 1)}, ['net_benefit_0.2'])
    """
    given: dict[str, Any]
    of_lists = usual_lists(ks, n_classes)
    if metrics is None:
        lists = of_lists if drawn else {}
        names = [*(() if drawn else ("accuracy",)), *usual_metrics(n_classes, predictions)]
        given = {name: LABEL_METRICS[name] for name in names}
    elif isinstance(metrics, Mapping):
        lists = of_lists if drawn else {}
        given = {}
        for name, metric in metrics.items():
            if str(name) in given:
                raise ArgumentError(f"two metrics have the name {str(name)!r}: give each a name of its own.")
            given[str(name)] = metric
    else:
        lists, given = {}, {}
        names = [metrics] if isinstance(metrics, str) else list(metrics) if isinstance(metrics, Sequence) else None
        if not names:
            raise ArgumentError(
                f"metrics must be names, or a mapping from names to functions, but {_show(metrics)} was given: write "
                'for example ["auroc", "sensitivity"] or {"mine": function}.'
            )
        for name in (one for asked in names for one in GROUPS.get(str(asked), [asked])):
            if name == LISTS and drawn:
                lists |= of_lists
                continue
            found = _named(name, n_classes, threshold, drawn)
            if isinstance(found, tuple):
                lists[str(name)] = found
            else:
                given[str(name)] = found
    if prevalence is not None:
        share = np.format_float_positional(check_share("prevalence", prevalence), trim="-")
        names = [f"{value}_at_prevalence_{share}" for value in ("ppv", "npv")]
        given |= {name: _named(name, n_classes, threshold, drawn) for name in names}
    plain = {name: _by_draw(metric) if _is_of_draws(metric, drawn) else metric for name, metric in given.items()}
    labels = {name: metric for name, metric in plain.items() if isinstance(metric, SumMetric | OrderMetric)}
    if isinstance(metrics, Mapping):
        for name in labels:
            _check_name(name)
    own = {name: metric for name, metric in plain.items() if name not in labels}
    if own and not drawn:
        raise ArgumentError(
            f"metric {next(iter(own))!r} needs draws of the plausibilities, which annotators and panels have not: pass "
            'truth="most-plausible", or declare it as plausibly.metrics.SumMetric.'
        )
    checked = check_metrics(own, n_classes) if isinstance(metrics, Mapping) else own
    return Asked(
        lists,
        checked,
        {name: metric for name, metric in labels.items() if isinstance(metric, SumMetric)},
        {name: metric for name, metric in labels.items() if isinstance(metric, OrderMetric)},
    )


def _is_of_draws(metric: Any, drawn: bool) -> bool:
    """Say whether a metric is a mean over cases of a function of the plausibilities in every draw."""
    return drawn and isinstance(metric, SumMetric) and metric.of_distribution


def _by_draw(metric: SumMetric) -> Metric:
    """Turn a mean over cases into a metric of one case in one draw."""
    if metric.takes == "choice":
        return Metric(_OfChoice(metric.rows), metric.better)
    return Metric(metric.rows, metric.better, metric.takes)


@dataclass(frozen=True)
class _OfChoice:
    """Function of scores, of which the highest is the choice; equal functions are compiled once."""

    rows: Callable[..., Any]

    def __call__(self, scores, truth):
        choice = jnp.where(answered(scores), jax.nn.one_hot(jnp.argmax(scores), len(scores)), 0)
        return self.rows(choice, truth)


def _named(name: Any, n_classes: int, threshold: Any, drawn: bool) -> Any:
    """Find a metric by its name: the metric, or for lists their metric and length."""
    text = str(name)
    if text in LABEL_METRICS:
        return LABEL_METRICS[text]
    if found := _LIST.fullmatch(text):
        if 1 <= (k := int(found[1])) <= n_classes and drawn:
            return found[2], k
        if not drawn and text == "top1_accuracy":
            return LABEL_METRICS["accuracy"]
        why = f"there are {n_classes} classes" if drawn else "it needs draws of the plausibilities"
        raise ArgumentError(f"metric {text!r} cannot be computed, because {why}: leave it out.")
    if found := _NAMED_POINT.fullmatch(text):
        return _AT_POINT[found[1]](float(found[2]))
    if text == "net_benefit":
        if isinstance(threshold, Mapping):
            raise ArgumentError(
                "net_benefit needs one threshold, but each classifier has its own: name net_benefit_0.2."
            )
        return net_benefit(0.5 if threshold is None else threshold)
    of_all, average = text.rpartition("_")[::2]
    if average == "macro" and isinstance(metric := LABEL_METRICS.get(of_all), OrderMetric):
        return replace(metric, by_class=False)
    known = [*LABEL_METRICS, *metric_names([1, 2, 3]), *GROUPS, *(f"{point}_0.9" for point in _AT_POINT)]
    near = get_close_matches(text, known, 3) or [*GROUPS, "auroc", "sensitivity", "brier", "top1_accuracy"]
    raise ArgumentError(f"there is no metric {_show(name)}: choose for example from {', '.join(near)}.")


def usual_lists(ks: Sequence[int] | None, n_classes: int) -> dict[str, tuple[str, int]]:
    """Metrics and lengths of lists that are computed where none are named.

    Examples
    --------
    >>> usual_lists(None, 2), len(usual_lists(None, 3))
    ({'top1_accuracy': ('accuracy', 1)}, 14)
    """
    if ks is None and n_classes <= 2:  # of which the others are equal to it, or one minus it
        return {"top1_accuracy": ("accuracy", 1)}
    return metric_names(usual_lengths(n_classes) if ks is None else ks)


def usual_lengths(n_classes: int) -> list[int]:
    """Lengths of lists, and sizes of sets, that are reported unless others are named; those of all classes are trivial.

    Examples
    --------
    >>> usual_lengths(3), usual_lengths(1)
    ([1, 2], [1])
    """
    return [size for size in SIZES if size < max(n_classes, 2)]


def check_metrics(metrics: Mapping[str, Metric | Function], n_classes: int) -> dict[str, Metric]:
    """Refuse user-defined metrics that are not metrics or whose names are taken."""
    if not isinstance(metrics, Mapping):
        raise ArgumentError(
            f"metrics must be a mapping from names, but {_show(metrics)} was given: write for example "
            '{"mine": function}.'
        )
    found = {}
    for name, given in metrics.items():
        name = str(name)
        if name in found:
            raise ArgumentError(f"two metrics have the name {name!r}: give each a name of its own.")
        _check_name(name)
        found[name] = as_metric(given)
        check_function(found[name].function, n_classes, f"metric {name!r}")
    return found


def _check_name(name: str) -> None:
    """Refuse a name that a variable of the results may have."""
    taken = name.startswith(
        (
            "top",
            "annotation_certainty",
            "annotator_agreement",
            "risk_",
            "expected_",
            "expert_",
            "human_",
            "mutual_",
            "score_certainty",
            "prior_",
        )
    )
    axes = [axis for metric in LABEL_METRICS.values() for axis, _ in metric.along]
    if (
        taken
        or name in ("case_weight", *COORDINATES, *axes)
        or name.endswith(("_by_case", "_point", "_total", "_sampling"))
    ):
        raise ArgumentError(
            f"a metric must have a name of its own, but {name!r} looks like one of the package's: rename it."
        )
