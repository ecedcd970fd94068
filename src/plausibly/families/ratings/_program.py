"""The part of NumPyro programs of ratings that does not depend on what a rating is: means of cases and spreads."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float

from plausibly.families.ratings._cases import RatedCases
from plausibly.families.ratings._sampler import (
    LOCATION,
    OF_CASES,
    OF_GROUPS,
    OF_SCORES,
    OF_SEVERITIES,
    OF_SHARED,
    OF_SPREADS,
    SHARED,
    SPREAD,
    SPREAD_SD,
)


def means_and_spreads(rated: RatedCases) -> tuple[Float[Array, " rating"], Float[Array, " rating"]]:
    """Sample everything that ratings depend on; return the mean and the standard deviation of each on the latent scale.

    See :func:`plausibly.models.ordinal_scores.ordinal_ratings` for the priors.
    """
    location = numpyro.sample("location", dist.Normal(0, LOCATION))
    case_spread = numpyro.sample("case_spread", dist.HalfNormal(OF_CASES))
    severity_spread = numpyro.sample("severity_spread", dist.HalfNormal(OF_SEVERITIES))
    typical = numpyro.sample("typical_spread", dist.LogNormal(SPREAD, SPREAD_SD))
    variation = numpyro.sample("spread_of_spreads", dist.HalfNormal(OF_SPREADS))
    standard = dist.Normal(0, 1)
    with numpyro.plate("raters", len(rated.raters)):
        severity = numpyro.deterministic("severity", severity_spread * numpyro.sample("rater", standard))
        spread = numpyro.deterministic("spread", typical * jnp.exp(variation * numpyro.sample("log_spread", standard)))
    numpyro.factor("rounding", -jnp.sum((rated.rounding / spread) ** 2) / 2)
    mean = location
    if rated.expected is not None:
        mean = mean + rated.x @ numpyro.sample(
            "coefficients", dist.Normal(0, OF_SCORES).expand(rated.x.shape[1:]).to_event(1)
        )
    for name, (names, code) in rated.groups.items():
        of_group = numpyro.sample(f"{name}_spread", dist.HalfNormal(OF_GROUPS))
        raw = numpyro.sample(f"{name}_raw", standard.expand([len(names)]).to_event(1))
        mean = mean + numpyro.deterministic(f"{name}_effect", of_group * raw)[code]
    with numpyro.plate("cases", rated.n_cases):
        mean = numpyro.deterministic("latent_mean", mean + case_spread * numpyro.sample("case", standard))
    at = mean[rated.case] + severity[rated.rater]
    if rated.rater_groups is not None:
        cell, _, group = rated.cells
        of_group = dist.HalfNormal(OF_SHARED).expand([len(rated.rater_groups[0])]).to_event(1)
        raw = numpyro.sample("shared_raw", standard.expand([len(group)]).to_event(1))
        shared = numpyro.sample(SHARED, of_group)[group] * raw
        at = at + jnp.append(shared, 0.0)[cell]  # the last, 0, for raters of no group
    return at, spread[rated.rater]
