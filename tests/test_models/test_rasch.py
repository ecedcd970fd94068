"""The Rasch program: its density written out. ``make validate`` calibrates it."""

import jax
import numpy as np
import pytest
from numpyro.handlers import seed, trace
from numpyro.infer.util import log_density
from scipy import stats

from plausibly.models import rasch

SIZES = {"n_annotators": 4, "n_cases": 25}
ANNOTATOR, CASE = np.tile(np.arange(4), 25), np.repeat(np.arange(25), 4)


def test_density_is_the_formula_and_abilities_and_difficulties_are_sites(float64):
    rng = np.random.default_rng(0)
    z, w = rng.normal(size=4), rng.normal(size=25)
    m, s, t = 0.7, 0.4, 1.3
    correct = rng.random(100) < 0.7
    values = {"mean_ability": m, "sd_ability": s, "sd_difficulty": t, "ability_decentered": z}
    values["difficulty_decentered"] = w
    with float64():
        found = jax.jit(lambda values: log_density(rasch, (ANNOTATOR, CASE, correct), SIZES, values)[0])(values)
    p = 1 / (1 + np.exp(t * w[CASE] - m - s * z[ANNOTATOR]))
    expected = (
        stats.norm(0, 2).logpdf(m)
        + stats.halfnorm.logpdf([s, t]).sum()
        + stats.norm.logpdf(z).sum()
        + stats.norm.logpdf(w).sum()
        + np.where(correct, np.log(p), np.log1p(-p)).sum()
    )
    assert float(found) == pytest.approx(expected)
    sites = jax.eval_shape(lambda: values_of(trace(seed(rasch, jax.random.key(0))).get_trace(ANNOTATOR, CASE, **SIZES)))
    assert (sites["ability"].shape, sites["difficulty"].shape) == ((4,), (25,))


def values_of(sites):
    return {name: one["value"] for name, one in sites.items()}
