"""What needs no draws: the slots of a model's posterior with their prior, point estimates, and exact posteriors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from plausibly.aggregation._with_prior import Learned, expected, form_of
from plausibly.base.errors import AnnotationError
from plausibly.base.progress import Progress
from plausibly.base.random_streams import case_keys, take
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.data.annotations.by_case import check_annotated
from plausibly.data.case import Entries, NormalInverseGamma, ScoreSums
from plausibly.families import Settled
from plausibly.families.model import SETTINGS, Model
from plausibly.inference import Dirichlets, Form, Shape, gibbs_shapes, maximum_likelihood, nuts_shapes, point_shapes
from plausibly.models import MODELS


def lay_out(observed: Annotations | Scores, arguments: Mapping[str, Any]) -> tuple[Slots, Float[np.ndarray, " slot"]]:
    """Slots that a model's arguments give mass, and the prior shape of each.

    Scores have both classes in every case, whether or not a score falls into each, and no prior by class.
    """
    if isinstance(observed, Scores):
        return Slots.of_every_class(observed.n_cases, 2), np.ones(2 * observed.n_cases)
    if arguments.get("class_prior", "uniform") != "uniform":  # the core slots; their prior is learned
        slots = Slots.of(observed)
        return slots, np.zeros(len(slots))
    alpha = arguments.get("concentration", 0.0)
    slots = Slots.of(observed, remainder=alpha > 0 and arguments.get("unranked") != "ignore")
    lumped = arguments.get("unranked") == "lumped"
    return slots, np.where(slots.is_remainder & (not lumped), slots.n_classes, 1) * alpha


def exact_posterior(
    model: Model,
    observed: Annotations | Scores,
    slots: Slots,
    prior: Float[np.ndarray, " slot"] | NormalInverseGamma,
    arguments: Mapping[str, Any],
) -> Any:
    """Parameters of the exact posterior of every case, see :class:`plausibly.Model`."""
    assert model.exact is not None
    view = ScoreSums.of(observed) if isinstance(observed, Scores) else Entries.of(observed, slots)
    return model.call("exact", view, prior, **model.passed(arguments))


def closed_form(
    settled: Settled,
    observed: Annotations | Scores,
    slots: Slots,
    prior: Float[np.ndarray, " slot"] | NormalInverseGamma,
    learned: Learned | None,
) -> Form | None:
    """Exact posterior that is kept as Dirichlet distributions of its cases; None of scores and where it is sampled."""
    if settled.engine != "exact" or isinstance(observed, Scores):
        return None
    assert not isinstance(prior, NormalInverseGamma)
    annotated, found = observed.per_case > 0, np.zeros(len(slots))
    if annotated.any():
        core = annotated[slots.case]
        own = slots.select(annotated), prior[core], settled.arguments
        found[core] = exact_posterior(settled.model, observed.annotated, *own)
    if learned is not None:
        return form_of(learned, found, settled.seed)
    return Dirichlets(slots, observed.cases, settled.seed, found.astype(np.float32))


def prior_share(
    model: Model, observed: Annotations, slots: Slots, prior: Float[np.ndarray, " slot"], arguments: Mapping[str, Any]
) -> Float[np.ndarray, " slot"] | None:
    """Share of the prior of each slot in the posterior concentration of its case; None where that is unknown."""
    if model.evidence is not None:
        evidence = model.call("evidence", Entries.of(observed, slots), **model.passed(arguments))
    elif model.exact is not None:
        evidence = exact_posterior(model, observed, slots, np.zeros(len(slots)), arguments)
    else:
        return None
    return prior / np.add.reduceat(prior + evidence, slots.start[:-1])[slots.case]


@dataclass(frozen=True)
class Shapes:
    """What cases are padded to, decided from all cases together: a shard's draws are those of the whole data set."""

    sampling: tuple[Shape, ...] | None = None  #: None where the engine samples none of them, or pads none
    point: tuple[Shape, ...] | None = None
    n_cases: int | None = None  #: of all together

    @classmethod
    def of(cls, observed: Annotations | Scores, settled: Settled) -> "Shapes":
        """Decide on the shapes for all cases."""
        if isinstance(observed, Scores):
            return cls()
        model, arguments = settled.model, settled.arguments
        sampling = point = None
        which = ~settled.known_cases(observed)
        if settled.has_draws and which.any():
            part, own = observed.select(np.flatnonzero(which)), lay_out(observed, arguments)[0].select(which)
            sizes = {name: arguments[name] for name in SETTINGS}
            if settled.engine == "nuts":
                sampling = nuts_shapes(part, own, **sizes, pooled=model.gibbs, split=settled.splits)
            else:
                sampling = gibbs_shapes(part, own, model.count(arguments), **sizes)
        if model.update is not None:
            point = point_shapes(observed, Slots.of(observed, remainder=False))
        return cls(sampling, point, observed.n_cases)


def point_estimate(
    model: Model,
    observed: Annotations | Scores,
    slots: Slots,
    arguments: Mapping[str, Any],
    keys: Key[Array, " case"],
    progress: Progress,
    shapes: Sequence[Shape] | None = None,
) -> Float[np.ndarray, " slot"] | None:
    """Point estimate of a model, None if it declares none; NaN in cases without annotations."""
    annotated = observed.per_case > 0
    if isinstance(observed, Annotations) and not annotated.all():
        out = np.full(len(slots), np.nan, np.float32)
        if annotated.any():
            own = slots.select(annotated), arguments, take(keys, np.flatnonzero(annotated)), progress, shapes
            found = point_estimate(model, observed.annotated, *own)
            if found is None:
                return None
            out[annotated[slots.case]] = found
        return out
    if isinstance(observed, Scores):
        return model.point_estimate and model.call("point_estimate", ScoreSums.of(observed), arguments["threshold"])
    if model.point_estimate is not None:
        return model.call("point_estimate", Entries.of(observed, slots), **model.static(arguments))
    if model.update is None:
        return None
    named = Slots.of(observed, remainder=False)
    out = np.zeros(len(slots), np.float32)
    found = maximum_likelihood(observed, named, model.update, keys, shapes=shapes, progress=progress)
    out[slots.find(named.case, named.class_index)] = found
    return out


def expected_plausibility(
    annotations: Annotations, settled: Settled, *, progress: Progress
) -> tuple[Slots, Float[np.ndarray, " slot"]]:
    """Compute plausibilities without draws: the mean of a Dirichlet posterior, or a point estimate."""
    check_annotated(annotations)
    model, arguments = settled.model, settled.arguments
    slots, prior = lay_out(annotations, arguments)
    if settled.borrows:
        learned = Learned.of(settled, annotations)
        counts = exact_posterior(model, annotations, slots, prior, arguments)
        return learned.priors.slots, expected(learned, counts)
    if settled.engine == "exact":
        shape = exact_posterior(model, annotations, slots, prior, arguments)
        return slots, shape / np.add.reduceat(shape, slots.start[:-1])[slots.case]
    keys = case_keys(0, annotations.cases)  # Nothing is random.
    return slots, point_estimate(model, annotations, slots, arguments, keys, progress)


# More classes in a case than a few thousand, and what samplers hold of it fills the memory.
LARGEST = 2_000_000  #: products of named classes and blocks drawn from them


def check_sizes(name: str, annotations: Annotations) -> None:
    """Refuse cases that are too large to sample."""
    slots = np.diff(Slots.of(annotations, remainder=False).start)
    per_annotation = annotations.entry_block[annotations.annotation_start[1:] - 1] + 1
    blocks = np.bincount(annotations.annotation_case, per_annotation, annotations.n_cases)
    worst = int((slots * blocks).argmax())
    if slots[worst] * blocks[worst] > LARGEST:
        exact = ", ".join(other.name for other in MODELS.values() if other.exact and other.takes == "rankings")
        raise AnnotationError(
            f"{name} is for cases of up to about a thousand named classes, but in case "
            f"{str(annotations.cases[worst])!r} annotators name {slots[worst]:,} of them in {int(blocks[worst]):,} "
            f"blocks: use a model with an exact posterior ({exact}), or merge classes."
        )
