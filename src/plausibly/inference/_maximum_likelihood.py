"""Maximum likelihood: a fixed point, iterated for all cases at once."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from plausibly._progress import Progress
from plausibly.annotations import Annotations, Slots
from plausibly.case import Case
from plausibly.inference._batching import bucket_cases, cases_last
from plausibly.inference._program import over_cases
from plausibly.inference._scheduling import run_chunks

_LEAST, _SMALL = 1e-30, 1e-6  # plausibilities are kept above the first; changes below the second do not count


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
    than one over their number. So two updates at a time are extrapolated (SQUAREM), and undone where that led
    further from the fixed point.

    Parameters
    ----------
    annotations, slots
        The data.
    update
        One iteration for one case.
    keys
        One key per case; unused, since all engines are called alike.
    tolerance, max_iterations
        Iteration stops when an update changes no plausibility above a millionth by more than this share, in any case
        that is computed together, or after this many extrapolations.
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
        lambda example: lambda data, keys: over_cases(solve)(data),
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
