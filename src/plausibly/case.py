"""What an aggregation model sees of one case."""

from typing import NamedTuple

from jaxtyping import Array, Bool, Float, Int

from plausibly.distributions import Order, PartialRankings


class Case(NamedTuple):
    """The annotations of one case, over its *slots*: the classes that somebody named, then the remainder of the others.

    Identical annotations appear once, with their number in ``counts``. Cases of similar size share one shape: an
    annotation that names nothing (probability one under every model) or a slot of zero classes may fill it up.
    """

    rankings: PartialRankings
    """The different annotations of the case; ``rankings.positions`` has shape (annotation, slot)."""

    counts: Float[Array, " annotation"]
    """How many annotators gave each annotation."""

    named: Bool[Array, "annotation slot"]
    """Whether the annotation names the slot's class; what it does not name makes its last block."""

    block_sizes: Int[Array, "annotation slot"]
    """How many classes are tied with the slot's class where it is named, 1 elsewhere."""

    concentration: Float[Array, " slot"]
    """Prior shape of each slot; for the remainder it depends on how unranked classes are treated."""

    n_classes: Int[Array, " slot"]
    """How many classes a slot stands for: 1, more for the remainder, 0 for one that only fills the shape."""

    order: Order | None = None
    """In what order annotators prefer the slots, for a sampler to move by; not always there."""
