"""NumPyro's No-U-Turn sampler for a program that describes all cases at once."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float
from numpyro.infer import MCMC, NUTS, init_to_value

#: Statistics that NumPyro's sampler has of each draw, and what ArviZ calls them.
STATISTICS = {"diverging": "diverging", "num_steps": "n_steps", "energy": "energy", "accept_prob": "acceptance_rate"}


def nuts_of_all_cases(
    program: Callable[..., None],
    given: Any,
    start: Mapping[str, np.ndarray],
    sites: Iterable[str],
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
    target_accept: float,
) -> tuple[dict[str, Float[np.ndarray, "chain draw *shape"]], Bool[np.ndarray, "chain draw"]]:
    """Draws of sites of ``program(given)``, whose chains start at values, and which trajectories diverged."""
    kernel = NUTS(program, target_accept_prob=target_accept, init_strategy=init_to_value(values=dict(start)))
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(seed), given, extra_fields=("diverging",))
    found = mcmc.get_samples(group_by_chain=True)
    diverging = np.asarray(mcmc.get_extra_fields(group_by_chain=True)["diverging"])
    return {name: np.asarray(found[name], np.float32) for name in sites}, diverging
