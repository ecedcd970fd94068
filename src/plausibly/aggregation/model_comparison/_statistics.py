"""What a check compares: numbers that sum up the annotations of one case, observed or replicated alike.

The annotations of a case come as classes in the order of their blocks, (replicate, named class) for each annotator;
block sizes are the same in all replicates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class Said:
    """What the annotators of a case said, in every replicate."""

    #: of each annotator (replicate, named class), best first; −1 where a list has ended, if lists differ in length
    classes: Sequence[Int[np.ndarray, "replicate named"]]
    #: of each annotator the block of every named class: (named,), or (replicate, named) if lists differ
    blocks: Sequence[Int[np.ndarray, "*replicate named"]]
    n_classes: int  #: number of the classes that occur

    @classmethod
    def of(cls, classes: Sequence[Int[np.ndarray, "replicate named"]], blocks: Sequence[np.ndarray]) -> "Said":
        """Renumber the classes that occur: which they are says nothing, and they may be few of many."""
        known, number = np.unique(np.concatenate([named.ravel() for named in classes]), return_inverse=True)
        if known[0] < 0:  # what only fills lists up is not a class
            known, number = known[1:], number - 1
        ends = np.cumsum([named.size for named in classes])[:-1]
        parts = np.split(number.ravel(), ends)
        return cls([part.reshape(named.shape) for part, named in zip(parts, classes, strict=True)], blocks, len(known))

    def table(self, first: bool) -> Float[np.ndarray, "replicate annotator class"]:
        """Mark the classes of the first blocks, or all that are named."""
        out = np.zeros((len(self.classes[0]), len(self.classes), self.n_classes + 1), np.float32)
        for annotator, (named, block) in enumerate(zip(self.classes, self.blocks, strict=True)):
            chosen = np.where(block == 0, named, -1) if first else named
            out[np.arange(len(out))[:, None], annotator, chosen] = 1
        return out[..., :-1]


def _overlap(table: Float[np.ndarray, "replicate annotator class"]) -> Float[np.ndarray, " replicate"]:
    """Mean over pairs of annotators of the classes they share, as a share of those that either has."""
    n = table.shape[1]
    if n < 2:
        return np.full(len(table), np.nan)
    both = (table @ table.transpose(0, 2, 1)).astype(float)
    size = np.diagonal(both, axis1=1, axis2=2)
    either = size[:, :, None] + size[:, None, :] - both
    i, j = np.triu_indices(n, 1)
    return (both[:, i, j] / either[:, i, j]).mean(1)


def _distinct(table: Float[np.ndarray, "replicate annotator class"]) -> Float[np.ndarray, " replicate"]:
    return table.any(1).sum(1).astype(float)


def _lone(table: Float[np.ndarray, "replicate annotator class"]) -> Float[np.ndarray, " replicate"]:
    if table.shape[1] < 2:
        return np.full(len(table), np.nan)
    return (table.sum(1) == 1).sum(1).astype(float)


def _largest(table: Float[np.ndarray, "replicate annotator class"]) -> Float[np.ndarray, " replicate"]:
    return table.mean(1, dtype=float).max(1)


def _order(said: Said) -> Float[np.ndarray, " replicate"]:
    """Of two classes that two annotators both rank apart, how often in the same order; NaN without any."""
    same = np.zeros(len(said.classes[0]))
    total = np.zeros(len(said.classes[0]))
    for a, b in combinations(range(len(said.classes)), 2):
        match = (said.classes[a][:, :, None] == said.classes[b][:, None, :]) & (said.classes[a][:, :, None] >= 0)
        both = match.any(2)
        own, other = np.atleast_2d(said.blocks[a]), np.atleast_2d(said.blocks[b])
        theirs = (match * other[:, None, :]).sum(2)
        before = (own[:, :, None] < own[:, None, :]) & both[:, :, None] & both[:, None, :]
        gap = theirs[:, None, :] - theirs[:, :, None]
        same += (before & (gap > 0)).sum((1, 2))
        total += (before & (gap != 0)).sum((1, 2))
    return np.divide(same, total, out=np.full(len(total), np.nan), where=total > 0)


OF_FIRST_BLOCKS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "first_agreement": _overlap,
    "first_classes": _distinct,
    "largest_share": _largest,
}
OF_RANKINGS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "named_agreement": _overlap,
    "named_classes": _distinct,
    "lone_classes": _lone,
}
ORDER = "order_agreement"
GIVEN = ("tie_size", "named_per_annotator")

DESCRIPTIONS = {
    "first_agreement": "overlap of two annotators' first blocks",
    "first_classes": "classes in first blocks, per case",
    "largest_share": "share of annotators who name the most common first class",
    "named_agreement": "overlap of all classes that two annotators name",
    "named_classes": "classes named, per case",
    "lone_classes": "classes named by one annotator only, per case",
    "order_agreement": "two annotators rank two classes in the same order",
    "tie_size": "classes in a block",
    "named_per_annotator": "classes named by an annotator",
}


def statistics(said: Said, rankings: bool) -> dict[str, Float[np.ndarray, " replicate"]]:
    """All statistics of a case, those of whole rankings only if they are wanted."""
    table = said.table(first=True)
    values = {name: function(table) for name, function in OF_FIRST_BLOCKS.items()}
    if rankings:
        table = said.table(first=False)
        values |= {name: function(table) for name, function in OF_RANKINGS.items()}
        values[ORDER] = _order(said)
    return values
