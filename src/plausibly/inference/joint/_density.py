"""The log density of the joint model: the program's terms case by case, and the priors of the reliabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpyro.handlers import substitute, trace

from plausibly.base.fingerprint import Captured
from plausibly.data.case import Case
from plausibly.inference._batching import Bucket
from plausibly.inference._shapes import grid


class Prior(NamedTuple):
    """Prior of the reliabilities: see the program."""

    location: float
    scale: float
    spread_scale: float


@partial(jax.tree_util.register_dataclass, data_fields=["case", "annotator", "real"], meta_fields=["program"])
@dataclass(frozen=True)
class Group:
    """Cases of one shape, on the last axis."""

    case: Case
    annotator: Int[Array, "annotation case"]  # the number of annotators in rows without an annotation
    real: Bool[Array, " case"]
    program: Callable[..., None]

    def terms(
        self, z: Float[Array, "dim case"], log_reliability: Float[Array, "annotation case"]
    ) -> tuple[Float[Array, " case"], Float[Array, "annotation case"]]:
        """Log density of each case's coordinates under the program's prior, and log probability of its annotations."""

        def of_case(z: Array, case: Case, log_reliability: Array) -> tuple[Array, Array]:
            rows = log_reliability.shape[0]
            values = {
                "log_reliability": jnp.zeros(()),
                "spread": jnp.ones(()),
                "deviation": log_reliability,
                "log_ratio_0": z[None, None],
            }
            group = jax.tree.map(lambda a: a[None], case)
            sites = trace(substitute(self.program, values)).get_trace(
                [group], [jnp.arange(rows)[None]], n_annotators=rows
            )
            prior, ranking = sites["log_ratio_0"], sites["ranking_0"]
            return prior["fn"].log_prob(prior["value"])[0, 0], ranking["fn"].log_prob(ranking["value"])[0]

        return jax.vmap(of_case, in_axes=-1, out_axes=-1)(z, self.case, log_reliability)

    def by_row(self, each: Float[Array, " annotator"]) -> Float[Array, "annotation case"]:
        """What belongs to the annotator of each row; 0 in rows without an annotation."""
        return jnp.append(each, 0.0)[self.annotator]

    def stiffness(self, each: Float[Array, " annotator"]) -> Float[Array, " case"]:
        """About how narrow posteriors are. Steps may depend on reliabilities, which a trajectory takes as given."""
        gave = self.annotator < len(each)
        squares = jnp.where(gave, jnp.exp(2 * self.by_row(each)), 0).sum(0)
        return jnp.sqrt(1 + squares / jnp.maximum(gave.sum(0), 1))


def make_group(
    program: Callable[..., None], bucket: Bucket, annotator: Int[np.ndarray, " annotation"] | None, n_annotators: int
) -> Group:
    """A bucket with its cases on the last axis, padded to one of a few numbers of them."""
    n = len(bucket.cases)
    at = np.resize(np.arange(n), int(grid(np.array(max(n, 4)))))
    rows = bucket.data.counts.shape[1]
    whose = np.full((n, rows), n_annotators) if annotator is not None else np.zeros((n, rows), int)
    if annotator is not None:
        whose[bucket.case, bucket.row] = annotator[bucket.annotations]
    last = jax.tree.map(lambda a: jnp.asarray(np.moveaxis(a[at], 0, -1)), (bucket.data, whose.astype(np.int32)))
    return Group(*last, jnp.asarray(np.arange(len(at)) < n), Captured(program))


class Globals(NamedTuple):
    """Logarithms of what all cases share."""

    mean: Float[Array, ""]
    spread: Float[Array, ""]
    each: Float[Array, " annotator"]  # one, the mean, if all annotators are alike


def by_annotator(
    groups: tuple[Group, ...], z: tuple[Float[Array, "dim case"], ...], each: Float[Array, " annotator"]
) -> Float[Array, " annotator"]:
    """Log probability of all annotations of each annotator."""
    total = jnp.zeros(len(each) + 1)
    for group, position in zip(groups, z, strict=True):
        rows = group.terms(position, group.by_row(each))[1]
        rows = jnp.where(group.real, rows, 0)
        total += rows.sum() if len(each) == 1 else jnp.zeros(len(each) + 1).at[group.annotator].add(rows)
    return total[:-1]


def prior_of_cases(groups: tuple[Group, ...], z: tuple[Float[Array, "dim case"], ...]) -> Float[Array, ""]:
    """Log density of all coordinates under the program's prior."""
    total = jnp.zeros(())
    for group, position in zip(groups, z, strict=True):
        rows = jnp.zeros(group.annotator.shape)
        total += jnp.where(group.real, group.terms(position, rows)[0], 0).sum()
    return total


def normal(x: Array, location: Array | float, scale: Array | float) -> Array:
    """Log density of a normal distribution, up to a constant."""
    return -(((x - location) / scale) ** 2) / 2 - jnp.log(scale)


def of_mean(shared: Globals, prior: Prior) -> Array:
    """Log prior density of the mean."""
    return normal(shared.mean, prior.location, prior.scale)


def of_spread(shared: Globals, prior: Prior) -> Array:
    """Log prior density of the logarithm of the spread, which is half-normal."""
    return shared.spread - (jnp.exp(shared.spread) / prior.spread_scale) ** 2 / 2
