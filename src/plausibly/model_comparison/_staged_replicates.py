"""Replicates under the staged Plackett-Luce model, whose annotators also decide how long their lists are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from plausibly.annotations import Annotations
from plausibly.priors.population.shared_stages import LEAST, LEAST_MASS, SharedStages

PADDING = -1  #: where a list has ended


@dataclass(frozen=True)
class StagedReplicates:
    """What does not differ between cases."""

    shared: SharedStages
    annotations: Annotations
    population: Float[np.ndarray, " class"]  #: shares by which a careless draw is made
    sizes: Sequence[np.ndarray]  #: sizes of tied blocks after none, one, and more classes
    longest: int  #: number of blocks in the longest list

    @classmethod
    def of(cls, shared: SharedStages, annotations: Annotations, population: np.ndarray) -> "StagedReplicates":
        """Prepare for replicates of annotations."""
        starts = np.cumsum(annotations.block_sizes) - annotations.block_sizes
        before = np.minimum(starts - annotations.annotation_start[:-1][annotations.block_annotation], 2)
        sizes = []
        for number in range(3):
            tied = annotations.block_sizes[(before == number) & (annotations.block_sizes > 1)]
            sizes.append(tied if len(tied) else np.array([2]))
        longest = int(annotations.entry_block.max()) + 1
        return cls(shared, annotations, population / population.sum(), sizes, longest)

    def follow(self, case: int) -> Callable[[int], Float[np.ndarray, " class"]]:
        """Function from a class to the shares of what follows it in a case, which are computed once."""
        return cache(self.shared.without(self.annotations, case).follows)

    def replicate(
        self,
        follow: Callable[[int], Float[np.ndarray, " class"]],
        observed: Int[np.ndarray, " named"],
        plausibility: Float[np.ndarray, "replicate class"],
        random: np.random.Generator,
    ) -> tuple[Int[np.ndarray, "replicate named"], Int[np.ndarray, "replicate named"]]:
        """Draw one annotator's lists: classes, padded, and their blocks.

        ``follow`` returns what follows a class in her case, ``observed`` are the blocks that she named.
        """
        stages, reliability, n = self.shared.stages, self.shared.reliability, len(plausibility)
        k = plausibility.shape[1]
        with np.errstate(under="ignore"):
            logs = np.log(np.maximum(plausibility, LEAST, dtype=float))
            logs -= logs.max(1, keepdims=True)
            powers = reliability, reliability * stages.ratio, stages.focus
            first, later, focused = (np.exp(power * logs) for power in powers)
        common = np.maximum(self.population, LEAST) ** -stages.discount
        classes, blocks = np.full((n, 0), PADDING), np.full((n, 0), PADDING)
        going, left = np.ones(n, bool), np.ones(n)
        doubt = np.log(np.maximum(1 - plausibility.max(1), LEAST_MASS))
        most = self.longest if stages.stop is not None else int(observed.max()) + 1
        head = np.zeros((n, 0), int)
        for number in range(most):
            if stages.tie is None:
                size = np.full(n, max((observed == number).sum(), 1))
            else:
                before = np.minimum((classes >= 0).sum(1), 2)
                tied = random.random(n) < expit(np.asarray(stages.tie)[before] + stages.tie[3] * doubt)
                sizes = np.array([random.choice(some, n) for some in self.sizes])
                size = np.where(tied, sizes[before, np.arange(n)], 1)
            size = np.where(going, np.minimum(size, k - (classes >= 0).sum(1)), 0)
            for member in range(int(size.max(initial=0))):
                wanted = np.flatnonzero(size > member)
                is_first = number == 0 and member == 0
                weight = (first if is_first else later)[wanted]
                of_first = random.random(len(wanted)) < (stages.dependence if number else 0)
                for place in np.flatnonzero(of_first):
                    row = wanted[place]
                    after = sum(follow(one) for one in head[row].tolist() if one >= 0)
                    weight[place] = focused[row] * after**stages.sharpness * common
                careless = stages.careless if is_first else stages.careless_later
                weight[random.random(len(wanted)) < careless] = self.population
                new = _draw(weight, classes[wanted], random)
                classes, blocks = (np.pad(one, ((0, 0), (0, 1)), constant_values=PADDING) for one in (classes, blocks))
                classes[wanted, -1], blocks[wanted, -1] = new, number
                left[wanted] -= plausibility[wanted, new]
            if number == 0:
                head = classes.copy()
            if stages.stop is not None:
                odds = np.asarray(stages.stop)[np.clip((classes >= 0).sum(1), 1, 3) - 1] + stages.stop[4] * doubt
                odds = odds + stages.stop[3] * np.log(np.maximum(left, LEAST_MASS))
                going &= random.random(n) >= expit(odds)
            going &= (classes >= 0).sum(1) < k
        return classes, blocks


def _draw(
    weight: Float[np.ndarray, "replicate class"], taken: Int[np.ndarray, "replicate named"], random: np.random.Generator
) -> Int[np.ndarray, " replicate"]:
    """Draw a class that is not taken; any of these if no weight is left."""
    free = np.ones((len(weight), weight.shape[1] + 1), bool)
    free[np.arange(len(weight))[:, None], taken] = False  # padding is the last column
    weight = weight * free[:, :-1]
    gone = weight.sum(1) <= 0
    weight[gone] = free[gone, :-1]
    below = np.cumsum(weight, axis=1)
    return (below <= random.random((len(weight), 1)) * below[:, -1:]).sum(1)
