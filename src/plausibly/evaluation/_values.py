"""Values of metrics, whatever their kind, and their names in results, by group and with total noise."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from plausibly.evaluation._intervals import total_noise
from plausibly.evaluation._unseen_case import UnseenCase
from plausibly.evaluation.curves import mean_known
from plausibly.evaluation.measure import Measures, Totals, metric_sums
from plausibly.evaluation.summaries import SUFFIX, goodness
from plausibly.metrics import METRICS
from plausibly.metrics.declared import Better

_NUMBERS = 2**20  # whose total noise is computed at once


class Values(NamedTuple):
    """Values of one metric, by class and along its axes."""

    better: Better
    bounds: tuple[float, float]
    axes: tuple[str, ...]  #: Names of the axes of the values
    draws: Float[np.ndarray, "*shape classifier draw+1"]  #: Value in every draw, and last at the point estimate
    #: Value with bootstrap weights, None without
    replicates: Float[np.ndarray, "*shape classifier replicate"] | None = None
    #: Draws whose noise is independent between cases, or changes that it makes; None if there are no draws
    alone: Float[np.ndarray, "*shape classifier draw"] | None = None
    #: Replicates around the mean of the draws, for intervals; the replicates themselves if there are no draws
    around: Float[np.ndarray, "*shape classifier replicate"] | None = None
    by_case: Float[np.ndarray, "classifier case"] | None = None  #: Mean over draws, where a case has a value


def values_of_lists(measures: Measures, totals: Totals, group: int, unseen: UnseenCase | None) -> dict[str, Values]:
    """Compute means over the cases of a group: metrics of ranked lists, and of one case in one draw.

    About an unseen case, a classifier is as right, or as wrong, as the metric has it or, of a metric of one case, as
    it is about any case.
    """
    found, weight = {}, totals.weight[:, group]
    more, right = (0.0, False) if unseen is None else unseen.altogether()[::3]
    for number, (name, (metric, k)) in enumerate(measures.names.items()):
        by_case = totals.by_case["metrics"][number]
        better, bounds = (METRICS[metric].better, (0.0, 1.0)) if k else (measures.own[name].better, (-np.inf, np.inf))
        sums = metric_sums(totals.sums[:, group], measures.rows, metric, k)
        with np.errstate(invalid="ignore"):  # draws in which nothing has weight
            draws, noise = sums[0] / weight[0], ()
            if measures.rounds:
                worst, best = _ends(better, by_case, ranked=bool(k))
                means = metric_sums(totals.sampling[group], measures.rows, metric, k)
                means = means + np.where(right, best[:, None], worst[:, None]) * more
                means = means / (totals.sampling_weight[group] + more)
                centre = mean_known(draws[:, :-1])[:, None]
                noise = means, (sums[1] - centre * weight[1])[:, :-1] / weight[0, :-1], means
        found[name] = Values(better, bounds, (), draws, *noise)._replace(by_case=None if group else by_case)
    return found


def _ends(
    better: Any, by_case: Float[np.ndarray, "classifier case"], *, ranked: bool
) -> tuple[Float[np.ndarray, " classifier"], Float[np.ndarray, " classifier"]]:
    """Worst and best value in a case: 0 and 1 for lists, or else those of each classifier."""
    values = np.broadcast_to([0.0, 1.0], (len(by_case), 2)) if ranked else by_case
    good, at = goodness(values, {"better": better}), np.arange(len(values))
    least, most = (np.where(np.isnan(good), end, good) for end in (np.inf, -np.inf))
    return values[at, least.argmin(axis=1)], values[at, most.argmax(axis=1)]


def variables(groups: Sequence[Mapping[str, Values]], *, drawn: bool, single: bool) -> dict[str, Any]:
    """Name the values of all cases, the first group, and by group those of the others, which may have fewer metrics.

    Without draws of the truth, bootstrap weights are all the noise that there is; that of a `single` cluster is
    unknown.
    """
    found: dict[str, Any] = {}
    for of, suffix in ((groups[:1], ""), (groups[1:], SUFFIX)):
        for name in of[0] if of else ():
            found |= _named_values(name, [values[name] for values in of], suffix, drawn=drawn, single=single)
    return found


def _named_values(name: str, groups: list[Values], suffix: str, *, drawn: bool, single: bool) -> dict[str, Any]:
    of_all = groups[0]

    def variable(last: tuple[str, ...], of: list[Any]) -> tuple[tuple[str, ...], np.ndarray]:
        values = [np.moveaxis(array, -2, 0) for array in of]
        dims = "group", "classifier", *of_all.axes, *last
        return (dims, np.stack(values)) if suffix else (dims[1:], values[0])

    dims, draws = variable(("draw",), [values.draws[..., :-1] if drawn else values.draws for values in groups])
    attrs = {"undefined": int(np.isnan(draws).sum()), "infinite": float(np.isinf(draws).mean()) if draws.size else 0.0}
    found: dict[str, Any] = {name + suffix: (dims, draws, {"better": of_all.better, **attrs})}
    if of_all.by_case is not None:
        found[f"{name}_by_case"] = ("classifier", "case"), of_all.by_case
    dims, points = variable(("draw",), [values.draws[..., -1:] for values in groups])
    found[f"{name}_point{suffix}"] = dims[:-1], points[..., 0]
    if of_all.replicates is not None:
        unknown = [np.full_like(values.replicates, np.nan) for values in groups]
        total = (
            unknown if single or not draws.size else [_total(values) if drawn else values.around for values in groups]
        )
        found[f"{name}_total{suffix}"] = variable(("replicate",), total)
        if not suffix:
            of_sampling = unknown if single else [values.replicates for values in groups]
            found[f"{name}_sampling"] = variable(("replicate",), of_sampling)
    return found


def _total(values: Values) -> Float[np.ndarray, "*shape classifier replicate"]:
    """Total noise; classifiers for which a metric is undefined do not affect the others.

    Replicates that are infinite remain so.
    """
    assert values.alone is not None
    assert values.around is not None
    draws, sampling, alone = (
        np.where(np.isfinite(of), of, np.nan).reshape(-1, *of.shape[-2:])
        for of in (values.draws[..., :-1], values.around, values.alone)
    )
    out = np.full(sampling.shape, np.nan, sampling.dtype)
    known = ~np.isnan(draws).all(axis=-1) & ~np.isnan(sampling).all(axis=-1)
    n_draws = draws.shape[-1]
    step = max(1, _NUMBERS // max(draws[0].size, sampling[0].size))
    for mask in np.unique(known[known.any(axis=1)], axis=0):
        alike, own = np.flatnonzero((known == mask).all(axis=1)), np.flatnonzero(mask)
        for first in range(0, len(alike), step):
            at = np.ix_(alike[first : first + step], own)
            noise = _filled(alone[at].astype(float)), np.zeros((len(at[0]), n_draws)), np.ones((len(at[0]), n_draws))
            out[at] = total_noise(draws[at].astype(float), sampling[at].astype(float), noise)
    infinite = np.isinf(values.around)
    return np.where(infinite, values.around, out.reshape(infinite.shape).clip(*values.bounds))


def _filled(values: Float[np.ndarray, "*shape draw"]) -> Float[np.ndarray, "*shape draw"]:
    """Put the mean of the known draws in place of the others, which so add no noise."""
    return np.where(np.isnan(values), np.nan_to_num(mean_known(values))[..., None], values)
