"""Exact draws from independent Dirichlet posteriors over ragged slots."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from plausibly.annotations import Slots
from plausibly.compute import Part, run
from plausibly.random_streams import as_key

_NUMBERS = 2**15  # numbers per compiled call on a CPU, whose caches hold them; a GPU is kept busy by more
_ON_GPU = 2**22


def drawn(
    function: Callable[..., Any], arrays: tuple[np.ndarray, ...], total: int
) -> Iterator[tuple[Int[np.ndarray, " row"], Any]]:
    """Rows of arrays, some at a time, and what a program makes of them: so many draws of each.

    Their number is a power of two, so that few sizes are compiled. On a CPU it is the same for any number of rows: what
    fills up the room costs less than another compilation.
    """
    n, on_cpu = len(arrays[0]), jax.default_backend() == "cpu"
    size = 1 << max((_NUMBERS if on_cpu else _ON_GPU) // total, 1).bit_length() - 1
    if not on_cpu:
        size = min(size, 1 << (n - 1).bit_length())
    rows = np.arange(n)
    parts = [Part(None, size, rows[first : first + size]) for first in range(0, n, size)]

    def of_part(part: Part) -> tuple[np.ndarray, ...]:
        return tuple(array[part.full] for array in arrays)

    for part, result in run((function, total), lambda *rows: function(*rows, total), parts, of_part):
        yield part.at, result


def _log_gammas(
    words: UInt32[Array, "slot 2"], place: Int[Array, " slot"], shape: Float[Array, " slot"], n: int
) -> Float[Array, "draw slot"]:
    def of_slot(key, number, a):
        return jax.random.loggamma(jax.random.fold_in(key, number), a, (n,))

    return jax.vmap(of_slot, out_axes=1)(as_key(words), place, shape)


def dirichlet(
    concentration: Float[np.ndarray, " slot"], slots: Slots, keys: Key[Array, " case"], *, chains: int, draws: int
) -> Float[np.ndarray, "chain draw slot"]:
    """Draws of the plausibilities of every case from its Dirichlet distribution.

    Each slot's variables come from its case's key and its place in the case. Gamma variables are drawn and normalised
    as logarithms, so that shapes far below one do not underflow to 0/0. Draws are independent; chains are kept so that
    diagnostics read alike for all engines.
    """
    place = np.arange(len(slots), dtype=np.int32) - slots.start[slots.case].astype(np.int32)
    words, shape = np.asarray(jax.random.key_data(keys)), np.asarray(concentration, np.float32)
    out = np.empty((chains * draws, len(slots)), np.float32)
    for rows, logs in drawn(_log_gammas, (words[slots.case], place, shape), chains * draws):
        out[:, rows] = logs[:, : len(rows)]
    start = slots.start[:-1]
    out -= np.maximum.reduceat(out, start, axis=1)[:, slots.case]
    np.exp(out, out=out)
    out /= np.add.reduceat(out, start, axis=1)[:, slots.case]
    return out.reshape(chains, draws, -1)
