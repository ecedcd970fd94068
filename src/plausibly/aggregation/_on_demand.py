"""Parts of a posterior that are computed when they are read.

Log likelihoods are as large as the draws or larger, and few readers want them: ``arviz.loo`` and
:func:`plausibly.compare_models`. Point estimates that are found by iteration take a quarter of the time of sampling,
and only evaluation and files need them.
"""

from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from plausibly.aggregation.layout import lay_out, point_estimate
from plausibly.base.arviz import Posterior, from_groups, to_groups
from plausibly.base.progress import Progress
from plausibly.base.random_streams import case_keys
from plausibly.data.annotations import Annotations, Scores
from plausibly.families import Settled
from plausibly.inference import likelihood_shapes, log_likelihood, normal_log_likelihood
from plausibly.posterior import LIKELIHOODS, slots_of
from plausibly.posterior.on_demand import Names, OnDemand, outer

_POINT = "point_plausibility"


def with_log_likelihood(
    posterior: Posterior, observed: Annotations | Scores, settled: Settled, *, progress: bool, now: bool = False
) -> Posterior:
    """Add log likelihoods, if the model has them and they are missing; computed now, or when they are read."""
    groups = to_groups(posterior)
    of_scores = isinstance(observed, Scores)
    if {*LIKELIHOODS} & groups.keys() or not settled.model.log_likelihood or settled.engine in ("point", "ml"):
        return posterior
    if of_scores and "mean" not in groups["posterior"]:  # NUTS keeps the plausibilities alone
        return posterior
    values = _LogLikelihood(posterior, observed, settled, progress).variable("chain", "draw", "annotation")
    cases = Names(observed.cases, observed.annotation_case)
    annotators = Names(observed.annotators, observed.annotation_annotator)
    coords = {name: groups["posterior"][name] for name in ("chain", "draw")}
    coords |= {"case": cases.variable("annotation"), "annotator": annotators.variable("annotation")}
    made = {settled.likelihood: xr.Dataset({"score" if of_scores else "ranking": values}, coords=coords)}
    if now:
        made[settled.likelihood].load()
    first = {name: groups.pop(name) for name in ("posterior", "sample_stats") if name in groups}
    return from_groups(first | made | groups, posterior.attrs)


def with_point_estimate(
    posterior: Posterior, observed: Annotations | Scores, settled: Settled, *, progress: bool
) -> Posterior:
    """Replace the point estimate by that of the model, computed when it is read."""
    groups = to_groups(posterior)
    values = _PointEstimate(posterior, observed, settled, progress).variable("slot")
    constants = groups["constant_data"].assign({_POINT: values})
    return from_groups(groups | {"constant_data": constants}, posterior.attrs)


class OfPosterior(OnDemand):
    """An array that is computed from draws, annotations and the model."""

    def __init__(self, posterior: Posterior, observed: Annotations | Scores, settled: Settled, progress: bool = False):
        self._posterior, self._observed, self._settled, self._progress = posterior, observed, settled, progress

    @cached_property
    def _slots(self):
        return slots_of(self._posterior)


class _PointEstimate(OfPosterior):
    """Plausibilities (slot,) of the model's point estimate."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._posterior["posterior"].sizes["slot"],)

    def part(self, key: tuple[Any, ...]) -> np.ndarray:
        return outer(self._whole, key)

    @cached_property
    def _whole(self) -> Float[np.ndarray, " slot"]:
        settled, observed = self._settled, self._observed
        keys = case_keys(0, observed.cases)  # nothing is random
        with Progress(self._progress) as bars:
            given = settled.model, observed, self._slots, settled.arguments, keys, bars, settled.shapes.point
            values = np.asarray(point_estimate(*given), np.float32)
        return np.where(np.isnan(values), self._posterior["constant_data"][_POINT].values, values)


class _LogLikelihood(OfPosterior):
    """Log probabilities (chain, draw, annotation), computed for the cases whose annotations are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        sizes = self._posterior["posterior"].sizes
        return sizes["chain"], sizes["draw"], len(self._observed.annotation_case)

    def part(self, key: tuple[Any, ...]) -> np.ndarray:
        annotation_case = self._observed.annotation_case
        wanted = np.arange(self.shape[-1])[key[-1]]
        if not np.size(wanted):
            return outer(np.empty(self.shape, self.dtype), key)
        first, last = annotation_case[wanted.min()], annotation_case[wanted.max()] + 1
        start = np.searchsorted(annotation_case, first)
        return outer(self._of_cases(int(first), int(last)), (*key[:-1], wanted - start))

    @cached_property
    def _shapes(self):
        assert isinstance(self._observed, Annotations)
        annotated = self._observed.per_case > 0
        own = self._observed.annotated, self._slots.select(annotated)
        return likelihood_shapes(*own, self.shape[0] * self.shape[1])

    def _of_cases(self, first: int, last: int) -> Float[np.ndarray, "chain draw annotation"]:
        draws, arguments = self._posterior["posterior"], self._settled.arguments
        which = np.arange(first, last)
        if isinstance(self._observed, Scores):
            by_case = {name: draws[name].values[..., which] for name in ("mean", "variance")}
            return normal_log_likelihood(self._observed.select(which), **by_case).astype(self.dtype)
        annotated = self._observed.per_case > 0
        chosen = annotated & np.isin(np.arange(len(annotated)), which)
        observed = self._observed if chosen.all() else self._observed.select(np.flatnonzero(chosen))
        slots, own = self._slots.select(chosen), slice(*self._slots.start[[first, last]])
        plausibility = draws["plausibility"][..., own].values
        if not annotated[which].all():
            plausibility = plausibility[..., annotated[self._slots.case[own]]]
        prior = np.ones(len(slots)) if self._settled.borrows else lay_out(observed, arguments)[1]
        with Progress(self._progress) as bars:
            return log_likelihood(
                observed,
                slots,
                self._settled.program,
                self._settled.model.numeric(arguments),
                prior,
                plausibility,
                case_keys(0, observed.cases),  # nothing is random
                shapes=self._shapes,
                progress=bars,
            )
