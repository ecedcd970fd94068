"""What a user's own :class:`plausibly.Model` promises, checked on a few cases before it is used.

Cases are computed in shards and left out one at a time, priors change, and engines take each other's place. So what a
model declares must treat every case by itself, add the prior concentration that it is given, and be the posterior of
its program; otherwise results would depend on how they are computed.
"""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpyro.infer.util import log_density

from plausibly.aggregation.layout import exact_posterior, lay_out
from plausibly.base.errors import ArgumentError
from plausibly.base.fingerprint import data_digest, identity
from plausibly.data.annotations import Annotations, Scores, Slots
from plausibly.data.case import Entries, NormalInverseGamma, ScoreSums
from plausibly.distributions import log_ratios
from plausibly.families import Settled
from plausibly.inference import bucket_cases
from plausibly.inference.program import PLAUSIBILITY, CaseData, case_inputs

_TOGETHER, _ALONE = 100, 3  # cases that are computed at once, and those of them that are computed alone, too
_POINTS = 5  # plausibilities at which densities are compared
_CLOSE = 1e-3  # relative to the values; single precision and the order of sums have smaller effects
_PRIOR = NormalInverseGamma(0.0, 1.0, 2.0, 1.0)
_kept: set[Hashable] = set()  # models and arguments that were checked in this process


def check_contract(observed: Annotations | Scores, settled: Settled) -> None:
    """Refuse a user's model that breaks what :class:`plausibly.Model` says of its fields.

    That is, if ``exact``, ``evidence`` or ``point_estimate`` let cases depend on each other, or ``exact`` does not add
    the concentration, or is not the posterior of the program, or if the program ignores a prior that is learned.
    """
    model = settled.model
    key = identity(model), data_digest(settled.arguments)  # pyright: ignore[reportArgumentType]
    if model.built_in or key in _kept:
        return
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
                        "learned from all cases is class_prior='learned' or 'population'."
                    )
    if isinstance(together, Annotations):
        for at in which:
            if model.exact is not None:
                _check_exact(settled, together.select([at]))
            if settled.borrows and settled.engine == "nuts":
                _check_takes_prior(settled, together.select([at]))
    _kept.add(key)


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
