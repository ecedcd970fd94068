"""The compiled program of an evaluation: from the draws of a block of cases to sums.

Lists are ranked, remainders split, metrics counted and summed over the cases of the block, and over draws, in one
program. Only sums leave it; whole numbers up to 2²⁴ are exact in them. The point estimate is the last draw.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from plausibly.base.random_streams import Stream, random_bits
from plausibly.evaluation.ambiguity import ambiguity
from plausibly.evaluation.experts import Answers, Panels
from plausibly.metrics import METRICS
from plausibly.metrics.certainties import most_frequent
from plausibly.metrics.risk import N_LEVELS
from plausibly.posterior.blocks import Block
from plausibly.posterior.ranked_lists import rank_block
from plausibly.posterior.split_remainder import split_among_all, split_among_some, uniform

_FEW = 256  # pairs of an expert and a class that one expression compares
_FEW_CLASSES = 64  # whose shares are added up in one expression
_LEAST = 1e-9  # plausibility below which a class counts as this plausible


class Plan(NamedTuple):
    """What a program computes."""

    n_classes: int
    depth: int  #: Length of the lists
    rows: tuple[tuple[str, int], ...]  #: Metrics of lists, and lengths, whose counts are wanted
    sizes: tuple[int, ...]  #: Sizes of the sets whose certainty is wanted
    own: tuple[Callable[..., Any], ...]  #: The user's own metrics
    best: bool  #: Whether the most plausible classes are wanted
    break_ties: str = "order"
    panel: int = 0  #: Experts of the panels whose decisions are wanted instead; 0 for none
    these: tuple[int, ...] = ()  #: Ascending sizes of panels, drawn from shares alone, whose decisions are wanted
    median: bool = False  #: Whether a panel decides on the median of grades


def measure_block(block: Block, given: dict[str, Any], plan: Plan) -> dict[str, Array]:
    """Measure all classifiers on the cases of a block.

    Parameters
    ----------
    block
        All draws, and the point estimate as one more.
    given
        ``shares`` (3, case) of :func:`share_entropies`; with classifiers, ``predicted`` (classifier, place, case) and
        ``cover`` (tail, coefficient, classes), polynomials for all but so many classes together, ``weights`` (case,
        draw) or (case, 1), ``signs`` (sign, case), with which cases count, 0 for those that only fill the block, and
        ``member`` (group, case), 1 for those within each group asked for; with metrics of the user's own, ``scores``
        (classifier, case, class); with risks, ``risks`` (class,) and ``risk`` (tail, coefficient, level, named),
        polynomials for the classes of a level of which so many are named.
    plan
        What to compute.

    Returns
    -------
    dict
        ``sums`` over cases (classifier, row, sign, group, draw), all cases being the first group, of the counts of
        lists, and after them the metrics of the user's own; ``rows`` (classifier, row, case), sums over draws without
        the point estimate; and by case ``certain`` (size, case), and what :func:`ambiguity` and :func:`_risk_by_case`
        find. ``best`` (case, draw) are the most plausible classes, if they are wanted, or what the panels decide, of
        the experts in ``panels`` of `given`, or of those who gave the ``answers`` and more like them; ``these``
        (size, case, draw) what panels drawn from the shares decide.
    """
    lists = rank_block(block, plan.depth, plan.n_classes, plan.break_ties)
    draws = lists[..., :-1]
    found: dict[str, Array] = {}
    if plan.sizes:
        found["certain"] = jnp.stack([most_frequent(draws[:size], plan.n_classes) for size in plan.sizes])
    if plan.these:
        found["these"] = jnp.stack(panel_decisions(block, plan.these, plan.n_classes, median=plan.median))
    if plan.best and plan.panel:
        experts = {name: given[name] for name in ("panels", "answers") if name in given}
        (found["best"],) = panel_decisions(block, (plan.panel,), plan.n_classes, **experts, median=plan.median)
    elif plan.best:
        found["best"] = lists[0]
    found |= ambiguity(block, given["shares"])
    if "risks" in given:
        found |= _risk_by_case(draws[0], level_plausibility(block, given["risks"], given["risk"])[..., :-1], given)

    def summed(rows: Float[Array, "row case draw"]) -> dict[str, Array]:
        weighed = rows * given["weights"]
        sums = jnp.stack([jnp.sum(weighed * sign[:, None], axis=1) for sign in given["signs"]], axis=1)[:, :, None]
        if len(given["member"]):  # matrix by matrix, as arrays of all of them would have to be turned around
            member = jnp.concatenate([given["member"] * sign for sign in given["signs"]])
            of_groups = lax.map(lambda row: jnp.matmul(member, row, precision="highest"), weighed)
            of_groups = of_groups.reshape(*sums.shape[:2], -1, weighed.shape[-1])
            sums = jnp.concatenate([sums, of_groups], axis=2)
        return {"sums": sums, "rows": jnp.sum(weighed[..., :-1], axis=-1)}

    if "predicted" in given:
        found |= _by_classifier(block, given, plan.rows, plan.own, lists, plan.n_classes, summed)
    return found


def panel_decisions(
    block: Block,
    sizes: Sequence[int],
    n_classes: int,
    panels: Panels | None = None,
    answers: Answers | None = None,
    *,
    median: bool = False,
) -> list[Int[Array, "case draw"]]:
    """What panels decide in every case and draw: the class that most of the experts name or, of grades, the median.

    Each expert names a class by her shares, which are those of the case for the annotators themselves; some of the
    experts are those who gave the `answers`. Panels of ascending `sizes` are the first experts of the largest. Of
    classes with as many votes, one is chosen by which of the experts named it, who are alike (or in a random place); of
    the two grades in the middle of an even number, likewise.
    """
    values = jnp.maximum(split_among_all(block, n_classes), _LEAST)
    logs = None if panels is None else jnp.log(values)
    more = np.random.default_rng(0).random(sizes[-1]) / (2 * sizes[-1])  # than a vote; sums of as many differ
    unroll = n_classes <= _FEW_CLASSES or 1
    few = n_classes * sizes[-1] <= _FEW  # one expression, of which no array of all classes is kept

    def label(number: Array, own: Panels | None) -> Int[Array, "case draw"]:
        weights = values if own is None else jnp.exp(own.power * logs + own.strictness[:, None])
        bits, _ = random_bits(block.words[Stream.PANELS][:, None], block.draw, number)
        at = uniform(bits) * jnp.sum(weights, axis=0)

        def add(state, weight):
            total, below = state
            return (total + weight, below + (total + weight < at)), None

        return lax.scan(add, (jnp.zeros_like(at), jnp.zeros(at.shape, jnp.int32)), weights[:-1], unroll=unroll)[0][1]

    experts = jnp.arange(sizes[-1]), None if panels is None else Panels(*(of[: sizes[-1]] for of in panels))
    labels = lax.scan(lambda _, one: (None, label(*one)), None, experts, unroll=few)[1]
    sign: Any = 1.0
    if answers is not None:
        labels, sign = _with_answers(block, answers, labels)

    def cast(counted, one):  # of many, a pass for each expert is faster than one for each class
        return counted + (1 + sign * one[0]) * (one[1] == jnp.arange(n_classes)[:, None, None]), None

    def decided(size: int) -> Int[Array, "case draw"]:
        own = jnp.array(more[:size], jnp.float32), labels[:size]
        every = None if few else lax.scan(cast, jnp.zeros_like(values), own)[0]

        def count(number: Array) -> Any:
            if every is not None:
                return every[number]
            return sum((1 + sign * more) * (label == number) for more, label in zip(*own, strict=True))

        def lead(state, number):
            (best, most), votes = state, count(number)
            return (jnp.where(votes > most, number, best), jnp.maximum(votes, most)), None

        def reach(state, number):
            below, so_far = state
            so_far += count(number)
            return (below + (so_far < (size + sign * more[:size].sum()) / 2), so_far), None

        nothing = jnp.zeros(labels.shape[1:], jnp.int32), jnp.zeros(labels.shape[1:], jnp.float32)
        found = lax.scan(reach if median else lead, nothing, jnp.arange(n_classes - median), unroll=few)
        return found[0][0]

    return [decided(size) for size in sizes]


def _with_answers(
    block: Block, answers: Answers, labels: Int[Array, "expert case draw"]
) -> tuple[Int[Array, "expert case draw"], Float[Array, "case draw"]]:
    """Put what annotators said in place of as many labels, and draw a sign with which any two of them are alike.

    Those of more than a panel are a run of their random order, as is the place of all in the panel; of tied classes,
    any is chosen.
    """
    words, case, n_known = block.words[Stream.PANELS][:, None], np.arange(labels.shape[1])[:, None], answers.number
    n_known, n_experts = n_known[:, None], len(labels)
    first, place = random_bits(words, block.draw, n_experts)
    sign = 1 - 2 * (first & 1).astype(jnp.float32)
    first, place = (uniform(first) * n_known).astype(jnp.int32), (uniform(place) * n_experts).astype(jnp.int32)

    def answer(_: None, given: tuple[Array, Array]) -> tuple[None, Array]:
        expert, drawn = given
        number = (expert + place) % n_experts
        at, of_tied = (first + number) % jnp.maximum(n_known, 1), 0
        if answers.named.shape[1] > 1:
            bits, _ = random_bits(words, block.draw, n_experts + 1 + expert)
            of_tied = (uniform(bits) * answers.size[at, case]).astype(jnp.int32)
        return None, jnp.where(number < n_known, answers.named[at, of_tied, case].astype(jnp.int32), drawn)

    return lax.scan(answer, None, (jnp.arange(n_experts), labels))[1], sign


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
    if function is not None:
        return _by_classifier(block, given, (), (function,), None, n_classes, lambda rows: rows[0])
    declared = METRICS[metric]
    lengths = declared.lengths(k)
    rows = tuple((metric, length) for length in lengths)
    lists = None if declared.of_masses else rank_block(block, k, n_classes, break_ties)

    def value(rows: Float[Array, "row case draw"]) -> Float[Array, "case draw"]:
        return declared.value(lambda length: rows[length - lengths[0]], k)

    return _by_classifier(block, given, rows, (), lists, n_classes, value)


def _by_classifier(
    block: Block,
    given: dict[str, Any],
    rows: tuple[tuple[str, int], ...],
    own: tuple[Callable[..., Any], ...],
    lists: Int[Array, "place case draw"] | None,
    n_classes: int,
    then: Callable[[Float[Array, "row case draw"]], Any],
) -> Any:
    """Apply a function to the rows of each classifier: counts of its lists, and values of metrics of one case."""
    every = split_among_all(block, n_classes) if own or block.concentration.ndim else None
    inputs = {name: given[name] for name in ("predicted", "scores") if name in given}
    table = None
    if any(METRICS[metric].of_masses for metric, _ in rows):
        table, inputs["places"] = _of_listed(block, given, every)

    def of(one: dict[str, Array]) -> Any:
        masses, found = None if table is None else _at(table, one["places"]), []
        for metric, k in rows:
            other = masses if METRICS[metric].of_masses else lists
            assert other is not None  # there are lists where there are rows
            found.append(METRICS[metric].count(one["predicted"][:k, :, None], other[:k]))
        for function in own:
            over_draws = jax.vmap(function, in_axes=(None, 1))
            found.append(jax.vmap(over_draws, in_axes=(0, 1))(one["scores"], every))
        shape = block.values.shape[1:]
        return then(jnp.stack([jnp.broadcast_to(row.astype(jnp.float32), shape) for row in found]))

    return lax.map(of, inputs)


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
