"""Names of the independent streams of random numbers that follow the draws of a posterior."""

from collections.abc import Mapping
from enum import IntEnum

import jax
import numpy as np
from jaxtyping import Array, Int, Key, UInt32

from plausibly.random_streams._keys import as_key, in_blocks


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


Words = Mapping[Stream, UInt32[np.ndarray, "case 2"]]


def stream_words(keys: Key[Array, " case"]) -> Words:
    """Derive the keys of every stream, one per case, as plain data that NumPy can slice.

    Examples
    --------
    >>> stream_words(jax.random.split(jax.random.key(0), 3))[Stream.TIES].shape
    (3, 2)
    """
    words = in_blocks(_fold_in, np.asarray(jax.random.key_data(keys)))
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
def _fold_in(words):
    streams = np.array(list(Stream), np.uint32)
    return jax.random.key_data(jax.vmap(jax.vmap(jax.random.fold_in, (None, 0)), (0, None))(as_key(words), streams))
