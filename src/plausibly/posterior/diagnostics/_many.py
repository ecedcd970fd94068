r"""R-hat and effective sample sizes of many quantities at once, by ArviZ's definitions.

ArviZ computes them one quantity after the other, at a millisecond each. Here the quantities of a block are the rows of
one array, and every step is taken for all of them:

* *Ranks.* Chains are split in halves. Ranks over all halves, those of ties averaged, become normal scores
  :math:`\Phi^{-1}((r - 3/8) / (S + 1/4))` for S draws. A rank is a multiple of a half between 1 and S, so the scores
  are a table.
* *R-hat* is the greater of two: that of the scores of the draws, and that of the scores of their distances from the
  median. Each compares the variance between the means of halves with the variance within them.
* *Effective sample size* of halves with autocovariances :math:`c_t`, averaged over halves, by fast Fourier transforms.
  With :math:`\rho_t = 1 - (W - c_t) / V`, variance W within halves and V in all, sums of neighbours
  :math:`P_k = \rho_{2k} + \rho_{2k+1}` are added as long as they are positive, each reduced to the smallest before it
  (Geyer 1992); then :math:`\tau = -1 + 2 \sum_{k<K} P_k + \rho_{2K}`, at least :math:`1 / \log_{10} S`, and the size is
  :math:`S / \tau`. *Bulk* is that of the scores, *tail* the smaller of those of the indicators of the lowest 5 % and
  95 %, *mean* that of the draws themselves.

What has a NaN, or fewer than four draws in a chain, is NaN; what does not vary at all has S effective draws. ArviZ's
order of comparisons is kept, too, because it decides what NaN and infinity become.

References
----------
Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and localization: an improved R-hat,
Bayesian Analysis 16, sections 3 and 4.

Geyer (1992), Practical Markov chain Monte Carlo, Statistical Science 7, section 3.3.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from plausibly.base.arviz import HAS_INFERENCE_DATA
from plausibly.base.pools import threads

_BLOCK = 2**16  # draws of all quantities of a block; its arrays stay in a core's cache
_TAILS = 0.05, 0.95
_RESOLUTION = np.finfo(float).resolution  # what varies less does not vary


class Diagnostics(NamedTuple):
    """R-hat, bulk and tail effective sample size of many quantities, and the two parts of R-hat."""

    r_hat: Float[np.ndarray, " quantity"]
    ess_bulk: Float[np.ndarray, " quantity"]
    ess_tail: Float[np.ndarray, " quantity"]
    location: Float[np.ndarray, " quantity"]  #: R-hat of the scores alone, without that of distances from the median
    #: Bulk, or where R-hat of these distances is greater and above 1.01, their effective draws within chains, if fewer.
    ess_r_hat: Float[np.ndarray, " quantity"]


def r_hat_and_ess(draws: Float[np.ndarray, "chain draw quantity"]) -> Diagnostics:
    """Compute rank-normalised split R-hat, and bulk and tail effective sample sizes, of many quantities.

    The numbers are those of ``az.rhat(…, method="rank")``, ``az.ess(…, method="bulk")`` and ``az.ess(…,
    method="tail")``.

    Parameters
    ----------
    draws
        Any number of draws, chains and quantities. Draws in single precision are compared in single precision, so that
        ties remain ties.

    Returns
    -------
    Diagnostics
        Values for each quantity. R-hat is 1 if chains agree, and NaN for a single chain. Effective sample sizes are
        numbers of draws over all chains. All are NaN if a draw is NaN or a chain has fewer than four draws.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Bayesian Analysis 16.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 250, 2))
    >>> draws[0, :, 1] += 3
    >>> found = r_hat_and_ess(draws)
    >>> found.r_hat.round(2).tolist(), found.ess_bulk.round().tolist(), found.ess_tail.round().tolist()
    ([1.0, 1.48], [845.0, 8.0], [954.0, 39.0])
    """
    return Diagnostics(*_by_block(_r_hat_and_ess, draws, 5))


def ess_of_mean(draws: Float[np.ndarray, "chain draw quantity"]) -> Float[np.ndarray, " quantity"]:
    """Compute effective sample sizes for the means of many quantities, as ``az.ess(…, method="mean")`` does.

    Parameters
    ----------
    draws
        Any number of draws, chains and quantities.

    Returns
    -------
    numpy.ndarray
        Number of draws over all chains, for each quantity; NaN if a draw is not finite or a chain has fewer than four.

    Examples
    --------
    >>> ess_of_mean(np.random.default_rng(0).normal(size=(4, 250, 2))).round().tolist()
    [840.0, 1089.0]
    """
    return _by_block(lambda rows: (_ess(_halves(rows).astype(float)),), draws, 1)[0]


def _by_block(
    function: Callable[[np.ndarray], tuple[np.ndarray, ...]],
    draws: Float[np.ndarray, "chain draw quantity"],
    n_results: int,
) -> Float[np.ndarray, "result quantity"]:
    """Apply a function of (quantity, chain, draw) to blocks of quantities, on all cores; NaN where ArviZ has NaN."""
    draws = np.asarray(draws)
    if draws.dtype not in (np.float32, np.float64):
        draws = draws.astype(float)
    chains, length, n = draws.shape
    found = np.full((n_results, n), np.nan)
    if 0 in (chains, n) or length < 4:
        return found
    size = max(1, _BLOCK // (chains * length))

    def compute(first: int) -> None:
        rows = np.ascontiguousarray(draws[..., first : first + size].transpose(2, 0, 1))
        # Chains that stand still divide by zero, and infinity and NaN say what there is to say of them.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            results = np.stack(function(rows))
        results[:, np.isnan(rows).any(axis=(1, 2))] = np.nan
        found[:, first : first + size] = results

    if n <= size:
        compute(0)
        return found
    with threads() as pool:
        list(pool.map(compute, range(0, n, size)))
    return found


def _halves(rows: np.ndarray) -> np.ndarray:
    """Split the chains of (quantity, chain, draw); of an odd number of draws the one in the middle is left out."""
    half = rows.shape[2] // 2
    return np.concatenate([rows[..., :half], rows[..., -half:]], axis=1)


def _r_hat_and_ess(rows: Float[np.ndarray, "quantity chain draw"]) -> tuple[np.ndarray, ...]:
    halves = _halves(rows)
    scores, ordered = _normal_scores(halves)
    middle = ordered.shape[1] // 2
    median = ordered[:, middle - 1 : middle + 1].mean(axis=1, keepdims=True)  # the number of draws is even
    folded, _ = _normal_scores(np.abs(halves - median[..., None]))
    location, scale = (_r_hat(some) for some in (scores, folded))
    if 2 * halves.shape[2] < rows.shape[2]:
        ordered = np.sort(rows.reshape(len(rows), -1), axis=1)
    low, high = (_ess(_halves(rows <= _quantile(ordered, share)[:, None, None]).astype(float)) for share in _TAILS)
    several = rows.shape[1] > 1
    bulk = _ess(scores)
    compared, apart = bulk.copy(), (scale > location) & (scale > 1.01)
    if apart.any():  # within chains, as chains that disagree would excuse themselves
        within = _ess(folded[apart] - folded[apart].mean(axis=2, keepdims=True))
        compared[apart] = np.minimum(bulk[apart], within)
    return (
        np.where(scale > location, scale, location) if several else np.full(len(rows), np.nan),
        bulk,
        np.where(high < low, high, low),
        location if several else np.full(len(rows), np.nan),
        compared,
    )


def _normal_scores(halves: np.ndarray) -> tuple[Float[np.ndarray, "quantity half draw"], np.ndarray]:
    """Normal scores of ranks over all halves, and the draws in order."""
    rows = halves.reshape(len(halves), -1)
    n = rows.shape[1]
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    twice_ranks = np.arange(2, 2 * n + 1)  # all that a rank can be
    table = ndtri((twice_ranks / 2 - 3 / 8) / (n + 1 / 4))
    scores = np.empty(rows.shape)
    np.put_along_axis(scores, order, table[_summed_places(ordered)], axis=1)
    scores[np.isnan(ordered[:, -1])] = np.nan  # the difference of two infinities comes last
    return scores.reshape(halves.shape), ordered


def _summed_places(ordered: np.ndarray) -> Int[np.ndarray, "#quantity draw"]:
    """First plus last place of the draws that each ordered draw is equal to, itself at least; places are from 0."""
    n = ordered.shape[1]
    place = np.arange(n)
    new: Bool[np.ndarray, "quantity n-1"] = ordered[:, 1:] != ordered[:, :-1]
    if new.all():
        return 2 * place[None]
    edge = np.ones((len(ordered), 1), bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, new]), place, 0), axis=1)
    last = np.minimum.accumulate(np.where(np.hstack([new, edge]), place, n - 1)[:, ::-1], axis=1)[:, ::-1]
    return first + last


def _r_hat(scores: Float[np.ndarray, "quantity half draw"]) -> Float[np.ndarray, " quantity"]:
    n = scores.shape[2]
    between = n * scores.mean(axis=2).var(axis=1, ddof=1)
    within = scores.var(axis=2, ddof=1).mean(axis=1)
    return np.sqrt((between / within + n - 1) / n)


def _quantile(ordered: np.ndarray, share: float) -> Float[np.ndarray, " quantity"]:
    """Quantile by linear interpolation between ordered draws (type 7 of Hyndman and Fan 1996).

    Each generation of ArviZ rounds in its own way, which decides whether draws that equal the quantile are below it.
    """
    if not HAS_INFERENCE_DATA:
        return np.quantile(ordered, share, axis=1)
    n = ordered.shape[1]
    position = n * share + (1 - share)
    below = int(min(max(position, 1), n - 1))
    weight = min(max(position - below, 0.0), 1.0)
    return (1 - weight) * ordered[:, below - 1].astype(float) + weight * ordered[:, below].astype(float)


def _ess(halves: Float[np.ndarray, "quantity half draw"]) -> Float[np.ndarray, " quantity"]:
    """Effective sample sizes of what is split and transformed already."""
    q, m, n = halves.shape
    means = halves.mean(axis=2)
    length = next_fast_len(2 * n, real=True)
    spectrum = np.asarray(rfft(halves - means[..., None], length, axis=2))
    power = (np.real(spectrum) ** 2 + np.imag(spectrum) ** 2).mean(axis=1)
    covariance = np.asarray(irfft(power, length, axis=1))[:, :n] / n
    within = covariance[:, :1] * n / (n - 1)
    total = covariance[:, :1] + means.var(axis=1, ddof=1, keepdims=True)
    rho = 1 - (within - covariance) / total
    rho[:, 0] = 1

    last = max((n - 3) // 2, 0)  # pair of lags that is looked at, at most
    pairs = rho[:, 0 : 2 * last + 2].reshape(q, last + 1, 2).sum(axis=2)
    n_added = np.logical_and.accumulate(pairs[:, :last] > 0, axis=1).sum(axis=1)
    added = np.where(np.arange(last) < n_added[:, None], np.minimum.accumulate(pairs[:, :last], axis=1), 0).sum(axis=1)
    even = np.take_along_axis(rho, 2 * n_added[:, None], axis=1)[:, 0]
    kept = (even > 0) | (np.take_along_axis(pairs, n_added[:, None], axis=1)[:, 0] >= 0)
    tau = np.maximum(-1 + 2 * added + np.where(kept, even, 0), 1 / np.log10(m * n))
    sizes = np.where(np.isnan(rho[:, 1]), np.nan, m * n / tau)
    spread = halves.max(axis=(1, 2)) - halves.min(axis=(1, 2))
    return np.where(spread < _RESOLUTION, m * n, sizes)
