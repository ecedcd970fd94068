"""Distances of many pairs: in blocks, so that memory is bounded, and in several processes if wanted."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly._pools import in_processes
from plausibly._progress import Progress
from plausibly.agreement._distinct_labels import Distinct
from plausibly.distances import BestMatches, Distance, FunctionDistance, LabelRefused, PairRefused
from plausibly.errors import DistanceError
from plausibly.labels.container import Labels

_BLOCK, _SLOW_BLOCK = 1 << 17, 256
_MANY = 3_000_000  #: pairs that take seconds by any distance
_CHECKED = 50  #: pairs for which a user's function is called in both orders


def distances_of(
    labels: Labels,
    distinct: Distinct,
    key: Int[np.ndarray, " pair"],
    distance: Distance,
    *,
    processes: int = 1,
    progress: bool = True,
) -> Float[np.ndarray, " pair"]:
    """Compute the distances of pairs of distinct labels, which are given as numbers ``lesser · D + greater``."""
    left, right = np.divmod(key, len(distinct))
    try:
        encoded = distance.encode(distinct.values, np.bincount(distinct.code, minlength=len(distinct)))
    except LabelRefused as error:
        raise DistanceError(f"{labels.where(distinct.first[error.position])}: {error}") from error
    try:
        if isinstance(distance, FunctionDistance):
            _check_symmetry(labels, distinct, distance, encoded, left, right)
        found, done = np.empty(len(key)), 0
        with Progress(progress and (distance.slow or len(key) > _MANY)) as bars:
            advance = bars.task("Comparing labels", len(key), "pairs")
            for block in _blocks(distance, encoded, left, right, processes):
                found[done : done + len(block)] = block
                done += len(block)
                advance(len(block))
    except PairRefused as error:
        pair = _pair(labels, distinct, error.left, error.right)
        raise DistanceError(f"{error} on {pair}; correct the distance") from error.__cause__
    if isinstance(distance, BestMatches) and np.isposinf(found).any() and np.isfinite(found).any():
        # Labels without objects, where the distance of single objects has no bound: as far as any two labels are.
        found[np.isposinf(found)] = found[np.isfinite(found)].max()
    for place in np.flatnonzero(~(np.isfinite(found) & (found >= 0)))[:1]:
        raise DistanceError(
            f"a distance is a finite number, zero or greater, but {distance.name!r} gave {found[place]:g} on "
            f"{_pair(labels, distinct, left[place], right[place])}; correct the distance"
        )
    return found


def _blocks(
    distance: Distance, encoded: Any, left: np.ndarray, right: np.ndarray, processes: int
) -> Iterator[np.ndarray]:
    size = _SLOW_BLOCK if distance.slow else _BLOCK
    own, *rest = np.array_split(np.arange(len(left)), processes if len(left) > size else 1)
    calls = [(encoded, left[part], right[part]) for part in rest]
    with in_processes(distance.between, calls) as others:
        for begin in range(0, len(own), size):
            at = own[begin : begin + size]
            yield distance.between(encoded, left[at], right[at])
        for call, found in zip(calls, others, strict=True):
            values = found.result()
            yield distance.between(*call) if values is None else values


def _check_symmetry(labels, distinct, distance, encoded, left, right) -> None:
    """Call a user's function on some pairs in both orders."""
    different = np.flatnonzero(left != right)
    some = different[np.linspace(0, len(different) - 1, min(_CHECKED, len(different))).astype(int)]
    there, back = distance.between(encoded, left[some], right[some]), distance.between(encoded, right[some], left[some])
    for place in np.flatnonzero(~np.isclose(there, back, rtol=1e-9, atol=1e-12, equal_nan=True))[:1]:
        raise DistanceError(
            f"a distance is the same in either order, but {distance.name!r} gave {there[place]:g} and {back[place]:g} "
            f"on {_pair(labels, distinct, left[some[place]], right[some[place]])}; return for example the mean of both"
        )


def _pair(labels: Labels, distinct: Distinct, left: int, right: int) -> str:
    places = [int(distinct.first[side]) for side in (left, right)]
    return " and ".join(f"the label of {labels.where(place)}" for place in places)
