r"""The unseen case: one case more in every replicate, which each classifier gets right or wrong by the toss of a coin.

A bootstrap knows no case but those of the sample. A classifier that is right in ten of ten cases would be right in all
new ones, and the one of two that is right in a single case more would surely be better. So every
replicate has one case more, with a bootstrap weight like all others. By a coin, a classifier is as right about it as
it ever is, or as wrong as about a case of another class:

* Its class is drawn like those of the sample; metrics that are conditional on a class have one more case of the class,
  and one that is not of it. In a mean over more than two classes, the coin decides about one of them; a coin about each
  would pull the mean of many rare classes far to the middle. The case of another class, of n cases, is like one of
  them or, once in n + 1 times, like one of any class, and counts for three: bootstraps of few cases each vary by less
  than their means do, by a factor of (n - 1) / (n + 1), which does not average out.
* If the coin says right, its scores are those of the case to which the classifier gives the class with most confidence,
  and its choice is the class. If wrong, its scores are those of a case of another class, drawn at random, and its
  choice is the class farthest from the truth.
* It counts as much as a case of its class does: with weights w, :math:`\sum w^2 / \sum w` over the clusters of the
  class, so that weights that are constant within a class change nothing that is conditional on it. Where cases come in
  clusters, it is a whole cluster.
* Coins of different classifiers differ as often as possible: always for two. Classifiers with the same predictions
  share a coin.

A share of x among n so has the draws of Beta(x + 1, n - x) or, as often, of Beta(x, n - x + 1), whose quantiles are the
ends of the mid-P interval; and of two classifiers with b and c discordant cases, the probability that one is better is
one minus the mid-P value of the sign test.

References
----------
Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9. Lancaster (1961), Significance tests in discrete
distributions, Journal of the American Statistical Association 56: mid-P values.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, UInt32
from scipy.sparse import csc_array, csr_array

from plausibly.base.bootstrap import coins

_LIKE = 3.0  #: cases that one counts for, which is like another, in a mean over classes


class UnseenCase:
    """Weight, class, look and coin of the unseen case in every replicate.

    Parameters
    ----------
    truth
        Weight of each class in every case, which are weights of the case altogether.
    words
        Random keys of the clusters of cases.
    column
        Number of the coin of each classifier, see :func:`columns`.
    n_replicates
        Number of replicates. Random numbers follow from the clusters, so those of a group of cases are its own.
    least
        Least weight of the case, where what cases weigh does not depend on their class, so that one of a class may
        weigh more than those that were seen.
    """

    def __init__(
        self,
        truth: Float[np.ndarray, "case side"] | csr_array,
        words: UInt32[np.ndarray, "case 2"],
        column: Int[np.ndarray, " classifier"],
        n_replicates: int,
        least: float = 0.0,
    ):
        of_sides = csc_array(truth, dtype=float)
        of_sides.eliminate_zeros()
        self._n_cases, self.n_sides = of_sides.shape
        self._side = np.repeat(np.arange(self.n_sides), np.diff(of_sides.indptr))
        self._case, self._weight = of_sides.indices, of_sides.data
        self._column, self._n, self._least = column, n_replicates, least
        keys = np.ascontiguousarray(words[self._case]).view(np.uint64)[:, 0]
        keys, self._cluster = np.unique(keys, return_inverse=True)
        self._seed = int(keys.sum(dtype=np.uint64))
        self._upto = np.concatenate([[0.0], np.cumsum(self._weight)])
        self._edge = self._upto[np.searchsorted(self._side, np.arange(self.n_sides + 1))]

    @cached_property
    def _units(self) -> tuple[float, Float[np.ndarray, " side"], Float[np.ndarray, " side"]]:
        """Weight of a cluster among all, among those of a class, and among those that are not of it."""
        key, which = np.unique(self._cluster * self.n_sides + self._side, return_inverse=True)
        own, (row, side) = np.bincount(which, self._weight), np.divmod(key, self.n_sides)
        every = np.bincount(row, own)
        squares, both = (np.bincount(side, own * of, self.n_sides) for of in (own, every[row]))
        total, of_side = every.sum(), np.diff(self._edge)
        with np.errstate(invalid="ignore", divide="ignore"):  # no case of a class, or none of another
            found = squares / of_side, ((every**2).sum() - 2 * both + squares) / (total - of_side)
        of_class, of_others = (np.maximum(np.where(np.isfinite(one), one, 0), self._least) for one in found)
        return float((every**2).sum() / total) if total else 0.0, of_class, of_others

    def _random(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, purpose])

    def _drawn(self, side: Int[np.ndarray, " drawn"], random: np.random.Generator, *, other: bool):
        """Cases drawn by weight, of each class or of any other; of the class itself where there is no other."""
        low, high, total = self._edge[side], self._edge[side + 1], self._upto[-1]
        alone = high - low >= total
        place = random.random(len(side)) * np.where(other & ~alone, total - (high - low), high - low)
        place += np.where(other & ~alone, np.where(place >= low, high - low, 0), low)
        return self._case[np.minimum(np.searchsorted(self._upto, place, side="right") - 1, len(self._case) - 1)]

    def altogether(
        self,
    ) -> tuple[
        Float[np.ndarray, " replicate"],
        Int[np.ndarray, " replicate"],
        Int[np.ndarray, " replicate"],
        Bool[np.ndarray, "classifier replicate"],
    ]:
        """Weight, class, a case of another class, and whether each classifier is right, of one case more."""
        random = self._random(0)
        weight = self._units[0] * random.standard_exponential(self._n)
        right = coins(self._column, self._n, random)
        place = random.random(self._n) * self._upto[-1]
        entry = np.minimum(np.searchsorted(self._upto, place, side="right") - 1, len(self._side) - 1)
        side = self._side[entry]
        return weight, side, self._drawn(side, random, other=True), right

    @cached_property
    def seen(self) -> Bool[np.ndarray, " case"]:
        """Whether a case has a truth with weight, as all have that an unseen case may look like."""
        found = np.zeros(self._n_cases, bool)
        found[self._case] = True
        return found

    @property
    def coin(self) -> Bool[np.ndarray, " replicate"]:
        """Coin of what is compared with classifiers but is none, such as another expert."""
        return self._random(3).random(self._n) < 0.5

    def of_classes(
        self,
    ) -> tuple[Float[np.ndarray, "side 2 replicate"], Bool[np.ndarray, "classifier side 2 replicate"]]:
        """Weights, and who is right, of one case more of each class and of one that is not of it.

        Of two classes, a case that is not of one is of the other.
        """
        random, k, n = self._random(1), self.n_sides, self._n
        weight = random.standard_exponential((k, 2, n))
        right = coins(self._column, k * 2 * n, random).reshape(len(self._column), k, 2, n)
        if k == 2:
            weight[:, 1], right[:, :, 1] = weight[::-1, 0], right[:, ::-1, 0]
        return weight * np.stack(self._units[1:], axis=1)[..., None], right

    def of_mean(
        self,
    ) -> tuple[
        Float[np.ndarray, "side 2 replicate"],
        Bool[np.ndarray, "side replicate"],
        Int[np.ndarray, "side replicate"],
        Int[np.ndarray, "side 2 replicate"],
    ]:
        """Weights of the two of :meth:`of_classes` in a mean over classes, and what they are like.

        That is whether the coin decides about them; else a class, and cases of which the first is of this class, and
        the other is not.
        """
        random, known, shape = self._random(4), np.flatnonzero(np.diff(self._edge) > 0), (self.n_sides, self._n)
        decided = random.choice(known, self._n) == np.arange(self.n_sides)[:, None]
        unit = np.stack(self._units[1:], axis=1)[..., None]
        n = np.diff(self._edge) / np.maximum(unit[:, 0, 0], np.finfo(float).tiny)
        own = random.random(shape) * (n + 1)[:, None] < n[:, None]
        of_class = np.where(own, np.arange(self.n_sides)[:, None], random.choice(known, shape))
        like = np.stack([self._drawn(of_class.ravel(), random, other=other) for other in (False, True)])
        weight = random.standard_gamma(np.where(decided, 1.0, _LIKE)[:, None], (self.n_sides, 2, self._n))
        return weight * unit, decided, of_class, like.reshape(2, *shape).swapaxes(0, 1)

    def looks(
        self,
        classifier: Int[np.ndarray, " score"],
        side: Int[np.ndarray, " score"],
        order: Int[np.ndarray, "score case"],
        *,
        of_mean: bool,
    ) -> tuple[Int[np.ndarray, "score 2 replicate"], Float[np.ndarray, "score 2 replicate"]]:
        """Cases whose scores the two of :meth:`of_classes`, or of :meth:`of_mean`, have, and their weights.

        There are scores of each classifier and class; `order` has all cases that have been seen, the greatest first.
        In a mean over classes, a case like another stands where that stands among the scores of its class.
        """
        (weight, right), random = self.of_classes(), self._random(2)
        every, ends = np.repeat(np.arange(self.n_sides), self._n), order[:, [0, -1]]
        drawn = [self._drawn(every, random, other=other).reshape(self.n_sides, self._n) for other in (True, False)]
        found = np.where(right[classifier, side], ends[..., None], np.stack(drawn, axis=1)[side])
        if of_mean:
            weight, decided, of_class, like = self.of_mean()
            place = np.empty((len(order), self._n_cases), order.dtype)
            np.put_along_axis(place, order, np.arange(order.shape[1])[None], axis=1)
            for at in range(len(order)):
                own = at - side[at] + of_class[side[at]]
                as_seen = order[at][place[own, like[side[at]]]]
                found[at] = np.where(decided[side[at]], found[at], as_seen)
        return found, weight[side]


def unseen_cases(
    truth: Float[np.ndarray, "case side"] | csr_array,
    words: UInt32[np.ndarray, "case 2"],
    members: Sequence[Float[np.ndarray, " case"]],
    column: Int[np.ndarray, " classifier"],
    n_replicates: int,
    least: float = 0.0,
) -> "list[UnseenCase | None]":
    """Unseen case of each group of cases, whose own cases are counted from 0; None for a group without truth."""
    if not n_replicates or not len(column):
        return [None] * len(members)
    truth, groups = csr_array(truth), (np.flatnonzero(member) for member in members)
    return [UnseenCase(truth[at], words[at], column, n_replicates, least) if truth[at].sum() else None for at in groups]


def columns(predictions: Sequence[np.ndarray]) -> Int[np.ndarray, " classifier"]:
    """For each classifier, the number of the first one with the same predictions.

    Examples
    --------
    >>> columns([np.array([0.2, 0.8]), np.array([0.8, 0.2]), np.array([0.2, 0.8])]).tolist()
    [0, 1, 0]
    """

    def same(one: np.ndarray, other: np.ndarray) -> bool:
        return np.array_equal(one[:9], other[:9]) and np.array_equal(one, other)

    first = [next(at for at, one in enumerate(predictions) if same(one, other)) for other in predictions]
    return np.array(first, np.int64)
