"""What a range of cases gives: sums over its cases, to be added to those of others, and means by case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, UInt32

from plausibly.base.compute import Part as Block
from plausibly.base.compute import run
from plausibly.base.errors import ArgumentError
from plausibly.base.random_streams import Stream, as_key
from plausibly.evaluation._label_sums import Cases, Labels, mean_truth
from plausibly.evaluation.ambiguity import AMBIGUITY, share_entropies
from plausibly.evaluation.program import Plan, measure_block
from plausibly.metrics import METRICS, Metric
from plausibly.metrics.inputs import answered
from plausibly.metrics.list_metric import ranked_classes
from plausibly.metrics.risk import N_LEVELS
from plausibly.posterior.ranges import CASES, Range
from plausibly.posterior.split_remainder import coefficients

#: Draws of some cases; of these cases the predictions of each classifier, the weights, in every draw or the same in
#: all, the random keys of the clusters that they are resampled with, and whether they belong to each group asked for.
Part = tuple[
    Range,
    Sequence[Float[np.ndarray, "case class"]],
    Float[np.ndarray, "draw case"] | None,
    UInt32[np.ndarray, "case 2"],
    Float[np.ndarray, "group case"],
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

    @property
    def names(self) -> dict[str, tuple[str, int]]:
        """Metrics and lengths by the names that they have in the results; those of one case have the length 0."""
        return {**self.lists, **{name: (name, 0) for name in self.own}}

    @property
    def rows(self) -> list[tuple[str, int]]:
        """Metrics and lengths that are summed, the rows of sums: what lists need, and metrics of one case."""
        counts, amounts = list_rows(self.lists.values())
        return [*counts, *amounts, *((name, 0) for name in self.own)]


@dataclass(frozen=True)
class Totals:
    """Sums over some cases, and values of each of them."""

    #: Sums over these cases of every row (:attr:`Measures.rows`), for all of them and for each group asked
    #: for, and after them those of the metrics of labels; the point estimate is last along the draws
    sums: Float[np.ndarray, "group classifier row draw+1"]
    weight: Float[np.ndarray, "group draw+1"]  #: What to divide them by
    #: The same of means over draws, with bootstrap weights
    sampling: Float[np.ndarray, "group classifier row replicate"]
    sampling_weight: Float[np.ndarray, "group replicate"]
    #: The same by draw, with a sign for each case, which is that of its cluster
    signed: Float[np.ndarray, "group classifier row draw"]
    signed_weight: Float[np.ndarray, "group draw"]
    #: What is known by case, in single precision; cases are last. If metrics need all cases at once, ``best`` (draw+1,
    #: case), the most plausible classes.
    by_case: dict[str, Float[np.ndarray, "... case"]]


def measure(part: Part, measures: Measures) -> Totals:
    """Measure the classifiers, and the annotations themselves, on the cases of a range."""
    cases, predictions, *_, member = part
    plan, rows, labels = measures.plan, measures.rows, measures.labels
    inputs = _Inputs(measures, part)
    uneven = np.ndim(cases.concentration) > 0
    dense = cases.n_classes if uneven or (plan.own and predictions) else 0
    blocks = cases.blocks(room=max(8, plan.depth, 2 * dense, plan.rounds), times=_TIMES if plan.n_by else 1)
    name = (measure_block, *plan, *(METRICS[metric].count for metric, _ in (*plan.counts, *plan.amounts)))
    n_groups = 1 + plan.n_by
    n_labels = len(labels.layout) if plan.best else 0
    totals, sums = _zeros(n_groups, len(predictions), len(rows), n_labels, len(plan.counts), cases.n_draws, plan.rounds)
    by_case: dict[str, np.ndarray] = {}
    kept = len(cases) if plan.n_by or plan.best else 0
    resampled = np.empty((kept, plan.rounds, cases.n_draws), np.float32)
    best = np.empty((len(cases) if plan.best else 0, cases.n_draws + 1), np.min_scalar_type(-cases.n_classes))
    for block, made in run(
        name, partial(measure_block, plan=plan), blocks.parts, lambda at: (blocks.block(at), inputs.of(at))
    ):
        for key in sums.keys() & made.keys():  # in place, as there are a hundred blocks
            values = made[key] if key.startswith("weight") else made[key].swapaxes(0, 1)
            sums[key][: len(values)] += values
        if over_draws := [made[f"{kind}_by_case"] for kind in ("counts", "amounts") if f"{kind}_by_case" in made]:
            made["rows"] = np.concatenate([parts.sum(axis=1, dtype=float) for parts in over_draws], axis=1)
        if "resampled" in made:
            resampled[block.at] = made["resampled"].swapaxes(0, 1)[: len(block.at)]
        if "best" in made:
            best[block.at] = made["best"][: len(block.at)]
        for key, values in _by_case(plan.sizes, made, cases.n_draws).items():
            of_cases = by_case.setdefault(key, np.empty((*values.shape[:-1], len(cases))))
            of_cases[..., block.at] = values[..., : len(block.at)]
    case_weight = by_case.get("case_weight", np.ones(len(cases)))
    over_draws = by_case.pop("rows", np.empty((len(predictions) if not rows else 0, len(rows), len(cases))))
    bootstrap = resampled.reshape(len(resampled), plan.rounds * cases.n_draws)
    if plan.rounds:
        for at, of_group in enumerate(member, n_groups - plan.n_by):
            inside = np.flatnonzero(of_group)
            # In the compiled program, whose shapes are fixed, all cases would take part in the sums of every group.
            means = (over_draws[..., inside] / cases.n_draws).astype(np.float32)
            totals["sampling"][at, :, : len(rows)] = means @ bootstrap[inside]
            totals["sampling_weight"][at] = case_weight[inside].astype(np.float32) @ bootstrap[inside]
    by_case["metrics"] = _metrics_by_case(measures, cases.names, over_draws, case_weight * cases.n_draws)
    by_case = {key: values.astype(np.float32) for key, values in by_case.items()}
    if plan.best:
        best, groups = labels.sides(best), [np.ones(len(cases)), *member]
        at = [0, *range(n_groups - plan.n_by, n_groups)]
        for key, values in _of_labels(labels, inputs, best, groups, bootstrap).items():
            totals[key][at, :, len(rows) :] = values
        if labels.of_cases:
            by_case["best"] = best.T
    return Totals(by_case=by_case, **totals)


def _of_labels(
    labels: Labels,
    inputs: "_Inputs",
    best: Int[np.ndarray, "case draw+1"],
    groups: Sequence[Float[np.ndarray, " case"]],
    resampled: Float[np.ndarray, "case replicate"],
) -> dict[str, np.ndarray]:
    """Sums of the rows of metrics of labels over the cases of each group, as in :class:`Totals`."""
    if not labels.sums:
        return {}
    cases = inputs.as_labels(labels)
    weights = np.ones((len(best), 1)) if inputs.weights is None else inputs.weights
    draws, point = best[:, :-1], best[:, -1:]
    signs = [inputs.sign * group for group in groups] if resampled.size else []
    by_draw = cases.sums_by_draw(draws, weights, [*groups, *signs])
    at_point = cases.sums_by_draw(point, weights.mean(axis=1, keepdims=True), groups)
    found = {"sums": np.concatenate([by_draw[: len(groups)], at_point], axis=-1)}
    if resampled.size:
        rows = cases.expected_rows(mean_truth(draws, weights, labels.n_sides))
        chosen = [np.flatnonzero(group) for group in groups]
        found["sampling"] = np.stack([rows[..., inside] @ resampled[inside] for inside in chosen])
        found["signed"] = by_draw[len(groups) :]
    return found


def _zeros(
    n_groups: int, n_classifiers: int, n_rows: int, n_labels: int, n_counts: int, n_draws: int, rounds: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Arrays of :class:`Totals` to add to, and the parts of them that each sum of :func:`measure_block` is added to.

    Replicate r belongs to the draw r modulo the number of draws.
    """
    shape = n_groups, n_classifiers, n_rows + n_labels
    totals = {"sums": np.zeros((*shape, n_draws + 1)), "weight": np.zeros((n_groups, n_draws + 1))}
    n_signed, n_replicates = n_draws if rounds else 0, n_draws * rounds
    totals |= {"signed": np.zeros((*shape, n_signed)), "signed_weight": np.zeros((n_groups, n_signed))}
    totals |= {"sampling": np.zeros((*shape, n_replicates)), "sampling_weight": np.zeros((n_groups, n_replicates))}
    by_round = totals["sampling"].reshape(*shape, rounds, n_draws)
    sums = {"weight": totals["weight"][:, :-1], "weight_point": totals["weight"][:, -1]}
    sums |= {"weight_signed": totals["signed_weight"]}
    sums |= {"weight_sampling": totals["sampling_weight"].reshape(n_groups, rounds, n_draws)}
    parts = {"": totals["sums"][..., :-1], "_point": totals["sums"][..., -1]}
    for of, array in (parts | {"_sampling": by_round, "_signed": totals["signed"]}).items():
        sums |= {f"counts{of}": array[:, :, :n_counts], f"amounts{of}": array[:, :, n_counts:n_rows]}
    return totals, sums


class _Inputs:
    """Inputs of the compiled program besides the draws, block by block."""

    def __init__(self, measures: Measures, part: Part):
        self._measures = measures
        self._cases, self._predictions, weights, self._cluster_words, self._member = part
        cases, plan = self._cases, measures.plan
        self.weights = None if weights is None else np.broadcast_to(weights, (cases.n_draws, len(cases))).T
        self.sign = 1.0 - 2 * (self._cluster_words[:, 1] & 1)
        words = cases.words[Stream.PREDICTIONS] if plan.break_ties == "random" else None
        depth = max((k for _, k in measures.lists.values()), default=1)
        lists = [predicted_lists(values, depth, words).T for values in self._predictions]
        self._first = [of_classifier[0] for of_classifier in lists]
        self._predicted = np.stack(lists) if lists and measures.rows else None
        self._shares = share_entropies(cases)
        self._scores = np.stack(self._predictions).astype(np.float32) if lists and plan.own else None

    def as_labels(self, labels: Labels) -> Cases:
        """Predictions as metrics of labels see them."""
        scores = np.stack([labels.scores(values) for values in self._predictions])
        return Cases(labels, scores, labels.choices(self._first, self._predictions))

    def of(self, block: Block) -> dict[str, np.ndarray]:
        """Arrays of a block's cases, see :func:`measure_block`."""
        at, cases, plan, risks = block.full, self._cases, self._measures.plan, self._measures.risks
        arrays: dict[str, np.ndarray] = {"real": (np.arange(block.size) < len(block.at)).astype(np.int32)}
        arrays["shares"] = self._shares[:, at]
        if self._predicted is not None:
            arrays["predicted"] = self._predicted[..., at]
            listed = np.arange(block.rung + self._predicted[..., 0].size + 1)
            even = not np.ndim(cases.concentration)
            others = cases.concentration * np.maximum(cases.n_classes - listed, 0) if even else np.zeros(1)
            arrays["cover"] = coefficients(others)
        if plan.rounds:
            arrays["cluster"] = self._cluster_words[at]
        if plan.n_by:
            arrays["member"] = self._member[:, at]
        if self._scores is not None:
            arrays["scores"] = self._scores[:, at]
        if self.weights is not None:
            arrays["weights"] = self.weights[at]
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
    return named | {name: found[name] for name in (*RISK, *AMBIGUITY, "case_weight", "rows") if name in found}


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


def list_rows(lists: Iterable[tuple[str, int]]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """List what is summed of ranked lists, metrics and lengths: in whole numbers, and in floats.

    The latter are sums of masses, and counts of which 32 bits do not hold the sum over as many cases as are read at a
    time.
    """
    known = list(METRICS)
    ordered = sorted(lists, key=lambda one: known.index(one[0]))
    rows = dict.fromkeys(_row(metric, j) for metric, k in ordered for j in METRICS[metric].lengths(k))
    whole = {(name, length): METRICS[name].is_whole(length, CASES) for name, length in rows}
    return [row for row in rows if whole[row]], [row for row in rows if not whole[row]]


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
