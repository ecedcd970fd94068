"""Log probabilities of annotations at draws of any engine, through the program of the model."""

from collections.abc import Mapping, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from plausibly.base.progress import Progress
from plausibly.data.annotations import Annotations, Slots
from plausibly.distributions import log_ratios
from plausibly.inference._batching import Bucket, bucket_cases, plan_shapes
from plausibly.inference._scheduling import run_chunks
from plausibly.inference._shapes import COMPILATION, Shape
from plausibly.inference.program import PLAUSIBILITY, CaseData, Program, case_inputs, over_cases


def log_likelihood(
    annotations: Annotations,
    slots: Slots,
    program: Program,
    arguments: Mapping[str, float],
    concentration: Float[np.ndarray, " slot"],
    plausibility: Float[np.ndarray, "chain draw slot"],
    keys: Key[Array, " case"],
    *,
    shapes: Sequence[Shape] | None = None,
    progress: Progress,
) -> Float[np.ndarray, "chain draw annotation"]:
    """Log probability of every annotation at every draw.

    For programs whose only latent site is "plausibility" or, in the coordinates of
    :class:`plausibly.distributions.LogRatioDirichlet`, "log_ratio".
    """
    chains, draws, _ = plausibility.shape
    by_case = case_inputs(arguments)

    def inputs(bucket: Bucket, at: np.ndarray) -> tuple[CaseData, Array]:
        of_slot = bucket.slots[at]
        values = np.where(of_slot < 0, 0, plausibility[..., np.maximum(of_slot, 0)].reshape(-1, *of_slot.shape))
        return by_case(bucket, at), np.ascontiguousarray(values.transpose(0, 2, 1), np.float32)

    def function(data: tuple[CaseData, Array], keys: Key[Array, " case"]) -> Array:
        by_draw = jax.vmap(partial(_of_case, program), in_axes=(0, None))
        return over_cases(by_draw, -1, -1)(data[1], data[0])

    if shapes is None:
        shapes = likelihood_shapes(annotations, slots, chains * draws)
    out = np.empty((chains, draws, annotations.n_annotations), np.float32)
    chunks = run_chunks(
        function,
        inputs,
        bucket_cases(annotations, slots, concentration, fit="merged", shapes=shapes),
        keys,
        name=("log_likelihood", program, tuple(arguments), chains * draws),
        progress=progress,
        doing=f"Likelihoods of {program.name}",
        points=chains * draws,
    )
    for bucket, at, values in chunks:
        place = np.full(len(bucket.cases), -1)
        place[at] = np.arange(len(at))
        here = place[bucket.case] >= 0
        column = values[:, bucket.row[here], place[bucket.case[here]]]
        out[..., bucket.annotations[here]] = column.reshape(chains, draws, -1)
    return out


def _of_case(program: Program, values: Float[Array, " slot"], data: CaseData) -> Float[Array, " annotation"]:
    # A slot that only fills the shape, or that has underflowed, takes the least positive number.
    return program.log_likelihood({PLAUSIBILITY: values, "log_ratio": log_ratios(jnp.maximum(values, 1e-37))}, data)


def check_likelihood(annotations: Annotations, slots: Slots, program: Program, arguments: Mapping[str, float]) -> None:
    """Trace the log probabilities of a case without computing them; an ArgumentError says what a program does wrong.

    That is, it fails, or has latent sites that the plausibilities do not determine.
    """
    first = np.arange(annotations.n_cases) == 0
    own = slots.select(first)
    (bucket,) = bucket_cases(annotations.select(np.flatnonzero(first)), own, np.ones(len(own)), fit="merged")
    data = jax.tree.map(lambda a: a[..., 0], case_inputs(arguments)(bucket, np.zeros(1, int)))
    jax.eval_shape(partial(_of_case, program), jnp.ones(bucket.slots.shape[1]), data)


def likelihood_shapes(annotations: Annotations, slots: Slots, draws: int) -> tuple[Shape, ...]:
    """Shapes that :func:`log_likelihood` is compiled for, with so many draws of all chains."""
    return plan_shapes(annotations, slots, worth=COMPILATION["likelihood"] / draws)
