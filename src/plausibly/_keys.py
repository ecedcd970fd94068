"""Random keys by case name, so that no case's randomness depends on which other cases are present."""

from collections.abc import Iterable
from hashlib import blake2b

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key


def case_keys(seed: int, names: Iterable[str]) -> Key[Array, " case"]:
    """One key per case: the seed's key with 64 bits of a hash of the case's name folded in.

    Examples
    --------
    >>> a, b = case_keys(0, ["p1", "p2"])
    >>> bool(case_keys(0, ["p0", "p2"])[1] == b)
    True
    """
    digests = b"".join(blake2b(str(name).encode(), digest_size=8).digest() for name in names)
    words = jnp.asarray(np.frombuffer(digests, dtype="<u4").reshape(-1, 2))
    base = jax.random.key(seed, impl="threefry2x32")
    return jax.vmap(lambda word: jax.random.fold_in(jax.random.fold_in(base, word[0]), word[1]))(words)
