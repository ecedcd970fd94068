"""Metrics by their names in results, and which names are left for those of the user's own."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

import plausibly.metrics
from plausibly.base.errors import ArgumentError, PlausiblyWarning, show
from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.columns import is_number
from plausibly.metrics import LABEL_METRICS, METRICS, Metric, OrderMetric, SumMetric, expected_cost, net_benefit
from plausibly.metrics.declared import AT_VALUE, improper
from plausibly.metrics.inputs import answered, check_share, check_size
from plausibly.metrics.user import Function, as_metric, check_function

COORDINATES = ("classifier", "draw", "chain", "case", "risk_level", "replicate", "class_name", "group")
_NAMED_AT_VALUE = re.compile(rf"({'|'.join(AT_VALUE)})_(\d+(?:\.\d+)?|\.\d+)")
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
USUAL = "usual"  #: name for the metrics that are computed where none are named
Given = Metric | SumMetric | OrderMetric | Function
Metrics = str | Given | Sequence[str | Given | Mapping[str, str | Given]] | Mapping[str, str | Given] | None
_OTHER_NAMES = {"precision": "ppv", "recall": "sensitivity", "auc": "auroc", "roc_auc": "auroc", "brier_score": "brier"}
_OTHER_NAMES |= {"acc": "accuracy", "f1_score": "f1"}
_OTHER_NAMES |= {"log_loss": "log_score", "ece": "calibration_error", "matthews": "mcc", "cohen_kappa": "kappa"}
_STARTS = ("top", "annotation_certainty", "annotator_agreement", "risk_", "expected_", "expert_", "human_", "mutual_")
_STARTS += ("score_certainty", "prior_")
_ENDS = ("_by_case", "_point", "_total", "_sampling")
_BY_CLASS = 30  # classes up to which metrics of every class are computed without being named


class MetricsByKind(NamedTuple):
    """Metrics that are wanted, by name."""

    lists: dict[str, tuple[str, int]]  #: Metrics of ranked lists, and their lengths
    own: dict[str, Metric]  #: Metrics of one case in one draw
    #: Metrics of labels
    sums: dict[str, SumMetric]
    order: dict[str, OrderMetric]


def usual_metrics(
    n_classes: int, predictions: Sequence[Float[np.ndarray, "case class"]], *, ordered: bool = False
) -> list[str]:
    """Name the metrics of labels that suit the data.

    Of two classes, those that clinicians read. Order needs scores, not hard labels (ones and zeros), and the Brier
    score needs probabilities, of every classifier. Of more classes, metrics of choices, by class if these are few. Of
    ordered classes, those of the group ``"ordered"``, of which the last needs probabilities. If a classifier gives no
    answer in some case, how often it does, and metrics of choices.
    """
    silent = ANSWERS if any(not answered(given).all() for given in predictions) else ()
    probable = all(improper(given) is None for given in predictions)
    if ordered:
        of_grades = {name: LABEL_METRICS[name] for name in GROUPS["ordered"]}
        possible = [name for name, metric in of_grades.items() if probable or metric.takes != "probabilities"]
        return [
            *silent,
            *(name for name in possible if not (silent and getattr(of_grades[name], "needs_answer", True))),
        ]
    if n_classes != 2:
        return ["balanced_accuracy", *silent, *(("sensitivity", "ppv") if n_classes <= _BY_CLASS else ())]
    names = ["sensitivity", "specificity", "ppv", "npv", *silent]
    if silent or any(map(_are_hard, predictions)):
        return names
    return [*names, *(("brier",) if probable else ()), "auroc"]


def are_probabilities(predictions: Sequence[Float[np.ndarray, "case class"]]) -> bool:
    """Whether all classifiers give probabilities that are not only zeros and ones."""
    return all(improper(given) is None and not _are_hard(given) for given in predictions)


def _are_hard(given: Float[np.ndarray, "case class"]) -> bool:
    return bool(((given == 0) | (given == 1)).all())


def read_metrics(
    metrics: Any,
    ks: Sequence[int] | None,
    n_classes: int,
    *,
    predictions: Sequence[Float[np.ndarray, "case class"]] = (),
    threshold: float | Mapping[str, float] | None = None,
    prevalence: float | None = None,
    risks: Int[np.ndarray, " class"] | None = None,
    ordered: bool = False,
    drawn: bool = True,
    panels: bool = False,
) -> MetricsByKind:
    """Read which metrics are wanted: the only place that does. What was read already is returned.

    Metrics are names of metrics, or of groups of them; functions of :mod:`plausibly.metrics`; mappings from names to
    these or to metrics of the user's own; or a list of any of them. A mapping by itself is besides metrics of lists,
    whose lengths are `ks`; None is for the usual ones, besides those of lists. Of two classes, the accuracy is
    then the only metric of lists. Metrics of lists and of plausibilities need a truth that is `drawn`; of `panels` that
    are, metrics of labels alone are known.

    Raises
    ------
    ArgumentError
        If there is no such metric, it needs draws, or a metric of the user's own is not one or its name is taken.
    """
    if isinstance(metrics, MetricsByKind):
        return metrics
    named = partial(_named, n_classes=n_classes, threshold=threshold, risks=risks, drawn=drawn)
    of_lists = usual_lists(ks, n_classes) if drawn else {}
    usual = usual_metrics(n_classes, predictions, ordered=ordered)
    first = ["accuracy"] if not drawn else ["top1_accuracy"] if ordered else of_lists
    groups: dict[str, Sequence[str]] = GROUPS | {USUAL: [*first, *usual]}
    if drawn:  # by the names of their functions, too
        groups[LISTS] = list(of_lists)
        for name, metric in METRICS.items():
            groups[metric.count.__name__] = [of for of, (of_list, _) in of_lists.items() if of_list == name]
    found: dict[str, Any] = {}
    own: set[str] = set()
    for name, given, mine in _entries(metrics, groups):
        metric = named(given) if isinstance(given, str) else given
        if mine and given != name:
            _check_name(name)
        if isinstance(metric, SumMetric) and drawn and metric.of_distribution:  # a mean over cases in every draw
            metric = _by_draw(metric)
        elif isinstance(metric, SumMetric) and panels and metric.of_distribution:
            raise ArgumentError(
                f"metric {name!r} is of whole distributions, of which panels say nothing: leave it out, or pass "
                'truth="annotator".'
            )
        elif isinstance(metric, SumMetric) and not drawn and not panels and metric.of_labels is not None:
            metric = metric.of_labels
        if not isinstance(metric, tuple | SumMetric | OrderMetric):
            if not drawn:
                raise ArgumentError(
                    f"metric {name!r} needs draws of the plausibilities, which annotators and panels have not: pass "
                    'truth="most-plausible", or declare it as plausibly.metrics.SumMetric.'
                )
            if not isinstance(given, str):
                metric = as_metric(metric)
                check_function(metric.function, n_classes, f"metric {name!r}")
        if name in found and (mine or name in own):
            raise ArgumentError(f"two metrics have the name {name!r}: give each a name of its own.")
        own |= {name} if mine else set()
        found[name] = metric
    if prevalence is not None:
        share = np.format_float_positional(check_share("prevalence", prevalence), trim="-")
        found |= {name: named(name) for name in (f"{value}_at_prevalence_{share}" for value in ("ppv", "npv"))}

    def of(kind: Any) -> dict[str, Any]:
        return {name: metric for name, metric in found.items() if isinstance(metric, kind)}

    return MetricsByKind(of(tuple), of(Metric), of(SumMetric), of(OrderMetric))


def _entries(metrics: Any, groups: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Any, bool]]:
    """Yield metrics by the names of their results: as a name or as given, and whether the user gave the name."""
    if metrics is None:
        entries: Any = [USUAL]
    elif isinstance(metrics, Mapping):
        entries = [LISTS, metrics] if LISTS in groups else [metrics]
    else:
        entries = metrics if isinstance(metrics, list | tuple) else [metrics]
    if not len(entries):
        raise _unknown(metrics)
    for entry in entries:
        if isinstance(entry, Mapping):
            for name, given in entry.items():
                own = public_name(given)
                several = () if own in LABEL_METRICS else groups.get(own, ())
                if len(several) > 1:
                    raise ArgumentError(
                        f"metric {str(name)!r} must be one metric, but {own!r} names {len(several)}: name one of them, "
                        f"such as {several[0]!r}."
                    )
                own = several[0] if several else own
                yield str(name), given if own is None else own, True
            continue
        name = public_name(entry)
        if name is None:
            if callable(entry) or isinstance(entry, SumMetric | OrderMetric):
                raise ArgumentError(
                    f"a metric of your own needs a name, but {show(entry)} was given without one: write for example "
                    '{"mine": metric}.'
                )
            raise _unknown(entry)
        yield from ((one, one, False) for one in groups.get(name, [name]))


def public_name(given: Any) -> str | None:
    """Name of a metric of this package, given as its name or as its public function; None for anything else."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, SumMetric | OrderMetric):
        return next((name for name, metric in LABEL_METRICS.items() if metric == given), None)
    return next((name for name, of in vars(plausibly.metrics).items() if of is given), None)


def _unknown(given: Any) -> ArgumentError:
    return ArgumentError(
        f"metrics must be names, or a mapping from names to functions, but {show(given)} was given: write for example "
        '["auroc", "sensitivity"] or {"mine": function}.'
    )


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


def _named(text: str, *, n_classes: int, threshold: Any, risks: Any, drawn: bool) -> Any:
    """Find a metric by its name: the metric, or for lists their metric and length."""
    if text in LABEL_METRICS:
        return LABEL_METRICS[text]
    if found := re.fullmatch(rf"top(\d+)_({'|'.join(METRICS)})", text):
        if 1 <= (k := int(found[1])) <= n_classes and drawn:
            return found[2], k
        if not drawn and text == "top1_accuracy":
            return LABEL_METRICS["accuracy"]
        if not drawn:
            raise ArgumentError(
                f"metric {text!r} compares lists with the plausibilities of a case, which annotators and panels have "
                'not: take truth="most-plausible" (--truth most-plausible, the default).'
            )
        raise ArgumentError(f"metric {text!r} cannot be computed, because there are {n_classes} classes: leave it out.")
    if found := _NAMED_AT_VALUE.fullmatch(text):
        return AT_VALUE[found[1]](float(found[2]))
    if text == "net_benefit":
        if isinstance(threshold, Mapping):
            raise ArgumentError(
                "net_benefit needs one threshold, but each classifier has its own: name net_benefit_0.2."
            )
        return net_benefit(0.5 if threshold is None else threshold)
    if text == "expected_cost":
        if risks is None:
            raise ArgumentError(
                "expected_cost needs the risk levels of the classes, which say what it costs to confuse them: give "
                'risks= (--risks), or your own costs by metrics={"cost": pb.metrics.expected_cost(matrix)}.'
            )
        levels = np.asarray(risks, int)
        return expected_cost(np.abs(levels[:, None] - levels))
    if text in AT_VALUE:
        raise ArgumentError(f"metric {text!r} needs a value: name for example {text}_0.9.")
    of_all, average = text.rpartition("_")[::2]
    if average == "macro" and isinstance(metric := LABEL_METRICS.get(of_all), OrderMetric):
        return replace(metric, by_class=False)
    at_values = [f"{name}_0.9" for name in AT_VALUE]
    known = [*LABEL_METRICS, *usual_lists([1, 2, 3], 4), *GROUPS, LISTS, USUAL, *at_values]
    near = get_close_matches(text, dict.fromkeys(known), 3) or [*GROUPS, "auroc", "sensitivity", "brier"]
    near = [_OTHER_NAMES[text]] if text in _OTHER_NAMES else near
    if found := re.match(r"top[-_ ]?(\d+)", text):
        near = [f"top{found[1]}_accuracy", f"top{found[1]}_set_accuracy", f"top{found[1]}_overlap"]
    raise ArgumentError(f"there is no metric {show(text)}: choose for example from {', '.join(near)}.")


def usual_lists(ks: Sequence[int] | None, n_classes: int) -> dict[str, tuple[str, int]]:
    """Metrics and lengths of lists that are computed where none are named."""
    if ks is None and n_classes <= 2:  # of which the others are equal to it, or one minus it
        return {"top1_accuracy": ("accuracy", 1)}
    return {f"top{k}_{name}": (name, k) for k in (usual_lengths(n_classes) if ks is None else ks) for name in METRICS}


def usual_lengths(n_classes: int) -> list[int]:
    """Lengths of lists, and sizes of sets, that are reported unless others are named; all classes would be trivial."""
    return [size for size in SIZES if size < max(n_classes, 2)]


def check_lengths(name: str, given: int | Sequence[int] | None, n_classes: int) -> list[int]:
    """Refuse lengths of lists, or sizes of sets, that are out of range.

    By default 1, 2 and 3, or only those below the number of classes: a set of all classes is always right.
    """
    if given is None:
        return usual_lengths(n_classes)
    lengths = [check_size(name, size, n_classes) for size in ([given] if np.ndim(given) == 0 else list(given))]
    if name == "k" and not lengths:
        raise ArgumentError("k must name the length of a list, but none was given: choose some, such as (1, 3).")
    return list(dict.fromkeys(lengths))


def _check_name(name: str) -> None:
    """Refuse a name that a variable of the results may have."""
    axes = [axis for metric in LABEL_METRICS.values() for axis, _ in metric.along]
    if name in ("case_weight", *COORDINATES, *axes) or name.startswith(_STARTS) or name.endswith(_ENDS):
        raise ArgumentError(
            f"a metric must have a name of its own, but {name!r} looks like one of the package's: rename it."
        )


def check_order(annotations: Annotations, ordered: bool, wanted: MetricsByKind) -> None:
    """Refuse metrics of grades where nobody gave the order of the classes, and warn of a grade that is skipped.

    Two classes need no order: these metrics are the same in both.
    """
    of_grades = {id(LABEL_METRICS[name]): name for name in GROUPS["ordered"]}
    named = [name for name, metric in wanted.sums.items() if id(metric) in of_grades]
    classes = annotations.classes
    numbers = classes.astype(float) if all(map(is_number, classes)) else None
    if not (ordered or named) or (numbers is None and len(classes) < 3):
        return
    if numbers is None and not annotations.ordered:
        what = f"{named[0]} needs" if named else "ordered=True (--ordered) needs"
        raise ArgumentError(
            f"{what} the order of the classes, but nobody gave it, and {some(classes)} is that of the alphabet: name "
            "them from the lowest to the highest when annotations are read, with classes= (--classes, a file of one a "
            "line), or as an ordered Categorical."
        )
    if numbers is None:
        return
    if not (np.diff(numbers) > 0).all():
        raise ArgumentError(
            f"ordered classes must be in their order, but the classes are {some(classes)}: name them in ascending "
            "order when annotations are read, with classes= (--classes)."
        )
    skipped = np.setdiff1d(np.arange(numbers[0], numbers[-1] + 1), numbers)
    if not (numbers % 1).any() and 0 < len(skipped) <= MOST_SKIPPED:
        one = len(skipped) == 1
        warnings.warn(
            f"nobody named {'grade' if one else 'grades'} {some(skipped.astype(int).astype(str))}, and metrics of "
            f"grades are without {'it' if one else 'them'}, as if its neighbours were one grade apart: name all grades "
            "with classes= (--classes) if the scale has more.",
            PlausiblyWarning,
            stacklevel=2,
        )


MOST_SKIPPED = 20  #: whole numbers between classes; where there are more, classes are no grades of a scale
