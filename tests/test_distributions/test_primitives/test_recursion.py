"""The numbers: enumeration of all orders in extended precision, and the integral of the exponential race."""

from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausibly.distributions import primitives

block_log_prob = jax.jit(primitives.block_log_prob)


def enumerate_orders(log_weights, log_rest):
    """Log probability, summed over all orders as the model says it."""
    weights, rest = np.exp(log_weights.astype(np.longdouble)), np.exp(log_rest.astype(np.longdouble))
    total = np.zeros_like(rest)
    for order in permutations(range(weights.shape[1])):
        drawn = weights[:, order]
        total += (drawn / (np.cumsum(drawn[:, ::-1], axis=1)[:, ::-1] + rest[:, None])).prod(1)
    return np.log(total)


def race(log_weights, log_rest):
    """The same from an integral over the time at which the first of the rest arrives, ``exp(s)`` in units of its mean.

    Every member arrives before it with probability ``1 - exp(-weight * time)``. In ``s`` the integrand is analytic and
    falls off at both ends, so that equal steps converge exponentially.
    """
    step = 0.125
    s = np.arange(-280, 8, step).astype(np.longdouble)
    y = np.exp(s + (log_weights.astype(np.longdouble) - log_rest[:, None])[..., None])
    early = -np.expm1(-y)
    density = s - np.exp(s) + np.log(early).sum(1)
    greatest = density.max(1, keepdims=True)
    density = np.exp(density - greatest)
    value = np.log(density.sum(1) * step) + greatest[:, 0]
    density /= density.sum(1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        late = np.where(y > 11000, 0, y * np.exp(-y) / early)
    slope = (density[:, None] * late).sum(2)
    own = (density[:, None] * np.where(y > 11000, 0, late * (1 - y / early))).sum(2)
    second = np.einsum("ns,nas,nbs->nab", density, late, late)
    curvature = second - slope[:, :, None] * slope[:, None] + own[:, :, None] * np.eye(log_weights.shape[1])
    return value, slope, curvature


def relative(got, expected):
    """Relative error of the probability whose logarithm was computed."""
    return np.abs(np.expm1(np.asarray(got).astype(np.longdouble) - expected)).astype(float)


def draw(size, n, dtype, spread=20.0, seed=0):
    rng = np.random.default_rng([seed, size])
    return rng.uniform(-spread, spread, (n, size)).astype(dtype), rng.uniform(-spread, spread, n).astype(dtype)


@jax.jit
def derivatives(x, z, along):
    """Value, gradient and Hessian-vector product."""
    (value, slope), (_, product) = jax.jvp(jax.vmap(jax.value_and_grad(block_log_prob)), (x, z), (along, 0 * z))
    return value, slope, product


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_double_and_single_precision_equal_enumeration(size, float64):
    x, z = draw(size, 200 if size < 7 else 40, np.float64)
    with float64():
        got = block_log_prob(x, z)
        assert got.dtype == np.float64
        got = np.asarray(got)
    # Found: 4e-14.
    assert relative(got, enumerate_orders(x, z)).max() < 1e-12
    x, z = draw(size, 200 if size < 7 else 40, np.float32)
    for rest in (np.zeros_like(z), z):
        got = block_log_prob(x, rest)
        assert got.dtype == np.float32
        expected = enumerate_orders(x, rest)
        # A float32 logarithm of -100 stands for probabilities that differ by 8e-6: the representation's own step is
        # allowed beside the 1e-5.
        step = np.spacing(np.abs(expected).astype(np.float32)).astype(float)
        assert (relative(got, expected) <= 1e-5 + step).all()
        likely = expected > -30
        assert relative(got, expected)[likely].max(initial=0) < 5e-6


@pytest.mark.parametrize("size", [1, 3, 5, 12])
def test_values_and_derivatives_equal_the_exponential_race(size, float64):
    x, z = draw(size, 6 if size > 5 else 100, np.float64, seed=2)
    along = np.random.default_rng(size).normal(size=x.shape)
    value, slope, curvature = race(x, z)
    assert np.abs(curvature).max() > 0.1
    if size == 3:  # the oracle against enumeration, and its derivatives against differences
        np.testing.assert_allclose(value.astype(float), enumerate_orders(x, z).astype(float), rtol=1e-13, atol=1e-14)
        for k, step in enumerate(1e-6 * np.eye(3, dtype=np.longdouble)):
            above, below = race(x + step, z), race(x - step, z)
            for upper, lower, derivative in zip(above[:2], below[:2], (slope[:, k], curvature[:, k]), strict=True):
                np.testing.assert_allclose(((upper - lower) / 2e-6).astype(float), derivative.astype(float), atol=1e-10)
    with float64():
        assert relative(block_log_prob(x, z), value).max() < 1e-12
        _, got, product = (np.asarray(a) for a in derivatives(x, z, along))
        assert np.abs(got - slope).max() < (1e-12 if size > 5 else 1e-13)
        assert np.abs(product - np.einsum("nab,nb->na", curvature, along)).max() < (1e-11 if size > 5 else 1e-13)


@pytest.mark.parametrize("size", [1, 4, 12])
def test_peaked_weights_give_the_right_numbers_in_single_precision(size):
    rng = np.random.default_rng([3, size])
    kinds = [rng.uniform(-100, 100, (10, size)), rng.choice([-100.0, -50.0, 0.0, 100.0], (8, size))]
    kinds += [np.full((1, size), level) for level in (-100.0, 100.0)]
    x = np.concatenate(kinds).astype(np.float32)
    along = rng.normal(size=x.shape).astype(np.float32)
    value, slope, curvature = race(x, np.zeros(len(x)))
    got = [np.asarray(a) for a in derivatives(x, np.zeros(len(x), np.float32), along)]
    assert got[1].dtype == got[2].dtype == np.float32
    assert (np.abs(got[0] - value) <= 1e-6 + 4e-7 * np.abs(value)).all()
    assert np.abs(got[1] - slope).max() < 5e-6
    assert np.abs(got[2] - np.einsum("nab,nb->na", curvature, along)).max() < 1e-5


def test_a_class_outweighed_by_every_bit_still_counts():
    """Sums of weights that differ by 40 orders of magnitude: what the recursion would lose if it formed them."""
    got = block_log_prob(jnp.array([90.0, -90.0]), 0.0)
    np.testing.assert_allclose(got, -90.0, rtol=1e-6)
