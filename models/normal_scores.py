"""Normal scores: annotators give numbers around the mean of the case; a threshold separates two classes."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import ndtr
from jaxtyping import ArrayLike, Float
from numpyro.handlers import scale
from scipy.special import ndtr as normal_cdf

from plausibly.data.case import NormalInverseGamma, ScoredCase, ScoreSums
from plausibly.families.model import STUTZ, Model
from plausibly.families.ratings import RatedCases, Ratings, means_and_spreads


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

    Here every case is by itself, and raters are alike (``raters="alike"``). With ``raters="differ"`` all cases are one
    model, see :func:`normal_ratings`.

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


def normal_ratings(rated: RatedCases) -> None:
    r"""Linear model of the ratings of all cases by raters who differ in severity and spread (``raters="differ"``).

    .. math::
       y_{ir} \sim \mathrm{Normal}(m + d\,(\mu_i + s_r), d^2 \sigma_r^2)

    where m and d are the mean and the standard deviation of all ratings, and everything else is as in
    :func:`plausibly.models.ordinal_scores.ordinal_ratings`.

    Parameters
    ----------
    rated
        Ratings of all cases, and groups of these.

    Notes
    -----
    A severity is a number of points that a rater adds to every case. The posterior means of severities and of groups of
    cases are weighted least squares estimates with a little shrinkage; ratings need not be normal for these to be
    right, if there are many. So this is the model for mean ratings on any scale, and for raters who use the scale in
    different ways, such as those who give many small penalties and those who give few large ones. In simulated
    penalties (64 segments a system, 4 raters; two of five penalties are 0 and one is 5 or more), 94 % intervals
    contained 90 % of the differences between systems and 94 % of those between raters. Shares above a threshold are
    those of normal distributions, which skewed ratings do not have: for these, take
    :func:`plausibly.models.ordinal_scores.ordinal_ratings`.

    Two raters who always agree, or differ by the same number, would have no spread at all. So the prior of each spread
    has a factor :math:`\exp(-h^2 / 2 \sigma_r^2)`, with h a tenth of the least step between ratings, divided by d, and
    .01 at least.

    Ratings of a case group by one rater, such as all segments of a document, may differ from others for reasons of
    their own. If so, name these groups, too (``case_groups``): intervals are too narrow otherwise.

    References
    ----------
    Laird & Ware (1982), Random-effects models for longitudinal data, Biometrics 38; Linacre (1989), Many-facet Rasch
    measurement.
    """
    at, sd = means_and_spreads(rated)
    numpyro.sample("ratings", dist.Normal(at, sd), obs=rated.number)


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


_NUMBERS = ("the normal model of scores", STUTZ)

by_raters = Model(
    name="normal-scores",
    program=normal_ratings,
    takes="scores",
    family=Ratings(),
    options={"raters": ("differ",), "class_prior": ("uniform", "predictions")},
    citations=(_NUMBERS, ("raters who differ", "Linacre (1989), Many-facet Rasch measurement.")),
)

model = Model(
    name="normal-scores",
    program=normal_scores,
    takes="scores",
    reliability=1.0,
    options={"raters": ("alike", "differ")},
    instead={("raters", "differ"): by_raters},
    reliabilities=(1,),
    exact=exact,
    point_estimate=at_the_scores,
    log_likelihood=True,
    citations=(
        _NUMBERS,
        (
            "the posterior of the normal model",
            "Murphy (2007), Conjugate Bayesian analysis of the Gaussian distribution.",
        ),
    ),
)
