"""Random keys by case name, and the independent streams of random numbers that follow from them.

The random numbers of a case do not depend on which other cases are present: its key is the key of the seed with a hash
of the case's name folded in.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from hashlib import blake2b

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from plausibly.base.checks import check_seed


def case_keys(seed: int, names: Iterable[str]) -> Key[Array, " case"]:
    """Make one key per case: the key of the seed with 64 bits of a hash of the case's name folded in.

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
    base = np.array([0, check_seed(seed)], np.uint32)  # what jax.random.key makes of a seed
    return as_key(_folded(_folded(base, words[:, 0]), words[:, 1]))


def fold_in(keys: Key[Array, " n"], numbers: Int[np.ndarray, " n"]) -> Key[Array, " n"]:
    """Fold a different number into each key.

    Examples
    --------
    >>> keys = case_keys(0, ["p1", "p2"])
    >>> bool(fold_in(keys, np.array([3, 4]))[1] == jax.random.fold_in(keys[1], 4))
    True
    """
    return as_key(_folded(np.asarray(jax.random.key_data(keys)), np.asarray(numbers, np.uint32)))


def take(keys: Key[Array, " n"], at: Int[np.ndarray, " chosen"]) -> Key[Array, " chosen"]:
    """Take some of the keys with NumPy, because indexing a JAX array is compiled for every number of rows.

    Examples
    --------
    >>> keys = case_keys(0, ["p1", "p2"])
    >>> bool(take(keys, np.array([1]))[0] == keys[1])
    True
    """
    return as_key(np.asarray(jax.random.key_data(keys))[at])


def as_key(words: UInt32[Array, "*row 2"]) -> Key[Array, "*row"]:
    """Turn plain data back into keys like those of :func:`case_keys`."""
    return jax.random.wrap_key_data(words, impl="threefry2x32")


def _folded(
    words: UInt32[np.ndarray, "*#shape 2"], numbers: UInt32[np.ndarray, "*#shape"]
) -> UInt32[np.ndarray, "*shape 2"]:
    """Fold numbers into keys, as ``jax.random.fold_in`` does, by NumPy: of a few rows, JAX would only compile."""
    return np.stack(np.broadcast_arrays(*threefry(words[..., 0], words[..., 1], np.uint32(0), numbers)), axis=-1)


def threefry(key, other_key, first, second):
    """Threefry-2x32 with twenty rounds, of keys and counters that are arrays of NumPy or JAX.

    Salmon, Moraes, Dror & Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
    """
    schedule = key, other_key, key ^ other_key ^ np.uint32(0x1BD11BDA)
    first, second = first + key, second + other_key
    for group in range(5):
        for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            first = first + second
            second = (second << np.uint32(rotation) | second >> np.uint32(32 - rotation)) ^ first
        first = first + schedule[(group + 1) % 3]
        second = second + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return first, second


class Stream(IntEnum):
    """Purpose of random numbers, which is folded into the key of a case.

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
    PRIOR = 0x706C000B
    NEXT_ANNOTATIONS = 0x706C0050
    BOOTSTRAP = 0x706C000C
    TRUE_CLASS = 0x706C000D
    PANELS = 0x706C000E


Words = Mapping[Stream, UInt32[np.ndarray, "case 2"]]


def stream_words(keys: Key[Array, " case"]) -> Words:
    """Derive the keys of every stream, one per case, as plain data that NumPy can slice.

    Examples
    --------
    >>> stream_words(jax.random.split(jax.random.key(0), 3))[Stream.TIES].shape
    (3, 2)
    """
    words = np.asarray(jax.random.key_data(keys))
    return {stream: _folded(words, np.full(len(words), stream, np.uint32)) for stream in Stream}


def key_words(seed: int, names: Iterable[str], stream: Stream) -> UInt32[np.ndarray, "case 2"]:
    """Derive the keys of one stream, one per name, as plain data.

    Examples
    --------
    >>> names = ["p1", "p2"]
    >>> bool((key_words(0, names, Stream.TIES) == stream_words(case_keys(0, names))[Stream.TIES]).all())
    True
    """
    words = np.asarray(jax.random.key_data(case_keys(seed, names)))
    return _folded(words, np.full(len(words), stream, np.uint32))


def select(words: Words, cases: Int[np.ndarray, " chosen"] | slice) -> Words:
    """Keep the keys of some cases."""
    return {stream: data[cases] for stream, data in words.items()}


def random_bits(
    words: UInt32[Array, "*#shape 2"], draw: UInt32[Array, "*#shape"], number: Int[Array, "*#shape"] | int
) -> tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]:
    """Compute two words of random bits from a case's key, a draw and a number, in compiled programs.

    These are the bits of JAX's own generator, written as arithmetic that XLA fuses with the code that uses them: if
    every number has its own key, JAX's own function takes ten times as long on a CPU.

    Examples
    --------
    >>> from jax.extend.random import threefry_2x32
    >>> first, second = random_bits(jnp.array([1, 2], jnp.uint32), jnp.uint32(3), 4)
    >>> expected = threefry_2x32(jnp.array([1, 2], jnp.uint32), jnp.array([3, 4], jnp.uint32))
    >>> expected.tolist() == [int(first), int(second)]
    True
    """
    return threefry(words[..., 0], words[..., 1], draw, jnp.asarray(number).astype(jnp.uint32))


def uniform_draws(words: UInt32[np.ndarray, "case 2"], n_draws: int) -> Float[np.ndarray, "case draw"]:
    """Uniform random numbers of cases in every draw, by NumPy; those of a draw do not depend on how many there are.

    Examples
    --------
    >>> words = stream_words(case_keys(0, ["p1", "p2"]))[Stream.TRUE_CLASS]
    >>> bool((uniform_draws(words, 5)[1:, :3] == uniform_draws(words[1:], 3)).all())
    True
    """
    bits, _ = threefry(words[:, :1], words[:, 1:], np.arange(n_draws, dtype=np.uint32), np.uint32(0))
    return (bits + 0.5) * 2.0**-32


def exponentials(
    words: UInt32[Array, "*#shape 2"], draw: UInt32[Array, "*#shape"], number: Int[Array, "*#shape"] | int
) -> Float[Array, "*shape"]:
    """Standard exponential variables of :func:`random_bits`: weights of a Bayesian bootstrap, before they are divided.

    Examples
    --------
    >>> draws = jnp.arange(1000, dtype=jnp.uint32)
    >>> bool(abs(exponentials(jnp.array([[1, 2]], jnp.uint32), draws, 0).mean() - 1) < 0.1)
    True
    """
    bits, _ = random_bits(words, draw, number)
    return -jnp.log(((bits >> 8).astype(jnp.float32) + 0.5) * 2.0**-24)


def generator(words: UInt32[np.ndarray, "2"], number: int = 0) -> np.random.Generator:
    """Make a NumPy generator from a key, which is far cheaper than JAX for thousands of gamma variables.

    Examples
    --------
    >>> words = stream_words(jax.random.split(jax.random.key(0), 1))[Stream.DENSE][0]
    >>> bool(generator(words).random() == generator(words).random())
    True
    """
    return np.random.Generator(np.random.Philox(key=np.array([int(words[0]) << 32 | int(words[1]), number], np.uint64)))
