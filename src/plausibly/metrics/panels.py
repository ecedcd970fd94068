r"""Accuracy against panels: how often a class is the most frequent among n of a case's labels.

Panels are all subsets of n of the m labels of a case, so their mean is a U-statistic (Hoeffding, 1948): over cases with
independent labels it is unbiased for the probability that the class wins among n fresh labels. Classes that tie for the
greatest number of votes share the panel. Subsets are counted, not listed: with :math:`c_k` labels of class k, those in
which class k has j votes and wins have the weight

.. math::
   \binom{c_k}{j} [x^{n-j}] \int_0^1 \prod_{l \ne k} \Big(\sum_{i<j} \binom{c_l}{i} x^i + \binom{c_l}{j} y x^j\Big) dy,

because a tie with t other classes counts :math:`1 / (t + 1) = \int_0^1 y^t dy`. The integrand is a polynomial, which
Gauss and Legendre's quadrature integrates exactly. Cases with the same numbers of votes, whatever the classes, are
computed once.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import comb

from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError

_NUMBERS = 2**22  # coefficients in memory at once


def panel_shares(counts: Int[np.ndarray, "case class"], n: int) -> Float[np.ndarray, "case class"]:
    """Compute the share of the panels of n labels of each case whose most frequent class each class is.

    Parameters
    ----------
    counts
        Number of labels of each class.
    n
        Number of labels of a panel, at least 1.

    Returns
    -------
    Shares, which sum to 1 in every case: classes that tie share a panel equally. NaN for a case with fewer than n
    labels.

    Raises
    ------
    ArgumentError
        If counts are not whole numbers of at least 0 with the shape (case, class), or n is not one of at least 1.

    References
    ----------
    Hoeffding (1948), A class of statistics with asymptotically normal distribution, Annals of Mathematical Statistics
    19.

    Examples
    --------
    Of three labels a, a, b, two panels of two are split and one is for a.

    >>> panel_shares(np.array([[2, 1], [1, 0]]), 2).round(3).tolist()
    [[0.667, 0.333], [nan, nan]]
    """
    counts = np.asarray(counts)
    if counts.ndim != 2 or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ArgumentError(
            "counts must be whole numbers of at least 0 with the shape (case, class), but an array of type "
            f"{counts.dtype} and shape {counts.shape}{' with negative numbers' if counts.ndim == 2 else ''} was given: "
            "count the labels of each case."
        )
    check_whole("n", n, 1, "give for example 3")
    row, column = np.nonzero(counts)
    shares = np.zeros(counts.shape)
    if len(row):
        shares[row, column] = panel_shares_of_entries(row, counts[row, column], n)[0][:, n - 1]
    shares[counts.sum(axis=1) < n] = np.nan
    return shares


def panel_shares_of_entries(
    row: Int[np.ndarray, " entry"], count: Int[np.ndarray, " entry"], most: int
) -> tuple[Float[np.ndarray, "entry n"], Float[np.ndarray, "entry n"]]:
    """Compute shares of panels for the classes that have labels, at least one each; rows do not decrease.

    Returns
    -------
    For each class, the share of the panels of 1 to `most` labels that it wins; and the share of the panels of the other
    labels that it wins, once one label of the class is put aside, which is another annotator's. NaN where labels do
    not suffice.
    """
    order = np.lexsort((-count, row))
    row, count = np.unique(row, return_inverse=True)[1][order], count[order].astype(np.int64)
    start = np.searchsorted(row, np.arange(row[-1] + 2))
    votes = np.zeros((row[-1] + 1, np.diff(start).max()), np.int64)
    votes[row, np.arange(len(row)) - start[row]] = count
    pattern = np.zeros(len(votes), np.int64)
    for column in votes.T:  # which is faster than np.unique of rows
        _, example, pattern = np.unique(pattern * (count.max() + 1) + column, return_index=True, return_inverse=True)
    key = pattern[row] * (count.max() + 1) + count
    keys, first, which = np.unique(key, return_index=True, return_inverse=True)
    place = (np.arange(len(row)) - start[row])[first]
    columns = np.arange(votes.shape[1] - 1)
    others = votes[example[keys // (count.max() + 1)]]
    others = np.take_along_axis(others, columns + (columns >= place[:, None]), axis=1)
    shares = _shares(count[first], others, most)
    out = np.empty((2, len(row), most))
    out[:, order] = shares[:, which]
    return out[0], out[1]


def _shares(own: Int[np.ndarray, " pattern"], others: Int[np.ndarray, "pattern class"], most: int):
    """Shares of panels that a class with these labels wins against classes with those, with all labels and one less."""
    found = np.zeros((2, len(own), most))
    n_others = (others > 0).sum(axis=1)
    order = np.argsort(n_others, kind="stable")
    step = max(1, _NUMBERS // most**2)
    for first in range(0, len(own), step):
        at = order[first : first + step]
        facing = others[at][:, : n_others[at[-1]]]
        for j in range(1, most + 1):
            ways = _ways(facing, j, most - j)
            for less in (0, 1):
                found[less, at, j - 1 :] += comb(own[at] - less, j)[:, None] * ways
    n_panels = comb(own[:, None] + others.sum(axis=1)[:, None] - np.arange(2)[:, None, None], np.arange(1, most + 1))
    return np.divide(found, n_panels, out=np.full_like(found, np.nan), where=n_panels > 0)


def _ways(others: Int[np.ndarray, "pattern class"], j: int, most: int) -> Float[np.ndarray, "pattern n"]:
    """Number of sets of 0 to `most` labels in which no class has more than j, divided by one plus those that have j."""
    nodes, weights = np.polynomial.legendre.leggauss(most // j // 2 + 1)
    y = (nodes[:, None] + 1) / 2
    ways = np.zeros((len(others), len(nodes), most + 1))
    ways[..., 0] = 1
    for column in others.T:
        before = ways.copy()
        for i in range(1, min(j, most) + 1):
            chosen = comb(column, i)[:, None, None] * (y if i == j else 1)
            ways[..., i:] += chosen * before[..., : most + 1 - i]
    return np.einsum("pqn,q->pn", ways, weights / 2)
