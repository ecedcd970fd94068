"""Warm-up and sampling of independent cases with several chains each, in one compiled program.

The warm-up has :data:`PHASES`. In each, every chain adapts its step size by dual averaging (Hoffman & Gelman 2014); at
its end, positions are whitened by the covariance of the phase's second half, shrunk towards a small multiple of the
identity, and step sizes and covariances are pooled over the chains of a case. What happens to a case depends on its
key and its data, never on the cases beside it.

Sampling is one more phase, without adaptation; all phases run through the same compiled loop, in batches of
:data:`BATCH` leapfrog steps whose random numbers are made at once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key

from plausibly.inference._nuts import Finished, Lanes, Noise, Point, Scalar, Vector, begin, choose, noise, step

PHASES = (0.1, 0.15, 0.35, 0.4)  #: shares of the warm-up
DENSE = 32  #: whitening uses the whole covariance up to this many dimensions, the variances above
START = 1.5  #: standard deviation of the positions where chains start
BATCH = 32  #: leapfrog steps between two looks at which lanes have finished
_TICKS = 2**24  # more batches than a phase ever has


class _StepSize(NamedTuple):
    """Dual averaging of the log step size."""

    log: Scalar
    log_average: Scalar
    slope: Scalar
    count: Scalar
    centre: Scalar

    @classmethod
    def at(cls, size: Scalar) -> "_StepSize":
        zero = jnp.zeros_like(size)
        return cls(jnp.log(size), jnp.log(size), zero, zero, jnp.log(10 * size))

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
    """``x = centre + scale y`` by case; the scale is a lower triangular matrix, or the diagonal of one."""

    centre: Float[Array, "dim case"]
    scale: Float[Array, "*dims case"]


class Sampler:
    """NUTS over independent cases.

    Parameters
    ----------
    potential
        Maps a position (dim,) and the data of one case to minus the log density.
    dim
        Length of the position.
    chains, warmup, draws
        Chains per case, iterations of each to adapt, and draws to keep.
    thinning
        Trajectories per draw.
    target_acceptance
        Acceptance rate that step sizes are adapted to.
    max_tree_depth
        Trajectories have at most ``2 ** max_tree_depth - 1`` leapfrog steps.
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
        by_chain = jax.vmap(jax.value_and_grad(potential), in_axes=(-1, None), out_axes=-1)
        self._slope = jax.vmap(by_chain, in_axes=(-1, -1), out_axes=-1)

    def run(self, data: Any, keys: Key[Array, "case chain"]) -> tuple[Float[Array, "draw dim chain case"], Finished]:
        """Sample.

        Parameters
        ----------
        data
            A tree of arrays with the case on the last axis.
        keys
            One key per case and chain.

        Returns
        -------
        tuple
            Positions, and the statistics of :class:`Finished` by (draw, chain, case).
        """
        dim, n, keys = self.dim, keys.shape[0], keys.T.reshape(-1)
        one = jnp.broadcast_to(jnp.eye(dim)[..., None], (dim, dim, n)) if dim <= DENSE else jnp.ones((dim, n))
        white = _Whitening(jnp.zeros((dim, n)), one)
        size = jnp.full(n, 0.5 * dim**-0.25)
        x = START * noise(keys, jnp.int32(0), 1, dim).momentum[0]
        lanes, finished = self._empty(x)
        draws = jax.tree.map(lambda a: jnp.zeros((self.draws, *a.shape), a.dtype), finished)

        def phase(state, xs):
            return self._phase(*state, data, keys, *xs), None

        adapted = jnp.diff(jnp.round(self.warmup * jnp.cumsum(jnp.array((0.0, *PHASES)))))
        lengths = jnp.append(adapted, self.draws * self.thinning).astype(jnp.int32)
        order = jnp.arange(len(lengths))
        # Every phase has random numbers of its own, however long the slowest lane took for the one before.
        clocks = 1 + order * _TICKS
        state = x, white, size, lanes, draws
        (_, white, _, _, draws), _ = lax.scan(phase, state, (clocks, lengths, order < len(PHASES)))
        return jax.vmap(lambda y: self._unwhiten(y, white))(draws.y), jax.tree.map(self._by_case, draws)

    def _empty(self, x: Vector) -> tuple[Lanes, Finished]:
        """Zeros in the form of the state and of the outcome of a step."""
        random = Noise(x[0], x[0], x[0] > 0, x)
        shapes = jax.eval_shape(
            lambda lanes, random: step(lanes, x[0], lambda y: Point(y, y, y[0]), random, self.max_tree_depth),
            jax.eval_shape(lambda: begin(Point(x, x, x[0]), random, self.max_tree_depth)),
            random,
        )
        return jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)

    def _by_case(self, x: Array) -> Array:
        return x.reshape(*x.shape[:-1], self.chains, -1)

    def _by_lane(self, x: Array) -> Array:
        return jnp.broadcast_to(x[..., None, :], (*x.shape[:-1], self.chains, x.shape[-1])).reshape(*x.shape[:-1], -1)

    def _unwhiten(self, y: Vector, white: _Whitening) -> Float[Array, "dim chain case"]:
        y, scale = self._by_case(y), white.scale[..., None, :]
        return white.centre[:, None] + (scale * y if scale.ndim == y.ndim else (scale * y).sum(1))

    def _whiten(self, x: Vector, white: _Whitening) -> Vector:
        centred = self._by_case(x) - white.centre[:, None]
        if white.scale.ndim == 2:
            return (centred / white.scale[:, None]).reshape(self.dim, -1)
        matrix, right = jnp.moveaxis(white.scale, -1, 0), jnp.moveaxis(centred, -1, 0)
        solved = jax.scipy.linalg.solve_triangular(matrix, right, lower=True)
        return jnp.moveaxis(solved, 0, -1).reshape(self.dim, -1)

    def _evaluate(self, data: Any, white: _Whitening) -> Callable[[Vector], Point]:
        def evaluate(y: Vector) -> Point:
            value, slope = self._slope(self._unwhiten(y, white), data)
            scale = white.scale[..., None, :]
            slope = scale * slope if scale.ndim == slope.ndim else (scale * slope[:, None]).sum(0)
            return Point(y, slope.reshape(self.dim, -1), value.reshape(-1))

        return evaluate

    def _phase(
        self,
        x: Vector,
        white: _Whitening,
        size: Scalar,
        lanes: Lanes,
        draws: Finished,
        data: Any,
        keys: Key[Array, " lane"],
        began: Int[Array, ""],
        length: Int[Array, ""],
        adapting: Bool[Array, ""],
    ) -> tuple[Vector, _Whitening, Scalar, Lanes, Finished]:
        """Complete ``length`` trajectories in every lane, either to adapt or to keep them as draws.

        Random numbers are those from tick ``began`` on.
        """
        evaluate = self._evaluate(data, white)
        y = self._whiten(x, white)
        lane = jnp.arange(y.shape[-1])
        zero = jnp.zeros(y.shape[-1])
        products = jnp.zeros((self.dim, *y.shape) if white.scale.ndim == 3 else y.shape)

        def advance(state, random):
            lanes, y, sizes, iteration, since = state
            lanes, finished = step(lanes, jnp.exp(sizes.log), evaluate, random, self.max_tree_depth)
            counted = finished.done & (iteration < length)
            sizes = choose(counted & adapting, sizes.updated(finished.acceptance_rate, self.target_acceptance), sizes)
            y = jnp.where(counted, finished.y, y)
            # What a draw reports of its trajectories, and whether this one is the last of them.
            steps, diverging = since[0] + finished.n_steps, since[1] | finished.diverging
            kept = counted & ((iteration + 1) % self.thinning == 0)
            place = jnp.where(kept, iteration // self.thinning, self.draws)
            since = choose(
                kept, (zero.astype(steps.dtype), zero.astype(bool)), choose(counted, (steps, diverging), since)
            )
            late = counted & (iteration >= length // 2)
            finished = finished._replace(n_steps=steps, diverging=diverging)
            return (lanes, y, sizes, iteration + counted, since), (place, late, finished)

        def batch(state):
            clock, inner, moments, draws = state
            several = noise(keys, clock, BATCH + 1, self.dim)
            launch, several = jax.tree.map(lambda a: a[-1], several), jax.tree.map(lambda a: a[:-1], several)
            lanes = lax.cond(
                clock == began, lambda: begin(evaluate(inner[1]), launch, self.max_tree_depth), lambda: inner[0]
            )
            inner, (place, late, finished) = lax.scan(advance, (lanes, *inner[1:]), several)
            moments = jax.tree.map(jnp.add, moments, self._moments(finished.y, late, white))

            def write(to, values):
                if values.ndim == 2:
                    return to.at[place, lane].set(values, mode="drop")
                return to.at[place, :, lane].set(jnp.swapaxes(values, 1, 2), mode="drop")

            draws = lax.cond(adapting, lambda: draws, lambda: jax.tree.map(write, draws, finished))
            return clock + 1, inner, moments, draws

        since = zero.astype(jnp.int32), zero.astype(bool)
        inner = lanes, y, _StepSize.at(self._by_lane(size)), zero.astype(jnp.int32), since
        state = began, inner, _Moments(zero, jnp.zeros_like(y), products), draws
        _, inner, moments, draws = lax.while_loop(lambda s: (s[1][3] < length).any(), batch, state)
        lanes, y, sizes, *_ = inner
        x = self._unwhiten(y, white).reshape(self.dim, -1)
        size = jnp.exp(self._by_case(sizes.log_average).mean(0))
        return x, choose(adapting, self._rewhiten(white, moments), white), size, lanes, draws

    def _moments(self, y: Float[Array, "step dim lane"], counted: Bool[Array, "step lane"], white: _Whitening):
        y = jnp.where(counted[:, None], y, 0)
        products = (y[:, :, None] * y[:, None]).sum(0) if white.scale.ndim == 3 else (y**2).sum(0)
        return _Moments(counted.sum(0).astype(y.dtype), y.sum(0), products)

    def _rewhiten(self, white: _Whitening, moments: _Moments) -> _Whitening:
        count, total, products = (self._by_case(m).sum(-2) for m in moments)
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
