"""Distances between rankings, full and partial."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from plausibly.base.checks import check_choice
from plausibly.base.errors import ArgumentError, show
from plausibly.distances._base import Counts, Distance, Distances, Indices, LabelRefused, as_list, each_label, flat
from plausibly.distances._objects import Lists, by_shape

Coefficient = Literal["kendall", "spearman"]
_AT_ONCE = 1 << 18


def ranked_list(label: Any) -> list[Any]:
    """Read a ranked list; raise ValueError for any other."""
    members = as_list(label, "a ranked list is a list", "[best, second, …]")
    seen = set()
    for member in members:
        if not isinstance(member, Hashable):
            raise ValueError(f"a ranked list names text or numbers, got {show(member)}; write [best, second, …]")
        if member in seen:
            raise ValueError(f"a ranked list names nothing twice, got {show(member)} again; keep the first")
        seen.add(member)
    return members


class RankedLists(Distance):
    r"""One minus the rank correlation of two lists, over all members of either list; in [0, 2].

    The union of the two lists has `m` members. In each list, a member's rank is its place (from 0), or `m` if the list
    does not name it; missing members are tied. Kendall's τ_b or Spearman's ρ (with mid-ranks) is computed from the two
    vectors of ranks. Equal lists are at distance 0, and an empty list is at distance 2 from any other; if the
    correlation is undefined for another reason, because one vector is constant, it counts as 0. Kendall (1945) for τ_b.

    Parameters
    ----------
    coefficient
        ``"kendall"`` or ``"spearman"``.
    top
        Number of members to compare, from the top; by default all.
    padding
        Number of further members that neither list names, tied at `m` in both. This suits lists that are the tops of
        longer lists, which agree on everything that they leave out.

    Examples
    --------
    >>> RankedLists()(["a", "b", "c"], ["c", "b", "a"])
    2.0
    >>> round(RankedLists("spearman")(["a", "b"], ["a", "c"]), 4)
    0.5
    """

    bound = 2.0

    def __init__(self, coefficient: Coefficient = "kendall", *, top: int | None = None, padding: int = 0):
        check_choice("the coefficient", coefficient, ("kendall", "spearman"))
        if top is not None and top < 1:
            raise ArgumentError(f"top must be at least 1, but {top!r} was given: write 5, or None for whole lists.")
        if padding < 0:
            raise ArgumentError(f"padding must be 0 or more, but {padding!r} was given: write 0 or 50.")
        self.coefficient, self.top, self.padding = coefficient, top, int(padding)
        self.name = coefficient if top is None else f"{coefficient}_at_{top}"

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Lists:
        """Number all members that are named."""
        numbers: dict[Any, int] = {}
        lists = [members[: self.top] for members in each_label(ranked_list, labels)]
        return Lists.of(
            lists, lambda named: np.array([numbers.setdefault(one, len(numbers)) for one in named], np.int32)
        )

    @flat
    def between(self, encoded: Lists, left: Indices, right: Indices) -> Distances:
        found = np.empty(left.size)
        for chosen, m, n in by_shape(encoded.count[left], encoded.count[right], _AT_ONCE):
            if not (m and n):
                found[chosen] = 2.0 if m or n else 0.0
                continue
            ours = encoded.members[encoded.start[left[chosen]] + np.arange(m)[:, None]]
            theirs = encoded.members[encoded.start[right[chosen]] + np.arange(n)[:, None]]
            place = np.full(ours.shape, n, np.int32)  # of our members in their list
            for position in range(n):
                np.putmask(place, ours == theirs[position], position)
            correlate = _tau if self.coefficient == "kendall" else _rho
            correlation = correlate(place, m, n, self.padding)
            same = (place == np.arange(m)[:, None]).all(axis=0) if m == n else np.zeros(len(chosen), bool)
            found[chosen] = np.where(same, 0.0, 1 - correlation)
        return found


def _tau(place: Int[np.ndarray, "member pair"], m: int, n: int, padding: int) -> Float[np.ndarray, " pair"]:
    """Kendall's τ_b from the places of one list's members in the other: concordant less discordant pairs, counted."""
    there = place < n
    common = there.sum(axis=0)
    ours_only, theirs_only = m - common, n - common
    # Pairs of members that both lists name.
    score = np.zeros(place.shape[1], np.int64)
    several = np.flatnonzero(common > 1)
    some = place[:, several]
    for position in range(m - 1):
        later = some[position + 1 :]
        sign = np.sign(later - some[position]) * (later < n)
        score[several] += np.where(some[position] < n, sign.sum(axis=0), 0)
    # One that both name against one that is absent from the other list, which is last there.
    before = np.cumsum(~there, axis=0)
    score += np.where(there, ours_only - 2 * before, 0).sum(axis=0)
    # A common member at place p of theirs has p members before it, of which some are common.
    ranks = np.sort(np.where(there, place, n), axis=0)
    position = np.arange(m)[:, None]
    score += np.where(ranks < n, theirs_only - 2 * (ranks - position), 0).sum(axis=0)
    score += padding * common - ours_only * theirs_only
    total = ours_only + n + padding
    tied_ours, tied_theirs = theirs_only + padding, ours_only + padding
    pairs, pairs_ours, pairs_theirs = (x * (x - 1) / 2 for x in (total, tied_ours, tied_theirs))
    scale = np.sqrt((pairs - pairs_ours) * (pairs - pairs_theirs))
    return np.divide(score, scale, out=np.zeros(len(score)), where=scale > 0)


def _rho(place: Int[np.ndarray, "member pair"], m: int, n: int, padding: int) -> Float[np.ndarray, " pair"]:
    """Spearman's ρ: Pearson's correlation of mid-ranks, of our members, of theirs that we do not name, and padding."""
    common = (place < n).sum(axis=0)
    total = m + n - common + padding
    centre = (total + 1) / 2
    # Ranks less their mean; all that a list does not name is tied behind what it names.
    named_ours, named_theirs = (np.arange(1, k + 1)[:, None] - centre for k in (m, n))
    absent_ours, absent_theirs = (m + 1 + total) / 2 - centre, (n + 1 + total) / 2 - centre
    theirs = np.where(place < n, place + 1 - centre, absent_theirs)
    product = (named_ours * theirs).sum(axis=0) + padding * absent_ours * absent_theirs
    product += absent_ours * (named_theirs.sum(axis=0) - (theirs * (place < n)).sum(axis=0))
    squares_ours = (named_ours**2).sum(axis=0) + (total - m) * absent_ours**2
    squares_theirs = (named_theirs**2).sum(axis=0) + (total - n) * absent_theirs**2
    scale = np.sqrt(squares_ours * squares_theirs)
    return np.divide(product, scale, out=np.zeros(len(product)), where=scale > 0)


def blocks_of(label: Any) -> list[list[Any]]:
    """Read a partial ranking, of blocks or of classes that are blocks of one; raise ValueError for any other label."""
    parts = as_list(label, "a partial ranking is a list of blocks", "[[class, …], …]")
    blocks = [list(one) if isinstance(one, list | tuple | set | frozenset | np.ndarray) else [one] for one in parts]
    named = [one for block in blocks for one in block]
    for one in named:
        if not isinstance(one, Hashable):
            raise ValueError(f"the classes of a ranking are text or numbers, got {show(one)}; write [[class, …], …]")
    if len(set(named)) < len(named) or not all(blocks):
        raise ValueError(
            f"a partial ranking has no empty block and names no class twice, got {show(label)}; correct it"
        )
    return blocks


class PartialRankings(Distance):
    r"""One minus the mean average overlap of two partial rankings, in [0, 1].

    A block of `s` tied classes fills its `s` places with 1/s of each class; the unranked classes fill the remaining
    places. If :math:`C_{lk}` is the share of class `k` in the first `l` places, the average overlap to depth `L` is
    :math:`\sum_l \frac{1}{l L} \sum_k C_{lk} C'_{lk}`, and the mean average overlap is this number divided by the
    geometric mean of the overlaps of each ranking with itself. Stutz et al. (2025), appendix C, arXiv 2307.02191.

    Parameters
    ----------
    depth
        Number `L` of places that count; by default the largest number of classes that a label names.
    classes
        Names of all classes; by default those that occur.

    Examples
    --------
    >>> distance = PartialRankings(depth=2, classes=["wart", "corn", "nevus"])
    >>> round(distance([["wart"], ["corn"]], [["wart", "corn"]]), 4)
    0.134
    >>> distance([["wart"], ["corn"]], [["wart"], ["corn"]])
    0.0
    """

    name, bound = "partial_rankings", 1.0

    def __init__(self, depth: int | None = None, classes: Iterable[Any] | None = None):
        if depth is not None and depth < 1:
            raise ArgumentError(f"the depth must be at least 1, but {depth!r} was given: write 3.")
        self.depth, self.classes = depth, None if classes is None else dict.fromkeys(classes)

    def encode(self, labels: Sequence[Any], counts: Counts = None) -> Float[np.ndarray, "label feature"]:
        """Turn every label into a vector of length one, such that the mean average overlap is an inner product."""
        rankings = each_label(blocks_of, labels)
        column: dict[Any, int] = {}
        for position, blocks in enumerate(rankings):
            for one in (one for block in blocks for one in block):
                if self.classes is not None and one not in self.classes:
                    raise LabelRefused(f"the class {one!r} is not among the classes given; add it there", position)
                column.setdefault(one, len(column))
        n_classes = len(column) if self.classes is None else len(self.classes)
        if not n_classes:
            return np.ones((len(labels), 1))  # no label ranks anything: all alike
        never = n_classes - len(column)  # classes in no label, and so alike in all of them
        named = [sum(map(len, blocks)) for blocks in rankings]
        depth = max(1, min(self.depth or max(named, default=1), n_classes))
        shares = np.zeros((len(labels), depth, len(column) + 1))
        for row, (blocks, n_named) in zip(shares, zip(rankings, named, strict=True), strict=True):
            place = 0
            for block in blocks:
                members = [column[one] for one in block]
                row[place : place + len(block), members] = 1 / len(block)
                place += len(block)
            if n_named < n_classes:
                rest = np.ones(len(column) + 1, bool)
                rest[[column[one] for block in blocks for one in block]] = False
                row[n_named:, rest] = 1 / (n_classes - n_named)
        first = np.cumsum(shares, axis=1)
        first[:, :, -1] *= np.sqrt(never)
        first /= np.sqrt(np.arange(1, depth + 1) * depth)[None, :, None]
        features = first.reshape(len(labels), -1)
        return features / np.linalg.norm(features, axis=1, keepdims=True)

    @flat
    def between(self, encoded: Float[np.ndarray, "label feature"], left: Indices, right: Indices) -> Distances:
        found = np.empty(left.size)
        step = max(1, (1 << 20) // encoded.shape[1])
        for begin in range(0, len(found), step):
            part = slice(begin, begin + step)
            found[part] = np.einsum("if,if->i", encoded[left[part]], encoded[right[part]])
        # Rounding makes the overlap of a ranking with itself a little more or less than one.
        distances = np.where(left == right, 0.0, np.clip(1 - found, 0.0, 1.0))
        return np.where(distances < 8e-15, 0.0, distances)
