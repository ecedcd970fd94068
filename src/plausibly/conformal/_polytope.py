r"""Questions of a region of plausibilities, as linear programs with closed forms: pure functions of arrays.

The region of a case with scores ``s`` is ``{λ : λ ≥ 0, Σ_k λ_k = 1, Σ_k λ_k s_k ≥ τ}``. With ``d = s − τ`` it is the
part of the simplex where ``Σ λ_k d_k ≥ 0``; it is empty if all ``d`` are negative. A linear function over it is
greatest at a vertex: a corner of the simplex, or a point on the edge between a corner inside and one outside.

*Bounds of the plausibility of a group of classes.* If the best score in the group is at least ``τ``, the group may have
all of it. Otherwise ``a`` is the best class in the group and ``b`` the best of all, and the most is the point on their
edge where the score is ``τ``: ``d_b / (d_b − d_a)``. The least is one less the most of the other classes.

*Can a class be the most plausible?* The cone ``λ_k ≥ λ_j`` is spanned by the indicators of sets that hold ``k``; the
best of them adds every other class with a positive ``d``. So it can if ``d_k + Σ_{j≠k} max(d_j, 0) ≥ 0``.

*Can B be the j most plausible?* The cone ``min_B λ ≥ max_{not B} λ`` is spanned by the corners of B, and by indicators
of sets that hold all of B. So it can if some ``d_b ≥ 0`` in B, or ``Σ_B d_b + Σ_{not B} max(d_k, 0) ≥ 0``. (In the
first case the others of B need no more than a trace of plausibility.)
"""

import heapq
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

_ROUNDING = 1e-12


def is_empty(d: Float[np.ndarray, "case class"]) -> Bool[np.ndarray, " case"]:
    """Whether no plausibilities lie in the region; `d` are scores less the threshold."""
    return d.max(axis=1) < 0


def most_of(
    best: Float[np.ndarray, "case group"], d: Float[np.ndarray, "case class"]
) -> Float[np.ndarray, "case group"]:
    """Greatest total plausibility of groups of classes whose best scores are `best`, less the threshold."""
    top = d.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = top / (top - best)
    most = np.where(best >= 0, 1.0, np.clip(share, 0, 1))
    return np.where(is_empty(d)[:, None], np.nan, most)


def class_bounds(
    d: Float[np.ndarray, "case class"],
) -> tuple[Float[np.ndarray, "case class"], Float[np.ndarray, "case class"]]:
    """Least and greatest plausibility of every class; NaN where the region is empty."""
    padded = np.pad(d, ((0, 0), (1, 0)), constant_values=-np.inf)  # a single class has no others
    second, best = np.partition(padded, -2, axis=1)[:, -2:].T[..., None]
    return 1 - most_of(np.where(d == best, second, best), d), most_of(d, d)


def group_bounds(
    d: Float[np.ndarray, "case class"], member: Bool[np.ndarray, "group class"]
) -> tuple[Float[np.ndarray, "case group"], Float[np.ndarray, "case group"]]:
    """Least and greatest total plausibility of groups of classes; a group of none has none."""
    inside, outside = (
        np.stack([d[:, classes].max(axis=1, initial=-np.inf) for classes in groups], axis=1)
        for groups in (member, ~member)
    )
    return 1 - most_of(outside, d), most_of(inside, d)


def can_be_first(d: Float[np.ndarray, "case class"]) -> Bool[np.ndarray, "case class"]:
    """Whether each class may be the most plausible one, ties included."""
    positive = np.maximum(d, 0)
    total = positive.sum(axis=1, keepdims=True)
    return ~is_empty(d)[:, None] & (d - positive + total >= -_ROUNDING * np.maximum(np.abs(d), total))


def can_be_top(d: Float[np.ndarray, " class"], chosen: Bool[np.ndarray, " class"]) -> bool:
    """Whether a set may hold the most plausible classes of one case."""
    if d.max() < 0:
        return False
    inside = d[chosen]
    return bool((inside >= 0).any() or inside.sum() + np.maximum(d[~chosen], 0).sum() >= -_ROUNDING * np.abs(d).max())


def top_sets(d: Float[np.ndarray, " class"], j: int) -> Iterator[tuple[int, ...]]:
    """Sets of j classes that may be the most plausible ones of a case, those with the greatest sum of scores first.

    If a set may, so may one in which a class gives way to another with a higher score. So sets are searched from the
    best on, each followed by those in which one class moves one place down, and one that may not be has no such
    followers.
    """
    order = np.argsort(-d, kind="stable")
    sorted_d = d[order]
    start = tuple(range(j))
    waiting = [(-float(sorted_d[:j].sum()), start)]
    seen = {start}
    while waiting:
        _, places = heapq.heappop(waiting)
        chosen = np.zeros(len(d), bool)
        chosen[list(places)] = True
        if not can_be_top(sorted_d, chosen):
            continue
        yield tuple(sorted(int(order[place]) for place in places))
        for at, place in enumerate(places):
            following = places[at + 1] if at + 1 < j else len(d)
            if place + 1 < following:
                moved = (*places[:at], place + 1, *places[at + 1 :])
                if moved not in seen:
                    seen.add(moved)
                    heapq.heappush(waiting, (-float(sorted_d[list(moved)].sum()), moved))


def polygon(d: Float[np.ndarray, "3"]) -> Float[np.ndarray, "vertex 3"]:
    """Vertices of the region of three classes, around it in order."""
    corners = np.eye(3)
    vertices = []
    for a in range(3):
        b = (a + 1) % 3
        if d[a] >= 0:
            vertices.append(corners[a])
        if (d[a] >= 0) != (d[b] >= 0) and not math.isclose(d[a], d[b]):
            share = d[a] / (d[a] - d[b])
            vertices.append((1 - share) * corners[a] + share * corners[b])
    return np.array(vertices).reshape(-1, 3)
