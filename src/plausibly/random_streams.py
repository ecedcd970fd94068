"""Random keys by case name, and the independent streams of random numbers that follow from them.

A case's randomness does not depend on which other cases are present: its key is the seed's with a hash of the case's
name folded in.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from functools import partial
from hashlib import blake2b

import jax
import numpy as np
from jaxtyping import Array, Int, Key, UInt32

from plausibly._seed import check_seed

_ROWS = 2**12  # keys that are made at a time


def case_keys(seed: int, names: Iterable[str]) -> Key[Array, " case"]:
    """One key per case: the seed's key with 64 bits of a hash of the case's name folded in.

    Raises
    ------
    ArgumentError
        If the seed is not a whole number of 32 bits.

    Examples
    --------
    >>> a, b = case_keys(0, ["p1", "p2"])
    >>> bool(case_keys(0, ["p0", "p2"])[1] == b)
    True
    """
    digests = b"".join(blake2b(str(name).encode(), digest_size=8).digest() for name in names)
    words = np.frombuffer(digests, dtype="<u4").astype(np.uint32).reshape(-1, 2)
    base = jax.random.key(check_seed(seed), impl="threefry2x32")
    return as_key(in_blocks(partial(_of_hashes, jax.random.key_data(base)), words))


def fold_in(keys: Key[Array, " n"], numbers: Int[np.ndarray, " n"]) -> Key[Array, " n"]:
    """Fold into each key a number of its own.

    Examples
    --------
    >>> keys = case_keys(0, ["p1", "p2"])
    >>> bool(fold_in(keys, np.array([3, 4]))[1] == jax.random.fold_in(keys[1], 4))
    True
    """
    return as_key(in_blocks(_fold_in, np.asarray(jax.random.key_data(keys)), np.asarray(numbers, np.uint32)))


def take(keys: Key[Array, " n"], at: Int[np.ndarray, " chosen"]) -> Key[Array, " chosen"]:
    """Take some of the keys: by NumPy, since indexing a JAX array is compiled for every number of rows.

    Examples
    --------
    >>> keys = case_keys(0, ["p1", "p2"])
    >>> bool(take(keys, np.array([1]))[0] == keys[1])
    True
    """
    return as_key(np.asarray(jax.random.key_data(keys))[at])


def as_key(words: UInt32[Array, "*row 2"]) -> Key[Array, "*row"]:
    """Make keys of plain data again, of the kind that :func:`case_keys` makes."""
    return jax.random.wrap_key_data(words, impl="threefry2x32")


def in_blocks(function: Callable[..., Array], *columns: np.ndarray) -> np.ndarray:
    """Apply a compiled function to rows, in blocks of few sizes, so that nothing is compiled for a number of rows.

    Parameters
    ----------
    function
        From rows to as many rows.
    columns
        Its arguments; rows come first.
    """
    n = len(columns[0])
    size = min(_ROWS, 1 << max(n - 1, 0).bit_length())
    found = []
    for first in range(0, max(n, 1), size):
        rows = np.minimum(np.arange(first, first + size), max(n - 1, 0)) if n else np.zeros(0, np.int64)
        found.append(np.asarray(function(*(column[rows] for column in columns)))[: n - first])
    return found[0] if len(found) == 1 else np.concatenate(found)


@jax.jit
def _of_hashes(base, words):
    def one(word):
        return jax.random.fold_in(jax.random.fold_in(as_key(base), word[0]), word[1])

    return jax.random.key_data(jax.vmap(one)(words))


@jax.jit
def _fold_in(words, numbers):
    return jax.random.key_data(jax.vmap(jax.random.fold_in)(as_key(words), numbers))


class Stream(IntEnum):
    """What random numbers are for; folded into the key of a case.

    The numbers are far from 0, because folding a small number into a key gives the same key as splitting it does, and
    a sampler may have split the same key.
    """

    TIES = 0x706C0001
    SPLIT = 0x706C0002
    FILL = 0x706C0003
    DENSE = 0x706C0004
    RISK = 0x706C0005
    PREDICTIONS = 0x706C0006
    COVERAGE = 0x706C0007
    FOLDS = 0x706C0008
    SHARES = 0x706C0009
    REPLICATES = 0x706C000A
    CALIBRATED_SHARES = 0x706C0040
    NEW_SHARES = 0x706C0041
    AT_THRESHOLD = 0x706C0042
    POPULATION = 0x706C000B


Words = Mapping[Stream, UInt32[np.ndarray, "case 2"]]


def stream_words(keys: Key[Array, " case"]) -> Words:
    """Derive the keys of every stream, one per case, as plain data that NumPy can slice.

    Examples
    --------
    >>> stream_words(jax.random.split(jax.random.key(0), 3))[Stream.TIES].shape
    (3, 2)
    """
    words = in_blocks(_fold_in_streams, np.asarray(jax.random.key_data(keys)))
    return {stream: np.ascontiguousarray(words[:, number]) for number, stream in enumerate(Stream)}


def select(words: Words, cases: Int[np.ndarray, " chosen"] | slice) -> Words:
    """Keep the keys of some cases."""
    return {stream: data[cases] for stream, data in words.items()}


def generator(words: UInt32[np.ndarray, "2"], number: int = 0) -> np.random.Generator:
    """Make NumPy's random numbers of a key: far cheaper than JAX's where a case needs thousands of gamma variables.

    Examples
    --------
    >>> words = stream_words(jax.random.split(jax.random.key(0), 1))[Stream.DENSE][0]
    >>> bool(generator(words).random() == generator(words).random())
    True
    """
    return np.random.Generator(np.random.Philox(key=np.array([int(words[0]) << 32 | int(words[1]), number], np.uint64)))


@jax.jit
def _fold_in_streams(words):
    streams = np.array(list(Stream), np.uint32)
    return jax.random.key_data(jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))(as_key(words), streams))
