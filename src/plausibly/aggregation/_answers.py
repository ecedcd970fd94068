"""How annotators answer under a program of a user's own, whose labels need not follow the plausibilities.

The group ``posterior_predictive`` of a posterior has, computed when it is read, what such answers would be if
annotators answered again: the probability ``first_choice`` that an annotator names the class of a slot first, at each
draw, if annotators answer independently of each other given the draw; or else ``label``, the number of the class that
each annotator names, −1 for an unnamed one.
"""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from plausibly.aggregation._on_demand import OfPosterior
from plausibly.aggregation.layout import lay_out
from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.base.progress import Progress
from plausibly.base.random_streams import Stream, case_keys, generator, stream_words
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.families.settled import BY_PROGRAM, Settled
from plausibly.inference import log_answers, log_ways
from plausibly.posterior import annotations_of, case_names, slots_of
from plausibly.posterior.on_demand import outer
from plausibly.posterior.sites import site_values

GROUP, FIRST_CHOICE, LABEL = "posterior_predictive", "first_choice", "label"


def answer_probabilities(
    posterior: Posterior,
    settled: Settled,
    counts: Float[np.ndarray, "#draw slot"] | None = None,
    *,
    progress: bool = False,
) -> Float[np.ndarray, "draw slot"]:
    """Probability, at each draw, that one more annotator names a class of each slot, which sums to 1 over a case.

    ``counts`` are the labels that the case has so far, by slot, by default those that the posterior knows.
    """
    group, slots, names = posterior["posterior"], slots_of(posterior), case_names(posterior)
    draws = group["plausibility"].transpose("chain", "draw", "slot").values
    draws = draws.reshape(-1, draws.shape[-1])
    if counts is None:
        annotations = annotations_of(posterior, every=False)
        first = annotations.entry_block == 0
        named = slots.find(annotations.entry_case[first], annotations.entry_class[first])
        counts = np.bincount(named, minlength=len(slots))[None].astype(np.float32)
    sites = site_values(group, slots, names)
    sites = {name: [one.reshape(-1, *one.shape[2:]) for one in own] for name, own in sites.items()}
    prior = np.ones(len(slots))
    if not settled.borrows:
        prior = lay_out(annotations_of(posterior, every=False), settled.arguments)[1]
    numbers = settled.model.numeric(settled.arguments)
    with Progress(progress) as bars:
        given = slots, settled.program, numbers, prior, draws, sites, counts, case_keys(0, names)
        logs = log_answers(*given, progress=bars).astype(float)
    if settled.answers == "counts":
        logs += _by_case(log_ways, counts, slots)
    # What single precision leaves of the sum; a case of one slot has one answer.
    weight = np.exp(logs)
    return weight / np.add.reduceat(weight, slots.start[:-1], axis=1)[:, slots.case]


def _by_case(function: Any, values: Float[np.ndarray, "draw slot"], slots: Slots) -> Float[np.ndarray, "draw slot"]:
    parts = np.split(values, slots.start[1:-1], axis=1)
    return np.concatenate([np.asarray(function(part)) for part in parts], axis=1)


def with_answers(posterior: Posterior, observed: Annotations | Scores, settled: Settled) -> Posterior:
    """Add the group of answers, to be computed when it is read, unless annotators choose by the plausibilities."""
    groups = to_groups(posterior)
    family = settled.model.family
    replicate = getattr(family, "replicate", None)
    if GROUP in groups or isinstance(observed, Scores) or (settled.answers not in BY_PROGRAM and replicate is None):
        return posterior
    if settled.answers in ("together", "counts") and len(observed.entry_class) > observed.n_annotations:
        return posterior  # whose annotations depend on all that others rank
    coords = {name: groups["posterior"][name] for name in ("chain", "draw")}
    if settled.answers == "alone" and replicate is None:
        values = _FirstChoice(posterior, observed, settled).variable("chain", "draw", "slot")
        made = {FIRST_CHOICE: values}
    else:
        made = {LABEL: _Labels(posterior, observed, settled).variable("chain", "draw", "annotation")}
    return from_groups(groups | {GROUP: xr.Dataset(made, coords=coords)}, posterior.attrs)


class _Whole(OfPosterior):
    """An array that is computed as a whole when any of it is read."""

    def part(self, key: tuple[Any, ...]) -> np.ndarray:
        if self._values is None:
            self._values = self._compute().reshape(self.shape).astype(self.dtype)
        return outer(self._values, key)

    _values: np.ndarray | None = None

    def _compute(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def _sizes(self) -> tuple[int, int]:
        sizes = self._posterior["posterior"].sizes
        return sizes["chain"], sizes["draw"]


class _FirstChoice(_Whole):
    @property
    def shape(self) -> tuple[int, ...]:
        return (*self._sizes, self._posterior["posterior"].sizes["slot"])

    def _compute(self) -> np.ndarray:
        return answer_probabilities(self._posterior, self._settled, np.zeros((1, self.shape[-1]), np.float32))


class _Labels(_Whole):
    def __init__(self, posterior: Posterior, observed: Annotations | Scores, settled: Settled):
        super().__init__(posterior, observed, settled)
        self.dtype = np.dtype(np.int32)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self._sizes, len(self._observed.annotation_case))

    def _compute(self) -> Int[np.ndarray, "draw annotation"]:
        """Draw label after label of every case, each given those before it."""
        if (replicate := getattr(self._settled.model.family, "replicate", None)) is not None:
            return np.asarray(replicate(self._posterior, self._observed, self._settled))
        slots, case = slots_of(self._posterior), self._observed.annotation_case
        random = [generator(word) for word in stream_words(case_keys(0, self._observed.cases))[Stream.REPLICATES]]
        n_draws = self.shape[0] * self.shape[1]
        counts, out = np.zeros((n_draws, len(slots)), np.float32), np.empty((n_draws, len(case)), int)
        place = np.arange(len(case)) - np.searchsorted(case, case)
        for number in range(int(place.max(initial=-1)) + 1):
            weight = answer_probabilities(self._posterior, self._settled, counts)
            for annotation in np.flatnonzero(place == number).tolist():
                own = slice(*slots.start[case[annotation] : case[annotation] + 2])
                below = np.cumsum(weight[:, own], axis=1)[:, :-1]
                chosen = (random[case[annotation]].random(n_draws)[:, None] > below).sum(1) + own.start
                counts[np.arange(n_draws), chosen] += 1
                out[:, annotation] = slots.class_index[chosen]
        return out
