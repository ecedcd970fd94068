"""NUTS over all cases of a data set."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Key
from numpyro.infer import MCMC, NUTS, init_to_value

from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.distributions import Order
from plausibly.inference._batching import Bucket, bucket_cases, plan_shapes
from plausibly.inference._scheduling import Seated, run_seats
from plausibly.inference._shapes import COMPILATION, Shape, pays_to_optimise
from plausibly.inference.nuts._sampler import Sampler, State
from plausibly.inference.program import PLAUSIBILITY, CaseData, Program, case_inputs, over_cases

MOST = 32  #: slots; the sampler knows the whole covariance of so many, and more occur seldom


def _wins(bucket: Bucket, annotations: Annotations, slots: Slots) -> Float[np.ndarray, "case slot slot"]:
    """How often each slot of a case was preferred to each other one; one that only fills the shape never is."""
    n, width = bucket.slots.shape
    within = np.zeros(annotations.n_annotations, bool)
    within[bucket.annotations] = True
    entry = np.flatnonzero(within[annotations.entry_annotation])
    case = annotations.entry_case[entry]
    slot = slots.find(case, annotations.entry_class[entry]) - slots.start[case]
    unranked = np.iinfo(np.int16).max
    position = np.full((annotations.n_annotations, width), unranked, np.int16)
    position[annotations.entry_annotation[entry], slot] = annotations.entry_block[entry]
    position = position[bucket.annotations]
    wins = np.zeros((n, width, width), np.float32)
    np.add.at(wins, bucket.case, position[:, :, None] < position[:, None, :])
    return wins * (bucket.slots >= 0)[:, None, :]


def _order(wins: Float[np.ndarray, "case slot slot"], real: Bool[np.ndarray, "case slot"]) -> Order:
    """Order slots by the share of comparisons that they win; what only fills the shape goes first, above nothing."""
    n, width, _ = wins.shape
    compared = wins + wins.transpose(0, 2, 1)
    share = np.where(real, wins.sum(2) / np.maximum(compared.sum(2), 1), 2)
    order = np.argsort(-share, axis=1, kind="stable")
    at = np.arange(n)[:, None, None], order[:, :, None], order[:, None, :]
    wins, compared, real = wins[at], compared[at] > 0, real[np.arange(n)[:, None], order]
    # From the bottom up, a place joins the group next to it unless it was compared to one of its members. Slots about
    # which annotators disagree do not: a third slot may hold them close together though they were never compared.
    disputed = ((wins > 0) & (wins.transpose(0, 2, 1) > 0)).any(2)
    first = np.broadcast_to(np.arange(width), (n, width)).copy()
    for place in range(width - 3, -1, -1):
        group = first == first[:, place + 1, None]
        joins = real[:, place] & real[:, place + 1] & ~(compared[:, place] & group).any(1)
        joins &= ~disputed[:, place] & ~disputed[:, place + 1]
        first[:, place] = np.where(joins, first[:, place + 1], place)
    group = (first[:, None, :] == np.arange(width)[:, None]) & real[:, None, :]
    below = (first[:, None, :] > first[:, :, None]) & real[:, :, None] & real[:, None, :]
    sharp = (compared & below).any(2)
    against = (((wins.transpose(0, 2, 1) > 0) | ~compared) & below).any(2)
    # A group's row is that of its lowest place; the rows of its other members are empty.
    return Order(
        order[:, :, None] == np.arange(width),
        group[:, :-1, :-1],
        below[:, :-1, :-1] & sharp[:, :-1, None],
        sharp[:, :-1],
        (sharp & ~against)[:, :-1],
    )


def with_order(bucket: Bucket, annotations: Annotations, slots: Slots) -> Bucket:
    """Add to each case the order in which its slots are preferred; cases of very many slots are left as they are."""
    if bucket.shape.slots > MOST:
        return bucket
    order = _order(_wins(bucket, annotations, slots), bucket.slots >= 0)
    return replace(bucket, data=bucket.data._replace(order=order))


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


#: Statistics that NumPyro's sampler has of each draw, and what ArviZ calls them.
STATISTICS = {"diverging": "diverging", "num_steps": "n_steps", "energy": "energy", "accept_prob": "acceptance_rate"}


def nuts_of_all_cases(
    program: Callable[..., None],
    given: Any,
    start: Mapping[str, np.ndarray],
    sites: Iterable[str],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    target_accept: float,
) -> tuple[dict[str, Float[np.ndarray, "chain draw *shape"]], Bool[np.ndarray, "chain draw"]]:
    """Draws of sites of ``program(given)``, whose chains start at values, and which trajectories diverged."""
    kernel = NUTS(program, target_accept_prob=target_accept, init_strategy=init_to_value(values=dict(start)))
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(seed), given, extra_fields=("diverging",))
    found = mcmc.get_samples(group_by_chain=True)
    diverging = np.asarray(mcmc.get_extra_fields(group_by_chain=True)["diverging"])
    return {name: np.asarray(found[name], np.float32) for name in sites}, diverging
