"""Maximum likelihood: a fixed point, iterated for all cases at once."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from plausibly.base.fingerprint import identity
from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.case import Case
from plausibly.inference._batching import bucket_cases, cases_last, plan_shapes
from plausibly.inference._scheduling import Seated, run_seats
from plausibly.inference._shapes import COMPILATION, Shape
from plausibly.inference.program import over_cases

_LEAST, _SMALL = 1e-30, 1e-6  # plausibilities are kept above the first; changes below the second do not count
_FIRST, _SECOND, _FAR, _BACK = range(4)


class _Search(NamedTuple):
    """Where a case is on its way to the fixed point; every step evaluates the update once, at ``at``."""

    at: Float[Array, " slot"]
    stage: Int[Array, ""]
    """What ``at`` is: the start, the update of ``start``, the extrapolation from there, or the update of ``one``."""
    start: Float[Array, " slot"]
    one: Float[Array, " slot"]  # the update of ``start``
    two: Float[Array, " slot"]  # and that of ``one``
    change: Float[Array, ""]  # from ``start`` to ``one``
    longest: Float[Array, ""]  # extrapolations reach at most so many times as far as an update
    length: Float[Array, ""]  # how far the present one reaches
    extrapolations: Int[Array, ""]
    going: Bool[Array, ""]  # false when finished, and in a seat without a case


def _logs(x: Array) -> Array:
    return jnp.log(jnp.maximum(x, _LEAST))


def _distance(old: Array, new: Array) -> Array:
    return jnp.where(jnp.maximum(old, new) > _SMALL, jnp.abs(_logs(new) - _logs(old)), 0).max()


def _begin(case: Case) -> _Search:
    present = case.n_classes > 0
    at = present / present.sum()
    zero = jnp.float32(0)
    return _Search(at, jnp.int32(_FIRST), at, at, at, zero, jnp.float32(4), zero, jnp.int32(0), zero == 0)


def _step(search: _Search, new: Float[Array, " slot"], tolerance: float, most: int) -> _Search:
    """Go on with ``new``, the update of ``search.at``."""
    at, stage, start, one, two, old_change, longest, length, n, _ = search
    second = stage == _SECOND
    # From two updates to the point that they lead to.
    x0, x1, x2 = _logs(start), _logs(one), _logs(new)
    step, bend = x1 - x0, x2 - 2 * x1 + x0
    reach = jnp.linalg.norm(step) / jnp.maximum(jnp.linalg.norm(bend), _LEAST)
    reach = jnp.clip(reach, 1, longest)
    far = jnp.where(new > 0, jax.nn.softmax(x0 + 2 * reach * step + reach**2 * bend), 0)
    # Undone where it led further from the fixed point.
    change = _distance(at, new)
    good = (stage != _FAR) | (jnp.isfinite(change) & (change <= 2 * old_change))
    moved = ~second & good  # ``at`` and ``new`` are the next ``start`` and ``one``
    shorter = jnp.maximum(longest / 4, 1)
    longer = jnp.where(length == longest, 4 * longest, longest)
    return _Search(
        at=jnp.where(second, far, jnp.where(good, new, two)),
        stage=jnp.where(second, _FAR, jnp.where(good, _SECOND, _BACK)),
        start=jnp.where(moved, at, start),
        one=jnp.where(moved, new, one),
        two=jnp.where(second, new, two),
        change=jnp.where(moved, change, old_change),
        longest=jnp.where(stage == _FAR, jnp.where(good, longer, shorter), longest),
        length=jnp.where(second, reach, length),
        extrapolations=n + second,
        going=~moved | ((change > tolerance) & (n < most)),
    )


def maximum_likelihood(
    annotations: Annotations,
    slots: Slots,
    update: Callable[[Float[Array, " slot"], Case], Float[Array, " slot"]],
    keys: Key[Array, " case"],
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    shapes: Sequence[Shape] | None = None,
    progress: Progress,
) -> Float[np.ndarray, " slot"]:
    """Fixed point of a model's update of the plausibilities, all cases at once.

    Where annotators agree, the most probable plausibilities lie on the boundary, to which plain updates come no closer
    than one over their number. So two updates at a time are extrapolated (SQUAREM, scheme S3 of Varadhan & Roland 2008,
    Simple and globally convergent methods for accelerating the convergence of any EM algorithm, Scandinavian Journal of
    Statistics 35), and undone where that led further from the fixed point. Cases take seats, so none waits for another.

    Iteration stops when an update changes no plausibility above a millionth by more than ``tolerance`` of it, or after
    ``max_iterations`` extrapolations. Nothing is random: ``keys`` are there since all engines are called alike.
    ``shapes`` are those of :func:`point_shapes` for these cases, or for more.
    """

    def build(example: Case) -> Seated:
        def begin(n: int) -> _Search:
            return over_cases(_begin)(jax.tree.map(lambda a: jnp.zeros((*a.shape[:-1], n), a.dtype), example))

        def advance(
            state: _Search, case: Case, keys: Array, fresh: Array, wanted: Array
        ) -> tuple[_Search, Array, Array]:
            new = over_cases(_begin)(case)
            state = jax.tree.map(lambda a, b: jnp.where(fresh, a, b), new, state)

            def body(state: _Search) -> _Search:
                moved = over_cases(lambda s, value: _step(s, value, tolerance, max_iterations))
                after = moved(state, over_cases(update)(state.at, case))
                return jax.tree.map(lambda a, b: jnp.where(state.going, a, b), after, state)

            state = jax.lax.while_loop(lambda s: (~s.going).sum() < wanted, body, state)
            return state, ~state.going, state.one

        return Seated(begin, advance)

    out = np.empty(len(slots), np.float32)
    concentration = np.ones(len(slots), np.float32)
    if shapes is None:
        shapes = point_shapes(annotations, slots)
    chunks = run_seats(
        build,
        lambda bucket, at: cases_last(bucket.data, at),
        bucket_cases(annotations, slots, concentration, pooled=True, fit="merged", shapes=shapes),
        keys,
        name=("maximum likelihood", identity(update), tolerance, max_iterations),
        progress=progress,
        doing="Maximum likelihood",
    )
    for bucket, at, values in chunks:
        case, slot = np.nonzero(bucket.slots[at] >= 0)
        out[bucket.slots[at][case, slot]] = values[slot, case]
    return out


def point_shapes(annotations: Annotations, slots: Slots) -> tuple[Shape, ...]:
    """Shapes that :func:`maximum_likelihood` is compiled for."""
    return plan_shapes(annotations, slots, worth=COMPILATION["point"], pooled=True)
