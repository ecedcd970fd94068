"""The Gibbs sampler over all cases of a data set."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.inference._batching import Bucket, bucket_cases, plan_shapes
from plausibly.inference._scheduling import run_chunks
from plausibly.inference._shapes import COMPILATION, Shape, pays_to_optimise
from plausibly.inference.gibbs._random import lane_words
from plausibly.inference.gibbs._sweep import CHAINS, State, log_density, start, sweep, tally
from plausibly.inference.program import CaseData, case_inputs


def sweeps_per_draw(reliability: float) -> int:
    """Number of sweeps that make one draw: tied blocks mix more slowly the more often they are repeated."""
    return int(np.clip(np.ceil(0.8 * reliability), 3, 16))


def gibbs(
    annotations: Annotations,
    slots: Slots,
    reliability: float,
    concentration: Float[np.ndarray, " slot"],
    keys: Key[Array, " case"],
    *,
    chains: int,
    warmup: int,
    draws: int,
    shapes: Sequence[Shape] | None = None,
    of_cases: int | None = None,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Draws from every case's posterior under Plackett-Luce, and statistics by (chain, draw, case).

    The statistic is the log posterior density ``lp`` in log-ratio coordinates. ``reliability`` is how often every
    annotation counts, a whole number; ``warmup`` the sweeps of each chain to forget its start, and ``draws`` those to
    keep, see :func:`sweeps_per_draw`. ``shapes``, by :func:`gibbs_shapes`, and ``of_cases`` are the shapes and the
    number of all cases, if these are a shard of them.
    """

    def run(data: CaseData, keys: Key[Array, " case"]) -> tuple[Array, Array]:
        words = jax.vmap(lane_words, in_axes=1)(jax.vmap(lambda key: jax.random.split(key, chains))(keys))
        tallies = tally(data.case, data.arguments["reliability"])
        # Numbers, so that another reliability needs no other program.
        first, thinning = (data.arguments[name].max().astype(jnp.int32) for name in ("warmup", "thinning"))

        def draw(state: State, i: Array) -> tuple[State, tuple[Array, Array]]:
            n = thinning + jnp.where(i == 0, first, 0)
            of_all_chains = jax.vmap(lambda s: sweep(s, tallies), (CHAINS,), CHAINS)
            state = jax.lax.fori_loop(0, n, lambda _, s: of_all_chains(s), state)
            density = jax.vmap(lambda s: log_density(s.plausibility, tallies), (CHAINS,))(state)
            return state, (state.plausibility, density)

        state = jax.vmap(lambda words: start(tallies, words), out_axes=CHAINS)(words)
        return jax.lax.scan(draw, state, jnp.arange(draws))[1]

    thinning = sweeps_per_draw(reliability)
    if shapes is None:
        shapes = gibbs_shapes(annotations, slots, reliability, chains=chains, warmup=warmup, draws=draws)
    sweeps = chains * (warmup + draws * thinning)
    optimised = pays_to_optimise("gibbs", shapes, of_cases or annotations.n_cases, sweeps)
    plausibility = np.empty((chains, draws, len(slots)), np.float32)
    lp = np.empty((chains, draws, annotations.n_cases), np.float32)
    by_case = case_inputs({"reliability": reliability, "warmup": warmup, "thinning": thinning})
    chunks = run_chunks(
        run,
        by_case,
        bucket_cases(annotations, slots, concentration, pooled=True, fit="merged", shapes=shapes),
        keys,
        name=("gibbs", chains, draws, optimised),
        progress=progress,
        doing="Sampling by Gibbs",
        repeated=optimised,
        effort=_repetitions,
    )
    for bucket, at, (values, density) in chunks:
        case, slot = np.nonzero(bucket.slots[at] >= 0)
        plausibility[:, :, bucket.slots[at][case, slot]] = values[:, :, slot, case].swapaxes(0, 1)
        lp[:, :, bucket.cases[at]] = density.swapaxes(0, 1)
    return plausibility, {"lp": lp}


def _repetitions(bucket: Bucket) -> Int[np.ndarray, " case"]:
    """How often the most frequent tied block of each case is drawn, which its sweeps repeat one by one."""
    counts = bucket.data.counts[:, :, None]
    most = [(counts * ties.draws).sum(1).max(1, initial=0) for ties in bucket.data.rankings.ties]
    return np.max([np.zeros(len(bucket.cases)), *most], axis=0).astype(int)


def gibbs_shapes(
    annotations: Annotations, slots: Slots, reliability: float, *, chains: int, warmup: int, draws: int
) -> tuple[Shape, ...]:
    """Shapes that :func:`gibbs` is compiled for."""
    sweeps = chains * (warmup + draws * sweeps_per_draw(reliability))
    return plan_shapes(annotations, slots, worth=COMPILATION["gibbs"] / sweeps, pooled=True)
