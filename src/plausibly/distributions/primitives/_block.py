"""The primitive itself: what JAX needs to evaluate, differentiate, batch and compile the probability of a block.

Three primitives, so that differentiating never differentiates the arithmetic: ``block`` returns the log probability,
its JVP is an inner product with the gradient that ``block_gradient`` returns together with the value, and the JVP of
that one is the Hessian-vector product ``block_curvature``, its own transpose. They carry the axis of the block as a
parameter, so that batching keeps every array where it lies in memory. The size of the block decides on the arithmetic
when they are compiled.
"""

from functools import partial

import jax
import jax.core
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, ArrayLike, Bool, Float

from plausibly.distributions.primitives import _race
from plausibly.distributions.primitives._recursion import forward, gradient, hessian_vector

# Above, the race is the faster: value and gradient of 1,000 blocks, CPU (python -m benchmarks plackett-luce).
LARGEST_RECURSION = {"float32": 6, "float64": 7}

block_p = Primitive("block_log_prob")
block_gradient_p = Primitive("block_log_prob_and_gradient")
block_gradient_p.multiple_results = True
block_curvature_p = Primitive("block_log_prob_hessian_vector")


def _is_small(r: Array, axis: int) -> bool:
    return r.shape[axis] <= LARGEST_RECURSION[r.dtype.name]


def _value(r: Array, axis: int) -> Array:
    if r.shape[axis] == 1:
        return -jax.nn.softplus(-jnp.squeeze(r, axis))
    small, r = _is_small(r, axis), jnp.moveaxis(r, axis, 0)
    value = forward(r).log_prob if small else _race.log_prob(r)
    # Exactly zero where nothing else was left, which either meets only up to rounding.
    return jnp.where(jnp.isposinf(r).all(0), 0, value)


def _value_and_gradient(r: Array, axis: int) -> tuple[Array, Array]:
    if r.shape[axis] == 1:
        return _value(r, axis), jax.nn.sigmoid(-r)
    small, r = _is_small(r, axis), jnp.moveaxis(r, axis, 0)
    if small:
        passes = forward(r)
        value, slope = passes.log_prob, gradient(passes)
    else:
        value, slope = _race.log_prob_and_gradient(r)
    value = jnp.where(jnp.isposinf(r).all(0), 0, value)
    return value, jnp.moveaxis(jnp.where(jnp.isposinf(r), 0, slope), 0, axis)


def _hessian_vector(r: Array, tangent: Array, axis: int) -> Array:
    if r.shape[axis] == 1:
        return -jax.nn.sigmoid(-r) * jax.nn.sigmoid(r) * tangent
    small, r = _is_small(r, axis), jnp.moveaxis(r, axis, 0)
    tangent = jnp.where(jnp.isposinf(r), 0, jnp.moveaxis(tangent, axis, 0))
    product = hessian_vector(forward(r), tangent) if small else _race.hessian_vector(r, tangent)
    return jnp.moveaxis(product, 0, axis)


def _without_axis(aval, axis: int):
    return jax.core.ShapedArray(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype)


def _bind_value(r: Array, axis: int) -> Array:
    return block_p.bind(r, axis=axis)


def _bind_gradient(r: Array, axis: int) -> tuple[Array, Array]:
    value, slope = block_gradient_p.bind(r, axis=axis)
    return value, slope


def _bind_curvature(r: Array, tangent: Array, axis: int) -> Array:
    return block_curvature_p.bind(r, tangent, axis=axis)


def _value_jvp(primals, tangents, *, axis):
    (r,), (tangent,) = primals, tangents
    value, slope = _bind_gradient(r, axis)
    return value, (slope * ad.instantiate_zeros(tangent)).sum(axis)


def _gradient_jvp(primals, tangents, *, axis):
    (r,), (tangent,) = primals, tangents
    tangent = ad.instantiate_zeros(tangent)
    value, slope = _bind_gradient(r, axis)
    return (value, slope), ((slope * tangent).sum(axis), _bind_curvature(r, tangent, axis))


def _curvature_jvp(primals, tangents, *, axis):
    tangents = tuple(ad.instantiate_zeros(tangent) for tangent in tangents)
    return jax.jvp(partial(_hessian_vector, axis=axis), primals, tangents)


def _curvature_transpose(cotangent, r, tangent, *, axis):
    if isinstance(cotangent, ad.Zero):
        return None, ad.Zero(tangent.aval)
    return None, _bind_curvature(r, cotangent, axis)


def _batched(args, dims, *, axis):
    """Keep the batch where it is: shift the block's axis past it on the way in, and the batch's on the way out."""
    (r,), (dim,) = args, dims
    return r, dim, axis + (dim <= axis)


def _value_batch(args, dims, *, axis):
    r, dim, shifted = _batched(args, dims, axis=axis)
    return _bind_value(r, shifted), dim - (dim > shifted)


def _gradient_batch(args, dims, *, axis):
    r, dim, shifted = _batched(args, dims, axis=axis)
    return _bind_gradient(r, shifted), (dim - (dim > shifted), dim)


def _curvature_batch(args, dims, *, axis):
    r, tangent = args
    dim = dims[0] if dims[0] is not None else dims[1]
    size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)

    def aligned(a: Array, at: int | None) -> Array:
        if at is None:
            return jnp.broadcast_to(jnp.expand_dims(a, dim), (*a.shape[:dim], size, *a.shape[dim:]))
        return jnp.moveaxis(a, at, dim)

    return _bind_curvature(aligned(r, dims[0]), aligned(tangent, dims[1]), axis + (dim <= axis)), dim


block_p.def_impl(jax.jit(_bind_value, static_argnums=1))
block_gradient_p.def_impl(jax.jit(_bind_gradient, static_argnums=1))
block_curvature_p.def_impl(jax.jit(_bind_curvature, static_argnums=2))
block_p.def_abstract_eval(lambda r, *, axis: _without_axis(r, axis))
block_gradient_p.def_abstract_eval(lambda r, *, axis: (_without_axis(r, axis), jax.core.ShapedArray(r.shape, r.dtype)))
block_curvature_p.def_abstract_eval(lambda r, tangent, *, axis: jax.core.ShapedArray(r.shape, r.dtype))
mlir.register_lowering(block_p, mlir.lower_fun(_value, multiple_results=False))
mlir.register_lowering(block_gradient_p, mlir.lower_fun(_value_and_gradient, multiple_results=True))
mlir.register_lowering(block_curvature_p, mlir.lower_fun(_hessian_vector, multiple_results=False))
ad.primitive_jvps[block_p] = _value_jvp
ad.primitive_jvps[block_gradient_p] = _gradient_jvp
ad.primitive_jvps[block_curvature_p] = _curvature_jvp
ad.primitive_transposes[block_curvature_p] = _curvature_transpose
batching.primitive_batchers[block_p] = _value_batch
batching.primitive_batchers[block_gradient_p] = _gradient_batch
batching.primitive_batchers[block_curvature_p] = _curvature_batch


def block_log_prob(
    log_weights: Float[ArrayLike, "*#batch block"],
    log_rest: Float[ArrayLike, "*#batch"],
    mask: Bool[ArrayLike, "*#batch block"] | None = None,
) -> Float[Array, "*batch"]:
    r"""Compute the log probability that a tied block is drawn, in any order, before all other classes that are left.

    Parameters
    ----------
    log_weights
        Log weights of the classes in the block, along the last axis, on any scale that ``log_rest`` shares. A class
        with weight zero has :math:`-\infty`.
    log_rest
        Log of the total weight of the other classes that were left; :math:`-\infty` if there were none, which gives
        probability 1.
    mask
        Whether each entry of the last axis belongs to the block; by default all do.

    Returns
    -------
    Array
        Log probabilities, in the shape of the batch, differentiable to second order; the shapes broadcast.

    Raises
    ------
    ValueError
        If the block has no entries.

    Notes
    -----
    For the tied block of a Plackett-Luce model, see Hunter (2004) and Stutz et al. (2025, App. B). Blocks of up to six
    classes (in double precision, seven) use the subset recursion; larger blocks use quadrature of the exponential race
    (Ma et al. 2021), whose cost is linear in the size. See :mod:`plausibly.primitives`.

    Very unequal weights, up to factors of :math:`e^{\pm 50}` and more, do not reduce accuracy. The table shows the
    greatest relative errors of the probability among blocks with a probability above :math:`e^{-30}`, measured by
    ``python -m benchmarks accuracy`` for hard weights of five kinds; for less probable blocks, the logarithm is exact
    to one or two units in the last place. Errors of the gradient are absolute.

    ======  ===========  ========  ===========  ========
    size    single       gradient  double       gradient
    ======  ===========  ========  ===========  ========
    2       8e-7         1e-7      2e-13        2e-16
    4       1e-6         2e-7      2e-13        4e-16
    6       2e-6         2e-7      2e-13        5e-16
    7       1e-6         3e-7      2e-13        7e-16
    8       2e-6         3e-7      8e-14        3e-13
    12      3e-6         4e-7      1e-13        1e-13
    40      2e-6         3e-7      1e-13        7e-14
    100     3e-6         3e-7      1e-13        4e-14
    300     8e-6         3e-7      1e-13        3e-14
    1000    3e-5         4e-7      1e-13        1e-14
    ======  ===========  ========  ===========  ========

    Examples
    --------
    Two classes that weigh as much as the rest: (1/3 · 1/2) · 2 orders.

    >>> import numpy as np
    >>> round(float(np.exp(block_log_prob(np.zeros(2), 0.0))), 4)
    0.3333
    """
    log_weights, log_rest = jnp.asarray(log_weights), jnp.asarray(log_rest)
    if not log_weights.shape[-1]:
        raise ValueError("a tied block must have at least one class, got none")
    dtype = jnp.promote_types(jnp.result_type(log_weights, log_rest, float), jnp.float32)
    log_weights, rest = log_weights.astype(dtype), log_rest.astype(dtype)[..., None]
    # Infinite relative weight: drawn first for certain, which leaves the probability of the others unchanged.
    first = jnp.isneginf(rest) if mask is None else jnp.isneginf(rest) | ~jnp.asarray(mask)
    # Clearing both operands first keeps -inf - (-inf), and its derivative, out of the graph.
    r = jnp.where(first, 0, log_weights) - jnp.where(jnp.isneginf(rest), 0, rest)
    r = jnp.where(first, jnp.inf, r)
    return _bind_value(r, r.ndim - 1)
