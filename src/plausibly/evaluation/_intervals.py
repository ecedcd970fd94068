"""Intervals of metrics: cases, or clusters of them, drawn with replacement, and sampling noise added to draws."""

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from plausibly.base.programs import kept
from plausibly.base.random_streams import exponentials


def bootstrap_weights(
    words: UInt32[np.ndarray, "case 2"], number: Int[np.ndarray, " replicate"], n_draws: int
) -> Float[Array | np.ndarray, "case replicate"]:
    """Weights of the cases in replicates, of which each belongs to the draw of its number modulo that of draws."""
    padded = np.pad(words, ((0, rounded_up(len(words)) - len(words)), (0, 0)))
    found = _exponentials(padded, (number % n_draws).astype(np.uint32), (number // n_draws).astype(np.int32))
    return found if len(padded) == len(words) else np.asarray(found)[: len(words)]


def rounded_up(n: int) -> int:
    """Number of cases of a program for n of them: an eighth more at most, so that few programs are compiled."""
    step = max(8, 1 << max((n - 1).bit_length() - 3, 0))
    return -(-n // step) * step


@kept
@jax.jit
def _exponentials(words, draw, number):
    return exponentials(words[:, None], draw[None], number[None])


_NEGLIGIBLE = 1e-9  # of the greatest variance


def total_noise(
    values: Float[np.ndarray, "*group classifier draw"],
    sampling: Float[np.ndarray, "*group classifier replicate"],
    signed: tuple[
        Float[np.ndarray, "*group classifier draw"], Float[np.ndarray, "*group draw"], Float[np.ndarray, "*group draw"]
    ],
) -> Float[np.ndarray, "*group classifier replicate"]:
    r"""Add the missing part of annotation noise to sampling noise.

    A metric is a mean over N cases of the values :math:`\bar g_i` that their annotations lead to. With other cases,
    annotated by other people, its variance would be :math:`\mathrm{Var}(\bar g_i) / N`, which is the variance of the
    Bayesian bootstrap: annotation noise that is independent between cases is part of the spread between cases, and
    adding it would count it twice. Two things are added, with :math:`\Sigma` covariances of the classifiers,
    :math:`a^{(m)}` their values by draw, :math:`s^{(m)}` those of the bootstrap, and :math:`(\cdot)_+` a matrix without
    its negative eigenvalues,

    .. math::
       t^{(m)} &= s^{(m)} + (E_1 + E_2)^{1/2} \Sigma_a^{-1/2} (a^{(m)} - \bar a) \\
       E_1 &= (\Sigma_a - \Sigma_d)_+, \quad E_2 = (\Sigma_a - \Sigma_s - E_1)_+

    * :math:`E_1` is annotation noise that cases share, for example because a reliability is inferred from all of them.
      In :math:`d^{(m)} = \sum_i \epsilon_i (g_i^{(m)} - \bar a) / N`, with a random sign :math:`\epsilon_i` for each
      case or cluster, it cancels, and independent noise remains.
    * :math:`E_2` is just enough for no total variance, of a classifier or of a difference between two, to be smaller in
      expectation than the annotation variance. It is zero as long as cases differ more from each other than the draws
      of a case do. Otherwise, sampling noise is small only because the prior is taken as the truth. A single total
      interval can still be a little narrower than its annotation interval, or not contain it: both are quantiles of
      finitely many draws, and their shapes differ.

    Parameters
    ----------
    values
        Metric by draw, on these cases; NaN in draws in which nothing has weight. Groups of cases, if any, come first.
    sampling
        Metric with bootstrap weights; replicate r belongs to the draw r modulo the number of draws.
    signed
        Sums of the metric and of the weights over cases with random signs, and the divisor of both.

    Returns
    -------
    Array
        Metric with total noise; NaN where annotation noise is unknown: in draws in which nothing has weight, and with
        fewer than two draws, as for a point estimate.

    Examples
    --------
    The values of a thousand cases are known, and then they are drawn again in every draw, each for itself.

    >>> random = np.random.default_rng(0)
    >>> known, sign = random.random((1, 1000)) < 0.7, np.sign(random.normal(size=1000))
    >>> weights = random.dirichlet(np.ones(1000), size=800)
    >>> for of_draw in (np.repeat(known[:, None], 800, axis=1), random.random((1, 800, 1000)) < 0.2 + 0.6 * known):
    ...     signed = (of_draw @ sign, np.full(800, sign.sum()), np.full(800, 1000))
    ...     sampling = of_draw.mean(axis=1) @ weights.T
    ...     total = total_noise(of_draw.mean(axis=2), sampling, signed)
    ...     print(*(f"{sd:.3f}" for sd in (of_draw.mean(axis=2).std(), sampling.std(), total.std())))
    0.000 0.014 0.014
    0.013 0.009 0.013
    """
    if not values.shape[-2]:
        return sampling
    draw = np.arange(sampling.shape[-1]) % values.shape[-1]
    known = ~np.isnan(values).any(axis=-2, keepdims=True)
    n_known = known.sum(axis=-1, keepdims=True)
    enough = (n_known > 1) & ~np.isnan(sampling).any(axis=(-2, -1), keepdims=True)
    with np.errstate(invalid="ignore"):  # nothing known
        centre = np.where(known, values, 0).sum(axis=-1, keepdims=True) / n_known
    on_these = _covariance(values - centre, known & enough)
    sums, weight, divisor = signed
    with np.errstate(invalid="ignore"):  # draws in which nothing has weight
        alone = (sums - centre * weight[..., None, :]) / divisor[..., None, :]
    shared = _positive(on_these - _covariance(alone, known & enough))
    missing = _positive(on_these - _covariance(sampling, enough) - shared)
    scale = _power(shared + missing, 0.5) @ _power(on_these, -0.5)
    added = scale @ np.where(known & enough, values - centre, 0)
    return np.where(known[..., draw] & (n_known > 1), sampling + added[..., draw], np.nan)


def _covariance(
    values: Float[np.ndarray, "*group classifier n"], known: Bool[np.ndarray, "*group 1 #n"]
) -> Float[np.ndarray, "*group classifier classifier"]:
    """Covariance over what is known; nothing where nothing is."""
    known = np.broadcast_to(known, (*values.shape[:-2], 1, values.shape[-1]))
    n_known = known.sum(axis=-1, keepdims=True)
    values = np.where(known, values, 0)
    centred = np.where(known, values - values.sum(axis=-1, keepdims=True) / np.maximum(n_known, 1), 0)
    return centred @ centred.swapaxes(-1, -2) / np.maximum(n_known - 1, 1)


def _positive(matrix: Float[np.ndarray, "*group n n"]) -> Float[np.ndarray, "*group n n"]:
    """Take negative eigenvalues for nothing."""
    size, direction = np.linalg.eigh(matrix)
    return (direction * np.maximum(size, 0)[..., None, :]) @ direction.swapaxes(-1, -2)


def _power(matrix: Float[np.ndarray, "*group n n"], power: float) -> Float[np.ndarray, "*group n n"]:
    """Raise a covariance matrix to a power, within the directions in which anything varies."""
    size, direction = np.linalg.eigh(matrix)
    varies = size > _NEGLIGIBLE * np.maximum(size.max(axis=-1, keepdims=True), np.finfo(float).tiny)
    powers = np.where(varies, np.where(varies, size, 1) ** power, 0)
    return (direction * powers[..., None, :]) @ direction.swapaxes(-1, -2)
