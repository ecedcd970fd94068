"""The quadrature against the integral in extended precision, closed forms and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax.test_util import check_grads
from scipy.special import gammaln

from plausibly.distributions import primitives
from plausibly.distributions.primitives import _race
from tests.test_distributions.test_primitives.test_recursion import race, relative

FEW = settings(max_examples=12)
both = jax.jit(_race.log_prob_and_gradient)
curved = jax.jit(_race.hessian_vector)
block_log_prob = jax.jit(primitives.block_log_prob)


def weights(size, kind, dtype):
    rng = np.random.default_rng([size, len(kind)])
    x = {
        "alike": lambda: np.full(size, 0.5),
        "moderate": lambda: 2 * rng.normal(size=size),
        "heavy": lambda: rng.uniform(3, 9, size),
        "light": lambda: rng.uniform(-6, -2, size),
        "wide": lambda: rng.uniform(-50, 50, size),
        "two kinds": lambda: np.where(np.arange(size) < size // 4, -2.0, 6.0),
    }[kind]()
    return x.astype(dtype)


KINDS = ["alike", "moderate", "heavy", "light", "wide", "two kinds"]


CASES = [*((12, kind) for kind in KINDS[2:]), (7, "moderate"), (150, "two kinds")]


@pytest.mark.parametrize(("size", "kind"), CASES)
def test_value_and_gradient_equal_high_precision(size, kind, float64):
    """As documented: 1e-9 in double precision; in single 1e-5 beside one step of the logarithm's representation."""
    x = weights(size, kind, np.float32)
    value, slope, _ = (of[0] for of in race(x[None], np.zeros(1, np.float32)))
    got, found = (np.asarray(a) for a in both(x[:, None]))
    assert got.dtype == np.float32
    assert relative(got[0], value) < 1e-5 + np.spacing(np.float32(abs(float(value))))
    assert np.abs(found[:, 0] - slope).max() < 2e-6
    with float64():
        got, found = (np.asarray(a) for a in both(x.astype(np.float64)[:, None]))
    assert got.dtype == np.float64
    assert relative(got[0], value) < 1e-11 + 2 * np.spacing(abs(float(value)))
    assert np.abs(found[:, 0] - slope).max() < 1e-11


def test_the_integral_of_the_definition(float64):
    """Equal weights: a product of betas, p = B! Γ(1 + 1/λ) / Γ(B + 1 + 1/λ)."""
    for size in (7, 300):
        for weight in (0.01, 1.0, 7.0):
            expected = gammaln(size + 1) + gammaln(1 + 1 / weight) - gammaln(size + 1 + 1 / weight)
            with float64():
                got = block_log_prob(jnp.full(size, np.log(weight)), 0.0)
            assert relative(got, expected) < 1e-11 + 1e-15 * abs(expected)


@pytest.mark.slow
def test_derivatives_to_third_order_equal_finite_differences(float64):
    x = np.random.default_rng(0).normal(size=20)
    with float64():
        check_grads(block_log_prob, (jnp.asarray(x), 0.5), order=2, rtol=1e-6, atol=1e-6)
    x = np.random.default_rng(0).normal(size=9)
    with float64():
        x, along = jnp.asarray(x, float), jnp.zeros(9).at[2].set(1.0)
        curvature = jax.jit(lambda a: jax.hessian(block_log_prob)(a, 0.0))
        got = jax.jvp(curvature, (x,), (along,))[1]
        h = 1e-5
        np.testing.assert_allclose(got, (curvature(x + h * along) - curvature(x - h * along)) / (2 * h), atol=1e-8)


LOGS = st.floats(-50, 50, width=32)


@FEW
@given(hnp.arrays(np.float32, (40,), elements=LOGS), LOGS, hnp.arrays(bool, (40,)), st.randoms(use_true_random=False))
def test_order_scale_and_what_a_mask_hides_do_not_matter(x, rest, mask, random):
    value, slope = masked(x, rest, mask)
    assert value <= 0
    assert np.isfinite(value)
    slope = np.asarray(slope)
    assert ((slope >= 0) & (slope <= 1 + 1e-6)).all()
    assert (slope[~mask] == 0).all()
    order = np.array(random.sample(range(40), 40))
    tolerance = {"rtol": 4e-6, "atol": 1e-4}
    np.testing.assert_allclose(masked(x[order], rest, mask[order])[0], value, **tolerance)
    np.testing.assert_allclose(masked(x + 4, rest + 4, mask)[0], value, **tolerance)
    # More of the rest makes the block less probable, a heavier member more probable.
    assert masked(x, rest + 1, mask)[0] <= value + 1e-4 + 1e-6 * abs(value)
    assert masked(x + mask, rest, mask)[0] >= value - 1e-4 - 1e-6 * abs(value)


masked = jax.jit(jax.value_and_grad(block_log_prob))


@pytest.mark.parametrize("size", [7, 300])
@pytest.mark.parametrize("level", [-3e38, -50.0, 100.0, 3e38])
def test_weights_of_any_size_give_finite_derivatives(size, level):
    for x in (np.full(size, level), np.where(np.arange(size) % 2, level, 0.3)):
        x = x.astype(np.float32)
        value, slope = (np.asarray(a) for a in both(x[:, None]))
        product = np.asarray(curved(x[:, None], np.ones((size, 1), np.float32)))
        assert not np.isnan(value).any()
        assert value <= 0
        assert np.isfinite(slope).all()
        assert np.isfinite(product).all()
        if level > 1e4 and (x == level).all():
            assert value > -1e-6
    for rest in (-level, level):
        assert not np.isnan(masked(np.zeros(size, np.float32), np.float32(rest), np.ones(size, bool))[0])


def test_nodes_in_groups_give_what_they_give_at_once():
    """Large batches visit the nodes in groups."""
    r = np.random.default_rng(0).normal(0, 4, (9, 2400)).astype(np.float32)
    value, slope = both(r)
    for part in (slice(0, 5), slice(2000, 2005)):
        few, some = both(r[:, part])
        np.testing.assert_allclose(value[part], few, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(slope[:, part], some, atol=1e-6)
    np.testing.assert_allclose(curved(r, r)[:, :5], curved(r[:, :5], r[:, :5]), rtol=1e-5, atol=3e-5)
