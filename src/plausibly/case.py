"""What an aggregation model sees: one case, for its program, or all cases, for what needs no program."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from plausibly.annotations import Annotations, Scores, Slots
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


@dataclass(frozen=True)
class Entries:
    """The annotations of all cases, one entry for each class that an annotation names.

    Point estimates and exact posteriors that are sums over entries are computed from it, all cases at once.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b", "c"]], [["b"]]]])
    >>> entries = Entries.of(annotations, Slots.of(annotations))
    >>> entries.position.tolist(), entries.block_size.tolist()
    ([0, 1, 1, 0], [1, 2, 2, 1])
    >>> entries.shares(1 / entries.block_size).tolist()
    [0.3333333333333333, 0.5, 0.16666666666666666]
    """

    position: Int[np.ndarray, " entry"]
    """Position of the class's block in its annotation, 0 for the best."""

    block_size: Int[np.ndarray, " entry"]
    """How many classes are tied in that block."""

    slot: Int[np.ndarray, " entry"]
    """Slot of the class in its case."""

    slots: Slots
    """Slots of all cases."""

    @classmethod
    def of(cls, annotations: Annotations, slots: Slots) -> "Entries":
        """Collect the entries of annotations."""
        return cls(
            annotations.entry_block,
            np.repeat(annotations.block_sizes, annotations.block_sizes),
            slots.find(annotations.entry_case, annotations.entry_class),
            slots,
        )

    def totals(self, weight: Float[np.ndarray, " entry"]) -> Float[np.ndarray, " slot"]:
        """Sum the weights of entries by slot."""
        return np.bincount(self.slot, weight, len(self.slots))

    def shares(self, weight: Float[np.ndarray, " entry"]) -> Float[np.ndarray, " slot"]:
        """Sum the weights of entries by slot, as shares of their case."""
        return self.normalised(self.totals(weight))

    def normalised(self, values: Float[np.ndarray, " slot"]) -> Float[np.ndarray, " slot"]:
        """Divide values of slots by their sum over the case."""
        return values / np.add.reduceat(values, self.slots.start[:-1])[self.slots.case]

    def largest(self, values: Float[np.ndarray, " slot"]) -> Float[np.ndarray, " slot"]:
        """Return, for each slot, the largest value in its case."""
        return np.maximum.reduceat(values, self.slots.start[:-1])[self.slots.case]


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


class ScoreSums(NamedTuple):
    """What a normal model sees of the scores of all cases."""

    n: Int[np.ndarray, " case"]
    """Number of scores."""

    mean: Float[np.ndarray, " case"]
    """Their mean."""

    squares: Float[np.ndarray, " case"]
    """Sum of their squared distances from the mean."""

    @classmethod
    def of(cls, scores: Scores) -> "ScoreSums":
        """Sum up scores by case."""
        start, case = scores.case_start[:-1], scores.annotation_case
        n = np.diff(scores.case_start)
        # Equal scores are summed to their multiple but for rounding; distances from the first have none.
        first = scores.score[start]
        mean = first + np.add.reduceat(scores.score - first[case], start) / n
        return cls(n, mean, np.add.reduceat((scores.score - mean[case]) ** 2, start))
