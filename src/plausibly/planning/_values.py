"""What the programs find for all cases of a posterior, or for some, range by range."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly._memory import release_memory
from plausibly._progress import Progress
from plausibly.annotations import Annotations
from plausibly.compute import Part, ahead, run
from plausibly.errors import ArgumentError
from plausibly.evaluation._measure import _predicted_lists
from plausibly.evaluation._ranges import Range, Ranges
from plausibly.metrics import METRICS
from plausibly.metrics._declared import check_probabilities
from plausibly.planning._metric import read_metric
from plausibly.planning._program import Question, several_block, value_block
from plausibly.posterior import annotations_of
from plausibly.posterior._gamma import coefficients
from plausibly.predictions import Marked, line_up, named_predictions
from plausibly.random_streams import Stream


@dataclass(frozen=True, eq=False)
class Source:
    """A posterior and predictions, checked.

    Attributes
    ----------
    posterior
        Posterior whose draws may still be in a file.
    annotations
        Annotations that it was conditioned on.
    names
        Names of the classifiers.
    predictions
        Their predictions.
    question
        What is asked.
    seed
        Random seed.
    """

    posterior: Posterior
    annotations: Annotations
    names: tuple[str, ...]
    predictions: tuple[np.ndarray, ...]
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
    """What one more label of each case would tell.

    Attributes
    ----------
    mean, variance
        Of the metric of each case over draws.
    removed
        Expected variance removed, by annotator.
    information
        Expected information, in nats, by annotator.
    effective
        Effective number of draws behind these, by annotator.
    by_draw
        Metric of all cases by draw.
    chain
        Chain of each draw.
    """

    mean: Float[np.ndarray, "row case"]
    variance: Float[np.ndarray, "row case"]
    removed: Float[np.ndarray, "annotator row case"]
    information: Float[np.ndarray, "annotator case"]
    effective: Float[np.ndarray, "annotator case"]
    by_draw: Float[np.ndarray, "classifier draw"]
    chain: Int[np.ndarray, " draw"]


@dataclass(frozen=True, eq=False)
class Bank:
    """Simulated further annotations of some cases.

    Attributes
    ----------
    cases
        Positions of the cases.
    mean, variance
        Of the metric of each case after so many annotations.
    effective
        Effective number of draws behind these.
    information
        Expected information of so many annotations, in nats.
    """

    cases: Int[np.ndarray, " chosen"]
    mean: Float[np.ndarray, "chosen annotation replicate row"]
    variance: Float[np.ndarray, "chosen annotation replicate row"]
    effective: Float[np.ndarray, "chosen annotation"]
    information: Float[np.ndarray, "chosen annotation"]


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
    """Check a posterior, predictions and the metric, and put the question.

    ``pairs`` is a function of the names of the classifiers to pairs of them.
    """
    annotations = annotations_of(posterior)
    n_classes = annotations.n_classes
    named = named_predictions({} if predictions is None else predictions, logits)
    lined_up = tuple(line_up(given, annotations) for given in named.values())
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
    return Source(posterior, annotations, names, lined_up, question, seed)


def value(source: Source, *, progress: bool = False) -> Values:
    """Value one more label of every case."""
    question, n_cases = source.question, source.n_cases
    ranges = Ranges(source.posterior, source.seed)
    _check_draws(ranges.n_draws)
    n_rows, n_annotators = len(source.labels), len(question.annotators)
    found = {
        "mean": np.empty((n_rows, n_cases), np.float32),
        "variance": np.empty((n_rows, n_cases), np.float32),
        "removed": np.empty((n_annotators, n_rows, n_cases), np.float32),
        "information": np.empty((n_annotators, n_cases), np.float32),
        "effective": np.empty((n_annotators, n_cases), np.float32),
    }
    total = np.zeros((len(source.names), ranges.n_draws))
    program = partial(value_block, question=question)
    with Progress(progress) as bars:
        advance = bars.task("Valuing", n_cases, "cases")
        for number, cases in enumerate(ahead(iter(ranges))):
            if number:
                release_memory()
            given = _Given(source, cases, np.arange(len(cases)))
            blocks = cases.blocks(_room(source, n_rows))
            name = value_block, *question, *_counts(question)
            for part, made in run(name, program, blocks.parts, lambda at, b=blocks, g=given: (b.block(at), g.of(at))):
                total += made.pop("total")
                for key, values in made.items():
                    found[key][..., cases.cases.start + part.at] = values[..., : len(part.at)]
            advance(len(cases))
    for row, case in np.argwhere(~np.isfinite(found["mean"]))[:1]:
        raise ArgumentError(
            f"the metric must be finite in every draw, but it is not for case {str(source.annotations.cases[case])!r} "
            f"and classifier {source.labels[row][0]!r}: write it so that it is, for example with jnp.where."
        )
    chain = np.repeat(np.arange(ranges.n_chains), ranges.draws_per_chain)
    return Values(**found, by_draw=total / n_cases, chain=chain)


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
    question = source.question
    order = np.argsort(cases)
    wanted, settings = cases[order], np.array(question.annotators, np.float32)[asked[order]]
    n_rows = len(source.labels)
    found = {
        "mean": np.empty((len(cases), most, replicates, n_rows), np.float32),
        "variance": np.empty((len(cases), most, replicates, n_rows), np.float32),
        "effective": np.empty((len(cases), most), np.float32),
        "information": np.empty((len(cases), most), np.float32),
    }
    program = partial(several_block, question=question, most=most, replicates=replicates)
    name = several_block, *question, *_counts(question), most, replicates
    ranges = Ranges(source.posterior, source.seed)
    bounds = [(at, *np.searchsorted(wanted, [at.start, at.stop])) for at in ranges.slices]
    bounds = [own for own in bounds if own[1] < own[2]]
    with Progress(progress) as bars:
        advance = bars.task("Simulating annotations", len(cases), "cases")
        for cases_read, (at, first, end) in zip(ahead(ranges.read(at) for at, *_ in bounds), bounds, strict=True):
            chosen = wanted[first:end] - at.start
            given = _Given(source, cases_read, chosen, settings[first:end])
            blocks = cases_read.blocks(_room(source, n_rows), cases=chosen)
            for part, made in run(name, program, blocks.parts, lambda at, b=blocks, g=given: (b.block(at), g.of(at))):
                for key, values in made.items():
                    found[key][first + part.at] = values[: len(part.at)]
            advance(len(chosen))
    back = np.argsort(order)
    return Bank(cases=cases, **{key: values[back] for key, values in found.items()})


class _Given:
    """What the programs are given besides the draws, block by block; `cases` are positions in the range."""

    def __init__(self, source: Source, cases: Range, chosen: Int[np.ndarray, " case"], settings: Any = None):
        self._cases, self._settings, question = cases, settings, source.question
        words = cases.words[Stream.PREDICTIONS][chosen] if question.break_ties == "random" else None
        own = [np.array(values[cases.cases])[chosen] for values in source.predictions]
        self._scores = self._predicted = None
        if own and question.k:
            self._predicted = np.stack([_predicted_lists(values, question.k, words).T for values in own])
        elif own:
            self._scores = np.stack(own).astype(np.float32)
        self._apart = question.apart

    def of(self, block: Part) -> dict[str, np.ndarray]:
        """Arrays of a block's cases."""
        at, cases = block.full, self._cases
        given: dict[str, np.ndarray] = {"real": (np.arange(block.size) < len(block.at)).astype(np.float32)}
        if self._predicted is not None:
            given["predicted"] = self._predicted[..., at]
            listed = np.arange(
                max(block.rung, cases.n_classes if self._apart else 0) + self._predicted[..., 0].size + 1
            )
            by_class = np.ndim(cases.concentration) > 0  # a population prior, whose plausibilities are all known
            others = np.zeros(1) if by_class else cases.concentration * np.maximum(cases.n_classes - listed, 0)
            given["cover"] = coefficients(others)
        if self._scores is not None:
            given["scores"] = self._scores[:, at]
        if self._settings is not None:
            given["power"], given["count"] = self._settings[at].T
        return given


def _room(source: Source, n_rows: int) -> int:
    """Numbers that a program holds for each pair of a case and a draw."""
    question = source.question
    dense = question.n_classes if question.apart or question.function is not None else 0
    return max(8, 2 * n_rows, question.k, 2 * dense)


def _counts(question: Question) -> tuple[Any, ...]:
    return (METRICS[question.metric].count,) if question.k and question.metric else ()


def _check_draws(n_draws: int) -> None:
    if n_draws < 2:
        raise ArgumentError(
            "the value of an annotation follows from draws of the plausibilities, but this posterior is a single "
            "point: aggregate by a model that has a posterior, such as plackett-luce."
        )
