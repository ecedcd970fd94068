"""Probabilities of labels that annotators might give, at draws of the latent sites of a program of one case."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from plausibly.base.progress import Progress
from plausibly.data.annotations import Slots
from plausibly.data.case import Case
from plausibly.distributions import log_ratios
from plausibly.inference._batching import Bucket
from plausibly.inference._scheduling import run_chunks
from plausibly.inference._shapes import Shape
from plausibly.inference.program import PLAUSIBILITY, CaseData, Program, case_inputs, labelled, over_cases


def log_answers(
    slots: Slots,
    program: Program,
    arguments: Mapping[str, float],
    concentration: Float[np.ndarray, " slot"],
    plausibility: Float[np.ndarray, "draw slot"],
    sites: Mapping[str, Sequence[Float[np.ndarray, " draw *shape"]]],
    counts: Float[np.ndarray, "#draw slot"],
    keys: Key[Array, " case"],
    *,
    progress: Progress,
) -> Float[np.ndarray, "draw slot"]:
    """Log probability that one more annotator names a class of a slot, by draw, see :meth:`Program.log_answers`.

    ``sites`` are draws of further sites by name and case; ``counts`` are the labels of the case so far, by slot.
    """
    n_draws = len(plausibility)
    by_case = case_inputs(arguments)

    def inputs(bucket: Bucket, at: np.ndarray) -> Any:
        own, cases = bucket.slots[at], bucket.cases[at]
        values = {name: np.stack([draws[case] for case in cases], axis=-1) for name, draws in sites.items()}
        values[PLAUSIBILITY] = np.moveaxis(plausibility[:, own], 1, -1)
        labels = np.moveaxis(np.broadcast_to(counts, plausibility.shape)[:, own], 1, -1)
        arrays = jax.tree.map(lambda a: np.ascontiguousarray(a, np.float32), (values, labels))
        return by_case(bucket, at), *arrays

    def of_case(data: CaseData, values: Mapping[str, Array], counts: Float[Array, "draw slot"]) -> Array:
        data = data._replace(case=labelled(data.case, counts[0]))
        latent = program.latent(data)

        def at(values: Mapping[str, Array], counts: Float[Array, " slot"]) -> Array:
            # A slot that has underflowed takes the least positive number.
            known = dict(values) | {"log_ratio": log_ratios(jnp.maximum(values[PLAUSIBILITY], 1e-37))}
            known = {name: known[name] for name in latent if name in known}
            return program.log_answers(known, data, counts)

        return jax.vmap(at)(values, counts)

    out = np.zeros(plausibility.shape, np.float32)
    chunks = run_chunks(
        lambda given, keys: over_cases(of_case)(*given),
        inputs,
        answer_buckets(slots, concentration),
        keys,
        name=("log_answers", program, tuple(arguments), tuple(sites), n_draws),
        progress=progress,
        doing=f"Answers of {program.name}",
        points=n_draws,
    )
    for bucket, at, values in chunks:
        out[:, bucket.slots[at]] = np.moveaxis(values, -1, 1)
    return out


def answer_buckets(slots: Slots, concentration: Float[np.ndarray, " slot"]) -> list[Bucket]:
    """Cases by their number of slots, without annotations; those of one slot have nothing to ask."""
    width, found = np.diff(slots.start), []
    for n in np.unique(width[width > 1]).tolist():
        cases = np.flatnonzero(width == n)
        own = slots.start[cases][:, None] + np.arange(n)
        nothing = np.zeros((len(cases), n), np.float32)
        prior = concentration[own].astype(np.float32)
        data: Any = Case((), nothing, (), (), prior, slots.n_classes[own])
        none = np.empty(0, int)
        found.append(Bucket(Shape(n, n, 1, ()), cases, own, data, none, none, none))
    return found
