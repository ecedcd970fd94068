"""Exact draws from independent Dirichlet posteriors over ragged slots."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from os import cpu_count
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from plausibly.annotations import Slots
from plausibly.fingerprint import of_thread
from plausibly.inference._compilation import compiler_options, kept_on_disk
from plausibly.random_streams import as_key

_NUMBERS = 2**15  # numbers per compiled call on a CPU, whose caches hold them; a GPU is kept busy by more
_ON_GPU = 2**22


def _log_gammas(
    words: UInt32[Array, "slot 2"], place: Int[Array, " slot"], shape: Float[Array, " slot"], n: int
) -> Float[Array, "draw slot"]:
    def of_slot(key, number, a):
        return jax.random.loggamma(jax.random.fold_in(key, number), a, (n,))

    return jax.vmap(of_slot, out_axes=1)(as_key(words), place, shape)


def _compiled() -> Callable[..., Array]:
    """The program, for any number of draws; the usual options of XLA compile for twice as long and are no faster."""
    return _compiled_with(tuple((compiler_options() or {}).items()))


@cache
def _compiled_with(options: tuple[tuple[str, Any], ...]) -> Callable[..., Array]:
    return jax.jit(_log_gammas, static_argnums=3, compiler_options=dict(options) or None)


def together(total: int, n: int) -> int:
    """How many of n are given so many numbers in one compiled call: a power of two, so that few sizes are compiled.

    On a CPU it is the same for any n: what fills up the room costs less than another compilation.

    Examples
    --------
    >>> together(1000, 5000), together(1000, 3), together(10**6, 3)
    (32, 32, 1)
    """
    if jax.default_backend() == "cpu":
        return 1 << max(_NUMBERS // total, 1).bit_length() - 1
    return min(1 << max(_ON_GPU // total, 1).bit_length() - 1, 1 << (n - 1).bit_length())


def dirichlet(
    concentration: Float[np.ndarray, " slot"], slots: Slots, keys: Key[Array, " case"], *, chains: int, draws: int
) -> Float[np.ndarray, "chain draw slot"]:
    """Draw the plausibilities of every case from its Dirichlet distribution.

    Parameters
    ----------
    concentration
        Positive shape of every slot.
    slots
        The (case, class) pairs.
    keys
        One key per case; each slot's variables come from its case's key and its place in the case.
    chains, draws
        The draws are independent; chains are kept so that diagnostics read alike for all engines.

    Notes
    -----
    Gamma variables are drawn and normalised as logarithms, so that shapes far below one do not underflow to 0/0.
    """
    place = np.arange(len(slots), dtype=np.int32) - slots.start[slots.case].astype(np.int32)
    words, shape = np.asarray(jax.random.key_data(keys)), np.asarray(concentration, np.float32)
    total = chains * draws
    out = np.empty((total, len(slots)), np.float32)
    size = together(total, len(slots))

    def draw(first: int) -> None:
        # The last part is filled up to the common length, so that nothing is compiled for it.
        part = np.minimum(np.arange(first, first + size), len(slots) - 1)
        own = slice(first, min(first + size, len(slots)))
        found = _compiled()(words[slots.case[part]], place[part], shape[part], total)
        out[:, own] = np.asarray(found)[:, : own.stop - own.start]

    with kept_on_disk(), ThreadPoolExecutor(cpu_count() or 1) as pool:
        # What JAX was told as a context, such as to compute in double precision, other threads do not know.
        alike = of_thread() == pool.submit(of_thread).result()
        draw(0)  # two threads would compile the same program twice
        list((pool.map if alike else map)(draw, range(size, len(slots), size)))
    start = slots.start[:-1]
    out -= np.maximum.reduceat(out, start, axis=1)[:, slots.case]
    np.exp(out, out=out)
    out /= np.add.reduceat(out, start, axis=1)[:, slots.case]
    return out.reshape(chains, draws, -1)
