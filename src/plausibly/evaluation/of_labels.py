"""Classifiers against the labels of experts: what one of them would say, or a panel decide, without a model."""

import json
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly.base.bootstrap import check_replicates
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.base.names import listed
from plausibly.base.pools import small_products
from plausibly.base.progress import logged
from plausibly.base.random_streams import Stream, key_words
from plausibly.data.annotations import Annotations, read_risks
from plausibly.data.groups import Groups, check_clusters, check_weights, read_groups, typical_weight
from plausibly.data.labels.verified import Selection
from plausibly.data.predictions import check_positive, line_up, named_predictions
from plausibly.evaluation._label_results import label_values
from plausibly.evaluation._label_sums import Labels
from plausibly.evaluation._unseen_case import columns, unseen_cases
from plausibly.evaluation._values import variables
from plausibly.evaluation.experts import Readers, of_others, reader_noise
from plausibly.evaluation.few_labels import label_spread
from plausibly.evaluation.measure import measure_labels
from plausibly.evaluation.metrics import (
    COORDINATES,
    MetricsByKind,
    are_probabilities,
    check_lengths,
    check_order,
    read_metrics,
)
from plausibly.evaluation.panel_tables import first_choices
from plausibly.evaluation.summaries import SUFFIX
from plausibly.evaluation.thresholds import check_thresholds, positive_index
from plausibly.evaluation.truth import Truth, truth_of_labels, truths_in_words
from plausibly.metrics.decisions import NO_ANSWER, Cost, pairs
from plausibly.metrics.declared import OfLabels
from plausibly.metrics.inputs import answered, check_break_ties


def labels_of(
    wanted: MetricsByKind,
    annotations: Annotations,
    positive: Any,
    thresholds: tuple[float, ...] | None,
    predictions: Sequence[Float[np.ndarray, "case class"]] = (),
) -> Labels:
    """Say what metrics of labels are about: of two classes, one is positive, see :func:`positive_index`."""
    classes = annotations.classes
    about_one = positive is not None or thresholds is not None or len(classes) == 2
    at = positive_index(classes, positive) if about_one else None
    if positive is not None and len(classes) > 2:
        for name, metric in wanted.sums.items():
            if metric.of_distribution:
                raise ArgumentError(f"metric {name!r} is about all classes at once: leave out positive.")
    n_sides = len(classes) if positive is None else 2
    for name, metric in wanted.sums.items():
        if isinstance(metric.rows, Cost) and len(metric.rows.rows) != n_sides:
            raise ArgumentError(
                f"metric {name!r} has costs of {len(metric.rows.rows)} classes, but there are {n_sides}"
                f"{'' if positive is None else ' with positive='}: give costs of as many."
            )
    sums, confusions = ({name: one for name, one in wanted.sums.items() if (one.rows is pairs) == of} for of in (0, 1))
    silent = any(not answered(values).all() for values in predictions)
    proper = [name for name, metric in wanted.own.items() if metric.takes == "probabilities"]
    labels = Labels(sums, wanted.order, len(classes), at, thresholds, confusions, silent, proper)
    axes: dict[str, Any] = {}
    for name, metric in labels.every.items():
        for axis, values in metric.along:
            if axis in (*COORDINATES, *labels.every) or axes.setdefault(axis, values) != values:
                raise ArgumentError(
                    f"an axis must have a name of its own, but the axis {axis!r} of metric {name!r} has that of a "
                    "metric, of a dimension, or of an axis with other values: rename it."
                )
    return labels


class Question(NamedTuple):
    """Classifiers and metrics of an evaluation, and what is known of its cases, read and checked."""

    names: list[str]  #: of the classifiers
    predictions: list[Float[np.ndarray, "case class"]]
    metrics: MetricsByKind
    labels: Labels
    cluster: np.ndarray
    groups: Groups | None
    risks: Int[np.ndarray, " class"] | None

    @property
    def members(self) -> list[Float[np.ndarray, " case"]]:
        """Whether cases belong to each group, of which all cases are the first."""
        return [np.ones(len(self.cluster)), *(() if self.groups is None else self.groups.member)]


def read_question(
    annotations: Annotations,
    predictions: Mapping[str, Any],
    *,
    drawn: bool,
    panels: bool = False,
    metrics: Any = None,
    logits: Any = False,
    ordered: bool = False,
    risks: Any = None,
    positive: Any = None,
    threshold: Any = None,
    prevalence: float | None = None,
    k: int | Sequence[int] | None = None,
    clusters: Sequence[Hashable] | Mapping[str, Hashable] | None = None,
    replicates: int,
    by: Any = None,
    intersections: bool = False,
    break_ties: str,
    extra: str = "refuse",
) -> Question:
    """Read and check those arguments of :func:`plausibly.evaluate` that need no draws."""
    named = named_predictions(predictions, logits)
    check_break_ties(break_ties)
    check_replicates(replicates, least=0)
    groups = None if by is None else read_groups(by, annotations.cases, intersections=intersections)
    classes = annotations.classes
    positive = check_positive(classes, positive)
    lined_up = [line_up(source, annotations, extra, positive, ordered=ordered) for source in named.values()]
    lengths = None if k is None else check_lengths("k", k, annotations.n_classes)
    options: dict[str, Any] = {"predictions": lined_up, "threshold": threshold, "prevalence": prevalence}
    options["risks"] = None if risks is None else np.asarray(read_risks(risks, classes))
    options["ordered"] = bool(ordered)
    wanted = read_metrics(metrics, lengths, annotations.n_classes, **options, drawn=drawn, panels=panels)
    check_order(annotations, ordered, wanted)
    labels = labels_of(wanted, annotations, positive, check_thresholds(threshold, list(named)), lined_up)
    cluster = check_clusters(clusters, annotations.cases)
    return Question(list(named), lined_up, wanted, labels, cluster, groups, options["risks"])


def sizes_of(labels: Labels, sides: csr_array) -> dict[str, Any]:
    """Attributes of results: numbers of cases with labels and, by their labels, of those that are positive."""
    n_positive = {} if labels.positive is None else {"n_positive": float(sides[:, [1]].sum())}
    return {"n_cases": int(np.count_nonzero(np.diff(sides.indptr))), **n_positive}


def number_of_annotators(annotations: Annotations) -> dict[str, int]:
    """Attribute of results: number of annotators, where it is known."""
    return {} if annotations.anonymous else {"annotators": len(np.unique(annotations.annotation_annotator))}


def described(
    results: xr.Dataset,
    labels: Labels,
    annotations: Annotations,
    n_cases: float,
    threshold: Any,
    choices: Int[np.ndarray, "classifier case"],
    predictions: Sequence[Float[np.ndarray, "case class"]],
) -> xr.Dataset:
    """Name the classes in results, what is positive, who always names the same, and how many cases confusions have.

    The attribute ``cut_off`` is the probability from which on a class is positive, where no threshold was given.
    """
    for name in labels.confusions:
        results[name].attrs["n_cases"] = n_cases
    classes = annotations.classes
    if "class_name" in results.dims:
        results = results.assign_coords(class_name=classes)
    if labels.positive is not None:
        own = classes[labels.positive]
        classes = np.array([classes[1 - labels.positive] if len(classes) == 2 else f"not {own}", own])
    axes = {axis: values for metric in labels.every.values() for axis, values in metric.along if axis in results.dims}
    coords = {axis: classes if values is None else np.array(values) for axis, values in axes.items()}
    if labels.silent and labels.confusions:
        coords["named_class"] = np.append(classes, NO_ANSWER)
    results = results.assign_coords(coords)
    if labels.positive is not None and labels:
        results.attrs["positive"] = str(annotations.classes[labels.positive])
    if threshold is not None:
        results.attrs["threshold"] = json.dumps(dict(threshold)) if isinstance(threshold, Mapping) else threshold
    elif "positive" in results.attrs and annotations.n_classes == 2 and predictions and are_probabilities(predictions):
        results.attrs["cut_off"] = 0.5
    if same := [at for at, of in enumerate(choices) if len(of) > 1 and of[0] >= 0 and (of == of[0]).all()]:
        names = results["classifier"].values[same].tolist()
        results.attrs["constant"] = json.dumps(dict(zip(names, classes[choices[same, 0]].tolist(), strict=True)))
    return results


def with_against(results: xr.Dataset, wanted: MetricsByKind) -> xr.Dataset:
    """Say of each metric of labels, or of plausibilities, what it is against, as the attribute ``against``."""
    truth, distribution = truths_in_words(results.attrs)
    sums = {name: distribution if one.of_distribution else truth for name, one in wanted.sums.items()}
    for name, said in (dict.fromkeys(wanted.own, distribution) | dict.fromkeys(wanted.order, truth) | sums).items():
        for variable in {name, f"{name}{SUFFIX}"} & {*results}:
            results[variable].attrs["against"] = said
    return results


@logged("Evaluating")
@small_products()
def against_labels(
    annotations: Annotations,
    predictions: Mapping[str, Any],
    truth: Truth,
    *,
    panel: int,
    weights: Any,
    seed: int,
    readers: Readers | None = None,
    **options: Any,
) -> xr.Dataset:
    """Evaluate classifiers against the labels themselves; see :func:`plausibly.evaluate`.

    The truth has no draws, so results have a single one, and bootstrap weights are all their noise: cases come with
    their annotations. Replicates are those of :func:`plausibly.evaluation.panels` with the same seed.
    """
    question = read_question(annotations, predictions, drawn=False, **options)
    names, lined_up, wanted, labels, cluster, groups, _ = question
    break_ties, replicates = options["break_ties"], options["replicates"]
    median = truth == "panel" and bool(options.get("ordered"))
    of_labels = unweighted = truth_of_labels(annotations, truth, panel, seed, ordered=median)
    few = {name: metric.rows.least for name, metric in labels.sums.items() if isinstance(metric.rows, OfLabels)}
    spread = label_spread(annotations, truth, panel, seed) if few and names else None
    for sentence in _of_few(few, annotations, panel if truth == "panel" else 1) if names else ():
        warnings.warn(sentence, PlausiblyWarning, stacklevel=4)
    least = 0.0
    if isinstance(weights, Selection):
        weights = weights.by_case()
        least = float(typical_weight(weights.to_numpy()))  # a case seldom verified, of a class of which there was none
    weighing = 1.0 if weights is None else check_weights(weights, 1, annotations.cases).T
    of_labels = unweighted * weighing
    for name, values in zip(names, lined_up, strict=True):
        labels.check(name, values, annotations.cases)
    sides = labels.sides_of(of_labels)
    clusters = len(np.unique(cluster[sides.any(axis=1)]))
    coords = {"classifier": np.array(names, dtype=str), "draw": [0], "chain": ("draw", [0])}
    attrs = {"truth": truth, "break_ties": break_ties, "seed": seed, "clusters": clusters}
    attrs |= number_of_annotators(annotations) | ({"panel": panel} if truth == "panel" else {})
    others = bool(names) and replicates > 0 and of_others(readers, annotations)
    attrs |= {"readers": "others" if others else "these"} | ({"median": "grades"} if median else {})
    plain = labels.sides_of(unweighted)
    results = xr.Dataset(coords=coords, attrs=attrs | sizes_of(labels, csr_array(plain[sides.any(axis=1)])))
    if not names:
        return results
    words, members = key_words(seed, cluster, Stream.BOOTSTRAP), question.members
    choices = labels.choices(list(first_choices(lined_up, annotations.cases, break_ties, seed)), lined_up)
    unseen = unseen_cases(sides, words, members, columns(lined_up), replicates, least)
    small = labels.small(len(names) * max(replicates, 1) * (len(members) - 1))
    totals = measure_labels(labels, lined_up, choices, sides, spread, np.stack(members), words, replicates)
    by_case = lined_up, choices, sides, np.ones((len(sides), 1)), members, words, unseen
    values = label_values(labels, small, totals, *by_case)
    if others:
        asked = (truth, max(1, panel - 1), seed)  # as cases may lack the label of a reader who is left out

        def measured(left: Annotations, parts: np.ndarray) -> dict[str, np.ndarray]:
            own = labels.sides_of(truth_of_labels(left, *asked, ordered=median) * weighing)
            spread = label_spread(left, *asked) if few else None
            totals = measure_labels(labels, lined_up, choices, own, spread, parts.astype(float), words, 0)
            more = lined_up, choices, own, np.ones((len(own), 1)), parts, words, [None] * len(parts)
            found = label_values(labels, small, totals, *more)
            return {name: np.stack([of[name].draws[..., 0] for of in found]) for name in found[-1]}

        noise = reader_noise(annotations.fair or annotations, measured, cluster, members, replicates, seed)
        values = [
            {
                name: one._replace(around=np.clip(one.around + noise[name][number], *one.bounds))
                if name in noise and one.around is not None
                else one
                for name, one in group.items()
            }
            for number, group in enumerate(values)
        ]
    results = results.assign(variables(values, drawn=False, single=clusters < 2))
    if groups is not None:
        n_cases = (groups.member @ plain.sum(axis=1)).round().astype(int)  # those that have the labels of a panel
        results = results.assign_coords(groups.coords | groups.positive(plain) | {"group_n_cases": ("group", n_cases)})
    results = described(results, labels, annotations, float(sides.sum()), options["threshold"], choices, lined_up)
    return with_against(results, wanted)


def _of_few(least: Mapping[str, int], annotations: Annotations, n_people: int) -> Iterator[str]:
    """Say which metrics these labels do not tell, or tell of some cases, given how many labels of a case they need."""
    n_labels = np.zeros(annotations.n_cases, int) if annotations.fair is None else annotations.fair.per_case
    n_labels = n_labels[annotations.per_case >= n_people]
    which = "of them" if annotations.rounds is None else "that do not follow from others"
    for number in sorted({*least.values()}):
        names = listed([name for name, least_of in least.items() if least_of == number])
        enough = int((n_labels >= number * n_people).sum())
        if not enough:
            yield (
                f"{names} cannot be told from these labels, since no case has {number * n_people} {which}: leave "
                'them out, or take them from a model (truth="most-plausible"), with what it does not know in them.'
            )
        elif enough < len(n_labels):
            yield f"{names}: of the {enough:,} of {len(n_labels):,} cases with {number * n_people} labels or more."
