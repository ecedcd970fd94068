"""Moves of one round: trajectories of the cases, and moves of the reliabilities along lines, by slices."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Key

from plausibly.inference.joint._density import (
    Globals,
    Group,
    Prior,
    by_annotator,
    normal,
    of_mean,
    of_spread,
    prior_of_cases,
)

LEAPS = 3  #: leapfrog steps of a trajectory
DIVERGENT = 1000.0  #: energy error per unit of stiffness
LARGEST = 7.0  #: logarithm of a reliability, beyond which single precision has no log odds, and the prior no mass
WANTED = 3.0  #: evaluations that a good width takes
MOST = 50  #: evaluations after which a lane stays where it is
WIDTHS = 1e-3, 20.0


class State(NamedTuple):
    """State of one chain."""

    z: tuple[Float[Array, "dim case"], ...]
    shared: Globals


def trajectories(
    key: Key[Array, ""], group: Group, z: Array, each: Array, step: Array, scale: Array
) -> tuple[Array, Array, Array, Array]:
    """One trajectory of every case: positions, acceptance rates, which diverged, energies."""
    log_reliability = group.by_row(each)

    def potential(z: Array) -> tuple[Array, Array]:
        prior, rows = group.terms(z, log_reliability)
        values = -prior - rows.sum(0)
        return values.sum(), values  # cases do not share coordinates: the sum's gradient is that of each

    def evaluate(z: Array) -> tuple[Array, Array]:
        (_, values), slope = jax.value_and_grad(potential, has_aux=True)(z)
        return values, (scale * slope[:, None]).sum(0)

    velocity, jitter, accept = jax.random.split(key, 3)
    p = jax.random.normal(velocity, z.shape)
    stiffness = group.stiffness(each)
    size = step / stiffness * jax.random.uniform(jitter, step.shape, minval=0.6, maxval=1.0)
    value, slope = evaluate(z)
    before = value + (p**2).sum(0) / 2

    def leap(_: int, state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        z, p, slope, _ = state
        p = p - size / 2 * slope
        z = z + (scale * (size * p)).sum(1)
        value, slope = evaluate(z)
        return z, p - size / 2 * slope, slope, value

    new, p, _, value = lax.fori_loop(0, LEAPS, leap, (z, p, slope, value))
    after = value + (p**2).sum(0) / 2
    after = jnp.where(jnp.isnan(after), jnp.inf, after)
    rate = jnp.exp(jnp.minimum(before - after, 0))
    accepted = jax.random.uniform(accept, rate.shape) < rate
    return jnp.where(accepted, new, z), rate, after - before > DIVERGENT * stiffness, jnp.where(accepted, after, before)


def along_lines(
    key: Key[Array, ""], groups: tuple[Group, ...], state: State, widths: Array, prior: Prior, alone: bool, alike: Array
) -> tuple[Globals, Array]:
    """Move reliabilities, given plausibilities: each by itself, then all by the mean, and by the spread."""

    def move(shared: Globals, what: tuple[Array, Key[Array, ""], Array]) -> tuple[Globals, Array]:
        kind, key, width = what

        def moved(by: Array) -> Globals:
            mean = shared.mean + jnp.where(kind == 1, by[0], 0)
            spread = shared.spread + jnp.where(kind == 2, by[0], 0)
            if alone:
                return Globals(mean, spread, mean[None])
            kept = shared.mean + (shared.each - shared.mean) * jnp.exp(by)
            each = jnp.where(kind == 2, kept, shared.each + by)
            return Globals(mean, spread, each)

        def log_density(new: Globals, by: Array) -> Array:
            rows = by_annotator(groups, state.z, new.each)
            own = rows + normal(new.each, new.mean, jnp.exp(new.spread))
            joint = rows.sum() + of_mean(new, prior) + of_spread(new, prior)
            density = jnp.where(kind == 0, own, joint)
            within = jnp.where(kind == 0, new.each < LARGEST, (new.each < LARGEST).all())
            return jnp.where(within, density, -jnp.inf)

        width = jnp.where(alike & (kind != 1), 0, width)
        return line(key, width, moved, log_density, together=kind > 0)

    kinds = jnp.array([1]) if alone else jnp.array([0, 1, 2])
    return lax.scan(move, state.shared, (kinds, jax.random.split(key, len(kinds)), widths))


def with_reliabilities_held(key: Key[Array, ""], shared: Globals, widths: Array, prior: Prior) -> tuple[Globals, Array]:
    """Move the mean and the spread, given every annotator's reliability."""

    def move(shared: Globals, place: int, name: str) -> tuple[Globals, Array]:
        def moved(by: Array) -> Globals:
            return shared._replace(**{name: getattr(shared, name) + by[0]})

        def log_density(new: Globals, by: Array) -> Array:
            of_each = normal(new.each, new.mean, jnp.exp(new.spread)).sum()
            return (of_each + of_mean(new, prior) + of_spread(new, prior))[None]

        new, count = line(jax.random.fold_in(key, place), widths[place, :1], moved, log_density)
        return new, jnp.broadcast_to(count, widths.shape[1:])

    shared, mean_count = move(shared, 0, "mean")
    shared, spread_count = move(shared, 1, "spread")
    return shared, jnp.stack([mean_count, spread_count])


def rescale(
    key: Key[Array, ""], groups: tuple[Group, ...], state: State, width: Array, prior: Prior
) -> tuple[State, Array]:
    """Raise all reliabilities by a factor and lower all log plausibilities by it: the weights stay."""
    dimensions = sum(z.shape[0] * group.real.sum() for group, z in zip(groups, state.z, strict=True))

    def moved(by: Array) -> State:
        shared = state.shared._replace(mean=state.shared.mean + by[0], each=state.shared.each + by[0])
        return State(tuple(z * jnp.exp(-by[0]) for z in state.z), shared)

    def log_density(new: State, by: Array) -> Array:
        density = prior_of_cases(groups, new.z) + of_mean(new.shared, prior) - dimensions * by[0]
        return jnp.where((new.shared.each < LARGEST).all(), density, -jnp.inf)[None]

    new, count = line(key, width[:1], moved, log_density)
    return new, jnp.broadcast_to(count, width.shape)


def line(
    key: Key[Array, ""],
    width: Float[Array, " lane"],
    moved: Callable[[Float[Array, " lane"]], Any],
    log_density: Callable[[Any, Float[Array, " lane"]], Float[Array, " lane"]],
    *,
    together: Array | bool = False,
) -> tuple[Any, Int[Array, " lane"]]:
    """Move a state along lines by slices; return it with the number of evaluations.

    The log density of a state that was moved by so much is that of the state times the volume that the move changes. A
    test compares it with the program (``tests/test_inference/test_conditionals.py``).
    """
    by, count = slice_move(key, width, lambda by: log_density(moved(by), by), together=together)
    return moved(by), count


def slice_move(
    key: Key[Array, ""],
    width: Float[Array, " lane"],
    log_density: Callable[[Float[Array, " lane"]], Float[Array, " lane"]],
    *,
    together: Array | bool = False,
) -> tuple[Float[Array, " lane"], Int[Array, " lane"]]:
    """Moves from zero that leave the log density of a move in every lane unchanged, and how many evaluations each took.

    The first interval, of the given width, is placed at random about zero and shrinks towards it until a point of the
    slice is found; it is not widened, which is right for any width. Lanes that move together make the same move, and
    the density is then the same in all. Neal (2003), Slice sampling, Annals of Statistics 31, sections 4.1 and 4.2.
    """
    at, height, steps = jax.random.split(key, 3)

    def uniform(key: Key[Array, ""]) -> Float[Array, " lane"]:
        u = jax.random.uniform(key, width.shape, minval=1e-7)
        return jnp.where(together, u[0], u)

    level = log_density(jnp.zeros_like(width)) + jnp.log(uniform(height))
    low = -width * uniform(at)

    def unfinished(state):
        return ~state[-1].all()

    def shrink(state):
        low, high, _, count, done = state
        count += ~done
        move = low + (high - low) * uniform(jax.random.fold_in(steps, count.max()))
        move = jnp.where(done, state[2], move)
        inside = log_density(move) > level
        # Rounding may leave nothing but zero itself.
        stuck = count >= MOST
        found = ~done & (inside | stuck)
        move = jnp.where(~done & stuck & ~inside, 0, move)
        outside = ~done & ~found
        low = jnp.where(outside & (move < 0), move, low)
        high = jnp.where(outside & (move >= 0), move, high)
        return low, high, move, count, done | found

    none = jnp.zeros(width.shape, jnp.int32)
    state = (low, low + width, jnp.zeros_like(width), none, none > 0)
    _, _, move, count, _ = lax.while_loop(unfinished, shrink, state)
    return move, count


def better_width(
    width: Float[Array, "*shape"], count: Int[Array, "*shape"], rate: Float[Array, ""]
) -> Float[Array, "*shape"]:
    """Adapt a width to the number of evaluations that it took."""
    return jnp.clip(width * jnp.exp(rate * jnp.clip(WANTED - count, -3, 1)), *WIDTHS)
