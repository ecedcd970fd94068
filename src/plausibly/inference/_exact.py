"""Exact draws from independent Dirichlet posteriors over ragged slots."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from plausibly.annotations import Slots

_NUMBERS = 2**22  # numbers per compiled call


@partial(jax.jit, static_argnums=2)
def _log_gammas(keys: Key[Array, " slot"], shape: Float[Array, " slot"], n: int) -> Float[Array, "draw slot"]:
    return jax.vmap(lambda key, a: jax.random.loggamma(key, a, (n,)), out_axes=1)(keys, shape)


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
    place = np.arange(len(slots)) - slots.start[slots.case]
    out = np.empty((chains * draws, len(slots)), np.float32)
    size = 2 ** min(max(int(np.log2(_NUMBERS / (chains * draws))), 0), int(np.ceil(np.log2(len(slots)))))
    for a in range(0, len(slots), size):
        # The last part is filled up to the common length, so that nothing is compiled for it.
        part = np.minimum(np.arange(a, a + size), len(slots) - 1)
        slot_keys = jax.vmap(jax.random.fold_in)(keys[slots.case[part]], place[part])
        n = min(size, len(slots) - a)
        out[:, a : a + n] = _log_gammas(slot_keys, jnp.asarray(concentration[part], jnp.float32), chains * draws)[:, :n]
    start = slots.start[:-1]
    out -= np.maximum.reduceat(out, start, axis=1)[:, slots.case]
    np.exp(out, out=out)
    out /= np.add.reduceat(out, start, axis=1)[:, slots.case]
    return out.reshape(chains, draws, -1)
