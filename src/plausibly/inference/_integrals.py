"""Expected answers of annotators under the posterior of a program of one case, by adaptive importance sampling.

Markov chains know a probability to a few per cent, and the sum of the logarithms of hundreds to a tenth. Cases of few
dimensions can be integrated instead. Points of a scrambled Sobol sequence become draws of a multivariate t
distribution, whose mean and covariance are those of the points before, weighted by the posterior; after a few rounds
they are weighted once more. Each of several scrambles gives an answer, whose spread is the error (Owen 1997).
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import ndtri

from plausibly.base.progress import Progress
from plausibly.data.annotations import Slots
from plausibly.inference._answers import answer_buckets
from plausibly.inference._batching import Bucket
from plausibly.inference._scheduling import run_chunks
from plausibly.inference.program import CaseData, Program, case_inputs, labelled, over_cases

MOST = 8  #: dimensions of a case that is integrated
POINTS, SCRAMBLES, ROUNDS = 2048, 8, 4
FREEDOM = 5  # degrees of freedom of the t distribution
START = 1.5  # standard deviations of the first points, for positions without constraints
ENOUGH = 0.1  #: effective share of the points that a case needs


def expected_answers(
    slots: Slots,
    program: Program,
    arguments: Mapping[str, float],
    concentration: Float[np.ndarray, " slot"],
    counts: Float[np.ndarray, " slot"],
    keys: Key[Array, " case"],
    *,
    of_counts: bool,
    progress: Progress,
) -> tuple[Float[np.ndarray, "scramble slot"], bool]:
    """Probability that one more annotator of a case with so many labels names a class of each slot, by scramble.

    ``of_counts``: the program observes counts, which have one probability for all orders. Also whether all cases could
    be integrated: none has too many dimensions, or points that hardly count.
    """
    by_case = case_inputs(arguments)

    def inputs(bucket: Bucket, at: np.ndarray) -> Any:
        labels = np.ascontiguousarray(counts[bucket.slots[at]].T, np.float32)
        return by_case(bucket, at), labels

    def of_case(data: CaseData, counts: Float[Array, " slot"]) -> tuple[Array, Array]:
        return _integrate(program, data, counts, of_counts)

    out, least = np.ones((SCRAMBLES, len(slots))), 1.0
    chunks = run_chunks(
        lambda given, keys: over_cases(of_case)(*given),
        inputs,
        answer_buckets(slots, concentration),
        keys,
        name=("expected_answers", program, tuple(arguments), of_counts),
        progress=progress,
        doing=f"Answers of {program.name}",
        points=POINTS * SCRAMBLES,
    )
    for bucket, at, (answers, effective) in chunks:
        out[:, bucket.slots[at]] = np.moveaxis(answers, -1, 1)
        least = min(least, float(np.nan_to_num(effective).min()))
    return out, least > ENOUGH


def _integrate(
    program: Program, data: CaseData, counts: Float[Array, " slot"], of_counts: bool
) -> tuple[Float[Array, "scramble slot"], Float[Array, ""]]:
    """Answers by scramble, and the effective share of the points; 0 if there are too many dimensions."""
    data = data._replace(case=labelled(data.case, counts))
    shapes = program.latent(data)
    dim, n = sum(int(np.prod(shape)) for shape in shapes.values()), len(counts)
    if dim > MOST:
        return jnp.ones((SCRAMBLES, n)), jnp.zeros(())
    normal, length = _sequence(dim)
    # Of the t distribution, up to a constant.
    log_t = -(FREEDOM + dim) / 2 * jnp.log1p((normal**2).sum(-1) * length**2 / FREEDOM)
    z = normal * length[:, None]

    def weighted(place: tuple[Array, Array]) -> tuple[Array, Array]:
        centre, factor = place
        x = centre + z @ factor.T
        log_weight = -jax.vmap(lambda x: program.potential(x, data, shapes))(x) - log_t
        log_weight = jnp.where(jnp.isfinite(log_weight), log_weight, -jnp.inf)
        return x, log_weight - jax.scipy.special.logsumexp(log_weight)

    def adapt(place: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        x, log_weight = weighted(place)
        weight = jnp.exp(log_weight)
        centre = weight @ x
        apart = x - centre
        covariance = (weight[:, None] * apart).T @ apart + 1e-4 * jnp.eye(dim)
        return (centre, jnp.linalg.cholesky(covariance)), None

    start = jnp.zeros(dim), START * jnp.eye(dim)
    place, _ = jax.lax.scan(adapt, start, None, ROUNDS)
    x, log_weight = weighted(place)

    def at(x: Float[Array, " dim"]) -> Float[Array, " slot"]:
        return program.log_answers(program.values(x, data, shapes), data, counts)

    answers = jnp.exp(jax.vmap(at)(x))
    weight = jnp.exp(log_weight)
    by_scramble = weight.reshape(SCRAMBLES, -1, 1)
    found = (by_scramble * answers.reshape(SCRAMBLES, -1, n)).sum(1) / by_scramble.sum(1)
    if of_counts:
        found = found * (counts + 1) / (counts.sum() + 1)
    return found, 1 / (weight**2).sum() / len(weight)


def _sequence(dim: int) -> tuple[Float[np.ndarray, "point dim"], Float[np.ndarray, " point"]]:
    """Standard normal points, and what each is multiplied with to be of a t distribution."""
    from scipy.stats import chi2, qmc  # a second to import

    parts = [qmc.Sobol(dim + 1, seed=number).random(POINTS) for number in range(SCRAMBLES)]
    uniform = np.clip(np.concatenate(parts), 1e-7, 1 - 1e-7)
    length = np.sqrt(FREEDOM / chi2.ppf(uniform[:, -1], FREEDOM))
    return ndtri(uniform[:, :-1]).astype(np.float32), length.astype(np.float32)
