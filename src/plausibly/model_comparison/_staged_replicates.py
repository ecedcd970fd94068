"""Replicates under the staged Plackett-Luce model, whose annotators also decide how long their lists are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from plausibly.annotations import Annotations
from plausibly.population._stages import SharedStages

PADDING = -1  #: where a list has ended
_TRIES = 60


@dataclass(frozen=True)
class StagedReplicates:
    """What does not differ between cases."""

    shared: SharedStages
    reliability: float
    follow: Float[np.ndarray, "class class"]  #: cumulative shares of what follows each class
    population: Float[np.ndarray, " class"]
    sizes: Sequence[np.ndarray]  #: sizes of all blocks by their place in a list

    @classmethod
    def of(
        cls, shared: SharedStages, reliability: float, annotations: Annotations, population: np.ndarray
    ) -> "StagedReplicates":
        """Prepare for replicates of annotations."""
        follow = np.array([shared.follows([one]) for one in range(annotations.n_classes)])
        starts = np.cumsum(annotations.block_sizes) - annotations.block_sizes
        place = annotations.entry_block[starts]
        sizes = [annotations.block_sizes[place == number] for number in range(int(place.max()) + 1)]
        return cls(shared, reliability, np.cumsum(follow, axis=1), population / population.sum(), sizes)

    def replicate(
        self,
        observed: Int[np.ndarray, " named"],
        plausibility: Float[np.ndarray, "replicate class"],
        random: np.random.Generator,
    ) -> tuple[Int[np.ndarray, "replicate named"], Int[np.ndarray, "replicate named"]]:
        """Draw one annotator's lists: classes, padded, and their blocks. ``observed`` are the blocks that she named."""
        stages, n = self.shared.stages, len(plausibility)
        k = plausibility.shape[1]
        careless = random.random(n) < stages.careless
        base = np.where(careless[:, None], self.population, plausibility)
        powers = np.where(careless, 1.0, self.reliability), np.where(careless, 1.0, self.reliability * stages.ratio)
        with np.errstate(divide="ignore", under="ignore"):
            logs = np.log(base)
            logs = logs - logs.max(1, keepdims=True)
            first, later = (np.cumsum(np.exp(power[:, None] * logs), axis=1) for power in powers)
        first, later = (sums / sums[:, -1:] for sums in (first, later))
        dependence = np.where(careless, 0.0, stages.dependence)
        classes, blocks = np.full((n, 0), PADDING), np.full((n, 0), PADDING)
        going, left = np.ones(n, bool), np.ones(n)
        most = len(self.sizes) if stages.stop is not None else int(observed.max()) + 1
        head = np.zeros((n, 0), int)
        for number in range(most):
            if stages.stop is None:
                size = np.full(n, (observed == number).sum())
            else:
                size = random.choice(self.sizes[number], n)
            size = np.where(going, np.minimum(size, k - (classes >= 0).sum(1)), 0)
            for member in range(int(size.max(initial=0))):
                wanted = size > member
                from_first = np.full(n, PADDING)
                if number:
                    known = (head >= 0).sum(1)
                    pick = head[np.arange(n), (random.random(n) * known).astype(int)]
                    from_first = np.where(random.random(n) < dependence, pick, PADDING)
                sums = first if number == 0 and member == 0 else later
                new = self._draw(sums, from_first, classes, wanted, random)
                classes = np.concatenate([classes, np.where(wanted, new, PADDING)[:, None]], axis=1)
                blocks = np.concatenate([blocks, np.where(wanted, number, PADDING)[:, None]], axis=1)
                left = left - np.where(wanted, plausibility[np.arange(n), new], 0)
            if number == 0:
                head = classes.copy()
            if stages.stop is not None:
                odds = stages.stop[min(number, 2)] + stages.stop[3] * np.log(np.maximum(left, 1e-6))
                going &= random.random(n) >= expit(odds)
            going &= (classes >= 0).sum(1) < k
        return classes, blocks

    def _draw(self, sums, from_first, taken, wanted, random):
        """Draw a class that is not taken, each row from what follows a class, or else from its own sums."""
        n, k = sums.shape
        flat = (sums + np.arange(n)[:, None]).ravel()
        out = np.zeros(n, int)
        todo = np.flatnonzero(wanted)
        for _ in range(_TRIES):
            u = random.random(len(todo))
            found = np.searchsorted(flat, u * (1 - 1e-12) + todo) - todo * k
            rows = np.flatnonzero(from_first[todo] >= 0)
            if len(rows):
                shares = self.follow[from_first[todo[rows]]]
                found[rows] = (shares < u[rows, None] * shares[:, -1:]).sum(1)
            out[todo] = np.clip(found, 0, k - 1)
            todo = todo[(taken[todo] == out[todo, None]).any(1)]
            if not len(todo):
                return out
        for row in todo:  # hardly any mass is left
            out[row] = random.choice(np.setdiff1d(np.arange(k), taken[row]))
        return out
