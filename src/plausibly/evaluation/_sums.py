"""Sums of metrics over the cases of a range, and over its draws.

What is summed has one *row* each, for every classifier: counts of ranked lists (:class:`plausibly.metrics.ListMetric`),
the plausibility that the lists cover, and the user's own metrics. Without weights counts are whole numbers, so that
ranges and their order leave no trace.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from plausibly.evaluation._ranges import Range
from plausibly.metrics import METRICS, Metric
from plausibly.metrics._user import map_draws
from plausibly.posterior._split_remainder import dirichlet
from plausibly.random_streams import Stream, generator

_NUMBERS = 2**22  # plausibilities of single classes in memory at a time

Weights = Float[np.ndarray, "case draw"]
Sums = tuple[Float[np.ndarray, "group row draw"], Float[np.ndarray, "row case"]]


def count_rows(ks: Sequence[int]) -> list[tuple[str, int]]:
    """List what is counted of ranked lists: metrics and lengths."""
    counted = [metric for metric in METRICS.values() if not metric.of_masses]
    return list(dict.fromkeys((metric.name, j) for metric in counted for k in ks for j in metric.lengths(k)))


def all_rows(ks: Sequence[int], own: Mapping[str, Metric]) -> list[tuple[str, int]]:
    """List everything that is summed: metrics and lengths; metrics of the user's own have the length 0."""
    return [*count_rows(ks), *(("coverage", k) for k in ks), *((name, 0) for name in own)]


def metric_sums(
    sums: Float[np.ndarray, "classifier row n"], rows: Sequence[tuple[str, int]], metric: str, k: int
) -> Float[np.ndarray, "classifier n"]:
    """Turn the sums of all rows into those of a metric."""

    def at(length: int) -> Float[np.ndarray, "classifier n"]:
        return sums[:, rows.index((metric, length))]

    return METRICS[metric].value(at, k) if k else at(0)


def sum_counts(
    cases: Range,
    predicted: Int[np.ndarray, "place case"],
    lists: Int[np.ndarray, "place case draw"],
    rows: Sequence[tuple[str, int]],
    weights: Sequence[Weights | None],
) -> Sums:
    """Sum the counts of one classifier: over cases by each of several weights, over draws by the first of them."""
    pad = (0, cases.size - len(cases))
    predicted = np.pad(predicted, ((0, 0), pad))
    plausible = np.pad(lists[: len(predicted)], ((0, 0), pad, (0, 0)))
    found = []
    for group in weights:
        # Whole numbers stay whole, and the padding has no weight.
        padded = np.pad(np.ones((len(cases), 1), np.int32) if group is None else group, (pad, (0, 0)))
        found.append([np.asarray(sums, float) for sums in _sums(predicted, plausible, padded, tuple(rows))])
    return np.stack([by_draw for by_draw, _ in found]), found[0][1][:, : len(cases)]


@partial(jax.jit, static_argnames="rows")
def _sums(predicted, plausible, weights, rows):
    counts = [weights * METRICS[metric].count(predicted[:k, :, None], plausible[:k]) for metric, k in rows]
    return jnp.stack([jnp.sum(c, axis=0) for c in counts]), jnp.stack([jnp.sum(c, axis=1) for c in counts])


def sum_coverage(
    cases: Range,
    predicted: Sequence[Int[np.ndarray, "place case"]],
    ks: Sequence[int],
    weights: Sequence[Weights | None],
    *,
    split: bool,
) -> list[Sums]:
    """Sum the plausibility of the classes that each classifier lists, with a row for each length of the list.

    Unnamed classes get Dirichlet shares of the remainder in every draw: those that some classifier lists one each, all
    others together what is left. At a point estimate, without ``split``, they get their expected shares.
    """
    if not predicted:
        return []
    slots, start = cases.slots, cases.slots.start
    key = np.arange(len(cases), dtype=np.int64) * cases.n_classes
    listed = np.stack(predicted) + key
    named = np.flatnonzero(~slots.is_remainder)
    named_key = key[slots.case[named]] + slots.class_index[named]
    at = np.minimum(np.searchsorted(named_key, listed), len(named) - 1)
    is_named = named_key[at] == listed
    others = np.unique(listed[~is_named])
    other_start = np.searchsorted(others, np.append(key, len(cases) * cases.n_classes))
    table = np.concatenate([cases.draws, _shares(cases, other_start, others % cases.n_classes, split)])
    row = np.where(is_named, named[at], start[-1] + np.searchsorted(others, listed))
    found = []
    for own in row:
        sums = _zeros(len(ks), cases, weights)
        covered = np.zeros((len(cases), cases.n_draws), np.float32)
        for place in range(max(ks)):
            covered += table[own[place]]
            if place + 1 in ks:
                _add(sums, ks.index(place + 1), slice(None), covered, weights)
        found.append(sums)
    return found


def _shares(
    cases: Range, starts: Int[np.ndarray, " case+1"], others: Int[np.ndarray, " other"], split: bool
) -> Float[np.ndarray, "other draw"]:
    """Plausibilities of the listed classes that are not named, one case after the other."""
    slots = cases.slots
    out = np.zeros((starts[-1], cases.n_draws), np.float32)
    for case in np.flatnonzero(np.diff(starts)):
        end = slots.start[case + 1] - 1
        rest, members = cases.draws[end], int(slots.n_classes[end])
        if not slots.is_remainder[end] or not rest.any():
            continue
        own = slice(*starts[case : case + 2])
        n = own.stop - own.start
        if np.ndim(cases.concentration):
            shape = np.array(cases.concentration)
            shape[slots.class_index[slots.start[case] : end]] = 0
            concentration = np.append(shape[others[own]], 0)
            concentration[-1] = max(shape.sum() - concentration.sum(), 0)
        else:
            concentration = cases.concentration * np.append(np.ones(n), members - n)
        if split:
            random = generator(cases.words[Stream.COVERAGE][case])
            out[own] = rest * dirichlet(random, concentration, cases.n_draws)[:, :n].T
        else:
            out[own] = rest * (concentration[:n] / concentration.sum())[:, None]
    return out


def sum_own(
    cases: Range,
    metrics: Mapping[str, Metric],
    predictions: Sequence[Float[np.ndarray, "case class"]],
    weights: Sequence[Weights | None],
) -> list[Sums]:
    """Sum the user's own metrics of each classifier, on plausibilities of single classes, a few cases at a time."""
    found = [_zeros(len(metrics), cases, weights) for _ in predictions]
    if not metrics or not predictions:
        return found
    size = min(cases.size, max(1, _NUMBERS // (cases.n_draws * cases.n_classes)))
    for first in range(0, len(cases), size):
        some = np.arange(first, min(first + size, len(cases)))
        padding = (0, size - len(some))
        dense = jnp.asarray(np.pad(cases.dense(some), ((0, 0), padding, (0, 0)), mode="edge"))
        for predicted, sums in zip(predictions, found, strict=True):
            padded = np.pad(np.asarray(predicted[some], np.float32), (padding, (0, 0)), mode="edge")
            for row, metric in enumerate(metrics.values()):
                values = np.asarray(map_draws(metric.function, padded, dense), np.float64)[:, : len(some)]
                _add(sums, row, some, values.T, weights)
    return found


def _zeros(n_rows: int, cases: Range, weights: Sequence[Weights | None]) -> Sums:
    return np.zeros((len(weights), n_rows, cases.n_draws)), np.zeros((n_rows, len(cases)))


def _add(sums: Sums, row: int, some: Any, values: Float[np.ndarray, "some draw"], weights: Sequence[Weights | None]):
    """Add the values of some of the cases to a row: over cases by each of the weights, over draws by the first."""
    for number, group in enumerate(weights):
        weighted = values if group is None else values * group[some]
        sums[0][number, row] += weighted.sum(axis=0, dtype=np.float64)
        if not number:
            sums[1][row, some] = weighted.sum(axis=1)
