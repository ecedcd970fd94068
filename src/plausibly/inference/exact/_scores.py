"""Scores: their prior from all cases (empirical Bayes), exact draws, and cases of one number of scores side by side."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32
from scipy.optimize import minimize
from scipy.special import digamma, ndtr

from plausibly.base.random_streams import as_key
from plausibly.data.annotations import Scores, Slots
from plausibly.data.case import NormalInverseGamma, ScoredCase, ScoreSums
from plausibly.inference._batching import Bucket
from plausibly.inference._shapes import Shape
from plausibly.inference.exact._dirichlet import drawn
from plausibly.inference.exact._gammas import log_gammas

_LEAST = 1e-15  # closer scores are not told apart: squares of lesser distances leave single precision
_WEAK = 2.0  # standard deviation of what is assumed of log κ and log a
_CENTRE = (0.0, float(np.log(2.0)))  # and where it is centred
# m, log κ, log a. With a below 1/2 the variance could be anything, and b / a would no longer be its size.
_BOUNDS = ((None, None), (-9.2, 9.2), (float(np.log(0.5)), 9.2))


def estimate_prior(scores: Scores, levels: Float[np.ndarray, " level"] | None = None) -> NormalInverseGamma:
    r"""Prior under which the penalised marginal likelihood of all scores is greatest.

    The marginal likelihood does not always have a finite maximum: one score per case does not tell spread within cases
    from spread between them, and scores that agree in every case drive the variance to zero. Two weak assumptions
    settle what the scores leave open, and next to nothing else: :math:`\log \kappa` and :math:`\log a` are about 0 and
    :math:`\log 2`, give or take 2; and scores are rounded, so that :math:`b / a` is at least the variance of rounding,
    :math:`\delta^2 / 12`, with :math:`\delta` the least distance between two ``levels``, by default the scores in use
    (1 if all are equal).

    References
    ----------
    Chung, Rabe-Hesketh, Dorie, Gelman & Liu (2013), A nondegenerate penalized likelihood estimator for variance
    parameters in multilevel models, Psychometrika 78, for weak assumptions that keep estimates off the boundary.
    """
    levels = np.unique(scores.score if levels is None else levels)
    centre, spread = scores.score.mean(), scores.score.std()
    resolution = max(np.diff(levels).min(), _LEAST) if len(levels) > 1 else 1.0
    unit = max(spread, _LEAST) if len(levels) > 1 else resolution
    found = ScoreSums.of(scores)
    sums = ScoreSums(found.n, (found.mean - centre) / unit, found.squares / unit**2)
    least = np.log(max((resolution / unit) ** 2 / 12, 1e-12))

    within = sums.squares.sum() / max((sums.n - 1).sum(), 1)
    between = max(sums.mean.var() - within / sums.n.mean(), 1e-2)
    start = np.array([sums.mean.mean(), np.log(max(within, 1e-2) / between), np.log(3.0), np.log(max(within, 1e-2))])
    start[3] = max(start[3], least)
    best = minimize(
        _loss, start, args=(sums,), jac=True, method="L-BFGS-B", bounds=[*_BOUNDS, (least, 9.2)], options={"gtol": 1e-7}
    )
    m, strength, a, v = best.x[0], *np.exp(best.x[1:])
    return NormalInverseGamma(float(centre + unit * m), float(strength), float(a), float(a * v * unit**2))


def _loss(x: Float[np.ndarray, "4"], sums: ScoreSums) -> tuple[float, Float[np.ndarray, "4"]]:
    """Minus the penalised log marginal likelihood at (m, log κ, log a, log b / a), and its gradient."""
    m, (strength, a, v) = x[0], np.exp(x[1:])
    b = a * v
    n, mean, squares = sums
    value = np.sum(NormalInverseGamma(m, strength, a, b).log_marginal(n, mean, squares))
    after_strength, after_a = strength + n, a + n / 2
    share = strength * n / after_strength
    after_b = b + squares / 2 + share * (mean - m) ** 2 / 2
    slope_b = a / b - after_a / after_b
    slopes = np.array(
        [
            (after_a / after_b * share * (mean - m)).sum(),
            strength
            * (
                (1 / strength - 1 / after_strength) / 2
                - after_a / after_b * ((n / after_strength) * (mean - m)) ** 2 / 2
            ).sum(),
            a * (digamma(after_a) - digamma(a) + np.log(b / after_b)).sum() + b * slope_b.sum(),
            b * slope_b.sum(),
        ]
    )
    away = (x[1:3] - _CENTRE) / _WEAK
    slopes[1:3] -= away / _WEAK
    return -(value - (away**2).sum() / 2), -slopes


def _noise(
    words: UInt32[Array, "case 2"], shape: Float[Array, " case"], n: int
) -> tuple[Float[Array, "case draw"], Float[Array, "case draw"]]:
    """Logarithms of gamma variables, and normal variables."""
    first, second = jnp.moveaxis(jax.random.key_data(jax.vmap(jax.random.split)(as_key(words))), 1, 0)
    normal = jax.vmap(lambda key: jax.random.normal(key, (n,)))(as_key(second))
    return log_gammas((first[:, 0], first[:, 1]), shape, n), normal


def draw_scores(
    posterior: NormalInverseGamma, threshold: float, keys: Key[Array, " case"], *, chains: int, draws: int
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, Float[np.ndarray, "chain draw case"]]]:
    """Draws of the shares up to the threshold and above it, and of ``mean`` and ``variance`` by case."""
    n_cases, total = len(keys), chains * draws
    out = {name: np.empty((total, n_cases), np.float32) for name in ("mean", "variance")}
    plausibility = np.empty((total, 2 * n_cases), np.float32)
    words = np.asarray(jax.random.key_data(keys))
    for at, noise in drawn(_noise, (words, np.asarray(posterior.shape, np.float32)), total):
        log_gamma, normal = (np.asarray(values, np.float64)[: len(at)].T for values in noise)
        variance = posterior.scale[at] * np.exp(-log_gamma)
        mean = posterior.mean[at] + np.sqrt(variance / posterior.strength[at]) * normal
        z = (threshold - mean) / np.sqrt(variance)
        out["mean"][:, at], out["variance"][:, at] = mean, variance
        plausibility[:, 2 * at], plausibility[:, 2 * at + 1] = ndtr(z), ndtr(-z)
    by_chain = (chains, draws, -1)
    return plausibility.reshape(by_chain), {name: values.reshape(by_chain) for name, values in out.items()}


def normal_log_likelihood(
    scores: Scores, *, mean: Float[np.ndarray, "chain draw case"], variance: Float[np.ndarray, "chain draw case"]
) -> Float[np.ndarray, "chain draw annotation"]:
    """Log density of every score at every draw of the mean and the variance of its case."""
    mean, variance = (values[..., scores.annotation_case] for values in (mean, variance))
    # Differences in double precision: scores may lie far from zero and close together.
    return -((scores.score - mean) ** 2 / variance + np.log(2 * np.pi * variance)) / 2


def bucket_scores(
    scores: Scores,
    slots: Slots,
    threshold: float,
    prior: NormalInverseGamma,
    bounds: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None,
) -> list[Bucket]:
    """Buckets of cases that have the same number of different scores, for engines that go through a program.

    Every case has two slots. ``bounds`` returns the ends of the intervals of scores that are categories.
    """
    level, counts, row = _different(scores)
    width = np.bincount(level[0], minlength=scores.n_cases)
    start = np.concatenate([[0], np.cumsum(width)])
    buckets = []
    for size in np.unique(width):
        cases = np.flatnonzero(width == size)
        at = start[cases, None] + np.arange(size)
        here = np.flatnonzero(width[scores.annotation_case] == size)
        case = np.searchsorted(cases, scores.annotation_case[here])

        def repeated(value: float, n: int = len(cases)) -> np.ndarray:
            return np.full(n, value, np.float32)

        data = ScoredCase(
            scores=level[1][at].astype(np.float32),
            counts=counts[at].astype(np.float32),
            threshold=repeated(threshold),
            prior=NormalInverseGamma(*map(repeated, prior)),
            n_classes=np.ones((len(cases), 2), np.int32),
        )
        if bounds is not None:
            low, high = (ends.astype(np.float32) for ends in bounds(level[1][at]))
            data = data._replace(lower=low, upper=high)
        shape = Shape(slots=2, annotations=int(size), sets=0, ties=())
        of_slot = slots.start[cases, None] + np.arange(2)
        buckets.append(Bucket(shape, cases, of_slot, data, here, case, row[here]))  # type: ignore[arg-type]
    return buckets


def _different(scores: Scores):
    """Cases and values of the scores that differ within a case, their counts, and which of them each score is."""
    pairs = np.stack([scores.annotation_case.astype(np.float64), scores.score])
    level, inverse, counts = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    case = level[0].astype(np.int64)
    row = inverse.ravel() - np.searchsorted(case, case)[inverse.ravel()]
    return (case, level[1]), counts, row
