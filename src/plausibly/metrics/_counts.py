"""What two ranked lists have in common, in whole numbers.

The lists stand with the *place* on their first axis, and the rest of their shapes broadcast: ``predicted`` (place, 1,
case) with ``plausible`` (place, draw, case). Counts at every length come from the places that the classes of one list
have in the other, and metrics on lists are these counts divided by :func:`scale`.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int


def count(
    metric: str, predicted: Int[Array, "place *#batch"], plausible: Int[Array, "place *#batch"], k: int
) -> Int[Array, "*batch"]:
    """Whole number whose ratio to :func:`scale` is a metric of the first ``k`` places.

    Examples
    --------
    >>> a, b = jnp.array([4, 2, 7]), jnp.array([2, 4, 5])
    >>> [int(count(metric, a, b, 3)) / scale(metric, 3) for metric in ("overlap", "kendall_tau", "spearman_footrule")]
    [0.6666666666666666, 0.16666666666666666, 0.3333333333333333]
    """
    predicted, plausible = predicted[:k], plausible[:k]
    if metric == "accuracy":
        return jnp.any(predicted == plausible[:1], axis=0).astype(jnp.int32)
    if metric == "overlap":
        return _shared(predicted, plausible)
    if metric == "set_accuracy":
        return (_shared(predicted, plausible) == k).astype(jnp.int32)
    there, here = _places(predicted, plausible), _places(plausible, predicted)
    alone = sum((place == k).astype(jnp.int32) for place in there)  # classes of one list that the other lacks
    if metric == "kendall_tau":
        # A pair of one list: the other has it the other way round, or has only its second class.
        turned = sum((there[i] > there[j]).astype(jnp.int32) for j in range(k) for i in range(j))
        missed = sum(((here[i] == k) & (here[j] < k)).astype(jnp.int32) for j in range(k) for i in range(j))
        # A pair of which each list has one class counts 1; one that a list has and the other lacks counts 1/2.
        return 2 * (turned + missed + alone**2) + alone * (alone - 1)
    apart = sum(jnp.abs(there[i] - i) for i in range(k))
    return apart + sum(jnp.where(here[j] == k, k - j, 0) for j in range(k))


def scale(metric: str, k: int) -> int:
    """Greatest value that :func:`count` can take at ``k`` places; for distances, that of lists without a common class.

    Examples
    --------
    >>> scale("overlap", 3), scale("kendall_tau", 3), scale("spearman_footrule", 3)
    (3, 24, 12)
    """
    return {"overlap": k, "kendall_tau": k * (3 * k - 1), "spearman_footrule": k * (k + 1)}.get(metric, 1)


def _shared(predicted: Any, plausible: Any) -> Any:
    return sum((one == other).astype(jnp.int32) for one in predicted for other in plausible)


def _places(of: Any, within: Any) -> list[Any]:
    """Place that each class of a list has in another, or the other's length where it has none."""
    k = len(within)
    return [sum(jnp.where(one == other, j - k, 0) for j, other in enumerate(within)) + k for one in of]
