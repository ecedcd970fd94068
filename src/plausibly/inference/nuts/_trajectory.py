"""One leapfrog step of the No-U-Turn sampler, for thousands of independent chains side by side.

Every chain is a *lane*; lanes lie on the last axis of all arrays. A sampler that is merely ``vmap``-ped moves in
lockstep: a draw costs as much as the largest tree among all lanes. Here the unit of work is one leapfrog step of every
lane, and a lane that has completed its trajectory starts the next one in the same step, so that no lane waits for
another.

The sampler is the usual one: multinomial sampling within a trajectory, biased progressive sampling between doublings
(Betancourt 2017), the U-turn check by checkpoints instead of recursion (Phan, Pradhan & Jankowiak 2019). Positions are
whitened beforehand, so the kinetic energy is that of unit masses.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key

DIVERGENT = 1000.0  # energy error beyond which a trajectory counts as divergent

Vector = Float[Array, "dim lane"]
Scalar = Float[Array, " lane"]


class Point(NamedTuple):
    """A position with its potential energy."""

    y: Vector
    gradient: Vector
    potential: Scalar


class Sample(NamedTuple):
    """The point that represents a trajectory, and the total energy it was reached with."""

    point: Point
    energy: Scalar


class End(NamedTuple):
    """An end of a trajectory."""

    y: Vector
    gradient: Vector
    momentum: Vector


class Tree(NamedTuple):
    """The trajectory so far. Weights are relative to the energy it started with."""

    left: End
    right: End
    sample: Sample
    momentum: Vector  # summed
    log_weight: Scalar
    depth: Int[Array, " lane"]
    start: Scalar
    acceptance: Scalar  # summed over leapfrog steps
    steps: Int[Array, " lane"]


class Doubling(NamedTuple):
    """The half of the next larger trajectory that is being built."""

    sample: Sample
    momentum: Vector
    log_weight: Scalar
    leaf: Int[Array, " lane"]  # leaves built so far
    rightwards: Bool[Array, " lane"]
    checkpoints: Float[Array, "level dim lane"]  # the momentum where a subtree of each size began
    checkpoint_sums: Float[Array, "level dim lane"]  # and the summed momentum there


class Lanes(NamedTuple):
    """State between two leapfrog steps. A lane that is ``waiting`` spends its next one on starting at its sample."""

    tree: Tree
    doubling: Doubling
    waiting: Bool[Array, " lane"]


class Noise(NamedTuple):
    """What one step may use up of a lane's random numbers."""

    log_u: Scalar  # logarithms of uniform variables
    log_v: Scalar
    coin: Bool[Array, " lane"]
    momentum: Vector  # standard normal


class Finished(NamedTuple):
    """What a step completed: ``done`` says in which lanes the rest is the outcome of a trajectory."""

    done: Bool[Array, " lane"]
    y: Vector
    diverging: Bool[Array, " lane"]
    n_steps: Int[Array, " lane"]
    tree_depth: Int[Array, " lane"]
    energy: Scalar
    acceptance_rate: Scalar


def choose(condition: Bool[Array, " lane"], yes: Any, no: Any) -> Any:
    """``jnp.where`` over trees of arrays."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _turned(
    total: Float[Array, "*level dim lane"], left: Float[Array, "*level dim lane"], right: Vector
) -> Bool[Array, "*level lane"]:
    """Whether the summed momentum, both ends counted half, points back at either end."""
    total = total - (left + right) / 2
    return ((total * left).sum(-2) <= 0) | ((total * right).sum(-2) <= 0)


def noise(keys: Key[Array, " lane"], clock: Int[Array, " lane"], steps: int, dim: int) -> Noise:
    """Random numbers of every lane for a number of steps, on a leading axis, all from one pass of the generator."""
    words = jax.vmap(
        lambda key, tick: jax.random.bits(jax.random.fold_in(key, tick), (steps, dim + 2), jnp.uint32), out_axes=-1
    )(keys, clock)
    # Midpoints of 2^23 intervals, so that neither end is ever hit. The bits below are an independent coin.
    uniform = ((words >> 9).astype(jnp.float32) + 0.5) * 2.0**-23
    logs = jnp.log(uniform[:, :2])
    normal = jnp.sqrt(2.0) * lax.erf_inv(2 * uniform[:, 2:] - 1)
    return Noise(logs[:, 0], logs[:, 1], (words[:, 0] & 1).astype(bool), normal)


def _launch(point: Point, momentum: Vector) -> Tree:
    """A trajectory of one point."""
    energy = point.potential + (momentum**2).sum(0) / 2
    end = End(point.y, point.gradient, momentum)
    zero, count = jnp.zeros_like(energy), jnp.zeros(energy.shape, jnp.int32)
    return Tree(end, end, Sample(point, energy), momentum, zero, count, energy, zero, count)


def waiting(dim: int, n_lanes: int, max_tree_depth: int) -> Lanes:
    """Lanes that wait at the origin."""
    vector, scalar = jnp.zeros((dim, n_lanes)), jnp.zeros(n_lanes)
    tree = _launch(Point(vector, vector, scalar), vector)
    levels = jnp.zeros((max_tree_depth, dim, n_lanes))
    doubling = Doubling(tree.sample, vector, scalar, tree.steps, scalar > 0, levels, levels)
    return Lanes(tree, doubling, scalar == 0)


def wait_at(lanes: Lanes, y: Vector, where: Bool[Array, " lane"]) -> Lanes:
    """Break the trajectories of some lanes off; the next ones start at ``y``."""
    sample = lanes.tree.sample
    point = sample.point._replace(y=jnp.where(where, y, sample.point.y))
    return lanes._replace(tree=lanes.tree._replace(sample=sample._replace(point=point)), waiting=lanes.waiting | where)


def step(
    lanes: Lanes,
    step_size: Scalar,
    evaluate: Callable[[Vector], Point],
    noise: Noise,
    max_tree_depth: Int[Array, " lane"],
) -> tuple[Lanes, Finished]:
    """Advance every lane by one leapfrog step, and by whatever this completes."""
    tree, half, waits = lanes

    signed = jnp.where(half.rightwards, step_size, -step_size)
    end = choose(half.rightwards, tree.right, tree.left)
    middle = end.momentum - signed / 2 * end.gradient
    point = evaluate(jnp.where(waits, tree.sample.point.y, end.y + signed * middle))
    momentum = middle - signed / 2 * point.gradient
    energy = point.potential + (momentum**2).sum(0) / 2
    error = energy - tree.start
    error = jnp.where(jnp.isnan(error), jnp.inf, error)
    diverging = error > DIVERGENT
    end = End(point.y, point.gradient, momentum)
    left, right = choose(half.rightwards, (tree.left, end), (end, tree.right))
    acceptance = tree.acceptance + jnp.exp(jnp.minimum(-error, 0))
    steps = tree.steps + 1

    # The new leaf within its half: multinomial sampling, and the U-turn check against every subtree it completes.
    first = half.leaf == 0
    log_weight = jnp.where(first, -error, jnp.logaddexp(half.log_weight, -error))
    sample = choose(first | (noise.log_u < -error - log_weight), Sample(point, energy), half.sample)
    total = jnp.where(first, momentum, half.momentum + momentum)
    level = jnp.arange(half.checkpoints.shape[0])[:, None]
    last = lax.population_count(half.leaf >> 1)
    completed = lax.population_count((~half.leaf & (half.leaf + 1)) - 1)  # trailing ones of the leaf's number
    store = ((half.leaf & 1) == 0) & (level == last)
    checkpoints = jnp.where(store[:, None], momentum, half.checkpoints)
    checkpoint_sums = jnp.where(store[:, None], total, half.checkpoint_sums)
    turned = _turned(total - checkpoint_sums + checkpoints, checkpoints, momentum)
    turned = (turned & (level <= last) & (level > last - completed)).any(0)
    leaf = half.leaf + 1

    # A complete half joins the trajectory, unless it turned or diverged.
    full = leaf == 1 << tree.depth
    joins = full & ~turned & ~diverging
    accepted = choose(joins & (noise.log_v < log_weight - tree.log_weight), sample, tree.sample)
    whole = jnp.where(joins, tree.momentum + total, tree.momentum)
    weight = jnp.where(joins, jnp.logaddexp(tree.log_weight, log_weight), tree.log_weight)
    depth = tree.depth + joins
    complete = _turned(whole, left.momentum, right.momentum) | (depth == max_tree_depth)
    done = (turned | diverging | (joins & complete)) & ~waits

    finished = Finished(done, accepted.point.y, diverging, steps, depth + ~joins, accepted.energy, acceptance / steps)
    grown = Tree(left, right, accepted, whole, weight, depth, tree.start, acceptance, steps)
    tree = choose(done | waits, _launch(choose(waits, point, accepted.point), noise.momentum), grown)
    restart = done | full | waits
    leaf = jnp.where(restart, 0, leaf)
    rightwards = jnp.where(restart, noise.coin, half.rightwards)
    half = Doubling(sample, total, log_weight, leaf, rightwards, checkpoints, checkpoint_sums)
    return Lanes(tree, half, jnp.zeros_like(waits)), finished
