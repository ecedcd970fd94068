"""What a range of cases gives: sums over its cases, to be added to those of others, and means by case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, UInt32

from plausibly.base.compute import Part as Block
from plausibly.base.compute import run
from plausibly.base.errors import ArgumentError
from plausibly.base.random_streams import Stream, as_key
from plausibly.evaluation._intervals import bootstrap_weights
from plausibly.evaluation._label_sums import Cases, Labels, mean_truth
from plausibly.evaluation.ambiguity import AMBIGUITY, share_entropies
from plausibly.evaluation.experts import Answers, Panels
from plausibly.evaluation.program import Plan, measure_block
from plausibly.metrics import METRICS, Metric
from plausibly.metrics.declared import LabelSpread
from plausibly.metrics.inputs import answered
from plausibly.metrics.list_metric import ranked_classes
from plausibly.metrics.risk import N_LEVELS
from plausibly.posterior.ranges import CASES, Range
from plausibly.posterior.split_remainder import coefficients

#: Draws of some cases; of these cases the predictions of each classifier, the weights, in every draw or the same in
#: all, the random keys of the clusters that they are resampled with, whether they belong to each group asked for,
#: numbers that only replicates of their sums are wanted of, and what panels of these annotators begin with.
Part = tuple[
    Range,
    Sequence[Float[np.ndarray, "case class"]],
    Float[np.ndarray, "draw case"] | None,
    UInt32[np.ndarray, "case 2"],
    Float[np.ndarray, "group case"],
    Float[np.ndarray, "number case"],
    Answers | None,
]


RISK = "risk_plausibility", "expected_risk_mean", "expected_risk_min", "expected_risk_max"  #: names in results
_TIMES = 4  # as many cases in a block where there are groups, whose sums are as large for few cases as for many


@dataclass(frozen=True)
class Measures:
    """Quantities to compute for every range of cases."""

    plan: Plan
    lists: Mapping[str, tuple[str, int]]  #: metrics of ranked lists and their lengths by name in the results
    own: Mapping[str, Metric]  #: metrics of one case in one draw
    labels: Labels
    risks: Int[np.ndarray, " class"] | None
    rounds: int  #: number of bootstrap weights of a case in each draw, 0 for none
    panels: Panels | None = None  #: whose decisions are wanted, unless those of these annotators

    @property
    def names(self) -> dict[str, tuple[str, int]]:
        """Metrics and lengths by the names that they have in the results; those of one case have the length 0."""
        return {**self.lists, **{name: (name, 0) for name in self.own}}

    @property
    def rows(self) -> list[tuple[str, int]]:
        """Metrics and lengths that are summed, the rows of sums: what lists need, and metrics of one case."""
        return [*self.plan.rows, *((name, 0) for name in self.own)]


@dataclass(frozen=True)
class Totals:
    """Sums over some cases, and values of each of them.

    Groups are all of these cases, and those asked for. Rows are :attr:`Measures.rows`, and after them those of the
    metrics of labels; the point estimate is last along the draws.
    """

    #: Sums over cases; and, with replicates, the same with a sign for each case, which is that of its cluster
    sums: Float[np.ndarray, "sign group classifier row draw+1"]
    weight: Float[np.ndarray, "sign group draw+1"]  #: What to divide them by
    #: The same of means over draws, with bootstrap weights
    sampling: Float[np.ndarray, "group classifier row replicate"]
    sampling_weight: Float[np.ndarray, "group replicate"]
    sampling_numbers: Float[np.ndarray, "number replicate"]  #: The same of further numbers of each case
    #: Weight of the cases in which a panel of these annotators, of the greatest size, decides as a classifier
    these: Float[np.ndarray, "classifier draw+1"]
    #: What is known by case, in single precision; cases are last. If metrics need all cases at once, ``best`` (draw+1,
    #: case), the most plausible classes; if panels are drawn of these annotators, ``these`` (classifier, case), the
    #: share of the smallest that decide as a classifier's first choice.
    by_case: dict[str, Float[np.ndarray, "... case"]] = field(default_factory=dict)

    @classmethod
    def zeros(
        cls, shape: tuple[int, int, int], n_signs: int, n_draws: int, n_replicates: int, n_numbers: int = 0
    ) -> "Totals":
        """Sums over no cases, for so many groups, classifiers and rows."""
        sums = np.zeros((n_signs, *shape, n_draws)), np.zeros((n_signs, shape[0], n_draws))
        of_weights = np.zeros((*shape, n_replicates)), np.zeros((shape[0], n_replicates))
        return cls(*sums, *of_weights, np.zeros((n_numbers, n_replicates)), np.zeros((shape[1], n_draws)))

    def resample(
        self,
        rows: Float[np.ndarray, "classifier row case"],
        weight: Float[np.ndarray, " case"],
        members: Float[np.ndarray, "group case"],
        words: UInt32[np.ndarray, "case 2"],
        n_draws: int,
        numbers: Float[np.ndarray, "number case"] | tuple[()] = (),
    ) -> None:
        """Add some cases with the bootstrap weights of their clusters."""
        number = np.arange(self.sampling.shape[-1])
        if len(number):
            drawn = np.asarray(bootstrap_weights(words, number, n_draws))
            for at, member in enumerate(members):
                inside = slice(None) if member.all() else np.flatnonzero(member)
                self.sampling[at] += rows[..., inside] @ drawn[inside]
                self.sampling_weight[at] += weight[inside].astype(np.float32) @ drawn[inside]
            if not isinstance(numbers, tuple):
                self.sampling_numbers[:] += numbers.astype(np.float32) @ drawn


def measure(part: Part, measures: Measures) -> Totals:
    """Measure the classifiers, and the annotations themselves, on the cases of a range."""
    cases, predictions, _, words, _, numbers, _ = part
    plan, labels, n_rows, n_draws = measures.plan, measures.labels, len(measures.rows), cases.n_draws
    inputs = _Inputs(measures, part)
    uneven = np.ndim(cases.concentration) > 0
    dense = cases.n_classes if uneven or plan.panel or (plan.own and predictions) else 0
    n_groups, n_labels = len(inputs.members), len(labels.layout) if plan.best else 0
    blocks = cases.blocks(room=max(8, plan.depth, 2 * dense), times=_TIMES if n_groups > 1 else 1)
    name = (measure_block, *plan, *(METRICS[metric].count for metric, _ in plan.rows))
    shape = n_groups, len(predictions), n_rows + n_labels
    totals = Totals.zeros(shape, len(inputs.signs), n_draws + 1, measures.rounds * n_draws, len(numbers))
    of_groups = inputs.signs[:, None] * inputs.members
    totals.weight[:] = of_groups @ np.broadcast_to(inputs.weights, (len(cases), n_draws + 1))
    by_case = totals.by_case
    best = np.empty((len(cases) if plan.best else 0, n_draws + 1), np.min_scalar_type(-cases.n_classes))
    over_draws = np.zeros((len(predictions), n_rows, len(cases)))
    for block, made in run(
        name, partial(measure_block, plan=plan), blocks.parts, lambda at: (blocks.block(at), inputs.of(at))
    ):
        if "sums" in made:
            totals.sums[..., :n_rows, :] += made["sums"].transpose(2, 3, 0, 1, 4)
            over_draws[..., block.at] = made["rows"][..., : len(block.at)]
        if plan.best:
            best[block.at] = made["best"][: len(block.at)]
        if "these" in made:
            decided = made["these"][:, : len(block.at)]
            alike = decided[0, :, :-1] == inputs.first[:, block.at, None]
            by_case.setdefault("these", np.empty((len(predictions), len(cases)), np.float32))
            by_case["these"][:, block.at] = alike.mean(axis=-1)
            agree = labels.sides(decided[-1]) == inputs.choices[:, block.at, None]
            totals.these[:] += (agree * inputs.weights[block.at]).sum(axis=1)
        for key, values in _by_case(plan.sizes, made, n_draws).items():
            of_cases = by_case.setdefault(key, np.empty((*values.shape[:-1], len(cases)), np.float32))
            of_cases[..., block.at] = values[..., : len(block.at)]
    case_weight = inputs.weights[:, -1]
    by_case["metrics"] = _metrics_by_case(measures, cases.names, over_draws, case_weight * n_draws)
    if inputs.weighted:
        by_case["case_weight"] = case_weight.astype(np.float32)
    expected = (over_draws / n_draws).astype(np.float32)
    if plan.best:
        best, by_draw = labels.sides(best), inputs.weights[:, : max(1, inputs.weights.shape[1] - 1)]
        if labels.sums:
            of_labels = inputs.as_labels()
            by_group = of_labels.sums_by_draw(best, inputs.weights, of_groups.reshape(-1, len(cases)))
            totals.sums[..., n_rows:, :] = by_group.reshape(*totals.weight.shape[:2], *by_group.shape[1:])
            rows = of_labels.expected_rows(mean_truth(best[:, :-1], by_draw, labels.n_sides))
            expected = np.concatenate([expected, rows], axis=1)
        if labels.of_cases:
            by_case["best"] = best.T
    totals.resample(expected, case_weight, inputs.members, words, n_draws, numbers)
    return totals


def measure_labels(
    labels: Labels,
    predictions: Sequence[Float[np.ndarray, "case class"]],
    choices: Int[np.ndarray, "classifier case"],
    truth: Float[np.ndarray, "case side"],
    spread: LabelSpread | None,
    members: Float[np.ndarray, "group case"],
    words: UInt32[np.ndarray, "case 2"],
    replicates: int,
) -> Totals:
    """Measure the classifiers against weights of classes, which are the same in the only draw, without signs."""
    totals = Totals.zeros((len(members), len(predictions), len(labels.layout)), 1, 1, replicates)
    for first in range(0, len(truth) if labels.sums else 0, CASES):
        at = slice(first, first + CASES)
        scores = np.stack([labels.scores(np.array(values[at])) for values in predictions])
        of_some = None if spread is None else LabelSpread(*(of[at] for of in spread))
        rows = Cases(labels, scores, choices[:, at]).rows(truth[at], of_some)
        weight = truth[at].sum(axis=1)
        totals.sums[0, ..., 0] += (rows.astype(float) @ members[:, at].T).transpose(2, 0, 1)
        totals.weight[0, :, 0] += members[:, at] @ weight
        totals.resample(rows, weight, members[:, at], words[at], replicates)
    return totals


class _Inputs:
    """Inputs of the compiled program besides the draws, block by block."""

    def __init__(self, measures: Measures, part: Part):
        self._measures = measures
        self._cases, self._predictions, weights, words, member, _, self._answers = part
        cases, plan = self._cases, measures.plan
        self.weighted = weights is not None
        #: Weight of each case in every draw, and last the mean; or the same in all
        self.weights = np.ones((len(cases), 1), np.float32)
        if weights is not None:
            by_draw = np.broadcast_to(weights, (cases.n_draws, len(cases))).T
            self.weights = np.concatenate([by_draw, by_draw.mean(axis=1, keepdims=True)], axis=1)
        self.members = np.concatenate([np.ones((1, len(cases))), member])
        self.signs = np.stack([np.ones(len(cases)), 1.0 - 2 * (words[:, 1] & 1)][: 1 + (measures.rounds > 0)])
        ties = cases.words[Stream.PREDICTIONS] if plan.break_ties == "random" else None
        depth = max((k for _, k in measures.lists.values()), default=1)
        lists = [predicted_lists(values, depth, ties).T for values in self._predictions]
        #: First choices, (classifier, case)
        self.first = (
            np.stack([of_classifier[0] for of_classifier in lists]) if lists else np.empty((0, len(cases)), int)
        )
        self._predicted = np.stack(lists) if lists and measures.rows else None
        self._shares = share_entropies(cases)
        self._scores = np.stack(self._predictions).astype(np.float32) if lists and plan.own else None

    @cached_property
    def choices(self) -> Int[np.ndarray, "classifier case"]:
        """What classifiers name, in the eyes of metrics of labels."""
        return self._measures.labels.choices(list(self.first), self._predictions)

    def as_labels(self) -> Cases:
        """Predictions as metrics of labels see them."""
        labels = self._measures.labels
        return Cases(labels, np.stack([labels.scores(values) for values in self._predictions]), self.choices)

    def of(self, block: Block) -> dict[str, Any]:
        """Arrays of a block's cases, see :func:`measure_block`."""
        at, cases, risks = block.full, self._cases, self._measures.risks
        arrays: dict[str, Any] = {"shares": self._shares[:, at]}
        arrays |= {} if self._measures.panels is None else {"panels": self._measures.panels}
        arrays |= {} if self._answers is None else {"answers": self._answers.of_cases(at)}
        if self._predicted is not None:
            listed = np.arange(block.rung + self._predicted[..., 0].size + 1)
            even = not np.ndim(cases.concentration)
            others = cases.concentration * np.maximum(cases.n_classes - listed, 0) if even else np.zeros(1)
            real = np.arange(block.size) < len(block.at)
            arrays |= {"predicted": self._predicted[..., at], "cover": coefficients(others)}
            arrays |= {"signs": (self.signs[:, at] * real).astype(np.float32)}
            arrays |= {"member": self.members[1:, at].astype(np.float32)}
            arrays |= {"weights": self.weights[at].astype(np.float32)}
        if self._scores is not None:
            arrays["scores"] = self._scores[:, at]
        return arrays if risks is None else arrays | risk_arrays(risks, block.rung, cases.concentration)


def risk_arrays(
    risks: Int[np.ndarray, " class"], rung: int, concentration: float | Float[np.ndarray, " class"]
) -> dict[str, np.ndarray]:
    """Levels of the classes, and polynomials by level for each number of named classes up to ``rung``."""
    if np.ndim(concentration):  # the program splits the remainder among all classes
        return {"risks": risks.astype(np.int32), "risk": coefficients(np.zeros((N_LEVELS, 1)))}
    n_of_level = np.bincount(risks, minlength=N_LEVELS)[:, None] - np.arange(rung + 1)
    return {"risks": risks.astype(np.int32), "risk": coefficients(concentration * np.maximum(n_of_level, 0))}


def _by_case(sizes: Sequence[int], found: Mapping[str, np.ndarray], n_draws: int) -> dict[str, np.ndarray]:
    """Quantities of the cases of a block by their names in the results; cases are last."""
    named = {f"annotation_certainty_{size}": found["certain"][at] / n_draws for at, size in enumerate(sizes)}
    if "of_best" in found:
        named["risk_certainty"] = found["of_best"].max(axis=0) / n_draws
        named["risk_level_certainty"] = found["of_greatest"].max(axis=0) / n_draws
    return named | {name: found[name] for name in (*RISK, *AMBIGUITY) if name in found}


def _metrics_by_case(measures: Measures, names, sums, n_draws) -> Float[np.ndarray, "metric classifier case"]:
    rows, found = measures.rows, np.empty((len(measures.names), len(sums), len(names)), np.float32)
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing has weight
        for number, (name, (metric, k)) in enumerate(measures.names.items()):
            values = metric_sums(sums, rows, metric, k)
            # A mean over some of the draws would be another quantity, and infinities have no differences.
            for row, case in () if k else np.argwhere(~np.isfinite(values))[:1]:
                raise ArgumentError(
                    f"metric {name!r} must be finite in every draw, but it is not for case {str(names[case])!r} and "
                    f"classifier {row + 1}: write it so that it is, for example with jnp.where."
                )
            found[number] = values / n_draws
    return found


def predicted_lists(predictions, k, words) -> Int[np.ndarray, "case place"]:
    """Rank the predictions of a classifier; equal ones give equal lists, also with random ties; no answer gives -1."""
    tie_break = None if words is None else np.asarray(_uniform(words, predictions.shape[1]))
    lists = ranked_classes(predictions, k, tie_break)
    lists[~answered(predictions)] = -1
    return lists


@partial(jax.jit, static_argnames="n_classes")
def _uniform(words, n_classes):
    return jax.vmap(lambda word: jax.random.uniform(as_key(word), (n_classes,)))(jnp.asarray(words))


def list_rows(lists: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """List what is counted of ranked lists, metrics and lengths."""
    known = list(METRICS)
    ordered = sorted(lists, key=lambda one: known.index(one[0]))
    rows = list(dict.fromkeys(_row(metric, j) for metric, k in ordered for j in METRICS[metric].lengths(k)))
    for name, length in rows:
        METRICS[name].check(length)
    return rows


def _row(metric: str, length: int) -> tuple[str, int]:
    """Find the row that counts a metric: metrics that always count the same share one, since groups have many."""
    own = METRICS[METRICS[metric].averages or metric]
    if own.of_masses or length > 1:
        return own.name, length
    # Lists of one class are equal or not.
    same = (one for one in METRICS.values() if not one.of_masses)
    return next(one.name for one in same if (one.better, one.scale(1)) == (own.better, own.scale(1))), 1


def metric_sums(
    sums: Float[np.ndarray, "*classifier row n"], rows: Sequence[tuple[str, int]], metric: str, k: int
) -> Float[np.ndarray, "*classifier n"]:
    """Turn the sums of all rows into those of a metric."""

    def at(length: int) -> Float[np.ndarray, "*classifier n"]:
        return sums[..., rows.index(_row(metric, length) if k else (metric, 0)), :]

    return METRICS[metric].value(at, k) if k else at(0)


def join(parts: Iterable[Totals], n_cases: int, advance: Callable[[int], None]) -> Totals:
    """Add up what ranges gave, in their order, and put their cases one after the other."""
    names = [field.name for field in fields(Totals) if field.name != "by_case"]
    sums, by_case, at = {}, {}, 0
    for part in parts:
        for name in names:  # in place: with groups, there are tens of megabytes of each
            if name in sums:
                sums[name] += getattr(part, name)
            else:
                sums[name] = getattr(part, name)
        size = part.by_case["metrics"].shape[-1]
        for name, values in part.by_case.items():
            if name not in by_case:
                by_case[name] = np.empty((*values.shape[:-1], n_cases), values.dtype)
            by_case[name][..., at : at + size] = values
        advance(size)
        at += size
    return Totals(**sums, by_case=by_case)
