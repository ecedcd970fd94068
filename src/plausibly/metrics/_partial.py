"""Average overlap of partial rankings, whose ties share their places.

A partial ranking gives every class a set of places that it may take: those of its block. The *soft permutation* has in
row ``l`` the probabilities of the classes to stand at place ``l`` when ties are broken at random, and its cumulative
sums say how much of each class is among the first ``l``. Overlaps of these amounts, instead of sets, make an average
overlap that needs no tie broken; divided by the geometric mean of both rankings' overlap with themselves it is 1 for
equal rankings.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence

import numpy as np
from jaxtyping import Float, Int

from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError

Ranking = Sequence[Sequence[Hashable]] | Int[np.ndarray, "block class"]


def soft_permutation(ranking: Ranking, n_classes: int | None = None) -> Float[np.ndarray, "place class"]:
    """Probability that each class is at each place, if ties are broken at random.

    Parameters
    ----------
    ranking
        Blocks of class indices, best first, or a matrix of zeros and ones (block, class). Classes that no block names
        make up a last block.
    n_classes
        Number of classes K; by default one more than the greatest index.

    Returns
    -------
    (K, K) matrix; rows and columns sum to one.

    Raises
    ------
    ArgumentError
        If a class occurs twice, is not an index below K, or a block is empty.

    References
    ----------
    Stutz et al. (2025), appendix C, arXiv 2307.02191.

    Examples
    --------
    >>> soft_permutation([[3], [0, 2], [1]]).tolist()
    [[0.0, 0.0, 0.0, 1.0], [0.5, 0.0, 0.5, 0.0], [0.5, 0.0, 0.5, 0.0], [0.0, 1.0, 0.0, 0.0]]
    """
    blocks, width = _blocks(ranking)
    names = [name for block in blocks for name in block]
    if n_classes is None:
        numbers = [int(name) for name in names if isinstance(name, int | np.integer)]
        n_classes = max(numbers, default=-1) + 1 if width is None else int(width)
    for name in names:
        if not isinstance(name, int | np.integer) or not 0 <= name < n_classes:
            raise ArgumentError(
                f"classes must be whole numbers from 0 to {n_classes - 1}, but {name!r} was given: number the classes."
            )
    before, size = _places(blocks, range(n_classes), n_classes)
    amount = _amount_within(np.arange(n_classes + 1)[:, None], before, size)
    return np.diff(amount, axis=0)


def mean_average_overlap(a: Ranking, b: Ranking, depth: int, n_classes: int | None = None) -> float:
    """Average overlap of two partial rankings down to ``depth``; 1 for equal rankings.

    Parameters
    ----------
    a, b
        Blocks of classes, best first, by name or index, or matrices of zeros and ones (block, class). Classes that a
        ranking does not name make up its last block.
    depth
        Number of places to compare. Beyond the last class, both rankings contain all classes.
    n_classes
        Number of all classes; by default, the number of classes that either ranking names.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ArgumentError
        If a class occurs twice, a block is empty, ``depth`` is no positive whole number, or there are more classes
        than ``n_classes``.

    References
    ----------
    Stutz et al. (2025), appendix C, arXiv 2307.02191 (meanAO).

    Examples
    --------
    >>> mean_average_overlap([["nevus"], ["wart", "corn"]], [["nevus"], ["wart", "corn"]], depth=3)
    1.0
    >>> round(mean_average_overlap([["nevus"]], [["wart"], ["nevus"]], depth=2, n_classes=10), 3)
    0.315
    """
    depth = check_whole("depth", depth, 1, "choose one")
    (first, width), (second, other_width) = _blocks(a), _blocks(b)
    named = list(dict.fromkeys(name for block in [*first, *second] for name in block))
    if n_classes is None:
        n_classes = max(len(named), width or 0, other_width or 0)
    if not isinstance(n_classes, int | np.integer):
        raise ArgumentError(f"n_classes must be a whole number, but {n_classes!r} was given: count all classes.")
    if not n_classes:
        raise ArgumentError("there must be a class to rank, but neither ranking names one: name some, or n_classes.")
    if n_classes < len(named):
        raise ArgumentError(
            f"n_classes must be at least the number of classes named, {len(named)}, but {n_classes} was given: "
            "count all classes."
        )
    # The classes that neither names are alike: one column, None, stands for all of them.
    weight = np.append(np.ones(len(named)), n_classes - len(named))
    places = [_places(blocks, [*named, None], n_classes) for blocks in (first, second)]
    return float(normalised_overlap(*places[0], *places[1], weight, depth))


def normalised_overlap(
    before: Float[np.ndarray, "*#batch class"],
    size: Float[np.ndarray, "*#batch class"],
    other_before: Float[np.ndarray, "*#batch class"],
    other_size: Float[np.ndarray, "*#batch class"],
    weight: Float[np.ndarray, "*#batch class"],
    depth: int,
) -> Float[np.ndarray, "*batch"]:
    """MeanAO of rankings given by the number of classes before each class's block, and the size of the block.

    ``weight`` says how many classes a column stands for; those of no weight only fill the shape.
    """
    both, own, others = 0.0, 0.0, 0.0
    for place in range(1, depth + 1):
        here, there = _amount_within(place, before, size), _amount_within(place, other_before, other_size)
        both = both + (weight * here * there).sum(axis=-1) / place
        own = own + (weight * here**2).sum(axis=-1) / place
        others = others + (weight * there**2).sum(axis=-1) / place
    return both / np.sqrt(own * others)


def _amount_within(place, before, size):
    """How much of a class is among the first places."""
    return np.clip((place - before) / size, 0, 1)


def _blocks(ranking):
    if isinstance(ranking, np.ndarray) and ranking.ndim == 2:
        if not np.isin(ranking, (0, 1)).all():
            raise ArgumentError("a matrix (block, class) must hold zeros and ones, but it has others: correct it.")
        blocks, width = [np.flatnonzero(row).tolist() for row in ranking], ranking.shape[1]
    else:
        if not isinstance(ranking, Iterable) or any(
            isinstance(block, str) or not isinstance(block, Collection) for block in ranking
        ):
            raise ArgumentError(
                f"a ranking must be a list of blocks, but {ranking!r} was given: write for example [['a'], ['b', 'c']]."
            )
        blocks, width = [list(block) for block in ranking], None
    seen = set()
    for block in blocks:
        if not block:
            raise ArgumentError("a block of a ranking must name a class, but one is empty: leave it out.")
        for name in block:
            if name in seen:
                raise ArgumentError(f"a ranking must name a class once, but {name!r} occurs twice: keep one.")
            seen.add(name)
    return blocks, width


def _places(blocks, columns, n_classes):
    """Number of classes before the block of each, and in it; what no block names is in the last one."""
    before, size = {}, {}
    n = 0
    for block in blocks:
        for name in block:
            before[name], size[name] = n, len(block)
        n += len(block)
    last = max(n_classes - n, 1)
    return np.array([[float(of.get(name, other)) for name in columns] for of, other in ((before, n), (size, last))])
