"""Seeds, and random keys by case name, so that no case's randomness depends on which other cases are present."""

from collections.abc import Iterable
from hashlib import blake2b

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from plausibly.errors import ArgumentError


def check_seed(seed: object) -> int:
    """Refuse a seed that is not a whole number of 32 bits.

    Raises
    ------
    ArgumentError
        If it is not; JAX would take a larger or negative one for its remainder modulo 2**32.
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not (whole and 0 <= seed < 2**32):
        raise ArgumentError(f"seed must be a whole number from 0 to {2**32 - 1}, but {seed!r} was given.")
    return int(seed)


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
    words = jnp.asarray(np.frombuffer(digests, dtype="<u4").reshape(-1, 2))
    base = jax.random.key(check_seed(seed), impl="threefry2x32")
    return jax.vmap(lambda word: jax.random.fold_in(jax.random.fold_in(base, word[0]), word[1]))(words)
