"""Normal scores: annotators give numbers around the mean of the case; a threshold separates two classes."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import ndtr
from jaxtyping import ArrayLike, Float
from numpyro.handlers import scale
from scipy.special import ndtr as normal_cdf

from plausibly.case import NormalInverseGamma, ScoredCase, ScoreSums
from plausibly.model import STUTZ, Model


def normal_scores(case: ScoredCase, *, reliability: Float[ArrayLike, ""] = 1.0) -> None:
    r"""Normal model of the scores of one case.

    .. math::
       \sigma^2 \sim \mathrm{InverseGamma}(a, b), \quad \mu \sim \mathrm{Normal}(m, \sigma^2 / \kappa), \quad
       y^r \sim \mathrm{Normal}(\mu, \sigma^2), \quad
       \lambda = (P(y \le t \mid \mu, \sigma^2), P(y > t \mid \mu, \sigma^2))

    where every score counts :math:`\gamma` times. The posterior has a closed form, see
    :meth:`plausibly.case.NormalInverseGamma.posterior`.

    Parameters
    ----------
    case
        Scores, the threshold :math:`t`, and the prior :math:`(m, \kappa, a, b)`.
    reliability
        Number of times :math:`\gamma > 0` that each score counts: the likelihood is raised to the power :math:`\gamma`.

    Notes
    -----
    Ordinal scores are treated as numbers. To count the level at the threshold entirely as below it, put the threshold
    halfway to the next level.

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


def exact(sums: ScoreSums, prior: NormalInverseGamma, *, reliability: float) -> NormalInverseGamma:
    """The posterior of every case."""
    return prior.posterior(*sums, reliability)


def at_the_scores(sums: ScoreSums, threshold: float) -> Float[np.ndarray, " slot"]:
    """Plausibilities at the mean and the variance of the scores themselves, the limit of the posterior.

    Where all scores of a case are equal, the class they are in has all the mass.
    """
    sd = np.sqrt(sums.squares / sums.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(sd > 0, (threshold - sums.mean) / sd, np.where(sums.mean <= threshold, np.inf, -np.inf))
    return np.stack([normal_cdf(z), normal_cdf(-z)], axis=1).ravel()


model = Model(
    name="normal-scores",
    program=normal_scores,
    takes="scores",
    reliability=1.0,
    reliabilities=(1,),
    exact=exact,
    point_estimate=at_the_scores,
    log_likelihood=True,
    citations=(
        ("the normal model of scores", STUTZ),
        (
            "the posterior of the normal model",
            "Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution.",
        ),
    ),
)
