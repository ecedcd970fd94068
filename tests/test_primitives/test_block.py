"""What JAX does with the primitive: transformations, masks, shapes, types; and the arguments that it refuses."""

from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax.test_util import check_grads

from plausibly.primitives import block_log_prob
from plausibly.primitives._block import _bind_gradient, _bind_value

LOGS = st.floats(-20, 20, width=32)
BLOCKS = st.integers(1, 5).flatmap(lambda size: hnp.arrays(np.float32, (size,), elements=LOGS))
FEW = settings(max_examples=25)
both = jax.jit(jax.value_and_grad(block_log_prob))


@FEW
@given(BLOCKS, LOGS, st.floats(-50, 50, width=32))
def test_scale_does_not_matter(x, rest, shift):
    np.testing.assert_allclose(
        block_log_prob(x + shift, rest + shift), block_log_prob(x, rest), rtol=1e-6, atol=4e-5 * len(x)
    )


@FEW
@given(BLOCKS, LOGS, st.randoms(use_true_random=False))
def test_order_within_a_block_does_not_matter(x, rest, random):
    order = random.sample(range(len(x)), len(x))
    np.testing.assert_allclose(block_log_prob(x[order], rest), block_log_prob(x, rest), rtol=1e-6, atol=1e-6)


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


def test_a_mask_equals_leaving_out_to_second_order():
    x, mask = np.array([0.3, 5.0, -2.0, 1.0], np.float32), np.array([True, False, True, True])
    curvature = np.asarray(jax.hessian(block_log_prob)(x, 0.5, mask))
    np.testing.assert_allclose(curvature[np.ix_(mask, mask)], jax.hessian(block_log_prob)(x[mask], 0.5), atol=1e-6)
    assert (curvature[1] == 0).all()
    assert (curvature[:, 1] == 0).all()


@pytest.mark.parametrize("junk", [np.nan, np.inf, -np.inf, 3e38])
def test_what_a_mask_hides_is_never_looked_at(junk):
    x, mask = jnp.array([0.5, junk, -1.0]), jnp.array([True, False, True])
    np.testing.assert_allclose(block_log_prob(x, 0.2, mask), block_log_prob(x[mask], 0.2), rtol=1e-6)
    assert jax.grad(block_log_prob)(x, 0.2, mask)[1] == 0
    assert np.isfinite(jax.hessian(block_log_prob)(x, 0.2, mask)).all()


@pytest.mark.parametrize("size", [1, 3, 9])
def test_where_nothing_else_is_left_the_probability_is_one(size):
    for x in (jnp.linspace(-30, 30, size), jnp.full(size, -jnp.inf)):
        value, slopes = jax.value_and_grad(block_log_prob, argnums=(0, 1))(x, -jnp.inf)
        assert value == 0
        assert (slopes[0] == 0).all()
        assert slopes[1] == 0
        assert (jax.hessian(block_log_prob)(x, -jnp.inf) == 0).all()


@pytest.mark.parametrize("size", [1, 3, 9])
def test_a_class_of_weight_zero_never_precedes_the_rest(size):
    x = jnp.zeros(size).at[0].set(-jnp.inf)
    value, slope = jax.value_and_grad(block_log_prob)(x, 0.0)
    assert value == -np.inf
    assert np.isfinite(slope).all()
    assert np.isfinite(jax.hessian(block_log_prob)(x, 0.0)).all()


@pytest.mark.parametrize("size", [1, 3, 9])
def test_nan_is_passed_on(size):
    x = jnp.zeros(size).at[size // 2].set(jnp.nan)
    assert np.isnan(block_log_prob(x, 0.0))
    assert np.isnan(jax.grad(block_log_prob)(x, 0.0)).any()
    assert np.isnan(block_log_prob(jnp.zeros(size), jnp.nan))


SHAPES = [((3,), ()), ((4, 3), (4,)), ((4, 3), ()), ((3,), (4,)), ((2, 1, 3), (4,)), ((1, 3), (5, 4)), ((0, 3), (0,))]


@pytest.mark.parametrize(("block", "rest"), SHAPES)
@pytest.mark.parametrize("masked", [False, True])
def test_shapes_broadcast(block, rest, masked):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=block).astype(np.float32), rng.normal(size=rest).astype(np.float32)
    mask = np.array([True, False, True]) if masked else None
    got = block_log_prob(x, z, mask)
    shape = np.broadcast_shapes(block[:-1], rest)
    assert got.shape == shape
    x, z = np.broadcast_to(x, (*shape, 3)), np.broadcast_to(z, shape)
    for i in np.ndindex(shape):
        np.testing.assert_allclose(got[i], block_log_prob(x[i], z[i], mask), rtol=4e-6)


def test_blocks_of_nothing_are_refused():
    with pytest.raises(ValueError, match="a tied block must have at least one class, got none"):
        block_log_prob(jnp.zeros((2, 0)), jnp.zeros(2))


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16, np.float32, np.float64])
def test_precision_is_kept_but_never_below_single(dtype, float64):
    with float64():
        x = jnp.zeros(3, dtype)
        value, slope = jax.value_and_grad(block_log_prob)(x, jnp.zeros((), dtype))
        assert slope.dtype == dtype
        assert value.dtype == (np.float64 if dtype == np.float64 else np.float32)
    assert block_log_prob(np.zeros(3), np.zeros(())).dtype == np.float32


@pytest.mark.parametrize(
    ("size", "axes"), [*((3, axes) for axes in permutations(range(3))), (1, (1, 2, 0)), (9, (2, 0, 1))]
)
def test_batches_may_lie_anywhere_about_the_block(size, axes):
    """Two mapped axes and the block's, in every order: value, gradient and Hessian as one by one."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 3, size)).astype(np.float32)
    z = rng.normal(size=3).astype(np.float32)
    laid = np.transpose(x, np.argsort(axes))  # axis i of x now lies at axes[i]
    inner = axes[1] - (axes[1] > axes[0])
    block = axes[2] - (axes[2] > axes[0]) - (axes[2] - (axes[2] > axes[0]) > inner)
    assert block == 0
    f = jax.vmap(
        jax.vmap(lambda a, b: (block_log_prob(a, b), jax.grad(block_log_prob)(a, b)), (inner, 0)), (axes[0], None)
    )
    value, slope = f(laid, z)
    expected = block_log_prob(x, z)
    np.testing.assert_allclose(value, expected, rtol=2e-6)
    np.testing.assert_allclose(slope, jax.grad(lambda a: block_log_prob(a, z).sum())(x), atol=2e-6)
    # The output's axis may lie anywhere, too.
    back = jax.vmap(lambda a: block_log_prob(a, z), axes[0], 1)(np.moveaxis(x, 0, axes[0]))
    np.testing.assert_allclose(back, expected.T, rtol=2e-6)


@pytest.mark.parametrize(("axis", "batch"), [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 3)])
def test_the_primitives_themselves_are_batched_on_either_side_of_the_block(axis, batch):
    """Broadcasting in front of them may move a batch's axis to the front, so that they are bound here."""
    x = jnp.asarray(np.random.default_rng(5).normal(size=(2, 3, 4, 5)), jnp.float32)
    value, slope = jax.vmap(lambda r: _bind_gradient(r, axis), batch)(x)
    np.testing.assert_allclose(value, jax.vmap(lambda r: _bind_value(r, axis), batch)(x), rtol=2e-6)
    for i, r in enumerate(np.moveaxis(x, batch, 0)):
        last = np.moveaxis(r, axis, -1)
        np.testing.assert_allclose(value[i], block_log_prob(last, 0.0), rtol=2e-6)
        expected = jax.grad(lambda a: block_log_prob(a, 0.0).sum())(last)
        np.testing.assert_allclose(slope[i], np.moveaxis(expected, -1, axis), atol=2e-6)


@pytest.mark.parametrize("size", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_all_ways_of_differentiating_agree(size):
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(7, size)).astype(np.float32), rng.normal(size=7).astype(np.float32)
    direction = rng.normal(size=size).astype(np.float32)
    slope = jax.jit(jax.vmap(jax.grad(block_log_prob)))(x, z)
    curvature = jax.jit(jax.vmap(jax.hessian(block_log_prob)))(x, z)
    for i in range(7):
        f = lambda a: block_log_prob(a, z[i])  # noqa: B023, E731
        np.testing.assert_allclose(jax.grad(f)(x[i]), slope[i], atol=1e-6)
        np.testing.assert_allclose(jax.jvp(f, (x[i],), (direction,))[1], slope[i] @ direction, atol=2e-6)
    by_rows = [
        jax.vmap(outer(inner(block_log_prob)))(x, z)
        for outer in (jax.jacrev, jax.jacfwd)
        for inner in (jax.jacrev, jax.jacfwd)
    ]
    for rows in by_rows:
        np.testing.assert_allclose(rows, curvature, atol=2e-6)
    product = jax.vmap(lambda a, b: jax.jvp(lambda c: jax.grad(block_log_prob)(c, b), (a,), (direction,))[1])(x, z)
    np.testing.assert_allclose(product, curvature @ direction, atol=3e-6)
    np.testing.assert_allclose(curvature, np.swapaxes(curvature, 1, 2), atol=1e-6)
    # A block's probability falls by what that of the rest grows: the slopes by all log weights sum to zero.
    np.testing.assert_allclose(jax.vmap(jax.grad(block_log_prob, argnums=1))(x, z), -slope.sum(1), atol=1e-6)


def test_differentiation_goes_through_weights_that_blocks_share(float64):
    """As in a likelihood: blocks and rests are made of one vector, under jit, scan and remat."""

    def f(x):
        def stage(total, i):
            left = jnp.arange(5) > i
            rest = jax.nn.logsumexp(jnp.where(left, x, -1e30))
            return total + block_log_prob(jnp.stack([x[i], x[i] * 2]), rest), None

        return jax.lax.scan(jax.checkpoint(stage), 0.0, jnp.arange(4))[0]

    with float64():
        check_grads(jax.jit(f), (jnp.linspace(-1.0, 1, 5),), order=2, modes=["fwd", "rev"], rtol=1e-6, atol=1e-6)


def test_eager_and_compiled_evaluation_agree():
    x = np.random.default_rng(4).normal(size=(50, 6)).astype(np.float32)
    np.testing.assert_allclose(block_log_prob(x, 0.0), jax.jit(block_log_prob)(x, 0.0), rtol=1e-6)
