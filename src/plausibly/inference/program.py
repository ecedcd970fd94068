"""A NumPyro program of one case, as the functions that the engines need."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import biject_to
from numpyro.handlers import seed, substitute, trace
from numpyro.infer.util import constrain_fn, potential_energy

from plausibly.base.errors import ArgumentError, PlausiblyError, code_of, raised
from plausibly.base.fingerprint import identity
from plausibly.data.case import Case
from plausibly.distributions import PartialRankings
from plausibly.inference._batching import Bucket, cases_last

PLAUSIBILITY = "plausibility"  # the site that every program must have, of shape (slot,)


class CaseData(NamedTuple):
    """What a program is called with: the case, and the keyword arguments that may differ without recompiling."""

    case: Case
    arguments: Mapping[str, Float[Array, "*case"]]


@dataclass(frozen=True)
class Program:
    """A NumPyro program ``function(case, **arguments)`` together with a case's shape.

    It has a site "plausibility" of shape (slot,), latent or deterministic. ``static`` has keyword arguments that are
    part of the program, such as ``mode``, as sorted pairs.
    """

    function: Callable[..., None] = field(compare=False)
    static: tuple[tuple[str, Any], ...] = ()
    content: Hashable = field(init=False, repr=False)  # of the function, when the program is made

    def __post_init__(self):
        object.__setattr__(self, "content", identity(self.function))

    @cached_property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _sites(self, function: Callable[..., None], data: CaseData) -> dict[str, dict[str, Any]]:
        """Trace the program, under handlers, and refuse one that fails or has no proper site "plausibility"."""
        args, kwargs = self._call(data)
        try:
            sites = trace(function).get_trace(*args, **kwargs)
        except PlausiblyError:
            raise
        except Exception as error:
            raise ArgumentError(f"the program {self.name} {raised(self.function, error)}") from error
        file = getattr(code_of(self.function), "co_filename", "its file")
        slots = tuple(data.case.n_classes.shape)
        shape = np.shape(sites[PLAUSIBILITY]["value"]) if PLAUSIBILITY in sites else None
        if shape != slots:
            free = [name for name, s in sites.items() if s["type"] != "plate" and not s.get("is_observed")]
            found, fix = " and ".join(map(repr, free)) or "none", "add it"
            if free:
                fix = "rename it" if len(free) == 1 else "rename one of them"
            if shape is not None:
                found, fix = f"one of shape {shape}, not {slots}", "change its shape"
            raise ArgumentError(
                f"the program {self.name} (of {file}) must have a site '{PLAUSIBILITY}' with one value per slot; "
                f"it has {found}: {fix}"
            )
        return sites

    def _call(self, data: CaseData) -> tuple[tuple[Case], dict[str, Any]]:
        return (data.case,), {**data.arguments, **dict(self.static)}

    def latent(self, data: CaseData) -> dict[str, tuple[int, ...]]:
        """Names and unconstrained shapes of the latent sites, for the shapes of ``data`` (of a single case).

        An ArgumentError says if the program raises an error, has no site "plausibility" with one value per slot, a
        discrete latent site, or no latent site at all.
        """
        shapes: dict[str, tuple[int, ...]] = {}

        def visit(data: CaseData) -> None:
            for name, site in self._sites(seed(self.function, jax.random.key(0)), data).items():
                if site["type"] == "sample" and not site["is_observed"]:
                    if site["fn"].support.is_discrete:
                        raise ArgumentError(
                            f"{self.name} has the latent site {name!r}, which is discrete and NUTS cannot sample: "
                            "sum it out, or observe it"
                        )
                    transform = biject_to(site["fn"].support)
                    shapes[name] = tuple(transform.inverse_shape(np.shape(site["value"])))

        jax.eval_shape(visit, data)
        if not shapes:
            raise ArgumentError(
                f"an aggregation model must have something to sample, but all sites of {self.name} are observed or "
                "deterministic: give one a distribution"
            )
        return shapes

    def split(self, x: Float[Array, " dim"], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
        """Cut a position into the unconstrained values of the latent sites."""
        bounds = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes.values())])
        return {
            name: x[a:b].reshape(shape)
            for (name, shape), a, b in zip(shapes.items(), bounds[:-1], bounds[1:], strict=True)
        }

    def potential(self, x: Float[Array, " dim"], data: CaseData, shapes: Mapping[str, tuple[int, ...]]) -> Array:
        """Minus the log density of the unconstrained position, up to a constant."""
        return potential_energy(self.function, *self._call(data), self.split(x, shapes))

    def values(
        self, x: Float[Array, " dim"], data: CaseData, shapes: Mapping[str, tuple[int, ...]]
    ) -> dict[str, Array]:
        """The latent sites and the plausibility at an unconstrained position."""
        return constrain_fn(self.function, *self._call(data), self.split(x, shapes), return_deterministic=True)

    def log_likelihood(self, values: Mapping[str, Array], data: CaseData) -> Float[Array, " annotation"]:
        """Log probability of each annotation, any scaling (a reliability by powers, multiplicities) left out."""
        observed = self._observed(values, data)
        return sum((s["fn"].log_prob(s["value"]) for s in observed), jnp.zeros(data.case.counts.shape))

    def _observed(self, values: Mapping[str, Array], data: CaseData) -> list[dict[str, Any]]:
        """Observed sites, given the latent ones, which must have values."""
        # Nothing is drawn, unless there are more latent sites than values: the seed lets the trace come to them.
        sites = self._sites(seed(substitute(self.function, dict(values)), jax.random.key(0)), data)
        sampled = {name: s for name, s in sites.items() if s["type"] == "sample"}
        if more := [name for name, s in sampled.items() if not s["is_observed"] and name not in values]:
            raise ArgumentError(
                f"a model with log_likelihood=True must have no latent site but '{PLAUSIBILITY}', but {self.name} has "
                f"{more[0]!r}: declare it with log_likelihood=False"
            )
        return [s for s in sampled.values() if s["is_observed"]]

    def share_below(self, values: Mapping[str, Array], data: CaseData) -> Array:
        """Probability that a score is at most the threshold, by the observed sites, given the latent ones."""
        sites = [site["fn"] for site in self._observed(values, data)]
        sites = [getattr(site, "base_dist", site) for site in sites]  # those that a plate expands have no cdf
        threshold = data.case.threshold  # type: ignore[attr-defined]  # cases of scores have one
        return jnp.stack([jnp.mean(site.cdf(threshold)) for site in sites]).mean()

    def log_answers(
        self, values: Mapping[str, Array], data: CaseData, counts: Float[Array, " slot"]
    ) -> Float[Array, " slot"]:
        """Log probability that one more annotator of a case names a class of each slot, and no other.

        It is that of the observed sites, given the values of latent ones and so many labels in every slot, any scaling
        (a reliability by powers) left out. ``data`` has the slots of the case, its annotations are not used.
        """

        def joint(counts: Float[Array, " slot"]) -> Array:
            labels = CaseData(labelled(data.case, counts), data.arguments)
            total = jnp.zeros(())
            for site in self._observed(values, labels):
                value = site["fn"].log_prob(site["value"])
                by_label = value.shape == counts.shape
                total += jnp.where(counts > 0, counts * value, 0).sum() if by_label else value.sum()
            return total

        return jax.vmap(joint)(counts + jnp.eye(len(counts))) - joint(counts)


def log_ways(counts: Float[Any, "*draw slot"]) -> Float[Any, "*draw slot"]:
    """Log ratio of the orders in which labels may come, by slot: without one more label, to those with it.

    What the probability of counts has to be multiplied with, for that of a label after others: a multinomial
    distribution has one probability for all orders of the same labels.
    """
    return jnp.log(counts + 1) - jnp.log(counts.sum(-1, keepdims=True) + 1)


def labelled(case: Case, counts: Float[Array, " slot"]) -> Case:
    """Return a case with the slots of another, whose annotations name one class each, so many of every slot."""
    n = len(counts)
    named = np.eye(n, dtype=np.float32)
    rankings = PartialRankings(
        (1 - named).astype(np.int16), named, np.ones((1, n), bool), np.ones((n, 1), np.float32), ()
    )
    labels = {"rankings": jax.tree.map(jnp.asarray, rankings), "named": jnp.asarray(named > 0)}
    return case._replace(**labels, counts=counts, block_sizes=jnp.ones((n, n), jnp.int16))


def case_inputs(arguments: Mapping[str, float]) -> Callable[[Bucket, np.ndarray], CaseData]:
    """Inputs of programs that are run over buckets: cases, and the model's arguments for each of them."""

    def inputs(bucket: Bucket, at: np.ndarray) -> CaseData:
        columns = {name: np.full(len(at), value, np.float32) for name, value in arguments.items()}
        return CaseData(cases_last(bucket.data, at), columns)

    return inputs


def over_cases(function: Callable, *axes: int | None) -> Callable:
    """Map a function of one case over arrays that have the cases on the last axis."""
    return jax.vmap(function, in_axes=axes or -1, out_axes=-1)
