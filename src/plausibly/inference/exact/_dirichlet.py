r"""Exact draws from Dirichlet distributions and Dirichlet trees.

Exact draws of Plackett-Luce where its posterior is a tree of Dirichlet distributions.

An annotation without ties says: first, of all classes, c₁; then, of those left, c₂; and so on. If all annotations of a
case agree on what was left at every one of their draws, the sets drawn from are nested, :math:`S_0 \supset S_1 \supset
\dots`, and the posterior is

.. math:: p(\lambda \mid b) \propto \prod_k \lambda_k^{a_k - 1} \prod_j \Big(\sum_{k \in S_j} \lambda_k\Big)^{-d_j}

with :math:`a_k = \alpha_k + \gamma n_k`, :math:`n_k` how often class k was drawn, and :math:`d_j = \gamma` times the
number of draws from :math:`S_j`. Then the shares into which :math:`S_j` falls are independent Dirichlet variables, of
shape :math:`a_k` for its own classes and :math:`\sum_{k \in S_{j+1}} a_k - \sum_{i > j} d_i` for all of :math:`S_{j+1}`
together (Dennis 1991, On the hyper-Dirichlet type 1 and hyper-Liouville distributions). Where every annotator names one
class, :math:`S_0` is the only set, and this is Dirichlet(α + γ n).
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from plausibly.base.compute import Part, run
from plausibly.base.random_streams import fold_in, take, threefry
from plausibly.data.annotations import Annotations, Slots
from plausibly.inference.exact._gammas import log_gammas

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
) -> Float[Array, "slot draw"]:
    key = threefry(words[:, 0], words[:, 1], jnp.uint32(0), place.astype(jnp.uint32))
    return log_gammas(key, shape, n)


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
    out = np.empty((len(slots), chains * draws), np.float32)  # so laid out, it is evaluated
    for rows, logs in drawn(_log_gammas, (words[slots.case], place, shape), chains * draws):
        out[rows] = logs[: len(rows)]
    start = slots.start[:-1]
    out -= np.maximum.reduceat(out, start)[slots.case]
    np.exp(out, out=out)
    out /= np.add.reduceat(out, start)[slots.case]
    return out.reshape(-1, chains, draws).transpose(1, 2, 0)


def nested_cases(annotations: Annotations) -> Bool[np.ndarray, " case"]:
    """Cases in which no annotation ties classes it names, and all agree on what was left at each of their draws.

    That is so if all of them name the same classes in the same order, up to the last class that each of them names.
    """
    length = np.diff(annotations.annotation_start)
    tied = np.zeros(annotations.n_cases, bool)
    tied[annotations.annotation_case[annotations.block_annotation[annotations.block_sizes > 1]]] = True
    longest = _longest(annotations, length)
    first = annotations.annotation_start[longest[annotations.entry_case]]
    counted = (annotations.entry_block < length[annotations.entry_annotation] - 1) & ~tied[annotations.entry_case]
    own = np.flatnonzero(counted)
    differs = annotations.entry_class[own] != annotations.entry_class[(first + annotations.entry_block)[own]]
    tied[annotations.entry_case[own[differs]]] = True
    return ~tied


def _longest(annotations, length):
    """The annotation of each case that names most classes."""
    order = np.lexsort((length, annotations.annotation_case))
    last = np.searchsorted(annotations.annotation_case, np.arange(annotations.n_cases), side="right") - 1
    return order[last]


def dirichlet_tree(
    annotations: Annotations,
    slots: Slots,
    reliability: float,
    concentration: Float[np.ndarray, " slot"],
    keys: Key[Array, " case"],
    *,
    chains: int,
    draws: int,
) -> Float[np.ndarray, "chain draw slot"]:
    """Draws of the plausibilities of :func:`nested_cases`, of which all cases must be.

    Every annotation counts ``reliability`` times. Draws are independent, see :func:`dirichlet`.
    """
    slot = slots.find(annotations.entry_case, annotations.entry_class)
    shape = concentration + reliability * np.bincount(slot, minlength=len(slots))
    length = np.diff(annotations.annotation_start)
    longest = _longest(annotations, length)
    depth = length[longest]  # levels of each case: one for each class that its longest annotation names
    start = np.cumsum([0, *depth])
    level_case = np.repeat(np.arange(annotations.n_cases), depth)
    level = np.arange(len(level_case)) - start[level_case]

    # Every slot belongs to the level at which it leaves the nested sets; most to the last.
    of_slot = start[slots.case] + depth[slots.case] - 1
    named = annotations.annotation_start[longest][level_case] + level
    inner = level < depth[level_case] - 1
    of_slot[slot[named[inner]]] = np.flatnonzero(inner)

    drawn = np.bincount(start[annotations.entry_case] + annotations.entry_block, minlength=len(level_case))
    left = np.bincount(of_slot, shape, len(level_case)) - reliability * drawn
    # Summed from each level to the last of its case: what the set there is worth as a whole.
    total = np.cumsum(left[::-1])[::-1]
    beyond = np.append(total, 0)[start[level_case + 1]]
    whole = (total - beyond)[1:]

    # The parts of a level are its slots and, unless it is the last, the whole of the next level.
    parts = np.concatenate([of_slot, np.flatnonzero(inner)])
    values = np.concatenate([shape, whole[np.flatnonzero(inner)]])
    order = np.argsort(parts, kind="stable")
    one = np.ones(len(parts), int)
    nodes = Slots(parts[order], one, one, np.searchsorted(parts[order], np.arange(len(level_case) + 1)))
    node_keys = fold_in(take(keys, level_case), level)
    shares = np.empty((chains, draws, len(parts)), np.float32)
    shares[..., order] = dirichlet(values[order], nodes, node_keys, chains=chains, draws=draws)

    # Down the tree: a level holds what is left of the one above.
    mass = np.ones((chains, draws, len(level_case)), np.float32)
    next_share = np.full(len(level_case), -1)
    next_share[inner] = len(slots) + np.arange(inner.sum())
    for j in range(1, depth.max(initial=1)):
        here = np.flatnonzero(level == j)
        mass[..., here] = mass[..., here - 1] * shares[..., next_share[here - 1]]
    return shares[..., : len(slots)] * mass[..., of_slot]
