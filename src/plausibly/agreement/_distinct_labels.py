"""Equal labels as one: distances are computed once for every two different labels."""

from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from plausibly.labels.container import Labels


@dataclass(frozen=True)
class Distinct:
    """The different labels, for every label an index into them, and for every one of them the first that is it."""

    values: list[Any]
    code: Int[np.ndarray, " label"]
    first: Int[np.ndarray, " distinct"]

    def __len__(self) -> int:
        return len(self.values)


def distinct(labels: Labels) -> Distinct:
    """Find equal labels: of the same type and content, through all levels of lists and mappings.

    What can be neither looked into nor hashed counts as different from everything else.
    """
    first, code = different(labels.values)
    values = labels.values[first]
    return Distinct(values.tolist() if labels.is_numeric else list(values), code, first)


def different(values: np.ndarray) -> tuple[Int[np.ndarray, " distinct"], Int[np.ndarray, " label"]]:
    """Find the first of each of the different labels, and for every label which of them it is; see :func:`distinct`."""
    if values.dtype != object:
        _, first, code = np.unique(values, return_index=True, return_inverse=True)
        return first, code
    places: dict[Hashable, int] = {}
    code = np.empty(len(values), np.int64)
    first = []
    for position, value in enumerate(values):
        place = places.setdefault(_frozen(value), len(places))
        if place == len(first):
            first.append(position)
        code[position] = place
    return np.array(first), code


def _frozen(value: Any) -> Hashable:
    """Make of a label something that can be looked up."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        content = _frozen(value.tolist()) if value.dtype == object else value.tobytes()
        return "array", value.shape, value.dtype.str, content
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(_frozen, value))
    if isinstance(value, Mapping):
        return ("mapping", *sorted(((_frozen(key), _frozen(cell)) for key, cell in value.items()), key=repr))
    if isinstance(value, Set):
        return ("set", frozenset(map(_frozen, value)))
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return (type(value).__name__, value)
