"""Normal scores: annotators give numbers about the mean of the case; a threshold makes two classes of them."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import ndtr
from jaxtyping import ArrayLike, Float, Num
from numpyro.handlers import scale
from scipy import special

from plausibly.case import NormalInverseGamma, ScoredCase, ScoreSums
from plausibly.model import STUTZ, Model


def normal_scores(case: ScoredCase, *, reliability: Float[ArrayLike, ""] = 1.0) -> None:
    r"""One case of scores.

    .. math::
       \sigma^2 \sim \mathrm{InverseGamma}(a, b), \quad \mu \sim \mathrm{Normal}(m, \sigma^2 / \kappa), \quad
       y^r \sim \mathrm{Normal}(\mu, \sigma^2), \quad
       \lambda = (P(y \le t \mid \mu, \sigma^2), P(y > t \mid \mu, \sigma^2))

    where every score counts :math:`\gamma` times. The posterior is known, see :func:`posterior`.

    Parameters
    ----------
    case
        Scores, the threshold :math:`t`, and the prior :math:`(m, \kappa, a, b)`.
    reliability
        Number of times :math:`\gamma > 0` that each score counts: the likelihood enters as its power :math:`\gamma`.

    Notes
    -----
    Ordinal scores are treated as numbers, with the distances between their levels. To count the level at the threshold
    wholly as below, put the threshold halfway to the next level.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Appendix A; Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution, section 6.
    """
    m, strength, a, b = case.prior
    variance = numpyro.sample("variance", dist.InverseGamma(a, b))
    mean = numpyro.sample("mean", dist.Normal(m, jnp.sqrt(variance / strength)))
    sd = jnp.sqrt(variance)
    z = (case.threshold - mean) / sd
    numpyro.deterministic("plausibility", jnp.stack([ndtr(z), ndtr(-z)]))
    with numpyro.plate("annotation", case.scores.shape[0]), scale(scale=reliability * case.counts):
        numpyro.sample("score", dist.Normal(mean, sd), obs=case.scores)


def posterior(
    prior: NormalInverseGamma,
    n: Num[ArrayLike, "*case"],
    mean: Float[ArrayLike, "*case"],
    squares: Float[ArrayLike, "*case"],
    reliability: Num[ArrayLike, ""] = 1.0,
) -> NormalInverseGamma:
    r"""Return the posterior of the mean and the variance.

    .. math::
       \kappa' = \kappa + \gamma n, \quad m' = \frac{\kappa m + \gamma n \bar y}{\kappa'}, \quad
       a' = a + \frac{\gamma n}{2}, \quad
       b' = b + \frac{\gamma}{2} \sum_r (y^r - \bar y)^2 + \frac{\kappa \gamma n}{2 \kappa'} (\bar y - m)^2

    Parameters
    ----------
    prior
        Prior of all cases, or of each.
    n, mean, squares
        Number of scores, their mean, and the sum of their squared distances from it.
    reliability
        Number of times :math:`\gamma` that each score counts.

    Examples
    --------
    >>> posterior(NormalInverseGamma(0.0, 1.0, 2.0, 1.0), 3, 2.0, 6.0)
    NormalInverseGamma(mean=1.5, strength=4.0, shape=3.5, scale=5.5)
    """
    weight = reliability * n
    strength = prior.strength + weight
    return NormalInverseGamma(
        (prior.strength * prior.mean + weight * mean) / strength,
        strength,
        prior.shape + weight / 2,
        prior.scale + reliability * squares / 2 + prior.strength * weight / (2 * strength) * (mean - prior.mean) ** 2,
    )


def log_marginal(
    prior: NormalInverseGamma,
    n: Num[ArrayLike, "*case"],
    mean: Float[ArrayLike, "*case"],
    squares: Float[ArrayLike, "*case"],
) -> Float[ArrayLike, "*case"]:
    r"""Return the log density of the scores of a case, its mean and variance integrated out.

    .. math::
       \log p(y) = \log \frac{\Gamma(a')}{\Gamma(a)} + a \log b - a' \log b'
       + \frac12 \log \frac{\kappa}{\kappa'} - \frac n2 \log 2 \pi

    Examples
    --------
    A single score follows Student's t:

    >>> from scipy.stats import t
    >>> one = float(log_marginal(NormalInverseGamma(0.0, 1.0, 2.0, 3.0), 1, 0.7, 0.0))
    >>> bool(np.isclose(one, t(4, 0, np.sqrt(3.0)).logpdf(0.7)))
    True
    """
    found = posterior(prior, n, mean, squares)
    return (
        special.gammaln(found.shape)
        - special.gammaln(prior.shape)
        + prior.shape * np.log(prior.scale)
        - found.shape * np.log(found.scale)
        + np.log(prior.strength / found.strength) / 2
        - np.asarray(n) / 2 * np.log(2 * np.pi)
    )


def probability_below(of: NormalInverseGamma, threshold: Float[ArrayLike, ""]) -> Float[ArrayLike, "*case"]:
    r"""Return the probability that the next score is at most the threshold.

    .. math:: y \sim \mathrm{Student}_{2 a}\!\left(m, \frac{b}{a} \Bigl(1 + \frac{1}{\kappa}\Bigr)\right)

    Of a posterior it is the average over it of :math:`P(y \le t \mid \mu, \sigma^2)`, and the greater of it and of its
    complement is the certainty of a case.

    Examples
    --------
    >>> float(probability_below(NormalInverseGamma(1.0, 2.0, 3.0, 4.0), 1.0))
    0.5
    """
    sd = np.sqrt(of.scale / of.shape * (1 + 1 / np.asarray(of.strength)))
    return special.stdtr(2 * np.asarray(of.shape), (threshold - np.asarray(of.mean)) / sd)


def exact(sums: ScoreSums, prior: NormalInverseGamma, *, reliability: float) -> NormalInverseGamma:
    """The :func:`posterior` of every case."""
    return posterior(prior, *sums, reliability)


def at_the_scores(sums: ScoreSums, threshold: float) -> Float[np.ndarray, " slot"]:
    """Plausibilities at the mean and the variance of the scores themselves, the limit of the posterior.

    Where all scores of a case are equal, the class they are in has all the mass.
    """
    sd = np.sqrt(sums.squares / sums.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(sd > 0, (threshold - sums.mean) / sd, np.where(sums.mean <= threshold, np.inf, -np.inf))
    return np.stack([special.ndtr(z), special.ndtr(-z)], axis=1).ravel()


model = Model(
    name="normal-scores",
    program=normal_scores,
    takes="scores",
    reliability=1.0,
    reliabilities=(1, 2, 3, 5, 10),
    exact=exact,
    point_estimate=at_the_scores,
    log_likelihood=True,
    citations=(
        ("normal model of scores", STUTZ),
        ("its posterior", "Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution."),
    ),
)
