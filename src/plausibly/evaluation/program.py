"""The compiled program of an evaluation: from the draws of a block of cases to sums.

Lists are ranked, remainders split, metrics counted and summed over the cases of the block, and over draws, in one
program. Only sums leave it, whole numbers as whole numbers. The point estimate is its last draw, apart from the sums.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from plausibly.base.random_streams import Stream, exponentials
from plausibly.evaluation.ambiguity import ambiguity
from plausibly.metrics import METRICS
from plausibly.metrics.certainties import most_frequent
from plausibly.metrics.risk import N_LEVELS
from plausibly.posterior.blocks import Block
from plausibly.posterior.ranked_lists import rank_block
from plausibly.posterior.split_remainder import split_among_all, split_among_some


class Plan(NamedTuple):
    """What a program computes."""

    n_classes: int
    depth: int  #: Length of the lists
    #: What is wanted of lists, metrics and lengths: what is summed in whole numbers, and what in floats
    counts: tuple[tuple[str, int], ...]
    amounts: tuple[tuple[str, int], ...]
    sizes: tuple[int, ...]  #: Sizes of the sets whose certainty is wanted
    own: tuple[Callable[..., Any], ...]  #: The user's own metrics
    parts: int  #: In how many parts to sum over the draws, so that no whole number overflows
    rounds: int  #: Number of bootstrap weights of a case in each draw, 0 for none
    n_by: int  #: Number of groups of cases to sum within, too
    best: bool  #: Whether the most plausible classes are wanted
    break_ties: str = "order"
    weighted: bool = False  #: Whether cases are weighed


def measure_block(block: Block, given: dict[str, Any], plan: Plan) -> dict[str, Array]:
    """Measure all classifiers on the cases of a block.

    Parameters
    ----------
    block
        All draws, and the point estimate as one more.
    given
        ``real`` (case,), 0 for those that only fill the block; ``shares`` (3, case) of :func:`share_entropies`; with
        classifiers, ``predicted`` (classifier, place, case) and ``cover`` (tail, coefficient, classes), polynomials for
        all but so many classes together; with metrics of the user's own, ``scores`` (classifier, case, class); with
        weights, ``weights`` (case, draw); with rounds, ``cluster`` (case, 2), the random keys of the clusters of
        the cases; with groups, ``member`` (group, case), 1 for those within; with risks, ``risks`` (class,) and
        ``risk`` (tail, coefficient, level, named), polynomials for the classes of a level of which so many are named.
    plan
        What to compute.

    Returns
    -------
    dict
        Sums over cases ``counts`` (classifier, group, row, draw) and, in floats, ``amounts``, also of the user's own
        metrics, likewise; those at the point estimate, ``counts_point`` and ``amounts_point`` (classifier, group, row);
        those over draws, ``counts_by_case`` (classifier, part, row, case) and ``amounts_by_case``; those of means over
        draws with bootstrap weights, ``counts_sampling`` (classifier, group, row, round, draw) and
        ``amounts_sampling``; those with a sign for each case, ``counts_signed`` (classifier, group, row, draw) and
        ``amounts_signed``; ``weight`` (group, draw), ``weight_point`` (group,), ``weight_sampling`` (group, round,
        draw) and ``weight_signed`` (group, draw); and by case ``certain`` (size, case), ``case_weight``, and what
        :func:`ambiguity` and :func:`_risk_by_case` find. Of the groups asked for there are no sums with bootstrap
        weights: with groups, these weights are ``resampled`` (round, case, draw). ``best`` (case, draw) are the most
        plausible classes, if they are wanted, and then these weights are there, too.
    """
    lists = rank_block(block, plan.depth, plan.n_classes, plan.break_ties)
    draws = lists[..., :-1]
    found: dict[str, Array] = {}
    if plan.sizes:
        found["certain"] = jnp.stack([most_frequent(draws[:size], plan.n_classes) for size in plan.sizes])
    if plan.best:
        found["best"] = lists[0]
    found |= ambiguity(block, given["shares"])
    real = given["real"][:, None]
    groups = [given["weights"] * real if plan.weighted else jnp.broadcast_to(real, draws.shape[1:])]
    if plan.weighted:
        found["case_weight"] = jnp.mean(given["weights"], axis=1)
    if "risks" in given:
        found |= _risk_by_case(draws[0], level_plausibility(block, given["risks"], given["risk"])[..., :-1], given)
    at_point = jnp.mean(jnp.stack(groups).astype(jnp.float32), axis=2)
    if plan.n_by:
        at_point = jnp.concatenate([at_point, given["member"] * at_point[0]])

    def with_members(of_groups: list[Array], of_members: Array | None) -> Array:
        """Append the sums over the cases of each group asked for; whole numbers stay whole."""
        stacked = jnp.stack(of_groups)
        if of_members is None:
            return stacked
        whole = jnp.issubdtype(stacked.dtype, jnp.integer)
        return jnp.concatenate([stacked, (jnp.round(of_members) if whole else of_members).astype(stacked.dtype)])

    resampled = _bootstrap_weights(given, block.draw[:-1], plan.rounds) if plan.rounds else None
    sign = 1 - 2 * (given["cluster"][:, 1] & 1).astype(jnp.int32) if plan.rounds else None

    def summed(values: Array, name: str) -> dict[str, Array]:
        """Sums of values (…, case, draw) over cases and over draws, with bootstrap weights, and with signs of cases."""
        weighed = [values[..., :-1] * group for group in groups]
        members = signed_members = None
        if plan.n_by:  # in one pass
            member = given["member"] if sign is None else jnp.concatenate([given["member"], given["member"] * sign])
            both = _over_members(member, weighed[0])
            members, signed_members = both[: plan.n_by], both[plan.n_by :]
        by_case = [jnp.sum(part, axis=-1) for part in jnp.array_split(weighed[0], plan.parts, axis=-1)]
        weights_at_point = at_point.reshape(len(at_point), *[1] * (values.ndim - 2), -1)
        point = jnp.sum(values[..., -1].astype(jnp.float32) * weights_at_point, axis=-1)  # the same with other groups
        sums = {f"{name}_by_case": jnp.stack(by_case), f"{name}_point": point}
        sums[name] = with_members([jnp.sum(of, axis=-2) for of in weighed], members)
        if resampled is not None and sign is not None:
            means = [jnp.mean(of, axis=-1) for of in weighed]
            sampled = [jnp.einsum("...c,rcd->...rd", of, resampled, precision="highest") for of in means]
            sums[f"{name}_sampling"] = jnp.stack(sampled)
            signed = [jnp.sum(of * sign[:, None], axis=-2) for of in weighed]
            sums[f"{name}_signed"] = with_members(signed, signed_members)
        return sums

    found |= summed(jnp.ones(lists.shape[1:], jnp.int32), "weight")
    del found["weight_by_case"]
    if resampled is not None and (plan.n_by or plan.best):
        found["resampled"] = resampled
    if "predicted" not in given:
        return found

    def counted(predicted: Int[Array, "place case"]) -> dict[str, Array]:
        rows = [METRICS[metric].count(predicted[:k, :, None], lists[:k]) for metric, k in plan.counts]
        return summed(jnp.stack([jnp.broadcast_to(row, lists.shape[1:]) for row in rows]), "counts")

    every = split_among_all(block, plan.n_classes) if plan.own or block.concentration.ndim else None
    table, places = _of_listed(block, given, every)

    def amounts(of: tuple[Array, ...]) -> dict[str, Array]:
        predicted, place, scores = of
        masses = _at(table, place)
        rows = []
        for metric, k in plan.amounts:
            other = masses if METRICS[metric].of_masses else lists
            row = METRICS[metric].count(predicted[:k, :, None], other[:k]).astype(jnp.float32)
            rows.append(jnp.broadcast_to(row, lists.shape[1:]))
        for function in plan.own:
            over_draws = jax.vmap(function, in_axes=(None, 1))
            rows.append(jax.vmap(over_draws, in_axes=(0, 1))(scores, every))
        return summed(jnp.stack(rows), "amounts")

    scores = given.get("scores", jnp.zeros((len(places), 0)))
    if plan.counts:
        found |= lax.map(counted, given["predicted"])
    if plan.amounts or plan.own:
        found |= lax.map(amounts, (given["predicted"], places, scores))
    return found


def values_by_draw(
    block: Block,
    given: dict[str, Any],
    metric: str,
    k: int,
    function: Callable[..., Any] | None,
    n_classes: int,
    break_ties: str,
) -> Float[Array, "classifier case draw"]:
    """Values of one metric by classifier, case and draw; the point estimate is last along the draws.

    The metric is one of lists of length k, or the user's own `function`; inputs are those of :func:`measure_block`.
    """
    every = split_among_all(block, n_classes) if function is not None or block.concentration.ndim else None
    if function is not None:
        over_draws = jax.vmap(function, in_axes=(None, 1))
        return lax.map(lambda scores: jax.vmap(over_draws, in_axes=(0, 1))(scores, every), given["scores"])
    declared, predicted = METRICS[metric], given["predicted"]
    if declared.of_masses:
        truth, places = _of_listed(block, given, every)
    else:
        truth, places = rank_block(block, k, n_classes, break_ties), predicted

    def compared(of: tuple[Array, Array]) -> Float[Array, "case draw"]:
        listed, place = of
        other = _at(truth, place) if declared.of_masses else truth
        values = declared.value(lambda j: declared.count(listed[:j, :, None], other[:j]).astype(jnp.float32), k)
        return jnp.broadcast_to(values, block.values.shape[1:])

    return lax.map(compared, (predicted, places))


def _bootstrap_weights(given, draw, rounds) -> Float[Array, "round case draw"]:
    """Standard exponential variables, Dirichlet(1) once divided by their sum, the same for a whole cluster."""
    return lax.map(lambda number: exponentials(given["cluster"][:, None], draw, number), jnp.arange(rounds))


def _over_members(
    member: Float[Array, "group case"], values: Float[Array, "*shape case draw"]
) -> Float[Array, "group *shape draw"]:
    """Sums over the cases of each group, matrix by matrix, as arrays of all of them would have to be turned around."""
    each = values.reshape(-1, *values.shape[-2:])
    summed = lax.map(lambda one: jnp.matmul(member, one.astype(jnp.float32), precision="highest"), each)
    return jnp.moveaxis(summed.reshape(*values.shape[:-2], *summed.shape[1:]), -2, 0)


def _at(table: Float[Array, "row case draw"], place: Int[Array, "place case"]) -> Float[Array, "place case draw"]:
    return jax.vmap(lambda rows, at: rows[at], (1, 1), 1)(table, place)


def _of_listed(block, given, every) -> tuple[Float[Array, "row case draw"], Int[Array, "classifier place case"]]:
    """Plausibilities of the named classes, then of the unnamed ones listed, and the row of each listed class."""
    predicted = given["predicted"]
    listed = predicted.reshape(-1, predicted.shape[-1])  # (listing, case)
    is_named = jnp.any(listed[:, None] == block.named, axis=1)
    earlier = jnp.tril(jnp.ones((len(listed), len(listed)), bool), -1)
    again = jnp.any((listed[:, None] == listed[None]) & earlier[..., None], axis=1)
    new = ~is_named & ~again & (listed >= 0)  # unnamed ones listed first there; -1 is no answer
    uneven = block.concentration.ndim > 0
    unnamed = _unnamed_among(block, listed, every) if uneven else _unnamed(block, listed, new, given["cover"])
    named = jnp.argmax(listed[:, None] == block.named, axis=1)
    first = jnp.argmax(listed[:, None] == listed[None], axis=1) + len(block.named)
    return jnp.concatenate([block.values, unnamed]), jnp.where(is_named, named, first).reshape(predicted.shape)


def _unnamed(block, listed, new, cover) -> Float[Array, "listing case draw"]:
    """Plausibilities of unnamed classes that some classifier lists.

    These get Dirichlet shares of the remainder, one each, all others together what is left; at the point estimate, the
    last draw, the shares that are expected.
    """
    if block.largest_share is None:
        return jnp.zeros((*listed.shape, len(block.draw)), jnp.float32)
    own = jnp.where(new, block.concentration, 0)
    n_others = jnp.maximum(block.n_unnamed - jnp.sum(new, axis=0), 0)
    shapes = jnp.concatenate([own, block.concentration * n_others[None]])
    alone = jnp.broadcast_to(block.polynomial[..., None, None], (*cover.shape[:2], *listed.shape))
    together = cover[..., block.n_named + jnp.sum(new, axis=0)]
    polynomials = jnp.concatenate([alone, together[:, :, None]], axis=2)
    expected = jnp.where(new, 1 / jnp.maximum(block.n_unnamed, 1), 0)
    shares = lax.cond(
        jnp.any(block.rest > 0),
        lambda: split_among_some(block.words[Stream.COVERAGE], block.draw, shapes, polynomials)[:-1],
        lambda: jnp.zeros((*listed.shape, len(block.draw)), jnp.float32),
    )
    return shares.at[..., -1].set(expected) * block.rest


def _unnamed_among(block, listed, every) -> Float[Array, "listing case draw"]:
    """The same where classes are not equally likely, from the plausibilities of all of them."""
    case = jnp.arange(block.named.shape[1])
    unnamed = jnp.ones((len(every), len(case)), bool).at[block.named, case].set(False, mode="drop")
    shapes = jnp.where(unnamed, block.concentration[:, None], 0)
    expected = jnp.take_along_axis(shapes / jnp.maximum(jnp.sum(shapes, axis=0), 1e-30), listed, axis=0)
    own = jnp.take_along_axis(every, listed[..., None], axis=0)
    expected, own = jnp.where(listed < 0, 0, expected), jnp.where(listed[..., None] < 0, 0, own)
    return own.at[..., -1].set(expected * block.rest[:, -1])


def level_plausibility(
    block: Block, risks: Int[Array, " class"], polynomials: Float[Array, "tail coefficient level named"]
) -> Float[Array, "level case draw"]:
    """Sum of the plausibilities of the classes of each risk level.

    The remainder's mass falls on the levels as Dirichlet(concentration · number of unnamed classes of the level), which
    is how Dirichlet(concentration · 1) over the classes adds up within levels.
    """
    if block.concentration.ndim:
        every = split_among_all(block, len(risks))
        return jnp.stack([jnp.sum(jnp.where((risks == at)[:, None, None], every, 0), axis=0) for at in range(N_LEVELS)])
    levels = jnp.arange(N_LEVELS)
    member = risks.at[block.named].get(mode="fill", fill_value=-1)[:, None] == levels[:, None]  # (slot, level, case)
    n_named = jnp.sum(member, axis=0)
    n_of_level = jnp.sum(risks == levels[:, None], axis=1)[:, None] - n_named
    own = polynomials[:, :, levels[:, None], n_named]
    shares = split_among_some(block.words[Stream.RISK], block.draw, block.concentration * n_of_level, own)
    return jnp.sum(jnp.where(member[..., None], block.values[:, None], 0), axis=0) + shares * block.rest


def _risk_by_case(best, levels, given) -> dict[str, Array]:
    """Sums over draws of what the risks of a case are made of."""
    level = jnp.arange(N_LEVELS)[:, None, None]
    expected = jnp.sum(levels * level, axis=0)
    return {
        "of_best": jnp.sum(given["risks"][best] == level, axis=2),
        "of_greatest": jnp.sum(jnp.argmax(levels, axis=0) == level, axis=2),
        "risk_plausibility": jnp.mean(levels, axis=2),
        "expected_risk_min": jnp.min(expected, axis=1),
        "expected_risk_max": jnp.max(expected, axis=1),
        "expected_risk_mean": jnp.mean(expected, axis=1),
    }
