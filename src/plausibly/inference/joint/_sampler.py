"""Reliability and the plausibilities of all cases as one model: HMC of the cases within Gibbs sampling.

Given reliabilities, cases are independent. Each makes a short Hamiltonian trajectory with its own step size and
covariance and is accepted or rejected on its own, so the cost per case does not depend on the number of cases. Given
the plausibilities, reliabilities are one-dimensional and sampled by slices. Either move alone would mix slowly, since
rankings only show the weights λ^γ, not λ and γ. So in between, all reliabilities are multiplied and all log
plausibilities divided by one factor, which leaves the weights as they are (the interweaving of Yu & Meng 2011; the
volume is that of Liu & Wu 1999).

With annotators, a round has four more moves along lines: deviations one by one; the mean and the spread with deviations
held, which suits few annotations; and with reliabilities held, which suits many.

The program is that of a model of all cases, such as ``models/tempered_plackett_luce.py``; its terms are evaluated case
by case.

What diverges
-------------
The slopes of log densities in log ratios are bounded by a multiple of the reliability, so leapfrog steps cannot run
away: a step that is too long lands somewhere on a slope and is rejected. The usual bound on the error of the energy,
1,000, would count such rejections where reliabilities are large: in each of thirty cases whose annotators all rank at a
reliability of 30, about ten times during a thousand draws, although the posterior of the reliability is that of
quadrature (mean of the logarithm 3.330 ± 0.008 against 3.310, standard deviation 0.521 ± 0.005 against 0.524). So the
bound is 1,000 per unit of :meth:`plausibly.inference.joint._density.Group.stiffness`, and anything that exceeds it is
an error of arithmetic or scale. A chain that is rejected again and again shows in its effective sample size.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key

from plausibly.base.pools import threads
from plausibly.base.progress import Progress
from plausibly.distributions import log_simplex
from plausibly.inference._batching import Bucket
from plausibly.inference.joint._density import Globals, Group, Prior, make_group
from plausibly.inference.joint._moves import (
    LARGEST,
    State,
    along_lines,
    better_width,
    rescale,
    trajectories,
    with_reliabilities_held,
)

THINNING = {True: 8, False: 10}  #: rounds per draw, if all annotators are alike and if not
BLOCK = 10  #: draws between two looks of the host
PHASES = (0.2, 0.4, 0.4)  #: shares of the warm-up; at the end of each but the last, covariances are estimated
ACCEPTANCE = 0.85
START = 1.5  #: standard deviation of the positions where chains start


class Tuning(NamedTuple):
    """What the warm-up adapts."""

    step: tuple[Float[Array, " case"], ...]
    scale: tuple[Float[Array, "dim dim case"], ...]  # lower triangular
    widths: Float[Array, "move annotator"]


class Draws(NamedTuple):
    """Arrays of each draw."""

    plausibility: tuple[Float[Array, "draw slot case"], ...]
    log_likelihood: tuple[Float[Array, "draw annotation case"], ...]
    z: tuple[Float[Array, "draw dim case"], ...]
    shared: Globals
    acceptance: tuple[Float[Array, "draw case"], ...]
    diverging: tuple[Bool[Array, "draw case"], ...]
    energy: tuple[Float[Array, "draw case"], ...]


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
        trajectories(*parts, state.shared.each, *own)
        for *parts, own in zip(keys, groups, state.z, zip(tuning.step, tuning.scale, strict=True), strict=False)
    ]
    z, acceptance, diverging, energy = (tuple(column) for column in zip(*found, strict=True))
    step = tuple(s * jnp.exp(rate * (a - ACCEPTANCE)) for s, a in zip(tuning.step, acceptance, strict=True))
    state = State(z, state.shared)
    lines = 1 if alone else 3
    shared, counts = along_lines(keys[-1], groups, state, tuning.widths[:lines], prior, alone, alike)
    state, of_scale = rescale(keys[-2], groups, State(z, shared), tuning.widths[lines], prior)
    counts = [counts, of_scale[None]]
    if not alone:
        shared, more = with_reliabilities_held(keys[-3], state.shared, jnp.where(alike, 0, tuning.widths[-2:]), prior)
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
            tuple(g.terms(z, g.by_row(each))[1] for z, g in zip(state.z, groups, strict=True)),
            state.z,
            state.shared,
            tuple(a.mean(0) for a in acceptance),
            tuple(d.any(0) for d in diverging),
            tuple(e[-1] for e in energy),
        )
        return carry, kept

    (state, tuning), draws = lax.scan(draw, (state, tuning), jax.random.split(key, n))
    return state, tuning, draws


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
    program: Callable[..., None],
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
) -> list[Draws]:
    """Draws of each chain of a program of all cases, as NumPy arrays, by bucket.

    Buckets have ``fit="apart"`` if annotators differ, else annotations are pooled and ``annotator`` is None. ``warmup``
    counts rounds, and ``draws`` the kept draws of some rounds (:data:`THINNING`), of each chain.
    """
    groups = tuple(make_group(program, bucket, annotator, n_annotators) for bucket in buckets)
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
        # Alike at first: if one of them were taken to be always right, the chain would stay there.
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

    # In the types that the program returns: the weak types of Python's numbers would compile it twice.
    states, tunings = ([jax.tree.map(np.asarray, own) for own in each] for each in (states, tunings))
    blocks = [max(1, round(share * warmup / THINNING[alone] / BLOCK)) if warmup else 0 for share in PHASES]
    total = sum(blocks) + -(-draws // BLOCK)
    advance = progress.task("Sampling reliability", total * chains, "blocks")
    tick = 0

    def run(pool: Executor, n: int, *, adapting: bool, alike: bool = False) -> list[list[Draws]]:
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

            # NumPyro's handlers are global, so the first call, which traces the program, runs alone.
            for chain, found in enumerate((pool.map if tick else map)(one, range(chains))):
                kept[chain].append(found)
                advance(1)
            tick += 1
        return kept

    with threads() as pool:
        for place, phase in enumerate(blocks):
            found = [_joined(parts) for parts in run(pool, phase, adapting=True, alike=place == 0) if parts]
            if found and place < len(blocks) - 1:
                scale = _covariances(found, tunings[0].scale)
                for chain, state in enumerate(states):
                    step = tuple(np.asarray(0.8 * group.stiffness(state.shared.each)) for group in groups)
                    tunings[chain] = tunings[chain]._replace(scale=scale, step=step)
        kept = run(pool, -(-draws // BLOCK), adapting=False)
    return [jax.tree.map(lambda a: a[:draws], _joined(parts)) for parts in kept]


def _joined(parts: list[Draws]) -> Draws:
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
