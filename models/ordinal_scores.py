"""Ordinal scores: a score is an interval of a latent scale, on which annotators scatter around the mean of the case."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array, Float

from plausibly.data.case import ScoredCase
from plausibly.families.model import STUTZ, Model
from plausibly.families.ratings import RatedCases, Ratings, means_and_spreads

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

    Here every case is by itself, and raters are alike (``raters="alike"``). With ``raters="differ"`` all cases are one
    model, see :func:`ordinal_ratings`.

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


def ordinal_ratings(rated: RatedCases) -> None:
    r"""Ordinal model of the ratings of all cases by raters who differ in severity and spread (``raters="differ"``).

    .. math::
       z_{ir} \sim \mathrm{Normal}(\mu_i + s_r, \sigma_r^2), \quad y_{ir} = v_k \iff c_{k-1} < z_{ir} \le c_k, \\
       \mu_i \sim \mathrm{Normal}\Bigl(\alpha + \sum_g a_{g, g(i)}, \tau^2\Bigr), \quad
       s_r \sim \mathrm{Normal}(0, \sigma_s^2), \quad \log \sigma_r \sim \mathrm{Normal}(m, \omega^2), \quad
       a_{gj} \sim \mathrm{Normal}(0, \tau_g^2), \\
       \alpha \sim \mathrm{Normal}(0, 2^2), \quad \tau \sim \mathrm{HalfNormal}(1), \quad
       \sigma_s, \tau_g, \omega \sim \mathrm{HalfNormal}(0.5), \quad m \sim \mathrm{Normal}(\log 0.5, 1)

    The latent :math:`z_{ir}` is integrated out. Its scale is that on which all ratings have mean 0 and standard
    deviation 1; cutpoints are those of :func:`ordinal_scores`. Each group of cases :math:`g` that is given as
    ``case_groups``, such as the system or the document of a case, has effects :math:`a_g`.

    Parameters
    ----------
    rated
        Ratings of all cases, and groups of these.

    Notes
    -----
    A rater with a positive severity :math:`s_r` gives higher ratings than others. Where high is good, as with stars,
    she is lenient; where high is bad, as with penalties, she is the strict one.

    With predictions, :math:`\sum_j \beta_j x_{ij}` is added to the expectation of :math:`\mu_i`. Here :math:`x_{ij}` is
    what classifier j expects of the case, the mean of its latent number or the log odds of two classes, with mean 0 and
    standard deviation 1 over cases, and :math:`\beta_j \sim \mathrm{Normal}(0, 0.5^2)`.

    Raters who may err together (``annotator_groups``), such as language models, have an error in common,
    :math:`z_{ir} \sim \mathrm{Normal}(\mu_i + s_r + u_{g(r), i}, \sigma_r^2)` with
    :math:`u_{gi} \sim \mathrm{Normal}(0, \eta_g^2)`, :math:`\eta_g \sim \mathrm{HalfNormal}(0.5)`. What is true is then
    learned from raters outside: plausibilities are those of raters who err by themselves.

    Severities are identified by cases, or groups of cases, that several raters rated. Between raters who share neither,
    even by way of others, they rest on the assumption that their cases are alike, since all have one distribution: a
    warning names the parts into which raters fall. Where each case has one rater, only the sums of :math:`\tau^2` and
    :math:`\sigma_r^2` are identified, and what is whose rests on the prior.

    Steps between ratings are the same for all raters. A rater who uses the scale in another way, such as many small
    penalties and no large ones, is not described by severity and spread; compare the means of her ratings as they are
    and under the model, see :func:`plausibly.annotators.severities`. Where they are apart, or where means of ratings
    are what is wanted, as of penalties, take :func:`plausibly.models.normal_scores.normal_ratings`.

    The plausibility of a class is the share of raters like these who would give such a rating, with severity and spread
    drawn from their distributions. Without a ``threshold``, every value of the ratings is a class.

    References
    ----------
    Linacre (1989), Many-facet Rasch measurement; Samejima (1969), Estimation of latent ability using a response pattern
    of graded scores, Psychometrika Monograph 17; Albert & Chib (1993).
    """
    at, sd = means_and_spreads(rated)
    lower, upper = (jnp.clip(end, -FAR, FAR) for end in (rated.lower, rated.upper))  # infinite ones have no gradient
    numpyro.factor("ratings", log_between((lower - at) / sd, (upper - at) / sd).sum())


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


_CUTPOINTS = {"cutpoints": ("inferred", "midpoints")}
_CATEGORIES = (
    "scores as categories",
    "Albert & Chib (1993), Bayesian analysis of binary and polychotomous response data.",
)

by_raters = Model(
    name="ordinal-scores",
    program=ordinal_ratings,
    takes="scores",
    family=Ratings(),
    options={**_CUTPOINTS, "raters": ("differ",), "class_prior": ("uniform", "predictions")},
    categories=True,
    citations=(_CATEGORIES, ("raters who differ", "Linacre (1989), Many-facet Rasch measurement.")),
)

model = Model(
    name="ordinal-scores",
    program=ordinal_scores,
    takes="scores",
    options={**_CUTPOINTS, "raters": ("alike", "differ")},
    instead={("raters", "differ"): by_raters},
    categories=True,
    citations=(_CATEGORIES, ("the normal model of scores", STUTZ)),
)
