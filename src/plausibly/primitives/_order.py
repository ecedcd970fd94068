r"""The unknown order of a tied block, drawn from its exact conditional distribution.

The subset recursion holds it: where the members of :math:`A` are still to come, :math:`a` comes first with probability
proportional to :math:`R(A \setminus a)`. The table is made once for given weights; orders are drawn from it by walking
down from the whole block.
"""

from collections.abc import Sequence
from itertools import accumulate

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from plausibly.primitives._recursion import _layers, _stack, forward

_ROWS = 20  # more subsets than that are looked up one by one; of fewer, the right one is masked out


def order_table(r: Float[Array, "member *batch"]) -> tuple[Float[Array, "_ _ *batch"], ...]:
    r"""Tabulate the probability of which member comes next, for every set of members still to come.

    Parameters
    ----------
    r
        :math:`\log \lambda_a - \log \bar Z`, the weights relative to the rest, finite; at least two members. In single
        precision, members that weigh more than :math:`e^{60}` times the rest count as equal.

    Returns
    -------
    tuple
        One array for every size of the set, from the whole block down to pairs. Subsets are in lexicographic order;
        "place" numbers the members of a subset.

    Examples
    --------
    >>> [round(float(p), 3) for p in order_table(jnp.log(jnp.array([3.0, 1.0])))[0][:, 0]]  # 3/5 · 1/2 and 1/5 · 3/4
    [0.667, 0.333]
    """
    passes = forward(r)
    # The recursion builds a set up by adding the member that comes first in it.
    tables = [jnp.stack([_stack(rows) for rows in p]) if isinstance(p, list) else p for _, p, _ in passes.layers]
    return tuple(tables[:0:-1])


def draw_order(
    table: tuple[Float[Array, "_ _ *batch"], ...], uniform: Float[Array, "choice *batch"]
) -> Bool[Array, "step member *batch"]:
    """Draw the order in which the classes of a block come.

    Parameters
    ----------
    table
        Table from :func:`order_table`.
    uniform
        Uniform random numbers between 0 and 1, one fewer than the block has members.

    Returns
    -------
    Array
        Whether each member comes at each step.
    """
    size = len(table) + 1
    left = [jnp.ones(uniform.shape[1:], bool)] * size
    subset = jnp.zeros(uniform.shape[1:], jnp.int32)
    steps = []
    # Running sums are written out: XLA fuses these with the rest, and computes its own apart, one number at a time.
    for p, layer, u in zip(table, reversed(_layers(size)), uniform, strict=False):
        place = (u >= _running(_pick(p, subset))[:-1]).sum(0)
        rank = _running(left) - 1
        drawn = [here & (at == place) for here, at in zip(left, rank, strict=True)]
        steps.append(jnp.stack(drawn))
        left = [here & ~now for here, now in zip(left, drawn, strict=True)]
        subset = _look_up(layer.without, place, subset)
    return jnp.stack([*steps, jnp.stack(left)])


def _running(rows: Sequence[Array] | Array) -> Array:
    """Running sums along the first axis."""
    return jnp.stack(list(accumulate(jnp.asarray(row, jnp.result_type(row, jnp.int8)) for row in rows)))


def _look_up(
    table: Int[np.ndarray, "place subset"], place: Int[Array, "*batch"], subset: Int[Array, "*batch"]
) -> Array:
    if table.shape[1] > 1:
        return jnp.asarray(table)[place, subset]
    return sum((jnp.where(place == at, int(below), 0) for at, (below,) in enumerate(table)), jnp.zeros_like(place))


def _pick(p: Float[Array, "place subset *batch"], subset: Int[Array, "*batch"]) -> Float[Array, "place *batch"]:
    if p.shape[1] == 1:
        return p[:, 0]
    if p.shape[1] <= _ROWS:
        rows = jnp.arange(p.shape[1]).reshape(-1, *(1,) * subset.ndim)
        return jnp.where(rows == subset, p, 0).sum(1)
    return jnp.take_along_axis(p, subset[None, None], 1)[:, 0]
