"""Engines that go through the program of a model: NUTS, likelihoods of draws, maximum likelihood."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from plausibly._progress import Progress
from plausibly.annotations import Annotations, Slots
from plausibly.case import Case
from plausibly.distributions import log_ratios
from plausibly.inference._batching import Bucket, bucket_cases
from plausibly.inference._program import PLAUSIBILITY, CaseData, Program
from plausibly.inference._scheduling import Seated, cases_last, run_chunks, run_seats
from plausibly.inference.nuts._gaps import with_order
from plausibly.inference.nuts._sampler import Sampler, State

# Trajectories per draw, by dimension; from there on the last. Small dimensions have short trajectories, which end close
# to where they began; and with thousands of cases, the worst of them should still have enough effective draws.
THINNING = (1, 4, 3)
_LEAST, _SMALL = 1e-30, 1e-6  # plausibilities that maximum likelihood counts with, and that it waits for
MAX_TREE_DEPTH = 8  # trajectories have at most 255 leapfrog steps


def case_inputs(arguments: Mapping[str, float]) -> Callable[[Bucket, np.ndarray], CaseData]:
    """What :func:`run_chunks` gives a program: the case, and the model's arguments for each of them."""

    def inputs(bucket: Bucket, at: np.ndarray) -> CaseData:
        columns = {name: jnp.full(len(at), value, jnp.float32) for name, value in arguments.items()}
        return CaseData(cases_last(bucket.data, at), columns)

    return inputs


def _one_case(data: Any) -> Any:
    """Shapes of a single case's data."""
    return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[:-1], a.dtype), data)


def _over_cases(function: Callable, *axes: int | None) -> Callable:
    return jax.vmap(function, in_axes=axes or -1, out_axes=-1)


def nuts(
    annotations: Annotations,
    slots: Slots,
    program: Program,
    arguments: Mapping[str, float],
    concentration: Float[np.ndarray, " slot"],
    keys: Key[Array, " case"],
    *,
    chains: int,
    warmup: int,
    draws: int,
    target_acceptance: float = 0.9,
    max_tree_depth: int = MAX_TREE_DEPTH,
    pooled: bool = False,
    buckets: Sequence[Bucket] | None = None,
    gaps: bool = False,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Sample every case's posterior with NUTS.

    Parameters
    ----------
    annotations, slots
        The data.
    program, arguments
        The model, and its numerical arguments, such as the reliability.
    concentration
        Prior shape of every slot.
    keys
        One key per case.
    chains, warmup, draws
        Chains per case, and iterations of each.
    target_acceptance, max_tree_depth
        See :class:`plausibly.inference.nuts._sampler.Sampler`.
    pooled
        Whether the program's likelihood is a sum over draws, see :func:`bucket_cases`.
    buckets
        The cases as the program sees them, if it is no program of partial rankings.
    gaps
        Whether the program is told how annotators order the slots, see :class:`plausibly.distributions.Gaps`.
    progress
        Where to report.

    Returns
    -------
    tuple
        Plausibilities, and statistics of the trajectories by (chain, draw, case).
    """

    def build(data: CaseData) -> Seated:
        shapes = program.latent(_one_case(data))
        used = sum(int(np.prod(shape)) for shape in shapes.values())
        dim = max(used, 1)

        def potential(x: Float[Array, " dim"], data: CaseData) -> Float[Array, ""]:
            # A case with a single slot leaves nothing to sample: a normal variable that nothing reads takes its place.
            unread = 0.5 * x[0] ** 2 if used == 0 else 0.0
            return program.potential(x, data, shapes) + unread

        sampler = Sampler(
            potential,
            dim=dim,
            thinning=THINNING[min(dim, len(THINNING) - 1)],
            chains=chains,
            warmup=warmup,
            draws=draws,
            target_acceptance=target_acceptance,
            max_tree_depth=max_tree_depth,
        )

        def advance(state: State, data: CaseData, *others: Array) -> tuple[State, Array, tuple[Array, dict]]:
            state = sampler.advance(state, data, *others)
            by_draw = jax.vmap(lambda x, d: program.values(x, d, shapes)[PLAUSIBILITY], in_axes=(0, None))
            by_chain = jax.vmap(by_draw, in_axes=(-1, None), out_axes=-1)
            plausibility = _over_cases(by_chain)(sampler.positions(state), data)
            return state, sampler.finished(state), (plausibility, sampler.statistics(state))

        return Seated(sampler.begin, advance)

    if buckets is None:
        buckets = bucket_cases(annotations, slots, concentration, pooled=pooled, fit="ladder" if pooled else "exact")
    chain_keys = jax.vmap(lambda key: jax.random.split(key, chains))(keys)
    plausibility = np.empty((chains, draws, len(slots)), np.float32)
    statistics: dict[str, np.ndarray] = {}
    settings = chains, warmup, draws, target_acceptance, max_tree_depth
    if gaps:
        buckets = [with_order(bucket, annotations, slots) for bucket in buckets]
    chunks = run_seats(
        build,
        case_inputs(arguments),
        buckets,
        chain_keys,
        name=("nuts", program, tuple(arguments), pooled, gaps, *settings),
        progress=progress,
        doing=f"Sampling {program.name}",
    )
    for bucket, at, (values, of_draws) in chunks:
        case, slot = np.nonzero(bucket.slots[at] >= 0)
        plausibility[:, :, bucket.slots[at][case, slot]] = values[:, slot, :, case].transpose(2, 1, 0)
        for name, column in of_draws.items():
            column = column.transpose(1, 0, 2)
            to = statistics.setdefault(name, np.empty((chains, draws, annotations.n_cases), column.dtype))
            to[:, :, bucket.cases[at]] = column
    return plausibility, statistics


def no_trajectories(shape: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """What :func:`nuts` would say of exact draws, by (chain, draw, case)."""
    kinds = {"diverging": bool, "n_steps": np.int32, "tree_depth": np.int32, "energy": np.float32}
    zeros = {name: np.zeros(shape, kind) for name, kind in kinds.items()}
    return zeros | {"acceptance_rate": np.ones(shape, np.float32)}


def log_likelihood(
    annotations: Annotations,
    slots: Slots,
    program: Program,
    arguments: Mapping[str, float],
    concentration: Float[np.ndarray, " slot"],
    plausibility: Float[np.ndarray, "chain draw slot"],
    keys: Key[Array, " case"],
    *,
    progress: Progress,
) -> Float[np.ndarray, "chain draw annotation"]:
    """Log probability of every annotation at every draw.

    For programs whose only latent site is "plausibility" or, in the coordinates of
    :class:`plausibly.distributions.LogRatioDirichlet`, "log_ratio".
    """
    chains, draws, _ = plausibility.shape
    by_case = case_inputs(arguments)

    def inputs(bucket: Bucket, at: np.ndarray) -> tuple[CaseData, Array]:
        of_slot = bucket.slots[at]
        values = np.where(of_slot < 0, 0, plausibility[..., np.maximum(of_slot, 0)].reshape(-1, *of_slot.shape))
        return by_case(bucket, at), jnp.asarray(values.transpose(0, 2, 1))

    def evaluate(values: Float[Array, " slot"], data: CaseData) -> Float[Array, " annotation"]:
        # A slot that only fills the shape, or that has underflowed, takes the least positive number.
        return program.log_likelihood({PLAUSIBILITY: values, "log_ratio": log_ratios(jnp.maximum(values, 1e-37))}, data)

    def build(example: Any) -> Callable:
        by_draw = jax.vmap(evaluate, in_axes=(0, None))
        return lambda data, keys: _over_cases(by_draw, -1, -1)(data[1], data[0])

    out = np.empty((chains, draws, annotations.n_annotations), np.float32)
    chunks = run_chunks(
        build,
        inputs,
        bucket_cases(annotations, slots, concentration, fit="coarse"),
        keys,
        name=("log_likelihood", program, tuple(arguments), chains * draws),
        progress=progress,
        doing=f"Likelihoods of {program.name}",
        points=chains * draws,
    )
    for bucket, at, values in chunks:
        place = np.full(len(bucket.cases), -1)
        place[at] = np.arange(len(at))
        here = place[bucket.case] >= 0
        column = values[:, bucket.row[here], place[bucket.case[here]]]
        out[..., bucket.annotations[here]] = column.reshape(chains, draws, -1)
    return out


def maximum_likelihood(
    annotations: Annotations,
    slots: Slots,
    update: Callable[[Float[Array, " slot"], Case], Float[Array, " slot"]],
    keys: Key[Array, " case"],
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    progress: Progress,
) -> Float[np.ndarray, " slot"]:
    """Iterate a model's update of the plausibilities to its fixed point, all cases at once.

    Where annotators agree, the most probable plausibilities lie on the boundary, to which plain updates come no closer
    than one over their number. So two updates at a time are extrapolated (SQUAREM), and taken back where that led
    further from the fixed point.

    Parameters
    ----------
    annotations, slots
        The data.
    update
        One iteration for one case.
    keys
        One key per case; unused, but the engines are called alike.
    tolerance, max_iterations
        Stop when an update moves no plausibility of any case beside by more than this share of it, those below a
        millionth apart, or after so many extrapolations.
    progress
        Where to report.

    References
    ----------
    Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM
    algorithm, Scandinavian Journal of Statistics 35, scheme S3.
    """

    def distance(old: Array, new: Array) -> Array:
        logs = jnp.log(jnp.maximum(new, _LEAST)) - jnp.log(jnp.maximum(old, _LEAST))
        return jnp.where(jnp.maximum(old, new) > _SMALL, jnp.abs(logs), 0).max()

    def solve(case: Case) -> Float[Array, " slot"]:
        def unfinished(state):
            *_, change, _, i = state
            return (change > tolerance) & (i < max_iterations)

        def advance(state):
            # ``one`` is the update of ``start``; extrapolations reach at most ``longest`` times as far as it.
            start, one, change, longest, i = state
            two = update(one, case)
            x0, x1, x2 = (jnp.log(jnp.maximum(x, _LEAST)) for x in (start, one, two))
            step, bend = x1 - x0, x2 - 2 * x1 + x0
            length = jnp.linalg.norm(step) / jnp.maximum(jnp.linalg.norm(bend), _LEAST)
            length = jnp.clip(length, 1, longest)
            far = jnp.where(two > 0, jax.nn.softmax(x0 + 2 * length * step + length**2 * bend), 0)
            after = update(far, case)
            new_change = distance(far, after)
            good = jnp.isfinite(new_change) & (new_change <= 2 * change)
            longest = jnp.where(good, jnp.where(length == longest, 4 * longest, longest), jnp.maximum(longest / 4, 1))
            plain = update(two, case)
            return (
                jnp.where(good, far, two),
                jnp.where(good, after, plain),
                jnp.where(good, new_change, distance(two, plain)),
                longest,
                i + 1,
            )

        present = case.n_classes > 0
        start = present / present.sum()
        one = update(start, case)
        return jax.lax.while_loop(unfinished, advance, (start, one, distance(start, one), jnp.float32(4), 0))[1]

    out = np.empty(len(slots), np.float32)
    concentration = np.ones(len(slots), np.float32)
    chunks = run_chunks(
        lambda example: lambda data, keys: _over_cases(solve)(data),
        lambda bucket, at: cases_last(bucket.data, at),
        bucket_cases(annotations, slots, concentration, pooled=True, fit="coarse"),
        keys,
        name=("maximum likelihood", update, tolerance, max_iterations),
        progress=progress,
        doing="Maximum likelihood",
    )
    for bucket, at, values in chunks:
        case, slot = np.nonzero(bucket.slots[at] >= 0)
        out[bucket.slots[at][case, slot]] = values[slot, case]
    return out
