"""Reliability and the plausibilities of all cases as one model: HMC of the cases within Gibbs sampling.

Given reliabilities, cases are independent, and each makes a short Hamiltonian trajectory of its own, with its own step
size and covariance, accepted or not by itself: what a case costs does not depend on how many there are. Given the
plausibilities, reliabilities are one-dimensional, and sampled by slices. Either alone would creep, since rankings show
the weights λ^γ only, not λ and γ: so in between all reliabilities are raised and all log plausibilities lowered by one
factor, which leaves all weights as they are (the interweaving of Yu & Meng 2011; the volume is that of Liu & Wu 1999).

With annotators, a round has four more moves along lines: deviations one by one; the mean and the spread with deviations
held, which suits few annotations; and with reliabilities held, which suits many.

What diverges
-------------
The slopes of log densities in log ratios are bounded by a multiple of the reliability, so leapfrog steps cannot run
away: one that is too long lands somewhere on a slope, and is rejected. The usual bound on the error of the energy,
1,000, would count such rejections where reliabilities are large: of thirty cases whose annotators all rank at a
reliability of 30, about ten times in each during a thousand draws, although the posterior of the reliability is that of
quadrature (mean of the logarithm 3.330 ± 0.008 against 3.310, standard deviation 0.521 ± 0.005 against 0.524). So the
bound is 1,000 per unit of :func:`_stiffness`, and what exceeds it is a mistake of arithmetic or scale. A chain that is
rejected again and again is found out by its effective sample size.

All densities are those of the program in ``models/tempered_plackett_luce.py``, one case at a time.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import cpu_count
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key
from numpyro.handlers import substitute, trace

from plausibly._progress import Progress
from plausibly.case import Case
from plausibly.distributions import log_simplex
from plausibly.inference._batching import Bucket, grid
from plausibly.inference.joint._slice import better_width, slice_move
from plausibly.models import tempered_plackett_luce

LEAPS = 3  #: leapfrog steps of a trajectory
THINNING = {True: 8, False: 10}  #: rounds per draw, if all annotators are alike and if not
BLOCK = 10  #: draws between two looks of the host
PHASES = (0.2, 0.4, 0.4)  #: shares of the warm-up; at the end of each but the last, covariances are estimated
ACCEPTANCE = 0.85
DIVERGENT = 1000.0  #: energy error, times what reliabilities multiply energies by
LARGEST = 7.0  #: logarithm of a reliability, beyond which single precision knows no log odds, and the prior none
START = 1.5  #: standard deviation of the positions where chains start


class Prior(NamedTuple):
    """Of the reliabilities: see the program."""

    location: float
    scale: float
    spread_scale: float


class Group(NamedTuple):
    """Cases of one shape, on the last axis."""

    case: Case
    annotator: Int[Array, "annotation case"]  # their number where a row is nobody's
    real: Bool[Array, " case"]


class Globals(NamedTuple):
    """Logarithms."""

    mean: Float[Array, ""]
    spread: Float[Array, ""]
    each: Float[Array, " annotator"]  # one, the mean, if all annotators are alike


class State(NamedTuple):
    """Of one chain."""

    z: tuple[Float[Array, "dim case"], ...]
    shared: Globals


class Tuning(NamedTuple):
    """What the warm-up adapts."""

    step: tuple[Float[Array, " case"], ...]
    scale: tuple[Float[Array, "dim dim case"], ...]  # lower triangular
    widths: Float[Array, "move annotator"]


class Draws(NamedTuple):
    """What is kept of each draw."""

    plausibility: tuple[Float[Array, "draw slot case"], ...]
    log_likelihood: tuple[Float[Array, "draw annotation case"], ...]
    z: tuple[Float[Array, "draw dim case"], ...]
    shared: Globals
    acceptance: tuple[Float[Array, "draw case"], ...]
    diverging: tuple[Bool[Array, "draw case"], ...]
    energy: tuple[Float[Array, "draw case"], ...]


def _terms(
    z: Float[Array, " dim"], case: Case, log_reliability: Float[Array, " annotation"]
) -> tuple[Float[Array, ""], Float[Array, " annotation"]]:
    """Log density of a case's coordinates under the program's prior, and log probability of its annotations."""
    rows = log_reliability.shape[0]
    values = {
        "log_reliability": jnp.zeros(()),
        "spread": jnp.ones(()),
        "deviation": log_reliability,
        "log_ratio_0": z[None, None],
    }
    group = jax.tree.map(lambda a: a[None], case)
    sites = trace(substitute(tempered_plackett_luce, values)).get_trace(
        [group], [jnp.arange(rows)[None]], n_annotators=rows
    )
    prior, ranking = sites["log_ratio_0"], sites["ranking_0"]
    return prior["fn"].log_prob(prior["value"])[0, 0], ranking["fn"].log_prob(ranking["value"])[0]


_by_case = jax.vmap(_terms, in_axes=-1, out_axes=-1)


def _of_rows(group: Group, each: Float[Array, " annotator"]) -> Float[Array, "annotation case"]:
    return jnp.append(each, 0.0)[group.annotator]


def _by_annotator(
    groups: tuple[Group, ...], z: tuple[Float[Array, "dim case"], ...], each: Float[Array, " annotator"]
) -> Float[Array, " annotator"]:
    """Log probability of all annotations of each annotator."""
    total = jnp.zeros(len(each) + 1)
    for group, position in zip(groups, z, strict=True):
        rows = _by_case(position, group.case, _of_rows(group, each))[1]
        rows = jnp.where(group.real, rows, 0)
        total += rows.sum() if len(each) == 1 else jnp.zeros(len(each) + 1).at[group.annotator].add(rows)
    return total[:-1]


def _prior_of_cases(groups: tuple[Group, ...], z: tuple[Float[Array, "dim case"], ...]) -> Float[Array, ""]:
    total = jnp.zeros(())
    for group, position in zip(groups, z, strict=True):
        rows = jnp.zeros(group.annotator.shape)
        total += jnp.where(group.real, _by_case(position, group.case, rows)[0], 0).sum()
    return total


def _normal(x: Array, location: Array | float, scale: Array | float) -> Array:
    return -(((x - location) / scale) ** 2) / 2 - jnp.log(scale)


def _stiffness(group: Group, each: Float[Array, " annotator"]) -> Float[Array, " case"]:
    """About how narrow posteriors are. Steps may depend on reliabilities, which a trajectory takes as given."""
    gave = group.annotator < len(each)
    squares = jnp.where(gave, jnp.exp(2 * _of_rows(group, each)), 0).sum(0)
    return jnp.sqrt(1 + squares / jnp.maximum(gave.sum(0), 1))


def _trajectories(
    key: Key[Array, ""], group: Group, z: Array, each: Array, step: Array, scale: Array
) -> tuple[Array, Array, Array, Array]:
    """One trajectory of every case: positions, acceptance rates, which diverged, energies."""
    log_reliability = _of_rows(group, each)

    def potential(z: Array) -> tuple[Array, Array]:
        prior, rows = _by_case(z, group.case, log_reliability)
        values = -prior - rows.sum(0)
        return values.sum(), values  # cases do not share coordinates: the sum's gradient is that of each

    def evaluate(z: Array) -> tuple[Array, Array]:
        (_, values), slope = jax.value_and_grad(potential, has_aux=True)(z)
        return values, (scale * slope[:, None]).sum(0)

    velocity, jitter, accept = jax.random.split(key, 3)
    p = jax.random.normal(velocity, z.shape)
    stiffness = _stiffness(group, each)
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


def _along_lines(
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

        def log_density(by: Array) -> Array:
            new = moved(by)
            rows = _by_annotator(groups, state.z, new.each)
            own = rows + _normal(new.each, new.mean, jnp.exp(new.spread))
            joint = rows.sum() + _of_mean(new, prior) + _of_spread(new, prior)
            density = jnp.where(kind == 0, own, joint)
            within = jnp.where(kind == 0, new.each < LARGEST, (new.each < LARGEST).all())
            return jnp.where(within, density, -jnp.inf)

        width = jnp.where(alike & (kind != 1), 0, width)
        by, count = slice_move(key, width, log_density, together=kind > 0)
        return moved(by), count

    kinds = jnp.array([1]) if alone else jnp.array([0, 1, 2])
    return lax.scan(move, state.shared, (kinds, jax.random.split(key, len(kinds)), widths))


def _of_mean(shared: Globals, prior: Prior) -> Array:
    return _normal(shared.mean, prior.location, prior.scale)


def _of_spread(shared: Globals, prior: Prior) -> Array:
    """Half-normal, by the logarithm."""
    return shared.spread - (jnp.exp(shared.spread) / prior.spread_scale) ** 2 / 2


def _with_reliabilities_held(
    key: Key[Array, ""], shared: Globals, widths: Array, prior: Prior
) -> tuple[Globals, Array]:
    """Move the mean and the spread, given every annotator's reliability."""

    def move(shared: Globals, place: int, name: str) -> tuple[Globals, Array]:
        def moved(by: Array) -> Globals:
            return shared._replace(**{name: getattr(shared, name) + by[0]})

        def log_density(by: Array) -> Array:
            new = moved(by)
            of_each = _normal(new.each, new.mean, jnp.exp(new.spread)).sum()
            return (of_each + _of_mean(new, prior) + _of_spread(new, prior))[None]

        by, count = slice_move(jax.random.fold_in(key, place), widths[place, :1], log_density)
        return moved(by), jnp.broadcast_to(count, widths.shape[1:])

    shared, of_mean = move(shared, 0, "mean")
    shared, of_spread = move(shared, 1, "spread")
    return shared, jnp.stack([of_mean, of_spread])


def _rescale(
    key: Key[Array, ""], groups: tuple[Group, ...], state: State, width: Array, prior: Prior
) -> tuple[State, Array]:
    """Raise all reliabilities by a factor and lower all log plausibilities by it: the weights stay."""
    dimensions = sum(z.shape[0] * group.real.sum() for group, z in zip(groups, state.z, strict=True))

    def moved(by: Array) -> State:
        shared = state.shared._replace(mean=state.shared.mean + by[0], each=state.shared.each + by[0])
        return State(tuple(z * jnp.exp(-by[0]) for z in state.z), shared)

    def log_density(by: Array) -> Array:
        new = moved(by)
        density = _prior_of_cases(groups, new.z) + _of_mean(new.shared, prior) - dimensions * by[0]
        return jnp.where((new.shared.each < LARGEST).all(), density, -jnp.inf)[None]

    by, count = slice_move(key, width[:1], log_density)
    return moved(by), jnp.broadcast_to(count, width.shape)


def _round(
    key: Key[Array, ""],
    groups: tuple[Group, ...],
    state: State,
    tuning: Tuning,
    prior: Prior,
    rate: Array,
    alone: bool,
    alike: Array,
) -> tuple[State, Tuning, tuple]:
    keys = jax.random.split(key, len(groups) + 3)
    found = [
        _trajectories(*parts, state.shared.each, *own)
        for *parts, own in zip(keys, groups, state.z, zip(tuning.step, tuning.scale, strict=True), strict=False)
    ]
    z, acceptance, diverging, energy = (tuple(column) for column in zip(*found, strict=True))
    step = tuple(s * jnp.exp(rate * (a - ACCEPTANCE)) for s, a in zip(tuning.step, acceptance, strict=True))
    state = State(z, state.shared)
    lines = 1 if alone else 3
    shared, counts = _along_lines(keys[-1], groups, state, tuning.widths[:lines], prior, alone, alike)
    state, of_scale = _rescale(keys[-2], groups, State(z, shared), tuning.widths[lines], prior)
    counts = [counts, of_scale[None]]
    if not alone:
        shared, more = _with_reliabilities_held(keys[-3], state.shared, jnp.where(alike, 0, tuning.widths[-2:]), prior)
        state = state._replace(shared=shared)
        counts.append(more)
    widths = better_width(tuning.widths, jnp.concatenate(counts), rate)
    if not alone:
        used = ~alike | jnp.array([False, True, False, True, False, False])
        widths = jnp.where(used[:, None], widths, tuning.widths)
    return state, Tuning(step, tuning.scale, widths), (acceptance, diverging, energy)


@partial(jax.jit, static_argnames=("n", "alone"))
def _advance(
    key: Key[Array, ""],
    groups: tuple[Group, ...],
    state: State,
    tuning: Tuning,
    prior: Prior,
    rate: Float[Array, ""],
    alike: Bool[Array, ""],
    *,
    n: int,
    alone: bool,
) -> tuple[State, Tuning, Draws]:
    """Make ``n`` draws."""

    def one(carry: tuple[State, Tuning], key: Key[Array, ""]):
        state, tuning = carry
        state, tuning, found = _round(key, groups, state, tuning, prior, rate, alone, alike)
        return (state, tuning), found

    def draw(carry: tuple[State, Tuning], key: Key[Array, ""]):
        carry, (acceptance, diverging, energy) = lax.scan(one, carry, jax.random.split(key, THINNING[alone]))
        state, _ = carry
        each = state.shared.each
        kept = Draws(
            tuple(
                jax.nn.softmax(jax.vmap(log_simplex, -1, -1)(z), axis=0, where=g.case.n_classes > 0)
                for z, g in zip(state.z, groups, strict=True)
            ),
            tuple(_by_case(z, g.case, _of_rows(g, each))[1] for z, g in zip(state.z, groups, strict=True)),
            state.z,
            state.shared,
            tuple(a.mean(0) for a in acceptance),
            tuple(d.any(0) for d in diverging),
            tuple(e[-1] for e in energy),
        )
        return carry, kept

    (state, tuning), draws = lax.scan(draw, (state, tuning), jax.random.split(key, n))
    return state, tuning, draws


def _group(bucket: Bucket, annotator: Int[np.ndarray, " annotation"] | None, n_annotators: int) -> Group:
    """A bucket with its cases on the last axis, filled up to one of a few numbers of them."""
    n = len(bucket.cases)
    at = np.resize(np.arange(n), int(grid(np.array(max(n, 4)))))
    rows = bucket.data.counts.shape[1]
    whose = np.full((n, rows), n_annotators) if annotator is not None else np.zeros((n, rows), int)
    if annotator is not None:
        whose[bucket.case, bucket.row] = annotator[bucket.annotations]
    last = jax.tree.map(lambda a: jnp.asarray(np.moveaxis(a[at], 0, -1)), (bucket.data, whose.astype(np.int32)))
    return Group(*last, jnp.asarray(np.arange(len(at)) < n))


def _covariances(draws: list[Draws], old: tuple[Array, ...]) -> tuple[Array, ...]:
    """Scales from the second half of what all chains drew, shrunk towards the old ones where draws are few."""
    out = []
    for place, scale in enumerate(old):
        z = np.concatenate([np.asarray(d.z[place])[len(d.z[place]) // 2 :] for d in draws])
        centred = z - z.mean(0)
        spread = np.einsum("nic,njc->cij", centred, centred) / max(len(z) - 1, 1)
        before = np.moveaxis(np.asarray(scale), -1, 0)
        before = before @ before.transpose(0, 2, 1)
        dim = z.shape[1]
        trust = len(z) / (len(z) + 5 * dim)
        spread = trust * spread + (1 - trust) * 0.1 * before
        out.append(np.moveaxis(np.linalg.cholesky(spread), 0, -1).astype(np.float32))
    return tuple(out)


def sample_jointly(
    buckets: list[Bucket],
    annotator: Int[np.ndarray, " annotation"] | None,
    n_annotators: int,
    prior: Prior,
    *,
    chains: int,
    warmup: int,
    draws: int,
    seed: int,
    progress: Progress,
) -> tuple[list[Draws], list[Group]]:
    """Sample the program of all cases.

    Parameters
    ----------
    buckets
        All cases, with ``fit="apart"`` if annotators differ, else pooled.
    annotator, n_annotators
        Who gave each annotation, or None if all are alike.
    prior
        Of reliabilities.
    chains, warmup, draws
        Rounds of the warm-up, and kept draws of some rounds (:data:`THINNING`), of each chain.
    seed
        Of all random numbers.
    progress
        Where to report.

    Returns
    -------
    tuple
        Draws of each chain, as NumPy arrays, and the cases that they belong to.
    """
    groups = tuple(_group(bucket, annotator, n_annotators) for bucket in buckets)
    alone = annotator is None
    keys = jax.random.split(jax.random.key(seed), chains)
    states, tunings = [], []
    for chain in range(chains):
        start = jax.random.fold_in(keys[chain], 2**31)
        noise = [jax.random.fold_in(start, i) for i in range(len(groups) + 1)]
        z = tuple(
            START * jax.random.normal(key, (g.case.n_classes.shape[0] - 1, len(g.real)))
            for key, g in zip(noise[1:], groups, strict=True)
        )
        mean, spread, *each = 0.5 * jax.random.normal(noise[0], (2 + (1 if alone else n_annotators),))
        mean = jnp.minimum(prior.location + prior.scale * mean, LARGEST - 2)
        spread = np.log(0.3 * prior.spread_scale) + spread
        # Alike at first: where one of them is taken to be always right, the truth is hers, and a chain stays there.
        each = mean[None] if alone else mean + 0.1 * jnp.stack(each)
        states.append(State(z, Globals(mean, spread, each)))
        dims = [x.shape for x in z]
        tunings.append(
            Tuning(
                tuple(jnp.full(n, 0.5) for _, n in dims),
                tuple(jnp.broadcast_to(jnp.eye(d)[..., None], (d, d, n)) for d, n in dims),
                jnp.ones((2 if alone else 6, len(each))),
            )
        )

    # As what comes out of the program goes in again: weak types, as of Python's numbers, would compile it twice.
    states, tunings = ([jax.tree.map(np.asarray, own) for own in each] for each in (states, tunings))
    blocks = [max(1, round(share * warmup / THINNING[alone] / BLOCK)) if warmup else 0 for share in PHASES]
    total = sum(blocks) + -(-draws // BLOCK)
    advance = progress.task("Sampling reliability", total * chains, "blocks")
    tick = 0

    def run(pool: ThreadPoolExecutor, n: int, *, adapting: bool, alike: bool = False) -> list[list[Draws]]:
        nonlocal tick
        kept: list[list[Draws]] = [[] for _ in range(chains)]
        for block in range(n):
            rate = jnp.float32(0.5 / (1 + block) ** 0.5 if adapting else 0)

            def one(chain: int, tick: int = tick, rate: Array = rate) -> Draws:
                key = jax.random.fold_in(keys[chain], tick)
                own = states[chain], tunings[chain]
                states[chain], tunings[chain], found = _advance(
                    key, groups, *own, prior, rate, jnp.asarray(alike), n=BLOCK, alone=alone
                )
                return jax.tree.map(np.asarray, found)

            # NumPyro's handlers are global: the first call, which traces the program, is nobody else's time.
            for chain, found in enumerate((pool.map if tick else map)(one, range(chains))):
                kept[chain].append(found)
                advance(1)
            tick += 1
        return kept

    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        for place, phase in enumerate(blocks):
            found = [_joined(parts) for parts in run(pool, phase, adapting=True, alike=place == 0) if parts]
            if found and place < len(blocks) - 1:
                scale = _covariances(found, tunings[0].scale)
                for chain, state in enumerate(states):
                    step = tuple(np.asarray(0.8 * _stiffness(group, state.shared.each)) for group in groups)
                    tunings[chain] = tunings[chain]._replace(scale=scale, step=step)
        kept = run(pool, -(-draws // BLOCK), adapting=False)
    return [jax.tree.map(lambda a: a[:draws], _joined(parts)) for parts in kept], list(groups)


def _joined(parts: list[Draws]) -> Draws:
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
