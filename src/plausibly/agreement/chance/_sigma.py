"""Sigma: the share of observed distances too small to be chance."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

_FAR = 9.0  #: bandwidths beyond which a normal distribution has no mass in double precision


def sigma(
    levels: Float[np.ndarray, " level"],
    observed: Float[np.ndarray, " level"],
    expected: Float[np.ndarray, " level"],
    p: float = 0.05,
) -> float:
    r"""Share of the observed distances `d` for which chance gives a distance in [0, d] with a probability below `p`.

    The distribution of chance is a Gaussian kernel density estimate of the expected distances with Scott's bandwidth.
    Its mass below zero is not counted (and not made up for), so much mass there makes distances look rarer than they
    are. The bandwidth shrinks with the number of pairs, so sigma by a sample of pairs and by all of them differ by more
    than chance, most where the distribution is steep near zero. If all expected distances are equal the estimate is
    that point: sigma is the share of smaller distances.

    Parameters
    ----------
    levels
        Distinct distances in increasing order.
    observed, expected
        Weights of the pairs on one case, and numbers of pairs on different cases, that have such a distance.
    p
        What probability is too small to be chance.

    Returns
    -------
    Between 0 and 1; NaN if labels on different cases never differ.

    References
    ----------
    Braylan, Alonso and Lease (2022), section 3; Scott (1992) for the bandwidth.

    Examples
    --------
    >>> sigma(np.array([0.0, 5.0, 6.0, 7.0]), np.array([3.0, 1, 0, 0]), np.array([0.0, 10, 10, 10]))
    0.75
    """
    some = expected > 0
    points, weights = levels[some], expected[some] / expected.sum()
    if not points[-1] > 0:
        return float("nan")
    total = observed.sum()
    n = float(expected.sum())
    mean = weights @ points
    variance = weights @ (points - mean) ** 2 * n / max(n - 1, 1)
    if len(points) == 1 or not variance > 0:
        return float(observed[levels < points[0]].sum() / total)
    bandwidth = n ** (-1 / 5) * np.sqrt(variance)
    near_zero = slice(0, int(np.searchsorted(points, _FAR * bandwidth)))
    below_zero = weights[near_zero] @ ndtr(-points[near_zero] / bandwidth)

    def mass(d: float) -> float:
        first, last = np.searchsorted(points, [d - _FAR * bandwidth, d + _FAR * bandwidth])
        partly = weights[first:last] @ ndtr((d - points[first:last]) / bandwidth)
        return weights[:first].sum() + partly - below_zero

    # The mass grows with d: halve the observed distances until it is clear which are below p.
    where = np.flatnonzero(observed > 0)
    low, high = 0, len(where)
    while low < high:
        middle = (low + high) // 2
        if mass(levels[where[middle]]) < p:
            low = middle + 1
        else:
            high = middle
    return float(observed[where[:low]].sum() / total)
