"""Replicates under the staged Plackett-Luce model, whose annotators also decide how long their lists are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from plausibly.annotations import Annotations
from plausibly.models.staged_plackett_luce import LEAST_MASS
from plausibly.population._shared_stages import SharedStages

PADDING = -1  #: where a list has ended
_TRIES = 60


class _Follow(dict):
    """Cumulative shares of what follows a class, by class."""

    def __init__(self, shared: SharedStages):
        self.shared = shared

    def __missing__(self, one: int) -> Float[np.ndarray, " class"]:
        self[one] = np.cumsum(self.shared.follows(one))
        return self[one]


@dataclass(frozen=True)
class StagedReplicates:
    """What does not differ between cases."""

    shared: SharedStages
    annotations: Annotations
    population: Float[np.ndarray, " class"]  #: cumulative shares by which a careless draw is made
    sizes: Sequence[np.ndarray]  #: sizes of tied blocks by their place in a list

    @classmethod
    def of(cls, shared: SharedStages, annotations: Annotations, population: np.ndarray) -> "StagedReplicates":
        """Prepare for replicates of annotations."""
        starts = np.cumsum(annotations.block_sizes) - annotations.block_sizes
        place = annotations.entry_block[starts]
        sizes = []
        for number in range(int(place.max()) + 1):
            tied = annotations.block_sizes[(place == number) & (annotations.block_sizes > 1)]
            sizes.append(tied if len(tied) else np.array([2]))
        return cls(shared, annotations, np.cumsum(population / population.sum()), sizes)

    def follow(self, case: int) -> dict[int, Float[np.ndarray, " class"]]:
        """Cumulative shares of what follows each class in a case, computed as they are asked for."""
        return _Follow(self.shared.without(self.annotations, case))

    def replicate(
        self,
        follow: dict[int, Float[np.ndarray, " class"]],
        observed: Int[np.ndarray, " named"],
        plausibility: Float[np.ndarray, "replicate class"],
        random: np.random.Generator,
    ) -> tuple[Int[np.ndarray, "replicate named"], Int[np.ndarray, "replicate named"]]:
        """Draw one annotator's lists: classes, padded, and their blocks.

        ``follow`` is what follows a class in her case, ``observed`` are the blocks that she named.
        """
        stages, reliability, n = self.shared.stages, self.shared.reliability, len(plausibility)
        k = plausibility.shape[1]
        with np.errstate(divide="ignore", under="ignore"):
            logs = np.log(plausibility)
            logs = logs - logs.max(1, keepdims=True)
            powers = reliability, reliability * stages.ratio
            first, later = (np.cumsum(np.exp(power * logs), axis=1) for power in powers)
        first, later = (sums / sums[:, -1:] for sums in (first, later))
        classes, blocks = np.full((n, 0), PADDING), np.full((n, 0), PADDING)
        going, left = np.ones(n, bool), np.ones(n)
        doubt = np.log(np.maximum(1 - plausibility.max(1), LEAST_MASS))
        most = len(self.sizes) if stages.stop is not None else int(observed.max()) + 1
        head = np.zeros((n, 0), int)
        for number in range(most):
            if stages.tie is None:
                size = np.full(n, max((observed == number).sum(), 1))
            else:
                tied = random.random(n) < expit(stages.tie[min(number, 1)] + stages.tie[2] * doubt)
                size = np.where(tied, random.choice(self.sizes[number], n), 1)
            size = np.where(going, np.minimum(size, k - (classes >= 0).sum(1)), 0)
            for member in range(int(size.max(initial=0))):
                wanted = size > member
                from_first = np.full(n, PADDING)
                if number:
                    known = (head >= 0).sum(1)
                    pick = head[np.arange(n), (random.random(n) * known).astype(int)]
                    from_first = np.where(random.random(n) < stages.dependence, pick, PADDING)
                sums = first if number == 0 and member == 0 else later
                careless = random.random(n) < stages.careless
                new = self._draw(sums, from_first, follow, careless, classes, wanted, random)
                classes = np.concatenate([classes, np.where(wanted, new, PADDING)[:, None]], axis=1)
                blocks = np.concatenate([blocks, np.where(wanted, number, PADDING)[:, None]], axis=1)
                left = left - np.where(wanted, plausibility[np.arange(n), new], 0)
            if number == 0:
                head = classes.copy()
            if stages.stop is not None:
                odds = stages.stop[min(number, 2)] + stages.stop[3] * np.log(np.maximum(left, LEAST_MASS))
                odds = odds + stages.stop[4] * doubt
                going &= random.random(n) >= expit(odds)
            going &= (classes >= 0).sum(1) < k
        return classes, blocks

    def _draw(self, sums, from_first, follow, careless, taken, wanted, random):
        """Draw a class that is not taken: carelessly, from what follows a class, or else from the row's own sums."""
        n, k = sums.shape
        flat = (sums + np.arange(n)[:, None]).ravel()
        out = np.zeros(n, int)
        todo = np.flatnonzero(wanted)
        for _ in range(_TRIES):
            u = random.random(len(todo))
            found = np.searchsorted(flat, u * (1 - 1e-12) + todo) - todo * k
            rows = np.flatnonzero(from_first[todo] >= 0)
            if len(rows):
                shares = np.array([follow[one] for one in from_first[todo[rows]].tolist()])
                found[rows] = (shares < u[rows, None] * shares[:, -1:]).sum(1)
            rows = np.flatnonzero(careless[todo])
            found[rows] = np.searchsorted(self.population, u[rows] * self.population[-1] * (1 - 1e-12), side="right")
            out[todo] = np.clip(found, 0, k - 1)
            todo = todo[(taken[todo] == out[todo, None]).any(1)]
            if not len(todo):
                return out
        for row in todo:  # hardly any mass is left
            out[row] = random.choice(np.setdiff1d(np.arange(k), taken[row]))
        return out
