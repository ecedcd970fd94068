"""Splitting the remainder of a case among the classes that nobody named, as far as a ranked list needs it.

The mass T of the remainder falls on its m classes as T · Dirichlet(c · 1_m). A ranked list only asks for the pieces
above some threshold v. Two facts find them without m random numbers per draw:

* the expected number of pieces above v is m · P(Beta(c, (m − 1) c) > v / T), and where that is below 1e-9 there is
  nothing to do (this is the only approximation: a list is wrong with at most that probability);
* a Dirichlet splits in halves: the first half of its classes gets a Beta(c·m₁, c·m₂) share, independently of how it
  goes on within the halves. Descending this binary tree only into nodes heavier than v finds every piece above v, with
  its class, in about as many random numbers as there are nodes heavier than v.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, UInt32
from scipy import stats

NEGLIGIBLE = 1e-9
"""Expected number of pieces above the threshold below which a remainder is not split."""

_LANES = 8192  # One shape, so one compilation, whatever the number of nodes.


def largest_share(members: int, concentration: float) -> float:
    """Find the share of the remainder that a piece exceeds ``NEGLIGIBLE`` times in expectation.

    Examples
    --------
    >>> largest_share(1, 1.0), round(largest_share(419, 1.0), 3)
    (1.0, 0.062)
    """
    if members == 1:
        return 1.0
    return float(stats.beta.isf(NEGLIGIBLE / members, concentration, (members - 1) * concentration))


def pieces_above(
    mass: Float[np.ndarray, " pair"],
    members: Int[np.ndarray, " pair"],
    threshold: Float[np.ndarray, " pair"],
    key_words: UInt32[np.ndarray, "pair 2"],
    draw: Int[np.ndarray, " pair"],
    concentration: float,
) -> tuple[Int[np.ndarray, " piece"], Int[np.ndarray, " piece"], Float[np.ndarray, " piece"]]:
    """All pieces above the threshold of remainders that are split by a symmetric Dirichlet.

    Parameters
    ----------
    mass, members, threshold
        Of each (case, draw) pair: mass and number of classes of the remainder, and the threshold (positive).
    key_words, draw
        Randomness of a pair: data of its case's key, and the number of the draw.
    concentration
        Of the Dirichlet, for each class.

    Returns
    -------
    Pair, position among the classes of the remainder (from 0) and mass of each piece.
    """
    pair = np.arange(len(mass))
    node = np.ones(len(mass), np.int32)  # heap order: the halves of node i are 2 i and 2 i + 1
    first = np.zeros(len(mass), np.int32)
    members = members.astype(np.int32)
    # Masses in logarithms: a share too small for a float still has to be split like any other.
    log_mass, log_threshold = np.log(mass, dtype=np.float64), np.log(threshold, dtype=np.float64)
    found = []
    while len(pair):
        heavy = log_mass > log_threshold[pair]
        leaf = heavy & (members == 1)
        found.append((pair[leaf], first[leaf], np.exp(log_mass[leaf])))
        inner = heavy & (members > 1)
        pair, node, first, members, log_mass = (a[inner] for a in (pair, node, first, members, log_mass))
        left = members // 2
        sizes = np.stack([left, members - left], axis=1)
        shares = log_shares(key_words[pair], draw[pair], node, np.float32(concentration) * sizes)
        pair = np.concatenate([pair, pair])
        node = np.concatenate([2 * node, 2 * node + 1])
        first = np.concatenate([first, first + left])
        members = sizes.T.ravel()
        log_mass = (log_mass[:, None] + shares).T.ravel()
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def log_shares(
    key_words: UInt32[np.ndarray, "row 2"],
    draw: Int[np.ndarray, " row"],
    node: Int[np.ndarray, " row"],
    concentrations: Float[np.ndarray, "row part"],
) -> Float[np.ndarray, "row part"]:
    """Logarithms of Dirichlet shares, each row from the key of its case, draw and node; no part where it is 0."""
    n_rows, n_parts = concentrations.shape
    out = np.empty((n_rows, n_parts), np.float32)
    for start in range(0, n_rows, _LANES):
        rows = slice(start, start + _LANES)
        pad = max(0, start + _LANES - n_rows)
        padded = (
            np.pad(a[rows], [(0, pad)] + [(0, 0)] * (a.ndim - 1), mode="edge")
            for a in (key_words, draw, node, concentrations.astype(np.float32))
        )
        out[rows] = np.asarray(_log_shares(*padded))[: _LANES - pad]
    return out


@jax.jit
@jax.vmap
def _log_shares(key_words, draw, node, concentrations):
    key = jax.random.wrap_key_data(key_words, impl="threefry2x32")  # the kind that plausibly._keys makes
    key = jax.random.fold_in(jax.random.fold_in(key, draw), node)
    present = concentrations > 0
    log_gamma = jax.random.loggamma(key, jnp.where(present, concentrations, 1.0))
    return jax.nn.log_softmax(jnp.where(present, log_gamma, -jnp.inf))
