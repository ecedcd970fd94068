r"""The Gibbs sampler over all cases of a data set.

A mixture of Dirichlet priors in the Gibbs sampler: which of them a case's plausibilities come from.

Before every sweep, the component is drawn from its exact conditional given the plausibilities,

.. math:: P(z \mid \lambda) \propto w_z \Gamma\Big(\sum_k \alpha_{zk}\Big) \prod_k
   \frac{\lambda_k^{\alpha_{zk} - 1}}{\Gamma(\alpha_{zk})};

given it, the sweep is that of an ordinary prior.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import gammaln

from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import Case
from plausibly.inference._batching import Bucket, bucket_cases, plan_shapes
from plausibly.inference._scheduling import run_chunks
from plausibly.inference._shapes import COMPILATION, Shape, pays_to_optimise
from plausibly.inference.gibbs._random import lane_words, uniforms
from plausibly.inference.gibbs._sweep import CHAINS, LEAST, State, Tallies, log_density, start, sweep, tally
from plausibly.inference.program import CaseData, case_inputs

_FIRST = 1 << 31  # index of the first random number, beyond all that a sweep uses


class Heads(NamedTuple):
    """Mixtures of Dirichlet priors."""

    log_weight: Float[np.ndarray, "case head"]
    shape: Float[np.ndarray, "head slot"]


def with_heads(by_case: Callable[[Bucket, np.ndarray], CaseData], heads: Heads, bucket: Bucket, at: np.ndarray):
    """Add the priors of cases to what a program is given."""
    data = by_case(bucket, at)
    of_slot = bucket.slots[at]
    shape = np.where(of_slot < 0, 0, heads.shape[:, np.maximum(of_slot, 0)])
    constant = heads.log_weight[bucket.cases[at]].T - np.where(of_slot < 0, 0, gammaln(np.maximum(shape, 1e-9))).sum(-1)
    constant += gammaln(np.maximum(shape.sum(-1), 1e-9))
    more = {"head_shape": np.moveaxis(shape, -1, 1), "head_constant": constant}
    return data._replace(arguments={**data.arguments, **{name: np.float32(value) for name, value in more.items()}})


def choose_head(
    state: State, *, tallies: Tallies, case: Case, arguments: Mapping[str, Array]
) -> tuple[Tallies, Int[Array, " case"]]:
    """Draw the component of each case, and put its prior into the tallies; without a mixture, leave them."""
    if "head_shape" not in arguments:
        return tallies, jnp.zeros(state.plausibility.shape[-1], jnp.int32)
    shape, constant = arguments["head_shape"], arguments["head_constant"]
    logs = jnp.log(jnp.where(tallies.real, jnp.maximum(state.plausibility, LEAST), 1))
    logs = constant + (shape * logs).sum(1)
    below = jnp.cumsum(jnp.exp(logs - logs.max(0)), axis=0)
    u = uniforms(state.words, state.clock, _FIRST, 1)[0][0]
    head = (below < u * below[-1]).sum(0)
    own = jnp.take_along_axis(shape, head[None, None], 0)[0]
    plain = jnp.where(tallies.real, case.concentration, 0)
    shape = jnp.where(tallies.real, tallies.shape - plain + own, 0)
    # As many draws more from all classes as the prior is worth.
    drawn = tallies.drawn.at[0].add((own * tallies.real).sum(0) - plain.sum(0))
    return tallies._replace(shape=shape, drawn=jnp.maximum(drawn, LEAST)), head


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
    heads: Heads | None = None,
    shapes: Sequence[Shape] | None = None,
    of_cases: int | None = None,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Draws from every case's posterior under Plackett-Luce, and statistics by (chain, draw, case).

    Statistics are the log posterior density ``lp`` in log-ratio coordinates and, of a mixture of priors, the number of
    the ``head`` whose prior it is. ``reliability`` is how often every annotation counts, a whole number; ``warmup`` the
    sweeps of each chain to forget its start, and ``draws`` those to keep, see :func:`sweeps_per_draw`. With ``heads``,
    cases have a mixture of Dirichlet priors instead of one, and ``concentration`` is that of any of them. ``shapes``,
    by :func:`gibbs_shapes`, and ``of_cases`` are the shapes and the number of all cases, if these are a shard of them.
    """

    def run(data: CaseData, keys: Key[Array, " case"]) -> tuple[Array, Array, Array]:
        words = jax.vmap(lane_words, in_axes=1)(jax.vmap(lambda key: jax.random.split(key, chains))(keys))
        plain = tally(data.case, data.arguments["reliability"])
        choose = partial(choose_head, tallies=plain, case=data.case, arguments=data.arguments)
        # Numbers, so that another reliability needs no other program.
        first, thinning = (data.arguments[name].max().astype(jnp.int32) for name in ("warmup", "thinning"))

        def draw(state: State, i: Array) -> tuple[State, tuple[Array, Array]]:
            n = thinning + jnp.where(i == 0, first, 0)
            of_all_chains = jax.vmap(lambda s: sweep(s, choose(s)[0]), (CHAINS,), CHAINS)
            state = jax.lax.fori_loop(0, n, lambda _, s: of_all_chains(s), state)

            def described(s: State) -> tuple[Array, Array]:
                tallies, head = choose(s)
                return log_density(s.plausibility, tallies), head

            return state, (state.plausibility, *jax.vmap(described, (CHAINS,))(state))

        state = jax.vmap(lambda words: start(plain, words), out_axes=CHAINS)(words)
        return jax.lax.scan(draw, state, jnp.arange(draws))[1]

    thinning = sweeps_per_draw(reliability)
    if shapes is None:
        shapes = gibbs_shapes(annotations, slots, reliability, chains=chains, warmup=warmup, draws=draws)
    sweeps = chains * (warmup + draws * thinning)
    optimised = pays_to_optimise("gibbs", shapes, of_cases or annotations.n_cases, sweeps)
    plausibility = np.empty((chains, draws, len(slots)), np.float32)
    lp = np.empty((chains, draws, annotations.n_cases), np.float32)
    head = np.zeros((chains, draws, annotations.n_cases), np.int16)
    by_case = case_inputs({"reliability": reliability, "warmup": warmup, "thinning": thinning})
    chunks = run_chunks(
        run,
        by_case if heads is None else partial(with_heads, by_case, heads),
        bucket_cases(annotations, slots, concentration, pooled=True, fit="merged", shapes=shapes),
        keys,
        name=("gibbs", chains, draws, None if heads is None else len(heads.shape), optimised),
        progress=progress,
        doing="Sampling by Gibbs",
        repeated=optimised,
        effort=_repetitions,
    )
    for bucket, at, (values, density, which) in chunks:
        case, slot = np.nonzero(bucket.slots[at] >= 0)
        plausibility[:, :, bucket.slots[at][case, slot]] = values[:, :, slot, case].swapaxes(0, 1)
        lp[:, :, bucket.cases[at]] = density.swapaxes(0, 1)
        head[:, :, bucket.cases[at]] = which.swapaxes(0, 1)
    return plausibility, {"lp": lp} | ({} if heads is None else {"head": head})


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
