"""What a user's own :class:`plausibly.Model` promises, checked on a few cases before it is used.

Cases are computed in shards and left out one at a time, priors change, and engines take each other's place. So what a
model declares must treat every case by itself, add the prior concentration that it is given, and be the posterior of
its program; otherwise results would depend on how they are computed.
"""

import math
import warnings
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpyro.infer.util import log_density

from plausibly.aggregation.layout import exact_posterior, lay_out
from plausibly.base.errors import ArgumentError, PlausiblyWarning
from plausibly.base.fingerprint import data_digest, identity
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.data.case import Entries, NormalInverseGamma, ScoreSums
from plausibly.distributions import PartialPlackettLuce, log_ratios
from plausibly.families import Settled
from plausibly.inference import Shape, bucket_cases, bucket_scores, with_rows
from plausibly.inference.program import PLAUSIBILITY, CaseData, case_inputs, log_ways

_TOGETHER, _ALONE = 100, 3  # cases that are computed at once, and those of them that are computed alone, too
_POINTS = 5  # plausibilities at which densities are compared
_CLOSE = 1e-3  # relative to the values; single precision and the order of sums have smaller effects
_PRIOR = NormalInverseGamma(0.0, 1.0, 2.0, 1.0)
_SAME = 1e-3  # differences of probabilities, and of log densities relative to their sizes, are of rounding below it
_kept: dict[Hashable, dict[str, Any]] = {}  # by models and arguments that were checked in this process: what was found
AT_THRESHOLD = 0.05  #: share of scores equal to the threshold from which on a model of numbers misleads


def check_contract(observed: Annotations | Scores, settled: Settled) -> Settled:
    """Refuse a user's model that breaks what :class:`plausibly.Model` says of its fields; find out how it answers.

    That is, if ``exact``, ``evidence`` or ``point_estimate`` let cases depend on each other, or ``exact`` does not add
    the concentration, or is not the posterior of the program, or if the program ignores a prior that is learned.

    Returns
    -------
    The model and its arguments, and whether annotators choose by the plausibilities or by what the program observes.
    """
    model = settled.model
    if model.family is not None:
        settled = replace(settled, answers=settled.says.answers)
    key = identity(model), data_digest(settled.arguments)  # pyright: ignore[reportArgumentType]
    if model.built_in:
        return settled
    if key in _kept:
        return replace(settled, **_kept[key])
    some = np.unique(np.linspace(0, observed.n_cases - 1, _TOGETHER).astype(int))
    together = observed.select(some)
    which = np.unique(np.linspace(0, len(some) - 1, _ALONE).astype(int))
    for name in ("exact", "evidence", "point_estimate"):
        if getattr(model, name) is not None and not (name == "evidence" and model.of_scores):
            of_all = _by_case(settled, name, together)
            for at in which:
                (alone,) = _by_case(settled, name, together.select([at]))
                if not np.allclose(alone, of_all[at], _CLOSE, _CLOSE):
                    raise ArgumentError(
                        f"{name}= of the model {model.name} must treat every case by itself, but what it returns for "
                        f"case {str(together.cases[at])!r} changes by up to {np.abs(alone - of_all[at]).max():.3g} "
                        "with the other cases: let it depend on the annotations of each case alone. A prior that is "
                        "learned from all cases is class_prior='learned' or 'predictions'."
                    )
    if isinstance(together, Annotations):
        for at in which:
            if model.exact is not None:
                _check_exact(settled, together.select([at]))
            if settled.borrows and settled.engine == "nuts":
                _check_takes_prior(settled, together.select([at]))
    _kept[key] = _answers(together, settled)
    return replace(settled, **_kept[key])


def _answers(observed: Annotations | Scores, settled: Settled) -> dict[str, Any]:
    """Find out how a program answers (``Settled.answers``), and whether annotations may be ``split``.

    At five points, the probabilities of one more label of the case with most annotations are compared with its
    plausibilities.
    """
    model = settled.model
    if model.deterministic or model.family is not None:
        return {}
    if isinstance(observed, Scores):
        return {} if model.categories or model.answers else {"answers": _answers_of_scores(observed, settled)}
    alone = observed.select([int(np.argmax(observed.per_case))])
    slots, prior = _layout(alone, settled.arguments)
    data = _called(settled, alone, slots, prior)
    if len(slots) < 2:
        return {"answers": model.answers or "plausibility"}
    program, shapes = settled.program, settled.program.latent(data)
    counts = np.bincount(slots.find(alone.entry_case, alone.entry_class), minlength=len(slots)).astype(np.float32)
    (bucket,) = bucket_cases(alone, slots, prior)
    assert isinstance(bucket.shape, Shape)
    more = with_rows(bucket, bucket.shape._replace(annotations=bucket.shape.annotations + 2))
    split = jax.tree.map(lambda a: a[0], more.data)

    def at(x: jax.Array, *counts: jax.Array) -> tuple[jax.Array, ...]:
        values = program.values(x, data, shapes)
        answers = [program.log_answers(values, data, count) for count in counts]
        return (values[PLAUSIBILITY], *answers)

    def densities(x: jax.Array) -> jax.Array:
        inputs = (data, data._replace(case=split))
        return jnp.stack([program.potential(x, one, program.latent(one)) for one in inputs])

    found: dict[str, Any] = {"splits": False, "answers": model.answers or ""}
    x = np.random.default_rng(0).normal(size=(_POINTS, sum(map(math.prod, shapes.values())))).astype(np.float32)
    with suppress(ArgumentError, TypeError, ValueError):  # of a program that has sites of each annotation
        one, other = np.asarray(jax.jit(jax.vmap(densities))(x), float).T
        found["splits"] = bool(np.ptp(one - other) <= _SAME * (10 + np.abs(one).max()))
    if model.answers == "plausibility":
        return found
    of_points = jax.jit(jax.vmap(at, in_axes=(0, None, None)))
    with suppress(ArgumentError, TypeError, ValueError):
        plausibility, given, alone_given = (np.asarray(a, float) for a in of_points(x, counts, 0 * counts))
        found["answers"] = _kind(plausibility, given, alone_given, counts, settled)
    if model.replicate == "rankings" and model.takes == "rankings":
        _check_rankings(settled, data, x)
    return found


def _answers_of_scores(scores: Scores, settled: Settled) -> str:
    """Compare the probability of a score up to the threshold with the plausibility of the first class."""
    alone = scores.select([int(np.argmax(scores.per_case))])
    (bucket,) = bucket_scores(alone, lay_out(alone, settled.arguments)[0], settled.arguments["threshold"], _PRIOR)
    inputs = case_inputs(settled.model.numeric(settled.arguments))
    data = jax.tree.map(lambda a: a[..., 0], inputs(bucket, np.zeros(1, int)))
    program, shapes = settled.program, settled.program.latent(data)

    def at(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        values = program.values(x, data, shapes)
        return values[PLAUSIBILITY][0], program.share_below(values, data)

    x = np.random.default_rng(0).normal(size=(_POINTS, sum(map(math.prod, shapes.values())))).astype(np.float32)
    with suppress(ArgumentError, NotImplementedError, TypeError, ValueError):  # of a site that cannot tell
        plausibility, below = jax.jit(jax.vmap(at))(x)
        return "plausibility" if np.allclose(plausibility, below, 0, _SAME) else ""
    return ""


def _check_rankings(settled: Settled, data: CaseData, x: Float[np.ndarray, "point dim"]) -> None:
    """Refuse a program that declares whole rankings and has others than draws by the plausibilities."""
    program, shapes = settled.program, settled.program.latent(data)
    power = settled.model.choice_power(settled.arguments)

    def at(x: jax.Array, data: CaseData) -> tuple[jax.Array, jax.Array]:
        values = program.values(x, data, shapes)
        drawn = PartialPlackettLuce((1.0 if power is None else power) * jnp.log(values[PLAUSIBILITY]))
        return program.log_likelihood(values, data), drawn.log_prob(data.case.rankings)

    own, drawn = (np.asarray(a, float) for a in jax.jit(jax.vmap(at, in_axes=(0, None)))(x, data))
    if not any(np.allclose(own, n * drawn, _SAME, _SAME) for n in (1.0, settled.arguments.get("reliability", 1.0))):
        at_most = np.nanmax(np.abs(own - drawn))
        raise ArgumentError(
            f"the model {settled.model.name} declares replicate='rankings', which are drawn without replacement by the "
            f"plausibilities, but the log probability that its program gives a ranking differs by up to {at_most:.3g}: "
            "declare replicate='first', for first blocks only."
        )


def _kind(
    plausibility: Float[np.ndarray, "point slot"],
    given: Float[np.ndarray, "point slot"],
    alone: Float[np.ndarray, "point slot"],
    counts: Float[np.ndarray, " slot"],
    settled: Settled,
) -> str:
    """How a program answers, by log probabilities of a label given all others, and given none."""
    power = settled.model.choice_power(settled.arguments)
    chosen = plausibility ** (1.0 if power is None else power)
    chosen /= chosen.sum(-1, keepdims=True)
    # A program may raise probabilities to the reliability itself, instead of scaling their logarithms.
    raised = plausibility ** settled.arguments.get("reliability", 1.0)
    answers = np.exp(given)
    if any(np.allclose(answers, one, 0, _SAME) for one in (chosen, raised)):
        return "plausibility"
    if np.allclose(answers.sum(-1), 1, 0, _SAME):
        return "alone" if np.allclose(answers, np.exp(alone), 0, _SAME) else "together"
    of_counts = answers * np.exp(log_ways(counts))
    return "counts" if np.allclose(of_counts.sum(-1), 1, 0, _SAME) else ""


def _by_case(settled: Settled, name: str, observed: Annotations | Scores) -> list[Float[np.ndarray, " slot"]]:
    """Results of a declared function, by case."""
    model, arguments = settled.model, settled.arguments
    if isinstance(observed, Scores):
        if name == "exact":
            found = exact_posterior(model, observed, *lay_out(observed, arguments)[:1], _PRIOR, arguments)
            return list(np.stack([np.broadcast_to(part, observed.n_cases) for part in found], axis=1))
        found = model.call(name, ScoreSums.of(observed), arguments["threshold"])
        return np.split(np.asarray(found), observed.n_cases)
    slots, prior = _layout(observed, arguments)
    if name == "exact":
        found = exact_posterior(model, observed, slots, prior, arguments)
    else:
        known = model.numeric(arguments) if name == "evidence" else {}
        found = model.call(name, Entries.of(observed, slots), **known, **model.static(arguments))
    return np.split(np.asarray(found), slots.start[1:-1])


def _layout(observed: Annotations, arguments: Mapping[str, Any]) -> tuple[Slots, Float[np.ndarray, " slot"]]:
    """Slots, with a prior that differs between them, so that it shows where the prior goes."""
    slots, prior = lay_out(observed, arguments)
    place = np.arange(len(slots)) - slots.start[slots.case]
    return slots, np.where(prior > 0, prior, 1.0) * (1 + place % 3)


def _check_exact(settled: Settled, alone: Annotations) -> None:
    slots, prior = _layout(alone, settled.arguments)

    def shapes(prior: np.ndarray) -> np.ndarray:
        return np.asarray(exact_posterior(settled.model, alone, slots, prior, settled.arguments), float)

    found = shapes(prior)
    added = found - shapes(np.zeros(len(slots)))
    case = str(alone.cases[0])
    if not np.allclose(added, prior, _CLOSE, _CLOSE):
        at = np.nanargmax(np.abs(added - prior)) if np.isfinite(added).any() else 0
        raise ArgumentError(
            f"exact= of the model {settled.model.name} must add the concentration that it is given, but for case "
            f"{case!r} a concentration of {prior[at]:.3g} instead of 0 in a slot adds {added[at]:.3g}: return what the "
            "annotations are worth, plus the concentration."
        )
    gap = _gap_to_program(settled, _called(settled, alone, slots, prior), found)
    if not gap <= _CLOSE * (10 + np.abs(found).sum()):
        raise ArgumentError(
            f"exact= of the model {settled.model.name} must be the posterior of its program, but for case {case!r} the "
            f"difference of their log densities varies by {gap:.3g} over the plausibilities, and should be constant: "
            "correct one of the two, or declare no exact=, so that NUTS samples the program."
        )


def _check_takes_prior(settled: Settled, alone: Annotations) -> None:
    """Refuse a program on which another concentration has no effect, so that a prior that is learned has none."""
    slots, prior = _layout(alone, settled.arguments)
    if len(slots) < 2:
        return
    program, data = settled.program, _called(settled, alone, slots, prior)
    other = _called(settled, alone, slots, 2 * prior)
    shapes = program.latent(data)
    at = jnp.asarray(np.random.default_rng(0).normal(size=sum(map(math.prod, shapes.values()))), jnp.float32)
    if program.potential(at, data, shapes) == program.potential(at, other, shapes):
        raise ArgumentError(
            f"class_prior={str(settled.arguments['class_prior']).partition(' ')[0]!r} gives a program its prior as "
            f"case.concentration, but {settled.model.name} does not use it: write for example "
            "numpyro.sample('plausibility', dist.Dirichlet(case.concentration)), or leave class_prior and predictions "
            "out."
        )


def _called(settled: Settled, alone: Annotations, slots: Slots, prior: Float[np.ndarray, " slot"]) -> CaseData:
    """Input of the program for a case."""
    (bucket,) = bucket_cases(alone, slots, prior)
    inputs = case_inputs(settled.model.numeric(settled.arguments))
    return jax.tree.map(lambda a: a[..., 0], inputs(bucket, np.zeros(1, int)))


def _gap_to_program(settled: Settled, data: CaseData, found: Float[np.ndarray, " slot"]) -> float:
    """By how much the difference of two log densities varies; 0 where the program has latent sites to sum out."""
    program, n = settled.program, len(found)
    latent = set(program.latent(data)) if n > 1 else set()
    if latent not in ({PLAUSIBILITY}, {"log_ratio"}):
        return 0.0

    def difference(plausibility: jax.Array) -> jax.Array:
        of_simplex = latent == {PLAUSIBILITY}
        sites = {PLAUSIBILITY: plausibility} if of_simplex else {"log_ratio": log_ratios(plausibility)}
        own, _ = log_density(settled.model.program, (data.case,), {**data.arguments, **dict(program.static)}, sites)
        return own - ((found - of_simplex) * jnp.log(plausibility)).sum()

    points = np.random.default_rng(0).dirichlet(np.full(n, 2.0), _POINTS)
    return float(np.ptp(jax.vmap(difference)(jnp.asarray(points, jnp.float32))))


def check_shares(
    name: str, annotations: Annotations | Scores, slots: Slots, plausibility: Float[np.ndarray, "chain draw slot"]
) -> None:
    """Refuse draws of a user's program that are not distributions over classes; NaN is left to the diagnosis."""
    total = np.add.reduceat(plausibility, slots.start[:-1], axis=-1)
    wrong = np.abs(total - 1) > 1e-3
    wrong |= np.minimum.reduceat(plausibility, slots.start[:-1], axis=-1) < 0
    if wrong.any():
        chain, draw, case = np.argwhere(wrong)[0]
        own = plausibility[chain, draw, slots.start[case] : slots.start[case + 1]]
        raise ArgumentError(
            f"the site 'plausibility' of {name} must be shares of the slots of a case, but in case "
            f"{str(annotations.cases[case])!r} one draw is {np.round(own, 3).tolist()}: let them sum to 1, and none be "
            "negative."
        )


def warn_of_ties(name: str, scores: Scores, threshold: float) -> None:
    """Warn of scores that stand at the threshold, half of which a model of numbers takes to be above it."""
    share = float((scores.score == threshold).mean())
    if share > AT_THRESHOLD:
        warnings.warn(
            f"{share:.0%} of the scores equal the threshold, {threshold:g}: {name} treats scores as numbers, and "
            "puts about half the plausibility of such a case above it. Choose ordinal-scores, which "
            "treats scores as categories, or a threshold between two scores.",
            PlausiblyWarning,
            stacklevel=2,
        )
