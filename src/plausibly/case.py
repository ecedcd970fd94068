"""What an aggregation model sees of one case."""

from typing import NamedTuple

from jaxtyping import Array, ArrayLike, Bool, Float, Int

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


class NormalInverseGamma(NamedTuple):
    r"""A distribution of the mean and the variance of a case's scores.

    .. math:: \sigma^2 \sim \mathrm{InverseGamma}(a, b), \quad \mu \sim \mathrm{Normal}(m, \sigma^2 / \kappa)
    """

    mean: Float[ArrayLike, "*case"]
    """:math:`m`, where the mean is expected."""

    strength: Float[ArrayLike, "*case"]
    r""":math:`\kappa > 0`, how many scores that expectation is worth."""

    shape: Float[ArrayLike, "*case"]
    """:math:`a > 0`; the variance is known as if from 2a scores."""

    scale: Float[ArrayLike, "*case"]
    """:math:`b > 0`; the variance is expected about b / a."""


class ScoredCase(NamedTuple):
    """The scores of one case, which a threshold turns into two classes: up to it, and above it.

    Equal scores appear once, with their number in ``counts``.
    """

    scores: Float[Array, " annotation"]
    """The different scores of the case."""

    counts: Float[Array, " annotation"]
    """How many annotators gave each score."""

    threshold: Float[Array, ""]
    """A score equal to it is in the first class."""

    prior: NormalInverseGamma
    """Of the mean and the variance of the case's scores: given, or estimated from all cases."""

    n_classes: Int[Array, " slot"]
    """1 for each of the two classes."""
