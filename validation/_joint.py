r"""Pairs of plausibilities and annotations, from the joint distribution whose conditional a sampler claims to know.

Every test here needs pairs :math:`(\lambda, b)` with :math:`\lambda \mid b` distributed as the posterior. A posterior
is a prior times a likelihood of *given* annotations, up to a constant; whatever joint density is proportional to

.. math:: p(\lambda) \prod_r p(b^r \mid \lambda)^\gamma \; [b \in A]

has the conditional wanted, for any set :math:`A` of annotations that does not depend on :math:`\lambda`. Partial
rankings of given block sizes are finitely many, so this is a proper density whatever :math:`\gamma > 0`, also where
:math:`p(b \mid \lambda)^\gamma` does not sum to one over b and so is no generative model. Pairs are drawn by rejection:
:math:`\lambda` from the prior, accepted with a probability proportional to
:math:`c(\lambda) = \prod_r \sum_{b^r} p(b^r \mid \lambda)^\gamma`, then every annotation from
:math:`p(b^r \mid \lambda)^\gamma` normalised. For whole :math:`\gamma` that is the same as letting every annotator rank
:math:`\gamma` times and keeping the cases in which all of them repeat themselves.

So each reading of reliability and each treatment of unranked classes has its pairs:

* ``temper``: the generative model itself, weights :math:`\lambda^\gamma`;
* ``power``: as above;
* ``ignore``: :math:`A` holds the annotations that name every class between them;
* ``lumped``, ``exact``: one more class stands for all others. :math:`A` holds the annotations that name every class
  between them but never that one, for an annotator who did would have named a class. Its prior shape is :math:`\alpha`
  if lumped and :math:`m \alpha` if exact;
* ``exact`` by ``power`` has a stronger form, which is used: all K classes are there, each of shape :math:`\alpha`,
  annotators name any of them, and the unnamed classes add up to the remainder. That the shape
  :math:`m \alpha` is right is then part of what is tested.

The likelihood is written out here in double precision, apart from the package's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Blocks = tuple[tuple[int, ...], ...]  # one annotator's partial ranking, best first
BATCH = 4096  # proposals at a time


@dataclass(frozen=True)
class Layout:
    """A kind of case: how many classes it has, and the sizes of the blocks that each annotator names."""

    n_classes: int
    sizes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Pairs:
    """Plausibilities and annotations of cases of one layout."""

    plausibility: np.ndarray  #: (case, class)
    annotations: list[tuple[Blocks, ...]]  #: of each case, by annotator


def outcomes(sizes: Sequence[int], n_classes: int) -> list[Blocks]:
    """All rankings of so many classes whose blocks have these sizes.

    Examples
    --------
    >>> outcomes((1, 2), 3)
    [((0,), (1, 2)), ((1,), (0, 2)), ((2,), (0, 1))]
    """

    def extend(left: tuple[int, ...], sizes: Sequence[int]) -> list[Blocks]:
        if not sizes:
            return [()]
        return [
            (block, *others)
            for block in combinations(left, sizes[0])
            for others in extend(tuple(k for k in left if k not in block), sizes[1:])
        ]

    return extend(tuple(range(n_classes)), tuple(sizes))


def block_probability(weights: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Probability that all classes of a block come before the rest: the sum over its orders, by subsets.

    Parameters
    ----------
    weights
        (n, block), positive.
    rest
        (n,) total weight of what comes later.
    """
    size = weights.shape[1]
    drawn = [np.ones(len(rest))]
    for subset in range(1, 2**size):
        members = [a for a in range(size) if subset >> a & 1]
        last = sum(drawn[subset & ~(1 << a)] for a in members)
        drawn.append(last / (rest + weights[:, members].sum(1)))
    return drawn[-1] * weights.prod(1)


def probability(ranking: Blocks, weights: np.ndarray) -> np.ndarray:
    """Probability of a partial ranking for (n, class) weights, n at a time.

    Examples
    --------
    >>> float(probability(((0,), (1,)), np.array([[2.0, 1.0, 1.0]]))[0])
    0.25
    """
    left = list(range(weights.shape[1]))
    total = np.ones(len(weights))
    for block in ranking:
        left = [k for k in left if k not in block]
        total = total * block_probability(weights[:, list(block)], weights[:, left].sum(1))
    return total


def draw_pairs(
    layout: Layout,
    n: int,
    rng: np.random.Generator,
    *,
    shape: np.ndarray,
    power: float = 1.0,
    temper: float = 1.0,
    complete: bool = True,
    keep: Callable[[tuple[Blocks, ...]], bool] | None = None,
) -> Pairs:
    """Draw n cases of a layout.

    Parameters
    ----------
    layout
        What annotators name are the first ``layout.n_classes`` classes.
    n
        How many.
    rng
        Random numbers.
    shape
        Prior shapes of all classes; more than the layout has if there is a remainder.
    power, temper
        The exponent of the likelihood, and of the weights.
    complete
        Whether to keep only cases in which every class of the layout is named.
    keep
        Any other condition on the annotations.
    """
    # The annotator with the fewest possible rankings comes first, and leaves fewer proposals to the others.
    choices = {sizes: outcomes(sizes, layout.n_classes) for sizes in layout.sizes}
    order = sorted(range(len(layout.sizes)), key=lambda r: (max(layout.sizes[r]), len(choices[layout.sizes[r]])))
    found: list[np.ndarray] = []
    annotations: list[tuple[Blocks, ...]] = []
    while len(annotations) < n:
        share = rng.dirichlet(shape, BATCH)
        chosen = np.zeros((BATCH, len(layout.sizes)), int)
        for r in order:
            possible = choices[layout.sizes[r]]
            weights = share**temper
            p = np.stack([probability(b, weights / weights.sum(1, keepdims=True)) for b in possible], axis=1) ** power
            total = p.sum(1)
            # The greatest that the sum can be, by Jensen's inequality or because probabilities are at most one.
            bound = len(possible) ** max(1 - power, 0.0)
            accepted = rng.random(len(total)) * bound < total
            share, chosen = share[accepted], chosen[accepted]
            steps = (p / total[:, None])[accepted].cumsum(1)
            chosen[:, r] = np.minimum((rng.random(len(steps))[:, None] > steps).sum(1), len(possible) - 1)
        for row, picked in zip(share, chosen, strict=True):
            case = tuple(choices[sizes][i] for sizes, i in zip(layout.sizes, picked, strict=True))
            named = {k for ranking in case for block in ranking for k in block}
            if (not complete or len(named) == layout.n_classes) and (keep is None or keep(case)):
                found.append(row)
                annotations.append(case)
    return Pairs(np.array(found[:n]), annotations[:n])
