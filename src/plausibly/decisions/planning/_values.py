"""The metric of a plan, and results of the programs for all cases of a posterior, or for some, range by range."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from plausibly.base.arviz import Posterior
from plausibly.base.compute import Part, ahead, run
from plausibly.base.errors import ArgumentError
from plausibly.base.memory import release_memory
from plausibly.base.progress import Progress
from plausibly.base.random_streams import Stream
from plausibly.data.annotations import Annotations
from plausibly.data.predictions import Marked, line_up, named_predictions
from plausibly.decisions.planning._program import Question, several_block, value_block
from plausibly.evaluation import public_name, read_metrics
from plausibly.evaluation.measure import predicted_lists
from plausibly.metrics import METRICS, SumMetric
from plausibly.metrics.declared import check_probabilities, mean
from plausibly.posterior import annotations_of
from plausibly.posterior.ranges import Range, Ranges
from plausibly.posterior.split_remainder import coefficients


class Planned(NamedTuple):
    """Metric of a plan."""

    name: str  #: in results of :func:`plausibly.evaluate`
    of_list: str  #: metric of ranked lists; empty for others
    k: int  #: length of the lists
    function: Callable[..., Any] | None  #: of a case's scores and plausibilities, if it is no metric of lists
    better: Literal["greater", "smaller"]
    takes: str = "scores"  #: as the prediction, as for :class:`plausibly.metrics.SumMetric`


@dataclass(frozen=True)
class _AgainstMostPlausible:
    """Numbers that a metric of labels adds up for a case whose true class is the most plausible one."""

    metric: SumMetric

    def __call__(self, scores: Float[Array, " class"], plausibility: Float[Array, " class"]) -> Float[Array, ""]:
        n, of = len(plausibility), self.metric
        prediction = jax.nn.one_hot(jnp.argmax(scores), n) if of.takes == "choice" else scores
        rows = of.rows(prediction, jax.nn.one_hot(jnp.argmax(plausibility), n))
        return rows[1] if of.by_class else rows


def read_metric(metric: Any, metrics: Any, n_classes: int) -> Planned:
    """Read the metric of a plan: one of ``metrics``, or another of :func:`plausibly.evaluate`, by name.

    By default it is the only one of ``metrics``, or ``"top1_accuracy"``. It must be a mean over cases.
    """
    listed = [] if metrics is None else list(metrics) if isinstance(metrics, list | tuple) else [metrics]
    listed = [item for item in listed if not (isinstance(item, Mapping) and not item)]
    asked = read_metrics(listed, None, n_classes) if listed else None
    names = [name for of in asked or () for name in of]
    name = public_name(metric) if metric is not None else names[0] if len(names) == 1 else "top1_accuracy"
    if name not in names and name == "accuracy":
        name = "top1_accuracy"  # the same, of which there are draws by case
    if asked is None or name not in names:
        asked = read_metrics([metric if name is None else name], None, n_classes)
    if name in asked.lists:
        of_list, k = asked.lists[name]
        return Planned(name, of_list, k, None, METRICS[of_list].better)
    if name in asked.own:
        return Planned(name, "", 0, asked.own[name].function, asked.own[name].better)
    of = asked.sums.get(name)
    if of is not None and of.value is mean and not of.along and (not of.by_class or n_classes == 2):
        return Planned(name, "", 0, _AgainstMostPlausible(of), of.better, of.takes)
    raise ArgumentError(
        f"a plan needs a metric that is a mean over cases, which {name!r} is not: choose for example top1_accuracy, "
        'top3_coverage or brier, or give a function of your own by metrics={"mine": function}.'
    )


@dataclass(frozen=True, eq=False)
class Source:
    """A posterior and predictions, checked, and the question that is put to them."""

    posterior: Posterior  #: whose draws may still be in a file
    annotations: Annotations  #: that it was conditioned on
    names: tuple[str, ...]  #: of the classifiers
    predictions: tuple[np.ndarray, ...]  #: by classifier
    metric: str  #: name of the metric in results of :func:`plausibly.evaluate`
    question: Question
    seed: int

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return self.annotations.n_cases

    @property
    def labels(self) -> list[tuple[str, str]]:
        """Classifier and opponent of every row; the opponent is empty for the metric of one classifier."""
        names = self.names
        return [(name, "") for name in names] + [(names[a], names[b]) for a, b in self.question.pairs]


@dataclass(frozen=True, eq=False)
class Values:
    """What one more label of each case would tell."""

    mean: Float[np.ndarray, "row case"]  #: of the metric over draws
    variance: Float[np.ndarray, "row case"]  #: of the metric over draws
    removed: Float[np.ndarray, "annotator row case"]  #: expected variance removed
    information: Float[np.ndarray, "annotator case"]  #: expected, in nats
    effective: Float[np.ndarray, "annotator case"]  #: effective number of draws behind these
    by_draw: Float[np.ndarray, "classifier draw"]  #: metric of all cases
    chain: Int[np.ndarray, " draw"]  #: of each draw


@dataclass(frozen=True, eq=False)
class Bank:
    """Simulated further annotations of some cases."""

    cases: Int[np.ndarray, " chosen"]  #: their positions
    mean: Float[np.ndarray, "chosen annotation replicate row"]  #: of the metric after so many annotations
    variance: Float[np.ndarray, "chosen annotation replicate row"]  #: of the metric after so many annotations
    effective: Float[np.ndarray, "chosen annotation"]  #: effective number of draws behind these
    information: Float[np.ndarray, "chosen annotation"]  #: expected, of so many annotations, in nats


def ask(
    posterior: Posterior,
    predictions: Mapping[str, Any] | None,
    metric: Any,
    metrics: Any,
    pairs: Any,
    annotators: tuple[tuple[float, float], ...],
    length: int,
    seed: int,
    break_ties: str = "order",
    logits: Marked = False,
) -> Source:
    """Check a posterior, predictions and the metric; ``pairs`` maps the names of the classifiers to pairs of them."""
    annotations = annotations_of(posterior)
    n_classes = annotations.n_classes
    named = named_predictions({} if predictions is None else predictions, logits)
    lined_up = tuple(line_up(values, annotations) for values in named.values())
    planned = read_metric(metric, metrics, n_classes)
    if planned.takes == "probabilities":
        for name, values in zip(named, lined_up, strict=True):
            check_probabilities(values, f" of {name!r}", annotations.cases)
    names = tuple(named)
    question = Question(
        metric=(planned.of_list or planned.name) if names else "",
        k=planned.k,
        function=planned.function,
        break_ties=break_ties,
        n_classes=n_classes,
        pairs=tuple(pairs(names)) if names else (),
        sign=-1 if planned.better == "smaller" else 1,
        annotators=annotators,
        length=length,
    )
    return Source(posterior, annotations, names, lined_up, planned.name, question, seed)


def value(source: Source, *, progress: bool = False) -> Values:
    """Value one more label of every case."""
    question, n_cases = source.question, source.n_cases
    ranges = Ranges(source.posterior, source.seed)
    if ranges.n_draws < 2:
        raise ArgumentError(
            "the value of an annotation follows from draws of the plausibilities, but this posterior is a single "
            "point: aggregate by a model that has a posterior, such as plackett-luce."
        )
    n_rows, n_annotators = len(source.labels), len(question.annotators)
    shapes = {"mean": (n_rows,), "variance": (n_rows,), "removed": (n_annotators, n_rows)}
    shapes |= {"information": (n_annotators,), "effective": (n_annotators,)}
    values = {name: np.empty((*shape, n_cases), np.float32) for name, shape in shapes.items()}
    total = np.zeros((len(source.names), ranges.n_draws))
    with Progress(progress) as bars:
        advance = bars.task("Valuing", n_cases, "cases")
        for number, cases in enumerate(ahead(iter(ranges))):
            if number:
                release_memory()
            for part, result in _run(source, cases, value_block, np.arange(len(cases))):
                total += result.pop("total")
                for name, columns in result.items():
                    values[name][..., cases.cases.start + part.at] = columns[..., : len(part.at)]
            advance(len(cases))
    for row, case in np.argwhere(~np.isfinite(values["mean"]))[:1]:
        raise ArgumentError(
            f"the metric must be finite in every draw, but it is not for case {str(source.annotations.cases[case])!r} "
            f"and classifier {source.labels[row][0]!r}: write it so that it is, for example with jnp.where."
        )
    chain = np.repeat(np.arange(ranges.n_chains), ranges.draws_per_chain)
    return Values(**values, by_draw=total / n_cases, chain=chain)


def simulate(
    source: Source,
    cases: Int[np.ndarray, " chosen"],
    asked: Int[np.ndarray, " chosen"],
    most: int,
    replicates: int,
    *,
    progress: bool = False,
) -> Bank:
    """Simulate up to `most` further annotations of some cases, by the annotator that each is asked of."""
    order = np.argsort(cases)
    wanted, settings = cases[order], np.array(source.question.annotators, np.float32)[asked[order]]
    shapes = dict.fromkeys(("mean", "variance"), (most, replicates, len(source.labels)))
    shapes |= dict.fromkeys(("effective", "information"), (most,))
    values = {name: np.empty((len(cases), *shape), np.float32) for name, shape in shapes.items()}
    ranges = Ranges(source.posterior, source.seed)
    bounds = [(at, *np.searchsorted(wanted, [at.start, at.stop])) for at in ranges.slices]
    bounds = [(at, first, end) for at, first, end in bounds if first < end]
    options = {"most": most, "replicates": replicates}
    with Progress(progress) as bars:
        advance = bars.task("Simulating annotations", len(cases), "cases")
        for read, (at, first, end) in zip(ahead(ranges.read(at) for at, *_ in bounds), bounds, strict=True):
            chosen = wanted[first:end] - at.start
            for part, result in _run(source, read, several_block, chosen, settings[first:end], **options):
                for name, rows in result.items():
                    values[name][first + part.at] = rows[: len(part.at)]
            advance(len(chosen))
    back = np.argsort(order)
    return Bank(cases=cases, **{name: rows[back] for name, rows in values.items()})


def _run(
    source: Source,
    cases: Range,
    function: Callable[..., dict[str, Array]],
    chosen: Int[np.ndarray, " chosen"],
    settings: Float[np.ndarray, "chosen setting"] | None = None,
    **options: int,
) -> Iterator[tuple[Part, dict[str, np.ndarray]]]:
    """Results of a program for some cases of a range (by position), block by block.

    ``settings`` are the power and the count of the annotator who is asked about each.
    """
    question = source.question
    dense = question.n_classes if question.apart or question.function is not None else 0
    blocks = cases.blocks(max(8, 2 * len(source.labels), question.k, 2 * dense), cases=chosen)
    counts = (METRICS[question.metric].count,) if question.k and question.metric else ()
    words = cases.words[Stream.PREDICTIONS][chosen] if question.break_ties == "random" else None
    predictions = [np.array(values[cases.cases])[chosen] for values in source.predictions]
    scores = predicted = None
    if predictions and question.k:
        predicted = np.stack([predicted_lists(values, question.k, words).T for values in predictions])
    elif predictions:
        scores = np.stack(predictions).astype(np.float32)

    def inputs(part: Part) -> tuple[Any, dict[str, np.ndarray]]:
        at = part.full
        given: dict[str, np.ndarray] = {"real": (np.arange(part.size) < len(part.at)).astype(np.float32)}
        if predicted is not None:
            given["predicted"] = predicted[..., at]
            most = max(part.rung, cases.n_classes if question.apart else 0) + predicted[..., 0].size
            by_class = np.ndim(cases.concentration) > 0  # of a prior by class, under which all are known
            unnamed = np.maximum(cases.n_classes - np.arange(most + 1), 0)
            given["cover"] = coefficients(np.zeros(1) if by_class else cases.concentration * unnamed)
        if scores is not None:
            given["scores"] = scores[:, at]
        if settings is not None:
            given["power"], given["count"] = settings[at].T
        return blocks.block(part), given

    name = function, *question, *counts, *options.values()
    return run(name, partial(function, question=question, **options), blocks.parts, inputs)
