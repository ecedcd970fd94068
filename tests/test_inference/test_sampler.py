"""The sampler on targets whose moments are known, several cases with data of their own side by side."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy import special

from plausibly.base.arviz import arviz
from plausibly.base.random_streams import case_keys
from plausibly.inference.nuts._sampler import DENSE, Sampler

CHAINS, DRAWS = 4, 500


def chain_keys(names, chains):
    return jax.vmap(lambda key: jax.random.split(key, chains))(case_keys(1, names))


def sample(potential, dim, data, n, **options):
    settings = {"chains": CHAINS, "warmup": 300, "draws": DRAWS} | options
    sampler = Sampler(potential, dim=dim, **settings)

    def run(data, keys):
        state = sampler.advance(sampler.begin(n), data, keys, jnp.ones(n, bool), n)
        return sampler.positions(state), sampler.statistics(state)

    x, finished = jax.jit(run)(data, chain_keys([f"case {i}" for i in range(n)], CHAINS))
    return np.asarray(x, float).transpose(2, 0, 1, 3), jax.tree.map(np.asarray, finished)  # chain draw dim case


def error(values):
    """Mean over chains and draws, with its Monte Carlo standard error."""
    flat = values.reshape(*values.shape[:2], -1)
    ess = arviz().ess(xr.Dataset({"x": (("chain", "draw", "k"), flat)}), method="mean")["x"].values
    return flat.mean((0, 1)).reshape(values.shape[2:]), (flat.std((0, 1)) / np.sqrt(ess)).reshape(values.shape[2:])


def check(values, expected):
    """Five standard errors: 6e-7 for each number."""
    mean, se = error(values)
    assert (np.abs(mean - expected) < 5 * se).all(), (mean, expected, se)
    assert se.max() < 0.2 * np.sqrt(values.var((0, 1)).max())


def test_correlated_gaussians_of_different_scales():
    rng = np.random.default_rng(0)
    n, dim = 3, 3
    factors = rng.normal(size=(n, dim, dim)) * np.array([0.01, 1, 30])[:, None, None]
    factors[1, 2] = factors[1, 1] + 0.05 * factors[1, 2]  # nearly dependent
    covariance = factors @ factors.transpose(0, 2, 1) + 1e-4 * np.eye(dim) * np.array([1e-4, 1, 900])[:, None, None]
    mean = rng.normal(size=(n, dim)) * 2
    data = {"mean": mean.T, "precision": np.linalg.inv(covariance).transpose(1, 2, 0)}
    data = jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), data)

    def potential(x, d):
        return (x - d["mean"]) @ d["precision"] @ (x - d["mean"]) / 2

    x, finished = sample(potential, dim, data, n, draws=1000)
    assert not finished["diverging"].any()
    check(x, mean.T)
    centred = x - mean.T
    check(centred[:, :, :, None] * centred[:, :, None], covariance.transpose(1, 2, 0))
    rate = finished["acceptance_rate"].mean()
    assert 0.7 < rate < 0.97


@pytest.mark.slow
def test_a_skewed_target():
    """Logarithms of gamma variables: an exponential tail on one side, a cliff on the other."""
    alpha = np.array([[0.5, 3.0], [1.0, 20.0]], np.float32)

    def potential(x, a):
        return (jnp.exp(x) - a * x).sum()

    x, finished = sample(potential, 2, jnp.asarray(alpha), 2, draws=1500)
    assert finished["diverging"].mean() < 0.01
    mean = special.digamma(alpha)
    check(x, mean)
    check((x - mean) ** 2, special.polygamma(1, alpha))
    check(np.exp(x), alpha)


@pytest.mark.slow
def test_one_dimension_what_thinning_leaves_and_bounded_trees():
    thinning = 3
    data = jnp.array([1.0, 5.0])
    x, finished = sample(lambda x, s: (x[0] / s) ** 2 / 2, 1, data, 2, thinning=thinning)
    assert x.shape == (CHAINS, DRAWS, 1, 2)
    assert finished["n_steps"].shape == (DRAWS, CHAINS, 2)
    assert (finished["n_steps"] >= thinning).all()
    check(x[:, :, 0] ** 2, [1, 25])
    x, finished = sample(lambda x, d: (x**2).sum() / 2 * d, 2, jnp.ones(1), 1, max_tree_depth=2, warmup=0)
    assert finished["n_steps"].max() <= 3
    assert finished["tree_depth"].max() <= 2
    assert np.isfinite(x).all()


@pytest.mark.slow
def test_many_dimensions_are_whitened_by_their_variances():
    dim = DENSE + 1
    scale = np.geomspace(0.1, 10, dim)
    x, _ = sample(lambda x, s: ((x / s) ** 2).sum() / 2, dim, jnp.asarray(scale[:, None], jnp.float32), 1, draws=300)
    check(x[:, :, :, 0] ** 2, scale**2)


@pytest.mark.slow
def test_a_target_with_a_wall_reports_divergences():
    """Where the density vanishes beyond a hard edge, and leapfrog steps jump over it."""

    def potential(x, data):
        return jnp.where(x[0] > -2, x[0], jnp.inf) + data * x[1] ** 2 / 2

    x, finished = sample(potential, 2, jnp.ones(8), 8, draws=100, max_tree_depth=5)
    x, diverging = x[:, :, 0], finished["diverging"].transpose(1, 0, 2)
    outside = x[:, 0] < -2
    assert outside.any()
    # A chain that began beyond, where there is no density to follow, stays there and says so at every draw.
    assert diverging.transpose(0, 2, 1)[outside].all()
    assert (x == x[:, :1]).transpose(0, 2, 1)[outside].all()
    inside = ~outside.any(0)
    assert (x[:, :, inside] > -2).all()
    assert diverging[:, :, inside].any((0, 1)).all()
    assert not diverging[:, :, inside].all()
