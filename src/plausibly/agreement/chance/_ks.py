"""Kolmogorov and Smirnov: how far the distributions of observed and of expected distances are apart."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class KS(NamedTuple):
    """Three readings of how far observed distances lie below expected ones.

    Parameters
    ----------
    statistic
        The greatest excess of the distribution function of observed distances over that of expected ones, in [0, 1].
    pvalue
        Of the one-sided test by that statistic, as if pairs were independent. They share labels, so it is too small:
        a help in reading published tables, no more.
    superiority
        Probability that a pair on different cases is farther apart than one on the same case, ties counting against
        agreement, times n / (n + 1) for n pairs on different cases. What the table of Braylan et al. calls KS.
    """

    statistic: float
    pvalue: float
    superiority: float


def ks(
    observed: Float[np.ndarray, " level"],
    expected: Float[np.ndarray, " level"],
    n_observed: float | None = None,
) -> KS:
    """Compare two distributions over the same levels.

    Parameters
    ----------
    observed, expected
        Weights of distances in increasing order of the distance; `expected` are numbers of pairs.
    n_observed
        Number of pairs behind the observed weights; their sum if None.

    References
    ----------
    Hodges (1958) for the p-value; Braylan, Alonso and Lease (2022), section 3.

    Examples
    --------
    >>> found = ks(np.array([3.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0]))
    >>> found.statistic, round(found.superiority, 4)
    (0.75, 0.5833)
    """
    n, m = float(expected.sum()), float(observed.sum() if n_observed is None else n_observed)
    share, below = observed / observed.sum(), np.cumsum(expected) / n
    statistic = float(max(0.0, (np.cumsum(share) - below).max()))
    greater, lesser = max(m, n), min(m, n)
    scaled = np.sqrt(m * n / (m + n)) * statistic
    log_p = -2 * scaled**2 - 2 * scaled * (greater + 2 * lesser) / np.sqrt(m * n * (m + n)) / 3
    return KS(statistic, float(np.exp(log_p)), float(n / (n + 1) * (1 - share @ below)))
