"""Simulated risk levels of classes."""

import numpy as np
from jaxtyping import Int

from plausibly.errors import check_whole
from plausibly.seed import check_seed

# Relative frequencies, rounded, among the 419 classes of the real set that the differentials are modelled on.
RISK_SHARES = np.array([0.48, 0.36, 0.16])  # low, medium, high


def simulate_risks(n_classes: int, seed: int = 0) -> Int[np.ndarray, " class"]:
    """Simulate a risk level for each class.

    Parameters
    ----------
    n_classes
        Number of classes, at least 1.
    seed
        Random seed. With the same seed, a smaller number of classes gives the first of these levels.

    Returns
    -------
    numpy.ndarray
        (class,) int8: 0 low, 1 medium, 2 high, with the frequencies of a real set.

    Raises
    ------
    ArgumentError
        If there are no classes, or the seed is not a whole number of 32 bits.

    Examples
    --------
    >>> simulate_risks(6, seed=1).shape
    (6,)
    """
    check_whole("n_classes", n_classes, 1)
    levels = np.random.default_rng(check_seed(seed)).random(n_classes)
    return np.searchsorted(RISK_SHARES.cumsum()[:-1], levels, side="right").astype(np.int8)
