"""What a range of cases gives: sums over its cases, to be added to those of others, and means by case."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from plausibly.errors import ArgumentError
from plausibly.evaluation._metrics import metric_names
from plausibly.evaluation._ranges import Range
from plausibly.evaluation._risk import level_plausibility, risk_by_case
from plausibly.evaluation._sums import Weights, all_rows, count_rows, metric_sums, sum_counts, sum_coverage, sum_own
from plausibly.metrics import Metric
from plausibly.metrics._certainty import mode_share
from plausibly.metrics._lists import ranked_classes
from plausibly.metrics._risk import N_LEVELS
from plausibly.random_streams import Stream, as_key

#: Draws of some cases, predictions of each classifier for them, and their weights, in every draw or the same in all.
Part = tuple[Range, Sequence[Float[np.ndarray, "case class"]], Float[np.ndarray, "draw case"] | None]


@dataclass(frozen=True)
class Measures:
    """What to compute of every range.

    Attributes
    ----------
    ks, sizes, own, break_ties, risks
        As for :func:`plausibly.evaluate`, checked; ``own`` are its ``metrics``.
    by_level
        Whether to sum within the subgroup of each risk level, too.
    """

    ks: Sequence[int]
    sizes: Sequence[int]
    own: Mapping[str, Metric]
    break_ties: str
    risks: Int[np.ndarray, " class"] | None = None
    by_level: bool = False

    @property
    def names(self) -> dict[str, tuple[str, int]]:
        """Metrics and lengths by the names that they have in the results."""
        return metric_names(self.ks, self.own)


@dataclass(frozen=True)
class Found:
    """What is known of some cases.

    Attributes
    ----------
    sums
        Sums over these cases of every row (see :func:`all_rows`), for all of them and for each subgroup; the point
        estimate is last along the draws.
    weight
        What to divide them by.
    by_case
        What is known by case, in single precision; cases are last.
    """

    sums: Float[np.ndarray, "group classifier row draw+1"]
    weight: Float[np.ndarray, "group draw+1"]
    by_case: dict[str, Float[np.ndarray, "... case"]]


def measure(part: Part, asked: Measures) -> Found:
    """Measure the classifiers, and the annotations themselves, on the cases of a range."""
    cases, predictions, weights = part
    depth = max([*(asked.ks if predictions else [1]), *asked.sizes])
    lists = cases.lists(depth, asked.break_ties)
    by_case = {f"annotation_certainty_{size}": mode_share(lists[:size], cases.n_classes) for size in asked.sizes}
    groups: list[Weights | None] = [None]
    if weights is not None:
        groups = [np.ascontiguousarray(np.broadcast_to(weights, (cases.n_draws, len(cases))).T)]
    if asked.risks is not None:
        by_case |= risk_by_case(lists[0], level_plausibility(cases, asked.risks), asked.risks)
    if asked.risks is not None and asked.by_level:
        for level in range(N_LEVELS):
            member = (asked.risks[lists[0]] == level).astype(np.float32)
            groups.append(member if groups[0] is None else member * groups[0])
    means = [None if group is None else group.mean(axis=1, keepdims=True) for group in groups]
    if means[0] is not None:
        by_case["case_weight"] = means[0][:, 0]

    words = cases.words[Stream.PREDICTIONS] if asked.break_ties == "random" else None
    predicted = [_predicted_lists(values, max(asked.ks), words).T for values in predictions]
    sums, over_draws = _sums(asked, cases, lists, predictions, predicted, groups, split=True)
    point = cases.at_point()
    at_point = sums[..., :1]
    if predictions:
        best = point.lists(max(asked.ks), asked.break_ties)
        at_point, _ = _sums(asked, point, best, predictions, predicted, means, split=False)
    weight = [_total(group, len(cases), cases.n_draws) for group in groups]
    weight_at_point = [_total(mean, len(cases), 1) for mean in means]
    n_draws = cases.n_draws if groups[0] is None else groups[0].sum(axis=1, dtype=np.float64)
    by_case["metrics"] = _metrics_by_case(asked, cases.names, over_draws, n_draws)
    return Found(
        np.concatenate([sums, at_point], axis=-1),
        np.concatenate([weight, weight_at_point], axis=-1),
        {name: values.astype(np.float32) for name, values in by_case.items()},
    )


def _sums(asked, cases, lists, predictions, predicted, weights, *, split):
    """Sums of all rows for every classifier: over cases, with each of the weights; over draws, with the first."""
    rows = count_rows(asked.ks)
    counts = [sum_counts(cases, own, lists, rows, weights) for own in predicted]
    covered = sum_coverage(cases, predicted, asked.ks, weights, split=split)
    own = sum_own(cases, asked.own, predictions, weights)
    n_rows = len(all_rows(asked.ks, asked.own))
    by_draw = np.empty((len(weights), len(predictions), n_rows, cases.n_draws))
    by_case = np.empty((len(predictions), n_rows, len(cases)))
    for number, parts in enumerate(zip(counts, covered, own, strict=True)):
        np.concatenate([part for part, _ in parts], axis=1, out=by_draw[:, number])
        np.concatenate([part for _, part in parts], axis=0, out=by_case[number])
    return by_draw, by_case


def _total(weights: Weights | None, n_cases: int, n_draws: int) -> Float[np.ndarray, " draw"]:
    return np.full(n_draws, float(n_cases)) if weights is None else weights.sum(axis=0, dtype=np.float64)


def _metrics_by_case(asked, names, sums, n_draws) -> Float[np.ndarray, "metric classifier case"]:
    rows = all_rows(asked.ks, asked.own)
    found = np.empty((len(asked.names), len(sums), len(names)), np.float32)
    with np.errstate(invalid="ignore"):  # 0 / 0 where nothing has weight
        for number, (name, (metric, k)) in enumerate(asked.names.items()):
            values = metric_sums(sums, rows, metric, k)
            if not k:
                _check_finite(name, values, names)
            found[number] = values / n_draws
    return found


def _check_finite(name: str, over_draws: Float[np.ndarray, "classifier case"], cases: np.ndarray) -> None:
    """A mean over some of the draws would be another quantity, and infinities have no differences."""
    for row, case in np.argwhere(~np.isfinite(over_draws))[:1]:
        raise ArgumentError(
            f"metric {name!r} must be finite in every draw, but it is not for case {str(cases[case])!r} and "
            f"classifier {row + 1}: write it so that it is, for example with jnp.where."
        )


def _predicted_lists(predictions, k, words) -> Int[np.ndarray, "case place"]:
    """Rank the predictions of a classifier; equal ones give equal lists, also with random ties."""
    tie_break = None if words is None else np.asarray(_uniform(words, predictions.shape[1]))
    return ranked_classes(predictions, k, tie_break)


@partial(jax.jit, static_argnames="n_classes")
def _uniform(words, n_classes):
    return jax.vmap(lambda word: jax.random.uniform(as_key(word), (n_classes,)))(jnp.asarray(words))


def join(parts: Iterable[Found], n_cases: int, advance: Callable[[int], None]) -> Found:
    """Add up what ranges gave, in their order, and put their cases one after the other."""
    sums, weight, by_case, at = 0, 0, {}, 0
    for part in parts:
        sums, weight = sums + part.sums, weight + part.weight
        size = part.by_case["metrics"].shape[-1]
        for name, values in part.by_case.items():
            if name not in by_case:
                by_case[name] = np.empty((*values.shape[:-1], n_cases), np.float32)
            by_case[name][..., at : at + size] = values
        advance(size)
        at += size
    return Found(sums, weight, by_case)
