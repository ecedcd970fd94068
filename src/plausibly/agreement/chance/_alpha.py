"""Alpha: how far observed disagreement is from that expected by chance."""

import numpy as np
from jaxtyping import Float


def alpha(
    levels: Float[np.ndarray, " level"],
    observed: Float[np.ndarray, " level"],
    expected: Float[np.ndarray, " level"],
) -> float:
    """One minus the ratio of the mean observed distance to the mean expected one.

    Parameters
    ----------
    levels
        Distinct distances.
    observed, expected
        Weights of the pairs on one case and of those on different cases that have such a distance.

    Returns
    -------
    1 for perfect agreement, 0 for chance, negative for less than chance. NaN if labels on different cases never
    differ: where nothing varies, agreement cannot be told from chance.

    References
    ----------
    Krippendorff (1970); Braylan, Alonso and Lease (2022), section 3.

    Examples
    --------
    >>> alpha(np.array([0.0, 1.0]), np.array([9.0, 1.0]), np.array([1.0, 1.0]))
    0.8
    """
    by_chance = float(levels @ expected / expected.sum())
    return 1 - float(levels @ observed / observed.sum()) / by_chance if by_chance > 0 else float("nan")
