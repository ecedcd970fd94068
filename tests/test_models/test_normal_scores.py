"""The normal model of scores: its program against its density, its formulas against integrals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.handlers import seed, trace
from numpyro.infer.util import log_density
from scipy import integrate, stats

from plausibly import models
from plausibly.data.case import NormalInverseGamma, ScoredCase

PRIOR = NormalInverseGamma(0.5, 0.8, 2.5, 1.7)
SCORES = np.array([-1.0, 0.0, 2.0, 2.0])
SUMS = (4, SCORES.mean(), ((SCORES - SCORES.mean()) ** 2).sum())


def one_case(threshold=0.0):
    values, counts = np.unique(SCORES, return_counts=True)
    return ScoredCase(
        scores=jnp.asarray(values, jnp.float32),
        counts=jnp.asarray(counts, jnp.float32),
        threshold=jnp.float32(threshold),
        prior=NormalInverseGamma(*map(jnp.float32, PRIOR)),
        n_classes=jnp.ones(2, jnp.int32),
    )


def joint(mean, variance, reliability=1.0):
    """Prior times likelihood, literally."""
    m, strength, a, b = PRIOR
    value = stats.invgamma.logpdf(variance, a, scale=b) + stats.norm.logpdf(mean, m, np.sqrt(variance / strength))
    return value + reliability * sum(stats.norm.logpdf(y, mean, np.sqrt(variance)) for y in SCORES)


def integral(function):
    """Over mean and log variance, beyond which there is nothing."""
    z, mean = np.linspace(-6, 9, 401), np.linspace(-60, 60, 4001)
    variance = np.exp(z)[:, None]
    return integrate.trapezoid(integrate.trapezoid(function(mean, variance) * variance, mean), z)


@pytest.mark.parametrize("reliability", [0.5, 3.0])
def test_program_and_posterior_are_prior_times_likelihood(reliability):
    sites = {"mean": jnp.float32(0.3), "variance": jnp.float32(1.4)}

    @jax.jit
    def run(case):
        value, found = log_density(models.normal_scores, (case,), {"reliability": reliability}, sites)
        return value, found["plausibility"]["value"]

    value, plausibility = run(one_case(0.2))
    assert float(value) == pytest.approx(joint(0.3, 1.4, reliability), rel=1e-5)
    below = stats.norm(0.3, np.sqrt(1.4)).cdf(0.2)
    np.testing.assert_allclose(plausibility, [below, 1 - below], rtol=1e-5)
    m, strength, a, b = PRIOR.posterior(*SUMS, reliability)
    differences = []
    for mean, variance in [(0.3, 1.4), (-2.0, 0.2), (5.0, 9.0), (0.75, 1.0)]:
        own = stats.invgamma(a, scale=b).logpdf(variance) + stats.norm(m, np.sqrt(variance / strength)).logpdf(mean)
        differences.append(own - joint(mean, variance, reliability))
    np.testing.assert_allclose(differences, differences[0], rtol=1e-10)


def test_marginal_and_predictive_against_integrals():
    total = integral(lambda mean, variance: np.exp(joint(mean, variance)))
    assert PRIOR.log_marginal(*SUMS) == pytest.approx(np.log(total), rel=1e-6)
    below = integral(
        lambda mean, variance: np.exp(joint(mean, variance)) * stats.norm.cdf(0.4, mean, np.sqrt(variance))
    )
    assert PRIOR.posterior(*SUMS).probability_below(0.4) == pytest.approx(below / total, rel=1e-6)


def test_scores_one_after_the_other_and_repeated_are_all_scores_at_once():
    found, total = PRIOR, 0.0
    for score in SCORES:
        total += found.log_marginal(1, score, 0.0)
        found = found.posterior(1, score, 0.0)
    np.testing.assert_allclose(found, PRIOR.posterior(*SUMS), rtol=1e-12)
    assert total == pytest.approx(PRIOR.log_marginal(*SUMS), rel=1e-12)
    often = np.repeat(SCORES, 3)
    sums = (len(often), often.mean(), ((often - often.mean()) ** 2).sum())
    np.testing.assert_allclose(PRIOR.posterior(*SUMS, 3), PRIOR.posterior(*sums), rtol=1e-12)


def test_it_can_be_run_forwards():
    def forwards(case):
        sites = trace(seed(models.normal_scores, jax.random.key(1))).get_trace(case)
        return sites["variance"]["value"], sites["plausibility"]["value"]

    variance, plausibility = jax.jit(forwards)(one_case())
    assert variance > 0
    np.testing.assert_allclose(plausibility.sum(), 1, rtol=1e-6)
