"""Evaluating classifiers against a posterior: every metric by draw, by case and at the point estimate."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly._keys import case_keys
from plausibly._ranking import rank_slots
from plausibly._risk import level_plausibility
from plausibly._streams import Stream, Words, as_key, select, stream_words
from plausibly.annotations import read_risks
from plausibly.metrics._inputs import check_size, check_ties
from plausibly.metrics._lists import hits, ranked_classes, set_certainty, shared_counts
from plausibly.posterior import annotations_of, slots_of, stacked_draws
from plausibly.predictions import read_predictions

METRICS = ("accuracy", "set_accuracy", "overlap", "average_overlap")
INTERVAL = 0.94
RISK_LEVELS = 3

_PAIRS = 2**19  # Pairs of a draw and a case in memory at once.


def evaluate(
    posterior: Posterior,
    predictions: Mapping[str, Any],
    *,
    k: int | Sequence[int] = (1, 2, 3),
    risks: Any = None,
    ties: Literal["order", "random"] = "order",
    seed: int = 0,
) -> xr.Dataset:
    """Measure classifiers, and the annotations themselves, against draws of the plausibilities.

    Parameters
    ----------
    posterior
        From :func:`plausibly.aggregate` or :func:`plausibly.posterior.load`.
    predictions
        Scores of each classifier by its name: an array (case, class), a data frame, or a path that
        :func:`plausibly.read_predictions` understands. It may be empty.
    k
        Lengths of the lists, each at most the number of classes.
    risks
        Risk level of each class, 0 (low), 1 or 2 (high), in any form that :func:`plausibly.read_risks` understands.
    ties
        Equal scores, and equal plausibilities, in class order (``"order"``) or at random (``"random"``).
    seed
        Of the split of the remainder among the unnamed classes, and of random ties.

    Returns
    -------
    xarray.Dataset
        For each k, with X one of ``accuracy``, ``set_accuracy``, ``overlap`` and ``average_overlap``:
        ``top{k}_X`` (classifier, draw), the mean over cases; ``top{k}_X_by_case`` (classifier, case), the mean over
        draws; ``top{k}_X_point`` (classifier), at the model's point estimate. ``annotation_certainty_1`` to ``_3``
        (case). With ``risks``: ``risk_certainty`` (case), the share of draws that agree on the risk of the most
        plausible class; ``risk_plausibility`` (case, risk_level), the mean over draws; ``expected_risk_mean``,
        ``_min`` and ``_max`` over draws (case). Draws are those of all chains, one after the other.

    Raises
    ------
    ArgumentError
        If ``k`` or ``ties`` is out of range.
    PredictionError
        If predictions do not fit the cases or classes, or are not finite.
    FileError
        If a file cannot be read.
    AnnotationError
        If ``risks`` do not fit the classes.

    References
    ----------
    Stutz et al. (2025), sections 2.4, 2.5 and 3.3, arXiv 2307.02191.

    Examples
    --------
    >>> from plausibly.annotations import Annotations, Slots
    >>> from plausibly.posterior import build_posterior
    >>> annotations = Annotations.from_rankings([[[["b"], ["a"]]]], classes=["a", "b", "c"])
    >>> draws = np.array([[[0.6, 0.3, 0.1], [0.4, 0.5, 0.1]]])
    >>> posterior = build_posterior(draws, annotations, Slots.of(annotations), point=[0.4, 0.6, 0], concentration=1.0)
    >>> results = evaluate(posterior, {"A": np.array([[0.2, 0.7, 0.1]])}, k=(1, 2))
    >>> results["top1_accuracy"].values.tolist(), results["top1_accuracy_point"].values.tolist()
    ([[0.0, 1.0]], [1.0])
    """
    annotations = annotations_of(posterior)
    n_classes, n_cases = annotations.n_classes, annotations.n_cases
    ks = [check_size("k", size, n_classes) for size in ([k] if np.ndim(k) == 0 else k)]
    check_ties(ties)
    words = stream_words(case_keys(seed, annotations.cases))
    risks = None if risks is None else np.asarray(read_risks(risks, annotations.classes))
    depth, sizes = max([*ks, 1]), range(1, min(3, n_classes) + 1)
    names = [str(name) for name in predictions]
    predicted = [
        _predicted_lists(read_predictions(source, annotations), depth, words if ties == "random" else None)
        for source in predictions.values()
    ]

    draws, point = stacked_draws(posterior), posterior["constant_data"]["point_plausibility"].values[None]
    totals = [_Totals(len(draws), n_cases, depth) for _ in names]
    point_totals = [_Totals(1, n_cases, depth) for _ in names]
    certainty = np.empty((len(sizes), n_cases), np.float32)
    risk = None if risks is None else _Risk(n_cases, risks)
    for cases, lists in _ranked_slices(posterior, draws, max(depth, *sizes), ties, words):
        for total, ranked in zip(totals, predicted, strict=True):
            total.add(cases, ranked, lists[..., :depth])
        padded = _pad_cases(lists, _slice_size(len(draws), n_cases))
        for row, size in enumerate(sizes):
            found = set_certainty(padded[..., :size], n_classes)
            certainty[row, cases] = np.asarray(found)[: len(cases)]
        if risk is not None:
            risk.add(posterior, draws, cases, lists[..., 0], words)
    if names:
        for cases, lists in _ranked_slices(posterior, point, depth, ties, words):
            for total, ranked in zip(point_totals, predicted, strict=True):
                total.add(cases, ranked, lists)

    variables = {}
    for size in dict.fromkeys(ks):
        for metric in METRICS:
            at = [total.metric(metric, size) for total in totals]
            variables[f"top{size}_{metric}"] = ("classifier", "draw"), _stack([a[0] for a in at], len(draws))
            by_case = _stack([a[1] for a in at], n_cases).astype(np.float32)
            variables[f"top{size}_{metric}_by_case"] = ("classifier", "case"), by_case
            at_point = np.array([total.metric(metric, size)[0][0] for total in point_totals], np.float64)
            variables[f"top{size}_{metric}_point"] = ("classifier",), at_point
    for size, values in zip(sizes, certainty, strict=True):
        variables[f"annotation_certainty_{size}"] = ("case",), values
    coords = {"classifier": np.array(names, dtype=str), "draw": np.arange(len(draws)), "case": annotations.cases}
    if risk is not None:
        variables |= risk.variables()
        coords["risk_level"] = np.arange(RISK_LEVELS)
    kept = {name: posterior.attrs[name] for name in ("model", "reliability") if name in posterior.attrs}
    return xr.Dataset(variables, coords=coords, attrs=kept | {"ties": ties, "seed": seed})


def summary(results: xr.Dataset) -> pd.DataFrame:
    """Tabulate the data-set metrics of an evaluation.

    Parameters
    ----------
    results
        From :func:`evaluate`.

    Returns
    -------
    pandas.DataFrame
        One row per classifier and metric: ``mean``, ``sd``, equal-tailed 94 % interval (``lower``, ``upper``), greatest
        and least value (``best``, ``worst``) over the draws, and ``point``, the value at the model's point estimate.

    Examples
    --------
    >>> accuracy = xr.DataArray([[0.5, 0.7]], dims=("classifier", "draw"), coords={"classifier": ["A"]})
    >>> table = summary(xr.Dataset({"top1_accuracy": accuracy, "top1_accuracy_point": accuracy[:, 0]}))
    >>> table[["classifier", "metric", "mean", "point"]].values.tolist()
    [['A', 'top1_accuracy', 0.6, 0.5]]
    """
    tail = (1 - INTERVAL) / 2
    rows = []
    for position, classifier in enumerate(results["classifier"].values):
        for metric, variable in results.data_vars.items():
            if variable.dims != ("classifier", "draw"):
                continue
            values = variable.values[position]
            lower, upper = np.quantile(values, [tail, 1 - tail])
            rows.append(
                {
                    "classifier": str(classifier),
                    "metric": metric,
                    "mean": values.mean(),
                    "sd": values.std(ddof=1) if len(values) > 1 else 0.0,
                    "lower": lower,
                    "upper": upper,
                    "best": values.max(),
                    "worst": values.min(),
                    "point": float(results[f"{metric}_point"].values[position]),
                }
            )
    columns = ["classifier", "metric", "mean", "sd", "lower", "upper", "best", "worst", "point"]
    return pd.DataFrame(rows, columns=columns)


class _Totals:
    """Counts of one classifier, whole numbers throughout, so that slices and their order leave no trace in them."""

    def __init__(self, n_draws: int, n_cases: int, depth: int):
        self.n_draws, self.n_cases = n_draws, n_cases
        self.by_draw = np.zeros((3, n_draws, depth), np.int64)
        self.by_case = np.zeros((3, n_cases, depth), np.int64)

    def add(self, cases, predicted, plausible):
        size = _slice_size(self.n_draws, self.n_cases)
        by_draw, by_case = _count(
            np.pad(predicted[cases], ((0, size - len(cases)), (0, 0)), constant_values=-2), _pad_cases(plausible, size)
        )
        self.by_draw += np.asarray(by_draw)
        self.by_case[:, cases] = np.asarray(by_case)[:, : len(cases)]

    def metric(self, metric, k):
        return self._of(metric, k, self.by_draw, self.n_cases), self._of(metric, k, self.by_case, self.n_draws)

    @staticmethod
    def _of(metric, k, counts, n):
        hit, equal, shared = counts[..., :k]
        if metric == "accuracy":
            return hit[:, -1] / n
        if metric == "set_accuracy":
            return equal[:, -1] / n
        if metric == "overlap":
            return shared[:, -1] / (n * k)
        return (shared / np.arange(1, k + 1)).sum(axis=1) / (n * k)


@jax.jit
def _count(predicted, plausible):
    """Hits, equal sets and shared classes at every length, summed over cases and over draws."""
    shared = shared_counts(predicted, plausible)
    equal = shared == jnp.arange(1, shared.shape[-1] + 1)
    hit = hits(predicted, plausible)
    by_draw = jnp.stack([jnp.sum(counts, axis=1, dtype=jnp.int32) for counts in (hit, equal, shared)])
    by_case = jnp.stack([jnp.sum(counts, axis=0, dtype=jnp.int32) for counts in (hit, equal, shared)])
    return by_draw, by_case


class _Risk:
    """Risk of each case, slice by slice."""

    def __init__(self, n_cases: int, risks: Int[np.ndarray, " class"]):
        self.risks = risks
        self.certainty = np.empty(n_cases, np.float32)
        self.plausibility = np.empty((n_cases, RISK_LEVELS), np.float32)
        self.expected = np.empty((3, n_cases), np.float32)

    def add(self, posterior, draws, cases, best, words):
        of_best = self.risks[best]
        frequency = np.stack([(of_best == level).mean(axis=0) for level in range(RISK_LEVELS)])
        self.certainty[cases] = frequency.max(axis=0)
        levels = level_plausibility(
            draws,
            slots_of(posterior),
            cases,
            select(words, cases),
            self.risks,
            n_levels=RISK_LEVELS,
            concentration=float(posterior.attrs["concentration"]),
        )
        self.plausibility[cases] = levels.mean(axis=0)
        expected = levels @ np.arange(RISK_LEVELS, dtype=np.float32)
        self.expected[:, cases] = expected.mean(axis=0), expected.min(axis=0), expected.max(axis=0)

    def variables(self):
        mean, least, greatest = self.expected
        return {
            "risk_certainty": (("case",), self.certainty),
            "risk_plausibility": (("case", "risk_level"), self.plausibility),
            "expected_risk_mean": (("case",), mean),
            "expected_risk_min": (("case",), least),
            "expected_risk_max": (("case",), greatest),
        }


def _ranked_slices(
    posterior, draws: Float[np.ndarray, "draw slot"], depth: int, ties: str, words: Words
) -> Iterator[tuple[Int[np.ndarray, " case"], Int[np.ndarray, "draw case place"]]]:
    """Positions and ranked lists of a few cases at a time."""
    slots = slots_of(posterior)
    n_cases = len(slots.start) - 1
    size = _slice_size(len(draws), n_cases)
    for first in range(0, n_cases, size):
        cases = np.arange(first, min(first + size, n_cases))
        lists = rank_slots(
            draws,
            slots,
            cases,
            select(words, cases),
            depth,
            n_classes=int(posterior.attrs["n_classes"]),
            concentration=float(posterior.attrs["concentration"]),
            ties=ties,
        )
        yield cases, lists


def _predicted_lists(scores, depth, words):
    """Rank the scores of a classifier; equal scores give equal lists, also with random ties."""
    tie_break = None
    if words is not None:
        tie_break = np.asarray(_uniform(words[Stream.PREDICTIONS], scores.shape[1]))
    return ranked_classes(scores, depth, tie_break)


@partial(jax.jit, static_argnames="n_classes")
def _uniform(words, n_classes):
    return jax.vmap(lambda word: jax.random.uniform(as_key(word), (n_classes,)))(words)


def _slice_size(n_draws: int, n_cases: int) -> int:
    """Cases per slice: slices of equal size, which compile once and hardly need padding."""
    n_slices = math.ceil(n_draws * n_cases / _PAIRS)
    return math.ceil(n_cases / n_slices)


def _pad_cases(lists, size):
    """Fill up with cases whose lists match nothing, so that all slices compile once."""
    return np.pad(lists, ((0, 0), (0, size - lists.shape[1]), (0, 0)), constant_values=-1)


def _stack(rows, length):
    return np.stack(rows) if rows else np.empty((0, length))
