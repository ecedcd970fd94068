"""Ordinal scores: a score is an interval of a latent scale, on which annotators scatter around the mean of the case."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array, Float

from plausibly.case import ScoredCase
from plausibly.model import STUTZ, Model

FAR = 1e4  # standard deviations, at which single precision still has a slope


def ordinal_scores(case: ScoredCase) -> None:
    r"""Ordinal model of the scores of one case.

    .. math::
       \sigma^2 \sim \mathrm{InverseGamma}(a, b), \quad \mu \sim \mathrm{Normal}(m, \sigma^2 / \kappa), \quad
       z^r \sim \mathrm{Normal}(\mu, \sigma^2), \quad y^r = v_k \iff c_{k-1} < z^r \le c_k, \quad
       \lambda = (P(y \le t \mid \mu, \sigma^2), P(y > t \mid \mu, \sigma^2))

    The latent :math:`z^r` is integrated out. The threshold lies at the cutpoint just above the largest score that does
    not exceed it.

    Parameters
    ----------
    case
        Intervals of the scores, the cutpoint of the threshold, and the prior :math:`(m, \kappa, a, b)`.

    Notes
    -----
    Many scores are categories. If ten annotators all answer 0, they agree, but a normal distribution of numbers around
    0 would put half of its mass above 0. Here it is likely that all of its mass is within one category.

    If all annotators give the same score, it is clear which side of the threshold is likelier:
    ``annotation_certainty_1``, the share of draws in which one and the same side is likelier, is near 1. The next
    annotator may still be on the other side, as often as in similar cases; ``score_certainty``, which is based on the
    mean of :math:`\lambda`, says so.

    Cutpoints :math:`c` are inferred (``cutpoints="inferred"``) from the frequency of each score in the whole data set,
    whose distribution on the latent scale is standard normal; this fixes location and scale. Alternatively, they are
    the midpoints of neighbouring scores (``"midpoints"``), so that distances between scores count.

    References
    ----------
    Albert & Chib (1993), Bayesian analysis of binary and polychotomous response data, Journal of the American
    Statistical Association 88; Stutz, Cemgil, Roy et al. (2025), Evaluating medical AI systems in dermatology under
    uncertain ground truth, Appendix A.
    """
    m, strength, a, b = case.prior
    variance = numpyro.sample("variance", dist.InverseGamma(a, b))
    mean = numpyro.sample("mean", dist.Normal(m, jnp.sqrt(variance / strength)))
    sd = jnp.sqrt(variance)
    z = (case.threshold - mean) / sd
    numpyro.deterministic("plausibility", jnp.stack([ndtr(z), ndtr(-z)]))
    of_score = log_between((case.lower - mean) / sd, (case.upper - mean) / sd)
    numpyro.factor("scores", (case.counts * of_score).sum())


def log_between(lower: Float[Array, "*shape"], upper: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Log probability that a standard normal variable lies between two bounds, from the tail in which they are.

    Examples
    --------
    >>> round(float(jnp.exp(log_between(jnp.array(-1.0), jnp.array(1.0)))), 3)
    0.683
    """
    flip = lower > -upper
    low, high = (jnp.clip(jnp.where(flip, -a, b), -FAR, FAR) for a, b in ((upper, lower), (lower, upper)))
    above, below = log_ndtr(high), log_ndtr(low)
    return above + jnp.log(jnp.maximum(-jnp.expm1(jnp.minimum(below - above, 0)), 1e-30))


model = Model(
    name="ordinal-scores",
    program=ordinal_scores,
    takes="scores",
    options={"cutpoints": ("inferred", "midpoints")},
    categories=True,
    citations=(
        ("scores as categories", "Albert & Chib (1993), Bayesian analysis of binary and polychotomous response data."),
        ("the normal model of scores", STUTZ),
    ),
)
