"""What JAX does with the primitive: transformations, masks, shapes, types; and the arguments that it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax.test_util import check_grads

from plausibly.distributions.primitives import block_log_prob as uncompiled
from plausibly.distributions.primitives._block import _bind_gradient, _bind_value

LOGS = st.floats(-20, 20, width=32)
BLOCKS = st.integers(1, 5).flatmap(lambda size: hnp.arrays(np.float32, (size,), elements=LOGS))
FEW = settings(max_examples=25)
# Compiled as a whole, since every operation on its own would be a program, too.
block_log_prob = jax.jit(uncompiled)
both = jax.jit(jax.value_and_grad(uncompiled))
hessian = jax.jit(jax.hessian(uncompiled))


@jax.jit
def slopes_and_hessian(x, z):
    """Value, gradient by both arguments, Hessian."""
    value, slopes = jax.value_and_grad(uncompiled, argnums=(0, 1))(x, z)
    return value, slopes, jax.hessian(uncompiled)(x, z)


@FEW
@given(BLOCKS, LOGS, st.floats(-50, 50, width=32), st.randoms(use_true_random=False))
def test_scale_and_order_within_a_block_do_not_matter(x, rest, shift, random):
    expected, order = block_log_prob(x, rest), random.sample(range(len(x)), len(x))
    np.testing.assert_allclose(block_log_prob(x + shift, rest + shift), expected, rtol=1e-6, atol=4e-5 * len(x))
    np.testing.assert_allclose(block_log_prob(x[order], rest), expected, rtol=1e-6, atol=1e-6)


@FEW
@given(hnp.arrays(np.float32, (4,), elements=LOGS), LOGS, hnp.arrays(bool, (4,)))
def test_a_mask_equals_leaving_out(x, rest, mask):
    value, slope = both(x, rest, mask)
    if mask.any():
        expected, kept = both(x[mask], rest)
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=2e-6)
        np.testing.assert_allclose(slope[mask], kept, atol=2e-6)
    else:
        assert value == 0
    assert (np.asarray(slope)[~mask] == 0).all()


@pytest.mark.parametrize("junk", [5.0, np.nan, np.inf, -np.inf, 3e38])
def test_what_a_mask_hides_is_never_looked_at_to_second_order(junk):
    x, mask = np.array([0.3, junk, -2.0, 1.0], np.float32), np.array([True, False, True, True])
    value, slope = both(x, 0.5, mask)
    np.testing.assert_allclose(value, block_log_prob(x[mask], 0.5), rtol=1e-6)
    assert np.asarray(slope)[1] == 0
    curvature = np.asarray(hessian(x, 0.5, mask))
    np.testing.assert_allclose(curvature[np.ix_(mask, mask)], hessian(x[mask], 0.5), atol=1e-6)
    assert (curvature[1] == 0).all()
    assert (curvature[:, 1] == 0).all()


@pytest.mark.parametrize("size", [1, 9])
def test_no_rest_no_weight_and_nan(size):
    for x in (np.linspace(-30, 30, size, dtype=np.float32), np.full(size, -np.inf, np.float32)):
        value, slopes, curvature = jax.tree.map(np.asarray, slopes_and_hessian(x, -np.inf))
        assert value == 0
        assert (slopes[0] == 0).all()
        assert slopes[1] == 0
        assert (curvature == 0).all()
    x = np.where(np.arange(size) == 0, -np.inf, 0).astype(np.float32)
    value, slopes, curvature = slopes_and_hessian(x, 0.0)
    assert value == -np.inf
    assert np.isfinite(slopes[0]).all()
    assert np.isfinite(curvature).all()
    x = np.where(np.arange(size) == size // 2, np.nan, 0).astype(np.float32)
    value, slopes, _ = slopes_and_hessian(x, 0.0)
    assert np.isnan(value)
    assert np.isnan(slopes[0]).any()
    assert np.isnan(slopes_and_hessian(np.zeros(size, np.float32), np.nan)[0])


SHAPES = [
    ((4, 3), (), True),
    ((3,), (4,), False),
    ((2, 1, 3), (4,), True),
    ((1, 3), (5, 4), False),
    ((0, 3), (0,), True),
]


@pytest.mark.parametrize(("block", "rest", "masked"), SHAPES)
def test_shapes_broadcast(block, rest, masked):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=block).astype(np.float32), rng.normal(size=rest).astype(np.float32)
    mask = np.array([True, False, True]) if masked else None
    got = np.asarray(block_log_prob(x, z, mask))
    shape = np.broadcast_shapes(block[:-1], rest)
    assert got.shape == shape
    x, z = np.broadcast_to(x, (*shape, 3)), np.broadcast_to(z, shape)
    for i in np.ndindex(shape):
        np.testing.assert_allclose(got[i], block_log_prob(x[i], z[i], mask), rtol=4e-6)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float64])
def test_precision_is_kept_but_never_below_single(dtype, float64):
    with float64():
        x = jnp.zeros(3, dtype)
        value, slope = both(x, jnp.zeros((), dtype))
        assert slope.dtype == dtype
        assert value.dtype == (np.float64 if dtype == np.float64 else np.float32)
    assert block_log_prob(np.zeros(3), np.zeros(())).dtype == np.float32


@jax.jit
def summed_slope(x, z):
    """Gradients of many blocks without vmap."""
    return jax.grad(lambda a: uncompiled(a, z).sum())(x)


@pytest.mark.parametrize(("size", "axes"), [(3, (0, 1, 2)), (3, (1, 0, 2)), (1, (1, 2, 0)), (9, (2, 0, 1))])
def test_batches_may_lie_anywhere_about_the_block(size, axes):
    """Two mapped axes and the block's, in several orders: value, gradient and Hessian as one by one."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 3, size)).astype(np.float32)
    z = rng.normal(size=3).astype(np.float32)
    laid = np.transpose(x, np.argsort(axes))  # axis i of x now lies at axes[i]
    inner = axes[1] - (axes[1] > axes[0])
    block = axes[2] - (axes[2] > axes[0]) - (axes[2] - (axes[2] > axes[0]) > inner)
    assert block == 0
    f = jax.vmap(jax.vmap(jax.value_and_grad(uncompiled), (inner, 0)), (axes[0], None))
    value, slope = jax.jit(f)(laid, z)
    expected = np.asarray(block_log_prob(x, z))
    np.testing.assert_allclose(value, expected, rtol=2e-6)
    np.testing.assert_allclose(slope, summed_slope(x, z), atol=2e-6)
    # The output's axis may lie anywhere, too.
    back = jax.jit(jax.vmap(lambda a: uncompiled(a, z), axes[0], 1))(np.moveaxis(x, 0, axes[0]))
    np.testing.assert_allclose(back, expected.T, rtol=2e-6)


@pytest.mark.parametrize(("axis", "batch"), [(0, 1), (1, 1), (1, 2), (2, 0)])
def test_the_primitives_themselves_are_batched_on_either_side_of_the_block(axis, batch):
    """Broadcasting in front of them may move a batch's axis to the front, so that they are bound here."""
    x = np.random.default_rng(5).normal(size=(2, 3, 4, 5)).astype(np.float32)
    bound = jax.jit(jax.vmap(lambda r: (*_bind_gradient(r, axis), _bind_value(r, axis)), batch))
    value, slope, alone = (np.asarray(a) for a in bound(x))
    np.testing.assert_allclose(value, alone, rtol=2e-6)
    last = np.moveaxis(np.moveaxis(x, batch, 0), 1 + axis, -1)
    np.testing.assert_allclose(value, block_log_prob(last, 0.0), rtol=2e-6)
    np.testing.assert_allclose(slope, np.moveaxis(summed_slope(last, 0.0), -1, 1 + axis), atol=2e-6)


@pytest.mark.parametrize("size", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_all_ways_of_differentiating_agree(size):
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(7, size)).astype(np.float32), rng.normal(size=7).astype(np.float32)
    direction = rng.normal(size=size).astype(np.float32)

    def ways(a, b):
        f = lambda c: uncompiled(c, b)  # noqa: E731
        second = [o(i(f))(a) for o in (jax.jacrev, jax.jacfwd) for i in (jax.jacrev, jax.jacfwd)]
        along = jax.jvp(f, (a,), (direction,))[1], jax.jvp(jax.grad(f), (a,), (direction,))[1]
        return jax.grad(f)(a), jax.grad(uncompiled, argnums=1)(a, b), second, along

    slope, by_rest, second, (first, product) = jax.tree.map(np.asarray, jax.jit(jax.vmap(ways))(x, z))
    curvature = second[1]
    for i in range(7):
        np.testing.assert_allclose(both(x[i], z[i])[1], slope[i], atol=1e-6)
    np.testing.assert_allclose(first, slope @ direction, atol=2e-6)
    for rows in second:
        np.testing.assert_allclose(rows, curvature, atol=2e-6)
    np.testing.assert_allclose(product, curvature @ direction, atol=3e-6)
    np.testing.assert_allclose(curvature, np.swapaxes(curvature, 1, 2), atol=1e-6)
    # A block's probability falls by what that of the rest grows: the slopes by all log weights sum to zero.
    np.testing.assert_allclose(by_rest, -slope.sum(1), atol=1e-6)


def test_differentiation_goes_through_weights_that_blocks_share(float64):
    """As in a likelihood: blocks and rests are made of one vector, under jit, scan and remat."""

    def f(x):
        def stage(total, i):
            left = jnp.arange(5) > i
            rest = jax.nn.logsumexp(jnp.where(left, x, -1e30))
            return total + uncompiled(jnp.stack([x[i], x[i] * 2]), rest), None

        return jax.lax.scan(jax.checkpoint(stage), 0.0, jnp.arange(4))[0]

    with float64():
        check_grads(jax.jit(f), (jnp.linspace(-1.0, 1, 5),), order=2, modes=["rev"], rtol=1e-6, atol=1e-6)


def test_eager_and_compiled_gradients_agree_and_blocks_of_nothing_are_refused():
    x = np.float32([0.1, -0.3, 0.7, 2.0])
    for got, expected in zip(jax.value_and_grad(uncompiled)(x, 0.0), both(x, 0.0), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-6)
    with pytest.raises(ValueError, match="a tied block must have at least one class, got none"):
        uncompiled(jnp.zeros((2, 0)), jnp.zeros(2))
