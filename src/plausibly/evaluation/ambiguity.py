"""Ambiguity and uncertainty of cases with a remainder, whose split among the unnamed classes is averaged.

The share of an unnamed class in the remainder does not depend on the remainder's mass r, so the entropy of a draw is
that of its slots plus r times the entropy of the shares, whose expectation under a Dirichlet is known.
"""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float
from scipy.special import digamma, xlogy

from plausibly.posterior.blocks import NO_CLASS, Block
from plausibly.posterior.ranges import Range

#: names in results; ``top_class`` is a number until it is named
AMBIGUITY = (
    "expected_entropy",
    "mutual_information",
    "top_plausibility",
    "top_plausibility_point",
    "disagreement_probability",
    "top_class",
)
DISAGREEMENT = AMBIGUITY[4]
CLEAR = 0.8  #: share of annotators who choose the leading class, below which they disagree
UNNAMED = -1  #: where the most plausible class is none that an annotator named
_LEAST = 1e-12


def share_entropies(cases: Range) -> Float[np.ndarray, "3 case"]:
    r"""Expected entropy, entropy of the means, and greatest mean of the unnamed classes' shares in the remainder.

    Under Dirichlet(a) with the sum A the first is :math:`\psi(A + 1) - \sum_k a_k \psi(a_k + 1) / A`. Zeros where no
    class is unnamed.
    """
    shape = np.maximum(np.broadcast_to(np.asarray(cases.concentration, float), cases.n_classes), _LEAST)
    named = ~cases.slots.is_remainder
    case, name = cases.slots.case[named], cases.slots.class_index[named]

    def unnamed(values: Float[np.ndarray, " class"]) -> Float[np.ndarray, " case"]:
        return values.sum() - np.bincount(case, values[name], len(cases))

    n_unnamed = cases.n_classes - np.bincount(case, minlength=len(cases))
    total = np.where(n_unnamed > 0, unnamed(shape), 1.0)
    expected = digamma(total + 1) - unnamed(shape * digamma(shape + 1)) / total
    of_means = np.log(total) - unnamed(xlogy(shape, shape)) / total
    if np.ndim(cases.concentration):
        order = np.argsort(-shape)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        taken = np.zeros((len(cases), len(order)), bool)
        taken[case, place[name]] = True
        greatest = shape[order][taken.argmin(axis=1)] / total
    else:
        greatest = 1 / np.maximum(n_unnamed, 1)
    found = np.stack([expected, of_means, greatest])
    return np.where(n_unnamed > 0, found, 0).astype(np.float32)


def ambiguity(block: Block, of_shares: Float[Array, "3 case"]) -> dict[str, Float[Array, " case"]]:
    """Find what :data:`AMBIGUITY` names for the cases of a block, whose last draw is the point estimate."""
    slots, rest = block.values[..., :-1], block.rest[:, :-1]
    averaged = slots if block.probability is None else block.probability[..., :-1]
    means, mean_rest = jnp.mean(averaged, axis=2), jnp.mean(rest, axis=1)
    point, point_rest = block.values[..., -1], block.rest[:, -1]
    expected, of_means, greatest = of_shares
    ambiguous = jnp.mean(jnp.sum(entr(slots), axis=0) + entr(rest), axis=1) + mean_rest * expected
    whole = jnp.sum(entr(means), axis=0) + entr(mean_rest) + mean_rest * of_means
    of_named = jnp.max(means, axis=0, initial=0)
    top = jnp.minimum(jnp.maximum(of_named, mean_rest * greatest), 1)
    at_point = jnp.minimum(jnp.maximum(jnp.max(point, axis=0, initial=0), point_rest * greatest), 1)
    split = jnp.mean(jnp.maximum(jnp.max(slots, axis=0, initial=0), rest * greatest[:, None]) < CLEAR, axis=1)
    best = jnp.min(jnp.where(means == of_named, block.named, NO_CLASS), axis=0, initial=NO_CLASS)
    named = (of_named >= mean_rest * greatest) & (best < NO_CLASS)
    entropies = jnp.maximum(ambiguous, 0), jnp.maximum(whole - ambiguous, 0)
    found = *entropies, top, at_point, split, jnp.where(named, best, UNNAMED)
    return dict(zip(AMBIGUITY, found, strict=True))
