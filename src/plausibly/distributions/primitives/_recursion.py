r"""The subset recursion in a form that neither overflows nor cancels, with explicit first and second derivatives.

With :math:`\rho_a = e^{r_a}` and :math:`D(A) = 1 + \sum_{a \in A} \rho_a`, split every member into
:math:`t_a = \max(\rho_a, 1)` and :math:`s_a = \min(\rho_a, 1)`. Then :math:`\log p = \sum_a \log s_a + \log Q(b)` with

.. math:: Q(A) = \frac{\sum_{a \in A} t_a Q(A \setminus a)}{D(A)}, \qquad Q(\emptyset) = 1,

where every term is positive and every :math:`Q` stays between about :math:`1/|b|` and :math:`|b|!`. Derivatives are not
taken through this recursion, where they would cancel, but as expectations over the unknown order: the step into
:math:`A` adds :math:`a` with probability :math:`p_a(A) = t_a Q(A \setminus a) / (D(A) Q(A))`, the order passes through
:math:`A` with probability :math:`\pi(A)`, and

.. math:: g_a = \frac{\partial \log p}{\partial r_a} = 1 - \sum_{A \ni a} \pi(A)\, q_a(A), \qquad
   q_a(A) = \rho_a / D(A).

:func:`hessian_vector` differentiates the logarithms of :math:`p`, :math:`q` and :math:`\pi` in the same two passes. All
of it is sums of products of probabilities.

The recursion runs over layers of subsets of equal size. ``rows`` are indexed by subset: a Python list, one array a
subset, for blocks of up to :data:`UNROLLED` members, which XLA then fuses into a single loop over the batch; one array
with the subsets on axis 0, read by gathers, for larger ones. ``Columns`` hold rows for every place of a subset. The
helpers below hide the difference.

The unknown order of a tied block, drawn from its exact conditional distribution.

The subset recursion holds it: where the members of :math:`A` are still to come, :math:`a` comes first with probability
proportional to :math:`R(A \setminus a)`. The table is made once for given weights; orders are drawn from it by walking
down from the whole block.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, combinations
from typing import NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

UNROLLED = 4

Rows: TypeAlias = "list[Array] | Array"
Columns: TypeAlias = "list[list[Array]] | Array"  # by place, then subset


class _Layer(NamedTuple):
    """All subsets of one size, in lexicographic order; "place" counts the members of a subset."""

    members: np.ndarray  # (place, subset): which member stands there
    without: np.ndarray  # (place, subset): the subset that lacks it, as an index into the layer below
    sources: np.ndarray  # (subset, larger): the steps out of each larger subset into this one, place-major, one above
    holders: np.ndarray  # (member, subset): where the member stands in this layer, place-major


class _Passes(NamedTuple):
    log_prob: Array
    layers: list[tuple[_Layer, Columns, Columns]]  # p and q: place -> rows, from the singletons up to the whole block


@cache
def _layers(size: int) -> tuple[_Layer, ...]:
    subsets = [list(combinations(range(size), k)) for k in range(size + 1)]
    index = [{subset: i for i, subset in enumerate(layer)} for layer in subsets]
    layers = []
    for k in range(1, size + 1):
        sources: list[list[int]] = [[] for _ in subsets[k]]
        for place in range(k + 1 if k < size else 0):
            for i, larger in enumerate(subsets[k + 1]):
                sources[index[k][larger[:place] + larger[place + 1 :]]].append(place * len(subsets[k + 1]) + i)
        holders: list[list[int]] = [[] for _ in range(size)]
        for i, subset in enumerate(subsets[k]):
            for place, member in enumerate(subset):
                holders[member].append(place * len(subsets[k]) + i)
        without = [[index[k - 1][subset[:place] + subset[place + 1 :]] for subset in subsets[k]] for place in range(k)]
        layers.append(
            _Layer(
                *(np.array(x, np.int32) for x in (list(zip(*subsets[k], strict=True)), without)),
                np.array(sources, np.int32),
                np.array(holders, np.int32),
            )
        )
    return tuple(layers)


def _take(rows: Rows, index: np.ndarray) -> Columns:
    return [[rows[i] for i in place] for place in index] if isinstance(rows, list) else rows[index]


def _map(function: Callable[..., Array], *columns: Columns, rows: Sequence[Rows] = ()) -> Columns:
    """Apply an elementwise function place by place and subset by subset; rows take part in every place."""
    if not isinstance(columns[0], list):
        return function(*columns, *rows)
    return [[function(*column, *row) for column, row in _paired(place, rows)] for place in zip(*columns, strict=True)]


def _paired(place: tuple[list[Array], ...], rows: Sequence[list[Array]]) -> Iterator[tuple[tuple, tuple]]:
    members = list(zip(*place, strict=True))
    return zip(members, zip(*rows, strict=True) if rows else [()] * len(members), strict=True)


def _each(function: Callable[..., Array], *rows: Rows) -> Rows:
    """Apply an elementwise function subset by subset."""
    return [function(*x) for x in zip(*rows, strict=True)] if isinstance(rows[0], list) else function(*rows)


def _total(columns: Columns) -> Rows:
    """Sum over places."""
    return [sum(x[1:], x[0]) for x in zip(*columns, strict=True)] if isinstance(columns, list) else columns.sum(0)


def _sums(columns: Columns, index: np.ndarray) -> Rows:
    """For each row of ``index``, the sum over those elements of ``columns``, counted place by place."""
    if isinstance(columns, list):
        flat = [row for column in columns for row in column]
        return [sum((flat[i] for i in row[1:]), flat[row[0]]) for row in index]
    return columns.reshape(-1, *columns.shape[2:])[index].sum(1)


def _dot(a: Columns, b: Columns) -> Rows:
    return _total(_map(jnp.multiply, a, b))


def _rows(x: Float[Array, " member *batch"]) -> Rows:
    return list(x) if x.shape[0] <= UNROLLED else x


def forward(r: Float[Array, " member *batch"]) -> _Passes:
    """Log probability, and the probabilities from which both derivatives are made."""
    # Beyond the cap a member precedes the rest with probability one in this precision.
    capped = jnp.minimum(r, 60.0 if r.dtype == jnp.float32 else 300.0)
    rho = _rows(jnp.exp(capped))
    t = _each(lambda x: jnp.maximum(x, 1), rho)
    below = _rows(jnp.ones_like(r))  # Q of the empty set, in as many copies as the singletons read
    layers = []
    for layer in _layers(r.shape[0]):
        weights = _map(jnp.multiply, _take(t, layer.members), _take(below, layer.without))
        members = _take(rho, layer.members)
        total, inverse = _total(weights), _each(lambda x: 1 / (1 + x), _total(members))
        p = _map(jnp.divide, weights, rows=[total])
        q = _map(jnp.multiply, members, rows=[inverse])
        below = _each(jnp.multiply, total, inverse)
        layers.append((layer, p, q))
    return _Passes(jnp.minimum(capped, 0).sum(0) + jnp.log(below[0]), layers)


def _stack(rows: Rows) -> Array:
    return jnp.stack(rows) if isinstance(rows, list) else rows


def gradient(passes: _Passes) -> Float[Array, " member *batch"]:
    """The derivative of the log probability by each ``r``."""
    visits = _each(jnp.ones_like, passes.layers[-1][1][0])
    total: Rows | None = None
    flows: Columns | None = None
    for layer, p, q in reversed(passes.layers):
        if flows is not None:
            visits = _sums(flows, layer.sources)
        part = _sums(_map(jnp.multiply, q, rows=[visits]), layer.holders)
        total = part if total is None else _each(jnp.add, total, part)
        flows = _map(jnp.multiply, p, rows=[visits])
    assert total is not None  # there is a layer, for blocks are not empty
    return 1 - _stack(total)


def hessian_vector(passes: _Passes, tangent: Float[Array, " member *batch"]) -> Float[Array, " member *batch"]:
    """The derivative of :func:`gradient` along ``tangent``, linear in it."""
    v = _rows(tangent)
    below = _each(jnp.zeros_like, v)
    up = []
    for layer, p, q in passes.layers:
        values, slopes = _take(v, layer.members), _take(below, layer.without)
        du, mean = _dot(q, values), _dot(p, slopes)
        dp = _map(lambda a, b, c: a * (b - c), p, slopes, rows=[mean])
        dq = _map(lambda a, b, c: a * (b - c), q, values, rows=[du])
        below = _each(jnp.subtract, mean, du)
        up.append((dp, dq))
    visits = _each(jnp.ones_like, passes.layers[-1][1][0])
    dvisits = _each(jnp.zeros_like, visits)
    total: Rows | None = None
    flows: Columns | None = None
    dflows: Columns | None = None

    def product_rule(columns: Columns, dcolumns: Columns) -> Columns:
        return _map(lambda x, dx, visits, dvisits: dvisits * x + visits * dx, columns, dcolumns, rows=[visits, dvisits])

    for (layer, p, q), (dp, dq) in zip(reversed(passes.layers), reversed(up), strict=True):
        if flows is not None and dflows is not None:
            visits, dvisits = _sums(flows, layer.sources), _sums(dflows, layer.sources)
        part = _sums(product_rule(q, dq), layer.holders)
        total = part if total is None else _each(jnp.add, total, part)
        flows, dflows = _map(jnp.multiply, p, rows=[visits]), product_rule(p, dp)
    assert total is not None
    return -_stack(total)


_ROWS = 20  # more subsets than that are looked up one by one; of fewer, the right one is masked out


def order_table(r: Float[Array, " member *batch"]) -> tuple[Float[Array, "_ _ *batch"], ...]:
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
    table: tuple[Float[Array, "_ _ *batch"], ...], uniform: Float[Array, " choice *batch"]
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


def _pick(p: Float[Array, "place subset *batch"], subset: Int[Array, "*batch"]) -> Float[Array, " place *batch"]:
    if p.shape[1] == 1:
        return p[:, 0]
    if p.shape[1] <= _ROWS:
        rows = jnp.arange(p.shape[1]).reshape(-1, *(1,) * subset.ndim)
        return jnp.where(rows == subset, p, 0).sum(1)
    return jnp.take_along_axis(p, subset[None, None], 1)[:, 0]
