"""The rule for seeds, which holds for every random number of the package."""

import numpy as np

from plausibly.errors import ArgumentError


def check_seed(seed: object) -> int:
    """Refuse a seed that is not a whole number of 32 bits.

    Raises
    ------
    ArgumentError
        If it is not a whole number of 32 bits; JAX would reduce it modulo 2**32.
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not (whole and 0 <= seed < 2**32):
        raise ArgumentError(f"seed must be a whole number from 0 to {2**32 - 1}, but {seed!r} was given: write 0.")
    return int(seed)
