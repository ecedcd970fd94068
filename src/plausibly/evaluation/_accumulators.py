"""What accumulates over slices of cases: counts of ranked lists, coverage, metrics of the user's own."""

from collections.abc import Mapping, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations import Slots
from plausibly.evaluation._slices import Part
from plausibly.metrics._counts import count, scale
from plausibly.metrics._user import Metric, map_draws
from plausibly.posterior._split_remainder import dirichlet
from plausibly.random_streams import Stream, generator

_NUMBERS = 2**22  # Plausibilities of single classes in memory at once.

Weights = Float[np.ndarray, "case draw"]


def list_rows(ks: Sequence[int]) -> list[tuple[str, int]]:
    """What is counted of ranked lists: metrics and lengths."""
    rows = [("overlap", j) for j in range(1, max(ks) + 1)]
    rows += [(metric, k) for k in ks for metric in ("accuracy", "set_accuracy", "kendall_tau", "spearman_footrule")]
    return list(dict.fromkeys(rows))


def list_metric(
    counts: Float[np.ndarray, "classifier row n"], ks: Sequence[int], metric: str, k: int
) -> Float[np.ndarray, "classifier n"]:
    """Sums of a metric, from the counts of :func:`list_rows`."""
    if metric == "average_overlap":
        return sum(list_metric(counts, ks, "overlap", j) for j in range(1, k + 1)) / k
    return counts[:, list_rows(ks).index((metric, k))] / scale(metric, k)


class ListTotals:
    """Metrics on ranked lists of one classifier: counts ``by_draw`` and ``by_case``, a row for each of `list_rows`.

    Without weights all of it is whole numbers, so that slices and their order leave no trace.
    """

    def __init__(self, predicted: Int[np.ndarray, "place case"], ks: Sequence[int], n_draws: int, size: int):
        self._rows, self._size, self._predicted = tuple(list_rows(ks)), size, predicted[: max(ks)]
        self.by_draw = np.zeros((len(self._rows), n_draws))
        self.by_case = np.zeros((len(self._rows), predicted.shape[1]))

    def add(self, part: Part, lists: Int[np.ndarray, "place case draw"], weights: Weights | None) -> None:
        """Count a slice."""
        pad = self._size - len(part.cases)
        predicted = np.pad(self._predicted[:, part.cases], ((0, 0), (0, pad)), constant_values=-2)
        plausible = np.pad(lists[: len(self._predicted)], ((0, 0), (0, pad), (0, 0)), constant_values=-1)
        if weights is None:
            by_draw, by_case = (np.asarray(sums, float) for sums in _sums(predicted, plausible, self._rows))
            # The cases that only fill the shape share no class with anything: for distances that is all they can be.
            far = [scale(*row) if row[0] in ("kendall_tau", "spearman_footrule") else 0 for row in self._rows]
            by_draw -= pad * np.array(far)[:, None]
        else:
            padded = np.pad(weights, ((0, pad), (0, 0)))
            by_draw, by_case = (np.asarray(sums) for sums in _weighted_sums(predicted, plausible, padded, self._rows))
        self.by_draw += by_draw
        self.by_case[:, part.cases] = by_case[:, : len(part.cases)]


@partial(jax.jit, static_argnames="rows")
def _sums(predicted, plausible, rows):
    counts = [count(metric, predicted[:, :, None], plausible, k) for metric, k in rows]
    return jnp.stack([jnp.sum(c, axis=0) for c in counts]), jnp.stack([jnp.sum(c, axis=1) for c in counts])


@partial(jax.jit, static_argnames="rows")
def _weighted_sums(predicted, plausible, weights, rows):
    counts = [weights * count(metric, predicted[:, :, None], plausible, k) for metric, k in rows]
    return jnp.stack([jnp.sum(c, axis=0) for c in counts]), jnp.stack([jnp.sum(c, axis=1) for c in counts])


class CoverageTotals:
    """Plausibility of the classes that classifiers list, of all classifiers at once.

    ``by_draw`` and ``by_case`` are sums by classifier and length of the list.

    Classes that nobody named get Dirichlet shares of the remainder in every draw: those that some classifier lists one
    each, all others together what is left. At a point estimate they get their expected shares.
    """

    def __init__(
        self,
        predicted: Sequence[Int[np.ndarray, "place case"]],
        ks: Sequence[int],
        n_draws: int,
        slots: Slots,
        n_classes: int,
        *,
        split: bool,
    ):
        self._ks, self._split, self._slots = list(ks), split, slots
        n_cases = len(slots.start) - 1
        shape = (len(self._ks), n_draws), (len(self._ks), n_cases)
        self.by_draw, self.by_case = (np.zeros((len(predicted), *size)) for size in shape)
        key = np.arange(n_cases, dtype=np.int64) * n_classes
        listed = np.stack(predicted) + key if len(predicted) else np.empty((0, max(ks), n_cases), np.int64)
        named = np.flatnonzero(~slots.is_remainder)
        named_key = key[slots.case[named]] + slots.class_index[named]
        at = np.minimum(np.searchsorted(named_key, listed), len(named) - 1)
        self._is_named = named_key[at] == listed
        self._slot = named[at]
        others = np.unique(listed[~self._is_named])
        self._other = np.searchsorted(others, listed)
        self._other_start = np.searchsorted(others, np.append(key, key[-1] + n_classes))

    def add(self, part: Part, weights: Weights | None) -> None:
        """Add a slice."""
        if not len(self._slot):
            return
        cases = part.cases
        first = self._other_start[cases[0]]
        table = np.concatenate([part.by_slot, self._shares(part)])
        own = self._slot[..., cases] - self._slots.start[cases[0]]
        row = np.where(self._is_named[..., cases], own, len(part.by_slot) + self._other[..., cases] - first)
        for by_draw, by_case, listed in zip(self.by_draw, self.by_case, row, strict=True):
            covered = np.zeros((len(cases), part.n_draws), np.float32)
            for place in range(max(self._ks)):
                covered += table[listed[place]]
                if place + 1 in self._ks:
                    at = self._ks.index(place + 1)
                    values = covered if weights is None else covered * weights
                    by_draw[at] += values.sum(axis=0, dtype=np.float64)
                    by_case[at, cases] = values.sum(axis=1)

    def _shares(self, part: Part) -> Float[np.ndarray, "other draw"]:
        """Plausibilities of the listed classes that nobody named, one case after the other."""
        starts = self._other_start[part.cases[0] : part.cases[-1] + 2]
        out = np.zeros((starts[-1] - starts[0], part.n_draws), np.float32)
        for case in np.flatnonzero(np.diff(starts)):
            end = part.slots.start[case + 1] - 1
            rest, members = part.by_slot[end], int(part.slots.n_classes[end])
            if not part.slots.is_remainder[end] or not rest.any():
                continue
            own = slice(*(starts[case : case + 2] - starts[0]))
            n = own.stop - own.start
            if self._split:
                concentration = part.concentration * np.append(np.ones(n), members - n)
                random = generator(part.words[Stream.COVERAGE][case])
                out[own] = rest * dirichlet(random, concentration, part.n_draws)[:, :n].T
            else:
                out[own] = rest / members
        return out


class UserTotals:
    """Metrics of the user's own, for all classifiers, on plausibilities of single classes.

    ``by_draw`` and ``by_case`` are sums by metric and classifier.
    """

    def __init__(self, metrics: Mapping[str, Metric], predictions: Sequence[np.ndarray], n_draws: int):
        n_cases = len(predictions[0]) if predictions else 0
        self._metrics, self._predictions = metrics, predictions
        self.by_draw = np.zeros((len(metrics), len(predictions), n_draws))
        self.by_case = np.zeros((len(metrics), len(predictions), n_cases))

    def add(self, part: Part, weights: Weights | None) -> None:
        """Add a slice, a few cases of which are made dense at a time."""
        if not self._metrics or not self._predictions:
            return
        size = min(len(part.cases), max(1, _NUMBERS // (part.n_draws * part.n_classes)))
        for first in range(0, len(part.cases), size):
            local = np.arange(first, min(first + size, len(part.cases)))
            cases, n = part.cases[local], len(local)
            dense = jnp.asarray(np.pad(part.dense(local), ((0, 0), (0, size - n), (0, 0)), mode="edge"))
            for row, scores in enumerate(self._predictions):
                padded = np.pad(np.asarray(scores[cases], np.float32), ((0, size - n), (0, 0)), mode="edge")
                for number, metric in enumerate(self._metrics.values()):
                    values = np.asarray(map_draws(metric.function, padded, dense), np.float64)[:, :n]
                    if weights is not None:
                        values = values * weights[local].T
                    self.by_draw[number, row] += values.sum(axis=1)
                    self.by_case[number, row, cases] = values.sum(axis=0)
