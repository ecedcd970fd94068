"""The Rasch program: its density written out, and intervals that cover as often as they say."""

import jax
import numpy as np
import pytest
from numpyro.handlers import seed, trace
from numpyro.infer import MCMC, NUTS, Predictive
from numpyro.infer.util import log_density
from scipy import stats

from plausibly.models import rasch

SIZES = {"n_annotators": 4, "n_cases": 25}
ANNOTATOR, CASE = np.tile(np.arange(4), 25), np.repeat(np.arange(25), 4)


def test_density_is_the_formula(float64):
    rng = np.random.default_rng(0)
    z, w = rng.normal(size=4), rng.normal(size=25)
    m, s, t = 0.7, 0.4, 1.3
    correct = rng.random(100) < 0.7
    values = {"mean_ability": m, "sd_ability": s, "sd_difficulty": t, "ability_decentered": z}
    values["difficulty_decentered"] = w
    with float64():
        found, _ = log_density(rasch, (ANNOTATOR, CASE, correct), SIZES, values)
    p = 1 / (1 + np.exp(t * w[CASE] - m - s * z[ANNOTATOR]))
    expected = (
        stats.norm(0, 2).logpdf(m)
        + stats.halfnorm.logpdf([s, t]).sum()
        + stats.norm.logpdf(z).sum()
        + stats.norm.logpdf(w).sum()
        + np.where(correct, np.log(p), np.log1p(-p)).sum()
    )
    assert float(found) == pytest.approx(expected)


def test_abilities_and_difficulties_are_sites():
    sites = trace(seed(rasch, jax.random.key(0))).get_trace(ANNOTATOR, CASE, **SIZES)
    assert sites["ability"]["value"].shape == (4,)
    assert sites["difficulty"]["value"].shape == (25,)


@pytest.mark.slow
def test_simulation_based_calibration():
    """Parameters from the prior, answers from them, and the rank of the truth among posterior draws is uniform.

    50 data sets at once, 99 thinned draws each: ranks of the mean ability, of one ability and of one difficulty in five
    bins, tested by chi-squared at 0.001 each; a false alarm in 300 runs, and the seed is fixed.
    """
    n = 50
    prior = Predictive(rasch, num_samples=n)(jax.random.key(3), ANNOTATOR, CASE, **SIZES)

    def sample(key, correct):
        sampler = MCMC(
            NUTS(rasch, target_accept_prob=0.9, max_tree_depth=5), num_warmup=200, num_samples=396, progress_bar=False
        )
        sampler.run(key, ANNOTATOR, CASE, correct, **SIZES)
        samples = sampler.get_samples()
        return {name: samples[name][::4] for name in ("mean_ability", "ability", "difficulty")}

    drawn = jax.jit(jax.vmap(sample))(jax.random.split(jax.random.key(4), n), prior["correct"].astype(bool))
    for name in drawn:
        true, found = np.asarray(prior[name]), np.asarray(drawn[name])
        if true.ndim > 1:
            true, found = true[:, 0], found[:, :, 0]
        ranks = (found < true[:, None]).sum(axis=1)
        counts = np.bincount(ranks // 20, minlength=5)
        assert stats.chisquare(counts).pvalue > 0.001, (name, counts)
