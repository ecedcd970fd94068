"""Arrays of a posterior that are computed when they are read, such as the draws of one that has a closed form."""

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from xarray.backends import BackendArray
from xarray.core import indexing

from plausibly.inference import Form

_TOGETHER = 2**13  # slots that are averaged at a time
_LITTLE = 2**23  # numbers that are drawn together and kept, as they take up little memory


class OnDemand(BackendArray):
    """An array in place of which xarray keeps the recipe until it is read."""

    dtype = np.dtype(np.float32)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Lengths of the dimensions."""

    @abstractmethod
    def part(self, key: tuple[Any, ...]) -> np.ndarray:
        """Values of a part: an integer, a slice or an array of integers of each dimension."""

    def variable(self, *dims: str) -> xr.Variable:
        """Return a variable that is computed when it is read, once."""
        lazy = indexing.CopyOnWriteArray(indexing.LazilyIndexedArray(self))
        return xr.Variable(dims, indexing.MemoryCachedArray(lazy))

    def __deepcopy__(self, memo: Any) -> "OnDemand":
        return self

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self.part)


def outer(values: np.ndarray, key: tuple[Any, ...]) -> np.ndarray:
    """Index each dimension by itself."""
    for axis in reversed(range(len(key))):
        index = key[axis]
        values = values.take(index, axis) if np.ndim(index) else values[(slice(None),) * axis + (index,)]
    return values


class Draws(OnDemand):
    """Draws (chain, draw, slot) from a closed form, of the cases whose slots are asked for; of few cases, of all."""

    def __init__(self, form: Form, chains: int, draws: int):
        self.form = form
        self._numbers = chains, draws

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of chains, draws and slots."""
        return *self._numbers, len(self.form.slots)

    def part(self, key: tuple[Any, ...]) -> np.ndarray:
        """Draws of some chains, draws and slots."""
        if np.prod(self.shape) <= _LITTLE:
            return outer(self._whole, key)
        slots, wanted = self.form.slots, np.arange(self.shape[-1])[key[-1]]
        if not wanted.size:
            return outer(np.empty((*self._numbers, 0), self.dtype), (*key[:-1], wanted))
        cases = np.unique(slots.case[wanted])
        runs = np.split(cases, np.flatnonzero(np.diff(cases) > 1) + 1)
        parts = [outer(self._of(slice(int(run[0]), int(run[-1]) + 1)), (*key[:-1], slice(None))) for run in runs]
        start = np.cumsum([0, *(slots.start[case + 1] - slots.start[case] for case in cases)])
        place = start[np.searchsorted(cases, slots.case[wanted])] + wanted - slots.start[slots.case[wanted]]
        return np.concatenate(parts, axis=-1).take(place, -1)

    def _of(self, cases: slice) -> Float[np.ndarray, "chain draw slot"]:
        return self.form.draw(*self._numbers, cases)

    @cached_property
    def _whole(self) -> Float[np.ndarray, "chain draw slot"]:
        return self.form.draw(*self._numbers)


def mean_draws(
    plausibility: Float[np.ndarray, "chain draw slot"] | Draws, wanted: Bool[np.ndarray, " slot"]
) -> Float[np.ndarray, " slot"]:
    """Mean over draws of the wanted slots, NaN of others; of a closed form, some slots are drawn at a time."""
    out, at = np.full(len(wanted), np.nan, np.float32), np.flatnonzero(wanted)
    for some in np.split(at, np.arange(_TOGETHER, len(at), _TOGETHER)):
        key = slice(None), slice(None), some
        values = plausibility.part(key) if isinstance(plausibility, Draws) else plausibility.take(some, -1)
        out[some] = values.mean((0, 1))
    return out
