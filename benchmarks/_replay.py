"""Replays: annotations that are there, hidden and revealed as a strategy asks for them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import plausibly as pb
from plausibly.base.bootstrap import CI_PROB
from plausibly.decisions.planning._annotators import how_annotators_answer
from plausibly.decisions.planning._values import ask, value
from plausibly.decisions.planning._worth import score
from plausibly.evaluation.measure import predicted_lists
from plausibly.posterior import slots_of, stacked_draws

METRIC = "top1_accuracy"
Strategy = str | Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Replay:
    """Widths of intervals, and probabilities of the right decision, by ``strategy``, ``repetition`` and ``labels``."""

    by_repetition: pd.DataFrame

    @cached_property
    def strategies(self) -> list[str]:
        """Names of the strategies."""
        return list(dict.fromkeys(self.by_repetition["strategy"]))

    def share_of_labels(self, strategy: str = "plan", than: str = "random") -> float:
        """Compute the share of the labels with which a strategy reaches the final width of another one.

        NaN if it does not reach it, or if the interval of the other strategy is no narrower in the end.
        """
        means = self.by_repetition.groupby(["strategy", "labels"], sort=False)["width"].mean()
        own, other = means[strategy], means[than]
        goal, width = other.iloc[-1], np.minimum.accumulate(own.to_numpy())
        if width[-1] > goal or goal >= other.iloc[0]:
            return float("nan")
        return float(np.interp(-goal, -width, own.index.to_numpy(float)) / other.index[-1])


@dataclass(frozen=True, eq=False)
class Hidden:
    """Cases whose annotations stand in a random order, of which the first few are visible."""

    annotations: pb.Annotations
    start: int  #: number of annotations of a case that are visible from the beginning
    order: np.ndarray  #: annotations in the order in which they become visible, case by case

    @classmethod
    def of(cls, annotations: pb.Annotations, start: int, seed: int) -> "Hidden":
        """Put the annotations of every case in a random order."""
        luck = np.random.default_rng([seed, 0x68696465]).random(annotations.n_annotations)
        return cls(annotations, start, np.lexsort((luck, annotations.annotation_case)))

    @property
    def total(self) -> np.ndarray:
        """Number of annotations of each case."""
        return np.diff(self.annotations.case_start)

    def first(self) -> np.ndarray:
        """How many annotations of each case are visible at the beginning."""
        return np.minimum(self.total, self.start)

    def choose(self, urgency: np.ndarray, visible: np.ndarray, wanted: int, random: np.random.Generator) -> np.ndarray:
        """Choose the most urgent cases with something hidden, equal ones at random."""
        left = self.total > visible
        order = np.lexsort((random.random(len(left)), -np.where(left, urgency, -np.inf)))[:wanted]
        return np.sort(order[left[order]])

    def visible(self, cases: np.ndarray, n_visible: np.ndarray) -> pb.Annotations:
        """Return what is visible of some cases."""
        of = self.annotations
        shown = np.concatenate([self.order[of.case_start[i] :][:n] for i, n in zip(cases, n_visible, strict=True)])
        number = np.repeat(np.arange(len(cases)), n_visible)
        sort = np.lexsort((of.annotation_annotator[shown], number))
        number, shown = number[sort], shown[sort]
        entries = [np.arange(*of.annotation_start[[at, at + 1]]) for at in shown]
        entry = np.concatenate(entries)
        return pb.Annotations(
            cases=of.cases[cases],
            classes=of.classes,
            annotators=of.annotators,
            anonymous=of.anonymous,
            annotation_case=number.astype(np.int32),
            annotation_annotator=of.annotation_annotator[shown],
            entry_annotation=np.repeat(np.arange(len(shown)), [len(own) for own in entries]).astype(np.int32),
            entry_class=of.entry_class[entry],
            entry_block=of.entry_block[entry],
        )


def entropy_of_means(posterior: Any) -> np.ndarray:
    """Entropy of the mean plausibilities of each case, in nats; unnamed classes share a remainder equally."""
    slots = slots_of(posterior)
    mean = stacked_draws(posterior).mean(axis=0, dtype=float)
    terms = -mean * np.log(np.maximum(mean, 1e-300) / slots.n_classes)
    return np.bincount(slots.case, terms, len(slots.start) - 1)


STRATEGIES: dict[str, Callable[..., np.ndarray]] = {
    "plan": lambda posterior, predictions, visible, worth: worth,
    "random": lambda posterior, predictions, visible, worth: np.zeros(len(visible)),
    "entropy": lambda posterior, predictions, visible, worth: entropy_of_means(posterior),
    "fewest labels": lambda posterior, predictions, visible, worth: -visible.astype(float),
}


def replay(
    hidden: Hidden,
    predictions: Mapping[str, np.ndarray],
    strategies: Sequence[Strategy],
    *,
    goal: str,
    budget: int,
    step: int,
    truth: Any = None,
    seed: int = 0,
    **given: Any,
) -> Replay:
    """Start with what is visible; then strategies choose cases, and the next annotation of each is revealed.

    The ``truth`` (case, class), or else all annotations, determine which of two classifiers is better. Arguments of
    :func:`plausibly.aggregate` follow.
    """
    world = _World(hidden, predictions, goal, {"seed": seed, "progress": False} | given)
    right = world.sign_of_pair(truth) if goal == "better" else 0.0
    every, rows = np.arange(hidden.annotations.n_cases), []
    for strategy in strategies:
        name, urgency = (strategy, STRATEGIES[strategy]) if isinstance(strategy, str) else _own(strategy)
        random = np.random.default_rng([seed, 0x7265706C])
        visible, spent = hidden.first(), 0
        seen = world.look(every, visible, urgency)
        rows.append((name, 0, *world.row(seen, right)))
        while spent < budget:
            chosen = hidden.choose(seen[2], visible, min(step, budget - spent), random)
            if not len(chosen):
                break
            visible[chosen] += 1
            for known, new in zip(seen, world.look(chosen, visible[chosen], urgency), strict=True):
                known[..., chosen] = new
            spent += len(chosen)
            rows.append((name, spent, *world.row(seen, right)))
    return Replay(pd.DataFrame(rows, columns=["strategy", "labels", "width", "right"]).assign(repetition=0))


def _own(function: Callable[..., Any]) -> tuple[str, Callable[..., np.ndarray]]:
    return function.__name__, lambda posterior, predictions, visible, worth: function(posterior, predictions)


class _World:
    """The cases, what is visible of them, and the posterior of that."""

    def __init__(self, hidden: Hidden, predictions: Mapping[str, np.ndarray], goal: str, given: dict[str, Any]):
        self._hidden, self._predictions, self._goal, self._given = hidden, dict(predictions), goal, given

    def _source(self, annotations: pb.Annotations, predictions: Mapping[str, np.ndarray]) -> tuple[Any, Any]:
        posterior = pb.aggregate(annotations, "dirichlet-categorical", **self._given)
        asked = (how_annotators_answer(posterior),)
        return posterior, ask(posterior, predictions, METRIC, None, lambda names: [(0, 1)], asked, 1, 0)

    def sign_of_pair(self, truth: Any) -> float:
        """1 if the first classifier is better, −1 if the second is, 0 for a tie."""
        if truth is None:
            found = value(self._source(self._hidden.annotations, self._predictions)[1])
            return float(np.sign(found.mean[-1].mean()))
        values = np.asarray(truth, float)
        named = [predicted_lists(scores, 1, None)[:, 0] for scores in self._predictions.values()]
        means = [(values.argmax(axis=1) == of).mean() for of in named]
        return float(np.sign(means[0] - means[1]))

    def look(self, cases: np.ndarray, visible: np.ndarray, urgency: Callable) -> tuple[np.ndarray, ...]:
        """Aggregate what is visible of some cases: means and variances of the metric, and how urgent each case is."""
        predictions = {name: values[cases] for name, values in self._predictions.items()}
        posterior, source = self._source(self._hidden.visible(cases, visible), predictions)
        values = value(source)
        found = urgency(posterior, predictions, visible, score(values, self._goal, source)[0])
        return values.mean.astype(float), values.variance.astype(float), np.asarray(found, float)

    def row(self, seen: tuple[np.ndarray, ...], right: float) -> tuple[float, float]:
        """Width of the interval, and probability of the right decision."""
        mean, variance, _ = seen
        noise = variance.sum(axis=1) / variance.shape[1] ** 2
        width = 2 * stats.norm.ppf((1 + CI_PROB) / 2) * np.sqrt(noise)
        if self._goal != "better":
            return float(width[:-1].mean()), float("nan")
        return float(width[-1]), float(stats.norm.cdf(right * mean[-1].mean() / np.sqrt(max(noise[-1], 1e-30))))
