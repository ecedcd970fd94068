"""NUTS over all cases of a data set."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Key, Shaped
from numpyro.infer import MCMC, NUTS, init_to_value

from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.distributions import Order
from plausibly.inference._batching import Bucket, bucket_cases, count_shapes, plan_shapes
from plausibly.inference._scheduling import Seated, run_seats
from plausibly.inference._shapes import COMPILATION, Group, Shape, grouped, pays_to_optimise, with_room
from plausibly.inference.nuts._grouped import Grouped, GroupedProgram, group_buckets, with_rows
from plausibly.inference.nuts._sampler import Sampler, State
from plausibly.inference.program import PLAUSIBILITY, Program, case_inputs, over_cases

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


def _whole(bucket: Bucket) -> tuple[tuple[int, ...], ...]:
    return tuple(leaf.shape[1:] for leaf in jax.tree.leaves(bucket.data))


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
    shapes: Sequence[Shape | Group] | None = None,
    of_cases: int | None = None,
    sites: dict[str, dict[int, np.ndarray]] | None = None,
    progress: Progress,
) -> tuple[Float[np.ndarray, "chain draw slot"], dict[str, np.ndarray]]:
    """Draws from every case's posterior by NUTS, and statistics of the trajectories by (chain, draw, case).

    ``program`` and ``arguments`` are the model and its numerical arguments, such as the reliability; chains are per
    case, ``warmup`` and ``draws`` per chain; :class:`plausibly.inference.nuts._sampler.Sampler` has the rest of the
    settings. ``pooled``: the program's likelihood is a sum over draws, see :func:`bucket_cases`; ``buckets`` are the
    cases as the program sees them, if it is not a program of partial rankings; ``gaps``: the program is told how
    annotators order the slots, see :class:`plausibly.distributions.Gaps`. ``shapes``, by :func:`nuts_shapes`, and
    ``of_cases`` are the shapes and the number of all cases, if these are a shard of them. ``sites``, if any, is filled
    with draws (chain, draw, …) of the further sites of the program, by name and number of the case.
    """

    def build(data: Grouped) -> Seated:
        grouped = GroupedProgram(program, jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[:-1], a.dtype), data))
        dim = grouped.dim
        sampler = Sampler(
            grouped.potential,
            dim=dim,
            thinning=THINNING[min(dim, len(THINNING) - 1)],
            chains=chains,
            warmup=warmup,
            draws=draws,
            target_acceptance=target_acceptance,
            max_tree_depth=max_tree_depth,
        )

        def values(x: Float[Array, " dim"], data: Grouped) -> dict[str, Any]:
            found = grouped.values(x, data)
            return found if sites is not None else {PLAUSIBILITY: found[PLAUSIBILITY]}

        def advance(
            state: State, data: Grouped, keys: Key[Array, " seat"], *others: Array
        ) -> tuple[State, Array, tuple[dict[str, Any], dict]]:
            of_chains = jax.vmap(lambda key: jax.random.split(key, chains))(keys)
            state = sampler.advance(state, data, of_chains, *others)
            by_draw = jax.vmap(values, in_axes=(0, None))
            by_chain = jax.vmap(by_draw, in_axes=(-1, None), out_axes=-1)
            return (
                state,
                sampler.finished(state),
                (over_cases(by_chain)(sampler.positions(state), data), sampler.statistics(state)),
            )

        return Seated(sampler.begin, advance)

    trajectories, n_cases = chains * (warmup + draws * THINNING[-1]), of_cases or annotations.n_cases
    if buckets is None:
        if shapes is None:
            shapes = nuts_shapes(annotations, slots, chains=chains, warmup=warmup, draws=draws, pooled=pooled)
        layout = {"pooled": True, "fit": "merged", "shapes": shapes} if pooled else {}
        buckets = bucket_cases(annotations, slots, concentration, **layout)
    if gaps:
        buckets = [with_order(bucket, annotations, slots) for bucket in buckets]
    groups: dict[Any, Any] = {}
    planned = [group for group in shapes or () if isinstance(group, Group)]
    for group in planned:
        fits = [(bucket, group.fitting(bucket.shape)) for bucket in buckets if isinstance(bucket.shape, Shape)]
        if own := [with_rows(bucket, shape) for bucket, shape in fits if shape is not None]:
            groups[group] = group_buckets(own, group)
    if planned:
        alone = [shape._replace(sets=0, ties=()) for group in planned for shape in group.shapes]
        optimised = pays_to_optimise("nuts", alone, n_cases // len(planned), trajectories)
    else:
        groups = {bucket.shape: (bucket, np.zeros(len(bucket.cases), int), (_whole(bucket),)) for bucket in buckets}
        every = [shape for shape in shapes or groups if isinstance(shape, Shape)]
        optimised = pays_to_optimise("nuts", every, n_cases, trajectories)
    by_case = case_inputs(arguments)

    def inputs(bucket: Bucket, at: np.ndarray) -> Grouped:
        _, number, sizes = groups[bucket.shape]
        return Grouped(by_case(bucket, at), number[at].astype(np.int32), sizes)

    plausibility = np.empty((chains, draws, len(slots)), np.float32)
    statistics: dict[str, np.ndarray] = {}
    settings = chains, warmup, draws, target_acceptance, max_tree_depth
    chunks = run_seats(
        build,
        inputs,
        [bucket for bucket, *_ in groups.values()],
        keys,
        name=("nuts", program, tuple(arguments), pooled, gaps, sites is not None, optimised, *settings),
        progress=progress,
        doing=f"Sampling {program.name}",
        repeated=optimised,
    )
    for bucket, at, (values, of_draws) in chunks:
        case, slot = np.nonzero(bucket.slots[at] >= 0)
        found, _ = values.pop(PLAUSIBILITY)
        plausibility[:, :, bucket.slots[at][case, slot]] = found[:, slot, :, case].transpose(2, 1, 0)
        for name, column in of_draws.items():
            column = column.transpose(1, 0, 2)
            to = statistics.setdefault(name, np.empty((chains, draws, annotations.n_cases), column.dtype))
            to[:, :, bucket.cases[at]] = column
        for name, (column, sizes) in values.items():
            column, sizes = np.moveaxis(column, (-2, 0), (0, 1)), sizes[0, :, 0]
            for place, number in enumerate(bucket.cases[at].tolist()):
                known, *size = sizes[:, place]
                if known and sites is not None:
                    own = column[(slice(None), slice(None), *map(slice, size), place)]
                    sites.setdefault(name, {})[number] = own
    return plausibility, statistics


def nuts_shapes(
    annotations: Annotations, slots: Slots, *, chains: int, warmup: int, draws: int, pooled: bool, split: bool = False
) -> tuple[Shape | Group, ...]:
    """Shapes that :func:`nuts` is compiled for: padded where likelihoods are pooled, and groups of them elsewhere.

    ``split``: the program takes one annotation that occurs n times for two that occur n / 2 times, so that there may be
    more rows of them than cases need.
    """
    worth = COMPILATION["nuts"] / (chains * (warmup + draws * THINNING[-1]))
    if pooled:
        return plan_shapes(annotations, slots, worth=worth, pooled=True)
    counts = count_shapes(annotations, slots)
    return grouped(with_room(counts) if split else counts, worth)


def no_trajectories(shape: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """What :func:`nuts` would say of exact draws, by (chain, draw, case)."""
    kinds = {"diverging": bool, "n_steps": np.int32, "tree_depth": np.int32, "energy": np.float32}
    zeros = {name: np.zeros(shape, kind) for name, kind in kinds.items()}
    return zeros | {"acceptance_rate": np.ones(shape, np.float32)}


#: Statistics that NumPyro's sampler has of each draw, and what ArviZ calls them.
STATISTICS = {"diverging": "diverging", "num_steps": "n_steps", "energy": "energy", "accept_prob": "acceptance_rate"}


def nuts_of_all_cases(
    program: Callable[..., None],
    given: tuple[Any, ...],
    sites: Iterable[str],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    target_accept: float,
    start: Mapping[str, np.ndarray] | None = None,
    progress: bool = False,
) -> tuple[dict[str, Float[np.ndarray, "chain draw *shape"]], dict[str, Shaped[np.ndarray, "chain draw"]]]:
    """Draws of sites of ``program(*given)``, and :data:`STATISTICS` of trajectories; chains may start at values."""
    first = {} if start is None else {"init_strategy": init_to_value(values=dict(start))}
    mcmc = MCMC(
        NUTS(program, target_accept_prob=target_accept, **first),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=progress,
    )
    mcmc.run(jax.random.key(seed), *given, extra_fields=tuple(STATISTICS))
    found, fields = mcmc.get_samples(group_by_chain=True), mcmc.get_extra_fields(group_by_chain=True)
    statistics = {ours: np.asarray(fields[theirs]) for theirs, ours in STATISTICS.items()}
    return {name: np.asarray(found[name], np.float32) for name in sites}, statistics
