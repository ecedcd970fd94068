"""R-hat and effective sample sizes of many quantities at once, where ArviZ computes the same ones one by one.

A data set has thousands of plausibilities, and a comparison of models refits tens of thousands: their diagnosis took
longer than their sampling.
"""

import numpy as np
from jaxtyping import Float
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

TAILS = 0.05, 0.95


def mixing(
    draws: Float[np.ndarray, "chain draw quantity"],
) -> tuple[Float[np.ndarray, " quantity"], Float[np.ndarray, " quantity"], Float[np.ndarray, " quantity"]]:
    """Tell how well chains have mixed: R-hat, bulk and tail effective sample size.

    Parameters
    ----------
    draws
        At least four of every chain, and eight of a single one, which is taken for two, its halves, by R-hat.

    Returns
    -------
    By quantity; NaN if a draw is. R-hat is huge or infinite where every chain stands still at a place of its own, NaN
    where all stand still at one.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), Rank-normalization, folding, and localization, Bayesian
    Analysis 16, sections 3 and 4; Geyer (1992), Practical Markov chain Monte Carlo, Statistical Science 7, section 3.3,
    for where the sum of autocorrelations ends.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4, 250, 2))
    >>> [np.round(found, 2).tolist() for found in mixing(draws)]
    [[1.0, 1.0], [844.93, 1089.4], [953.82, 1006.25]]
    """
    values = np.ascontiguousarray(np.moveaxis(draws, -1, 0), float)
    unknown = np.isnan(values).any((1, 2))
    values[unknown] = 0
    halves = _halves(values)
    ends = np.quantile(values.reshape(len(values), -1), TAILS, axis=1)
    # Infinite draws have ranks, and no distances; chains that stand still divide by zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        bulk = _effective(_normal_scores(halves))
        tails = [_effective(_halves((values <= end[:, None, None]).astype(float))) for end in ends]
        parts = halves if values.shape[1] > 1 else _halves(halves)
        from_middle = np.abs(parts - np.median(parts, axis=(1, 2), keepdims=True))
        r_hat = np.fmax(_r_hat(_normal_scores(parts)), _r_hat(_normal_scores(from_middle)))
    for found in (r_hat, bulk, *tails):
        found[unknown] = np.nan
    return r_hat, bulk, np.minimum(*tails)


def _halves(values: Float[np.ndarray, "quantity chain draw"]) -> Float[np.ndarray, "quantity half draws"]:
    """Halves of chains; of an odd number of draws, the middle one is left out."""
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=1)


def _normal_scores(values: Float[np.ndarray, "quantity chain draw"]) -> Float[np.ndarray, "quantity chain draw"]:
    """What a normal variable would have at the same ranks."""
    flat = values.reshape(len(values), -1)
    return ndtri((rankdata(flat, axis=1) - 3 / 8) / (flat.shape[1] + 1 / 4)).reshape(values.shape)


def _r_hat(values: Float[np.ndarray, "quantity chain draw"]) -> Float[np.ndarray, " quantity"]:
    n = values.shape[-1]
    within = values.var(-1, ddof=1).mean(-1)
    return np.sqrt(values.mean(-1).var(-1, ddof=1) / within + (n - 1) / n)


def _effective(values: Float[np.ndarray, "quantity chain draw"]) -> Float[np.ndarray, " quantity"]:
    """Number of draws over their autocorrelation time; of what does not move, all of them."""
    _, chains, n = values.shape
    room = next_fast_len(2 * n, real=True)
    spectrum = np.abs(rfft(values - values.mean(-1, keepdims=True), room, axis=-1)) ** 2
    covariance = irfft(spectrum.mean(1), room, axis=-1)[:, :n] / n
    within = covariance[:, 0] * n / (n - 1)
    total = covariance[:, 0] + (values.mean(-1).var(-1, ddof=1) if chains > 1 else 0)
    correlation = 1 - (within[:, None] - covariance) / total[:, None]
    correlation[:, 0] = 1
    # Sums of two neighbours are positive and fall, but for noise, which begins where one is negative.
    pairs = correlation[:, : max((n - 1) // 2 * 2, 2)].reshape(len(values), -1, 2)
    sums = pairs.sum(-1)
    noise = sums <= 0
    noise[:, -1] = True
    first = noise.argmax(-1)
    before = np.arange(sums.shape[1]) < first[:, None]
    falling = np.minimum.accumulate(np.where(before, sums, np.inf), axis=1)
    time = 2 * np.where(before, falling, 0).sum(-1) - 1
    # The first half of the pair where noise begins may be signal yet.
    time += np.maximum(pairs[np.arange(len(first)), first, 0], 0)
    time = np.maximum(time, 1 / np.log10(chains * n))
    still = np.ptp(values, axis=(1, 2)) < 1e-15
    return np.where(still, 1, 1 / time) * chains * n
