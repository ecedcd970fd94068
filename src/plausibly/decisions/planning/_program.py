"""The compiled programs of a plan: what one more annotation of each case would tell, and what several would.

Both work on a block of cases and all of their draws. An *answer* is what an annotator may say first: one of the named
classes, or any of the unnamed ones. Up to :data:`APART` classes, unnamed ones are told apart; of more, they are one
answer, of which the metric learns only that it was none of the named classes: what such an answer would tell is then
counted in part.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import digamma, xlogy
from jaxtyping import Array, Float, Int

from plausibly.base.random_streams import Stream, as_key
from plausibly.evaluation.program import values_by_draw
from plausibly.posterior.blocks import Block
from plausibly.posterior.split_remainder import split_among_all

APART = 16  #: classes up to which unnamed ones are told apart
_LEAST = 2.0  # effective draws below which an answer counts as telling nothing
_TINY = 1e-30


class Question(NamedTuple):
    """What the programs compute; metric, k, function and break_ties are as for :func:`values_by_draw`."""

    metric: str  #: empty without predictions
    k: int
    function: Callable[..., Any] | None
    break_ties: str
    n_classes: int
    #: pairs of classifiers whose differences are rows, after those of the classifiers; signed so that more is better
    pairs: tuple[tuple[int, int], ...]
    sign: int  #: −1 if less is better
    #: how an annotator answers: power of the plausibilities by which she chooses, how often her annotation counts
    annotators: tuple[tuple[float, float], ...]
    length: int = 1  #: number of classes that an annotation ranks

    @property
    def apart(self) -> bool:
        """Whether unnamed classes are told apart."""
        return self.n_classes <= APART


def value_block(block: Block, given: dict[str, Array], question: Question) -> dict[str, Array]:
    """Expected variance removed and expected information of one more label of each case: what ``Values`` holds.

    The block has all draws, and the point estimate as one more, which is left out. ``given`` is as for
    :func:`plausibly.evaluation.program.values_by_draw`, and ``real`` (case,), 0 for those that only fill the block.
    The sum of the metric over the cases is ``total`` (classifier, draw).
    """
    whole, block = block, _told_apart(block, question)
    rows = _rows(block, given, question)
    n_draws = len(block.draw) - 1
    mean = jnp.mean(rows, axis=-1)
    variance = _spread(jnp.mean(jnp.square(rows - mean[..., None]), axis=-1), n_draws)
    removed, information, effective = [], [], []
    for power, count in question.annotators:
        chances = answer_chances(block, power)
        probability = jnp.mean(chances, axis=-1)

        def one(chance: Float[Array, "case draw"], count=count) -> tuple[Array, Array]:
            weight = chance if count == 1 else jnp.power(chance, count)
            weight = weight / jnp.maximum(jnp.sum(weight, axis=-1, keepdims=True), _TINY)
            effective = 1 / jnp.maximum(jnp.sum(jnp.square(weight), axis=-1), _TINY)
            gaps = rows - mean[..., None]
            shift = jnp.sum(weight * gaps, axis=-1)
            left = _spread(jnp.sum(weight * jnp.square(gaps), axis=-1) - jnp.square(shift), effective)
            return jnp.where(effective > _LEAST, left, variance), jnp.maximum(effective, 1.0)

        left, sizes = lax.map(one, chances)
        removed.append(variance - jnp.sum(probability[:, None] * left, axis=0))
        effective.append(1 / jnp.sum(probability / sizes, axis=0))
        information.append(expected_information(whole, answer_chances(whole, power), power))
    real = given["real"][:, None]
    return {
        "mean": mean,
        "variance": variance,
        "removed": jnp.stack(removed),
        "information": jnp.stack(information),
        "effective": jnp.stack(effective),
        "total": jnp.sum(rows[: len(rows) - len(question.pairs)] * real, axis=1),
    }


def answer_chances(block: Block, power: float) -> Float[Array, "answer case draw"]:
    """How probable each answer is in every draw: of the named classes, then of all others together.

    The point estimate, last of the draws, is left out. With a power other than 1, the remainder competes as one class.
    """
    values = jnp.concatenate([block.values, block.rest[None]])[..., :-1]
    if power == 1:
        return values / jnp.maximum(jnp.sum(values, axis=0), _TINY)
    return jax.nn.softmax(_logits(values, power), axis=0)


def _logits(values: Float[Array, "answer ..."], power: Float[Array, ""] | float) -> Float[Array, "answer ..."]:
    return jnp.where(values > 0, power * jnp.log(jnp.maximum(values, _TINY)), -jnp.inf)


def expected_information(
    block: Block, chances: Float[Array, "answer case draw"], power: float = 1.0
) -> Float[Array, " case"]:
    r"""Mutual information of the next label and the plausibilities, in nats.

    It is :math:`H(E \lambda) - E H(\lambda)`, where unnamed classes add what is known in closed form: of a remainder
    :math:`\lambda_0` that falls on m classes by a Dirichlet with shapes c, :math:`E \lambda_0 (\log m - \psi(mc + 1) +
    \psi(c + 1))`.
    """
    probability = jnp.mean(chances, axis=-1)
    entropy = -jnp.sum(xlogy(probability, probability), axis=0)
    within = -jnp.mean(jnp.sum(xlogy(chances, chances), axis=0), axis=-1)
    found = entropy - within
    if power == 1:
        found += probability[-1] * _information_within(block)
    return jnp.maximum(found, 0)


def _information_within(block: Block) -> Float[Array, " case"]:
    """What a label that falls on the remainder tells about how the remainder is split."""
    shape = block.concentration
    if shape.ndim:
        safe = jnp.maximum(shape, _TINY)

        def unnamed(values):
            own = values.at[block.named].get(mode="fill", fill_value=0.0)
            return jnp.maximum(jnp.sum(values) - jnp.sum(own, axis=0), 0)

        total = jnp.maximum(unnamed(safe), _TINY)
        across = jnp.log(total) - unnamed(safe * jnp.log(safe)) / total
        return jnp.maximum(across - digamma(total + 1) + unnamed(safe * digamma(safe + 1)) / total, 0)
    n = jnp.maximum(block.n_unnamed, 1).astype(jnp.float32)
    return jnp.maximum(jnp.log(n) - digamma(n * shape + 1) + digamma(shape + 1), 0)


def several_block(
    block: Block, given: dict[str, Array], question: Question, most: int, replicates: int
) -> dict[str, Array]:
    """Simulate up to so many further annotations of each case, and what the metric would be known to be after each.

    A replicate takes one of the draws for the truth, draws annotations from it, and weighs all draws by the probability
    of these. ``given`` is as for :func:`value_block`, with ``power`` and ``count`` (case,) of the annotator who is
    asked. Returns what ``Bank`` holds.
    """
    block = _told_apart(block, question)
    rows = jnp.moveaxis(_rows(block, given, question), 1, 0)
    values = jnp.moveaxis(jnp.concatenate([block.values, block.rest[None]])[..., :-1], 1, 0)

    def one(of: tuple[Array, ...]) -> dict[str, Array]:
        rows, values, words, power, count = of
        chance = jax.nn.softmax(_logits(values, power), axis=0)  # (answer, draw)
        uniform = jax.random.uniform(as_key(words), (1 + most * question.length, replicates))
        n_draws = chance.shape[1]
        truth = ((jnp.arange(replicates) + uniform[0]) * (n_draws / replicates)).astype(int)
        truth = jnp.minimum(truth, n_draws - 1)
        mean = jnp.mean(rows, axis=-1)
        gaps = rows - mean[:, None]

        def annotate(log_probability, uniform):
            log_probability = log_probability + _annotation(chance, truth, uniform)
            weight = jax.nn.softmax(count * log_probability, axis=-1)  # (replicate, draw)
            effective = 1 / jnp.sum(jnp.square(weight), axis=-1)
            shift = weight @ gaps.T
            left = _spread(weight @ jnp.square(gaps).T - jnp.square(shift), effective[:, None])
            total = jax.nn.logsumexp(log_probability, axis=-1) - jnp.log(n_draws)
            of_truth = log_probability[jnp.arange(replicates), truth]
            found = {"mean": mean + shift, "variance": left}
            return log_probability, found | {
                "effective": 1 / jnp.mean(1 / effective),
                "information": jnp.mean(of_truth - total),
            }

        start = jnp.zeros((replicates, n_draws))
        return lax.scan(annotate, start, uniform[1:].reshape(most, question.length, replicates))[1]

    of = rows, values, block.words[Stream.NEXT_ANNOTATIONS], given["power"], given["count"]
    return lax.map(one, of)


def _annotation(
    chance: Float[Array, "answer draw"], truth: Int[Array, " replicate"], uniform: Float[Array, "place replicate"]
) -> Float[Array, "replicate draw"]:
    """Draw a ranking from the plausibilities of a draw each, and return its log probability in every draw.

    Classes are drawn without replacement; the ranking ends with the first unnamed class.
    """
    n_answers = len(chance)
    open_ = jnp.ones((n_answers, len(truth)), bool)
    going = jnp.ones(len(truth), bool)
    log_probability = jnp.zeros((len(truth), chance.shape[1]))
    left = jnp.ones_like(log_probability)
    for own in uniform:
        possible = jnp.where(open_, chance[:, truth], 0)
        total = jnp.cumsum(possible, axis=0)
        answer = jnp.minimum(jnp.sum(total <= own * total[-1], axis=0), n_answers - 1)
        going &= total[-1] > _TINY
        said = chance[answer]
        ratio = jnp.log(jnp.maximum(said, _TINY)) - jnp.log(jnp.maximum(left, _TINY))
        log_probability += jnp.where(going[:, None], jnp.minimum(ratio, 0), 0)
        left -= said
        open_ = open_.at[answer, jnp.arange(len(truth))].set(False)
        going &= answer < n_answers - 1
    return log_probability


def _told_apart(block: Block, question: Question) -> Block:
    """The same block with all classes named, where they are few."""
    if not question.apart:
        return block
    every = split_among_all(block, question.n_classes)
    n_cases = block.named.shape[1]
    return block._replace(
        values=every,
        named=jnp.broadcast_to(jnp.arange(question.n_classes, dtype=jnp.int32)[:, None], (len(every), n_cases)),
        rest=jnp.zeros_like(block.rest),
        n_named=jnp.full_like(block.n_named, question.n_classes),
        n_unnamed=jnp.zeros_like(block.n_unnamed),
        largest_share=None,
    )


def _rows(block: Block, given: dict[str, Array], question: Question) -> Float[Array, "row case draw"]:
    """The metric of every classifier, then the differences."""
    shape = block.values.shape[1], len(block.draw) - 1
    if not question.metric:
        return jnp.zeros((0, *shape))
    name, k, function = question.metric, question.k, question.function
    values = values_by_draw(block, given, name, k, function, question.n_classes, question.break_ties)[..., :-1]
    differences = [question.sign * (values[a] - values[b]) for a, b in question.pairs]
    return jnp.concatenate([values, jnp.stack(differences)]) if differences else values


def _spread(mean_square: Array, effective: Array | int) -> Array:
    """Variance from a mean square around the weighted mean, without the bias of finitely many draws."""
    return jnp.maximum(mean_square, 0) / jnp.maximum(1 - 1 / jnp.asarray(effective, jnp.float32), 0.5)
