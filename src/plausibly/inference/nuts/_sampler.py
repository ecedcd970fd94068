"""Warm-up and sampling of independent cases with several chains each, in one compiled program.

The warm-up has :data:`PHASES`. In each, every chain adapts its step size by dual averaging (Hoffman & Gelman 2014); at
its end, positions are whitened by the covariance of the phase's second half, shrunk towards a small multiple of the
identity, and step sizes and covariances are pooled over the chains of a case. Sampling is one more phase, without
adaptation.

Cases lie side by side, each in a *seat* with one lane per chain. Chains of a case wait for each other at the end of a
phase, but no case waits for another: after every :data:`BATCH` leapfrog steps, whose random numbers are made at once,
those that have completed a phase enter the next, and those that have completed all may be replaced. What happens to a
case depends on its key and its data alone, never on the other cases.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from plausibly.inference.nuts._trajectory import (
    Finished,
    Lanes,
    Point,
    Scalar,
    Vector,
    choose,
    noise,
    step,
    wait_at,
    waiting,
)

STATISTICS = ("diverging", "n_steps", "tree_depth", "energy", "acceptance_rate")
PHASES = (0.1, 0.15, 0.35, 0.4)  #: shares of the warm-up
DENSE = 32  #: whitening uses the whole covariance up to this many dimensions, the variances above
START = 1.5  #: standard deviation of the positions where chains start
EARLY_TREE_DEPTH = 3  #: greatest tree depth in the first phase, one more in every next
BATCH = 32  #: leapfrog steps between two looks at which lanes have finished


class _StepSize(NamedTuple):
    """Dual averaging of the log step size."""

    log: Scalar
    log_average: Scalar
    slope: Scalar
    count: Scalar
    centre: Scalar

    @classmethod
    def at(cls, log: Scalar) -> "_StepSize":
        zero = jnp.zeros_like(log)
        return cls(log, log, zero, zero, log + np.log(10))

    def updated(self, acceptance_rate: Scalar, target: float) -> "_StepSize":
        count = self.count + 1
        eta = 1 / (count + 10)
        slope = (1 - eta) * self.slope + eta * (target - acceptance_rate)
        log = self.centre - jnp.sqrt(count) / 0.05 * slope
        eta = count**-0.75
        return _StepSize(log, eta * log + (1 - eta) * self.log_average, slope, count, self.centre)


class _Moments(NamedTuple):
    count: Scalar
    sum: Vector
    products: Float[Array, "*dims lane"]


class _Whitening(NamedTuple):
    """``x = centre + scale y`` by seat; the scale is a lower triangular matrix, or the diagonal of one."""

    centre: Float[Array, "dim seat"]
    scale: Float[Array, "*dims seat"]


class _Seats(NamedTuple):
    """What the chains of a case share."""

    clock: Int[Array, " seat"]  # batches since the case began
    left: Int[Array, " seat"]  # phases yet to complete; sampling is the last of them
    white: _Whitening


class _Chains(NamedTuple):
    """One lane each."""

    lanes: Lanes
    y: Vector  # where the last trajectory ended
    sizes: _StepSize
    iteration: Int[Array, " lane"]  # of the phase
    steps: Int[Array, " lane"]  # since the last draw
    diverging: Bool[Array, " lane"]
    moments: _Moments  # of the second half of the phase


class State(NamedTuple):
    """Cases on their way through the sampler."""

    seats: _Seats
    chains: _Chains
    draws: Finished  # by (draw, lane), still whitened


class Sampler:
    """NUTS over independent cases.

    ``potential`` maps a position of length ``dim`` and the data of one case to minus the log density. Every case has
    ``chains``, with ``warmup`` iterations to adapt step sizes to the ``target_acceptance``, and ``thinning``
    trajectories for each draw to keep; trajectories have at most ``2 ** max_tree_depth - 1`` leapfrog steps.
    """

    def __init__(
        self,
        potential: Callable[[Float[Array, " dim"], Any], Float[Array, ""]],
        *,
        dim: int,
        chains: int,
        warmup: int,
        draws: int,
        thinning: int = 1,
        target_acceptance: float = 0.9,
        max_tree_depth: int = 8,
    ):
        self.thinning = thinning
        self.dim, self.chains, self.warmup, self.draws = dim, chains, warmup, draws
        self.target_acceptance, self.max_tree_depth = target_acceptance, max_tree_depth
        adapting = np.diff(np.round(warmup * np.cumsum((0.0, *PHASES)))).astype(int)
        self._lengths = np.array([0, draws * thinning, *adapting[::-1]], np.int32)  # by phases left
        self._slope = jax.vmap(jax.value_and_grad(potential))

    def begin(self, n: int) -> State:
        """``n`` cases before their first step. A state of zeros is one of seats without a case."""
        dim, lanes = self.dim, n * self.chains
        dense = dim <= DENSE
        scalar, count = jnp.zeros(lanes), jnp.zeros(lanes, jnp.int32)
        one = jnp.broadcast_to(jnp.eye(dim)[..., None], (dim, dim, n)) if dense else jnp.ones((dim, n))
        left = jnp.full(n, len(self._lengths) - 1, jnp.int32)
        seats = _Seats(jnp.zeros(n, jnp.int32), left, _Whitening(jnp.zeros((dim, n)), one))
        y = jnp.zeros((dim, lanes))
        chains = _Chains(
            lanes=waiting(dim, lanes, self.max_tree_depth),
            y=y,
            sizes=_StepSize.at(jnp.full(lanes, np.log(0.5 * dim**-0.25))),
            iteration=count,
            steps=count,
            diverging=scalar > 0,
            moments=_Moments(scalar, y, jnp.zeros((dim, *y.shape) if dense else y.shape)),
        )
        draw = Finished(scalar > 0, y, scalar > 0, count, count, scalar, scalar)
        draws = jax.tree.map(lambda a: jnp.zeros((self.draws, *a.shape), a.dtype), draw)
        return State(seats, chains, draws)

    def finished(self, state: State) -> Bool[Array, " seat"]:
        """In which seats the sampler has nothing left to do."""
        return state.seats.left == 0

    def positions(self, state: State) -> Float[Array, "draw dim chain seat"]:
        """The draws, of finished cases."""
        return jax.vmap(lambda y: self._unwhiten(y, state.seats.white))(state.draws.y)

    def statistics(self, state: State) -> dict[str, Shaped[Array, "draw chain seat"]]:
        """What the trajectories of finished cases were like."""
        return {name: self._by_seat(getattr(state.draws, name)) for name in STATISTICS}

    def advance(
        self,
        state: State,
        data: Any,
        keys: Key[Array, "seat chain"],
        fresh: Bool[Array, " seat"],
        wanted: int | Int[Array, ""],
    ) -> State:
        """Go on until ``wanted`` seats are finished, with new cases in the ``fresh`` ones.

        The state is one of zeros in the form of :meth:`begin`, or what the last call returned; ``data`` has seats on
        the last axis.
        """
        keys = keys.T.reshape(-1)
        data = jax.tree.map(lambda a: jnp.moveaxis(self._by_lane(a), -1, 0), data)
        new = self.begin(len(fresh))
        seats = choose(fresh, new.seats, state.seats)
        state = State(seats, choose(self._by_lane(fresh), new.chains, state.chains), state.draws)
        return lax.while_loop(lambda s: self.finished(s).sum() < wanted, lambda s: self._batch(s, data, keys), state)

    def _by_seat(self, x: Array) -> Array:
        return x.reshape(*x.shape[:-1], self.chains, -1)

    def _by_lane(self, x: Array) -> Array:
        *others, n = x.shape
        return jnp.broadcast_to(x[..., None, :], (*others, self.chains, n)).reshape(*others, self.chains * n)

    def _unwhiten(self, y: Vector, white: _Whitening) -> Float[Array, "dim chain seat"]:
        y, scale = self._by_seat(y), white.scale[..., None, :]
        return white.centre[:, None] + (scale * y if scale.ndim == y.ndim else (scale * y).sum(1))

    def _whiten(self, x: Float[Array, "dim chain seat"], white: _Whitening) -> Vector:
        centred = x - white.centre[:, None]
        if white.scale.ndim == 2:
            return (centred / white.scale[:, None]).reshape(self.dim, -1)
        matrix, right = jnp.moveaxis(white.scale, -1, 0), jnp.moveaxis(centred, -1, 0)
        solved = jax.scipy.linalg.solve_triangular(matrix, right, lower=True)
        return jnp.moveaxis(solved, 0, -1).reshape(self.dim, -1)

    def _evaluate(self, data: Any, white: _Whitening) -> Callable[[Vector], Point]:
        def evaluate(y: Vector) -> Point:
            scaled = white.scale * y if white.scale.ndim == 2 else (white.scale * y).sum(1)
            value, slope = self._slope((white.centre + scaled).T, data)
            slope = slope.T
            slope = white.scale * slope if white.scale.ndim == 2 else (white.scale * slope[:, None]).sum(0)
            return Point(y, slope, value)

        white = jax.tree.map(self._by_lane, white)
        return evaluate

    def _batch(self, state: State, data: Any, keys: Key[Array, " lane"]) -> State:
        """Take :data:`BATCH` leapfrog steps in every lane."""
        seats, chains, draws = state
        random = noise(keys, self._by_lane(seats.clock), BATCH, self.dim)
        begins = self._by_lane(seats.clock == 0)
        y = jnp.where(begins, START * random.momentum[0], chains.y)
        chains = chains._replace(y=y, lanes=wait_at(chains.lanes, y, begins))
        left = self._by_lane(seats.left)
        length, adapting = jnp.asarray(self._lengths)[left], left > 1
        # Before anything is known of a case's scales, long trajectories are not worth their steps.
        limit = jnp.where(adapting, EARLY_TREE_DEPTH + len(PHASES) + 1 - left, self.max_tree_depth)
        limit = jnp.minimum(limit, self.max_tree_depth)
        evaluate = self._evaluate(data, seats.white)

        def advance(chains: _Chains, random):
            lanes, ended = step(chains.lanes, jnp.exp(chains.sizes.log), evaluate, random, limit)
            counted = ended.done & (chains.iteration < length)
            sizes = chains.sizes.updated(ended.acceptance_rate, self.target_acceptance)
            # What a draw reports of its trajectories, and whether this one is the last of them.
            ended = ended._replace(n_steps=chains.steps + ended.n_steps, diverging=chains.diverging | ended.diverging)
            kept = counted & ~adapting & ((chains.iteration + 1) % self.thinning == 0)
            place = jnp.where(kept, chains.iteration // self.thinning, self.draws)
            late = counted & adapting & (chains.iteration >= length // 2)
            chains = chains._replace(
                lanes=lanes,
                y=jnp.where(counted, ended.y, chains.y),
                sizes=choose(counted & adapting, sizes, chains.sizes),
                iteration=chains.iteration + counted,
                steps=jnp.where(kept, 0, jnp.where(counted, ended.n_steps, chains.steps)),
                diverging=jnp.where(counted, ended.diverging & ~kept, chains.diverging),
            )
            return chains, (place, late, ended)

        chains, (place, late, ended) = lax.scan(advance, chains, random)
        chains = chains._replace(moments=jax.tree.map(jnp.add, chains.moments, self._moments(ended.y, late)))
        lane = jnp.arange(len(left))

        def write(to, values):
            if values.ndim == 2:
                return to.at[place, lane].set(values, mode="drop")
            return to.at[place, :, lane].set(jnp.swapaxes(values, 1, 2), mode="drop")

        complete = (self._by_seat(chains.iteration >= length)).all(0) & ~self.finished(state)
        return State(*self._next_phase(seats, chains, complete), jax.tree.map(write, draws, ended))

    def _next_phase(self, seats: _Seats, chains: _Chains, complete: Bool[Array, " seat"]) -> tuple[_Seats, _Chains]:
        """Let the complete cases, which may just have finished a phase, adapt and begin the next."""
        adapted = complete & (seats.left > 1)
        white = choose(adapted, self._rewhiten(seats.white, chains.moments), seats.white)
        size = self._by_seat(chains.sizes.log_average).mean(0)
        by_lane = self._by_lane(complete)
        y = self._whiten(self._unwhiten(chains.y, seats.white), white)
        y = jnp.where(self._by_lane(adapted), y, chains.y)
        new = chains._replace(
            lanes=wait_at(chains.lanes, y, by_lane),
            y=y,
            sizes=_StepSize.at(self._by_lane(size)),
            iteration=jnp.zeros_like(chains.iteration),
            steps=jnp.zeros_like(chains.steps),
            diverging=jnp.zeros_like(chains.diverging),
            moments=jax.tree.map(jnp.zeros_like, chains.moments),
        )
        return _Seats(seats.clock + 1, seats.left - complete, white), choose(by_lane, new, chains)

    def _moments(self, y: Float[Array, "step dim lane"], counted: Bool[Array, "step lane"]) -> _Moments:
        y = jnp.where(counted[:, None], y, 0)
        products = (y[:, :, None] * y[:, None]).sum(0) if self.dim <= DENSE else (y**2).sum(0)
        return _Moments(counted.sum(0).astype(y.dtype), y.sum(0), products)

    def _rewhiten(self, white: _Whitening, moments: _Moments) -> _Whitening:
        count, total, products = (self._by_seat(m).sum(-2) for m in moments)
        mean = total / jnp.maximum(count, 1)
        spread = products / jnp.maximum(count, 1) - (mean[:, None] * mean if white.scale.ndim == 3 else mean**2)
        trust = count / (count + 5)
        if white.scale.ndim == 2:
            scale = white.scale * jnp.sqrt(jnp.maximum(trust * spread, 0) + 1e-3 * (1 - trust))
            centre = white.centre + white.scale * mean
        else:
            spread = trust * spread + 1e-3 * (1 - trust) * jnp.eye(self.dim)[..., None]
            factor = jnp.moveaxis(jnp.linalg.cholesky(jnp.moveaxis(spread, -1, 0)), 0, -1)
            scale = (white.scale[:, :, None] * factor).sum(1)
            centre = white.centre + (white.scale * mean).sum(1)
        usable = (count > 1) & jnp.isfinite(scale).reshape(-1, scale.shape[-1]).all(0)
        return choose(usable, _Whitening(centre, scale), white)
