"""NUTS over all cases of a data set."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from plausibly._progress import Progress
from plausibly.annotations import Annotations, Slots
from plausibly.inference._batching import Bucket, bucket_cases, plan_shapes
from plausibly.inference._scheduling import Seated, run_seats
from plausibly.inference._shapes import COMPILATION, Shape, pays_to_optimise
from plausibly.inference.nuts._gaps import with_order
from plausibly.inference.nuts._sampler import Sampler, State
from plausibly.inference.program import PLAUSIBILITY, CaseData, Program, case_inputs, over_cases

# Trajectories per draw, by dimension; from there on the last. Small dimensions have short trajectories, which end close
# to where they began; and with thousands of cases, the worst of them should still have enough effective draws.
THINNING = (1, 4, 3)
MAX_TREE_DEPTH = 8  # trajectories have at most 255 leapfrog steps


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
    shapes: Sequence[Shape] | None = None,
    of_cases: int | None = None,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Draws from every case's posterior by NUTS, and statistics of the trajectories by (chain, draw, case).

    ``program`` and ``arguments`` are the model and its numerical arguments, such as the reliability; chains are per
    case, ``warmup`` and ``draws`` per chain; :class:`plausibly.inference.nuts._sampler.Sampler` has the rest of the
    settings. ``pooled``: the program's likelihood is a sum over draws, see :func:`bucket_cases`; ``buckets`` are the
    cases as the program sees them, if it is not a program of partial rankings; ``gaps``: the program is told how
    annotators order the slots, see :class:`plausibly.distributions.Gaps`. ``shapes``, by :func:`nuts_shapes`, and
    ``of_cases`` are the shapes and the number of all cases, if these are a shard of them.
    """

    def build(data: CaseData) -> Seated:
        one_case = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[:-1], a.dtype), data)
        shapes = program.latent(one_case)
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

        def advance(
            state: State, data: CaseData, keys: Key[Array, " seat"], *others: Array
        ) -> tuple[State, Array, tuple[Array, dict]]:
            of_chains = jax.vmap(lambda key: jax.random.split(key, chains))(keys)
            state = sampler.advance(state, data, of_chains, *others)
            by_draw = jax.vmap(lambda x, d: program.values(x, d, shapes)[PLAUSIBILITY], in_axes=(0, None))
            by_chain = jax.vmap(by_draw, in_axes=(-1, None), out_axes=-1)
            plausibility = over_cases(by_chain)(sampler.positions(state), data)
            return state, sampler.finished(state), (plausibility, sampler.statistics(state))

        return Seated(sampler.begin, advance)

    if buckets is None:
        if pooled and shapes is None:
            shapes = nuts_shapes(annotations, slots, chains=chains, warmup=warmup, draws=draws)
        layout = {"pooled": True, "fit": "merged", "shapes": shapes} if pooled else {}
        buckets = bucket_cases(annotations, slots, concentration, **layout)
    plausibility = np.empty((chains, draws, len(slots)), np.float32)
    statistics: dict[str, np.ndarray] = {}
    settings = chains, warmup, draws, target_acceptance, max_tree_depth
    planned = shapes or [bucket.shape for bucket in buckets]
    trajectories = chains * (warmup + draws * THINNING[-1])
    optimised = pays_to_optimise("nuts", planned, of_cases or annotations.n_cases, trajectories)
    if gaps:
        buckets = [with_order(bucket, annotations, slots) for bucket in buckets]
    chunks = run_seats(
        build,
        case_inputs(arguments),
        buckets,
        keys,
        name=("nuts", program, tuple(arguments), pooled, gaps, optimised, *settings),
        progress=progress,
        doing=f"Sampling {program.name}",
        repeated=optimised,
    )
    for bucket, at, (values, of_draws) in chunks:
        case, slot = np.nonzero(bucket.slots[at] >= 0)
        plausibility[:, :, bucket.slots[at][case, slot]] = values[:, slot, :, case].transpose(2, 1, 0)
        for name, column in of_draws.items():
            column = column.transpose(1, 0, 2)
            to = statistics.setdefault(name, np.empty((chains, draws, annotations.n_cases), column.dtype))
            to[:, :, bucket.cases[at]] = column
    return plausibility, statistics


def nuts_shapes(annotations: Annotations, slots: Slots, *, chains: int, warmup: int, draws: int) -> tuple[Shape, ...]:
    """Shapes that :func:`nuts` is compiled for where likelihoods are pooled; elsewhere there is no padding."""
    trajectories = chains * (warmup + draws * THINNING[-1])
    return plan_shapes(annotations, slots, worth=COMPILATION["nuts"] / trajectories, pooled=True)


def no_trajectories(shape: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """What :func:`nuts` would say of exact draws, by (chain, draw, case)."""
    kinds = {"diverging": bool, "n_steps": np.int32, "tree_depth": np.int32, "energy": np.float32}
    zeros = {name: np.zeros(shape, kind) for name, kind in kinds.items()}
    return zeros | {"acceptance_rate": np.ones(shape, np.float32)}
