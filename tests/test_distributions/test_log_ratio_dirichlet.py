"""The Dirichlet distribution in log-ratio coordinates, against the density and the moments of the Dirichlet itself."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpyro.infer import Predictive
from scipy import special, stats

from plausibly.distributions import LogRatioDirichlet, log_ratios, log_simplex

ALPHA = np.array([0.4, 1.0, 2.5, 7.0], np.float32)


probabilities = jax.jit(lambda weights: jnp.exp(log_simplex(log_ratios(weights))))


@settings(max_examples=30)
@given(st.integers(2, 6).flatmap(lambda k: hnp.arrays(np.float32, (3, k), elements=st.floats(0.0625, 16, width=32))))
def test_weights_return_as_probabilities(weights):
    got = probabilities(weights)
    np.testing.assert_allclose(got, weights / weights.sum(1, keepdims=True), rtol=1e-5)


@settings(max_examples=30)
@given(hnp.arrays(np.float32, (4,), elements=st.floats(-30, 30, width=32)))
def test_coordinates_return_and_keep_distances(z):
    np.testing.assert_allclose(log_ratios(jnp.exp(log_simplex(z))), z, rtol=1e-4, atol=1e-4)
    logs = np.asarray(log_simplex(z))
    np.testing.assert_allclose(np.linalg.norm(logs - logs.mean()), np.linalg.norm(z), rtol=1e-5, atol=1e-6)


def test_the_density_is_that_of_the_dirichlet_times_the_jacobian_and_concave(float64):
    """The Jacobian of all but the last probability by the coordinates, by finite differences."""
    with float64():
        for seed in range(2):
            z = np.random.default_rng(seed).normal(size=3)
            steps = 1e-6 * np.eye(3)
            jacobian = [np.exp(log_simplex(z + s)) - np.exp(log_simplex(z - s)) for s in steps]
            volume = np.linalg.slogdet(np.array(jacobian)[:, :3] / 2e-6)[1]
            expected = stats.dirichlet(ALPHA.astype(float)).logpdf(np.exp(log_simplex(z))) + volume
            np.testing.assert_allclose(LogRatioDirichlet(ALPHA.astype(float)).log_prob(z), expected, rtol=1e-7)
    with float64():
        curvature = jax.jit(jax.vmap(jax.hessian(LogRatioDirichlet(ALPHA).log_prob)))(
            np.random.default_rng(0).normal(size=(20, 3)) * 3
        )
        assert np.linalg.eigvalsh(curvature).max() < 0


@pytest.mark.slow
def test_samples_have_the_moments_of_the_dirichlet_and_follow_log_prob():
    n = 40_000
    sample = jax.jit(lambda alpha, key: log_simplex(LogRatioDirichlet(alpha).sample(key, (n,))))
    p = np.exp(np.asarray(sample(ALPHA, jax.random.key(1)), float))
    alpha = ALPHA.astype(float)
    share = alpha / alpha.sum()
    # Five standard errors of eight statistics: a false alarm in 200,000 runs.
    assert (np.abs(p.mean(0) - share) < 5 * p.std(0) / np.sqrt(n)).all()
    squares = (p - share) ** 2
    variance = share * (1 - share) / (alpha.sum() + 1)
    assert (np.abs(squares.mean(0) - variance) < 5 * squares.std(0) / np.sqrt(n)).all()
    # A coordinate of two classes is a scaled logit of a Beta variable.
    z = np.asarray(log_ratios(jnp.exp(sample(np.array([0.7, 2.0], np.float32), jax.random.key(2)))), float)[:5000, 0]
    assert stats.kstest(special.expit(np.sqrt(2) * z), stats.beta(0.7, 2.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_tiny_concentrations_stay_finite(alpha):
    d = LogRatioDirichlet(np.full(5, alpha, np.float32))
    z = d.sample(jax.random.key(0), (500,))
    value, slope = jax.jit(jax.vmap(jax.value_and_grad(d.log_prob)))(z)
    assert np.isfinite(z).all()
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
    assert np.abs(z).max() > 100
    assert np.asarray(slope).max() < 1  # the gradient is bounded by the concentrations


@pytest.mark.slow
def test_shapes_transformations_programs_and_validation():
    alpha = np.random.default_rng(0).uniform(0.5, 3, (2, 3)).astype(np.float32)
    d = LogRatioDirichlet(alpha)
    z = d.sample(jax.random.key(0), (7,))
    assert z.shape == (7, 2, 2)
    expected = d.log_prob(z)
    assert expected.shape == (7, 2)
    np.testing.assert_allclose(jax.jit(lambda d, z: d.log_prob(z))(d, z), expected, rtol=1e-5)
    mapped = jax.vmap(lambda a, z: LogRatioDirichlet(a).log_prob(z), in_axes=(0, 1), out_axes=1)(alpha, z)
    np.testing.assert_allclose(mapped, expected, rtol=1e-5)
    assert LogRatioDirichlet(alpha).expand((4, 2)).sample(jax.random.key(0)).shape == (4, 2, 2)

    def model():
        with numpyro.plate("case", 3):
            return numpyro.sample("z", LogRatioDirichlet(jnp.ones(4)))

    assert Predictive(model, num_samples=5)(jax.random.PRNGKey(0))["z"].shape == (5, 3, 3)
    with pytest.raises(ValueError, match="invalid concentration"):
        LogRatioDirichlet(np.array([1.0, 0.0], np.float32), validate_args=True)
